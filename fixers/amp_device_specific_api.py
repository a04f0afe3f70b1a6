from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from torchlint.facts import amp, api_table, hidden_reads, syntax
from torchlint.facts.flow import Flow
from torchlint.facts.module import Function
from torchlint.rule import Edit, Finding, Fix, Site, chain
from torchlint.rule.rewrite import call_node, older_torch, silenced, spelled

_PRINTS = rb"\b(?:print|type|str|repr|vars)\(\s*[\w.]*%(name)s\s*[,)]|\{[\w.]*%(name)s[}!:=]|\b%(name)s\.__(?:class|module|dict)__"
_SHOWN = "what prints the object, or checks its class, sees another one"
_CACHE = rb"cache_enabled"
_HIDDEN = "what `**` hides may leave out the dtype, which is then that of an autocast around this one"
_DEFAULT = {"cuda": "float16", "cpu": "bfloat16"}
"""What an old `autocast` takes where no dtype is given; the new one takes that of the autocast around it."""


def fix(site: Site, finding: Finding) -> Fix | None:
    if site.name.startswith("apex."):
        return None  # scaling with torch's scaler is other statements
    made = _with_import(site)
    if made is None or made.note:
        alone = _alone(site)
        made = alone if made is None or (alone is not None and not alone.note) else made
    if made is None:
        return None
    _, member = amp.split(site.name)
    return Fix(f"Use `torch.amp.{member}`", tuple(made.edits), "unsafe" if made.note else "safe", made.note)


@dataclass(frozen=True, slots=True)
class _Rewritten:
    """The edits of some uses, and what they may change."""

    edits: tuple[Edit, ...]
    note: str = ""

    def __add__(self, other: _Rewritten) -> _Rewritten:
        return _Rewritten(tuple(dict.fromkeys((*self.edits, *other.edits))), self.note or other.note)


def _risk(site: Site, member: str) -> str:
    note = older_torch(site, api_table.there(f"torch.amp.{member}"))
    context = site.analysis.context
    if member not in amp.DECORATORS and _is_asked_for(site, member):
        return note or "what checks the class of the object sees another one"
    printed = _PRINTS % {b"name": rb"\w*scaler"}
    if member == "GradScaler" and (
        context.switched_on(printed, word=b"caler") or not _is_kept(site) or _is_shown(site)
    ):
        return note or _SHOWN
    if member == "autocast" and not _is_only_entered(site):
        return note or _SHOWN
    return note


def _is_asked_for(site: Site, member: str) -> bool:
    """Whether any file of the project asks whether an object is of the old class."""
    return site.project.ask(("asked for", member), lambda: amp.is_asked_for(site.project, member), False)


def _is_kept(site: Site) -> bool:
    """Whether an object is only bound to a name, returned, or asked for a method."""
    node: ast.AST = site.flow.parents[_expression(site)]
    while isinstance(node, ast.Call | ast.IfExp | ast.BoolOp):
        node, inner = site.flow.parents[node], node
        if isinstance(node, ast.Call):
            return False
        if isinstance(node, ast.Attribute):
            called = site.flow.parents[node]
            return isinstance(inner, ast.Call) and isinstance(called, ast.Call) and called.func is node
    return isinstance(node, ast.Assign | ast.AnnAssign | ast.Return | ast.Expr)


def _is_only_entered(site: Site) -> bool:
    """Whether an autocast is a context or a decorator, and where it has a name, or an attribute, nothing but that."""
    name = _expression(site)
    call = site.flow.parents[name]
    made = call if isinstance(call, ast.Call) and call.func is name else name
    if _is_entered(site.flow, made):
        return True
    statement = site.flow.statement(made)
    if not _is_kept(site) or _is_shown(site):
        return False
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    names = {one.id for one in targets if isinstance(one, ast.Name)}
    loads = (load for name in names for load in site.module.loads.get(name, ()))
    return all(_is_entered(function.flow, load) for function, load in loads)


def _is_entered(flow: Flow, node: ast.expr) -> bool:
    """Whether something is a context or decorates, at once or by a condition, or is compared with nothing."""
    parent = flow.parents[node]
    while isinstance(parent, ast.IfExp | ast.BoolOp):
        node, parent = parent, flow.parents[parent]
    match parent:
        case ast.withitem(optional_vars=None) | ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Expr():
            return True
        case ast.Call(func=ast.Attribute(attr="enter_context")):
            return True
        case ast.Call(func=func) | ast.Attribute(value=func):
            return func is node  # it decorates, `autocast()(f)`, or is asked for a method
        case ast.Compare():
            return all(isinstance(order, ast.Is | ast.IsNot) for order in parent.ops)
    return False


def _is_shown(site: Site) -> bool:
    """Whether the file prints what an object is bound to, or asks for its class."""
    statement = site.flow.statement(_expression(site))
    targets = [one for one in getattr(statement, "targets", ()) if isinstance(one, ast.Name | ast.Attribute)]
    names = {one.id if isinstance(one, ast.Name) else one.attr for one in targets}
    return any(re.search(_PRINTS % {b"name": re.escape(name.encode())}, site.source.data) for name in names)


def _alone(site: Site) -> _Rewritten | None:
    """This use only, by its full name."""
    _, member = amp.split(site.name)
    spelling = spelled(site, f"torch.amp.{member}")
    if spelling is None:
        return None
    code, imports = spelling
    made = _rewritten(site, site.function, _expression(site), code)
    return made + _Rewritten(imports) if made is not None else None


def _expression(site: Site) -> ast.expr:
    assert isinstance(site.target, ast.expr)
    return site.target


def _with_import(site: Site) -> _Rewritten | None:
    """All uses of an import statement that gives nothing but old names of one device, and the statement itself."""
    parts = chain(_expression(site))
    bindings = syntax.imports_of(site.function, parts[0]) if parts is not None and len(parts) == 1 else []
    if len(bindings) != 1 or not isinstance(bindings[0].statement, ast.ImportFrom):
        return None
    home, statement = bindings[0].function, bindings[0].statement
    known = amp.MEMBERS.get(statement.module or "", frozenset())
    if statement.level or home is not site.module.body or any(alias.name not in known for alias in statement.names):
        return None
    node = site.tree.node(statement, [statement])
    made = _Rewritten((site.tree.replace(node.module, "torch.amp"),))  # type: ignore[attr-defined]
    for alias in statement.names:
        name = alias.asname or alias.name
        more = None if _visible_elsewhere(site, name) else _uses(site, name)
        if more is None:
            return None
        made += more + _Rewritten((), older_torch(site, api_table.there(f"torch.amp.{alias.name}")))
    return made


def _visible_elsewhere(site: Site, name: str) -> bool:
    """Whether another file may have the name from here, a text or a magic of a notebook use it, or this file bind it anew."""
    module = site.module
    for function in module.functions:
        if name in function.flow.stores or any(parameter.arg == name for parameter in function.parameters):
            return True
        if function is not module.body and name in function.imports:
            return True
    mark = re.compile(rf"[\"']{re.escape(name)}[\"']".encode())
    if module.is_package or mark.search(module.source.data) or re.search(rf"\b{name}\b", module.source.unread):
        return True
    if hidden_reads.may_be_called_unseen(module.tree, name):
        return True
    return site.is_handed_out(name)


def _uses(site: Site, name: str) -> _Rewritten | None:
    """The edits of every call of a name in the file; None where one of them can't be made."""
    made = _Rewritten(())
    for function, load in site.module.loads.get(name, ()):
        if amp.use_of(function.flow, load) is None:
            if _is_annotation(function, load):
                continue
            return None
        more = _rewritten(site, function, load, name)
        if more is None:
            return None
        made += more
    return made


def _is_annotation(function: Function, node: ast.expr) -> bool:
    parent = function.flow.parents.get(node)
    return isinstance(parent, ast.AnnAssign) and parent.annotation is node


def _rewritten(site: Site, function: Function, name: ast.expr, code: str) -> _Rewritten | None:
    """The edits that turn one use of an old name into the new one, written as `code`."""
    place = Site(site.analysis, function, name, site.rule, site.name)
    old = place.resolve(name)
    use = amp.use_of(function.flow, name)
    if old is None or old not in amp.OLD or use is None or silenced(place):
        return None
    device, member = amp.split(old)
    renamed = () if code == place.text(name) else (place.tree.replace(place.cst(name), code),)
    if use is name:
        edit = place.tree.replace(place.cst(name), f'{code}(device_type="{device}")')
        return _Rewritten((edit,), _risk(place, member)) if member in amp.DECORATORS else None
    assert isinstance(use, ast.Call)
    if any(isinstance(argument, ast.Starred | ast.NamedExpr) for argument in use.args):
        return None  # `enabled=on := True` is no Python
    written = [f'device_type="{device}"' if member in amp.DECORATORS else f'"{device}"']
    imports: tuple[Edit, ...] = ()
    note = _risk(place, member)
    if member == "autocast":
        given = amp.given(use)
        spelling = spelled(place, f"torch.{_DEFAULT[device]}")
        if spelling is None:
            return None
        hidden = any(keyword.arg is None for keyword in use.keywords)
        if "dtype" not in given and not hidden:
            imports = spelling[1]
            written.append(f"dtype={spelling[0]}")
        if "cache_enabled" not in given and not hidden and site.analysis.context.switched_on(_CACHE):
            written.append("cache_enabled=True")
        note = note or (_HIDDEN if hidden and "dtype" not in given else "")
    edits = _arguments(place, use, ", ".join(written), member)
    return _Rewritten((*renamed, *edits, *imports), note) if edits is not None else None


def _arguments(place: Site, call: ast.Call, first: str, member: str) -> list[Edit] | None:
    """The edits that put some arguments in front, and names before positional arguments whose place has changed."""
    names = amp.AUTOCAST_ORDER if member == "autocast" else ()
    if (names and len(call.args) > len(names)) or (call.args and member in amp.DECORATORS):
        return None
    tree = place.tree
    if not call.args and not call.keywords:
        added = tree.add_argument(call_node(place, call), first)
        return [added] if added is not None else None
    node = call_node(place, call)
    leads = [f"{name}=" for name in names[: len(call.args)]] or [""] * max(len(call.args), 1)
    renamed = [
        tree.insert_before(place.cst(arg), lead) for arg, lead in zip(call.args[1:], leads[1:], strict=True) if lead
    ]
    leading = tree.lead_argument(node, first, leads[0])
    return [leading, *renamed] if leading is not None else None
