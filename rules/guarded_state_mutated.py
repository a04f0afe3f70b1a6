from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchlint.rule import Finding, Site, rule

_COUNTS = ("$count += $_", "$count -= $_", "$count = $count + $_", "$count = $count - $_")


@rule(
    "TL301",
    shape=[*_COUNTS, *(f"$list.{name}(...)" for name in ("append", "extend", "insert"))],
    scope="compiled",
    fix="suggestion",
    impact="high",
    category="compile",
    confirmed_by=("recompile",),
)
def guarded_state_mutated(site: Site) -> Iterator[Finding]:
    """Compiled code changes a Python value that it is guarded on, so each call compiles it again.

    ## What it does
    Finds, where `torch.compile` traces the code, integer attributes of `self` that count up or down, lists of `self` that grow, and global integers that are counted with `global`.

    ## Why is this slow?
    Dynamo takes an integer attribute, the length of a list and a global integer for constants, and guards the compiled code on them.
    The next call finds another value, and the function is compiled again: eight times (`torch._dynamo.config.recompile_limit`), then it runs eagerly for good.
    The value need not even be used.

    ## When it does not matter
    A counter that is a tensor, such as a buffer, is part of the graph.
    Floats become dynamic after one recompile, a flag has two values, and an attribute that is set anew in each call has one.
    With `torch._dynamo.config.allow_unspec_int_on_nn_module = True` integers of modules are dynamic, too; the rule is silent about them then.

    ## Bad
    ```python
    class Average(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.calls = 0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls += 1  # TL301
            return x * 2

    model = torch.compile(Average())
    ```

    ## Good
    ```python
    class Average(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("calls", torch.zeros((), dtype=torch.long), persistent=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            return x * 2

    model = torch.compile(Average())
    ```

    ## References
    - https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html
    - https://docs.pytorch.org/docs/stable/torch.compiler.config.html (`allow_unspec_int_on_nn_module`)
    - https://github.com/pytorch/pytorch/issues/115711
    """
    changed = _grown(site) if isinstance(site.target, ast.Call) else _counted(site)
    if changed is not None and site.region is not None and not site.rare:
        yield site.finding(
            f"`{site.short()}` changes {changed} that the compiled code is guarded on: it is compiled again on each call, "
            "eight times, and runs eagerly from then on.",
            related=site.why_compiled(),
        )


def _counted(site: Site) -> str | None:
    """An integer of `self` or of the module that the statement counts on."""
    target = site.part("count")
    if isinstance(target, ast.Attribute) and site.function.cls is not None and _is_self(site, target.value):
        value = site.project.attribute(site.function.cls, target.attr)
        counts = value.kind == "number" and value.integer and value.proven and not value.boolean
        if not counts or "allow_unspec_int_on_nn_module" in site.dynamo_options or _set_here(site, target.attr):
            return None
        return "an integer attribute"
    if isinstance(target, ast.Name) and target.id in site.flow.globals:
        value = site.value(target)
        return "a global integer" if value.kind == "number" and value.integer else None
    return None


def _incremented(node: ast.AST) -> ast.expr | None:
    """The target of `x += n` and of `x = x + n`."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add | ast.Sub):
        return node.target
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.value, ast.BinOp):
        value, target = node.value, node.targets[0]
        if isinstance(value.op, ast.Add | ast.Sub) and ast.unparse(value.left) == ast.unparse(target):
            return target
    return None


def _is_self(site: Site, node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == site.function.own_name


def _set_here(site: Site, attribute: str) -> bool:
    """Whether the function sets the attribute anew, so that each call begins with the same value."""
    return any(
        isinstance(node, ast.Assign)
        and _incremented(node) is None
        and any(isinstance(t, ast.Attribute) and t.attr == attribute and _is_self(site, t.value) for t in node.targets)
        for node in site.flow.nodes
    )


def _grown(site: Site) -> str | None:
    """A list of `self` that the call makes longer and that nobody empties."""
    holder = site.part("list")
    if not isinstance(holder, ast.Attribute) or site.function.cls is None or not _is_self(site, holder.value):
        return None
    value = site.project.attribute(site.function.cls, holder.attr)
    if value.kind != "list" or not value.proven or _set_here(site, holder.attr):
        return None
    emptied = re.findall(rf"\.{holder.attr}(?:\s*(?::[^=\n]*)?=(?!=)|\.(?:clear|pop|popleft)\b)", site.source.text)
    return "the length of a list" if len(emptied) <= 1 else None
