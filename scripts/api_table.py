"""Ask the installed torch which names and arguments it has, which of them warn, and enter the answers in torchlint's table.

    python scripts/api_table.py          # measure, and merge this torch into torchlint/facts/api_table.json
    python scripts/api_table.py --check  # measure, say what differs from the table, exit with 1 if anything does
    python scripts/api_table.py --more   # list the deprecated public functions that torchlint's tables do not hold

It asks for every name and argument of the tables, and for `ASKED`; what a table calls deprecated or gone is called, too,
since the warning is what counts. docs/tables.md says how the table is made for many versions.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
import sys
import types
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import torch  # noqa: TID251

from torchlint.facts.amp import OLD
from torchlint.facts.compiler_table import PUBLIC
from torchlint.facts.deprecated_table import KEYWORDS, NAMES, REQUIRED

ROOT = Path(__file__).parent.parent
TABLE = ROOT / "torchlint" / "facts" / "api_table.json"

# What the ranges of rules and the notes of fixers rest on; with `=` the default of an argument is asked for.
ASKED = """
    torch.Event torch.accelerator torch.set_default_device torch.set_default_tensor_type
    torch.amp.autocast torch.amp.GradScaler torch.amp.custom_fwd torch.amp.custom_bwd
    torch.compile torch.compile(dynamic) torch.compile(mode) torch.compile(options) torch.compile(fullgraph)
    torch.compiler.is_compiling torch.compiler.load_cache_artifacts
    torch._dynamo.config.allow_unspec_int_on_nn_module torch._dynamo.config.reorderable_logging_functions
    torch.utils.checkpoint.checkpoint(use_reentrant) torch.utils.checkpoint.checkpoint(!use_reentrant)
    torch.utils.checkpoint.checkpoint_sequential(use_reentrant)
    torch.utils.checkpoint.checkpoint_sequential(!use_reentrant)
    torch.library.custom_op torch.library.triton_op torch.export.Dim torch.cond torch._assert_async torch._check
    torch.optim.Optimizer.zero_grad(set_to_none=) torch.nn.Module.zero_grad(set_to_none=)
    torch.onnx.export(dynamo=) torch.onnx.export(dynamic_shapes) torch.onnx.export(external_data)
    torch.utils.data.DataLoader(persistent_workers) torch.utils.data.DataLoader(in_order)
    torch.distributed.init_process_group(device_id) torch.nn.parallel.DistributedDataParallel(static_graph)
    torch.distributed.fsdp.FullyShardedDataParallel torch.distributed.fsdp.fully_shard
    torch.distributed._composable.fsdp.fully_shard
    torch.distributed.fsdp.FullyShardedDataParallel(auto_wrap_policy)
    torch.distributed.fsdp.FullyShardedDataParallel(limit_all_gathers=)
    torch.distributed.fsdp.FullyShardedDataParallel(use_orig_params)
    torch.nn.functional.scaled_dot_product_attention torch.nn.functional.scaled_dot_product_attention(enable_gqa)
    torch.nn.attention.sdpa_kernel torch.nn.MultiheadAttention.forward(is_causal) torch.nn.functional.rms_norm
    torch.repeat_interleave(output_size) torch.nonzero_static torch.meshgrid(indexing)
    torch.linalg.solve torch.linalg.inv_ex(check_errors) torch.linalg.solve_ex(check_errors)
    torch.linalg.cholesky_ex(check_errors) torch.linalg.lu_factor_ex(check_errors)
    torch.linalg.ldl_factor_ex(check_errors)
    torch.nn.utils.clip_grad_norm_(foreach) torch.nn.utils.get_total_norm torch.optim.Muon
    torch.inference_mode torch.profiler.profile torch.cuda.graph
    torch.backends.cuda.matmul.fp32_precision torch.backends.cudnn.conv.fp32_precision
    torch.set_float32_matmul_precision torch.utils.cpp_extension.CUDAExtension(py_limited_api)
"""
OPTIMIZERS = ("ASGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop", "SGD")
EYE, ONES = torch.eye(2), torch.ones(2)
IMAGE = torch.ones(1, 1, 2, 2)
GATHERS = ("all_gather_into_tensor", "reduce_scatter_tensor", "_all_gather_base", "_reduce_scatter_base")


class Interface:
    """What torch.jit.interface takes."""

    def run(self, x: torch.Tensor) -> torch.Tensor:
        """Give a tensor."""
        return x


def _parameter() -> torch.nn.Parameter:
    return torch.nn.Parameter(torch.ones(2))


def _linear() -> torch.nn.Module:
    return torch.nn.Linear(2, 2)


def _scripted() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.script(torch.nn.ReLU()).eval()


def _future() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.fork(torch.nn.ReLU(), ONES)


# Arguments that let a name be called; a name that is not here is called without any.
CALLS: dict[str, Callable[[], tuple[Any, ...]]] = {
    **dict.fromkeys(
        ("torch.qr", "torch.cholesky", "torch.lu", "torch.symeig", "torch.eig", "torch.matrix_rank"), lambda: (EYE,)
    ),
    **dict.fromkeys(("torch.triangular_solve", "torch.chain_matmul", "torch.solve", "torch.lstsq"), lambda: (EYE, EYE)),
    "torch.lu_solve": lambda: (EYE, *torch.linalg.lu_factor(EYE)),
    "torch.range": lambda: (0, 3),
    "torch.nn.utils.weight_norm": lambda: (_linear(),),
    "torch.nn.utils.clip_grad_norm": lambda: ([_parameter()], 1.0),
    "torch.nn.utils.stateless.functional_call": lambda: (torch.nn.ReLU(), {}, (ONES,)),
    **dict.fromkeys(
        [f"torch.nn.functional.upsample{kind}" for kind in ("", "_nearest", "_bilinear")], lambda: (IMAGE, None, 2)
    ),
    **dict.fromkeys(("torch.nn.functional.sigmoid", "torch.nn.functional.tanh"), lambda: (ONES,)),
    **dict.fromkeys(("torch.set_autocast_gpu_dtype", "torch.set_autocast_cpu_dtype"), lambda: (torch.bfloat16,)),
    "torch.set_autocast_cpu_enabled": lambda: (False,),
    **dict.fromkeys(
        [
            f"functorch.{name}"
            for name in ("vmap", "grad", "grad_and_value", "jacrev", "jacfwd", "hessian", "functionalize")
        ],
        lambda: (torch.sum,),
    ),
    "functorch.vjp": lambda: (torch.sin, ONES),
    "functorch.jvp": lambda: (torch.sin, (ONES,), (ONES,)),
    **dict.fromkeys(("functorch.make_functional", "functorch.make_functional_with_buffers"), lambda: (_linear(),)),
    "functorch.combine_state_for_ensemble": lambda: ([_linear()],),
    **dict.fromkeys(
        [
            f"torch.nn.init.{name}"
            for name in ("uniform", "normal", "eye", "xavier_uniform", "xavier_normal", "kaiming_uniform")
        ],
        lambda: (torch.ones(2, 2),),
    ),
    **dict.fromkeys(("torch.nn.init.kaiming_normal", "torch.nn.init.orthogonal"), lambda: (torch.ones(2, 2),)),
    "torch.nn.init.constant": lambda: (torch.ones(2, 2), 1),
    "torch.nn.init.sparse": lambda: (torch.ones(2, 2), 0.1),
    "torch.nn.init.dirac": lambda: (torch.ones(2, 2, 2),),
    **dict.fromkeys([f"torch.testing.{name}" for name in ("rand", "randn", "make_non_contiguous")], lambda: (ONES,)),
    "torch.testing.assert_allclose": lambda: (ONES, ONES),
    **dict.fromkeys(("torch.set_deterministic",), lambda: (False,)),
    "torch._check_is_size": lambda: (1,),
    "torch.library.impl_abstract": lambda: ("torchlint::asked",),
    **dict.fromkeys([f"torch.distributed.{name}" for name in GATHERS], lambda: (ONES, ONES)),
    **dict.fromkeys([f"torch.distributed.{name}_multigpu" for name in ("broadcast", "reduce")], lambda: ([ONES], 0)),
    "torch.distributed.all_reduce_multigpu": lambda: ([ONES],),
    "torch.distributed.all_gather_multigpu": lambda: ([[ONES]], [ONES]),
    "torch.distributed.pipeline.sync.Pipe": lambda: (torch.nn.Sequential(),),
    "torch.set_default_tensor_type": lambda: ("torch.FloatTensor",),
    **dict.fromkeys(("torch.cuda.amp.custom_fwd", "torch.cuda.amp.custom_bwd"), lambda: (torch.sin,)),
    **dict.fromkeys(
        ("torch.jit.script", "torch.jit.freeze", "torch.jit.optimize_for_inference"), lambda: (_scripted(),)
    ),
    **dict.fromkeys(("torch.jit.trace", "torch.jit.fork"), lambda: (torch.nn.ReLU(), ONES)),
    "torch.jit.trace_module": lambda: (torch.nn.ReLU(), {"forward": ONES}),
    "torch.jit.wait": lambda: (_future(),),
    "torch.jit.interface": lambda: (Interface,),
    "torch.onnx.ExportOptions": lambda: (),
    "torch.onnx.dynamo_export": lambda: (torch.nn.ReLU(), ONES),
    "torch.onnx._export": lambda: (torch.nn.ReLU(), ONES, "/dev/null"),
    "torch.export.export_for_training": lambda: (torch.nn.ReLU(), (ONES,)),
    "torch._export.capture_pre_autograd_graph": lambda: (torch.nn.ReLU(), (ONES,)),
    **dict.fromkeys(("torch.meshgrid", "torch.nn.functional.pairwise_distance"), lambda: (ONES, ONES)),
    "torch.cross": lambda: (torch.ones(2, 3), torch.ones(2, 3)),
    "torch.stft": lambda: (torch.ones(8), 4, None, None, torch.ones(4)),
    **dict.fromkeys([f"torch.nn.functional.{name}" for name in ("softmax", "log_softmax", "softmin")], lambda: (ONES,)),
    "torch.utils.checkpoint.checkpoint": lambda: (torch.sin, _parameter()),
    "torch.utils.checkpoint.checkpoint_sequential": lambda: ([torch.nn.ReLU()] * 2, 2, _parameter()),
}
JIT = ("script", "trace", "trace_module", "freeze", "optimize_for_inference", "fork", "wait", "interface")
CALLED = frozenset((*NAMES, *OLD, *(f"torch.jit.{name}" for name in JIT), "torch.set_default_tensor_type"))
"""The names that are called, since they may warn or raise then."""
THREE = ("margin_ranking_loss", "cosine_embedding_loss", "triplet_margin_loss")
SCHEDULERS: dict[str, tuple[Any, ...]] = {
    "LambdaLR": (float,),
    "MultiplicativeLR": (float,),
    "StepLR": (1,),
    "MultiStepLR": ([1],),
    "ExponentialLR": (0.9,),
    "CosineAnnealingLR": (2,),
    "CosineAnnealingWarmRestarts": (2,),
    "CyclicLR": (0.1, 0.2),
    "OneCycleLR": (0.1, 10),
}
MISSING = object()


def installed() -> str:
    return ".".join(torch.__version__.split(".")[:2])


# --- what is asked -----------------------------------------------------------------------------------------------


def asked() -> list[str]:
    """The keys of the table: see torchlint.facts.api_table.states."""
    entries = [*NAMES.values(), *PUBLIC.values()]
    renames = [name.removesuffix("()") for entry in entries for name in (entry.rename, entry.successor) if name]
    every_keyword = [keyword for of_one in KEYWORDS.values() for keyword in of_one.values()]
    keywords = [keyword.name for keyword in every_keyword]
    keywords += [f"{keyword.function}({keyword.successor})" for keyword in every_keyword if keyword.successor]
    optimizers = [
        f"torch.optim.{name}({argument})" for name in OPTIMIZERS for argument in ("foreach", "fused", "capturable")
    ]
    required = [missing.name for missing in REQUIRED.values()]
    names = [entry.name for entry in entries]
    every = {*names, *renames, *keywords, *required, *CALLED, *ASKED.split(), *optimizers}
    return sorted(key for key in every if not key.startswith("torchvision."))


# --- what torch answers ------------------------------------------------------------------------------------------


def state(key: str) -> str:
    """What the installed torch says of a key: see torchlint.facts.api_table.states."""
    name, bracket, argument = key.removesuffix(")").partition("(")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = found(name)
    if value is MISSING:
        return "absent"
    if argument.startswith("!"):
        error, categories = outcome(lambda: _without(name, value))
        return next(iter(categories), "raises" if error else "there")
    if argument.endswith("="):
        return default(value, argument.removesuffix("="))
    if bracket:
        return of_argument(name, value, argument)
    entry = NAMES.get(name)
    if entry is not None and entry.attribute:
        return told(lambda: found(name)) or "there"
    return of_call(name, value) if name in CALLED and callable(value) else "there"


def found(name: str) -> Any:
    """What a dotted name stands for, its modules imported; MISSING where it is gone."""
    parts = name.split(".")
    value: Any = MISSING
    for index in range(len(parts)):
        prefix = ".".join(parts[: index + 1])
        attribute = _attribute(value, parts[index]) if value is not MISSING else MISSING
        if attribute is MISSING:  # a module that a function of its name hides
            attribute = _attribute(sys.modules.get(".".join(parts[:index])), parts[index])
        if attribute is MISSING:
            try:
                attribute = importlib.import_module(prefix)
            except (ImportError, RuntimeError):
                return MISSING
        value = attribute
    return value


def _attribute(value: Any, name: str) -> Any:
    try:
        return getattr(value, name, MISSING)
    except (ImportError, RuntimeError, AssertionError):  # a module that this platform does not have
        return MISSING


def outcome(run: Callable[[], object]) -> tuple[str, list[str]]:
    """The exception of a call, "" for none, and the categories of the warnings that call something deprecated."""
    torch.set_warn_always(True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        error = ""
        try:
            run()
        except Exception as raised:  # noqa: BLE001  a call without a GPU or a process group fails after it warned
            error = f"{type(raised).__name__}: {raised}"
    return error, [warning.category.__name__ for warning in caught if _DEPRECATES.search(str(warning.message))]


_DEPRECATES = re.compile(
    "deprecat|renamed|removed? |no longer|instead|will be|not supported|has no effect|should be passed|explicit|legacy|"
    "ignored|now calls",
    re.IGNORECASE,
)


_REMOVED = re.compile(
    "deprecated .*(is|are|has been) (now )?removed|is no longer supported|has been removed", re.DOTALL
)


def told(run: Callable[[], object]) -> str:
    """The category of the first warning, "" for none."""
    return next(iter(outcome(run)[1]), "")


def of_call(name: str, value: Any) -> str:
    """`there`, `raises` or the warning of a function that is called."""
    if isinstance(getattr(value, "__deprecated__", None), str) and not isinstance(value, type):
        return _category(value)
    error, categories = outcome(lambda: value(*CALLS.get(name, tuple)()))
    if error.startswith("RuntimeError") and _REMOVED.search(error):
        return "raises"
    return categories[0] if categories else "there"


def _category(value: Any) -> str:
    """The category of a function marked by typing_extensions.deprecated, found by a call without arguments."""
    return told(value) or "FutureWarning"


def _without(name: str, value: Any) -> object:
    return value()(ONES) if isinstance(value, type) else value(*CALLS[name]())


def of_argument(name: str, value: Any, argument: str) -> str:
    """`there`, `absent` or the warning of an argument that is given."""
    if argument not in parameters(name, value):
        return "absent"
    keyword = KEYWORDS.get(name, {}).get(argument)
    return (told(lambda: given(name, value, argument)) if keyword is not None else "") or "there"


def given(name: str, value: Any, argument: str) -> object:
    """Call something with a deprecated argument."""
    last = name.rpartition(".")[2]
    if name.startswith("torch.optim.lr_scheduler."):
        optimizer = torch.optim.SGD([_parameter()], 0.1, momentum=0.1)
        return value(optimizer, *SCHEDULERS.get(last, ()), verbose=True)
    if name == "torch.nn.functional.gumbel_softmax":
        return value(ONES, eps=1e-3)
    if name.startswith("torch.nn.functional."):
        return value(*[ONES] * (3 if last in THREE else 2), **{argument: True})
    if name == "torch.utils.data.DataLoader":
        return next(iter(value([1], pin_memory=True, pin_memory_device="cpu")))
    if name.endswith("flex_attention"):
        return value(*[torch.ones(1, 1, 16, 16)] * 3, return_lse=True)
    return value(**{argument: True})


def parameters(name: str, value: Any) -> set[str]:
    """The arguments that a function or class takes by name, from its signature or from the schemas of its operator."""
    schemas = _schemas(name)
    try:
        signature = inspect.signature(value)
    except (ValueError, TypeError):
        return {argument.name for schema in schemas for argument in schema.arguments}
    taken = {p.name for p in signature.parameters.values() if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
    if any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values()):
        taken |= _popped(value)
    return taken


def _schemas(name: str) -> list[Any]:
    last = name.rpartition(".")[2]
    spelled = f"linalg_{last}" if name.startswith("torch.linalg.") else last
    return list(torch._C._jit_get_schemas_for_operator(f"aten::{spelled}"))


def _popped(value: Any) -> set[str]:
    """The names that a function reads from its `**kwargs`."""
    code = value.__init__ if isinstance(value, type) else value
    try:
        text = inspect.getsource(code)
    except (OSError, TypeError):
        return set()
    return set(re.findall(r"kwargs(?:\.pop\(|\.get\(|\[)\s*['\"](\w+)['\"]", text)) | set(
        re.findall(r"^\s+(\w+): Passed on", text, re.MULTILINE)
    )


def default(value: Any, argument: str) -> str:
    parameter = inspect.signature(value).parameters.get(argument)
    return f"= {parameter.default!r}" if parameter is not None else "absent"


def measure() -> dict[str, str]:
    """The state of every key under the installed torch."""
    return {key: state(key) for key in asked()}


# --- the table ---------------------------------------------------------------------------------------------------


def merged(table: dict[str, Any], answers: dict[str, str], version: str) -> dict[str, Any]:
    """The table with this version's answers in it. What was never asked of another version is taken for unknown there."""
    versions = sorted({*table.get("measured", ()), version}, key=_number)
    names: dict[str, dict[str, str]] = {}
    for key, answer in answers.items():
        known = by_version(table.get("names", {}).get(key, {}), table.get("measured", ()))
        known[version] = answer
        names[key] = spans(known, versions)
    return {"measured": versions, "names": names}


def by_version(begun: dict[str, str], versions: Iterable[str]) -> dict[str, str]:
    """The state in each version, from the versions in which states begin."""
    found: dict[str, str] = {}
    current = ""
    for version in versions:
        current = begun.get(version, current)
        if current:
            found[version] = current
    return found


def spans(known: dict[str, str], versions: list[str]) -> dict[str, str]:
    """The states by the version in which they begin."""
    begun: dict[str, str] = {}
    current = ""
    for version in versions:
        answer = known.get(version, current)
        if answer != current:
            begun[version] = current = answer
    return begun


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def differences(table: dict[str, Any], answers: dict[str, str], version: str) -> Iterator[str]:
    """What the installed torch says, and the table does not."""
    for key, answer in answers.items():
        known = by_version(table["names"].get(key, {}), table["measured"]).get(version, "unknown")
        if known != answer:
            yield f"{key} is {answer}, the table says {known}"
    yield from (f"{key} is not asked for any more" for key in sorted({*table["names"]} - {*answers}))


def text_of(table: dict[str, Any]) -> str:
    """The table as JSON, one name a line."""
    lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(entry)}" for key, entry in table["names"].items())
    return f'{{\n "measured": {json.dumps(table["measured"])},\n "names": {{\n{lines}\n }}\n}}\n'


def unlisted() -> Iterator[str]:
    """The functions and classes that torch marks as deprecated under a public name, and that no table holds."""
    seen: set[int] = set()
    for module_name, module in sorted(sys.modules.items()):
        if not module_name.startswith("torch") or "._" in module_name or not isinstance(module, types.ModuleType):
            continue
        for name, value in sorted(vars(module).items()):
            marked = (
                None
                if isinstance(value, types.ModuleType)
                else vars(type(value)).get("__deprecated__") or getattr(value, "__dict__", {}).get("__deprecated__")
            )
            dotted = f"{module_name}.{name}"
            public = isinstance(marked, str) and not name.startswith("_")
            if public and id(value) not in seen and dotted not in NAMES:
                seen.add(id(value))
                yield f"{dotted}: {' '.join(marked.split())[:120]}"


def main(arguments: list[str]) -> int:
    if "--more" in arguments:
        print(*unlisted(), sep="\n")
        return 0
    answers = measure()
    table = json.loads(TABLE.read_text(encoding="utf-8")) if TABLE.exists() else {}
    if "--check" in arguments:
        wrong = list(differences(table, answers, installed()))
        print(*wrong, sep="\n", end="\n" if wrong else "")
        return 1 if wrong else 0
    TABLE.write_text(text_of(merged(table, answers, installed())), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
