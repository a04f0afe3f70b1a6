"""Comments that `--add-noqa` and `--add-ignore` write: where they count, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from torchlint import cli
from torchlint.fix.apply import ChangedOnDisk

HEAD = "import torch\ndef train(net, optimizer, loader):\n    for x in loader:\n        loss = net(x.cuda()).sum()\n        loss.backward()\n        optimizer.step()\n"
SELECT = "--select=TL101,TL002"

Silence = Callable[..., tuple[int, str]]


@pytest.fixture
def silence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Silence:
    """Silence what is found in a loop body; the exit code, and what became of the body."""
    monkeypatch.chdir(tmp_path)

    def run(body: str, option: str = "--add-ignore", *more: str) -> tuple[int, str]:
        Path("a.py").write_text(HEAD + body, newline="")
        code = cli.main(["check", SELECT, "-q", option, *more])
        with open("a.py", newline="") as file:
            return code, file.read().removeprefix(HEAD)

    return run


ITEM = "        y = (loss.item())"


@pytest.mark.parametrize(
    ("option", "comment"),
    [
        ("--add-noqa", "# noqa: TL101"),
        ("--add-ignore", "# torchlint: ignore[TL101]"),
        ("--add-noqa=only at the start", "# noqa: TL101 only at the start"),
        ("--add-ignore=only at the start", "# torchlint: ignore[TL101] only at the start"),
    ],
)
def test_comment(silence: Silence, option: str, comment: str) -> None:
    assert (0, f"{ITEM}  {comment}\n") == silence(f"{ITEM}\n", option)


def test_the_word_behind_is_a_path(silence: Silence) -> None:
    assert (0, f"{ITEM}  # noqa: TL101\n") == silence(f"{ITEM}\n", "--add-noqa", "a.py")


def test_nothing_to_silence(silence: Silence) -> None:
    assert (0, "        x + 1\n") == silence("        x + 1\n")


def test_twice_is_once(silence: Silence) -> None:
    _, once = silence(f"{ITEM}\n")
    assert (0, once) == silence(once)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(ITEM, f"{ITEM}  # torchlint: ignore[TL101]", id="no newline at the end"),
        pytest.param(f"{ITEM}\r\n", f"{ITEM}  # torchlint: ignore[TL101]\r\n", id="windows newline"),
        pytest.param(f"{ITEM}  \n", f"{ITEM}  # torchlint: ignore[TL101]\n", id="space at the end"),
        pytest.param(f"{ITEM}  # why\n", f"{ITEM}  # why  # torchlint: ignore[TL101]\n", id="behind a comment"),
        pytest.param(f"{ITEM}  # torchlint: ignore[TL402] x\n", f"{ITEM}  # torchlint: ignore[TL402, TL101] x\n", id="more codes"),
        pytest.param("        y = (loss.item(), loss.item())\n", "        y = (loss.item(), loss.item())  # torchlint: ignore[TL101]\n", id="two"),
        pytest.param("        y = (\n            loss.item(),\n        )\n", "        y = (\n            loss.item(),  # torchlint: ignore[TL101]\n        )\n", id="inner line"),
        pytest.param("        y = (loss.item(), '''\n''')\n", "        y = (loss.item(), '''\n''')  # torchlint: ignore[TL101]\n", id="before a string of lines"),
        pytest.param("        y = loss.item() + \\\n            1\n", "        y = loss.item() + \\\n            1  # torchlint: ignore[TL101]\n", id="backslash"),
    ],
)  # fmt: skip
def test_place(silence: Silence, before: str, after: str) -> None:
    assert (0, after) == silence(before)


def test_noqa_of_another_tool_gets_the_code(silence: Silence) -> None:
    assert (0, f"{ITEM}  # noqa: F401, TL101\n") == silence(f"{ITEM}  # noqa: F401\n", "--add-noqa")


def test_unused_suppressions_are_not_silenced(silence: Silence) -> None:
    text = "        x + 1  # torchlint: ignore[TL101]\n"
    assert (1, text) == silence(text)


def test_a_file_that_can_not_be_written(
    silence: Silence, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("torchlint.fix.apply.write", fail)
    assert (2, f"{ITEM}\n") == silence(f"{ITEM}\n")
    assert "torchlint failed\n  Cause: a.py: Permission denied\n" == capsys.readouterr().err


def test_a_file_that_has_changed_since_it_was_read(
    silence: Silence, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: str, *_: object) -> None:
        if path == "b.py":
            raise ChangedOnDisk(path)

    Path("b.py").write_text(f"{HEAD}{ITEM}\n")
    monkeypatch.setattr("torchlint.fix.apply.write", fail)
    assert (2, f"{ITEM}\n") == silence(f"{ITEM}\n")
    cause = "b.py has changed since it was read; nothing was written (1 comment in files before it)"
    assert f"torchlint failed\n  Cause: {cause}\n" == capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [
        (["--add-ignore=a\nb"], "a reason is one line without `#`"),
        (["--add-noqa=F401 is not ours"], "the reason 'F401 is not ours' would be read as a code"),
        (["--add-noqa= TL102"], "the reason ' TL102' would be read as a code"),
        (["--add-noqa=,E501"], "the reason ',E501' would be read as a code"),
        (["--add-noqa= ,\tE501: long"], "the reason ' ,\\tE501: long' would be read as a code"),
        (["--add-noqa=TLDR known"], "the reason 'TLDR known' would be read as a code"),
        (["--add-noqa=well-known"], "the reason 'well-known' would be read as a code"),
        (["--add-noqa=\udcff"], "the reason '\\udcff' is not UTF-8"),
        (["--add-ignore=\udcff"], "the reason '\\udcff' is not UTF-8"),
        (["--add-ignore=a\u2028b"], "a reason is one line without `#`"),
        (["--add-noqa", "--fix"], "`--add-noqa` can't be combined with fixes, with the other kind of comment or with `--ignore-noqa`"),
        (["--add-noqa", "--add-ignore"], "`--add-noqa` can't be combined with fixes, with the other kind of comment or with `--ignore-noqa`"),
    ],
)  # fmt: skip
def test_refused(silence: Silence, capsys: pytest.CaptureFixture[str], arguments: list[str], cause: str) -> None:
    assert (2, f"{ITEM}\n") == silence(f"{ITEM}\n", *arguments)
    assert f"torchlint failed\n  Cause: {cause}\n" == capsys.readouterr().err
