"""The virtual GPU: programs that ask for CUDA run without one, and tell what a GPU would wait for and copy.

In the programs below a comment says which events its line causes, as `kind name`; a line without one causes none.
"""

from __future__ import annotations

import importlib.util
import re
import runpy
import sys
import textwrap
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from tests.trace.programs import Traced
from torchlint.messages.event import Event
from torchlint.trace.eager.counts import OperatorCounts
from torchlint.trace.eager.virtual import plain, real_gpu, tags, virtual_gpu
from torchlint.trace.program.recorder import Recorder

pytestmark = pytest.mark.torch


@pytest.fixture(autouse=True)
def default_precision() -> None:
    """What programs of other tests in this process have set is not there."""
    torch.set_autocast_dtype("cuda", torch.float16)


# --- lines that cause nothing -------------------------------------------------------------------------------------


def test_no_event_without_a_reason(traced: Callable[..., Traced]) -> None:
    program = traced(
        """
        import copy, torch
        from torch import nn
        from torch.nn import functional as F
        host = torch.randn(6, 4)
        x = torch.randn(6, 4, device="cuda")
        y = torch.zeros_like(x).requires_grad_()
        x[0:1] = 1.0
        x[0] = 2
        x[x > 0] = 0.5
        x[:, 1] = x[:, 0]
        x[x > 0].shape if False else None
        x.shape, x.size(0), len(x), x.dim(), x.numel(), x.dtype, x.device, x.is_cuda, x.stride()
        x.view(-1), x.t(), x.reshape(2, 12), x[1:3], x[..., None], x[0], x.unbind(0), x.chunk(2)
        print(host, host.sum().item(), f"{host.mean():.2f}", host.tolist()[0][0] > 9, host.numpy().shape)
        print(f"{x.shape} {x.dtype} {x.device}")
        torch.where(x > 0, x, torch.zeros((), device="cuda"))
        x.masked_fill(x > 0, 0.0), x.clamp(min=0), x * 2.0, x + torch.tensor(1.0), x.mean(), x.max(dim=1)
        x.to("cuda"), x.cuda(), x.to(x.device), x.to(x), x.half(), x.to(torch.float64), x.to("cuda", torch.half)
        host.to("cpu"), host.cpu(), host.double(), host.pin_memory(), torch.as_tensor(x), x.clone(), copy.deepcopy(x)
        x.new_zeros(3), torch.ones(2, device=x.device), torch.arange(6, device="cuda"), torch.full((2,), 1.0, device="cuda")
        x.repeat_interleave(2, dim=0), torch.repeat_interleave(x, torch.arange(6, device="cuda"), 0, output_size=15)
        F.one_hot(torch.arange(4, device="cuda"), 5), x[torch.arange(3, device="cuda")], x.gather(0, x.argmax(0, True))
        torch.multinomial(torch.ones(5, device="cuda"), 3), torch.bernoulli(x.sigmoid())
        model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(), nn.Linear(8, 2))
        model.to("cuda")  # h2d to x9
        for options in ({}, {"foreach": True}, {"fused": True}, {"capturable": True}, {"foreach": False}):
            optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, **options)
            for _ in range(2):
                loss = F.cross_entropy(model(x), torch.zeros(6, dtype=torch.long, device="cuda"))
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
        sgd = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        torch.optim.lr_scheduler.StepLR(sgd, 1)
        F.cross_entropy(model(x), torch.zeros(6, dtype=torch.long, device="cuda")).backward()
        sgd.step()
        model.state_dict(), [p.grad.device for p in model.parameters()], model.half(), model.float()
        """
    )
    assert program.lines() == program.expected()


# --- lines that make the host wait --------------------------------------------------------------------------------


def test_synchronizations(traced: Callable[..., Traced]) -> None:
    program = traced(
        """
        import torch
        from torch.nn import functional as F
        x = torch.rand(6, 4, device="cuda")
        one = torch.ones((), device="cuda")
        i = torch.tensor(2, device="cuda")  # h2d tensor
        labels = torch.arange(6, device="cuda")
        loss = (x.requires_grad_() ** 2).sum()
        loss.item()  # sync item
        bool(x.sum() > 0)  # sync bool
        if loss > 0: pass  # sync bool
        while not (one > 0): pass  # sync bool
        assert one  # sync bool
        int(i)  # sync int
        float(loss.detach())  # sync float
        complex(one)  # sync complex
        range(i)  # sync index
        [1, 2, 3][i]  # sync index
        x[i]  # sync index
        x[:i]  # sync index
        x.detach()[i, 0] = x.detach()[0, 0]  # sync index
        f"{one:.3f}"  # sync format
        f"{one}"  # sync format
        str(x)  # sync format
        "%s" % labels  # sync format
        repr(x)  # sync format
        x.tolist()  # sync tolist
        one.tolist()  # sync tolist
        torch.nonzero(x)  # sync nonzero
        x.nonzero(as_tuple=True)  # sync nonzero
        torch.where(x > 0)  # sync nonzero
        torch.argwhere(x)  # sync nonzero
        x[x > 0.5]  # sync mask
        x[labels > 2]  # sync mask
        x.detach()[labels > 2] = torch.zeros(4, device="cuda")  # sync mask
        x.detach()[x > 2] = one  # sync mask
        torch.masked_select(x, x > 0)  # sync masked_select
        x.masked_fill(x > 0, one)  # sync masked_fill
        torch.unique(labels)  # sync unique
        labels.unique(return_counts=True)  # sync unique
        torch.unique(x, dim=0)  # sync unique
        torch.unique_consecutive(labels)  # sync unique_consecutive
        torch.bincount(labels)  # sync bincount
        torch.equal(x, x + 1)  # sync equal
        torch.allclose(x, x)  # sync allclose
        torch.is_nonzero(one)  # sync item
        torch.repeat_interleave(labels, labels)  # sync repeat_interleave
        torch.normal(x.detach(), x.detach().abs())  # sync normal
        F.one_hot(labels)  # sync item
        torch.linalg.inv(torch.eye(3, device="cuda"))  # sync linalg
        torch.linalg.svd(torch.eye(3, device="cuda"))  # sync linalg
        torch.linalg.pinv(torch.eye(3, device="cuda"))  # sync linalg
        torch.linalg.norm(torch.eye(3, device="cuda"), 2)  # sync linalg
        torch.linalg.eigvalsh(torch.eye(3, device="cuda"))  # sync linalg
        torch.matrix_exp(torch.eye(3, device="cuda"))  # sync matrix_exp
        x.detach()[labels > 2, labels[:1]] = 0.0  # sync mask
        torch.linspace(x.sum(), 1, 5, device="cuda")  # sync item
        torch.isin(labels, labels.repeat(50))  # sync isin
        torch.isin(labels, labels.repeat(2))  # sync isin
        torch.isin(labels, labels.repeat(2)[1:])
        x.detach()[labels > 2, 0] = 0.0
        torch.arange(i)  # sync item
        torch.tensor([one, one])  # sync item x2
        torch.full((2,), one)  # sync item
        4 in labels  # sync item
        x.to_sparse()  # sync to_sparse
        torch.sparse_coo_tensor(labels.view(1, -1), labels)  # sync sparse_coo_tensor
        torch.sparse_coo_tensor(labels.view(1, -1), labels, (9,))
        x.grad = torch.ones_like(x)
        torch.nn.utils.clip_grad_norm_([x], 1.0, error_if_nonfinite=True)  # sync bool
        """
    )
    assert program.lines() == program.expected()


def test_waits_that_an_h100_was_seen_to_have(traced: Callable[..., Traced]) -> None:
    program = traced(
        """
        import torch
        x = torch.rand(5, 5, device="cuda") + torch.eye(5, device="cuda") * 5
        one, rows = torch.ones((), device="cuda"), torch.arange(2, device="cuda")
        matrix, symmetric = x.clone(), x @ x.T
        x.index_fill(0, rows, 1.0), torch.searchsorted(x[0], x[1]), x.mode(), torch.linalg.lu_factor_ex(x)
        torch.equal(x, one), torch.cholesky_solve(x, x), torch.linalg.ldl_solve
        x.index_fill(0, rows, one)  # sync item
        torch.searchsorted(x[0], x[1], sorter=torch.arange(5, device="cuda"))  # sync searchsorted x2
        torch.cov(x)  # sync cov
        torch.corrcoef(x)  # sync cov
        torch.ones(4096, device="cuda").mode()  # sync mode
        torch.cholesky(symmetric)  # sync linalg
        torch.cholesky_solve(x[None], x[None])  # sync linalg
        torch.cholesky_inverse(x[None])  # sync linalg
        torch.linalg.lu(x[:3])  # sync linalg
        torch.linalg.lu_factor_ex(x[:3])  # sync linalg
        torch.linalg.lstsq(x, x)  # sync linalg
        torch.segment_reduce(x[0], "max", lengths=torch.tensor([2, 3], device="cuda"))  # h2d tensor, sync segment_reduce x2
        """
    )
    assert program.lines() == program.expected()


def test_backward_passes_that_look_at_values(traced: Callable[..., Traced]) -> None:
    program = traced(
        """
        import torch
        x = torch.rand(5, 5, device="cuda", requires_grad=True)
        value, mask = torch.ones((), device="cuda", requires_grad=True), x.detach() > 0.5
        product, each, running = x.prod(), x.prod(1), x.cumprod(0)
        filled = x.masked_fill(mask, value)  # sync masked_fill
        plain = x.masked_fill(mask, 0.0)
        scattered, diagonal = x.masked_scatter(mask, x * 2), x.trace()
        turned = (x.flip(0) == 1).logical_not() * x
        product.backward()  # sync prod
        each.sum().backward()  # sync prod
        running.sum().backward()  # sync cumprod
        filled.sum().backward()  # sync masked_fill
        plain.sum().backward()
        scattered.sum().backward()  # sync masked_scatter
        diagonal.backward()  # sync item
        turned.sum().backward()
        """
    )
    assert program.lines() == program.expected()


def test_lists_as_index_are_copied_once(traced: Callable[..., Traced]) -> None:
    """A list becomes a tensor of the device; a tensor of the host stays there, and goes a second time."""
    program = traced(
        """
        import torch
        x = torch.rand(5, 5, device="cuda", requires_grad=True)
        listed = x[[0, 2]]  # h2d index
        pairs = x[[0, 2], [1, 3]]  # h2d index x2
        given = x[torch.tensor([0, 2])]  # h2d index
        listed.sum().backward()
        pairs.sum().backward()
        given.sum().backward()  # h2d index
        """
    )
    assert program.lines() == program.expected()


def test_inference_mode_hides_nothing(traced: Callable[..., Traced]) -> None:
    """Autograd takes no operator apart there, so that `item` or `linear` come whole."""
    program = traced(
        """
        import torch
        from torch import nn
        from torch.nn import functional as F
        model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(8, 4)).cuda()  # h2d cuda x4
        host = torch.randn(2, 1, 4, 4)
        with torch.inference_mode():
            x = host.to("cuda", non_blocking=True)  # h2d to
            y = model(x).softmax(-1)
            rnn, _ = nn.GRU(4, 4, batch_first=True, device="cuda")(y[None])
            seen = F.scaled_dot_product_attention(y[None, None], y[None, None], y[None, None], is_causal=True)
            best, where = y.topk(2)
            same = torch.where(y > 0.5, y, torch.zeros_like(y)).reshape(-1).to(torch.float64).chunk(2)
            lost = F.cross_entropy(y, where[:, 0], label_smoothing=0.1)
            y[y < 0.5] = 0.0
            host.sum().item(), bool(host.min() < 9), host.tolist()
            if y.isnan().any(): pass  # sync bool
            y.sum().item()  # sync item
            [int(one) for one in where[:, 0]]  # sync int x2
            f"{lost:.3f}"  # sync format
            where.tolist()  # sync tolist
            torch.where(y > 0)  # sync nonzero
            y[y > 0]  # sync mask
            torch.argwhere(y)  # sync nonzero
            torch.allclose(y, y)  # sync allclose
            y.cpu()  # d2h cpu, sync copy
        with torch.no_grad():
            y.mean().item()  # sync item
        """
    )
    assert program.lines() == program.expected()


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_inference_mode_counts_the_operators_of_no_grad(tmp_path: Path, device: str) -> None:
    source = """
        import torch
        from torch import nn
        from torch.nn import functional as F
        model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(8, 4)).to(DEVICE).eval()
        x = torch.randn(2, 1, 4, 4).to(DEVICE)
        with torch.MODE():
            y = model(x)
            z = F.scaled_dot_product_attention(y[None, None], y[None, None], y[None, None])
            F.cross_entropy(y, y.argmax(1)).item()
    """

    def counted(mode: str) -> dict[int, int]:
        recorder = Recorder(tmp_path / f"{mode}.jsonl")
        code = textwrap.dedent(source).replace("MODE", mode).replace("DEVICE", repr(device))
        (tmp_path / "program.py").write_text(code)
        mode_of = virtual_gpu(recorder, counts=True) if device == "cuda" else OperatorCounts(recorder)
        try:
            with mode_of:
                runpy.run_path(str(tmp_path / "program.py"))
        finally:
            recorder.close()
        events = map(Event.from_json, recorder.path.read_text().splitlines())
        counts: Counter[int] = Counter()
        for event in events:
            counts[event.line] += event.count if event.kind == "operator" else 0
        return counts

    assert counted("inference_mode") == counted("no_grad")


def test_copies(traced: Callable[..., Traced]) -> None:
    program = traced(
        """
        import numpy, torch
        host = torch.randn(6, 4)
        pinned = host.pin_memory()
        x = torch.randn(6, 4, device="cuda")
        host.to("cuda")  # h2d to
        host.to(0)  # h2d to
        host.to(torch.device("cuda"), torch.half)  # h2d to
        host.to(device="cuda:0", non_blocking=True)  # h2d to
        host.to(x)  # h2d to
        host.cuda()  # h2d cuda
        host.cuda(0, True)  # h2d cuda
        host.type(torch.cuda.DoubleTensor)  # h2d type
        pinned.to("cuda", non_blocking=True)  # h2d to
        torch.tensor([1.0, 2.0], device="cuda")  # h2d tensor
        torch.as_tensor(numpy.ones(3), device="cuda")  # h2d as_tensor
        torch.as_tensor(host, device="cuda")  # h2d as_tensor
        x.new_tensor([1, 2])  # h2d new_tensor
        torch.cuda.FloatTensor([1.0])  # h2d tensor
        x.copy_(host)  # h2d copy_
        x[0] = host[0]  # h2d setitem
        x[torch.tensor([0, 1])]  # h2d index
        x[[0, 1]]  # h2d index
        x[[0, 1]] = 1.0  # h2d index x2
        x[0, 0] = 1.0  # h2d index
        x[torch.ones(2, dtype=torch.long, device="cuda")] = 1.0  # h2d index
        x[x[:, 0] > 0, 0] = 1.0
        torch.where(x > 0, x, torch.tensor(0.0))  # h2d where
        torch.where(x > 0, x, 0.0), torch.maximum(x, torch.tensor(0.0))
        x.cpu()  # d2h cpu, sync copy
        x.to("cpu")  # d2h to, sync copy
        x.to(host)  # d2h to, sync copy
        x.to("cpu", non_blocking=True)  # d2h to
        x.cpu().numpy()  # d2h cpu, sync copy
        x.numpy(force=True)  # d2h numpy, sync copy
        host.copy_(x)  # d2h copy_, sync copy
        pinned.copy_(x, non_blocking=True)  # d2h copy_
        host[0] = x[0]  # d2h setitem, sync copy
        torch.nn.Linear(4, 2).to("cuda")  # h2d to x2
        model = torch.nn.Linear(4, 2).to(x)  # h2d to x2
        model.to(tensor=x), model.to(x), model.to(torch.float64)
        model.to(host.double())  # d2h to x2, sync copy x2
        torch.nn.Linear(4, 2).cuda()  # h2d cuda x2
        torch.cuda.synchronize()  # synchronize device
        torch.cuda.current_stream().synchronize()  # synchronize stream
        torch.cuda.Event().synchronize()  # synchronize event
        torch.accelerator.synchronize()  # synchronize device
        torch.cuda.empty_cache()  # empty_cache empty_cache
        """
    )
    assert program.lines() == program.expected()


def test_lengths_of_ctc_loss_go_to_the_host_and_back(traced: Callable[..., Traced]) -> None:
    program = traced(
        """
        import torch
        from torch.nn import functional as F
        scores = torch.randn(5, 2, 4, device="cuda", requires_grad=True)
        targets = torch.ones(2, 3, dtype=torch.long, device="cuda")
        host, device = torch.full((2,), 3), torch.full((2,), 3, device="cuda")
        alone = F.ctc_loss(scores.cpu().log_softmax(-1), targets.cpu(), host, host)  # d2h cpu x2, sync copy x2
        mean = F.ctc_loss(scores.log_softmax(-1), targets, host, host)  # h2d ctc_loss x4
        listed = F.ctc_loss(scores.log_softmax(-1), targets, (3, 3), (3, 3))  # h2d ctc_loss x4
        total = F.ctc_loss(scores.log_softmax(-1), targets, host, host, reduction="sum")  # h2d ctc_loss x3
        moved = torch.nn.CTCLoss()(scores.log_softmax(-1), targets, device, device)  # d2h ctc_loss x2, sync copy x2, h2d ctc_loss x4
        mean.backward()  # h2d ctc_loss x3
        values = [float(one.detach()) for one in (alone, mean, listed, moved)]  # sync float x3
        """
    )
    assert program.lines() == program.expected()
    assert program.names["values"] == pytest.approx([program.names["values"][0]] * 4)


def test_a_copy_says_how(traced: Callable[..., Traced]) -> None:
    program = traced(
        """
        import torch
        host = torch.zeros(256)
        host.to("cuda")
        host.to("cuda", non_blocking=True)
        host.pin_memory().to("cuda")
        device = host.pin_memory().to("cuda", non_blocking=True)
        device.cpu()
        device.to("cpu", non_blocking=True)
        """
    )
    copies = [(e.line, e.kind, e.detail, e.size, e.data) for e in program.events if e.kind in ("h2d", "d2h")]
    assert copies == [
        (4, "h2d", "pageable, blocking", 1024, {"pinned": False, "blocking": True}),
        (5, "h2d", "pageable, non_blocking", 1024, {"pinned": False, "blocking": False}),
        (6, "h2d", "pinned, blocking", 1024, {"pinned": True, "blocking": True}),
        (7, "h2d", "pinned, non_blocking", 1024, {"pinned": True, "blocking": False}),
        (8, "d2h", "pageable, blocking", 1024, {"pinned": False, "blocking": True}),
        (9, "d2h", "pinned, non_blocking", 1024, {"pinned": True, "blocking": False}),
    ]


# --- answers ------------------------------------------------------------------------------------------------------


def test_tensors_answer_as_on_the_device(traced: Callable[..., Traced]) -> None:
    names = traced(
        """
        import torch
        x = torch.zeros(2, device="cuda")
        host = torch.zeros(2)
        device, kind, index, is_cuda, is_cpu = x.device, x.type(), x.get_device(), x.is_cuda, x.is_cpu
        shown, half, host_kind = repr(x), x.half().type(), host.type()
        is_float_tensor = isinstance(x, torch.cuda.FloatTensor), isinstance(host, torch.cuda.FloatTensor)
        pinned = host.pin_memory().is_pinned(), host.is_pinned(), torch.empty(1, pin_memory=True).is_pinned()
        followers = [x[1:], x.view(1, 2), x.data, x.detach(), x + 1, x.numpy(force=True) is None or x, x.new_ones(1)]
        followers += [torch.zeros_like(x), torch.empty_like(host, device="cuda"), torch.nn.Parameter(x), x.clone()]
        strangers = [x.new_ones(1, device="cpu"), torch.zeros_like(x, device="cpu"), torch.rand(1), host + 1, x.cpu()]
        """
    ).names
    assert (names["device"], names["kind"], names["index"]) == (torch.device("cuda", 0), "torch.cuda.FloatTensor", 0)
    assert (names["is_cuda"], names["is_cpu"]) == (True, False)
    assert names["shown"] == "tensor([0., 0.], device='cuda:0')"
    assert (names["half"], names["host_kind"]) == ("torch.cuda.HalfTensor", "torch.FloatTensor")
    assert names["is_float_tensor"] == (True, False)
    assert names["pinned"] == (True, False, True)
    assert [tags.is_cuda(tensor) for tensor in names["followers"]] == [True] * 11
    assert [tags.is_cuda(tensor) for tensor in names["strangers"]] == [False] * 5


@pytest.mark.filterwarnings("ignore:Sparse")
def test_a_sparse_tensor_is_where_its_values_are(traced: Callable[..., Traced]) -> None:
    program = traced(
        """
        import torch
        edges = torch.tensor([[0, 1], [1, 2]]).cuda()  # h2d cuda
        ones, x = torch.ones(2, device="cuda"), torch.ones(3, 4, device="cuda")
        host = torch.sparse_coo_tensor(edges.cpu(), torch.ones(2), (3, 3))  # d2h cpu, sync copy
        made = torch.sparse_coo_tensor(edges, ones, (3, 3))
        rows = torch.sparse_csr_tensor(torch.tensor([0, 1, 2], device="cuda"), edges[0], ones, (2, 2))  # h2d tensor
        product = torch.sparse.mm(made, x)  # sync coalesce
        product = made @ x  # sync coalesce
        product = made.coalesce() @ x  # sync coalesce
        made = made.coalesce()  # sync coalesce
        product = made @ x
        product = torch.sparse.mm(made, x)
        product = rows @ x[:2]
        with torch.inference_mode():
            product = torch.sparse.mm(made, x[:, :2])
        copied = torch.sparse_coo_tensor([[0], [1]], [2.0], (3, 3), device="cuda")  # h2d sparse_coo_tensor x2
        copied = torch.sparse_coo_tensor(edges.cpu()[:, :1], ones[:1], (3, 3))  # d2h cpu, sync copy, h2d sparse_coo_tensor
        moved = torch.sparse_coo_tensor(edges, ones, (3, 3), device="cpu")  # d2h sparse_coo_tensor x2, sync copy x2
        empty = torch.sparse_coo_tensor((3, 3))
        weights = torch.ones(2, device="cuda", requires_grad=True)
        learned = torch.sparse_coo_tensor(edges, weights, (3, 3), is_coalesced=True)
        torch.sparse.mm(learned, x).sum().backward()
        where = [str(one.device) for one in (host, made, rows, product, copied, moved, empty, weights.grad)]
        """
    )
    assert program.lines() == program.expected()
    assert program.names["where"] == ["cpu", "cuda:0", "cuda:0", "cuda:0", "cuda:0", "cpu", "cpu", "cuda:0"]


def test_default_devices(traced: Callable[..., Traced]) -> None:
    names = traced(
        """
        import torch
        def places(*tensors): return [tensor.device.type for tensor in tensors]
        def made(): return places(torch.zeros(1), torch.tensor([1]), torch.nn.Linear(1, 1).weight, torch.rand(1).relu())
        before = made()
        with torch.device("cuda"):
            inside, explicit = made(), places(torch.zeros(1, device="cpu"))
        between = made()
        torch.set_default_device("cuda")
        default, asked = made(), torch.get_default_device()
        torch.set_default_device(None)
        after = made()
        """
    ).names
    assert names["before"] == names["between"] == names["after"] == ["cpu"] * 4
    assert names["inside"] == names["default"] == ["cuda"] * 4
    assert (names["explicit"], names["asked"]) == (["cpu"], torch.device("cuda", 0))


def test_the_gpu_is_the_target(traced: Callable[..., Traced]) -> None:
    program = """
        import torch
        name, capability = torch.cuda.get_device_name(), torch.cuda.get_device_capability(0)
        bf16, count, available = torch.cuda.is_bf16_supported(), torch.cuda.device_count(), torch.cuda.is_available()
        memory = torch.cuda.get_device_properties("cuda:0").total_memory
        accelerator = torch.accelerator.current_accelerator(), torch.accelerator.device_count()
        """
    names = traced(program).names
    assert (names["name"], names["capability"], names["bf16"]) == ("NVIDIA H100 80GB HBM3", (9, 0), True)
    assert (names["count"], names["available"], names["memory"]) == (1, True, 80 * 2**30)
    assert names["accelerator"] == (torch.device("cuda"), 1)
    names = traced(program, target="sm_75").names
    assert (names["name"], names["capability"], names["bf16"]) == ("Tesla T4", (7, 5), False)


def test_an_unknown_target_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="unknown target 'sm_1'"), virtual_gpu(Recorder(tmp_path / "e"), target="sm_1"):
        pass


def test_nothing_is_left_behind(traced: Callable[..., Traced]) -> None:
    before = (torch.cuda.is_available(), torch.Tensor.__repr__, torch.Generator, torch.version.cuda, torch.save)
    traced("import torch; torch.zeros(1, device='cuda')")
    after = (torch.cuda.is_available(), torch.Tensor.__repr__, torch.Generator, torch.version.cuda, torch.save)
    assert after == before
    assert torch.zeros(1).device == torch.device("cpu")


def test_memory_is_counted_in_allocator_blocks(traced: Callable[..., Traced]) -> None:
    names = traced(
        """
        import torch
        start = torch.cuda.memory_allocated()
        x = torch.zeros(1000, device="cuda")
        view = x[10:]
        one = torch.cuda.memory_allocated()
        y = x + 1
        del x, y
        freed, peak = torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated()
        del view
        end = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        reset, summary = torch.cuda.max_memory_allocated(), torch.cuda.memory_summary()
        """
    ).names
    assert (names["start"], names["one"], names["freed"]) == (0, 4096, 4096)
    assert (names["peak"], names["end"], names["reset"]) == (8192, 0, 0)
    assert "Allocated memory" in names["summary"]


# --- what a GPU refuses -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "expression",
    [
        "x + host",
        "x @ host.t()",
        "torch.cat([x, host])",
        "torch.stack([x.sum(), host.sum()])",
        "torch.where(x > 0, host, x)",
        "torch.zeros(()).add_(x.sum())",
        "torch.nn.Linear(4, 2)(x)",
        "torch.nn.Linear(4, 2).cuda()(host)",
        "torch.nn.Embedding(3, 3).cuda()(torch.tensor([1]))",
        "torch.nn.functional.cross_entropy(x, torch.zeros(6, dtype=torch.long))",
        "torch.nn.Conv2d(1, 1, 1).cuda()(torch.zeros(1, 1, 2, 2))",
        "x.gather(0, torch.zeros(1, 4, dtype=torch.long))",
    ],
)
def test_tensors_of_two_devices_are_refused(traced: Callable[..., Traced], expression: str) -> None:
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        traced(f"import torch\nx, host = torch.zeros(6, 4, device='cuda'), torch.zeros(6, 4)\n{expression}\n")


@pytest.mark.parametrize(
    ("expression", "error", "message"),
    [
        ("x.numpy()", TypeError, "can't convert cuda:0 device type tensor to numpy"),
        ("numpy.asarray(x)", TypeError, "can't convert cuda:0 device type tensor to numpy"),
        ("host[torch.tensor([0], device='cuda')]", RuntimeError, "indices should be either on cpu"),
        ("x.pin_memory()", RuntimeError, "cannot pin 'torch.cuda.FloatTensor'"),
        ("host.cuda('cpu')", RuntimeError, "Invalid device, must be cuda device"),
        ("torch.rand(2, device='cuda', generator=torch.Generator())", RuntimeError, "Expected a 'cuda' device type"),
        ("torch.rand(2, generator=torch.Generator('cuda'))", RuntimeError, "Expected a 'cpu' device type"),
        ("setattr(torch.nn.Parameter(x), 'grad', host)", RuntimeError, "attempting to assign a gradient"),
        ("host.to('meta').to('cuda')", NotImplementedError, "Cannot copy out of meta tensor"),
    ],
)
def test_other_refusals(traced: Callable[..., Traced], expression: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        traced(f"import numpy, torch\nx, host = torch.zeros(2, device='cuda'), torch.zeros(2)\n{expression}\n")


def test_host_scalars_are_welcome(traced: Callable[..., Traced]) -> None:
    program = traced(
        """
        import torch
        x, one = torch.rand(3, device="cuda"), torch.tensor(1.0)
        results = [x + one, one * x, torch.maximum(x, one), x.lerp(x, one)]
        try: x.clamp(one)
        except RuntimeError as error: refused = str(error)
        """
    )
    assert program.events == []
    assert "Expected all tensors to be on the same device" in program.names["refused"]
    assert all(tags.is_cuda(result) for result in program.names["results"])


# --- training: the same values as on the CPU ----------------------------------------------------------------------

_TRAINING = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(32, 16), torch.randint(0, 4, (32,)))
    pinned = {"pin_memory": True} if DEVICE == "cuda" else {}
    loader = DataLoader(data, batch_size=8, shuffle=True, num_workers=2, **pinned)
    model = nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1d(32), nn.GELU(), nn.Dropout(0.1), nn.Linear(32, 4)).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler(DEVICE, init_scale=1024.0)
    losses = []
    for epoch in range(2):
        for x, y in loader:
            x, y = x.to(DEVICE, non_blocking=True), y.to(DEVICE, non_blocking=True)
            with torch.autocast(DEVICE, dtype=torch.bfloat16):
                loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.item())
    weights = [parameter.detach().cpu() for parameter in model.parameters()]
"""


def _on_the_cpu(source: str, tmp_path: Path) -> dict[str, Any]:
    script = tmp_path / "plain.py"
    script.write_text(textwrap.dedent(source).replace("DEVICE", "'cpu'"))
    return runpy.run_path(str(script), run_name="__main__")


def test_training_gives_the_losses_of_the_cpu(traced: Callable[..., Traced], tmp_path: Path) -> None:
    program = traced(_TRAINING.replace("DEVICE", "'cuda'"))
    expected = _on_the_cpu(_TRAINING, tmp_path)
    assert program.names["losses"] == expected["losses"]
    torch.testing.assert_close(program.names["weights"], expected["weights"])
    code = program.lines()
    assert code["x, y = x.to('cuda', non_blocking=True), y.to('cuda', non_blocking=True)"] == {"h2d to": 16}
    assert code["scaler.step(optimizer)"] == {"sync item": 8}
    assert code["losses.append(loss.item())"] == {"sync item": 8}
    assert {
        (e.detail, e.data["via"] if e.data and "via" in e.data else "") for e in program.events if e.kind == "h2d"
    } == {
        ("pinned, non_blocking", ""),
        ("pageable, blocking", ""),
    }


_DISTRIBUTED = """
    import torch
    import torch.distributed as dist
    from torch import nn
    dist.init_process_group("nccl" if DEVICE == "cuda" else "gloo", init_method="file://STORE", rank=0, world_size=1)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1d(32), nn.GELU(), nn.Linear(32, 4)).to(DEVICE)
    model = nn.parallel.DistributedDataParallel(model, device_ids=[0] if DEVICE == "cuda" else None)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for step in range(4):
        x, y = torch.randn(8, 16, device=DEVICE), torch.randint(0, 4, (8,), device=DEVICE)
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        dist.all_reduce(loss.detach(), op=dist.ReduceOp.AVG if DEVICE == "cuda" else dist.ReduceOp.SUM)
        losses.append(loss.item())
    dist.barrier()
    dist.destroy_process_group()
"""


@pytest.mark.skipif(not torch.distributed.is_available(), reason="torch without distributed")
def test_barriers_and_objects_wait_where_the_group_is_nccl(apart: Callable[..., Traced], tmp_path: Path) -> None:
    program = apart(
        f"""
        import torch.distributed as dist
        dist.init_process_group("nccl", init_method="file://{tmp_path}/store", rank=0, world_size=2)
        host = dist.new_group(backend="gloo")  # unsupported never
        dist.barrier()  # sync barrier
        dist.barrier(async_op=True).wait()
        dist.barrier(host)
        objects = [None]
        dist.all_gather_object(objects, "one")  # h2d to x2, sync all_gather_object x2, d2h cpu, sync copy
        dist.broadcast_object_list(objects, src=0)  # h2d to x2
        kept = objects == ["one"]
        dist.all_gather_object(objects, "one", group=host)
        dist.destroy_process_group()
        """
    )
    waits = {line: found for line, found in program.expected().items() if "never" not in line}
    assert {line: found for line, found in program.lines().items() if "init_process" not in line} == waits
    assert program.names["kept"]


def test_a_mask_of_the_host_sends_what_it_chooses(traced: Callable[..., Traced]) -> None:
    """Its places are looked for on the host and sent from pinned memory since torch 2.9; sorted ones of a gradient are not."""
    program = traced(
        """
        import torch
        x = torch.zeros(4, 3, device="cuda", requires_grad=True)
        mask = torch.tensor([True, False, True, False])
        taken = x[mask]  # h2d index
        none = x[~mask & mask]
        with torch.no_grad():
            x[mask] = taken  # h2d index
            x[mask] = 1.0  # h2d index x2
            x[mask[:, None].expand(4, 3)] = 2.0  # h2d index x2
        again = x[mask]  # h2d index
        again.sum().backward()  # h2d index
        x[torch.arange(2)]  # h2d index
        """
    )
    assert program.lines() == program.expected()
    new = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 9)
    how = {(e.line, e.size): e.detail for e in program.events if e.kind == "h2d"}
    chosen = "pinned, non_blocking" if new else "pageable, blocking"
    waits = "pageable, blocking"
    assert how == {
        (5, 16): chosen,
        (8, 16): chosen,
        (9, 16): chosen,
        (9, 4): waits,
        (10, 96): chosen,
        (10, 4): waits,
        (11, 16): chosen,
        (12, 16): waits,
        (13, 16): waits,
    }


def test_what_is_made_like_a_tensor_is_where_that_is(traced: Callable[..., Traced]) -> None:
    program = traced(
        """
        import torch
        x, host = torch.ones(4, device="cuda"), torch.ones(4)
        same = x.type_as(x.half())
        near = host.type_as(torch.ones(2).double())
        made = [x.new(3), x.new(2, 3), x.new(x.shape), x.new(), x.data.new(2).zero_(), x.new(x)]
        there = [host.new(3), host.new([1.0]), host.new(host)]
        sent = torch.zeros(3).type_as(x)  # h2d type_as
        back = x.type_as(host)  # d2h type_as, sync copy
        data = x.new([1.0, 2.0])  # h2d new
        pair = x.new((1, 2))  # h2d new
        weight = torch.ones(4, requires_grad=True)
        (weight.type_as(x) * x).sum().backward()  # h2d type_as, d2h type_as, sync copy
        on = [one.is_cuda for one in (*made, same, sent, data, pair)]
        off = [one.is_cuda for one in (*there, near, back, weight.grad)]
        half = host.type_as(x.half()).dtype  # h2d type_as
        """
    )
    assert program.lines() == program.expected()
    assert all(program.names["on"])
    assert not any(program.names["off"])
    assert program.names["pair"].tolist() == [1.0, 2.0]
    assert program.names["half"] == torch.float16


def test_a_scripted_class_finds_what_its_module_has(traced: Callable[..., Traced]) -> None:
    """TorchScript looks for it in the frame that called `torch.jit.script`."""
    names = traced(
        """
        import torch
        @torch.jit.script
        def doubled(x: torch.Tensor) -> torch.Tensor:
            return x * 2
        @torch.jit.script
        class Pair:
            def __init__(self, x: torch.Tensor) -> None:
                self.x = doubled(x)
        kept = Pair(torch.ones(2)).x.tolist()
        """
    ).names
    assert names["kept"] == [2.0, 2.0]


def test_what_a_factory_fills_stays_where_it_is(traced: Callable[..., Traced]) -> None:
    names = traced(
        """
        import torch
        like = torch.ones(3, dtype=torch.long, device="cuda")
        counted = torch.arange(3, out=like.new())
        filled = torch.zeros(3, out=torch.empty(3, device="cuda"))
        host = torch.ones(3, out=torch.empty(3))
        places = [str(one.device) for one in (counted, filled, host, counted == like)]
        """
    ).names
    assert names["places"] == ["cuda:0", "cuda:0", "cpu", "cuda:0"]


def test_lengths_of_packed_sequences_are_on_the_host(traced: Callable[..., Traced]) -> None:
    program = traced(
        """
        import torch
        from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
        x = torch.ones(4, 3, 2, device="cuda")
        packed = pack_padded_sequence(x, torch.tensor([4, 3, 2]))
        padded, lengths = pad_packed_sequence(packed)
        longest = lengths.max().item()
        chosen = x[:, lengths > 2]  # h2d index
        """
    )
    assert program.lines() == program.expected()
    assert program.names["chosen"].shape == (4, 2, 2)


def test_kernels_that_a_program_writes_in_python_are_looked_into(traced: Callable[..., Traced]) -> None:
    program = traced(
        """
        import torch
        @torch.library.custom_op("planted::scaled", mutates_args=())
        def scaled(x: torch.Tensor) -> torch.Tensor:
            return x / x.sum().item()  # sync item
        @torch.library.custom_op("planted::filled", mutates_args=("x",), device_types="cuda")
        def filled(x: torch.Tensor) -> None:
            x.copy_(torch.ones(3))  # h2d copy_
        @torch.library.custom_op("planted::both", mutates_args=(), device_types="cpu")
        def both(x: torch.Tensor) -> torch.Tensor:
            return x + x.sum().item()
        @both.register_kernel("cuda")
        def _(x):
            return x + x.max().item()  # sync item
        library = torch.library.Library("planted2", "DEF")
        library.define("low(Tensor x) -> Tensor")
        library.impl("low", lambda x: x * x.max().item(), "CompositeExplicitAutograd")  # sync item
        x, host = torch.zeros(3, device="cuda"), torch.full((3,), 2.0)
        filled(x)
        made = scaled(x), both(x), torch.ops.planted2.low(x)
        plain = scaled(host), both(host), torch.ops.planted2.low(host)
        try:
            filled(host)
        except NotImplementedError as error:
            refused = str(error)
        """,
        counts=True,
    )
    lines = {
        line: {k: n for k, n in found.items() if not k.startswith("operator")}
        for line, found in program.lines().items()
    }
    assert {line: found for line, found in lines.items() if found} == program.expected()
    assert [one.tolist()[0] for one in program.names["made"]] == pytest.approx([1 / 3, 2.0, 1.0])
    assert [one.tolist()[0] for one in program.names["plain"]] == pytest.approx([1 / 3, 8.0, 4.0])
    assert "planted::filled" in program.names["refused"]


_GLOO = """
    import torch
    import torch.distributed as dist
    dist.init_process_group("gloo", init_method="file://STORE", rank=0, world_size=1)
    host = dist.new_group()
    nccl = dist.new_group(backend="nccl")
    x = torch.ones(4, device="cuda")
"""


@pytest.mark.skipif(not torch.distributed.is_available(), reason="torch without distributed")
def test_gloo_sends_tensors_of_a_device_by_way_of_the_host(apart: Callable[..., Traced], tmp_path: Path) -> None:
    program = apart(
        _GLOO.replace("STORE", str(tmp_path / "store"))
        + """
    dist.all_reduce(torch.ones(3))
    dist.all_reduce(x, group=nccl)
    dist.barrier()
    dist.broadcast(torch.ones(2), 0)
    objects = [None]
    dist.all_gather_object(objects, 1)
    dist.all_reduce(x)  # d2h all_reduce, h2d all_reduce, sync all_reduce
    dist.all_reduce(x, op=dist.ReduceOp.AVG, group=host)  # d2h all_reduce, h2d all_reduce, sync all_reduce
    dist.broadcast(x, 0)  # d2h broadcast, h2d broadcast, sync broadcast
    dist.reduce(x, 0)  # d2h reduce, h2d reduce, sync reduce
    outs = [torch.empty_like(x)]
    dist.all_gather(outs, x)  # d2h all_gather, h2d all_gather, sync all_gather
    dist.gather(x, outs, 0)  # d2h gather, h2d gather, sync gather
    dist.scatter(outs[0], [x], 0)  # d2h scatter, h2d scatter, sync scatter
    dist.all_to_all_single(outs[0], x)  # d2h all_to_all_single, h2d all_to_all_single, sync all_to_all_single
    work = dist.all_reduce(x, async_op=True)  # d2h all_reduce, h2d all_reduce
    of_host = dist.all_reduce(torch.ones(3), async_op=True)
    of_host.wait()
    work.wait()  # sync all_reduce
    work.wait()
    left = x.tolist(), outs[0].is_cuda  # sync tolist
    dist.destroy_process_group()
        """
    )
    assert program.lines() == program.expected()
    assert program.names["left"] == ([1.0] * 4, True)
    assert {e.detail for e in program.events if e.kind in ("h2d", "d2h")} == {"pinned, non_blocking"}


@pytest.mark.skipif(not torch.distributed.is_available(), reason="torch without distributed")
def test_ddp_on_gloo_waits_for_gradients_and_buffers(apart: Callable[..., Traced], tmp_path: Path) -> None:
    """The buffers of a batch norm are one broadcast for each of their two dtypes, the gradients one bucket."""
    program = apart(
        _GLOO.replace("STORE", str(tmp_path / "store"))
        + """
    from torch.nn.parallel import DistributedDataParallel as DDP
    for group in (nccl, host):
        norm = torch.nn.BatchNorm1d(4, device="cuda")  # h2d tensor x2
        ddp = DDP(torch.nn.Sequential(torch.nn.Linear(4, 4, device="cuda"), norm), process_group=group)
        if group is host:
            out = ddp(x.expand(2, 4))  # d2h broadcast x2, h2d broadcast x2, sync broadcast x2
            out.sum().backward()  # d2h all_reduce, h2d all_reduce, sync all_reduce
        else:
            ddp(x.expand(2, 4)).sum().backward()
    dist.destroy_process_group()
        """
    )
    lines = {line: found for line, found in program.lines().items() if not line.startswith("ddp = DDP")}
    assert lines == program.expected()


@pytest.mark.skipif(not torch.distributed.is_available(), reason="torch without distributed")
def test_ddp_under_a_mode_that_counts(apart: Callable[..., Traced], tmp_path: Path) -> None:
    """A dispatch mode calls again what C++ called: memory that C++ makes is then still nobody's."""
    program = apart(
        f"""
        import torch
        import torch.distributed as dist
        from torch.utils.flop_counter import FlopCounterMode
        dist.init_process_group("nccl", init_method="file://{tmp_path}/store", rank=0, world_size=1)
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4).cuda(), find_unused_parameters=True)
        with FlopCounterMode(display=False):
            model(torch.randn(2, 4, device="cuda")).sum().backward()
        done = model.module.weight.grad.is_cuda
        dist.destroy_process_group()
        """
    )
    assert program.names["done"]


def test_zeros_of_a_derivative_are_no_copies(traced: Callable[..., Traced]) -> None:
    program = traced(
        """
        import torch
        class Positive(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x): return x * 2
            @staticmethod
            def backward(ctx, g):
                return torch.where(g > 0, g, torch.tensor(0.0))  # h2d where
        x = torch.randn(4, device="cuda", requires_grad=True)
        torch.where(x > 0, x, 0.0).sum().backward()
        Positive.apply(x).sum().backward()
        """
    )
    assert program.lines() == program.expected()


def test_nms_of_torchvision_waits(traced: Callable[..., Traced]) -> None:
    if importlib.util.find_spec("torchvision") is not None:
        pytest.skip("torchvision has the operator")
    program = traced(
        """
        import torch
        library = torch.library.Library("torchvision", "FRAGMENT")
        library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        library.impl("nms", lambda dets, scores, threshold: torch.arange(2), "CPU")
        boxes = torch.rand(3, 4)
        torch.ops.torchvision.nms(boxes, boxes[:, 0], 0.5)
        boxes = torch.rand(3, 4, device="cuda")
        kept = torch.ops.torchvision.nms(boxes, boxes[:, 0], 0.5).is_cuda  # sync nms
        """
    )
    assert program.lines() == program.expected()
    assert program.names["kept"]


@pytest.mark.skipif(not torch.distributed.is_available(), reason="torch without distributed")
def test_distributed_with_one_process(apart: Callable[..., Traced], tmp_path: Path) -> None:
    source = _DISTRIBUTED.replace("STORE", str(tmp_path / "store"))
    of_the_cpu = apart(source.replace("DEVICE", "'cpu'"), virtual=False)
    program = apart(source.replace("DEVICE", "'cuda'"))
    assert program.names["losses"] == of_the_cpu.names["losses"]
    assert [(e.kind, e.name, e.count) for e in program.events if e.kind != "h2d"] == [
        ("sync", "item", 1),
        ("sync", "barrier", 1),
        ("sync", "item", 3),
    ]


@pytest.mark.filterwarnings("ignore:Sparse")
def test_zeros_without_memory_join_the_device(traced: Callable[..., Traced]) -> None:
    program = traced(
        """
        import torch
        weight = torch.nn.Parameter(torch.ones(2, 2, device="cuda"))
        torch.sgn(weight).sum().backward()
        torch.optim.Adam([weight]).step()
        host = torch.nn.Parameter(torch.ones(2))
        torch.sgn(host).sum().backward()
        torch.optim.Adam([host]).step()
        product = torch.smm(weight.detach().to_sparse(), weight.detach())  # sync to_sparse
        rows = weight.detach().to_sparse_csr()  # sync to_sparse
        cells = torch.sparse_coo_tensor(torch.tensor([[1, 0], [0, 1]], device="cuda"), weight.detach()[0], (2, 2))  # h2d tensor
        cells.to_sparse_csr()  # sync coalesce
        cells = cells.coalesce()  # sync coalesce
        rows = cells.to_sparse_csr()
        again = rows.to_sparse_coo()
        where = [str(one.device) for one in (weight.grad, host.grad, product, rows, again)]
        """
    )
    assert program.lines() == program.expected()
    assert program.names["where"] == ["cuda:0", "cpu", "cuda:0", "cuda:0", "cuda:0"]


@pytest.mark.filterwarnings("ignore:Sparse")
def test_sparse_layouts(traced: Callable[..., Traced]) -> None:
    program = traced(
        """
        import torch
        dense = torch.eye(4, device="cuda")
        columns = dense.to_sparse_csc()  # sync to_sparse
        blocks = dense.to_sparse_bsr((2, 2))  # sync to_sparse
        dense.to_sparse_bsc((2, 2))  # sync to_sparse
        cells = dense.to_sparse().coalesce()  # sync to_sparse
        rows = cells.to_sparse_csr()
        cells.to_sparse_csc()  # sync coalesce
        rows.to_sparse_csc().to_sparse_csr()  # sync to_sparse x2
        blocks.to_sparse_bsc((2, 2))  # sync to_sparse
        rows.to_sparse_bsr((2, 2))  # d2h to_sparse_bsr, sync copy, h2d to_sparse_bsr
        where = [str(one.device) for one in (columns, blocks, rows)]
        """
    )
    assert program.lines() == program.expected()
    assert program.names["where"] == ["cuda:0"] * 3


@pytest.mark.filterwarnings("ignore")
def test_tensors_that_run_their_operators_in_python(traced: Callable[..., Traced]) -> None:
    program = traced(
        """
        import torch
        from torch.utils._pytree import tree_map
        class Careful(torch.Tensor):
            @staticmethod
            def __new__(cls, inner):
                return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, device=inner.device)
            def __init__(self, inner):
                self.inner = inner
            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                args = tree_map(lambda one: one.inner if isinstance(one, Careful) else one, args)
                assert not args[0].isnan().any()  # sync bool
                return Careful(func(*args, **(kwargs or {})))
        careful = Careful(torch.ones(3, device="cuda")) + 1
        parts = [torch.ones(n, 4, device="cuda") for n in (3, 1)]
        model = torch.nn.Linear(4, 4).to("cuda")  # h2d to x2
        nested = torch.nested.nested_tensor(parts, layout=torch.jagged)  # h2d tensor
        out = model(nested).relu()
        out.to_padded_tensor(0.0).sum().backward()
        nested.unbind()  # sync tolist
        torch.nested.nested_tensor([torch.ones(2)], layout=torch.jagged).unbind()
        packed = torch.nn.utils.rnn.pack_padded_sequence(torch.ones(2, 3, 4, device="cuda"), torch.tensor([3, 1]), True)
        torch.nn.GRU(4, 4, batch_first=True, device="cuda")(packed)
        lazy = torch.nn.LazyLinear(3).to("cuda")
        made = lazy(torch.ones(2, 4, device="cuda"))
        from torch._subclasses.fake_tensor import FakeTensorMode
        with FakeTensorMode():
            shape = (torch.ones(3) + 1).shape
        from torch.fx.experimental.proxy_tensor import make_fx
        nodes = len(make_fx(lambda x: x.sin() + 1)(torch.ones(2, device="cuda")).graph.nodes)
        where = [str(one.device) for one in (careful, careful.inner, out, out.values(), model.weight.grad, made)]
        """
    )
    assert program.lines() == program.expected()
    assert program.names["where"] == ["cuda:0"] * 6
    assert (program.names["shape"], program.names["nodes"]) == ((3,), 4)


@pytest.mark.filterwarnings("ignore")
def test_modes_of_the_program_stay_as_they_were(traced: Callable[..., Traced]) -> None:
    """A tensor that runs its operators in Python has the virtual GPU's mode put back for it, and nothing else moves."""
    program = traced(
        """
        import torch
        from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack
        class Calls(TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                return func(*args, **(kwargs or {}))  # sync tolist
        parts = [torch.ones(n, 4) for n in (3, 1)]
        host = torch.nested.nested_tensor(parts, layout=torch.jagged)
        host.unbind()
        nested = host.to("cuda")  # h2d to
        with Calls(), torch.device("cpu"):
            before = _get_current_function_mode_stack()
            nested.unbind()
            same = _get_current_function_mode_stack() == before
        """
    )
    waits = {line: found for line, found in program.lines().items() if "sync" in line}
    assert waits == {line: found for line, found in program.expected().items() if "sync" in line}
    assert program.names["same"]


@pytest.mark.filterwarnings("ignore")
def test_quantizers_are_made_on_the_host(traced: Callable[..., Traced]) -> None:
    program = traced(
        """
        import torch
        x = torch.ones(4, device="cuda")
        scale, zero = torch.ones((), device="cuda"), torch.zeros((), dtype=torch.int64, device="cuda")
        torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)
        torch.quantize_per_channel(x[:, None], torch.ones(4, device="cuda"), zero.expand(4), 0, torch.qint8)  # sync quantize_per_channel
        torch.fake_quantize_per_tensor_affine(x, scale, zero.int(), 0, 255)
        torch.quantize_per_tensor(x, scale, zero, torch.qint8)  # sync quantize_per_tensor
        torch.quantize_per_tensor_dynamic(x, torch.qint8, False)  # sync quantize_per_tensor_dynamic
        """
    )
    assert program.lines() == program.expected()


def test_modules_for_a_build_with_cuda_can_be_imported(traced: Callable[..., Traced]) -> None:
    program = traced(
        """
        import torch
        torch.compiler.cudagraph_mark_step_begin()
        """
    )
    assert program.lines() == {}


@pytest.mark.filterwarnings("ignore")
def test_dtensors_of_one_process(apart: Callable[..., Traced], tmp_path: Path) -> None:
    program = apart(
        f"""
        import torch
        import torch.distributed as dist
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard
        from torch.distributed.tensor import Replicate, Shard, distribute_tensor
        dist.init_process_group("nccl", init_method="file://{tmp_path}/store", rank=0, world_size=1)
        mesh = init_device_mesh("cuda", (1,))
        weight = distribute_tensor(torch.ones(4, 2, device="cuda", requires_grad=True), mesh, [Shard(0)])
        out = (distribute_tensor(torch.ones(3, 4, device="cuda"), mesh, [Replicate()]) @ weight).relu().sum()
        out.backward()
        model = torch.nn.Linear(4, 2).cuda()  # h2d cuda x2
        fully_shard(model)
        optimizer = torch.optim.Adam(model.parameters())
        model(torch.ones(2, 4, device="cuda")).sum().backward()
        optimizer.step()
        value, where = float(out.full_tensor()), str(weight.grad.to_local().device)  # sync float
        dist.destroy_process_group()
        """
    )
    assert (program.names["value"], program.names["where"]) == (24.0, "cuda:0")


def test_gradients_come_back_over_a_copy(traced: Callable[..., Traced]) -> None:
    names = traced(
        """
        import torch
        host = torch.ones(3, requires_grad=True)
        (host.cuda() * 2).sum().backward()
        device = torch.ones(3, device="cuda", requires_grad=True)
        (device.cpu() * 3).sum().backward()
        twice = torch.ones(3, requires_grad=True)
        gradient, = torch.autograd.grad((twice.cuda() ** 3).sum(), twice, create_graph=True)
        gradient.sum().backward()
        devices = host.grad.device, device.grad.device, twice.grad.device
        """
    ).names
    assert names["devices"] == (torch.device("cpu"), torch.device("cuda", 0), torch.device("cpu"))
    assert names["twice"].grad.tolist() == [6.0, 6.0, 6.0]


def test_without_computing_shapes_and_events_stay(traced: Callable[..., Traced]) -> None:
    program = traced(
        """
        import torch
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 2)).cuda()  # h2d cuda x6
        output = model(torch.rand(5, 4, device="cuda"))
        output.sum().backward()
        shapes = [output.shape, *(parameter.grad.shape for parameter in model.parameters())]
        output.sum().item()  # sync item
        """,
        compute=False,
    )
    assert program.lines() == program.expected()
    assert program.names["shapes"] == [(5, 2), (8, 4), (8,), (8,), (8,), (2, 8), (2,)]
    assert program.names["output"].detach().abs().sum() == 0


# --- the rest of torch --------------------------------------------------------------------------------------------


def test_precision_contexts(traced: Callable[..., Traced]) -> None:
    names = traced(
        """
        import torch, warnings
        warnings.simplefilter("ignore")
        model, x = torch.nn.Linear(2, 2).cuda(), torch.rand(1, 2, device="cuda")
        with torch.autocast("cuda"):
            default, inside = model(x).dtype, (torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda"))
            with torch.autocast("cuda", enabled=False):
                nested = model(x).dtype
        with torch.cuda.amp.autocast(dtype=torch.bfloat16):
            deprecated = model(x).dtype
        outside = model(x).dtype, torch.is_autocast_enabled("cuda"), torch.is_autocast_enabled("cpu")
        scaler = torch.cuda.amp.GradScaler().is_enabled()
        """
    ).names
    assert (names["default"], names["inside"]) == (torch.float16, (True, torch.float16))
    assert (names["nested"], names["deprecated"]) == (torch.float32, torch.bfloat16)
    assert (names["outside"], names["scaler"]) == ((torch.float32, False, False), True)


def test_saving_and_loading(traced: Callable[..., Traced]) -> None:
    program = traced(
        """
        import io, torch
        x = torch.arange(4.0).cuda()  # h2d cuda
        buffer = io.BytesIO()
        torch.save({"x": x, "view": x[1:]}, buffer)  # d2h save, sync copy
        def load(**options):
            buffer.seek(0)
            return torch.load(buffer, **options)["view"]
        devices = [load(map_location=place).device.type for place in ("cpu", "cuda", "cuda:0", torch.device("cuda"))]
        devices += [load(map_location={"cuda:0": "cpu"}).device.type, load().device.type]
        devices += [load(map_location=lambda storage, place: storage).device.type]
        devices += [load(map_location=lambda storage, place: storage.cuda(0)).device.type]
        """
    )
    assert program.names["devices"] == ["cpu", "cuda", "cuda", "cuda", "cpu", "cuda", "cpu", "cuda"]
    assert program.names["load"](map_location="cpu").tolist() == [1.0, 2.0, 3.0]
    assert program.lines()['torch.save({"x": x, "view": x[1:]}, buffer)  # d2h save, sync copy'] == {
        "d2h save": 1,
        "sync copy": 1,
    }
    assert program.lines()['return torch.load(buffer, **options)["view"]'] == {"h2d load": 4}


def test_streams_events_and_random_state(traced: Callable[..., Traced]) -> None:
    program = traced(
        """
        import torch
        stream, start, end = torch.cuda.Stream(), torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        x = torch.ones(4, device="cuda")
        start.record()
        with torch.cuda.stream(stream):
            y = x * 2
        torch.cuda.current_stream().wait_stream(stream)
        y.record_stream(torch.cuda.current_stream())
        end.record()
        torch.cuda.synchronize()  # synchronize device
        elapsed = start.elapsed_time(end) >= 0
        with torch.cuda.device(0), torch.cuda.device_of(x): pass
        torch.cuda.set_device("cuda:0"), torch.cuda.manual_seed_all(1), torch.backends.cudnn.is_available()
        torch.backends.cuda.matmul.allow_tf32 = True
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.cuda.nvtx.range_push("a"), torch.cuda.nvtx.range_pop(), torch.cuda.profiler.start(), torch.cuda.profiler.stop()
        torch.cuda.set_rng_state(torch.cuda.get_rng_state()), torch.cuda.set_rng_state_all(torch.cuda.get_rng_state_all())
        generator = torch.Generator("cuda").manual_seed(5)
        drawn = torch.rand(3, device="cuda", generator=generator)
        kinds = isinstance(generator, torch.Generator), isinstance(torch.Generator(), torch.Generator), generator.device
        """
    )
    assert program.lines() == program.expected()
    assert program.names["elapsed"]
    assert program.names["kinds"] == (True, True, torch.device("cuda", 0))
    expected = torch.rand(3, generator=torch.Generator().manual_seed(5))
    assert program.names["drawn"].tolist() == expected.tolist()


def test_attention_backends_checkpointing_and_recurrent_nets(traced: Callable[..., Traced]) -> None:
    program = traced(
        """
        import torch
        from torch import nn
        from torch.nn.attention import SDPBackend, sdpa_kernel
        from torch.utils.checkpoint import checkpoint
        q = torch.rand(1, 2, 4, 8, device="cuda", dtype=torch.bfloat16)
        for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.CUDNN_ATTENTION):
            with sdpa_kernel(backend):
                nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True)
        x = torch.rand(5, 3, 8, device="cuda", requires_grad=True)
        block = nn.Sequential(nn.Linear(8, 8, device="cuda"), nn.Dropout())
        for reentrant in (True, False):
            with torch.autocast("cuda", dtype=torch.bfloat16):
                checkpoint(block, x, use_reentrant=reentrant).sum().backward()
        lstm = nn.LSTM(8, 8, 2, bidirectional=True, device="cuda")
        packed, state = lstm(nn.utils.rnn.pack_padded_sequence(x, torch.tensor([5, 3, 2])))
        output, lengths = nn.utils.rnn.pad_packed_sequence(packed)
        output.sum().backward()
        devices = x.grad.device.type, output.device.type, lengths.device.type, packed.batch_sizes.device.type
        """
    )
    assert program.lines() == program.expected()
    assert program.names["devices"] == ("cuda", "cuda", "cpu", "cpu")


def test_threads_have_the_gpu_too(traced: Callable[..., Traced]) -> None:
    program = traced(
        """
        import threading, torch
        from concurrent.futures import ThreadPoolExecutor
        def work():
            return torch.ones(2).cuda().sum()
        found = []
        thread = threading.Thread(target=lambda: found.append(work()))
        thread.start()
        thread.join()
        with ThreadPoolExecutor(1) as pool:
            found.append(pool.submit(work).result())
        """
    )
    assert [tags.is_cuda(tensor) for tensor in program.names["found"]] == [True, True]
    assert program.lines() == {"return torch.ones(2).cuda().sum()": {"h2d cuda": 2}}


def test_a_forked_process_has_no_gpu(traced: Callable[..., Traced]) -> None:
    names = traced(
        """
        import multiprocessing, torch
        x = torch.ones(2, device="cuda")
        def child(connection):
            try:
                torch.ones(2).cuda()
            except RuntimeError as error:
                connection.send(str(error))
        here, there = multiprocessing.Pipe()
        process = multiprocessing.get_context("fork").Process(target=child, args=(there,))
        process.start()
        error = here.recv()
        process.join()
        """
    ).names
    assert names["error"].startswith("Cannot re-initialize CUDA in forked subprocess")


def test_what_cannot_be_done_is_named(traced: Callable[..., Traced]) -> None:
    program = traced(
        """
        import torch
        x = torch.ones(2, device="cuda")
        graph = torch.cuda.CUDAGraph()  # unsupported CUDA graph
        with torch.cuda.graph(graph):  # synchronize device, empty_cache empty_cache, unsupported CUDA graph
            y = x + 1
        model = torch.cuda.make_graphed_callables(torch.nn.ReLU(), (x,))  # synchronize device, empty_cache empty_cache, unsupported CUDA graph
        hasattr(x, "__cuda_array_interface__")  # unsupported __cuda_array_interface__
        torch.cuda.utilization()  # unsupported torch.cuda.utilization
        torch.cuda.memory._record_memory_history()  # unsupported torch.cuda.memory._record_memory_history
        torch.multiprocessing.spawn(lambda rank: x + rank, nprocs=2)  # unsupported several processes
        """
    )
    assert program.lines() == program.expected()
    assert program.names["model"](program.names["x"]).tolist() == [1.0, 1.0]


def test_compilers_see_plain_tensors(traced: Callable[..., Traced]) -> None:
    program = traced(
        """
        import torch
        from torchlint.trace.eager.virtual import plain
        x = torch.rand(4, device="cuda")
        torch.set_default_device("cuda")
        with plain():
            inside = x.device.type, torch.rand(1).device.type, x.sum().item() > 0, repr(x).endswith(")")
            compiled = torch.compile(lambda value: torch.nn.functional.relu(value) + 1, backend="eager")(x)
        outside = x.device.type, torch.rand(1).device.type
        torch.set_default_device(None)
        scripted = torch.jit.script(torch.nn.Sequential(torch.nn.Linear(4, 2, device="cuda"), torch.nn.ReLU()))(x)
        """
    )
    assert program.events == []
    assert program.names["inside"] == ("cpu", "cpu", True, True)
    assert program.names["outside"] == ("cuda", "cuda")
    assert [tags.is_cuda(program.names[name]) for name in ("compiled", "scripted")] == [False, True]
    with plain():  # without a virtual GPU it changes nothing
        assert torch.zeros(1).device == torch.device("cpu")


def test_hidden_syncs_name_the_library(traced: Callable[..., Traced]) -> None:
    program = traced(
        """
        import torch
        zeros, ones = torch.zeros(2, device="cuda"), torch.ones(2, device="cuda")
        normal = torch.distributions.Normal(zeros, ones, validate_args=True)  # sync bool x2
        normal.sample()  # sync normal
        """
    )
    assert program.lines() == program.expected()
    libraries = {event.name: str((event.data or {})["via"]).split(":")[0] for event in program.events}
    assert libraries == {"bool": "torch/distributions/distribution.py", "normal": "torch/distributions/normal.py"}


def test_private_torch_is_as_expected() -> None:
    from torchlint.trace.eager.private import self_test

    assert self_test() == []


@pytest.fixture
def stand_in_for_triton(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a launch goes through, in a package of its own."""
    package = tmp_path / "site-packages" / "triton"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "runtime.py").write_text(
        textwrap.dedent(
            """
            class JITFunction:
                def __init__(self, function): self.fn = function
                def run(self, *args, grid): raise RuntimeError("0 active drivers")
                def __getitem__(self, grid): return lambda *args: self.run(*args, grid=grid)
            """
        )
    )
    monkeypatch.syspath_prepend(package.parent)
    yield
    for name in ("triton", "triton.runtime"):
        sys.modules.pop(name, None)


@pytest.mark.skipif(importlib.util.find_spec("triton") is not None, reason="the real one is installed")
@pytest.mark.usefixtures("stand_in_for_triton")
def test_custom_kernels_are_named(traced: Callable[..., Traced]) -> None:
    program = traced(
        """
        import torch
        from torch.utils.cpp_extension import load
        from triton.runtime import JITFunction
        @JITFunction
        def add_kernel(x, y): pass
        x = torch.ones(2, device="cuda")
        add_kernel[(1,)](x, x)  # operator Triton kernel add_kernel, unsupported Triton kernel add_kernel
        new, set_ = torch.empty_like(x), torch.empty(2, device="cuda").fill_(3.0)
        kept = add_kernel[(1,)](new, set_), new.tolist(), set_.tolist()  # sync tolist x2, operator Triton kernel add_kernel, unsupported Triton kernel add_kernel
        try: load("fast", sources=["fast.cu"], build_directory="/nowhere")  # unsupported CUDA extension fast
        except Exception as error: failed = True
        """
    )
    assert program.lines() == program.expected()
    assert program.names["failed"]
    assert program.names["kept"] == (None, [0.0, 0.0], [3.0, 3.0])


def test_data_parallel_on_the_one_gpu(traced: Callable[..., Traced]) -> None:
    program = traced(
        """
        import torch
        from torch import nn
        model = nn.DataParallel(nn.Linear(4, 2)).cuda()  # h2d to x2
        output = model(torch.rand(3, 4, device="cuda"))
        also = model(torch.rand(3, 4))  # h2d to
        """
    )
    assert program.lines() == program.expected()
    assert [tags.is_cuda(program.names[name]) for name in ("output", "also")] == [True, True]


# --- a real GPU, as far as that goes without one ------------------------------------------------------------------


@pytest.fixture
def debug_modes(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What torch is told to warn of, where there is no CUDA to be told."""
    modes: list[object] = []
    monkeypatch.setattr(torch.cuda, "set_sync_debug_mode", modes.append)
    monkeypatch.setattr(torch.cuda, "get_sync_debug_mode", lambda: 0)
    return modes


def test_a_real_gpu_tells_its_syncs_by_warnings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, debug_modes: list[object]
) -> None:
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    recorder = Recorder(tmp_path / "events.jsonl")
    with real_gpu(recorder):
        warnings.warn("called a synchronizing CUDA operation (Triggered internally at ...)", UserWarning, stacklevel=1)
        torch.cuda.synchronize()
        torch.zeros(2).to(torch.float64).copy_(torch.ones(2))
    recorder.close()
    events = [Event.from_json(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert [(event.kind, event.name) for event in events] == [("sync", "sync"), ("synchronize", "device")]
    assert debug_modes == ["warn", "default", "warn", 0]


class _Waiting(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Warns in operators as CUDA would."""

    def __torch_dispatch__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> Any:
        if func in (
            torch.ops.aten._local_scalar_dense.default,
            torch.ops.aten.nonzero.default,
            torch.ops.aten.index.Tensor,
            torch.ops.aten.where.self,
        ):
            warnings.warn("called a synchronizing CUDA operation", stacklevel=1)
        return func(*args, **(kwargs or {}))


class _WaitingData(TorchFunctionMode):
    """Warns where data of Python become a tensor, which no operator tells."""

    def __torch_function__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.tensor:
            warnings.warn("called a synchronizing CUDA operation", stacklevel=1)
        return func(*args, **(kwargs or {}))


@pytest.mark.usefixtures("debug_modes")
def test_a_wait_on_a_real_gpu_has_the_name_of_what_waits(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "events.jsonl")
    x, one, rows = torch.ones(4), torch.ones(()), torch.tensor([0, 2])
    with _Waiting(), _WaitingData(), real_gpu(recorder):  # type: ignore[no-untyped-call]
        one.item()
        bool(one)
        torch.nonzero(x)
        x[rows]
        torch.where(x > 0, x, one)
        torch.tensor([1.0])
    recorder.close()
    events = [Event.from_json(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert [(event.kind, event.name) for event in events] == [
        ("sync", "item"),
        ("sync", "bool"),
        ("sync", "nonzero"),
        ("h2d", "index"),
        ("h2d", "where"),
        ("h2d", "tensor"),
    ]


@pytest.mark.usefixtures("debug_modes")
def test_dynamo_sees_no_mode_of_functions_on_a_real_gpu(tmp_path: Path) -> None:
    before = torch._C._len_torch_function_stack()
    recorder = Recorder(tmp_path / "events.jsonl")
    with real_gpu(recorder, named=False):
        inside = torch._C._len_torch_function_stack()
    recorder.close()
    assert inside == before


@pytest.mark.usefixtures("debug_modes")
def test_lengths_on_the_host_stay_there_on_a_real_gpu(tmp_path: Path) -> None:
    """Under a mode torch takes an operator that wants them on the device, where a program has them on the host."""
    called: list[str] = []

    class Below(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __torch_dispatch__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> Any:
            called.extend([str(func)] if "ctc" in str(func) else [])
            return func(*args, **(kwargs or {}))

    scores = torch.randn(6, 2, 4).log_softmax(-1).requires_grad_()
    targets, lengths = torch.ones(2, 3, dtype=torch.long), torch.tensor([6, 6])
    plain = torch.nn.functional.ctc_loss(scores, targets, lengths, torch.tensor([3, 2]))
    (wanted,) = torch.autograd.grad(plain, scores)
    recorder = Recorder(tmp_path / "events.jsonl")
    with Below(), real_gpu(recorder):  # type: ignore[no-untyped-call]
        loss = torch.nn.functional.ctc_loss(scores, targets, lengths, torch.tensor([3, 2]))
        (gradient,) = torch.autograd.grad(loss, scores)
    recorder.close()
    assert called == ["aten._ctc_loss.default", "aten._ctc_loss_backward.default"]
    assert torch.equal(loss, plain)
    assert torch.equal(gradient, wanted)
