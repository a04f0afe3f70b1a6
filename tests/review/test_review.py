"""What a review says of a change, and where."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.review.conftest import TRAIN
from torchlint.review.comments import Thread, comment, farewell, for_github, for_gitlab, standing, summary, threads
from torchlint.review.run import Review, review
from torchlint.settings.config import Settings
from torchlint.system.failure import Failure

CODES = frozenset(("TL001", "TL101", "TL402"))
Commit = Callable[..., str]


def reviewed(*, unsafe_fixes: bool = False, base: str = "main") -> Review:
    return review(Settings(codes=CODES, fixable=CODES, unsafe_fixes=unsafe_fixes), base)


def places(found: Review) -> list[tuple[str, int, bool, bool]]:
    """Path, line, whether it is caused, and whether it goes on its line."""
    inline = [one for thread in threads(found) for one in thread.remarks]
    return [(one.path, one.finding.line, one.caused, one in inline) for one in found.remarks]


def lines(*numbers: int) -> str:
    return "".join(f"x{n} = {n}\n" for n in numbers)


class TestRemarks:
    def test_none_without_a_change(self) -> None:
        assert () == reviewed().remarks

    def test_none_for_other_files(self, committed: Commit) -> None:
        Path("notes.txt").write_text("x\n")
        committed()
        assert () == reviewed().remarks

    def test_none_on_lines_as_they_were(self, committed: Commit) -> None:
        committed(train=Path("train.py").read_text() + "\n\nprint()\n")
        assert () == reviewed().remarks

    def test_what_git_takes_for_one_line_hangs_there_without_a_suggestion(self, committed: Commit) -> None:
        old = Path("train.py").read_text().replace("\n", "\r")
        committed(train=old)
        start = subprocess.run(["git", "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
        committed(train=old.replace("model", "net"))
        found = reviewed(base=start)
        assert found.remarks
        assert {((1, 1), None)} == {(one.lines, one.suggestion) for one in found.remarks}

    def test_none_for_what_is_moved_or_renamed(self, committed: Commit) -> None:
        committed(train=None, main=Path("train.py").read_text())
        assert () == reviewed().remarks

    def test_none_for_what_main_got_later(self, committed: Commit, changed: str) -> None:
        subprocess.run(["git", "switch", "-q", "main"], check=True)
        committed(train=Path("train.py").read_text().replace("x.to", "(x).to"))
        subprocess.run(["git", "switch", "-q", "feature"], check=True)
        assert [("ops.py", 5, True, False), ("train.py", 12, False, True)] == places(reviewed())

    def test_none_for_what_is_not_committed(self, changed: str) -> None:
        Path("ops.py").write_text("(\n")
        Path("more.py").write_text("(\n")
        assert ["ops.py", "train.py"] == [one.path for one in reviewed().remarks]

    def test_deleted_binary_and_linked_files(self, committed: Commit) -> None:
        Path("link.py").symlink_to("train.py")
        Path("binary.py").write_bytes(b"\xff\0")
        committed(ops=None)
        assert [("binary.py", 1, False, False)] == places(reviewed())

    def test_a_submodule(self, committed: Commit, tmp_path: Path) -> None:
        subprocess.run(["git", "init", "-q", str(tmp_path / "sub")], check=True)
        subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "x"], check=True, cwd=tmp_path / "sub")
        command = ["git", "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(tmp_path / "sub"), "sub.py"]
        subprocess.run(command, check=True, capture_output=True)
        committed()
        assert () == reviewed().remarks

    def test_on_its_lines_and_caused_elsewhere(self, changed: str) -> None:
        assert [("ops.py", 5, True, False), ("train.py", 12, False, True)] == places(reviewed())

    def test_below_the_working_directory_only(
        self, committed: Commit, changed: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Path("below").mkdir()
        Path("below/a.py").write_text(Path("train.py").read_text().replace("from ops import metric", "metric = print"))
        committed()
        monkeypatch.chdir("below")
        assert [("below/a.py", 11), ("below/a.py", 12)] == [(one.path, one.finding.line) for one in reviewed().remarks]

    def test_excluded_files_are_left_out(self, committed: Commit) -> None:
        Path("build").mkdir()
        Path("build/a.py").write_text("(\n")
        committed()
        assert () == reviewed().remarks


class TestWords:
    def test_comment_with_a_suggestion(self, changed: str) -> None:
        remark = reviewed().remarks[1]
        expected = (
            '**TL402** blocking-h2d-copy: `y.to("cuda")` copies a pinned batch and waits for it on every step\n\n'
            "- `train.py:10`: this loop steps the optimizer\n\n"
            '```suggestion\n        y = y.to("cuda", non_blocking=True)\n```\n\n'
            f"<!-- torchlint:{remark.mark} -->"
        )
        assert expected == comment(Thread((remark,)))

    def test_a_longer_fence_around_backticks(self, committed: Commit) -> None:
        text = Path("train.py").read_text()
        committed(train=text.replace('x.to("cuda")', 'x.to("cuda")  # ```'))
        assert '````suggestion\n        x = x.to("cuda", non_blocking=True)  # ```\n````' in comment(
            Thread((reviewed().remarks[0],))
        )

    def test_nothing_in_the_code_ends_the_backticks_around_it(self, committed: Commit) -> None:
        text = Path("train.py").read_text()
        committed(train=text.replace('x.to("cuda")', 'x["`@all`"].to("cuda")'))
        said = comment(Thread((reviewed().remarks[0],))).partition("\n")[0]
        expected = r'`x["\x60@all\x60"].to("cuda")` copies a pinned batch and waits for it on every step'
        assert f"**TL402** blocking-h2d-copy: {expected}" == said

    @pytest.mark.skipif(os.name == "nt", reason="no such names there")
    @pytest.mark.parametrize(
        ("name", "shown"),
        [
            ("a`@all`", "``a`@all`.py:1``"),
            ("`a", "`` `a.py:1 ``"),
            ("a``` ` @all", "````a``` ` @all.py:1````"),
            ("a\n\n@all", r"`a\n\n@all.py:1`"),
            ("a\r\x1b\u202e", r"`a\r\x1b\u202e.py:1`"),
        ],
    )
    def test_nothing_in_a_name_ends_the_backticks_around_it(self, committed: Commit, name: str, shown: str) -> None:
        Path(f"{name}.py").write_bytes(b"\xff\0")
        committed()
        assert f"- {shown} **TL001** " in summary(reviewed())

    def test_summary(self, changed: str) -> None:
        found = reviewed()
        expected = (
            "torchlint: 2 findings, 1 of them on lines that the change affects but does not touch.\n\n"
            "Besides those on the lines below:\n\n"
            "- `ops.py:5` **TL101** item-in-hot-loop: `loss.item()` waits for the device on every training step "
            f"<!-- torchlint:{found.remarks[0].mark} -->"
        )
        assert expected == summary(found)

    def test_marks_are_found_again(self, changed: str) -> None:
        found = reviewed()
        texts = [summary(found), *map(comment, threads(found))]
        assert () == found.without(standing(texts)).remarks

    def test_what_was_gone_is_to_be_told_again(self, changed: str) -> None:
        found = reviewed()
        (thread,) = threads(found)
        texts = [summary(found), comment(thread), farewell(thread.marks, found.head)]
        assert (thread.first,) == found.without(standing(texts)).remarks
        assert () == found.without(standing([*texts, comment(thread)])).remarks

    def test_marks_stay_when_lines_move(self, committed: Commit, changed: str) -> None:
        before = {one.mark for one in reviewed().remarks}
        committed(train="# a line more\n" + Path("train.py").read_text())
        assert before == {one.mark for one in reviewed().remarks}

    def test_two_alike_have_marks_of_their_own(self, committed: Commit) -> None:
        text = Path("train.py").read_text()
        committed(
            train=text.replace("        loss =", '        x = x.to("cuda")\n        x = x.to("cuda")\n        loss =')
        )
        found = [one.mark for one in reviewed().remarks]
        assert len(found) == len(set(found))

    def test_many_go_into_the_summary(self, committed: Commit) -> None:
        body = "".join(f'        y{n} = y.to("cuda")\n        print({n})\n' for n in range(40))
        committed(train=Path("train.py").read_text().replace("        loss =", f"{body}        loss ="))
        found = reviewed()
        assert (40, 30, 10) == (len(found.remarks), len(threads(found)), summary(found).count("\n- "))

    def test_equal_findings_on_neighbouring_lines_are_one_comment(self, committed: Commit) -> None:
        body = '        y = y.to("cuda")\n        z = z.to("cuda")\n\n        w = w.to("cuda")\n'
        committed(train=TRAIN.replace("        loss =", f"{body}        loss =").replace("x, y in", "w, x, y, z in"))
        first, second = threads(reviewed())
        assert ((12, 13), (15, 15)) == (first.lines, second.lines)
        marks = "".join(f"<!-- torchlint:{one.mark} -->" for one in first.remarks)
        expected = (
            "**TL402** blocking-h2d-copy\n\n"
            '- `y.to("cuda")` copies a pinned batch and waits for it on every step\n'
            '- `z.to("cuda")` copies a pinned batch and waits for it on every step\n\n'
            "- `train.py:10`: this loop steps the optimizer\n\n"
            '```suggestion\n        y = y.to("cuda", non_blocking=True)\n        z = z.to("cuda", non_blocking=True)\n```\n\n'
            f"{marks}"
        )
        assert expected == comment(first)

    def test_a_summary_that_is_too_long_is_cut(self, committed: Commit) -> None:
        body = "".join(f'        y{n}{"_" * 200} = y.to("cuda")\n' for n in range(900))
        committed(train=Path("train.py").read_text().replace("        loss =", f"{body}        loss ="))
        text = summary(reviewed())
        assert len(text) < 65_536
        assert text.endswith(" more: `torchlint check` lists them.")


class TestLines:
    def test_github(self, changed: str) -> None:
        found = reviewed()
        payload: Any = for_github(found)
        assert (changed, "COMMENT", summary(found)) == (payload["commit_id"], payload["event"], payload["body"])
        assert [{"path": "train.py", "body": comment(threads(found)[0]), "side": "RIGHT", "line": 12}] == payload[
            "comments"
        ]

    def test_several_lines(self, committed: Commit) -> None:
        committed(train=Path("train.py").read_text().replace('x.to("cuda")', 'x.to(\n            "cuda",\n        )'))
        payload: Any = for_github(reviewed())
        (one,) = payload["comments"]
        assert (11, 13, "RIGHT", "RIGHT") == (one["start_line"], one["line"], one["side"], one["start_side"])
        (note,) = for_gitlab(reviewed())
        assert "```suggestion:-2+0\n" in str(note["note"])

    def test_gitlab_names_unchanged_lines_by_both_numbers(self, committed: Commit) -> None:
        text = Path("train.py").read_text()
        committed(train=text.replace("pin_memory=True", "pin_memory=False"))
        subprocess.run(["git", "switch", "-q", "-C", "other", "HEAD"], check=True)
        committed(train="import os\n" + text)
        (note,) = for_gitlab(reviewed(base="feature"))
        position: Any = note["position"]
        assert (12, 11) == (position["new_line"], position["old_line"])


def test_a_notebook_is_reviewed_by_the_lines_of_its_file(committed: Commit) -> None:
    cells = [
        "import torch\nfrom torch.utils.data import DataLoader\nloader = DataLoader(d, pin_memory=True)\n",
        'for x, y in loader:\n    x = x.to("cuda")\n    net(x).sum().backward()\n    optimizer.step()\n',
    ]
    book = {"cells": [{"cell_type": "code", "source": cell.splitlines(keepends=True)} for cell in cells], "nbformat": 4}
    Path("a.ipynb").write_text(json.dumps(book, indent=1))
    committed()
    (one,) = threads(reviewed())
    line = next(at for at, text in enumerate(Path("a.ipynb").read_text().splitlines(), 1) if "cuda" in text)
    assert ((line, line), ('    "    x = x.to(\\"cuda\\", non_blocking=True)\\n",',)) == (
        one.lines,
        one.suggestion and one.suggestion.text,
    )


class TestBadInput:
    @pytest.mark.parametrize("base", ["nowhere", "--all", ""])
    def test_unknown_base(self, base: str) -> None:
        with pytest.raises(Failure, match=rf"git knows no commit `{base}`$"):
            reviewed(base=base)

    def test_outside_of_a_repository(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        with pytest.raises(Failure, match=r"is not in a git repository$"):
            reviewed()
