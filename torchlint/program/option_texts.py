"""Where a program spells a word for an option without giving it, in a help, a choice, a usage; and where it sets an option itself."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from ..facts import names
from ..facts.common_names import OPTIONS_NAME
from ..facts.module import Module
from ..facts.nodes import string
from ..query.question import question
from ..system.regex import regex
from ..system.stamp import as_bytes
from .project import Project

_TELLING = regex(
    rb"\b(?:help|choices|metavar|usage|epilog|description)\b|split\(|parse_(?:known_)?args\(|\b[Uu]sage\b|docopt"
)
"""What a file has that tells of options in texts of several words."""
_TOLD = frozenset(("help", "choices", "metavar", "usage", "epilog", "description"))
_SPLIT = frozenset(("split", "rsplit"))
_PARSE = frozenset(("parse_args", "parse_known_args", "parse_intermixed_args"))
_USAGE = regex(r"(?i:\busage\b)|docopt")
_NAMESPACES = frozenset(("Namespace", "SimpleNamespace"))


def holds_options(node: ast.expr) -> bool:
    """Whether something is called like the options of a program: `args`, `self.cfg`, `cfg["model"]`; those of a model of a library, `model.config`, are not the program's."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Attribute) and names.chain(node) == ["self", node.attr]:
            return OPTIONS_NAME.search(node.attr) is not None
        node = node.value
    return isinstance(node, ast.Name) and OPTIONS_NAME.search(node.id) is not None


def is_spelled(project: Project, word: str) -> bool:
    """Whether a text beside the files may spell a word, or what the program tells of its options, and of how it is started."""
    if project.spells(word):
        return True
    spelled = as_bytes(word)
    return project.any_holds(_shown(spelled), word=spelled) or _is_told(project, word)


def _shown(word: bytes) -> bytes:
    """A pattern of a word on a command line, or in a comment beside the default of an option: `--kind phong`, `kind = "a"  # or phong`."""
    lines = (
        rb"(?<![\w-])--?[A-Za-z][\w.-]{0,60}(?:=|[ \t]{1,4})[\"']?%s",
        rb"\bpython3?[ \t][^\n]{0,200}?[ \t=,\"']%s",
        rb"(?m:^)[^#=\n]*=[ \t]*[\"'][^\"'#\n]*[\"'][ \t,)]*#[^\n]*?(?<![\w-])%s",
    )
    return b"(?:%s)(?![\\w-])" % b"|".join(line % re.escape(word) for line in lines)


@question("word told", False)
def _is_told(project: Project, word: str) -> bool:
    """Whether a text of several words that tells of options has a word."""
    whole = rb"(?<![\w-])%s(?![\w-])" % re.escape(as_bytes(word))
    paths = sorted(project.holders(whole, word=as_bytes(word)))
    telling = (path for path in paths if not project.in_test(path, "") and project.holds(path, _TELLING))
    return any(_tells(module, whole) for path in telling if (module := project.module(path)) is not None)


def _tells(module: Module, whole: bytes) -> bool:
    tree = module.whole_tree()
    page = ast.get_docstring(tree) or ""
    spelled = re.compile(whole).search
    if _USAGE.search(page) is not None and spelled(as_bytes(page)) is not None:
        return True
    return any(
        isinstance(part, ast.Constant) and isinstance(part.value, str) and spelled(as_bytes(part.value)) is not None
        for node in ast.walk(tree)
        for told in _telling(node)
        for part in ast.walk(told)
    )


def _telling(node: ast.AST) -> Iterator[ast.expr]:
    """What tells of options: `help="a or b"`, `{"help": "a or b"}`, `"a b".split()`, `parse_args("--kind a".split())`."""
    if isinstance(node, ast.Call):
        yield from (keyword.value for keyword in node.keywords if keyword.arg in _TOLD)
        if isinstance(node.func, ast.Attribute) and node.func.attr in _SPLIT:
            yield node.func.value
        if isinstance(node.func, ast.Attribute) and node.func.attr in _PARSE:
            yield from node.args
    elif isinstance(node, ast.Dict):
        yield from (value for key, value in zip(node.keys, node.values, strict=True) if string(key) in _TOLD)


@question("option set", False)
def is_set(project: Project, option: str) -> bool:
    """Whether a program sets an option itself, however it does: `args.kind, n = read(), 1`, `setattr(args, "kind", x)`, `vars(args).update(kind=x)`."""
    word = as_bytes(option)
    named = rb"NAME(?:(?<=\.NAME)\b|[\"'](?<=[\"']NAME[\"'])|(?<!\wNAME)[ \t]*=)".replace(b"NAME", re.escape(word))
    paths = sorted(project.holders(named, word=word))
    modules = (project.module(path) for path in paths if not project.in_test(path, ""))
    return any(
        _sets(node, option) for module in modules if module is not None for node in ast.walk(module.whole_tree())
    )


def _sets(node: ast.AST, option: str) -> bool:
    match node:
        case ast.Attribute(value=owner, attr=attribute, ctx=ast.Store()):
            return attribute == option and names.chain(owner) != ["self"]
        case ast.Subscript(slice=ast.Constant(value=key), ctx=ast.Store()):
            return key == option
        case ast.Call(func=ast.Name(id="setattr"), args=[owner, ast.Constant(value=key), _]):
            return key == option and holds_options(owner)
        case ast.Call(func=ast.Attribute(value=owner, attr="update" | "_replace")) if _may_hold_options(owner):
            return _gives(node, option)
        case ast.Call(func=ast.Attribute(attr="set_defaults")):
            return _gives(node, option)
        case ast.Call(args=[owner, *_]) if names.last(node.func) in ("replace", "update", "evolve"):
            return holds_options(owner) and _gives(node, option)
        case ast.Call() if names.last(node.func) in _NAMESPACES:
            return _gives(node, option)
    return False


def _may_hold_options(node: ast.expr) -> bool:
    """Whether something is called like the options of a program, or gives all of them, `vars(args)`."""
    match node:
        case ast.Call(args=[options]) if names.last(node.func) == "vars":
            return holds_options(options)
    return holds_options(node)


def _gives(call: ast.Call, option: str) -> bool:
    """Whether a call gives an option something that is not written out: `kind=x`, `{"kind": x}`, `"kind", x`."""
    pairs: list[tuple[str | None, ast.expr]] = [(keyword.arg, keyword.value) for keyword in call.keywords]
    pairs += [(string(key), value) for key, value in pairwise(call.args)]
    for given in call.args:
        if isinstance(given, ast.Dict):
            pairs += [(string(key), value) for key, value in zip(given.keys, given.values, strict=True)]
    return any(name == option and not isinstance(value, ast.Constant) for name, value in pairs)
