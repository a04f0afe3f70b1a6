"""What a naive matcher reports and nobody should: each trap beside the code that it looks like, which is reported.

The traps are those that were met in real code when the rules were designed; the code here is our own.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from torchlint.lint.run import lint
from torchlint.rule import load
from torchlint.settings.config import Settings
from torchlint.torch_api.version import Range

PRELUDE = (
    "import torch\nfrom torch import nn\nfrom torch.nn import functional as F\n\ndevice = torch.device('cuda')\n\n"
)


@dataclass(frozen=True)
class Trap:
    codes: str
    """The rules that could fall for it, with a space between."""
    trap: str
    twin: str
    """Nearly the same, and reported by each of the rules."""
    torch: str = ""


def step(body: str, before: str = "", after: str = "") -> str:
    """A training loop with these lines in its step."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    end = "".join(f"    {line}\n" for line in after.splitlines())
    return (
        f"model = nn.Linear(8, 8).to(device)\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n{before}"
        f"for i, (x, y) in enumerate(loader):\n    loss = F.mse_loss(model(x.to(device)), y.to(device))\n"
        f"    optimizer.zero_grad()\n    loss.backward()\n{lines}    optimizer.step()\n{end}"
    )


ROLLOUT = """
agent = nn.Linear(8, 2).to(device)
optimizer = torch.optim.Adam(agent.parameters())
for update in range(100):
    for epoch in range(4):
        loss = agent(states).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
{inner}{outer}
"""

NORMS = """
def log_norms(model, writer, step):
    for name, p in model.named_parameters():
        writer.add_scalar(name, p.grad.norm().item(), step)

"""

ATTENTION = """
class Attention(nn.Module):
    def __init__(self, fused):
        super().__init__()
        self.fused = fused
        self.qkv = nn.Linear(64, 192)

    def forward(self, x: torch.Tensor):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        {fused}
        scores = (q @ k.transpose(-2, -1)) * 0.125
        return scores.softmax(dim=-1) @ v
"""

FORWARD = """
class Net(nn.Module):
    def forward(self, x: torch.Tensor, n: int):
        {line}
        return x

net = torch.compile(Net().to(device))
net(batch, 3)
"""

ACCUMULATED = """
model = nn.parallel.DistributedDataParallel(nn.Linear(8, 8).to(device))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for i, x in enumerate(loader):
    {line}
    loss = model(x).mean() / 4
    loss.backward()
    if (i + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
"""

TRAPS = {
    "rates of a schedule on the host": Trap(
        "TL101 TL105",
        "class Net(nn.Module):\n    def __init__(self, depth):\n        super().__init__()\n"
        "        self.rates = [r.item() for r in torch.linspace(0, 0.1, depth, device='cpu')]\n",
        step("parts = [p.item() for p in loss.unbind()]\nvalue = loss.item()"),
    ),
    "the step of a sampler is no training step": Trap(
        "TL101 TL112",
        "latents = torch.zeros(4, device=device)\nfor t in timesteps:\n    noise = predict(latents, t)\n"
        "    latents = scheduler.step(noise, t, latents)\n    torch.cuda.empty_cache()\n    seen.append(latents.sum().item())\n",
        step("torch.cuda.empty_cache()\nseen.append(loss.item())"),
    ),
    "logging after the epochs of an update": Trap(
        "TL104 TL101",
        ROLLOUT.format(inner="", outer="    writer.add_scalar('loss', loss.item(), update)\n"),
        ROLLOUT.format(
            inner="        writer.add_scalar('loss', loss.item(), update)\n        seen = loss.item()\n", outer=""
        ),
    ),
    "an action that the environment needs": Trap(
        "TL103",
        step("state, reward = envs.step(model(x.to(device)).argmax(1).cpu().numpy())"),
        step("kept.append(model(x.to(device)).argmax(1).cpu().numpy())"),
    ),
    "a synchronization in one step only": Trap(
        "TL112", step("if i == warmup_steps:\n    torch.cuda.synchronize()"), step("torch.cuda.synchronize()")
    ),
    "a function that is only called now and then": Trap(
        "TL101 TL104 TL105",
        NORMS + step("if i % 100 == 0:\n    log_norms(model, writer, i)"),
        NORMS
        + step("log_norms(model, writer, i)\nseen.append(loss.item())\nparts = [p.item() for p in loss.unbind()]"),
    ),
    "parts of a loss that is run backward": Trap(
        "TL502",
        step("", before="").replace(
            "    optimizer.zero_grad()\n    loss.backward()\n",
            "    loss = loss + model.weight.abs().mean()\n    optimizer.zero_grad()\n    loss.backward()\n",
        ),
        step("total = total + loss", before="total = 0\n"),
    ),
    "the branch beside a fused attention": Trap(
        "TL701",
        ATTENTION.format(fused="if self.fused:\n            return F.scaled_dot_product_attention(q, k, v)"),
        ATTENTION.format(fused="v = v.contiguous()"),
    ),
    "a router's softmax": Trap(
        "TL701",
        "class Router(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.gate = nn.Linear(64, 8)\n\n"
        "    def forward(self, x: torch.Tensor, experts: torch.Tensor):\n        weights = self.gate(x).softmax(dim=-1)\n"
        "        return torch.bmm(weights, experts)\n",
        ATTENTION.format(fused="pass"),
    ),
    "repeats by a number": Trap(
        "TL109",
        step("keys = x.to(device).repeat_interleave(4, dim=1)"),
        step("keys = x.to(device).repeat_interleave(torch.ones(8, device=device).long(), dim=0)"),
    ),
    "the first of a dictionary": Trap(
        "TL408",
        step("first = next(iter(sizes.values()))"),
        step("first = next(iter(torch.utils.data.DataLoader(held)))"),
    ),
    "a name that is made anew on each turn": Trap(
        "TL306",
        "embeds = torch.zeros(1, 8, device=device)\nfor prompt in prompts:\n    prompt_embeds = encode(prompt)\n"
        "    prompt_embeds = torch.cat([embeds, prompt_embeds])\n    show(prompt_embeds)\n",
        "states = torch.zeros(1, 8, device=device)\nfor _ in range(100):\n    states = torch.cat([states, model(states[:, -1:])], dim=1)\n",
    ),
    "blocks that are compiled at set-up": Trap(
        "TL211",
        "def prepare(model: nn.Module):\n    for i, block in enumerate(model.layers):\n        model.layers[i] = torch.compile(block)\n    return model\n",
        step("fast = torch.compile(model)"),
    ),
    "a function that is compiled once": Trap(
        "TL211",
        "class Net(nn.Module):\n    compiled = None\n\n    def forward(self, x):\n        if self.compiled is None:\n"
        "            self.compiled = torch.compile(self.run)\n        return self.compiled(x)\n\n    def run(self, x):\n        return x * 2\n",
        "class Net(nn.Module):\n    def forward(self, x):\n        return torch.compile(self.run)(x)\n\n    def run(self, x):\n        return x * 2\n",
    ),
    "gradients that are made where there were none": Trap(
        "TL501",
        step("for p in model.parameters():\n    if p.grad is None:\n        p.grad = torch.zeros_like(p)"),
        step("optimizer.zero_grad(set_to_none=False)"),
    ),
    "launches that are not blocked": Trap(
        "TL504",
        "import os\nos.environ['CUDA_LAUNCH_BLOCKING'] = '0'\n\ndef enable_full_determinism():\n    os.environ['CUDA_LAUNCH_BLOCKING'] = '1'\n",
        "import os\nos.environ['CUDA_LAUNCH_BLOCKING'] = '1'\n" + step(""),
    ),
    "a copy to the host that nobody reads": Trap(
        "TL403",
        "def offload(cache: dict[str, torch.Tensor], keys: torch.Tensor):\n    cache['keys'] = keys.cuda().to('cpu', non_blocking=True)\n",
        "def offload(keys: torch.Tensor):\n    host = keys.cuda().to('cpu', non_blocking=True)\n    return host.numpy()\n",
    ),
    "a gradient exchange that is switched off by hand": Trap(
        "TL803",
        ACCUMULATED.format(line="model.require_backward_grad_sync = (i + 1) % 4 == 0"),
        ACCUMULATED.format(line="x = x.to(device)"),
    ),
    "a read on purpose where the time is taken": Trap(
        "TLM01 TL101",
        "import time\n"
        + step(
            "",
            before="start = time.time()\n",
            after="if i % 10 == 0:\n    value = loss.item()\n    print(value, time.time() - start)\n    start = time.time()",
        ),
        "import time\nmodel = nn.Linear(8, 8).to(device)\n\ndef measure(x):\n    start = time.time()\n    model(x.to(device))\n"
        "    return time.time() - start\n\n" + step("value = loss.item()"),
    ),
    "data that is in memory": Trap(
        "TL401",
        "from torch_geometric.loader import DataLoader\nheld = torch.utils.data.TensorDataset(torch.zeros(8, 2))\n"
        "loader = torch.utils.data.DataLoader(held, num_workers=0, pin_memory=True)\n"
        + step("pass")
        + "b = DataLoader(graphs, num_workers=0)\n",
        "loader = torch.utils.data.DataLoader(Images('folder'), num_workers=0)\n" + step("pass"),
    ),
    "a recompile limit for many shapes": Trap(
        "TL212",
        "torch._dynamo.config.recompile_limit = 32\n\n@torch.compile(dynamic=False)\ndef precondition(x):\n    return x @ x.T\n",
        "torch._dynamo.config.recompile_limit = 10000\n\n@torch.compile\ndef precondition(x):\n    return x @ x.T\n",
    ),
    "marks for a compiler that nobody calls": Trap(
        "TL904",
        "class Net(nn.Module):\n    @torch.jit.ignore\n    def groups(self):\n        return []\n\n    @torch.jit.export\n    def size(self):\n        return 1\n",
        "class Net(nn.Module):\n    def forward(self, x):\n        return x\n\nscripted = torch.jit.script(Net())\n",
    ),
    "parameters that are filled later": Trap(
        "TL910",
        "class Net(nn.Module):\n    def __init__(self, rows, columns):\n        super().__init__()\n        self.weight = nn.Parameter(torch.Tensor(rows, columns))\n",
        step("x = torch.autograd.Variable(x)"),
    ),
    "a target network that follows now and then": Trap(
        "TL708",
        step(
            "if i % 500 == 0:\n    for p, q in zip(model.parameters(), target.parameters()):\n        q.data.copy_(0.01 * p.data + 0.99 * q.data)"
        ),
        step(
            "for p, q in zip(model.parameters(), target.parameters()):\n    q.data.copy_(0.01 * p.data + 0.99 * q.data)"
        ),
    ),
    "a scaler that is on with float16 only": Trap(
        "TL605",
        step(
            "",
            before="dtype = 'float16' if old else 'bfloat16'\nscaler = torch.amp.GradScaler('cuda', enabled=(dtype == 'float16'))\n",
        )
        .replace("loss.backward()", "scaler.scale(loss).backward()")
        .replace("optimizer.step()", "scaler.step(optimizer)\n    scaler.update()"),
        "scaler = torch.amp.GradScaler('cuda')\nmodel = nn.Linear(8, 8).to(device)\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "for x in loader:\n    with torch.autocast('cuda', dtype=torch.bfloat16):\n        loss = model(x.to(device)).mean()\n"
        "    scaler.scale(loss).backward()\n    scaler.step(optimizer)\n    scaler.update()\n",
    ),
    "an assertion with a constant message": Trap(
        "TL202",
        FORWARD.format(line="assert (x > 0).all(), 'negative'"),
        FORWARD.format(line="assert (x > 0).all(), f'negative: {x}'"),
        torch=">=2.13",
    ),
    "a print beside a compiled forward": Trap(
        "TL203",
        "def show(x):\n    print(x.shape)\n\n" + FORWARD.format(line="x = x * n"),
        FORWARD.format(line="print(x.shape)"),
    ),
}


def found(code: str, trap: Trap) -> set[str]:
    """The codes that are reported, of all rules."""
    rules = frozenset(load())
    settings = Settings(codes=rules, fixable=rules, target_torch=Range.stated(trap.torch) if trap.torch else None)
    result = lint({"program.py": (PRELUDE + code).encode()}, settings)
    assert () == result.errors
    return {finding.code for finding in result.findings}


@pytest.mark.parametrize("name", TRAPS)
def test_nobody_falls_for_it(name: str) -> None:
    trap = TRAPS[name]
    assert set() == found(trap.trap, trap) & set(trap.codes.split())


@pytest.mark.parametrize("name", TRAPS)
def test_what_it_looks_like_is_reported(name: str) -> None:
    trap = TRAPS[name]
    assert set(trap.codes.split()) == found(trap.twin, trap) & set(trap.codes.split())
