"""The command line: arguments, output, exit codes, and how little it loads."""

from __future__ import annotations

import argparse
import importlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from torchlint import cli
from torchlint.commands import trace
from torchlint.lint.run import Result
from torchlint.settings.config import Settings
from torchlint.system.fault import FileError
from torchlint.text.finding import Edit, Finding, Fix
from torchlint.text.source import Source
from torchlint.torch_api.version import Range

TEXT = b"import torch\nx.item()\n"
SLOW = """\
import torch

def train(net, optimizer, loader):
    total = 0
    for x in loader:
        loss = net(x.cuda())
        loss.backward(), optimizer.step()
        total += loss.item()  # \u00f6
    return total
"""
"""What the real rule TL101 finds in line 8."""
FINDING = Finding("a.py", 2, 1, 2, 9, "TL101", "item-in-loop", "waits", "warning")
SAFE = replace(FINDING, fix=Fix("Drop it", (Edit(13, 22, b""),), "safe"))
UNSAFE = replace(FINDING, fix=Fix("Drop it", (Edit(13, 22, b""),), "unsafe"))


@dataclass(frozen=True)
class Rule:
    code: str
    name: str
    set: str = "default"
    doc: str = "Waiting is slow.\n\n## Bad\n"
    severity: str = "warning"
    impact: str = "high"
    scope: str = "hot"
    shape: tuple[str, ...] = ("$x.item(...)",)
    shapeless: str = ""
    category: str = "sync"
    fix: str = "unsafe"
    torch: Range = Range.parse(">=2.4")  # noqa: RUF009 - frozen
    principle: tuple[str, ...] = ("pipeline",)
    depends_on: tuple[str, ...] = ("TL101",)
    silenced_by: tuple[str, ...] = ("REGION",)
    confirmed_by: tuple[str, ...] = ("sync",)
    numbers: str = ""
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def summary(self) -> str:
        return self.doc.partition("\n")[0]


RULES = {
    rule.code: rule
    for rule in (Rule("TL101", "item-in-loop"), Rule("TL102", "print-in-loop"), Rule("TL110", "any-all", "preview"))
}


@dataclass
class Engine:
    """Stands for torchlint.lint.run: says what it was told to, and keeps what it was asked."""

    findings: Sequence[Finding] = ()
    errors: Sequence[FileError] = ()
    fixed: Mapping[str, Counter[str]] = field(default_factory=dict)
    diffs: Mapping[str, bytes] = field(default_factory=dict)
    contents: Mapping[str, bytes] = field(default_factory=dict)
    failed: Sequence[FileError] = ()
    asked: list[Any] = field(default_factory=list)
    settings: Settings | None = None
    context: Sequence[Path] = ()

    def lint(self, files: Any, settings: Settings, *, context: Sequence[Path], **options: object) -> Result:
        self.asked.append(files if isinstance(files, Mapping) else [str(path) for path in files])
        self.settings, self.context = settings, context
        sources = {finding.path: Source.of(finding.path, TEXT) for finding in self.findings}
        return Result(tuple(self.findings), 0, len(files), tuple(self.errors), sources)

    def fix_files(
        self, files: Any, settings: Settings, *, unsafe: bool, write: bool, context: Sequence[Path], **given: object
    ) -> Any:
        result = self.lint(files, settings, context=context)
        self.asked.append({"unsafe": unsafe, "write": write})
        return SimpleNamespace(
            result=result, fixed=self.fixed, diffs=self.diffs, contents=self.contents, failed=self.failed
        )


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    engine = Engine()
    importlib.import_module("torchlint.cache.run")  # what a run imports keeps the true rules
    monkeypatch.setattr("torchlint.lint.parallel.Linter", lambda *given: engine)
    monkeypatch.setattr("torchlint.fix.run.fix_files", engine.fix_files)
    monkeypatch.setattr("torchlint.rule.load", lambda: RULES)
    return engine


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: a.py alone, and nothing in the environment."""
    root = tmp_path / "project"
    root.mkdir()
    monkeypatch.chdir(root)
    for variable in (
        "NO_COLOR",
        "FORCE_COLOR",
        "CLICOLOR_FORCE",
        "TORCHLINT_OUTPUT_FORMAT",
        "TORCHLINT_OUTPUT_FILE",
        "GITHUB_WORKSPACE",
    ):
        monkeypatch.delenv(variable, raising=False)
    (root / "a.py").write_bytes(TEXT)
    return root


@dataclass(frozen=True)
class Ran:
    code: int | str | None
    out: str
    err: str


Torchlint = Callable[..., Ran]


@pytest.fixture
def torchlint(capsys: pytest.CaptureFixture[str]) -> Torchlint:
    """Runs the command in this process."""

    def run(*arguments: str) -> Ran:
        code: int | str | None
        try:
            code = cli.main(arguments)
        except SystemExit as stop:
            code = stop.code
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run


class TestArguments:
    """What stands behind `--` is left as it is."""

    ARGUMENTS = ("--add-noqa", "--add-ignore", "--x=--", "@file", "--help", "-V", "--", "a")

    def test_of_a_program(self, torchlint: Torchlint, monkeypatch: pytest.MonkeyPatch) -> None:
        seen: list[Sequence[str]] = []

        def run(args: argparse.Namespace) -> int:
            seen.append(trace._split(args)[2])
            return 0

        monkeypatch.setattr("torchlint.commands.trace.run", run)
        Path("train.py").touch()
        assert Ran(0, "", "") == torchlint("trace", "--steps", "3", "train.py", "--", *self.ARGUMENTS)
        assert [list(self.ARGUMENTS)] == seen

    def test_of_check(self, engine: Engine, torchlint: Torchlint) -> None:
        Path("--add-noqa").mkdir()
        Path("--add-noqa", "b.py").touch()
        assert 0 == torchlint("check", "--", "--add-noqa").code
        assert [["--add-noqa/b.py"]] == engine.asked


class TestCheck:
    def test_nothing_found(self, engine: Engine, torchlint: Torchlint) -> None:
        assert Ran(0, "All checks passed!\n", "") == torchlint("check")
        assert [["a.py"]] == engine.asked

    def test_something_found(self, engine: Engine, torchlint: Torchlint) -> None:
        engine.findings = [FINDING]
        assert Ran(
            1,
            "TL101 waits\n --> a.py:2:1\n  |\n1 | import torch\n2 | x.item()\n  | ^^^^^^^^\n"
            "  = warning: item-in-loop\n\nFound 1 error.\n",
            "",
        ) == torchlint("check", "a.py")

    def test_quiet_prints_findings_alone(self, engine: Engine, torchlint: Torchlint) -> None:
        assert Ran(0, "", "") == torchlint("check", "-q")
        engine.findings = [FINDING]
        expected = Ran(1, "a.py:2:1: TL101 waits\n", "")
        assert expected == torchlint("check", "-q", "--output-format", "concise")

    def test_verbose_tells_what_was_done(self, engine: Engine, torchlint: Torchlint) -> None:
        assert torchlint("check", "-v").err.startswith("1 files, 2 rules, no configuration file, ")

    def test_exit_zero(self, engine: Engine, torchlint: Torchlint) -> None:
        engine.findings = [FINDING]
        assert 0 == torchlint("check", "--exit-zero").code
        engine.errors = [FileError("b.py", "Permission denied")]
        assert 2 == torchlint("check", "--exit-zero").code

    def test_what_is_milder_than_the_fail_level_fails_no_run(self, engine: Engine, torchlint: Torchlint) -> None:
        engine.findings = [FINDING]
        told = {level: torchlint("check", "-q", "--fail-level", level).code for level in ("info", "warning", "error")}
        assert {"info": 1, "warning": 1, "error": 0} == told

    def test_errors_are_told_after_the_findings(self, engine: Engine, torchlint: Torchlint) -> None:
        engine.findings = [FINDING]
        engine.errors = [FileError("b.py", "Permission denied")]
        assert Ran(2, "a.py:2: [TL101] waits\n", "error: b.py: Permission denied\n") == torchlint(
            "check", "--output-format", "pylint"
        )

    def test_no_files_is_a_warning(self, engine: Engine, torchlint: Torchlint, project: Path) -> None:
        (project / "empty").mkdir()
        assert Ran(0, "All checks passed!\n", "warning: No Python files found under the given path(s)\n") == torchlint(
            "check", "empty"
        )

    def test_an_unreadable_directory_is_a_warning(
        self, engine: Engine, torchlint: Torchlint, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def scandir(path: str) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(os, "scandir", scandir)
        assert "warning: .: Permission denied; nothing in it was looked at\n" in torchlint("check").err

    def test_the_other_files_of_the_project_are_its_context(
        self, engine: Engine, torchlint: Torchlint, project: Path
    ) -> None:
        (project / "pyproject.toml").touch()
        (project / "sub").mkdir()
        (project / "sub" / "b.py").touch()
        torchlint("check", "a.py")
        assert ["sub/b.py"] == [str(path) for path in engine.context]
        torchlint("check", "sub")
        assert ["a.py"] == [str(path) for path in engine.context]
        torchlint("check")
        assert [] == list(engine.context)

    def test_settings_reach_the_engine(self, engine: Engine, torchlint: Torchlint) -> None:
        torchlint(
            *("check", "--select", "TL101,any-all", "--select=TL102", "--preview", "--ignore", "TL102"),
            *("--per-file-ignores", "a.py:TL1, b/*:any-all", "--target-torch", "2.6", "--ignore-noqa", "--no-sieve"),
        )
        assert engine.settings is not None
        assert {"TL101", "TL110"} == engine.settings.codes
        assert (
            ("a.py", frozenset(RULES)),
            ("b/*", frozenset({"TL110"})),
        ) == engine.settings.per_file_ignores
        assert Range((2, 6), (2, 7)) == engine.settings.target_torch
        assert (True, False) == (engine.settings.ignore_noqa, engine.settings.sieve)

    def test_selecting_a_preview_rule_warns(self, engine: Engine, torchlint: Torchlint) -> None:
        expected = "warning: Selection `TL110` has no effect because preview is not enabled.\n"
        assert expected == torchlint("check", "--select", "TL110").err

    def test_a_configuration_file_counts(self, engine: Engine, torchlint: Torchlint, project: Path) -> None:
        engine.findings = [FINDING]
        (project / "torchlint.toml").write_text('output-format = "concise"\n')
        assert "a.py:2:1: TL101 waits\nFound 1 error.\n" == torchlint("check").out
        assert torchlint("check", "--isolated").out.startswith("TL101 waits\n")
        assert "a.py:2: [TL101] waits\n" == torchlint("check", "--config", "output-format='pylint'").out

    def test_show_files(self, engine: Engine, torchlint: Torchlint, project: Path) -> None:
        assert Ran(0, f"{project}/a.py\n", "") == torchlint("check", "--show-files")

    def test_show_settings(self, engine: Engine, torchlint: Torchlint) -> None:
        lines = torchlint("check", "--show-settings", "--target-torch", "2.6").out.splitlines()
        assert "codes = TL101, TL102" == lines[0]
        assert "target_torch = >=2.6,<2.7" in lines

    def test_statistics(self, engine: Engine, torchlint: Torchlint) -> None:
        assert Ran(0, "", "") == torchlint("check", "--statistics")
        engine.findings = [FINDING, FINDING]
        assert Ran(1, "2\tTL101\thigh\titem-in-loop\nFound 2 errors.\n", "") == torchlint("check", "--statistics")
        report = torchlint("check", "--statistics", "--output-format", "json").out
        assert [2] == [item["count"] for item in json.loads(report)]

    def test_evidence_gives_verdicts(self, engine: Engine, torchlint: Torchlint, project: Path) -> None:
        (project / "events.jsonl").write_text("no events")
        assert Ran(2, "", "torchlint failed\n  Cause: events.jsonl is not a file of torchlint events\n") == torchlint(
            "check", "--evidence", "events.jsonl"
        )
        assert ("torchlint failed\n  Cause: gone: No such file or directory\n") == torchlint(
            "check", "--evidence", "gone"
        ).err
        engine.findings = [replace(FINDING, statement=(2, 2))]
        events = [{"kind": "line", "file": str(project / "a.py"), "line": 2, "step": step} for step in range(6)]
        events += [{"kind": "step", "step": step} for step in range(1, 6)]
        (project / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
        report = json.loads(torchlint("check", "--evidence", "events.jsonl", "--output-format", "json").out)
        assert "refuted" == report[0]["evidence"]["verdict"]


class TestWords:
    """How the words of a command line are read."""

    def test_paths_may_stand_behind_options(self, engine: Engine, torchlint: Torchlint, project: Path) -> None:
        (project / "b.py").write_bytes(TEXT)
        for words in (
            ["b.py", "--preview", "a.py"],
            ["--preview", "b.py", "a.py"],
            ["--preview", "b.py", "-q", "a.py"],
        ):
            torchlint("check", *words)
            assert ["b.py", "a.py"] == engine.asked[-1]
        torchlint("check", "--preview", "--select", "TL101", "b.py")
        assert ["b.py"] == engine.asked[-1]

    def test_an_unknown_option_is_told_with_the_nearest_one(self, torchlint: Torchlint) -> None:
        ran = torchlint("check", "--selct=TL101", "a.py")
        assert 2 == ran.code
        assert ran.err.endswith("error: unrecognized argument: --selct=TL101; did you mean `--select`?\n")

    def test_a_word_too_many_is_told(self, torchlint: Torchlint) -> None:
        ran = torchlint("version", "now")
        assert 2 == ran.code
        assert ran.err.endswith("error: unrecognized argument: now\n")

    def test_arguments_come_from_a_file(self, engine: Engine, torchlint: Torchlint, project: Path) -> None:
        (project / "words").write_text("a.py\n\n--output-format\nconcise\n")
        engine.findings = [FINDING]
        assert "a.py:2:1: TL101 waits\n" == torchlint("check", "-q", "@words").out

    def test_a_path_that_begins_like_such_a_file_is_a_path(
        self, engine: Engine, torchlint: Torchlint, project: Path
    ) -> None:
        (project / "@a.py").write_bytes(TEXT)
        torchlint("check", "@a.py")
        assert [["@a.py"]] == engine.asked

    def test_a_file_of_arguments_that_is_not_there(self, torchlint: Torchlint) -> None:
        assert Ran(2, "", "torchlint failed\n  Cause: words: No such file or directory\n") == torchlint(
            "check", "@words"
        )

    def test_help_is_a_command(self, torchlint: Torchlint) -> None:
        assert torchlint("check", "--help") == torchlint("help", "check")
        assert torchlint("--help") == torchlint("help")
        assert 0 == torchlint("help").code

    def test_linter_lists_the_families(self, torchlint: Torchlint) -> None:
        assert "  TL1 Host-device synchronization" == torchlint("linter").out.splitlines()[1]
        assert {"prefix": "TL1", "name": "Host-device synchronization"} == json.loads(
            torchlint("linter", "--output-format", "json").out
        )[1]

    def test_silent_prints_nothing(self, engine: Engine, torchlint: Torchlint, project: Path) -> None:
        engine.findings = [FINDING]
        assert Ran(1, "", "") == torchlint("check", "-s")
        assert Ran(1, "", "") == torchlint("check", "-s", "--output-format=concise", "-o", "found.txt")
        assert "a.py:2:1: TL101 waits\n" == (project / "found.txt").read_text()

    def test_counts_are_not_written_in_formats_that_have_none(self, torchlint: Torchlint) -> None:
        cause = "`--statistics` can't be written as sarif, only as text or as json, json-lines"
        assert Ran(2, "", f"torchlint failed\n  Cause: {cause}\n") == torchlint(
            "check", "--statistics", "--output-format=sarif"
        )

    def test_fish_completes(self, torchlint: Torchlint) -> None:
        script = torchlint("generate-shell-completion", "fish").out
        assert (
            "complete -c torchlint -n '__fish_seen_subcommand_from check' -s s -l silent "
            "-d 'print nothing; the exit code tells'\n"
        ) in script
        fish = shutil.which("fish")
        if fish is not None:
            Path("torchlint.fish").write_text(script)
            asked = [fish, "-c", "source torchlint.fish; complete -C 'torchlint check --output-fo'"]
            seen = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
            assert ["--output-format"] == [line.partition("\t")[0] for line in seen.splitlines()]


class TestOutput:
    def test_to_a_file(self, engine: Engine, torchlint: Torchlint, project: Path) -> None:
        engine.findings = [FINDING]
        assert Ran(1, "", "") == torchlint("check", "-o", "out.txt", "--output-format", "concise")
        assert "a.py:2:1: TL101 waits\nFound 1 error.\n" == (project / "out.txt").read_text()

    def test_to_a_file_that_cannot_be(self, engine: Engine, torchlint: Torchlint) -> None:
        expected = Ran(2, "", "torchlint failed\n  Cause: gone/out.txt: No such file or directory\n")
        assert expected == torchlint("check", "-o", "gone/out.txt")

    def test_by_the_environment(self, engine: Engine, torchlint: Torchlint, monkeypatch: pytest.MonkeyPatch) -> None:
        engine.findings = [FINDING]
        monkeypatch.setenv("TORCHLINT_OUTPUT_FORMAT", "pylint")
        assert "a.py:2: [TL101] waits\n" == torchlint("check").out
        assert "a.py:2:1: TL101 waits\nFound 1 error.\n" == torchlint("check", "--output-format", "concise").out

    @pytest.mark.parametrize(
        ("arguments", "environment", "colored"),
        [
            ([], {}, False),
            (["--color", "always"], {}, True),
            (["--color", "always"], {"NO_COLOR": "1"}, True),
            ([], {"FORCE_COLOR": "1"}, True),
            ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
            ([], {"CLICOLOR_FORCE": "1"}, True),
            ([], {"CLICOLOR_FORCE": "0"}, False),
            (["--color", "never"], {"FORCE_COLOR": "1"}, False),
            (["-o", "/dev/stdout"], {"FORCE_COLOR": "1"}, False),
        ],
    )
    def test_colours(
        self,
        engine: Engine,
        torchlint: Torchlint,
        monkeypatch: pytest.MonkeyPatch,
        arguments: list[str],
        environment: dict[str, str],
        colored: bool,
    ) -> None:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        engine.findings = [FINDING]
        assert ("\x1b[" in torchlint("check", *arguments).out) is colored

    def test_paths_for_machines_start_at_the_repository(
        self, engine: Engine, torchlint: Torchlint, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        engine.findings = [FINDING]
        (project.parent / ".git").mkdir()
        assert "file=project/a.py," in torchlint("check", "--output-format", "github").out
        monkeypatch.setenv("GITHUB_WORKSPACE", str(project))
        assert "file=a.py," in torchlint("check", "--output-format", "github").out
        monkeypatch.setenv("GITHUB_WORKSPACE", "/elsewhere")
        assert "file=project/a.py," in torchlint("check", "--output-format", "github").out


class TestFix:
    def test_fixes_are_written_and_counted(self, engine: Engine, torchlint: Torchlint) -> None:
        engine.fixed = {"a.py": Counter({"TL101": 2})}
        assert Ran(0, "Found 2 errors (2 fixed, 0 remaining).\n", "") == torchlint("check", "--fix")
        assert [["a.py"], {"unsafe": False, "write": True}] == engine.asked

    def test_the_fix_command_is_check_fix(self, engine: Engine, torchlint: Torchlint) -> None:
        torchlint("fix", "--unsafe-fixes")
        assert {"unsafe": True, "write": True} == engine.asked[1]

    def test_no_fix_overrules_the_configuration(self, engine: Engine, torchlint: Torchlint, project: Path) -> None:
        (project / "torchlint.toml").write_text("fix = true\n")
        torchlint("check")
        torchlint("check", "--no-fix")
        assert [["a.py"], {"unsafe": False, "write": True}, ["a.py"]] == engine.asked

    def test_what_is_left_is_reported(self, engine: Engine, torchlint: Torchlint) -> None:
        engine.fixed = {"a.py": Counter({"TL101": 1})}
        engine.findings = [UNSAFE]
        assert Ran(
            1,
            "a.py:2:1: TL101 waits\nFound 2 errors (1 fixed, 1 remaining).\n"
            "1 unsafe fix available with `--fix --unsafe-fixes`.\n",
            "",
        ) == torchlint("check", "--fix", "--output-format", "concise")

    def test_show_fixes(self, engine: Engine, torchlint: Torchlint, monkeypatch: pytest.MonkeyPatch) -> None:
        engine.fixed = {"a.py": Counter({"TL101": 1})}
        monkeypatch.setattr("torchlint.report.summary.load", lambda: RULES)
        assert (
            "\nFixed 1 error:\n- a.py:\n    1 \N{MULTIPLICATION SIGN} TL101 (item-in-loop)\n\n"
            "Found 1 error (1 fixed, 0 remaining).\n"
        ) == torchlint("check", "--fix", "--show-fixes").out

    def test_exit_non_zero_on_fix(self, engine: Engine, torchlint: Torchlint) -> None:
        assert 0 == torchlint("check", "--fix", "--exit-non-zero-on-fix").code
        engine.fixed = {"a.py": Counter({"TL101": 1})}
        assert 1 == torchlint("check", "--fix", "--exit-non-zero-on-fix").code

    def test_exit_zero_counts_for_a_diff_and_is_refused_with_its_opposite(
        self, engine: Engine, torchlint: Torchlint
    ) -> None:
        engine.fixed, engine.diffs = {"a.py": Counter({"TL101": 1})}, {"a.py": b"--- a.py\n+++ a.py\n"}
        assert 0 == torchlint("check", "--diff", "--exit-zero").code
        both = torchlint("check", "--fix", "--exit-zero", "--exit-non-zero-on-fix")
        cause = "`--exit-zero` and `--exit-non-zero-on-fix` say opposite things; give one"
        assert Ran(2, "", f"torchlint failed\n  Cause: {cause}\n") == both

    def test_fix_only_says_nothing_of_what_is_left(self, engine: Engine, torchlint: Torchlint) -> None:
        engine.fixed = {"a.py": Counter({"TL101": 1})}
        engine.findings = [UNSAFE]
        expected = "Fixed 1 error (1 additional fix available with `--unsafe-fixes`).\n"
        assert Ran(0, expected, "") == torchlint("check", "--fix-only")

    def test_diff_writes_nothing(self, engine: Engine, torchlint: Torchlint) -> None:
        engine.fixed = {"a.py": Counter({"TL101": 1})}
        engine.diffs = {"a.py": b"--- a.py\n+++ a.py\n"}
        assert Ran(1, "--- a.py\n+++ a.py\n", "Would fix 1 error.\n") == torchlint("check", "--diff")
        assert {"unsafe": False, "write": False} == engine.asked[1]

    def test_no_diff(self, engine: Engine, torchlint: Torchlint) -> None:
        engine.findings = [UNSAFE]
        expected = Ran(0, "", "No errors would be fixed (1 fix available with `--unsafe-fixes`).\n")
        assert expected == torchlint("check", "--diff")

    def test_a_fix_that_failed(self, engine: Engine, torchlint: Torchlint) -> None:
        engine.failed = [FileError("a.py", "has changed since it was read; nothing was written")]
        assert Ran(
            2, "All checks passed!\n", "error: a.py: has changed since it was read; nothing was written\n"
        ) == torchlint("check", "--fix")

    def test_unfixable_rules_are_not_marked(self, engine: Engine, torchlint: Torchlint) -> None:
        engine.findings = [SAFE]
        concise = ("check", "--output-format", "concise")
        assert ("a.py:2:1: TL101 [*] waits\nFound 1 error.\n[*] 1 fixable with `--fix`.\n") == torchlint(*concise).out
        assert "a.py:2:1: TL101 waits\nFound 1 error.\n" == torchlint(*concise, "--unfixable", "TL1").out


class TestStdin:
    @pytest.fixture(autouse=True)
    def stdin(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT)))

    def test_is_linted_by_its_name(self, engine: Engine, torchlint: Torchlint) -> None:
        engine.findings = [replace(FINDING, path="b.py")]
        ran = torchlint("check", "-", "--stdin-filename", "b.py", "--output-format", "concise")
        assert Ran(1, "b.py:2:1: TL101 waits\nFound 1 error.\n", "") == ran
        assert [{"b.py": TEXT}] == engine.asked

    def test_without_a_name(self, engine: Engine, torchlint: Torchlint) -> None:
        torchlint("check", "-")
        assert [{"-": TEXT}] == engine.asked

    def test_fix_prints_the_fixed_text(self, engine: Engine, torchlint: Torchlint) -> None:
        engine.fixed = {"-": Counter({"TL101": 1})}
        engine.contents = {"-": b"import torch\r\n"}
        ran = torchlint("check", "-", "--fix")
        assert Ran(0, "import torch\r\n", "Found 1 error (1 fixed, 0 remaining).\n") == ran
        assert {"unsafe": False, "write": False} == engine.asked[1]

    def test_fix_prints_the_text_when_nothing_is_fixed(self, engine: Engine, torchlint: Torchlint) -> None:
        assert Ran(0, TEXT.decode(), "") == torchlint("check", "-", "--fix", "-q")

    def test_diff(self, engine: Engine, torchlint: Torchlint) -> None:
        engine.diffs = {"-": b"@@ -1 +1 @@\n"}
        assert Ran(1, "@@ -1 +1 @@\n", "") == torchlint("check", "-", "--diff", "-q")

    def test_an_excluded_name_is_not_linted(self, engine: Engine, torchlint: Torchlint) -> None:
        Path("pyproject.toml").touch()
        torchlint("check", "-", "--stdin-filename", "build/b.py", "--force-exclude")
        assert [{}] == engine.asked

    def test_together_with_files_fails(self, engine: Engine, torchlint: Torchlint) -> None:
        assert Ran(
            2, "", "torchlint failed\n  Cause: `-` (standard input) can't be linted together with files\n"
        ) == torchlint("check", "-", "a.py")


class TestFailures:
    @pytest.mark.parametrize(
        ("arguments", "cause"),
        [
            (["gone.py"], "gone.py: No such file or directory"),
            (["--select", "ZZZ9"], "Unknown rule selector `ZZZ9` in `select` from the CLI"),
            (["--ignore", "tl101"], "Unknown rule selector `tl101` in `ignore` from the CLI; did you mean `TL101`?"),
            (["--output-format", "xml"], "`output-format` can't be `xml`; it can be full, concise, "),
            (["--target-torch", "new"], "`target-torch` can't be used: 'new' is not a version"),
            (["--per-file-ignores", "a.py"], "`--per-file-ignores a.py` isn't PATTERN:SELECTOR"),
            (["--config", "gone.toml"], ""),
        ],
    )
    def test_exit_with_2_and_the_cause(
        self, engine: Engine, torchlint: Torchlint, arguments: list[str], cause: str
    ) -> None:
        ran = torchlint("check", *arguments)
        assert (2, "", []) == (ran.code, ran.out, engine.asked)
        assert ran.err.startswith(f"torchlint failed\n  Cause: {cause}")

    def test_a_crash_is_no_finding(self, engine: Engine, torchlint: Torchlint, monkeypatch: pytest.MonkeyPatch) -> None:
        engine.lint = None  # type: ignore[assignment, method-assign]
        ran = torchlint("check")
        assert (2, "") == (ran.code, ran.out)
        assert ran.err.endswith(
            "torchlint crashed: this is a bug in torchlint, please report it with the lines above\n"
        )

    def test_an_interrupt(self, engine: Engine, torchlint: Torchlint, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupt(*_: Any, **__: Any) -> None:
            raise KeyboardInterrupt

        engine.lint = interrupt  # type: ignore[assignment, method-assign]
        assert Ran(130, "", "torchlint was interrupted\n") == torchlint("check")

    @pytest.mark.parametrize(
        ("word", "tip"),
        [
            ("a.py", "; to lint it, type `torchlint check a.py`"),
            ("src/", "; to lint it, type `torchlint check src/`"),
            ("gone.py", "; to lint it, type `torchlint check gone.py`"),
            ("chekc", "; did you mean `check`?"),
            ("zzz", ""),
        ],
    )
    def test_a_word_that_is_no_command(self, torchlint: Torchlint, word: str, tip: str) -> None:
        ran = torchlint(word)
        assert (2, "") == (ran.code, ran.out)
        assert f"error: unrecognized subcommand '{word}'{tip}" == ran.err.splitlines()[0]

    def test_no_command_shows_the_help(self, torchlint: Torchlint) -> None:
        ran = torchlint()
        assert (2, "") == (ran.code, ran.out)
        assert ran.err.startswith("usage: torchlint [-h] [-V] COMMAND ...")

    def test_an_unknown_flag(self, torchlint: Torchlint) -> None:
        ran = torchlint("check", "--fixx")
        told = "torchlint check: error: unrecognized argument: --fixx; did you mean `--fix`?"
        assert (2, told) == (ran.code, ran.err.splitlines()[-1])


class TestRule:
    def test_by_code_or_name(self, engine: Engine, torchlint: Torchlint) -> None:
        page = (
            "# item-in-loop (TL101)\n\nWarning, high impact. On by default. A fix is sometimes available; it may change "
            "what the program does. For torch >=2.4. A traced run confirms it by `sync` events.\n\nWaiting is slow.\n\n## Bad\n\n"
        )
        assert Ran(0, page, "") == torchlint("rule", "TL101")
        assert page == torchlint("rule", "item-in-loop").out
        assert page == torchlint("rule", "tl101", "--output-format", "markdown").out

    def test_all(self, engine: Engine, torchlint: Torchlint) -> None:
        heads = [line for line in torchlint("rule", "--all").out.splitlines() if line.startswith("# ")]
        assert ["# item-in-loop (TL101)", "# print-in-loop (TL102)", "# any-all (TL110)"] == heads

    def test_as_json(self, engine: Engine, torchlint: Torchlint) -> None:
        item = json.loads(torchlint("rule", "TL110", "--output-format", "json").out)
        assert ("TL110", "any-all", True, ">=2.4") == (item["code"], item["name"], item["preview"], item["torch"])
        assert "Waiting is slow.\n\n## Bad\n" == item["explanation"]
        assert ("high", "medium", ["pipeline"], ["TL101"], ["REGION"]) == tuple(
            item[key] for key in ("impact", "risk", "principle", "depends_on", "silenced_by")
        )
        assert (["$x.item(...)"], "") == (item["shape"], item["shapeless"])
        everything = json.loads(torchlint("rule", "--all", "--output-format", "json").out)
        assert item == everything[2]

    def test_is_rendered_in_colour(self, engine: Engine, torchlint: Torchlint) -> None:
        text = torchlint("rule", "TL101", "--color", "always").out
        assert "\x1b[1" in text
        assert "# item-in-loop" not in text

    @pytest.mark.parametrize(
        ("arguments", "cause"),
        [
            (["TL999"], "there is no rule `TL999`"),
            (["item-in-lop"], "there is no rule `item-in-lop`; did you mean `item-in-loop`?"),
            ([], "give either one rule or `--all`"),
            (["TL101", "--all"], "give either one rule or `--all`"),
        ],
    )
    def test_mistakes(self, engine: Engine, torchlint: Torchlint, arguments: list[str], cause: str) -> None:
        assert Ran(2, "", f"torchlint failed\n  Cause: {cause}\n") == torchlint("rule", *arguments)


class TestVersion:
    def test_all_ways_agree(self, torchlint: Torchlint) -> None:
        text = torchlint("version").out
        assert text.startswith("torchlint 0.")
        assert torchlint("--version").out == torchlint("-V").out == text
        version = json.loads(torchlint("version", "--output-format", "json").out)["version"]
        assert f"torchlint {version}\n" == text

    def test_tells_the_torch_that_is_installed(self, torchlint: Torchlint, monkeypatch: pytest.MonkeyPatch) -> None:
        real = metadata.version

        def version(name: str) -> str:
            if name == "torch":
                raise metadata.PackageNotFoundError(name)
            return real(name)

        monkeypatch.setattr(metadata, "version", version)
        assert json.loads(torchlint("version", "--output-format", "json").out)["torch"] is None


@pytest.mark.parametrize("command", ["check", "fix", "rule", "version"])
def test_help_names_every_group(torchlint: Torchlint, command: str) -> None:
    ran = torchlint(command, "--help")
    assert (0, "") == (ran.code, ran.err)
    assert ran.out.startswith(f"usage: torchlint {command} ")


def test_check_help_explains_exit_codes_and_gives_examples(torchlint: Torchlint) -> None:
    text = torchlint("check", "--help").out
    headings = [line for line in text.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert [
        "positional arguments:",
        "options:",
        "fixes:",
        "new findings only:",
        "rules:",
        "files:",
        "settings:",
        "output:",
        "speed:",
        "other:",
        "examples:",
        "exit codes:",
    ] == headings


class TestProcess:
    """With the real engine, in a process of its own."""

    def process(self, directory: Path, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        command = [sys.executable, *arguments]
        return subprocess.Popen(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    def test_a_clean_run_loads_nothing_heavy(self, project: Path) -> None:
        (project / "a.py").write_text("import torch\n\nprint(torch.ones(1))\n")
        script = (
            "import sys, torchlint.cli; code = torchlint.cli.main(['check']);"
            "heavy = {'libcst', 'rich', 'pygments', 'torch', 'numpy', 'importlib.metadata', 'subprocess'};"
            "print(code, sorted(heavy & (sys.modules.keys() - before)))"
        )
        out, err = self.process(project, "-c", f"import sys; before = set(sys.modules); {script}").communicate()
        assert ("All checks passed!\n0 []\n", "") == (out.decode(), err.decode())

    def test_a_closed_pipe_is_quiet(self, project: Path) -> None:
        (project / "a.py").write_text(SLOW)
        reader, writer = os.pipe()
        os.close(reader)
        process = subprocess.Popen(
            [sys.executable, "-m", "torchlint", "check"], cwd=project, stdout=writer, stderr=subprocess.PIPE
        )
        os.close(writer)
        _, err = process.communicate()
        assert (1, "") == (process.returncode, err.decode())

    def test_an_interrupt_ends_with_130(self, project: Path) -> None:
        process = self.process(project, "-m", "torchlint", "check", "-", stdin=subprocess.PIPE)
        status = Path(f"/proc/{process.pid}/wchan")
        deadline = time.monotonic() + 20
        while "pipe" not in status.read_text() and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
        assert (130, "", "torchlint was interrupted\n") == (process.returncode, out.decode(), err.decode())

    @pytest.mark.skipif(sys.platform != "linux", reason="names are text there")
    def test_a_name_that_is_no_text_in_an_ascii_locale(self, project: Path) -> None:
        folder = os.path.join(os.fsencode(project), b"d\xff")
        os.mkdir(folder)
        with open(os.path.join(folder, b"\xe9.py"), "wb") as file:
            file.write(f"{SLOW}\nprint()\n".encode())
        environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
        for path in (".", os.fsdecode(folder)):
            arguments = ("-m", "torchlint", "check", "-n", "-q", "--output-format", "concise", path)
            process = self.process(project, *arguments, env=environment)
            out, err = process.communicate()
            assert (1, b"") == (process.returncode, err)
            assert out.startswith(b"d\\xff/\\xe9.py:8:18: TL101 ")

    def test_names_and_lines_that_the_terminal_lacks_are_escaped(self, project: Path) -> None:
        (project / "gr\u00f6\u00dfe.py").write_text(SLOW, "utf-8")
        environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
        process = self.process(project, "-m", "torchlint", "check", "--output-format", "full", env=environment)
        out, _ = process.communicate()
        assert 1 == process.returncode
        assert b" --> gr\\xf6\\xdfe.py:8:18\n" in out
        assert b"8 |         total += loss.item()  # \\xf6\n" in out
