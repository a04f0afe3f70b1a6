from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import starmap

from torchlint.facts import names
from torchlint.facts.aliases import Batch
from torchlint.facts.lookup import lookup
from torchlint.facts.module import Class, Function
from torchlint.facts.nodes import is_constant, keyword_of
from torchlint.facts.sending import told_to_wait
from torchlint.facts.told import Cast
from torchlint.rule import Finding, Fix, Site, chain
from torchlint.rule.lazy import regex
from torchlint.rule.rewrite import call_node

_OTHER_CLASS = "what a library makes of the samples may be moved by a method that takes no `non_blocking`"
_GIVES_TENSORS = regex(r"(?i)default_collate|data_?collator")
"""What torch and transformers collate with: tensors by their names."""
_STREAMS = rb"\bStream\(|\bstream\("
_OWN_STREAMS = rb"\b(?:cuda|torch|accelerator|xpu)\.(?:Stream|stream|ExternalStream)\(|\bfrom torch(?:\.cuda)? import\b[^\r\n]*\b[Ss]tream\b"
"""How a project makes streams, or has something run on one: `torch.cuda.stream(side)`."""
_OTHER_STREAM = "a stream of the project's may read the copy before it has arrived"
_MPS = rb"mps(?<![A-Za-z]mps)(?![a-z])"
_MAY_BE_MPS = regex(_MPS + rb"|torch\.accelerator\b")
"""How a file says that it may run on MPS, or on any accelerator there is."""
_ANYWHERE = (
    (_MPS, b"mps"),
    (rb"\b(?:torch\.accelerator|current_accelerator)\b", b"accelerator"),
    (rb"\bAccelerator\(", b"Accelerator("),
)
"""How a project says so, each with a word that it holds then."""
_BINDS = (ast.Assign, ast.AnnAssign)
_ON_MPS = "the project may run on Apple's MPS, where the copy may read memory that was given back meanwhile"


def fix(site: Site, finding: Finding) -> Fix | None:
    if isinstance(finding.told, Cast) or not _is_equal(site):
        return None
    waits = told_to_wait(site.call)
    added = "non_blocking=True"
    edit = site.tree.replace(site.cst(waits), "True") if waits else site.tree.add_argument(call_node(site), added)
    note = _OTHER_CLASS if _is_collated_elsewhere(site) else _read_early(site)
    return Fix("Copy without waiting", (edit,), "unsafe" if note else "safe", note) if edit is not None else None


def _is_equal(site: Site) -> bool:
    """Whether nothing can tell the two copies apart.

    On MPS an asynchronous copy may read memory that was given back meanwhile, a batch class of a library may not know
    `non_blocking`, another stream may read the copy before it has arrived, and what the host writes while the copy is under
    way may get into it. A class of the project that is moved by its own method may come out of another loader.
    """
    return (
        not site.source.holds(_MAY_BE_MPS)
        and site.receiver.kind == "tensor"
        and not _may_refuse(site)
        and not site.analysis.context.switched_on(_STREAMS, _folder(site))
        and Batch(site.function, site.call, site.value).is_left_alone()
    )


def _read_early(site: Site) -> str:
    """Why what another file of the project does may read the copy, or what it is made of, at another time; "" where none does."""
    if site.program_holds(_OWN_STREAMS, b"tream"):
        return _OTHER_STREAM
    return _ON_MPS if not _goes_to_cuda(site) and any(starmap(site.program_holds, _ANYWHERE)) else ""


def _goes_to_cuda(site: Site) -> bool:
    """Whether the copy goes to a GPU of CUDA wherever it goes to an accelerator: `x.cuda()`, or to what the file says it is."""
    target = site.argument("device", 0)
    if site.name == ".cuda()" or target is None:
        return site.name == ".cuda()"
    if _names_cuda(site, target):
        return True
    if isinstance(target, ast.Name):
        site.module.whole_tree()
        scopes = lookup(site.module)
        bound = [scopes.parent(one) for one in scopes.binders(target, target.id)]
        return bool(bound) and all(isinstance(by, _BINDS) and _names_cuda(site, by.value) for by in bound)
    if chain(target) is None or not isinstance(target, ast.Attribute):
        return False
    given = re.findall(rb"\.%s[ \t]*(?::[^=\n]{0,60})?=(?!=)([^\n]*)" % target.attr.encode(), site.source.data)
    return bool(given) and all(b"cuda" in one for one in given)


def _names_cuda(site: Site, node: ast.expr | None) -> bool:
    source = site.source
    return node is not None and b"cuda" in source.data[source.start_of(node) : source.end_of(node)]


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
