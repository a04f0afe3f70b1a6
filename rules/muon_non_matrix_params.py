from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts.layers import BIAS, WITHOUT_WEIGHTS
from torchlint.facts.nodes import argument_of, is_constant
from torchlint.facts.values import Value
from torchlint.rule import Finding, Site, rule

_FILTERS = frozenset(("ndim", "dim", "ndimension", "shape", "size"))


@rule("TL907", shape="torch.optim.Muon(params := $params, ...)", severity="error", torch=">=2.9", category="migration")
def muon_non_matrix_params(site: Site) -> Iterator[Finding]:
    """`torch.optim.Muon` gets all parameters, not only the matrices.

    ## What it does

    Finds `torch.optim.Muon(model.parameters())`, and lists of parameters for it that no test of the dimensions filters.

    ## Why is this slow?

    It does not run: Muon orthogonalises matrices, and raises a `ValueError` for biases, norms and convolutions.
    Embeddings and the output layer are matrices but are meant for another optimizer as well.

    ## When it does not matter

    In a model of linear layers without biases only.

    ## Bad

    ```python
    optimizer = torch.optim.Muon(model.parameters(), lr=0.02)  # TL907
    ```

    ## Good

    ```python
    matrices = [p for p in model.blocks.parameters() if p.ndim == 2]
    others = [p for p in model.parameters() if all(p is not m for m in matrices)]
    optimizers = [torch.optim.Muon(matrices, lr=0.02), torch.optim.AdamW(others)]  # ok
    ```

    ## References

    - https://docs.pytorch.org/docs/stable/generated/torch.optim.Muon.html
    """
    model = _unfiltered(site.part("params"))
    if model is not None and not _has_matrices_alone(site.value(model)):
        yield site.finding(
            f"`{site.short()}` gets parameters that are no matrices, which raises a ValueError; leave biases, norms and embeddings to another optimizer"
        )


def _unfiltered(node: ast.expr) -> ast.expr | None:
    """The model all of whose parameters a list has."""
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("list", "tuple")
        and len(node.args) == 1
    ):
        return _unfiltered(node.args[0])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.value if node.func.attr in ("parameters", "named_parameters") else None
    if isinstance(node, ast.ListComp | ast.GeneratorExp) and len(node.generators) == 1:
        tests = node.generators[0].ifs
        named = {part.attr for test in tests for part in ast.walk(test) if isinstance(part, ast.Attribute)}
        plain = all(isinstance(test, ast.Attribute) and test.attr == "requires_grad" for test in tests)
        return _unfiltered(node.generators[0].iter) if plain and not named & _FILTERS else None
    return None


def _has_matrices_alone(model: Value) -> bool:
    """A linear layer without a bias, or a row of such and of layers without parameters."""
    if model.kind != "module":
        return False
    if model.class_name == "torch.nn.Linear":
        made = model.made_by
        return isinstance(made, ast.Call) and is_constant(argument_of(made, "bias", BIAS[model.class_name]), False)
    if model.class_name in ("torch.nn.Sequential", "torch.nn.ModuleList"):
        return bool(model.items) and all(map(_has_matrices_alone, model.items or ()))
    return model.class_name in WITHOUT_WEIGHTS
