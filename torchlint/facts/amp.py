"""The names of mixed precision before and after torch 2.4."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import Protocol

from ..system.regex import regex
from ..text.source import Source, SourceError, Words
from . import names
from .flow import Flow
from .kept_class import Kept
from .nodes import string

_ASK = frozenset(("isinstance", "issubclass", "register"))
_CHECKERS = regex(
    rb"\b(?:beartype|typechecked|jaxtyped|pydantic|get_type_hints|validate_call|validate_arguments)\b"
    rb"|@[\w.]+\.register[ \t]*\r?\n[ \t]*(?:async )?def\b"
)
"""What reads annotations as a program runs: libraries that check them, and `@show.register` of a `singledispatch`."""
_NAMES = ("autocast", "GradScaler", "custom_fwd", "custom_bwd")
OLD = frozenset((*(f"torch.cuda.amp.{name}" for name in _NAMES), "torch.cpu.amp.autocast", "torch.cpu.amp.GradScaler"))
NATIVE = Words(b"autocast", b"GradScaler")
"""What stands in a file that has torch's own way beside another one."""
MEMBERS = {
    "torch.cuda.amp": frozenset(_NAMES),
    "torch.cuda.amp.autocast_mode": frozenset(("autocast", "custom_fwd", "custom_bwd")),
    "torch.cuda.amp.grad_scaler": frozenset(("GradScaler",)),
    "torch.cpu.amp": frozenset(("autocast", "GradScaler")),
}
"""What the old modules define that `torch.amp` has too."""
AUTOCAST_ORDER = ("enabled", "dtype", "cache_enabled")
"""The positional arguments of the old `autocast`; the new one has them as `(device_type, dtype, enabled, cache_enabled)`."""
DECORATORS = frozenset(("custom_fwd", "custom_bwd"))


def given(call: ast.Call) -> frozenset[str]:
    """The arguments that a call of the old `autocast` names or gives by position."""
    return frozenset((*AUTOCAST_ORDER[: len(call.args)], *(k.arg for k in call.keywords if k.arg is not None)))


def split(name: str) -> tuple[str, str]:
    """The device and the member of an old name: `torch.cuda.amp.autocast` is ("cuda", "autocast")."""
    parts = name.split(".")
    return parts[1], parts[-1]


def form(old: tuple[str, str]) -> str:
    """How the member is written now."""
    device, member = old
    given = f'device_type="{device}"' if member in DECORATORS else f'"{device}", ...'
    return f"torch.amp.{member}({given})"


def use_of(flow: Flow, node: ast.expr) -> ast.expr | None:
    """The call of an old name, or the decorator that it is; None where it is only mentioned (annotation, isinstance)."""
    parent = flow.parents.get(node)
    if isinstance(parent, ast.Call) and parent.func is node:
        return parent
    if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef) and node in parent.decorator_list:
        return node
    return None


def called_later(flow: Flow, node: ast.expr) -> bool:
    """Whether an old name is kept under another one that the function calls: `context = torch.cuda.amp.autocast`.

    `partial(torch.cuda.amp.autocast, dtype=...)` is made to be called.
    """
    parent = flow.parents.get(node)
    if isinstance(parent, ast.Call) and parent.args[:1] == [node]:
        return names.last(parent.func) == "partial"
    while isinstance(parent, ast.IfExp) and node is not parent.test:
        node, parent = parent, flow.parents.get(parent)
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1 or not isinstance(parent.targets[0], ast.Name):
        return False
    kept = parent.targets[0].id
    return any(isinstance(call.func, ast.Name) for call in flow.calls_named(kept))


class Code(Protocol):
    """What is asked of the project."""

    def source(self, path: str) -> Source | None: ...
    def holders(self, pattern: bytes, *, word: bytes = b"") -> frozenset[str]: ...


def is_asked_for(code: Code, member: str) -> bool:
    """Whether any file of the project asks whether an object is of an old class, by whatever name it has the class."""
    paths = _holding(code, member)
    known = list(_read(code, paths))
    shared = {member}.union(*(Kept(nodes, _dotted(member)).names() for _, nodes in known))
    if any(_asks_for(source, nodes, member, shared) for source, nodes in known):
        return True
    others = frozenset[str]().union(*(_holding(code, name) for name in sorted(shared - {member}))) - paths
    return any(_asks_for(source, nodes, member, shared) for source, nodes in _read(code, others))


def _holding(code: Code, name: str) -> frozenset[str]:
    """The files that may ask for a class by a name: they have it where nothing is made of it, or in a pattern."""
    word = name.encode()
    return code.holders(rb"\b%s\b(?!\()|\bcase\b.*\b%s\(" % (word, word), word=word)


def _read(code: Code, paths: Collection[str]) -> Iterator[tuple[Source, list[ast.AST]]]:
    """Some files, each with all nodes of its tree: none of one that can't be parsed."""
    for source in filter(None, map(code.source, sorted(paths))):
        try:
            nodes = list(ast.walk(source.parse()))
        except SourceError:
            nodes = []
        yield source, nodes


def _asks_for(source: Source, nodes: list[ast.AST], member: str, shared: Collection[str]) -> bool:
    """Whether a file may ask if something is of a class: `isinstance(x, GradScaler)`, `type(x) is GradScaler`, `{GradScaler: ...}`.

    Whatever has the old class, by any name (`shared` are those that files of the project have), and does more than call it, may ask.
    An annotation asks nothing, but where a library checks what annotations say. What can't be parsed may ask anything.
    """
    if not nodes:
        return True
    annotations = {part for node in nodes for one in _annotations(node) for part in ast.walk(one)}
    if source.holds(_CHECKERS) and any(_says(node, member) for node in annotations):
        return True
    if any(_says(asked, member) for node in nodes if node not in annotations for asked in _asked_by(node)):
        return True
    return Kept(nodes, _dotted(member), shared).is_given_on(annotations)


def _dotted(member: str) -> frozenset[str]:
    return frozenset(f"{module}.{member}" for module, members in MEMBERS.items() if member in members)


def _says(node: ast.AST, member: str) -> bool:
    text = string(node)
    if text is not None:
        return member in text
    return isinstance(node, ast.Name | ast.Attribute) and names.last(node) == member


def _annotations(node: ast.AST) -> Iterator[ast.expr]:
    match node:
        case ast.arg(annotation=ast.expr() as one) | ast.AnnAssign(annotation=one):
            yield one
        case ast.FunctionDef(returns=ast.expr() as one) | ast.AsyncFunctionDef(returns=ast.expr() as one):
            yield one


def _asked_by(node: ast.AST) -> Iterator[ast.AST]:
    """What is compared with classes, or chosen by them."""
    match node:
        case ast.Call(func=func, args=args) if names.last(func) in _ASK:
            yield from args
        case ast.Compare(left=left, comparators=others):
            yield from (left, *others)
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts) | ast.Dict(keys=parts):
            yield from filter(None, parts)
        case ast.MatchClass(cls=kind):
            yield kind
