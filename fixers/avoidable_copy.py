from __future__ import annotations

import ast

from torchlint.facts import copies, names
from torchlint.facts.arguments import is_device
from torchlint.rule import Edit, Finding, Fix, Site
from torchlint.rule.rewrite import PERHAPS, Place, arguments, older_torch, operand, place_of, spelled

_FLOATING = frozenset(
    f"torch.{name}" for name in ("float16", "half", "bfloat16", "float32", "float", "float64", "double")
)
_CAST_ELSEWHERE = "a number that an integer dtype can't hold may become another one, as the cast may happen elsewhere"
_OTHER_CLASS = "what an operator of another class gives may be something that this class keeps"
_OTHER_GRAPH = "what looks at the graph finds another operation in it"
_OTHER_LAYOUT = "a tensor in the layout of MKL-DNN can't be copied so"
_OTHER_STRIDES = "the layout in memory of what is joined or rolled may be another one"
_EXPANDED = "where what is copied was expanded, the sum may have another layout in memory"
_ONE_PLACE = "an index of no dimensions is one place, and `x[place]` is a view"
_VIEW = "autograd may take what `matmul` gives for a view, and refuse to write to it in place"
_KEPT = "where autograd is on after all, it keeps the result as it is for the backward pass"
_COPIES = (1, 0)
"""The torch whose `.to()` takes `copy=`."""
_GRAPHS = rb"\b(?:grad_fn|next_functions|make_dot)\b"
"""How a program looks at the graph of a tensor."""
_FX = (
    rb"\b(?:symbolic_trace|make_fx|GraphModule|capture_pre_autograd_graph)\b",
    rb"\bfx\.(?:Interpreter|Transformer|Tracer)\b",
    rb"\b(?:torch|_?dynamo|export)\.export\b",
    rb"\bfrom torch\.(?:fx|export)\b",
    rb"\bjit\.(?:trace|script)\b",
)
"""How a program has a graph made of a model."""
_NODES = rb"\.nodes\b|\b(?:find_nodes|print_tabular)\(|\b(?:gm|graph_module|traced|scripted|module)\.code\b|\bdef call_(?:method|function)\b"
"""How a program looks at the operations that a trace has found."""
_READ_LATER = "the host may write to the tensor while the copy reads it"


def fix(site: Site, finding: Finding) -> Fix | None:
    func = site.call.func
    assert isinstance(func, ast.Attribute)
    if isinstance(finding.told, copies.Needless):
        code = operand(site, finding.told.made, place_of(site, site.call), site.call)
        note = _left_out(site, finding.told)
        return Fix("Leave the copy out", (site.tree.replace(site.node, code),), "unsafe" if note else "safe", note)
    if isinstance(finding.told, copies.Doubled):
        return _copied_once(site, finding.told)
    if site.name in (".type()", ".repeat()", ".clone()") or not isinstance(func.value, ast.Call):
        return None
    if site.name == ".contiguous()" and names.last(func.value.func) != "contiguous":
        return None
    before = func.value
    if site.name == ".contiguous()":
        edit = site.tree.replace(site.node, operand(site, before, place_of(site, site.call), site.call))
        note = "" if site.surely_tensor(site.part("x")) else PERHAPS
        return Fix("Ask once", (edit,), "unsafe" if note else "safe", note)
    assert isinstance(before, ast.Call) and isinstance(before.func, ast.Attribute)
    first, second = _given(before), _given(site.call)
    device, dtype = (first, second) if _is_device(site, before) else (second, first)
    where, kind = operand(site, device, Place.VALUE), operand(site, dtype, Place.VALUE)
    code = f"{operand(site, before.func, Place.RECEIVER, site.call)}(device={where}, dtype={kind})"
    note = "" if site.resolve(dtype) in _FLOATING else _CAST_ELSEWHERE
    named = device not in (*before.args, *site.call.args)
    certain = site.surely_tensor(site.part("x")) and (named or site.surely_device(device))
    note = note or (_seen(site) if certain else PERHAPS)
    return Fix(
        "Move and cast in one call", (site.tree.replace(site.caught(), code),), "unsafe" if note else "safe", note
    )


def _left_out(site: Site, told: copies.Needless) -> str:
    """What a program may do otherwise without a clone of what it has just made, or only adds; "" where that is nothing."""
    if not all(site.surely_tensor(one) for one in (told.made, told.beside) if one is not None):
        return _OTHER_CLASS
    if told.again in copies.RELAID:
        return _OTHER_STRIDES
    if told.beside is not None and copies.may_be_expanded(site, told.made):
        return _EXPANDED
    stays = told.beside is None and not told.again
    if stays and copies.may_be_view(told.made, site.resolve, site.value):
        return _VIEW
    picks = stays and isinstance(told.made, ast.Subscript)
    if picks and not copies.is_gathered(site, told.made, surely=True):
        return _ONE_PLACE
    alone = not stays or picks or copies.fresh(told.made, site.resolve, site.value, grad_off=site.grad_surely_off)
    return _seen(site) if alone else _KEPT


def _copied_once(site: Site, found: copies.Doubled) -> Fix | None:
    """`x.clone().float()` as `x.to(torch.float32, copy=True)`."""
    assert isinstance(found.cast.func, ast.Attribute)
    method = found.cast.func.attr
    imports: tuple[Edit, ...] = ()
    if method in copies.DTYPES:
        spelling = spelled(site, f"torch.{copies.DTYPES[method]}")
        if spelling is None:
            return None
        given, imports = spelling
    elif method == "to":
        given = arguments(site, *found.cast.args, *found.cast.keywords)
    else:
        given = f'"{method}"'
    code = f"{operand(site, found.tensor, Place.RECEIVER, found.whole)}.to({given}, copy=True)"
    note = older_torch(site, _COPIES) or _copied_otherwise(site, found)
    edits = (site.tree.replace(site.cst(found.whole), code), *imports)
    return Fix("Copy once", edits, "unsafe" if note else "safe", note)


def _copied_otherwise(site: Site, found: copies.Doubled) -> str:
    """What one copy may do otherwise than two; "" where that is nothing."""
    if _may_not_wait(site, found.cast):
        return _READ_LATER
    if not site.surely_tensor(found.tensor):
        return PERHAPS
    return _OTHER_LAYOUT if site.project.any_holds(rb"\bto_mkldnn\b", word=b"to_mkldnn") else _seen(site)


def _seen(site: Site) -> str:
    """Why the program may see that autograd, or a trace of torch.fx, records other operations; "" where it does not look."""
    switched_on = site.analysis.context.switched_on
    looks = not site.grad_surely_off and switched_on(_GRAPHS)
    return _OTHER_GRAPH if looks or (any(map(switched_on, _FX)) and switched_on(_NODES)) else ""


def _may_not_wait(site: Site, move: ast.Call) -> bool:
    """Whether a move may go on while the program does: `non_blocking=True`, or a second argument that may be it."""
    named = any(k.arg == "non_blocking" and site.value(k.value).const is not False for k in move.keywords)
    return named or (len(move.args) > 1 and site.value(move.args[1]).kind != "dtype")


def _given(call: ast.Call) -> ast.expr:
    return call.args[0] if call.args else call.keywords[0].value


def _is_device(site: Site, call: ast.Call) -> bool:
    if call.keywords:
        return call.keywords[0].arg == "device"
    return is_device(site.value(call.args[0]))
