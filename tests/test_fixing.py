"""Fixes of whole projects, from files on disk back to files on disk."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from torchlint import cli
from torchlint.fix import apply as fix
from torchlint.fix.run import FixResult, fix_files
from torchlint.rule import Rule, fixer, load, rule
from torchlint.rule.site import Site
from torchlint.settings.config import Settings
from torchlint.system.fault import FileError
from torchlint.text.finding import Edit, Finding, Fix
from torchlint.torch_api.version import Range

TRAIN = """\
import torch
from torch.utils.data import DataLoader

def train(model, optimizer, dataset):
    loader = DataLoader(dataset, pin_memory=True)
    for x, y in loader:
        x = x.to("cuda")
        loss = model(x).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
"""Line 7 is TL402, with a safe fix."""
FIXED = TRAIN.replace('x.to("cuda")', 'x.to("cuda", non_blocking=True)')
UNUSED = "x = 1  # noqa: TL101\n"
CODES = frozenset(("TL001", "TL002", "TL004", "TL402"))

Run = Callable[..., FixResult]
Repairing = Callable[[Callable[[Site], "Fix | None"]], None]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(project: Path) -> Run:
    """Fix files of the working directory, or `data` that is in none."""

    def run(
        *paths: str,
        unsafe: bool = False,
        write: bool = True,
        data: dict[str, bytes] | None = None,
        codes: frozenset[str] = CODES,
        fixable: frozenset[str] = CODES,
        preview: bool = False,
    ) -> FixResult:
        settings = Settings(codes=codes | {"TL101"}, fixable=fixable, root=project, preview=preview)
        return fix_files(data or [Path(path) for path in paths], settings, unsafe=unsafe, write=write)

    return run


@pytest.fixture
def repairing(monkeypatch: pytest.MonkeyPatch) -> Repairing:
    """Puts another fixer in the place of TL402's."""

    def put(repair: Callable[[Site], Fix | None]) -> None:
        monkeypatch.setattr(
            "torchlint.lint.run.fixer",
            lambda name: (lambda site, finding: repair(site)) if name == "blocking-h2d-copy" else None,
        )

    return put


def codes(result: FixResult) -> list[str]:
    return [finding.code for finding in result.result.findings]


def replaced(site: Site, text: str) -> tuple[Edit, ...]:
    return (site.tree.replace(site.node, text),)


# What stays


def test_nothing_to_fix_writes_nothing(project: Path, run: Run) -> None:
    (project / "a.py").write_text(FIXED)
    before = (project / "a.py").stat().st_mtime_ns

    result = run("a.py")

    assert before == (project / "a.py").stat().st_mtime_ns
    assert ([], {}, {}, {}, ()) == (codes(result), result.fixed, result.diffs, result.contents, result.failed)


def test_a_suggestion_is_never_applied(project: Path, run: Run, repairing: Repairing) -> None:
    (project / "a.py").write_text(TRAIN)
    repairing(lambda site: Fix("", replaced(site, "x"), "suggestion"))

    result = run("a.py", unsafe=True)

    assert (TRAIN, ["TL402"], {}) == ((project / "a.py").read_text(), codes(result), result.fixed)


def test_an_unsafe_fix_is_applied_only_on_demand(project: Path, run: Run, repairing: Repairing) -> None:
    (project / "a.py").write_text(TRAIN)
    repairing(lambda site: Fix("", replaced(site, "x"), "unsafe"))

    assert (["TL402"], {}) == (codes(run("a.py")), run("a.py").contents)
    assert {"a.py": Counter(TL402=1)} == run("a.py", unsafe=True).fixed
    assert TRAIN.replace('x.to("cuda")', "x") == (project / "a.py").read_text()


def test_what_is_not_fixable_is_only_reported(project: Path, run: Run) -> None:
    (project / "a.py").write_text(TRAIN + UNUSED)

    result = run("a.py", fixable=frozenset(("TL002",)))

    assert (["TL402"], {"a.py": Counter(TL002=1)}) == (codes(result), result.fixed)
    assert TRAIN + "x = 1\n" == (project / "a.py").read_text()


def test_a_suppressed_finding_is_not_fixed(project: Path, run: Run) -> None:
    text = TRAIN.replace('x.to("cuda")', 'x.to("cuda")  # noqa: TL402')
    (project / "a.py").write_text(text)

    assert [] == codes(run("a.py"))
    assert text == (project / "a.py").read_text()


def test_without_write_nothing_is_written(project: Path, run: Run) -> None:
    (project / "a.py").write_text(TRAIN)

    result = run("a.py", write=False)

    assert TRAIN == (project / "a.py").read_text()
    assert {"a.py": FIXED.encode()} == result.contents
    assert {"a.py": Counter(TL402=1)} == result.fixed
    assert b'-        x = x.to("cuda")\n+        x = x.to("cuda", non_blocking=True)\n' in result.diffs["a.py"]
    assert result.diffs["a.py"].startswith(b"--- a.py\n+++ a.py\n")


def test_the_context_is_read_and_never_written(project: Path) -> None:
    (project / "a.py").write_text(TRAIN)
    (project / "b.py").write_text(TRAIN)
    settings = Settings(codes=CODES, fixable=CODES, root=project)

    result = fix_files([Path("a.py")], settings, unsafe=False, write=True, context=[Path("b.py")])

    assert (FIXED, TRAIN) == ((project / "a.py").read_text(), (project / "b.py").read_text())
    assert ["a.py"] == list(result.fixed)


# What is fixed


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (TRAIN.replace("\n", "\r\n").encode(), FIXED.replace("\n", "\r\n").encode()),
        (b"\xef\xbb\xbf" + TRAIN.encode(), b"\xef\xbb\xbf" + FIXED.encode()),
        (f"# coding: latin-1\n# ä\n{TRAIN}".encode("latin-1"), f"# coding: latin-1\n# ä\n{FIXED}".encode("latin-1")),
        (TRAIN.replace("    ", "\t").encode(), FIXED.replace("    ", "\t").encode()),
        (TRAIN.rstrip().encode(), FIXED.rstrip().encode()),
        (b"\x0c\n" + TRAIN.encode(), b"\x0c\n" + FIXED.encode()),
    ],
    ids=["CRLF", "BOM", "latin-1", "tabs", "no newline at the end", "form feed"],
)
def test_everything_but_the_fix_stays_as_it_was(project: Path, run: Run, before: bytes, after: bytes) -> None:
    (project / "a.py").write_bytes(before)

    result = run("a.py")

    assert after == (project / "a.py").read_bytes()
    assert ([], {"a.py": Counter(TL402=1)}, {"a.py": after}) == (codes(result), result.fixed, result.contents)


def test_the_mode_stays_and_nothing_else_is_left(project: Path, run: Run) -> None:
    (project / "a.py").write_text(TRAIN)
    (project / "a.py").chmod(0o754)

    run("a.py")

    assert 0o754 == stat.S_IMODE((project / "a.py").stat().st_mode)
    assert ["a.py"] == os.listdir(project)


def test_a_second_run_changes_nothing(project: Path, run: Run) -> None:
    (project / "a.py").write_text(TRAIN + UNUSED)
    run("a.py")

    assert ({}, FIXED + "x = 1\n") == (run("a.py").fixed, (project / "a.py").read_text())


def test_a_suppression_that_a_fix_makes_useless_goes_with_the_next_pass(project: Path, run: Run) -> None:
    (project / "a.py").write_text(UNUSED.replace("TL101", "TL101, TL102") + TRAIN)

    result = run("a.py")

    assert ({"a.py": Counter(TL002=1, TL402=1)}, []) == (result.fixed, codes(result))
    assert f"x = 1  # noqa: TL102\n{FIXED}" == (project / "a.py").read_text()


@rule("TL998", shape="torch.utils.data.DataLoader(...)", fix="safe", category="data")
def unpinned(site: Site) -> Iterator[Finding]:
    """Stands for a rule whose fix makes another rule's finding appear, in another file."""
    if site.argument("pin_memory") is None:
        yield site.finding("unpinned")


def test_a_fix_in_one_file_uncovers_a_finding_in_another(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules: dict[str, Rule] = {**load(), "TL998": unpinned}
    monkeypatch.setattr("torchlint.lint.run.load", lambda: rules)
    real = fixer

    def pin(site: Site, finding: Finding) -> Fix | None:
        edit = site.tree.add_argument(site.node, "pin_memory=True")  # type: ignore[arg-type]
        return Fix("Pin", (edit,), "safe") if edit else None

    monkeypatch.setattr("torchlint.lint.run.fixer", lambda name: pin if name == "unpinned" else real(name))
    (project / "data.py").write_text(
        "from torch.utils.data import DataLoader\n\ndef make(dataset):\n    return DataLoader(dataset)\n"
    )
    train = TRAIN.replace("DataLoader(dataset, pin_memory=True)", "make(dataset)").replace(
        "from torch.utils.data import DataLoader", "from data import make"
    )
    (project / "train.py").write_text(train)
    wanted = CODES | {"TL998"}

    result = run("data.py", "train.py", codes=wanted, fixable=wanted)

    assert ([], {"data.py": Counter(TL998=1), "train.py": Counter(TL402=1)}) == (codes(result), result.fixed)
    assert "DataLoader(dataset, pin_memory=True)" in (project / "data.py").read_text()
    assert train.replace('x.to("cuda")', 'x.to("cuda", non_blocking=True)') == (project / "train.py").read_text()


def test_two_names_of_one_file(project: Path, run: Run) -> None:
    (project / "train.py").write_text(TRAIN)
    os.link(project / "train.py", project / "same.py")
    assert () == run("train.py", "same.py").failed
    assert (project / "train.py").samefile(project / "same.py")
    assert 'x.to("cuda", non_blocking=True)' in (project / "same.py").read_text()


@pytest.mark.parametrize("name", ["-", "a.py", "sub/a.py", "./a.py"])
def test_what_is_no_file_is_known_by_the_name_it_was_given(run: Run, name: str) -> None:
    result = run(data={name: TRAIN.encode()}, write=False)

    assert ({name: FIXED.encode()}, {name: Counter(TL402=1)}) == (result.contents, result.fixed)
    assert (name != "-") is result.diffs[name].startswith(b"--- ")


def test_the_result_is_about_the_files_as_they_are_now(project: Path, run: Run) -> None:
    (project / "a.py").write_text(UNUSED.replace("x = 1  ", "") + TRAIN)

    result = run("a.py", fixable=frozenset(("TL002",))).result

    assert [("TL402", 7)] == [(finding.code, finding.line) for finding in result.findings]
    assert '        x = x.to("cuda")' == result.line("a.py", 7)


# What goes wrong


def test_a_fix_that_breaks_the_file_is_taken_back_and_told(project: Path, run: Run, repairing: Repairing) -> None:
    (project / "a.py").write_text(TRAIN + UNUSED)
    repairing(lambda site: Fix("", replaced(site, "x ="), "safe"))

    result = run("a.py")

    assert TRAIN + "x = 1\n" == (project / "a.py").read_text()
    assert [
        ("TL004", 7, "the fix of TL402 (blocking-h2d-copy) would break the file and was taken back"),
        ("TL402", 7, '`x.to("cuda")` copies a pinned batch and waits for it on every step'),
    ] == [(finding.code, finding.line, finding.message) for finding in result.result.findings]
    assert {"a.py": Counter(TL002=1)} == result.fixed


def test_a_fix_that_never_comes_to_rest_is_taken_back(project: Path, run: Run, repairing: Repairing) -> None:
    (project / "a.py").write_text(TRAIN)
    repairing(lambda site: Fix("", (site.tree.insert_before(site.node, "0 or "),), "safe"))

    result = run("a.py")

    assert (TRAIN, ["TL004", "TL402"], {}) == ((project / "a.py").read_text(), codes(result), result.fixed)


def test_a_broken_fix_in_a_file_where_its_report_is_off_is_taken_back_in_silence(
    project: Path, run: Run, repairing: Repairing
) -> None:
    (project / "a.py").write_text(TRAIN)
    repairing(lambda site: Fix("", replaced(site, "x ="), "safe"))

    assert ["TL402"] == codes(run("a.py", codes=CODES - {"TL004"}))


def test_a_file_that_changes_meanwhile_is_left_alone(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "a.py").write_text(TRAIN)
    (project / "b.py").write_text(TRAIN)
    real = fix.write

    def write(path: str, before: bytes, after: bytes) -> None:
        if path == "a.py":
            Path(path).write_text("theirs = 1\n")
        real(path, before, after)

    monkeypatch.setattr("torchlint.fix.run.write_file", write)

    result = run("a.py", "b.py")

    assert ("theirs = 1\n", FIXED) == ((project / "a.py").read_text(), (project / "b.py").read_text())
    assert (FileError("a.py", "the file has changed since it was read; nothing was written"),) == result.failed
    assert ({"b.py": Counter(TL402=1)}, ["b.py"]) == (result.fixed, list(result.diffs))
    assert [] == codes(result)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everything")
def test_a_read_only_file_is_left_alone(project: Path, run: Run) -> None:
    (project / "a.py").write_text(TRAIN)
    (project / "a.py").chmod(0o444)

    result = run("a.py")

    assert (TRAIN, ["TL402"]) == ((project / "a.py").read_text(), codes(result))
    assert (FileError("a.py", "Permission denied; nothing was written"),) == result.failed


def test_a_file_that_cannot_be_written_keeps_its_findings(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    (project / "a.py").write_text(TRAIN)
    monkeypatch.setattr("torchlint.fix.run.write_file", write)

    result = run("a.py")

    assert (FileError("a.py", "Permission denied; nothing was written"),) == result.failed
    assert (["TL402"], {}, {}, {}) == (codes(result), result.fixed, result.diffs, result.contents)


# By the command


def test_the_command_fixes_and_exits_with_what_is_left(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "a.py").write_text(TRAIN + UNUSED)

    assert 0 == cli.main(["check", "--isolated", "--fix", "--select", "TL402,TL002,TL101", "--show-fixes"])

    assert (
        "\nFixed 2 errors:\n- a.py:\n    1 \u00d7 TL002 (unused-suppression)\n    1 \u00d7 TL402 (blocking-h2d-copy)\n\n"
        "Found 2 errors (2 fixed, 0 remaining).\n"
    ) == capsys.readouterr().out
    assert FIXED + "x = 1\n" == (project / "a.py").read_text()


def test_the_command_tells_of_a_file_it_could_not_write(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(path: str, *_: object) -> None:
        raise fix.ChangedOnDisk(path)

    (project / "a.py").write_text(TRAIN)
    monkeypatch.setattr("torchlint.fix.run.write_file", write)

    assert 2 == cli.main(["check", "--isolated", "--fix", "-q", "--output-format", "concise", "--select", "TL402"])

    captured = capsys.readouterr()
    assert "error: a.py: the file has changed since it was read; nothing was written\n" == captured.err
    assert captured.out.startswith("a.py:7:13: TL402 [*] ")


@pytest.mark.parametrize(
    ("arguments", "code", "out"),
    [
        (["--fix"], 0, FIXED),
        (["--fix", "--unfixable", "TL402"], 1, TRAIN),
        (["--diff", "-q"], 1, fix.diff),
    ],
)
def test_standard_input_is_fixed_to_standard_output(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    out: object,
) -> None:
    import io
    import sys

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TRAIN.encode())))

    assert code == cli.main(["check", "--isolated", "--select", "TL402", *arguments, "-"])

    printed = capsys.readouterr().out
    if isinstance(out, str):
        assert out == printed
    else:
        assert printed.startswith("@@ -4,7 +4,7 @@\n")
    assert [] == os.listdir(project)


STRINGS = """\
import torch
from torch.cuda.amp import autocast

x = torch.ones(2)
a = f"{torch.LongTensor([1])}"
b = f"{x.clone().detach()=}"
c = f'''
{x.clone().detach()} {f"{torch.FloatTensor([1.0])}"}
'''
d = f"{x:{torch.LongTensor([9]).item()}} {torch.meshgrid(x, x)[0]!r:>10} {torch.has_mps}"
e = f"{autocast(enabled=False)}"

class Model(torch.nn.Module):
    def forward(self, y: torch.Tensor):
        return rf"{y.clone().float()} {(y + 1).clone()} {torch.zeros(2).to(y.device)=}"
"""


PATTERNS = """\
import torch

match built:
    case torch.has_mps:
        kind = "mps"
    case {torch.has_cuda: kind}:
        pass
    case True if torch.has_cudnn:
        kind = "cudnn"
"""


def test_a_pattern_gets_no_call_for_an_attribute(run: Run) -> None:
    codes = frozenset(("TL903",))
    result = run(data={"a.py": PATTERNS.encode()}, codes=codes, fixable=codes, unsafe=True, write=False)

    after = PATTERNS.replace("torch.has_cudnn", "torch.backends.cudnn.is_available()")
    assert [4, 6] == [finding.line for finding in result.result.findings]
    assert {"a.py": after.encode()} == result.contents


def test_what_stands_in_an_f_string_stays(run: Run) -> None:
    """`{x=}` shows what is written there, and only Python since 3.12 nests quotes."""
    codes = frozenset(load())
    result = run(data={"a.py": STRINGS.encode()}, codes=codes, fixable=codes, unsafe=True, preview=True)

    assert {"TL507", "TL901", "TL903", "TL910"} <= {finding.code for finding in result.result.findings}
    assert {} == result.contents


@pytest.mark.parametrize("beside", ["", "; torch.backends.cudnn.allow_tf32 = True  # both"])
def test_of_flags_that_must_not_be_mixed_all_are_written_anew_or_none(project: Path, beside: str) -> None:
    """On one line the new names of cuDNN are too long, and it can't be broken."""
    codes = frozenset(("TL905",))
    settings = Settings(codes=codes, fixable=codes, root=project, preview=True, target_torch=Range((2, 13)))
    data = f"import torch\ntorch.backends.cuda.matmul.allow_tf32 = True{beside}\n".encode()

    result = fix_files({"a.py": data}, settings, unsafe=True, write=False)

    assert (b"fp32_precision" in result.contents.get("a.py", data)) is not bool(beside)
