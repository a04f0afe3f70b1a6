"""Baselines: what they hide, what they never hide, and what they say of files they can't read."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import torchlint.lint.run
from torchlint import cli
from torchlint.lint import baseline
from torchlint.lint.baseline import Comparison, Fingerprint, compare
from torchlint.lint.run import lint
from torchlint.rule import load
from torchlint.settings.config import Settings
from torchlint.system.failure import Failure
from torchlint.text.finding import Finding

TRAIN = """\
import torch

def train(net, optimizer, loader):
    total = 0
    for x in loader:
        loss = net(x.cuda())
        loss.backward(), optimizer.step()
        total += loss.item()
    return total
"""
"""Line 8 is TL101."""
SELECT = "--select=TL101"

Check = Callable[..., tuple[int, str, str]]


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Check:
    """Write a baseline of TRAIN, then files, and run `check --baseline`: its exit code, output and messages."""
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(TRAIN)
    cli.main(["baseline", SELECT])
    capsys.readouterr()

    def run(*options: str, **files: str | None) -> tuple[int, str, str]:
        for name, text in files.items():
            path = Path(f"{name}.py")
            path.unlink(missing_ok=True) if text is None else path.write_text(text)
        code = cli.main(["check", SELECT, "--output-format=concise", "--baseline", *options])
        out, err = capsys.readouterr()
        return code, out.partition("Found")[0], err

    return run


def finding(path: str = "a.py", scope: str = "f", statement: str = "s", context: str = "c") -> Fingerprint:
    return Fingerprint(path, "TL101", scope, statement, context, "x.item()")


# What is new is never hidden


def test_new_finding_of_the_same_rule_in_the_same_function_shows(check: Check) -> None:
    text = TRAIN.replace("    return", "        best = loss.max().item()\n    return")
    code, out, _ = check(train=text)
    assert (1, ["train.py:9:16"]) == (code, [line.partition(": TL101")[0] for line in out.splitlines()])


def test_same_statement_a_second_time_shows_once(check: Check) -> None:
    code, out, _ = check(train=TRAIN.replace("    return", "        total += loss.item()\n    return"))
    assert (1, 1) == (code, out.count("TL101"))


def test_a_copy_of_the_file_shows(check: Check) -> None:
    code, out, _ = check(copy=TRAIN)
    assert (1, ["copy.py:8:18"]) == (code, [line.partition(": TL101")[0] for line in out.splitlines()])


def test_a_copy_shows_when_only_the_copy_is_linted(check: Check) -> None:
    code, out, _ = check("copy.py", copy=TRAIN)
    assert (1, 1) == (code, out.count("TL101"))


def test_same_words_in_another_function_show_when_the_old_ones_are_gone() -> None:
    known, new = finding(scope="f", context="old"), finding(scope="g", context="new")
    assert Comparison((0,), (known,)) == compare([new], [known])


def test_a_statement_of_many_findings_is_gone_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    walked: list[ast.AST] = []
    walk = ast.walk

    def noted(node: ast.AST) -> Iterator[ast.AST]:
        walked.append(node)
        return walk(node)

    monkeypatch.setattr(ast, "walk", noted)
    codes = frozenset(("TL901",))
    calls = "torch.cuda.amp.autocast(), " * 4
    result = lint({"a.py": f"import torch\nx = [{calls}]\n".encode()}, Settings(codes, codes))

    walked.clear()
    found = baseline.fingerprints(result, Path.cwd())

    assert 4 == len(found)
    assert [ast.Assign] == [type(node) for node in walked]


def test_each_known_finding_hides_one() -> None:
    assert Comparison((2,), ()) == compare([finding()] * 3, [finding()] * 2)


def test_the_one_with_its_old_neighbours_is_hidden() -> None:
    first, second = finding(context="new"), finding(context="c")
    assert Comparison((0,), ()) == compare([first, second], [finding()])


def test_syntax_errors_are_not_hidden(check: Check, capsys: pytest.CaptureFixture[str]) -> None:
    Path("broken.py").write_text("import torch\ndef f(:\n")
    cli.main(["baseline"])
    capsys.readouterr()
    code, out, _ = check()
    assert (1, 1) == (code, out.count("TL001"))


# What is known stays hidden


def test_nothing_is_left_of_the_same_file(check: Check) -> None:
    assert (0, "All checks passed!\n", "1 finding of .torchlint-baseline.json hidden.\n") == check()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("# a line more\n\n" + TRAIN, id="moved down"),
        pytest.param(TRAIN.replace("loss.item()", "(\n            loss.item()  # read it\n        )"), id="wrapped"),
        pytest.param(TRAIN.replace("    total = 0", "    total = 1"), id="edited elsewhere"),
        pytest.param(TRAIN.replace("        loss.backward(), optimizer.step()", "        loss.backward()\n        optimizer.step()"), id="edited next to it"),
        pytest.param(TRAIN.replace("def train", "def epoch"), id="function renamed"),
        pytest.param(TRAIN.replace("    ", "\t"), id="tabs"),
        pytest.param(TRAIN.replace("\n", "\r\n"), id="windows newlines"),
        pytest.param("class A:\n" + "".join(f"    {line}\n" for line in TRAIN.splitlines()), id="moved into a class"),
    ],
)  # fmt: skip
def test_hidden_after(check: Check, text: str) -> None:
    assert (0, "1 finding of .torchlint-baseline.json hidden.\n") == check(train=text)[::2]


def test_hidden_after_the_file_is_renamed(check: Check) -> None:
    assert (0, "1 finding of .torchlint-baseline.json hidden.\n") == check(train=None, main=TRAIN)[::2]


def test_hidden_after_black(check: Check) -> None:
    black = pytest.importorskip("black")
    ugly = TRAIN.replace("total += loss.item()", "total += ( dict ( a = 'x', b = loss.item() )['b'] )")
    Path("train.py").write_text(ugly)
    cli.main(["baseline", SELECT])
    formatted = black.format_str(ugly, mode=black.Mode(line_length=30))
    assert ugly.count("\n") < formatted.count("\n")
    assert (0, "1 finding of .torchlint-baseline.json hidden.\n") == check(train=formatted)[::2]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            TRAIN.replace("        total +=", "        match x:\n            case 1:\n                total +="),
            "# moved\n" + TRAIN.replace("        total +=", "        match  (x) :\n            case (1):\n                total  +="),
            id="in a case",
        ),
        pytest.param(
            TRAIN.replace("        total +=", "        try:\n            total +=").replace("    return", "        except E:\n            pass\n    return"),
            TRAIN.replace("        total +=", "        try :\n            total +=").replace("    return", "        except (E):\n            pass\n    return"),
            id="in a try block",
        ),
        pytest.param(
            TRAIN.replace("total += loss.item()", 'total += f"{loss.item()}"'),
            TRAIN.replace("total += loss.item()", "total += (f'{loss.item()}')"),
            id="in an f-string",
        ),
        pytest.param(
            TRAIN.replace("def train", '@jit\n@wrap("a")\ndef train'),
            TRAIN.replace("def train", "@jit\n@wrap('a',)\ndef train"),
            id="in a decorated function",
        ),
    ],
)  # fmt: skip
def test_hidden_in(check: Check, capsys: pytest.CaptureFixture[str], before: str, after: str) -> None:
    Path("train.py").write_text(before)
    cli.main(["baseline", SELECT])
    assert "Wrote 1 finding to" in capsys.readouterr().out
    assert (0, "1 finding of .torchlint-baseline.json hidden.\n") == check(train=after)[::2]


def test_findings_on_comments(check: Check, capsys: pytest.CaptureFixture[str]) -> None:
    """TL002 is about a comment, of which no syntax tree knows."""
    Path("train.py").write_text("x = 1\n# torchlint: ignore[TL101]\n")
    options = ["--select=TL002"]
    cli.main(["baseline", SELECT, *options])
    assert "Wrote 1 finding to" in capsys.readouterr().out
    moved = "x = 1\n\ny = 2\n# torchlint: ignore[TL101]\n"
    assert (0, "1 finding of .torchlint-baseline.json hidden.\n") == check(*options, train=moved)[::2]


def test_found_from_a_folder_below(check: Check, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    assert 0 == check("../train.py")[0]


@pytest.mark.parametrize("paths", [["."], ["train.py"]])
def test_a_path_behind_the_option_is_no_baseline(check: Check, paths: list[str]) -> None:
    assert 0 == check(*paths)[0]


def test_sarif_says_that_findings_are_new(check: Check) -> None:
    Path("copy.py").write_text(TRAIN)
    code, out, _ = check("--output-format=sarif")
    assert (1, ["new"]) == (code, [one["baselineState"] for one in json.loads(out)["runs"][0]["results"]])


# What is gone is told


def test_gone_is_told(check: Check) -> None:
    expected = (
        "1 finding of .torchlint-baseline.json gone; `torchlint baseline` takes them out:\n"
        "  train.py: TL101 in train: total += loss.item()\n"
    )
    assert (0, expected) == check(train="import torch\n")[::2]


def test_gone_with_its_file(check: Check) -> None:
    Path("other.py").write_text("import torch\n")
    assert 1 == check(train=None)[2].count("train.py: TL101")


def test_not_gone_when_its_file_is_not_linted(check: Check) -> None:
    assert (0, "") == check("other.py", other="import torch\n")[::2]


@pytest.mark.parametrize("off", ["--ignore=TL101", "--per-file-ignores=train.py:TL101"])
def test_not_gone_when_its_rule_is_off(check: Check, off: str) -> None:
    assert (0, "") == check(off)[::2]


def test_not_gone_when_its_file_does_not_parse(check: Check) -> None:
    assert (1, "") == check(train=TRAIN + "x = (\n")[::2]


def test_only_new_findings_are_fixed(check: Check, capsys: pytest.CaptureFixture[str]) -> None:
    old = "import torch\nfrom torch.utils.data import DataLoader\ndef train(model, optimizer, dataset):\n    loader = DataLoader(dataset, pin_memory=True)\n    for x, y in loader:\n        x = x.to('cuda')\n        model(x).sum().backward()\n        optimizer.step()\n"
    Path("train.py").write_text(old)
    cli.main(["baseline", "--select=TL402"])
    Path("train.py").write_text(old.replace("        model", "        y = y.to('cuda')\n        model"))
    capsys.readouterr()
    assert 0 == cli.main(["check", "--select=TL402", "--baseline", "--fix"])
    lines = Path("train.py").read_text().splitlines()
    assert ["        x = x.to('cuda')", "        y = y.to('cuda', non_blocking=True)"] == lines[5:7]


# The file


def test_entries_of_other_files_stay(check: Check, capsys: pytest.CaptureFixture[str]) -> None:
    Path("other.py").write_text(TRAIN)
    cli.main(["baseline", SELECT, "other.py"])
    assert ["other.py", "train.py"] == [one.path for one in baseline.read(Path(baseline.FILE))]


def known() -> list[tuple[str, str]]:
    """The files and codes of the entries in the baseline."""
    return [(one.path, one.code) for one in baseline.read(Path(baseline.FILE))]


@pytest.mark.parametrize("select", ["--select=TL101", "--select=TL0,TL101"])
def test_entries_of_a_file_that_does_not_parse_stay(
    check: Check, select: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("train.py").write_text(TRAIN + "x = (\n")
    Path("copy.py").write_text(TRAIN)
    assert 0 == cli.main(["baseline", select])
    expected = (
        f"Wrote 1 finding to {Path(baseline.FILE).absolute()}.\nKept 1 entry of files that can't be read or parsed.\n"
    )
    assert expected == capsys.readouterr().out
    assert [("copy.py", "TL101"), ("train.py", "TL101")] == known()


def test_entries_of_a_file_that_can_not_be_read_stay(check: Check, capsys: pytest.CaptureFixture[str]) -> None:
    Path("train.py").write_bytes(b"x = '\xff'\n")
    assert 0 == cli.main(["baseline", SELECT])
    assert "Kept 1 entry of files that can't be read or parsed.\n" in capsys.readouterr().out
    assert [("train.py", "TL101")] == known()


def test_entries_where_a_rule_failed_stay(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(site: object) -> Iterator[Finding]:
        raise KeyError("of the test")

    rules = load()
    monkeypatch.setattr(torchlint.lint.run, "load", lambda: {**rules, "TL101": replace(rules["TL101"], check=failing)})
    assert 2 == cli.main(["baseline", SELECT, "-j", "1"])
    assert [("train.py", "TL101")] == known()


@pytest.mark.parametrize("off", [["--select=TL102"], [SELECT, "--per-file-ignores=train.py:TL101"]])
def test_entries_of_rules_that_are_off_stay(check: Check, off: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == cli.main(["baseline", *off])
    expected = f"Wrote 0 findings to {Path(baseline.FILE).absolute()}.\nKept 1 entry of rules that are off.\n"
    assert expected == capsys.readouterr().out
    assert [("train.py", "TL101")] == known()


def test_entries_of_a_finding_that_is_mended_go_and_nothing_is_said_of_them(
    check: Check, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("train.py").write_text("import torch\n")
    assert 0 == cli.main(["baseline", SELECT])
    assert f"Wrote 0 findings to {Path(baseline.FILE).absolute()}.\n" == capsys.readouterr().out
    assert [] == known()


def test_entries_of_deleted_files_go(check: Check) -> None:
    Path("train.py").unlink()
    cli.main(["baseline", SELECT])
    assert [] == baseline.read(Path(baseline.FILE))


def test_read_gives_what_was_written(tmp_path: Path) -> None:
    known = [finding(path="ö.py"), finding(), finding()]
    baseline.write(tmp_path / "b.json", known)
    assert sorted(known) == sorted(baseline.read(tmp_path / "b.json"))


def test_an_entry_is_a_line(tmp_path: Path) -> None:
    baseline.write(tmp_path / "b.json", [finding(), finding()])
    expected = (
        '{\n  "version": 1,\n  "findings": [\n    {"path": "a.py", "code": "TL101", "scope": "f", "line": "x.item()", '
        '"statement": "s", "context": "c", "count": 2}\n  ]\n}\n'
    )
    assert expected == (tmp_path / "b.json").read_text()


ENTRY = {"path": "a.py", "code": "TL101", "scope": "f", "line": "x", "statement": "s", "context": "c"}
ANEW = "delete the file and run `torchlint baseline`"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "b.json: not a baseline: Expecting value: line 1 column 1 (char 0)"),
        ("[]", "b.json: not a baseline: it has no version"),
        ('{"findings": []}', "b.json: not a baseline: it has no version"),
        ('{"version": 7}', f"b.json: a baseline of version 7; this torchlint reads version 1: {ANEW}"),
        ('{\n<<<<<<< HEAD\n', f"b.json:2: a merge conflict; keep the lines of both sides, or {ANEW}"),
        (json.dumps({"version": 1, "findings": [ENTRY, {}]}), "b.json: entry 2 of `findings` is incomplete"),
        (json.dumps({"version": 1, "findings": [3]}), "b.json: entry 1 of `findings` is incomplete"),
        (json.dumps({"version": 1, "findings": [ENTRY | {"count": 0}]}), "b.json: entry 1 of `findings` can't be understood"),
        (json.dumps({"version": 1, "findings": [ENTRY | {"path": 1}]}), "b.json: entry 1 of `findings` can't be understood"),
        (json.dumps({"version": 1, "findings": 3}), "b.json: `findings` is no list"),
    ],
)  # fmt: skip
def test_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("b.json").write_text(text)
    with pytest.raises(Failure) as caught:
        baseline.read(Path("b.json"))
    assert message == str(caught.value)


def test_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text("")
    assert 2 == cli.main(["check", "--baseline=none.json"])
    assert "none.json: there is no baseline; `torchlint baseline` writes one" in capsys.readouterr().err


def test_a_conflict_is_not_overwritten(check: Check) -> None:
    Path(baseline.FILE).write_text("<<<<<<< HEAD\n")
    assert 2 == cli.main(["baseline", SELECT])
    assert "<<<<<<< HEAD\n" == Path(baseline.FILE).read_text()


def test_a_link_to_no_file_is_not_written_through(tmp_path: Path) -> None:
    outside = tmp_path / "outside.json"
    (tmp_path / "project").mkdir()
    link = tmp_path / "project" / ".torchlint-baseline.json"
    link.symlink_to(outside)

    with pytest.raises(Failure, match="leads to no file"):
        baseline.write(link, [])
    assert not outside.exists()


def test_a_link_to_a_baseline_stays_one(tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    baseline.write(kept, [])
    link = tmp_path / "link.json"
    link.symlink_to(kept)

    baseline.write(link, [Fingerprint("a.py", "TL101", "f", "x", "y", "z")])

    assert link.is_symlink()
    assert "TL101" in kept.read_text()
