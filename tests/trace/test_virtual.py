"""The virtual GPU: programs that ask for CUDA run without one, and tell what a GPU would wait for and copy.

In the programs below a comment says which events its line causes, as `kind name`; a line without one causes none.
"""

from __future__ import annotations

import re
import runpy
import textwrap
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torchlint.event import Event  # noqa: E402
from torchlint.trace.recorder import Recorder  # noqa: E402
from torchlint.trace.virtual import plain, tags, virtual_gpu  # noqa: E402

pytestmark = pytest.mark.torch
_EXPECTED = re.compile(r"#\s+((?:sync|h2d|d2h|synchronize|empty_cache|unsupported) .*)$")


class Traced:
    """A program, what it left behind and the events it caused."""

    def __init__(self, source: str, names: dict[str, Any], events: list[Event]) -> None:
        self.source, self.names, self.events = source, names, events

    def lines(self) -> dict[str, Counter[str]]:
        """Counted events by line, the line named by its code."""
        code = self.source.splitlines()
        found: dict[str, Counter[str]] = {}
        for event in self.events:
            line = code[event.line - 1] if event.line else "?"
            found.setdefault(line.strip(), Counter())[f"{event.kind} {event.name}"] += event.count
        return found

    def expected(self) -> dict[str, Counter[str]]:
        """What the comments say; `x3` behind an event is its count."""
        found: dict[str, Counter[str]] = {}
        for line in self.source.splitlines():
            if match := _EXPECTED.search(line):
                counts: Counter[str] = Counter()
                for item in match[1].split(", "):
                    name, _, count = item.partition(" x")
                    counts[name] += int(count or 1)
                found[line.strip()] = counts
        return found


@pytest.fixture
def traced(tmp_path: Path) -> Callable[..., Traced]:
    def run(source: str, **options: Any) -> Traced:
        source = textwrap.dedent(source)
        script = tmp_path / "program.py"
        script.write_text(source)
        recorder = Recorder(tmp_path / "events.jsonl")
        try:
            with virtual_gpu(recorder, **options):
                names = runpy.run_path(str(script), run_name="__main__")
        finally:
            recorder.close()
        lines = (tmp_path / "events.jsonl").read_text().splitlines()
        (tmp_path / "events.jsonl").unlink()
        return Traced(source, names, [Event.from_json(line) for line in lines])

    return run


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
        x[0] = 1.0
        x[0, 0] = 2
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
        torch.multinomial(torch.ones(5, device="cuda"), 3, replacement=True), torch.bernoulli(x.sigmoid())
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
        x.detach()[i, 0] = 1.0  # sync index
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
        torch.multinomial(torch.ones(3, device="cuda"), 1)  # sync multinomial x2
        torch.normal(x.detach(), x.detach().abs())  # sync normal
        F.one_hot(labels)  # sync item
        torch.linalg.inv(torch.eye(3, device="cuda"))  # sync linalg
        torch.arange(i)  # sync item
        torch.tensor([one, one])  # sync item x2
        torch.full((2,), one)  # sync item
        4 in labels  # sync item
        x.to_sparse()  # sync to_sparse
        x.grad = torch.ones_like(x)
        torch.nn.utils.clip_grad_norm_([x], 1.0, error_if_nonfinite=True)  # sync bool
        """
    )
    assert program.lines() == program.expected()


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
        x[[0, 1]] = 1.0  # h2d index
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
        torch.nn.Linear(4, 2).cuda()  # h2d cuda x2
        torch.cuda.synchronize()  # synchronize device
        torch.cuda.current_stream().synchronize()  # synchronize stream
        torch.cuda.Event().synchronize()  # synchronize event
        torch.accelerator.synchronize()  # synchronize device
        torch.cuda.empty_cache()  # empty_cache empty_cache
        """
    )
    assert program.lines() == program.expected()


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
