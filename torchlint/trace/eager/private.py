"""All private torch API behind the virtual GPU: one name here for each use.

`torchlint doctor` runs `PROBES`, each of which proves one capability on the installed torch and returns None, or says
what is off and why.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any
from unittest import mock

import torch
from torch._ops import OpOverload
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

# --- function modes: see calls of torch's API ---------------------------------------------------------------------

no_function_modes = torch._C.DisableTorchFunction
with_function_modes: Any = torch._C._EnableTorchFunction


def in_builtin_backward() -> bool:
    """Whether a derivative of torch's own is being computed, and not one written in Python."""
    node = torch._C._current_autograd_node()
    return node is not None and not isinstance(node, torch.autograd.function.BackwardCFunction)


def backward_of() -> tuple[str, int]:
    """The name of the derivative of torch's own that is being computed, and its number; "" and 0 where none is."""
    node = torch._C._current_autograd_node()
    return ("", 0) if node is None else (node.name(), node._sequence_nr())


def device_context_class() -> type[TorchFunctionMode]:
    """The mode that `with torch.device(...)` and `torch.set_default_device` push."""
    from torch.utils._device import DeviceContext

    return DeviceContext


def default_device() -> torch.device | None:
    """What `torch.set_default_device` was given; the mode for it lies below all others and so acts last."""
    import torch.utils._device as device

    return getattr(device, "CURRENT_DEVICE", None)


def factories() -> frozenset[Callable[..., Any]]:
    """The functions that make a tensor from no tensor, on the device they are asked for or the default one."""
    from torch.utils._device import _device_constructors

    return frozenset(_device_constructors())


def _stack_at(position: int) -> TorchFunctionMode:
    mode: TorchFunctionMode = torch._C._get_function_stack_at(position)
    return mode


def has_function_mode(kind: type[TorchFunctionMode]) -> bool:
    """Whether this thread is under a mode of that class now; a mode is not under itself."""
    return any(isinstance(_stack_at(position), kind) for position in range(torch._C._len_torch_function_stack()))


def push_function_mode(mode: TorchFunctionMode) -> None:
    """Put this thread under the mode until `function_modes_restored` ends."""
    from torch import overrides

    push: Any = overrides._push_mode
    push(mode)


@contextlib.contextmanager
def function_modes_restored() -> Iterator[list[TorchFunctionMode]]:
    """Afterwards this thread is under the function modes that it was under before, which are given."""
    from torch import overrides

    stack_of: Any = overrides._get_current_function_mode_stack
    before = stack_of()
    try:
        yield before
    finally:
        _replace_function_modes(stack_of(), before)


def _replace_function_modes(old: Iterable[object], new: Iterable[TorchFunctionMode]) -> None:
    from torch import overrides

    pop: Any = overrides._pop_mode
    for _ in old:
        pop()
    for mode in new:
        push_function_mode(mode)


@contextlib.contextmanager
def without_function_modes(hidden: Callable[[TorchFunctionMode], bool]) -> Iterator[None]:
    """Take those function modes off this thread's stack, and the default device if its mode is one of them."""
    import torch.utils._device as device

    default = default_device()
    with contextlib.ExitStack() as stack:
        if default is not None and default.type == "cuda":
            stack.enter_context(mock.patch.object(device, "CURRENT_DEVICE", None))
        before = stack.enter_context(function_modes_restored())
        _replace_function_modes(before, [mode for mode in before if not hidden(mode)])
        yield


def probe_function_modes() -> str | None:
    seen: list[object] = []

    class Mode(TorchFunctionMode):
        def __torch_function__(
            self, func: Callable[..., Any], types: object, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(func)
            return func(*args, **(kwargs or {}))

    tensor = torch.zeros(1)
    mode = Mode()
    with mode:
        _ = tensor.device
        with without_function_modes(lambda other: other is mode):
            _ = tensor.shape
        with torch.device("cpu"):
            torch.zeros(1)
    if not seen or seen[0] != torch.Tensor.device.__get__:
        return "virtual GPU: a function mode does not see Tensor.device"
    if torch.Tensor.shape.__get__ in seen:  # type: ignore[attr-defined]
        return "compiled regions: a function mode can't be taken off"
    if torch.zeros not in factories():
        return "virtual GPU: torch.zeros is no known factory"
    return None


# --- functions of torch written in Python -------------------------------------------------------------------------

GATES = ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic")
"""The functions of `torch.overrides` that say whether a mode or a subclass is to be asked; `torch._C._has_...` are they."""
_GATED_MODULES = ("_tensor", "autograd", "functional", "nn.functional", "overrides", "_lowrank", "_lobpcg")


class Gates:
    """Lets the body of torch's Python functions run *under* a function mode instead of being one opaque call of it.

    `torch.nn.functional.multi_head_attention_forward` asks `has_torch_function` first, hands itself to the mode and then
    runs with the mode off: whatever it asks of its tensors inside (their device) would be answered without the mode.
    """

    def __init__(self, mode: type[TorchFunctionMode]) -> None:
        self.opened = False
        modes = (mode, device_context_class())
        closed = {name: getattr(torch.overrides, name) for name in GATES}
        length, stack_at = torch._C._len_torch_function_stack, torch._C._get_function_stack_at

        def has_override(values: Iterable[object]) -> bool:
            if torch.compiler.is_compiling():  # Dynamo knows torch's own, and traces this
                return bool(closed["has_torch_function"](tuple(values)))
            for position in range(length()):
                if not isinstance(stack_at(position), modes):
                    return bool(closed["has_torch_function"](tuple(values)))
            for value in values:  # loops without a generator: every function of torch.nn.functional asks
                kind = type(value)
                if kind is not torch.Tensor and kind is not torch.nn.Parameter and _overrides(kind):
                    return True
            return False

        opened = {
            "has_torch_function": has_override,
            "has_torch_function_unary": lambda value: has_override((value,)),
            "has_torch_function_variadic": lambda *values: has_override(values),
        }
        self._places = [
            (module, name, opened[name], closed[name])
            for module in map(_torch_module, _GATED_MODULES)
            for name in GATES
            if getattr(module, name, None) is closed[name]
        ]

    def set(self, opened: bool) -> None:
        self.opened = opened
        for module, name, open_gate, closed_gate in self._places:
            setattr(module, name, open_gate if opened else closed_gate)


def _overrides(kind: type) -> bool:
    """Whether a type handles torch's functions itself, as some subclasses of Tensor do."""
    handler = getattr(kind, "__torch_function__", None)
    return handler is not None and handler is not torch._C._disabled_torch_function_impl


def _torch_module(name: str) -> Any:
    module: Any = torch
    for part in name.split("."):
        module = getattr(module, part, None)
    return module


# --- dispatch modes: see operators --------------------------------------------------------------------------------


@contextlib.contextmanager
def without_dispatch_modes(hidden: Callable[[TorchDispatchMode], bool]) -> Iterator[None]:
    """Take those dispatch modes off this thread's stack."""
    from torch.utils._python_dispatch import _get_current_dispatch_mode_stack, _pop_mode, _push_mode

    before = _get_current_dispatch_mode_stack()
    if not any(hidden(mode) for mode in before):
        yield
        return
    for _ in before:
        _pop_mode()
    for mode in before:
        if not hidden(mode):
            _push_mode(mode)
    try:
        yield
    finally:
        for _ in range(len(_get_current_dispatch_mode_stack())):
            _pop_mode()
        for mode in before:
            _push_mode(mode)


def is_composite(func: OpOverload) -> bool:
    """Whether an operator has no kernel but one that calls other operators."""
    name: Any = func.name
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    return has_kernel(name(), "CompositeImplicitAutograd") and not has_kernel(name(), "CPU")


def dispatch_themselves(types: Sequence[type]) -> bool:
    """Whether one of these classes of tensors (nested tensors, DTensors) runs its operators in Python."""
    plain = torch._C._disabled_torch_dispatch_impl
    return any(getattr(kind, "__torch_dispatch__", plain) is not plain for kind in types)


def compiles() -> bool:
    """Whether modes of a compiler are on (fake tensors, `make_fx`), which come before such tensors."""
    key = torch._C._TorchDispatchModeKey
    return any(torch._C._get_dispatch_mode(one) is not None for one in (key.FAKE, key.PROXY, key.FUNCTIONAL))


def implementation(func: Any) -> Callable[..., Any]:
    """What an operator's `__call__` calls, which saves a call of Python."""
    run: Callable[..., Any] = getattr(func, "_op", func) if type(func) is OpOverload else func
    return run


@contextlib.contextmanager
def dispatched_at_once(kind: type[TorchDispatchMode]) -> Iterator[None]:
    """A mode of this class is handed each operator without a look at its name.

    torch asks a registry for a rule that was made for this operator and this class of modes (`register_torch_dispatch`)
    before it looks for the method of the mode: the method is the rule. The first operator that a process hands to any
    mode decides whom torch asks from then on.
    """
    from torch._library import simple_registry

    find: Callable[[Any, type], Any] | None = getattr(simple_registry, _FIND_RULE, None)
    if find is None:
        yield
        return
    ask, rule = find, kind.__torch_dispatch__

    def find_rule(op: Any, mode: type) -> Any:
        return rule if mode is kind else ask(op, mode)

    with mock.patch.object(simple_registry, _FIND_RULE, find_rule):
        yield


_FIND_RULE = "find_torch_dispatch_rule"


def probe_dispatch_modes() -> str | None:
    seen: list[str] = []

    class Mode(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __torch_dispatch__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func._schema.name)
            return func(*args, **(kwargs or {}))

    mode = Mode()  # type: ignore[no-untyped-call]
    with mode:
        tensor = torch.ones(2, requires_grad=True)
        torch.autograd.backward((tensor * 2).sum())
        with without_dispatch_modes(lambda other: other is mode):
            torch.zeros(1)
        tensor.detach().sum().item()
    if "aten::_local_scalar_dense" not in seen:
        return "syncs: a dispatch mode does not see Tensor.item"
    if not is_composite(torch.ops.aten.item.default) or is_composite(torch.ops.aten.mm.default):
        return "syncs: which operators are made of others is unknown"
    if seen.count("aten::mul") < 2:
        return "syncs: a dispatch mode does not see the backward pass"
    if "aten::zeros" in seen:
        return "compiled regions: a dispatch mode can't be taken off"
    return None


# --- storages -----------------------------------------------------------------------------------------------------


def probe_storage_lifetime() -> str | None:
    """A weak reference to a storage has to die with its memory, not with the Python object."""
    import weakref

    tensor = torch.zeros(8)
    died: list[object] = []
    reference = weakref.ref(tensor.untyped_storage(), died.append)
    view = tensor[2:]
    del tensor
    if died or reference() is None:
        return "virtual GPU: a weak reference to a storage dies before its memory"
    del view
    return None if died else "virtual memory: a weak reference to a storage outlives its memory"


# --- optimizers ---------------------------------------------------------------------------------------------------

Groups = dict[tuple[torch.device, torch.dtype], tuple[list[list[torch.Tensor | None]], list[int]]]
GROUP = "_group_tensors_by_device_and_dtype"
"""The function of `torch._C` that does it."""


@contextlib.contextmanager
def grouped_by(device: Callable[[torch.Tensor], torch.device]) -> Iterator[None]:
    """Foreach optimizers and `clip_grad_norm_` group their tensors in C++, by the real device; make that `device`."""
    group: Callable[..., Groups] = getattr(torch._C, GROUP)

    @functools.wraps(group)
    def regroup(lists: list[list[torch.Tensor | None]], with_indices: bool = False) -> Groups:
        if torch.compiler.is_compiling():  # Dynamo has its own for torch's
            return group(lists, with_indices)
        groups: Groups = {}
        for (_, dtype), (tensors, indices) in group(lists, with_indices).items():
            for position, first in enumerate(tensors[0]):
                assert first is not None, "the first list decides about the device"
                target, places = groups.setdefault((device(first), dtype), ([[] for _ in tensors], []))
                for into, source in zip(target, tensors, strict=True):
                    if source:
                        into.append(source[position])
                if indices:
                    places.append(indices[position])
        return groups

    with mock.patch.object(torch._C, GROUP, regroup):
        yield


def probe_grouping() -> str | None:
    tensors: list[torch.Tensor | None] = [torch.zeros(1), torch.ones(1)]
    with grouped_by(lambda tensor: torch.device("cuda", 0)):
        groups: Groups = torch._C._group_tensors_by_device_and_dtype([tensors], True)
    found = groups.get((torch.device("cuda", 0), torch.float32))
    return None if found and found[1] == [0, 1] else "optimizers: tensors are grouped in an unknown way"


# --- objects sent to other processes ------------------------------------------------------------------------------

_OBJECT_DEVICE = "_get_object_coll_device"


@contextlib.contextmanager
def object_device(device: str) -> Iterator[None]:
    """Where `all_gather_object` and its like put what they pickle, whatever the backend of the group."""
    with mock.patch.object(torch.distributed.distributed_c10d, _OBJECT_DEVICE, lambda group=None: device):
        yield


def probe_object_device() -> str | None:
    if not torch.distributed.is_available() or hasattr(torch.distributed.distributed_c10d, _OBJECT_DEVICE):
        return None
    return "distributed: where pickled objects are sent from is unknown"


# --- saving and loading -------------------------------------------------------------------------------------------


@contextlib.contextmanager
def storage_package(tag: Callable[[Any], str | None], restore: Callable[[Any, str], Any | None]) -> Iterator[None]:
    """Let `tag` name the location of a storage that is saved and `restore` place one that is loaded, before all others."""
    from torch import serialization

    serialization.register_package(-1, tag, restore)
    try:
        yield
    finally:
        serialization._package_registry.remove((-1, tag, restore))


def probe_storage_package() -> str | None:
    import io

    buffer = io.BytesIO()
    with storage_package(lambda storage: "cuda:0", lambda storage, location: storage):
        torch.save(torch.ones(2), buffer)
        buffer.seek(0)
        loaded = torch.load(buffer)
    return None if loaded.tolist() == [1.0, 1.0] else "torch.load: a storage can't be placed"


# --- attention ----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def math_attention_allowed() -> Iterator[None]:
    """Whatever kernels the program chose, let the CPU fall back on the plain one: it has no efficient attention."""
    if torch._C._get_math_sdp_enabled():
        yield
        return
    torch._C._set_sdp_use_math(True)
    try:
        yield
    finally:
        torch._C._set_sdp_use_math(False)


def probe_attention() -> str | None:
    query = torch.ones(1, 1, 2, 4)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.EFFICIENT_ATTENTION), math_attention_allowed():
        torch.nn.functional.scaled_dot_product_attention(query, query, query)
    return None


# --- optimizers ---------------------------------------------------------------------------------------------------


def foreach_by_default(parameters: list[torch.Tensor], differentiable: bool) -> bool:
    """Whether an optimizer that is told nothing takes these parameters in kernels of many."""
    from torch.optim.optimizer import _default_to_fused_or_foreach

    return bool(_default_to_fused_or_foreach(parameters, differentiable, use_fused=False)[1])


def probe_optimizers() -> str | None:
    parameters = [torch.ones(2, requires_grad=True)]
    return "optimizers: one on the CPU takes many at once" if foreach_by_default(parameters, False) else None


# --- self-test ----------------------------------------------------------------------------------------------------

PROBES: tuple[Callable[[], str | None], ...] = (
    probe_function_modes,
    probe_dispatch_modes,
    probe_storage_lifetime,
    probe_grouping,
    probe_object_device,
    probe_storage_package,
    probe_attention,
    probe_optimizers,
)


def self_test() -> list[str]:
    """What is off on the installed torch, one line each; empty when all is well."""
    off = []
    for probe in PROBES:
        try:
            found = probe()
        except Exception as error:  # noqa: BLE001 - a probe that raises is a capability that is off
            found = f"{probe.__name__.removeprefix('probe_')}: {type(error).__name__}: {error}"
        if found:
            off.append(found)
    return off
