"""Bytes in, positions, and the same bytes out."""

from __future__ import annotations

import ast
import pickle
import re
import sys
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchlint.lint import unnamed
from torchlint.lint.sieve import Sieve
from torchlint.program.step_text import lines_of_steps
from torchlint.text.source import Source, SourceError, _of_a_line

LATIN = "# coding: latin-1\nname = 'é'; print(name)\n"


def raised(raw: bytes) -> tuple[str, int, int]:
    """Why bytes can't be read or parsed."""
    with pytest.raises(SourceError) as caught:
        Source.of("a.py", raw).parse()
    return caught.value.message, caught.value.line, caught.value.column


def test_bytes_that_are_not_utf8_are_told_with_their_place() -> None:
    assert ("not UTF-8: byte 0xe9 (invalid continuation byte)", 2, 6) == raised(b"x = 1\r\n# caf\xe9\n")


def test_utf16_is_refused() -> None:
    assert ("not UTF-8: byte 0xff (invalid start byte)", 1, 1) == raised("x = 1\n".encode("utf-16"))


def test_a_null_byte_is_refused() -> None:
    assert ("null byte", 2, 7) == raised(b"x = 1\ny = 'a\0'\n")


@pytest.mark.parametrize("name", ["klingon", "hex", "rot13", "undefined", "idna", "punycode", "Punycode"])
def test_an_unknown_encoding_is_refused(name: str) -> None:
    assert (f"unknown encoding: {name}", 2, 11) == raised(f"#!/bin/sh\n# coding: {name}\n".encode())


def test_a_cookie_that_contradicts_the_byte_order_mark_is_refused() -> None:
    expected = ("the coding cookie says latin-1, the byte order mark UTF-8", 1, 11)

    assert expected == raised(b"\xef\xbb\xbf# coding: latin-1\n")


def test_bytes_outside_the_declared_encoding_are_told_with_their_place() -> None:
    expected = ("not ASCII: byte 0xe9 (ordinal not in range(128))", 2, 6)

    assert expected == raised(b"# coding: ascii\n# caf\xe9\n")


@pytest.mark.parametrize(
    ("name", "half"), [("utf-7", "+2AA-"), ("unicode_escape", r"\ud800"), ("raw_unicode_escape", r"\ud800")]
)
def test_half_a_character_is_refused(name: str, half: str) -> None:
    expected = (f"not {name.upper()}: half of a surrogate pair", 2, 6)
    assert expected == raised(f"# coding: {name}\nx = '{half}'\n".encode())


def test_a_cookie_after_code_is_a_comment() -> None:
    assert "utf-8" == Source.of("a.py", b"x = 1\n# coding: latin-1\n").encoding


@pytest.mark.parametrize("name", ["future_fstrings", "future-fstrings", "future_annotations", "future_typing"])
def test_codecs_that_bring_newer_syntax_are_utf8(name: str) -> None:
    source = Source.of("a.py", f"# -*- coding: {name} -*-\nx = f'é'\n".encode())

    assert "utf-8" == source.encoding
    assert "é" in source.text


def test_async_of_old_torch_is_read_as_non_blocking() -> None:
    text = (
        b"y = y.cuda( async =True, device=0)\nx.copy_(y, async=flag) or z\nx.cuda(  # why\n    # so\n    async=True)\n"
    )
    tree = Source.of("a.py", text).parse()

    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    arguments = [(keyword.arg, keyword.lineno, keyword.col_offset) for call in calls for keyword in call.keywords]
    assert [
        ("non_blocking", 1, 12), ("device", 1, 25), ("non_blocking", 5, 4), ("non_blocking", 2, 11)
    ] == arguments  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "run(async=True)",
        "x.start(async=True)",
        "cuda(async=True)",
        "x.cuda(async=True); async = 1",
        "x.cuda(async=True, non_blocking=True)",
    ],
)
def test_async_of_other_calls_is_an_error_of_syntax(text: str) -> None:
    with pytest.raises(SourceError, match="invalid syntax"):
        Source.of("a.py", text.encode()).parse()


def test_nothing_is_said_of_escapes_where_torch_is_old() -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        Source.of("a.py", b"x = y.cuda(async=True)\nname = '\\d'\n").parse()

    assert [] == said


@pytest.mark.parametrize("name", ["utf-8", "UTF8", "utf_8", "utf-8-unix", "utf-8-sig"])
def test_utf8_has_many_names(name: str) -> None:
    source = Source.of("a.py", f"# -*- coding: {name} -*-\nx = 'é'\n".encode())

    assert "utf-8" == source.encoding
    assert source.raw == source.encode(source.data)


def test_the_byte_order_mark_is_not_part_of_the_data() -> None:
    source = Source.of("a.py", b"\xef\xbb\xbfx = 1\n")

    assert (True, b"x = 1\n") == (source.bom, source.data)
    assert source.raw == source.encode(source.data)
    assert 0 == source.parse().body[0].col_offset


def test_latin_1_becomes_utf8_and_goes_back() -> None:
    source = Source.of("a.py", LATIN.encode("latin-1"))

    assert LATIN.encode() == source.data
    assert source.raw == source.encode(source.data)
    assert LATIN.replace("print", "print_é").encode("latin-1") == source.encode(
        source.data.replace(b"print", "print_é".encode())
    )


def test_the_cookie_is_not_obeyed_a_second_time() -> None:
    assign = Source.of("a.py", LATIN.encode("latin-1")).parse().body[0]

    assert isinstance(assign, ast.Assign)
    assert isinstance(assign.value, ast.Constant)
    assert "é" == assign.value.value


def test_a_character_outside_the_files_encoding_is_not_written() -> None:
    source = Source.of("a.py", LATIN.encode("latin-1"))

    with pytest.raises(SourceError, match="'→' is not in latin-1") as caught:
        source.encode(source.data + "# →\n".encode())
    assert (3, 3) == (caught.value.line, caught.value.column)


def test_an_encoding_that_would_change_other_bytes_is_not_written() -> None:
    raw = b"# coding: utf-7\nx = '+AGE-'\n"  # the letter a, written the long way

    with pytest.raises(SourceError, match="utf-7 does not give the same bytes back"):
        Source.of("a.py", raw).encode(b"# coding: utf-7\n")


@pytest.mark.parametrize(
    ("raw", "newline", "lines"),
    [
        (b"", "\n", [0]),
        (b"x", "\n", [0]),
        (b"x\n", "\n", [0, 2]),
        (b"a\r\nb\r\n", "\r\n", [0, 3, 6]),
        (b"a\rb\r", "\r", [0, 2, 4]),
        (b"a\r\nb\nc\r\nd", "\r\n", [0, 3, 5, 8]),
        (b"a\r\r\nb\n\nc", "\n", [0, 2, 4, 6, 7]),
        (b"a\x0cb\x0b\x1c\n", "\n", [0, 6]),
        ("a\x85\u2028b\n".encode(), "\n", [0, 8]),
    ],
)
def test_lines_are_those_of_pythons_tokenizer(raw: bytes, newline: str, lines: list[int]) -> None:
    source = Source.of("a.py", raw)

    assert newline == source.newline
    assert lines == source.lines
    assert raw == source.encode(source.data)


def test_columns_of_positions_are_characters_and_of_ast_bytes() -> None:
    source = Source.of("a.py", "x = 1\ns = '🙂é'; y = 2\n".encode())
    second = source.parse().body[2]

    offset = source.offset(second.lineno, second.col_offset)

    assert b"y = 2\n" == source.data[offset:]
    assert (2, 11) == source.position(offset)
    assert "s = '🙂é'; y = 2" == source.line_text(2)


def test_the_end_of_a_file_is_a_position() -> None:
    assert (2, 1) == Source.of("a.py", b"x\n").position(2)
    assert (1, 2) == Source.of("a.py", b"x").position(1)
    assert (1, 1) == Source.of("a.py", b"").position(0)


@pytest.mark.parametrize(
    "raw",
    [
        b"if x:\n    y\n",
        b"if x:\r\n    y\r\n",
        b"if x:\r    y\r",
        b"if x:\n\ty\r\n",
        b"\x0cif x:\n\x0c    y\n",
        b"\xef\xbb\xbfif x:\n    y",
        "# coding: latin-1\nif 'é':  # é\n    y".encode("latin-1"),
        b"# coding: shift_jis\nif '\x83\x5c': y",
        "if 'é': é = '''\r\n\x0c\r\n'''; y".encode(),
        b"if x: \\\r\n  y",
    ],
)
def test_ast_positions_are_offsets_in_the_data(raw: bytes) -> None:
    source = Source.of("a.py", raw)
    names = [node for node in ast.walk(source.parse()) if isinstance(node, ast.Name) and node.id == "y"]

    assert [b"y"] == [source.data[source.offset(n.lineno, n.col_offset) :][:1] for n in names]
    assert raw == source.encode(source.data)


def test_a_syntax_error_names_the_running_python() -> None:
    message, line, column = raised("é = 1\n'é'; x = = 2\n".encode())

    assert f"invalid syntax (Python {sys.version_info[0]}.{sys.version_info[1]})" == message
    assert (2, 10) == (line, column)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("print 'a'\n", "Python 2 print statement"),
        ("exec 'a'\n", "Python 2 exec statement"),
        ("x = 0777\n", "Python 2 octal number"),
        pytest.param(
            "try: x\nexcept A, e: y\n",
            "Python 2 except clause",
            marks=pytest.mark.skipif(sys.version_info >= (3, 14), reason="PEP 758: two exceptions without parentheses"),
        ),
    ],
)
def test_python_2_is_called_by_its_name(code: str, message: str) -> None:
    assert message == raised(code.encode())[0]


def test_deep_nesting_is_an_error_and_no_crash() -> None:
    depth = 500
    code = "".join(f"{' ' * level}if x:\n" for level in range(depth)) + " " * depth + "pass\n"

    assert raised(code.encode())[0].startswith(("too many levels of indentation", "nested too deeply"))


def test_a_long_chain_is_parsed_or_an_error() -> None:
    source = Source.of("a.py", b"x" + b".a" * 50_000)
    try:
        source.parse()
    except SourceError as error:  # Python 3.11 and later
        assert "nested too deeply to be parsed" == str(error)


def test_warnings_of_the_parsed_code_are_not_shown(recwarn: pytest.WarningsRecorder) -> None:
    Source.of("a.py", b"x = '\\d'; x is 1; assert (x, 1)\n").parse()

    assert [] == recwarn.list


def test_a_long_file_is_read_whole() -> None:
    source = Source.of("a.py", b"x = 1\n" * 20_000)

    assert 20_000 == len(source.parse().body)
    assert (20_000, 5) == source.position(len(source.data) - 2)


def test_a_name_is_mentioned_by_itself_and_in_longer_ones_however_often_names_are_looked_for() -> None:
    source = Source.of("a.py", "réseau.forward(x_1); unused_name = 'or text'  # comment\n".encode())
    there = ["forward", "for", "x_1", "used_name", "comment", "seau", "rés"]
    not_there = ["forwards", "x_2", "name_or"]

    for _ in range(10):
        assert [name for name in (*there, *not_there) if source.mentions(name.encode())] == there


@pytest.mark.parametrize(
    ("code", "read"),
    [
        ("0 < x", "x > 0"),
        ("0<x", "x > 0"),
        ("-1 != x", "x != -1"),
        ("0 == step % 10", "step % 10 == 0"),
        ("'train' == part", "part == 'train'"),
        ("f(1 >= len(xs))", "f(len(xs) <= 1)"),
        ("x > 0", "x > 0"),
        ("0 < 1", "0 < 1"),
        ("0 < x < 1", "0 < x < 1"),
        ("a < b", "a < b"),
        ("1 in xs", "1 in xs"),
        ("'<s>' in xs", "'<s>' in xs"),
    ],
)
def test_what_is_compared_with_a_literal_stands_in_front_of_it(code: str, read: str) -> None:
    assert read == ast.unparse(Source.of("a.py", code.encode()).parse())


def test_a_comparison_that_is_turned_stays_where_it_is() -> None:
    (statement,) = Source.of("a.py", b"y = 0 < x").parse().body
    places = [(node.col_offset, node.end_col_offset) for node in ast.walk(statement) if isinstance(node, ast.expr)]

    assert [(0, 1), (4, 9), (8, 9), (4, 5)] == places


def test_errors_travel_between_processes() -> None:
    error = pickle.loads(pickle.dumps(SourceError("null byte", 2, 7)))

    assert ("null byte", 2, 7, "null byte") == (error.message, error.line, error.column, str(error))


@given(st.binary())
def test_any_bytes_are_read_back_or_refused(raw: bytes) -> None:
    try:
        source = Source.of("a.py", raw)
    except SourceError as error:
        assert 1 <= error.line
        assert 1 <= error.column
    else:
        assert raw == source.encode(source.data)


@given(st.text(alphabet="aé🙂\n\r\x0c\t '#", max_size=40))
def test_positions_and_offsets_are_inverse(text: str) -> None:
    source = Source.of("a.py", text.encode())
    for at in range(len(text) + 1):
        offset = len(text[:at].encode())
        line, column = source.position(offset)
        before = source.text[: len(source.data[: source.lines[line - 1]].decode()) + column - 1]
        assert offset == len(before.encode())


PARTS = b"""\
x = 1
def one(a):
    return a
class Two:
    def three(self): pass

    async def four(self):
        def inner(): pass
text = (
def no
"""


def test_a_text_is_one_part_unless_parts_are_remembered() -> None:
    source = Source.of("a.py", PARTS)
    assert list(source.in_parts("all", bytes)) == [(0, PARTS)]


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_parts_begin_with_functions_and_classes(newline: bytes) -> None:
    source = Source.of("a.py", PARTS.replace(b"\n", newline))
    source.remember()
    parts = list(source.in_parts("all", bytes))
    assert b"".join(part for _, part in parts) == source.data
    assert all(source.data[start:].startswith(part) for start, part in parts)
    begins = [part.split(newline)[0].strip() for _, part in parts]
    assert begins == [b"x = 1", b"def one(a):", b"class Two:", b"def three(self): pass", b"async def four(self):"]


def test_a_part_that_is_as_it_was_is_not_asked_again() -> None:
    asked: list[bytes] = []

    def find(part: bytes) -> int:
        asked.append(part)
        return len(part)

    first, second = Source.of("a.py", PARTS), Source.of("a.py", PARTS.replace(b"return a", b"return a + 1"))
    first.remember()
    list(first.in_parts("length", find))
    asked.clear()
    second.remember(first)
    assert sum(length for _, length in second.in_parts("length", find)) == len(second.data)
    assert asked == [b"def one(a):\n    return a + 1\n"]


FILES = sorted((Path(__file__).parents[1] / "torchlint").rglob("*.py"))


PATTERNS = tuple(
    re.compile(written, flags)
    for written in (
        rb"flat_?(?:grad|param)|cuda\.graph\(",
        rb"\bdef\b",
        rb"self\.\w\b",
        rb"return\s+\w+\n\n",
        rb"^class",
    )
    for flags in (0, re.IGNORECASE | re.MULTILINE)
)


@pytest.mark.parametrize(
    ("written", "again"),
    [
        (rb"warm|cold", [b"def one(a):\n    return a + 1\n"]),
        (rb"\bcuda\.graph\(", [b"def one(a):\n    return a + 1\n"]),
        (rb"cold\s*=", None),
        (rb"[^a]cold", None),
        (rb"\Wcold", None),
        (rb"cold.*", None),
        (rb"(?<!\Wre\.)cold", None),
        (rb"cold\n", None),
    ],
)
def test_a_pattern_of_one_line_is_looked_for_in_what_is_another_part(written: bytes, again: list[bytes] | None) -> None:
    searched: list[bytes] = []

    class Pattern:
        pattern = written

        def search(self, data: bytes, /) -> object | None:
            searched.append(data)
            return None

    pattern = Pattern()
    first, second = Source.of("a.py", PARTS), Source.of("a.py", PARTS.replace(b"return a", b"return a + 1"))
    first.remember()
    first.holds(pattern)
    searched.clear()
    second.remember(first)
    assert not second.holds(pattern)
    assert searched == (again if again is not None else [second.data])


@pytest.mark.parametrize("path", FILES[::25], ids=lambda path: path.stem)
def test_parts_say_what_the_whole_text_says(path: Path) -> None:
    data = b"import torch\n" + path.read_bytes()
    whole, parts = Source.of("a.py", data), Source.of("a.py", data)
    parts.remember()
    imported = frozenset((b"torch", b"self", b"ast"))
    sieve = Sieve(["torch.ones()", ".get()", ".data", "ast.walk()", "bisect_right()"], lambda _: imported, {})
    assert unnamed.lines(parts) == unnamed.lines(whole)
    assert lines_of_steps(parts) == lines_of_steps(whole)
    for pattern in PATTERNS:
        assert parts.holds(pattern) == whole.holds(pattern) == (pattern.search(data) is not None)
    assert sorted(sieve.found(parts) or ()) == sorted(sieve.found(whole) or ())


@pytest.mark.parametrize(
    ("pattern", "is_one"),
    [
        (rb"\bNet\b", True),
        (rb"\.step\(", True),
        (rb"\bnet(?:[\"']|[ \t]*:[ \t]*[\w.|\[\], ]+?)?[ \t]*[=:][ \t]*(?:\w+\.)*(\w+)\(", True),
        (rb"(?:" * 40 + rb"a" + rb")" * 40 + rb"\s", False),
        (rb"net\s*=", False),
        (rb"net[^=]*=", False),
        (rb"net.*=", False),
        (rb"net\n", False),
        (rb"net[\n]", False),
        (rb"net(?!\w)", False),
        (rb"net(?<!\wnet)[ \t]*=", True),
    ],
)
def test_patterns_of_which_it_is_known_that_they_look_at_one_line(pattern: bytes, is_one: bool) -> None:
    assert (_of_a_line(re.compile(pattern)) is not None) is is_one
