from __future__ import annotations

import ast

from torchlint.facts import api_table
from torchlint.facts.deprecated_table import KEYWORDS, NAMES, NON_BLOCKING
from torchlint.rule import Edit, Finding, Fix, Site
from torchlint.rule.rewrite import call_node, older_torch, substituted


def fix(site: Site, finding: Finding) -> Fix | None:
    if site.name == ".data":
        return _item(site)
    if site.name.startswith("."):
        return _renamed(site)
    if site.name.endswith("()"):
        return _without_keyword(site)
    entry = NAMES[site.name]
    edits = substituted(site, entry)
    if edits is None:
        return None
    note = _note(site, entry.name, older_torch(site, entry.renamed_in))
    return Fix(f"Use `{entry.rename}`", edits, "unsafe", note)


def _item(site: Site) -> Fix | None:
    """`loss.item()` in place of `loss.data[0]`."""
    end = site.tree.span(site.cst(site.target))[1]
    read = site.tree.span(site.cst(site.flow.parents[site.target]))[1]
    index = site.source.data[end:read]
    if index.translate(None, b" ") != b"[0]":
        return None
    return Fix("Use `item()`", (Edit(end - len("data"), read, b"item()"),), "unsafe", "the program raised before")


def _renamed(site: Site) -> Fix | None:
    """`non_blocking=` in place of `async=`."""
    given = next(one for one in site.call.keywords if one.arg == NON_BLOCKING)
    start = site.source.start_of(given)
    edit = Edit(start, start + len("async"), NON_BLOCKING.encode())
    return Fix(f"Use `{NON_BLOCKING}`", (edit,), "unsafe", "the file could not be read before")


def _without_keyword(site: Site) -> Fix | None:
    gone = KEYWORDS[site.name.removesuffix("()")]
    for index, given in enumerate(site.call.keywords):
        entry = gone.get(given.arg or "")
        if (
            entry is not None
            and site.torch is not None
            and api_table.gone(entry.name, site.torch) is not None
            and isinstance(given.value, ast.Constant | ast.Name | ast.Attribute)
        ):
            call = call_node(site)
            edit = site.tree.remove_argument(call, call.args[len(site.call.args) + index])
            return Fix(
                f"Leave `{given.arg}` out", (edit,), "unsafe", _note(site, entry.name, f"`{given.arg}` is ignored")
            )
    return None


def _note(site: Site, name: str, older: str) -> str:
    """What may change: nothing but the error, unless the project allows a torch that has the name still."""
    since = api_table.gone(name, site.torch) if site.torch is not None else None
    if since is None or site.torch is None or site.torch.low >= since:
        return "the program raised before"
    return f"the program raised before with torch {since[0]}.{since[1]}; with older ones " + (
        older or "nothing changes"
    )
