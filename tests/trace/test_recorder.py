"""What a traced run writes while the program runs, and at which line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from torchlint.messages.event import Event, read_events
from torchlint.trace.program import recorder as recording
from torchlint.trace.program.recorder import Place, Recorder, here, real_path

AT = Place("train.py", 3, "train"), ""
INSIDE = Place("train.py", 3, "train"), "torch/nn/functional.py:30 linear"


def written(recorder: Recorder) -> list[tuple[int, int, int, str]]:
    return [(one.step, one.count, one.size, one.via) for one in read_events(recorder.path) if one.kind == "operator"]


def test_what_is_counted_is_told_once_a_step_by_its_place(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "events.jsonl")
    for _ in range(2):
        recorder.count_operator(8, AT)
        recorder.count_operator(4, AT)
        recorder.count_operator(1, INSIDE)
        recorder.end_step()
    recorder.close()

    assert written(recorder) == [(0, 2, 12, ""), (0, 1, 1, INSIDE[1]), (1, 2, 12, ""), (1, 1, 1, INSIDE[1])]


def test_a_killed_process_has_told_all_but_the_last_that_it_counted(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "events.jsonl")
    for _ in range(recording._MOST_COUNTED + 5):
        recorder.count_operator(1, AT)

    assert written(recorder) == [(0, recording._MOST_COUNTED, recording._MOST_COUNTED, "")]


def test_events_with_a_name_are_written_at_once(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "events.jsonl")
    recorder.record("sync", name="item")
    recorder.emit(Event("end"))

    assert [one.kind for one in read_events(recorder.path)] == ["sync", "end"]


def test_each_call_of_a_function_is_at_its_own_line(tmp_path: Path) -> None:
    found = [
        here(),
        here(),
        *(here() for _ in range(2)),
    ]
    first = found[0][0].line

    assert [first, first + 1, first + 2, first + 2] == [place.line for place, _ in found]
    assert here()[0].file == str(Path(__file__).resolve())


def test_lines_of_code_that_is_made_over_and_over_are_its_own(tmp_path: Path) -> None:
    """Code objects are known by identity, which is given to another one when they are gone."""
    file = tmp_path / "made.py"
    lines = []
    for number in range(1, 40):
        names: dict[str, Callable[[], int]] = {}
        text = "\n" * number + "def f(here):\n    return here()[0].line\n"
        exec(compile(text, str(file), "exec"), names)  # noqa: S102
        lines.append(names["f"](here))  # type: ignore[call-arg]
        del names

    assert lines == list(range(3, 42)), sys.version


def test_a_file_is_known_by_where_its_links_lead(tmp_path: Path) -> None:
    folder = tmp_path / "real"
    folder.mkdir()
    (folder / "train.py").touch()
    (tmp_path / "folder").symlink_to(folder)
    (folder / "linked.py").symlink_to(folder / "train.py")

    names = ("real/train.py", "folder/train.py", "folder/linked.py", "real/../folder/train.py")
    assert {real_path(str(tmp_path / name)) for name in names} == {str(tmp_path.resolve() / "real" / "train.py")}
