from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import syntax
from torchlint.facts.compiler_table import PUBLIC
from torchlint.rule import Finding, Range, Site, rule


@rule("TL909", shape=PUBLIC, severity="info", fix="safe", torch=">=2.1", impact="low", category="migration")
def private_compiler_api(site: Site) -> Iterator[Finding]:
    """A private name of the compiler that has a public one.

    ## What it does

    Finds uses of `torch._dynamo` and of `torch._utils` for which `torch.compiler`, `torch.compile` or `torch.export` have a
    public name: `disable`, `allow_in_graph`, `is_compiling`, `reset`, `list_backends`, `optimize`, `export`, and the option
    `cache_size_limit`, which is called `recompile_limit` now.

    ## Why is this slow?

    It is not.
    Private names change without a deprecation, and `torch._dynamo` is imported at once where it is named, which takes a
    second.

    ## When it does not matter

    In code that works on the compiler itself, and where the oldest torch that the project names does not have the public
    name yet (`recompile_limit` came with 2.7).
    Names without a public counterpart (`mark_dynamic`, most of `config`) are not reported, nor are tests, nor functions
    that use the public name as well, by the version of torch.

    ## Bad

    ```python
    @torch._dynamo.disable  # TL909
    def log(x):
        print(x)
    ```

    ## Good

    ```python
    @torch.compiler.disable  # ok
    def log(x):
        print(x)
    ```

    ## Fix safety

    Writes the public name where both are the same function.
    The fix is unsafe where the project allows a torch that does not have the public name, or does not say which torch it
    is for. `disable(wrapping=...)` is left alone: the public function does not take that option.
    Unsafe are also `is_compiling`, since behind a graph break the private function is compiled by itself and answers yes,
    the public one no, and `assume_constant_result` where it is no decorator: called in compiled code, the public one raises.

    ## References

    - https://docs.pytorch.org/docs/stable/torch.compiler_api.html
    """
    target = site.target
    assert isinstance(target, ast.expr)
    entry = PUBLIC[site.name]
    if site.role == "test" or site.shim or syntax.from_shim(site.function, target):
        return
    if _writes_both(site, entry.rename) or _is_replaced(target, site.name):
        return
    if site.torch is None or not site.torch.intersects(Range(low=entry.renamed_in)) or site.lacks(entry.renamed_in):
        return
    what = "has another name now" if entry.rename.startswith("torch._dynamo") else "is private"
    yield site.finding(f"`{site.text()}` {what}; use {entry.instead}")


def _is_replaced(target: ast.expr, name: str) -> bool:
    """Whether a statement puts something in the place of a function, as a stub, or deletes it; options are there to be set."""
    return isinstance(target, ast.Attribute) and not isinstance(target.ctx, ast.Load) and ".config." not in name


def _writes_both(site: Site, public: str) -> bool:
    """Whether the function uses the public name as well: then it chooses by the version of torch."""
    if not public or site.function is site.module.body:
        return False
    last = public.rpartition(".")[2]
    return any(
        isinstance(node, ast.Attribute) and node.attr == last and site.resolve(node) == public
        for node in site.function.flow.nodes
    )
