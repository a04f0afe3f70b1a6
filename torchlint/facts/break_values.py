"""Breaks of Dynamo's graph at the value of a tensor: read by Python, decided by, or deciding a shape."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ..system.regex import regex
from . import break_table
from .break_place import Break, Place, called, found, is_tensor
from .nodes import argument_of, conjuncts, elements, indices, leaves
from .operator_calls import operator_call
from .operator_results import holds
from .values import LIKELY, PROVEN

_CALLS = 60
"""So many calls are asked for what they give to a check."""
_CASTS = frozenset(("float", "int", "bool", "complex", "str", "repr", "range"))

# TL201: the value of a tensor, read while tracing


def scalar_read(place: Place) -> Break | None:
    """`.item()`, `float(t)`, `math.sqrt(t)`, `torch.equal(a, b)`, `x[:t]`: the value of a tensor as a Python object."""
    if isinstance(place.target, ast.Subscript):
        return _indexed(place, place.target)
    asked = called(place)
    if asked is None:
        return None
    call, name, method = asked
    why = "Python needs the value of a tensor that is only known when the graph runs"
    if any(_is_size(place, size) for size in _sizes(place, call, name, method)):
        return found(place, _INSIDE, "an operator needs the value of a tensor as a size")
    if method:
        assert isinstance(call.func, ast.Attribute)
        construct = _read_method(place, call, call.func, method)
        if construct == ".tolist() float":
            # Only floats are an error under fullgraph, and that they are floats the source seldom proves.
            read = found(place, construct, why)
            return read._replace(fullgraph=()) if read is not None else None
        return found(place, construct, why) if construct else None
    if name.startswith("torch.") and break_table.rule_of(f"{name}()") == "TL201":
        return found(place, f"{name}()", why)
    if name in _CASTS and call.args and all(is_tensor(place, a) for a in call.args[-1:]):
        return found(place, f"{name}()", why)
    if name.startswith("math.") and any(is_tensor(place, a) for a in call.args):
        return found(place, f"{name}()" if break_table.rule_of(f"{name}()") else "math.sqrt()", why)
    asked_for = argument_of(call, "cond" if "_check" in name else "condition", 0)
    if name in _CHECKS and (is_tensor(place, asked_for, LIKELY) or _is_given_tensor(place, asked_for)):
        return found(place, _CHECKS[name], why)
    return None


def _is_given_tensor(place: Place, node: ast.expr | None) -> bool:
    """Whether some calls give a tensor for a parameter that may be anything: `check(x.max() < n)` of `if isinstance(cond, torch.Tensor)`."""
    function = place.function
    if not isinstance(node, ast.Name) or node.id not in function.positions or not place.value(node).only_tested:
        return False
    sites = place.project.call_sites(function, _CALLS)
    if sites is None:  # so many call it that some give one
        return True
    given = ((site.function, function.argument(site.given or site.call, node.id)) for site in sites)
    return any(one is not None and place.project.value(caller, one).is_tensor for caller, one in given)


# What operators do inside: they read numbers as `.tolist()` does, and break the graph with its id.
_INSIDE = ".tolist() int"
_CHECKS = {"torch._check_tensor_all": ".item()", "torch._assert": _INSIDE}
# Which arguments are sizes: of these all, of `full` and of what takes a tensor first not the first or second.
_SIZED = frozenset("zeros ones empty rand randn eye arange".split())
_SIZED_METHODS = frozenset(
    "view reshape expand repeat new_zeros new_ones new_empty narrow topk tensor_split split".split()
)


def _sizes(place: Place, call: ast.Call, name: str, method: str) -> Iterator[ast.expr]:
    """What a call takes for sizes, which are numbers: of `torch.zeros(n)`, `torch.arange(n)`, `x.view(n, -1)`."""
    short = name.removeprefix("torch.")
    if method in _SIZED_METHODS:
        assert isinstance(call.func, ast.Attribute)
        given = call.args[:1] if "split" in method else call.args
        # What has a method `split` may be a text, and what is split by tensors may not; a class has one of its own.
        unknown = method == "split" and place.value(call.func.value).kind == "unknown"
        given = given if unknown or is_tensor(place, call.func.value, LIKELY) else []
    elif short in _SIZED:
        given = [*call.args, *(k.value for k in call.keywords if k.arg in ("size", "start", "end", "step"))]
    elif short in ("full", "topk", "tensor_split", "split"):
        given = call.args[:1] if short == "full" else call.args[1:2]
    elif short in ("nn.functional.interpolate", "nn.functional.pad"):
        given = [k.value for k in call.keywords if k.arg in ("size", "pad")] or call.args[1:2]
    else:
        return
    for size in given:
        yield from elements(size)


def _is_size(place: Place, size: ast.expr) -> bool:
    """Whether a size is a tensor, or holds one; one made of Python's numbers is known while tracing."""
    value = place.value(size)
    parts = value.items or () if value.kind == "tuple" else (value.element if value.kind == "list" else value,)
    return any(p is not None and p.is_tensor and not p.other_kinds - {"none", "number"} and not p.on_cpu for p in parts)


def _read_method(place: Place, call: ast.Call, func: ast.Attribute, method: str) -> str:
    value = place.value(func.value)
    if method in ("item", "tolist") and not call.args and not value and not value.proven:
        # Nothing is known of it: what has such a method is a tensor, or an array that Dynamo traces like one.
        return ".item()" if method == "item" else ".tolist() int"
    if value.kind != "tensor":
        return ""
    if method == "tolist":
        return ".tolist() int" if value.integer else ".tolist() float"
    if method == "item" and not call.args:
        return ".item()"
    construct = f".{method}()"
    return construct if value.proven and method != "numpy" and break_table.rule_of(construct) == "TL201" else ""


def _is_scalar(place: Place, node: ast.expr) -> bool:
    value = place.value(node)
    return is_tensor(place, node) and value.kind == "tensor" and value.scalar


def _is_boolean(place: Place, node: ast.expr) -> bool:
    value = place.value(node)
    return value.kind == "tensor" and value.boolean


def _indexed(place: Place, node: ast.Subscript) -> Break | None:
    why = "Python needs the value of a tensor as an index"
    index = node.slice
    parts = indices(index)
    for part in parts:
        if isinstance(part, ast.Slice) and any(
            is_tensor(place, bound) for bound in (part.lower, part.upper, part.step)
        ):
            return found(place, "slice", why)
    holder = place.value(node.value)
    if holder.is_tensor and any(_is_scalar(place, part) for part in parts):
        return found(place, _INSIDE, "an operator needs the value of a tensor as an index")
    read = isinstance(node.ctx, ast.Load) and holder.kind in ("list", "tuple") and holder.proven
    return found(place, "list index", why) if read and is_tensor(place, index) else None


# TL202: Python control flow on a tensor

_TESTS: dict[type[ast.AST], str] = {ast.If: "if", ast.While: "while", ast.IfExp: "ternary"}
_ASSERTION = "assert f-string"
"""Every `assert` that is not captured breaks alike."""


def tensor_branch(place: Place) -> Break | None:
    """`if`, `while`, a ternary, `and`, `assert` with an f-string, `any()`: Python decides by the value of a tensor."""
    node = place.target
    if isinstance(node, ast.Assert):
        captured = captured_test(node)
        return _decided(place, (leaf for leaf in leaves(node.test) if leaf is not captured), _ASSERTION)
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        return _decided(place, leaves(node.test), _TESTS[type(node)])
    if isinstance(node, ast.BoolOp) and not _is_test(place, node):
        tested = [leaf for value in node.values[:-1] for leaf in leaves(value)]
        return _decided(place, tested, "boolop")
    if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        tests = [test for generator in node.generators for test in generator.ifs]
        return _decided(place, [leaf for test in tests for leaf in leaves(test)], "comprehension if")
    asked = called(place)
    if asked is not None and asked[1] in ("any", "all", "sorted") and asked[0].args:
        value = place.value(asked[0].args[0])
        elem = value.element if value.kind in ("list", "tuple") else value
        if elem is not None and elem.is_tensor and not elem.other_kinds and not asked[0].keywords:
            return found(place, f"{asked[1]}()", f"Python decides by the values of `{place.short(asked[0].args[0])}`")
    return None


def captured_test(node: ast.Assert) -> ast.expr | None:
    """What of the test of an `assert` becomes a check inside the graph, where it is a tensor: the last that is asked for, as it is.

    The message has to be a constant, or none; `not x` and `a < x < b` are decided by Python.
    """
    if node.msg is not None and not isinstance(node.msg, ast.Constant):
        return None
    test = node.test
    while isinstance(test, ast.BoolOp):
        test = test.values[-1]
    if isinstance(test, ast.NamedExpr):
        test = test.value
    decided = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    chained = isinstance(test, ast.Compare) and len(test.ops) > 1
    return None if decided or chained else test


def _decided(place: Place, asked: Iterable[ast.expr], construct: str) -> Break | None:
    tensor = next((leaf for leaf in asked if _decides(place, leaf) and place.traced(leaf)), None)
    if tensor is None:
        return None
    return found(place, construct, f"Python decides by the value of `{place.short(tensor)}`")


def _decides(place: Place, leaf: ast.expr) -> bool:
    """Whether the truth of an expression is the value of a tensor: of one that other paths leave a number, too."""
    if isinstance(leaf, ast.Compare) and isinstance(leaf.ops[0], ast.In | ast.NotIn):
        return is_tensor(place, leaf.comparators[0])
    value = place.value(leaf)
    return value.is_tensor and value.other_kinds <= {"none", "number"} and not _of_half_precision(place, leaf)


def _of_half_precision(place: Place, leaf: ast.expr) -> bool:
    """Whether a place is for one precision that may overflow: `x.dtype == torch.float16 and not torch.isfinite(x).all()`."""
    tests = [guard.test for guard in place.flow.guards(leaf) if guard.true]
    return any(
        isinstance(part, ast.Compare)
        and isinstance(part.ops[0], ast.Eq)
        and place.resolve(part.comparators[0]) in ("torch.float16", "torch.half")
        for test in tests
        for part in conjuncts(test)
    )


def _is_test(place: Place, node: ast.expr) -> bool:
    """Whether the expression is (part of) the test of a statement or ternary, which is asked for itself."""
    for child, parent in place.flow.upwards(node):
        if isinstance(parent, ast.If | ast.While | ast.IfExp | ast.Assert):
            return child is parent.test
        if isinstance(parent, ast.comprehension):
            return child in parent.ifs
        if not (isinstance(parent, ast.BoolOp) or (isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not))):
            return False
    return False


# TL204: shapes that depend on values


def dynamic_shape_op(place: Place) -> Break | None:
    """`nonzero`, `x[mask]`, `unique`, `one_hot` without classes: the shape of the result depends on values."""
    why = "the shape of the result depends on values"
    if isinstance(place.target, ast.Subscript):
        construct = _masked(place, place.target)
        return found(place, construct, why) if construct else None
    asked = called(place)
    if asked is None:
        return None
    call, name, method = asked
    construct = f"{name}()" if name else f".{method}()"
    if break_table.rule_of(construct) != "TL204":
        return None
    operator = operator_call(place, call)
    if operator is None or (operator[0].dynamic and not holds(operator[0], operator[0].dynamic, operator[1])):
        return None
    return found(place, construct, why)


# What an index of booleans is called where nothing else tells its type: an index of integers is no mask.
_MASK = regex(r"(?:^|_|\.)masks?$")


def _masked(place: Place, node: ast.Subscript) -> str:
    """`x[mask]` that is read; one that is assigned to has the shape of `x`."""
    held = is_tensor(place, node.value, LIKELY)
    if not held and place.value(node.value).kind != "unknown":
        return ""
    parts = indices(node.slice)
    # A comparison of what may be a tensor, as an index of what may be one: neither would make sense of a number.
    # Of what nothing is known is read by a mask that is proven.
    certainty = LIKELY if held else PROVEN
    masks = [part for part in parts if not isinstance(part, ast.Slice) and is_tensor(place, part, certainty)]
    if not any(_is_boolean(place, mask) or (held and _MASK.search(ast.unparse(mask))) for mask in masks):
        return ""
    if isinstance(node.ctx, ast.Load):
        return "x[mask]"
    return "x[mask] +=" if isinstance(place.flow.parents.get(node), ast.AugAssign) else ""
