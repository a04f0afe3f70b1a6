from __future__ import annotations

import ast

from torchlint.rule import Edit, Finding, Fix, Site

# What always returns an array of its own, never a view of its argument.
_FRESH = frozenset(
    f"numpy.{name}"
    for name in (
        "zeros",
        "ones",
        "empty",
        "full",
        "eye",
        "arange",
        "linspace",
        "array",
        "stack",
        "concatenate",
        "vstack",
        "hstack",
        "zeros_like",
        "ones_like",
        "full_like",
        "where",
        "repeat",
        "tile",
    )
)


def fix(site: Site, finding: Finding) -> Fix | None:
    call = site.call
    given = site.argument("data", 0)
    if given is None or site.name != "torch.tensor()":
        return None
    if "list of arrays" in finding.message:
        return _stacked(site, given)
    if "copies a tensor" in finding.message:
        if len(call.args) + len(call.keywords) != 1:
            return None
        start, end = _span(site, call)
        code = site.text(given)
        if not isinstance(given, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
            code = f"({code})"
        return Fix("Clone the tensor", (Edit(start, end, f"{code}.detach().clone()".encode()),), "safe")
    if not isinstance(given, ast.Call) or site.resolve(given.func) not in _FRESH or _asks_for_copy(given):
        return None
    func = call.func
    if not isinstance(func, ast.Attribute) or any(keyword.arg != "dtype" for keyword in call.keywords):
        return None
    _, name_end = _span(site, func)
    edit = Edit(name_end - len(func.attr), name_end, b"as_tensor")
    return Fix("Take over the memory of the array", (edit,), "safe")


def _asks_for_copy(made: ast.Call) -> bool:
    """`np.array(x, copy=False)` may be x itself."""
    return any(keyword.arg in ("copy", "out", None) for keyword in made.keywords)


def _span(site: Site, node: ast.expr) -> tuple[int, int]:
    offset = site.source.offset
    return offset(node.lineno, node.col_offset), offset(node.end_lineno or 0, node.end_col_offset or 0)


def _stacked(site: Site, given: ast.expr) -> Fix | None:
    numpy = next((name for name, origin in site.module.imports.items() if origin == "numpy"), None)
    torch = next((name for name, origin in site.module.imports.items() if origin == "torch"), None)
    if numpy is None or torch is None or len(site.call.args) + len(site.call.keywords) != 1:
        return None
    start, end = _span(site, site.call)
    code = f"{torch}.from_numpy({numpy}.stack({site.text(given)}))"
    return Fix(
        "Stack the arrays first", (Edit(start, end, code.encode()),), "unsafe", "where shapes differ NumPy raises"
    )
