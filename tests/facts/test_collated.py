"""What a collate function tells of the batches that its loader gives."""

from __future__ import annotations

import ast

import pytest

from torchlint.program.project import Project

COLLATE = """
def collate(samples):
    images = torch.stack([sample["image"] for sample in samples])
    lengths, names, rest = [], [], []
    for sample in samples:
        lengths.append(len(sample["image"]))
        names.append(str(sample["name"]))
        rest.append(sample["rest"])
    return {returned}
class Collate:
    def __call__(self, samples):
        return collate(samples)
loader = torch.utils.data.DataLoader(data, collate_fn={given})
"""


def kinds(returned: str, *body: str, given: str = "collate", loader: str = "loader") -> str:
    """What `here` is in a loop over the loader."""
    lines = "".join(f"    {line}\n" for line in body)
    text = "import accelerate\nimport functools\nimport torch\nfrom tqdm import tqdm\n" + COLLATE.format(
        returned=returned, given=given
    )
    project = Project({"example.py": lambda: f"{text}for batch in {loader}:\n{lines}    here\n".encode()})
    module = project.module("example.py")
    assert module is not None
    here = [node for node in module.body.flow.nodes if isinstance(node, ast.Name) and node.id == "here"][-1]
    value = project.value(module.body, here)
    return f"list of {value.element.kind}" if value.kind == "list" and value.element is not None else value.kind


@pytest.mark.parametrize(
    ("returned", "taken"),
    [
        ("images, lengths", "here, other = batch"),
        ("images, rest", "other, here = batch"),
        ("[images, lengths]", "other, here = batch"),
        ("{'images': images, 'lengths': lengths}", "other, here = batch"),
        ("images, lengths if lengths else images", "other, here = batch"),
        ("make(images, lengths)", "other, here = batch"),
        # As many as it gives, and not a part of those.
        ("images, lengths, names", "other, here = batch"),
        ("images, lengths", "*other, here = batch"),
        ("images, lengths", "here = batch[0]"),
        ("images, lengths", "here = batch[number]"),
        ("images, lengths", "here = batch[7]"),
        ("images, lengths", "other, here = [part.cuda() for part in batch]"),
    ],
)
def test_what_may_be_a_tensor_of_the_loader_stays_one(returned: str, taken: str) -> None:
    assert kinds(returned, taken) in ("tensor", "list of tensor")


@pytest.mark.parametrize("given", ["unknown", "lambda samples: (1, 2)", "Collate", "None"])
def test_collate_functions_that_are_not_known(given: str) -> None:
    assert "tensor" == kinds("images, lengths", "other, here = batch", given=given)


@pytest.mark.parametrize(
    ("taken", "expected"),
    [
        ("other, here, names = batch", "list of number"),
        ("other, lengths, here = batch", "list of str"),
        ("here = batch[1]", "list of number"),
        ("here = batch[-1]", "list of str"),
        ("here = batch[1][0]", "number"),
        ("here, lengths, names = batch", "tensor"),
    ],
)
@pytest.mark.parametrize("given", ["collate", "Collate()", "functools.partial(collate)"])
@pytest.mark.parametrize("loader", ["loader", "accelerate.Accelerator().prepare(loader)", "tqdm(loader)"])
def test_numbers_and_text_of_a_batch(taken: str, expected: str, given: str, loader: str) -> None:
    assert expected == kinds("images, lengths, names", taken, given=given, loader=loader)


OBJECTS = """
import dataclasses, torch
from typing import NamedTuple

@dataclasses.dataclass
class Graphs:
    x: torch.Tensor
    sizes: list[int]
    name: str
    other: object
    weights: "torch.Tensor | list[float]"

    def to(self, device):
        return dataclasses.replace(self, x=self.x.to(device))

def collate(samples):
    return Graphs(torch.stack(samples), [len(one) for one in samples], "many", None, [1.0])

loader = torch.utils.data.DataLoader(data, collate_fn={given})
for batch in loader:
    batch = batch.to("cuda")
    here = batch.{field}
    here
"""


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("x", "tensor"),
        ("other", "tensor"),
        ("weights", "tensor"),
        ("sizes", "list"),
        ("name", "str"),
    ],
)
@pytest.mark.parametrize("given", ["collate", "Graphs"])
def test_fields_of_objects_that_a_collate_function_makes(field: str, expected: str, given: str) -> None:
    text = OBJECTS.format(given=given, field=field).encode()
    project = Project({"example.py": lambda: text})
    module = project.module("example.py")
    assert module is not None
    here = [node for node in module.body.flow.nodes if isinstance(node, ast.Name) and node.id == "here"][-1]
    assert expected == project.value(module.body, here).kind


PLACED = """
import torch
def collate(samples):
    x = {made}
    return {{"x": x, "n": len(samples)}}
loader = torch.utils.data.DataLoader(data, collate_fn=collate{options})
for batch in loader:
    x = batch["x"]
    here = x
"""


@pytest.mark.parametrize(
    ("made", "options", "expected"),
    [
        ("torch.stack(samples)", "", ("cpu", True)),
        ("torch.rand(len(samples))", "", ("cpu", True)),
        ("torch.tensor([float(one) for one in samples])  # on the device later", "", ("cpu", True)),
        ("torch.stack(samples).to(torch.float32)", "", ("cpu", True)),
        ("torch.stack(samples)  # .to(device)", "", ("cpu", True)),
        ("torch.stack(samples).to(device)", "", ("", False)),
        ("torch.stack(samples).to(self.device)", "", ("", False)),
        ("torch.rand(len(samples), device=device)", "", ("", False)),
        ("torch.stack(samples).cuda()", "", ("accelerator", False)),
        # What is pinned is on the host.
        ("torch.stack(samples).to(device)", ", pin_memory=True", ("cpu", True)),
    ],
)
def test_where_a_collate_function_puts_tensors(made: str, options: str, expected: tuple[str, bool]) -> None:
    project = Project({"example.py": lambda: PLACED.format(made=made, options=options).encode()})
    module = project.module("example.py")
    assert module is not None
    here = next(
        made
        for made in module.body.flow.nodes
        if isinstance(made, ast.Assign) and made.value is not None and ast.unparse(made.targets[0]) == "here"
    )
    value = project.value(module.body, here.value)
    assert ("tensor", *expected) == (value.kind, value.device, value.from_loader)


@pytest.mark.parametrize(
    ("options", "expected"),
    [("", "accelerator"), (", move_to_device=True", "accelerator"), (", move_to_device=False", "cpu")],
)
def test_where_fabric_leaves_the_batches_of_a_loader(options: str, expected: str) -> None:
    text = (
        "import lightning, torch\nfabric = lightning.Fabric()\n"
        f"loader = fabric.setup_dataloaders(torch.utils.data.DataLoader(data){options})\n"
        "for batch in loader:\n    here = batch\n"
    )
    project = Project({"example.py": lambda: text.encode()})
    module = project.module("example.py")
    assert module is not None
    made = next(
        one for one in module.body.flow.nodes if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == "here"
    )
    assert expected == project.value(module.body, made.value).device
