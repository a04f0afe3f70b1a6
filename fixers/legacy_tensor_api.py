from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchlint.facts.legacy_tensors import CONSTRUCTORS, is_new
from torchlint.facts.nodes import number
from torchlint.rule import Edit, Finding, Fix, Site
from torchlint.rule.rewrite import PERHAPS, Place, call_node, operand, spelled

if TYPE_CHECKING:
    import libcst as cst
else:
    from torchlint.rule.lazy import lazy

    cst = lazy("libcst")

_FACTORIES = frozenset(
    f"torch.{name}"
    for name in ("zeros", "ones", "empty", "full", "eye", "arange", "linspace", "rand", "randn", "randint", "randperm")
) | {"torch.tensor", "torch.from_numpy"}
"""What makes a tensor and no subclass of it."""
_PLAIN = "a subclass of Tensor stays one"
_FOLLOWED = "another default type or device is no longer followed"
_WATCHED = "a mode that takes functions of torch over gets this one"
_ABSENT = "where there is no such device another exception says so"


def fix(site: Site, finding: Finding) -> Fix | None:
    if site.name == "torch.autograd.Variable()":
        return _variable(site)
    if isinstance(site.target, ast.Attribute) and site.name == ".saved_variables":
        saved = f"{operand(site, site.target.value, Place.RECEIVER)}.saved_tensors"
        return Fix("Use `saved_tensors`", (site.tree.replace(site.node, saved),), "safe")
    name = site.name.removesuffix("()")
    return _constructor(site, name) if name in CONSTRUCTORS else None


def _variable(site: Site) -> Fix | None:
    """`Variable(x)` is `x.detach()`, and `torch.zeros(3)` what that is of `torch.zeros(3)`."""
    if len(site.call.args) != 1 or site.call.keywords:
        return None
    given = site.call.args[0]
    text = operand(site, given, Place.RECEIVER)
    note = "" if _is_plain(site, given) else _PLAIN if site.value(given).is_tensor else PERHAPS
    new = not note and is_new(site, given)
    title = "Drop `Variable`" if new else "Use `detach()`"
    return Fix(title, _bare(site, text, "" if new else ".detach()"), "unsafe" if note else "safe", note)


def _is_plain(site: Site, given: ast.expr) -> bool:
    """Whether a tensor is made right here, or bound to a name of this function, by what makes no subclass.

    What an object or a list holds may be changed elsewhere, what a function gives by a decorator or a method of the same name.
    """
    return site.value(given).proven and site.surely_made(given, _FACTORIES)


def _bare(site: Site, text: str, method: str) -> tuple[Edit, ...]:
    """The edits that leave what is wrapped, and a method behind it; lines that need brackets keep those of the call."""
    call = call_node(site)
    if "\n" not in text or text == site.text(site.call.args[0]) or call.args[0].comma is not cst.MaybeSentinel.DEFAULT:
        return (site.tree.replace(site.node, f"{text}{method}"),)
    dropped = site.tree.replace(call.func, "")
    return (dropped, site.tree.insert_after(call, method)) if method else (dropped,)


def _constructor(site: Site, name: str) -> Fix | None:
    """`torch.FloatTensor([1, 2])` is `torch.tensor([1, 2], dtype=torch.float32)`."""
    given = site.call.args[0]
    if not _is_numbers(given):
        return None
    dtype, device = CONSTRUCTORS[name]
    function, kind = spelled(site, "torch.tensor"), spelled(site, f"torch.{dtype}")
    if function is None or kind is None:
        return None
    # Inside `with torch.device(...)` the new function would make it there.
    added = site.tree.add_argument(call_node(site), f"dtype={kind[0]}", f'device="{device or "cpu"}"')
    if added is None:
        return None
    note = _FOLLOWED if name == "torch.Tensor" else _ABSENT if device else _seen(site)
    edits = (site.tree.replace(site.cst(site.call.func), function[0]), added, *function[1])
    return Fix("Use `torch.tensor`", edits, "unsafe" if note else "safe", note)


def _seen(site: Site) -> str:
    """Why the program may see another function called; "" where it does not look: modes are not told of the old constructors."""
    return _WATCHED if site.project.any_holds(rb"\bTorchFunctionMode\b", word=b"TorchFunctionMode") else ""


def _is_numbers(node: ast.expr) -> bool:
    """A literal list of numbers, or of such lists: everything else may be taken differently."""
    if not isinstance(node, ast.List) or not node.elts:
        return False
    return all(_is_numbers(e) or number(e) is not None for e in node.elts)
