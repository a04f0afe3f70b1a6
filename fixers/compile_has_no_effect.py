from __future__ import annotations

import ast

from torchlint.facts import related
from torchlint.facts.values import UNKNOWN
from torchlint.rule import Edit, Finding, Fix, Site, Value, chain
from torchlint.rule.lazy import regex
from torchlint.rule.rewrite import Place, arguments, call_node, operand

_IN_PLACE = (2, 2)
"""The first version of torch whose modules have `compile` for sure."""
_OWN = regex(rb"def compile\(|\bself\.compile *[:=]")
_COPIED = regex(rb"deepcopy|pickle|\bspawn\b|torch\.save\(\s*\w+\s*,")
_NOTE = "the program runs compiled code from here on: that takes time and a compiler, and the last digits differ"
_HELD = "; the object holds what it is a method of: it can't be pickled, and the method of a copy is the original's"


def fix(site: Site, finding: Finding) -> Fix | None:
    """Compile in place, or bind the result."""
    call, statement = site.call, site.statement
    if site.name != "torch.compile()" or len(call.args) != 1 or isinstance(call.args[0], ast.Starred):
        return None
    if isinstance(statement, ast.Expr):
        return _in_place(site) if site.value(call.args[0]).kind == "module" else _bound(site)
    if isinstance(statement, ast.Assign) and statement.value is call:
        target = statement.targets[0]
        if len(statement.targets) != 1 or site.text(call.args[0]) != site.text(target):
            return None
        klass = site.value(call.args[0]).class_
        if klass is None or site.project.method(klass, "forward") is None:
            return None
        code = f"{operand(site, target, Place.RECEIVER)}.compile({arguments(site, *call.keywords)})"
        edit = site.tree.replace(site.cst(statement), code)
        return Fix("Compile in place", (edit,), "suggestion", "the module is compiled wherever it is called")
    return None


def _in_place(site: Site) -> Fix | None:
    """`model.compile()`, which nobody has to bind: the names in its `state_dict` and its class stay."""
    model, node = site.call.args[0], call_node(site)
    value = site.value(model)
    if isinstance(model, ast.Call):
        return None  # made right there, and nobody calls it
    if not value.proven or _has_own_compile(site, value) or site.torch is None or site.torch.low < _IN_PLACE:
        return None
    called = site.tree.replace(node.func, f"{operand(site, model, Place.RECEIVER)}.compile")
    edits: tuple[Edit, ...] = (called, site.tree.remove_argument(node, node.args[0]))
    return Fix("Compile in place", edits, "unsafe", _NOTE)


def _has_own_compile(site: Site, value: Value) -> bool:
    """Whether `compile` may be a method, or another attribute, of the project."""
    if value.class_ is not None:
        stored = any(
            "compile" in one.assigned or site.project.attribute_stores(one, "compile")
            for one in site.project.ancestry(value.class_)
        )
        return stored or site.project.method(value.class_, "compile") is not None
    return value.made_by is None and related.holds(site, _OWN)


def _bound(site: Site) -> Fix | None:
    """`step = torch.compile(step)`."""
    function = site.call.args[0]
    compiled = site.value(function).function
    if compiled is None or not isinstance(compiled.node, ast.FunctionDef) or not _assignable(site, function):
        return None
    held = isinstance(function, ast.Attribute)
    if held and related.holds(site, _COPIED):
        return None
    edit = site.tree.insert_before(site.node, f"{operand(site, function, Place.ELEMENT)} = ")
    return Fix("Bind the result", (edit,), "unsafe", f"{_NOTE}{_HELD}" if held else _NOTE)


def _assignable(site: Site, node: ast.expr) -> bool:
    """Whether an assignment binds what the expression reads: a name of another scope would become a local one."""
    if isinstance(node, ast.Name):
        if any(isinstance(around, ast.ClassDef) for around in site.flow.ancestors(site.call)):
            return False
        own = node.id in site.flow.stores or any(p.arg == node.id for p in site.function.parameters)
        return own or site.function is site.module.body
    # A method of an object that takes attributes
    owner = site.value(node.value) if isinstance(node, ast.Attribute) and chain(node) is not None else UNKNOWN
    klass = owner.class_ if owner.kind in ("instance", "module", "class") else None
    return klass is not None and "__slots__" not in klass.assigned and not klass.decorators and not klass.keywords
