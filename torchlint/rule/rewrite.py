"""What several fixers need: how to write a dotted name at a place, and how to give a call another name."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

from ..facts import names, syntax
from ..facts.deprecated_table import Entry
from ..facts.lookup import lookup
from ..facts.nodes import callee, spreads
from ..text.finding import Edit, Finding
from ..text.strings import ends_inside
from ..text.suppress import Suppressions
from ..text.tree import grows_together, leading_imports
from .operand import Place as Place
from .operand import operand as operand
from .operand import place_of as place_of
from .site import Site

if TYPE_CHECKING:
    import libcst as cst
else:
    from .lazy import lazy

    cst = lazy("libcst")

PERHAPS = "something else than a tensor may come here"
"""The note of a fix that is right for tensors, where the program may have something else there on another way."""


def spelled(site: Site, dotted: str) -> tuple[str, tuple[Edit, ...]] | None:
    """How the place writes a name of torch, and the import that this needs; None where no name is sure to be bound there.

    The prefix that the author wrote at the place is kept (`th.cuda.amp.autocast` becomes `th.amp.autocast`), unless an import
    goes further (`F.log_softmax`).
    """
    local, origin = _own_prefix(site, dotted)
    scopes = lookup(site.module)
    for other, module in _modules(site, dotted):
        if len(module) > len(origin) and scopes.imported(site.target, other) == module:
            local, origin = other, module
            break
    if local:
        return f"{local}{dotted[len(origin) :]}", ()
    root = dotted.partition(".")[0]
    added = _import_of(site, root) if scopes.free(site.target, root, root) else None
    return (dotted, added) if added is not None else None


def _own_prefix(site: Site, dotted: str) -> tuple[str, str]:
    """What the author wrote in front of the place's own name, as far as it leads to the other name too, and what that is."""
    node = callee(site.target)
    while isinstance(node, ast.Attribute):
        node = node.value
        origin = site.resolve(node) if names.chain(node) is not None else None
        if origin is not None and dotted.startswith(f"{origin}."):
            return site.text(node), origin
    return "", ""


def _modules(site: Site, dotted: str) -> list[tuple[str, str]]:
    """The imports in sight of the name or of a module that holds it, the innermost module first."""
    found = {
        (local, origin)
        for scope in site.function.scopes
        for local, origin in scope.imports.items()
        if f"{dotted}.".startswith(f"{origin}.")
    }
    return sorted(found, key=lambda pair: (-len(pair[1]), pair[0] != pair[1], pair))


def means_builtin(site: Site, name: str) -> bool:
    """Whether a name of Python is nothing else at the place: `from torch import *` brings a dtype `float`."""
    bound = names.shadowed(site.function, name) or names.imported(site.function, name) is not None
    return not bound and "torch" not in site.module.stars


def _import_of(site: Site, root: str) -> tuple[Edit, ...] | None:
    """The edits that import a package; None where the file does not import some of it as soon, whatever happens."""
    known = root in sys.stdlib_module_names or any(
        name.partition(".")[0] == root
        for statement in leading_imports(site.module.tree)
        for name in (
            [statement.module or ""]
            if isinstance(statement, ast.ImportFrom) and not statement.level
            else [alias.name for alias in statement.names]
            if isinstance(statement, ast.Import)
            else []
        )
    )
    return site.tree.add_import(f"import {root}") if known else None


def call_node(site: Site, call: ast.Call | None = None) -> cst.Call:
    """The libcst node of the call that the site is, or of another one of its function."""
    node = site.cst(call if call is not None else site.call)
    assert isinstance(node, cst.Call)
    return node


def renamed(site: Site, dotted: str, node: ast.expr | None = None) -> tuple[Edit, ...] | None:
    """The edits that put another dotted name where a name (the called name of the site) stands."""
    spelling = spelled(site, dotted)
    if spelling is None:
        return None
    code, imports = spelling
    return (site.tree.replace(site.cst(node if node is not None else site.call.func), code), *imports)


def older_torch(site: Site, version: tuple[int, int]) -> str:
    """Why a name that came with a version of torch is not safe for the project; "" where it is."""
    torch = site.allowed_torch
    if torch is None or torch.low >= version:
        return ""
    stated = site.analysis.stated_for(site.module)
    why = "allows older ones" if stated is not None else "does not say which it has"
    return f"it needs torch {version[0]}.{version[1]}, and the project {why}"


def shown(site: Site, finding: Finding) -> Site:
    """The place that a finding is shown at, which another place of the file may have led to."""
    function, source = site.module.function_at(finding.line), site.source
    wanted = (finding.line, finding.column), (finding.end_line, finding.end_column)
    for node in function.flow.nodes:
        if isinstance(node, ast.expr) and node.lineno == finding.line:
            start = source.position(source.start_of(node))
            end = source.position(source.end_of(node))
            if (start, end) == wanted:
                return Site(site.analysis, function, node, site.rule, site.name)
    return site


def silenced(site: Site) -> bool:
    """Whether a comment silences the rule at a place: who wrote it wants the code there to stay, whatever the fix of another place does."""
    key = ("suppressions", site.module, site.rule.code)
    return site.once(key, lambda: Suppressions.of(site.source)).silences(site.finding(""))


def cut(site: Site, last: ast.expr) -> Edit | None:
    """Take the last method or attribute off what it is asked of: `(x).clone().detach()` becomes `(x).clone()`.

    None where it can't be told apart by its text: in parentheses with what it is asked of, or with a comment in between.
    """
    func = last.func if isinstance(last, ast.Call) else last
    assert isinstance(func, ast.Attribute)
    data = site.source.data
    start, middle, end = (site.source.end_of(node) for node in (func.value, func, last))
    between, given = data[start:middle], data[middle:end].lstrip()
    if b"#" in between or (given and not given.startswith(b"(")):
        return None
    stop = start + len(between[: between.rindex(b".")].rstrip(b" \t\f\r\n\\"))
    return Edit(stop, end, b" " if grows_together(data[stop - 1 : stop], data[end : end + 1]) else b"")


def arguments(site: Site, *given: ast.expr | ast.keyword) -> str:
    """Parts of the file as arguments of a call, or as elements between commas."""
    return ", ".join(operand(site, one, Place.ARGUMENT) for one in given)


def line_before(site: Site, code: str | ast.stmt, statement: ast.stmt | None = None) -> Edit | None:
    """A line of code, or a statement of one line, in front of the place's statement (or another one).

    None where that is not the first on its line.
    """
    statement = statement or site.statement
    code = code if isinstance(code, str) else site.text(code)
    source, margin = site.source, _margin(site, statement)
    start = source.offset(statement.lineno, 0)
    if source.data[start : source.start_of(statement)].strip():
        return None
    return Edit(start, start, f"{margin}{code}{source.newline}".encode())


def line_after(site: Site, code: str, statement: ast.stmt | None = None) -> Edit | None:
    """A line of code behind the place's statement (or another one) and its comment; None where it shares its lines.

    What stands behind `if x:` on one line would get a line outside of the `if`.
    """
    statement = statement or site.statement
    source = site.source
    start = source.start_of(statement)
    if source.data[source.offset(statement.lineno, 0) : start].strip():
        return None
    end = source.end_of(statement)
    stop = source.data.find(b"\n", end)
    stop = stop if stop >= 0 else len(source.data)
    line = source.data[end:stop]
    if line.strip() and not line.strip().startswith(b"#"):
        return None
    stop -= len(line) - len(line.rstrip(b"\r"))
    return Edit(stop, stop, f"{source.newline}{_margin(site, statement)}{code}".encode())


def behind(site: Site, test: str, statement: ast.stmt | None = None) -> tuple[Edit, ...] | None:
    """The edits that put the place's statement (or another one) behind `if test:`, its lines further to the right.

    None where it shares its lines.
    """
    statement = statement or site.statement
    source, margin = site.source, _margin(site, statement)
    start = source.start_of(statement)
    end = source.end_of(statement)
    shared = source.data[source.offset(statement.lineno, 0) : start].strip()
    rest = source.data[end:].partition(b"\n")[0].strip()
    if shared or (rest and not rest.startswith(b"#")):
        return None
    deeper = "\t" if margin.endswith("\t") else "    "
    kept = ends_inside(source.data[start:end].decode())
    lines = range(statement.lineno + 1, (statement.end_lineno or 0) + 1)
    begun = [
        source.offset(line, 0)
        for line in lines
        if line - statement.lineno not in kept and source.line_text(line).strip()
    ]
    opening = f"if {test}:{source.newline}{margin}{deeper}".encode()
    return Edit(start, start, opening), *(Edit(at, at, deeper.encode()) for at in begun)


def _margin(site: Site, statement: ast.stmt) -> str:
    line = site.source.line_text(statement.lineno)
    return line[: len(line) - len(line.lstrip())]


def substituted(site: Site, entry: Entry) -> tuple[Edit, ...] | None:
    """The edits that put the name that took over in place of a deprecated one; None where the arguments mean something else."""
    target = site.target
    spelling = spelled(site, entry.rename.removesuffix("()")) if entry.rename else None
    if spelling is None or not isinstance(target, ast.expr):
        return None
    code, imports = spelling
    call = syntax.called(site.flow, target)
    if entry.attribute:
        if entry.rename.endswith("()") and not _may_be_called(site, target):
            return None
        code += "()" * entry.rename.endswith("()")
    elif call is None:
        return None
    replaced = site.tree.replace(site.cst(target), code)
    arguments = _arguments(site, call, entry) if call is not None else ()
    return (replaced, *arguments, *imports) if arguments is not None else None


def _may_be_called(site: Site, target: ast.expr) -> bool:
    """Whether a call may stand where an attribute does: nothing is assigned to it, and no pattern is made of it, `case torch.has_mps:`."""
    in_pattern = isinstance(site.flow.parents.get(target), ast.pattern)
    return isinstance(getattr(target, "ctx", None), ast.Load) and not in_pattern


def _arguments(site: Site, call: ast.Call, entry: Entry) -> tuple[Edit, ...] | None:
    spread = spreads(call)
    limited = entry.positional < 99 or entry.refused
    if limited and (spread or len(call.args) > entry.positional or any(k.arg in entry.refused for k in call.keywords)):
        return None
    node = call_node(site, call)
    edits: list[Edit | None] = []
    if entry.first:
        given = [*call.args, *call.keywords]
        edits.append(site.tree.lead_argument(node, entry.first) if given else site.tree.add_argument(node, entry.first))
    if entry.extra:
        edits.append(site.tree.add_argument(node, *entry.extra))
    made = tuple(edit for edit in edits if edit is not None)
    return made if len(made) == len(edits) else None
