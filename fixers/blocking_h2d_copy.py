from __future__ import annotations

import ast

from torchlint.facts.aliases import Batch
from torchlint.facts.told import Cast
from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import call_node

_STREAMS = rb"\bStream\(|\bstream\("


def fix(site: Site, finding: Finding) -> Fix | None:
    if isinstance(finding.told, Cast) or not _is_equal(site):
        return None
    edit = site.tree.add_argument(call_node(site), "non_blocking=True")
    return Fix("Copy without waiting", (edit,), "safe") if edit is not None else None


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
        and not site.analysis.context.switched_on(_STREAMS, site.module.path.rpartition("/")[0])
        and Batch(site.function, site.call, site.value).is_left_alone()
    )


def _may_refuse(site: Site) -> bool:
    """Whether a class of the project is moved by a method of its own that takes no `non_blocking`."""
    method = site.name.removeprefix(".").removesuffix("()")
    project = site.project

    def found() -> bool:
        modules = filter(None, map(project.module, project.definers(method)))
        methods = (one for module in modules for one in module.functions if one.name == method and one.is_method)
        return any(_refuses(one.node.args) for one in methods if not isinstance(one.node, ast.Module))

    return project.ask(("refuses non_blocking", method), found, False)


def _refuses(given: ast.arguments) -> bool:
    return given.kwarg is None and "non_blocking" not in {one.arg for one in (*given.args, *given.kwonlyargs)}
