from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts.nodes import bound_names, given_to
from torchlint.rule import Finding, Site, rule

_VOLATILE = (ast.JoinedStr, ast.Call, ast.ListComp, ast.Subscript, ast.Dict)


@rule(
    "TL304",
    shape="$f(...)",
    scope="hot",
    set="preview",
    severity="info",
    impact="medium",
    category="compile",
    confirmed_by=("recompile",),
)
def volatile_python_argument(site: Site) -> Iterator[Finding]:
    """A compiled function is called on every step with another string, or with a list of another length.

    ## What it does
    Finds calls of what went through `torch.compile`, in the loop that steps the optimizer, with an argument that is a string put together from a value that changes, a list with a filter, a slice of a list with an end that changes, or a dict with such strings as keys.

    ## Why is this slow?
    Dynamo takes strings, the lengths of lists and the keys of dicts for constants where the compiled function uses them, and guards the code on them.
    Another value is another compilation: eight times, and then the function runs eagerly.

    ## When it does not matter
    Integers and floats become dynamic after one more compilation, and so does a float learning rate.
    A string that the function never looks at is not guarded on.

    ## Bad
    ```python
    def weigh(x: torch.Tensor, name: str) -> torch.Tensor:
        return x.sum() * len(name)

    weighted = torch.compile(weigh)
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters())
    for step, x in enumerate(torch.ones(10, 4, 8)):
        loss = weighted(model(x), f"step {step}")  # TL304
        loss.backward()
        optimizer.step()
    ```

    ## Good
    ```python
    def weigh(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return x.sum() * weight

    weighted = torch.compile(weigh)
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters())
    for step, x in enumerate(torch.ones(10, 4, 8)):
        loss = weighted(model(x), torch.tensor(len(f"step {step}")))
        loss.backward()
        optimizer.step()
    ```

    ## References
    - https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html
    """
    arguments = given_to(site.call)
    if not any(isinstance(argument, _VOLATILE) for argument in arguments):
        return
    if site.hot is None or site.hot.weak or not site.value(site.call.func).compiled:
        return
    for argument in arguments:
        what = _volatile(site, argument)
        if what is not None:
            yield site.finding(
                f"`{site.short(argument)}` is {what} on every step: compiled code that uses it is compiled again for each.",
                at=argument,
                related=site.why_hot(),
            )


def _volatile(site: Site, node: ast.expr) -> str | None:
    if isinstance(node, ast.JoinedStr) and any(
        _changes(site, v.value) for v in node.values if isinstance(v, ast.FormattedValue)
    ):
        return "another string"
    if isinstance(node, ast.Call) and site.resolve(node.func) == "str" and node.args and _changes(site, node.args[0]):
        return "another string"
    if isinstance(node, ast.ListComp) and any(generator.ifs for generator in node.generators):
        return "a list of another length"
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and site.value(node.value).kind == "list":
        ends = [end for end in (node.slice.lower, node.slice.upper) if end is not None]
        return "a list of another length" if any(_changes(site, end) for end in ends) else None
    if isinstance(node, ast.Dict) and any(key is not None and _volatile(site, key) for key in node.keys):
        return "a dict with another key"
    return None


def _changes(site: Site, node: ast.expr) -> bool:
    """Whether the expression reads a number that the loop counts: its target, or a name that the loop adds to."""
    loop = site.loop()
    if loop is None:
        return False
    counted = {n.target.id for n in ast.walk(loop) if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)}
    if not isinstance(loop, ast.While):
        counted |= bound_names(loop.target)
    read = [n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in counted]
    return any(site.value(n).kind in ("number", "unknown") for n in read)
