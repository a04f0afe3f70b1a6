"""Copies of pinned batches; the situations have a device whose copies arrive late."""

from __future__ import annotations

from ..programs import PLACES, PRELUDE, Grid

_LOOP = """\
def train(device, GIVEN):
    weight = torch.nn.Parameter(torch.ones((), device="cpu"))
    optimizer = torch.optim.SGD([weight], lr=0.0)
    loader = torch.utils.data.DataLoader([(x, y)], collate_fn=copied, pin_memory=True)
    for LOOP:
        loss = weight * 2
        loss.backward()
        optimizer.step()
        BODY
        optimizer.zero_grad()  # a loop that ends with `return` runs once


def run(x, y):
    return train(x.device, TAKEN)
"""

_WRITES = {
    "written by a function in place": "r = {E}\ntorch.nn.functional.relu(x, inplace=True)\nreturn r",
    "written by out by name": "r = {E}\ntorch.mul(y, 2, out=x)\nreturn r",
    "written as data": "r = {E}\nx.data.zero_()\nreturn r",
    "written as an array": "r = {E}\nx.numpy()[...] = 0\nreturn r",
    "written through an earlier view": "v = x[..., :1]\nr = {E}\nv.zero_()\nreturn r",
    "written by another name": "other = x\nr = {E}\nother.zero_()\nreturn r",
    "written in a list": "r = {E}\ntorch._foreach_zero_([x])\nreturn r",
    "written by a function of ours": "r = {E}\nwipe(x)\nreturn r",
    "written by augmenting": "r = {E}\nx += 1\nreturn r",
    "written by a lambda": "r = {E}\n(lambda t: t.zero_())(x)\nreturn r",
    "written in a loop": "r = {E}\nfor t in (x, y):\n    t.zero_()\nreturn r",
    "copied into": "r = {E}\nx.copy_(y)\nreturn r",
    "written by map": "r = {E}\nlist(map(torch.Tensor.zero_, [x]))\nreturn r",
    "written by getattr": "r = {E}\ngetattr(x, 'zero_')()\nreturn r",
    "written as detached": "r = {E}\nx.detach().zero_()\nreturn r",
    "written in both": "r = {E}\nx.zero_(), y.zero_()\nreturn r",
    "written under a condition": "r = {E}\nif c:\n    x.fill_(3)\nreturn r",
    "written by an index of a view": "r = {E}\nx.view(-1)[0] = 5\nreturn r",
    "in a batch written by place": "r = {E}\nfor t in batch:\n    t.zero_()\nreturn r",
}

_COPIED = """


def copied(samples):
    return [t.detach().clone() for t in samples[0]]


def wipe(t):
    t.zero_()
"""

GRIDS = (
    Grid(
        fixed={
            "to": "{x}.to(device)",
            "to by name": "{x}.to(device=device)",
            "to the name of a device": '{x}.to("cuda")',
            "cuda": "{x}.cuda()",
            "cuda of a number": "{x}.cuda(0)",
            "to, in use": "{x}.to(device).sum()",
            "over lines": "{x}.to(\n    device,  # there\n)",
        },
        either={"to and cast": "{x}.to(device, torch.float16)"},
        refused={
            "without waiting": "{x}.to(device, non_blocking=True)",
            "cast": "{x}.to(torch.float16)",
            "to the host": '{x}.to("cpu")',
            "hidden": "{x}.to(**{'device': device})",
        },
        operands={"name": "x", "other": "y", "part": "batch[0]", "in parentheses": "(x)"},
        places={**PLACES, **_WRITES},
        hosts={
            "taken apart": _LOOP.replace("LOOP", "batch in loader").replace(
                "        BODY", "        x, y = batch\n        BODY"
            ),
            "in the loop": _LOOP.replace("LOOP", "x, y in loader").replace(
                "        BODY", "        batch = (x, y)\n        BODY"
            ),
        },
        prelude=PRELUDE + _COPIED,
        ambient="late copies",
    ),
)
