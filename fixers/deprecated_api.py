from __future__ import annotations

import ast

from torchlint.facts import api_table, syntax
from torchlint.facts.deprecated_table import NAMES, Entry, Keyword, Missing
from torchlint.facts.told import Argument
from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import call_node, older_torch, substituted


def fix(site: Site, finding: Finding) -> Fix | None:
    if isinstance(finding.told, Argument):
        entry = finding.told.entry
        return _required(site, entry) if isinstance(entry, Missing) else _keyword(site, entry, finding.told.given)
    renamed = NAMES[site.name]
    edits = substituted(site, renamed)
    if edits is None:
        return None
    note = older_torch(site, renamed.renamed_in) or _risk(site, renamed)
    return Fix(f"Use `{renamed.rename}`", edits, "unsafe" if note else "safe", note)


def _risk(site: Site, renamed: Entry) -> str:
    """What may change all the same; "" where that is ruled out at the place."""
    assert isinstance(site.target, ast.expr)
    call = syntax.called(site.flow, site.target)
    if site.name == "torch.qr" and call is not None and _is_taken_apart(site, call):
        return ""
    if site.name.endswith("functional_call") and call is not None and len(call.args) > 1:
        given = site.value(call.args[1])
        return "" if given.kind == "dict" and given.proven and not given.other_kinds else renamed.risk
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
    if site.analysis.context.switched_on(rf"\.{entry.keyword}\b".encode()):
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
