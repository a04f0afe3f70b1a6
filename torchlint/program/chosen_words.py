"""Options that are words: how often `kind == "phong"` holds where nothing that a program spells gives the option that word, or rare calls alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ..facts import guards
from ..facts.argparse_defaults import by_default
from ..facts.module import Function, Module
from ..facts.nodes import elements, spreads, string
from ..facts.uses import assigned
from ..query.question import question
from ..system.regex import regex
from ..system.stamp import as_bytes
from ..text.whole_words import quoted
from .application import is_application
from .calling import CallSite
from .option_texts import holds_options, is_set, is_spelled
from .project import Project
from .settled import kept_by_constructor
from .texts import MAX_SITES

_WORD = regex(r"[A-Za-z][\w-]*")


class Literal(NamedTuple):
    """A word that stands where an option is given, and the call that gives it; None for one that no call gives."""

    node: ast.expr
    site: CallSite | None


class Given(NamedTuple):
    """What a parameter or an attribute may be: words that are written out, and options of the program by their names."""

    literals: tuple[Literal, ...]
    options: tuple[str, ...]


def meaning(
    project: Project, function: Function, test: ast.expr, true: bool, is_rare: Callable[[CallSite], bool]
) -> guards.Meaning:
    """What a comparison with a word says where the program has other words for the option: "cold" where nothing gives it this one, "throttled" where rare calls do."""
    asked, compared = _asked(test, true)
    if asked is None or not is_application(project):
        return ""
    given = _given(project, function, asked)
    if given is None and isinstance(asked, ast.Name):
        given = _seen(project, function, asked.id)
    if given is None:
        return ""
    ours = [one for one in given.literals if string(one.node) in compared]
    others = len(ours) < len(given.literals) or any(
        _has_other(project, function, one, compared) for one in given.options
    )
    if not others or not all(one.site is not None and is_rare(one.site) for one in ours):
        return ""
    known = {one.node for one in ours}
    if any(is_spelled(project, word) for word in compared):
        return ""
    if not all(node in known for word in compared for _, node in _written(project, word)):
        return ""
    if any(is_set(project, option) for option in given.options):
        return ""
    return "throttled" if ours else "cold"


def _asked(test: ast.expr, true: bool) -> tuple[ast.expr | None, Sequence[str]]:
    """What a comparison asks for, and the words one of which it is then: `kind == "a"`, `kind in ("a", "b")`."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None, ()
    op, other = test.ops[0], test.comparators[0]
    if isinstance(op, ast.Eq if true else ast.NotEq):
        compared = [string(other)]
    elif isinstance(op, ast.In if true else ast.NotIn):
        compared = [string(one) for one in elements(other)]
    else:
        return None, ()
    found = [one for one in compared if one is not None and _WORD.fullmatch(one)]
    return (test.left, found) if found and len(found) == len(compared) else (None, ())


def _given(project: Project, function: Function, node: ast.expr) -> Given | None:
    """What an expression may be; None where it may be more than words that are written out and options."""
    option = _option(project, node)
    if option is not None:
        return Given((), (option,))
    if string(node) is not None:
        return Given((Literal(node, None),), ())
    if isinstance(node, ast.Name):
        if node.id in function.positions:
            return _passed(project, function, node.id)
        made = assigned(function, node)
        return _given(project, function, made) if made is not None and _option(project, made) is not None else None
    init, kept = kept_by_constructor(project, function, node) or (None, None)
    return _given(project, init, kept) if init is not None and kept is not None else None


@question("words passed", None)
def _passed(project: Project, function: Function, name: str) -> Given | None:
    """What all calls of a function outside of tests give for a parameter."""
    if name in function.flow.stores:
        return None
    literals, options = list[Literal](), list[str]()
    for site in project.runs_of(function, MAX_SITES) or ():
        if project.is_tested(site.function):
            continue
        call = site.given or site.call
        node = function.argument(call, name)
        if node is None:
            node = None if spreads(call) else function.defaults.get(name)
        found = _given(project, site.function, node) if node is not None else None
        if found is None:
            return None
        literals += (one if one.site is not None else one._replace(site=site) for one in found.literals)
        options += found.options
    return Given(tuple(literals), tuple(dict.fromkeys(options))) if literals or options else None


@question("words seen", None)
def _seen(project: Project, function: Function, name: str) -> Given | None:
    """The words among those that a parameter is compared with that calls are seen to give it, in a function of which nobody knows all calls."""
    if name not in function.positions or name in function.flow.stores:
        return None
    tests = (node for node in function.flow.nodes if isinstance(node, ast.Compare))
    asked = (_asked(test, true) for test in tests for true in (True, False))
    compared = dict.fromkeys(
        word for left, found in asked if isinstance(left, ast.Name) and left.id == name for word in found
    )
    literals = (one for word in compared for one in _giving(project, function, name, word))
    found = tuple(literals) if len(compared) > 1 else ()
    return Given(found, ()) if found else None


def _giving(project: Project, function: Function, name: str, word: str) -> Iterator[Literal]:
    """Where calls of a function write out a word for a parameter."""
    for place, node in _written(project, word):
        call = place.flow.argument_of(node)
        is_given = isinstance(call, ast.Call) and function.argument(call, name) is node
        if is_given and isinstance(call, ast.Call) and function in project.targets(place, call):
            yield Literal(node, CallSite(place, call))


def _option(project: Project, node: ast.expr) -> str | None:
    """The name of an option of the program: `args.kind`, `self.opt.kind`, `cfg["model"]["kind"]`, `cfg.get("kind", "a")`; none that it sets itself."""
    match node:
        case ast.Attribute(value=owner, attr=name) | ast.Subscript(value=owner, slice=ast.Constant(value=str(name))):
            pass
        case ast.Call(func=ast.Attribute(value=owner, attr="get"), args=[ast.Constant(value=str(name)), *_]):
            pass
        case ast.Call(func=ast.Name(id="getattr"), args=[owner, ast.Constant(value=str(name)), *_]):
            pass
        case _:
            return None
    if not holds_options(owner) or not name.isascii():
        return None
    word = as_bytes(name)
    sets = rb"(?:(?<!\bself)\.%s|\[[\"']%s[\"']\])[ \t]*=(?!=)" % (re.escape(word), re.escape(word))
    return None if project.any_holds(sets, word=word) else name


def _has_other(project: Project, function: Function, option: str, compared: Sequence[str]) -> bool:
    """Whether an option of the command line is another word by default."""
    default = by_default(project, function.module, option)
    return isinstance(default, str) and default not in compared


@question("words written", ())
def _written(project: Project, word: str) -> tuple[tuple[Function, ast.expr], ...]:
    """Where the program has a word as a text that is compared with nothing, each with the function that it stands in."""
    paths = sorted(project.holders(quoted(as_bytes(word)), word=as_bytes(word)))
    modules = (project.module(path) for path in paths if not project.in_test(path, ""))
    return tuple(
        (function, node)
        for module in modules
        if module is not None
        for node in _texts(module, word)
        for function in module.functions_at([node.lineno])
    )


def _texts(module: Module, word: str) -> Iterator[ast.expr]:
    todo: list[ast.AST] = [module.whole_tree()]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Compare):
            todo.append(node.left)
            todo += (one for one in node.comparators if not _is_written(one))
        elif isinstance(node, ast.Constant) and node.value == word:
            yield node
        elif not isinstance(node, ast.MatchValue):
            todo += ast.iter_child_nodes(node)


def _is_written(node: ast.expr) -> bool:
    """Whether the other side of a comparison is written out: a text, or several."""
    return isinstance(node, ast.Constant | ast.Tuple | ast.List | ast.Set)
