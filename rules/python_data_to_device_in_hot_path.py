from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import closed, empties, frequency, gathered, sent_numbers, syntax
from torchlint.facts import host_reads as reads
from torchlint.facts.copied_indices import (
    is_counted_by_loader,
    is_filled_for,
    is_first,
    is_moved,
    is_of_data,
    is_there,
    may_be_number,
    places,
)
from torchlint.facts.first_time import missed_for
from torchlint.facts.given_alike import given_alike
from torchlint.facts.host_constants import kept_array, kept_by, kept_numbers
from torchlint.facts.indices import indexed, is_of_device
from torchlint.facts.legacy_tensors import OF_HOST, makes_on_device
from torchlint.facts.loop_data import collected_in, is_gathered, is_of_rows_read_back, only_grows, stays_same
from torchlint.facts.masks import is_mask_of_host
from torchlint.facts.nodes import indices, keyword_of
from torchlint.facts.on_call import on_call
from torchlint.facts.sending import goes_to_device, is_constant_data, move_of, moved_next, target_of
from torchlint.facts.sent_back import is_sent_back
from torchlint.facts.values import Value
from torchlint.rule import Finding, Severity, Site, plain, rule

_LEGACY = [f"{name}()" for name in OF_HOST]
_NEW = frozenset((".new_tensor()", ".new()"))
"""What makes a tensor where another one is."""
_BY_DEFAULT = frozenset(("torch.Tensor()", "torch.tensor()", "torch.as_tensor()"))
"""What makes a tensor where the default type has it; the other typed constructors name a type of their own."""
_ARRAYS = frozenset(("numpy.array", "numpy.asarray"))
_BY_TYPE = ("$type([...])", "$type((...,))")
"""A type of the device, or one that a program chooses: `torch.cuda.LongTensor([0, 1])`."""


@rule(
    "TL113",
    shape=[
        "torch.tensor(...)",
        "torch.as_tensor(...)",
        "torch.from_numpy(...)",
        *plain(*_LEGACY),
        "$x.new_tensor(...)",
        "$x.new(...)",
        "$x[$i]",
        *_BY_TYPE,
    ],
    severity="info",
    impact="medium",
    category="sync",
    principle=("async",),
    confirmed_by=("h2d",),
)
def python_data_to_device_in_hot_path(site: Site) -> Iterator[Finding]:
    """Data of Python or NumPy is sent to the device in small pieces.

    ## What it does

    Finds `torch.tensor(...)`, `torch.as_tensor(...)` and the typed constructors (`torch.FloatTensor(...)`) of Python numbers, lists and NumPy arrays with an
    accelerator as `device`, or moved there at once (`torch.tensor(...).to(device)`,
    `torch.from_numpy(...).to(device)`), or next by its name (`x = x.to(device)`), or made there by default (`torch.set_default_device("cuda")`), and lists given to a type of the device (`torch.cuda.LongTensor([0, 1])`), in step loops, in what they call, in evaluation and generation loops and in
    what these call, and in `forward`. A constant is a warning, the rest an `info`; a constant that a function sends to the device of a tensor
    that it was given, whoever calls it, or makes for each process that `all_gather` hears from, is an `info`, too. So are `x.new_tensor(number)`, `x.new([number])`, numbers that are
    written into a tensor of the device through one of the host (`x[2:6] = torch.tensor(size)`), and lists of numbers, arrays of NumPy and
    tensors of the host as an index of one (`x[:, [2, 0, 1]]`, `x[np.where(kept)[0]]`, `x[torch.randperm(n)]`, in loops), where the index stands first,
    and what a `DataLoader(range(n))` counts for that;
    in every forward a constant or what is counted there, where the index is made (`x[:, torch.tensor([i for i in range(n) for j in range(i)])]`).
    A list that a loop only adds to, and copies whole on each iteration, is reported wherever that loop is; one that a `forward`,
    or what it calls, fills with numbers in loops of its own (`lengths.append(len(row))`), is reported there, and so is one that it fills
    row by row of what it copied to the host for that (`for row in ids.cpu().numpy(): found.append(np.unique(row))`); what a `forward` or a step calculates on the host of
    nothing but what it copied there, and sends back (`torch.from_numpy(rescale(masks.cpu().numpy(), 2)).to(device)`), but for what `scipy.optimize` solves; and so are numbers that a function or method calculates of what
    a module was made with (`torch.tensor(self.slopes(), device=x.device)`).
    Of data that nothing is known of, and of arrays, nine cases are reported: what a program is configured with, by a name in capitals or out of something called so (`torch.tensor(cfg.PIXEL_MEAN).cuda()`, `x.new_tensor(self.cfg.weights["box"])`), the ids of a text that is written out (`torch.tensor(tokenizer.encode("<think>"), device=device)`), what a program would keep, but asks for by a part of its key
    (`if n not in tables: tables[str(n) + device] = torch.from_numpy(made).to(device)`), what stays the same from one iteration of
    the loop to the next, what a function makes of nothing but parameters that a loop gives it so (`torch.tensor(banned).cuda()` of `logits = ban(logits, banned)`), an array that an object keeps as its constructor made it (`torch.from_numpy(self.betas).to(device)[t]`,
    or a parameter that is given `self.betas`), a list of numbers that it keeps so, what a function with `@lru_cache` has kept for the same numbers, and what goes element by element into a tensor that the loop does not read
    (`rewards[step] = torch.tensor(reward).to(device)`), where one copy after the loop does.

    ## Why is this slow?

    The data lies in ordinary (pageable) memory, so the host waits for the copy, a few bytes at a time. A constant
    is sent again and again.

    ## When it does not matter

    What processes send to each other, `dist.all_reduce(torch.tensor(n).cuda())`, has to lie on the device, and is told with `--preview` alone (`torch.full((), n, device=...)` writes it there).
    Where the device is needed once, or once a rollout, beside the loop that plays it (`env.step(action)`); a batch, or an observation, that the next call of the model needs. Factories without data (`torch.zeros`,
    `torch.arange`, `torch.full` with `device=`) write on the device and are not reported.

    ## Bad

    ```python
    for x in loader:
        scale = torch.tensor([1.0, 2.0], device=device)  # TL113
        loss = (model(x.to(device)) * scale).sum()
        loss.backward()
        optimizer.step()
    ```

    ## Good

    ```python
    scale = torch.tensor([1.0, 2.0], device=device)  # ok
    for x in loader:
        loss = (model(x.to(device)) * scale).sum()
        weight = torch.full((), 0.5, device=device)  # ok
        loss.backward()
        optimizer.step()
    ```

    A module keeps its constants as buffers (`register_buffer`), which move with it.

    ## References

    - <https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html>
    - <https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_buffer>
    """
    if not site.may_have_accelerator or site.in_compiled or site.role in ("test", "benchmark"):
        return
    if isinstance(site.target, ast.Subscript):
        yield from _indexed(site, site.target)
        return
    klass = site.function.cls
    if not site.call.args or (site.function.name == "__init__" and klass is not None and site.project.is_module(klass)):
        return  # what a module is made of stays with it
    data = _given(site, site.call.args[0])
    by_type = site.name in _LEGACY or site.name == ".new()" or site.pattern in _BY_TYPE
    if empties.no_data(data) or (by_type and not _is_data(site, data)):
        return
    stored = _stored(site) if site.name == "torch.tensor()" else None
    constant = is_constant_data(site, data)
    if stored is None and not _is_sent(site):
        if constant or _is_counted(site, data):
            yield from _as_index(site, data)
        return
    if site.hot is None and site.rare:
        return
    value = site.value(data)
    if value.kind == "tensor":
        return
    if _is_of_device(site, data, value) and not only_grows(site, data):
        return
    level: Severity = "warning" if constant else "info"
    message = _message(site, data, value, stored, constant=constant)
    # Whether it runs again and again takes longest to tell.
    if not message or not site.accelerator or _leaves_early(site):
        return
    if not site.settings.preview and gathered.is_exchanged(site):
        return
    if not frequency.repeated(site):
        if not (_on_call(site) if constant else only_grows(site, data)):
            return
        level = "info"
    one = not constant and (value.kind == "number" or sent_numbers.may_be_given(site, data))
    if one and frequency.behind_type_test(site):
        return  # a path for tensors of what is a number in most programs, or for numbers of what is a tensor
    yield site.finding(message, severity=level, related=site.why_hot())


def _given(site: Site, data: ast.expr) -> ast.expr:
    """What is sent: of `np.array([height, width])` the list, which is written out there."""
    made = data if isinstance(data, ast.Call) and len(data.args) == 1 else None
    if made is None or site.resolve(made.func) not in _ARRAYS or not sent_numbers.is_written_out(site, made.args[0]):
        return data
    return made.args[0]


def _is_of_device(site: Site, data: ast.expr, value: Value) -> bool:
    """Whether a list holds tensors of the device, which are read back first: `losses`, `[losses]`."""
    each = value.element
    if each is not None and each.kind == "tensor" and not (each.on_cpu or each.from_loader):
        return True
    given = data.elts[0] if isinstance(data, ast.List | ast.Tuple) and len(data.elts) == 1 else None
    return isinstance(given, ast.Name) and _is_of_device(site, given, site.value(given))


def _is_sent(site: Site) -> bool:
    """Whether what is made is made on the device, or sent there at once."""
    if site.pattern in _BY_TYPE:
        return makes_on_device(site.value(site.call.func)) and not _is_read(site)
    return _on_device(site) if site.name in _NEW else _moved(site)


def _message(site: Site, data: ast.expr, value: Value, stored: ast.expr | None, *, constant: bool) -> str:
    """What is wrong with data of that value where it is copied again and again; "" where nothing is."""
    if constant:
        return "the same constant is copied to the device, and waited for, each time"
    if stored is not None:
        known = value.kind in ("number", "list", "tuple", "size")
        return (
            f"`{site.short()}` is made on the host, and copied into `{site.short(stored)}` each time" if known else ""
        )
    if stays_same(site, data):
        return f"`{site.short(data)}` stays the same in this loop, and is copied to the device on each iteration"
    if alike := given_alike(site, data) if _is_surely_data(site, data, value) else []:
        whole = site.short(data)
        of = "" if alike == [whole] else f" is made of `{'`, `'.join(alike)}` alone, which"
        return f"`{whole}`{of} stays the same in a loop that calls this, and is copied to the device each time"
    if kept_array(site, data, array=site.name == "torch.from_numpy()"):
        return f"`{site.short(data)}` is an array that an object keeps, and is copied to the device each time"
    if kept_numbers(site, data):
        return f"`{site.short(data)}` is a list that an object keeps, and is copied to the device each time"
    if (keeper := kept_by(site, data)) is not None:
        return f"`{site.short(data)}` is what `{keeper.name}` has kept, and is copied to the device each time"
    if only_grows(site, data):
        return f"`{site.short(data)}` grows in this loop, and all of it is copied to the device each time"
    if (buffer := collected_in(site, site.call)) is not None:
        return f"`{site.short(data)}` is copied to the device by itself; `{buffer}` can be filled on the host and copied once"
    if (missed := _missed(site)) is not None:
        container, key = missed
        return f"`{site.short(data)}` is copied to the device each time: `{site.short(container)}` is asked for `{site.short(key)}`, and has it under another key"
    if _is_counted(site, data):
        instead = "" if isinstance(data, ast.ListComp) and len(data.generators) > 1 else "; `torch.arange` counts there"
        return f"`{site.short(data)}` is counted on the host and copied to the device each time{instead}"
    if is_gathered(site, data) and frequency.in_forward(site):
        return f"`{site.short(data)}` is gathered on the host number by number, and copied to the device each time"
    if is_of_rows_read_back(site, data) and frequency.in_forward(site):
        return f"`{site.short(data)}` is made on the host of what was copied there from the device, and copied back each time"
    if _is_sent_back(site, data, value):
        return f"`{site.short(data)}` is made on the host of what was copied there from the device, and copied back each time"
    if isinstance(data, ast.Call) and _gives_numbers(value) and closed.is_of_options(site, data):
        return f"`{site.short(data)}` is calculated on the host and copied to the device each time"
    if sent_numbers.is_setting(site, data):
        return f"`{site.short(data)}` is what the program is configured with, and is copied to the device each time"
    if sent_numbers.is_given(site, data):
        return ""
    if sent_numbers.are_ids_of_text(site, data):
        return (
            f"`{site.short(data)}` holds the ids of a text that is written out, and is copied to the device each time"
        )
    number = value.kind == "number" and not isinstance(data, ast.Compare)  # which may be one of arrays
    listed = value.kind in ("list", "tuple", "size") and (
        sent_numbers.is_written_out(site, data) or sent_numbers.is_size(site, data)
    )
    if number or listed or (not value and (sent_numbers.is_option(site, data) or sent_numbers.is_share(site, data))):
        return f"`{site.short(data)}` is copied to the device, and waited for, each time"
    return ""


def _is_sent_back(site: Site, data: ast.expr, value: Value) -> bool:
    """Whether an array or a list is calculated on the host, on steps or in forwards, of what lay on the device: `rescale(masks.cpu().numpy(), 2)`."""
    held = value.kind in ("ndarray", "list") or (not value and site.name == "torch.from_numpy()")
    return held and (site.hot is not None or frequency.in_forward(site)) and is_sent_back(site, data)


def _is_surely_data(site: Site, data: ast.expr, value: Value) -> bool:
    """Whether what is sent is no tensor, as far as anybody knows, which a move may leave where it is."""
    if value.kind in ("list", "tuple", "ndarray"):
        return True
    return isinstance(data, ast.Name) and not value and site.name in ("torch.tensor()", "torch.from_numpy()")


def _gives_numbers(value: Value) -> bool:
    """Whether a call gives a list of numbers."""
    element = value.element
    return value.kind == "list" and element is not None and element.kind == "number" and not element.other_kinds


def _is_counted(site: Site, data: ast.expr) -> bool:
    return syntax.is_counted(site.resolve, data, ("list", "tuple"))


def _as_index(site: Site, data: ast.expr) -> Iterator[Finding]:
    """Data that says what to take of a tensor of the device in a forward; what loops do is told where the index stands."""
    if not isinstance(data, ast.List | ast.ListComp | ast.Call) or site.rare or frequency.severity(site) is not None:
        return
    uses = indexed(site, site.call)
    use = next((use for use in uses if is_of_device(site, use)), None)
    if use is None or any(site.value(one.value).on_cpu for one in uses) or site.makes_on_accelerator:
        return
    if site.accelerator and frequency.in_forward(site) and not _leaves_early(site):
        message = f"`{site.short(data)}` is copied to the device each time: it is an index of `{site.short(use.value)}`"
        yield site.finding(message, related=site.why_hot())


def _missed(site: Site) -> tuple[ast.expr, ast.expr] | None:
    """What shall keep the tensor, `tables[f"{n}_{device}"] = ...`, and the key that it is asked for in vain, `if n not in tables`."""
    statement = site.statement
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(target, ast.Subscript):
        return None
    missed = (one for guard in site.flow.guards(site.target) for one in missed_for(guard, site.flow))
    return next((one for one in missed if syntax.same(one[0], target.value)), None)


def _is_data(site: Site, given: ast.expr) -> bool:
    """Whether `torch.FloatTensor`, or `x.new`, is given what to hold, and not how long to be."""
    return len(site.call.args) == 1 and site.value(given).kind in ("list", "tuple", "ndarray")


def _indexed(site: Site, node: ast.Subscript) -> Iterator[Finding]:
    """`x[:, [2, 0, 1]]` of a tensor of the device: the list is made a tensor of the host, and sent."""
    parts = indices(node.slice)
    for part in parts:
        message = "" if isinstance(part, ast.Slice | ast.Constant) else _copied(site, node, part)
        # Whether it runs again and again takes longest to tell.
        if message and site.accelerator and frequency.severity(site) is not None:
            yield site.finding(message, severity="info", at=part, related=site.why_hot())
            return


def _copied(site: Site, node: ast.Subscript, index: ast.expr) -> str:
    """What is said of an index that is copied to the device; "" where it is not."""
    value = site.value(index)
    on_host = value.is_tensor and value.device == "cpu" and not value.from_loader and not is_mask_of_host(site, index)
    if on_host and (is_there(site, node.value) or (is_of_data(site, value) and is_of_device(site, node))):
        if site.makes_on_accelerator or is_filled_for(site, node, value) or may_be_number(site, index):
            return ""
        return f"`{site.short(index)}` lies on the host, and is copied to the device each time it is an index"
    if is_counted_by_loader(site, value) and is_there(site, node.value) and not is_moved(site, index):
        return f"`{site.short(index)}` counts on the host, and is copied to the device each time it is an index; one that is made there is not"
    kind = places(value, beside=len(indices(node.slice)) > 1)
    if kind and reads.is_on_device(site, node.value) and is_first(site, node, index):
        what = f"the {kind} `{site.short(index)}`"
        return f"{what} becomes a tensor, and is copied to the device, each time it is an index"
    return ""


def _on_device(site: Site) -> bool:
    """Whether the tensor that `new_tensor` is called on lives in device memory, and what that makes, too."""
    assert isinstance(site.call.func, ast.Attribute)
    return not site.value(site.call).on_cpu and reads.is_on_device(site, site.call.func.value)


def _stored(site: Site) -> ast.expr | None:
    """The tensor of the device into a part of which the place, or an index of it, is written."""
    statement = site.statement
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target, made = statement.targets[0], statement.value
    while isinstance(made, ast.Subscript):
        made = made.value
    if made is not site.call or site.argument("device") is not None or not isinstance(target, ast.Subscript):
        return None
    proven = site.value(target.value).is_tensor and site.value(target.value).device == "accelerator"
    return target.value if proven else None


def _leaves_early(site: Site) -> bool:
    """Whether the place stands in a block that returns where the function goes on otherwise: `if nothing: return zero`."""
    return any(
        guard.block is not None
        and isinstance(guard.block[-1], ast.Return)
        and isinstance(guard.node, ast.If)
        and not guard.otherwise
        for guard in site.flow.guards(site.target)
    )


def _moved(site: Site) -> bool:
    """Whether the tensor is made for the accelerator, or moved there in the same expression."""
    given = site.argument("device")
    if given is not None:
        if site.name in _LEGACY:
            return False  # which take no device but the host
        value = site.value(given)
        if value.kind == "device" and value.by_default_host and not (site.hot or site.warm):
            return False
        return value.device != "cpu" and value.const != "cpu"
    call = _move(site)
    if call is None:
        return site.name in _BY_DEFAULT and _made_there(site) and not _is_read(site)
    if keyword_of(call, "non_blocking") is not None:
        return False
    return site.value(call).device == "accelerator" or goes_to_device(site, call)


def _made_there(site: Site) -> bool:
    """Whether tensors that are given no device are made on the accelerator, as the program says."""
    return site.has_default_type or (site.name != "torch.Tensor()" and site.has_default_device)


def _move(site: Site) -> ast.Call | None:
    """The call that moves what is made, there or by the name that it is given."""
    return move_of(site, site.call) or moved_next(site, site.call)


def _is_read(site: Site) -> bool:
    """Whether what is made goes to the host, or is no more than read: `torch.tensor(numbers).numpy()`, `torch.tensor(numbers).cpu()`."""
    method = site.flow.parents.get(site.call)
    return isinstance(method, ast.Attribute) and method.attr in ("cpu", "numpy", "tolist", "item", "type", "shape")


def _on_call(site: Site) -> bool:
    """Whether a constant is made anew for each tensor that the function is given, whatever it is like."""
    if any(guard.block is not None for guard in site.flow.guards(site.target)):
        return False
    call = _move(site)
    if call is not None and gathered.is_buffer(site.at(site.function, call)):
        return True
    target = site.argument("device") or (target_of(call) if call is not None else None)
    if target is None or site.function.name == "__init__" or frequency.behind_type_test(site):
        return False
    return on_call(site, target)
