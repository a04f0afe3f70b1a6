"""Whether what a regular expression costs grows with the text that it searches; by hand, for it takes minutes.

    python -m tests.bench.patterns [FOLDER...]

Of each pattern of the modules (of `torchlint/program`, where none are named) texts are made that it may take long for: its beginnings,
and what it repeats, many times. `tests/test_linear.py` counts lines of Python, and sees nothing of that. Ends with 1 where one
takes more time than grows with the text.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from torchlint.system.regex import _Regex

sre = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")

ROOT = Path(__file__).parents[2]
READING = ("torchlint/program",)
"""What looks for something in files of any kind."""
SHORT, LONG, LONGEST = 1_000, 20_000, 50_000
"""How many characters; what grows with the cube is found by the short ones, where it takes no minutes yet."""
SECONDS = 0.04
"""Of CPU time, three times: several times what any takes for the longest that grows with the text."""
KINDS = " \t\n1aA_.-/=:,;|'\"`<>()[]{}\\$#*"
ENDS = ("", "\0")
KNOWN: tuple[tuple[str, set[str]], ...] = (
    (r"(?m)^\s*\|", set()),
    (r"\s*(?:,|;)\s*", set()),
    (r"setup\.py [^\n]*--inplace", set()),
    (r"\bpip install\s(?:[^;&|]*?\s)?torch", set()),
    (r"[a-z]+-\d+(?:\.\d+)+[^/]*\.whl", {"fullmatch"}),
    (r"torch\s*=?\s*\d", {"match"}),
    (r"\[\w*\]\(\S*?\)", set()),
    (r"(?:a|b)*c", set()),
)
"""Patterns that cost the square, by which it is seen that such are found."""


def main(folders: Iterable[str]) -> int:
    missed = [pattern for pattern, ways in KNOWN if not slow(_Regex(pattern, 0), ways)]
    assert not missed, f"not found to be slow: {missed}"
    paths = [path for folder in folders for path in sorted((ROOT / folder).glob("*.py"))]
    found = 0
    for path in paths:
        for name, one, ways in patterns(str(path.relative_to(ROOT))):
            if text := slow(one, ways):
                found += 1
                print(f"{path.relative_to(ROOT)}: {name} takes long for {text}", flush=True)
    return 1 if found else 0


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
        for end in ENDS if begin else ENDS[-1:]:
            for length in (SHORT, LONG if begin else LONGEST):  # a search begins seldom where a long word does
                text = begin + part * (length // len(part)) + end
                given = text.encode("latin-1", "replace") if isinstance(pattern, bytes) else text
                asked = [getattr(compiled, way) for way in ways] if from_start else [compiled.findall]
                if any(all(seconds(ask, given) > SECONDS for _ in range(3)) for ask in asked):
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or READING))
