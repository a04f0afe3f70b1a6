from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import names
from torchlint.facts.aliases import Batch
from torchlint.facts.module import Class, Function
from torchlint.facts.nodes import is_constant, keyword_of
from torchlint.facts.sending import told_to_wait
from torchlint.facts.told import Cast
from torchlint.rule import Finding, Fix, Site
from torchlint.rule.lazy import regex
from torchlint.rule.rewrite import call_node

_OTHER_CLASS = "what a library makes of the samples may be moved by a method that takes no `non_blocking`"
_GIVES_TENSORS = regex(r"(?i)default_collate|data_?collator")
"""What torch and transformers collate with: tensors by their names."""
_STREAMS = rb"\bStream\(|\bstream\("


def fix(site: Site, finding: Finding) -> Fix | None:
    if isinstance(finding.told, Cast) or not _is_equal(site):
        return None
    waits = told_to_wait(site.call)
    added = "non_blocking=True"
    edit = site.tree.replace(site.cst(waits), "True") if waits else site.tree.add_argument(call_node(site), added)
    note = _OTHER_CLASS if _is_collated_elsewhere(site) else ""
    return Fix("Copy without waiting", (edit,), "unsafe" if note else "safe", note) if edit is not None else None


def _is_equal(site: Site) -> bool:
    """Whether nothing can tell the two copies apart.

    On MPS an asynchronous copy may read memory that was given back meanwhile, a batch class of a library may not know
    `non_blocking`, another stream may read the copy before it has arrived, and what the host writes while the copy is under
    way may get into it. A class of the project that is moved by its own method may come out of another loader.
    """
    data = site.source.data
    return (
        b"mps" not in data
        and b"torch.accelerator" not in data
        and site.receiver.kind == "tensor"
        and not _may_refuse(site)
        and not site.analysis.context.switched_on(_STREAMS, _folder(site))
        and Batch(site.function, site.call, site.value).is_left_alone()
    )


def _folder(site: Site) -> str:
    """The folder of the file, as the project names it, wherever torchlint runs."""
    return site.project.home(site.module.path).rpartition("/")[0]


def _may_refuse(site: Site) -> bool:
    """Whether a class of the project is moved by a method of its own that takes no `non_blocking`."""
    method = site.name.removeprefix(".").removesuffix("()")
    project = site.project

    def found() -> bool:
        modules = [*filter(None, map(project.module, project.definers(method)))]
        methods = [one for module in modules for one in module.functions if one.name == method and one.is_method]
        word = method.encode() + b" = "
        aliased = project.modules(sorted(project.holders(rb"(?m)^[ \t]+%s[A-Za-z_]\w*\s*$" % word, word=word)))
        methods += [one for module in aliased for klass in module.classes for one in _called_so(klass, method)]
        return any(_refuses(one.node.args) for one in methods if not isinstance(one.node, ast.Module))

    return project.ask(("refuses non_blocking", method), found, False)


def _called_so(klass: Class, name: str) -> Iterator[Function]:
    """The method that a class has by another name as well: `to = move`."""
    given = klass.assigned.get(name)
    if given is not None and isinstance(given.value, ast.Name) and given.value.id in klass.methods:
        yield klass.methods[given.value.id]


def _is_collated_elsewhere(site: Site) -> bool:
    """Whether a function makes the batches that is not the project's, and may make them of a class of its own."""
    batch = site.receiver
    loaders = (batch.loader_calls if batch.kind == "tensor" else None) or ()
    return any(_may_collate(site, one) for one in loaders if isinstance(one, ast.Call))


def _may_collate(site: Site, loader: ast.Call) -> bool:
    """Whether a loader is given such a function, or may be by `**`, or gives the samples as they are: `batch_size=None`."""
    given = keyword_of(loader, "collate_fn")
    if given is not None:
        return not _is_own(site, given)
    hidden = any(keyword.arg is None for keyword in loader.keywords)
    if hidden and site.analysis.context.switched_on(rb"\bcollate_fn\b", _folder(site), word=b"collate_fn"):
        return True
    return is_constant(keyword_of(loader, "batch_size"), None)


def _is_own(site: Site, collate: ast.expr) -> bool:
    """Whether what collates is written in the project, or gives tensors: `collate`, `Padded(0)`, `partial(collate, size)`, `self.pad`."""
    if isinstance(collate, ast.Lambda | ast.Constant):
        return True
    known = {names.last(part) for part in ast.walk(collate) if isinstance(part, ast.Name | ast.Attribute)}
    if any(_GIVES_TENSORS.search(name) for name in known):
        return True
    defined = rb"\b(?:def|class) +(?:%s)\b" % "|".join(sorted(known)).encode()
    return site.project.any_holds(defined)


def _refuses(given: ast.arguments) -> bool:
    return given.kwarg is None and "non_blocking" not in {one.arg for one in (*given.args, *given.kwonlyargs)}
