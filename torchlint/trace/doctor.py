"""`python -m torchlint.trace.doctor --json`: proves each capability of a traced run on the installed torch.

Each check runs a small program under the trace and looks at its events; nothing is concluded from version numbers.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import platform
import runpy
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

OLDEST_TORCH = (2, 6)


@dataclass(frozen=True, slots=True)
class Check:
    """One capability: `detail` says what was seen, or why it is off; `without` is what a trace lacks then."""

    name: str
    works: bool
    detail: str
    without: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The environment and its capabilities; `problem` is why there are none."""

    python: str
    torch: str = ""
    triton: str = ""
    gpu: str = ""
    problem: str = ""
    checks: tuple[Check, ...] = ()

    @property
    def works(self) -> bool:
        """Whether everything does."""
        return bool(self.checks) and all(check.works for check in self.checks)


class Off(Exception):
    """A capability that doesn't work; its text is why."""


_BREAKS = """\
import torch
def f(x, factor):
    y = x + 1
    y.sum().item()
    return y * len(factor)
g = torch.compile(f, backend="eager")
for factor in "a", "bb", "ccc":
    g(torch.ones(2), factor)
"""
_LOOP = """\
import torch
def f(x):
    for _ in range(2):
        x = x + 1
        torch._dynamo.graph_break()
    return x
torch.compile(f, backend="eager")(torch.ones(2))
"""
_LIMIT = """\
import torch
def f(x, factor):
    return x * len(factor)
g = torch.compile(f, backend="eager")
with torch._dynamo.config.patch(recompile_limit=1):
    for factor in "a", "bb", "ccc":
        g(torch.ones(2), factor)
"""
_MODEL = """\
import torch
from torch import nn
model = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.GELU())
def loss(x):
    return model(x).sum()
torch.compile(loss)(torch.ones(2, 8)).backward()
"""
_DEVICE = """\
import torch
model = torch.nn.Linear(4, 4).to("cuda")
x = torch.ones(2, 4).to("cuda")
loss = model(x).sum()
loss.backward()
assert x.device == torch.device("cuda", 0) and loss.is_cuda
loss.item()
"""
_DEVICE_COMPILED = """\
import torch
model = torch.nn.Linear(4, 4).to("cuda")
def loss(x):
    return (model(x) * torch.ones(4, device="cuda")).sum()
x = torch.ones(2, 4, device="cuda")
assert torch.compile(loss)(x).device.type == "cuda"
"""


class _Run:
    """The events of one small program; found by kind."""

    def __init__(self, source: str, *, virtual: bool = False, compiled: bool = True) -> None:
        from torchlint.messages.event import read_events
        from torchlint.trace.compiled.recording import compile_recording
        from torchlint.trace.program.recorder import Recorder

        with tempfile.TemporaryDirectory(prefix="torchlint-doctor-") as folder, contextlib.ExitStack() as stack:
            program, log = Path(folder, "program.py"), Path(folder, "events.jsonl")
            program.write_text(source, encoding="utf-8")
            recorder = Recorder(log)
            stack.callback(recorder.close)
            if virtual:
                from torchlint.trace.eager.virtual import virtual_gpu

                stack.enter_context(virtual_gpu(recorder))
            if compiled:
                stack.enter_context(compile_recording(recorder, virtual=virtual))
            runpy.run_path(str(program))
            stack.close()
            self.events = read_events(log)

    def of(self, kind: str, name: str = "") -> list[int]:
        """The lines of the events of a kind, and of a name if given."""
        return [event.line for event in self.events if event.kind == kind and name in ("", event.name)]

    def expect(self, kind: str, line: int, name: str = "") -> None:
        found = self.of(kind, name)
        if found != [line]:
            raise Off(f"expected one {kind} event at line {line}, got lines {found}")


def _graph_breaks() -> str:
    run = _Run(_BREAKS)
    run.expect("graph_break", 4)
    identifier = next(event.name for event in run.events if event.kind == "graph_break")
    return f"{identifier} at its line"


def _identifiers() -> str:
    from torchlint.trace.compiled.private import graph_break_registry

    registry = graph_break_registry()
    if not registry:
        raise Off("this torch ships no graph_break_registry.json (2.8 and later do)")
    return f"{len(registry)} ids"


def _recompiles() -> str:
    found = _Run(_BREAKS).of("recompile")
    if len(found) < 2 or set(found) != {5}:
        raise Off(f"expected recompile events at line 5, got lines {found}")
    return "with their guards"


def _recompile_limit() -> str:
    _Run(_LIMIT).expect("recompile_limit", 2)
    return "at the function"


def _skipped_frames() -> str:
    run = _Run(_LOOP)
    run.expect("graph_break", 5)
    if not any((event.data or {}).get("frame_skipped") for event in run.events):
        raise Off("a break in a loop is not told as a skipped frame")
    return "a break in a loop skips its frame"


def _kernels(backward: bool) -> str:
    run = _Run(_MODEL)
    failed = [event.detail for event in run.events if event.kind == "unsupported"]
    if failed:
        raise Off(failed[0])
    for event in run.events:
        data = event.data or {}
        if event.kind == "graph" and data.get("backward") is backward and data.get("triton"):
            return f"{data['triton']} Triton and {data['extern']} extern launches for {data['target']}"
    raise Off("no Triton kernel was generated")


def _kernel_lines() -> str:
    run = _Run(_MODEL)
    kernels = [event for event in run.events if event.kind == "kernel"]
    with_lines = [event for event in kernels if (event.data or {}).get("lines")]
    if not with_lines:
        raise Off("Inductor keeps no line of a kernel (torch 2.9 and later do)")
    return f"{len(with_lines)} of {len(kernels)} kernels"


def _triton() -> str:
    from torchlint.trace.compiled import triton_stub

    if triton_stub.needed():
        return "not installed; a stand-in is used"
    return f"version {_version('triton')}"


def _virtual_gpu() -> str:
    from torchlint.trace.eager import private

    if off := private.self_test():
        raise Off("; ".join(off))
    run = _Run(_DEVICE, virtual=True, compiled=False)
    run.expect("sync", 7, "item")
    if sorted(set(run.of("h2d"))) != [2, 3]:
        raise Off(f"expected copies at lines 2 and 3, got lines {run.of('h2d')}")
    return "syncs and copies at their lines"


def _virtual_compiled() -> str:
    run = _Run(_DEVICE_COMPILED, virtual=True)
    if run.of("graph_break"):
        raise Off(f"the virtual GPU itself breaks graphs, at lines {run.of('graph_break')}")
    if not run.of("graph"):
        raise Off("nothing was compiled")
    return "no graph break of its own"


CHECKS: tuple[tuple[str, Callable[[], str], str], ...] = (
    ("graph breaks", _graph_breaks, "no graph break is reported"),
    ("graph break ids", _identifiers, "breaks have an id only where torch prints a link"),
    ("skipped frames", _skipped_frames, "breaks that cost a whole frame are not told apart"),
    ("recompiles", _recompiles, "no recompile is reported"),
    ("recompile limit", _recompile_limit, "a function that fell back to eager is not reported"),
    ("forward kernels", lambda: _kernels(backward=False), "no kernel counts"),
    ("backward kernels", lambda: _kernels(backward=True), "no kernel counts of backward passes"),
    ("kernel lines", _kernel_lines, "kernels are counted per graph, not per line"),
    ("triton", _triton, "no kernel counts"),
    ("virtual GPU", _virtual_gpu, "no syncs and copies without a GPU"),
    ("compiling on the virtual GPU", _virtual_compiled, "no graph breaks and kernels of programs that name cuda"),
)
"""What is checked: the capability's name, its proof, and what a trace lacks without it."""


def diagnose() -> Diagnosis:
    """Check everything; never raises for what is off."""
    python = platform.python_version()
    try:
        import torch
    except Exception as error:  # noqa: BLE001 - a broken installation fails in any way it likes
        return Diagnosis(python, problem=f"torch can't be imported: {type(error).__name__}: {error}")
    version = str(torch.__version__)
    if tuple(map(int, version.split("+")[0].split(".")[:2])) < OLDEST_TORCH:
        oldest = ".".join(map(str, OLDEST_TORCH))
        return Diagnosis(python, version, problem=f"torch {version} is too old: a traced run needs {oldest} or later")
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
    return Diagnosis(python, version, _version("triton"), gpu, checks=tuple(_check(*check) for check in CHECKS))


def _check(name: str, proof: Callable[[], str], without: str) -> Check:
    try:
        with _quiet():
            return Check(name, True, proof(), without)
    except Off as off:
        return Check(name, False, str(off), without)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        first = next(iter(str(error).strip().splitlines()), "")
        return Check(name, False, f"{type(error).__name__}: {first}", without)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Neither torch's warnings nor the small programs' output get among the answers."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(sys.stderr):
        warnings.simplefilter("ignore")
        yield


def _version(package: str) -> str:
    from importlib import metadata

    if importlib.util.find_spec(package) is None:
        return ""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "unknown"


def as_json(diagnosis: Diagnosis) -> str:
    return json.dumps(asdict(diagnosis), indent=2)


def as_text(diagnosis: Diagnosis) -> str:
    """For people: one line a capability, and what is missing without it."""
    lines = [f"python {diagnosis.python}"]
    if diagnosis.torch:
        lines += [f"torch {diagnosis.torch}", f"GPU {diagnosis.gpu or 'none: a virtual one is used'}"]
    if diagnosis.problem:
        lines.append(f"off: {diagnosis.problem}")
    width = max((len(check.name) for check in diagnosis.checks), default=0)
    for check in diagnosis.checks:
        lines.append(f"{'works' if check.works else 'off  '} {check.name:{width}} {check.detail}")
        if not check.works:
            lines.append(f"{'':{width + 6}} without it: {check.without}")
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    diagnosis = diagnose()
    sys.stdout.write(as_json(diagnosis) + "\n" if "--json" in arguments else as_text(diagnosis))
    return 0 if diagnosis.works else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
