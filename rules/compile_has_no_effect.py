from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import uses
from torchlint.facts.flow import contains
from torchlint.facts.module import Class, Function
from torchlint.facts.nodes import bound_names
from torchlint.rule import Finding, Site, rule

# Methods that neither run the compiled code nor are meant to.
_NEUTRAL = frozenset(
    """train eval to cuda cpu half float double bfloat16 type state_dict load_state_dict parameters named_parameters
    buffers named_buffers modules named_modules children named_children requires_grad_ zero_grad apply share_memory
    register_forward_hook register_forward_pre_hook register_full_backward_hook get_submodule compile""".split()
)
_MODULES = frozenset(("torch.nn.Module", "torch.nn.modules.module.Module"))


@rule(
    "TL210",
    shape=["torch.compile($thrown, ...);", "$bound = torch.compile($module, ...)", "$x.compile(...)"],
    fix="unsafe",
    numbers="rounding",
    impact="high",
    category="compile",
    principle=("fusion",),
    torch=">=2.0",
)
def compile_has_no_effect(site: Site) -> Iterator[Finding]:
    """torch.compile is called, but what it compiles never runs.

    ## What it does
    Finds five ways to lose a compiled module: the result of `torch.compile(...)` is thrown away, or bound to a name that nothing reads, such as that of a loop over a list, which keeps its elements, or of a parameter, whose caller keeps what it gave; the class of the module has no `forward`; the module that comes back is used only through other methods, such as `compiled.generate(x)`; after `module.compile()` only `module.forward(x)` is called.

    ## Why is this slow?
    `torch.compile(module)` leaves the module alone and gives a wrapper, and only calling the wrapper runs compiled code.
    Every other method of the wrapper is the method of the original module: inside it `self(x)` is the original, uncompiled forward.
    `module.compile()` compiles the call of the module, which `module.forward(x)` goes around.

    ## When it does not matter
    Where the object is also called, given away or returned, somebody may call it; the rule is silent then.
    So it is about classes that are not part of the project, whose methods may compile by themselves.

    ## Bad
    ```python
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(x)

        def generate(self, x: torch.Tensor) -> torch.Tensor:
            return self(self(x))

    model = torch.compile(Model())  # TL210
    model.generate(torch.ones(3))
    ```

    ## Good
    ```python
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(x)

        def generate(self, x: torch.Tensor) -> torch.Tensor:
            return self(self(x))

    model = Model()
    model.compile()
    model.generate(torch.ones(3))
    ```

    ## Fix safety
    A module whose compiled form is thrown away is compiled in place, `model.compile()`, from torch 2.2 on: its class, the names
    in its `state_dict` and whoever else holds it stay. A function is bound to its own name, a method to the object's
    attribute, where that can be assigned, in files that copy, pickle and save no objects: one that holds its own compiled
    method can't be pickled, and the method of a copy runs on the original. That is unsafe: the program now runs compiled
    code, which takes time and a compiler, and the last digits differ.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.compile.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html (`compile`)
    - https://github.com/pytorch/pytorch/issues/141473
    """
    if site.name == ".compile()":
        yield from _in_place(site)
    elif "thrown" in site.match:
        if site.value(site.part("thrown")).kind in ("module", "function") and not _is_probe(site):
            yield site.finding(
                f"The result of `{site.short()}` is thrown away: `{site.short(site.part('thrown'))}` itself is not compiled."
            )
    elif _is_unread(site):
        bound = site.short(site.part("bound"))
        yield site.finding(
            f"The result of `{site.short()}` is bound to `{bound}`, which nothing reads behind it: it never runs."
        )
    else:
        yield from _through_methods(site)


def _is_probe(site: Site) -> bool:
    """Whether a program tries out whether anything can be compiled: `try: torch.compile(Identity())`, which nobody else holds."""
    around = site.flow.parents.get(site.statement)
    if not isinstance(around, ast.Try) or site.statement not in around.body:
        return False
    thrown = uses.meant(site.function, site.part("thrown"))
    return isinstance(thrown, ast.Call) and site.flow.statement(thrown) in around.body


def _is_unread(site: Site) -> bool:
    """Whether a compiled module has a name that nobody reads: `for block in blocks: block = torch.compile(block)`.

    Of what stands outside of functions only what the loop binds again is known to be no name for others.
    """
    bound, statement = site.part("bound"), site.statement
    if not isinstance(bound, ast.Name) or not isinstance(statement, ast.Assign) or statement.value is not site.call:
        return False
    if site.role == "test" or len(statement.targets) > 1 or bound.id in site.flow.globals:
        return False
    if any(isinstance(parent, ast.ClassDef) for _, parent in site.flow.upwards(site.call)):
        return False
    loop = site.loop()
    again = isinstance(loop, ast.For) and bound.id in bound_names(loop.target)
    if not again and (loop is not None or site.function is site.module.body):
        return False
    others = (one for one in _readers(site, bound.id) if one is not site.function)
    if any(_is_read_later(site, read) for read in site.flow.loads.get(bound.id, ())):
        return False
    reads = uses.readers(site.function, bound.id, site.call)
    return all(contains(site.call, read) for read in reads) and not any(bound.id in one.flow.loads for one in others)


def _is_read_later(site: Site, read: ast.Name) -> bool:
    """Whether a lambda reads a name, whenever that is called."""
    return any(isinstance(around, ast.Lambda) for around in site.flow.expressions(read))


def _through_methods(site: Site) -> Iterator[Finding]:
    """`c = torch.compile(module)` of which only methods are called."""
    bound, value = site.part("bound"), site.value(site.part("module"))
    if value.kind == "module" and value.class_ is not None and _has_no_forward(site, value.class_):
        yield site.finding(
            f"`{site.short()}` compiles the `forward` of `{value.class_.name}`, which has none: its other methods run uncompiled."
        )
        return
    if not isinstance(bound, ast.Name) or value.kind != "module" or value.class_ is None:
        return
    name = bound.id
    methods = _uses(site, name)
    if methods is None:
        return
    called = [method for method in methods if method not in _NEUTRAL]
    klass = value.class_
    if called and all(m != "forward" and site.project.method(klass, m) is not None for m in called):
        yield site.finding(
            f"`{name}` is compiled, but only `{name}.{called[0]}()` is called: it runs the original, uncompiled forward."
        )


def _has_no_forward(site: Site, klass: Class) -> bool:
    """Whether a class whose bases are all known, and that has no heirs, is one of a module that nobody can call."""
    seen: set[Class] = set()
    todo = [klass]
    while todo:
        one = todo.pop()
        if one in seen:
            continue
        seen.add(one)
        own = site.project.bases(one)
        torchs = [base for base in one.bases if site.project.resolve(one.parent, base) in _MODULES]
        if not {"forward", "__call__", "__getattr__"}.isdisjoint({*one.methods, *one.assigned}):
            return False
        if len(own) + len(torchs) != len(one.bases) or one.keywords:
            return False
        todo += own
    return not site.project.heirs(klass.name)


def _in_place(site: Site) -> Iterator[Finding]:
    """`module.compile()` after which only `module.forward()` is called."""
    module = site.part("x")
    if site.receiver.kind != "module" or not isinstance(module, ast.Name):
        return
    if site.project.has_own(site.receiver, "compile"):
        return
    name = module.id
    methods = _uses(site, name)
    if methods is not None and "forward" in methods and {"forward", *_NEUTRAL}.issuperset(methods):
        yield site.finding(
            f"`{site.short()}` compiles the call of `{name}`, but only `{name}.forward()` is called, which goes around it."
        )


def _uses(site: Site, name: str) -> list[str] | None:
    """The methods called of a name after the place; None where it is used in any other way, or bound again."""
    after = (site.call.end_lineno or 0, site.call.end_col_offset or 0)
    found: list[str] = []
    for function in _readers(site, name):
        flow = function.flow
        own = function is site.function
        stores = [n for n in flow.stores.get(name, ()) if own and (n.lineno, n.col_offset) > after]
        if stores or (own and flow.loops(site.call)):
            return None
        for load in flow.loads.get(name, ()):
            if own and (load.lineno, load.col_offset) <= after:
                continue
            method = flow.parents.get(load)
            call = flow.parents.get(method) if isinstance(method, ast.Attribute) else None
            if not (isinstance(method, ast.Attribute) and isinstance(call, ast.Call) and call.func is method):
                return None
            found.append(method.attr)
    return found


def _readers(site: Site, name: str) -> list[Function]:
    """The functions that may mean the same variable: the place's own, and those inside it that do not bind the name."""
    own = site.function
    found = [own]
    for function in site.module.functions:
        binds = name in function.flow.stores or name in function.positions
        if function is not own and not binds and own in function.scopes:
            found.append(function)
    return found
