"""Whether what stands in the brackets of a tensor is a mask of booleans, which decides how much is read."""

from __future__ import annotations

import ast
import re

from ..system.regex import regex
from . import names
from .bindings import Assigned, Augmented, Binding, Joined, Narrowed, Part, leaves
from .module import Function, key_of
from .place import Place
from .syntax import own_attribute
from .values import Value

_MASK = regex(r"(?:^|_)masks?(?:_[a-z]|_?\d)?$")
_PLACES = regex(r"(?:^|_)(?:index|indices|idxs?|ids)$")
"""How functions are called that give places: `x_mask = pred_indices(data)`."""
_LISTED = r"^[ \t]*%s[ \t]*(?:\(|:[ \t]*)(?:typing\.)?(?:list|tuple|sequence|iterable)(?:\[int\b|[ \t]+of[ \t]+ints?\b|\((?:int|of ints?)\))"
"""How a docstring gives the type of a parameter, in Google's style or NumPy's."""
_DOCUMENTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_SAYS = regex(r"^(?:is|has)_[a-z]")
"""What a tensor is called that says yes or no of each element: `is_left`."""
_STEPS = 8
"""How many names and operators are looked through."""
_ORDERS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_BITWISE = (ast.BitAnd, ast.BitOr, ast.BitXor)
_LOGICAL = (ast.Mult, ast.Add)
"""What gives a mask of two masks alone: `(u > 0) * (l == u)`."""
_TO_MASKS = frozenset(
    "bool byte eq ne lt le gt ge isnan isinf isfinite logical_not logical_and logical_or logical_xor".split()
)
"""Methods that give booleans; what `byte()` gives is a mask, too."""
_KEEP = frozenset(
    """to cuda view reshape squeeze unsqueeze flatten contiguous detach clone expand expand_as repeat triu tril transpose
    permute t flip roll""".split()
)
"""Methods that give what is a mask where they are called on one."""


def is_mask(place: Place, index: ast.expr) -> bool:
    """Whether an index is a mask that may live on the device, where it is one of something that is proven to be a tensor.

    There a comparison is one of elements, whatever it compares: a bool of Python selects nothing.
    """
    value = place.value(index)
    return (_is_number(value) or _may_be_there(value)) and _makes_mask(place, index, _STEPS)


def is_mask_of_host(place: Place, index: ast.expr) -> bool:
    """Whether an index is proven to be a mask in host memory."""
    value = place.value(index)
    return (
        value.kind == "tensor"
        and value.boolean
        and not value.scalar
        and value.device == "cpu"
        and not value.from_loader
    )


def is_comparison(place: Place, index: ast.expr) -> bool:
    """Whether an index is a bool as far as is known, and so a comparison of elements, where it is one of a tensor of the device: `x[pkg["visible"]]`.

    It comes from another function, or is a part of what does. What is annotated as a bool is one of Python, whatever it is an index of.
    """
    value = place.value(index)
    if value.kind != "number" or not value.boolean or value.const is not None or value.other_kinds:
        return False
    binding = place.function.bindings.reach.get(index)
    if isinstance(binding, Assigned):
        return isinstance(binding.node, ast.Subscript)
    annotated = (one.arg for one in place.function.parameters if one.annotation is not None)
    is_given = binding is None and isinstance(index, ast.Name) and index.id not in annotated
    return is_given or isinstance(index, ast.Subscript) or isinstance(binding, Part)


def _makes_mask(place: Place, node: ast.expr, steps: int) -> bool:
    value = place.value(node)
    if value.kind == "tensor" and (value.boolean or value.scalar):
        return value.boolean and not value.scalar
    is_open = _is_open(value)
    if not steps or not (is_open or _is_number(value)):
        return False
    if isinstance(node, ast.Compare):
        return _compares_elements(place, node)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Invert) and (is_open or _makes_mask(place, node.operand, steps - 1))
    if isinstance(node, ast.BinOp):
        sides = (node.left, node.right)
        masks = (_makes_mask(place, side, steps - 1) for side in sides)
        return (isinstance(node.op, _BITWISE) and any(masks)) or (isinstance(node.op, _LOGICAL) and all(masks))
    if isinstance(node, ast.Attribute) and node.attr == "data":
        return _makes_mask(place, node.value, steps - 1)
    if isinstance(node, ast.Call):
        if len(node.args) == 1 and place.resolve(node.func) == "torch.autograd.Variable":
            return _makes_mask(place, node.args[0], steps - 1)
        func = node.func if is_open and isinstance(node.func, ast.Attribute) else None
        if func is None:
            return False
        return func.attr in _TO_MASKS or (func.attr in _KEEP and _makes_mask(place, func.value, steps - 1))
    binding = place.function.bindings.reach.get(node)
    if binding is not None and _binds_mask(place, binding, steps - 1):
        return True
    if not is_open:
        return False
    if _is_called_mask(node) and not (value.kind == "tensor" and value.integer):
        return (binding is None or not _gives_places(binding)) and not _is_listed(place.function, node)
    if _says_of_each(place, node, value):
        return True
    key = _key(node)
    return key is not None and key in place.once(("inverted", place.function), lambda: _inverted(place.function))


def _is_listed(function: Function, node: ast.expr) -> bool:
    """Whether a docstring says that what a name stands for is a list of numbers: `mask (list[int]): Index of masked keypoints`."""
    name = names.last(node)
    klass = function.cls if own_attribute(function, node) is not None else None
    init = klass.methods.get("__init__") if klass is not None else None
    documented = (one.node for one in (function, klass, init) if one is not None)
    pages = [ast.get_docstring(one, clean=False) or "" for one in documented if isinstance(one, _DOCUMENTED)]
    said = _LISTED % re.escape(name)
    return any(name in page and re.search(said, page, re.MULTILINE | re.IGNORECASE) for page in pages)


def _gives_places(binding: Binding) -> bool:
    made = [one.node.func for one in leaves([binding]) if isinstance(one, Assigned) and isinstance(one.node, ast.Call)]
    return any(_PLACES.search(names.last(func)) for func in made)


def _is_called_mask(node: ast.expr) -> bool:
    """`mask`, `data.train_mask`, `batch["mask"]`, `masks[i]`: places are called indices."""
    if isinstance(node, ast.Subscript):
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        return _MASK.search(key) is not None if isinstance(key, str) else _is_called_mask(node.value)
    return _MASK.search((key_of(node) or "").rpartition(".")[2].lower()) is not None


def _says_of_each(place: Place, node: ast.expr, value: Value) -> bool:
    """`vals[spans.is_left]`, of a tensor that says something of each element; rows of a table that is learnt are looked up by numbers."""
    if value.kind != "tensor" or value.integer or not _SAYS.match((key_of(node) or "").rpartition(".")[2]):
        return False
    around = place.flow.parents.get(node)
    return not (isinstance(around, ast.Subscript) and around.slice is node and place.value(around.value).parameter)


def _binds_mask(place: Place, binding: Binding, steps: int) -> bool:
    if not steps:
        return False
    if isinstance(binding, Assigned):
        return _makes_mask(place, binding.node, steps)
    if isinstance(binding, Joined):
        return _binds_mask(place, binding.one, steps - 1) or _binds_mask(place, binding.other, steps - 1)
    if isinstance(binding, Augmented):
        return isinstance(binding.node.op, _BITWISE) and _makes_mask(place, binding.node.value, steps)
    return isinstance(binding, Narrowed) and binding.before is not None and _binds_mask(place, binding.before, steps)


def _compares_elements(place: Place, node: ast.Compare) -> bool:
    """Whether a comparison is one of something that may be a tensor of the device, with that or a number."""
    values = [place.value(side) for side in (node.left, *node.comparators)]
    return (
        all(isinstance(op, _ORDERS) for op in node.ops)
        and any(map(_may_be_there, values))
        and all(value.kind == "number" or _may_be_there(value) for value in values)
    )


def _is_open(value: Value) -> bool:
    """Whether something may be a tensor, as far as is known."""
    return value.kind == "tensor" or (value.kind == "unknown" and not value.proven)


def _may_be_there(value: Value) -> bool:
    """Whether something may be a tensor on the device, as far as is known."""
    if value.kind == "tensor":
        return not value.on_cpu and not value.from_loader
    return _is_open(value) and not value.on_cpu


def _is_number(value: Value) -> bool:
    """What a comparison of something unknown gives as far as the values know."""
    return value.kind == "number" and value.const is None


def _inverted(function: Function) -> frozenset[str]:
    """What a function turns round: `x[kept]` beside `x[~kept]`."""
    nodes = (node for node in function.flow.nodes if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert))
    return frozenset(filter(None, (_key(node.operand) for node in nodes)))


def _key(node: ast.expr) -> str | None:
    """A text for `kept`, `self.kept` and `batch["kept"]`."""
    if isinstance(node, ast.Subscript):
        base = key_of(node.value) if isinstance(node.slice, ast.Constant) else None
        return f"{base}[{ast.unparse(node.slice)}]" if base is not None else None
    return key_of(node)
