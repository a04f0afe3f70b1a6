from __future__ import annotations

import ast

from torchlint.facts import api_table, syntax
from torchlint.facts.deprecated_table import NAMES, Entry, Keyword, Missing
from torchlint.facts.number_first import Given, roles_of
from torchlint.facts.told import Argument
from torchlint.rule import Edit, Finding, Fix, Site
from torchlint.rule.rewrite import Place, call_node, older_torch, operand, substituted

_ACTS = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)


def fix(site: Site, finding: Finding) -> Fix | None:
    if isinstance(finding.told, Argument):
        entry = finding.told.entry
        return _required(site, entry) if isinstance(entry, Missing) else _keyword(site, entry, finding.told.given)
    if site.name == ".get_lr()":
        note = "the rate in use is given, not the one that would be computed next"
        return Fix("Use `get_last_lr`", (_renamed_method(site, "get_last_lr"),), "unsafe", note)
    if site.name in (".step()", ".resize()"):
        return None
    if isinstance(site.target, ast.Call) and (roles := roles_of(site.name, len(site.call.args))) is not None:
        return _numbers_last(site, roles)
    if site.name not in NAMES:
        return None  # a method
    renamed = NAMES[site.name]
    edits = substituted(site, renamed)
    if edits is None:
        return None
    note = older_torch(site, renamed.renamed_in) or _risk(site, renamed)
    return Fix(f"Use `{renamed.rename}`", edits, "unsafe" if note else "safe", note)


def _renamed_method(site: Site, name: str) -> Edit:
    """The edit that calls another method of the same object."""
    end = site.source.end_of(site.call.func)
    assert isinstance(site.call.func, ast.Attribute)
    return Edit(end - len(site.call.func.attr), end, name.encode())


def _risk(site: Site, renamed: Entry) -> str:
    """What may change all the same; "" where that is ruled out at the place."""
    assert isinstance(site.target, ast.expr)
    call = syntax.called(site.flow, site.target)
    if site.name == "torch.qr" and call is not None and _is_taken_apart(site, call):
        return ""
    if site.name.endswith("functional_call") and call is not None and len(call.args) > 1:
        return "" if site.surely_dict(call.args[1]) else renamed.risk
    return renamed.risk


def _is_taken_apart(site: Site, call: ast.Call) -> bool:
    """Whether only parts of a result are used: `q, r = torch.qr(x)`, `torch.qr(x)[0]`, `torch.qr(x).Q`."""
    parent = site.flow.parents[call]
    if isinstance(parent, ast.Assign):
        return all(isinstance(target, ast.Tuple | ast.List) for target in parent.targets)
    return isinstance(parent, ast.Attribute) or (isinstance(parent, ast.Subscript) and parent.value is call)


def _keyword(site: Site, entry: Keyword, given: ast.keyword | None) -> Fix | None:
    """Rename the keyword, or leave it out where it has no effect."""
    if given is None:
        return None
    call = call_node(site)
    arg = call.args[len(site.call.args) + site.call.keywords.index(given)]
    if entry.rename and arg.keyword is not None:
        if site.spread or site.call.args or site.argument(entry.rename) is not None:
            return None  # both names may be given
        edit = site.tree.replace(arg.keyword, entry.rename)
        note = "" if site.value(given.value).kind == "number" else "None, which meant the default, is refused"
        return Fix(f"Name it `{entry.rename}`", (edit,), "unsafe" if note else "safe", note)
    if entry.inert_since is not None and isinstance(given.value, ast.Constant | ast.Name):
        note = _effect(site, entry)
        return Fix("Leave it out", (site.tree.remove_argument(call, arg),), "unsafe" if note else "safe", note)
    return None


def _effect(site: Site, entry: Keyword) -> str:
    """What an argument still does for the project; "" where that is nothing."""
    assert entry.inert_since is not None
    if site.analysis.context.switched_on(rf"\.{entry.keyword}\b|[\"']{entry.keyword}[\"']".encode()):
        return f"the project reads `{entry.keyword}` from an object"
    since = ".".join(map(str, entry.inert_since))
    return f"before torch {since} it has an effect" if older_torch(site, entry.inert_since) else ""


def _required(site: Site, missing: Missing) -> Fix | None:
    """Write the argument that keeps today's behaviour."""
    edit = site.tree.add_argument(call_node(site), missing.given) if missing.given else None
    if edit is None:
        return None
    note = older_torch(site, api_table.there(f"{missing.function}({missing.keyword})"))
    return Fix(f"Say `{missing.given}`", (edit,), "unsafe" if note else "safe", note)


def _numbers_last(site: Site, roles: Given) -> Fix | None:
    """`x.add_(a, y)` is `x.add_(y, alpha=a)`: each argument goes to another's place, what stands between them stays."""
    args = site.call.args
    source, last = site.source, site.call
    between = site.source.data[source.start_of(args[0]) : source.end_of(last)]
    if b"#" in between:
        return None  # a comment would stand beside another argument
    tensors = [arg for role, arg in zip(roles, args, strict=True) if not role]
    numbers = [(role, arg) for role, arg in zip(roles, args, strict=True) if role]
    texts = [operand(site, arg, Place.ARGUMENT) for arg in tensors]
    texts += [f"{role}={operand(site, arg, Place.VALUE)}" for role, arg in numbers]
    edits = tuple(site.tree.replace(place, text) for place, text in zip(call_node(site).args, texts, strict=True))
    note = _reordered(site, tensors, [arg for _, arg in numbers])
    return Fix("Give the tensors first", edits, "unsafe" if note else "safe", note)


def _reordered(site: Site, tensors: list[ast.expr], numbers: list[ast.expr]) -> str:
    """What the new order may change; "" where that is nothing."""
    if site.name.startswith(".") and not _is_tensor(site):
        return "only the name and a number tell that this is a tensor"
    acts = any(_acts(site, one) for one in numbers)
    if acts or (any(_acts(site, one) for one in tensors) and not all(_is_fixed(site, one) for one in numbers)):
        return "a call among the arguments runs before the number is looked up"
    return ""


def _is_tensor(site: Site) -> bool:
    """Whether the method is one of a tensor: other classes have `add` and `sub`, and those of the project may have any."""
    owner, method = site.part("x"), site.name[1:-2]
    word = method.encode()
    others = method in ("add", "sub") or site.project.definers(method)
    if others or site.project.any_holds(rb"\b%s *=(?!=)" % word, word=word):
        return site.surely_tensor(owner)
    return site.value(owner).is_tensor


def _acts(site: Site, node: ast.expr) -> bool:
    """Whether something is called, by an attribute that a function of the project may stand behind, or a key that it makes up, too."""
    return any(
        isinstance(part, _ACTS)
        or (isinstance(part, ast.Attribute) and bool(site.project.definers(part.attr)))
        or (isinstance(part, ast.Subscript) and bool(site.project.definers("__missing__")))
        for part in ast.walk(node)
    )


def _is_fixed(site: Site, node: ast.expr) -> bool:
    """Whether no call can change a number: a constant, or arithmetic of constants and of a function's own names."""
    return all(
        _is_own(site, part)
        if isinstance(part, ast.Name)
        else isinstance(part, ast.Constant | ast.UnaryOp | ast.BinOp | ast.operator | ast.unaryop | ast.expr_context)
        for part in ast.walk(node)
    )


def _is_own(site: Site, name: ast.Name) -> bool:
    """Whether a name is a number that only its function binds.

    What is called may bind a module's names and those of a function around it, and may change a tensor.
    """
    flow = site.flow
    bound = name.id in flow.parameters or name.id in flow.stores
    shared = site.function is site.module.body or name.id in flow.globals or site.source.holds(b"nonlocal")
    return bound and not shared and site.value(name).kind == "number"
