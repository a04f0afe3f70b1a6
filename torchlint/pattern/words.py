"""The word that a text must hold for a pattern to be in it, found without parsing the pattern: every run asks it of each."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator

from ..text.normal_form import AnnotatedAssign, PairedAssign

KINDS: dict[type[ast.AST], str] = {
    ast.If: "if",
    ast.While: "while",
    ast.Assert: "assert",
    ast.For: "for",
    ast.With: "with",
    ast.AsyncWith: "with",
    ast.AugAssign: "augassign",
    ast.Assign: "assign",
    AnnotatedAssign: "assign",
    PairedAssign: "assign",
    ast.Subscript: "subscript",
    ast.IfExp: "ternary",
    ast.BoolOp: "boolop",
    ast.ListComp: "comprehension",
    ast.SetComp: "comprehension",
    ast.DictComp: "comprehension",
    ast.GeneratorExp: "comprehension",
    ast.FunctionDef: "function",
    ast.AsyncFunctionDef: "function",
    ast.Call: "call",
}
"""What the kinds of nodes are called where the place of a pattern has no name."""
_OF_KIND = {
    "call": ("$f(...)",),
    "subscript": ("$x[$i]",),
    "assign": ("$_ = $_",),
    "if": ("if $_: ...",),
    "while": ("while $_: ...",),
    "assert": ("assert $_",),
    "ternary": ("$_ if $_ else $_",),
    "boolop": ("$_ and $_", "$_ or $_"),
    "comprehension": ("[$_ for $_ in $_]", "{$_ for $_ in $_}", "{$_: $_ for $_ in $_}", "($_ for $_ in $_)"),
}
HERE = "$here := "
HOLE = "__"
"""What `$` is written as where a pattern is parsed."""
_IDENTIFIER = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


def trigger(pattern: str) -> str:
    """The name or kind of the place of a pattern: `.item()`, `torch.cat()`, `torch.float64`, `.grad`, `for`."""
    head = pattern.removesuffix("(...)")
    if head is not pattern and "(" not in head and " " not in head:
        last = head.rpartition(".")[2]
        return f"{head}()" if head[0] != "$" else f".{last}()" if last[0] != "$" else "call"
    at = pattern.find(HERE)
    words = _outside_brackets(pattern if at < 0 else pattern[at + len(HERE) :]).split()
    found = [word for word in map(_trigger, words) if word]
    return found[-1] if found else KINDS[type(_whole(pattern))]


@functools.cache
def is_plain(pattern: str) -> bool:
    """Whether the name of its place is all that a pattern says: `$x.item(...)`, `torch.cat(...)`, `torch.float64`, `$x.grad`."""
    head = pattern.removesuffix("(...)")
    if "(" in head or "[" in head or " " in head:
        return False
    if "$" not in head:
        return head is not pattern or "." in head
    return head[0] == "$" and head.count("$") == 1 and head.count(".") <= 1


def plain(*names: str) -> Iterator[str]:
    """The patterns that say no more than a name or kind: `$x.item(...)` of `.item()`, `torch.cat(...)` of `torch.cat()`."""
    for name in sorted(names):
        if name in _OF_KIND:
            yield from _OF_KIND[name]
        else:
            head = name.removesuffix("()")
            yield f"{'$x' if head[0] == '.' else ''}{head}{'' if head is name else '(...)'}"


@functools.cache
def triggers(patterns: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Some patterns by what they want to be shown."""
    found: dict[str, tuple[str, ...]] = {}
    for pattern in patterns:
        word = trigger(pattern)
        found[word] = (*found.get(word, ()), pattern)
    return found


def is_hole(name: str) -> bool:
    """Whether a name of a parsed pattern is a hole: `__x` for `$x`, and not `__init__`."""
    return name.startswith(HOLE) and not (name[2:3].isalpha() and name.endswith("__"))


def parsed(pattern: str) -> ast.stmt:
    """A pattern as Python's parser sees it, holes as names that begin with two underscores."""
    return ast.parse(pattern.replace("$", HOLE)).body[0]


def _whole(pattern: str) -> ast.AST:
    statement = parsed(pattern)
    return statement.value if isinstance(statement, ast.Expr) else statement


def _trigger(word: str) -> str:
    """What a word of a pattern without what stands in its brackets names: `.detach()` of `$x.clone().detach()`; "" for nothing."""
    word = word.strip("@:;,-[]")
    name = word.removesuffix("()")
    if name == "..." or name[:1].isdigit() or (name[:1] == "$" and "." not in name):
        return ""
    owner, dot, last = name.rpartition(".")
    if not dot:
        return word if name is not word else ""
    if last[:1] == "$":
        return ""
    return f".{last}{word[len(name) :]}" if owner[:1] == "$" or owner[-1:] in ")]" else word


def _outside_brackets(text: str) -> str:
    """The text without what stands in brackets, `()` where something is called, up to the bracket that it stands in."""
    found: list[str] = []
    depth = 0
    for at, letter in enumerate(text):
        if letter in "([{":
            if depth == 0 and at and text[at - 1] in _IDENTIFIER | {")", "]"}:
                found.append("()" if letter == "(" else "[]")
            depth += 1
        elif letter in ")]}":
            depth -= 1
            if depth < 0:
                break
        elif depth == 0:
            found.append(letter)
    return "".join(found)
