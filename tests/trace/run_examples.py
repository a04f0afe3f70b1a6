"""Runs the examples of rules' pages, given as files, in this process: what a page leaves free is supplied here.

`run_examples.py PASS results.json example.py ...` writes for each file "" or why it could not be run. An example's own
unused functions, modules and classes are called, with arguments chosen by the names of their parameters; in the compile
pass they are compiled unless the example compiles something itself.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

import numpy
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

ROUNDS = 4  # how often what an example defines is called, and how many batches a loader has
BATCH = 10
WIDTH = 8
CLASSES = 10


class Model(torch.nn.Module):
    """Ten numbers for each row of eight, and for each token."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(WIDTH, CLASSES)
        torch.nn.init.constant_(self.linear.bias, 3.0)
        self.embedding = torch.nn.Embedding(CLASSES, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        value: torch.Tensor = self.linear(x) if x.is_floating_point() else self.embedding(x)
        return value


def criterion(output: torch.Tensor, target: torch.Tensor | None = None, reduction: str = "mean") -> torch.Tensor:
    if target is None:
        losses = output.square().mean(1)
        return losses if reduction == "none" else losses.mean()
    return torch.nn.functional.cross_entropy(output, target, reduction=reduction)


def _loader(tree: ast.Module) -> Any:
    """Batches on the host, of as many tensors as the example's loop over `loader` unpacks."""
    images = torch.randn(ROUNDS * BATCH, WIDTH)
    labels = torch.arange(ROUNDS * BATCH) % CLASSES
    for node in ast.walk(tree):
        if isinstance(node, ast.For):
            names = [part.id for part in ast.walk(node.target) if isinstance(part, ast.Name)]
            if "loader" in ast.unparse(node.iter):
                pairs = len([name for name in names if name not in {"step", "i", "batch_idx"}]) > 1
                return DataLoader(TensorDataset(images, labels), BATCH) if pairs else list(images.chunk(ROUNDS))
    return DataLoader(TensorDataset(images, labels), BATCH)


def stand_ins(tree: ast.Module) -> dict[str, Any]:
    """What an example may leave free, new for each."""
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = Model().to(device)
    dataset = TensorDataset(torch.randn(ROUNDS * 64, WIDTH), torch.arange(ROUNDS * 64) % CLASSES)
    x = torch.randn(BATCH, WIDTH, WIDTH, device=device)
    return {
        "torch": torch,
        "device": device,
        "model": model,
        "optimizer": torch.optim.SGD(model.parameters(), lr=0.01),
        "criterion": criterion,
        "loader": _loader(tree),
        "batches": list(torch.randn(ROUNDS * BATCH, WIDTH).chunk(ROUNDS)),
        "dataset": dataset,
        "images": numpy.zeros((ROUNDS, WIDTH), dtype="float32"),
        "total": 0.0,
        "losses": [],
        "history": [],
        "kept": [],
        "x": x,
        "block": torch.nn.Linear(WIDTH, WIDTH).to(device),
        "input": torch.randn(2, 3, WIDTH, WIDTH, device=device),
        "mask": torch.ones(BATCH, WIDTH, dtype=torch.bool, device=device).triu(),
        "ids": torch.zeros(2, 3, dtype=torch.long, device=device),
        "longest": 4,
        "width": WIDTH,
        "steps": ROUNDS,
    }


def _with_optimizer(model: torch.nn.Module) -> dict[str, Any]:
    return {"model": model, "optimizer": torch.optim.SGD(model.parameters(), lr=0.01)}


# Where one rule's example needs what the rest does not.
SPECIAL: dict[str, Callable[[], dict[str, Any]]] = {
    "tl113": lambda: _with_optimizer(torch.nn.Linear(WIDTH, 2).to("cuda")),
    "tl911": lambda: {
        "loader": list(torch.randn(ROUNDS, BATCH, WIDTH, requires_grad=True)),
        "rows": torch.arange(4),
        "columns": torch.arange(4),
    },
    "tl501": lambda: {"batches": [torch.randn(BATCH, WIDTH, device="cuda") for _ in range(ROUNDS)]},
    "tl903": lambda: {"a": torch.ones(3), "b": torch.ones(4), "weight": torch.ones(4, 4)},
    "tl702": lambda: {
        "x": torch.randn(16, 2, 512, device="cuda"),
        "mask": torch.zeros(16, 16, device="cuda"),
    },
}


def _unused(tree: ast.Module) -> list[str]:
    """The functions, classes and names at the top of an example that it doesn't use itself."""
    made: list[str] = []
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            made.append(statement.name)
        elif isinstance(statement, ast.Assign):
            made += [target.id for target in statement.targets if isinstance(target, ast.Name)]
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return [name for name in dict.fromkeys(made) if name not in read]


def _arguments(function: Callable[..., Any], names: dict[str, Any]) -> list[Any]:
    parameters = inspect.signature(function).parameters.values()
    return [names[p.name] for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]


def _call(thing: Any, names: dict[str, Any], *, compiled: bool) -> None:
    if inspect.isclass(thing) and issubclass(thing, torch.nn.Module):
        thing = thing(*_arguments(thing, names))
    if inspect.isclass(thing) and issubclass(thing, Dataset):
        samples: Any = thing(*_arguments(thing, names))
        for index in range(ROUNDS):
            samples[index]
        return
    if isinstance(thing, torch.nn.Module):
        thing = thing.to("cuda")
        forward = getattr(thing, "_orig_mod", thing).forward
    elif inspect.isfunction(thing):
        forward = getattr(thing, "_torchdynamo_orig_callable", thing)
    else:
        return
    arguments = _arguments(forward, names)
    call = torch.compile(thing) if compiled else thing
    for _ in range(ROUNDS):
        call(*arguments)


def run(path: Path, compiling: bool) -> None:
    text = path.read_text("utf-8")
    tree = ast.parse(text)
    code: CodeType = compile(text, str(path), "exec")
    names = stand_ins(tree) | SPECIAL.get(path.stem.partition("_")[0], dict)()
    given = dict(names)
    exec(code, names)  # noqa: S102 - running it is the point
    for name in _unused(tree):
        _call(names[name], given, compiled=compiling and "torch.compile" not in text)


def main() -> None:
    warnings.simplefilter("default")
    results: dict[str, str] = {}
    which, report, *examples = sys.argv[1:]
    for name in examples:
        try:
            run(Path(name), which == "compile")
            results[Path(name).stem] = ""
        except Exception as error:  # noqa: BLE001 - what it raised is the result
            results[Path(name).stem] = f"{type(error).__name__}: {error}"
        Path(report).write_text(json.dumps(results), "utf-8")


if __name__ == "__main__":
    main()
