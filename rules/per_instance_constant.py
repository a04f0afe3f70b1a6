from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts.module import Class, Function
from torchlint.facts.nodes import keyword_of
from torchlint.rule import Finding, Related, Site, rule


@rule(
    "TL302",
    shape=["torch.compile(...)", "$x.compile(...)"],
    set="preview",
    severity="info",
    impact="medium",
    category="compile",
    torch=">=2.8",
)
def per_instance_constant(site: Site) -> Iterator[Finding]:
    """Layers are compiled one by one, but each holds another number that its forward uses.

    ## What it does
    Finds `layer.compile()` and `torch.compile(layer)` in a loop over layers whose `forward` calculates, compares or indexes with an integer attribute that the constructor is given, such as `self.layer_idx`, where the layers are made with different numbers.

    ## Why is this slow?
    Compiling each layer pays because all layers share one compilation.
    An integer attribute of a module is a constant to Dynamo and guarded on, so layers with different numbers share nothing: eight are compiled, and the others run eagerly.

    ## When it does not matter
    Where the whole model is compiled, each use of the number is a constant of one graph.
    A number that `forward` does not use is not guarded on.
    Measured: six layers with different numbers are six compilations from torch 2.8 on; torch 2.5 to 2.7 make the number dynamic
    after the second, and before 2.5 layers share nothing in any case.

    ## Bad
    ```python
    class Layer(torch.nn.Module):
        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index
            self.linear = torch.nn.Linear(8, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.linear(x) / (self.index + 1)

    layers = torch.nn.ModuleList([Layer(i) for i in range(12)])
    for layer in layers:
        layer.compile()  # TL302
    ```

    ## Good
    ```python
    class Layer(torch.nn.Module):
        def __init__(self, index: int) -> None:
            super().__init__()
            self.register_buffer("scale", torch.tensor(1.0 / (index + 1)), persistent=False)
            self.linear = torch.nn.Linear(8, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.linear(x) * self.scale

    layers = torch.nn.ModuleList([Layer(i) for i in range(12)])
    for layer in layers:
        layer.compile()
    ```

    ## References
    - https://docs.pytorch.org/tutorials/recipes/regional_compilation.html
    - https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html
    """
    klass = _layer(site)
    if klass is None or (site.loop() is None and site.flow.comprehension(site.call) is None):
        return
    forward = site.project.method(klass, "forward")
    if forward is None or "allow_unspec_int_on_nn_module" in site.dynamo_options:
        return
    for attribute, parameter in _given(klass).items():
        use = _used(forward, attribute)
        if use is not None and _varies(site, klass, parameter):
            related: tuple[Related, ...] = (
                site.related(forward, use, f"`self.{attribute}` is a constant of the compiled code"),
            )
            yield site.finding(
                f"Each `{klass.name}` is compiled for its own `{attribute}`: the layers share no compilation.",
                related=related,
            )
            return


def _layer(site: Site) -> Class | None:
    """The class of the module that is compiled."""
    if site.name == ".compile()":
        value = site.receiver
    elif site.call.args:
        value = site.value(site.call.args[0])
    else:
        return None
    return value.class_ if value.kind == "module" else None


def _given(klass: Class) -> dict[str, str]:
    """The attributes that `__init__` takes over from its parameters: the attribute's name to the parameter's."""
    init = klass.methods.get("__init__")
    found: dict[str, str] = {}
    if init is None:
        return found
    for node in init.flow.nodes:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id in init.positions:
            for target in node.targets:
                if (
                    isinstance(target, ast.Attribute)
                    and isinstance(target.value, ast.Name)
                    and target.value.id == "self"
                ):
                    found[target.attr] = node.value.id
    return found


def _used(forward: Function, attribute: str) -> ast.AST | None:
    """Where `forward` calculates, compares or indexes with the attribute."""
    flow = forward.flow
    for node in flow.nodes:
        if (
            isinstance(node, ast.Attribute)
            and node.attr == attribute
            and isinstance(node.value, ast.Name)
            and node.value.id == "self"
        ):
            parent = flow.parents.get(node)
            if isinstance(parent, ast.BinOp | ast.Compare) or (
                isinstance(parent, ast.Subscript) and parent.slice is node
            ):
                return node
    return None


def _varies(site: Site, klass: Class, parameter: str) -> bool:
    """Whether a call of the class, in its file or this one, passes the counter of a loop or comprehension."""
    init = klass.methods["__init__"]
    position = init.positions[parameter] - 1
    for module in {klass.module, site.module}:
        for function in module.functions:
            for call in function.flow.calls:
                if init in site.project.targets(function, call):
                    given = keyword_of(call, parameter)
                    given = given or (call.args[position] if position < len(call.args) else None)
                    if isinstance(given, ast.Name) and given.id in _counters(function, call):
                        return True
    return False


def _counters(function: Function, call: ast.Call) -> set[str]:
    """The names that the loops and comprehensions around a call count with."""
    found: set[str] = set()
    for parent in function.flow.ancestors(call):
        targets: list[tuple[ast.expr, ast.expr]] = []
        if isinstance(parent, ast.For):
            targets = [(parent.target, parent.iter)]
        elif isinstance(parent, ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp):
            targets = [(generator.target, generator.iter) for generator in parent.generators]
        for target, iterable in targets:
            if isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Name):
                first = target
                if iterable.func.id == "enumerate" and isinstance(target, ast.Tuple) and target.elts:
                    first = target.elts[0]
                if iterable.func.id in ("range", "enumerate") and isinstance(first, ast.Name):
                    found.add(first.id)
    return found
