"""Regular expressions are compiled when they are first used, and not before; what they cost grows with the text."""

from __future__ import annotations

import ast
import importlib
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from torchlint.system.regex import _Regex, regex

sre = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")

ROOT = Path(__file__).parents[1]
LOADED = (
    "torchlint/facts",
    "torchlint/lint",
    "torchlint/program",
    "torchlint/rule",
    "torchlint/settings",
    "torchlint/text",
)


def test_nothing_is_compiled_before_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    real = re.compile

    def noted(pattern: str, flags: int = 0) -> re.Pattern[str]:
        compiled.append(pattern)
        return real(pattern, flags)

    monkeypatch.setattr(re, "compile", noted)

    word = regex("[a-c]+")
    assert compiled == []
    assert [word.findall("ab-c"), word.findall("b")] == [["ab", "c"], ["b"]]
    assert compiled == ["[a-c]+"]


def test_it_is_what_re_compile_gives() -> None:
    word = regex(rb"(?P<first>a)b", re.IGNORECASE)
    assert word.pattern == rb"(?P<first>a)b"
    assert word.flags == re.compile(rb"(?P<first>a)b", re.IGNORECASE).flags
    assert word.fullmatch(b"AB") is not None
    assert word.sub(b"x", b"abAB") == b"xx"


def test_a_wrong_one_is_told_at_its_use() -> None:
    wrong = regex("(")
    with pytest.raises(re.error, match="missing \\), unterminated subpattern at position 0"):
        wrong.search("")


def test_what_a_check_loads_compiles_none_at_import() -> None:
    eager = [
        f"{path.relative_to(ROOT)}:{statement.lineno}"
        for folder in (*LOADED, "rules")
        for path in sorted((ROOT / folder).glob("*.py"))
        for statement in ast.parse(path.read_text()).body
        if isinstance(statement, ast.Assign) and ast.unparse(statement.value).startswith("re.compile(")
    ]
    assert eager == [], "write `regex(...)` of torchlint.system.regex, in rules of torchlint.rule.lazy"


# What one costs

READING = ("torchlint/program",)
"""What looks for something in files of any kind; `tests/test_linear.py` counts lines of Python, and sees none of it."""
LEFT = {"torchlint/program/configured.py": {"_VALUES"}}
LENGTHS = (1_000, 8_000, 50_000)
"""How many characters; what grows with the square or the cube is found by the short ones, where it takes no minutes yet."""
SECONDS = 0.1
"""Of CPU time: ten times what any takes for the longest that grows with the text."""
KINDS = " \t\n1aA_.-/=:,;|'\"`<>()[]{}\\$#*"
ENDS = ("", "\0")
PATHS = [str(path.relative_to(ROOT)) for folder in READING for path in sorted((ROOT / folder).glob("*.py"))]


@pytest.mark.parametrize("path", [path for path in PATHS if "regex(" in (ROOT / path).read_text()])
def test_what_a_pattern_costs_grows_with_the_text(path: str) -> None:
    found = {name: slow(one, ways) for name, one, ways in patterns(path) if name not in LEFT.get(path, ())}

    assert {} == {name: text for name, text in found.items() if text}


@pytest.mark.parametrize(
    ("pattern", "ways"),
    [
        (r"(?m)^\s*\|", set()),
        (r"\s*(?:,|;)\s*", set()),
        (r"setup\.py [^\n]*--inplace", set()),
        (r"\bpip install\s(?:[^;&|]*?\s)?torch", set()),
        (r"[a-z]+-\d+(?:\.\d+)+[^/]*\.whl", {"fullmatch"}),
        (r"torch\s*=?\s*\d", {"match"}),
        (r"\[\w*\]\(\S*?\)", set()),
        (r"(?:a|b)*c", set()),
    ],
)
def test_one_that_costs_the_square_is_found(pattern: str, ways: set[str]) -> None:
    assert slow(_Regex(pattern, 0), ways)


def patterns(path: str) -> Iterator[tuple[str, _Regex, set[str]]]:
    """Those of a module, with the methods that it calls of each: none where others do, or it hands it on."""
    tree = ast.parse((ROOT / path).read_text())
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    used = [(node.value.id, node.attr) for node in nodes if isinstance(node.value, ast.Name)]
    ways: dict[str, set[str]] = {}
    for owner, way in used:
        ways.setdefault(owner, set()).add(way)
    names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    module = importlib.import_module(path.removesuffix(".py").replace("/", "."))
    for name, one in vars(module).items():
        if isinstance(one, _Regex):
            called = sum(owner == name for owner, _ in used)
            yield name, one, ways.get(name, set()) if called == names.count(name) else set()


def slow(one: _Regex, ways: set[str]) -> str:
    """A text that a pattern takes long for, as its beginning; "" if none of those that are made for it is one."""
    pattern, flags = one._made_of
    compiled = re.compile(pattern, flags)
    from_start = bool(ways) and ways <= {"match", "fullmatch"}
    for begin, part in sorted(texts(pattern, flags)):
        for end in ENDS:
            for length in LENGTHS:
                text = begin + part * (length // len(part)) + end
                given = text.encode("latin-1", "replace") if isinstance(pattern, bytes) else text
                asked = [getattr(compiled, way) for way in ways] if from_start else [compiled.findall]
                if any(seconds(ask, given) > SECONDS and seconds(ask, given) > SECONDS for ask in asked):
                    return f"{begin + part * 2!r}..."
    return ""


def seconds(ask: Callable[[Any], object], text: str | bytes) -> float:
    begun = time.process_time()
    ask(text)
    return time.process_time() - begun


def texts(pattern: Any, flags: int) -> set[tuple[str, str]]:
    """Beginnings of what a pattern matches, and what is repeated behind them: what it repeats, or all so far."""
    parsed = sre.parse(pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern, flags)
    found: set[tuple[str, str]] = set()
    example(parsed, "", found)
    return {(begin, part) for begin, part in found if part}


def example(items: Iterable[tuple[Any, Any]], before: str, found: set[tuple[str, str]]) -> str:
    """What a part of a pattern matches, behind what those before it do."""
    text = ""
    for kind, value in items:
        text += of_item(str(kind), value, before + text, found)
        found |= {("", before + text), ("", f"{before}{text} ")}
    return text


def of_item(kind: str, value: Any, before: str, found: set[tuple[str, str]]) -> str:
    match kind:
        case "LITERAL" | "NOT_LITERAL" | "ANY" | "IN":
            return next(iter(characters(kind, value)), "")
        case "SUBPATTERN":
            return example(value[3], before, found)
        case "BRANCH":
            branches: list[str] = [example(one, before, found) for one in value[1]]
            return branches[0]
        case "ASSERT":
            example(value[1], before, found)
        case "MAX_REPEAT" | "MIN_REPEAT":
            least, most, body = value
            once = example(body, before, found)
            if most > 1:
                ones = [characters(str(what), which) for what, which in body] if len(body) == 1 else []
                found |= {(before, once), *((before, character) for each in ones for character in each)}
            times: int = max(least, 1)
            return once * times
    return ""


def characters(kind: str, value: Any) -> list[str]:
    """Characters of many kinds that one item matches, a letter first."""
    if kind == "LITERAL":
        return [chr(value)]
    if kind not in ("NOT_LITERAL", "ANY", "IN"):
        return []
    parts = value if kind == "IN" else [(kind, value)]
    negated = any(str(what) == "NEGATE" for what, _ in parts)
    own = [
        chr(which if str(what) == "LITERAL" else which[0]) for what, which in parts if str(what) in ("LITERAL", "RANGE")
    ]
    fit = [one for one in (*KINDS, *own) if any(is_in(one, str(what), which) for what, which in parts) is not negated]
    return sorted(dict.fromkeys(fit), key=lambda one: one not in "a1")


def is_in(character: str, kind: str, value: Any) -> bool:
    match kind:
        case "LITERAL":
            return character == chr(value)
        case "NOT_LITERAL":
            return character != chr(value)
        case "RANGE":
            return bool(value[0] <= ord(character) <= value[1])
        case "CATEGORY":
            _, *no, name = str(value).split("_")
            is_word = character.isalnum() or character == "_"
            of_kind = {"DIGIT": character.isdigit(), "SPACE": character.isspace(), "WORD": is_word}[name]
            return of_kind is not bool(no)
    return kind == "ANY" and character != "\n"
