"""torch's API on the virtual GPU: devices in arguments and answers, copies between host and device."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import _VF, Tensor
from torch._ops import OpOverload
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from torchlint.trace.eager import private
from torchlint.trace.eager.device import CPU, VirtualGpu, index_of, size_in_bytes, transfer
from torchlint.trace.eager.operators import COVARIANCE, FILL, SET_ITEM
from torchlint.trace.eager.streams import VirtualGenerator
from torchlint.trace.eager.tags import leaves

Args = tuple[Any, ...]
Kwargs = dict[str, Any]
Handler = Callable[["DeviceFunctions", Any, Args, Kwargs], Any]

_HANDLERS: dict[Any, Handler] = {}
_SCALAR_READS = {
    Tensor.item: "item",
    Tensor.__bool__: "bool",
    Tensor.__int__: "int",
    Tensor.__float__: "float",
    Tensor.__complex__: "complex",
    Tensor.__index__: "index",
    Tensor.__getitem__: "index",
}
_PLACES = (str, torch.device)
_FROM_DATA = (torch.tensor, torch.as_tensor, torch.asarray)


def _handles(*functions: Any) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        _HANDLERS.update(dict.fromkeys(functions, handler))
        return handler

    return register


class DeviceFunctions(TorchFunctionMode):
    """Sees every call of torch's API in a thread and makes it true of the virtual GPU."""

    def __init__(self, gpu: VirtualGpu) -> None:
        super().__init__()
        self.gpu, self.thread = gpu, gpu.thread
        self._handlers: dict[Any, Handler] = {
            **dict.fromkeys(private.factories(), DeviceFunctions._make),
            **dict.fromkeys(_SCALAR_READS, _read),
            Tensor.__getitem__: _get_item,
            **_HANDLERS,
        }

    def __torch_function__(
        self, func: Callable[..., Any], types: object, args: Args = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        handler = self._handlers.get(func)
        if handler is not None:
            return handler(self, func, args, dict(kwargs) if kwargs else {})
        if kwargs and ("device" in kwargs or kwargs.get("generator") is not None or kwargs.get("pin_memory")):
            return self._placed(func, args, dict(kwargs))
        for value in args:
            if type(value) in _PLACES and self.gpu.is_device(value):
                return self._placed(func, args, dict(kwargs) if kwargs else {})
        return func(*args, **kwargs) if kwargs else func(*args)

    # --- tensors that are made ---

    def _make(self, func: Callable[..., Any], args: Args, kwargs: Kwargs) -> Any:
        """Call a factory; where it is not told the device, the default one counts, and what it fills stays where it is."""
        if kwargs.get("out") is not None:
            return func(*args, **kwargs)
        default = private.default_device()
        if default is not None and kwargs.get("device") is None:
            kwargs["device"] = default
        return self._placed(func, args, kwargs, made=True)

    def _placed(self, func: Callable[..., Any], args: Args, kwargs: Kwargs, made: bool = False) -> Any:
        """Call `func` with the CPU for its device, and mark what it returns as being where it was asked for."""
        gpu = self.gpu
        args, target = self._host_arguments(args, kwargs)
        asked = None if target is None else target.type
        _check_generator(kwargs.get("generator"), asked or (gpu.device_of(args[0]).type if _leads(args) else "cpu"))
        pinned = kwargs.get("pin_memory", False)
        if pinned:
            kwargs["pin_memory"] = False
        result = func(*args, **kwargs)
        for tensor in leaves(result):
            if target is not None and target.type == "cuda":
                gpu.tags.mark_cuda(tensor, target.index)
            elif isinstance(func, OpOverload):
                pass  # a dispatch mode hands on what C++ made, which knows of no device but the CPU
            elif asked == "cpu" or (made and target is None):
                gpu.tags.mark_host(tensor)
            if pinned:
                gpu.tags.mark_pinned(tensor)
        return result

    def _host_arguments(self, args: Args, kwargs: Kwargs) -> tuple[Args, torch.device | None]:
        """The arguments with `cuda` replaced by the CPU, and the device asked for."""
        target = None
        if kwargs.get("device") is not None:
            target = self.gpu.device(kwargs["device"])
            if target.type == "cuda":
                kwargs["device"] = CPU
        replaced = list(args)
        for position, value in enumerate(args):
            if self.gpu.is_device(value):
                target = self.gpu.device(value)
                if target.type == "cuda":
                    replaced[position] = CPU
        return tuple(replaced), target

    def move(self, tensor: Tensor, name: str, to: int | None, **how: Any) -> Tensor:
        """The tensor on the GPU of that index, or on the host for None; a copy only if it is not there yet."""
        if to == self.gpu.tags.index(tensor):
            return tensor
        return transfer(self.gpu, tensor, name, to=to, **how)


def _read(mode: DeviceFunctions, func: Any, args: Args, kwargs: Kwargs) -> Any:
    thread = mode.thread  # `thread.named(name)`, without the cost of a context manager: indexing is frequent
    before, thread.api = thread.api, thread.api or _SCALAR_READS[func]
    try:
        return func(*args, **kwargs)
    finally:
        thread.api = before


def _get_item(mode: DeviceFunctions, func: Any, args: Args, kwargs: Kwargs) -> Any:
    if type(args[-1]) is int:  # a row is a view, of no reads
        return func(*args)
    before, mode.thread.listed = mode.thread.listed, _is_of_lists(args[1])
    try:
        return _read(mode, func, args, kwargs)
    finally:
        mode.thread.listed = before


def _is_of_lists(index: object) -> bool:
    """Whether an index has lists, and no tensors."""
    parts = index if isinstance(index, tuple) else (index,)
    return any(isinstance(part, list) for part in parts) and not any(isinstance(part, Tensor) for part in parts)


def _leads(args: Args) -> bool:
    return bool(args) and isinstance(args[0], Tensor)


def _check_generator(generator: object, device: str) -> None:
    if generator is None or device not in ("cpu", "cuda"):
        return
    found = "cuda" if isinstance(generator, VirtualGenerator) else "cpu"
    if found != device:
        raise RuntimeError(f"Expected a '{device}' device type for generator but found '{found}'")


# --- where a tensor is --------------------------------------------------------------------------------------------


def _accessor(attribute: str) -> Any:
    return getattr(Tensor, attribute)


@_handles(_accessor("device").__get__)
def _device(mode: DeviceFunctions, func: Any, args: Args, kwargs: Kwargs) -> torch.device:
    index = mode.gpu.tags.index(args[0])
    device: torch.device = func(*args) if index is None else mode.gpu.devices[index]
    return device


@_handles(_accessor("is_cuda").__get__)
def _is_cuda(mode: DeviceFunctions, func: Any, args: Args, kwargs: Kwargs) -> bool:
    return mode.gpu.tags.is_cuda(args[0])


@_handles(_accessor("is_cpu").__get__)
def _is_cpu(mode: DeviceFunctions, func: Any, args: Args, kwargs: Kwargs) -> bool:
    return bool(func(*args)) and not mode.gpu.tags.is_cuda(args[0])


@_handles(Tensor.get_device)
def _get_device(mode: DeviceFunctions, func: Any, args: Args, kwargs: Kwargs) -> int:
    index = mode.gpu.tags.index(args[0])
    return int(func(*args, **kwargs)) if index is None else index


@_handles(Tensor.is_pinned)
def _is_pinned(mode: DeviceFunctions, func: Any, args: Args, kwargs: Kwargs) -> bool:
    return mode.gpu.tags.is_pinned(args[0])


@_handles(Tensor.pin_memory)
def _pin_memory(mode: DeviceFunctions, func: Any, args: Args, kwargs: Kwargs) -> Tensor:
    tensor: Tensor = args[0]
    if mode.gpu.tags.is_cuda(tensor):
        raise RuntimeError(f"cannot pin '{_type_name(tensor)}' only dense CPU tensors can be pinned")
    if mode.gpu.tags.is_pinned(tensor):
        return tensor
    with mode.thread.pause():
        pinned = tensor.clone(memory_format=torch.preserve_format)
    mode.gpu.tags.mark_pinned(pinned)
    return pinned


@_handles(torch.device)
def _torch_device(mode: DeviceFunctions, func: Any, args: Args, kwargs: Kwargs) -> torch.device:
    index = args[0] if args else kwargs.get("device", kwargs.get("type"))
    if len(args) + len(kwargs) == 1 and isinstance(index, int):
        return torch.device("cuda", index)
    device: torch.device = func(*args, **kwargs)
    return device


# --- moves --------------------------------------------------------------------------------------------------------


def _named(names: tuple[str, ...], args: Args, kwargs: Kwargs) -> Kwargs:
    """The call's arguments by name."""
    return {**dict(zip(names, args, strict=False)), **kwargs}


@_handles(Tensor.cuda)
def _cuda(mode: DeviceFunctions, func: Any, args: Args, kwargs: Kwargs) -> Tensor:
    named = _named(("self", "device", "non_blocking"), args, kwargs)
    target = mode.gpu.device("cuda" if named.get("device") is None else named["device"])
    if target.type != "cuda":
        raise RuntimeError(f"Invalid device, must be cuda device, but got {named['device']}")
    how = {key: named[key] for key in ("memory_format",) if key in named}
    return mode.move(named["self"], "cuda", target.index, non_blocking=bool(named.get("non_blocking", False)), **how)


@_handles(Tensor.cpu)
def _cpu(mode: DeviceFunctions, func: Any, args: Args, kwargs: Kwargs) -> Tensor:
    return mode.move(args[0], "cpu", None, **kwargs)


@_handles(Tensor.to)
def _to(mode: DeviceFunctions, func: Any, args: Args, kwargs: Kwargs) -> Tensor:
    """`to(device, dtype, ...)`, `to(dtype, ...)`, `to(other, ...)`; each may end with non_blocking and copy."""
    tensor: Tensor = args[0]
    first = args[1] if len(args) > 1 else None
    if isinstance(first, Tensor):
        names: tuple[str, ...] = ("other", "non_blocking", "copy")
    elif isinstance(first, torch.dtype):
        names = ("dtype", "non_blocking", "copy")
    else:
        names = ("device", "dtype", "non_blocking", "copy")
    named = _named(names, args[1:], kwargs)
    other = named.pop("other", None)
    device = named.pop("device", None)
    if isinstance(other, Tensor):
        device, named["dtype"] = mode.gpu.device_of(other), other.dtype
    target = None if device is None else mode.gpu.device(device)
    if (target is None or target.type in ("cpu", "cuda")) and not tensor.is_meta:
        if target is not None and index_of(target) != mode.gpu.tags.index(tensor):
            named.pop("copy", None)
            how = {key: value for key, value in named.items() if value is not None}
            return mode.move(tensor, "to", index_of(target), **how)
        device = None if target is None else CPU
    elif target is not None and target.type == "cuda":
        device = CPU  # of a meta tensor: raises what torch raises
    if device is not None:
        named["device"] = device
    named["dtype"] = named.get("dtype") or tensor.dtype
    result: Tensor = func(tensor, **named)
    return result


@_handles(Tensor.type)
def _type(mode: DeviceFunctions, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """`type()` names it; `type("torch.cuda.HalfTensor")` moves and casts."""
    named = _named(("self", "dtype", "non_blocking"), args, kwargs)
    tensor, wanted = named["self"], named.get("dtype")
    if wanted is None:
        return _type_name(tensor) if mode.gpu.tags.is_cuda(tensor) else func(*args, **kwargs)
    if isinstance(wanted, torch.dtype):
        return func(*args, **kwargs)
    name = wanted if isinstance(wanted, str) else f"{wanted.__module__}.{wanted.__name__}"
    target = None
    if name.startswith("torch.cuda."):
        own = mode.gpu.tags.index(tensor)
        target = mode.gpu.index(None) if own is None else own
    cast = func(tensor, name.replace("torch.cuda.", "torch."))
    return mode.move(cast, "type", target, non_blocking=bool(named.get("non_blocking", False)))


@_handles(Tensor.type_as)
def _type_as(mode: DeviceFunctions, func: Any, args: Args, kwargs: Kwargs) -> Tensor:
    """The dtype and the device of another tensor."""
    named = _named(("self", "other"), args, kwargs)
    tensor, other = named["self"], named["other"]
    if tensor.is_meta or other.is_meta or mode.gpu.tags.index(tensor) == mode.gpu.tags.index(other):
        same: Tensor = func(*args, **kwargs)
        return same
    return mode.move(tensor, "type_as", mode.gpu.tags.index(other), dtype=other.dtype)


def _type_name(tensor: Tensor) -> str:
    with torch._C.DisableTorchFunction():
        return str(tensor.type()).replace("torch.", "torch.cuda.", 1)


@_handles(Tensor.copy_)
def _copy(mode: DeviceFunctions, func: Any, args: Args, kwargs: Kwargs) -> Any:
    named = _named(("self", "src", "non_blocking"), args, kwargs)
    source = _movable(mode, named["self"], named["src"], "copy_", bool(named.get("non_blocking", False)))
    return func(named["self"], source, named.get("non_blocking", False))


@_handles(Tensor.__setitem__)
def _set_item(mode: DeviceFunctions, func: Any, args: Args, kwargs: Kwargs) -> Any:
    target, index, value = args
    before, mode.thread.listed = mode.thread.listed, _is_of_lists(index)
    try:
        with mode.thread.named(SET_ITEM if isinstance(value, Tensor) else FILL):
            return func(target, index, _movable(mode, target, value, "setitem", False))
    finally:
        mode.thread.listed = before


def _movable(mode: DeviceFunctions, target: Tensor, source: Any, name: str, non_blocking: bool) -> Any:
    """A source on another device, moved so that its gradient moves back; the operator records any other copy."""
    if isinstance(source, Tensor) and source.requires_grad and source.dim():
        return mode.move(source, name, mode.gpu.tags.index(target), non_blocking=non_blocking)
    return source


@_handles(torch.cov, Tensor.cov, torch.corrcoef, Tensor.corrcoef)
def _cov(mode: DeviceFunctions, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """Whether there are degrees of freedom left is asked of a tensor on the device (Correlation.cpp), which is told once."""
    with mode.thread.named(COVARIANCE):
        result = func(*args, **kwargs)
    if mode.gpu.tags.is_cuda(result):
        mode.gpu.sync(COVARIANCE)
    return result


@_handles(_VF._pad_packed_sequence)
def _pad_packed_sequence(mode: DeviceFunctions, func: Any, args: Args, kwargs: Kwargs) -> tuple[Tensor, Tensor]:
    """The lengths are written on the host, wherever the sequence is."""
    padded, lengths = func(*args, **kwargs)
    mode.gpu.tags.mark_host(lengths)
    return padded, lengths


# --- data from Python and for Python ------------------------------------------------------------------------------


@_handles(*_FROM_DATA, Tensor.new_tensor)
def _from_data(mode: DeviceFunctions, func: Any, args: Args, kwargs: Kwargs) -> Tensor:
    gpu = mode.gpu
    like = args[0] if func is Tensor.new_tensor else None
    data = args[1] if like is not None and len(args) > 1 else args[0] if like is None and args else None
    data = kwargs.get("data", kwargs.get("obj")) if data is None else data
    model = data if like is None else like
    if kwargs.get("device") is None and isinstance(model, Tensor):
        kwargs["device"] = gpu.device_of(model)
    elif kwargs.get("device") is None and (default := private.default_device()) is not None:
        kwargs["device"] = default
    args, target = mode._host_arguments(args, kwargs)
    pinned = kwargs.pop("pin_memory", False)
    name = func.__name__
    to = None if target is None else index_of(target)
    known = target is not None and target.type in ("cpu", "cuda")
    if isinstance(data, Tensor) and known and to != gpu.tags.index(data):
        moved = mode.move(data.detach() if func is not torch.as_tensor else data, name, to)
        return moved if kwargs.get("dtype") is None else moved.to(kwargs["dtype"])
    reads = _device_scalars(gpu, data)
    if reads:
        gpu.sync("item", count=reads)
    with mode.thread.pause():
        result: Tensor = func(*args, **kwargs)
        if to is not None and not isinstance(data, Tensor):
            result = _unshared(result) if func is not torch.tensor else result
    if to is not None and not isinstance(data, Tensor):
        gpu.copied(name, size_in_bytes(result), to_device=True, pinned=False, blocking=True)
    if to is not None:
        gpu.tags.mark_cuda(result, to)
    if pinned:
        gpu.tags.mark_pinned(result)
    return result


@_handles(Tensor.new)
def _new(mode: DeviceFunctions, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """`x.new(2, 3)` is where `x` is; `x.new([1, 2])` is data, which is copied there."""
    tensor, data = args[0], args[1] if len(args) > 1 else kwargs.get("data")
    if kwargs.get("device") is not None or tensor.layout != torch.strided:
        return mode._placed(func, args, kwargs)
    index = mode.gpu.tags.index(tensor)
    if index is None or isinstance(data, (Tensor, torch.UntypedStorage, torch.TypedStorage)):
        return func(*args, **kwargs)
    with mode.thread.pause():
        made: Tensor = func(*args, **kwargs)
    if data is not None and not isinstance(data, (int, torch.Size)):
        mode.gpu.copied("new", size_in_bytes(made), to_device=True, pinned=False, blocking=True)
    mode.gpu.tags.mark_cuda(made, index)
    return made


def _unshared(tensor: Tensor) -> Tensor:
    """Memory of its own: `as_tensor` of an array shares the array's on the CPU, but never on a GPU."""
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


def _device_scalars(gpu: VirtualGpu, data: object) -> int:
    """How many device tensors a (nested) list holds; each is read by itself."""
    if not isinstance(data, (list, tuple)):
        return 0
    return sum(int(gpu.tags.is_cuda(item)) if isinstance(item, Tensor) else _device_scalars(gpu, item) for item in data)


@_handles(Tensor.tolist)
def _tolist(mode: DeviceFunctions, func: Any, args: Args, kwargs: Kwargs) -> Any:
    if mode.gpu.tags.is_cuda(args[0]):
        mode.gpu.sync("tolist")
    with mode.thread.pause():
        return func(*args, **kwargs)


@_handles(Tensor.numpy, Tensor.__array__)
def _numpy(mode: DeviceFunctions, func: Any, args: Args, kwargs: Kwargs) -> Any:
    if mode.gpu.tags.is_cuda(args[0]) and not kwargs.get("force"):
        raise TypeError(
            f"can't convert {mode.gpu.device_of(args[0])} device type tensor to numpy. "
            "Use Tensor.cpu() to copy the tensor to host memory first."
        )
    tensor = mode.move(args[0], "numpy", None)
    return func(tensor, *args[1:], **kwargs)


# --- functions whose CPU side differs from a GPU's ----------------------------------------------------------------


@_handles(F.one_hot)
def _one_hot(mode: DeviceFunctions, func: Any, args: Args, kwargs: Kwargs) -> Tensor:
    """The CPU checks the classes' range; a GPU reads the greatest one, and only if it is not told their number."""
    tensor = args[0] if args else kwargs["tensor" if "tensor" in kwargs else "input"]
    classes = args[1] if len(args) > 1 else kwargs.get("num_classes", -1)
    index = mode.gpu.tags.index(tensor)
    if index is not None and classes == -1:
        mode.gpu.sync("item")
    with mode.thread.pause():
        result: Tensor = func(*args, **kwargs)
    if index is not None:
        mode.gpu.tags.mark_cuda(result, index)
    return result


_CTC = ("log_probs", "targets", "input_lengths", "target_lengths", "blank", "reduction", "zero_infinity")
_MEAN = 1  # as torch.nn.functional numbers its reductions


@_handles(torch.ctc_loss)
def _ctc_loss(mode: DeviceFunctions, func: Any, args: Args, kwargs: Kwargs) -> Tensor:
    """Lengths are read on the host; a mean copies those of the targets to the device again (LossCTC.cpp)."""
    named = _named(_CTC, args, kwargs)
    for name in ("input_lengths", "target_lengths"):
        if isinstance(named[name], Tensor):
            lengths = mode.move(named[name], "ctc_loss", None)
            with mode.thread.pause():
                named[name] = lengths.tolist()
    if named.get("reduction") == _MEAN and mode.gpu.tags.is_cuda(named["log_probs"]):
        size = len(named["target_lengths"]) * named["log_probs"].element_size()
        mode.gpu.copied("ctc_loss", size, to_device=True, pinned=False, blocking=True)
    result: Tensor = func(**named)
    return result


_SPARSE = {
    torch.sparse_coo_tensor: ("indices", "values"),
    torch.sparse_compressed_tensor: ("compressed_indices", "plain_indices", "values"),
    torch.sparse_csr_tensor: ("crow_indices", "col_indices", "values"),
    torch.sparse_bsr_tensor: ("crow_indices", "col_indices", "values"),
    torch.sparse_csc_tensor: ("ccol_indices", "row_indices", "values"),
    torch.sparse_bsc_tensor: ("ccol_indices", "row_indices", "values"),
}


@_handles(*_SPARSE)
def _make_sparse(mode: DeviceFunctions, func: Any, args: Args, kwargs: Kwargs) -> Tensor:
    """It is where it is asked for, else where its values are; what is not there is copied (tensor_new.cpp)."""
    parts, gpu = _SPARSE[func], mode.gpu
    named = _named((*parts, "size"), args, kwargs)
    if not named.keys() >= {*parts}:  # `sparse_coo_tensor(size)`
        empty: Tensor = mode._make(func, args, kwargs)
        return empty
    values = named["values"]
    if named.get("device") is None:
        named["device"] = private.default_device() or (gpu.device_of(values) if isinstance(values, Tensor) else CPU)
    target = gpu.device(named["device"])
    if target.type in ("cpu", "cuda"):
        for part in parts:
            if not isinstance(named[part], Tensor):
                with mode.thread.pause():
                    named[part] = torch.as_tensor(named[part])
            named[part] = mode.move(named[part], func.__name__, index_of(target))
    if func is torch.sparse_coo_tensor and named.get("size") is None and gpu.tags.is_cuda(named["indices"]):
        gpu.sync("sparse_coo_tensor")  # reads the size from the indices (SparseTensor.cpp)
    made: Tensor = mode._placed(func, (), named)
    return made


@_handles(F.scaled_dot_product_attention)
def _attention(mode: DeviceFunctions, func: Any, args: Args, kwargs: Kwargs) -> Tensor:
    with private.math_attention_allowed():
        result: Tensor = func(*args, **kwargs)
        return result


@_handles(torch._C._nn._parse_to)
def _parse_to(mode: DeviceFunctions, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """What `Module.to` asks about its arguments; a bare index means a GPU, a tensor the place where it is."""

    def device(value: Any) -> Any:
        is_index = isinstance(value, int) and not isinstance(value, bool)
        return torch.device("cuda", value) if is_index else value

    if args:
        args = (device(args[0]), *args[1:])
    if "device" in kwargs:
        kwargs["device"] = device(kwargs["device"])
    like = args[0] if args else kwargs.get("tensor")
    where, *how = func(*args, **kwargs)
    return (mode.gpu.device_of(like) if isinstance(like, Tensor) else where, *how)


@_handles(_accessor("grad").__get__)
def _gradient(mode: DeviceFunctions, func: Any, args: Args, kwargs: Kwargs) -> Tensor | None:
    """Zeros that autograd made without saying where are where the tensor is."""
    gradient: Tensor | None = func(*args)
    if gradient is not None and mode.gpu.tags.is_undecided(gradient):
        index = mode.gpu.tags.index(args[0])
        if index is not None:
            mode.gpu.tags.mark_cuda(gradient, index)
    return gradient


@_handles(_accessor("grad").__set__)
def _assign_gradient(mode: DeviceFunctions, func: Any, args: Args, kwargs: Kwargs) -> None:
    tensor, gradient = args
    if isinstance(gradient, Tensor):
        own, given = mode.gpu.device_of(tensor), mode.gpu.device_of(gradient)
        if own != given and not mode.gpu.tags.is_undecided(gradient):
            if own.type == given.type:
                what = f"located on device with index '{given.index}' to a tensor located on device with index '{own.index}'"
            else:
                what = f"with device type '{given.type}' to a tensor with device type '{own.type}'"
            raise RuntimeError(
                f"attempting to assign a gradient {what}. "
                "Please ensure that the gradient and the tensor are on the same device"
            )
    func(*args)
