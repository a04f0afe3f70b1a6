from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from torchlint.facts import frequency, syntax
from torchlint.facts import host_reads as reads
from torchlint.facts.names import last
from torchlint.facts.nodes import keyword_of
from torchlint.facts.operator_results import is_copied
from torchlint.facts.sending import move_of, moved_next
from torchlint.facts.told import Construction
from torchlint.facts.values import Tensor, Value
from torchlint.rule import Finding, Site, chain, rule

_READS = "`{}` reads the tensors of the list back to the host, one after the other"
_OF_NUMBERS = frozenset("exp expm1 log log1p log2 log10 sqrt rsqrt sin cos tan tanh atan pow".split())
"""Functions of torch that `math` has, too, or that a power is: `torch.log(torch.tensor(n))` is `math.log(n)`."""
_CASTS = frozenset("float double half bfloat16 to cuda type".split())
_VIEWS = frozenset("expand_dims squeeze reshape ravel transpose swapaxes moveaxis rollaxis broadcast_to view".split())
"""What NumPy gives a view of, or may."""


@rule(
    "TL407",
    shape=[
        "torch.tensor(data := $given, ...)",
        "torch.stack(tensors := $given, ...)",
        "$x.new_tensor($given)",
    ],
    severity="info",
    fix="safe",
    impact="low",
    category="data",
)
def slow_tensor_construction(site: Site) -> Iterator[Finding]:
    """A tensor is made of arrays or tensors by way of Python objects.

    ## What it does

    Finds `torch.tensor()` of a list of arrays, of an array that a NumPy call has just made (in loops, forward passes
    and data loading), of a tensor, in loops and forward passes of a list of tensors, of what is left of a row (`for *box, score in detections:`), or of numbers with one of the device among them (`torch.tensor([hits, n])`; such of the device alone wherever something else calls the function), and `x.new_tensor([hits])` of such, `torch.tensor(numbers)[i].item()` in loops, `torch.tensor(range(n))` there, in forward passes and in data loading,
    a function of one number by way of a tensor (`x / torch.sqrt(torch.tensor(n))`) on steps and in forward passes, and
    `torch.stack([torch.tensor(v) for v in values])`.

    ## Why is this slow?

    A list of arrays is converted number by number: torch itself warns that this is extremely slow. An array is copied
    although nobody else holds it, a tensor is copied with a warning, and a stack of scalars makes a tensor for each.
    Of a list of tensors each is read back to the host like by `item()`, which waits where it is on the device, and the
    gradients are lost; `torch.stack` keeps them where they are.

    ## When it does not matter

    A few numbers at set-up. Lists of Python numbers are what `torch.tensor()` is for. An array that gets another dtype is
    copied in any case: none that is made with `dtype=` is reported, unless it has that dtype by name. A parameter or a field that is
    only annotated as a tensor is passed over: a program that converts it was given something else.

    ## Bad

    ```python
    import numpy as np

    def history(values):
        arrays = [np.zeros(4) for _ in values]
        return torch.tensor(arrays)  # TL407
    ```

    ## Good

    ```python
    import numpy as np

    def history(values):
        arrays = [np.zeros(4) for _ in values]
        return torch.from_numpy(np.stack(arrays))  # ok
    ```

    ## Fix safety

    `torch.tensor(np.zeros(n))` becomes `torch.as_tensor(...)`, which takes over the memory that the NumPy call made for
    it; this is done for calls that always make a new array, and is unsafe where the project resizes tensors in place
    (`resize_`), keeps it as a parameter or buffer, makes an array that holds nothing, or where the file names `out=`, or another one has
    torch write to one (`torch.cat(parts, out=buffer)`), which resizes: memory of NumPy can't be resized. It is unsafe, too, where a class of the project gives itself as an array (`__array__`), which
    may be its own memory whatever NumPy asks for, and where the project puts something else in the place of the NumPy function.
    Unsafe: `torch.tensor(t)` of a proven tensor becomes `t.detach().clone()`, the same value, dtype and strides without
    the warning, but on the device of `t` where `torch.tensor` goes to the default one. A list of arrays becomes
    `torch.from_numpy(np.array(...))`, where arrays of several dtypes take NumPy's common one, and an empty list gives
    double precision.

    ## References

    - https://docs.pytorch.org/docs/stable/generated/torch.tensor.html
    - https://docs.pytorch.org/docs/stable/generated/torch.as_tensor.html
    """
    given = site.part("given")
    if site.role == "test" or site.spread:
        return
    if site.name == "torch.stack()":
        if _is_converted(site, given):
            yield site.finding(f"`{site.short()}` makes a tensor for each number")
        return
    if site.pattern.startswith("$x"):
        if _holds_tensors(site, given):
            yield site.finding(_READS.format(site.short()))
        return
    value = site.value(given)
    if _is_list_of_arrays(given, value):
        yield site.finding(f"`{site.short()}` converts a list of arrays number by number", told=Construction("arrays"))
    elif (
        (value.is_tensor or (value.kind == "tensor" and is_copied(value)))
        and not value.other_kinds
        and not (_is_only_declared(site, given) or _is_excluded(site, given) or _is_collated(value))
    ):
        yield site.finding(f"`{site.short()}` copies a tensor, and warns on every call", told=Construction("tensor"))
    elif value.kind in ("list", "tuple") and _is_list_of_tensors(site, given):
        yield site.finding(_READS.format(site.short()))
    elif (one := _rewrapped(site, given)) is not None:
        message = f"`{site.short()}` makes a number of a tensor and a tensor of it again; `{site.short(one)}.reshape(1)` makes neither"
        yield site.finding(message)
    elif (calculated := _of_a_number(site, value)) is not None and _runs_again(site) and not _is_moved(site):
        message = (
            f"`{site.short(calculated)}` calculates with one number by way of a tensor; `math` does so without one"
        )
        yield site.finding(message, at=calculated)
    elif _is_range(site, given) and _repeats(site) and not _is_moved(site):
        yield site.finding(f"`{site.short()}` counts number by number in Python; `torch.arange` does so at once")
    elif value.kind == "list" and _is_read_back(site):
        yield site.finding(f"`{site.short()}` is made to read one element back: the list has it")
    elif (
        isinstance(given, ast.Call)
        and value.kind == "ndarray"
        and _is_made(site, given)
        and _repeats(site)
        and not _converts(site, given)
    ):
        yield site.finding(f"`{site.short()}` copies an array that nobody else holds", told=Construction("array"))


def _is_list_of_arrays(given: ast.expr, value: Value) -> bool:
    """A list of arrays; of the items of a written list, `[times[0]]`, only what a call makes is no mere number of one."""
    if value.kind not in ("list", "tuple") or value.element is None or value.element.kind != "ndarray":
        return False
    if value.element.other_kinds:
        return False  # what an array holds may be its numbers
    return not isinstance(given, ast.List | ast.Tuple) or all(isinstance(item, ast.Call) for item in given.elts)


def _is_list_of_tensors(site: Site, given: ast.expr) -> bool:
    if _is_rest_of_row(site, given):
        return True
    items = _items(site, given)
    written = isinstance(given, ast.List | ast.Tuple)
    read = all(_is_tensor(site, item) for item in items) or (written and any(_is_read(site, item) for item in items))
    if not items or not read:
        return False
    if written and all(_is_there(site, item) for item in items) and _is_called(site):
        return True
    # Whether a loop elsewhere calls the function takes longest to tell.
    return bool(site.hot or site.warm or site.in_forward or site.loop() or site.warm_caller)


def _is_called(site: Site) -> bool:
    """Whether something calls the function that is neither a script, once, nor makes an object."""
    return any(
        one.function is not one.function.module.body and one.function.name != "__init__"
        for one in site.callers(site.function)
    )


def _is_there(site: Site, item: ast.expr) -> bool:
    """Whether an item is on the device for certain, or a number beside such."""
    value = site.value(item)
    return value.kind == "number" or (value.is_tensor and value.device == "accelerator")


def _is_rest_of_row(site: Site, given: ast.expr) -> bool:
    """Whether a list is what is left of a row of the device: `box` of `for *box, score, label in detections:`."""
    stores = site.flow.stores.get(given.id, ()) if isinstance(given, ast.Name) else ()
    element = site.value(given).element if stores else None
    if element is None or not element.is_tensor or element.other_kinds or element.device != "accelerator":
        return False
    return all(isinstance(site.flow.parents[store], ast.Starred) for store in stores)


def _holds_tensors(site: Site, given: ast.expr) -> bool:
    """`x.new_tensor([t, 1])` of tensors, numbers beside them, on steps, in evaluations and in forward passes; TL108 tells of `x.new([t])`."""
    if not isinstance(given, ast.List | ast.ListComp):
        return False
    items = given.elts if isinstance(given, ast.List) else [given.elt]
    values = [site.value(item) for item in items]
    beside = all(value.kind in ("tensor", "number") and value.other_kinds <= {"number"} for value in values)
    held = [(item, value) for item, value in zip(items, values, strict=True) if value.is_tensor and not value.on_cpu]
    if not beside or not any(reads.is_on_device(site, item) for item, _ in held):
        return False
    return bool(site.receiver.is_tensor and site.accelerator and _runs_again(site))


def _is_read(site: Site, item: ast.expr) -> bool:
    """Whether an item that is written out beside numbers is a tensor of the device for certain: `torch.tensor([hits, n])`."""
    value = site.value(item)
    return _is_tensor(site, item) and value.device == "accelerator" and value.is_tensor


def _rewrapped(site: Site, given: ast.expr) -> ast.expr | None:
    """The scalar tensor of `torch.tensor([t])` on each step, wherever it is."""
    if not (isinstance(given, ast.List) and len(given.elts) == 1 and site.hot):
        return None
    element = given.elts[0]
    value = site.value(element)
    certain = value.is_tensor and value.proven and not value.other_kinds
    named = isinstance(element, ast.Name) and not _is_only_declared(site, element)
    return element if certain and named and not site.call.keywords else None


def _items(site: Site, given: ast.expr) -> list[ast.expr]:
    """What a list is made of, and the lists in it: written out, by a comprehension, or appended to a name; none where there is more to it."""
    if isinstance(given, ast.List | ast.Tuple):
        return [item for one in given.elts for item in _items(site, one) or [one]]
    if isinstance(given, ast.ListComp):
        return [given.elt]
    if not isinstance(given, ast.Name) or given.id in site.flow.globals:
        return []
    found: list[ast.expr] = []
    for store in site.flow.stores.get(given.id, ()):
        statement = site.flow.parents[store]
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.List):
            found += statement.value.elts
        elif statement is not site.statement:
            return []
    for load in site.flow.loads.get(given.id, ()):
        method = site.flow.parents[load]
        if isinstance(method, ast.Attribute):
            call = site.flow.parents[method]
            if method.attr != "append" or not isinstance(call, ast.Call) or len(call.args) != 1:
                return []
            found += call.args
    return found


def _is_tensor(site: Site, item: ast.expr) -> bool:
    value = site.value(item)
    if isinstance(item, ast.Subscript):
        key = site.value(item.slice)
        if key.kind == "str" or not site.value(item.value).is_tensor:
            return False
    return value.is_tensor and not value.on_cpu and not value.other_kinds and not _is_only_declared(site, item)


def _is_read_back(site: Site) -> bool:
    """`torch.tensor(numbers)[i].item()` in a loop."""
    nodes = list(itertools.islice(site.flow.ancestors(site.call), 3))
    if len(nodes) < 3 or site.loop() is None:
        return False
    picked, method, read = nodes
    return (
        isinstance(picked, ast.Subscript)
        and picked.value is site.call
        and isinstance(method, ast.Attribute)
        and method.attr == "item"
        and isinstance(read, ast.Call)
        and read.func is method
    )


def _is_only_declared(site: Site, given: ast.expr) -> bool:
    """A parameter or a field: that the program converts it says more than its annotation."""
    key = chain(given)
    if key is None or key[0] not in site.function.positions:
        return False
    stores = site.flow.stores.get(key[0], ())
    return all(site.flow.statement(store) is site.statement for store in stores)


def _is_excluded(site: Site, given: ast.expr) -> bool:
    """`x if isinstance(x, torch.Tensor) else torch.tensor(x)`; `elif isinstance(x, Sequence) and x: torch.tensor(x)`; `torch.tensor(x[:, :])`"""
    given = _uncut(given)
    for guard in site.flow.guards(site.call):
        joined = guard.true and isinstance(guard.test, ast.BoolOp) and isinstance(guard.test.op, ast.And)
        for test in guard.test.values if joined and isinstance(guard.test, ast.BoolOp) else [guard.test]:
            asked = _asked(site, test, given)
            if asked is not None and asked is not guard.true:
                return True
    return False


def _uncut(node: ast.expr) -> ast.expr:
    """`self.x[i]` of `self.x[i][:, 1:]`: what slices leave is of the same kind."""
    while isinstance(node, ast.Subscript):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if not all(isinstance(part, ast.Slice) for part in parts):
            break
        node = node.value
    return node


def _asked(site: Site, test: ast.expr, given: ast.expr) -> bool | None:
    """Whether a test asks for a tensor, or for something that is none; None where it asks for neither."""
    if not (isinstance(test, ast.Call) and test.args and syntax.same(_uncut(test.args[0]), given)):
        return None
    if site.resolve(test.func) == "torch.is_tensor" or site.resolve(test.args[-1]) == "torch.Tensor":
        return True
    return False if chain(test.func) == ["isinstance"] and not isinstance(test.args[-1], ast.Tuple) else None


def _of_a_number(site: Site, value: Value) -> ast.Call | None:
    """`torch.log(torch.tensor(n))`, `torch.sqrt(torch.tensor(n).float())` of what is a number and nothing else, and needs no gradient."""
    if value.kind != "number" or not value.proven or value.other_kinds or site.argument("requires_grad") is not None:
        return None
    made: ast.expr = site.call
    for node in site.flow.ancestors(site.call):
        if isinstance(node, ast.Attribute) and node.value is made and node.attr in _CASTS:
            continue
        if not isinstance(node, ast.Call):
            return None
        if isinstance(node.func, ast.Attribute) and node.func.value is made:
            made = node
            continue
        name = site.resolve(node.func) or ""
        is_of_number = name.startswith("torch.") and last(node.func) in _OF_NUMBERS and node.args == [made]
        return node if is_of_number and not node.keywords and _is_operand(site, node) else None
    return None


def _is_operand(site: Site, node: ast.Call) -> bool:
    """Whether something is calculated with beside others, and may be a number as well: `x / torch.sqrt(...)`, `x.clamp(max=torch.log(...))`."""
    around = site.flow.parents.get(node)
    if isinstance(around, ast.keyword):
        around = site.flow.parents.get(around)
        return isinstance(around, ast.Call) and last(around.func) in ("clamp", "clamp_", "clip")
    return isinstance(around, ast.BinOp | ast.AugAssign | ast.UnaryOp)


def _is_range(site: Site, given: ast.expr) -> bool:
    """`range(n)`, `list(range(n))`, `[i for i in range(n)]`; how many numbers there are is not written out."""
    if not syntax.is_counted(site.resolve, given, ("list",)) or len(getattr(given, "generators", ())) > 1:
        return False
    ranges = [node for node in ast.walk(given) if isinstance(node, ast.Call) and site.resolve(node.func) == "range"]
    return any(not isinstance(bound, ast.Constant) for one in ranges for bound in one.args)


def _is_moved(site: Site) -> bool:
    """Whether what is made goes to another device, of which TL113 tells."""
    return bool(site.argument("device") or move_of(site, site.call) or moved_next(site, site.call))


def _is_collated(value: Tensor) -> bool:
    """Whether a field of a batch is what a function of the program made of the samples: a list, maybe."""
    loaders = [call for call in value.loader_calls if isinstance(call, ast.Call)]
    return value.from_loader and any(keyword.arg == "collate_fn" for call in loaders for keyword in call.keywords)


def _is_converted(site: Site, node: ast.expr) -> bool:
    """`[torch.tensor(v) for v in values]`"""
    if not isinstance(node, ast.ListComp | ast.GeneratorExp) or len(node.generators) != 1:
        return False
    made, target = node.elt, node.generators[0].target
    return (
        isinstance(made, ast.Call)
        and site.resolve(made.func) == "torch.tensor"
        and isinstance(target, ast.Name)
        and [name.id for name in made.args if isinstance(name, ast.Name)] == [target.id]
        and site.value(made.args[0]).kind == "number"
    )


def _is_made(site: Site, call: ast.Call) -> bool:
    """Whether the array of a call is no view of one that has a name: `np.expand_dims(obs, 0)`, `obs.reshape(-1)`."""
    while last(call.func) in _VIEWS:
        of_numpy = bool(call.args) and (site.resolve(call.func) or "").startswith("numpy.")
        whole = call.args[0] if of_numpy else getattr(call.func, "value", None)
        if not isinstance(whole, ast.Call):
            return False
        call = whole
    return True


def _converts(site: Site, made: ast.Call) -> bool:
    """Whether the tensor may get another dtype than the array has: it is copied for that in any case."""
    asked = site.argument("dtype")
    if asked is None:
        return False
    of_array = keyword_of(made, "dtype")
    if isinstance(made.func, ast.Attribute) and made.func.attr == "astype" and made.args:
        of_array = made.args[0]
    names = [(site.resolve(node) or "").rpartition(".") for node in (asked, of_array) if node is not None]
    return len(names) < 2 or names[0][0] != "torch" or names[1][0] != "numpy" or names[0][2] != names[1][2]


def _runs_again(site: Site) -> bool:
    """Whether a step, an evaluation or a forward comes to the place, in no function that is compiled, where the compiler has the number."""
    if site.in_compiled or site.rare:
        return False
    return bool(site.hot or site.warm or site.warm_caller or frequency.in_forward(site))


def _repeats(site: Site) -> bool:
    """Whether the place runs again and again, and its result is no parameter to be."""
    if any(keyword.arg in ("requires_grad", "device") for keyword in site.call.keywords):
        return False  # what becomes a parameter has to be copied, and what goes to the device is
    in_loading = site.function.name in ("__getitem__", "collate_fn", "__next__")
    return bool(site.hot or site.warm or site.in_forward or in_loading or site.flow.comprehension(site.call))
