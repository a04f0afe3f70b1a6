"""What a Triton kernel is made of: decorators, constant parameters, what a name was made of, launches and their grids.

A kernel is a function under `@triton.jit`; what is said of it is read from its source, never run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from ..system.cached import cached_property
from ..system.regex import regex
from . import names
from .nodes import argument_of, callee, elements, is_constant, measured, number, string

if TYPE_CHECKING:
    from .module import Function, Module

KERNEL = tuple(
    f"@{jit}\ndef $kernel(*$_): ..." for jit in ("triton.jit", "triton.jit(...)", "$_($here := triton.jit, ...)")
)
"""The shapes of a kernel."""
_LANGUAGE = "triton.language."
_JIT = frozenset(("triton.jit", "triton.runtime.jit", "triton.runtime.jit.jit"))
_AUTOTUNE = frozenset(("triton.autotune", "triton.runtime.autotune", "triton.runtime.autotuner.autotune"))
_HEURISTICS = frozenset(("triton.heuristics", "triton.runtime.heuristics", "triton.runtime.autotuner.heuristics"))
_EXTENT = {"arange": (0, 1), "zeros": (0,), "full": (0,), "static_range": (0, 1, 2)}
"""Arguments of `tl` functions that must be constants, by position."""
BLOCK_POINTERS = frozenset(("make_block_ptr", "make_tensor_descriptor", "advance", "load_tensor_descriptor"))


class Launch(NamedTuple):
    """`kernel[grid](arguments)`."""

    kernel: Kernel
    function: Function
    call: ast.Call

    def bound(self, parameter: str) -> ast.expr | None:
        """What the launch gives for a parameter of the kernel."""
        return argument_of(self.call, parameter, self.kernel.function.positions.get(parameter, -1))

    def grid(self) -> tuple[Function, list[ast.expr], frozenset[str]]:
        """The grid's dimensions, the function they are written in, and the names by which that one has the meta-parameters."""
        assert isinstance(self.call.func, ast.Subscript)
        grid: ast.expr | None = self.call.func.slice
        if isinstance(grid, ast.Name):
            nested = self.function.nested.get(grid.id)
            if nested is not None:
                return nested, _returned(nested), frozenset(p.arg for p in nested.parameters)
            grid = definition(self.function, grid.id)
        meta: frozenset[str] = frozenset()
        if isinstance(grid, ast.Lambda):
            meta = frozenset(p.arg for p in grid.args.args)
            grid = grid.body
        if isinstance(grid, ast.Tuple | ast.List):
            return self.function, list(grid.elts), meta
        return self.function, [grid] if grid is not None else [], meta


class Kernel:
    """A function under `@triton.jit`."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.node = function.node
        scope = function.parent or function.module.body
        found = [(_decorator(scope, d), d) for d in function.decorators]
        self.autotune = next((d for name, d in found if name in _AUTOTUNE and isinstance(d, ast.Call)), None)
        self.tuned = any(name in _AUTOTUNE or name in _HEURISTICS for name, _ in found)
        """Whether autotune or heuristics choose some of its parameters."""

    @cached_property
    def constants(self) -> frozenset[str]:
        """The parameters annotated `tl.constexpr`."""
        return frozenset(
            p.arg for p in self.function.parameters if p.annotation is not None and _is_constexpr(p.annotation)
        )

    @cached_property
    def parameters(self) -> frozenset[str]:
        return frozenset(p.arg for p in self.function.parameters)

    def calls(self, *wanted: str) -> Iterator[tuple[str, ast.Call]]:
        """The calls of `tl` functions, those of these names where some are given, in source order."""
        for call in self.function.flow.calls:
            name = language(self.function, call.func)
            if name is not None and (not wanted or name in wanted):
                yield name, call

    @cached_property
    def extents(self) -> dict[str, list[ast.expr]]:
        """Where a parameter decides the size of a block or the length of an unrolled loop."""
        found: dict[str, list[ast.expr]] = {}
        for name, call in self.calls(*_EXTENT):
            for extent in extents(name, call):
                for node in operands(extent):
                    if (
                        isinstance(node, ast.Name)
                        and node.id in self.parameters
                        and node.id not in self.function.flow.stores
                    ):
                        found.setdefault(node.id, []).append(extent)
        return found

    def made_of(self, expression: ast.expr) -> list[ast.AST]:
        """The nodes of an expression and of everything that was assigned to the names in it."""
        found: list[ast.AST] = []
        seen: set[str] = set()
        pending: list[ast.AST] = [expression]
        while pending:
            for node in ast.walk(pending.pop()):
                found.append(node)
                if isinstance(node, ast.Name) and node.id not in seen:
                    seen.add(node.id)
                    pending += assigned(self.function, node.id)
        return found

    def uses(self, expression: ast.expr) -> frozenset[str]:
        """The `tl` functions that an expression is made with."""
        called = (language(self.function, node.func) for node in self.made_of(expression) if isinstance(node, ast.Call))
        return frozenset(name for name in called if name is not None)

    @cached_property
    def launches(self) -> list[Launch]:
        """Its launches in the same file."""
        if self.function.cls is not None or self.function.parent is not self.function.module.body:
            return []
        return [
            Launch(self, function, call)
            for function, load in self.function.module.loads.get(self.function.name, ())
            if (call := _launch(function, load)) is not None
        ]

    @cached_property
    def is_launched(self) -> bool:
        """Whether it is a kernel in its own right, not a helper that other kernels call with what they please."""
        return bool(self.launches) or self.tuned

    @cached_property
    def masked(self) -> bool:
        """Whether it keeps any of its accesses within bounds."""
        return any(
            any(k.arg in ("mask", "boundary_check") for k in call.keywords)
            or len(call.args) > (1 if name == "load" else 2)
            for name, call in self.calls("load", "store")
        )


def kernel_of(function: Function) -> Kernel | None:
    """The kernel that a function is."""
    scope = function.parent or function.module.body
    return Kernel(function) if any(_decorator(scope, d) in _JIT for d in function.decorators) else None


def decorated(function: Function, decorator: ast.AST) -> Kernel | None:
    """The kernel that a decorator, or the name in one, of a function or class defined in `function` makes."""
    parents = function.flow.parents
    node: ast.AST | None = decorator
    while node is not None and not isinstance(node, ast.stmt):
        node = parents.get(node)
    if not isinstance(node, ast.FunctionDef):
        return None
    found = function.module.function_of.get(node)
    return kernel_of(found) if found is not None else None


def language(function: Function, node: ast.expr) -> str | None:
    """What follows `triton.language.` in the name of an expression: `load`, `math.exp2`."""
    name = names.resolve(function, node)
    return name.removeprefix(_LANGUAGE) if name is not None and name.startswith(_LANGUAGE) else None


def extents(name: str, call: ast.Call) -> list[ast.expr]:
    """The arguments of a `tl` function that must be constants: bounds and shapes."""
    keywords = {"zeros": ("shape",), "full": ("shape",)}.get(name, ("start", "end", "arg1", "arg2", "step"))
    given = [call.args[at] for at in _EXTENT[name] if at < len(call.args)]
    given += [k.value for k in call.keywords if k.arg in keywords]
    return [size for argument in given for size in elements(argument)]


def operands(expression: ast.expr) -> Iterator[ast.expr]:
    """The names and literals that arithmetic joins; calls, attributes and subscripts are looked into by nobody."""
    if isinstance(expression, ast.BinOp):
        yield from operands(expression.left)
        yield from operands(expression.right)
    elif isinstance(expression, ast.UnaryOp):
        yield from operands(expression.operand)
    else:
        yield expression


def assigned(function: Function, name: str) -> list[ast.expr]:
    """Everything that a function assigns to a name; of a tuple assignment, the part that the name gets."""
    values: list[ast.expr] = []
    for store in function.flow.stores.get(name, ()):
        parent = function.flow.parents.get(store)
        if isinstance(parent, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.NamedExpr) and parent.value is not None:
            values.append(parent.value)
        elif isinstance(parent, ast.Tuple) and isinstance(owner := function.flow.parents.get(parent), ast.Assign):
            whole = owner.value
            same = isinstance(whole, ast.Tuple) and len(whole.elts) == len(parent.elts)
            values.append(whole.elts[parent.elts.index(store)] if same and isinstance(whole, ast.Tuple) else whole)
    return values


def definition(function: Function, name: str) -> ast.expr | None:
    """What a name is assigned, where that happens once in the function, and to it alone."""
    stores = function.flow.stores.get(name, ())
    if len(stores) != 1:
        return None
    parent = function.flow.parents.get(stores[0])
    return parent.value if isinstance(parent, ast.Assign | ast.AnnAssign) else None


def size_of(function: Function, node: ast.expr | None) -> tuple[ast.expr, int | None] | None:
    """The tensor and the dimension (None: all of them) whose size an expression is, directly or through one name."""
    if isinstance(node, ast.Name):
        return _unpacked(function, node.id) or size_of_direct(definition(function, node.id))
    return size_of_direct(node)


def size_of_direct(node: ast.expr | None) -> tuple[ast.expr, int | None] | None:
    """`x.shape[0]`, `x.size(0)`, `x.numel()`, `len(x)`."""
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
        dimension = number(node.slice)
        return (node.value.value, dimension) if isinstance(dimension, int) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "numel" and not node.args:
            return node.func.value, None
        dimension = number(node.args[0]) if node.func.attr == "size" and node.args else None
        return (node.func.value, dimension) if isinstance(dimension, int) else None
    counted = measured(node)
    return (counted, 0) if counted is not None else None


def _unpacked(function: Function, name: str) -> tuple[ast.expr, int | None] | None:
    """`B, T = x.shape`, `B, T, V = *x.shape, v.shape[-1]`."""
    stores = function.flow.stores.get(name) or []
    parent = function.flow.parents.get(stores[0]) if len(stores) == 1 else None
    owner = function.flow.parents.get(parent) if isinstance(parent, ast.Tuple) else None
    if not (isinstance(parent, ast.Tuple) and isinstance(owner, ast.Assign)) or any(
        isinstance(e, ast.Starred) for e in parent.elts
    ):
        return None
    value, at = owner.value, parent.elts.index(stores[0])
    if not isinstance(value, ast.Tuple):
        return _shape(value, at)
    parts: list[ast.expr] = value.elts
    first = parts[0]
    spread = len(parent.elts) - len(parts) + 1
    if isinstance(first, ast.Starred):
        return _shape(first.value, at) if at < spread else size_of_direct(parts[at - spread + 1])
    return size_of_direct(parts[at]) if len(parts) == len(parent.elts) else None


def _shape(node: ast.expr, dimension: int) -> tuple[ast.expr, int] | None:
    return (node.value, dimension) if isinstance(node, ast.Attribute) and node.attr == "shape" else None


def power_of_two(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0 and value & (value - 1) == 0


def checks_multiples(function: Function) -> bool:
    """Whether a function makes sure that something is a multiple of something: `assert n % BLOCK == 0`."""
    return any(isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) for node in function.flow.nodes)


def all_kernels(module: Module) -> Iterable[Kernel]:
    """The kernels of a file."""
    return [kernel for function in module.functions if (kernel := kernel_of(function)) is not None]


def _decorator(scope: Function, decorator: ast.expr) -> str | None:
    return names.resolve(scope, callee(decorator))


def _is_constexpr(annotation: ast.expr) -> bool:
    parts = names.chain(annotation) or (string(annotation) or "").split(".")
    return parts[-1] == "constexpr"


def _launch(function: Function, load: ast.Name) -> ast.Call | None:
    subscript = function.flow.parents.get(load)
    if not (isinstance(subscript, ast.Subscript) and subscript.value is load):
        return None
    call = function.flow.parents.get(subscript)
    return call if isinstance(call, ast.Call) and call.func is subscript else None


def _returned(function: Function) -> list[ast.expr]:
    found = function.flow.returned
    return elements(found[0]) if len(found) == 1 else []


def mask_of(name: str, call: ast.Call) -> ast.expr | None:
    """The mask of a `tl.load` or `tl.store`."""
    return _argument(call, "mask", 1 if name == "load" else 2)


def other_of(call: ast.Call) -> ast.expr | None:
    """What a `tl.load` gives where its mask is false."""
    return _argument(call, "other", 2)


def tail_offsets(kernel: Kernel, name: str, call: ast.Call) -> str | None:
    """The block size of an unmasked access at `program_id * BLOCK + arange(0, BLOCK)`; None for other accesses."""
    given = {k.arg for k in call.keywords}
    if not call.args or mask_of(name, call) is not None or "boundary_check" in given or None in given:
        return None
    nodes = kernel.made_of(call.args[0])
    called = kernel.uses(call.args[0])
    if not {"arange", "program_id"} <= called or called & BLOCK_POINTERS or any(isinstance(n, ast.Mod) for n in nodes):
        return None
    sizes = {
        extent.id
        for node in nodes
        if isinstance(node, ast.Call) and language(kernel.function, node.func) == "arange"
        for extent in extents("arange", node)[-1:]
        if isinstance(extent, ast.Name)
    }
    for node in nodes:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            for number, size in ((node.left, node.right), (node.right, node.left)):
                if isinstance(size, ast.Name) and size.id in sizes and "program_id" in kernel.uses(number):
                    return size.id
    return None


def mask_of_same_offsets(kernel: Kernel, call: ast.Call) -> ast.expr | None:
    """The mask of another access of the kernel at the same offsets."""
    wanted = _blocks(kernel, call.args[0])
    for name, other in kernel.calls("load", "store"):
        mask = mask_of(name, other)
        if (
            other is not call
            and mask is not None
            and other.args
            and wanted
            and _blocks(kernel, other.args[0]) == wanted
        ):
            return mask
    return None


def _blocks(kernel: Kernel, pointer: ast.expr) -> frozenset[str]:
    """The names that a pointer is made with and that hold blocks of indices."""
    return frozenset(
        node.id
        for node in ast.walk(pointer)
        if isinstance(node, ast.Name)
        and any("arange" in kernel.uses(value) for value in assigned(kernel.function, node.id))
    )


def _argument(call: ast.Call, keyword: str, position: int) -> ast.expr | None:
    given = argument_of(call, keyword, position)
    return None if is_constant(given, None) else given


def accumulates(kernel: Kernel) -> tuple[str, str] | None:
    """The pointer parameter that a kernel adds to, and the `tl` function it does it with; None where it only overwrites."""
    for name, call in kernel.calls(*_ATOMICS, "store"):
        if not call.args:
            continue
        if name == "store" and not (len(call.args) > 1 and _loads(kernel, call.args[1], call.args[0])):
            continue
        pointer = _pointer(kernel, call.args[0])
        if pointer is not None and not _written_before(kernel, pointer, call):
            return pointer, name
    return None


def _written_before(kernel: Kernel, pointer: str, call: ast.Call) -> bool:
    """Whether the kernel itself stores to a pointer, under no condition, before it changes what is there."""
    return any(
        store.lineno < call.lineno
        and store.args
        and _pointer(kernel, store.args[0]) == pointer
        and not (len(store.args) > 1 and _loads(kernel, store.args[1], store.args[0]))
        and not list(kernel.function.flow.guards(store))
        for _, store in kernel.calls("store")
    )


_ATOMICS = ("atomic_add", "atomic_max", "atomic_min", "atomic_and", "atomic_or", "atomic_xor")


def _loads(kernel: Kernel, value: ast.expr, pointer: ast.expr) -> bool:
    """Whether a value is made of what is read through the same pointer."""
    return any(
        isinstance(node, ast.Call)
        and language(kernel.function, node.func) == "load"
        and node.args
        and ast.dump(node.args[0]) == ast.dump(pointer)
        for node in kernel.made_of(value)
    )


def _pointer(kernel: Kernel, expression: ast.expr) -> str | None:
    """The parameter that a pointer begins with."""
    while isinstance(expression, ast.BinOp):
        expression = expression.left
    if not isinstance(expression, ast.Name):
        return None
    if expression.id in kernel.parameters:
        return expression.id
    value = definition(kernel.function, expression.id)
    return _pointer(kernel, value) if value is not None else None


def dtype_of(name: str, call: ast.Call) -> ast.expr | None:
    """The dtype that `tl.zeros` or `tl.full` is given."""
    return _argument(call, "dtype", 1 if name == "zeros" else 2)


LIBDEVICE = frozenset(
    """acos acosh asin asinh atan atan2 atanh cbrt copysign cosh cospi erfc erfcinv erfcx erfinv exp10 expm1 fast_expf
    fast_logf fast_powf ffs finitef fmod hypot isfinited isinf isnan ldexp lgamma llrint llround log10 log1p logb
    nearbyint nextafter normcdf normcdfinv popc pow rcbrt remainder rint round scalbn signbit sinh sinpi tan tanh
    tgamma trunc""".split()
)
"""Functions that were `tl.math.*` in Triton 2 and are libdevice's alone in Triton 3."""


def changing_constants(launch: Launch) -> list[tuple[str, ast.expr]]:
    """The constants of a kernel that a launch gives sizes for which differ from batch to batch, in the kernel's order."""
    kernel = launch.kernel
    found = []
    for parameter in kernel.function.parameters:
        name = parameter.arg
        given = launch.bound(name) if name in kernel.constants and name not in kernel.extents else None
        if given is not None and _varies(launch.function, given) and not _needs_constant(kernel, name):
            found.append((name, given))
    return found


_WEIGHT = regex(r"weight|embed|table|^[wW]\d?$|alpha|gamma|beta|bias")
"""Tensors of the model, whose sizes never change."""
_LENGTH = regex(r"n_?elements|numel|seq_?len\w*|n_?tokens|max_len\w*|[TL]")


def _varies(function: Function, given: ast.expr) -> bool:
    """Whether a size differs from batch to batch: the first dimension, all of them, or one that is called a length."""
    size = size_of(function, given)
    if size is None:
        return False
    tensor, dimension = size
    if _WEIGHT.search(names.last(tensor)):
        return False
    return dimension in (None, 0) or (
        isinstance(given, ast.Name) and _LENGTH.fullmatch(given.id) is not None and dimension != -1
    )


def _needs_constant(kernel: Kernel, parameter: str) -> bool:
    """Whether a constant decides a block's size through other names, or is handed to a function that may want one."""
    flow = kernel.function.flow
    for name, call in kernel.calls(*_EXTENT):
        for extent in extents(name, call):
            if any(isinstance(node, ast.Name) and node.id == parameter for node in kernel.made_of(extent)):
                return True
    return any(
        isinstance(parent := flow.parents.get(load), ast.Call | ast.keyword) and not _takes_numbers(kernel, parent)
        for load in flow.loads.get(parameter, ())
    )


def _takes_numbers(kernel: Kernel, parent: ast.AST) -> bool:
    """Whether a `tl` function that takes run-time numbers is called, or the builtin `range`."""
    if not isinstance(parent, ast.Call):
        return False
    if isinstance(parent.func, ast.Name) and parent.func.id in ("range", "min", "max"):
        return True
    return language(kernel.function, parent.func) in ("cdiv", "minimum", "maximum")
