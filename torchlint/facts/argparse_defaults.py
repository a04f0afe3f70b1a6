"""What the options of a command line are when nobody gives them: calls of `add_argument`, `set_defaults` and of absl's `DEFINE_bool`, read as data."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from ..system.cached import kept
from ..text.source import Words
from .module import Function, Module
from .nodes import argument_of, keyword_of, string

T = TypeVar("T")

_ADDED = (".add_argument(", ".set_defaults(", ".DEFINE_")
_DEFINES = frozenset(f"DEFINE_{kind}" for kind in ("bool", "boolean", "integer", "float", "string"))
"""What absl's flags are made by: `flags.DEFINE_bool("check", True, "look for NaN")`."""
_SETS = Words(*(word.encode() for word in _ADDED))
_STORED = {"store_true": False, "store_false": True}


def argparse_defaults(module: Module) -> Mapping[str, object]:
    """The default of each option that the file adds to a parser, by its attribute of the namespace.

    Options without a literal default, and those added twice with different ones, are left out.
    """
    return _once(module, "argparse_defaults", _read)


class _Project(Protocol):
    def any_holds(self, pattern: bytes, places: str = "", *, word: bytes = b"") -> bool: ...
    def holders(self, pattern: bytes, *, word: bytes = b"") -> frozenset[str]: ...
    def module_for_calls(self, path: str, name: str) -> Module | None: ...


def is_off(project: _Project, module: Module, attribute: str) -> bool:
    """Whether the program has an option of that name, which is off unless somebody turns it on."""
    return by_default(project, module, attribute) is False


def by_default(project: _Project, module: Module, attribute: str) -> object:
    """What the program's option of that name is when nobody gives it: that of the file itself, if it has one.

    None where there is none, or several with different defaults.
    """
    if any(module.source.holds(re.compile(pattern)) for pattern in _ways(attribute).values()):
        return argparse_defaults(module).get(attribute)
    files = sorted(_definers(project, attribute))
    modules = filter(None, (project.module_for_calls(path, "add_argument") for path in files))
    defaults = [argparse_defaults(module).get(attribute) for module in modules]
    return defaults[0] if len(set(map(repr, defaults))) == 1 else None


def unless_given(project: _Project, module: Module, node: ast.expr) -> object:
    """What `args.check` of a file is where nobody gives the option, the only one of its name, and no line of the program sets it.

    None where that is open. `self.check = args.check` keeps it, and sets nothing.
    """
    if not isinstance(node, ast.Attribute) or len(_definers(project, node.attr)) != 1:
        return None
    default, name = by_default(project, module, node.attr), node.attr.encode()
    is_own = isinstance(node.value, ast.Name) and node.value.id == "self"
    sets = rb"%s\.%s *=(?!=)" % (b"" if is_own else b"(?<!self)", name)
    return None if default is None or project.any_holds(sets, word=name) else default


def _definers(project: _Project, attribute: str) -> frozenset[str]:
    """The files that add an option of that name."""
    return frozenset[str]().union(*(project.holders(way, word=word) for word, way in _ways(attribute).items()))


def _ways(attribute: str) -> dict[bytes, bytes]:
    """How an option of that name is added, by a word of each way."""
    name = b"[-_]".join(map(re.escape, attribute.encode().split(b"_")))
    return {
        b"add_argument": rb"""add_argument\((?:[^()]*,)?\s*(?:['"]--%s|dest\s*=\s*['"]%s)['"]"""
        % (name, attribute.encode()),
        b"DEFINE_": rb"""DEFINE_\w+\(\s*['"]%s['"]""" % attribute.encode(),
    }


def unchanging(module: Module) -> Mapping[str, bool]:
    """The switches that stay as they are whatever is given: `"--no-cuda", action="store_true", default=True`."""
    return _once(module, "unchanging options", _stuck)


def lists(module: Module) -> Mapping[str, bool]:
    """The options that take several values: `"--sizes", nargs="+"`."""
    return _once(module, "options of lists", _several)


def _once(module: Module, name: str, read: Callable[[Iterable[Function]], dict[str, T]]) -> dict[str, T]:
    """What is read of the options of a file, kept with the file; nothing is kept for one that adds none."""
    if not module.source.holds(_SETS):
        return {}
    found = [module.functions_holding(word) for word in _ADDED]  # each time: who asks is noted
    return kept(module, name, lambda: read(_in_order(found)))


def _stuck(adders: Iterable[Function]) -> dict[str, bool]:
    added: dict[str, list[bool | None]] = {}
    for function in adders:
        for call in function.flow.calls:
            last = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            if last == "set_defaults":
                return {}
            if last == "add_argument":
                action, default = keyword_of(call, "action"), _default(call)
                stored = (
                    not _STORED[action.value] if isinstance(action, ast.Constant) and action.value in _STORED else None
                )
                stays = stored is not None and default is not None and default.value is stored
                added.setdefault(_destination(call), []).append(stored if stays else None)
    return {name: one[0] for name, one in added.items() if name and len(one) == 1 and one[0] is not None}


def _several(adders: Iterable[Function]) -> dict[str, bool]:
    found: dict[str, bool] = {}
    for function in adders:
        for call in function.flow.calls_named("add_argument"):
            taken, action = keyword_of(call, "nargs"), keyword_of(call, "action")
            if (isinstance(taken, ast.Constant) and taken.value in ("+", "*")) or (
                isinstance(action, ast.Constant) and action.value in ("append", "extend")
            ):
                found[_destination(call)] = True
    return found


def _read(adders: Iterable[Function]) -> dict[str, object]:
    found: dict[str, object] = {}
    unclear: set[str] = set()
    said: dict[str, object] = {}
    for function in adders:
        for call in function.flow.calls:
            if isinstance(call.func, ast.Attribute) and call.func.attr == "set_defaults":
                said.update(_set(call))
                continue
            if not (isinstance(call.func, ast.Attribute) and call.func.attr in _DEFINES | {"add_argument"}):
                continue
            name, default = _defined(call) if call.func.attr in _DEFINES else (_destination(call), _default(call))
            if default is None or found.get(name, default.value) != default.value:
                unclear.add(name)
            else:
                found[name] = default.value
    return {name: value for name, value in found.items() if name and name not in unclear} | said


def _set(call: ast.Call) -> dict[str, object]:
    """`parser.set_defaults(pin_mem=True)`"""
    pairs = ((keyword.arg, keyword.value) for keyword in call.keywords)
    return {name: value.value for name, value in pairs if name is not None and isinstance(value, ast.Constant)}


def _defined(call: ast.Call) -> tuple[str, ast.Constant | None]:
    """What absl's flag is called, and the literal that it has."""
    default = argument_of(call, "default", 1)
    return string(argument_of(call, "name", 0)) or "", default if isinstance(default, ast.Constant) else None


def _in_order(found: Iterable[Sequence[Function]]) -> list[Function]:
    """Functions of a file in source order, each once."""
    return sorted({one for functions in found for one in functions}, key=lambda one: one.first_line)


def _destination(call: ast.Call) -> str:
    """The attribute that the option becomes; "" where that is not told in place."""
    given = keyword_of(call, "dest")
    if given is not None:
        return string(given) or ""
    flags = [flag for one in call.args if (flag := string(one)) is not None]
    if not flags or len(flags) != len(call.args):
        return ""
    flag = next((flag for flag in flags if flag.startswith("--")), flags[0])
    return flag.lstrip("-").replace("-", "_") if flag.startswith("-") else ""


def _default(call: ast.Call) -> ast.Constant | None:
    """The literal that the option has when it is not given; None where it is no literal."""
    given = keyword_of(call, "default")
    if given is not None:
        return given if isinstance(given, ast.Constant) else None
    if any(keyword.arg is None for keyword in call.keywords):
        return None
    action = keyword_of(call, "action")
    if action is None:
        return ast.Constant(None)
    if isinstance(action, ast.Constant) and action.value in _STORED:
        return ast.Constant(_STORED[action.value])
    return None
