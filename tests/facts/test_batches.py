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
        ["for key in batch:", "    batch[key] = batch[key].to(torch.float16)", "batch['y']"],
        ["for key in batch:", "    batch[key] = f(batch[key])", "batch['y']"],
        ["for key in batch:", "    if key == 'x':", "        batch[key] = batch[key].cuda()", "batch['y']"],
        ["for key in batch:", "    if key not in names:", "        batch[key] = batch[key].cuda()", "batch['y']"],
        ["for key in batch:", "    if key != 'y' and a:", "        batch[key] = batch[key].cuda()", "batch['y']"],
        ["for key in batch:", "    if key != 'x' or a:", "        batch[key] = batch[key].cuda()", "batch['y']"],
        ["for key in batch:", "    if 'raw' not in key:", "        batch[key] = batch[key].cuda()", "batch['y']"],
        ["for i in range(1, len(batch)):", "    batch[i] = batch[i].cuda()", "batch[0]"],
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
        ["for key in batch:", "    if key != 'x':", "        batch[key] = batch[key].cuda()", "batch['y']"],
        [
            "for key in batch:",
            "    if key in ('x', 'z'):",
            "        continue",
            "    batch[key] = batch[key].cuda()",
            "batch['y']",
        ],
        ["batch.cuda()", "batch.y"],
        ["batch.to('cuda')", "batch.y"],
        ["batch['x'] = torch.ones(3)", "batch = batch.to('cuda')", "batch['x']"],
    ],
)
def test_what_was_sent_to_the_device(value_of: ValueOf, body: list[str]) -> None:
    assert MOVED == value_of(_after(*body))


def test_a_number_that_was_put_into_a_batch_stays_one_when_that_is_sent(value_of: ValueOf) -> None:
    assert "number = 3" == value_of(_after("batch['x'] = 3", "batch = batch.to('cuda')", "batch['x']"))


PAIRS = "for x, meta in DataLoader(d):\n"
MOVE = "    for key, v in meta.items():\n        meta[key] = v.cuda()\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("    meta[0]", HOST),
        ("    for key in meta:\n        meta[key] = meta[key].cuda()\n    meta[0]", HOST),
        ("    other.items()\n    meta", HOST),
        ("    meta.items(3)\n    meta", HOST),
        ("    x.items()\n    meta", HOST),
        ("    meta.items()\n    x", HOST),
        (f"{MOVE}    x", HOST),
        ("    meta.items()\n    meta['y']", HOST),
        ("    meta.items()\n    meta", "batch @cpu unpinned batch"),
        ("    meta['boxes']\n    meta", "batch @cpu unpinned batch"),
        (f"{MOVE}    meta['y']", MOVED),
        (f"    if cuda:\n    {MOVE.replace(chr(10) + ' ', chr(10) + '     ', 1)}    meta['y']", MOVED),
    ],
)
def test_a_part_of_a_batch_that_is_a_mapping(value_of: ValueOf, body: str, expected: str) -> None:
    assert expected == value_of(f"{PAIRS}{body}\n")


@pytest.mark.parametrize(
    ("move", "entry", "expected"),
    [
        ("batch[key] = x.cuda()", "batch['info']['size']", "unknown"),
        ("batch[key] = x.cuda()", "batch['info']['size'][0]", "unknown"),
        ("if type(x) != dict:\n            batch[key] = x.cuda(non_blocking=True)", "batch['info']['size']", "unknown"),
        ("if isinstance(x, torch.Tensor):\n            batch[key] = x.to('cuda')", "batch['info']['size']", "unknown"),
        ("if torch.is_tensor(x):\n            batch[key] = x.to('cuda')", "batch['info']['size']", "unknown"),
        # A row of a tensor, and what may move all of what it holds.
        ("batch[key] = x.cuda()", "batch['info'][0]", MOVED),
        ("batch[key] = x.to('cuda')", "batch['info']['size']", MOVED),
        ("batch[key] = to(x, 'cuda')", "batch['info']['size']", HOST),
    ],
)
def test_what_is_in_a_dictionary_of_a_batch(value_of: ValueOf, move: str, entry: str, expected: str) -> None:
    assert expected == value_of(_after("for key, x in batch.items():", f"    {move}", entry))


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


@pytest.mark.parametrize(
    "move", ["batch[key].to(device)", "batch[key].to(options.device)", "batch[key].to(device=options.device)"]
)
def test_a_device_that_nobody_knows(value_of: ValueOf, move: str) -> None:
    assert "tensor unpinned" == value_of(_after("for key in batch:", f"    batch[key] = {move}", "batch['y']"))


@pytest.mark.parametrize("test", ["", "if torch.is_tensor(batch[key]): ", "if key != 'id': "])
@pytest.mark.parametrize("over", ["batch", "batch.keys()", "list(batch)"])
def test_what_a_loop_reads_is_where_it_was_before(value_of: ValueOf, over: str, test: str) -> None:
    body = [f"for key in {over}:", "    x = batch[key]", f"    {test}batch[key] = batch[key].cuda()", "x"]

    assert HOST == value_of(_after("if a:", "    batch = batch", *body))


SENDS = "def send(batch):\n    for key in batch:\n        {test}batch[key] = batch[key].cuda()\n    return batch\n"


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("", MOVED),
        ("if isinstance(batch[key], torch.Tensor): ", MOVED),
        ("if key != 'x': ", HOST),
        ("if key not in ('id', 'x'): ", HOST),
        ("if key not in ('id', 'name'): ", MOVED),
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
        ("x = f().cpu()\nx['n']", "tensor? @cpu"),
        ("x = f().cpu()\nx[0]", "unknown @cpu"),
        ("x = [one for one in f().cpu()]\nx[0]", "unknown @cpu"),
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


GRAPHS = """\
import dgl
import dgl.nn
from torch_geometric import nn as gnn
from torch_geometric.nn import GCNConv, global_mean_pool
from torch_geometric.utils import add_self_loops, degree, to_dense_batch
from torch_scatter import scatter, scatter_max
host = torch.zeros(3)
there = torch.zeros(3).cuda()
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("add_self_loops(there)[0]", "tensor @accelerator integer"),
        ("add_self_loops(there)[1]", "unknown"),
        ("from torch_sparse import coalesce\ncoalesce(there, None, 3, 3)[0]", "tensor @accelerator integer"),
        ("import torch_sparse\ntorch_sparse.spspmm(there, x, 3, 3)", "unknown"),
        ("gnn.knn_graph", "name torch_geometric.nn.knn_graph"),
        ("gnn.something(there)", "unknown"),
        ("dgl.batch(graphs)", "unknown"),
        ("degree(host)", "tensor @cpu"),
        ("degree(index)", "tensor"),
        ("degree(there)", "tensor @accelerator"),
        ("global_mean_pool(x, there)", "tensor @accelerator"),
        ("scatter(there, index)", "tensor @accelerator"),
        ("scatter_max(there, index)[0]", "tensor @accelerator"),
        ("scatter_max(there, index)[1]", "tensor @accelerator integer"),
        ("to_dense_batch(there)[1]", "tensor @accelerator boolean"),
        ("GCNConv(3, 3)", "module torch_geometric.nn.GCNConv"),
        ("GCNConv(3, 3).cuda()(x)", "tensor? @accelerator grad"),
        ("dgl.nn.GraphConv(3, 3)", "module dgl.nn.GraphConv"),
        ("dgl.mean_nodes(graph, 'h')", "tensor"),
        ("dgl.mean_nodes(graph.to('cuda'), 'h')", "tensor @accelerator"),
        ("graph.ndata['h']", "unknown"),
        ("graph.to('cpu').ndata['h']", "tensor? @cpu"),
        ("graph.to('cuda').ndata['h']", "tensor? @accelerator"),
        ("for graph, y in DataLoader(d):\n    graph.edata['h']", "tensor? @cpu batch"),
        ("for graph, y in DataLoader(d):\n    graph = graph.to('cuda')\n    graph.edata['h']", "tensor? @accelerator"),
    ],
)
def test_libraries_for_graphs(value_of: ValueOf, code: str, expected: str) -> None:
    assert expected == value_of(GRAPHS + code)


METER = """\
class Meter:
    def __init__(self):
        self.sum = 0
        self.count = 0

    def update(self, value, n=1):
        self.sum += value * n
        self.count += n

    def mean(self):
        return self.sum / self.count

meter = Meter()
loss = torch.zeros(3).cuda().sum()
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("meter.update(loss.item())\nmeter.mean()", "number"),
        ("meter.update(loss.item())\nmeter.update(loss)\nmeter.mean()", "number"),
        ("meter.update(f())\nmeter.mean()", "number"),
        ("meter.update(loss)\nmeter.count", "number = 0"),
        ("meter.update(loss)\nmeter.mean()", "tensor @accelerator scalar or number"),
    ],
)
def test_numbers_that_tensors_are_added_to(value_of: ValueOf, code: str, expected: str) -> None:
    assert expected == value_of(METER + code)
