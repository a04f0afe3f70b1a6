from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import names
from torchlint.facts.module import Function
from torchlint.facts.nodes import elements, indices
from torchlint.rule import Finding, Site, rule
from torchlint.torch_api.operators import operator

_ATTRIBUTES = frozenset(("T", "mT", "H", "mH", "real", "imag", "data"))


@rule(
    "TL908",
    shape=[f"@torch.library.{name}(...)\ndef $operator(*$_): ..." for name in ("custom_op", "triton_op")],
    severity="error",
    fix="suggestion",
    torch=">=2.4",
    category="migration",
)
def custom_op_aliases_input(site: Site) -> Iterator[Finding]:
    """A custom operator gives back its input, a view of it, or one tensor twice.

    ## What it does

    Finds functions under `@torch.library.custom_op` and `@torch.library.triton_op` that return a parameter, a view of one
    (`x.view(...)`, `x.T`, `x[1:]`, also `x.contiguous()`, which is `x` itself where that is contiguous), or a tuple that
    holds the same tensor twice.

    ## Why is this slow?

    It is wrong.
    `torch.compile` plans memory and reorders writes on the promise that an operator's results share nothing with its
    inputs; the eager call of an operator made by `torch.library.custom_op` checks it and raises a `RuntimeError` (measured on
    torch 2.4 to 2.15), that of one made by `torch.library.define` does not.

    ## When it does not matter

    It always does. Operators with the tag `torch.Tag.inplace` or `torch.Tag.out` may give back what they mutate.

    ## Bad

    ```python
    @torch.library.custom_op("mylib::scale_", mutates_args=("x",))
    def scale_(x: torch.Tensor, factor: float) -> torch.Tensor:
        x.mul_(factor)
        return x  # TL908
    ```

    ## Good

    ```python
    @torch.library.custom_op("mylib::scale_", mutates_args=("x",))
    def scale_(x: torch.Tensor, factor: float) -> None:
        x.mul_(factor)  # ok
    ```

    ## References

    - https://docs.pytorch.org/tutorials/advanced/python_custom_ops.html
    - https://github.com/pytorch/pytorch/issues/182006
    """
    function = next((f for f in site.module.functions if f.node is site.match.whole), None)
    if function is None or not isinstance(function.node, ast.FunctionDef):
        return
    if _gives_back_its_argument(site.target):
        return
    for given in function.flow.returned:
        for shared, reason in _shared(function, given):
            place = Site(site.analysis, function, shared, site.rule, site.name)
            yield place.finding(
                f"`{place.short()}` {reason}; a custom operator's results must share no memory with its inputs or each other"
            )


def _gives_back_its_argument(decorator: ast.AST) -> bool:
    """Whether the operator is tagged as one that gives back what it mutates (`torch.Tag.inplace`, `torch.Tag.out`)."""
    keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
    tags = [keyword.value for keyword in keywords if keyword.arg == "tags"]
    return any(
        names.last(node) in ("inplace", "out")
        for tag in tags
        for node in ast.walk(tag)
        if isinstance(node, ast.Attribute)
    )


def _shared(function: Function, value: ast.expr) -> Iterator[tuple[ast.expr, str]]:
    """The expressions of a return that alias something, and what."""
    items = elements(value)
    seen: set[str] = set()
    for item in items:
        root = _root(item)
        if root is None:
            continue
        if _is_input(function, root):
            same = _is_parameter(function, item) or _changes(item)
            yield item, "is an input of the operator" if same else "may be a view of an input"
        elif isinstance(item, ast.Name) and item.id in seen and item.id not in _immutable(function):
            yield item, "is given back twice"
        if isinstance(item, ast.Name):
            seen.add(item.id)


def _changes(node: ast.expr) -> bool:
    """`x.mul_(2)`"""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _alias(node.func.attr) == "self"


def _root(node: ast.expr) -> ast.Name | None:
    """The name under a chain of views: `x` of `x.view(-1).T[1:]`."""
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _alias(node.func.attr):
            node = node.func.value
        elif (isinstance(node, ast.Attribute) and node.attr in _ATTRIBUTES) or (
            isinstance(node, ast.Subscript) and _is_basic(node.slice)
        ):
            node = node.value
        else:
            return None
    return node


def _alias(method: str) -> str:
    """How a method's result shares memory with its tensor: `view`, `maybe`, `self`; "" where it does not, or by dtype."""
    row = operator(f"torch.Tensor.{method}")
    return row.alias if row is not None and row.alias != "itself" else ""


def _is_basic(index: ast.expr) -> bool:
    """Whether an index gives a view: numbers, slices, None, an ellipsis."""
    parts = indices(index)
    return all(
        isinstance(p, ast.Slice) or (isinstance(p, ast.Constant) and not isinstance(p.value, bool | str)) for p in parts
    )


def _is_input(function: Function, name: ast.Name) -> bool:
    """Whether a name is a parameter that takes a tensor, never assigned, or is assigned once, a view of such."""
    for parameter in function.parameters:
        if parameter.arg == name.id:
            return name.id not in function.flow.stores and _takes_tensor(parameter)
    made = function.flow.assignment(name.id)
    if made is not None and len(made.targets) == 1:
        root = _root(made.value)
        return root is not None and root.id != name.id and _is_input(function, root)
    return False


def _is_parameter(function: Function, node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and any(parameter.arg == node.id for parameter in function.parameters)


def _takes_tensor(parameter: ast.arg) -> bool:
    return parameter.annotation is None or "Tensor" in ast.dump(parameter.annotation)


def _immutable(function: Function) -> frozenset[str]:
    """Names that hold no tensor by their annotation."""
    return frozenset(p.arg for p in function.parameters if not _takes_tensor(p))
