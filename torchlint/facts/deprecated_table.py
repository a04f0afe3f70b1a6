"""Names and arguments of torch that are deprecated or gone, and what takes their place.

A deprecated name is listed where torch itself warns of it. What only the documentation deprecates (`torch.norm`,
`torch.svd`) is not: there is no warning to end and no date of removal.
Since which version is measured: `api_table` holds it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

from torchlint.torch_api.version import Range, Version, vision_of

from ..text import source
from . import api_table
from .nodes import argument_of
from .vision_table import MODEL_URLS, PRETRAINED, PRETRAINED_BACKBONE

NON_BLOCKING, TOOK_ASYNC = source.NON_BLOCKING, source.TOOK_ASYNC


class Entry(NamedTuple):
    """A name that torch deprecates or has removed, and what takes its place."""

    name: str
    instead: str
    """What to use, as a message writes it."""
    rename: str = ""
    """The name that takes the same arguments and gives the same."""
    first: str = ""
    """An argument that `rename` takes in front of the others."""
    extra: tuple[str, ...] = ()
    """Keywords that `rename` needs behind the others."""
    positional: int = 99
    """How many positional arguments mean the same to `rename`."""
    refused: frozenset[str] = frozenset()
    """Keywords that `rename` does not take."""
    attribute: bool = False
    """No function: `rename` is the expression that gives the same."""
    risk: str = ""
    """What the rename may change all the same."""
    successor: str = ""
    """The name whose first version counts, where it is not `rename`: what took over with other arguments, or came with them."""

    @property
    def renamed_in(self) -> Version:
        """The first version that has the successor, or `rename`; all have what was there before the old name was deprecated."""
        name = (self.successor or self.rename).removesuffix("()")
        return api_table.there(name) if name else api_table.ALWAYS


def since(version: Version, name: str = "torch") -> str:
    """` since torch 2.4`, as a message writes it; nothing where no torch without it was measured."""
    if version == api_table.ALWAYS:
        return ""
    if name.startswith("torchvision."):
        return f" since torchvision {vision_of(version)}"
    return f" since torch {version[0]}.{version[1]}"


def _renamed(old: str, new: str, **more: Any) -> Entry:
    return Entry(old, f"`{new}`", new, **more)


_INITIALISERS = """uniform normal constant eye dirac xavier_uniform xavier_normal kaiming_uniform kaiming_normal
    orthogonal sparse""".split()
_TRANSFORMS = ["vmap", "grad", "grad_and_value", "vjp", "jvp", "jacrev", "jacfwd", "hessian", "functionalize"]
_QUANTIZE = ["quantize", "quantize_dynamic", "quantize_qat", "prepare", "prepare_qat", "convert"]

_ACTIVATIONS = ("sigmoid", "tanh")

LOADER_NEXT = "torch.utils.data.dataloader._BaseDataLoaderIter.next"
"""What iterators of loaders had for Python 2."""

_DYNAMO = "torch.onnx.export(dynamo=)"

# is_autocast_enabled and set_autocast_enabled take a device since the version that brought get_autocast_dtype.
_ENTRIES = (
    *(_renamed(f"torch.nn.init.{name}", f"torch.nn.init.{name}_") for name in _INITIALISERS),
    *(_renamed(f"functorch.{name}", f"torch.func.{name}") for name in _TRANSFORMS),
    *(
        Entry(
            f"functorch.{name}",
            "`torch.func.functional_call` with `torch.func.stack_module_state`",
            successor="torch.func.functional_call",
        )
        for name in ("make_functional", "make_functional_with_buffers", "combine_state_for_ensemble")
    ),
    *(
        Entry(
            f"torch.{home}quantization.{name}",
            "torchao's `quantize_` or its PT2E flow",
            successor="torch.export.export",
        )
        for home in ("ao.", "")
        for name in _QUANTIZE
    ),
    _renamed(
        "torch.qr",
        "torch.linalg.qr",
        positional=1,
        refused=frozenset(("some", "input")),
        risk="the result, where it is printed as a whole, has another name",
    ),
    _renamed(
        "torch.cholesky",
        "torch.linalg.cholesky",
        positional=1,
        refused=frozenset(("upper", "input")),
        risk="tensors of integers, and empty ones that are not square, raise other errors",
    ),
    Entry("torch.lu", "`torch.linalg.lu_factor`", successor="torch.linalg.lu_factor"),
    Entry(
        "torch.lu_solve",
        "`torch.linalg.lu_solve`, which takes the right-hand side last",
        successor="torch.linalg.lu_solve",
    ),
    Entry("torch.triangular_solve", "`torch.linalg.solve_triangular`", successor="torch.linalg.solve_triangular"),
    Entry("torch.chain_matmul", "`torch.linalg.multi_dot`, which takes a list", successor="torch.linalg.multi_dot"),
    Entry("torch.range", "`torch.arange`, which leaves the end out"),
    *(
        Entry(f"torch.sparse.{name}Tensor", "`torch.sparse_coo_tensor`")
        for name in ("BFloat16", "Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short")
    ),
    _renamed("torch.nn.utils.clip_grad_norm", "torch.nn.utils.clip_grad_norm_"),
    Entry(
        "torch.nn.utils.weight_norm",
        "`torch.nn.utils.parametrizations.weight_norm`, which names the parameters differently and is taken away by "
        "`torch.nn.utils.parametrize.remove_parametrizations`",
        successor="torch.nn.utils.parametrizations.weight_norm",
    ),
    _renamed(
        "torch.nn.utils.stateless.functional_call",
        "torch.func.functional_call",
        refused=frozenset(("parameters_and_buffers",)),
        risk="parameters in a mapping that is no dictionary are refused",
    ),
    _renamed("torch.nn.NLLLoss2d", "torch.nn.NLLLoss", risk="the class, where it is printed, has another name"),
    *(
        _renamed(
            f"torch.nn.functional.{name}",
            f"torch.{name}",
            risk=f"what is no tensor, but has a method `{name}`, is refused",
        )
        for name in _ACTIVATIONS
    ),
    _renamed("torch.nn.functional.upsample", "torch.nn.functional.interpolate"),
    _renamed(
        "torch.nn.functional.upsample_nearest",
        "torch.nn.functional.interpolate",
        extra=('mode="nearest"',),
        positional=3,
    ),
    _renamed(
        "torch.nn.functional.upsample_bilinear",
        "torch.nn.functional.interpolate",
        extra=('mode="bilinear"', "align_corners=True"),
        positional=3,
    ),
    Entry(
        "torch.backends.cuda.sdp_kernel",
        "`torch.nn.attention.sdpa_kernel`, which takes a list of backends",
        successor="torch.nn.attention.sdpa_kernel",
    ),
    _renamed("torch.library.impl_abstract", "torch.library.register_fake", refused=frozenset(("qualname", "func"))),
    Entry(
        "torch.testing.assert_allclose",
        "`torch.testing.assert_close`, whose tolerances differ",
        successor="torch.testing.assert_close",
    ),
    _renamed("torch.cuda.memory_cached", "torch.cuda.memory_reserved"),
    _renamed("torch.cuda.max_memory_cached", "torch.cuda.max_memory_reserved"),
    _renamed("torch.cuda.reset_max_memory_allocated", "torch.cuda.reset_peak_memory_stats"),
    _renamed("torch.cuda.reset_max_memory_cached", "torch.cuda.reset_peak_memory_stats"),
    _renamed("torch.get_autocast_gpu_dtype", "torch.get_autocast_dtype", first='"cuda"'),
    _renamed("torch.set_autocast_gpu_dtype", "torch.set_autocast_dtype", first='"cuda"'),
    _renamed("torch.get_autocast_cpu_dtype", "torch.get_autocast_dtype", first='"cpu"'),
    _renamed("torch.set_autocast_cpu_dtype", "torch.set_autocast_dtype", first='"cpu"'),
    _renamed(
        "torch.is_autocast_cpu_enabled",
        "torch.is_autocast_enabled",
        first='"cpu"',
        successor="torch.get_autocast_dtype",
    ),
    _renamed(
        "torch.set_autocast_cpu_enabled",
        "torch.set_autocast_enabled",
        first='"cpu"',
        successor="torch.get_autocast_dtype",
    ),
    Entry("torch._check_is_size", "`torch._check(n >= 0)`", successor="torch._check"),
    _renamed("torch.distributed.all_gather_into_tensor", "torch.distributed.all_gather_single"),
    _renamed("torch.distributed.reduce_scatter_tensor", "torch.distributed.reduce_scatter_single"),
    _renamed("torch.distributed._all_gather_base", "torch.distributed.all_gather_single"),
    _renamed("torch.distributed._reduce_scatter_base", "torch.distributed.reduce_scatter_single"),
    *(
        _renamed(f"torch.distributed.reduce_op.{name}", f"torch.distributed.ReduceOp.{name}", attribute=True)
        for name in ("SUM", "PRODUCT", "MIN", "MAX")
    ),
    _renamed("torch.has_cuda", "torch.backends.cuda.is_built()", attribute=True),
    _renamed("torch.has_cudnn", "torch.backends.cudnn.is_available()", attribute=True),
    _renamed("torch.has_mps", "torch.backends.mps.is_built()", attribute=True),
    _renamed("torch.has_mkldnn", "torch.backends.mkldnn.is_available()", attribute=True),
    Entry("torch.solve", "`torch.linalg.solve(A, B)`, which takes the matrix first", successor="torch.linalg.solve"),
    Entry("torch.symeig", "`torch.linalg.eigh`", successor="torch.linalg.eigh"),
    Entry("torch.eig", "`torch.linalg.eig`, which gives complex numbers", successor="torch.linalg.eig"),
    Entry("torch.lstsq", "`torch.linalg.lstsq(A, B)`, which takes the matrix first", successor="torch.linalg.lstsq"),
    _renamed(
        "torch.matrix_rank", "torch.linalg.matrix_rank", positional=1, refused=frozenset(("input", "tol", "symmetric"))
    ),
    Entry("torch.gels", "`torch.linalg.lstsq(A, B)`, which takes the matrix first"),
    Entry("torch.potrf", "`torch.linalg.cholesky`"),
    Entry("torch.btrifact", "`torch.linalg.lu_factor`"),
    Entry("torch.gesv", "`torch.linalg.solve(A, B)`, which takes the matrix first"),
    Entry("torch.trtrs", "`torch.linalg.solve_triangular`"),
    Entry("torch.potrs", "`torch.cholesky_solve`"),
    Entry("torch.potri", "`torch.cholesky_inverse`"),
    Entry("torch.pstrf", "`torch.linalg.cholesky`"),
    Entry("torch.btrisolve", "`torch.linalg.lu_solve`, which takes the right-hand side last"),
    Entry("torch.rfft", "`torch.fft.rfft`"),
    Entry("torch.irfft", "`torch.fft.irfft`"),
    Entry("torch.ifft", "`torch.fft.ifft`"),
    _renamed("torch.set_deterministic", "torch.use_deterministic_algorithms"),
    _renamed("torch.is_deterministic", "torch.are_deterministic_algorithms_enabled"),
    _renamed("torch.testing.rand", "torch.rand"),
    _renamed("torch.testing.randn", "torch.randn"),
    Entry("torch.testing.make_non_contiguous", "a strided slice of a larger tensor"),
    Entry("torch.onnx.dynamo_export", "`torch.onnx.export(..., dynamo=True)`", successor=_DYNAMO),
    Entry("torch.onnx.OnnxRegistry", "`torch.onnx.export(..., custom_translation_table=)`", successor=_DYNAMO),
    Entry("torch.onnx.ExportOptions", "the arguments of `torch.onnx.export(..., dynamo=True)`", successor=_DYNAMO),
    Entry("torch.onnx._export", "`torch.onnx.export`"),
    _renamed("torch.export.export_for_training", "torch.export.export"),
    Entry("torch._export.capture_pre_autograd_graph", "`torch.export.export(...).module()`"),
    Entry("torch.distributed.all_gather_multigpu", "one process a device"),
    Entry("torch.distributed.all_reduce_multigpu", "one process a device"),
    Entry("torch.distributed.broadcast_multigpu", "one process a device"),
    Entry("torch.distributed.reduce_multigpu", "one process a device"),
    Entry("torch.distributed.pipeline.sync.Pipe", "`torch.distributed.pipelining`"),
    _renamed("torch.nn.parallel.DistributedDataParallelCPU", "torch.nn.parallel.DistributedDataParallel"),
    _renamed("torch._six.inf", "torch.inf", attribute=True),
    Entry("torch._six.string_classes", "`(str, bytes)`"),
    Entry("torch._six.int_classes", "`int`"),
    Entry("torch._six.container_abcs", "`collections.abc`"),
    Entry(LOADER_NEXT, "`next(batches)`"),
    Entry("torch.autograd.gradcheck.zero_gradients", "`x.grad = None`"),
    Entry("torch.utils.ffi.create_extension", "`torch.utils.cpp_extension`"),
    _renamed("torchvision.transforms.Scale", "torchvision.transforms.Resize"),
    _renamed("torchvision.transforms.RandomSizedCrop", "torchvision.transforms.RandomResizedCrop"),
    # No fix: the import is what fails, and stays.
    Entry(
        "torchvision.models.utils.load_state_dict_from_url",
        "`torch.hub.load_state_dict_from_url`",
        successor="torch.hub.load_state_dict_from_url",
    ),
    Entry(
        "torchvision.transforms.functional_tensor.rgb_to_grayscale",
        "`torchvision.transforms.functional.rgb_to_grayscale`",
    ),
    *(
        Entry(
            name,
            "`url` of the weights, such as `ResNet18_Weights.DEFAULT.url`",
            attribute=True,
            successor="torchvision.models.ResNet18_Weights",
        )
        for name in MODEL_URLS
    ),
)
NAMES = {entry.name: entry for entry in _ENTRIES}
"""Names that some torch warns of, does not have any more, or refuses to call."""
METHODS = """btrifact btrisolve cholesky eig gels gesv irfft lstsq lu_solve matrix_rank potrf potri potrs pstrf qr rfft solve
    symeig triangular_solve trtrs""".split()
"""Functions of torch that warn or are gone, which tensors have as methods, in the same versions."""


class Keyword(NamedTuple):
    """An argument that is deprecated or gone."""

    function: str
    keyword: str
    instead: str
    rename: str = ""
    """The keyword that means the same."""
    inert_since: Version | None = None
    """The first version in which it has no effect, so that it can be left out."""
    unwarned: float | None = None
    """The value that torch does not warn of, its default."""
    successor: str = ""
    """The keyword that takes its place with other values."""
    position: int = -1
    """Where calls give it without its name; -1 where nobody does."""

    @property
    def name(self) -> str:
        """Its key in the table of versions."""
        return f"{self.function}({self.keyword})"

    @property
    def renamed_in(self) -> Version:
        """The first version that has what takes its place, or in which it can be left out."""
        if self.inert_since is not None:
            return self.inert_since
        return api_table.there(f"{self.function}({self.successor})") if self.successor else api_table.ALWAYS


_WEIGHED = """binary_cross_entropy binary_cross_entropy_with_logits hinge_embedding_loss
    multilabel_soft_margin_loss""".split()
_PLAIN = "l1_loss mse_loss kl_div smooth_l1_loss multilabel_margin_loss soft_margin_loss".split()
_WEIGHED_CLASSES = """BCELoss BCEWithLogitsLoss HingeEmbeddingLoss MarginRankingLoss MultiLabelSoftMarginLoss
    CosineEmbeddingLoss""".split()
_PLAIN_CLASSES = "L1Loss MSELoss KLDivLoss SmoothL1Loss MultiLabelMarginLoss SoftMarginLoss".split()
_LOSSES: dict[str, tuple[int, int]] = {
    "functional.triplet_margin_loss": (7, 8),
    "functional.multi_margin_loss": (5, 6),
    "functional.poisson_nll_loss": (4, 6),
    **dict.fromkeys((f"functional.{name}" for name in ("margin_ranking_loss", "cosine_embedding_loss")), (4, 5)),
    **dict.fromkeys((f"functional.{name}" for name in ("cross_entropy", "nll_loss")), (3, 5)),
    **dict.fromkeys((f"functional.{name}" for name in _WEIGHED), (3, 4)),
    **dict.fromkeys((f"functional.{name}" for name in _PLAIN), (2, 3)),
    "TripletMarginLoss": (4, 5),
    "MultiMarginLoss": (3, 4),
    "PoissonNLLLoss": (2, 4),
    **dict.fromkeys(("CrossEntropyLoss", "NLLLoss"), (1, 3)),
    **dict.fromkeys(_WEIGHED_CLASSES, (1, 2)),
    **dict.fromkeys(_PLAIN_CLASSES, (0, 1)),
}
"""The losses of `torch.nn`, with the places of `size_average` and `reduce`, read from the signatures of torch 2.13."""
_SCHEDULERS = {
    "LambdaLR": 3,
    "MultiplicativeLR": 3,
    "StepLR": 4,
    "MultiStepLR": 4,
    "ConstantLR": 4,
    "LinearLR": 5,
    "ExponentialLR": 3,
    "SequentialLR": 4,
    "PolynomialLR": 4,
    "CosineAnnealingLR": 4,
    "ReduceLROnPlateau": 9,
    "CyclicLR": 13,
    "CosineAnnealingWarmRestarts": 5,
    "OneCycleLR": 14,
}
"""The schedulers, with the place of `verbose`, read from the signatures of torch 2.6."""


STEPPED = frozenset(f"torch.optim.lr_scheduler.{name}" for name in _SCHEDULERS) - frozenset(
    f"torch.optim.lr_scheduler.{name}" for name in ("SequentialLR", "ReduceLROnPlateau", "CosineAnnealingWarmRestarts")
)
"""Schedulers whose `step` warns of an epoch: those of the others take none, or mean a metric or a part of an epoch."""
COMPUTED = STEPPED | {"torch.optim.lr_scheduler.CosineAnnealingWarmRestarts"}
"""Schedulers whose `get_lr` warns outside of `step`."""
LAST_RATE: Version = (1, 4)
"""The first torch of both warnings, by its release notes, and of `get_last_lr`."""


REDUCTIONS = ("size_average", "reduce")
"""How losses were told to reduce before `reduction=`."""
_REDUCTION = '`reduction="mean"`, `"sum"` or `"none"`'
_RATE = "`get_last_lr()`, to print the rate"
_NOTHING = "nothing: it has no effect"
_ACCELERATOR = "nothing: the accelerator at hand is used"
_WEIGHTS = "`weights=`, which takes one of the model's `..._Weights`, or None"
_TURNS = ("RandomRotation", "RandomAffine", "functional.rotate", "functional.affine")
_AUX = "`return_aux=AuxRequest(lse=True)`"
_ARGUMENTS = (
    *(
        Keyword(f"torch.nn.{loss}", keyword, _REDUCTION, position=position)
        for loss, positions in _LOSSES.items()
        for keyword, position in zip(REDUCTIONS, positions, strict=True)
    ),
    *(
        Keyword(f"torch.optim.lr_scheduler.{scheduler}", "verbose", _RATE, position=position)
        for scheduler, position in _SCHEDULERS.items()
    ),
    Keyword("torch.nn.Hardtanh", "min_value", "`min_val`", rename="min_val"),
    Keyword("torch.nn.Hardtanh", "max_value", "`max_val`", rename="max_val"),
    Keyword("torch.nn.functional.gumbel_softmax", "eps", _NOTHING, inert_since=api_table.ALWAYS, unwarned=1e-10),
    Keyword("torch.utils.data.DataLoader", "pin_memory_device", _ACCELERATOR, inert_since=(2, 9)),
    Keyword("torch.profiler.profile", "use_cuda", "`activities`"),
    Keyword("torch.autograd.profiler.profile", "use_cuda", '`use_device="cuda"`', successor="use_device"),
    Keyword("torch.nn.attention.flex_attention.flex_attention", "return_lse", _AUX),
    *(
        Keyword(f"torchvision.utils.{name}", "range", "`value_range`", "value_range")
        for name in ("make_grid", "save_image")
    ),
    *(Keyword(f"torchvision.transforms.{name}", "resample", "`interpolation`", "interpolation") for name in _TURNS),
    *(Keyword(f"torchvision.transforms.{name}", "fillcolor", "`fill`", "fill") for name in _TURNS if "ffine" in name),
    *(Keyword(name, "pretrained", _WEIGHTS, successor="weights") for name in PRETRAINED),
    *(
        Keyword(name, "pretrained_backbone", "`weights_backbone`", successor="weights_backbone")
        for name in PRETRAINED_BACKBONE
    ),
)
KEYWORDS: dict[str, dict[str, Keyword]] = {}
for _argument in _ARGUMENTS:
    KEYWORDS.setdefault(_argument.function, {})[_argument.keyword] = _argument
"""Deprecated and removed arguments by function, those that are passed by keyword."""


def arguments_of(call: ast.Call, name: str) -> Iterator[tuple[Keyword, ast.keyword | ast.expr]]:
    """The deprecated and removed arguments that a call of a function gives, by their names, then at their places: `NLLLoss(weight, size_average)`."""
    entries = KEYWORDS.get(name, {})
    for given in call.keywords:
        if given.arg in entries:
            yield entries[given.arg], given
    for entry in entries.values():
        at = argument_of(call, "", entry.position)
        if at is not None:
            yield entry, at


class Missing(NamedTuple):
    """An argument that a call should no longer leave out."""

    function: str
    keyword: str
    position: int
    given: str = ""
    """What keeps today's behaviour."""

    @property
    def name(self) -> str:
        """Its key in the table of versions."""
        return f"{self.function}(!{self.keyword})"


_DIM = {
    "torch.nn.functional.softmax": 1,
    "torch.nn.functional.log_softmax": 1,
    "torch.nn.functional.softmin": 1,
    "torch.nn.Softmax": 0,
    "torch.nn.LogSoftmax": 0,
    "torch.nn.Softmin": 0,
    "torch.cross": 2,
}
REQUIRED: dict[str, Missing] = {
    "torch.meshgrid": Missing("torch.meshgrid", "indexing", -1, 'indexing="ij"'),
    **{name: Missing(name, "dim", position) for name, position in _DIM.items()},
    "torch.stft": Missing("torch.stft", "return_complex", 9),
}
"""Functions whose calls must name an argument."""
FIRST_SUCCESSORS: Version = (0, 4)
"""The first torch with what takes the place of anything that later ones deprecate."""
_IN_TORCH_1 = frozenset(
    (
        *(f"torch.nn.init.{name}" for name in _INITIALISERS),
        *(keyword.name for keyword in _ARGUMENTS if keyword.instead is _REDUCTION),
        *(f"torch.nn.functional.{name}" for name in _ACTIVATIONS),
        *(f"torch.nn.functional.upsample{mode}" for mode in ("", "_nearest", "_bilinear")),
        *(missing.name for name, missing in REQUIRED.items() if "softm" in name.lower()),
        "torch.nn.utils.clip_grad_norm",
        "torch.nn.NLLLoss2d",
        "torchvision.transforms.Scale",
        "torchvision.transforms.RandomSizedCrop",
    )
)
"""What torch 1.0 and torchvision 0.2 warn of already, by their sources: they are older than all that were measured."""


def warns_since(name: str, target: Range) -> Version | None:
    """Since which version each torch up to the newest one of the target warns of a name; None where that does not."""
    if api_table.is_older(target):
        return api_table.ALWAYS if name in _IN_TORCH_1 and target.high > (1, 0) else None
    return api_table.warns(name, target)
