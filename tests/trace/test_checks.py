"""What is observed for the checks that no rule makes: waiting for data, precision, DDP, CUDA graphs."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from torchlint.evidence.confirm import discover
from torchlint.evidence.tracing import trace
from torchlint.messages.job import Job
from torchlint.trace.compiled.recording import cudagraph_skips
from torchlint.trace.program.recorder import Recorder

pytestmark = pytest.mark.torch

PROGRAM = """
import os, time
import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __len__(self): return 64
    def __getitem__(self, index):
        time.sleep(0.01)
        return torch.ones(8)

os.environ.update(MASTER_ADDR="localhost", MASTER_PORT="0", RANK="0", WORLD_SIZE="1")
torch.distributed.init_process_group("nccl")
model = DistributedDataParallel(torch.nn.Linear(8, 8).cuda(), find_unused_parameters=True)  # TLT13
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for x in DataLoader(Rows(), 8):  # TLT05
    x = x.cuda()  # TLT06
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model(x).sum()
        odd = x[:, :7] @ x[:, :7].T  # TLT11
    loss.backward()
    optimizer.step()
    exact = x.double() @ x.double().T  # TLT11
    plain = x @ x.T  # TLT11
    host = torch.ones(8, 8).double() @ torch.ones(8, 8).double()
"""


def test_each_check_is_at_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(PROGRAM)
    traced = trace(Job("train.py", (), "eager", "", device="virtual"), "eager")
    marked = {(line.partition("# ")[2], n) for n, line in enumerate(PROGRAM.splitlines(), 1) if "# TLT" in line}

    assert "stopped" == traced.children[0].end.name, traced.children[0].errors
    assert marked == {(finding.code, finding.line) for finding in discover(traced.events)}


def test_skipped_cuda_graphs_are_counted(tmp_path: Path) -> None:
    import torch._dynamo.utils

    recorder = Recorder(tmp_path / "events.jsonl")
    with cudagraph_skips(recorder):
        torch._dynamo.utils.counters["inductor"]["cudagraph_skips"] += 2
    recorder.close()

    assert (
        '"kind": "cudagraph_skip", "line": 0, "detail": "2 times", "count": 2'
        in (tmp_path / "events.jsonl").read_text()
    )
