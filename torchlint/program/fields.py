"""Which fields of dataclasses hold what is written in front of everybody: of configurations that nothing but calls of the class fills."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..facts import dataclass_fields
from ..facts.module import Class, Module
from ..query.question import question
from ..system.stamp import as_bytes
from . import handed
from .calling import CallSite, calls_named
from .project import Project
from .texts import MAX_SITES

_FILLS = (
    rb"\b(?:tyro|draccus|pyrallis|simple_parsing|hydra|omegaconf|jsonargparse|dacite|cattrs|chz|HfArgumentParser)\b"
    rb"|\bsetattr\(|__dict__(?:\.update|\[)|\bvars\(\w+\)(?:\.update|\[)|\b(?:dataclasses|copy)\.replace\b"
    rb"|(?:dataclasses|copy) import [^\n]*\breplace\b|\bnamespace="
)
"""What fills the fields of objects by names that it finds as it runs: libraries for command lines and files, loops over names."""

_SETS = rb"(?<!\bself)\.%(name)s[ \t]*(?:[-+*/|&]?=[^=]|:[^=\n]*=[^=]|,[^=\n()]*=[^=]|in\b)|[\"']%(name)s[\"']"
"""How an attribute of another object is set, alone or among others, or spelled for what may set it."""


def default(klass: Class, name: str) -> ast.expr | None:
    """What a dataclass says that a field is by default."""
    statement = klass.assigned.get(name) if _is_dataclass(klass) else None
    return statement.value if isinstance(statement, ast.AnnAssign) else None


def makers(project: Project, klass: Class, name: str) -> list[CallSite] | None:
    """The calls that make objects of a dataclass, outside of tests; None where others may, or set the field afterwards."""
    if (
        name in klass.stores
        or project.any_holds(_FILLS)
        or project.any_holds(_SETS % {b"name": as_bytes(name)}, word=as_bytes(name))
    ):
        return None
    sites = [site for site in _sites(project, klass) if not project.is_tested(site.function)]
    is_made = bool(sites) or _is_part(project, klass)
    return sites if is_made and len(sites) <= MAX_SITES and _is_closed(project, klass) else None


def _is_dataclass(klass: Class) -> bool:
    """Whether a class is a plain dataclass which makes no objects itself."""
    return dataclass_fields.is_plain(klass) and not any(
        method.flow.calls_named(name) for method in klass.methods.values() for name in ("cls", "__class__", "type")
    )


def _sites(project: Project, klass: Class) -> Iterator[CallSite]:
    for module in _users(project, klass):
        yield from (CallSite(*one) for one in calls_named(module, klass.name))


def _users(project: Project, klass: Class) -> Iterator[Module]:
    paths = (klass.module.path, *project.named_by(klass.module, klass.name))
    yield from filter(None, (project.module_for_name(path, klass.name) for path in paths))


@question("closed dataclass", False)
def _is_closed(project: Project, klass: Class) -> bool:
    """Whether a dataclass is only called, and made for fields of others of which the same holds."""
    if project.heirs(klass.name) or not _is_dataclass(klass):
        return False
    for module in _users(project, klass):
        for place, node in handed.named(module, klass.name):
            holder = _holder(module, node)
            if holder is None and handed.gives_on(place, node):
                return False
            if holder is not None and not _is_closed(project, holder):
                return False
    return True


@question("part of a dataclass", False)
def _is_part(project: Project, klass: Class) -> bool:
    """Whether an object of another dataclass has one of a class, and some call makes that."""
    holders = (
        _holder(module, node) for module in _users(project, klass) for _, node in handed.named(module, klass.name)
    )
    return any(
        any(not project.is_tested(site.function) for site in _sites(project, one)) or _is_part(project, one)
        for one in holders
        if one is not None
    )


def _holder(module: Module, node: ast.expr) -> Class | None:
    """The class in whose body a field is of a class: `log: Log = field(default_factory=Log)`."""
    for klass in module.classes:
        for statement in klass.node.body:
            if isinstance(statement, ast.AnnAssign) and statement.lineno <= node.lineno <= (statement.end_lineno or 0):
                return klass
    return None
