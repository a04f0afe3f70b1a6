"""What operators ask of a GPU: floating-point operations, bytes, launches. Asked for by --gpu, else nothing is noted."""

from __future__ import annotations

import contextlib
import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from unittest import mock

import torch
from torch._ops import OpOverload
from torch.utils import data as _data  # noqa: F401 - torch.utils.data is no attribute before
from torch.utils.flop_counter import flop_registry, sdpa_backward_flop_count, sdpa_flop_count

from torchlint.messages.event import Event, Operation
from torchlint.trace.eager.tags import leaves
from torchlint.trace.eager.watching import computes
from torchlint.trace.program.recorder import Place, Recorder, here

_MATRIX = frozenset(("mm", "addmm", "bmm", "baddbmm", "_scaled_mm", "linear", "mv", "addmv", "dot"))
_CONVOLUTION = frozenset(("convolution", "convolution_backward", "_convolution", "cudnn_convolution"))
_MADE = frozenset(
    ("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "sym_size", "is_same_size", "detach",
     "lift_fresh", "_local_scalar_dense", "record_stream", "set_", "_unsafe_view", "alias", "_reshape_alias")
)  # fmt: skip
_NORM = frozenset(
    ("native_layer_norm", "native_layer_norm_backward", "native_group_norm", "native_group_norm_backward",
     "native_batch_norm", "native_batch_norm_backward", "_native_batch_norm_legit",
     "_native_batch_norm_legit_no_training", "cudnn_batch_norm", "_softmax", "_log_softmax", "_softmax_backward_data",
     "_log_softmax_backward_data", "mean", "sum", "amax", "max", "var_mean", "linalg_vector_norm", "_fused_rms_norm")
)  # fmt: skip
_GATHERS = frozenset(("embedding", "index", "gather", "index_select", "_unsafe_index"))
_OVERWRITES = frozenset(("fill_", "zero_", "copy_", "normal_", "uniform_", "random_", "bernoulli_"))
_OPTIMIZERS = "torch/optim/"
_MULTI_TENSOR = ((1, 110), (2, 64), (3, 36))
"""How many tensors one launch of a multi-tensor kernel takes, by how many lists it is given."""


class Work(NamedTuple):
    """One operator call."""

    name: str
    kind: str
    flops: int
    dtype: str
    launches: int
    size: int
    """Bytes that it reads and writes."""
    activations: int
    """Bytes of a convolution's activations that lie in another order than its kernels want, 0 elsewhere."""


def touched(tensor: torch.Tensor) -> int:
    """Bytes really touched: what is broadcast is read once."""
    if tensor.layout != torch.strided:
        return tensor.numel() * tensor.element_size()
    sizes = (size for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if stride)
    return math.prod(map(int, sizes)) * tensor.element_size()


def _attention(query: Any, key: Any, value: Any, *_: object, **__: object) -> int:
    count: Any = sdpa_flop_count
    return int(count(query.shape, key.shape, value.shape))


def _attention_backward(gradient: Any, query: Any, key: Any, value: Any, *_: object, **__: object) -> int:
    count: Any = sdpa_backward_flop_count
    return int(count(gradient.shape, query.shape, key.shape, value.shape))


def _convolution_backward(gradient: Any, given: Any, weight: Any, *rest: Any, **_: object) -> int:
    """As much as forward for each of input and weight: torch's own count takes groups for one in that of the weight."""
    transposed, mask = bool(rest[4]), rest[-1]
    over = given if transposed else gradient  # each of its elements meets the weights of one output channel
    once = 2 * math.prod(map(int, over.shape)) * math.prod(map(int, weight.shape[1:]))
    return once * (bool(mask[0]) + bool(mask[1]))


_COUNTS: dict[str, Callable[..., int]] = {
    "convolution_backward": _convolution_backward,
    "_scaled_dot_product_flash_attention_for_cpu": _attention,
    "_scaled_dot_product_flash_attention_for_cpu_backward": _attention_backward,
}


def _flops(func: OpOverload, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> int:
    if name in _COUNTS:
        return _COUNTS[name](*args, **kwargs)
    counted = flop_registry.get(func._overloadpacket)
    if counted is None:
        return 0
    try:
        return int(counted(*args, **kwargs, out_val=result))
    except (TypeError, ValueError, AttributeError, IndexError):  # a shape the formula does not know
        return 0


def _kind(name: str, args: Sequence[Any]) -> str:
    if "attention" in name:
        return "attention"
    if name in _MATRIX:
        return "matrix"
    if name in _CONVOLUTION:
        return _convolution(name, args)
    return "norm" if name in _NORM else "pointwise"


_NORM_BACKWARD = frozenset(
    (
        "native_batch_norm_backward",
        "native_layer_norm_backward",
        "native_group_norm_backward",
        "cudnn_batch_norm_backward",
    )
)


def _read_again(name: str, args: Sequence[Any]) -> int:
    """Bytes that an operator reads from memory once more, since it is several kernels (torch's aten/src/ATen/native/cuda).

    Statistics of a batch are taken before it is normalized (Normalization.cuh); gradients of a norm's weights, or the
    sums that its input's needs, are a kernel of their own, which reads gradient and input; so is each of the gradients
    of a convolution, which reads the gradient.
    """
    if name in ("native_batch_norm", "_native_batch_norm_legit", "cudnn_batch_norm"):
        return touched(args[0]) if len(args) > 5 and args[5] else 0
    if name in _NORM_BACKWARD:
        return touched(args[0]) + touched(args[1])
    if name == "convolution_backward":
        return touched(args[0]) * (sum(map(bool, args[10])) - 1) if len(args) > 10 else 0
    return 0


def _convolution(name: str, args: Sequence[Any]) -> str:
    weight = args[2] if name == "convolution_backward" else args[1]
    position = 9 if name == "convolution_backward" else 8
    groups = args[position] if len(args) > position else 1
    if isinstance(groups, int) and groups > 1:
        return "depthwise" if weight.shape[1] == 1 else "grouped"
    return "convolution"


def may_launch(func: object) -> bool:
    """Whether an operator is one that may launch something: no view, nothing that only makes memory."""
    return isinstance(func, OpOverload) and computes(func) and func._overloadpacket.__name__ not in _MADE


def work_of(func: OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> Work | None:
    """What a call of an operator asks of a GPU; None of one that launches nothing."""
    if not may_launch(func):
        return None
    name = func._overloadpacket.__name__
    given, made = list(leaves((*args, *kwargs.values()))), list(leaves(result))
    lists = [
        value for value in args if isinstance(value, (list, tuple)) and value and isinstance(value[0], torch.Tensor)
    ]
    launches = 1
    if name.startswith(("_foreach", "_fused")) and lists:
        # a fused optimizer writes all that it is given but the gradients
        written_to = lists[:1] if name.startswith("_foreach") else [lists[0], *lists[2:]]
        made = made or list(leaves(written_to))
        most = dict(_MULTI_TENSOR).get(len(lists), 36)
        launches = max(1, math.ceil(len(lists[0]) / most))
    elif func._schema.is_mutable and not made:
        made = given
    if not made:
        return None
    reads, written = list(map(touched, given)), sum(map(touched, made))
    if name == "_foreach_zero_":
        reads.clear()
    elif name in _GATHERS and reads:
        reads[0] = written
    elif name in _OVERWRITES:
        del reads[:1]
    kind = _kind(name, args)
    floating = [
        tensor.dtype for tensor in (made if name in ("_to_copy", "copy_") else given) if tensor.is_floating_point()
    ]
    dtype = str(floating[0] if floating else torch.float32).removeprefix("torch.")
    flops = _flops(func, name, args, kwargs, result)
    size = sum(reads) + _read_again(name, args) + written
    return Work(name, kind, flops, dtype, launches, size, _unordered(kind, given, made))


def _signature(values: Iterable[object]) -> tuple[object, ...]:
    """What the work of an operator depends on: shapes, strides and dtypes of tensors, and other arguments but floats."""
    found: list[object] = []
    for value in values:
        if isinstance(value, torch.Tensor):
            try:
                found += value.shape, value.stride(), value.dtype
            except RuntimeError:  # a sparse one has no strides
                found += value.shape, value.layout, value.dtype
        elif isinstance(value, (list, tuple)):
            found.append(_signature(value))
        else:
            found.append(None if isinstance(value, float) else value)
    return tuple(found)


def _shapes(result: object) -> object:
    """All of a result that does not follow from the arguments: its size may depend on the data."""
    if isinstance(result, torch.Tensor):
        return result.shape
    return tuple(map(_shapes, result)) if isinstance(result, (list, tuple)) else None


def _unordered(kind: str, given: Sequence[torch.Tensor], made: Sequence[torch.Tensor]) -> int:
    if kind not in ("convolution", "grouped") or not given:
        return 0
    activations = [tensor for tensor in (*given[:1], *made[:1]) if tensor.dim() == 4]
    if any(tensor.is_contiguous(memory_format=torch.channels_last) for tensor in activations):
        return 0
    return sum(map(touched, activations))


_Noted = tuple[Work, tuple[Place, str], str]
"""Of one operator: what it asks, where it ran, and which optimizer took its step."""


def _operation(work: Work, at: tuple[Place, str], owner: str) -> Operation:
    (file, line, _), via = at
    owner = owner if via.startswith(_OPTIMIZERS) else ""  # a closure's operators are not the optimizer's
    return Operation(
        work.kind, work.name, work.dtype, work.flops, work.size, work.launches, work.activations, file, line, via, owner
    )


class WorkLog:
    """The operations of the present step in their order; those of the last whole step are told.

    The places are the user's lines, as of every event.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._step: list[_Noted] = []
        self._whole: list[_Noted] = []
        self._number = 0
        self._known: dict[object, tuple[Any, Work | None]] = {}  # steps are alike: their operators have the same shapes
        self.batch = 0
        self.owner = ""
        """The optimizer that takes its step, by the line where it was made; "" while none does."""

    def work(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> Work | None:
        """What an operator asked of the GPU; None of one that launches nothing."""
        # by identity, since an operator's own hash is computed in Python; it is kept so that nothing else gets its identity
        key = id(func), _signature(args), _shapes(result), _signature(kwargs.items()) if kwargs else ()
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = func, work_of(func, args, kwargs, result)
        return known[1]

    def operator(self, work: Work, at: tuple[Place, str]) -> None:
        """Note it at the place where it ran."""
        if not self._recorder.active:
            return
        if self._recorder.step != self._number:
            self._number, self._whole, self._step = self._recorder.step, self._step, []
        self._step.append((work, at, self.owner))

    def wait(self, name: str) -> None:
        """The host waits for the device."""
        self.operator(Work(name, "sync", 0, "", 0, 0, 0), here())

    def copy(self, name: str, size: int, *, to_device: bool, pinned: bool, blocking: bool) -> None:
        """A copy between host and device; `dtype` says how."""
        how = f"{'pinned' if pinned else 'pageable'}-{'blocking' if blocking else 'non-blocking'}"
        self.operator(Work(name, "h2d" if to_device else "d2h", 0, how, 0, size, 0), here())

    def tell(self) -> None:
        """Write the last step that is whole."""
        unfinished = self._recorder.step == self._number
        steps = (self._whole or self._step) if unfinished else self._step
        table: dict[Operation, int] = {}
        sequence = [table.setdefault(_operation(*noted), len(table)) for noted in steps]
        if sequence:
            rows = [list(operation) for operation in table]
            data: dict[str, object] = {"rows": rows, "sequence": sequence, "batch": self.batch}
            self._recorder.emit(Event("work", step=self._recorder.step, data=data))

    @contextlib.contextmanager
    def batches(self, factor: int) -> Iterator[None]:
        """DataLoaders that are made inside have batches `factor` times as large; the size of the first one's is noted."""
        make = torch.utils.data.DataLoader.__init__
        signature = inspect.signature(make)

        def init(loader: Any, *args: Any, **kwargs: Any) -> None:
            given = signature.bind(loader, *args, **kwargs)
            given.apply_defaults()
            size = given.arguments.get("batch_size")
            if isinstance(size, int) and given.arguments.get("batch_sampler") is None:
                given.arguments["batch_size"] = size * factor
                self.batch = self.batch or size * factor
            make(*given.args, **given.kwargs)

        with mock.patch.object(torch.utils.data.DataLoader, "__init__", init):
            yield
