from __future__ import annotations

import ast

from torchlint.facts.dtypes import dtype
from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import Place, arguments, operand


def fix(site: Site, finding: Finding) -> Fix | None:
    taken = site.match.whole
    if not isinstance(taken, ast.Subscript):
        return None
    index = taken.slice.elts[-1] if isinstance(taken.slice, ast.Tuple) else taken.slice
    rank = len(taken.slice.elts) if isinstance(taken.slice, ast.Tuple) else 1
    dim = site.argument("dim", int(site.name.startswith("torch.")))
    sorted_ = _sorted(site)
    if (
        sorted_ is None
        or dtype(site, sorted_) not in ("floating", "int64")
        or not isinstance(index, ast.Slice)
        or not (isinstance(index.upper, ast.Constant) and type(index.upper.value) is int)
        or not _is_last(site, taken, dim, rank)
    ):
        return None
    where = f", dim={operand(site, dim, Place.VALUE)}" if dim is not None else ""
    code = f"{operand(site, sorted_, Place.RECEIVER)}.topk({arguments(site, index.upper)}{where}).{_part(site, taken)}"
    note = "equal elements may come in another order, and fewer elements than asked for are an error"
    return Fix("Select with `topk`", (site.tree.replace(site.caught(), code),), "unsafe", note)


def _sorted(site: Site) -> ast.expr | None:
    """What is sorted."""
    function = site.name.startswith("torch.")
    if any(keyword.arg not in ("dim", "descending") for keyword in site.call.keywords):
        return None  # `out=` is filled with all of them
    if not int(function) <= len(site.call.args) <= int(function) + 1:
        return None
    if function:
        return site.call.args[0]
    return site.call.func.value if isinstance(site.call.func, ast.Attribute) else None


def _is_last(site: Site, taken: ast.Subscript, dim: ast.expr | None, rank: int) -> bool:
    """Whether the slice is over the dimension that is sorted."""
    ellipsis = isinstance(taken.slice, ast.Tuple) and any(isinstance(e, ast.Constant) for e in taken.slice.elts)
    number = site.value(dim).const if dim is not None else -1
    if isinstance(dim, ast.UnaryOp) and isinstance(dim.operand, ast.Constant):
        number = -1 if dim.operand.value == 1 else None
    if ellipsis:
        return number == -1
    # `[:k]` of one dimension without `dim` may be the first of several
    return number == rank - 1


def _part(site: Site, taken: ast.Subscript) -> str:
    """Which half of the pair is taken."""
    if site.name.endswith("argsort()"):
        return "indices"
    half = taken.value
    if isinstance(half, ast.Attribute):
        return half.attr
    assert isinstance(half, ast.Subscript) and isinstance(half.slice, ast.Constant)
    return ("values", "indices")[int(str(half.slice.value))]
