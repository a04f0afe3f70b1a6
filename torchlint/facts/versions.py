"""Which torch a branch of the code is for: tests of `torch.__version__`, `is_torch_version`, `hasattr(torch, ...)`."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Mapping

from ..system.regex import regex
from ..text.source import Words
from ..torch_api import operators
from ..torch_api.version import LATEST, Range
from . import names
from .flow import Flow
from .nodes import names_in, string

MENTIONS = (
    b"__version__",
    b"orch_version",
    b"orch_ge",
    b"orch_is_",
    b"orch_at_least",
    b"orch_greater",
    b"TORCH_",
    b"orchversion",
    b"torch_higher",
    b"version('torch')",
    b'version("torch")',
    b"get_distribution(",
)
"""What a file that tests for a version of torch holds one of."""
MENTIONED = Words(*MENTIONS)
_READS = Words(
    b"torch.__version__",
    b"import __version__",
    b", __version__",
    b"version('torch')",
    b'version("torch")',
    b"get_distribution(",
)
"""What a file holds one of that may give the version of torch another name."""
_FIRST = regex(r"(\d)\.?")
"""`2` and `2.`: what versions begin with."""
_NUMBER = regex(r"\d+(?:\.\d+)*")
_VERSION = regex(r"\d+\.\d+")
_OPERATORS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}
_NAMED = regex(
    r"(?:is_)?(?:torch|pytorch)_?(?:version)?(?:_is)?_(?:at_least|ge|gte|greater_or_equal(?:_than)?)(?:_?(\d+)_(\d+))?$|^TORCH_(?:(?:GE|VERSION_AT_LEAST)_)?(\d+)_(\d+)$",
    re.IGNORECASE,
)


_DEPTH = 3
"""How many names may lead to a version: `OLD = installed < REQUIRED`, `REQUIRED = version.parse(MINIMUM)`, `MINIMUM = "2.1"`."""
_LARGEST = 40
"""How many nodes the value of such a name may have."""


class _Asking:
    """What a file that asks for the version of torch holds in any case."""

    pattern, flags = rb"version|_at_least|_gt?e|_greater_or_equal|torch_\d", re.IGNORECASE
    _lower = regex(pattern)

    def search(self, data: bytes, /) -> object | None:
        return self._lower.search(data.lower())  # many times quicker than the pattern with its flag


_ASKS = _Asking()


def narrowed(target: Range, flow: Flow, node: ast.AST) -> Range | None:
    """The versions of torch in `target` under which the place is reached; None where there are none."""
    found: Range | None = target
    if not flow.function.module.source.holds(_ASKS):
        return found
    for guard in flow.guards(node):
        asked = _asked(guard.test, guard.true, flow)
        if asked is not None and found is not None:
            found = found.intersection(asked)
    return found


def outdated(test: ast.expr, true: bool, flow: Flow) -> bool:
    """Whether a condition holds under old versions of torch only."""
    if not true and _asks_for_operator(test):
        return True
    asked = _asked(test, true, flow) if flow.function.module.source.holds(_ASKS) else None
    return asked is not None and not asked.contains(LATEST)


def _asks_for_operator(test: ast.expr) -> bool:
    """`hasattr(torch, "vmap")` of an operator that torch has, or of one of its own; what a device or another library brings is none."""
    match test:
        case ast.Call(func=ast.Name("hasattr"), args=[home, ast.Constant(str(name))]):
            parts = names.chain(home) or [""]
            own = parts == ["torch"] and name.startswith("_")
            return own or (parts[0] == "torch" and operators.operator(".".join((*parts, name))) is not None)
    return False


def _asked(test: ast.expr, true: bool, flow: Flow) -> Range | None:
    """The versions under which a test comes out so, with the values of names that are bound once in the function or its module."""
    if not flow.function.module.source.holds(_READS):
        return condition(test, true)
    for _ in range(_DEPTH):
        found = condition(test, true)
        named = names_in(test) if is_small(test) else set()
        values = {name: _imported(flow, name) or flow.function.assigned_once(name) for name in named}
        bound = {name: value for name, value in values.items() if value is not None and is_small(value)}
        if found is not None or not bound:
            return found
        test = spelled_out(test, bound, 1)
    return condition(test, true)


def _imported(flow: Flow, name: str) -> ast.expr | None:
    """`torch.__version__` of a name that `from torch import __version__` binds."""
    if names.imported(flow.function, name) != "torch.__version__":
        return None
    return ast.Attribute(ast.Name("torch", ast.Load()), "__version__", ast.Load())


def is_small(value: ast.expr) -> bool:
    """Whether an expression is short enough to be written in place of a name."""
    return all(at < _LARGEST for at, _ in enumerate(ast.walk(value)))


def spelled_out(test: ast.expr, bound: Mapping[str, ast.expr], depth: int = _DEPTH) -> ast.expr:
    """A test with the values of names in their places, and of names in these, `depth` deep."""

    class Values(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return copy.deepcopy(bound.get(node.id, node))

    spelled = copy.deepcopy(test)
    for _ in range(depth):
        spelled = Values().visit(spelled)
    return spelled


def behind_probe(flow: Flow, node: ast.AST) -> bool:
    """Whether the place belongs to a compatibility shim: `hasattr(torch, ...)`, `try: import ... except ImportError`."""
    for guard in flow.guards(node):
        for part in ast.walk(guard.test):
            probed = part.args[:1] if isinstance(part, ast.Call) and names.chain(part.func) == ["hasattr"] else []
            if any(_is_of_torch(flow, one) for one in probed):
                return True
    for child, parent in flow.upwards(node):
        if isinstance(parent, ast.ExceptHandler) and _missing(parent.type):
            return True
        if isinstance(parent, ast.Try) and child in parent.body and any(_missing(h.type) for h in parent.handlers):
            return True
    return False


def _is_of_torch(flow: Flow, probed: ast.expr) -> bool:
    """`torch.nn`, and `nn` behind `from torch import nn`."""
    name = names.resolve(flow.function, probed) or ".".join(names.chain(probed) or ())
    return name.partition(".")[0] == "torch"


def behind_version_of(flow: Flow, node: ast.AST, package: str) -> bool:
    """Whether a condition around the place asks for the version of a package, itself or by a name that is bound once."""
    if not flow.function.module.source.holds(b"__version__"):
        return False
    tests = [guard.test for guard in flow.guards(node)]
    bound = [flow.function.assigned_once(name) for test in tests for name in names_in(test)]
    return any(
        isinstance(part, ast.Attribute) and part.attr == "__version__" and (names.chain(part) or [""])[0] == package
        for test in (*tests, *filter(None, bound))
        for part in ast.walk(test)
    )


def behind_version_test(flow: Flow, node: ast.AST) -> bool:
    """Whether a function that is given a version decides whether a place is reached: `if requires("2.9"):`."""
    tests = [guard.test for guard in flow.guards(node) if isinstance(guard.test, ast.Call)]
    given = (string(argument) for test in tests for argument in test.args)
    return any(_VERSION.match(one) for one in given if one is not None)


def _missing(kind: ast.expr | None) -> bool:
    parts = [kind] if not isinstance(kind, ast.Tuple) else list(kind.elts)
    return any(
        isinstance(p, ast.Name) and p.id in ("ImportError", "ModuleNotFoundError", "AttributeError", "TypeError")
        for p in parts
    )


def condition(test: ast.expr, true: bool) -> Range | None:
    """The versions under which a test of torch's version comes out so; None where it says nothing of them."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return condition(test.operand, not true)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) == true:
        return _all_of(test.values, true)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _compared(test, true)
    if isinstance(test, ast.Compare) and true:
        return _between(test)
    if isinstance(test, ast.Call):
        return _called(test, true)
    parts = names.chain(test)
    if parts is not None and (match := _NAMED.search(parts[-1])):
        digits = [d for d in match.groups() if d]
        if len(digits) == 2:
            return _range(">=", ".".join(digits), true)
    return None


def _all_of(tests: list[ast.expr], true: bool) -> Range | None:
    """What conditions that hold together leave; None where none of them says anything."""
    asked = [found for test in tests if (found := condition(test, true)) is not None]
    found = asked[0] if asked else None
    for one in asked[1:]:
        found = found.intersection(one) if found is not None else None
    return found


def _compared(test: ast.Compare, true: bool) -> Range | None:
    left, right = test.left, test.comparators[0]
    operator = _OPERATORS.get(type(test.ops[0]))
    if operator is None:
        return None
    if _is_torch_version(right) and not _is_torch_version(left):
        left, right, operator = right, left, _MIRRORED[operator]
    if not _is_torch_version(left):
        return None
    major = _major(left, right)
    if major is not None:
        return _range_of_major(operator if true else _OPPOSITE[operator], major)
    version = _literal(right)
    return _range(operator, version, true) if version else None


def _between(test: ast.Compare) -> Range | None:
    """`"1.5" <= torch.__version__ < "1.10"`: what both comparisons leave."""
    found: Range | None = None
    for left, operator, right in zip([test.left, *test.comparators], test.ops, test.comparators, strict=False):
        one = _compared(ast.Compare(left, [operator], [right]), True)
        if one is not None:
            found = one if found is None else found.intersection(one)
    return found


def _called(test: ast.Call, true: bool) -> Range | None:
    """`is_torch_version(">=", "2.4")` (accelerate, diffusers), `is_torch_greater_or_equal("2.5")` (transformers), `torch.__version__.startswith("2")`."""
    last = names.last(test.func)
    if last == "startswith" and isinstance(test.func, ast.Attribute) and _is_torch_version(test.func.value):
        return _begun(test, true)
    literals = [text for one in test.args if (text := string(one)) is not None]
    if last == "is_torch_version" and len(literals) == 2 and literals[0] in _OPPOSITE:
        return _range(literals[0], literals[1], true)
    if _NAMED.search(last) and len(literals) == 1:
        return _range(">=", literals[0], true)
    return None


def _begun(test: ast.Call, true: bool) -> Range | None:
    """The versions that begin with a first number, or those before and behind it: there is no torch 3 to begin otherwise than with 2."""
    match = _FIRST.fullmatch(string(test.args[0]) or "") if len(test.args) == 1 else None
    if match is None:
        return None
    major = int(match[1])
    if true:
        return _range_of_major("==", major)
    return Range(high=(major, 0)) if major > 1 else Range(low=(major + 1, 0))


def _is_torch_version(node: ast.expr) -> bool:
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and part.attr == "__version__" and (names.chain(part) or [""])[0] == "torch":
            return True
        if isinstance(part, ast.Name) and re.search(r"(?:^|_)(?:py)?torch_version", part.id, re.IGNORECASE):
            return True
        if _asks_metadata(part):
            return True
    return False


def _asks_metadata(node: ast.AST) -> bool:
    """`importlib.metadata.version("torch")`, `pkg_resources.get_distribution("torch")`."""
    match node:
        case ast.Call(func=called, args=[ast.Constant(value="torch")]):
            return names.last(called) in ("version", "get_distribution")
    return False


def _major(left: ast.expr, right: ast.expr) -> int | None:
    """The number that the first one of a version is compared with: `int(v.split(".")[0]) == 1`, `v.split(".")[0] == "1"`."""
    match left, right:
        case (
            (
                ast.Call(func=ast.Name(id="int"), args=[ast.Subscript(slice=ast.Constant(value=0))])
                | ast.Attribute(attr="major")
                | ast.Subscript(slice=ast.Constant(value=0))
            ),
            ast.Constant(value=int(number)),
        ) if type(number) is int:
            return number
        case (
            ast.Subscript(
                value=ast.Attribute(attr="__version__")
                | ast.Call(func=ast.Attribute(attr="split"), args=[ast.Constant(value="."), *_]),
                slice=ast.Constant(value=0),
            ),
            ast.Constant(value=str(text)),
        ) if text.isdecimal():
            return int(text)
    return None


def _range_of_major(operator: str, major: int) -> Range | None:
    """The versions whose first number compares so with one."""
    match operator:
        case "==":
            return Range((major, 0), (major + 1, 0))
        case "<=":
            return Range(high=(major + 1, 0))
        case ">":
            return Range(low=(major + 1, 0))
    return _range(operator, str(major), true=True)


def _literal(node: ast.expr) -> str:
    if isinstance(node, ast.Tuple | ast.List):
        digits = [str(e.value) for e in node.elts if isinstance(e, ast.Constant)]
        return ".".join(digits[:2])
    for part in ast.walk(node):
        if match := _NUMBER.match(string(part) or ""):
            return match.group()
    return ""


def _range(operator: str, version: str, true: bool) -> Range | None:
    operator = operator if true else _OPPOSITE[operator]
    if operator == "!=":
        return None
    try:
        return Range().narrowed(operator, tuple(map(int, version.split(".")[:2])))
    except ValueError:
        return None
