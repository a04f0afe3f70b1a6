from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchlint.facts import syntax, uses
from torchlint.facts.flow import Loop
from torchlint.rule import Finding, Site, rule
from torchlint.rule.lazy import regex

_ON_PURPOSE = regex(r"profil|trace|bench|debug|snapshot", re.IGNORECASE)
_STARTS = frozenset(("start", "__enter__"))
_STOPS = frozenset(("stop", "__exit__"))
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
    `step()` of the profiler in the loop, also where it is started and stopped by hand (`prof.start()`, `prof.stop()`), and `_record_memory_history()` that nothing in the file stops or dumps.

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
    if _conditional(site, site.target):
        return
    if site.name.endswith("_record_memory_history()"):
        if (
            not site.call.args
            and not site.call.keywords
            and len(re.findall(rb"_record_memory_history|_dump_snapshot|memory_snapshot", site.source.data)) == 1
        ):
            yield site.finding("each allocation is recorded with its stack until the program ends")
        return
    loop = _training_loop(site, _recorded(site)) if _on(site.argument("enabled")) and not site.spread else None
    if loop is None:
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


def _conditional(site: Site, node: ast.AST) -> bool:
    """Whether a condition other than `__name__ == "__main__"` stands around a place."""
    return any("__name__" not in ast.unparse(guard.test) for guard in site.flow.guards(node))


def _on(enabled: ast.expr | None) -> bool:
    return enabled is None or (isinstance(enabled, ast.Constant) and bool(enabled.value))


def _recorded(site: Site) -> list[ast.stmt]:
    """The statements that the profiler records: a block behind `with`, or what stands between its start and its stop."""
    item = site.flow.parents.get(site.target)
    if isinstance(item, ast.withitem):
        return _body(site, item)
    calls: dict[bool, list[ast.stmt]] = {True: [], False: []}
    for read in _reads(site):
        parent = site.flow.parents[read]
        if isinstance(parent, ast.withitem) and parent.context_expr is read:
            return [] if parent.optional_vars is not None or _conditional(site, read) else _body(site, parent)
        if not isinstance(parent, ast.Attribute):
            return []  # somebody else may stop it
        if parent.attr in _STARTS | _STOPS:
            calls[parent.attr in _STARTS].append(site.flow.statement(read))
    if len(calls[True]) != 1 or len(calls[False]) != 1:
        return []
    (start,), (stop,) = calls[True], calls[False]
    block = syntax.block(site.flow, start)
    if stop not in block or _conditional(site, start):
        return []
    return block[block.index(start) + 1 : block.index(stop)]


def _body(site: Site, item: ast.withitem) -> list[ast.stmt]:
    block = site.flow.parents[item]
    assert isinstance(block, ast.With | ast.AsyncWith)
    return block.body


def _reads(site: Site) -> list[ast.Name]:
    """The reads of the name that the profiler gets, by itself or behind `as`."""
    parent = site.flow.parents.get(site.target)
    if isinstance(parent, ast.withitem):
        name = parent.optional_vars
        return site.flow.loads.get(name.id, []) if isinstance(name, ast.Name) else []
    made = parent.targets[0] if isinstance(parent, ast.Assign) and len(parent.targets) == 1 else None
    if not isinstance(made, ast.Name) or uses.is_shared(site.function, made.id):
        return []
    return list(uses.readers(site.function, made.id, site.call))


def _training_loop(site: Site, recorded: list[ast.stmt]) -> Loop | None:
    """The loop within some statements that steps the optimizer, or calls what does, and goes on without bound."""
    steps = site.analysis.steps.loops_of(site.function) if recorded else ()
    for loop in site.flow.nodes if recorded else ():
        if isinstance(loop, ast.For | ast.AsyncFor | ast.While) and any(
            one is loop or one in site.flow.ancestors(loop) for one in recorded
        ):
            inner = any(loop is one or loop in site.flow.ancestors(one) for one in steps)
            if inner and not _bounded(loop):
                return loop
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
    if isinstance(item, ast.withitem) and not isinstance(item.optional_vars, ast.Name | None):
        return True
    for read in _reads(site):
        parent = site.flow.parents[read]
        if not isinstance(parent, ast.Attribute | ast.withitem) or getattr(parent, "attr", "") == "step":
            return True
    return False
