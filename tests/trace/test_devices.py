"""Several virtual GPUs: where tensors are, copies between devices, DataParallel and models that are split by hand.

A comment says which events its line causes, as `kind name`; a line without one causes none.
"""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

torch = pytest.importorskip("torch")

from tests.trace.programs import Traced

pytestmark = pytest.mark.torch

Run = Callable[..., Traced]


# --- lines that cause nothing -------------------------------------------------------------------------------------


def test_what_is_on_a_device_stays_there(traced: Run) -> None:
    program = traced(
        """
        import copy, torch
        from torch import nn
        from torch.nn import functional as F
        x = torch.randn(6, 4, device="cuda:1")
        x.to("cuda:1"), x.cuda(1), x.to(x.device), x.to(torch.device("cuda", 1)), x.half(), x.to("cuda:1", torch.half)
        with torch.cuda.device(1):
            y = torch.ones(6, 4, device="cuda")
            x.cuda(), x.to("cuda"), x.type("torch.cuda.HalfTensor")
        followers = [x + y, x.view(-1), x[0], x.t(), copy.deepcopy(x), x.clone(), torch.zeros_like(x), x.new_zeros(2)]
        followers += [x[torch.arange(3, device="cuda:1")], torch.cat([x, y]), x.softmax(0), x.detach(), x.data, F.one_hot(torch.arange(3, device="cuda:1"), 3)]
        followers += [*torch._foreach_add([x, y], [y, x]), torch.as_tensor(x), x.float(), x.masked_fill(x > 0, 0.0)]
        where = {(each.device, each.get_device(), each.is_cuda) for each in followers}
        model = nn.Linear(4, 2).to("cuda:1")  # h2d to x2
        for options in ({}, {"foreach": True}, {"fused": True}):
            optimizer = torch.optim.AdamW(model.parameters(), **options)
            loss = F.cross_entropy(model(x), torch.zeros(6, dtype=torch.long, device="cuda:1"))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        gradients = {p.grad.device for p in model.parameters()}
        """,
        gpus=2,
    )
    assert program.lines() == program.expected()
    assert program.names["where"] == {(torch.device("cuda", 1), 1, True)}
    assert program.names["gradients"] == {torch.device("cuda", 1)}


# --- copies -------------------------------------------------------------------------------------------------------


def test_copies_between_devices_are_counted_and_no_wait(traced: Run) -> None:
    program = traced(
        """
        import torch
        host = torch.ones(6, 4)
        a = host.to("cuda:0")  # h2d to
        b = host.cuda(1)  # h2d cuda
        c = a.to("cuda:1")  # p2p to
        d = b.cuda(0)  # p2p cuda
        e = a.to(b)  # p2p to
        b.copy_(a)  # p2p copy_
        b[0] = a[0]  # p2p setitem
        f = torch.zeros(6, 4, device="cuda:1").copy_(a, non_blocking=True)  # p2p copy_
        torch.tensor([1.0], device="cuda:1")  # h2d tensor
        torch.as_tensor(a, device="cuda:1")  # p2p as_tensor
        b.cpu()  # d2h cpu, sync copy
        b.sum().item()  # sync item
        a.requires_grad_().to("cuda:1").sum().backward()  # p2p to x2
        home = a.grad.device
        """,
        gpus=2,
    )
    assert program.lines() == program.expected()
    details = {event.detail for event in program.events if event.kind == "p2p"}
    sizes = [event.size for event in program.events if event.kind == "p2p"]

    assert program.names["home"] == torch.device("cuda", 0)
    assert details == {"cuda:0 to cuda:1", "cuda:1 to cuda:0"}
    assert sizes == [96, 96, 96, 96, 16, 96, 96, 96, 96]


def test_a_model_that_moves_says_so(traced: Run) -> None:
    program = traced(
        """
        import torch
        model = torch.nn.Linear(4, 2).to("cuda:0")  # h2d to x2
        model.to("cuda:1")  # p2p to x2
        """,
        gpus=2,
    )
    assert program.lines() == program.expected()
    assert all((event.data or {})["module"] for event in program.events)


# --- programs for two devices -------------------------------------------------------------------------------------

TRAINING = """
    import torch
    from torch import nn
    from torch.nn import functional as F
    torch.manual_seed(0)
    GPUS = torch.cuda.device_count()
    device = "cuda" if GPUS else "cpu"
    {model}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses, places = [], []
    for step in range(4):
        x, y = torch.randn(7, 16), torch.randint(0, 4, (7,))
        output = model(x.to(device))
        loss = F.cross_entropy(output, y.to(output.device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        places.append((str(output.device), *(str(p.grad.device) for p in model.parameters())))
"""
PARALLEL = TRAINING.format(
    model="""model = nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1d(32).eval(), nn.ReLU(), nn.Linear(32, 4)).to(device)
    if GPUS: model = nn.DataParallel(model)"""
)
SPLIT = TRAINING.format(
    model="""class Split(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(16, 32), nn.Linear(32, 4)
            if GPUS: self.first, self.second = self.first.to("cuda:0"), self.second.to("cuda:1")
        def forward(self, x):
            x = F.relu(self.first(x))
            return self.second(x.to("cuda:1") if GPUS else x)
    model = Split()"""
)


def plain_losses(source: str, tmp_path: Path) -> list[float]:
    """Those of a run without any GPU."""
    script = tmp_path / "plain.py"
    script.write_text(dedent(source), "utf-8")
    losses: list[float] = runpy.run_path(str(script))["losses"]
    return losses


def test_data_parallel_over_two_devices(traced: Run, tmp_path: Path) -> None:
    program = traced(PARALLEL, gpus=2)
    peers = [(event.name, event.detail, event.via.partition(":")[0]) for event in program.events if event.kind == "p2p"]

    assert program.names["losses"] == pytest.approx(plain_losses(PARALLEL, tmp_path), abs=1e-6)
    assert program.names["places"] == [("cuda:0",) * 7] * 4
    assert {("copy_", "cuda:0 to cuda:1"), ("to", "cuda:1 to cuda:0"), ("to", "cuda:0 to cuda:1")} <= {
        peer[:2] for peer in peers
    }
    assert all(via.startswith("torch/nn/parallel/") for _, _, via in peers)
    assert all(event.line for event in program.events), "what a thread of torch's does is of the line that started it"


def test_data_parallel_is_the_same_on_three_devices_and_on_one(traced: Run) -> None:
    one, three = traced(PARALLEL).names["losses"], traced(PARALLEL, gpus=3).names["losses"]
    assert one == pytest.approx(three, abs=1e-6)


def test_a_model_split_over_two_devices(traced: Run, tmp_path: Path) -> None:
    program = traced(SPLIT, gpus=2)
    peers = [(event.name, event.detail, event.line) for event in program.events if event.kind == "p2p"]
    lines = [text.strip().partition("(")[0] for text in program.source.splitlines()]

    assert program.names["losses"] == plain_losses(SPLIT, tmp_path)
    assert program.names["places"] == [("cuda:1", "cuda:0", "cuda:0", "cuda:1", "cuda:1")] * 4
    assert {
        ("to", "cuda:0 to cuda:1", lines.index("return self.second") + 1),
        ("to", "cuda:1 to cuda:0", lines.index("loss.backward") + 1),
    } == set(peers)


def test_communication_of_torch(traced: Run) -> None:
    names = traced(
        """
        import torch
        from torch.cuda import comm
        from torch.nn.parallel import replicate, gather, scatter
        x = torch.arange(6.0, device="cuda:0")
        def places(tensors): return [(str(each.device), each.tolist()) for each in tensors]
        broadcast = places(comm.broadcast(x, [0, 1]))
        out = places(comm.broadcast(x, out=[torch.zeros(6, device="cuda:1")]))
        coalesced = [places(each) for each in comm.broadcast_coalesced([x, x + 1], [0, 1])]
        parts = comm.scatter(x, ["cuda:0", "cuda:1"], chunk_sizes=[2, 4])
        added = places([comm.reduce_add([x, x.to("cuda:1")], destination=1)])
        many = places(comm.reduce_add_coalesced([[x, x], [x.cuda(1), x.cuda(1)]]))
        scattered, gathered = places(parts), places([comm.gather(parts), comm.gather(parts, destination="cpu")])
        replicas = [str(each.weight.device) for each in replicate(torch.nn.Linear(2, 2).cuda(), [0, 1])]
        """,
        gpus=2,
    ).names
    count = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    more, twice = [each + 1 for each in count], [2 * each for each in count]

    assert names["broadcast"] == [("cuda:0", count), ("cuda:1", count)]
    assert names["out"] == [("cuda:1", count)]
    assert names["coalesced"] == [
        [("cuda:0", count), ("cuda:0", more)],
        [("cuda:1", count), ("cuda:1", more)],
    ]
    assert names["scattered"] == [("cuda:0", count[:2]), ("cuda:1", count[2:])]
    assert names["gathered"] == [("cuda:0", count), ("cpu", count)]
    assert names["added"] == [("cuda:1", twice)]
    assert names["many"] == [("cuda:0", twice)] * 2
    assert names["replicas"] == ["cuda:0", "cuda:1"]


# --- which device is the current one ------------------------------------------------------------------------------


def test_the_current_device(traced: Run) -> None:
    names = traced(
        """
        import threading, torch
        found = []
        def note(): found.append((torch.cuda.current_device(), torch.zeros(1, device="cuda").get_device(), torch.zeros(1).cuda().get_device()))
        note()
        with torch.cuda.device(1):
            note()
            with torch.cuda.device("cuda:0"): note()
            with torch.cuda.device(-1): note()
            thread = threading.Thread(target=note)
            thread.start()
            thread.join()
        with torch.cuda.device_of(torch.zeros(1, device="cuda:1")): note()
        with torch.accelerator.device_index(1): note()
        with torch.accelerator.device_index(None): note()
        stream = torch.cuda.Stream(device=1)
        with torch.cuda.stream(stream):
            note()
            streams = torch.cuda.current_stream() == stream, torch.cuda.current_stream(0) == torch.cuda.default_stream(0)
        after = torch.cuda.current_stream(1) == torch.cuda.default_stream(1)
        with torch.device("cuda:1"): there = torch.ones(1).get_device()
        generator = torch.Generator("cuda:1").device.index, [each.device.index for each in torch.cuda.default_generators]
        torch.cuda.set_device(1)
        note()
        torch.accelerator.set_device_index(0)
        note()
        """,
        gpus=2,
    ).names
    assert names["found"] == [(index,) * 3 for index in (0, 1, 0, 1, 0, 1, 1, 0, 1, 1, 0)]
    assert (names["streams"], names["after"]) == ((True, True), True)
    assert (names["there"], names["generator"]) == (1, (1, [0, 1]))


def test_what_is_told_of_two_devices(traced: Run) -> None:
    names = traced(
        """
        import torch
        count = torch.cuda.device_count(), torch.accelerator.device_count()
        names = {torch.cuda.get_device_name(index) for index in range(2)}
        peers = torch.cuda.can_device_access_peer(0, 1), torch.cuda.can_device_access_peer(1, 1)
        states = len(torch.cuda.get_rng_state_all())
        """,
        gpus=2,
    ).names
    assert (names["count"], names["names"]) == ((2, 2), {"NVIDIA H100 80GB HBM3"})
    assert (names["peers"], names["states"]) == ((True, False), 2)


def test_memory_is_counted_for_each_device(traced: Run) -> None:
    names = traced(
        """
        import torch
        def held(): return [torch.cuda.memory_allocated(index) for index in (0, 1)]
        x = torch.zeros(1000, device="cuda:1")
        one = held()
        y = x.to("cuda:0")
        two = held()
        del x
        three = held()
        peaks = [torch.cuda.max_memory_allocated("cuda:0"), torch.cuda.max_memory_allocated(torch.device("cuda", 1))]
        torch.cuda.reset_peak_memory_stats(1)
        reset = [torch.cuda.max_memory_allocated(index) for index in (0, 1)]
        free = [total - left for left, total in map(torch.cuda.mem_get_info, (0, 1))]
        with torch.cuda.device(1): current = torch.cuda.memory_allocated()
        """,
        gpus=2,
    ).names
    assert [names[name] for name in ("one", "two", "three")] == [[0, 4096], [4096, 4096], [4096, 0]]
    assert (names["peaks"], names["reset"], names["current"]) == ([4096, 4096], [4096, 0], 0)
    assert names["free"] == [2 * 2**20, 0]


def test_saved_tensors_come_back_to_their_device(traced: Run, tmp_path: Path) -> None:
    program = traced(
        """
        import io, torch
        def saved(tensor):
            buffer = io.BytesIO()
            torch.save(tensor, buffer)
            buffer.seek(0)
            return buffer
        x = torch.ones(2, device="cuda:1")
        back = str(torch.load(saved(x)).device)
        moved = str(torch.load(saved(x), map_location={"cuda:1": "cuda:0"}).device)
        host = str(torch.load(saved(x), map_location="cpu").device)
        saved(x).seek(0), open("SAVED", "wb").write(saved(x).getvalue())
        """.replace("SAVED", str(tmp_path / "x.pt")),
        gpus=2,
    )
    assert [program.names[name] for name in ("back", "moved", "host")] == ["cuda:1", "cuda:0", "cpu"]

    with pytest.raises(RuntimeError, match=r"on CUDA device 1 but torch.cuda.device_count\(\) is 1"):
        traced(f"import torch; torch.load({str(tmp_path / 'x.pt')!r})")


# --- what torch refuses -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "expression",
    [
        "a + b",
        "a @ b.t()",
        "torch.cat([a, b])",
        "a.sum() * b",
        "a.add_(b)",
        "torch.where(a > 0, a, b)",
        "torch.nn.functional.linear(a, b)",
    ],
)
def test_tensors_of_two_devices_are_refused(traced: Run, expression: str) -> None:
    with pytest.raises(RuntimeError, match="at least two devices, cuda:0 and cuda:1!"):
        traced(
            f"import torch\na, b = torch.ones(4, 4, device='cuda:0'), torch.ones(4, 4, device='cuda:1')\n{expression}",
            gpus=2,
        )


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("a[torch.tensor([0], device='cuda:1')]", r"on the same device as the indexed tensor \(cuda:0\)"),
        ("a[torch.tensor([0], device='cuda:0')] = b[:1]", "cuda:0 and cuda:1!"),
        ("setattr(a, 'grad', b)", "located on device with index '1' to a tensor located on device with index '0'"),
        ("b.numpy()", "can't convert cuda:1 device type tensor to numpy"),
        ("torch.cuda.comm.broadcast_coalesced([b], [0, 1])", "All tensors must be on devices"),
    ],
)
def test_other_refusals(traced: Run, expression: str, error: str) -> None:
    source = (
        "import torch, torch.cuda.comm\na, b = torch.ones(4, 4, device='cuda:0'), torch.ones(4, 4, device='cuda:1')\n"
    )
    with pytest.raises((RuntimeError, TypeError), match=error):
        traced(source + expression, gpus=2)


@pytest.mark.parametrize("gpus", [1, 2])
@pytest.mark.parametrize(
    "expression",
    [
        "torch.ones(2, device='cuda:{}')",
        "torch.ones(2).to('cuda:{}')",
        "torch.ones(2).cuda({})",
        "torch.nn.Linear(2, 2).to('cuda:{}')",
        "torch.tensor([1.0], device=torch.device('cuda', {}))",
        "torch.cuda.set_device({})",
        "torch.cuda.device({}).__enter__()",
        "torch.cuda.synchronize({})",
    ],
)
def test_a_device_that_is_not_there(traced: Run, expression: str, gpus: int) -> None:
    program = f"""
        import torch
        try: {expression.format(gpus)}
        except RuntimeError as error: raised = error
        """
    found = traced(program, gpus=gpus)

    assert str(found.names["raised"]).startswith("CUDA error: invalid device ordinal")
    assert type(found.names["raised"]) is getattr(torch, "AcceleratorError", RuntimeError)
    assert [(event.name, event.detail.partition("; ")[2]) for event in found.events] == [
        (f"cuda:{gpus}", f"--gpus {gpus + 1} makes {gpus + 1}")
    ]


def test_a_device_that_is_not_there_is_told_nothing_of(traced: Run) -> None:
    names = traced(
        """
        import torch
        raised = []
        for ask in (torch.cuda.get_device_properties, torch.cuda.get_device_name, torch.cuda.get_device_capability):
            try: ask(1)
            except AssertionError as error: raised.append(str(error))
        """
    ).names
    assert names["raised"] == ["Invalid device id"] * 3


# --- the command --------------------------------------------------------------------------------------------------


def command(tmp_path: Path, source: str, *options: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "train.py").write_text(dedent(source), "utf-8")
    line = [sys.executable, "-m", "torchlint", "trace", "train.py", *options]
    return subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)


def test_a_run_on_two_devices(tmp_path: Path) -> None:
    done = command(tmp_path, SPLIT, "--device", "virtual", "--gpus", "2", "--html", "run.html")
    told = [" ".join(line.split()) for line in done.stdout.splitlines()]

    assert 0 == done.returncode, done.stderr
    assert "2 copies between devices, which it does not wait for 1.8 KiB" in told
    assert ["cuda:0's", "cuda:1's"] == [line.split()[-2] for line in told if line.endswith("'s memory")]
    assert 2 == sum(" p2p to cuda:" in line for line in told)
    assert "copies a step between devices" in (tmp_path / "run.html").read_text("utf-8")


def test_memory_of_each_device_and_copies_for_programs(tmp_path: Path) -> None:
    document = json.loads(
        command(tmp_path, SPLIT, "--device", "virtual", "--gpus", "2", "--output-format", "json").stdout
    )

    assert {"cuda:0", "cuda:1"} == {event["name"] for event in document["memory"]}
    assert 2 == sum(row["count"] for row in document["device_events"] if row["kind"] == "p2p")
    assert [] == [each for each in document["findings"] if "p2p" in each["message"]]


def test_a_program_for_two_devices_on_one_is_told_how(tmp_path: Path) -> None:
    done = command(tmp_path, "import torch\ntorch.ones(2, device='cuda:1')\n", "--device", "virtual")

    assert 2 == done.returncode
    assert "invalid device ordinal" in done.stdout + done.stderr
    assert "there is one virtual GPU; --gpus 2 makes 2" in done.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--gpus", "0"), "'0' is not a whole number from 1 to 64"),
        (("--gpus", "two"), "'two' is not a whole number from 1 to 64"),
        (
            ("--gpus", "2", "--gpu", "h100"),
            "--gpu predicts a step on one GPU; there is no prediction for several (--gpus)",
        ),
        (("--gpus", "2", "--device", "cpu"), "--gpus tells how many virtual GPUs there are"),
    ],
)
def test_numbers_of_devices_that_make_no_sense(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    done = command(tmp_path, "import torch\ntorch.ones(2)\n", *options)

    assert 2 == done.returncode
    assert message in done.stdout + done.stderr


def test_compiled_code_is_on_the_device_of_its_inputs(tmp_path: Path) -> None:
    source = """
        import torch
        model = torch.compile(torch.nn.Linear(4, 2).to("cuda:1"), backend="eager")
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(4):
            output = model(torch.ones(3, 4, device="cuda:1"))
            assert output.get_device() == 1, output.device
            output.sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        """
    done = command(tmp_path, source, "--device", "virtual", "--gpus", "2")

    assert 0 == done.returncode, done.stdout + done.stderr
    assert "graph breaks in the whole run" in done.stdout
