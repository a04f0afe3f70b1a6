"""Tensors that are filled on the host by numbers alone, which a factory with `device=` fills on the device as well."""

from __future__ import annotations

import ast
import itertools
from functools import partial
from typing import Literal, NamedTuple

from ..system.regex import regex
from . import closed, empties, frequency, names, syntax
from . import torch_table as table
from .argparse_defaults import argparse_defaults
from .bindings import Assigned, Iterated, Part, Stored
from .host_constants import always_kept_array, is_written
from .host_reads import device_tensor
from .host_results import gives_on_host
from .indices import gets_number, is_number_put, is_of_device, tells_shape, written
from .legacy_tensors import OF_HOST
from .module import Function
from .nodes import argument_of, given_to, indices, is_constant, keyword_of, names_in, root_of, spreads
from .place import Place
from .sending import OF_ELEMENTS, casts, move_of
from .uses import assigned, assigned_on_all_ways, fellows, readers, values_of
from .values import Value

_FILLED = frozenset(("zeros", "ones", "empty", "full", "eye", "arange", "linspace", "logspace"))
_FILLED |= frozenset(f"{name}_window" for name in ("bartlett", "blackman", "hamming", "hann", "kaiser"))
_FILLED |= {"fft.fftfreq", "fft.rfftfreq"}
_RANDOM = frozenset(("rand", "randn", "randint", "randperm"))
_LIKE = frozenset(f"{name}_like" for name in ("zeros", "ones", "empty", "full", "rand", "randn", "randint"))
# Methods between the factory and the move that keep the tensor dense.
_BETWEEN = frozenset(("long", "int", "short", "float", "double", "half", "bfloat16", "bool"))
_BETWEEN |= frozenset("unsqueeze squeeze view reshape repeat t transpose permute expand flatten expand_as".split())
_TURNED = frozenset(("T", "mT"))
_REARRANGE = frozenset(("einops.rearrange", "einops.repeat", "einops.reduce"))
_REARRANGE |= {"torch.autograd.Variable", "torch.nn.functional.one_hot", "torch.nn.functional.pad", "dgl.graph"}
"""What gives the elements of its first argument in another shape, or a graph with them for edges; the others are its pattern, sizes and numbers."""
_OF_MODELS, _, _MASKS = table.CAUSAL_MASK.rpartition(".")
_PAIRS = frozenset(("torch.triu_indices", "torch.tril_indices"))
_NO_TENSORS = frozenset(("number", "str", "none", "dtype"))
_STEPS = 8
"""How many operations on a filled tensor are looked through."""
_SIZED_BY = frozenset(("start", "end", "step", "steps", "size", "n", "m"))
_NUMPY = frozenset(f"numpy.{name}" for name in ("zeros", "ones", "eye", "identity", "arange", "full", "linspace"))
_NUMPY_RANDOM = frozenset(
    f"numpy.random.{name}"
    for name in "normal permutation rand randint randn random random_sample standard_normal uniform".split()
)
_NUMPY_OF_SIZES = frozenset(
    f"numpy.random.{name}" for name in ("rand", "randn", "random", "random_sample", "standard_normal")
)
"""Those of them that are given sizes and nothing else."""
_NUMPY_OF_ELEMENTS = frozenset(
    f"numpy.{name}" for name in "abs ceil cos cosh exp floor log log2 power sin sinh sqrt square tan tanh".split()
)
_NUMPY_TYPES = frozenset(
    f"numpy.{name}"
    for name in "bool_ uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128".split()
)
_OF_NUMBERS = _NUMPY_OF_ELEMENTS | {"abs", "float", "int", "max", "min", "pow", "round"}
_NUMPY_AGAIN = frozenset(("numpy.repeat", "numpy.tile"))
_NUMPY_FILLING = _NUMPY | _NUMPY_RANDOM | {"numpy.random.choice"}
NUMPY_FILLS = sorted(_NUMPY_FILLING)
"""What of NumPy fills an array by numbers alone, or may."""
MOST_USES = 20
"""A name that stands in more places is more than a tensor that is filled and moved."""
# Moved elsewhere on purpose, or given a meaning that a factory on the device does not have.
_KEEPS = frozenset(("device", "generator", "requires_grad", "pin_memory", "out", "memory_format"))
_OF_DATA = frozenset((*OF_HOST, "torch.from_numpy"))
_OF_ARRAYS = _OF_DATA | {"torch.tensor", "torch.as_tensor"}
_FILLS = frozenset(("zero_", "fill_", "normal_", "uniform_", "random_", "bernoulli_", "exponential_"))
_BY_NUMBERS = _BETWEEN | {"normal_", "uniform_", "random_", "exponential_"}
"""Methods that are given numbers, sizes, and the order of dimensions, and nothing else."""

_CHANGES = frozenset(f"{name}_" for name in "abs add clamp clip cos div exp log mul neg pow sin sqrt sub".split())
"""Methods that calculate in place, of what has just been made: `torch.randn(n).mul_(0.2)`."""

_LEAVES = frozenset(("to", "cuda", "xpu", "type_as", "shape", "device", "dtype", "ndim", "size", "dim", "numel"))
"""What of a tensor is on the device already, or reads no element of it."""

_OF_TOKENS = regex(r"(?:^|_)(?:pad|eos|bos|sos|unk|mask|cls|sep)(?:_?token)?_?(?:id|idx|index)$|^ignore_(?:index|id)$")
"""What the number of a special token is called."""
_SENT_THERE = regex(rb"\.(?:loc|scale|low|high|rate|concentration[01]?)\s*=[^=]")
"""Who draws on the device of a distribution made of numbers sends its parameters there: `self.normal.loc = self.normal.loc.cuda()`."""

_SAYS_WHERE = regex(r"(?i)device|cuda|gpu|rank")
"""What parameters are called that say where a function makes something."""


class Filled(NamedTuple):
    """What fills a tensor on the host: a factory, what is calculated of one, or a cast of a tensor by a host type."""

    node: ast.expr
    how: Literal["factory", "calculated", "cast"]
    others: tuple[ast.expr, ...] = ()
    """What fills the other parts of what is calculated: `torch.cat((torch.ones(n), torch.zeros(m)))`."""


def filled(place: Place, moved: ast.expr) -> Filled | None:
    """What fills on the host what is moved at a place; None where that is made of more than numbers."""
    found = _found(place, moved)
    if found is None or not isinstance(moved, ast.Name):
        return found
    return None if _has_host_beside(place, moved) or _has_part_left(place, moved) else found


def _found(place: Place, moved: ast.expr) -> Filled | None:
    """The same, whatever else takes what is filled."""
    made = _made_before(place, moved) if isinstance(moved, ast.Name) else _by_numbers_alone(place, moved)
    if isinstance(made, ast.Call):
        if (found := factory(place, made)) is not None:
            once = place.flow.loops(found) != place.flow.loops(moved)
            return Filled(found, "calculated" if once else "factory")
        if made is moved and _is_host_cast(place, made):
            return Filled(made, "cast")
        if made is not moved and _by_sizes(place, made):
            return Filled(made, "calculated")
    calculated = _calculated(place, moved, _STEPS, before=True)
    calculated = tuple(made for made in calculated if place.flow.loops(made) == place.flow.loops(place.target))
    if not calculated or place.value(moved).device == "accelerator":
        return None
    if place.value(calculated[0]).device != "cpu" and not _given_by_function(place, calculated[0], _STEPS):
        return None
    return Filled(calculated[0], "calculated", calculated[1:])


def factory(place: Place, made: ast.Call) -> ast.Call | None:
    """The factory at the root of `torch.zeros(2).long()`, where it makes a host tensor."""
    while isinstance(made.func, ast.Attribute) and isinstance(made.func.value, ast.Call) and is_between(place, made):
        made = made.func.value
    name = place.resolve(made.func) or ""
    last = name.removeprefix("torch.")
    if name == last or last not in _FILLED | _RANDOM | _LIKE:
        return None
    if any(keyword.arg is None for keyword in made.keywords) or _is_kept(made):
        return None
    if empties.no_sizes(last, made):
        return None
    if last in _LIKE and (not made.args or place.value(made.args[0]).device != "cpu"):
        return None
    return made


def _is_kept(made: ast.Call) -> bool:
    """Whether a factory is told what no move of it may lose; `requires_grad=False` and `pin_memory=False` say nothing."""
    for keyword in made.keywords:
        off = keyword.arg in ("requires_grad", "pin_memory") and is_constant(keyword.value, False)
        if keyword.arg in _KEEPS and not off:
            return True
    return False


def _is_factory(place: Place, node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and factory(place, node) is not None


def is_between(place: Place, call: ast.Call) -> bool:
    """Whether a method gives a dense tensor of the host again."""
    assert isinstance(call.func, ast.Attribute)
    return call.func.attr in _BETWEEN or casts(place, call)


def _is_host_cast(place: Place, made: ast.Call) -> bool:
    """`x.type(torch.FloatTensor)` of something that is not proven to be on the host already."""
    if not (isinstance(made.func, ast.Attribute) and made.func.attr == "type" and len(made.args) == 1):
        return False
    if place.resolve(made.args[0]) not in OF_HOST:
        return False
    return place.value(made.func.value).device == "accelerator"


def _made_before(place: Place, name: ast.Name) -> ast.expr | None:
    """The call that fills the tensor of a name on the host, where it gets but numbers before it is moved."""
    flow = place.flow
    moved = place.statement
    if len(flow.loads.get(name.id, ())) + len(flow.stores.get(name.id, ())) > MOST_USES:
        return None
    stores = [store for store in flow.stores.get(name.id, ()) if flow.statement(store) is not moved]
    made: ast.AST | None = None
    if len(stores) == 1 and name.id not in flow.parameters:
        made = flow.parents[stores[0]]
    elif stores:
        bound = place.function.bindings.reach.get(name)
        made = flow.parents[bound.node] if isinstance(bound, Assigned) else None
    if not isinstance(made, ast.Assign) or len(made.targets) > 1 or made.targets[0] not in stores:
        return None
    if made.lineno > moved.lineno or not any(_makes(place, part) for part in ast.walk(made.value)):
        return None
    around, loops = flow.loops(made), flow.loops(moved)
    # What is moved gets the name, so that the next iteration finds it on the device.
    again = len(stores) < len(flow.stores[name.id])
    if around != loops and not (again and around == loops[len(loops) - len(around) :]):
        return None
    if not {*flow.guards(made)} <= {*flow.guards(moved)}:
        return None
    end = made.end_lineno or made.lineno
    between = [load for load in flow.loads.get(name.id, ()) if load is not name and end < load.lineno <= moved.lineno]
    # What another branch does with it, such as that of the host, is not done before the move.
    between = [load for load in between if not syntax.exclusive(flow, load, name)]
    if any(flow.loops(load) != flow.loops(moved) and not _put(place, load) for load in between):
        return None
    if not all(gets_number(place, load) for load in between) and not _gets_of_device(place, between):
        return None
    value = _by_numbers_alone(place, made.value)
    return value if value is not None and _makes(place, value) else None


def _makes(place: Place, node: ast.AST) -> bool:
    """Whether a call makes a tensor of the host by numbers alone, or memory for one: `torch.LongTensor(n, 3)`."""
    return isinstance(node, ast.Call) and (factory(place, node) is not None or _by_sizes(place, node))


def _gets_of_device(place: Place, reads: list[ast.Name]) -> bool:
    """Whether nothing is done with a tensor of the host but to write to it, and something of the device is: `x[:, 0] = y`, whose copy is waited for."""
    given = [[(place, put)] if (put := written(place, read)) is not None else _put(place, read) for read in reads]
    return all(given) and any(_lies_there(*one) for several in given for one in several)


def _put(place: Place, read: ast.Name) -> list[tuple[Place, ast.expr]]:
    """What the function that gets a tensor writes into parts of it, beside numbers, and does no more with it: `match(truths, conf_t, i)`."""
    call = place.flow.parents[read]
    if not isinstance(call, ast.Call) or not isinstance(place.flow.parents.get(call), ast.Expr):
        return []
    found = place.may_run(call)
    if len(found) != 1 or (function := found[0]).nested:
        return []
    name = function.parameter_given(call, read) or ""
    loads = function.flow.loads.get(name, ())
    if name in function.flow.stores or len(loads) > MOST_USES:
        return []
    given: list[tuple[Place, ast.expr]] = []
    for load in loads:
        there = place.at(function, load)
        if gets_number(there, load):
            continue
        put = written(there, load)
        if put is None:
            return []
        given.append((there, put))
    return given


def _lies_there(place: Place, node: ast.expr) -> bool:
    """Whether an expression is a tensor of the device, which the function does not send there itself, sooner or later."""
    root = root_of(node, ast.Call, ast.Attribute, ast.Subscript)
    loads = place.flow.loads.get(root.id, ()) if root is not None else ()
    if any(move_of(place, load) is not None for load in loads):
        return False
    return device_tensor(place, node) is node or _is_picked_there(place, node)


def _is_picked_there(place: Place, node: ast.expr) -> bool:
    """Whether a tensor is calculated of elements that a tensor of the device picks, of what is there, too: `labels[best] + 1`."""
    bound = place.function.bindings.reach.get(node)
    if isinstance(node, ast.Name) and isinstance(bound, Stored):
        node = assigned(place.function, node) or node
    elif isinstance(bound, Assigned):
        node = bound.node
    while isinstance(node, ast.BinOp):
        node = node.left
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Name):
        return False
    index = place.value(node.slice)
    if not index.is_tensor or index.scalar or isinstance(place.function.bindings.reach.get(node.slice), Iterated):
        return False  # a single number picks of the host, too
    return device_tensor(place, node.slice) is node.slice


def _by_numbers_alone(place: Place, value: ast.expr) -> ast.expr | None:
    """What is calculated with numbers, and by functions of each element: `torch.exp(torch.arange(2) * -scale)`."""
    for _ in range(_STEPS):
        if isinstance(value, ast.UnaryOp):
            value = value.operand
        elif isinstance(value, ast.BinOp):  # `torch.ones(2) * float("inf")`
            left = place.value(value.left).kind == "tensor"
            value, other = (value.left, value.right) if left else (value.right, value.left)
            if not _is_number(place, other):
                return None
        elif isinstance(value, ast.Call) and len(value.args) == 1 and place.resolve(value.func) in OF_ELEMENTS:
            value = value.args[0]
        else:
            return value
    return None


def _calculated(place: Place, node: ast.expr, steps: int, *, before: bool = False) -> tuple[ast.Call, ...]:
    """The factories in what is calculated on the host of factories and numbers alone; none where it is made of more.

    `before`: also those of what was made before the loop of the place for that alone.
    """
    if not isinstance(node, ast.Call):
        return _looked_into(place, node, steps, before)
    # The calls of a chain of methods are places, too.
    key = ("calculated", node, steps, before, place.statement, tuple(place.flow.loops(place.target)))
    return place.once(key, lambda: _looked_into(place, node, steps, before))


def _looked_into(place: Place, node: ast.expr, steps: int, before: bool) -> tuple[ast.Call, ...]:
    """The same, worked out."""
    if isinstance(node, ast.Name):
        added: list[ast.expr] = []
        named = steps and node.id not in place.flow.globals
        ways = (assigned_on_all_ways(place.function, node, added) or _assigned_once(place, node)) if named else []
        if not ways or _is_fed(place, node, steps):
            return ()
        if not all(_is_number(place, one) or _calculated(place, one, steps - 1) for one in added):
            return ()
        loops = place.flow.loops(place.target)
        for way in ways:
            around = place.flow.loops(way)
            outside = around == loops[len(loops) - len(around) :] and len(place.flow.loads[node.id]) == 1
            if around != loops and not (before and outside):
                return ()
        given = [_calculated(place, way, steps - 1, before=before) for way in ways]
        return tuple(dict.fromkeys(itertools.chain(*given))) if all(given) else ()
    if isinstance(node, ast.ListComp):
        return _calculated(place, node.elt, steps, before=before)
    if isinstance(node, ast.Call):
        if (made := factory(place, node)) is not None:
            return (made,)
        if any(says(place, node) for says in (_of_numpy, _counts, _by_python, _by_sizes, _by_numbers, _is_drawn)):
            return (node,)
        if _given_by_function(place, node, steps):
            return (node,)
        if (made := _one_hot(place, node)) is not None:
            return (made,)
        if steps and (handed := _handed_on(place, node, steps)):
            return handed
        if (default := default_of(node)) is not None:
            return _calculated(place, default, steps)
    found = [(part, _calculated(place, part, steps, before=before)) for part in _parts(place, node)]
    if not any(made for _, made in found):
        return ()  # most are calculated from nothing that was made here: what is a number takes longer to tell
    parts = [made for part, made in found if not _is_number(place, part)]
    return tuple(dict.fromkeys(itertools.chain(*parts))) if all(parts) else ()


def _assigned_once(place: Place, name: ast.Name) -> list[ast.expr]:
    """The call that makes what a name of a function is, where loops over numbers write numbers into parts of it: `for h in slices: mask[:, h] = count`."""
    flow = place.flow
    parts = [part for part in flow.stored_in.get(name.id, ()) if part.lineno < name.lineno]
    values = values_of(place.function, name) if parts else None
    made = values[0] if values is not None and len(values) == 1 else None
    if not isinstance(made, ast.Call):
        return []
    around = flow.loops(made)
    written = all(
        is_number_put(place, part)
        and not any(
            isinstance(one, ast.Subscript | ast.Call) for one in ast.walk(part.slice)
        )  # `mask[i, : lengths[i]]`
        and all(
            isinstance(loop, ast.For) and _is_of_numbers(place, loop.iter)
            for loop in flow.loops(part)[: -len(around) or None]
        )
        for part in parts
    )
    return [made] if written else []


def _is_of_numbers(place: Place, rows: ast.expr) -> bool:
    """Whether a loop goes through numbers and slices that are written out, by a name or there."""
    if isinstance(rows, ast.Name):
        rows = assigned(place.function, rows) or rows
    if isinstance(rows, ast.Tuple | ast.List):
        return all(isinstance(one, ast.Constant) or _is_slice(place, one) for one in rows.elts)
    return (
        isinstance(rows, ast.Call)
        and place.resolve(rows.func) == "range"
        and all(_is_number(place, one) for one in rows.args)
    )


def _is_slice(place: Place, node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and place.resolve(node.func) == "slice"


def _handed_on(place: Place, call: ast.Call, steps: int) -> tuple[ast.Call, ...]:
    """The factories in what a call gives to functions that look at nothing else, beside numbers: `partition(torch.zeros(n, n), 8)`."""
    given = given_to(call)
    if spreads(call) or place.resolve(call.func) is not None or place.value(call).device == "accelerator":
        return ()
    made = {one: _calculated(place, one, steps - 1) for one in given}
    if not any(made.values()) or not all(made[one] or _is_number(place, one) for one in given):
        return ()
    found = place.may_run(call)
    if not found or not all(closed.is_closed(place, one) for one in found):
        return ()
    return tuple(dict.fromkeys(itertools.chain(*made.values())))


def default_of(call: ast.Call) -> ast.expr | None:
    """What stands in for what is not there: `torch.ones(n)` of `batch.get("mask", torch.ones(n))`."""
    match call:
        case ast.Call(func=ast.Attribute(attr="get" | "pop"), args=[_, default], keywords=[]):
            return default
        case ast.Call(func=ast.Name(id="getattr"), args=[_, _, default], keywords=[]):
            return default
    return None


def _one_hot(place: Place, made: ast.Call) -> ast.Call | None:
    """The factory of `torch.zeros(n, classes).scatter_(1, labels.view(-1, 1), 1)`, which only gets a number where indices say, or `F.one_hot(labels)` of a batch."""
    func = made.func
    if place.resolve(func) == "torch.nn.functional.one_hot":
        labels = place.value(made.args[0]) if made.args else None
        if labels is None or not labels.is_tensor:
            return None
        return made if labels.from_loader and labels.on_cpu and not labels.managed else None
    if not (
        isinstance(func, ast.Attribute) and func.attr in ("scatter_", "scatter") and isinstance(func.value, ast.Call)
    ):
        return None
    put = argument_of(made, "src", 2) or keyword_of(made, "value")
    if put is None or keyword_of(made, "reduce") is not None or place.value(put).kind != "number":
        return None
    return factory(place, func.value)


def _given_by_function(place: Place, made: ast.Call, steps: int) -> bool:
    """Whether a call, on steps, evaluations or in forwards, is of a function of the project that gives what it fills: `self.sample_timesteps(n)`."""
    value = place.value(made)
    tensors = _tensors(value)
    if not steps or not tensors or any(one.device not in ("cpu", "") for one in tensors):
        return False
    found = place.may_run(made)
    if not found or not _is_asked_often(place, made):
        return False
    on_cpu = all(one.on_cpu for one in tensors)
    if _is_given_numbers(place, made, found) and (on_cpu or not _is_given_device(made, found)):
        return True
    if value.kind != "tensor":
        return False
    if _is_read_back(place, made, found):
        return True
    return all(_fills(place, function, steps - 1) for function in found)


def _tensors(value: Value) -> list[Value]:
    """The tensor that a function gives, or those of several values that it gives."""
    parts = value.items or () if value.kind == "tuple" and not value.other_kinds else (value,)
    return [one for one in parts if one.kind == "tensor"]


def _is_read_back(place: Place, made: ast.Call, found: list[Function]) -> bool:
    """Whether a call gives tensors of the device to functions that look at nothing else, and calculate on the host: `make_pad_mask(lengths)`."""
    if spreads(made):
        return False
    others = [one for one in given_to(made) if not _is_single(place, one)]
    if not others or not all(device_tensor(place, one) is not None for one in others):
        return False
    return gives_on_host(place, made, found) and all(closed.is_closed(place, one) for one in found)


def _is_given_device(made: ast.Call, found: list[Function]) -> bool:
    """Whether a call may say where functions shall make something: `grid(n, device=0)`, where the default is None."""
    for function in found:
        sent_to = {
            given.id
            for call in function.flow.calls_named("to")
            for given in given_to(call)
            if isinstance(given, ast.Name)
        }
        for name in function.positions:
            given = function.argument(made, name) or function.defaults.get(name)
            says = name in sent_to or _SAYS_WHERE.search(name) is not None
            if says and given is not None and not is_constant(given, None):
                return True
    return False


def _is_given_numbers(place: Place, made: ast.Call, found: list[Function]) -> bool:
    """Whether a call gives numbers alone to functions that look at nothing else: `grasp_views(300)`."""
    if any(isinstance(one, ast.Starred) for one in made.args) or any(one.arg is None for one in made.keywords):
        return False
    return all(closed.is_closed(place, one) for one in found) and all(map(partial(_is_single, place), given_to(made)))


def _is_single(place: Place, node: ast.expr) -> bool:
    """Whether an expression is a number, a size or shape, or several numbers each of which is known; other lists of numbers may be data."""
    if isinstance(node, ast.Tuple | ast.List):
        return all(_is_single(place, one) for one in node.elts)
    value = place.value(node)
    several = value.items is not None or value.element is not None
    if value.items is not None and not (isinstance(node, ast.Name) and is_written(place.function, node.id)):
        several = False
    return _is_number(place, node) and (value.kind == "size" or not several)


def _is_asked_often(place: Place, made: ast.Call) -> bool:
    """Whether a function is called on steps or evaluations, or in the forward of a module."""
    own = place.in_forward and syntax.own_attribute(place.function, made.func) is not None
    if own or place.hot is not None or place.warm is not None or place.warm_caller is not None:
        return True
    return frequency.in_forward(place)


def _fills(place: Place, function: Function, steps: int) -> bool:
    """Whether a function gives what it fills on the host, of numbers alone, on its only way out."""
    end = function.end if not function.is_replaced else None
    given = end.value if isinstance(end, ast.Return) else None
    if given is None or any(one is not end for one in function.flow.returns):
        return False
    inner = place.at(function, given)
    return inner.value(given).device != "accelerator" and bool(_calculated(inner, given, steps))


def _parts(place: Place, node: ast.expr) -> list[ast.expr]:
    """What an expression calculates with; nothing where that is not known."""
    if isinstance(node, ast.Call):
        name = place.resolve(node.func)
        given = given_to(node)
        if name is None and isinstance(node.func, ast.Attribute) and node.func.attr in _BY_NUMBERS:
            return [node.func.value]
        fresh = isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call)
        changes = fresh and names.last(node.func) in _CHANGES
        if name is None and isinstance(node.func, ast.Attribute) and (changes or not _writes(node.func)):
            return [node.func.value, *given]
        if name in _REARRANGE:
            return given[:1]
        plain = name is not None and name.startswith("torch.") and name.count(".") == 1
        return given if plain else []
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.List | ast.Tuple):
        return list(node.elts)
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.Attribute):
        return [node.value] if node.attr in _TURNED else []
    return [node.value] if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Name) else []


def _is_number(place: Place, node: ast.expr) -> bool:
    """A number, a word, a dtype, or several numbers: what says how a calculation goes."""
    value = place.value(node)
    if value.items is not None or value.element is not None:
        return all(one is not None and one.kind == "number" for one in value.items or (value.element,))
    if value.kind in _NO_TENSORS:
        return value.other_kinds <= _NO_TENSORS or (value.kind == "number" and _is_share(place, node))
    if value.kind == "name":
        return place.resolve(node) in _NUMPY_TYPES
    return not value and (_is_share(place, node) or _is_scalar(place, node, _STEPS))


def _is_scalar(place: Place, node: ast.expr, steps: int) -> bool:
    """Whether something unknown is a number, since it is calculated of numbers and of what sizes are given by."""
    if isinstance(node, ast.UnaryOp):
        return _is_scalar(place, node.operand, steps)
    if isinstance(node, ast.BinOp):
        return _is_scalar(place, node.left, steps) and _is_scalar(place, node.right, steps)
    if isinstance(node, ast.IfExp):
        return _is_scalar(place, node.body, steps) and _is_scalar(place, node.orelse, steps)
    if place.value(node).kind == "number":
        return True
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        default = argparse_defaults(place.function.module).get(node.attr)
        if isinstance(default, int | float) and not isinstance(default, bool):
            return True  # `args.classes`
    if isinstance(node, ast.Attribute) and (node.attr.isupper() or _OF_TOKENS.search(node.attr)):
        return not place.value(node)  # `tokenizer.pad_token_id`, `vocab.EOS`
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return not place.value(node) and _is_scalar(place, node.value, steps)  # `self.ratios[0]`
    klass, attribute = place.function.cls, syntax.own_attribute(place.function, node)
    if klass is not None and attribute is not None:
        return not place.value(node) and place.project.is_option(klass, attribute)
    if not isinstance(node, ast.Name) or place.value(node) or not steps:
        return False
    if any(_is_size(place, load) for load in place.flow.loads.get(node.id, ())[:MOST_USES]):
        return True
    bound = place.function.bindings.reach.get(node)
    made = bound.node if isinstance(bound, Assigned) else None
    return isinstance(made, ast.BinOp | ast.IfExp | ast.Subscript) and _is_scalar(place, made, steps - 1)


def _is_share(place: Place, node: ast.expr) -> bool:
    """`p` of `torch.rand(n) < p`: what lies elsewhere is not compared with what is drawn on the host."""
    compared = place.flow.parents.get(node)
    if not isinstance(compared, ast.Compare) or len(compared.comparators) != 1:
        return False
    drawn = compared.left if compared.left is not node else compared.comparators[0]
    return isinstance(drawn, ast.Call) and place.resolve(drawn.func) == "torch.rand"


def _is_size(place: Place, load: ast.Name) -> bool:
    """`torch.arange(n)`, `range(n)`"""
    call = place.flow.parents.get(load)
    named = isinstance(call, ast.keyword) and call.arg in _SIZED_BY
    call = place.flow.parents.get(call) if named and call is not None else call
    if not isinstance(call, ast.Call) or not (named or load in call.args):
        return False
    name = place.resolve(call.func) or ""
    return name == "range" or name.removeprefix("torch.") in ("arange", "zeros", "ones", "empty", "randperm", "eye")


def _of_numpy(place: Place, call: ast.Call) -> bool:
    """`torch.from_numpy(np.eye(k).flatten())`, and of an array that is written out, or of random numbers."""
    if len(call.args) != 1 or place.resolve(call.func) not in _OF_ARRAYS or keyword_of(call, "device") is not None:
        return False
    if is_filled_by_numpy(place, call.args[0]):
        return True
    data = _array_of(place, _made_array(place, call.args[0]))
    if data is None or place.resolve(call.func) != "torch.from_numpy":
        return False
    return not any(isinstance(part, ast.Name | ast.Call) for part in ast.walk(data))


def is_filled_by_numpy(place: Place, array: ast.expr) -> bool:
    """Whether NumPy fills an array, or draws it, by numbers alone: `np.eye(k).flatten()`."""
    made = _made_array(place, array)
    if not isinstance(made, ast.Call):
        return _is_calculated_array(place, made)
    name = place.resolve(made.func)
    if name in _NUMPY_AGAIN:
        return _is_again(place, made)
    if name == "numpy.random.choice":
        return _is_chosen(place, made)
    if name in _NUMPY_OF_ELEMENTS or name == "numpy.array":
        return _is_calculated_array(place, made)
    if name not in _NUMPY_RANDOM:
        return name in _NUMPY or _is_array_of_numbers(place, made)
    given = given_to(made)
    # A tuple that is written out is the shape.
    return bool(given) and (
        name in _NUMPY_OF_SIZES or all(isinstance(one, ast.Tuple) or _is_number(place, one) for one in given)
    )


def _is_array_of_numbers(place: Place, made: ast.Call) -> bool:
    """Whether a call is of a function of the project that calculates an array of numbers alone: `sinusoid_table(n, width)`."""
    if place.value(made).kind != "ndarray":
        return False
    found = place.may_run(made)
    return bool(found) and _is_asked_often(place, made) and _is_given_numbers(place, made, found)


def calculated_of(place: Place, made: ast.Call) -> ast.expr:
    """The whole array that is calculated of what NumPy fills, as it stands there: `np.abs(0.5 * np.ones(n)).reshape(-1)` of `np.ones(n)`."""
    whole: ast.expr = made
    for child, parent in place.flow.upwards(made):
        if isinstance(parent, ast.Call):
            of_numpy = parent.func is not child and place.resolve(parent.func) in _NUMPY_OF_ELEMENTS
            is_part = parent.func is child or of_numpy
        elif isinstance(parent, ast.Attribute | ast.Subscript):
            is_part = parent.value is child
        else:
            is_part = isinstance(parent, ast.BinOp | ast.UnaryOp | ast.Compare)
        if not is_part or not isinstance(parent, ast.expr):
            break
        whole = parent
    return whole


def first_fill(place: Place, array: ast.expr) -> ast.Call | None:
    """The first call in an array that NumPy fills one by."""
    calls = (node for node in ast.walk(array) if isinstance(node, ast.Call))
    found = (call for call in calls if place.resolve(call.func) in _NUMPY_FILLING)
    return min(found, key=lambda call: (call.lineno, call.col_offset), default=None)


def _array_of(place: Place, made: ast.expr | None) -> ast.expr | None:
    """What `np.array(...)` makes an array of."""
    if not isinstance(made, ast.Call) or place.resolve(made.func) != "numpy.array" or len(made.args) != 1:
        return None
    return made.args[0]


def _is_calculated_array(place: Place, node: ast.expr | None) -> bool:
    """Whether an array is calculated, element by element, of arrays that NumPy fills or an object keeps, and of numbers alone.

    `np.sin(np.arange(n) / 8)`, `np.array([self.times**i for i in range(n)])`.
    """
    rows = _array_of(place, node)
    if isinstance(rows, ast.ListComp):
        counted = all(syntax.is_counted(place.resolve, one.iter, ()) and not one.ifs for one in rows.generators)
        parts = [rows.elt] if counted else []
    elif isinstance(node, ast.UnaryOp):
        parts = [node.operand]
    elif isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    elif isinstance(node, ast.Compare):
        parts = [node.left, *node.comparators]
    elif isinstance(node, ast.Call) and place.resolve(node.func) in _NUMPY_OF_ELEMENTS and not node.keywords:
        parts = node.args
    else:
        return False
    arrays = [part for part in parts if not _is_number(place, part)]
    return bool(arrays) and all(always_kept_array(place, one) or is_filled_by_numpy(place, one) for one in arrays)


def _is_chosen(place: Place, made: ast.Call) -> bool:
    """`np.random.choice(np.arange(n), batch_size)`, `np.random.choice(n, size=(batch_size,), p=weights)`: several numbers that are counted."""
    drawn, size = argument_of(made, "a", 0), argument_of(made, "size", 1)
    if drawn is None or size is None or not (isinstance(size, ast.Tuple) or _is_number(place, size)):
        return False
    counted = syntax.is_counted(place.resolve, drawn, ("list",)) or is_filled_by_numpy(place, drawn)
    return counted or _is_number(place, drawn)


def _is_again(place: Place, made: ast.Call) -> bool:
    """`np.repeat(range(ways), shots)`, `np.tile(np.arange(n), 2)`, `np.tile(self.means, (n, 1))`: numbers that are counted, or kept, so often each."""
    given = given_to(made)
    if len(given) < 2 or any(isinstance(one, ast.Starred) for one in given) or given[0] not in made.args:
        return False
    counted = syntax.is_counted(place.resolve, given[0], ("list",)) or is_filled_by_numpy(place, given[0])
    same = counted or always_kept_array(place, _sliced(given[0]))
    return same and all(_is_number(place, one) for one in given[1:])


def _sliced(node: ast.expr) -> ast.expr:
    """`self.means` of `self.means[None, :n]`"""
    while isinstance(node, ast.Subscript) and all(
        isinstance(part, ast.Slice | ast.Constant) for part in indices(node.slice)
    ):
        node = node.value
    return node


def _made_array(place: Place, node: ast.expr) -> ast.expr | None:
    """`np.eye(k)` of `np.eye(k).flatten()` and `np.eye(k)[:2]`, also where what is made has a name for that alone."""
    for _ in range(_STEPS):
        if isinstance(node, ast.Name):
            made = _made_for(place, node)
            if made is None:
                return None
            node = made
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and place.resolve(node.func) is None:
            node = node.func.value
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            node = node.value
        else:
            break
    return node


def _made_for(place: Place, name: ast.Name) -> ast.expr | None:
    """What a name was assigned for one place alone, as often as that runs; numbers may be written into it: `label[i, j] = 1`.

    A step may take a part of what was made for several: `order[i : i + size]`.
    """
    bound = place.function.bindings.reach.get(name)
    while isinstance(bound, Stored) and isinstance(bound.node.value, ast.Name):
        bound = place.function.bindings.reach.get(bound.node.value)
    if not isinstance(bound, Assigned) or name.id in place.flow.globals:
        return None
    loops = place.flow.loops
    for read in readers(place.function, name.id, bound.node):
        put = gets_number(place, read) and loops(read) == loops(name)
        if not (read is name or put or tells_shape(place, read) or _becomes_tensor(place, read)):
            return None
    part, around, within = place.flow.parents[name], loops(bound.node), loops(name)
    if isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Slice) and place.hot is not None:
        within = within[len(within) - len(around) :]
    return bound.node if within == around else None


def _becomes_tensor(place: Place, read: ast.Name) -> bool:
    """Whether what is calculated of an array there is made a tensor, too: `torch.from_numpy(np.where(window > 0)[0])`."""
    for parent in place.flow.ancestors(read):
        if isinstance(parent, ast.Call) and place.resolve(parent.func) in _OF_ARRAYS:
            return place.flow.loops(parent) == place.flow.loops(place.target)
        if not isinstance(parent, ast.Call | ast.Compare | ast.Subscript | ast.BinOp):
            return False
    return False


def _counts(place: Place, call: ast.Call) -> bool:
    """`torch.LongTensor(range(n))`, `torch.from_numpy(np.array(range(n)))`: an `arange`.

    TL113 tells of what no array is made of in between, where it is moved as it is made.
    """
    if len(call.args) != 1 or place.resolve(call.func) not in _OF_DATA:
        return False
    given = call.args[0]
    if syntax.is_counted(place.resolve, given, ("list",)):
        return not _moved_as_made(place, call)
    return syntax.is_counted(place.resolve, given, ("list", "numpy.array"))


def _by_python(place: Place, call: ast.Call) -> bool:
    """`torch.tensor([math.exp(-i * i) for i in range(n)])`: numbers that are calculated of those that are counted, as TL113 says where it is moved as it is made."""
    if len(call.args) != 1 or place.resolve(call.func) not in _OF_ARRAYS or keyword_of(call, "device") is not None:
        return False
    listed = call.args[0]
    if not syntax.is_made_of_counted(place.resolve, listed) or not _is_number(place, listed):
        return False
    assert isinstance(listed, ast.ListComp)
    counters = {node.id for one in listed.generators for node in ast.walk(one.target) if isinstance(node, ast.Name)}
    calls = [node for node in ast.walk(listed.elt) if isinstance(node, ast.Call)]
    called = {id(part) for call in calls for part in ast.walk(call.func)}
    names_ = (node for node in ast.walk(listed.elt) if isinstance(node, ast.Name) and id(node) not in called)
    functions = (place.resolve(call.func) or "" for call in calls)
    return all(name in _OF_NUMBERS or name.startswith("math.") for name in functions) and all(
        node.id in counters or _is_number(place, node) for node in names_
    )


def _moved_as_made(place: Place, made: ast.Call) -> bool:
    """Whether the move is a method of what a call makes, or of what methods make of that: `made(...).view(-1).cuda()`."""
    node = place.target
    while node is not made and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    return node is made


def _by_numbers(place: Place, call: ast.Call) -> bool:
    """`torch.triu_indices(n, n)`, `torch.normal(0, 1, size=(n, 3))`, the mask of a decoder: what other factories there are."""
    name = place.resolve(call.func)
    if _is_kept(call):
        return False
    if name == "torch.normal":
        return keyword_of(call, "size") is not None and all(_is_number(place, one) for one in given_to(call))
    return name in _PAIRS or _is_causal_mask(place, call)


def _is_causal_mask(place: Place, call: ast.Call) -> bool:
    """`nn.Transformer.generate_square_subsequent_mask(n)`, also as a method of such a model."""
    if names.last(call.func) != _MASKS:
        return False
    name = place.resolve(call.func)
    if name is not None or not isinstance(call.func, ast.Attribute):
        return name == table.CAUSAL_MASK
    return place.value(call.func.value).class_name == _OF_MODELS


def _is_drawn(place: Place, call: ast.Call) -> bool:
    """`torch.distributions.Beta(0.1, 0.1).sample((n, 1))`, of a distribution that is made of numbers and stays on the host."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("sample", "rsample"):
        return False
    drawn_of = place.value(call.func.value)
    if drawn_of.kind != "distribution" or drawn_of.device != "cpu" or drawn_of.other_kinds:
        return False
    return not place.function.module.source.holds(_SENT_THERE)


def _by_sizes(place: Place, call: ast.Call) -> bool:
    """`torch.FloatTensor(n, 3)`, `torch.Tensor(*x.shape)`, `torch.Tensor(size=(n,))`: memory of the host, by how much of it; what it shall hold is one thing."""
    if place.resolve(call.func) not in OF_HOST or not (call.args or call.keywords):
        return False
    if call.keywords:
        return not call.args and [given.arg for given in call.keywords] == ["size"]
    if len(call.args) > 1:
        return True
    given = call.args[0]
    value = place.value(given.value if isinstance(given, ast.Starred) else given)
    return value.kind == "size" or (value.kind == "number" and value.integer and not value.other_kinds)


def _writes(method: ast.Attribute) -> bool:
    """Whether a method writes into its tensor, other than numbers that it makes itself: `x.zero_()`."""
    return method.attr.endswith("_") and method.attr not in _FILLS


def _is_fed(place: Place, name: ast.Name, steps: int) -> bool:
    """Whether something is written into a tensor before the place, or it is given to what may do so."""
    if len(place.flow.loads.get(name.id, ())) > MOST_USES:
        return True
    for load in fellows(place.function, name):
        if load is name or load.lineno > place.statement.lineno:
            continue
        part, parent = _part(place, load)
        if isinstance(getattr(part, "ctx", None), ast.Store) and not is_number_put(place, part):
            put = place.flow.parents[part]
            made = put.value if isinstance(put, ast.Assign) and put.targets == [part] and steps else None
            if made is None or not _calculated(place, made, steps - 1):
                return True
        if isinstance(parent, ast.Attribute) and _writes(parent):
            return True
        if isinstance(parent, ast.Call) and not _is_of_torch(place, parent):
            return True
    return False


def _has_host_beside(place: Place, name: ast.Name) -> bool:
    """Whether a tensor of the host takes what is moved, too, which has to be there for that: `data[perm]` beside `perm.cuda()`."""
    made = assigned(place.function, name)
    if made is None or name.id in place.flow.globals or len(place.flow.loads[name.id]) > MOST_USES:
        return False
    end = made.end_lineno or made.lineno
    return any(
        _meets_host(place, read)
        for read in readers(place.function, name.id, made)
        if read is not name and read.lineno > end and not syntax.exclusive(place.flow, read, name)
    )


def _has_part_left(place: Place, name: ast.Name) -> bool:
    """Whether another part of what a function of the project gave is not moved: `points, pixels = draw(n)`, where the host reads colors at `pixels`."""
    bound = place.function.bindings.reach.get(name)
    if not isinstance(bound, Part) or not isinstance(bound.whole, Assigned):
        return False
    made = bound.whole.node
    statement = place.flow.parents.get(made)
    if not isinstance(made, ast.Call) or not isinstance(statement, ast.Assign) or not place.may_run(made):
        return False
    others = set().union(*map(names_in, statement.targets)) - {name.id}
    reads = itertools.chain.from_iterable(readers(place.function, other, made) for other in others)
    return any(
        place.value(read).kind != "number" and move_of(place, read) is None and not tells_shape(place, read)
        for read in reads
    )


def _meets_host(place: Place, read: ast.Name) -> bool:
    """Whether what a name holds is an index of what may be on the host, or is calculated with what is there."""
    for child, parent in place.flow.upwards(read):
        if isinstance(parent, ast.Subscript) and parent.slice is child:
            return not (is_of_device(place, parent) or _calculated(place, parent.value, _STEPS))
        if isinstance(parent, ast.Attribute):
            if parent.attr in _LEAVES:
                return False
            continue
        if isinstance(parent, ast.Call):
            beside = given_to(parent)
            if isinstance(parent.func, ast.Attribute) and child is not parent.func:
                beside = [*beside, parent.func.value]
        elif isinstance(parent, ast.BinOp | ast.Compare | ast.UnaryOp | ast.Tuple | ast.List | ast.Subscript):
            beside = [one for one in ast.iter_child_nodes(parent) if isinstance(one, ast.expr)]
        else:
            return False
        if any(_is_of_host(place, one) for one in beside if one is not child):
            return True
    return False


def _is_of_host(place: Place, node: ast.expr) -> bool:
    """Whether a tensor is on the host, and not filled by numbers alone."""
    value = place.value(node)
    of_host = value.kind == "tensor" and (value.on_cpu or value.from_loader)
    return of_host and not _calculated(place, node, _STEPS)


def _is_of_torch(place: Place, call: ast.Call) -> bool:
    """Whether a call calculates a tensor, by a function of torch: `torch.save(x, path)` reads it."""
    return (place.resolve(call.func) or "").startswith("torch.") and place.value(call).kind == "tensor"


def _part(place: Place, load: ast.Name) -> tuple[ast.expr, ast.AST]:
    """`x[i][1:]` of `x`, and what that stands in."""
    part: ast.expr = load
    parent = place.flow.parents[load]
    while isinstance(parent, ast.Subscript) and parent.value is part:
        part, parent = parent, place.flow.parents[parent]
    return part, parent
