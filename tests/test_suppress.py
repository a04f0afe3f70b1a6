"""Comments that silence findings, and those that silence nothing."""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path

import pytest

from torchlint.fix.apply import apply
from torchlint.text.finding import Finding
from torchlint.text.source import Source
from torchlint.text.suppress import Suppressions, without_prose

KNOWN = {"TL101": "item-in-step", "TL102": "print-in-step", "TL201": "data-parallel", "TL205": "pin-memory"}


def finding(line: int, end_line: int = 0, *, code: str = "TL101", statement: tuple[int, int] = (0, 0)) -> Finding:
    name = KNOWN.get(code, "")
    return Finding("a.py", line, 1, end_line or line, 2, code, name, "slow", "warning", statement=statement)


def suppressions(code: str) -> Suppressions:
    return Suppressions.of(Source.of("a.py", code.encode()))


@pytest.mark.parametrize(
    "comment",
    [
        "",
        "# nothing",
        "# noqa: E501",
        "# noqa: TL102",
        "# noqa: TL1011",
        "# noqa: T201, E1",
        "# noqa: print-in-step",
        "# noqab",
        "# flake8: noqa",
        "# ruff: noqa",
        "# torchlint: ignore[TL102] TL101",
        "# torchlint: ignore[]",
        "# torchlint: ignore[TL101",
        "# torchlint: ignored",
        "# torchlint: ignore-file[TL101]",
        "# torchlint: ignore[item]",
        "'# noqa'",
        "'''# noqa''' + \"# torchlint: ignore\"",
        "'\\' # noqa'",
        "f'{x}# noqa'",
    ],
)
def test_other_comments_silence_nothing(comment: str) -> None:
    assert not suppressions(f"x\nx = y.item() {comment and '+ ' * (comment[0] != '#') + comment}\n").silences(
        finding(2)
    )


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "#noqa",
        "# NoQA",
        "# noqa:TL101",
        "# noqa : tl101",
        "# noqa: E501, TL101",
        "# noqa: E501 TL101 because",
        "# noqa: TL1",
        "# noqa: TL",
        "# noqa: item-in-step",
        "# noqa: needed for the log",
        "# type: ignore  # noqa: TL101",
        "# why # noqa: TL101 # type: ignore",
        "# torchlint: ignore",
        "# torchlint:ignore it is cheap",
        "# torchlint: ignore[TL101] logged once",
        "# torchlint: ignore[TL2,TL101]",
        "# torchlint: ignore [ TL2 TL1 ]",
        "# torchlint: ignore[item-in-step]",
        "\n# torchlint: ignore-file",
        "\n    # torchlint: ignore-file[TL1] a script",
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_these_comments_silence_a_finding(comment: str, newline: str) -> None:
    code = f"if x:\n    x = ['é', y.item()]  {comment}\n".replace("\n", newline)

    assert suppressions(code).silences(finding(2))
    assert not suppressions(code).silences(finding(1)) or "ignore-file" in comment


def test_a_comment_counts_on_every_line_of_the_finding_and_at_the_ends_of_its_statement() -> None:
    code = "x = f(\n    a,\n    b.item(\n    ),  # noqa\n    c,\n)\n"

    assert not suppressions(code).silences(finding(2, 3))
    assert suppressions(code).silences(finding(3, 4))
    assert suppressions(code).silences(finding(2, 3, statement=(2, 4)))
    assert not suppressions(code).silences(finding(2, 3, statement=(1, 6)))


class TestBlocks:
    """`# torchlint: disable[...]` to `# torchlint: enable[...]`."""

    CODE = "x\n# torchlint: disable[TL101, TL2] measured\nx\n    # torchlint: enable[tl2 TL101]\nx\n"

    def test_it_silences_what_is_between(self) -> None:
        found = suppressions(self.CODE)
        assert [False, True, False] == [found.silences(finding(line)) for line in (1, 3, 5)]
        assert not found.silences(finding(3, code="TL102"))
        assert [] == list(found.unused(KNOWN, {"TL101"}))

    def test_without_an_end_it_goes_to_the_end_of_the_file(self) -> None:
        assert suppressions("# torchlint: disable\n\n\nx\n").silences(finding(4))

    def test_blocks_nest_by_their_codes(self) -> None:
        begin, end = "# torchlint: disable", "# torchlint: enable"
        found = suppressions(f"{begin}\n{begin}[TL101]\nx\n{end}[TL101]\nx\n{end}\nx\n")
        assert [True, True, False] == [found.silences(finding(line)) for line in (3, 5, 7)]

    @pytest.mark.parametrize("code", ["x  # torchlint: disable[TL101]\nx\n", "'''\n# torchlint: disable\n'''\nx\n"])
    def test_it_stands_alone_on_its_line_and_in_no_string(self, code: str) -> None:
        assert not any(suppressions(code).silences(finding(line)) for line in range(1, 5))

    def test_one_that_silences_nothing_goes_with_its_end(self) -> None:
        source = Source.of("a.py", self.CODE.encode())
        (unused,) = Suppressions.of(source).unused(KNOWN, KNOWN)
        assert (2, "TL101, TL2") == (unused.line, unused.text)
        assert b"x\nx\nx\n" == apply(source, [unused.fix])[0]

    def test_an_end_without_a_beginning_is_told(self) -> None:
        (unknown,) = suppressions("x\n# torchlint: enable[TL101]\n").unknown(KNOWN)
        assert (2, "# torchlint: enable[TL101]") == (unknown.line, unknown.text)


def test_comments_count_in_a_file_that_does_not_parse() -> None:
    assert suppressions("def f(:\n    'unclosed\n    x.item()  # noqa\n").silences(finding(3))


def test_a_blanket_noqa_and_other_tools_codes_are_never_unused() -> None:
    code = "x  # noqa\nx  # noqa: E501, T201\nx  # noqa: re-export\n"

    assert [] == list(suppressions(code).unused(KNOWN, KNOWN))


def test_what_was_not_looked_for_is_not_unused() -> None:
    code = "x  # noqa: TL101, TL2\nx  # torchlint: ignore\nx  # torchlint: ignore[item-in-step]\n"

    assert [] == list(suppressions(code).unused(KNOWN, {"TL102", "TL201"}))


def test_an_unknown_code_is_not_unused() -> None:
    assert [] == list(suppressions("x  # noqa: TL999\n").unused(KNOWN, KNOWN))


def test_what_silenced_something_is_not_unused() -> None:
    found = suppressions("x  # noqa: TL1, TL101\nx  # torchlint: ignore\n# torchlint: ignore-file[item-in-step]\n")
    assert found.silences(finding(1))
    assert found.silences(finding(2))

    assert [] == list(found.unused(KNOWN, KNOWN))


@pytest.mark.parametrize(
    ("before", "after", "column", "end_column", "text"),
    [
        ("é = x  # noqa: TL102\n", "é = x\n", 8, 21, "TL102"),
        ("x  # noqa: TL102 it is cheap", "x", 4, 29, "TL102"),
        ("x  # torchlint: ignore\r\ny\r\n", "x\r\ny\r\n", 4, 23, "torchlint: ignore"),
        ("x  # torchlint: ignore[] cheap\n", "x\n", 4, 31, ""),
        ("x  # torchlint: ignore[TL102,TL2] see #12\n", "x\n", 4, 42, "TL102, TL2"),
        ("x  # type: ignore  # noqa: TL102\n", "x  # type: ignore\n", 20, 33, "TL102"),
        ("x  # noqa: TL102  # type: ignore\n", "x  # type: ignore\n", 4, 17, "TL102"),
        ("    # torchlint: ignore-file[TL2]\nx\n", "x\n", 5, 34, "TL2"),
        ("## noqa: TL102 ##\nx\n", "x\n", 2, 18, "TL102"),
        ("x  # noqa: TL102 --\n", "x\n", 4, 20, "TL102"),
    ],
)
def test_a_comment_of_no_use_is_removed_whole(before: str, after: str, column: int, end_column: int, text: str) -> None:
    found = suppressions(before)

    (unused,) = found.unused(KNOWN, KNOWN)

    assert (1, column, end_column, text, True) == (
        unused.line,
        unused.column,
        unused.end_column,
        unused.text,
        unused.whole,
    )
    why = re.search("cheap|see", before)
    assert ("unsafe" if why else "safe") == unused.fix.applicability
    assert after.encode() == apply(found.source, [unused.fix])[0]


@pytest.mark.parametrize(
    ("before", "after", "unused"),
    [
        ("x  # noqa: E501, TL102\n", "x  # noqa: E501\n", ["TL102"]),
        ("x  # noqa: TL102,E501\n", "x  # noqa: E501\n", ["TL102"]),
        ("x  # noqa: TL102 TL205 E501 F401\n", "x  # noqa: E501 F401\n", ["TL102", "TL205"]),
        ("x  # noqa: E501, TL102, TL205 why\n", "x  # noqa: E501 why\n", ["TL102", "TL205"]),
        (
            "x  # torchlint: ignore[TL2, TL101, data-parallel, TL102] why\n",
            "x  # torchlint: ignore[TL101] why\n",
            ["TL2", "data-parallel", "TL102"],
        ),
    ],
)
def test_an_unused_code_among_others_is_removed_alone(before: str, after: str, unused: list[str]) -> None:
    found = suppressions(before)
    assert found.silences(finding(1)) == ("TL101" in before)

    parts = list(found.unused(KNOWN, KNOWN))

    assert [
        (text, False, before[part.column - 1 : part.end_column - 1]) for part, text in zip(parts, unused, strict=True)
    ] == [(part.text, part.whole, part.text) for part in parts]
    assert after.encode() == apply(found.source, [part.fix for part in parts])[0]


def test_known_codes_prefixes_names_and_other_tools_codes_are_not_unknown() -> None:
    code = "x  # noqa: TL101, TL2, E501, T201, re-export\nx  # torchlint: ignore[item-in-step, TL]\n# torchlinter: x\n"

    assert [] == list(suppressions(code).unknown(KNOWN))


@pytest.mark.parametrize(
    ("line", "unknown"),
    [
        ("é # noqa: TL101, TL999\n", "TL999"),
        ("é # torchlint: ignore[TL101, item-in-stop]\n", "item-in-stop"),
        ("é # torchlint: ignore[E501]\n", "E501"),
        ("é # torchlint: disable=TL101\n", "# torchlint: disable=TL101"),
        ("é # torchlint: ignore[TL101\n", "# torchlint: ignore[TL101"),
        ("é # torchlint: ignore-file[TL101]\n", "# torchlint: ignore-file[TL101]"),
    ],
)
def test_what_no_rule_knows_is_told_with_its_place(line: str, unknown: str) -> None:
    (found,) = suppressions(line).unknown(KNOWN)

    assert (1, unknown, unknown) == (found.line, found.text, line[found.column - 1 : found.end_column - 1])


def test_comments_are_those_of_tokenize() -> None:
    """On the standard library's own tokenizer tests' neighbours: every comment, and nothing in strings."""
    for path in sorted(Path(tokenize.__file__).parent.glob("*.py"))[:60]:
        text = path.read_text("utf-8", errors="replace").replace("# ", "# noqa: TL102 ")
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        try:
            expected = [token.start[0] for token in tokens if token.type == tokenize.COMMENT and "noqa" in token.string]
        except (tokenize.TokenError, SyntaxError):  # a replacement in a string's prefix or the like
            continue
        actual = {directive.line for directive in suppressions(text).directives}
        assert set(expected) == actual, path.name


def test_skip_file_silences_a_whole_file() -> None:
    suppressions = Suppressions.of(Source.of("x.py", b"# torchlint: skip-file\nloss.item()\n"))

    assert ["ignore-file"] == [directive.kind for directive in suppressions.directives]


def test_code_is_what_is_no_comment_and_no_docstring() -> None:
    text = b'"""A\nscaler."""\nx = """a\nscaler"""\n"b"  # scaler\ndef f():\n    r\'\'\'Scales.\'\'\'\n    return """s"""\n'

    assert without_prose(text) == b'\nx = """a\nscaler"""\n"b"  \ndef f():\n    r\n    return """s"""\n'
