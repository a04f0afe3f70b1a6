"""The rules of the tool itself: TL001 to TL004."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from torchlint.fix.apply import apply
from torchlint.lint.run import Result, lint
from torchlint.rule import load
from torchlint.settings.config import Settings
from torchlint.text.finding import Finding
from torchlint.text.source import Source

CODES = frozenset(("TL001", "TL002", "TL003", "TL004", "TL101", "TL402"))
HOT = """\
import torch
from torch.utils.data import DataLoader

def train(model, optimizer, dataset):
    loader = DataLoader(dataset, pin_memory=True)
    for x, y in loader:
        x = x.to("cuda"){}
        loss = model(x).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
"""Line 7 is TL402."""

Lint = Callable[..., Result]


@pytest.fixture(params=[True, False], ids=["sieve", "no-sieve"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Lint:
    """Lint one file with and without the sieve."""

    def run(data: str | bytes, path: str = "a.py", **settings: object) -> Result:
        given: dict[str, object] = {"codes": CODES, "fixable": CODES, "root": tmp_path, **settings}
        raw = data if isinstance(data, bytes) else data.encode()
        return lint({path: raw}, Settings(**given, sieve=request.param))  # type: ignore[arg-type]

    return run


def told(result: Result) -> list[str]:
    return [f"{f.line}:{f.column}-{f.end_column} {f.code} {f.message}" for f in result.findings]


# TL001


@pytest.mark.parametrize(
    "code",
    [
        "",
        "\n",
        "\x0c\n",
        "# only a comment",
        "import torch",
        "'a\\d'",
        "match x:\n    case 1: pass\n",
        "x = 1\r\ny = 2\r",
    ],
)
def test_what_parses_is_no_syntax_error(run: Lint, code: str) -> None:
    assert [] == told(run(code))
    assert [] == told(run(b"\xef\xbb\xbf" + code.encode()))


@pytest.mark.parametrize(
    "prefix", ["", "import torch\n", "import torch\nx.item()\n"], ids=["plain", "torch", "trigger"]
)
@pytest.mark.parametrize(
    ("code", "column", "message"),
    [
        ('print "x"\n', 1, "Python 2 print statement"),
        ("x = 08\n", 5, "Python 2 octal number"),
        ("x = 1\0\n", 6, "null byte"),
    ],
)
def test_a_file_that_does_not_parse_is_told_once(run: Lint, prefix: str, code: str, column: int, message: str) -> None:
    result = run(prefix + code)

    line = prefix.count("\n") + 1
    assert [(line, "TL001", "error", message)] == [(f.line, f.code, f.severity, f.message) for f in result.findings]
    assert () == result.errors


def test_the_running_python_is_named(run: Lint) -> None:
    version = f"Python {sys.version_info[0]}.{sys.version_info[1]}"
    assert [f"1:7-7 TL001 invalid syntax ({version})"] == told(run("def f(:\n"))


def test_templates_of_cookiecutter_are_no_python(run: Lint) -> None:
    text = '{% if cookiecutter.is_large == "False" %}\nimport torch\n'
    assert [] == told(run(text, path="{{cookiecutter.name}}/model_{{cookiecutter.name}}.py"))
    assert 1 == len(told(run(text, path="cookiecutter/model.py")))


def test_bytes_that_are_no_text_are_told(run: Lint) -> None:
    assert ["2:6-6 TL001 not UTF-8: byte 0xff (invalid start byte)"] == told(run(b"import torch\nx = '\xff'\n"))
    assert ["1:11-11 TL001 unknown encoding: klingon"] == told(run(b"# coding: klingon\n"))


def test_syntax_that_is_too_new_is_told(run: Lint) -> None:
    if sys.version_info >= (3, 12):
        assert [] == told(run("type A = int\n"))
    else:
        assert ["TL001"] == [finding.code for finding in run("type A = int\n").findings]


@pytest.mark.parametrize("comment", ["# torchlint: ignore-file\n", "# torchlint: ignore-file[syntax-error]\n"])
def test_a_file_that_is_ignored_may_be_no_python(run: Lint, comment: str) -> None:
    result = run(f'{comment}print "x"\n')
    assert ([], 1) == (told(result), result.suppressed)


def test_it_is_not_looked_for_where_it_is_off(run: Lint) -> None:
    assert [] == told(run('print "x"\n', codes=CODES - {"TL001"}))
    assert [] == told(run('print "x"\n', per_file_ignores=(("a.py", frozenset(("TL001",))),)))


# TL002


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa: TL402",
        "# noqa: blocking-h2d-copy",
        "# noqa: E501, TL402",
        "# torchlint: ignore[TL402] measured: no gain",
        "# torchlint: ignore",
        "# noqa",
    ],
)
def test_a_suppression_that_is_needed_stays(run: Lint, comment: str) -> None:
    result = run(HOT.format(f"  {comment}"))
    assert ([], 1) == (told(result), result.suppressed)


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "# noqa: E501",
        "# noqa: TL201",  # that rule is off
        "# noqa: TL1",  # so are some of these
        "# torchlint: ignore",  # so are some of all
        "# noqa: TL101, TL002",
        "# torchlint: ignore[TL101, unused-suppression]",
        '"# noqa: TL101"',
    ],
)
def test_what_may_be_of_use_is_not_judged(run: Lint, comment: str) -> None:
    assert [] == told(run(f"x = 1  {comment}\n" if comment[0] == "#" else f"x = {comment}\n"))


def test_nothing_is_judged_in_a_file_that_does_not_parse(run: Lint) -> None:
    assert ["TL001"] == [f.code for f in run("x = 1  # noqa: TL101\ndef f(:\n").findings]


@pytest.mark.parametrize("where", ["# torchlint: ignore-file[TL002]\n", "# torchlint: ignore-file[TL0]\n"])
def test_a_file_can_do_without_it(run: Lint, where: str) -> None:
    assert [] == told(run(f"{where}x = 1  # noqa: TL101\n"))


def test_with_ignore_noqa_no_comment_counts(run: Lint) -> None:
    result = run(HOT.format("  # noqa: TL402") + "x = 1  # noqa: TL101\n", ignore_noqa=True)
    assert (["TL402"], 0) == ([f.code for f in result.findings], result.suppressed)


@pytest.mark.parametrize(
    ("line", "finding", "fixed"),
    [
        ("x = 1  # noqa: TL101", "1:8-21 TL002 `TL101` silences nothing here", "x = 1"),
        ("x = 1  # noqa: TL101, TL402", "1:8-28 TL002 `TL101, TL402` silences nothing here", "x = 1"),
        ("x = 1  # noqa: E501, TL101", "1:22-27 TL002 `TL101` silences nothing here", "x = 1  # noqa: E501"),
        ("é = 1  # torchlint: ignore[TL101] why", "1:8-38 TL002 `TL101` silences nothing here", "é = 1"),
        ("# torchlint: ignore-file[TL101]", "1:1-32 TL002 `TL101` silences nothing here", None),
    ],
)
def test_what_silences_nothing_is_told_and_removed(run: Lint, line: str, finding: str, fixed: str | None) -> None:
    text = f"{line}\ny = 2\n"
    result = run(text)

    assert [finding] == told(result)
    fixes = [found.fix for found in result.findings if found.fix is not None]
    assert ["unsafe" if "why" in line else "safe"] == [fix.applicability for fix in fixes]
    data, _ = apply(Source.of("a.py", text.encode()), fixes)
    assert (f"{fixed}\ny = 2\n" if fixed is not None else "y = 2\n") == data.decode()


def test_a_bare_ignore_is_judged_when_all_rules_are_on(run: Lint) -> None:
    codes = frozenset(load())
    assert ["1:8-27 TL002 `torchlint: ignore` silences nothing here"] == told(
        run("x = 1  # torchlint: ignore\n", codes=codes)
    )
    assert ["1:1-25 TL002 `torchlint: ignore-file` silences nothing here"] == told(
        run("# torchlint: ignore-file\nx = 1  # noqa: TL101\n", codes=codes)
    )


# TL003


@pytest.mark.parametrize("comment", ["# noqa: E999", "# noqa: not-a-rule", "# torch: lint", "# torchlint is a linter"])
def test_what_is_meant_for_others_is_no_unknown_rule(run: Lint, comment: str) -> None:
    assert [] == told(run(f"x = 1  {comment}\n"))


@pytest.mark.parametrize(
    ("line", "finding"),
    [
        ("x = 1  # noqa: TL998", "1:16-21 TL003 there is no rule `TL998`"),
        ("x = 1  # torchlint: ignore[item-in-lop]", "1:28-39 TL003 there is no rule `item-in-lop`"),
        (
            "x = 1  # torchlint: ingore",
            (
                "1:8-27 TL003 `# torchlint: ingore` is no suppression; those are `ignore`, `ignore[CODE]` and, "
                "on its own line, `ignore-file`"
            ),
        ),
    ],
)
def test_what_no_rule_has_is_told(run: Lint, line: str, finding: str) -> None:
    assert [finding] == told(run(f"{line}\n"))


def test_it_can_be_silenced_itself(run: Lint) -> None:
    assert [] == told(run("x = 1  # noqa: TL998, TL003\n"))


# TL004 is tested with the fixes, in test_fixing.py


def test_a_run_without_fixes_has_no_failed_fix(run: Lint) -> None:
    assert ["TL402"] == [finding.code for finding in run(HOT.format("")).findings]


def test_every_finding_has_its_rules_name(run: Lint) -> None:
    names = {code: rule.name for code, rule in load().items()}
    findings: list[Finding] = [*run("x = 1  # noqa: TL101, TL998\n").findings, *run("def f(:\n").findings]
    assert [names[finding.code] for finding in findings] == [finding.name for finding in findings]
    assert ["TL002", "TL003", "TL001"] == [finding.code for finding in findings]
