"""Triton code for a GPU that isn't there: how many launches, for which lines, and the user's values untouched."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torchlint.messages.event import Event
from torchlint.trace.compiled import codegen, private, recording, triton_stub
from torchlint.trace.compiled.recording import compile_recording

VERSION = tuple(map(int, torch.__version__.split(".")[:2]))
pytestmark = [pytest.mark.torch, pytest.mark.skipif(VERSION < (2, 10), reason="no backward graphs before torch 2.10")]
counts_of_2_13 = pytest.mark.skipif(VERSION != (2, 13), reason="counts differ between torch versions")

MODELS = """\
import torch
import torch.nn.functional as F
from torch import nn


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 16), nn.Linear(16, 4)

    def forward(self, x):
        x = self.a(x)  # a matrix product
        x = F.gelu(x)  # one kernel
        return self.b(x)


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Linear(8, 4)

    def forward(self, x):
        x = F.relu(self.norm(self.conv(x)))
        return self.head(x.mean((2, 3)))


class Block(nn.Module):
    def __init__(self, width=32, heads=4):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))
"""


def line_of(text: str) -> int:
    return MODELS[: MODELS.index(text)].count("\n") + 1


@dataclass
class Sink:
    """Keeps events in memory."""

    step: int = 0
    active: bool = True
    events: list[Event] = field(default_factory=list)

    def emit(self, event: Event) -> None:
        self.events.append(event)

    def record(self, kind: Any, *, name: str = "", **_: Any) -> None:
        self.events.append(Event(kind, name=name, step=self.step))

    def count_operator(self, size: int, at: object) -> None:
        self.record("operator")

    def of(self, kind: str) -> list[Event]:
        return [event for event in self.events if event.kind == kind]


@dataclass
class Trained:
    """Two steps of a model, compiled under the recording, and the same two steps without."""

    sink: Sink
    losses: list[float]
    plain_losses: list[float]
    gradients: list[Any]
    plain_gradients: list[Any]
    kept: Path
    file: str

    def launches(self, name: str, *, backward: bool) -> tuple[int, int]:
        """Triton and extern launches of the model's graph."""
        [data] = {
            (event.data["triton"], event.data["extern"])
            for event in self.sink.of("graph")
            if event.data and event.data["backward"] is backward and event.file == self.file
            if Path(str(event.data["source"])).parent.name == name
        }
        return data  # type: ignore[return-value]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """MODELS as an imported module."""
    path = tmp_path_factory.mktemp("models") / "models_for_codegen.py"
    path.write_text(MODELS, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(path.parent)
        yield importlib.import_module(path.stem)
        patch.delitem(sys.modules, path.stem)


def train(model: Any, call: Callable[[Any], Any], x: Any, sink: Sink | None = None) -> tuple[list[float], list[Any]]:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(2):
        optimizer.zero_grad()
        loss = call(x).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if sink is not None:
            sink.step += 1
    return losses, [parameter.grad.clone() for parameter in model.parameters()]


@pytest.fixture(scope="module")
def trained(models: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Trained]]:
    """The three models, each trained for two steps."""
    inputs = {"MLP": (4, 8), "CNN": (2, 3, 16, 16), "Block": (2, 8, 32)}
    results = {}
    for name, shape in inputs.items():
        torch.manual_seed(0)
        x, model, twin = torch.randn(shape), getattr(models, name)(), getattr(models, name)()
        twin.load_state_dict(model.state_dict())
        kept, sink = tmp_path_factory.mktemp("kept") / name, Sink()
        with compile_recording(sink, keep=kept, virtual=False):
            losses, gradients = train(model, torch.compile(model), x, sink)
        plain_losses, plain_gradients = train(twin, twin, x)
        file = str(Path(str(models.__file__)).resolve())
        results[name] = Trained(sink, losses, plain_losses, gradients, plain_gradients, kept, file)
    yield results


NAMES = ["MLP", "CNN", "Block"]


# --- the user's run ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_values_are_those_of_the_plain_run(name: str, trained: dict[str, Trained]) -> None:
    found = trained[name]

    assert found.losses == found.plain_losses
    assert all(map(torch.equal, found.gradients, found.plain_gradients))


@pytest.mark.parametrize("name", NAMES)
def test_nothing_fails_or_breaks(name: str, trained: dict[str, Trained]) -> None:
    assert {event.kind for event in trained[name].sink.events} == {"graph", "kernel"}


def test_the_program_sees_no_triton_where_there_is_none() -> None:
    if importlib.util.find_spec("triton") is not None:
        pytest.skip("triton is installed")
    seen = []

    def f(x: Any) -> Any:
        return x * 2

    with compile_recording(Sink(), virtual=False):
        torch.compile(f)(torch.ones(2))
        seen.append(importlib.util.find_spec("triton"))

    assert seen == [None]


# --- counts ------------------------------------------------------------------------------------------------------


@counts_of_2_13
@pytest.mark.parametrize(
    ("name", "forward", "backward"),
    [("MLP", (1, 2), (3, 3)), ("CNN", (3, 2), (2, 3)), ("Block", (4, 5), (8, 9))],
)
def test_launches(name: str, forward: tuple[int, int], backward: tuple[int, int], trained: dict[str, Trained]) -> None:
    found = trained[name]

    assert (found.launches(name, backward=False), found.launches(name, backward=True)) == (forward, backward)


@pytest.mark.parametrize("name", NAMES)
def test_kernels_of_a_graph_add_up_to_its_launches(name: str, trained: dict[str, Trained]) -> None:
    sink = trained[name].sink
    for graph in sink.of("graph"):
        assert graph.data is not None
        kernels = [event for event in sink.of("kernel") if event.data and event.data["graph"] == graph.name]
        extern = sum(event.count for event in kernels if event.data and event.data["extern"])

        assert kernels
        assert sum(event.count for event in kernels) - extern == graph.data["triton"]
        assert extern == graph.data["extern"]


@pytest.mark.parametrize("name", NAMES)
def test_each_direction_runs_once_a_step(name: str, trained: dict[str, Trained]) -> None:
    graphs = [
        (event.step, event.count, event.data["backward"]) for event in trained[name].sink.of("graph") if event.data
    ]

    assert graphs == [(0, 1, False), (0, 1, True), (1, 1, False), (1, 1, True)]


def test_evaluation_has_no_backward_graph(models: ModuleType) -> None:
    sink = Sink()
    with compile_recording(sink, virtual=False), torch.no_grad():
        model = torch.compile(models.MLP())
        for _ in range(3):
            model(torch.ones(4, 8))

    assert [(event.name, event.count) for event in sink.of("graph")] == [("0/0", 1), ("0/0", 2)]


# --- lines -------------------------------------------------------------------------------------------------------


def test_kernels_point_at_the_lines_they_serve(trained: dict[str, Trained]) -> None:
    found = trained["MLP"]
    product, gelu = line_of("x = self.a(x)"), line_of("x = F.gelu(x)")
    [fused] = [
        event
        for event in found.sink.of("kernel")
        if event.data and event.data["graph"] == "0/0" and not event.data["extern"]
    ]

    assert fused.data is not None
    assert (fused.file, fused.line, fused.function) == (found.file, gelu, "forward")
    assert fused.data["lines"] == [f"{found.file}:{gelu}"]
    [matrix_products] = [event for event in found.sink.of("kernel") if event.name == "extern_kernels.addmm"]
    assert matrix_products.data is not None
    assert (matrix_products.line, matrix_products.count) == (product, 2)
    assert matrix_products.data["lines"] == [f"{found.file}:{product}", f"{found.file}:{gelu + 1}"]


@pytest.mark.parametrize("name", NAMES)
def test_a_graph_is_at_its_function(name: str, trained: dict[str, Trained]) -> None:
    found = trained[name]
    model = MODELS[MODELS.index(f"class {name}(") :]
    forward = line_of(f"class {name}(") + model[: model.index("def forward")].count("\n")

    assert {(event.file, event.line, event.function) for event in found.sink.of("graph")} == {
        (found.file, forward, "forward")
    }


# --- the code ----------------------------------------------------------------------------------------------------


def test_the_code_is_kept(trained: dict[str, Trained]) -> None:
    found = trained["MLP"]
    names = sorted(path.name for path in found.kept.iterdir())

    assert names == ["forward_0_0.py", "forward_0_0_backward.py"]
    source = (found.kept / names[0]).read_text()
    assert "cc=90" in source and "multi_processor_count=132" in source
    assert len(re.findall(r"async_compile\.triton\(", source)) == 1
    compile(source, names[0], "exec")


def test_the_code_is_for_the_target(models: ModuleType, tmp_path: Path) -> None:
    with compile_recording(Sink(), target="sm_80", keep=tmp_path / "code", virtual=False), torch.no_grad():
        torch.compile(models.MLP())(torch.ones(4, 8))

    [source] = (tmp_path / "code").iterdir()
    assert "cc=80" in source.read_text() and "multi_processor_count=108" in source.read_text()


def test_an_unknown_target_is_refused() -> None:
    with (
        pytest.raises(ValueError, match=r"unknown target 'sm_42': choose from sm_70, sm_75, sm_80"),
        compile_recording(Sink(), target="sm_42", virtual=False),
    ):
        raise AssertionError("unreachable")


def test_what_has_no_code_is_told_and_runs_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> None:
        raise NotImplementedError("no such operator\nand more")

    monkeypatch.setattr(private, "lower", fail)
    sink = Sink()

    def f(x: Any) -> Any:
        return x * 2

    with compile_recording(sink, virtual=False):
        result = torch.compile(f)(torch.ones(2))

    [event] = sink.of("unsupported")
    assert (event.name, event.detail) == ("Triton code generation", "NotImplementedError: no such operator")
    assert torch.equal(result, torch.full((2,), 2.0))
    [graph] = sink.of("graph")
    assert graph.data is not None and "triton" not in graph.data


def test_shapes_that_change_get_code_of_their_own() -> None:
    sink = Sink()

    def f(x: Any) -> Any:
        return (x * x.shape[0]).sum(-1)

    with compile_recording(sink, virtual=False):
        compiled = torch.compile(f)
        for size in 4, 6, 9:
            compiled(torch.ones(size, 3))

    assert [(event.name, event.count) for event in sink.of("graph")] == [("0/0", 1), ("0/1", 1), ("0/1", 1)]
    assert sink.of("unsupported") == []


# --- how torch.compile is asked ----------------------------------------------------------------------------------


def forms(model: Any) -> dict[str, Callable[[], Callable[[Any], Any]]]:
    def decorated() -> Callable[[Any], Any]:
        @torch.compile  # type: ignore[untyped-decorator]
        def call(x: Any) -> Any:
            return model(x)

        return call  # type: ignore[no-any-return]

    def decorated_with_options() -> Callable[[Any], Any]:
        @torch.compile(dynamic=False, mode="reduce-overhead")  # type: ignore[untyped-decorator]
        def call(x: Any) -> Any:
            return model(x)

        return call  # type: ignore[no-any-return]

    def in_place() -> Callable[[Any], Any]:
        model.compile()
        return model  # type: ignore[no-any-return]

    return {
        "function": lambda: torch.compile(lambda x: model(x)),
        "module": lambda: torch.compile(model),
        "module.compile()": in_place,
        "decorator": decorated,
        "decorator with options": decorated_with_options,
        "fullgraph": lambda: torch.compile(model, fullgraph=True),
        "max-autotune": lambda: torch.compile(model, mode="max-autotune"),
        "options": lambda: torch.compile(model, options={"epilogue_fusion": True}),
        "twice": lambda: torch.compile(torch.compile(model)),
    }


@pytest.mark.parametrize("form", forms(None))
def test_every_form_is_compiled_once_and_works(form: str, models: ModuleType) -> None:
    model, x, sink = models.MLP(), torch.ones(4, 8), Sink()
    expected = model(x)
    with compile_recording(sink, virtual=False), torch.no_grad():
        actual = forms(model)[form]()(x)

    assert torch.equal(expected, actual)
    assert [(event.name, event.data["triton"]) for event in sink.of("graph") if event.data] == [("0/0", 1)]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_another_backend_runs_as_it_is(backend: str, models: ModuleType) -> None:
    model, x, sink = models.MLP(), torch.ones(4, 8), Sink()
    expected = model(x)
    with compile_recording(sink, virtual=False), torch.no_grad():
        actual = torch.compile(model, backend=backend)(x)

    assert torch.equal(expected, actual)
    [graph] = sink.events
    assert graph.data == {"ops": 3, "backward": False, "backend": backend}


def test_a_backend_of_the_users_own_is_called() -> None:
    called, sink = [], Sink()

    def backend(graph: Any, inputs: Any) -> Any:
        called.append(len(inputs))
        return graph.forward

    def f(x: Any) -> Any:
        return x + 1

    with compile_recording(sink, virtual=False):
        torch.compile(f, backend=backend)(torch.ones(2))

    assert called == [1]


def test_bad_arguments_fail_as_they_do_without_a_trace() -> None:
    with compile_recording(Sink(), virtual=False):
        with pytest.raises(RuntimeError, match="Either mode or options"):
            torch.compile(torch.relu, mode="default", options={"epilogue_fusion": True})
        with pytest.raises(RuntimeError, match="Unexpected optimization option"):
            torch.compile(torch.relu, options={"no_such_option": True})


# --- what if -----------------------------------------------------------------------------------------------------


def test_whatif_compiles_the_model_after_the_first_step(models: ModuleType) -> None:
    model, sink = models.MLP(), Sink()
    with compile_recording(sink, whatif=True, virtual=False):
        train(model, model, torch.ones(4, 8), sink)

    assert [(event.step, event.data["backward"]) for event in sink.of("graph") if event.data] == [(1, False), (1, True)]


def test_whatif_compiles_a_layer_of_torch_itself() -> None:
    sink = Sink()
    layer = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
    optimizer = torch.optim.SGD(layer.parameters())
    with compile_recording(sink, whatif=True, virtual=False):
        for sink.step in range(3):
            layer(torch.ones(4, 8)).sum().backward()
            optimizer.step()

    assert [1, 2] == [event.step for event in sink.of("graph") if event.name == "0/0"]


def test_whatif_with_compiled_code_in_a_hook_of_the_users() -> None:
    sink = Sink()
    layer = torch.nn.Sequential(torch.nn.Linear(8, 8))
    scaled = torch.compile(lambda x: x * 2)

    def hook(module: object, inputs: object, outputs: Any) -> Any:
        return scaled(outputs)

    handle = torch.nn.modules.module.register_module_forward_hook(hook, always_call=True)
    try:
        with compile_recording(sink, whatif=True, virtual=False):
            for sink.step in range(3):
                layer(torch.ones(4, 8)).sum().backward()
    finally:
        handle.remove()

    assert 0 in {event.step for event in sink.of("graph")}  # and torch's loop over its hooks went on


def test_whatif_leaves_a_compiled_model_alone(models: ModuleType) -> None:
    model, sink = models.MLP(), Sink()
    with compile_recording(sink, whatif=True, virtual=False):
        train(model, torch.compile(model), torch.ones(4, 8), sink)

    assert {event.name for event in sink.of("graph")} == {"0/0", "0/0 backward"}


def test_without_whatif_nothing_is_compiled(models: ModuleType) -> None:
    model, sink = models.MLP(), Sink()
    with compile_recording(sink, virtual=False):
        train(model, model, torch.ones(4, 8), sink)

    assert sink.events == []


# --- a real GPU --------------------------------------------------------------------------------------------------


def test_on_a_gpu_the_code_is_inductors_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inductor for the CPU stands in for the one for CUDA: a matrix product needs no compiler."""
    monkeypatch.setattr(recording, "on_gpu", lambda inputs: True)
    sink, weight = Sink(), torch.ones(3, 3, requires_grad=True)

    def f(x: Any) -> Any:
        return x @ weight

    with compile_recording(sink, virtual=False):
        result = torch.compile(f)(torch.ones(2, 3))
        result.sum().backward()

    assert torch.equal(result, torch.full((2, 3), 3.0))
    assert torch.equal(weight.grad, torch.full((3, 3), 2.0))
    assert [(event.name, event.count) for event in sink.of("graph")] == [("0/0", 1), ("0/0 backward", 1)]
    assert [(event.name, event.count) for event in sink.of("kernel")] == [("extern_kernels.mm", 1)] * 2


@pytest.mark.skipif(not torch.cuda.is_available(), reason="compares with a real GPU")
@pytest.mark.parametrize("name", NAMES)
def test_predicted_launches_are_those_of_the_gpu(name: str, models: ModuleType) -> None:
    """Never run where this was written, for want of a GPU; differences belong into docs/doctor.md."""
    x = torch.randn({"MLP": (4, 8), "CNN": (2, 3, 16, 16), "Block": (2, 8, 32)}[name])
    major, minor = torch.cuda.get_device_capability()
    launches = {}
    for device in "cuda", "cpu":
        model, sink = getattr(models, name)().to(device), Sink()
        with compile_recording(sink, target=f"sm_{major}{minor}", virtual=False):
            train(model, torch.compile(model), x.to(device))
        launches[device] = [
            (event.name, event.data["triton"], event.data["extern"]) for event in sink.of("graph") if event.data
        ]

    assert launches["cuda"] == launches["cpu"]


# --- on the virtual GPU ------------------------------------------------------------------------------------------


@contextmanager
def virtual_recording(sink: Sink, **options: Any) -> Iterator[None]:
    from torchlint.trace.eager.virtual import virtual_gpu

    private.import_inductor()  # as a traced run does, before there is a GPU
    with virtual_gpu(sink), compile_recording(sink, **options):
        yield


def test_compiled_code_can_wait_for_the_virtual_gpu() -> None:
    def waits(x: Any) -> Any:
        y = x * 2
        torch.cuda.synchronize()
        return y + 1

    sink = Sink()
    with virtual_recording(sink):
        found = [torch.compile(waits)(torch.ones(2, device="cuda")).tolist() for _ in range(2)]

    assert [[3.0, 3.0]] * 2 == found
    assert len(sink.of("synchronize")) >= 2  # Dynamo may ask itself while it compiles


def test_compiled_code_can_choose_a_stream() -> None:
    def chooses(x: Any) -> Any:
        with torch.cuda.stream(stream):
            y = x * 2
        stream.wait_stream(torch.cuda.current_stream())
        return y + 1

    def makes(x: Any) -> Any:
        other = torch.cuda.Stream()
        with torch.cuda.stream(other):
            y = x * 2
        torch.cuda.current_stream().wait_stream(other)
        return y + 1

    sink = Sink()
    with virtual_recording(sink):
        stream = torch.cuda.Stream()
        found = [
            torch.compile(one)(torch.ones(2, device="cuda")).tolist() for one in (chooses, makes) for _ in range(2)
        ]
        assert torch.cuda.current_stream() == torch.cuda.default_stream()

    assert [[3.0, 3.0]] * 4 == found
    assert (sink.of("graph_break"), sink.of("recompile"), sink.of("unsupported")) == ([], [], [])
    kernels = [(event.data["graph"], event.data["extern"]) for event in sink.of("kernel") if event.data]
    assert sorted(kernels) == [("0/0", False), ("0/0", False), ("1/0", False), ("1/0", False)]  # streams are not fused


def test_training_on_the_virtual_gpu_has_the_values_and_kernels_of_the_cpu(
    models: ModuleType, trained: dict[str, Trained]
) -> None:
    torch.manual_seed(0)
    x, model, sink = torch.randn(2, 8, 32), models.Block(), Sink()
    with virtual_recording(sink):
        model.to("cuda")
        losses, _ = train(model, torch.compile(model), x.to("cuda"), sink)
        assert all(parameter.grad.is_cuda for parameter in model.parameters())

    assert losses == trained["Block"].plain_losses
    assert sink.of("graph_break") == sink.of("unsupported") == []
    counts = [(event.name, event.data["triton"], event.data["extern"]) for event in sink.of("graph") if event.data]
    assert counts == [
        (event.name, event.data["triton"], event.data["extern"])
        for event in trained["Block"].sink.of("graph")
        if event.data
    ]


def test_compiled_code_may_name_cuda() -> None:
    sink = Sink()

    def f(x: Any) -> Any:
        y = (
            x.to("cuda")
            + torch.ones(2, device="cuda")
            + torch.zeros(2).cuda()
            + torch.tensor([1.0, 2.0], device=x.device)
        )
        assert x.is_cuda and x.device.type == "cuda" and x.get_device() == 0 and torch.cuda.is_available()
        return y * torch.cuda.device_count(), y.device

    with virtual_recording(sink):
        result, device = torch.compile(f, backend="eager")(torch.zeros(2, device="cuda"))
        assert (result.device, device) == (torch.device("cuda", 0), torch.device("cuda", 0))
        assert result.tolist() == [2.0, 3.0]

    assert sink.of("graph_break") == []


def test_what_compiled_code_puts_on_the_host_stays_there() -> None:
    def f(x: Any) -> Any:
        y = x * 2
        return y, y.cpu(), y.sum().to("cpu") + 1

    with virtual_recording(Sink()):
        device, host, scalar = torch.compile(f, backend="eager")(torch.ones(2, device="cuda"))
        assert [value.device.type for value in (device, host, scalar)] == ["cuda", "cpu", "cpu"]
        assert host.numpy().tolist() == [2.0, 2.0]


def test_the_eager_parts_of_a_compiled_function_may_name_cuda() -> None:
    sink = Sink()

    def f(x: Any) -> Any:
        for _ in range(2):
            print(end="")  # skips the frame
            x = x + torch.ones(2, device="cuda") + torch.tensor([1.0, 1.0], device="cuda") + torch.zeros(2).cuda()
            x = x + torch.ones(2).pin_memory().to("cuda", non_blocking=True)
            assert x.device.type == "cuda"
        return x

    weight = torch.ones(2, requires_grad=True)
    with virtual_recording(sink):
        on_gpu = weight.to("cuda")
        result = torch.compile(f, backend="eager")(on_gpu)
        assert result.is_cuda
        result.sum().backward()

    assert result.tolist() == [7.0, 7.0]
    assert weight.grad is not None and weight.grad.tolist() == [1.0, 1.0]
    assert [event.data["frame_skipped"] for event in sink.of("graph_break") if event.data] == [True]


def test_dynamo_leaves_the_virtual_gpu_alone() -> None:
    sink = Sink()

    def f(x: Any) -> Any:
        for _ in range(2):
            print(end="")  # skips the frame
            x = torch.nn.functional.relu(x.to("cuda") + 1)
            torch.cuda.synchronize()
        return x

    with virtual_recording(sink):
        torch.compile(f)(torch.ones(2, device="cuda"))
        layer = torch.nn.Linear(2, 2).to("cuda")
        layer.compile()
        layer(torch.ones(2, device="cuda"))

    assert {(event.file, event.function) for event in sink.of("graph")} <= {
        (__file__, "test_dynamo_leaves_the_virtual_gpu_alone")
    }


def test_what_acts_on_the_device_acts_when_the_graph_runs() -> None:
    sink = Sink()

    def f(x: Any) -> Any:
        y = x * 2
        torch.cuda.synchronize()
        return y + 1

    with virtual_recording(sink):
        compiled_f = torch.compile(f, backend="eager")
        for sink.step in range(3):
            compiled_f(torch.ones(2, device="cuda"))

    assert [event.step for event in sink.of("synchronize") if event.step] == [1, 2]
    assert sink.of("graph_break") == []


def test_dynamo_can_be_reset_on_the_virtual_gpu() -> None:
    with virtual_recording(Sink()):
        torch._dynamo.reset()
        torch.compiler.reset()


# --- reading the wrapper -----------------------------------------------------------------------------------------


def test_launches_are_read_from_the_wrapper(tmp_path: Path) -> None:
    source = """\
triton_poi_fused_add_0 = async_compile.triton('triton_poi_fused_add_0', '''
def triton_(x):
    inner.run(x)
''')
class Runner:
    def call(self, args):
        # [Provenance debug handles] triton_poi_fused_add_0:1
        triton_poi_fused_add_0.run(a, b, 64, stream=stream0)
        # [Provenance debug handles] extern_kernels.mm:2
        extern_kernels.mm(a, b, out=c)
        buf1 = torch.ops.aten.convolution_backward.default(a, b)
        # [Provenance debug handles] triton_poi_fused_add_0:3
        triton_poi_fused_add_0.run(a, b, 64, stream=stream0)
        buf2 = empty_strided_cuda((1,), (1,), torch.float32)
        assert_size_stride(buf2, (1,), (1,))
        return (buf2,)
"""
    file = tmp_path / "model.py"
    stacks = {
        "triton_poi_fused_add_0:1": [f'File "{file}", line 9, in forward\n    x + y'],
        "triton_poi_fused_add_0:3": [
            f'File "{file}", line 4, in forward\n    y',
            f'File "{torch.__file__}", line 1, in g',
        ],
    }

    kernels = codegen.read_kernels(source, stacks)

    assert [(kernel.name, kernel.launches, kernel.extern) for kernel in kernels] == [
        ("triton_poi_fused_add_0", 2, False),
        ("extern_kernels.mm", 1, True),
        ("torch.ops.aten.convolution_backward.default", 1, True),
    ]
    assert [[frame.line for frame in kernel.lines] for kernel in kernels] == [[4, 9], [], []]


def test_a_wrapper_without_launches_has_no_kernels() -> None:
    assert codegen.read_kernels("def call(args):\n    return args\n", {}) == ()


# --- no triton ---------------------------------------------------------------------------------------------------


def test_the_stub_is_seen_only_inside_its_block() -> None:
    if not triton_stub.needed():
        pytest.skip("triton is installed")
    with triton_stub.visible():
        import triton
        import triton.language as tl

        @triton.jit  # type: ignore[untyped-decorator]
        def kernel(pointer: Any) -> None:
            raise AssertionError("never called")

        assert callable(kernel)
        assert issubclass(triton.OutOfResources, Exception)
        assert repr(tl.zeros) == "<no triton: zeros>"

    with pytest.raises(ImportError):
        importlib.import_module("triton")
