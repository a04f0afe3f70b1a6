"""A fault of torchlint itself costs what it would have said there, is told, and nothing else is lost."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import torchlint.lint.run
from torchlint import cli
from torchlint.cache import run as cached
from torchlint.cache.store import Cache
from torchlint.facts.module import Function
from torchlint.fix.run import fix_files
from torchlint.lint import executors, parallel
from torchlint.lint.dispatch import Dispatch
from torchlint.lint.run import Result, lint
from torchlint.lsp.session import Session
from torchlint.program import stepping
from torchlint.program.project import Project
from torchlint.program.regions import Regions
from torchlint.rule import Rule, fixer, load
from torchlint.rule.site import FileSite, Site
from torchlint.settings.config import Settings
from torchlint.system.stack import with_room
from torchlint.text.finding import Edit, Finding, Fix
from torchlint.text.source import Source

CODES = frozenset("TL001 TL003 TL101 TL202 TL402 TL801".split())
TRAIN = """\
import torch
from model import Net, note

net = torch.nn.DataParallel(Net())
device = torch.device("cuda")
loader = torch.utils.data.DataLoader(data, pin_memory=True)
for x in loader:
    loss = net(x.to(device)).sum()
    loss.backward()
    optimizer.step()
    note(loss)
    total += loss.item()
"""
MODEL = """\
import torch

class Net(torch.nn.Linear):
    def forward(self, x):
        if x.isnan().any():
            return x
        return x + 1

def note(loss):
    total = loss.item()

model = torch.compile(Net())
"""
FILES = {"train.py": TRAIN, "model.py": MODEL}
FOUND = [
    "model.py:5 TL202", "model.py:10 TL101", "train.py:4 TL801", "train.py:8 TL402", "train.py:12 TL101",
]  # fmt: skip
FORKS = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

Fail = Callable[..., None]


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The working directory: a project."""
    (tmp_path / "pyproject.toml").touch()
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
        os.utime(tmp_path / name, (1e9, 1e9))
    monkeypatch.chdir(tmp_path)


def settings() -> Settings:
    return Settings(codes=CODES, fixable=CODES, root=Path.cwd())


def paths() -> list[Path]:
    return [Path(name) for name in FILES]


def run() -> Result:
    return lint(paths(), settings())


def told(result: Result) -> list[str]:
    return [f"{finding.path}:{finding.line} {finding.code}" for finding in result.findings]


def without(*lost: str) -> list[str]:
    return [one for one in FOUND if one not in lost]


def errors(result: Result) -> list[str]:
    """What is told of faults, without where in torchlint they lie."""
    assert all(error.is_bug for error in result.errors)
    return [str(error).partition(" (")[0] for error in result.errors]


@pytest.fixture
def changed(
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[str, Callable[[Rule], Callable[[Any], Iterator[Finding]]]], None]:
    """Give a rule another check."""

    def change(code: str, check: Callable[[Rule], Callable[[Any], Iterator[Finding]]]) -> None:
        rules = {**load(), code: replace(load()[code], check=check(load()[code]))}
        monkeypatch.setattr(torchlint.lint.run, "load", lambda: rules)

    return change


@pytest.fixture
def failing(changed: Any) -> Callable[[str, str, type[Exception]], None]:
    """Let a rule fail in one file, after what it finds there."""

    def fail(code: str, path: str, error: type[Exception] = KeyError) -> None:
        def made(rule: Rule) -> Callable[[Site | FileSite], Iterator[Finding]]:
            def check(site: Site | FileSite) -> Iterator[Finding]:
                if (site.path if isinstance(site, FileSite) else site.module.path) == path:
                    raise error("of the test")
                yield from rule.check(site)

            return check

        changed(code, made)

    return fail


def test_nothing_fails_by_itself() -> None:
    assert FOUND == told(run())
    assert () == run().errors


# Rules and fixers


def test_a_rule_has_nothing_to_say_of_another_file(changed: Any) -> None:
    """Neither the comments nor the settings of the file that is looked at hold there."""

    def made(rule: Rule) -> Callable[[Any], Iterator[Finding]]:
        def check(site: Site) -> Iterator[Finding]:
            yield from (replace(finding, path="train.py") for finding in rule.check(site))

        return check

    changed("TL202", made)
    result = run()
    assert without("model.py:5 TL202") == told(result)
    (error,) = errors(result)
    assert error.startswith("model.py:5: TL202 failed: ValueError: a finding in another file, train.py")


@pytest.mark.parametrize("kind", [KeyError, LookupError, RecursionError, AssertionError, ValueError])
def test_a_rule_that_fails_costs_itself_at_that_place(failing: Fail, kind: type[Exception]) -> None:
    failing("TL101", "train.py", kind)

    result = run()

    assert without("train.py:12 TL101") == told(result)
    said = "'of the test'" if kind is KeyError else "of the test"
    assert [f"train.py:12: TL101 failed: {kind.__name__}: {said}"] == errors(result)


@pytest.mark.parametrize(
    ("kind", "said"), [(SystemExit, "SystemExit: of the test"), (GeneratorExit, "GeneratorExit: of the test")]
)
def test_a_rule_that_wants_to_end_the_program_costs_itself(failing: Fail, kind: type[BaseException], said: str) -> None:
    failing("TL101", "train.py", kind)

    result = run()

    assert without("train.py:12 TL101") == told(result)
    assert [f"train.py:12: TL101 failed: {said}"] == errors(result)


def test_ctrl_c_in_a_rule_ends_the_run(failing: Fail) -> None:
    failing("TL101", "train.py", KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        run()


BAD = {
    "a finding that is a str": lambda found: "loss.item()",
    "a finding of another rule, TL999, item-in-hot-loop": lambda found: replace(found, code="TL999"),
    "a message that is no string: 3": lambda found: replace(found, message=3),
    "a severity that is none of error, warning, info: 'fatal'": lambda found: replace(found, severity="fatal"),
    "a line or a column that is no number": lambda found: replace(found, line="z"),
    "a place that the file does not have: line 12 to 99": lambda found: replace(found, end_line=99),
    "a cell or evidence, which are not the rule's to tell": lambda found: replace(found, cell="1"),
    "related places that are no tuple of `Related`": lambda found: replace(found, related=("train.py",)),
    "a fix that is a str": lambda found: replace(found, fix="hello"),
}


@pytest.mark.parametrize("flaw", BAD)
def test_a_finding_that_is_badly_formed_costs_itself(changed: Any, flaw: str) -> None:
    changed("TL101", lambda rule: lambda site: map(BAD[flaw], rule.check(site)))

    result = run()

    assert [one for one in FOUND if "TL101" not in one] == told(result)
    assert f"train.py:12: TL101 failed: ValueError: {flaw}" in errors(result)


BAD_FIXES = {
    "a fix that is a str": "hello",
    "a fix whose title or note is no string": Fix(None, (), "safe"),  # type: ignore[arg-type]
    "a fix that is none of safe, unsafe, suggestion: 'sure'": Fix("x", (), "sure"),  # type: ignore[arg-type]
    "a fix whose edits are no tuple of `Edit`": Fix("x", ((0, 0, b""),), "safe"),  # type: ignore[arg-type]
    "an edit whose text is not UTF-8 in bytes: '#'": Fix("x", (Edit(0, 0, "#"),), "safe"),  # type: ignore[arg-type]
    "an edit whose text is not UTF-8 in bytes: b'\\xff'": Fix("x", (Edit(0, 0, b"\xff"),), "safe"),
    "an edit of bytes that the file does not have: 5 to 3": Fix("x", (Edit(5, 3, b""),), "safe"),
    "an edit of bytes that the file does not have: 0 to 9999": Fix("x", (Edit(0, 9999, b""),), "safe"),
}


@pytest.mark.parametrize("flaw", BAD_FIXES)
def test_a_fix_that_is_badly_formed_costs_itself(monkeypatch: pytest.MonkeyPatch, flaw: str) -> None:
    bad: Any = BAD_FIXES[flaw]
    monkeypatch.setattr(
        torchlint.lint.run, "fixer", lambda name: (lambda *_: bad) if name == name_of("TL402") else fixer(name)
    )

    result = run()

    assert FOUND == told(result)
    assert [f"train.py:8: The fix of TL402 failed: ValueError: {flaw}"] == errors(result)


def test_what_a_rule_found_before_it_failed_stands(changed: Any) -> None:
    def late(rule: Rule) -> Callable[[Site], Iterator[Finding]]:
        def check(site: Site) -> Iterator[Finding]:
            yield from rule.check(site)
            raise ZeroDivisionError

        return check

    changed("TL801", late)

    result = run()

    assert FOUND == told(result)
    assert ["train.py:4: TL801 failed: ZeroDivisionError"] == errors(result)


def test_the_place_in_torchlint_is_told(failing: Fail) -> None:
    failing("TL101", "train.py")

    (error,) = run().errors

    assert f"({__file__}:" in error.message
    assert error.message.endswith(" in check)")


def test_a_rule_of_files_that_fails_costs_itself(failing: Fail) -> None:
    Path("train.py").write_text(TRAIN.replace("note(loss)", "note(loss)  # noqa: TLX99"))
    failing("TL003", "train.py")

    result = run()

    assert FOUND == told(result)
    assert ["train.py: TL003 failed: KeyError: 'of the test'"] == errors(result)


@pytest.mark.parametrize("kind", [KeyError, SystemExit])
def test_a_fixer_that_fails_costs_the_fix_and_not_the_finding(
    monkeypatch: pytest.MonkeyPatch, kind: type[BaseException]
) -> None:
    def fails(site: Site, finding: Finding) -> Fix | None:
        raise kind("of the test")

    monkeypatch.setattr(torchlint.lint.run, "fixer", lambda name: fails if name == name_of("TL402") else fixer(name))
    Path("amp.py").write_text("import torch\nwith torch.cuda.amp.autocast():\n    pass\n")
    codes = CODES | {"TL901"}
    both = replace(settings(), codes=codes, fixable=codes)
    fixed = fix_files([*paths(), Path("amp.py")], both, unsafe=True, write=True)

    assert FOUND == told(fixed.result)
    said = f"{kind.__name__}: {kind('of the test')}"
    assert [f"train.py:8: The fix of TL402 failed: {said}"] == errors(fixed.result)
    assert 'torch.amp.autocast("cuda", dtype=torch.float16)' in Path("amp.py").read_text()


def name_of(code: str) -> str:
    return load()[code].name


# Facts


def test_a_file_that_torchlint_fails_to_read_costs_its_own_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    parse = Source.parse

    def fails(source: Source) -> ast.Module:
        if source.path == "model.py":
            raise KeyError("of the test")
        return parse(source)

    monkeypatch.setattr(Source, "parse", fails)

    result = run()

    assert [one for one in FOUND if one.startswith("train.py")] == told(result)
    assert ["model.py: Reading the file failed: KeyError: 'of the test'"] == errors(result)


def test_a_name_that_can_not_be_looked_up_costs_what_is_said_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    called = Dispatch._called

    def fails(dispatch: Dispatch, function: Any, func: ast.expr) -> Any:
        if isinstance(func, ast.Attribute) and func.attr == "DataParallel":
            raise KeyError("of the test")
        return called(dispatch, function, func)

    monkeypatch.setattr(Dispatch, "_called", fails)

    result = run()

    assert without("train.py:4 TL801") == told(result)
    assert ["train.py:4: Looking up a name failed: KeyError: 'of the test'"] == errors(result)


# The whole project


@pytest.mark.parametrize(
    ("owner", "question", "lost"),
    [
        (stepping, "own_steps", []),
        (stepping, "called_by", ["model.py:10 TL101"]),
        (Regions, "roots_in", ["model.py:5 TL202"]),
        (Regions, "traced_from", ["model.py:5 TL202"]),
    ],
)
def test_a_question_about_the_project_costs_what_hangs_on_its_answer(
    monkeypatch: pytest.MonkeyPatch, owner: type | ModuleType, question: str, lost: list[str]
) -> None:
    def fails(subject: object, key: object) -> object:
        raise KeyError("of the test")

    fails.__qualname__ = f"{owner.__name__}.{question}"
    monkeypatch.setattr(owner, question, fails)

    result = run()

    assert without(*lost) == told(result)
    assert {f"`{fails.__qualname__}` failed: KeyError: 'of the test'"} == {
        one.partition(": ")[2] for one in errors(result)
    }


def test_who_uses_a_place_may_not_be_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The findings are told then."""

    def fail(project: Project, function: Function, place: ast.AST) -> str:
        raise KeyError("of the test")

    monkeypatch.setattr(torchlint.lint.run, "why_unused", fail)
    result = run()
    assert FOUND == told(result)
    assert {"Looking for who uses it failed: KeyError: 'of the test'"} == {
        one.partition(": ")[2] for one in errors(result)
    }


@pytest.mark.parametrize("part", ["step_index._step_index", "regions._region_index"])
def test_what_is_known_of_the_whole_project_may_fail(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    def fails(*given: object) -> object:
        raise KeyError("of the test")

    monkeypatch.setattr(f"torchlint.program.{part}", fails)

    result = run()

    assert "train.py:4 TL801" in told(result)
    assert [".: Finding"] == sorted({" ".join(one.split()[:2]) for one in errors(result)})


# Elsewhere: workers, the cache, the command line, the editor, a review


@FORKS
@pytest.mark.parametrize("jobs", [1, 2])
def test_workers_say_the_same(failing: Fail, monkeypatch: pytest.MonkeyPatch, jobs: int) -> None:
    def fails(regions: Regions, path: str) -> object:
        raise KeyError("of the test")

    failing("TL101", "train.py")
    fails.__qualname__, fails.__module__ = "Regions.roots_in", "torchlint.program.regions"
    monkeypatch.setattr(Regions, "roots_in", fails)
    monkeypatch.setattr(parallel, "_SMALLEST", 1)
    alone = run()
    project, targets = torchlint.lint.run.gathered(paths())

    result = parallel.lint_in(executors.Forked(jobs), jobs, project, targets, settings())

    assert without("train.py:12 TL101", "model.py:5 TL202") == told(alone) == told(result)
    assert set(errors(alone)) == set(errors(result))


def cached_run() -> Result:
    return cached.lint(paths(), settings(), Cache(".torchlint_cache"), lint)


def a_rule(monkeypatch: pytest.MonkeyPatch, failing: Fail) -> None:
    failing("TL101", "train.py")


def a_question(monkeypatch: pytest.MonkeyPatch, failing: Fail) -> None:
    def fails(subject: object, path: str) -> object:
        raise KeyError("of the test")

    monkeypatch.setattr(stepping, "own_steps", fails)


def a_file(monkeypatch: pytest.MonkeyPatch, failing: Fail) -> None:
    def fails(source: object) -> object:
        raise KeyError("of the test")

    monkeypatch.setattr(Source, "parse", fails)


@pytest.mark.parametrize("what", [a_rule, a_question, a_file])
@pytest.mark.parametrize("warm", [False, True])
def test_what_fails_is_not_kept_for_the_next_run(
    failing: Fail, monkeypatch: pytest.MonkeyPatch, what: Callable[..., None], warm: bool
) -> None:
    if warm:
        cached_run()
        Path("train.py").write_text(TRAIN + "\n")
        os.utime("train.py", (1e9 + 1, 1e9 + 1))
    with pytest.MonkeyPatch.context() as context:
        what(context, failing)
        first, again = cached_run(), cached_run()
    monkeypatch.setattr(torchlint.lint.run, "load", load)
    mended = cached_run()

    assert errors(first)
    assert (errors(first), told(first)) == (errors(again), told(again))
    assert FOUND == told(mended)
    assert () == mended.errors


def test_a_rule_that_fails_in_one_file_leaves_the_others_in_the_cache(failing: Fail) -> None:
    asked: list[str] = []

    def noting(files: Sequence[Path], *given: Any, **options: Any) -> Result:
        asked.extend(str(file) for file in files)
        return lint(files, *given, **options)

    failing("TL101", "train.py")
    cached_run()
    cached.lint(paths(), settings(), Cache(".torchlint_cache"), noting)

    assert ["train.py"] == asked


def test_the_command_line_tells_the_rest_and_whom_to_tell(failing: Fail, capsys: pytest.CaptureFixture[str]) -> None:
    failing("TL101", "train.py")

    code = cli.main(
        ["check", "--isolated", "-n", "-q", "--select", "TL101,TL801", "--output-format", "pylint", "-j", "1"]
    )

    out, err = capsys.readouterr()
    assert 2 == code
    assert ["model.py:10: [TL101]", "train.py:4: [TL801]"] == [" ".join(line.split()[:2]) for line in out.splitlines()]
    first, last = err.splitlines()
    assert first.startswith("error: train.py:12: TL101 failed: KeyError: 'of the test' (")
    assert (
        last
        == "error: this is a bug in torchlint: what it found elsewhere stands; please report it with the lines above"
    )


def test_a_run_with_a_fault_is_run_again(
    failing: Fail, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["check", "--isolated", "-q", "--select", "TL101,TL801", "-j", "1"]
    failing("TL101", "train.py")
    assert 2 == cli.main(arguments)
    monkeypatch.setattr(torchlint.lint.run, "load", load)
    capsys.readouterr()
    assert 1 == cli.main(arguments)
    assert "train.py:12" in capsys.readouterr().out


def test_an_editor_keeps_the_other_findings(failing: Fail) -> None:
    failing("TL101", "train.py")
    session = Session(Path.cwd(), settings())

    looked = session.look(["train.py", "model.py"])
    session.edit("train.py", TRAIN.encode())
    glanced = session.glance("train.py")

    expected = [one for one in without("train.py:12 TL101") if one.startswith("train")]
    assert expected == told(looked["train.py"]) == told(glanced)
    assert ["train.py:12: TL101 failed: KeyError: 'of the test'"] == errors(looked["train.py"]) == errors(glanced)
    assert () == looked["model.py"].errors


# Programs that are nested deeply

LOOP = """\
import torch
model = torch.nn.Linear(4, 4).cuda()
for images in loader:
    loss = model(images.cuda()).sum()
    loss.backward()
    optimizer.step()
"""
DEEP = {
    "a sum": lambda n: f"x = {' + '.join(['loss'] * n)}\nx.item()",
    "a sum of texts": lambda n: f"x = {' + '.join(['text'] * n)}\nloss.item()",
    "a chain of calls": lambda n: f"x = loss{'.abs()' * n}\nx.item()",
    "a chain of attributes": lambda n: f"x = model{'.part' * n}\nloss.item()",
    "indices": lambda n: f"x = loss{'[0]' * n}\nx.item()",
    "signs": lambda n: f"x = {'-' * n}loss\nx.item()",
    "conditions": lambda n: f"x = {'loss if a else ' * n}loss\nx.item()",
    "nots": lambda n: f"if {'not ' * n}x:\n    pass\nloss.item()",
    "remainders": lambda n: f"if {' % '.join(['step'] * n)} == 0:\n    pass\nloss.item()",
}


@pytest.mark.parametrize("shape", DEEP)
@pytest.mark.parametrize("depth", [10, 300, 900])
def test_code_that_is_nested_deeply_is_linted_like_other_code(shape: str, depth: int) -> None:
    text = LOOP + "".join(f"    {line}\n" for line in DEEP[shape](depth).splitlines())
    compile(text, "deep.py", "exec")

    result = lint({"deep.py": text.encode()}, settings())

    assert [f"deep.py:{text.count(chr(10))} TL101"] == told(result)
    assert () == result.errors


def test_what_no_python_compiles_is_told_where_it_stands() -> None:
    depth = 200_000
    result = lint(
        {"deep.py": f"import torch\nx = {'-' * depth}1\n".encode(), "train.py": f"{LOOP}    loss.item()\n".encode()},
        settings(),
    )

    assert ["deep.py:1 TL001", "train.py:7 TL101"] == told(result)
    assert "nested too deeply to be parsed" == result.findings[0].message
    assert () == result.errors


def test_room_is_made_once_and_taken_back() -> None:
    def deep(n: int) -> int:
        return 0 if n == 0 else 1 + deep(n - 1)

    limit = sys.getrecursionlimit()

    assert 20 * limit == with_room(lambda: deep(20 * limit))
    assert limit == sys.getrecursionlimit()
    with pytest.raises(RecursionError):
        with_room(lambda: deep(1 << 30))
    with pytest.raises(ZeroDivisionError):
        with_room(lambda: deep(20 * limit) // 0)


def test_where_no_thread_is_to_be_had_it_is_the_place_that_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*given: object) -> object:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("concurrent.futures.ThreadPoolExecutor.submit", none)
    stepping = LOOP + f"    x = loss{'.abs()' * 3000}\n    x.item()\n"
    evaluating = (
        "import torch\n\ndef test(loader, x):\n    model = torch.nn.Linear(3, 3).eval()\n    for _ in loader:\n"
        f"        x = model(x{'.abs()' * 3000})\n        print(x.item())\n"
    )

    for text in (stepping, evaluating):
        result = lint({"deep.py": text.encode(), "train.py": TRAIN.encode()}, settings())
        assert [one for one in FOUND if one.startswith("train.py")] == told(result)
        assert {"deep.py"} == {error.path for error in result.errors}
