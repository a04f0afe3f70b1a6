from __future__ import annotations

import ast

from torchlint.facts import epsilons
from torchlint.facts.dtypes import dtype
from torchlint.facts.nodes import is_constant
from torchlint.facts.told import Fused
from torchlint.rule import Finding, Fix, Site
from torchlint.rule.rewrite import arguments, spelled

_FLOATING = frozenset(("logsigmoid", "softplus", "binary_cross_entropy_with_logits"))
"""What takes real floating point alone; the others take what `softmax` and `exp` take."""
_NOTE = "the results differ in the last digits, and where the old ones overflowed or were rounded to 0 or 1"
_TYPES = "; under autocast they are in the type of the input"


def fix(site: Site, finding: Finding) -> Fix | None:
    assert isinstance(finding.told, Fused)
    kind = finding.told.function.rpartition(".")[2]
    # `F.log_softmax` takes `_stacklevel` too
    function = "torch.nn.functional.log_softmax" if kind == "log_softmax" else finding.told.function
    inner = _inner(site, kind)
    given = _arguments(site, kind, inner) if inner is not None else None
    spelling = spelled(site, function)
    if inner is None or given is None or spelling is None:
        return None
    if kind in _FLOATING and dtype(site, _operand(site, inner)) != "floating":
        return None
    edit = site.tree.replace(site.caught(), f"{spelling[0]}({given})")
    note = _NOTE + _TYPES * (kind in ("logsigmoid", "logsumexp"))
    return Fix(f"Use `{function}`", (edit, *spelling[1]), "unsafe", note)


def _inner(site: Site, kind: str) -> ast.Call | None:
    """The softmax, sigmoid, exponential or sum inside; that of a module says elsewhere what it does."""
    inner: ast.expr
    if kind == "expm1":
        inner = site.call
    elif site.name == ".log()":
        inner = site.part("x")
    elif site.call.args and (kind == "binary_cross_entropy_with_logits" or len(site.call.args) == 1):
        inner = site.call.args[0]
    else:
        return None
    if kind != "binary_cross_entropy_with_logits" and kind != "expm1" and site.call.keywords:
        return None
    inner = epsilons.without(site, inner)
    if isinstance(inner, ast.BinOp):  # 1 + exp(x)
        inner = inner.right if isinstance(inner.left, ast.Constant) else inner.left
    return inner if isinstance(inner, ast.Call) and site.value(inner.func).kind != "module" else None


def _operand(site: Site, call: ast.Call) -> ast.expr:
    """What a function or method of torch is applied to."""
    if _is_method(site, call) and isinstance(call.func, ast.Attribute):
        return call.func.value
    return call.args[0]


def _is_method(site: Site, call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and site.resolve(call.func) is None


def _arguments(site: Site, kind: str, inner: ast.Call) -> str | None:
    """What the one function takes, as source."""
    if kind == "logsumexp":
        return _log_sum(site, inner)
    dims = int(kind == "log_softmax")
    given = _inside(site, inner, dims, {"dim", "dtype"} if dims else set())
    if given is None or kind != "binary_cross_entropy_with_logits":
        return given
    rest = arguments(site, *site.call.args[1:], *site.call.keywords)
    return ", ".join(filter(None, (given, rest)))


def _inside(site: Site, call: ast.Call, more: int, named: set[str]) -> str | None:
    """The operand and the other arguments of a call: at most so many by position, none but these by name."""
    given: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    if _is_method(site, call) and isinstance(call.func, ast.Attribute):
        given.insert(0, call.func.value)
    positional = [one for one in given if not isinstance(one, ast.keyword)]
    if not 1 <= len(positional) <= 1 + more or any(isinstance(one, ast.Starred) for one in positional):
        return None
    return arguments(site, *given) if {keyword.arg for keyword in call.keywords} <= named else None


def _log_sum(site: Site, call: ast.Call) -> str | None:
    """`logsumexp(x, dim)` for `sum(exp(x), dim)`."""
    exponential, rest = _operand(site, call), call.args if _is_method(site, call) else call.args[1:]
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    dims = [*rest[:1], *(value for name, value in named.items() if name == "dim")]
    flags = [*rest[1:], *(value for name, value in named.items() if name == "keepdim")]
    if (
        not isinstance(exponential, ast.Call)
        or not named.keys() <= {"dim", "keepdim"}
        or len(dims) != 1
        or len(flags) > 1
    ):
        return None
    if not _names_dimensions(site, dims[0]):
        return None
    given = _inside(site, exponential, 0, set())
    return ", ".join((given, arguments(site, *rest, *call.keywords))) if given is not None else None


def _names_dimensions(site: Site, dim: ast.expr) -> bool:
    """Whether it is a number, or some that are written out: `sum` takes None and `()` for all dimensions, `logsumexp` neither."""
    if isinstance(dim, ast.Tuple | ast.List):
        return bool(dim.elts)
    default = site.function.defaults.get(dim.id) if isinstance(dim, ast.Name) else None
    value = site.value(dim)
    return value.kind == "number" and "none" not in value.other_kinds and not is_constant(default, None)
