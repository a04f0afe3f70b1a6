"""What a call runs by a word: `bus.fire("step", loss)` of a method that calls what its table holds under that word."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from ..facts import names, syntax
from ..facts.evaluator import Evaluator
from ..facts.module import Function
from ..facts.nearby import CALLS, nodes_on
from ..facts.nodes import ends_of_text, given_to, receiver_of, string
from ..facts.values import Value, constant
from ..query.question import question
from ..system.stamp import as_bytes
from ..text.whole_words import quoted
from . import handed, tables
from .by_text import WITH_GAP
from .calling import CallSite
from .texts import MAX_SITES

_DEEP = 3
"""So many tables in one another are looked into."""


class Code(tables.Code, Protocol):
    """What is asked of the project."""

    def evaluator_given(self, function: Function, given: Mapping[str, Value]) -> Evaluator: ...
    def runs(self, value: Value) -> list[Function]: ...
    def writes(self, path: str, text: str) -> bool: ...


class Dispatched(NamedTuple):
    """A call that runs functions where its own function is given words."""

    function: Function
    call: ast.Call
    run: Sequence[Function]


def by_words(code: Code, function: Function, call: ast.Call) -> list[Dispatched]:
    """What a function runs, by itself or by what it hands a word on to, where a call of it gives words for what it looks up."""
    given = ((name, string(function.argument(call, name))) for name in function.positions)
    words = [(name, word) for name, word in given if word is not None and is_key(code, function, name)]
    return _by_words(code, function, *words) if words else []


@question("dispatched", [])
def _by_words(code: Code, function: Function, *words: tuple[str, str]) -> list[Dispatched]:
    known = dict(words)
    values = code.evaluator_given(function, {name: constant(word) for name, word in words})
    found: list[Dispatched] = []
    for call in function.flow.calls:
        if _is_looked_up(function, call.func):
            run = code.runs(values.value(call.func))
            found += [Dispatched(function, call, run)] if run else []
        else:
            found += _handed_on(code, function, call, known)
    return found


def _handed_on(code: Code, function: Function, call: ast.Call, known: Mapping[str, str]) -> Iterator[Dispatched]:
    """What `self.bus.fire(event)` runs of a function that is given the word itself."""
    if not any(isinstance(node, ast.Name) and node.id in known for node in call.args):
        return
    for target in code.targets(function, call):
        given = ((name, target.argument(call, name)) for name in target.positions)
        words = [(name, known[node.id]) for name, node in given if isinstance(node, ast.Name) and node.id in known]
        words = [one for one in words if is_key(code, target, one[0])]
        if words and target is not function:
            yield from _by_words(code, target, *words)


@question("dispatch key", False)
def is_key(code: Code, function: Function, name: str) -> bool:
    """Whether a function looks up what it calls by a parameter, or hands it on to one that does: `table[name](x)`, `self.fire(name)`."""
    flow = function.flow
    return not flow.stores.get(name) and any(_is_key(code, function, load) for load in flow.loads.get(name, ()))


def _is_key(code: Code, function: Function, load: ast.Name) -> bool:
    taker = function.flow.argument_of(load)
    match taker:
        case ast.Subscript(value=table, slice=key) if key is load:
            return _holds_functions(code.value(function, table))
        case ast.Call(func=ast.Attribute(value=table, attr=attr), args=[key, *_]) if (
            key is load and attr in tables.CHOOSES
        ):
            return _holds_functions(code.value(function, table))
        case ast.Call() if taker.func is not load and load in taker.args:
            targets = [one for one in code.targets(function, taker) if one is not function]
            handed_on = ((one, name) for one in targets for name in one.positions if one.argument(taker, name) is load)
            return any(is_key(code, *one) for one in handed_on)
    return False


def _holds_functions(value: Value, deep: int = _DEEP) -> bool:
    """Whether a dictionary has functions or objects under words, or lists of them."""
    inner = [*(value.entries or {}).values(), value.element] if value.kind in ("dict", "list") and deep else []
    return value.kind in tables.CALLABLE or any(_holds_functions(one, deep - 1) for one in inner if one is not None)


def _is_looked_up(function: Function, func: ast.expr) -> bool:
    """Whether what a call calls comes out of something: `table[name](x)`, `fn(x)` of a name that the function binds."""
    return isinstance(func, ast.Subscript | ast.Call) or (
        isinstance(func, ast.Name) and func.id in function.flow.stores
    )


def is_by_word(code: Code, function: Function, call: ast.Call) -> bool:
    """Whether the callers of a function say by words what one of its calls runs."""
    if not function.positions or not _is_looked_up(function, call.func):
        return False
    keys = [name for name in function.positions if is_key(code, function, name)]
    sites = code.call_sites(function, MAX_SITES) or () if keys else ()
    return any(one.call is call for site in sites for one in by_words(code, function, site.given or site.call))


def is_by_words_alone(code: Code, function: Function, call: ast.Call) -> bool:
    """The same where all callers say it: none gives a key that it has from elsewhere, as `table[name](x)` of `for name in self.names`."""
    if not is_by_word(code, function, call):
        return False
    keys = [name for name in function.positions if is_key(code, function, name)]
    callers = [one.given or one.call for one in code.call_sites(function, MAX_SITES) or ()]
    return all(string(function.argument(one, key)) is not None for one in callers for key in keys)


def calls_by_others(code: Code, function: Function) -> Iterator[CallSite]:
    """The calls of a function by other names, but for those that run others by the words which callers give: `run("train")` of `step = self.table[stage]`, `step(batch)`."""
    return (site for site in handed.calls_by_others(code, function) if _may_run(code, function, site))


def calls_handing(code: Code, function: Function) -> Iterator[CallSite]:
    """The same calls, but where a function is given to another one that calls it, that call."""
    return (site for site in handed.calls_handing(code, function) if _may_run(code, function, site))


def _may_run(code: Code, function: Function, site: CallSite) -> bool:
    return not is_by_words_alone(code, site.function, site.call) or _is_run(code, function, site)


def _is_run(code: Code, function: Function, site: CallSite) -> bool:
    """Whether a word that any caller gives has a call run a function."""
    return any(
        one.call is site.call and function in one.run
        for caller in code.call_sites(site.function, MAX_SITES) or ()
        for one in by_words(code, site.function, caller.given or caller.call)
    )


class LookedUp(NamedTuple):
    """A call of a method that a function looks up by a parameter, and what the name has around that: `getattr(callback, f"on_{event}")(self)`."""

    parameter: str
    call: ast.Call
    before: str
    behind: str

    def name_of(self, word: str | None) -> str | None:
        """The name of the method where the parameter is a word."""
        return None if word is None else f"{self.before}{word}{self.behind}"


def looked_up(function: Function) -> list[LookedUp]:
    """The calls of methods that a function looks up by its parameters."""
    found = [(_named_by(name), call) for name, call in fetched(function)] if function.positions else []
    return [LookedUp(by[0], call, *by[1:]) for by, call in found if by is not None and by[0] in function.positions]


def fetched(function: Function) -> Iterator[tuple[ast.expr, ast.Call]]:
    """The calls of what a function fetches from an object, each with the name by which it does: `getattr(callback, name)(self)`."""
    if function.module.source.holds(b"getattr("):
        for looked in function.flow.calls_named("getattr"):
            if len(looked.args) > 1 and (called := _called(function, looked)) is not None:
                yield looked.args[1], called


def _named_by(text: ast.expr) -> tuple[str, str, str] | None:
    """The name that a text is made of, with what stands before and behind it: `f"on_{event}"`, `"on_" + event`, `event`."""
    gaps = [text]
    match text:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            gaps = [side for side in (left, right) if string(side) is None]
        case ast.JoinedStr(values=parts):
            filled = [part for part in parts if isinstance(part, ast.FormattedValue)]
            gaps = [part.value for part in filled] if all(part.conversion < 0 for part in filled) else []
    name = gaps[0] if len(gaps) == 1 else None
    return (name.id, *(ends_of_text(text, string) or ("", ""))) if isinstance(name, ast.Name) else None


def _called(function: Function, looked: ast.Call) -> ast.Call | None:
    """`getattr(callback, name)(self)`, or `method(self)` of `method = getattr(callback, name, None)`"""
    target = syntax.target(function.flow, looked)
    loads = function.flow.loads.get(target.id, ()) if isinstance(target, ast.Name) else ()
    calls = (syntax.called(function.flow, node) for node in (looked, *loads))
    return next((call for call in calls if call is not None), None)


@question("calls by word", [])
def calls_by_name(code: Code, method: Function) -> list[CallSite]:
    """The calls that name a method by a word which what they run looks up: `self.emit("on_step_end")` behind `getattr(callback, event)(self)`."""
    if not method.is_method or "_" not in method.name.strip("_"):
        return []
    found = [site for word in (method.name, *_ends(code, method)) for site in _naming(code, method, word)]
    return found if len(found) <= MAX_SITES else []


def _ends(code: Code, method: Function) -> Iterator[str]:
    """The end of a method's name, `step_end` of `on_step_end`, where a text puts what it begins with before a word that it looks up."""
    end = method.name.strip("_").partition("_")[2]
    begun = method.name.removesuffix(end)
    texts = (f'f"{begun}{{', f"f'{begun}{{", f'"{begun}"', f"'{begun}'")
    if any(code.writes(path, text) for path in code.holders(WITH_GAP, word=b"getattr") for text in texts):
        yield end


def _naming(code: Code, method: Function, name: str) -> Iterator[CallSite]:
    """The calls that give a word, the name of a method or the end of it, to what looks the method up by that."""
    word = as_bytes(name)
    paths = sorted(code.holders(quoted(word), word=word))
    for module in (code.module_for_name(path, name) for path in (paths if len(paths) <= MAX_SITES else ())):
        for caller, lines in module.functions_at(module.lines_holding(name)).items() if module is not None else ():
            for node, _ in nodes_on(caller, lines, CALLS):
                if isinstance(node, ast.Call) and any(string(given) == name for given in given_to(node)):
                    yield from _looking_up(code, method, caller, node)


def _looking_up(code: Code, method: Function, caller: Function, call: ast.Call) -> Iterator[CallSite]:
    for target in code.targets(caller, call):
        for one in looked_up(target):
            word = string(target.argument(call, one.parameter))
            if one.name_of(word) == method.name and method.takes(one.call):
                given = _given(target, one.call, call)
                yield CallSite(caller, call, given) if given is not None else CallSite(target, one.call)


@question("calls through tables", [])
def calls(code: Code, function: Function) -> list[CallSite]:
    """The calls of what tables hold that run a function which is put into one: `fn(loss)`, or `bus.fire("step", loss)` where that says so."""
    found: dict[ast.Call, CallSite] = {}
    for owner, name in tables.holding(code, function):
        for reader, taken in tables.reading(code, owner, name):
            for where, use in handed.uses(code, reader, taken, each=True):
                call = where.flow.parents.get(use)
                if isinstance(call, ast.Call) and call.func is use:
                    found.update({site.call: site for site in _sites(code, function, where, call)})
    return list(found.values()) if len(found) <= MAX_SITES else []


def _sites(code: Code, function: Function, where: Function, call: ast.Call) -> Iterator[CallSite]:
    """The calls that run a function by a call of something that is looked up."""
    if not is_by_word(code, where, call):
        if function in code.targets(where, call):
            yield CallSite(where, call)
        return
    for site in code.call_sites(where, MAX_SITES) or ():
        dispatched = by_words(code, where, site.given or site.call)
        if any(one.call is call and function in one.run for one in dispatched):
            given = _given(where, call, site.given or site.call)
            yield CallSite(site.function, site.call, given) if given is not None else CallSite(where, call)


def _given(function: Function, call: ast.Call, outer: ast.Call) -> ast.Call | None:
    """A call with what its function is given in the place of its parameters; None where it gives something else."""
    if isinstance(function.node, ast.Module):
        return None
    rest, named = function.node.args.vararg, function.node.args.kwarg
    after = len(function.node.args.posonlyargs) + len(function.node.args.args) - function.is_method
    arguments: list[ast.expr] = []
    for argument in call.args:
        if isinstance(argument, ast.Starred) and rest is not None and names.last(argument.value) == rest.arg:
            arguments += outer.args[after:]
        elif (given := _stands_for(function, argument, outer)) is not None:
            arguments.append(given)
        else:
            return None
    keywords: list[ast.keyword] = []
    for keyword in call.keywords:
        if keyword.arg is None and named is not None and names.last(keyword.value) == named.arg:
            keywords += [one for one in outer.keywords if one.arg not in function.positions]
        elif keyword.arg is not None and (given := _stands_for(function, keyword.value, outer)) is not None:
            keywords.append(ast.keyword(keyword.arg, given))
        else:
            return None
    return ast.copy_location(ast.Call(call.func, arguments, keywords), outer)


def _stands_for(function: Function, node: ast.expr, outer: ast.Call) -> ast.expr | None:
    if isinstance(node, ast.Constant):
        return node
    if not isinstance(node, ast.Name) or node.id not in function.positions or node.id in function.flow.stores:
        return None
    return receiver_of(outer) if node.id == function.own_name else function.argument(outer, node.id)
