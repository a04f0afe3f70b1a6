from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import operator_calls
from torchlint.facts.flow import contains
from torchlint.facts.nodes import keyword_of
from torchlint.rule import Finding, Severity, Site, rule

_CASTS = frozenset(("float", "int", "bool"))
_HOST = ("random.", "numpy.random.", "time.", "logging.")


@rule(
    "TL213",
    shape=["torch.cuda.graph(...)", "$x.replay(...)"],
    severity="error",
    impact="high",
    category="cuda_graph",
    principle=("fusion",),
    torch=">=1.10",
    depends_on=("TL101", "TL102", "TL112"),
)
def cudagraph_capture_hazard(site: Site) -> Iterator[Finding]:
    """Code in or around the capture of a CUDA graph that fails, or that a replay does not repeat.

    ## What it does
    Finds, inside `with torch.cuda.graph(...)`, reads of tensors by the host, `torch.cuda.synchronize()`, operators that wait for the device (their shape depends on values, or they check it), and work of the host such as random numbers of Python or `print()`; and, in a loop that calls `replay()`, an input of the graph that is bound to another tensor, and an output that is collected without a copy.

    ## Why is this slow?
    A capture records what the device does, and must not wait for it: a synchronization inside is an error.
    Work of the host runs once, while capturing, and not in a replay.
    A replay reads and writes the addresses it was recorded with: a new tensor under an old name is never read, and an output holds the result of the last replay only.

    ## When it does not matter
    `torch.cuda.make_graphed_callables` and `mode="reduce-overhead"` of torch.compile copy inputs and warm up by themselves.

    ## Bad
    ```python
    x = torch.ones(8, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * 2
        scale = y.sum().item()  # TL213
    results = []
    for batch in torch.ones(10, 8):
        x = batch.cuda()  # TL213
        graph.replay()
        results.append(y)  # TL213
    ```

    ## Good
    ```python
    x = torch.ones(8, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * 2
    results = []
    for batch in torch.ones(10, 8):
        x.copy_(batch)
        graph.replay()
        results.append(y.clone())
    ```

    ## References
    - https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-graphs
    - https://docs.pytorch.org/docs/stable/generated/torch.cuda.graph.html
    """
    if site.name == ".replay()":
        yield from _replayed(site)
        return
    block = _block(site, site.call)
    if block is None:
        return
    for node in site.flow.nodes:
        if isinstance(node, ast.Call) and any(contains(statement, node) for statement in block.body):
            fault = _fault(site, node)
            if fault is not None:
                yield site.finding(f"`{site.short(node)}` {fault[0]}.", at=node, severity=fault[1])


def _block(site: Site, call: ast.AST) -> ast.With | None:
    """The `with` that captures."""
    item = site.flow.parents.get(call)
    block = site.flow.parents.get(item) if isinstance(item, ast.withitem) else None
    return block if isinstance(block, ast.With) else None


def _fault(site: Site, call: ast.Call) -> tuple[str, Severity | None] | None:
    name = site.resolve(call.func) or ""
    waits = "waits for the device, which fails while a CUDA graph is captured", None
    if name == "torch.cuda.synchronize" or (name in _CASTS and call.args and site.value(call.args[0]).is_tensor):
        return waits
    if operator_calls.waits(site, call):
        return waits
    if name == "print" or name.startswith(_HOST):
        return "runs once, while the CUDA graph is captured, and in no replay", "warning"
    return None


def _replayed(site: Site) -> Iterator[Finding]:
    """What the loop around a replay does to the tensors that the graph was captured with."""
    loop = site.loop()
    block = _capture(site)
    if loop is None or block is None or contains(loop, block):
        return
    inside = [n for n in site.flow.nodes if isinstance(n, ast.Name) and any(contains(s, n) for s in block.body)]
    outputs = {n.id for n in inside if isinstance(n.ctx, ast.Store)}
    inputs = {n.id for n in inside if isinstance(n.ctx, ast.Load) and site.value(n).kind == "tensor"} - outputs
    for node in site.flow.nodes:
        if not isinstance(node, ast.Assign | ast.Call) or not contains(loop, node):
            continue
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Name) and target.id in inputs:
                yield site.finding(
                    f"`{target.id}` is bound to another tensor, but the CUDA graph reads the one that it was captured with: copy into it.",
                    at=node,
                )
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "append"
            and len(node.args) == 1
        ):
            output = node.args[0]
            if isinstance(output, ast.Name) and output.id in outputs and site.value(output).kind == "tensor":
                yield site.finding(
                    f"`{output.id}` is collected without a copy, but each replay of the CUDA graph writes to the same memory.",
                    at=node,
                )


def _capture(site: Site) -> ast.With | None:
    """The `with torch.cuda.graph(g)` of the graph that is replayed, in the same function."""
    func = site.call.func
    if not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Name):
        return None
    for call in site.flow.calls:
        graph = call.args[0] if call.args else keyword_of(call, "cuda_graph")
        same = isinstance(graph, ast.Name) and graph.id == func.value.id
        if same and site.resolve(call.func) == "torch.cuda.graph":
            return _block(site, call)
    return None
