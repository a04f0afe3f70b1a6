"""Whether something of unknown kind is what a call made of tensors, or a part of what was sent: the metric of a library, `batch["reward"]` of nobody knows what."""

from __future__ import annotations

import ast
from collections.abc import Callable

from . import names
from . import torch_table as table
from .bindings import Assigned, Augmented, Binding, Iterated, Joined, Narrowed, Part, Reach
from .nodes import argument_of, given_to
from .values import Value

_STEPS = 24
"""How many operations and names are looked through: poses are inverted, multiplied and turned into numbers before somebody reads these."""
_ON_HOST = frozenset("numpy np math random time os sys re json scipy sklearn cv2 PIL pandas".split())
"""Packages whose functions give what is on the host."""
_OF_TENSORS = table.TENSOR_ONLY | frozenset(
    "view reshape squeeze flatten mean sum argmax max min norm t float long int double abs sqrt round data".split()
)
"""What leads from a tensor to another one."""
_HOLDS = frozenset(("items", "values", "get", "pop", "_asdict"))
_TO_HOST = frozenset(("numpy", "cpu", "tolist", "item", "asnumpy", "to_numpy"))
_FROM_HOST = frozenset(("env", "envs", "dataset", "tokenizer", "processor", "buffer", "memory", "sampler", "rng"))
"""Objects whose methods give arrays, numbers and what lies on the host."""

Values = Callable[[ast.expr], Value]
Resolve = Callable[[ast.expr], "str | None"]


class Origins:
    """Where what a function reads comes from, as far as its own statements tell."""

    def __init__(self, reach: Reach, value: Values, resolve: Resolve) -> None:
        self.reach = reach
        self.value = value
        self.resolve = resolve
        self._known: dict[ast.expr, bool] = {}
        """What was asked before in this question; no of what is being asked."""

    def made(self, node: ast.expr, steps: int = _STEPS) -> bool:
        """Whether a call gave it that was handed tensors, or what may hold some; or it is a part, found by a key, of what was sent to the device."""
        if not steps:
            return False
        if node not in self._known:
            self._known[node] = False
            self._known[node] = self._made(node, steps)
        return self._known[node]

    def _made(self, node: ast.expr, steps: int) -> bool:
        if isinstance(node, ast.Name):
            binding = self.reach.get(node)
            return binding is not None and self._bound(binding, steps - 1)
        if isinstance(node, ast.Attribute):
            binding = self.reach.get(node)
            if binding is not None:
                return self._bound(binding, steps - 1)
            return self.made(node.value, steps - 1)
        if isinstance(node, ast.Subscript):
            return self._is_sent(node.value) or self.made(node.value, steps - 1)
        if isinstance(node, ast.UnaryOp):
            return self.made(node.operand, steps - 1)
        if isinstance(node, ast.BinOp):
            sides = (node.left, node.right)
            return not any(map(self._is_on_host, sides)) and any(self.made(side, steps - 1) for side in sides)
        if isinstance(node, ast.Compare):
            return any(self.made(side, steps - 1) for side in (node.left, *node.comparators))
        return isinstance(node, ast.Call) and self._called(node, steps - 1)

    def _bound(self, binding: Binding, steps: int) -> bool:
        if not steps:
            return False
        if isinstance(binding, Assigned | Iterated):
            return self.made(binding.node, steps)
        if isinstance(binding, Part):
            return self._bound(binding.whole, steps)
        if isinstance(binding, Augmented):
            return self.made(binding.node.value, steps)
        if isinstance(binding, Narrowed):
            return binding.before is not None and self._bound(binding.before, steps)
        if isinstance(binding, Joined):
            sides = [side for side in (binding.one, binding.other) if not _is_constant(side)]
            return bool(sides) and all(self._bound(side, steps - 1) for side in sides)
        return False

    def _called(self, call: ast.Call, steps: int) -> bool:
        func = call.func
        name = self.resolve(func)
        if name is not None:
            if "." not in name or name.partition(".")[0] in _ON_HOST:
                return False
        elif isinstance(func, ast.Attribute) and (func.attr in _OF_TENSORS or func.attr in _HOLDS):
            return self.made(func.value, steps)
        elif isinstance(func, ast.Attribute) and func.attr not in _TO_HOST and self.made(func.value, steps):
            return True  # `SE3(poses).inv().log()`: what an object of tensors gives
        parts = names.chain(func)
        if parts is None or not _FROM_HOST.isdisjoint(part.lower().strip("_") for part in parts):
            return False
        given = given_to(call)
        return any(self._may_be_there(one, steps) for one in given)

    def _may_be_there(self, node: ast.expr, steps: int) -> bool:
        """Whether an argument is a tensor that was moved or calculated, or made so by a call itself."""
        node = node.value if isinstance(node, ast.Starred) else node
        value = self.value(node)
        if value.kind == "tuple" and value.entries is not None:  # a packed sequence, of which the sizes are on the host
            return any(map(_is_there, value.entries.values()))
        if value.kind == "tensor":
            return _is_there(value)
        if value.kind == "batch":
            return value.device == "accelerator"
        if value.kind == "list" and value.element is not None:
            return _is_there(value.element)
        return not value and (self._is_sent(node) or self.made(node, steps))

    def _is_sent(self, node: ast.expr) -> bool:
        """`batch.get("image").to(device)`, also by its name."""
        binding = self.reach.get(node)
        call = binding.node if isinstance(binding, Assigned) else node
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or self.resolve(call.func):
            return False
        if call.func.attr != "to":
            return call.func.attr == "cuda"
        given = argument_of(call, "device", 0)
        target = self.value(given) if given is not None else None
        return target is not None and target.kind == "device" and target.device != "cpu"

    def _is_on_host(self, node: ast.expr) -> bool:
        value = self.value(node)
        return value.kind == "ndarray" or value.on_cpu


def _is_there(value: Value) -> bool:
    return value.kind == "tensor" and not value.on_cpu and not value.from_loader


def _is_constant(binding: Binding) -> bool:
    return isinstance(binding, Assigned) and isinstance(binding.node, ast.Constant)
