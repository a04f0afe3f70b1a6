from __future__ import annotations

import ast

from torchlint.facts import related
from torchlint.facts.break_values import captured_test
from torchlint.rule import Finding, Fix, Site
from torchlint.rule.lazy import regex
from torchlint.rule.rewrite import arguments, spelled

_CAUGHT = regex(rb"(?:except[^\n:]*\b|[=(\[,]\s*)AssertionError\b|(?<!raise )\bAssertionError\s*[,)\]]")
"""What may wait for one, by its name, in a tuple, as an argument: neither what raises it nor a page that says who does."""
_NOTE = (
    "compiled, a failed assertion is a RuntimeError (on a GPU one that ends its context) that does not show the values"
)


def fix(site: Site, finding: Finding) -> Fix | None:
    """A constant message for an `assert`; `torch.where` for a conditional expression of tensors."""
    node = site.target
    if isinstance(node, ast.Assert):
        return _constant_message(site, node)
    if isinstance(node, ast.IfExp) and site.value(node.body).is_tensor and site.value(node.orelse).is_tensor:
        spelling = spelled(site, "torch.where")
        if spelling is None:
            return None
        edit = site.tree.replace(site.node, f"{spelling[0]}({arguments(site, node.test, node.body, node.orelse)})")
        note = "both sides are computed, and shapes are broadcast"
        return Fix("Choose with torch.where", (edit, *spelling[1]), "suggestion", note)
    return None


def _constant_message(site: Site, node: ast.Assert) -> Fix | None:
    if not isinstance(node.msg, ast.JoinedStr) or related.holds(site, _CAUGHT):
        return None
    if captured_test(ast.Assert(test=node.test, msg=None)) is None:
        return None  # it breaks whatever it says
    parts = [str(part.value) if isinstance(part, ast.Constant) else "..." for part in node.msg.values]
    edit = site.tree.replace(site.cst(node.msg), _literal(site, "".join(parts)))
    return Fix("Make the message a constant", (edit,), "unsafe", _NOTE)


def _literal(site: Site, text: str) -> str:
    """A string in double quotes, in ASCII where the file is not in UTF-8."""
    written = repr(text) if site.source.encoding == "utf-8" else ascii(text)
    return '"' + written[1:-1].replace('"', '\\"') + '"'
