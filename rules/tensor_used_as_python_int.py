from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from torchlint.facts import flat, frequency, host_needs, logging_calls, names, sort_keys
from torchlint.facts import host_reads as reads
from torchlint.facts.bindings import Assigned, Binding, Iterated, Joined, Part
from torchlint.facts.legacy_tensors import CONSTRUCTORS
from torchlint.facts.nodes import elements, indices
from torchlint.facts.uses import assigned_on_all_ways
from torchlint.facts.values import LIKELY, UNKNOWN, Value
from torchlint.rule import Finding, Site, rule
from torchlint.rule.lazy import regex

_COMPARING = ("max", "min", "sorted", "any", "all")
_ON_HOST = frozenset(("list", "tuple", "str", "ndarray"))
_SCALARS = {"alpha": ("add", "sub"), "value": ("addcmul", "addcdiv")}
"""Keywords for a number of the host, by the operators that have them."""
_RANKED = ("topk", "kthvalue")
"""Functions of which a number says how many, or which one."""
_LIKE = ("new_zeros", "new_ones", "new_empty", "new_full", "repeat")
_SIZED = ("zeros", "ones", "empty", "rand", "randn", "eye", "arange", "linspace", "logspace", "full", "randperm")
_NAMED = frozenset(("size", "fill_value", "start", "end", "steps"))
"""Keywords of factories for numbers."""
_SHAPING = ("view", "reshape", "expand", "narrow")
_BOUNDED = ("clamp", "clip")
_REDUCES = regex(rb"\.(?:a?max|a?min|sum)\(")
_REDUCING = frozenset(("max", "min", "amax", "amin", "sum"))
_BY_NAME = regex(rb"\bsetattr\(|\b__dict__\b|\bvars\(")
"""How a class sets its attributes without writing out their names."""
_NAMES = 3
"""Through how many names a size is followed to the reduction that gives it."""


@rule(
    "TL108",
    shape=[
        "range(...)",
        *(f"{name}(...)" for name in _COMPARING),
        *(f"torch.{name}(...)" for name in _SIZED),
        *(f"$x.{name}(...)" for name in (*_LIKE, *_SHAPING)),
        *(f"{owner}(...)" for name in _BOUNDED for owner in (f"torch.{name}", f"$x.{name}", f"$x.{name}_")),
        "torch.nn.functional.pad(...)",
        *(f"{name}($data)" for name in (*CONSTRUCTORS, "$x.new")),
        *(
            f"{owner}(..., {keyword}=$number)"
            for keyword, operators in _SCALARS.items()
            for name in operators
            for owner in (f"torch.{name}", f"$x.{name}", f"$x.{name}_")
        ),
        *(
            shape
            for name in _RANKED
            for shape in (
                *(f"{owner}(..., k=$number)" for owner in (f"torch.{name}", f"$x.{name}")),
                f"torch.{name}($_, $number, ...)",
                f"$x.{name}($number, ...)",
            )
        ),
        *("$x.add_($number, $_)", "$x.sub_($number, $_)"),  # before torch 1.5
        *("$x.addcmul_($number, $_, $_)", "$x.addcdiv_($number, $_, $_)"),
        "$x[$i]",
    ],
    impact="medium",
    category="sync",
    principle=("async",),
    confirmed_by=("sync",),
)
def tensor_used_as_python_int(site: Site) -> Iterator[Finding]:
    """A device tensor stands where Python needs a number.

    ## What it does

    Finds device tensors without dimensions as bounds of slices (`x[:t]`), as indices of lists, strings, arrays of NumPy and lists of layers (`names[t]`),
    and of tensors, which pick by the number of one of integers (`x[scores.argmax()]`, `x[i]` of `for i in scores.argsort()`; `x[scores.argmax()[None]]` stays on the device) and of what is on the device where they are on the host,
    in `range(t)`, as sizes, ends or fill values of factories (`torch.zeros(t)`, `torch.linspace(0, t, t)`, `torch.full(size, t)`, `x.new_zeros(n, t)`, `x.repeat(t, 1)`), shapes (`x.view(n, t)`) and widths (`F.pad(x, (0, t))`), in lists for the constructors from before torch 0.4 (`torch.LongTensor([t])`, `torch.Tensor([losses])`, `x.new([t])`), as factors that are numbers
    (`p.add_(update, alpha=t)`, `p.addcdiv_(a, b, value=t)`), as how many are wanted (`torch.topk(x, t)`, `x.kthvalue(t)`), as a bound beside one that is a number (`x.clamp(0, t)`), and device tensors, or lists of such, that the builtins `max`, `min`, `sorted`,
    `any` and `all` compare or go through element by element (`max(lengths)`, `max([p.grad.norm() for p in parameters])`, `max(losses, key=losses.get)`); in step loops and in what they call, in evaluation and generation loops and in
    what these call, and (as `info`) in a `forward` and in what it calls.

    ## Why is this slow?

    `Tensor.__index__` and `Tensor.__bool__` are an `.item()` that is not to be seen: the host waits until the
    device has finished everything queued so far. `max(a, b)` asks for the truth of `b > a`, `max(lengths)` for that of each pair.

    ## When it does not matter

    Behind a condition that holds once in many steps, and for tensors in host memory. Index tensors with dimensions
    select on the device and wait for nothing, and `x.shape`, `x.size(0)` and `len(x)` are integers of the host:
    neither is reported.

    ## Bad

    ```python
    for x, lengths in loader:
        x, lengths = x.to(device), lengths.to(device)
        x = x[:, : lengths.max()]  # TL108
        loss = max(torch.relu(x).sum(), model(x).sum())  # TL108
        loss.backward()
        optimizer.step()
    ```

    ## Good

    ```python
    for x, lengths in loader:
        longest = int(lengths.max())  # ok
        x = x.to(device)[:, :longest]  # ok
        loss = torch.maximum(torch.relu(x).sum(), model(x).sum())  # ok
        loss.backward()
        optimizer.step()
    ```

    The lengths of a batch are known on the host before it is moved: read them there.

    ## References

    - <https://docs.pytorch.org/docs/stable/generated/torch.maximum.html>
    - <https://docs.pytorch.org/docs/stable/generated/torch.index_select.html>
    """
    needed = [node for node in _needed(site) if not isinstance(node, ast.Constant)]
    if not needed or not site.may_have_accelerator or site.in_compiled:
        return
    found = next((node for node in needed if _is_read(site, node)), None)
    if found is None or not site.accelerator:
        return
    if logging_calls.is_logged(site, found) or reads.scalar_reads(site, site.statement):
        return
    if host_needs.chooses_action(site):
        return
    level = frequency.severity(site)
    if level is None and (site.rare or site.role in ("test", "benchmark") or not frequency.in_forward(site)):
        return
    often = frequency.how_often(site) if level is not None else frequency.of_calls(site)
    message = f"`{site.short(found)}` is read from the device {often}: {_why(site, found)}"
    yield site.finding(message, severity=level or "info", at=found, related=site.why_hot())


def _needed(site: Site) -> Iterator[ast.expr]:
    """What Python needs the number of, if it is a tensor without dimensions."""
    target = site.target
    if isinstance(target, ast.Subscript):
        yield from _bounds(target.slice)
        if isinstance(target.slice, ast.Tuple):
            yield from _places_of_array(site, target.value, target.slice.elts)
        elif _is_index_of_list(site, target):
            yield target.slice
        yield from _picking(site, target)
    elif site.name.removesuffix("()") in _COMPARING:
        yield from _compared(site)
    elif "$number" in site.pattern:
        ranks_rows = site.name.startswith(".") and site.name.strip(".()") in _RANKED
        if not ranks_rows or site.receiver.kind == "tensor":  # others have a method of that name, too
            yield site.part("number")
    elif "$data" in site.pattern:
        yield from _converted(site.part("data")) if site.name != ".new()" or site.receiver.is_tensor else ()
    elif site.name.removesuffix("()").rpartition(".")[2].removesuffix("_") in _BOUNDED:
        yield from _beside_number(site)
    elif site.name == "torch.nn.functional.pad()":
        sizes = [site.argument("pad", 1)]
        yield from _reduced(site, sizes)
        yield from _counted(site, filter(None, sizes))
    elif site.name.strip(".()") in _SHAPING:
        read = [*_reduced(site, site.call.args), *_counted(site, site.call.args)]
        yield from read if read and site.receiver.is_tensor else ()
    elif site.name.strip(".()") not in _LIKE or site.receiver.is_tensor:
        arguments = [*site.call.args, *(k.value for k in site.call.keywords if k.arg in _NAMED)]
        for given in arguments:
            yield from elements(given)


def _converted(data: ast.expr) -> Iterator[ast.expr]:
    """The elements of a list that the old constructors make numbers of, one by one: `torch.LongTensor([t, u])`, `torch.Tensor([f(x) for x in rows])`; a list by its name."""
    if isinstance(data, ast.ListComp):
        yield data.elt
    elif isinstance(data, ast.List):
        for element in data.elts:
            yield from _converted(element) if isinstance(element, ast.List) else (element,)
    else:
        yield data


def _beside_number(site: Site) -> Iterator[ast.expr]:
    """The bound of `x.clamp(0, t)` in a loop: beside a number a tensor becomes one; alone, or beside a tensor, it stays on the device.

    In a forward by itself a bound is mostly a size, `width - 1`, which may be annotated as a tensor and given as a list.
    """
    method = site.name.startswith(".")
    if (method and not site.receiver.is_tensor) or not (site.hot or site.warm):
        return
    bounds = [site.argument(name, at + (not method)) for at, name in enumerate(("min", "max"))]
    for bound, other in (bounds, reversed(bounds)):
        value = site.value(other) if bound is not None and other is not None else UNKNOWN
        if bound is not None and value.kind == "number" and value.proven and not value.other_kinds:
            yield bound


def _reduced(site: Site, given: Iterable[ast.expr | None]) -> Iterator[ast.expr]:
    """The sizes that are told by a reduction of the function, `lengths.max()`: most are numbers, and what is annotated as a tensor may be a list."""
    if site.function.says(_REDUCES):
        sizes = (size for one in given if one is not None for size in elements(one))
        yield from (size for size in sizes if _is_reduced(site, size, _NAMES))


def _is_reduced(site: Site, size: ast.expr, depth: int) -> bool:
    for part in ast.walk(size):
        if isinstance(part, ast.Call) and names.last(part.func) in _REDUCING:
            return True
        ways = assigned_on_all_ways(site.function, part) if isinstance(part, ast.Name) and depth else []
        if ways and all(_is_reduced(site, made, depth - 1) for made in ways):
            return True
    return False


def _counted(site: Site, given: Iterable[ast.expr]) -> Iterator[ast.expr]:
    """The sizes that are taken out of a tensor of integers: `shapes[0][1]`, or `height` of `for height, width in shapes`, `height, width = shape`."""
    for size in (one for each in given for one in elements(each)):
        if _is_row(site, size):
            value = site.value(size)
            if value.kind == "tensor" and value.integer:
                yield size


def _is_row(site: Site, node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        bound: Binding | None = site.function.bindings.reach.get(node)
        is_part = isinstance(bound, Part)
        while isinstance(bound, Part):
            bound = bound.whole
        return isinstance(bound, Iterated) or (is_part and isinstance(bound, Assigned))
    while isinstance(node, ast.Subscript):
        node = node.value
        if isinstance(node, ast.Name):
            return True
    return False


def _bounds(index: ast.expr) -> Iterator[ast.expr]:
    for part in indices(index):
        if isinstance(part, ast.Slice):
            yield from (bound for bound in (part.lower, part.upper, part.step) if bound is not None)


def _is_index_of_list(site: Site, part: ast.Subscript) -> bool:
    """`names[t]` of a list, tuple, string or array, and of layers in a list: nothing of these selects on the device."""
    if isinstance(part.slice, ast.Constant | ast.Slice) or not _tensor(site, part.slice):
        return False
    holder = site.value(part.value)
    of_layers = holder.kind == "module" and holder.class_name in ("torch.nn.ModuleList", "torch.nn.Sequential")
    return not holder.other_kinds and (of_layers or (holder.kind in _ON_HOST and holder.proven))


def _places_of_array(site: Site, array: ast.expr, places: list[ast.expr]) -> Iterator[ast.expr]:
    """`counts[label, guess]` of an array of NumPy, which takes the number of each."""
    value = site.value(array)
    if value.kind == "ndarray" and value.proven and not value.other_kinds:
        yield from (one for one in places if not isinstance(one, ast.Constant | ast.Slice) and _tensor(site, one))


def _picking(site: Site, part: ast.Subscript) -> Iterator[ast.expr]:
    """`scores.argmax()` in the brackets of a tensor: what has no dimensions, and is no mask, picks by its number, which is read for that."""
    for index in indices(part.slice):
        is_index = isinstance(index, ast.Name | ast.Call | ast.BinOp)
        if is_index and (_is_single(site, index) or _is_elsewhere(site, part.value, index)):
            if _tensor(site, part.value):
                yield index
            return


def _is_single(site: Site, index: ast.expr) -> bool:
    """Whether an index is a tensor of one integer, without dimensions, and nothing else."""
    value = site.value(index)
    if value.kind != "tensor" or not value.integer or value.boolean or value.other_kinds:
        return False
    return value.scalar or flat.is_element(site, index)


def _is_elsewhere(site: Site, table: ast.expr, index: ast.expr) -> bool:
    """Whether an index is on the device, and what it is one of on the host: only without dimensions that does not raise.

    What a class sets by names that it makes may have been moved so.
    """
    held, value = site.value(table), site.value(index)
    if not (held.is_tensor and held.device == "cpu" and not held.from_loader and not held.other_kinds):
        return False
    if not (value.is_tensor and value.device == "accelerator") or value.boolean or value.other_kinds:
        return False
    owner = site.value(table.value) if isinstance(table, ast.Attribute) else UNKNOWN
    return not any(klass.module.source.holds(_BY_NAME) for klass in owner.any_class)


def _compared(site: Site) -> Iterator[ast.expr]:
    """The operands of `max(a, b)`; the elements of `any([a, b])` and the like, or the tensor that they go through."""
    given = site.call.args
    if site.argument("key") is not None:
        yield from given if len(given) == 1 else ()  # what is written out is compared by its lengths, or names
    elif len(given) > 1 and site.name in ("max()", "min()"):
        yield from given
    elif len(given) == 1 and isinstance(given[0], ast.List | ast.Tuple | ast.Set):
        yield from given[0].elts
    elif len(given) == 1:
        yield given[0]


def _is_read(site: Site, node: ast.expr) -> bool:
    if _is_list_of_tensors(site, node):
        return True
    if "$data" in site.pattern and node is site.part("data"):
        return False  # a tensor is taken as it is, and a number says how long to be
    if _is_moved_whole(site, node):
        return True
    if _is_bound_by_row(site, node):
        return reads.device_tensor(site, node, LIKELY) is not None
    if _tensor(site, node):
        return reads.device_tensor(site, node) is not None
    return site.settings.preview and _is_likely_fill(site, node)


def _is_moved_whole(site: Site, node: ast.expr) -> bool:
    """Whether `max(lengths)` goes through what was sent to the device by itself, whatever that is, as no list is."""
    if site.name not in ("max()", "min()") or site.call.args != [node]:
        return False
    value = site.value(node)
    is_moved = value.kind in ("unknown", "tensor") and value.device == "accelerator"
    return is_moved and value.other_kinds <= {"none", "unknown"}


def _is_bound_by_row(site: Site, node: ast.expr) -> bool:
    """Whether the bound of a slice is a row of what most callers send to the device, as no list is: `x[i, lengths[i] :]`."""
    if not isinstance(site.flow.parents.get(node), ast.Slice) or not isinstance(node, ast.Subscript):
        return False
    return _is_sent(site.value(node.value))


def _is_sent(value: Value) -> bool:
    """Whether something is a tensor of the device, as far as anybody says what it is."""
    return value.kind == "tensor" and value.device == "accelerator" and value.other_kinds <= {"unknown"}


def _is_likely_fill(site: Site, node: ast.expr) -> bool:
    """`torch.full(size, alphas[i])` of what is sent to the device where it is a tensor: `if type(x) == torch.Tensor: x = x.cuda()`."""
    if site.name != "torch.full()" or site.argument("fill_value", 1) is not node:
        return False
    return _is_sent(site.value(node))


def _is_list_of_tensors(site: Site, node: ast.expr) -> bool:
    """Whether a list holds device tensors that `max` and the like compare, `max(norms)`, `max(losses, key=losses.get)`, or an old constructor makes numbers of, `torch.Tensor([losses])`.

    That they have no dimensions goes without saying, since others raise here.
    """
    converts = "$data" in site.pattern
    if not converts and (site.name.removesuffix("()") not in _COMPARING or site.call.args != [node]):
        return False
    element = sort_keys.compared(site, node, None if converts else site.argument("key"))
    if element.kind != "tensor" or element.other_kinds:
        return False
    return element.proven and not (element.on_cpu or element.from_loader)


def _tensor(site: Site, node: ast.expr) -> bool:
    """A tensor for certain; that it has no dimensions goes without saying, since others raise here.

    What an operator is given may be a number on another path: `ratio = norm / other if other > 0 else 1`; so may what a
    comprehension goes through, and what picks from a list may be None.
    """
    value = site.value(node)
    return value.is_tensor and not value.other_kinds - _ways(site, node)


def _ways(site: Site, node: ast.expr) -> set[str]:
    """What a tensor may be on other paths, none of which says that it is none on this one."""
    if isinstance(site.target, ast.Subscript):
        return {"none"} if node is site.target.slice else set()  # no list has an element of that number
    if "$data" in site.pattern:
        return {"number"} if isinstance(site.part("data"), ast.ListComp) else set()  # beams, and those that pad a batch
    bound = (site.function.bindings.reach.get(part) for part in ast.walk(node) if isinstance(part, ast.Name))
    return {"number"} if "$number" in site.pattern and any(isinstance(one, Joined) for one in bound) else set()


def _why(site: Site, found: ast.expr) -> str:
    name = site.name.removesuffix("()").rpartition(".")[2]
    if isinstance(site.target, ast.Subscript):
        if found in _bounds(site.target.slice):
            return "the bound of a slice is a Python number"
        if site.value(site.target.value).kind == "tensor":
            return "an index without dimensions picks by its number"
        of_array = site.value(site.target.value).kind == "ndarray"
        return f"the index of {'an array of NumPy' if of_array else 'a list'} is a Python number"
    if name in _COMPARING:
        how = "goes through it element by element" if site.call.args == [found] else "compares on the host"
        return f"the builtin `{name}` {how}"
    if name in _RANKED:
        return f"the `k` of `{name}` is a Python number"
    if "$number" in site.pattern:
        factor = next(keyword for keyword, operators in _SCALARS.items() if name.removesuffix("_") in operators)
        return f"`{factor}` of `{name}` is a Python number"
    return f"`{name}` takes Python numbers"
