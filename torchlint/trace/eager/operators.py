"""The operators of the virtual GPU: where their results are, which of them make the host wait, what a GPU refuses."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch._ops import OpOverload
from torch.overrides import TorchFunctionMode

from torchlint.torch_api import operators as table
from torchlint.trace.eager import private
from torchlint.trace.eager.device import CPU, Thread, VirtualGpu, size_in_bytes
from torchlint.trace.eager.distributed import COLLECTIVES
from torchlint.trace.eager.tags import memory_of, shares
from torchlint.trace.eager.watching import Eager, computes, event_name, has_parts
from torchlint.trace.program.recorder import Place, here

Tensors = list[torch.Tensor]
COVARIANCE = "cov"  # `torch.cov(x)`, `torch.corrcoef(x)`
SET_ITEM = "setitem"  # `x[i] = tensor`
FILL = (
    "fill"  # `x[i] = 1.0`: of a slice and under a mask the value is an argument of the kernel, of elements it is copied
)
_TORCH = tuple(map(int, torch.__version__.split(".")[:2]))
_KNOWN = _TORCH < (2, 14)
"""Whether it is known that `x[0] = 1.0` copies the number and `isin` looks for duplicates: torch is about to do neither."""
_LONGEST_MODE = 2048
_PINS_MASKS = _TORCH >= (2, 9)
"""Whether what a mask of the host chooses goes to the device from pinned memory, without a wait (IndexingUtils.h)."""


def _operators(*names: str) -> list[Any]:
    """Those of `name.overload` in aten that this torch has."""
    found = []
    for name in names:
        packet, _, overload = name.partition(".")
        operator = getattr(getattr(torch.ops.aten, packet, None), overload or "default", None)
        if operator is not None:
            found.append(operator)
    return found


class Call(NamedTuple):
    """One operator call with at least one device tensor."""

    gpu: VirtualGpu
    thread: Thread
    args: Sequence[Any]
    kwargs: Mapping[str, Any]

    def argument(self, position: int, name: str, default: object = None) -> Any:
        return self.args[position] if len(self.args) > position else self.kwargs.get(name, default)


# --- operators that make the host wait ----------------------------------------------------------------------------
# Those that always do are rows of the table (torch.ops.aten.*); here are those whose arguments decide.


def _read_scalar(call: Call) -> None:
    name = call.thread.api or "item"
    call.gpu.sync("index" if name in (FILL, SET_ITEM) else name)


def _repeat_interleave(call: Call) -> None:
    if call.kwargs.get("output_size") is None:
        call.gpu.sync("repeat_interleave")


def _histc(call: Call) -> None:
    if call.argument(2, "min", 0) == call.argument(3, "max", 0):
        call.gpu.sync("histc")


def is_mask(index: object) -> bool:
    """Whether an index chooses where it is true."""
    return isinstance(index, torch.Tensor) and index.dtype in (torch.bool, torch.uint8)


def _index(call: Call) -> None:
    source, indices = call.args[0], [index for index in call.args[1] if index is not None]
    _check_indices(call, source, indices)
    if any(is_mask(index) and call.gpu.tags.is_cuda(index) for index in indices):
        call.gpu.sync("mask")


def _index_put(call: Call) -> None:
    target, indices, values = call.args[0], [index for index in call.args[1] if index is not None], call.args[2]
    _check_indices(call, target, indices)
    number = values.numel() == 1 and not call.gpu.tags.is_cuda(values)
    if not any(is_mask(index) and call.gpu.tags.is_cuda(index) for index in indices):
        if number and call.thread.api == FILL:
            _fill_element(call, values)
    elif not (number and len(indices) == 1):  # else it is a masked_fill
        call.gpu.sync("mask")
    own, given = call.gpu.tags.index(target), call.gpu.tags.index(values)
    if values.dim() and own is not None and given != own:
        raise _refusal("index_put_", call.gpu.device_of(target), call.gpu.device_of(values))


def _fill_element(call: Call, value: torch.Tensor) -> None:
    """A number that is written where an index of integers points is copied to the device (TensorIndexing.h: copy_to)."""
    if _KNOWN and call.gpu.tags.is_cuda(call.args[0]):
        call.gpu.copied("index", size_in_bytes(value), to_device=True, pinned=False, blocking=True)


def _check_indices(call: Call, source: torch.Tensor, indices: Tensors) -> None:
    on_device = call.gpu.tags.is_cuda
    if not on_device(source):
        if any(on_device(index) for index in indices):
            raise RuntimeError("indices should be either on cpu or on the same device as the indexed tensor (cpu)")
        return
    own = call.gpu.device_of(source)
    for index in indices:
        if on_device(index) and call.gpu.device_of(index) != own:
            raise RuntimeError(f"indices should be either on cpu or on the same device as the indexed tensor ({own})")
        if not on_device(index) and not call.gpu.tags.is_undecided(index):
            _copy_index(call, index)


def _copy_index(call: Call, index: torch.Tensor) -> None:
    """An index of the host goes to the device; of a mask the places that it chooses, which are looked for on the host."""
    pinned, size = False, size_in_bytes(index)
    if call.thread.listed:  # a list becomes a tensor of the device, which the backward pass has
        call.gpu.tags.mark_cuda(index, call.gpu.device_of(call.args[0]).index)
    if is_mask(index):
        pinned = _PINS_MASKS and not call.argument(3, "accumulate", False)  # which sorts them, and has its own code
        size = 8 * index.dim() * int(index.count_nonzero())
    call.gpu.copied("index", size, to_device=True, pinned=pinned, blocking=not pinned)


def _masked_fill(call: Call) -> None:
    if call.gpu.tags.is_cuda(call.args[2]):
        call.gpu.sync("masked_fill")


def _index_fill(call: Call) -> None:
    """A value that is a tensor is read (IndexFill.cpp); so is the gradient in the backward pass of `trace`."""
    if call.gpu.tags.is_cuda(call.args[3]):
        call.gpu.sync("item")


def _equal(call: Call) -> None:
    if call.args[0].shape == call.args[1].shape and call.thread.api != COVARIANCE:  # whose wait this is
        call.gpu.sync("equal")


def _searchsorted(call: Call) -> None:
    """The least and the greatest place of a sorter are checked (BucketizationUtils.h)."""
    if isinstance(call.kwargs.get("sorter"), torch.Tensor):
        call.gpu.sync("searchsorted", count=2)


def _mode(call: Call) -> None:
    """Long rows are sorted by thrust, which waits (TensorModeKernel.cu)."""
    given = call.args[0]
    if given.dim() and given.shape[call.argument(1, "dim", -1)] > _LONGEST_MODE:
        call.gpu.sync("mode")


def _segments(call: Call) -> None:
    if isinstance(call.kwargs.get("lengths"), torch.Tensor) and not call.kwargs.get(
        "unsafe", False
    ):  # their sum and their least are checked
        call.gpu.sync("segment_reduce", count=2)


def _zeros_of_products(call: Call) -> None:
    """The backward pass of a product looks for zeros on the host; under a mode torch goes another way (FunctionsManual.cpp)."""
    node, number = private.backward_of()
    if node.startswith(("ProdBackward", "CumprodBackward")) and call.thread.told != number:
        call.thread.told = number
        call.gpu.sync(node.partition("Backward")[0].lower())


def _isin(call: Call) -> None:
    """Few elements are compared one by one; more are sorted, after their duplicates are gone (TensorCompare.cpp)."""
    elements, test = call.argument(0, "elements"), call.argument(1, "test_elements")
    sorts = test.numel() >= int(10 * elements.numel() ** 0.145)
    if _KNOWN and sorts and not call.kwargs.get("assume_unique", False):
        call.gpu.sync("isin")


def _checked(call: Call) -> None:
    """`inv_ex` and its like read whether they failed only if they are asked to."""
    if call.kwargs.get("check_errors", False):
        call.gpu.sync("linalg")


def _factored(call: Call) -> None:
    """Other than square matrices are factored by MAGMA, which waits (BatchLinearAlgebra.cpp)."""
    rows, columns = call.args[0].shape[-2:]
    if rows != columns or call.kwargs.get("check_errors", False):
        call.gpu.sync("linalg")


def _batched(call: Call) -> None:
    """Batches are solved by MAGMA, which waits (BatchLinearAlgebra.cpp)."""
    if call.args[0].dim() > 2:
        call.gpu.sync("linalg")


def _normal(call: Call) -> None:
    """Deviations must not be negative: those of a tensor are read."""
    deviation = call.argument(1, "std")
    if isinstance(deviation, torch.Tensor) and call.gpu.tags.is_cuda(deviation):
        call.gpu.sync("normal")


def _where(call: Call) -> None:
    if private.in_builtin_backward():  # a derivative's own zeros, which a GPU makes on the device
        if private.backward_of()[0] == "MaskedFillBackward1":  # whose value was a tensor: what it was given is selected
            call.gpu.sync("masked_fill")
        return
    for value in call.args[1:]:
        if isinstance(value, torch.Tensor) and not value.dim() and not call.gpu.tags.is_cuda(value):
            call.gpu.copied("where", size_in_bytes(value), to_device=True, pinned=False, blocking=True)


def _fill(call: Call) -> None:
    if not call.gpu.tags.is_cuda(call.args[0]):
        call.gpu.sync("item")


def _copy(call: Call) -> None:
    target, source = call.args[0], call.args[1]
    if call.thread.api == FILL:
        _fill_element(call, source)
        return
    tags = call.gpu.tags
    to, origin = tags.index(target), tags.index(source)
    if to == origin or tags.is_undecided(target) or tags.is_undecided(source):
        return
    name = call.thread.api or "copy_"
    if to is not None and origin is not None:
        call.gpu.copied_between(name, size_in_bytes(source), origin, to)
        return
    to_device = to is not None
    pinned = tags.is_pinned(source if to_device else target)
    blocking = not call.argument(2, "non_blocking", False)
    call.gpu.copied(name, size_in_bytes(source), to_device=to_device, pinned=pinned, blocking=blocking)


def _ctc_loss(lengths: int) -> Callable[[Call], None]:
    """The lengths from that argument on, and where each target begins, are copied to the device (LossCTC.cu)."""

    def copy(call: Call) -> None:
        size = 8 * len(call.args[lengths])
        for _ in range(3):
            call.gpu.copied("ctc_loss", size, to_device=True, pinned=False, blocking=True)

    return copy


def _multiply(first: int) -> Callable[[Call], None]:
    """A matrix product of the arguments `first` and the next, in a dtype or shape for which a GPU has no fast kernel."""

    def check(call: Call) -> None:
        left, right = call.args[first], call.args[first + 1]
        if left.layout != torch.strided:
            _gather_duplicates(call, left)
        elif left.dtype == torch.float64:
            call.gpu.precision("float64")
        elif left.dtype == torch.float32:
            if torch.get_float32_matmul_precision() == "highest":
                call.gpu.precision("float32")
        elif left.shape[-1] % 8 or right.shape[-1] % 8:
            call.gpu.precision("unaligned")

    return check


def _gather_duplicates(call: Call, sparse: torch.Tensor) -> None:
    """A product adds up the elements of one place first, and waits for how many are left (SparseCUDABlas.cpp)."""
    if sparse.layout == torch.sparse_coo and not sparse.is_coalesced() and sparse._nnz() > 1:
        call.gpu.sync("coalesce")


def _to_sparse(call: Call) -> None:
    """What is not zero is looked for in a dense tensor; of a sparse one only the indices change (TensorConversions.cpp)."""
    given = call.args[0]
    if given.layout == torch.strided:
        call.gpu.sync("to_sparse")
    elif given.layout == torch.sparse_coo and not given.is_coalesced():
        call.gpu.sync("coalesce")


def _to_rows(call: Call) -> None:
    """Columns are turned into rows by way of places that are sorted (sparse_compressed_to_flipped)."""
    if call.args[0].layout == torch.sparse_csc:
        call.gpu.sync("to_sparse")
    else:
        _to_sparse(call)


def _to_columns(call: Call) -> None:
    """Columns of merged elements are the rows of their transpose, which are merged anew (coo_to_sparse_csc)."""
    given = call.args[0]
    if given.layout == torch.sparse_coo and given._nnz() > 1:
        call.gpu.sync("coalesce")
    elif given.layout == torch.sparse_csr:
        call.gpu.sync("to_sparse")
    else:
        _to_sparse(call)


def _to_blocks(call: Call) -> None:
    """Blocks of a compressed tensor are put together on the host (sparse_compressed_to_sparse_bsr)."""
    given = call.args[0]
    if given.layout in (torch.sparse_bsr, torch.sparse_bsc):
        call.gpu.sync("to_sparse")
        return
    _to_sparse(call)
    if given.layout in (torch.sparse_coo, torch.sparse_csr):
        size = size_in_bytes(given)
        for to_device in (False, True):
            call.gpu.copied("to_sparse_bsr", size, to_device=to_device, pinned=False, blocking=True)


def _collective(name: str) -> Callable[[Call], None]:
    """A collective of `torch.distributed` with tensors of a device."""

    def send(call: Call) -> None:
        if call.gpu.groups is not None:
            call.gpu.groups.ran(name, call.args)

    return send


def _always(name: str) -> Callable[[Call], None]:
    return lambda call: call.gpu.sync(name)


_ATEN = "torch.ops.aten."
_RULES: dict[Any, Callable[[Call], None]] = {
    overload: _always(row.called)
    for row in table.rows(_ATEN)
    if row.waits == table.ALWAYS
    for overload in _operators(row.name.removeprefix(_ATEN))
}
for _rule, _names in (
    (_read_scalar, ("_local_scalar_dense",)),
    (_repeat_interleave, ("repeat_interleave.Tensor",)),
    (_histc, ("histc",)),
    (_index, ("index.Tensor", "_unsafe_index.Tensor")),
    (_index_put, ("index_put", "index_put_", "_index_put_impl_", "_unsafe_index_put")),
    (_masked_fill, ("masked_fill.Tensor", "masked_fill_.Tensor")),
    (_fill, ("fill_.Tensor",)),
    (_isin, ("isin.Tensor_Tensor",)),
    (_where, ("where.self",)),
    (
        _checked,
        ("linalg_cholesky_ex", "linalg_inv_ex", "_linalg_solve_ex"),
    ),
    (_factored, ("linalg_lu_factor_ex", "linalg_lu")),
    (_batched, ("cholesky_solve", "cholesky_inverse")),
    (_index_fill, ("index_fill.int_Tensor", "index_fill_.int_Tensor")),
    (_equal, ("equal",)),
    (_searchsorted, ("searchsorted.Tensor", "searchsorted.Scalar")),
    (_mode, ("mode",)),
    (_segments, ("segment_reduce",)),
    (_zeros_of_products, ("flip", "eq.Scalar")),
    (_normal, ("normal.Tensor_Tensor", "normal.float_Tensor")),
    (_copy, ("copy_",)),
    (_to_sparse, ("_to_sparse", "_to_sparse.sparse_dim")),
    (_to_rows, ("_to_sparse_csr",)),
    (_to_columns, ("_to_sparse_csc",)),
    (_to_blocks, ("_to_sparse_bsr", "_to_sparse_bsc")),
    (_ctc_loss(2), ("_ctc_loss",)),
    (_ctc_loss(3), ("_ctc_loss_backward",)),
    (_multiply(0), ("mm", "bmm")),
    (_multiply(1), ("addmm", "baddbmm", "_sparse_addmm")),
):
    _RULES.update(dict.fromkeys(_operators(*_names), _rule))
if torch.distributed.is_available():
    _RULES.update(
        (operator.default, _collective(name))
        for name in COLLECTIVES
        if (operator := getattr(torch.ops.c10d, name, None)) is not None
    )
_WAITING_EXTENSIONS = {"torchvision::nms": "nms"}
"""Operators of other packages that wait: what is kept decides the shape of the result."""

# --- operators that take tensors of both sides --------------------------------------------------------------------

_MIXED_NAMES = (
    "copy_", "_to_copy", "index.Tensor", "_unsafe_index.Tensor", "index_put", "index_put_", "_index_put_impl_",
    "_unsafe_index_put", "fill_.Tensor", "set_.source_Tensor", "resize_as_", "_pack_padded_sequence",
    "_pad_packed_sequence", "_ctc_loss", "_ctc_loss.Tensor", "_ctc_loss_backward", "_ctc_loss_backward.Tensor",
    "tensor_split.tensor_indices_or_sections", "is_same_size", "_foreach_copy_", "_foreach_copy",
    "_has_same_storage_numel", "zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like",
)  # fmt: skip
_MIXED = frozenset(_operators(*_MIXED_NAMES))
_ALL_THERE = frozenset(_operators("cat", "stack", "clamp.Tensor", "clamp_.Tensor"))
"""Operators that take no scalar of the host either."""
_ALLOCATING = frozenset(
    _operators("empty.memory_format", "empty_like", "empty_strided", "new_empty", "new_empty_strided")
)
_HOST_RESULTS = dict.fromkeys(_operators("_pack_padded_sequence", "_pad_packed_sequence"), 1)


def _refusal(name: str, one: torch.device, other: torch.device) -> RuntimeError:
    return RuntimeError(
        f"Expected all tensors to be on the same device, but found at least two devices, {one} and {other}! "
        f"(virtual GPU, in aten::{name})"
    )


def _check_same_device(
    func: Any, index: int, other: int | None, host: Sequence[torch.Tensor], args: Sequence[Any]
) -> None:
    """Raise what a GPU raises; it takes a CPU tensor only if it is a scalar, and only to read from."""
    if func.namespace != "aten" or func in _MIXED or func._schema.name.startswith(("aten::_foreach", "aten::_nested")):
        return
    name, first = func._schema.name.removeprefix("aten::"), torch.device("cuda", index)
    if other is not None:
        raise _refusal(name, first, torch.device("cuda", other))
    if any(tensor.dim() for tensor in host) or (host and func in _ALL_THERE):
        raise _refusal(name, first, CPU)
    if func._schema.is_mutable:
        for argument, value in zip(func._schema.arguments, args, strict=False):
            if argument.alias_info is not None and argument.alias_info.is_write and any(value is one for one in host):
                raise _refusal(name, first, CPU)


# --- without computing --------------------------------------------------------------------------------------------

_HEAVY_NAMES = (
    "mm", "addmm", "bmm", "baddbmm", "convolution", "convolution_backward",
    "_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_flash_attention_for_cpu_backward", "linear",
    "linear_backward", "mkldnn_rnn_layer", "mkldnn_rnn_layer_backward", "embedding_dense_backward", "_softmax",
    "_softmax_backward_data", "native_layer_norm", "native_layer_norm_backward", "gelu", "gelu_backward",
    "_log_softmax", "_log_softmax_backward_data",
)  # fmt: skip
_HEAVY = frozenset(_operators(*_HEAVY_NAMES))


def _without_computing(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Zeros of the shape that the operator would return; computed after all where torch can't tell the shape."""

    def to_meta(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")

    def to_zeros(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype).zero_()

    from torch.utils._pytree import tree_map

    try:
        shapes = func(*tree_map(to_meta, args), **tree_map(to_meta, kwargs))
    except (NotImplementedError, RuntimeError):
        return func(*args, **kwargs)
    return tree_map(to_zeros, shapes)


# --- the mode -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Known:
    """What is asked of an operator at every call; `func` is kept so that nothing else gets its identity."""

    func: Any
    run: Callable[..., Any]
    rule: Callable[[Call], None] | None
    overload: bool
    has_parts: bool
    computes: bool
    event_name: str
    views: bool
    """Whether all that it returns is memory of what it was given, and nothing else is asked of it."""
    written: bool
    """Whether it returns nothing but what it was given to write to."""
    host_result: int
    """The position of a result that is on the host, -1 where there is none."""
    allocates: bool
    heavy: bool
    foreach: bool


_OWN_FRAMES = 3
"""How many frames up the search for the program's line begins: `here`, `_run`, `__torch_dispatch__`."""
_SEEN: dict[int, _Known] = {}
"""By identity: an operator's own hash is computed in Python."""


def _know(func: Any, written: set[str]) -> _Known:
    """A higher-order operator has no schema, but a name; of those `written` in Python what they call is counted."""
    overload = isinstance(func, OpOverload)
    name = str(func._schema.name) if overload else str(func)
    rule = _RULES.get(func) if overload else None
    if rule is None and overload and func.namespace == "torchvision" and name in _WAITING_EXTENSIONS:
        rule = _always(_WAITING_EXTENSIONS[name])
    aliases = [one.alias_info for one in func._schema.returns] if overload else [None]
    known = _SEEN[id(func)] = _Known(
        func,
        private.implementation(func),
        rule,
        overload,
        has_parts(func),
        computes(func) and name not in written,
        event_name(func),
        rule is None
        and not has_parts(func)
        and bool(aliases)
        and all(alias and not alias.is_write for alias in aliases),
        all(alias and alias.is_write for alias in aliases),
        _HOST_RESULTS.get(func, -1),
        func in _ALLOCATING,
        func in _HEAVY,
        name.startswith("aten::_foreach"),
    )
    return known


_NONE, _ONE, _MANY = range(3)
_HOLDS: dict[type, int] = {}
"""How many tensors a value of a type may be; `isinstance` asks the class of tensors in Python."""


def _holds(kind: type) -> int:
    found = _ONE if issubclass(kind, torch.Tensor) else _MANY if issubclass(kind, (list, tuple)) else _NONE
    _HOLDS[kind] = found
    return found


def _tensors(values: Iterable[Any]) -> Tensors:
    found: Tensors = []
    for value in values:
        kind = type(value)
        holds = _HOLDS[kind] if kind in _HOLDS else _holds(kind)
        if holds == _ONE:
            found.append(value)
        elif holds == _MANY:
            for item in value:
                kind = type(item)
                if (_HOLDS[kind] if kind in _HOLDS else _holds(kind)) == _ONE:
                    found.append(item)
    return found


class DeviceOperators(Eager):  # type: ignore[no-untyped-call]
    """Sees every operator of a thread, forward, backward and in the optimizer: it places the results and records."""

    def __init__(self, gpu: VirtualGpu, functions: TorchFunctionMode) -> None:
        """`functions` is the mode that answers for devices, for Python that runs below a function of torch."""
        super().__init__()
        self._gpu, self._thread, self._tags = gpu, gpu.thread, gpu.tags
        self._functions = functions
        self._asks = False
        self._keep_fresh = importlib.util.find_spec("triton") is not None

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if types and private.dispatch_themselves(types):
            return self._ask_them(func, args, kwargs or {})
        known = _SEEN.get(id(func)) or _know(func, self._gpu.written)
        if known.views and not self._tags.bare:
            return known.run(*args, **kwargs) if kwargs else known.run(*args)
        kwargs = kwargs or {}
        if self._thread.paused or self._gpu.forked:
            return func(*args, **kwargs)
        with private.no_function_modes():
            return self._run(known, args, kwargs)

    def _ask_them(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Classes of tensors that run an operator themselves do so, and both modes see what they make of it."""
        if self._asks:
            self._asks = False
            if not private.has_function_mode(type(self._functions)):  # the call that led here has taken it off
                private.push_function_mode(self._functions)
            return NotImplemented
        if private.compiles():
            return func(*args, **kwargs)
        self._asks = True
        try:
            with self, private.function_modes_restored():
                result = func(*args, **kwargs)
        finally:
            self._asks = False
        inputs = _tensors(args)
        index = self._tags.survey(inputs)[0]
        if index is not None:
            memory = memory_of(inputs)
            for tensor in _results(result):
                self._tags.place(tensor, index, memory)
        return result

    def _run(self, known: _Known, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        func, tags = known.func, self._tags
        if known.has_parts:
            return self.in_parts(func, args, kwargs)
        inputs = _tensors(args)
        if kwargs:
            inputs += _tensors(kwargs.values())
        index, other, undecided, host = tags.survey(inputs)
        if index is None:
            return self._run_on_host(known, args, kwargs, inputs, bool(undecided))
        for tensor in undecided:
            tags.mark_cuda(tensor, index)
        # what shares its memory with one on the device is there already
        apart = memory_of(inputs) if host or other is not None else None
        if apart and known.overload:
            _check_same_device(func, index, other, host, args)
        if known.rule is not None:
            known.rule(Call(self._gpu, self._thread, args, kwargs))
        if known.heavy and not self._gpu.compute:
            result = _without_computing(func, args, kwargs)
        else:
            try:
                result = known.run(*args, **kwargs) if kwargs else known.run(*args)
            except NotImplementedError as error:
                if "Could not run" in str(error):
                    self._gpu.unsupported(str(func), "no kernel for the CPU")
                raise
        results = _results(result)
        if apart and known.foreach and len(results) > 1:
            self._place_each(results, inputs, apart)
        elif not known.written:  # on the device, but for memory of an input, which stays where it is
            for tensor in results:
                if known.host_result >= 0 and tensor is results[known.host_result]:
                    continue
                if apart is None:
                    tags.mark_cuda(tensor, index)
                else:
                    tags.place(tensor, index, apart)
        if known.computes:
            gpu = self._gpu
            work = None if gpu.work is None else gpu.work.work(func, args, kwargs, result)
            if gpu.counts or work is not None:
                at = here(_OWN_FRAMES)
                if gpu.counts:
                    self._count(known.event_name, inputs, results, at)
                if gpu.work is not None and work is not None:
                    gpu.work.operator(work, at)
        if self._keep_fresh and known.allocates:
            tags.mark_fresh(result)
        return result

    def _run_on_host(
        self, known: _Known, args: Sequence[Any], kwargs: Mapping[str, Any], inputs: Tensors, undecided: bool
    ) -> Any:
        """Of an operator none of whose inputs is on a device."""
        tags = self._tags
        unplaced = undecided or not inputs  # where its results are is known when somebody uses them
        memory = memory_of(inputs) if unplaced else set()
        result = known.run(*args, **kwargs)
        results = _results(result)
        if known.computes and self._gpu.counts:
            # where a factory's result is, is known when it has returned
            self._count("" if inputs else known.event_name, inputs, results, here(_OWN_FRAMES + 1))
        if unplaced:
            for tensor in results:
                if not shares(tensor, memory):
                    tags.mark_undecided(tensor)
        if self._keep_fresh and known.allocates:
            tags.mark_fresh(result)
        return result

    def _count(self, name: str, inputs: Tensors, results: Tensors, at: tuple[Place, str]) -> None:
        size = 0
        try:
            for tensor in inputs:
                size += tensor.nbytes
            for tensor in results:
                size += tensor.nbytes
        except RuntimeError:  # a sparse one has none
            size = sum(map(size_in_bytes, (*inputs, *results)))
        if name:
            self._gpu.recorder.record("operator", name=name, size=size, at=at)
        else:
            self._gpu.recorder.count_operator(size, at)

    def _place_each(self, results: Tensors, inputs: Tensors, memory: set[int]) -> None:
        """Results of an operator on tensors of several devices, each of them where its first input is."""
        tags = self._gpu.tags
        for made, source in zip(results, inputs, strict=False):
            own = tags.index(source)
            if own is not None and not shares(made, memory):
                tags.mark_cuda(made, own)


def _results(result: object) -> Tensors:
    if isinstance(result, torch.Tensor):
        return [result]
    return _tensors(result) if isinstance(result, (list, tuple)) else []
