from __future__ import annotations

import ast

from torchlint.facts.nodes import elements, spreads
from torchlint.facts.told import Construction
from torchlint.rule import Edit, Finding, Fix, Site
from torchlint.rule.lazy import regex
from torchlint.rule.rewrite import Place, arguments, operand, spelled

# What always returns an array of its own, never a view of its argument.
_FRESH = frozenset(
    f"numpy.{name}"
    for name in """zeros ones empty full eye arange linspace array stack concatenate vstack hstack zeros_like
    ones_like full_like where repeat tile""".split()
)
_OWN_MEMORY = {"numpy.array": 2, "numpy.concatenate": 2, "numpy.stack": 2}
"""How many positional arguments leave the result memory of its own: the next one is `out`, or `copy` of an old NumPy."""
_OUT = regex(rb"\bout ?=(?!=)|[\"']out[\"'] ?:")
_OUT_OF_TORCH = rb"\btorch\.(?:\w+\.)?\w+\((?=[^\n]{0,200}?\bout ?= ?(?!None\b|out\b|=)([\w.]+))(?![^\n]{0,200}?(?<![\w.])\1\b[^\n]{0,200}?\bout ?=)"
"""What another file may give a tensor to, that it resizes: `torch.cat(parts, out=buffer)`, not `torch.max(x, y, out=x)`."""
_PUT = rb"\b(?:np|numpy)\.%(name)s[ \t]*=(?!=)|[\"']numpy\.%(name)s[\"']|\b(?:np|numpy), ?[\"']%(name)s[\"']"
"""How a program puts a function of its own in the place of NumPy's: `np.zeros = ...`, `patch.object(np, "zeros")`."""


def fix(site: Site, finding: Finding) -> Fix | None:
    call = site.call
    given = site.argument("data", 0)
    if given is None or finding.told is None:
        return None
    if finding.told == Construction("arrays"):
        return _stacked(site, given)
    if finding.told == Construction("tensor"):
        if len(call.args) + len(call.keywords) != 1:
            return None
        start, end = _span(site, call)
        code = operand(site, given, Place.RECEIVER)
        edit = Edit(start, end, f"{code}.detach().clone()".encode())
        return Fix("Clone the tensor", (edit,), "unsafe", "a default device no longer takes the copy elsewhere")
    if not isinstance(given, ast.Call) or not _is_array(site, given):
        return None
    func = call.func
    if not isinstance(func, ast.Attribute) or any(keyword.arg != "dtype" for keyword in call.keywords):
        return None
    _, name_end = _span(site, func)
    edit = Edit(name_end - len(func.attr), name_end, b"as_tensor")
    note = _shared(site, given) or ("memory of NumPy can't be resized" if _may_be_resized(site, given) else "")
    return Fix("Take over the memory of the array", (edit,), "unsafe" if note else "safe", note)


def _shared(site: Site, made: ast.Call) -> str:
    """Why somebody else may hold the memory of an array; "" where nobody does.

    What a class of the project gives for itself as an array may be its own memory, even where NumPy asks it for a copy.
    """
    name = (site.resolve(made.func) or "").removeprefix("numpy.")
    given = name == "array" and site.project.definers("__array__")
    if given or site.project.definers("__array_function__"):
        return "a class of the project may give its own memory for an array"
    put = site.analysis.context.switched_on(_PUT % {b"name": name.encode()}, word=name.encode())
    return f"the project puts something else in the place of NumPy's `{name}`" if put else ""


def _may_be_resized(site: Site, made: ast.Call) -> bool:
    """Whether some code resizes tensors in place, or may: what shards parameters does, and `out=` what holds nothing yet."""
    kept = site.consumed_by(("Parameter", "register_buffer", "register_parameter"))
    return (
        kept
        or site.source.holds(_OUT)
        or _holds_nothing(site, made)
        or site.project.any_holds(_OUT_OF_TORCH, word=b"out")
        or site.analysis.context.switched_on(rb"\bresize_")
    )


def _holds_nothing(site: Site, made: ast.Call) -> bool:
    """`np.empty(0)`, `np.zeros((0, 3))`, `np.array([])`"""
    parts = elements(made.args[0]) if made.args else [made]
    if site.resolve(made.func) == "numpy.array":
        return not parts
    sized = site.resolve(made.func) in ("numpy.zeros", "numpy.ones", "numpy.empty", "numpy.full")
    return sized and any(isinstance(part, ast.Constant) and part.value == 0 for part in parts)


def _may_be_given(name: str, made: ast.Call) -> bool:
    """Whether the call may give memory that it is given: `np.array(x, copy=False)`, `np.stack(rows, 0, buffer)`."""
    most = _OWN_MEMORY.get(name, len(made.args))
    return spreads(made) or len(made.args) > most or any(keyword.arg in ("copy", "out") for keyword in made.keywords)


def _is_array(site: Site, made: ast.Call) -> bool:
    """Whether a call of NumPy makes an array of its own: `np.where(condition)` gives a tuple of them."""
    name = site.resolve(made.func)
    if name not in _FRESH or _may_be_given(name, made):
        return False
    return name != "numpy.where" or len(made.args) == 3


def _span(site: Site, node: ast.expr) -> tuple[int, int]:
    source = site.source
    return source.start_of(node), source.end_of(node)


def _stacked(site: Site, given: ast.expr) -> Fix | None:
    made, array = spelled(site, "torch.from_numpy"), spelled(site, "numpy.array")
    if made is None or array is None or len(site.call.args) + len(site.call.keywords) != 1:
        return None
    edit = site.tree.replace(site.node, f"{made[0]}({array[0]}({arguments(site, given)}))")
    note = "several dtypes become NumPy's common one, and an empty list is of double precision"
    return Fix("Make one array of them first", (edit, *made[1], *array[1]), "unsafe", note)
