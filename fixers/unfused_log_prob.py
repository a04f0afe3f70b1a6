from __future__ import annotations

import ast

from torchlint.facts.told import Fused
from torchlint.rewrite import arguments, spelled
from torchlint.rule import Finding, Fix, Site


def fix(site: Site, finding: Finding) -> Fix | None:
    assert isinstance(finding.told, Fused)
    kind = finding.told.function.rpartition(".")[2]
    # `F.log_softmax` takes `_stacklevel` too
    function = "torch.nn.functional.log_softmax" if kind == "log_softmax" else finding.told.function
    arguments = _arguments(site, kind)
    spelling = spelled(site, function)
    if arguments is None or spelling is None:
        return None
    whole = site.flow.parents[site.target] if kind == "expm1" else site.target
    edit = site.tree.replace(site.cst(whole), f"{spelling[0]}({arguments})")
    return Fix(f"Use `{function}`", (edit, *spelling[1]), "unsafe", "the results differ in the last digits")


def _arguments(site: Site, kind: str) -> str | None:
    """What the one function takes, as source."""
    if kind == "expm1":
        return _inside(site, site.call)
    if kind == "binary_cross_entropy_with_logits":
        return _cross_entropy(site)
    if len(site.call.args) + len(site.call.keywords) > 1:
        return None
    inner = site.call.args[0] if site.call.args else site.call.func
    if site.name == ".log()":
        assert isinstance(site.call.func, ast.Attribute)
        inner = site.call.func.value
    if isinstance(inner, ast.BinOp):  # 1 + exp(x)
        other = inner.right if isinstance(inner.left, ast.Constant) else inner.left
        return _inside(site, other) if isinstance(other, ast.Call) else None
    if not isinstance(inner, ast.Call):
        return None
    if kind == "logsumexp":
        return _log_sum(site, inner)
    return _inside(site, inner)


def _inside(site: Site, call: ast.Call) -> str | None:
    """The arguments of a function, or the receiver of a method and its arguments."""
    given: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    if isinstance(call.func, ast.Attribute) and site.resolve(call.func) is None:
        given.insert(0, call.func.value)
    return arguments(site, *given) or None


def _log_sum(site: Site, call: ast.Call) -> str | None:
    """`logsumexp(x, dim)` for `sum(exp(x), dim)`."""
    method = isinstance(call.func, ast.Attribute) and site.resolve(call.func) is None
    exponential = call.func.value if method and isinstance(call.func, ast.Attribute) else call.args[0]
    if not isinstance(exponential, ast.Call) or any(k.arg not in ("dim", "keepdim") for k in call.keywords):
        return None
    rest = call.args if method else call.args[1:]
    return ", ".join(filter(None, (_inside(site, exponential), arguments(site, *rest, *call.keywords))))


def _cross_entropy(site: Site) -> str | None:
    inner = site.argument("input", 0)
    if not isinstance(inner, ast.Call) or not site.call.args or site.call.args[0] is not inner:
        return None
    rest = arguments(site, *site.call.args[1:], *site.call.keywords)
    return ", ".join(filter(None, (_inside(site, inner), rest)))
