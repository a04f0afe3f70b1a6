"""Ask the installed torch which constructs break Dynamo's graph, and enter the answers in torchlint's table.

    python scripts/break_table.py          # measure, and merge this torch into torchlint/facts/break_table.json
    python scripts/break_table.py --check  # measure, say what differs from the table, exit with 1 if anything does

Each construct is the body of a function of its own, `y = x + 1; <construct>; return y * 2`, compiled with the default
options and the backend "eager". An entry's spans are the versions measured: `first` and `last` are the lowest and the
highest torch of a run of versions that answered with the same ids. docs/tables.md says how the table is made for many
versions. torch 2.6 and later are read by the trace, torch 2.1 to 2.5 by Dynamo's counters.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import io
import json
import logging
import os
import re
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict

import numpy
import torch  # noqa: TID251

from torchlint.messages.event import Event

TABLE = Path(__file__).parent.parent / "torchlint" / "facts" / "break_table.json"

SETUP = """
import base64, bisect, collections, contextlib, copy, datetime, functools, gc, glob, hashlib, heapq, inspect, io, itertools
import json, logging, math, numpy, operator, os, os.path, pathlib, pickle, platform, random, re, shutil, socket, statistics
import struct, subprocess, sys, tempfile, threading, time, traceback, uuid, warnings
import scipy.optimize
import torch
import torch.nn.functional

logger = logging.getLogger("constructs")
parameter = torch.nn.Parameter(torch.ones(8, 8))
module = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
lstm = torch.nn.LSTM(8, 8)
gru = torch.nn.GRU(8, 8)
rnn = torch.nn.RNN(8, 8)
cell = torch.nn.LSTMCell(8, 8)
scripted = torch.jit.script(torch.nn.Linear(8, 8))
integers = torch.arange(8)
lock = threading.Lock()


@torch.compiler.disable
def disabled(x: torch.Tensor) -> torch.Tensor:
    return x + 1


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2
"""

# One construct a line. A line `KEY | code` names it; else its name is that of the call it is.
CONSTRUCTS = {
    "TL201": """
        .item() | z = x.sum().item()
        .tolist() float | z = x.tolist()
        .tolist() int | z = integers.tolist()
        .numpy() | z = x.numpy()
        float() | z = float(x.sum())
        int() | z = int(x.sum())
        bool() | z = bool(x.sum())
        complex() | z = complex(x.sum())
        str() | z = str(x)
        repr() | z = repr(x)
        math.sqrt() | z = math.sqrt(x.abs().sum())
        math.floor() | z = math.floor(x.sum())
        math.log() | z = math.log(x.abs().sum() + 1)
        torch.equal(x, x)
        torch.allclose(x, x)
        torch.is_nonzero(x.sum())
        .equal() | z = x.equal(x)
        .allclose() | z = x.allclose(x)
        .is_nonzero() | z = x.sum().is_nonzero()
        range() | z = range(x.abs().sum().long())
        slice | z = x[: (x > 0).sum()]
        list index | z = [1, 2, 3][x[0].argmax().clamp(max=2)]
    """,
    "TL202": r"""
        if | if x.sum() > 0:\n    y = y + 1
        while | while y.sum() < 10:\n    y = y.abs() * 2 + 1
        ternary | z = x if x.sum() > 0 else y
        boolop | z = (x.sum() > 0) and 1
        not | z = not (x.sum() > 0)
        assert | assert x.sum() > -1e9
        assert constant | assert x.sum() > -1e9, "negative"
        assert f-string | assert x.sum() > -1e9, f"negative {x.shape}"
        comprehension if | z = [v for v in x if v.sum() > 0]
        chained comparison | z = 0 < x.sum() < 1
        any() | z = any(x[0] > 0)
        all() | z = all(x[0] > 0)
        sorted() | z = sorted([x[0, 0], x[0, 1]])
        max() | z = max(x[0, 0], 1)
        in | z = x.sum() in [1]
        is None | if x is not None:\n    y = y + 1
        shape | if x.shape[0] > 2:\n    y = y + 1
        isinstance() | z = isinstance(x, torch.Tensor)
    """,
    "TL203": """
        print("a")
        open("file", "w")
        logger.debug() | logger.debug("a")
        logger.info() | logger.info("a")
        logger.warning() | logger.warning("a")
        logger.error() | logger.error("a")
        logger.exception() | logger.exception("a")
        logger.critical() | logger.critical("a")
        logger.log() | logger.log(10, "a")
        logger.isEnabledFor() | z = logger.isEnabledFor(10)
        logging.getLogger("a")
        logging.debug("a")
        logging.info("a")
        logging.warning("a")
        logging.error("a")
        logging.critical("a")
        logging.exception("a")
        logging.log(10, "a")
        warnings.warn("a")
        sys.stdout.write("")
        sys.stdout.flush()
        sys.stderr.write("")
        json.dumps({"a": 1})
        json.loads("{}")
        pickle.dumps(1)
        pickle.loads(b"N.")
        torch.save(x, io.BytesIO())
        torch.load("tensor.pt")
        numpy.save("array.npy", numpy.zeros(2))
        numpy.load("array.npy")
        traceback.print_stack(file=io.StringIO())
        traceback.format_stack()
        traceback.format_exc()
        torch.profiler.record_function("a")
        torch.autograd.profiler.record_function("a")
    """,
    "TL204": """
        .nonzero() | z = x.nonzero()
        .argwhere() | z = x.argwhere()
        torch.nonzero(x)
        torch.argwhere(x)
        torch.where() | z = torch.where(x > 0)
        torch.where() three | z = torch.where(x > 0, x, y)
        x[mask] | z = x[x > 0]
        x[mask] = scalar | y[y > 0] = 0
        x[mask] += | y[y > 0] += 1
        .masked_select() | z = x.masked_select(x > 0)
        torch.masked_select(x, x > 0)
        .unique() | z = x.unique()
        .unique_consecutive() | z = x.unique_consecutive()
        torch.unique(x)
        torch.unique_consecutive(x)
        .bincount() | z = integers.bincount()
        torch.bincount(integers)
        torch.combinations(x[0])
        torch.histc(x)
        torch.nonzero_static(x, size=4)
        torch.repeat_interleave() | z = torch.repeat_interleave(x, integers, dim=0)
        torch.repeat_interleave() int | z = torch.repeat_interleave(x, 2)
        torch.repeat_interleave() output_size | z = torch.repeat_interleave(x, integers, dim=0, output_size=28)
        .repeat_interleave() | z = x.repeat_interleave(integers, dim=0)
        .repeat_interleave() int | z = x.repeat_interleave(2, dim=0)
        torch.nn.functional.one_hot() | z = torch.nn.functional.one_hot(integers)
        torch.nn.functional.one_hot() classes | z = torch.nn.functional.one_hot(integers, 8)
        torch.nn.functional.ctc_loss(x[:, None].log_softmax(-1), integers[None, 1:2], torch.tensor([8]), torch.tensor([1]))
        .masked_scatter() | z = x.masked_scatter(x > 0, x)
        torch.multinomial(x.softmax(-1), 1)
        torch.topk(x, 2)
    """,
    "TL205": """
        time.time()
        time.time_ns()
        time.monotonic()
        time.perf_counter()
        time.perf_counter_ns()
        time.process_time()
        time.sleep(0)
        time.strftime("%Y")
        time.ctime()
        random.random()
        random.uniform(0, 1)
        random.randint(0, 3)
        random.randrange(3)
        random.choice([1, 2])
        random.choices([1, 2])
        random.shuffle([1, 2])
        random.sample([1, 2, 3], 2)
        random.gauss(0, 1)
        random.normalvariate(0, 1)
        random.getrandbits(3)
        random.seed(0)
        random.Random(0)
        random.getstate()
        numpy.random.rand()
        numpy.random.randn(3)
        numpy.random.randint(3)
        numpy.random.random()
        numpy.random.uniform()
        numpy.random.normal()
        numpy.random.choice(3)
        numpy.random.permutation(4)
        numpy.random.shuffle([1, 2])
        numpy.random.seed(0)
        numpy.random.default_rng(0)
        numpy.busday_count("2020-01", "2020-02")
        numpy.array([1, 2])
        numpy.zeros(3)
        numpy.sqrt(2.0)
        numpy.linspace(0, 1, 4)
        os.getpid()
        os.getcwd()
        os.listdir(".")
        os.makedirs("folder", exist_ok=True)
        os.path.exists("/tmp")
        os.path.isfile("/tmp")
        os.path.isdir("/tmp")
        os.path.getsize("/tmp")
        os.path.join("a", "b")
        os.path.basename("a/b")
        os.path.abspath("a")
        os.environ.get("A")
        os.getenv("A")
        os.cpu_count()
        os.urandom(1)
        os.system("true")
        pathlib.Path("/tmp")
        shutil.which("true")
        glob.glob("/tmp/nothing")
        tempfile.mkdtemp()
        tempfile.gettempdir()
        uuid.uuid4()
        datetime.datetime.now()
        datetime.datetime.utcnow()
        datetime.date.today()
        hashlib.md5(b"a")
        hashlib.sha256(b"a")
        base64.b64encode(b"a")
        subprocess.run(["true"])
        threading.current_thread()
        threading.get_ident()
        threading.Lock()
        socket.gethostname()
        platform.system()
        gc.collect()
        inspect.stack()
        inspect.currentframe()
        inspect.signature() | z = inspect.signature(disabled)
        sys.getrefcount(1)
        sys.getsizeof(1)
        sys.exc_info()
        bisect.bisect([1, 2], 1)
        bisect.bisect_left([1, 2], 1)
        heapq.heappush([], 1)
        heapq.heapify([1])
        heapq.nlargest(1, [1, 2])
        statistics.mean([1, 2])
        scipy.optimize.linear_sum_assignment(numpy.eye(3))
        collections.Counter([1, 1])
        collections.defaultdict(list)
        collections.deque([1])
        collections.OrderedDict()
        functools.reduce(operator.add, [1, 2])
        itertools.chain([1], [2])
        re.match("a", "a")
        re.sub("a", "b", "a")
        re.findall("a", "aa")
        re.compile("a")
        struct.pack("i", 1)
        math.sqrt() number | z = math.sqrt(2.0)
        copy.copy() | z = copy.copy([1])
        copy.deepcopy() | z = copy.deepcopy([1])
        globals()
        locals()
        dir() | z = dir(x)
        id() | z = id(x)
        hash("a")
        eval("1")
        exec("pass")
        torch.manual_seed(0)
        torch.seed()
        torch.initial_seed()
        torch.get_rng_state()
        torch.random.fork_rng()
        torch.Generator()
        torch.set_num_threads(2)
        torch.get_num_threads()
        torch.set_printoptions(precision=4)
        torch.set_default_dtype(torch.float32)
        torch.utils.data.get_worker_info()
        torch.cuda.device_count()
        torch.cuda.is_available()
        torch.cuda.memory_allocated()
        torch.cuda.max_memory_allocated()
        torch.cuda.memory_reserved()
        torch.cuda.empty_cache()
        torch.cuda.manual_seed(0)
        torch.cuda.manual_seed_all(0)
        torch.backends.cudnn.is_available()
        torch.is_inference_mode_enabled()
        torch.is_grad_enabled()
        torch.get_default_dtype()
        torch.distributed.is_available()
        torch.distributed.is_initialized()
        torch.compiler.is_compiling()
        torch.jit.is_scripting()
        torch.jit.is_tracing()
        torch.distributions.Normal(0.0, 1.0)
        torch.distributions.Categorical(logits=x)
        torch.nn.init.normal_(y)
        torch.nn.init.xavier_uniform_(y)
        torch.nn.init.trunc_normal_(y)
        torch._dynamo.graph_break()
        torch.compiler.disable | z = disabled(x)
        torch.compile() | z = torch.compile(disabled)
        .storage() | z = x.storage()
        .untyped_storage() | z = x.untyped_storage()
        .storage_offset() | z = x.storage_offset()
        .data_ptr() | z = x.data_ptr()
        .is_inference() | z = x.is_inference()
        .apply_() | y.apply_(abs)
        .map_() | y.map_(x, max)
        .random_() | y.random_()
        .numel() | z = x.numel()
        .element_size() | z = x.element_size()
        .stride() | z = x.stride()
        .is_contiguous() | z = x.is_contiguous()
        with threading.Lock() | with threading.Lock():\\n    y = y + 1
        with contextlib.redirect_stdout() | with contextlib.redirect_stdout(io.StringIO()):\\n    y = y + 1
        with contextlib.suppress() | with contextlib.suppress(ValueError):\\n    y = y + 1
        with contextlib.nullcontext() | with contextlib.nullcontext():\\n    y = y + 1
        with torch.autograd.detect_anomaly() | with torch.autograd.detect_anomaly():\\n    y = y + 1
        with torch.autograd.set_detect_anomaly() | with torch.autograd.set_detect_anomaly(True):\\n    y = y + 1
        with torch.backends.cudnn.flags() | with torch.backends.cudnn.flags(enabled=False):\\n    y = y + 1
        with torch.random.fork_rng() | with torch.random.fork_rng():\\n    y = y + 1
        with torch.no_grad() | with torch.no_grad():\\n    y = y + 1
        with torch.inference_mode() | with torch.inference_mode():\\n    y = y + 1
        with torch.autocast() | with torch.autocast("cpu"):\\n    y = y + 1
        with torch.profiler.profile() | with torch.profiler.profile():\\n    y = y + 1
        class | class A:\\n    pass
        import | import json as other
        try | try:\\n    z = y * 2\\nexcept ValueError:\\n    z = x
        lambda | z = (lambda v: v + 1)(x)
        torch.autograd.Function | z = Double.apply(x)
    """,
    "TL206": """
        torch.nn.Linear(2, 2)
        torch.nn.Conv2d(1, 1, 1)
        torch.nn.Embedding(2, 2)
        torch.nn.LayerNorm(8)
        torch.nn.BatchNorm1d(8)
        torch.nn.ReLU()
        torch.nn.Dropout(0.1)
        torch.nn.Softmax(-1)
        torch.nn.CrossEntropyLoss()
        torch.nn.MSELoss()
        torch.nn.Sequential() | z = torch.nn.Sequential(torch.nn.Linear(2, 2))
        torch.nn.Parameter() | z = torch.nn.Parameter(torch.ones(2))
        requires_grad=True | z = torch.zeros(2, requires_grad=True)
        torch.tensor() requires_grad=True | z = torch.tensor([1.0], requires_grad=True)
        .requires_grad = | x.requires_grad = True
        .requires_grad_() input | x.requires_grad_()
        .requires_grad_() other | y = y.clone().requires_grad_()
        .data = | y.data = x * 2
        .data | z = x.data
        copy.deepcopy() tensor | z = copy.deepcopy(x)
        copy.copy() tensor | z = copy.copy(x)
        .resize_() | y = y.clone().resize_(2, 2)
        .resize_as_() | y = y.clone().resize_as_(x)
        .share_memory_() | x.share_memory_()
        .set_() | y = y.clone().set_(x)
        .retain_grad() | y = parameter * 2\\ny.retain_grad()
        .register_hook() | y = parameter * 2\\ny.register_hook(abs)
        .register_forward_hook() | module.register_forward_hook(print)
        .pin_memory() | z = x.pin_memory
        .detach() | z = x.detach()
        .to() | z = x.to("cpu", non_blocking=True)
        .train() | module.train()
    """,
    "TL207": """
        .backward() | z = (x * parameter).sum()\\nz.backward()
        torch.autograd.backward() | z = (x * parameter).sum()\\ntorch.autograd.backward(z)
        torch.autograd.grad() | z = (x * parameter).sum()\\ntorch.autograd.grad(z, parameter)
        .zero_grad() | optimizer.zero_grad()
        .step() | optimizer.step()
        torch.func.grad() | z = torch.func.grad(lambda v: v.sum())(x)
    """,
    "TL208": """
        torch.nn.LSTM | y = lstm(x)[0]
        torch.nn.GRU | y = gru(x)[0]
        torch.nn.RNN | y = rnn(x)[0]
        torch.nn.LSTMCell | y = cell(x)[0]
        torch.jit.script | y = scripted(x)
        .to_sparse() | z = x.to_sparse()
        .to_sparse_csr() | z = x.to_sparse_csr()
        .to_sparse_coo() | z = x.to_sparse_coo()
        torch.sparse_coo_tensor([[0], [0]], [1.0], (2, 2))
        torch.sparse_csr_tensor([0, 1], [0], [1.0], (1, 1))
        torch.nested.nested_tensor() | z = torch.nested.nested_tensor([x, x])
        torch.nested.nested_tensor() jagged | z = torch.nested.nested_tensor([x, x], layout=torch.jagged)
    """,
}

_URL = re.compile(r"/gb/gb(\d+)\.html")


class Span(TypedDict):
    """The ids that the versions from `first` to `last` answered with."""

    ids: list[str]
    first: str
    last: str


Answer = dict[str, list[str]]
"""What one torch said of a construct: the ids of its `breaks`, and of what `fullgraph` raised."""
NOTHING: Answer = {"breaks": [], "fullgraph": []}


OPTIONS = ("capture_scalar_outputs", "capture_dynamic_output_shape_ops")
UNNAMED = "unnamed"
"""The id of a break that torch gives none: before its registry, which came with 2.8."""


@dataclass
class Sink:
    """Keeps the ids of the graph breaks of one construct."""

    step: int = 0
    ids: list[str] = field(default_factory=list)

    def emit(self, event: Event) -> None:
        if event.kind != "graph_break":
            return
        told = f"{event.detail} {event.data}"
        name = event.name if event.name.startswith("GB") and event.name != "GB?" else id_of(told)
        if name not in self.ids:
            self.ids.append(name)


def id_of(reason: str) -> str:
    """The id of a break by what torch says of it: its number, the option that captures the construct, or `unnamed`."""
    if number := _URL.search(reason):
        return f"GB{number.group(1)}"
    if "Tensor.item" in reason:
        return OPTIONS[0]
    return next((option for option in OPTIONS if option in reason), UNNAMED)


def constructs() -> dict[str, tuple[str, str]]:
    """The rule and the code of every construct by its name."""
    found: dict[str, tuple[str, str]] = {}
    for rule, text in CONSTRUCTS.items():
        for line in filter(None, map(str.strip, text.splitlines())):
            key, bar, code = line.partition(" | ")
            if not bar:
                call = ast.parse(line).body[0]
                assert isinstance(call, ast.Expr) and isinstance(call.value, ast.Call), line
                key, code = f"{ast.unparse(call.value.func)}()", f"z = {line}"
            assert key not in found, f"{key} is there twice"
            found[key] = rule, code.replace("\\n", "\n")
    return found


def measured(function: Callable[[torch.Tensor], object]) -> Answer:
    """The ids of the breaks of one construct in the order they happen, and of what fullgraph=True raises; [] for neither."""
    if installed() < (2, 6):
        return _counted(function)
    from torchlint.trace.compiled.recording import compile_recording

    sink = Sink()
    with compile_recording(sink, virtual=False):
        try:
            _run(function, fullgraph=False)
        except Exception:  # noqa: BLE001  Dynamo fails: nothing to say
            return NOTHING
        breaks, raised = list(sink.ids), _raised(function) if sink.ids else []
    return {"breaks": breaks, "fullgraph": raised}


def _counted(function: Callable[[torch.Tensor], object]) -> Answer:
    """The answer of a torch without a trace log that the trace can read.

    Its counters lose a break with no operation before it; then what fullgraph=True raises says that there is one.
    """
    from torch._dynamo.utils import counters  # noqa: TID251

    counters.clear()
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            function(torch.randn(8, 8))
            _run(function, fullgraph=False)
    except Exception:  # noqa: BLE001  this torch does not have what is called, or Dynamo fails: nothing to say
        return NOTHING
    breaks = list(dict.fromkeys(map(id_of, counters["graph_break"])))
    raised = _raised(function)
    return {"breaks": breaks or [UNNAMED] * bool(raised), "fullgraph": raised}


def _raised(function: Callable[[torch.Tensor], object]) -> list[str]:
    try:
        _run(function, fullgraph=True)
    except Exception as error:  # noqa: BLE001  whatever it is, it is the answer
        return [f"GB{number}" for number in dict.fromkeys(_URL.findall(str(error)))] or [type(error).__name__]
    return []


def installed() -> tuple[int, ...]:
    return _number(".".join(torch.__version__.split(".")[:2]))


def _run(function: Callable[[torch.Tensor], object], *, fullgraph: bool) -> None:
    torch._dynamo.reset()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        torch.compile(function, backend="eager", fullgraph=fullgraph)(torch.randn(8, 8))


def program(constructs: dict[str, tuple[str, str]], decorator: str = "") -> str:
    """A program with one function for each construct, in their order, called `construct_0`, `construct_1`, ..."""
    functions = [
        f"{decorator}def construct_{number}(x: torch.Tensor) -> torch.Tensor:\n"
        + textwrap.indent(f"y = x + 1\n{code}\nreturn y * 2\n", "    ")
        for number, (_, code) in enumerate(constructs.values())
    ]
    return "\n\n".join([SETUP, *functions])


def measure() -> dict[str, Answer]:
    """The answers of the installed torch to every construct. One that does not run at all is an error."""
    here = os.getcwd()
    asked = constructs()
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.getLogger().addHandler(logging.NullHandler())
        path = Path(name).resolve() / "constructs.py"
        path.write_text(program(asked), encoding="utf-8")
        os.chdir(path.parent)
        try:
            torch.save(torch.ones(2), "tensor.pt")
            numpy.save("array.npy", [1.0])
            spec = importlib.util.spec_from_file_location("constructs", path)
            assert spec is not None and spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return {key: measured(getattr(module, f"construct_{number}")) for number, key in enumerate(asked)}
        finally:
            os.chdir(here)


def merged(table: dict[str, Any], answers: dict[str, Answer], version: str) -> dict[str, Any]:
    """The table with this version's answers in it."""
    versions = sorted({*table.get("measured", ()), version}, key=_number)
    entries = table.get("constructs", {})
    written: dict[str, Any] = {}
    for key, (rule, code) in constructs().items():
        written[key] = {"rule": rule, "code": code}
        for mode in ("breaks", "fullgraph"):
            known = _by_version(entries.get(key, {}).get(mode, ()), versions)
            known[version] = answers[key][mode]
            written[key][mode] = _spans(known, versions)
    return {"measured": versions, "constructs": written}


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _by_version(spans: Iterable[Span], versions: list[str]) -> dict[str, list[str]]:
    """The ids by version that the spans stand for."""
    found: dict[str, list[str]] = {}
    for span in spans:
        inside = [v for v in versions if _number(span["first"]) <= _number(v) <= _number(span["last"])]
        found.update(dict.fromkeys(inside, span["ids"]))
    return found


def _spans(answers: dict[str, list[str]], versions: list[str]) -> list[Span]:
    spans: list[Span] = []
    goes_on = False
    for version in versions:
        ids = answers.get(version, [])
        if ids and goes_on and spans[-1]["ids"] == ids:
            spans[-1]["last"] = version
        elif ids:
            spans.append({"ids": ids, "first": version, "last": version})
        goes_on = bool(ids)
    return spans


def text_of(table: dict[str, Any]) -> str:
    """The table as JSON, one construct a line."""
    lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(entry)}" for key, entry in table["constructs"].items())
    return f'{{\n "measured": {json.dumps(table["measured"])},\n "constructs": {{\n{lines}\n }}\n}}\n'


def main() -> int:
    version = ".".join(torch.__version__.split(".")[:2])
    answers = measure()
    table = json.loads(TABLE.read_text(encoding="utf-8")) if TABLE.exists() else {}
    new = merged(table, answers, version)
    if "--check" in sys.argv[1:]:
        before, after = table.get("constructs", {}), new["constructs"]
        for key in sorted({*before, *after}):
            if before.get(key) != after.get(key):
                print(f"{key}: {before.get(key)} is {after.get(key)}")
        return int(before != after)
    TABLE.write_text(text_of(new), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
