"""Batches and dictionaries that something is put into, and what is sent to the device part by part."""

from __future__ import annotations

from collections.abc import Callable

import pytest

ValueOf = Callable[[str], str]

LOOP = "for batch in DataLoader(d):\n"
HOST = "tensor @cpu unpinned batch"
MOVED = "tensor @accelerator unpinned"


def _after(*body: str) -> str:
    """The body of a loop over a loader."""
    return LOOP + "".join(f"    {line}\n" for line in body)


@pytest.mark.parametrize(
    "body",
    [
        ["batch['x'] = batch['x'].cuda()", "batch['y']"],
        ["batch['x'] = len(batch['y'])", "batch['y']"],
        ["for key in ('x', 'z'):", "    batch[key] = batch[key].cuda()", "batch['y']"],
        ["for key in keys:", "    batch[key] = batch[key].cuda()", "batch['y']"],
        ["for key in batch:", "    kept[key] = batch[key].cuda()", "batch['y']"],
        ["for key in other:", "    batch[key] = other[key].cuda()", "batch['y']"],
        ["for key in batch:", "    batch[key] = batch[key].float()", "batch['y']"],
        ["for key in batch:", "    batch[key] = batch[key].cpu()", "batch['y']"],
        ["for key in batch:", "    if key != 'y':", "        batch[key] = batch[key].cuda()", "batch['y']"],
        [
            "for key in batch:",
            "    if key == 'y':",
            "        continue",
            "    batch[key] = batch[key].cuda()",
            "batch['y']",
        ],
        ["for key, x in batch.items():", "    if key in names:", "        batch[key] = x.cuda()", "batch['y']"],
        ["for key in batch:", "    batch[key + '_raw'] = batch[key].cuda()", "batch['y']"],
        ["batch.cpu()", "batch['y']"],
        ["sent = batch.cuda()", "batch['y']"],
        ["send(batch)", "batch['y']"],
    ],
)
def test_what_is_left_where_the_loader_put_it(value_of: ValueOf, body: list[str]) -> None:
    assert HOST == value_of(_after(*body))


@pytest.mark.parametrize(
    "body",
    [
        ["batch['y'] = batch['y'].cuda()", "batch['y']"],
        ["batch['y'] = batch['y'].cuda()", "batch.get('y')"],
        ["for key in ('x', 'y'):", "    batch[key] = batch[key].cuda()", "batch['y']"],
        ["for key in batch:", "    batch[key] = batch[key].cuda()", "batch['y']"],
        ["for key in batch.keys():", "    batch[key] = batch[key].cuda(non_blocking=True)", "batch['y']"],
        ["for key in list(batch.keys()):", "    batch[key] = batch[key].to('cuda')", "batch['y']"],
        ["for key, x in batch.items():", "    batch[key] = x.cuda()", "batch['y']"],
        ["for key, x in batch.items():", "    if torch.is_tensor(x):", "        batch[key] = x.cuda()", "batch['y']"],
        [
            "for key in batch:",
            "    if torch.is_tensor(batch[key]):",
            "        batch[key] = batch[key].cuda()",
            "batch['y']",
        ],
        ["for i in range(len(batch)):", "    batch[i] = batch[i].cuda()", "batch[1]"],
        ["for i, x in enumerate(batch):", "    batch[i] = x.cuda()", "batch[1]"],
        ["batch.cuda()", "batch.y"],
        ["batch.to('cuda')", "batch.y"],
        ["batch['x'] = 3", "batch = batch.to('cuda')", "batch['x']"],
    ],
)
def test_what_was_sent_to_the_device(value_of: ValueOf, body: list[str]) -> None:
    assert MOVED == value_of(_after(*body))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (["batch['n'] = len(batch['x'])", "batch['n']"], "number"),
        (["batch['n'] = 3", "batch.pop('n')"], "number = 3"),
        (["batch['x'] = batch['x'].cuda()", "batch = batch.cpu()", "batch['x']"], "tensor @cpu unpinned batch"),
        (["batch['x'] = batch['x'].cuda()", "batch[name]"], HOST),
        (["if a:", "    batch['x'] = batch['x'].cuda()", "batch['x']"], MOVED),
    ],
)
def test_what_stands_under_a_key_of_a_batch(value_of: ValueOf, body: list[str], expected: str) -> None:
    assert expected == value_of(_after(*body))


SENDS = "def send(batch):\n    for key in batch:\n        {test}batch[key] = batch[key].cuda()\n    return batch\n"


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("", MOVED),
        ("if isinstance(batch[key], torch.Tensor): ", MOVED),
        ("if key not in ('id', 'name'): ", HOST),
        ("if key.startswith('x'): ", HOST),
    ],
)
def test_a_helper_that_sends_a_batch(value_of: ValueOf, test: str, expected: str) -> None:
    assert expected == value_of(SENDS.format(test=test) + _after("batch = send(batch)", "batch['x']"))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("x = f()\nx['n'] = 3\nx['m']", "unknown"),
        ("x = f()\nx['n'] = torch.zeros(3)\nlist(x.values())", "list[unknown]"),
        ("x = f()\nx['n'] = torch.zeros(3)\nx[name]", "unknown"),
        ("x = f()\nx['n'] = torch.zeros(3)\nx = x.to(thing)\nx['n']", "unknown"),
        ("x = f()\nx[n] = torch.zeros(3)\nx['n']", "unknown"),
        ("x = f()\nx['n'] = 3\nx['n']", "number = 3"),
        ("x = f()\nx['n'] = torch.zeros(3).cuda()\nx['n']", "tensor @accelerator"),
        ("def g(x):\n    x['n'] = torch.zeros(3)\n    return x\ng(f())['n']", "tensor @cpu"),
        ("def g(x):\n    x['n'] = torch.zeros(3)\n    return x\ng(f())['m']", "unknown"),
    ],
)
def test_keys_of_what_nobody_knows(value_of: ValueOf, code: str, expected: str) -> None:
    assert expected == value_of(code)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("x = f().cpu()\nx['n']", "unknown"),
        ("x = f().to(thing)\nx['n']", "unknown"),
        ("x = f()\nx['n']", "unknown"),
        ("x = f().cuda()\nx.n", "unknown"),
        ("x = f().cuda()\nx[0]", "unknown @accelerator"),
        ("a, b = f().cuda()\nb", "unknown @accelerator"),
        ("x = f().cuda()\nx['n']", "tensor? @accelerator"),
        ("x = f().cuda()\nx['m'] = 3\nx['n']", "tensor? @accelerator"),
        ("x = f().cuda()\nx['m'] = 3\nx['m']", "number = 3"),
    ],
)
def test_parts_of_what_nobody_knows_and_was_moved(value_of: ValueOf, code: str, expected: str) -> None:
    assert expected == value_of(code)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("x = {}\nx[f'a{n}'] = 3\nx[f'a_{n}']", "number = 3"),
        ("x = {}\nx[f'a{n}'] = 3\nx[f'b{n}'] = torch.zeros(3)\nx[f'{n}']", "tensor @cpu or number"),
        ("x = {}\nx[f'{n}'] = 3\nx[f'{m}'] = torch.zeros(3)\nx[f'{n}']", "tensor @cpu or number"),
        ("x = {'n': 3}\nx[f'b{n}'] = torch.zeros(3)\nx['m']", "tensor @cpu or number"),
        ("x = {'n': 3}\nx[f'b{n}'] = torch.zeros(3)\nx['n']", "number = 3"),
        ("x = {}\nx[f'a{n}'] = 'text'\nx[f'b{n}'] = torch.zeros(3)\nx[f'b{n}']", "tensor @cpu"),
        ("x = f()\nx[f'a{n}'] = 'text'\nx[f'b{n}'] = torch.zeros(3)\nx[f'b{m}']", "tensor @cpu"),
    ],
)
def test_keys_with_gaps(value_of: ValueOf, code: str, expected: str) -> None:
    assert expected == value_of(code)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import copy\nx = copy.deepcopy(settings)\nx['n'] = 3\nx['m']", "unknown"),
        ("import copy\nx = copy.deepcopy(settings)\nx['n'] = 3\nx['n']", "number = 3"),
        ("x = nn.ModuleDict()\nx['n'] = nn.Linear(3, 3)\nx['m']", "module?"),
    ],
)
def test_copies(value_of: ValueOf, code: str, expected: str) -> None:
    assert expected == value_of(code)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("x: torch.Tensor = f()\nx", "tensor"),
        ("x: int = torch.zeros(3) if a else f()\nx", "tensor? @cpu or unknown"),
        ("x: torch.Tensor = torch.zeros(3) if a else f()\nx", "tensor @cpu"),
    ],
)
def test_annotated_names(value_of: ValueOf, code: str, expected: str) -> None:
    assert expected == value_of(code)
