from __future__ import annotations

import ast

from torchlint.facts import api_table
from torchlint.facts.deprecated_table import NAMES, NON_BLOCKING, TOOK_ASYNC, Keyword
from torchlint.facts.told import Argument
from torchlint.rule import Edit, Finding, Fix, Site
from torchlint.rule.rewrite import Place, call_node, older_torch, operand, substituted


def fix(site: Site, finding: Finding) -> Fix | None:
    if site.name == ".data":
        return _item(site)
    if site.name == ".next()":
        text = f"next({operand(site, site.part('x'), Place.ARGUMENT)})"
        return Fix("Use `next`", (site.tree.replace(site.node, text),), "unsafe", "the program raised before")
    if site.name.startswith("."):
        return _renamed(site) if site.name[1:].removesuffix("()") in TOOK_ASYNC else None
    if isinstance(finding.told, Argument):
        keyword, given = finding.told
        return _without_keyword(site, keyword, given) if isinstance(keyword, Keyword) and given is not None else None
    if site.name not in NAMES:
        return None
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


def _without_keyword(site: Site, entry: Keyword, given: ast.keyword) -> Fix | None:
    """Leave the argument out, or give it the name that means the same."""
    call = call_node(site)
    arg = call.args[len(site.call.args) + site.call.keywords.index(given)]
    if entry.rename:
        if arg.keyword is None or site.spread or site.argument(entry.rename) is not None:
            return None  # both names may be given
        edit = site.tree.replace(arg.keyword, entry.rename)
        return Fix(f"Name it `{entry.rename}`", (edit,), "unsafe", _note(site, entry.name, "nothing changes"))
    if not isinstance(given.value, ast.Constant | ast.Name | ast.Attribute):
        return None
    edit = site.tree.remove_argument(call, arg)
    return Fix(f"Leave `{given.arg}` out", (edit,), "unsafe", _note(site, entry.name, f"`{given.arg}` is ignored"))


def _note(site: Site, name: str, older: str) -> str:
    """What may change: nothing but the error, unless the project allows a torch that has the name still."""
    since = api_table.gone(name, site.torch) if site.torch is not None else None
    if since is None or site.torch is None or site.torch.low >= since:
        return "the program raised before"
    return f"the program raised before with torch {since[0]}.{since[1]}; with older ones " + (
        older or "nothing changes"
    )
