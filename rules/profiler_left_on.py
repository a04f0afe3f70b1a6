from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchlint.facts.flow import Loop
from torchlint.rule import Finding, Site, rule
from torchlint.rule.lazy import regex

_ON_PURPOSE = regex(r"profil|trace|bench|debug|snapshot", re.IGNORECASE)
_FEW = 1000
"""So many iterations are a bounded loop."""


@rule(
    "TLM04",
    shape=[
        "torch.profiler.profile(...)",
        "torch.autograd.profiler.profile(...)",
        "torch.cuda.memory._record_memory_history(...)",
    ],
    fix="suggestion",
    torch=">=1.8",
    category="measurement",
)
def profiler_left_on(site: Site) -> Iterator[Finding]:
    """The profiler runs for the whole training.

    ## What it does

    Finds `with torch.profiler.profile(...)` around a training loop without `schedule`, or with a schedule and no
    `step()` of the profiler in the loop, and `_record_memory_history()` that nothing in the file stops or dumps.

    ## Why is this slow?

    The profiler keeps a record of each operation, with stacks and shapes if asked to: steps take a multiple of their
    time, and memory grows until the program ends. Without `step()` a schedule never leaves its first phase.

    ## When it does not matter

    While profiling. Behind a flag, around loops of a fixed small length or that break, and in functions and files that are
    there to profile, nothing is reported.

    ## Bad

    ```python
    def train(model, loader, optimizer):
        with torch.profiler.profile(with_stack=True) as prof:  # TLM04
            for x in loader:
                model(x.to(device)).sum().backward()
                optimizer.step()
    ```

    ## Good

    ```python
    def train(model, loader, optimizer):
        steps = torch.profiler.schedule(wait=1, warmup=1, active=3)
        with torch.profiler.profile(with_stack=True, schedule=steps) as prof:  # ok
            for x in loader:
                model(x.to(device)).sum().backward()
                optimizer.step()
                prof.step()
    ```

    ## References

    - <https://docs.pytorch.org/docs/stable/profiler.html>
    - <https://docs.pytorch.org/tutorials/recipes/recipes/profiler_recipe.html>
    - <https://docs.pytorch.org/docs/stable/torch_cuda_memory.html>
    """
    if site.role in ("test", "benchmark") or _ON_PURPOSE.search(
        f"{site.function.name} {site.module.path.rpartition('/')[2]}"
    ):
        return
    if any("__name__" not in ast.unparse(guard.test) for guard in site.flow.guards(site.target)):
        return
    if site.name.endswith("_record_memory_history()"):
        if (
            not site.call.args
            and not site.call.keywords
            and len(re.findall(rb"_record_memory_history|_dump_snapshot|memory_snapshot", site.source.data)) == 1
        ):
            yield site.finding("each allocation is recorded with its stack until the program ends")
        return
    if not isinstance(site.flow.parents.get(site.target), ast.withitem) or not _on(site.argument("enabled")):
        return
    loop = _training_loop(site)
    if loop is None or site.spread:
        return
    where = (site.related(site.function, loop, "this loop steps the optimizer"),)
    if site.argument("schedule") is None:
        yield site.finding(
            "the profiler records all of this training: `torch.profiler.profile` takes a `schedule`", related=where
        )
    elif not _stepped(site):
        yield site.finding(
            "the profiler has a `schedule` and no `step()`: it never leaves the first phase", related=where
        )


def _on(enabled: ast.expr | None) -> bool:
    return enabled is None or (isinstance(enabled, ast.Constant) and bool(enabled.value))


def _training_loop(site: Site) -> Loop | None:
    """The loop within the `with` that steps the optimizer, or calls what does, and goes on without bound."""
    block = site.flow.parents.get(site.flow.parents[site.target])
    assert isinstance(block, ast.With | ast.AsyncWith)
    steps = site.analysis.steps.loops_of(site.function)
    for node in site.flow.nodes:
        if isinstance(node, ast.For | ast.AsyncFor | ast.While) and block in site.flow.ancestors(node):
            inner = any(node is loop or node in site.flow.ancestors(loop) for loop in steps)
            if inner and not _bounded(node):
                return node
    return None


def _bounded(loop: Loop) -> bool:
    """A loop over `range(10)`, or one that breaks."""
    if any(isinstance(node, ast.Break) for node in ast.walk(loop)):
        return True
    if not isinstance(loop, ast.For):
        return False
    given = loop.iter.args if isinstance(loop.iter, ast.Call) else []
    return any(isinstance(a, ast.Constant) and isinstance(a.value, int) and 1 < a.value <= _FEW for a in given)


def _stepped(site: Site) -> bool:
    """Whether the profiler's `step` is called, or the profiler is handed on to somebody who may."""
    item = site.flow.parents[site.target]
    assert isinstance(item, ast.withitem)
    if not isinstance(item.optional_vars, ast.Name):
        return item.optional_vars is not None
    for load in site.flow.loads.get(item.optional_vars.id, ()):
        parent = site.flow.parents.get(load)
        if not isinstance(parent, ast.Attribute) or parent.attr == "step":
            return True
    return False
