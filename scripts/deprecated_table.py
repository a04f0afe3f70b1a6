"""Hold torchlint's table of deprecated and removed names against the installed torch.

    python scripts/deprecated_table.py         # say what is wrong with the table, exit with 1 if anything is
    python scripts/deprecated_table.py --more  # also list the deprecated public functions that it does not hold

A name is gone, or a call of it raises; it warns with the category of the table; what is to take its place is there.
"""

from __future__ import annotations

import importlib
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch  # noqa: TID251
import torch.nn.functional as F  # noqa: TID251

from torchlint.facts.deprecated_table import DEPRECATED, KEYWORDS, REMOVED, REQUIRED, Entry
from torchlint.version import Version

_INITIALISERS = [
    "uniform",
    "normal",
    "eye",
    "xavier_uniform",
    "xavier_normal",
    "kaiming_uniform",
    "kaiming_normal",
    "orthogonal",
]
EYE, ONES = torch.eye(2), torch.ones(2)
IMAGE = torch.ones(1, 1, 2, 2)

# Arguments that let a name be called; what needs none is not listed.
CALLS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(
        ("torch.qr", "torch.cholesky", "torch.lu", "torch.symeig", "torch.eig", "torch.matrix_rank"), (EYE,)
    ),
    **dict.fromkeys(("torch.triangular_solve", "torch.chain_matmul", "torch.solve", "torch.lstsq"), (EYE, EYE)),
    "torch.lu_solve": (EYE, *torch.linalg.lu_factor(EYE)),
    "torch.range": (0, 3),
    "torch.nn.utils.weight_norm": (torch.nn.Linear(2, 2),),
    "torch.nn.functional.upsample": (IMAGE, None, 2),
    "torch.nn.functional.upsample_nearest": (IMAGE, None, 2),
    "torch.nn.functional.upsample_bilinear": (IMAGE, None, 2),
    "torch.cuda.reset_max_memory_allocated": (),
    "torch.cuda.reset_max_memory_cached": (),
    "torch.get_autocast_gpu_dtype": (),
    "torch.set_autocast_gpu_dtype": (torch.float16,),
    "torch.get_autocast_cpu_dtype": (),
    "torch.set_autocast_cpu_dtype": (torch.bfloat16,),
    "torch.is_autocast_cpu_enabled": (),
    "torch.set_autocast_cpu_enabled": (False,),
    **{
        f"functorch.{name}": (lambda x: x.sum(),)
        for name in ("vmap", "grad", "grad_and_value", "jacrev", "jacfwd", "hessian", "functionalize")
    },
    "functorch.vjp": (lambda x: x, ONES),
    "functorch.jvp": (lambda x: x, (ONES,), (ONES,)),
    "functorch.make_functional": (torch.nn.Linear(2, 2),),
    "functorch.make_functional_with_buffers": (torch.nn.Linear(2, 2),),
    "functorch.combine_state_for_ensemble": ([torch.nn.Linear(2, 2)],),
    **{f"torch.nn.init.{name}": (torch.ones(2, 2),) for name in _INITIALISERS},
    "torch.nn.init.constant": (EYE, 1),
    "torch.nn.init.sparse": (EYE, 0.1),
    "torch.nn.init.dirac": (torch.ones(2, 2, 2),),
    "torch.meshgrid": (ONES, ONES),
    "torch.cross": (torch.ones(2, 3), torch.ones(2, 3)),
    **dict.fromkeys(
        ("torch.nn.functional.softmax", "torch.nn.functional.log_softmax", "torch.nn.functional.softmin"), (ONES,)
    ),
}
KEYWORD_CALLS: dict[tuple[str, str], Callable[[], object]] = {
    ("torch.nn.functional.mse_loss", "size_average"): lambda: F.mse_loss(ONES, ONES, size_average=True),
    ("torch.nn.functional.mse_loss", "reduce"): lambda: F.mse_loss(ONES, ONES, reduce=True),
    ("torch.nn.CrossEntropyLoss", "size_average"): lambda: torch.nn.CrossEntropyLoss(size_average=False),
    ("torch.nn.CrossEntropyLoss", "reduce"): lambda: torch.nn.CrossEntropyLoss(reduce=False),
    ("torch.nn.Hardtanh", "min_value"): lambda: torch.nn.Hardtanh(min_value=0),
    ("torch.nn.Hardtanh", "max_value"): lambda: torch.nn.Hardtanh(max_value=2),
    ("torch.nn.functional.gumbel_softmax", "eps"): lambda: F.gumbel_softmax(ONES, eps=1e-3),
    ("torch.profiler.profile", "use_cuda"): lambda: torch.profiler.profile(use_cuda=False),
    ("torch.autograd.profiler.profile", "use_cuda"): lambda: torch.autograd.profiler.profile(use_cuda=True),
    ("torch.optim.lr_scheduler.StepLR", "verbose"): lambda: torch.optim.lr_scheduler.StepLR(
        torch.optim.SGD([torch.nn.Parameter(ONES)], 0.1), 1, verbose=True
    ),
}
MISSING = object()


def installed() -> Version:
    major, minor = torch.__version__.split(".")[:2]
    return int(major), int(minor)


def found(name: str) -> Any:
    """What a dotted name stands for, its modules imported; MISSING where it is gone."""
    parts = name.split(".")
    value: Any = MISSING
    for index in range(len(parts)):
        prefix = ".".join(parts[: index + 1])
        attribute = getattr(value, parts[index], MISSING) if value is not MISSING else MISSING
        if attribute is MISSING:
            try:
                attribute = importlib.import_module(prefix)
            except ImportError:
                return MISSING
        value = attribute
    return value


def outcome(run: Callable[[], object]) -> tuple[str, set[str]]:
    """The exception of a call, "" for none, and the categories of its warnings."""
    torch.set_warn_always(True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            run()
        except (AttributeError, RuntimeError, TypeError, ValueError) as error:
            return type(error).__name__, {warning.category.__name__ for warning in caught}
    return "", {warning.category.__name__ for warning in caught}


def problems_of_removed(name: str, entry: Entry) -> Iterator[str]:
    assert entry.removed is not None
    value = found(name)
    if installed() < entry.removed:
        if value is MISSING:
            yield f"{name} is gone before {entry.removed}"
    elif value is not MISSING:
        error, _ = outcome(lambda: value(*CALLS.get(name, ())))
        if error != "RuntimeError":
            yield f"{name} is still there"


def problems_of_deprecated(name: str, entry: Entry) -> Iterator[str]:
    if entry.attribute:
        _, told = outcome(lambda: found(name))
    else:
        value = found(name)
        if value is MISSING:
            yield f"{name} is gone"
            return
        told = {entry.warning} if isinstance(getattr(value, "__deprecated__", None), str) else set()
        if not told and name in CALLS:
            told = outcome(lambda: value(*CALLS[name]))[1]
    if installed() >= entry.since and entry.warning and entry.warning not in told:
        yield f"{name} warns of {sorted(told) or 'nothing'}, not {entry.warning}"
    if entry.rename and installed() >= entry.renamed_in and found(entry.rename.removesuffix("()")) is MISSING:
        yield f"{name} would become {entry.rename}, which is not there"


def problems_of_arguments() -> Iterator[str]:
    for name, keywords in KEYWORDS.items():
        if found(name) is MISSING:
            yield f"{name} is gone"
        for keyword, entry in keywords.items():
            run = KEYWORD_CALLS.get((name, keyword))
            if run is None:
                continue
            error, told = outcome(run)
            if entry.removed is not None and installed() >= entry.removed:
                if error != "TypeError":
                    yield f"{name}({keyword}=) is still taken"
            elif entry.warning and entry.warning not in told:
                yield f"{name}({keyword}=) warns of {sorted(told) or 'nothing'}, not {entry.warning}"
    for name, missing in REQUIRED.items():
        value = found(name)
        layer = isinstance(value, type)
        _, told = outcome((lambda v=value: v()(ONES)) if layer else (lambda v=value, n=name: v(*CALLS[n])))  # type: ignore[misc]
        if missing.warning not in told:
            yield f"{name} without {missing.keyword} warns of {sorted(told) or 'nothing'}, not {missing.warning}"


def problems() -> list[str]:
    """What the table says and the installed torch does not."""
    wrong: list[str] = []
    for name, entry in REMOVED.items():
        wrong += problems_of_removed(name, entry)
    for name, entry in DEPRECATED.items():
        wrong += problems_of_deprecated(name, entry)
    return [*wrong, *problems_of_arguments()]


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
            if (
                isinstance(marked, str)
                and not name.startswith("_")
                and id(value) not in seen
                and dotted not in DEPRECATED
            ):
                seen.add(id(value))
                yield f"{dotted}: {' '.join(marked.split())[:120]}"


def main(arguments: list[str]) -> int:
    wrong = problems()
    print(*wrong, sep="\n", end="\n" if wrong else "")
    if "--more" in arguments:
        print(*unlisted(), sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
