"""Methods that compile something of their object, in programs that call them on no object that may be of their class."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..facts import names, syntax
from ..facts.module import Class, Function, Module
from ..facts.nearby import nodes_on
from ..facts.nodes import receiver_of
from ..facts.syntax import is_super
from ..query.question import question
from ..system.stamp import as_bytes
from .application import is_library
from .calling import aliases, calls_named
from .handed import ASKS_OF_CLASSES
from .project import Project
from .texts import MAX_FILES
from .unused import is_plain

_READ: frozenset[type[ast.AST]] = frozenset((ast.Name, ast.Attribute))
_AS_WHOLE = rb"\.NAME\b(?![ \t]*(?:[.(]|=[^=]))|\.NAME\.MEMBER\b(?!\()"
"""An attribute that is read, and neither a member of it nor what it gives; or a method of it that is not called."""


@question("uncalled", False)
def is_uncalled(project: Project, method: Function) -> bool:
    """Whether a program calls a method by its name on no object that may be of its class.

    What a library has is for those who install it; a base from elsewhere may call it.
    """
    klass = method.cls
    if klass is None or method.decorators or is_library(project):
        return False
    heirs = project.subclasses(klass)
    if (project.heirs(klass.name) and not heirs) or not all(is_plain(project, one) for one in (klass, *heirs)):
        return False
    modules = filter(
        None, (project.module_for_calls(path, method.name) for path in sorted(project.calling(method.name)))
    )
    calls = (one for module in modules for one in calls_named(module, method.name))
    return not any(_may_call(project, function, call, method, [klass, *heirs]) for function, call in calls)


def _may_call(project: Project, function: Function, call: ast.Call, method: Function, kin: list[Class]) -> bool:
    """Whether a call of a method of that name may be one on an object of some classes."""
    receiver = receiver_of(call)
    own = function.cls
    if is_super(receiver):
        # An override is called by the names of its own objects.
        return own is not None and function.name != method.name and _are_kin(project, own, kin)
    if isinstance(receiver, ast.Name) and receiver.id == function.own_name and own is not None:
        return _are_kin(project, own, kin)
    value = project.value(function, receiver)
    if value.any_class:
        return any(_are_kin(project, one, kin) for one in value.any_class)
    if value.kind not in ("unknown", "module", "instance") or (value.kind == "module" and not value.of_any_class):
        return False
    kept = _names_of(project, kin, method.name)
    if kept is None or names.last(receiver) in kept:
        return True
    # `for part in model.children()`: what holds a module hands it out under no name.
    is_named = isinstance(receiver, ast.Attribute) or project.resolve(function, receiver) is not None
    return not is_named and project.is_module(kin[0])


def _are_kin(project: Project, klass: Class, kin: list[Class]) -> bool:
    return any(project.inherits(one, klass) or project.inherits(klass, one) for one in kin)


def _names_of(project: Project, kin: list[Class], member: str) -> frozenset[str] | None:
    """What all objects of some classes are called; None where one may have another name, or they are made elsewhere."""
    found = [_kept_as(project, one, member) for one in kin]
    if any(one is None for one in found):
        return None
    return frozenset(name for one in found for name in one or ()) or None


@question("kept as", None)
def _kept_as(project: Project, klass: Class, member: str) -> frozenset[str] | None:
    """The names that objects of a class are given where they are made, `loss` of `self.loss = Loss()`, if nothing hands them on.

    None where something may; a class of which none are made by its name has no such names.
    """
    paths = [klass.module.path, *project.named_by(klass.module, klass.name)]
    found: set[str] = set()
    for module in project.modules(paths if len(paths) <= MAX_FILES else ()):
        for function, node, parent in _reads(module, klass.name):
            if not _is_given_on(function, node, parent, member) and not _may_make(function, parent):
                continue
            target = (
                syntax.target(function.flow, parent) if isinstance(parent, ast.Call) and parent.func is node else None
            )
            if target is None or not _stays(project, function, target, member):
                return None
            found.add(names.last(target))
    return frozenset(found) if len(paths) <= MAX_FILES else None


def _reads(module: Module, name: str) -> Iterator[tuple[Function, ast.Name | ast.Attribute, ast.AST]]:
    """Where a file reads a name, or an attribute of that name, each with what it stands in."""
    for alias in aliases(module, name):
        for function, lines in module.functions_at(module.lines_holding(alias)).items():
            for node, parent in nodes_on(function, lines, _READ):
                assert isinstance(node, ast.Name | ast.Attribute)
                if names.last(node) == alias and isinstance(node.ctx, ast.Load):
                    yield function, node, parent


def _may_make(function: Function, parent: ast.AST) -> bool:
    """`Net.from_config(config)`: what a method of a class gives may be an object of it."""
    if not isinstance(parent, ast.Attribute) or parent.attr.startswith("__"):
        return False
    return syntax.called(function.flow, parent) is not None


def _is_given_on(function: Function, node: ast.expr, parent: ast.AST, member: str) -> bool:
    """Whether a class, or an object, may get to another place: not `Net.width`, `isinstance(layer, Net)`, `x: Net`, `net is None`."""
    if isinstance(parent, ast.Attribute):
        # `Net.compile` may be called on any object of the class.
        return parent.attr == member and not syntax.called(function.flow, parent)
    if isinstance(parent, ast.Tuple):
        parent = function.flow.parents.get(parent, parent)
    if isinstance(parent, ast.Call) and names.last(parent.func) in ASKS_OF_CLASSES:
        return False
    of_type = isinstance(parent, ast.AnnAssign) and parent.annotation is node
    of_result = isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef) and parent.returns is node
    return not (of_type or of_result or isinstance(parent, ast.ClassDef | ast.arg | ast.Compare | ast.If))


def _stays(project: Project, function: Function, target: ast.expr, member: str) -> bool:
    """Whether nothing but members of an object is read behind the name that it is given in a function."""
    if isinstance(target, ast.Name):
        if function is function.module.body:
            return False  # which other files may import
        return not any(
            isinstance(node, ast.Name) and not _is_only_used(where, node, parent, member)
            for where, node, parent in _reads(function.module, target.id)
        )
    owner = function.cls
    if owner is None or syntax.own_attribute(function, target) is None:
        return False
    name = names.last(target)
    word = as_bytes(name)
    paths = project.holders(_AS_WHOLE.replace(b"NAME", word).replace(b"MEMBER", as_bytes(member)), word=word)
    if len(paths) > MAX_FILES:
        return False
    reads = (one for module in project.modules(sorted(paths)) for one in _reads(module, name))
    return not any(
        isinstance(node, ast.Attribute)
        and not _is_only_used(where, node, parent, member)
        and not _is_of_other(project, where, node, owner)
        for where, node, parent in reads
    )


def _is_only_used(function: Function, node: ast.expr, parent: ast.AST, member: str) -> bool:
    """Whether a read of an object calls it, or takes a member of it."""
    if isinstance(parent, ast.Call) and parent.func is node:
        return True
    return not _is_given_on(function, node, parent, member)


def _is_of_other(project: Project, function: Function, node: ast.Attribute, owner: Class) -> bool:
    """Whether `self.name` is an attribute of objects of another class."""
    klass = function.cls
    return (
        klass is not None and syntax.own_attribute(function, node) is not None and not _are_kin(project, klass, [owner])
    )
