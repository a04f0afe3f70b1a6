"""Fixes into files: whole or not at all, until quiet, and never a broken file."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchlint.fix.apply import ChangedOnDisk, Level, Neat, applicable, apply, diff, fix_all, write
from torchlint.text.finding import Applicability, Edit, Finding, Fix
from torchlint.text.source import Source

Lint = Callable[[Source], Sequence[Finding]]


@dataclass(frozen=True)
class View:
    """What a lint finds in one file."""

    file: Source
    findings: Sequence[Finding]

    def source(self, path: str) -> Source:
        return self.file


@dataclass(frozen=True)
class Fixed:
    source: Source
    applied: Sequence[Finding]
    remaining: Sequence[Finding]
    failed: frozenset[str]


def fix_source(file: Source, lint: Lint, *, level: Level = "safe", neat: Neat = lambda before, after: after) -> Fixed:
    """Fix one file until quiet."""

    def look(changed: Mapping[str, Source]) -> View:
        now = changed.get(file.path, file)
        return View(now, lint(now))

    fixed = fix_all(look, lambda finding: finding.fix is not None and applicable(finding.fix, level), neat)
    codes = frozenset(finding.code for finding in fixed.failed)
    return Fixed(fixed.after.get(file.path, file), fixed.applied, fixed.view.findings, codes)


def source(code: str | bytes) -> Source:
    return Source.of("a.py", code if isinstance(code, bytes) else code.encode())


def fix(*edits: tuple[int, int, str], applicability: Applicability = "safe") -> Fix:
    return Fix("", tuple(Edit(start, end, text.encode()) for start, end, text in edits), applicability)


def rule(code: str, old: str, new: str, *, applicability: Applicability = "safe") -> Lint:
    """A rule that finds a text and wants another in its place."""

    def lint(source: Source) -> list[Finding]:
        return [
            Finding(
                source.path, *source.position(found.start()), *source.position(found.end()), code, code.lower(), old,
                "warning", fix((found.start(), found.end(), new), applicability=applicability),
            )
            for found in re.finditer(re.escape(old).encode(), source.data)
        ]  # fmt: skip

    return lint


def together(*rules: Lint) -> Lint:
    return lambda source: [finding for lint in rules for finding in lint(source)]


# One pass


def test_nothing_to_fix_changes_nothing() -> None:
    assert (b"x\r\ny", []) == apply(source("x\r\ny"), [])


def test_of_fixes_that_overlap_the_first_in_the_file_is_applied() -> None:
    early, late = fix((0, 3, "A")), fix((2, 5, "B"))

    assert (b"Adef", [early]) == apply(source("abcdef"), [late, early])


def test_a_fix_is_applied_whole_or_not_at_all() -> None:
    one, two = fix((2, 3, "C")), fix((1, 2, "B"), (2, 4, ""))

    assert (b"aBef", [two]) == apply(source("abcdef"), [one, two])
    assert (b"xCdef", [fix((0, 2, "x")), one]) == apply(source("abcdef"), [one, two, fix((0, 2, "x"))])


def test_two_texts_for_one_place_are_not_both_inserted() -> None:
    one, two = fix((1, 1, "X")), fix((1, 1, "Y"))

    assert (b"aXb", [one]) == apply(source("ab"), [one, two])


def test_an_insertion_inside_deleted_text_waits() -> None:
    outer, inner = fix((0, 3, "")), fix((1, 1, "X"))

    assert (b"", [outer]) == apply(source("abc"), [inner, outer])


def test_neighbours_do_not_overlap() -> None:
    fixes = [fix((0, 1, "A")), fix((1, 1, "-")), fix((1, 2, "B"))]

    assert (b"A-Bc", fixes) == apply(source("abc"), fixes)


@pytest.mark.parametrize(("at", "text"), [(0, "import z\n"), (9, "import z\n"), (8, "\nimport z")])
def test_the_same_import_for_two_fixes_is_inserted_once(at: int, text: str) -> None:
    one, two = fix((at, at, text), (9, 10, "X")), fix((at, at, text), (11, 12, "Y"))
    expected = "import a\nx y\n".replace("x y", "X Y")

    data, done = apply(source("import a\nx y\n"), [one, two])

    assert [one, two] == done
    assert (expected[:at] + text + expected[at:]).encode() == data


def test_the_same_bracket_for_two_fixes_is_not_shared() -> None:
    one, two = fix((0, 0, "("), (1, 1, ")")), fix((0, 0, "("), (3, 3, ")"))

    assert (b"(a)+b", [one]) == apply(source("a+b"), [one, two])


def test_the_same_fix_twice_is_applied_once() -> None:
    assert (b"Xb", [fix((0, 1, "X"))] * 2) == apply(source("ab"), [fix((0, 1, "X"))] * 2)


@given(st.lists(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 4), st.text("xé\n", max_size=2)), max_size=3)))
def test_whatever_the_fixes_the_text_between_the_applied_ones_stays(given: list[list[tuple[int, int, str]]]) -> None:
    text = "abcdefghijklmnop"
    fixes = [fix(*((start, start + length, new) for start, length, new in edits)) for edits in given]
    fixes = [one for one in fixes if not _overlap(one.edits)]

    data, done = apply(source(text), fixes)

    assert all(one in fixes for one in done)
    touched = {at for one in done for edit in one.edits for at in range(edit.start, edit.end)}
    untouched = "".join(letter for at, letter in enumerate(text) if at not in touched)
    assert untouched == re.sub("[xé\n]", "", data.decode())
    for one in done:
        assert all(edit.text in data for edit in one.edits)


def _overlap(edits: tuple[Edit, ...]) -> bool:
    ordered = sorted(edits)
    return any(one.end >= two.start for one, two in pairwise(ordered))


# Until quiet


def test_suggestions_are_never_applied_and_unsafe_fixes_only_on_demand() -> None:
    lint = together(
        rule("TL1", "a", "b", applicability="suggestion"),
        rule("TL2", "c", "d", applicability="unsafe"),
        rule("TL3", "e", "f"),
    )

    safe, unsafe = fix_source(source("a, c, e\n"), lint), fix_source(source("a, c, e\n"), lint, level="unsafe")

    assert (b"a, c, f\n", ["TL3"]) == (safe.source.data, [one.code for one in safe.applied])
    assert ["TL1", "TL2"] == [one.code for one in safe.remaining]
    assert (b"a, d, f\n", ["TL2", "TL3"]) == (unsafe.source.data, [one.code for one in unsafe.applied])
    assert frozenset() == safe.failed | unsafe.failed


def test_what_a_fix_uncovers_is_fixed_too() -> None:
    fixed = fix_source(
        source("a(a)\n"), together(rule("TL1", "a", "b"), rule("TL2", "b", "c"), rule("TL3", "c(c)", "d"))
    )

    assert (b"d\n", ["TL1", "TL1", "TL2", "TL2", "TL3"]) == (fixed.source.data, [one.code for one in fixed.applied])
    assert ([], frozenset()) == (fixed.remaining, fixed.failed)


def test_a_rule_that_breaks_the_file_is_left_out_and_named() -> None:
    fixed = fix_source(source("a = 1\nb = 2\n"), together(rule("TL1", "a = ", "a ! "), rule("TL2", "2", "3")))

    assert (b"a = 1\nb = 3\n", ["TL2"]) == (fixed.source.data, [one.code for one in fixed.applied])
    assert ({"TL1"}, ["TL1"]) == (set(fixed.failed), [one.code for one in fixed.remaining])


def test_what_can_be_parsed_and_not_compiled_is_broken_too() -> None:
    repeated, left = rule("TL1", "f(a=1)", "f(a=1, a=2)"), rule("TL2", "2", "3")

    fixed = fix_source(source("f(a=1)\nb = 2\n"), together(repeated, left))
    never = fix_source(source("return f(a=1)\nb = 2\n"), together(rule("TL1", "f(a=1)", "f(a=2)")))

    assert (b"f(a=1)\nb = 3\n", {"TL1"}) == (fixed.source.data, set(fixed.failed))
    assert (b"return f(a=2)\nb = 2\n", frozenset()) == (never.source.data, never.failed)


def test_of_rules_that_only_break_the_file_together_the_last_is_left_out() -> None:
    code = "if x:\n    a()\n    b()\nc()\n"

    fixed = fix_source(
        source(code), together(rule("TL1", "    a()\n", ""), rule("TL2", "    b()\n", ""), rule("TL3", "c", "d"))
    )

    assert (b"if x:\n    b()\nd()\n", {"TL2"}) == (fixed.source.data, set(fixed.failed))
    assert ["TL1", "TL3"] == [one.code for one in fixed.applied]


def test_rules_that_undo_each_other_leave_no_trace() -> None:
    lint = together(rule("TL1", "a", "b"), rule("TL2", "b", "a"), rule("TL3", "c", "d"))

    fixed = fix_source(source("a, c\n"), lint)

    assert {"TL1"} == fixed.failed
    assert b"a, d\n" == fixed.source.data
    assert ["TL3"] == [one.code for one in fixed.applied]


def test_a_rule_that_never_comes_to_rest_is_undone() -> None:
    fixed = fix_source(source("x = 1, a\n"), together(rule("TL1", "x = ", "x = 1 + "), rule("TL2", "a", "b")))

    assert (b"x = 1, b\n", {"TL1"}) == (fixed.source.data, set(fixed.failed))
    assert ["TL2"] == [one.code for one in fixed.applied]


def test_what_can_not_be_made_neat_is_left_as_it_is() -> None:
    def neat(before: Source, after: Source) -> Source | None:
        return None if b"ugly" in after.data or b"b, d" in after.data else source(after.data + b"# x\n")

    lint = together(rule("TL1", "a", "b"), rule("TL2", "c", "d"), rule("TL3", "e", "ugly"), rule("TL4", "f", "g"))

    alone = fix_source(source("e, f\n"), lint, neat=neat)
    assert (b"e, g\n# x\n", ["TL4"]) == (alone.source.data, [one.code for one in alone.applied])
    assert ["TL3"] == [one.code for one in alone.remaining]
    both = fix_source(source("a, c\n"), lint, neat=neat)
    assert (b"b, c\n# x\n", ["TL1"]) == (both.source.data, [one.code for one in both.applied])


def test_a_fix_that_the_files_encoding_lacks_fails() -> None:
    fixed = fix_source(source("# coding: latin-1\nx = 'é'\n".encode("latin-1")), rule("TL1", "x", "ξ"))

    assert ("# coding: latin-1\nx = 'é'\n".encode("latin-1"), {"TL1"}) == (fixed.source.raw, set(fixed.failed))


def test_a_fix_that_changes_the_encoding_fails() -> None:
    fixed = fix_source(source("# coding: utf-8\nx = 'é'\n"), rule("TL1", "utf-8", "latin-1"))

    assert ({"TL1"}, b"# coding: utf-8\n") == (set(fixed.failed), fixed.source.data[:16])


@pytest.mark.parametrize(
    "raw",
    [
        b"\xef\xbb\xbfa = 1\r\nb",
        b"a = 1\rb\r",
        b"\x0ca = 1\n\tb\n".replace(b"\t", b""),
        b"# coding: latin-1\na = '\xe9'",
    ],
)
def test_everything_but_the_fix_stays_as_it_was(raw: bytes) -> None:
    fixed = fix_source(source(raw), rule("TL1", "a = ", "c = "))

    assert raw.replace(b"a = ", b"c = ") == fixed.source.raw


def test_many_fixes_in_a_long_file() -> None:
    fixed = fix_source(source("a = b\n" * 1_000 + "pass\n" * 19_000), rule("TL1", "a = b", "c = b"))

    assert 1_000 == len(fixed.applied)
    assert b"c = b\n" * 1_000 + b"pass\n" * 19_000 == fixed.source.data


# To the disk


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"theirs\n")

    with pytest.raises(ChangedOnDisk, match=r"a\.py has changed since it was read; nothing was written"):
        write(str(path), b"x\n", b"y\n")

    assert b"theirs\n" == path.read_bytes()
    assert ["a.py"] == os.listdir(tmp_path)


def test_a_file_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write(str(tmp_path / "a.py"), b"", b"y\n")


def test_a_failed_write_leaves_the_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"x\n")

    def full(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="disk full"):
        write(str(path), b"x\n", b"y\n")

    assert b"x\n" == path.read_bytes()
    assert ["a.py"] == os.listdir(tmp_path)


def test_mode_and_links_stay(tmp_path: Path) -> None:
    real = tmp_path / "real.py"
    real.write_bytes(b"x\r\n")
    real.chmod(0o751)
    link = tmp_path / "link.py"
    link.symlink_to("real.py")

    write(str(link), b"x\r\n", b"y\r\n")

    assert link.is_symlink()
    assert (b"y\r\n", 0o751) == (real.read_bytes(), stat.S_IMODE(real.stat().st_mode))
    assert ["link.py", "real.py"] == sorted(os.listdir(tmp_path))


# As a diff


def test_no_change_is_no_diff() -> None:
    assert b"" == diff(source("a\n"), b"a\n")


def test_a_diff_of_what_came_on_standard_input_names_no_file() -> None:
    assert b"@@ -1 +1 @@\n-a\n+b\n" == diff(Source.of("-", b"a\n"), b"b\n")


def test_a_diff_says_where_the_last_newline_is_missing() -> None:
    assert (
        b"--- a.py\n+++ a.py\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"
    ) == diff(source("a\nb"), b"a\nc")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"a\nb\n", b"a\nc\n"),
        (b"a\r\nb\r\nc\n", b"a\r\nB\r\nc\n"),
        (b"a\nb", b"a\nb\nc"),
        (b"a\rb\r", b"a\rc\r"),
        (b"\xef\xbb\xbfa\nb\n", b"\xef\xbb\xbfc\nb\n"),
        (b"a\x0c\nb\xc2\x85\n", b"a\x0c\nc\xc2\x85\n"),
        (b"a\n" * 99 + b"b\n" + b"a\n" * 99, b"a\n" * 99 + b"c\n" + b"a\n" * 99 + b"d\n"),
    ],
)
def test_git_applies_the_diff(tmp_path: Path, old: bytes, new: bytes) -> None:
    (tmp_path / "a.py").write_bytes(old)
    patch = diff(source(old), source(new).data)

    subprocess.run(["git", "apply", "-p0", "-"], input=patch, cwd=tmp_path, check=True)

    assert new == (tmp_path / "a.py").read_bytes()


@pytest.mark.skipif(os.name == "nt", reason="no such names, no patch")
@pytest.mark.parametrize("tool", [["git", "apply", "-p0", "-"], ["patch", "-p0", "-s"]], ids=lambda tool: tool[0])
@pytest.mark.parametrize(
    "name",
    [
        b"a b.py",
        b" a.py",
        b"a .py",
        b"a\tb.py",
        b'"a".py',
        b"a\\b.py",
        b"a\nb.py",
        b"a\rb.py",
        b"a\x1b[2J.py",
        b"a\xff.py",
        b"a\\377.py",
        "\u00e9 \u202e.py".encode(),
        b"--- a.py",
        b"d e/a b.py",
    ],
)  # fmt: skip
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "cp1252"])
def test_a_diff_applies_whatever_the_file_is_called_and_written_in(
    tmp_path: Path, tool: list[str], name: bytes, encoding: str
) -> None:
    path = os.fsdecode(name)
    text = f"# coding: {encoding}\n# \u00e9\u00ff\nx = 1\n# \u00fc\n"
    old, new = text.encode(encoding), text.replace("x = 1", "y = 2").encode(encoding)
    file = tmp_path / path
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(old)
    before = Source.of(path, old)

    patch = diff(before, before.data.replace(b"x = 1", b"y = 2"))
    subprocess.run(tool, input=patch, cwd=tmp_path, check=True)

    assert new == file.read_bytes()
    assert 1 == len([path for path in tmp_path.rglob("*") if path.is_file()])
