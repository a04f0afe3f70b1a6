from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import collected, frequency, handed_reads, host_needs, logging_calls, names, reduced, type_tested
from torchlint.facts import host_reads as reads
from torchlint.facts.layers import is_criterion
from torchlint.facts.module import Function
from torchlint.facts.nodes import keyword_of, root_of, string
from torchlint.facts.values import LIKELY
from torchlint.rule import Finding, Site, chain, rule
from torchlint.rule.lazy import regex

_COPIES = regex(
    r"(?:^|_)to_?(?:np|numpy|array|host|cpu)$|(?:^|_)(?:2|to)(?:np|numpy|cpu)$|^(?:t|torch|tensor)2(?:n|np|numpy)$"
)
"""What functions are called that copy a tensor to the host: `to_np`, `tensor2np`."""
_MAKES_ROOM = regex(r"(?i)offload|cpu_cache|low_?v?(?:ram|mem)|save_mem")
"""What options are called that keep on the host what the device has no room for."""
_USES = 16
"""Of a name that is read more often, nobody is asked what each of its readers is."""


@rule(
    "TL103",
    shape=[
        "$x.cpu(...)",
        "$x.to(...)",
        "$x.numpy(...)",
        "$x.tolist(...)",
        "$x.type(...)",
        "$x.type_as(...)",
        "$holder[$i] = $stored",
        "$copies(...)",
    ],
    scope="hot",
    impact="medium",
    severity="info",
    category="sync",
    principle=("async",),
    confirmed_by=("sync", "d2h"),
)
def host_copy_in_hot_loop(site: Site) -> Iterator[Finding]:
    """A device tensor is copied to host memory on every step.

    ## What it does

    Finds `.cpu()`, `.to("cpu")`, `.numpy(force=True)`, `.tolist()`, the cast `.type(torch.FloatTensor)`, and `.to(total)` and
    `.type_as(total)` beside a tensor of the host, of tensors in device memory, in step loops and in what they call, and what a loader gave, an evaluation loop sent, and now gets back;
    what such a loop collects as predictions, labels, scores or losses by its name (`y_pred.extend(output.cpu().numpy())`),
    and what one over a loader calculates and keeps in a list of its own (`features.append(output.cpu().numpy())`), but no
    pictures or sounds, and nothing that is written to a file behind the loop;
    what such a loop reduces behind the copy, not in front (`correct += predicted.eq(y).cpu().sum()`), by itself or by a function of the project; and what is written
    into a tensor of the host (`losses[i] = criterion(output, y)`). On training steps, also what is given to a function that does nothing else,
    `to_numpy(x)` of `def to_numpy(t): return t.detach().cpu().numpy()`. With `--preview` it finds them in evaluation and generation loops, too,
    where the copy is often what the program is for, and, as TL106 does for single values, in the `forward` of modules and in
    what they call. It is a warning where the value goes back to the device, and an `info` otherwise.

    ## Why is this slow?

    A copy into ordinary (pageable) host memory waits until the device has finished everything queued so far. Where
    the value is then worked on by NumPy and sent back, the device waits for that too.

    ## When it does not matter

    Where the value has to be on the host: the action of an environment, the priorities of a replay buffer, a checkpoint, a
    picture, text to be decoded, what a feature extractor or another library takes that works on arrays, what a generator hands out as it goes, what is offloaded to save memory
    (chunk by chunk of a tensor that was split). These are not reported, nor is what happens once in many steps or after the loop. `.to("cpu",
    non_blocking=True)` does not wait (an event has to, before the value is read): so an evaluation keeps what the device has no room for.

    ## Bad

    ```python
    for images, labels in loader:
        loss = criterion(model(images.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
        losses.append(loss.detach().cpu())  # TL103
    ```

    ## Good

    Keep it on the device and copy once.

    ```python
    for images, labels in loader:
        loss = criterion(model(images.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())  # ok
    losses = torch.stack(losses).cpu()  # ok
    ```

    ## References

    - <https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html>
    - <https://docs.pytorch.org/docs/stable/generated/torch.Tensor.cpu.html>
    """
    if isinstance(site.target, ast.Assign):
        yield from _into_host(site, site.part("holder"), site.part("stored"))
        return
    if site.name == "call":
        yield from _by_helper(site)
        return
    if site.function is site.module.body and site.name == ".cpu()":
        yield from _of_lambda(site)
    if (
        site.name in (".to()", ".type()", ".type_as()")
        and site.hot is None
        and site.warm is None
        and not _says_host(site.call)
    ):
        return
    if _is_offload(site):
        return
    returns, is_reduced = (
        _returns_batch(site),
        site.warm is not None and site.hot is None and reduced.is_reduced(site, site.call),
    )
    by_default = (
        site.hot is not None
        or returns
        or _of_one(site)
        or is_reduced
        or _scored(site)
        or collected.is_collected(site, site.call)
        or collected.is_kept(site, site.call)
    )
    if not site.settings.preview and (not by_default or frequency.behind_type_test(site)):
        return
    if reads.host_copy(site, site.call, LIKELY) is None:
        return
    tested = type_tested.read_parameter(site.function, site.call)
    if tested is not None and handed_reads.handed(site, tested) is None:
        return
    level = frequency.severity(site)
    if level is not None and reads.host_copy(site, site.call) is None:
        level = None  # a forward is given tensors, loops elsewhere may be given arrays
    forward = level is None and site.hot is None and _in_forward(site)
    if level is None and not forward:
        return
    if (
        reads.is_read_beside(site, site.call)
        or logging_calls.is_logged(site, site.call)
        or (host_needs.host_needs(site, site.call) and not returns)
    ):
        return
    if forward:
        if site.call in reads.told_copies(site, site.statement, LIKELY):
            message = f"`{site.short()}` copies to the host and waits for the device {frequency.of_calls(site)}"
            yield site.finding(message, severity="info")
        return
    if site.call not in reads.told_copies(site, site.statement) or collected.is_streamed(site, site.call):
        return
    if not by_default and _is_meant(site):
        return
    back = host_needs.comes_back(site, site.call)
    what = "copies what the loader gave on the host back to it" if returns else "copies to the host"
    message = f"`{site.short()}` {what} and waits for the device {frequency.how_often(site)}"
    if is_reduced:
        message += ", to be reduced there"
    if back:
        message += ", though the value goes back to the device"
    yield site.finding(message, severity="warning" if back and level == "warning" else "info", related=site.why_hot())


def _by_helper(site: Site) -> Iterator[Finding]:
    """What a training step, with `--preview` an evaluation too, gives to a function that copies it to the host: `to_numpy(x)`."""
    call = site.call
    if (
        len(call.args) != 1
        or call.keywords
        or not _COPIES.search(names.last(call.func))
        or not (site.hot or site.settings.preview)
    ):
        return
    if frequency.severity(site) is None or not reads.is_on_device(site, call.args[0]):
        return
    copy = _helper(site)
    if copy is None or logging_calls.is_logged(site, call) or host_needs.host_needs(site, call):
        return
    message = f"`{site.short()}` copies to the host and waits for the device {frequency.how_often(site)}"
    yield site.finding(message, severity="info", related=(site.related(*copy, "copied here"), *site.why_hot()))


def _helper(site: Site) -> tuple[Function, ast.Call] | None:
    """The copy in the function that a call runs, if that does nothing else with what it is given; lambdas of the file itself are told of where they stand."""
    value = site.value(site.call.func)
    if isinstance(value.made_by, ast.Lambda) and value.made_in not in (None, site.module):
        assert value.made_in is not None
        found = reads.copy_in(value.made_by.body, [one.arg for one in value.made_by.args.args])
        return (value.made_in.body, found) if found is not None else None
    for target in site.project.targets(site.function, site.call) if value.kind == "function" else ():
        found = reads.copies_given(target)
        if found is not None and not _is_told(site.at(target, found)):
            return target, found
    return None


def _is_told(place: Site) -> bool:
    """Whether a copy is told of where it stands, since all callers give it tensors of the device."""
    return reads.host_copy(place, place.call, LIKELY) is not None and not frequency.behind_type_test(place)


def _says_host(call: ast.Call) -> bool:
    """`x.to("cpu")`, `x.to(torch.device("cpu"))`: most moves go elsewhere, and what they are given takes longer to tell."""
    given = keyword_of(call, "device") or (call.args[0] if call.args else None)
    if isinstance(given, ast.Call) and names.last(given.func) == "device" and len(given.args) == 1:
        given = given.args[0]
    return string(given) == "cpu"


def _is_offload(site: Site) -> bool:
    """Whether the copy makes room on the device: in `embed_offload(...)`, behind `if offload_inference:`, `if self.cpu_cache:`."""
    match site.statement:
        case ast.Assign(targets=[ast.Attribute(attr="data")], value=value) if value is site.call:
            return True  # the tensor itself is put there: `p.data = p.data.to("cpu")`
    tests = [name for guard in site.flow.guards(site.call) if guard.true for name in chain(guard.test) or ()]
    return any(map(_MAKES_ROOM.search, (site.function.name, *tests)))


def _of_lambda(site: Site) -> Iterator[Finding]:
    """`to_np = lambda x: x.detach().cpu().numpy()` of a module: each call on a step is a copy."""
    around = next((node for node in site.flow.ancestors(site.call) if isinstance(node, ast.Lambda)), None)
    statement = site.flow.parents.get(around) if around is not None else None
    named = isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
    parameter = root_of(site.call, ast.Call, ast.Attribute)
    if around is None or not named or parameter is None:
        return
    if [given.arg for given in around.args.args] != [parameter.id]:
        return
    assert isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
    for function, call in _calls(site).get(statement.targets[0].id, ()):
        place = site.at(function, call)
        if len(call.args) != 1 or not (place.hot or _is_told_of_evaluation(place)):
            continue
        if reads.device_tensor(place, call.args[0]) is None:
            continue
        if not logging_calls.is_logged(place, call) and not host_needs.host_needs(place, call):
            message = f"`{place.short()}` copies to the host and waits for the device {frequency.how_often(place)}"
            yield place.finding(message, severity="info", related=place.why_hot())


def _is_told_of_evaluation(place: Site) -> bool:
    """Whether a copy in an evaluation loop is told of where everything is."""
    if place.warm is None or not place.settings.preview or frequency.severity(place) is None:
        return False
    return not _is_meant(place)


def _is_meant(place: Site) -> bool:
    """Whether what an evaluation loop copies is what it is for: written to a file, shown each time, or too large for the device."""
    if collected.is_written(place) or logging_calls.is_shown_as_it_is(place, place.call):
        return True
    if collected.is_of_chunks(place, place.call) or collected.is_printed(place, place.call):
        return True
    return collected.is_meant_by_caller(place, place.call)


def _calls(site: Site) -> dict[str, list[tuple[Function, ast.Call]]]:
    """The calls in the functions of a file, by the names that the module alone binds."""

    def found() -> dict[str, list[tuple[Function, ast.Call]]]:
        calls: dict[str, list[tuple[Function, ast.Call]]] = {}
        for function in site.module.functions:
            own = function is site.module.body
            for call in function.flow.calls:
                if isinstance(call.func, ast.Name) and (own or not function.binds(call.func.id)):
                    calls.setdefault(call.func.id, []).append((function, call))
        return calls

    return site.once(("calls of names", site.module.path), found)


def _returns_batch(site: Site) -> bool:
    """Whether a part of a loader's batch is copied that was sent to the device as it is: `labels.cpu()`."""
    assert isinstance(site.call.func, ast.Attribute)
    part = site.call.func.value
    if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr == "detach":
        part = part.func.value
    if not isinstance(part, ast.Name | ast.Attribute | ast.Subscript) or (site.hot is None and site.warm is None):
        return False
    if isinstance(part, ast.Subscript) and not isinstance(part.slice, ast.Constant | ast.UnaryOp):
        return False
    if "grad" in (chain(part) or ())[1:]:
        return False  # what was calculated of it
    value = site.value(part)
    if value.kind not in ("tensor", "batch") or not value.loader_calls:
        return False
    # What a function gave that is given batches and outputs alike (`gathered(preds)`) may be an output.
    return value.proven and not value.on_cpu and not value.from_loader


def _of_one(site: Site) -> bool:
    """Whether an evaluation loop reads a single value of a model's output or a loss, as TL101 finds by `item()`."""
    assert isinstance(site.call.func, ast.Attribute)
    value = site.value(site.call.func.value)
    return site.warm is not None and value.is_tensor and value.scalar


def _scored(site: Site) -> bool:
    """Whether an evaluation loop calculates a loss of the copy, which the device could do: `criterion(output.cpu(), ...)`."""
    if site.warm is None:
        return False
    made = site.statement
    names = made.targets if isinstance(made, ast.Assign) else []
    loads = site.flow.loads.get(names[0].id, ()) if len(names) == 1 and isinstance(names[0], ast.Name) else ()
    uses = [site.flow.parents[load] for load in loads[: _USES + 1]]
    return 0 < len(uses) <= _USES and all(
        isinstance(use, ast.Call) and is_criterion(site.value(use.func)) for use in uses
    )


def _in_forward(site: Site) -> bool:
    """Whether a forward, or what it calls, runs the place, of which no loop and no compiled region is known."""
    plain = site.accelerator and not site.in_compiled and site.role != "test"
    return plain and not site.rare and not frequency.behind_type_test(site) and frequency.in_forward(site)


def _into_host(site: Site, holder: ast.expr, stored: ast.expr) -> Iterator[Finding]:
    """`losses[i] = criterion(...)`, where the tensor that is written into was made on the host."""
    there = site.value(holder)
    if not (there.is_tensor and there.device == "cpu" and not there.from_loader):
        return
    if frequency.severity(site) is None or site.in_compiled or reads.device_tensor(site, stored) is not stored:
        return  # what is copied by name, `output.cpu()`, is told there
    value = site.value(stored)
    of_batch = site.hot is None and site.loop() is site.warm and not (value.is_tensor and value.scalar)
    if not of_batch or site.settings.preview:
        message = f"`{site.short(holder)}` is in host memory: what is written into it is waited for {frequency.how_often(site)}"
        yield site.finding(message, severity="info", at=stored, related=site.why_hot())
