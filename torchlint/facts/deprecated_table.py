"""Names and arguments of torch that are deprecated or gone, by version.

A deprecated name is listed where torch itself warns of it. What only the documentation deprecates (`torch.norm`,
`torch.svd`) is not: there is no warning to end and no date of removal.
`scripts/deprecated_table.py` holds the table against an installed torch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from torchlint.version import Version


@dataclass(frozen=True, slots=True)
class Entry:
    """A name that torch deprecates or has removed, and what takes its place."""

    since: Version
    """The first version that warns."""
    instead: str
    """What to use, as a message writes it."""
    removed: Version | None = None
    """The first version without it."""
    warning: str = ""
    """The category of warning that a use raises today; "" for what is gone."""
    rename: str = ""
    """The name that takes the same arguments and gives the same."""
    renamed_in: Version = (0, 0)
    """The first version that has `rename`."""
    first: str = ""
    """An argument that `rename` takes in front of the others."""
    extra: str = ""
    """A keyword that `rename` needs behind the others."""
    positional: int = 99
    """How many positional arguments mean the same to `rename`."""
    refused: frozenset[str] = frozenset()
    """Keywords that `rename` does not take."""
    attribute: bool = False
    """No function: `rename` is the expression that gives the same."""


def _renamed(
    since: Version, warning: str, old: str, new: str, *, renamed_in: Version | None = None, **more: object
) -> tuple[str, Entry]:
    entry = Entry(since, f"`{new}`", warning=warning, rename=new, renamed_in=renamed_in or since)
    return old, replace(entry, **more)  # type: ignore[arg-type]


def _told(since: Version, warning: str, old: str, instead: str) -> tuple[str, Entry]:
    return old, Entry(since, instead, warning=warning)


_INITIALISERS = [
    "uniform",
    "normal",
    "constant",
    "eye",
    "dirac",
    "xavier_uniform",
    "xavier_normal",
    "kaiming_uniform",
    "kaiming_normal",
    "orthogonal",
    "sparse",
]
_TRANSFORMS = ["vmap", "grad", "grad_and_value", "vjp", "jvp", "jacrev", "jacfwd", "hessian", "functionalize"]
_QUANTIZE = ["quantize", "quantize_dynamic", "quantize_qat", "prepare", "prepare_qat", "convert"]
_FUTURE, _USER, _DEPRECATION = "FutureWarning", "UserWarning", "DeprecationWarning"

DEPRECATED: dict[str, Entry] = dict(
    (
        *(_renamed((1, 0), _FUTURE, f"torch.nn.init.{name}", f"torch.nn.init.{name}_") for name in _INITIALISERS),
        *(_renamed((2, 0), _FUTURE, f"functorch.{name}", f"torch.func.{name}") for name in _TRANSFORMS),
        *(
            _told(
                (2, 0),
                _FUTURE,
                f"functorch.{name}",
                "`torch.func.functional_call` with `torch.func.stack_module_state`",
            )
            for name in ("make_functional", "make_functional_with_buffers", "combine_state_for_ensemble")
        ),
        *(
            _told((2, 8), _DEPRECATION, f"torch.{home}quantization.{name}", "torchao's `quantize_` or its PT2E flow")
            for home in ("ao.", "")
            for name in _QUANTIZE
        ),
        _renamed((1, 8), _USER, "torch.qr", "torch.linalg.qr", positional=1, refused=frozenset(("some", "input"))),
        _renamed(
            (1, 8),
            _USER,
            "torch.cholesky",
            "torch.linalg.cholesky",
            positional=1,
            refused=frozenset(("upper", "input")),
        ),
        _told((1, 10), _USER, "torch.lu", "`torch.linalg.lu_factor`"),
        _told((1, 13), _USER, "torch.lu_solve", "`torch.linalg.lu_solve`, which takes the right-hand side last"),
        _told((1, 11), _USER, "torch.triangular_solve", "`torch.linalg.solve_triangular`"),
        _told((1, 9), _USER, "torch.chain_matmul", "`torch.linalg.multi_dot`, which takes a list"),
        _told((0, 4), _USER, "torch.range", "`torch.arange`, which leaves the end out"),
        _renamed((1, 0), _FUTURE, "torch.nn.utils.clip_grad_norm", "torch.nn.utils.clip_grad_norm_"),
        _told(
            (2, 0),
            _FUTURE,
            "torch.nn.utils.weight_norm",
            "`torch.nn.utils.parametrizations.weight_norm`, which names the parameters differently",
        ),
        _renamed(
            (2, 0),
            _FUTURE,
            "torch.nn.utils.stateless.functional_call",
            "torch.func.functional_call",
            refused=frozenset(("parameters_and_buffers",)),
        ),
        _renamed((1, 0), _FUTURE, "torch.nn.NLLLoss2d", "torch.nn.NLLLoss"),
        _renamed((0, 4), _USER, "torch.nn.functional.upsample", "torch.nn.functional.interpolate", renamed_in=(0, 4)),
        _renamed(
            (0, 4),
            _USER,
            "torch.nn.functional.upsample_nearest",
            "torch.nn.functional.interpolate",
            extra='mode="nearest"',
            positional=3,
        ),
        _renamed(
            (0, 4),
            _USER,
            "torch.nn.functional.upsample_bilinear",
            "torch.nn.functional.interpolate",
            extra='mode="bilinear", align_corners=True',
            positional=3,
        ),
        _told(
            (2, 3),
            _FUTURE,
            "torch.backends.cuda.sdp_kernel",
            "`torch.nn.attention.sdpa_kernel`, which takes a list of backends",
        ),
        _renamed(
            (2, 4),
            _FUTURE,
            "torch.library.impl_abstract",
            "torch.library.register_fake",
            refused=frozenset(("qualname",)),
        ),
        _told(
            (1, 12), _FUTURE, "torch.testing.assert_allclose", "`torch.testing.assert_close`, whose tolerances differ"
        ),
        _renamed((1, 4), _FUTURE, "torch.cuda.memory_cached", "torch.cuda.memory_reserved"),
        _renamed((1, 4), _FUTURE, "torch.cuda.max_memory_cached", "torch.cuda.max_memory_reserved"),
        _renamed((1, 4), _FUTURE, "torch.cuda.reset_max_memory_allocated", "torch.cuda.reset_peak_memory_stats"),
        _renamed((1, 4), _FUTURE, "torch.cuda.reset_max_memory_cached", "torch.cuda.reset_peak_memory_stats"),
        _renamed((2, 4), _DEPRECATION, "torch.get_autocast_gpu_dtype", "torch.get_autocast_dtype", first='"cuda"'),
        _renamed((2, 4), _DEPRECATION, "torch.set_autocast_gpu_dtype", "torch.set_autocast_dtype", first='"cuda"'),
        _renamed((2, 4), _DEPRECATION, "torch.get_autocast_cpu_dtype", "torch.get_autocast_dtype", first='"cpu"'),
        _renamed((2, 4), _DEPRECATION, "torch.set_autocast_cpu_dtype", "torch.set_autocast_dtype", first='"cpu"'),
        _renamed((2, 4), _DEPRECATION, "torch.is_autocast_cpu_enabled", "torch.is_autocast_enabled", first='"cpu"'),
        _renamed((2, 4), _DEPRECATION, "torch.set_autocast_cpu_enabled", "torch.set_autocast_enabled", first='"cpu"'),
        _told((2, 10), _FUTURE, "torch._check_is_size", "`torch._check(n >= 0)`"),
        _renamed((2, 13), _FUTURE, "torch.distributed.all_gather_into_tensor", "torch.distributed.all_gather_single"),
        _renamed(
            (2, 13), _FUTURE, "torch.distributed.reduce_scatter_tensor", "torch.distributed.reduce_scatter_single"
        ),
        _renamed(
            (2, 0),
            _FUTURE,
            "torch.distributed._all_gather_base",
            "torch.distributed.all_gather_single",
            renamed_in=(2, 13),
        ),
        _renamed(
            (2, 0),
            _FUTURE,
            "torch.distributed._reduce_scatter_base",
            "torch.distributed.reduce_scatter_single",
            renamed_in=(2, 13),
        ),
        *(
            _renamed(
                (1, 0),
                _FUTURE,
                f"torch.distributed.reduce_op.{name}",
                f"torch.distributed.ReduceOp.{name}",
                attribute=True,
            )
            for name in ("SUM", "PRODUCT", "MIN", "MAX")
        ),
        _renamed((2, 0), _USER, "torch.has_cuda", "torch.backends.cuda.is_built()", attribute=True),
        _renamed((2, 0), _USER, "torch.has_cudnn", "torch.backends.cudnn.is_available()", attribute=True),
        _renamed((2, 0), _USER, "torch.has_mps", "torch.backends.mps.is_built()", attribute=True),
        _renamed((2, 0), _USER, "torch.has_mkldnn", "torch.backends.mkldnn.is_available()", attribute=True),
    )
)
"""Deprecated names by their dotted name."""

REMOVED: dict[str, Entry] = {
    "torch.solve": Entry((1, 9), "`torch.linalg.solve(A, B)`, which takes the matrix first", (1, 13)),
    "torch.symeig": Entry((1, 9), "`torch.linalg.eigh`", (2, 0)),
    "torch.eig": Entry((1, 9), "`torch.linalg.eig`, which gives complex numbers", (1, 13)),
    "torch.lstsq": Entry((1, 9), "`torch.linalg.lstsq(A, B)`, which takes the matrix first", (1, 13)),
    "torch.matrix_rank": Entry(
        (1, 9),
        "`torch.linalg.matrix_rank`",
        (1, 13),
        rename="torch.linalg.matrix_rank",
        renamed_in=(1, 8),
        positional=1,
        refused=frozenset(("input", "tol", "symmetric")),
    ),
    "torch.gels": Entry((1, 1), "`torch.linalg.lstsq(A, B)`, which takes the matrix first", (1, 2)),
    "torch.potrf": Entry((1, 0), "`torch.linalg.cholesky`", (1, 2)),
    "torch.btrifact": Entry((1, 1), "`torch.linalg.lu_factor`", (1, 2)),
    "torch.rfft": Entry((1, 7), "`torch.fft.rfft`", (1, 8)),
    "torch.irfft": Entry((1, 7), "`torch.fft.irfft`", (1, 8)),
    "torch.ifft": Entry((1, 7), "`torch.fft.ifft`", (1, 8)),
    "torch.set_deterministic": Entry(
        (1, 8),
        "`torch.use_deterministic_algorithms`",
        (1, 11),
        rename="torch.use_deterministic_algorithms",
        renamed_in=(1, 8),
    ),
    "torch.is_deterministic": Entry(
        (1, 8),
        "`torch.are_deterministic_algorithms_enabled`",
        (1, 11),
        rename="torch.are_deterministic_algorithms_enabled",
        renamed_in=(1, 8),
    ),
    "torch.testing.rand": Entry((1, 11), "`torch.rand`", (2, 1), rename="torch.rand"),
    "torch.testing.randn": Entry((1, 11), "`torch.randn`", (2, 1), rename="torch.randn"),
    "torch.testing.make_non_contiguous": Entry((1, 11), "a strided slice of a larger tensor", (2, 1)),
    "torch.onnx.dynamo_export": Entry((2, 6), "`torch.onnx.export(..., dynamo=True)`", (2, 9)),
    "torch.onnx.OnnxRegistry": Entry((2, 6), "`torch.onnx.export(..., custom_translation_table=)`", (2, 8)),
    "torch.onnx.ExportOptions": Entry((2, 6), "the arguments of `torch.onnx.export(..., dynamo=True)`", (2, 8)),
    "torch.onnx._export": Entry((1, 10), "`torch.onnx.export`", (2, 9)),
    "torch.export.export_for_training": Entry(
        (2, 8), "`torch.export.export`", (2, 10), rename="torch.export.export", renamed_in=(2, 5)
    ),
    "torch._export.capture_pre_autograd_graph": Entry((2, 5), "`torch.export.export(...).module()`", (2, 7)),
    "torch.distributed.all_gather_multigpu": Entry((2, 1), "one process a device", (2, 2)),
    "torch.distributed.all_reduce_multigpu": Entry((2, 1), "one process a device", (2, 2)),
    "torch.distributed.broadcast_multigpu": Entry((2, 1), "one process a device", (2, 2)),
    "torch.distributed.reduce_multigpu": Entry((2, 1), "one process a device", (2, 2)),
    "torch.distributed.pipeline.sync.Pipe": Entry((2, 2), "`torch.distributed.pipelining`", (2, 4)),
}
"""Names that are gone, or raise when they are called."""


@dataclass(frozen=True, slots=True)
class Keyword:
    """An argument that is deprecated or gone."""

    since: Version
    instead: str
    removed: Version | None = None
    warning: str = ""
    rename: str = ""
    """The keyword that means the same."""
    inert: bool = False
    """It has no effect, so it can be left out."""


_LOSSES = [
    "l1_loss",
    "mse_loss",
    "cross_entropy",
    "nll_loss",
    "kl_div",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "smooth_l1_loss",
    "poisson_nll_loss",
    "hinge_embedding_loss",
    "margin_ranking_loss",
    "multilabel_margin_loss",
    "soft_margin_loss",
    "multilabel_soft_margin_loss",
    "cosine_embedding_loss",
    "multi_margin_loss",
    "triplet_margin_loss",
]
_LOSS_CLASSES = [
    "L1Loss",
    "MSELoss",
    "CrossEntropyLoss",
    "NLLLoss",
    "KLDivLoss",
    "BCELoss",
    "BCEWithLogitsLoss",
    "SmoothL1Loss",
    "PoissonNLLLoss",
    "HingeEmbeddingLoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "SoftMarginLoss",
    "MultiLabelSoftMarginLoss",
    "CosineEmbeddingLoss",
    "MultiMarginLoss",
    "TripletMarginLoss",
]
_REDUCTION = Keyword((1, 0), '`reduction="mean"`, `"sum"` or `"none"`', warning=_USER)
_SCHEDULERS = [
    "LambdaLR",
    "MultiplicativeLR",
    "StepLR",
    "MultiStepLR",
    "ConstantLR",
    "LinearLR",
    "ExponentialLR",
    "SequentialLR",
    "PolynomialLR",
    "CosineAnnealingLR",
    "ChainedScheduler",
    "ReduceLROnPlateau",
    "CyclicLR",
    "CosineAnnealingWarmRestarts",
    "OneCycleLR",
]
_VERBOSE = Keyword((2, 2), "`get_last_lr()`, to print the rate", (2, 7))

KEYWORDS: dict[str, dict[str, Keyword]] = {
    **{f"torch.nn.functional.{name}": {"size_average": _REDUCTION, "reduce": _REDUCTION} for name in _LOSSES},
    **{f"torch.nn.{name}": {"size_average": _REDUCTION, "reduce": _REDUCTION} for name in _LOSS_CLASSES},
    **{f"torch.optim.lr_scheduler.{name}": {"verbose": _VERBOSE} for name in _SCHEDULERS},
    "torch.nn.Hardtanh": {
        "min_value": Keyword((0, 4), "`min_val`", warning=_FUTURE, rename="min_val"),
        "max_value": Keyword((0, 4), "`max_val`", warning=_FUTURE, rename="max_val"),
    },
    "torch.nn.functional.gumbel_softmax": {
        "eps": Keyword((1, 0), "nothing: it has no effect", warning=_USER, inert=True)
    },
    "torch.utils.data.DataLoader": {
        "pin_memory_device": Keyword((2, 8), "nothing: the accelerator at hand is used", warning=_USER, inert=True)
    },
    "torch.profiler.profile": {"use_cuda": Keyword((1, 8), "`activities`", warning=_FUTURE)},
    "torch.autograd.profiler.profile": {"use_cuda": Keyword((2, 1), '`use_device="cuda"`', warning=_FUTURE)},
    "torch.nn.attention.flex_attention.flex_attention": {
        "return_lse": Keyword((2, 9), "`return_aux=AuxRequest(lse=True)`", warning=_FUTURE)
    },
}
"""Deprecated and removed arguments by function, those that are passed by keyword."""


@dataclass(frozen=True, slots=True)
class Missing:
    """An argument that a call should no longer leave out."""

    since: Version
    keyword: str
    position: int
    warning: str
    given: str = ""
    """What keeps today's behaviour."""


REQUIRED: dict[str, Missing] = {
    "torch.meshgrid": Missing((1, 10), "indexing", -1, _USER, 'indexing="ij"'),
    "torch.nn.functional.softmax": Missing((1, 0), "dim", 1, _USER),
    "torch.nn.functional.log_softmax": Missing((1, 0), "dim", 1, _USER),
    "torch.nn.functional.softmin": Missing((1, 0), "dim", 1, _USER),
    "torch.nn.Softmax": Missing((1, 0), "dim", 0, _USER),
    "torch.nn.LogSoftmax": Missing((1, 0), "dim", 0, _USER),
    "torch.nn.Softmin": Missing((1, 0), "dim", 0, _USER),
    "torch.cross": Missing((1, 11), "dim", 2, _USER),
}
"""Functions whose calls must name an argument."""
