"""What the source of one function proves of a tensor's dtype: real floating point, 64-bit integers, or bools.

Parameters and what other functions give may be anything.
"""

from __future__ import annotations

import ast
from typing import Literal

from ..system.regex import regex
from . import names
from .bindings import Assigned, Augmented, Binding, Joined, Reach
from .module import Function
from .place import Place
from .torch_table import TAKES_LOSS
from .values import Value

Dtype = Literal["floating", "int64", "bool"]

_COMPLEX = regex(rb"complex|cfloat|cdouble|fft|polar|\d[jJ]\b")
_FLOATING = frozenset(
    """softmax log_softmax softmin sigmoid logsigmoid tanh exp expm1 log log1p log2 log10 sqrt rsqrt reciprocal zeros ones empty sin cos tan
    asin acos atan sinh cosh erf erfc lgamma true_divide mean std var norm logsumexp float double half bfloat16 rand randn
    linspace logspace linear bilinear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d layer_norm
    batch_norm group_norm instance_norm rms_norm gelu silu mish elu selu celu softplus softsign normalize cosine_similarity
    scaled_dot_product_attention cross_entropy nll_loss mse_loss smooth_l1_loss huber_loss binary_cross_entropy
    binary_cross_entropy_with_logits kl_div gaussian_nll_loss poisson_nll_loss triplet_margin_loss""".split()
)
"""Functions and methods of torch that give real floating point of whatever is not complex, or raise."""
_KEEPING = frozenset(
    """view reshape flatten unflatten squeeze unsqueeze transpose permute t contiguous clone detach expand expand_as repeat
    narrow select index_select gather masked_fill masked_select clamp clamp_min clamp_max clip relu leaky_relu dropout abs neg
    roll flip tril triu diagonal pad interpolate max_pool1d max_pool2d avg_pool1d avg_pool2d adaptive_avg_pool1d
    adaptive_avg_pool2d cpu cuda requires_grad_ requires_grad relu_ clamp_ mul_ add_ sub_ div_ masked_fill_ floor ceil round
    cumsum zeros_like ones_like empty_like amax amin square""".split()
)
"""Those that give the dtype of what they are called on, if it is real floating point."""
_ANY = frozenset("add sub mul pow matmul mm bmm addmm baddbmm einsum where maximum minimum fmod lerp".split())
"""Those that give real floating point if anything that they are given is."""
_SUMS = frozenset("sum nansum prod count_nonzero".split())
_INDICES = frozenset("argmax argmin argsort count_nonzero".split())
_COMPARES = frozenset(
    "eq ne lt le gt ge isnan isinf isfinite logical_and logical_or logical_not logical_xor isclose".split()
)
_REDUCES = frozenset("max min median".split())
_LAYERS = regex(
    r"torch\.nn\.(?:Linear|Bilinear|(?:Lazy)?Conv\w+|\w*Norm\w*|Embedding(?:Bag)?|Sigmoid|Tanh|Softmax|LogSoftmax|GELU|SiLU|Mish"
    r"|ELU|SELU|CELU|Softplus|LogSigmoid|CrossEntropyLoss|NLLLoss|MSELoss|BCELoss|BCEWithLogitsLoss|SmoothL1Loss|HuberLoss"
    r"|KLDivLoss)$"
)
"""Modules that give real floating point or raise."""
_KEEPS = regex(r"torch\.nn\.(?:Dropout\w*|ReLU6?|LeakyReLU|PReLU|Identity|Flatten|\w*Pool\w*|Upsample)$")
_KINDS: dict[str, Dtype] = {
    **dict.fromkeys(("float32", "float", "float64", "double", "float16", "half", "bfloat16"), "floating"),
    "int64": "int64",
    "long": "int64",
    "bool": "bool",
}


def may_be_complex(place: Place) -> bool:
    """Whether the file of a place deals in complex numbers: any tensor there may be one of them."""
    return place.function.module.source.holds(_COMPLEX)


def dtype(place: Place, node: ast.expr) -> Dtype | None:
    """What an expression is proven to be; None where that isn't known, and anywhere in a file that deals in complex numbers."""
    if may_be_complex(place):
        return None
    return _Dtypes(place).of(node, place.function.bindings.reach)


class _Dtypes:
    """Looks for the dtype of one expression."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._seen: set[Binding] = set()

    def of(self, node: ast.expr, reach: Reach) -> Dtype | None:
        match node:
            case ast.Name() | ast.Attribute() if node in reach:
                return self._bound(reach[node])
            case ast.Attribute(attr="T" | "mT" | "data" | "grad"):
                return self.of(node.value, reach)
            case ast.Call():
                return self._call(node, reach)
            case ast.BinOp():
                return self._operation(node, reach)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
                return self.of(node.operand, reach)
            case ast.UnaryOp(op=ast.Invert()) | ast.Compare():
                return "bool" if self._is_tensor(node) and self._compares(node, reach) else None
            case ast.Subscript() if self._is_tensor(node.value):
                return self.of(node.value, reach)
            case ast.IfExp():
                one = self.of(node.body, reach)
                return one if one == self.of(node.orelse, reach) else None
            case ast.NamedExpr():
                return self.of(node.value, reach)
        return None

    def _bound(self, binding: Binding) -> Dtype | None:
        if binding in self._seen:
            return None
        self._seen.add(binding)
        found: Dtype | None = "floating" if self._is_backpropagated(binding) else None
        if found is None and isinstance(binding, Assigned):
            found = self.of(binding.node, binding.reach)
        elif found is None and isinstance(binding, Joined):
            one = self._bound(binding.one)
            found = one if one is not None and one == self._bound(binding.other) else None
        elif found is None and isinstance(binding, Augmented) and binding.before is not None:
            before = self._bound(binding.before)
            found = before if before == "floating" else None
        self._seen.discard(binding)
        return found

    def _is_backpropagated(self, binding: Binding) -> bool:
        function = self.place.function
        return binding in self.place.once(("backpropagated", function), lambda: _backpropagated(function))

    def _compares(self, node: ast.expr, reach: Reach) -> bool:
        if isinstance(node, ast.UnaryOp):
            return self.of(node.operand, reach) == "bool"
        return isinstance(node, ast.Compare) and len(node.ops) == 1

    def _operation(self, node: ast.BinOp, reach: Reach) -> Dtype | None:
        sides = self.of(node.left, reach), self.of(node.right, reach)
        if "floating" in sides:
            return "floating"
        tensor = self._is_tensor(node.left) or self._is_tensor(node.right)
        if isinstance(node.op, ast.Div):
            return "floating" if tensor and all(self._is_real(side) for side in (node.left, node.right)) else None
        if isinstance(node.op, ast.BitAnd | ast.BitOr | ast.BitXor):
            return "bool" if sides == ("bool", "bool") else None
        if not isinstance(node.op, ast.Add | ast.Sub | ast.Mult):
            return None
        whole = [
            side or ("int64" if self._is_integer(part) else None)
            for side, part in zip(sides, (node.left, node.right), strict=True)
        ]
        return "int64" if "int64" in whole and None not in whole and tensor else None

    def _is_tensor(self, node: ast.expr) -> bool:
        return self.place.value(node).kind == "tensor"

    def _is_real(self, node: ast.expr) -> bool:
        return self.place.value(node).kind in ("tensor", "number")

    def _is_integer(self, node: ast.expr) -> bool:
        value = self.place.value(node)
        return value.kind == "number" and value.integer

    def _call(self, node: ast.Call, reach: Reach) -> Dtype | None:
        given = [part for part in node.args if not isinstance(part, ast.Starred)]
        name = self.place.resolve(node.func)
        last = names.last(node.func)
        if name is None:
            called = self.place.value(node.func)
            if called.kind == "module":
                return self._module(called, given, reach)
            if not isinstance(node.func, ast.Attribute) or not self._is_tensor(node.func.value):
                return None
            given = [node.func.value, *given]
        elif not name.startswith("torch.") or name.startswith(("torch.optim.", "torch.distributions.", "torch.utils.")):
            return None
        return self._function(last, given, node.keywords, reach)

    def _module(self, called: Value, given: list[ast.expr], reach: Reach) -> Dtype | None:
        if called.class_name == "torch.nn.Sequential" and called.items:
            for item in reversed(called.items):
                if _LAYERS.match(item.class_name):
                    return "floating"
                if not _KEEPS.match(item.class_name):
                    return None
        elif _LAYERS.match(called.class_name):
            return "floating"
        elif not _KEEPS.match(called.class_name):
            return None
        return "floating" if given and self.of(given[0], reach) == "floating" else None

    def _function(self, last: str, given: list[ast.expr], keywords: list[ast.keyword], reach: Reach) -> Dtype | None:
        if any(keyword.arg in (None, "out", "other", "tensor") for keyword in keywords):
            return None
        asked = [keyword.value for keyword in keywords if keyword.arg == "dtype"]
        if asked or last in ("to", "type"):
            return self._cast(asked or given[1:], given, reach)
        if last in _FLOATING:
            return "floating"
        if last in _INDICES or last == "long":
            return "int64"
        if last in _COMPARES or last == "bool":
            return "bool"
        first = self.of(given[0], reach) if given else None
        if last in _SUMS:
            return "floating" if first == "floating" else "int64" if first is not None else None
        if last in _REDUCES:
            return first if len(given) == 1 and not keywords else None
        if last in _KEEPING:
            return "floating" if first == "floating" else None
        if last in ("div", "divide"):
            return "floating" if first == "floating" else None
        if last in ("cat", "stack", "concat") and isinstance(given[0] if given else None, ast.List | ast.Tuple):
            assert isinstance(given[0], ast.List | ast.Tuple)
            return "floating" if any(self.of(part, reach) == "floating" for part in given[0].elts) else None
        if last in _ANY:
            return "floating" if any(self.of(part, reach) == "floating" for part in given) else None
        return None

    def _cast(self, asked: list[ast.expr], given: list[ast.expr], reach: Reach) -> Dtype | None:
        """What `dtype=`, `.to(...)` and `.type(...)` ask for."""
        found: Dtype | None = self.of(given[0], reach) if given else None
        for one in asked:
            name = self.place.resolve(one) or ""
            value = self.place.value(one)
            if name.startswith("torch.") and (kind := _KINDS.get(name.removeprefix("torch."))) is not None:
                return kind
            if not (value.kind == "device" or (value.kind == "str" and value.device)):
                return None
        return found


def _backpropagated(function: Function) -> frozenset[Binding]:
    """What `loss.backward()` and `scaler.scale(loss)` take, which is real floating point."""
    reach, found = function.bindings.reach, set[Binding]()
    for name in TAKES_LOSS:
        for call in function.flow.calls_named(name):
            owner = call.func.value if isinstance(call.func, ast.Attribute) and name == "backward" else None
            taken = owner if owner is not None and not call.args else call.args[0] if call.args else None
            binding = reach.get(taken) if taken is not None and not call.keywords else None
            if binding is not None:
                found.add(binding)
    return frozenset(found)
