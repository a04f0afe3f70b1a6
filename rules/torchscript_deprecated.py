from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchlint.facts import names, syntax
from torchlint.facts.module import Class
from torchlint.rule import Finding, Site, rule
from torchlint.rule.lazy import regex

_NAMES = "script trace trace_module freeze optimize_for_inference fork wait interface".split()
_USES = (("", "(...)"), ("@", "\ndef $made(*$_): ..."), ("@", "\nclass $made: ..."))
_BY_NAME = regex(r"torchscript|(?:^|_)export(?:$|_)|(?:^|[^a-z])jit(?:$|[^a-z])|scripting", re.IGNORECASE)
_COMPILES = (2, 0)
"""The first torch that has `torch.compile`."""
_EXPORTS = regex(r"(?:^|_)export(?:$|_)")


@rule(
    "TL904",
    shape=[f"{before}torch.jit.{name}{behind}" for name in _NAMES for before, behind in _USES],
    severity="info",
    torch=">=2.10",
    category="migration",
    confirmed_by=("warning:DeprecationWarning",),
)
def torchscript_deprecated(site: Site) -> Iterator[Finding]:
    """TorchScript, which torch has given up.

    ## What it does

    Finds calls and decorators of `torch.jit`: `script`, `trace`, `freeze`, `optimize_for_inference`, `fork`, `wait` and
    `interface`.

    ## Why is this slow?

    TorchScript gets no new optimisations, each of these names raises a `DeprecationWarning` on recent torch, and it does
    not work on Python 3.14.
    For `torch.compile` a scripted module is opaque: the graph breaks at each call of it.

    ## When it does not matter

    Where a model goes to C++ or to a phone through TorchScript, until `torch.export` can take over there: code that is
    asked for TorchScript by that name (`if args.torchscript:`, `class TorchScriptConverter`, `torchscript.py`, a folder `jit`), or exports (`def export_coreml`, `export.py`), is not
    reported, nor are `save` and `load`, since it is the file that is TorchScript, nor what is scripted or traced for its `graph`, for a file alone or for another library,
    nor a class that only holds data (`@torch.jit.script` above a dataclass): a type of TorchScript, in whose place nothing comes.
    Annotations that only matter if somebody scripts the code (`torch.jit.ignore`, `export`, `unused`, `is_scripting`)
    are not reported, nor are tests; nor is anything of a project whose newest torch (`torch<2`) has no `torch.compile`, which came with 2.0.

    ## Bad

    ```python
    model = torch.jit.script(model)  # TL904
    model = torch.jit.optimize_for_inference(model)  # TL904
    ```

    ## Good

    ```python
    program = torch.export.export(model, (x,))  # ok
    model = torch.compile(model)  # ok
    ```

    ## References

    - https://docs.pytorch.org/docs/stable/jit.html
    - https://github.com/pytorch/pytorch/issues/167910
    - https://meta-pytorch.github.io/compile-graph-break-site/gb/gb4695.html
    """
    call = site.target if isinstance(site.target, ast.Call) else None
    if site.role == "test" or site.shim or _never_compiles(site) or _asked_for(site):
        return
    if call is not None and _for_others(site, call):
        return
    plain = _plain_class(site)
    if plain is not None and all(name.startswith("__") for name in plain.methods):
        return
    name = site.text(call.func if call is not None else None)
    instead = "use `torch.compile` or `torch.export`" if plain is None else "TorchScript alone needs it"
    yield site.finding(f"`{name}` is deprecated and gets no new optimisations; {instead}")


def _never_compiles(site: Site) -> bool:
    """Whether each torch that the project allows is from before `torch.compile`: TorchScript is what there is."""
    return site.torch is not None and site.torch.high <= _COMPILES


def _plain_class(site: Site) -> Class | None:
    """The class that is decorated, where it is no module: a type of TorchScript, which nothing takes the place of."""
    node = site.flow.parents.get(site.target)
    klass = site.module.class_of.get(node) if isinstance(node, ast.ClassDef) else None
    return klass if klass is not None and not site.project.is_module(klass) else None


def _asked_for(site: Site) -> bool:
    """Whether the file, the class, the function or a condition around the place says TorchScript, or exports: then a user asked for it."""
    folders, _, file = site.place.lower().rpartition("/")
    name = file.removesuffix(".py")
    if (
        "torchscript" in name.replace("_", "")
        or _EXPORTS.search(name)
        or "jit" in folders.split("/")
        or _BY_NAME.search(site.function.name)
        or (site.function.cls is not None and _BY_NAME.search(site.function.cls.name))
    ):
        return True
    loops = [loop.iter for loop in site.flow.loops(site.target) if isinstance(loop, ast.For)]
    if any(_BY_NAME.search(site.text(looped)) for looped in loops):
        return True
    return any(guard.true and _BY_NAME.search(site.text(guard.test)) for guard in site.flow.guards(site.target))


def _for_others(site: Site, call: ast.Call) -> bool:
    """Whether what a call makes is only looked into, written to a file or handed to another library: `holder.graph`, `jit.save(model, path)`, `openmmtorch.TorchForce(model)`."""
    name = syntax.target(site.flow, call)
    if not isinstance(name, ast.Name):
        uses: list[ast.expr] = [call]
    else:
        uses = [load for load in site.flow.loads.get(name.id, ()) if load.lineno > call.lineno]
    if names.last(call.func) == "trace" and any(_is_handed_over(site, use) for use in uses):
        uses = [use for use in uses if not _is_run_once(site, use)]  # tried before that: `traced(example)`
    return bool(uses) and all(
        _is_looked_into(site, use) or _is_handed_over(site, use) or _is_saved(site, use) for use in uses
    )


def _is_run_once(site: Site, use: ast.expr) -> bool:
    parent = site.flow.parents.get(use)
    return isinstance(parent, ast.Call) and parent.func is use and not site.flow.loops(use)


def _is_looked_into(site: Site, use: ast.expr) -> bool:
    parent = site.flow.parents.get(use)
    return isinstance(parent, ast.Attribute) and parent.attr in _GRAPHS


def _is_saved(site: Site, use: ast.expr) -> bool:
    """`torch.jit.save(model, path)`, `model.save(path)`: a program without Python may run the file."""
    parent = site.flow.parents.get(use)
    if isinstance(parent, ast.Attribute):
        return parent.attr == "save" and syntax.called(site.flow, parent) is not None
    return isinstance(parent, ast.Call) and site.resolve(parent.func) == "torch.jit.save" and parent.args[:1] == [use]


def _is_handed_over(site: Site, use: ast.expr) -> bool:
    """Whether a library other than torch gets it, which may take TorchScript alone."""
    parent = site.flow.parents.get(use)
    name = site.resolve(parent.func) if isinstance(parent, ast.Call) and use in parent.args else None
    library = name.partition(".")[0] if name is not None and "." in name else "torch"
    return library != "torch" and site.project.find(library, site.module) is None


_GRAPHS = frozenset(("graph", "inlined_graph"))
