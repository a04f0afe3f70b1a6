"""Conditions on options that the program never changes: all of its calls give a parameter, or a field of a dataclass, the same constant, or leave it alone."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ..facts import dataclass_fields, environment, layers, names, nodes, syntax
from ..facts.argparse_defaults import unless_given
from ..facts.common_names import OPTIONS_NAME
from ..facts.module import Class, Function, Module
from ..facts.nodes import is_constant, none_test, spreads, string
from ..facts.uses import assigned
from ..query.question import question
from ..system.regex import regex
from ..system.stamp import as_bytes
from ..text.whole_words import quoted, set_or_quoted
from . import fields, objects
from .calling import CallSite
from .constructions import knows_heirs
from .loops import exports_models
from .project import Project
from .texts import MAX_SITES
from .unused import is_unused_class


class Number(NamedTuple):
    """A number that is given; not equal to a boolean, as 1 is to True."""

    value: float


Constant = str | bool | Number | None
Constants = frozenset[Constant]
_HOLDS: dict[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
"""What each comparison asks of two numbers."""
_SETS_NAMES = regex(rb"(?<![.\w])(?:exec|globals)\(|\bsetattr\((?!self\b)")
"""What may give a name of a module another value: `exec(open("configurator.py").read())`."""
_SETS_ANY = regex(rb"setattr\((?![\w.]{1,60}, ?f?[\"'][A-Za-z_])|__dict__|vars\(")
"""What may set attributes of objects by names that it is told; `setattr(self, "block_%d" % i, ...)` sets those that begin so."""
_GIVES_OTHER = (
    rb"NAME(?:(?<!\wNAME)[ \t]*(?::[ \t]*[\w.\[\]]{1,40}[ \t]*)?=(?!=)(?![ \t]*(?:DEFAULT|(?:self\.)?NAME)\b)"
    rb"|[\"'](?<=[\"']NAME[\"']))"
)
"""How a text gives an option something else than its default, or what it was given itself, or spells it."""
_BY_NAME = 4
"""An option behind so many others is given by its name."""
_BATCH_NORMS = layers.NORMS | {f"torch.nn.modules.batchnorm.{name}" for name in ("_BatchNorm", "_NormBase")}


def truth(project: Project, function: Function, test: ast.expr) -> bool | None:
    """Whether a condition holds on all calls of the program; None where that is open."""
    return nodes.truth(test, lambda part: _truth(project, function, part))


def is_on(project: Project, function: Function, test: ast.expr, true: bool) -> bool:
    """Whether a condition is as it is on all calls of the program, or by default, where nobody calls the function."""
    found = truth(project, function, test)
    if found is None:
        found = nodes.truth(test, lambda part: _by_default(project, function, part))
    return found is true


def period(project: Project, function: Function, node: ast.expr) -> int | None:
    """What an option of the command line is unless somebody gives it, a parameter by all calls, or an attribute that keeps one: `self.every = args.every`."""
    kept = kept_by_constructor(project, function, node)
    function, node = kept if kept is not None else (function, node)
    if isinstance(node, ast.Attribute):
        named = OPTIONS_NAME.search(names.last(node.value)) is not None
        default = unless_given(project, function.module, node) if named else None
        return default if type(default) is int else None
    given = _constants(project, function, node, Number) if isinstance(node, ast.Name) else None
    found = [int(one.value) for one in given or () if isinstance(one, Number) and float(one.value).is_integer()]
    return max(found) if given and len(found) == len(given) else None


def parameter(project: Project, function: Function, node: ast.expr) -> tuple[Function, str] | None:
    """The parameter that an expression is as it was given, with its function: its own, that of one around it, or one that its object keeps."""
    if not isinstance(node, ast.Name):
        return _made_by(project, function, node)
    scope = _taker(function, node.id)
    return (scope, node.id) if node.id in scope.positions and node.id not in scope.flow.stores else None


def _taker(function: Function, name: str) -> Function:
    """The function that takes a name as a parameter: one around it where nothing gives the name another value, else itself."""
    if name in function.positions:
        return function
    scope = syntax.scope_of(function, name)
    if name not in scope.positions or name in scope.flow.stores:
        return function
    module = function.module
    inside = (one for one in module.functions if scope in one.scopes) if module.source.holds(b"nonlocal ") else ()
    return function if any(name in one.flow.globals for one in inside) else scope


def _by_default(project: Project, function: Function, test: ast.expr) -> bool | None:
    """`verbose > 0` of a parameter that is 1 by default, in a function that nobody calls."""
    compared = isinstance(test, ast.Compare) and len(test.ops) == 1
    asked = test.left if isinstance(test, ast.Compare) else test
    taken = parameter(project, function, asked) if isinstance(asked, ast.Name) else None
    if taken is None:
        return None
    default = _constant(taken[0].defaults.get(taken[1]))
    if default is None or isinstance(default, str) or _given(project, *taken) != frozenset():
        return None
    if not isinstance(test, ast.Compare):
        return bool(default.value if isinstance(default, Number) else default)
    bound, holds = nodes.number(test.comparators[0]), _HOLDS.get(type(test.ops[0]))
    if not compared or bound is None or holds is None or not isinstance(default, Number):
        return None
    return holds(default.value, bound)


def _truth(project: Project, function: Function, test: ast.expr) -> bool | None:
    if isinstance(test, ast.Compare):
        none = _is_none(project, function, test)
        return _compared(project, function, test) if none is None else none is isinstance(test.ops[0], ast.Is)
    if _is_left_none(project, function, test):
        return False
    switch = _switch(project, function, test) if isinstance(test, ast.Name) else None
    if isinstance(test, ast.Attribute):
        switch = _kept_switch(project, function, test)
    if switch is None and isinstance(test, ast.Name | ast.Attribute):
        switch = _imported_switch(project, function, test)
    if switch is not None:
        return switch
    given = _constants(project, function, test, bool)
    if given is None:
        given = _constants(project, function, test, Number)
    found = {bool(one.value if isinstance(one, Number) else one) for one in given or ()}
    return found.pop() if len(found) == 1 else None


def _kept_switch(project: Project, function: Function, node: ast.Attribute) -> bool | None:
    """`self.symmetric = False` of a constructor, an attribute that nothing else of the project sets or spells; off, too, where a variable of the environment has to turn it on."""
    kept = kept_by_constructor(project, function, node)
    if kept is None:
        return _class_switch(project, function, node)
    init, given = kept
    if environment.is_off(given, init.flow):
        switch = False
    elif isinstance(given, ast.Constant) and isinstance(given.value, bool):
        switch = given.value
    else:
        return None
    return None if init.cls is None or _is_set_elsewhere(project, init, node.attr) else switch


def _class_switch(project: Project, function: Function, node: ast.Attribute) -> bool | None:
    """False of a switch that a class leaves off, `include_nms = False`, where nothing turns it on but what exports a model: `model.head.include_nms = True`."""
    method = syntax.method_around(function, node.value)
    if method is None or method.cls is None:
        return None
    owner = next((one for one in project.ancestry(method.cls) if node.attr in one.assigned), None)
    if owner is None or not is_constant(owner.assigned[node.attr].value, False):
        return None
    return None if _is_turned_on(project, owner, node.attr) else False


@question("turned on", True)
def _is_turned_on(project: Project, owner: Class, name: str) -> bool:
    """Whether anything may set an attribute that the body of a class sets, but for the files that export models."""
    module, word = owner.module, as_bytes(name)
    heirs = project.subclasses(owner)
    if (not heirs and project.heirs(owner.name)) or any(name in one.assigned for one in heirs):
        return True
    if module.source.holds(_SETS_ANY) or module.source.holds(regex(set_or_quoted(word))):
        return True
    others = project.holders(set_or_quoted(word), word=word) - {module.path}
    return not all(project.fact(path, "exports models", exports_models) for path in others)


@question("attribute set elsewhere", True)
def _is_set_elsewhere(project: Project, init: Function, name: str) -> bool:
    """Whether anything but a constructor may set an attribute of its objects: `model.symmetric = True`, `setattr(model, key, value)`."""
    module, word = init.module, as_bytes(name)
    if module.source.holds(_SETS_ANY) or module.source.holds(regex(quoted(word))):
        return True
    if project.holders(set_or_quoted(word), word=word) - {module.path}:
        return True
    return any(
        target.rpartition(".")[2] == name and function is not init
        for function in module.functions_holding(name)
        for target in function.flow.targets
    )


def _switch(project: Project, function: Function, name: ast.Name) -> bool | None:
    """What a module says that a switch is, `SAVE_IMAGES = False`, where nothing sets it; None for other names."""
    module, own = function.module, name.id
    found = _set_at_top(project, module, own)
    scope: Function | None = function if found is not None else None
    while scope is not None and scope is not module.body:
        if own in scope.flow.stores or own in scope.positions or own in scope.flow.globals:
            return None
        scope = scope.parent
    return found


def _imported_switch(project: Project, function: Function, node: ast.Name | ast.Attribute) -> bool | None:
    """The same of a switch of another module: `config.SAVE_IMAGES`, `from config import SAVE_IMAGES`."""
    owner, _, own = (project.resolve(function, node) or "").rpartition(".")
    module = project.definition(owner, function.module) if owner else None
    if not isinstance(module, Module) or module is function.module:
        return None
    return _set_at_top(project, module, own)


def _set_at_top(project: Project, module: Module, name: str) -> bool | None:
    """True or False where a module says so of a name, and nothing of the program may set it; else None."""
    value = module.body.assigned_once(name)
    if not (isinstance(value, ast.Constant) and isinstance(value.value, bool)) or not name.isascii():
        return None
    if module.source.holds(_SETS_NAMES) or any(name in one.flow.globals for one in module.functions):
        return None
    word = as_bytes(name)
    return None if project.any_holds(set_or_quoted(word), word=word) else value.value


def _is_left_none(project: Project, function: Function, test: ast.expr) -> bool:
    """Whether a test asks for a parameter that is None by default, or an attribute that keeps one, which nobody gives: `if self.transform:`."""
    taken = parameter(project, function, test)
    return taken is not None and _is_never_given(project, *taken)


def _is_none(project: Project, function: Function, test: ast.Compare) -> bool | None:
    """Whether what a test asks for is None on all calls, or on none; None where that is open, or the test another one."""
    if none_test(test) is None:
        return None
    asked = test.left
    if isinstance(asked, ast.Name):
        if is_constant(assigned(function, asked), None):
            return True
        taker, name = _taker(function, asked.id), asked.id
        if taker is function and not _is_as_given(function, test, name):
            return None
    elif (init := _made_by(project, function, asked)) is not None:
        taker, name = init
    else:
        return False if _is_momentum(project, function, asked) else None
    if not _may_be_none(project, taker, name):
        return None
    if _is_always_given(project, taker, name) or _are_objects_given(project, taker, name):
        return False
    return True if _is_never_given(project, taker, name) else None


def _is_momentum(project: Project, function: Function, node: ast.expr) -> bool:
    """`self.momentum` of a batch norm's heir, where nobody asks for none, which averages over all batches; it is 0.1 by default."""
    own = function.cls is not None and isinstance(node, ast.Attribute) and node.attr == "momentum"
    if not own or function.cls is None or project.attribute_stores(function.cls, "momentum"):
        return False
    ancestry = project.ancestry(function.cls)
    is_norm = any((project.base_name(one, base) or "") in _BATCH_NORMS for one in ancestry for base in one.bases)
    return is_norm and not project.any_holds(rb"momentum[ \t]*=[ \t]*None\b", word=b"momentum")


def _is_as_given(function: Function, test: ast.Compare, name: str) -> bool:
    """Whether a name is a parameter, and still what was given where a test asks for it, but for what stands behind the same test."""
    if name not in function.positions:
        return False
    written = ast.dump(test)
    repeated = bool(function.flow.loops(test))
    for store in function.flow.stores.get(name, ()):
        if not repeated and store.lineno > (test.end_lineno or test.lineno):
            continue
        statement = function.flow.statement(store)
        around = function.flow.parents.get(statement)
        if not isinstance(around, ast.If) or ast.dump(around.test) != written or statement not in around.body:
            return False
    return True


def _is_none_by_default(function: Function, name: str) -> bool:
    default = function.defaults.get(name)
    return is_constant(default, None)


@question("defaults", ())
def _defaults(project: Project, function: Function, name: str) -> Sequence[ast.expr]:
    """The default of a parameter; of one that has none, those of the parameters that all calls outside of tests hand on for it: `Trainer(verbose)` of `def fit(verbose=False)`."""
    if name in function.defaults or name not in function.positions:
        return [function.defaults[name]] if name in function.defaults else []
    found: list[ast.expr] = []
    for site in _runs(project, function) or ():
        if project.is_tested(site.function):
            continue
        node = function.argument(site.given or site.call, name)
        taken = parameter(project, site.function, node) if node is not None else None
        handed = _defaults(project, *taken) if taken is not None else ()
        if not handed:
            return []
        found += handed
    return found


def _may_be_none(project: Project, function: Function, name: str) -> bool:
    """Whether a parameter is None unless somebody gives it."""
    found = _defaults(project, function, name)
    return bool(found) and all(is_constant(one, None) for one in found)


@question("never given", False)
def _is_never_given(project: Project, function: Function, name: str) -> bool:
    """Whether no call outside of tests gives a parameter that is None by default anything but None."""
    found = False
    for site in _runs(project, function) or () if _may_be_none(project, function, name) else ():
        if project.is_tested(site.function):
            continue
        call = site.given or site.call
        node = function.argument(call, name)
        if spreads(call) if node is None else not _is_nothing(project, site.function, node):
            return False
        found = True
    return found or (_is_none_by_default(function, name) and _is_offered(project, function))


def _is_offered(project: Project, function: Function) -> bool:
    """Whether a constructor is that of a class which a library offers and does not use: its options are off or on by default."""
    klass = function.cls if function.name == "__init__" else None
    if klass is None or project.heirs(klass.name):
        return False
    return is_unused_class(project, klass)


def _is_nothing(project: Project, function: Function, node: ast.expr) -> bool:
    """Whether an expression is None: the constant, a parameter that nobody gives, or an attribute that is nothing else."""
    if isinstance(node, ast.Constant):
        return node.value is None
    if _is_left_none(project, function, node):
        return True
    if isinstance(node, ast.Name):
        return _stays_none(project, function, node.id)
    if _made_by(project, function, node) is not None:
        return False
    if not isinstance(node, ast.Attribute) or function.cls is None or project.heirs(function.cls.name):
        return False
    return not project.attribute_stores(function.cls, node.attr) and project.value(function, node).kind == "none"


@question("stays None", False)
def _stays_none(project: Project, function: Function, name: str) -> bool:
    """Whether all that assigns to a name makes it None, but for what stands behind a condition that never holds."""
    flow = function.flow
    stores = () if name in function.positions or name in flow.globals else flow.stores.get(name, ())
    values = [made.value if isinstance(made := flow.parents.get(store), ast.Assign) else None for store in stores]
    return any(is_constant(value, None) for value in values) and all(
        is_constant(value, None) or never_comes(project, function, store)
        for store, value in zip(stores, values, strict=True)
    )


def never_comes(project: Project, function: Function, node: ast.AST) -> bool:
    """Whether a place of a function stands behind a condition that never holds in the program."""
    return any(truth(project, function, guard.test) is (not guard.true) for guard in function.flow.guards(node))


@question("never runs", False)
def never_runs(project: Project, function: Function) -> bool:
    """Whether all calls of a function stand behind conditions that never hold in the program: `if self.with_normals:`."""
    sites = project.all_runs_of(function, MAX_SITES)
    own = [site for site in sites or () if not project.is_tested(site.function)]
    return bool(own) and all(
        never_comes(project, site.function, site.call) or never_runs(project, site.function) for site in own
    )


@question("always given", False)
def _is_always_given(project: Project, function: Function, name: str) -> bool:
    """Whether all calls outside of tests give a parameter something that is not None."""
    return _are_something(project, _given_at(function, name, project.own_sites(function)))


@question("objects always given", False)
def _are_objects_given(project: Project, function: Function, name: str) -> bool:
    """The same of the calls of objects that run a `forward`: `self.rope(x, longest=n)` behind `self.rope = Rope()`.

    What a module hands on of what it was given itself is open: who calls the whole model may leave it out.
    """
    sites = objects.calls(project, function) if function.name in ("forward", "__call__") else []
    given = _given_at(function, name, [site for site in sites if not project.is_tested(site.function)])
    handed_on = any(isinstance(node, ast.Name) and node.id in caller.flow.parameters for caller, node in given)
    return not handed_on and _are_something(project, given)


def _given_at(function: Function, name: str, sites: list[CallSite]) -> list[tuple[Function, ast.expr | None]]:
    """What calls give a parameter, each with the function that it stands in."""
    return [(site.function, function.argument(site.given or site.call, name)) for site in sites]


def _are_something(project: Project, given: list[tuple[Function, ast.expr | None]]) -> bool:
    return bool(given) and all(node is not None and _is_something(project, caller, node) for caller, node in given)


def _is_something(project: Project, function: Function, node: ast.expr) -> bool:
    """Whether an expression is not None: a value that is known, or one of several that a call gives."""
    taken = parameter(project, function, node)
    if taken is not None and _may_be_none(project, *taken):
        # An annotation says nothing of that, `order: tuple = None`; those who call the function do.
        return _is_always_given(project, *taken)
    if isinstance(node, ast.Attribute) or (isinstance(node, ast.Name) and _is_none_by_default(function, node.id)):
        return False
    value = project.value(function, node)
    if value:
        return value.kind != "none" and "none" not in value.other_kinds
    stores = function.flow.stores.get(node.id, ()) if isinstance(node, ast.Name) else ()
    return bool(stores) and all(_is_unpacked(function, store) for store in stores)


def _is_unpacked(function: Function, store: ast.AST) -> bool:
    """`a, b = f(x)`"""
    statement = function.flow.statement(store)
    return (
        isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Call)
        and isinstance(function.flow.parents.get(store), ast.Tuple)
    )


def _compared(project: Project, function: Function, test: ast.Compare) -> bool | None:
    """`reduction == "mean"`, of one word with another; `eps > 0`, of two numbers."""
    if len(test.ops) != 1:
        return None
    bound = nodes.number(test.comparators[0])
    if bound is not None:
        return _measured(project, function, test, bound)
    if not isinstance(test.ops[0], ast.Eq | ast.NotEq):
        return None
    word = string(test.comparators[0])
    given = _constants(project, function, test.left, str) if word is not None else None
    if given is None or (word in given and len(given) > 1):
        return None
    return (word in given) == isinstance(test.ops[0], ast.Eq)


def _measured(project: Project, function: Function, test: ast.Compare, bound: float) -> bool | None:
    """Whether all numbers that are given compare alike with one."""
    holds = _HOLDS.get(type(test.ops[0]))
    given = _constants(project, function, test.left, Number) if holds is not None else None
    if given is None or holds is None:
        return None
    found = {holds(one.value, bound) if isinstance(one, Number) else None for one in given}
    return found.pop() if len(found) == 1 else None


def _constants(project: Project, function: Function, node: ast.expr, kind: type[Constant]) -> Constants | None:
    """What a parameter may be, an attribute that the constructor keeps one in, or a field of a dataclass; None where it may be anything."""
    asked = parameter(project, function, node)
    if asked is None:
        return _of_field(project, function, node, kind) if isinstance(node, ast.Attribute) else None
    # A switch without a default is there to be set; a word may be handed on.
    default = asked[0].defaults.get(asked[1])
    if not _is_told(project, *asked, kind) and not (default is None and kind is str):
        return None
    given = _given(project, *asked)
    if given == frozenset() and default is not None and _is_offered(project, asked[0]):
        return frozenset((_constant(default),))
    return given or None


def _is_told(project: Project, function: Function, name: str, kind: type[Constant]) -> bool:
    """Whether a parameter is a constant of a kind unless somebody gives it."""
    found = _defaults(project, function, name)
    return bool(found) and all(isinstance(_constant(one), kind) for one in found)


def _of_field(project: Project, function: Function, node: ast.Attribute, kind: type[Constant]) -> Constants | None:
    """What a field of a dataclass may be: `cfg.log.scalars` of `Config()`."""
    if not project.any_holds(b"@(?:dataclasses\\.)?dataclass", word=b"dataclass"):
        return None
    owner = project.value(function, node.value)
    klass = owner.class_ if owner.kind == "instance" else None
    if klass is None or not isinstance(_constant(fields.default(klass, node.attr)), kind):
        return None
    return _given_to_field(project, klass, node.attr)


@question("given to field", None)
def _given_to_field(project: Project, klass: Class, name: str) -> Constants | None:
    """The constants that all calls of a dataclass outside of tests give for a field; None where one may give another thing."""
    default = _constant(fields.default(klass, name))
    sites = fields.makers(project, klass, name)
    found: set[Constant] = {default}
    for site in sites or ():
        if spreads(site.call):
            return None
        given = dataclass_fields.argument(klass, site.call, name)
        handed = _handed_on(project, site.function, given) if given is not None else frozenset((default,))
        if handed is None:
            return None
        found |= handed
    return frozenset(found) if sites is not None else None


@question("given constants", None)
def _given(project: Project, function: Function, name: str) -> Constants | None:
    """The constants that all calls outside of tests give for a parameter; None where one may give another thing.

    None at all where nobody calls the function, which then gives nothing to those that it calls.
    """
    if name in function.flow.stores or name not in function.positions:
        return None
    sites = _runs(project, function)
    if sites is None:
        return _left_alone(project, function, name)
    found: set[Constant] = set()
    for site in sites:
        if project.is_tested(site.function):
            continue
        call = site.given or site.call
        node = function.argument(call, name)
        if node is None and not spreads(call):
            node = function.defaults.get(name)
        handed = _handed_on(project, site.function, node)
        if handed is None:
            return None
        found |= handed
    return frozenset(found)


def _left_alone(project: Project, function: Function, name: str) -> Constants | None:
    """The default of a switch of a constructor with many calls, where no text gives it anything else: `add_zero_attn=False`."""
    default, word = _constant(function.defaults.get(name)), as_bytes(name)
    if not isinstance(default, bool) or function.name != "__init__" or function.positions[name] <= _BY_NAME:
        return None
    other = _GIVES_OTHER.replace(b"NAME", re.escape(word)).replace(b"DEFAULT", str(default).encode())
    given = any(not project.in_test(path, "") for path in project.holders(other, word=word))
    return None if given else frozenset((default,))


def _runs(project: Project, function: Function) -> list[CallSite] | None:
    """The calls of a function, and those of the method of a base that it stands in place of: `self.predict(loader)` there."""
    found: list[CallSite] = []
    above = project.overridden(function) if function.name != "__init__" else []
    for one in (function, *above):
        sites = project.runs_of(one, MAX_SITES)
        if sites is None:
            return None
        found += sites
    return found


def _handed_on(project: Project, function: Function, node: ast.expr | None) -> Constants | None:
    """What an argument may be: a constant, or what the caller was given itself, `skip_type=skip_type`."""
    constant = _constant(node)
    if constant is not None or is_constant(node, None):
        return frozenset((constant,))
    taken = parameter(project, function, node) if isinstance(node, ast.Name) else None
    return _given(project, *taken) if taken is not None else None


def _constant(node: ast.expr | None) -> str | bool | Number | None:
    """What an expression writes out; None for other expressions as well."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str | bool):
        return node.value
    number = nodes.number(node)
    return Number(number) if number is not None else None


def _made_by(project: Project, function: Function, node: ast.expr) -> tuple[Function, str] | None:
    """The constructor that alone sets an attribute of the method's own object, and the parameter that it sets it to."""
    init, kept = kept_by_constructor(project, function, node) or (None, None)
    if init is None or not isinstance(kept, ast.Name):
        return None
    return (init, kept.id) if kept.id not in init.flow.stores else None


def kept_by_constructor(project: Project, function: Function, node: ast.expr) -> tuple[Function, ast.expr] | None:
    """The constructor that alone sets an attribute of the method's own object, and what it sets it to."""
    method = syntax.method_around(function, node.value) if isinstance(node, ast.Attribute) else None
    klass = method.cls if method is not None else None
    if not isinstance(node, ast.Attribute) or klass is None:
        return None
    init = _constructor(project, klass)
    if init is None or init.cls is None or not init.parameters:
        return None
    heirs = project.subclasses(init.cls)
    if any(project.attribute_stores(heir, node.attr) for heir in heirs):
        return None
    if [method for method, _ in project.attribute_stores(init.cls, node.attr)] != [init]:
        return None
    kept = _stored_once(project, init.cls, node.attr)
    return (init, kept) if kept is not None and [kept] == list(_stored(init, node.attr)) else None


def _constructor(project: Project, klass: Class) -> Function | None:
    """The constructor of a class, its own or that of a base, where all subclasses are known that have it too."""
    init = project.method(klass, "__init__")
    if init is None or init.cls is None:
        return None
    return init if not project.heirs(init.cls.name) or knows_heirs(project, init) else None


@question("stored once", None)
def _stored_once(project: Project, klass: Class, attr: str) -> ast.expr | None:
    """What the methods of a class write to an attribute; None where they do so in more places, or it is not told."""
    kept = [written for method in klass.module.methods_holding(klass, attr) for written in _stored(method, attr)]
    return kept[0] if len(kept) == 1 else None


def _stored(method: Function, attr: str) -> Iterator[ast.expr | None]:
    """What a method writes to an attribute of its object; None where that is not told."""
    for target in method.flow.targets.get(f"{method.own_name}.{attr}", ()):
        yield syntax.given_to_target(method.flow, target)
