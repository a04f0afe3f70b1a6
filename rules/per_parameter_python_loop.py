from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import names, updates
from torchlint.facts.module import Class, Function
from torchlint.facts.nodes import addends, conjuncts, elements, given_to, keyword_of, names_in, steps, string
from torchlint.facts.syntax import same
from torchlint.rule import Finding, Site, chain, rule
from torchlint.rule.lazy import regex

_ITERATORS = frozenset(("parameters", "named_parameters", "buffers"))
_OF_PARAMETERS = frozenset(("parameters", "named_parameters"))
_NAMED = frozenset(("named_buffers",))
_FEW = 3
"""How many statements a loop has that does little else than a small operation."""
_KEEPING = frozenset(("clone", "detach", "double", "float", "half", "pow", "square", "to", "type_as"))
"""Methods that give a tensor of the size of the parameter, where it is."""
_REDUCING = frozenset(("norm", "sum", "vector_norm"))
_REDUCES = frozenset(("torch.linalg.norm", "torch.linalg.vector_norm", "torch.norm", "torch.sum"))
"""What gives a single value of a tensor."""
_OF_KIND = frozenset(("torch", "isinstance"))
"""What a condition asks with, which kind a parameter is of: `torch.is_floating_point(p)`."""
_PARAMETERS = regex(r"(?:^|_)param(?:eter)?s$")


@rule(
    "TL708", shape="for $_ in $parameters: ...", scope="hot", severity="info", category="kernel", principle=("fusion",)
)
def per_parameter_python_loop(site: Site) -> Iterator[Finding]:
    """A loop over the parameters does a small operation on each, on every training step.

    ## What it does

    Finds `for` loops over `parameters()`, over two of them zipped, or over a dictionary of them, on each training step, whose body
    writes to the parameter or its gradient in place, takes its norm, also as a term of a penalty (`l2 = l2 + p.norm(2)`,
    `l2 += p.square().sum()`), or makes its average anew under its name, `shadow[name] = decay * shadow[name] + (1 - decay) * p.data`:
    moving averages, target networks, clipping, the perturbation of SAM. The body may leave that to a function of the project that
    does little else.
    SGD written by hand is optimizer-slow-impl (TL706).

    ## Why is this slow?

    Each turn launches its own kernels, a few for each parameter, hundreds a step, and none of them fills the device.
    `torch._foreach_lerp_`, `torch._foreach_mul_` and their like, `torch.nn.utils.clip_grad_norm_`,
    `torch.optim.swa_utils.AveragedModel` and the optimizers do all parameters in a few kernels.

    ## When it does not matter

    For models of a handful of parameters; in what happens every few hundred steps and in tests, which is not reported.

    ## Bad

    ```python
    for x, y in loader:
        criterion(model(x), y).backward()
        optimizer.step()
        with torch.no_grad():
            for p, q in zip(model.parameters(), average.parameters()):  # TL708
                q.lerp_(p, 0.01)
    ```

    ## Good

    ```python
    for x, y in loader:
        criterion(model(x), y).backward()
        optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_(list(average.parameters()), list(model.parameters()), 0.01)  # ok
    ```

    ## References

    - https://docs.pytorch.org/docs/stable/optim.html#weight-averaging-swa-and-ema
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html
    """
    assert isinstance(site.target, ast.For)
    loop = site.target
    if site.hot is None or not site.accelerator or site.role == "test" or not _over_parameters(site, loop.iter):
        return
    if _has_one(site, loop.iter):
        return
    names = names_in(loop.target)
    if isinstance(loop.iter, ast.Name):
        names.add(loop.iter.id)
    told = _is_told_as_optimizer(loop)
    body = [one for one in loop.body if not (isinstance(one, ast.Assert) or _skips(site, one, names))]
    if len(body) <= _FEW and (
        any(_is_small(site, statement, names, told=told) for statement in body)
        or _remakes(site, loop.body, names)
        or _calls_little(site, body, names)
    ):
        yield site.finding(
            f"`for ... in {site.short(loop.iter)}` launches kernels for each parameter by itself on every step",
            related=site.why_hot(),
        )


def _is_told_as_optimizer(loop: ast.For) -> bool:
    """Whether an update by the gradient in the loop is one that TL706 reports: it goes through `model.parameters()` itself."""
    func = loop.iter.func if isinstance(loop.iter, ast.Call) else None
    return isinstance(func, ast.Attribute) and func.attr in _OF_PARAMETERS


def _skips(site: Site, statement: ast.stmt, names: set[str]) -> bool:
    """`if p.grad is None: continue`"""
    if not isinstance(statement, ast.If) or statement.orelse or not isinstance(statement.body[0], ast.Continue):
        return False
    return _is_for_all(site, statement, names)


def _has_one(site: Site, node: ast.expr) -> bool:
    """`center_loss.parameters()` of a class of the project that makes one parameter, and no module with others."""
    if (
        not isinstance(node, ast.Call)
        or not isinstance(node.func, ast.Attribute)
        or node.func.attr not in _OF_PARAMETERS
    ):
        return False
    value = site.value(node.func.value)
    klass = value.class_ if value.kind == "module" else None
    if klass is None or any(site.project.base_name(klass, base) != "torch.nn.Module" for base in klass.bases):
        return False
    held = {name: site.project.attribute(klass, name) for name in klass.stores}
    parameters = [one for one in held.values() if one.is_tensor and one.parameter]
    others = [name for name, one in held.items() if one.kind not in ("tensor", "number", "str", "bool")]
    return len(parameters) == 1 and all(_is_option(klass, name) for name in others)


def _is_option(klass: Class, name: str) -> bool:
    """`self.classes = classes`, of a parameter with a number, a word or a flag as its default."""
    for method, target in klass.stores[name]:
        statement = method.flow.parents.get(target)
        given = statement.value if isinstance(statement, ast.Assign) else None
        default = method.defaults.get(given.id) if isinstance(given, ast.Name) else None
        if not isinstance(default, ast.Constant) or default.value is None:
            return False
    return True


def _over_parameters(site: Site, node: ast.expr) -> bool:
    """`model.parameters()`, `zip(a.parameters(), b.parameters())`, `enumerate(...)` of it, `dict(model.named_parameters())`,

    the entries of `model.state_dict()`, and what callers give as one of these.
    """
    if isinstance(node, ast.Name):
        made = [site.flow.parents[store] for store in site.flow.stores.get(node.id, ())]
        dictionaries = all(isinstance(m, ast.Assign) and _is_dictionary(site, m.value) for m in made)
        return (bool(made) and dictionaries) or _holds_parameters(site, node) or _is_picked(site, node.id, made)
    if isinstance(node, ast.Attribute):
        return _holds_parameters(site, node) or _is_own_dictionary(site, node)
    if isinstance(node, ast.Subscript):
        return _of_group(site, node)
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute):
        if node.func.attr in ("items", "values", "keys"):
            holder = node.func.value
            return _is_state(holder) if isinstance(holder, ast.Call) else _over_parameters(site, holder)
        return node.func.attr in _ITERATORS
    called = site.resolve(node.func)
    if called == "zip" and len(node.args) > 1 and all(_is_named(site, argument) for argument in node.args):
        return True
    if called in ("zip", "enumerate", "list", "filter"):
        return any(_over_parameters(site, argument) for argument in node.args)
    return False


def _is_picked(site: Site, name: str, made: list[ast.AST]) -> bool:
    """A name for parameters, and for those of them that were picked: `parameters = list(filter(has_grad, parameters))`."""
    values = [statement.value for statement in made if isinstance(statement, ast.Assign)]
    whole = [value for value in values if isinstance(value, ast.Call) and _calls_for(value)]
    picked = [value for value in values if _root(_source(site, value)) == name]
    if not picked or len(whole) + len(picked) != len(made):
        return False
    if name not in site.flow.parameters:
        return bool(whole)
    given = site.project.parameter(site.function, name).element
    return given is not None and given.parameter


def _calls_for(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "parameters" and not call.args


def _source(site: Site, node: ast.expr) -> ast.expr:
    """What a list is picked from: x of `[x]`, `list(filter(test, x))`, `[p for p in x if test(p)]`."""
    while True:
        if isinstance(node, ast.List) and len(node.elts) == 1:
            node = node.elts[0]
        elif isinstance(node, ast.ListComp) and _is_same(node.elt, node.generators[0].target):
            node = node.generators[0].iter
        elif isinstance(node, ast.Call) and node.args and site.resolve(node.func) in ("list", "tuple", "filter"):
            node = node.args[-1]
        else:
            return node


def _is_same(one: ast.expr, other: ast.expr) -> bool:
    return isinstance(one, ast.Name) and isinstance(other, ast.Name) and one.id == other.id


def _is_named(site: Site, node: ast.expr) -> bool:
    """`zip(target_params, source_params)`: lists that are called so."""
    named = names.last(node)
    return _PARAMETERS.search(named) is not None and site.value(node).kind in ("list", "unknown")


def _holds_parameters(site: Site, node: ast.expr) -> bool:
    """Whether a name or an attribute holds parameters alone: `self.params = list(model.parameters())`."""
    held = site.value(node).element
    named = held.items[-1:] if held is not None and held.kind == "tuple" and held.items else ()
    return held is not None and (held.parameter or any(one.parameter for one in named))


def _is_own_dictionary(site: Site, node: ast.Attribute) -> bool:
    """Whether everything that the class keeps as an attribute of its objects is a dictionary of parameters."""
    klass = site.function.cls
    own = isinstance(node.value, ast.Name) and node.value.id == site.function.own_name
    stores = klass.stores.get(node.attr, ()) if klass is not None and own else ()
    made = [method.flow.parents.get(target) for method, target in stores]
    return bool(made) and all(isinstance(one, ast.Assign) and _is_dictionary(site, one.value) for one in made)


def _of_group(site: Site, node: ast.Subscript) -> bool:
    """`group["params"]` in a loop over `optimizer.param_groups`."""
    if not (isinstance(node.slice, ast.Constant) and node.slice.value == "params" and isinstance(node.value, ast.Name)):
        return False
    return any(
        isinstance(loop, ast.For)
        and isinstance(loop.target, ast.Name)
        and loop.target.id == node.value.id
        and isinstance(loop.iter, ast.Attribute)
        and loop.iter.attr == "param_groups"
        for loop in site.flow.loops(node)
    )


def _is_state(call: ast.Call) -> bool:
    """`model.state_dict()`"""
    return isinstance(call.func, ast.Attribute) and call.func.attr == "state_dict"


def _is_dictionary(site: Site, node: ast.expr) -> bool:
    """`dict(model.named_parameters())`, `model.state_dict()`, `{k: v.clone() for k, v in model.state_dict().items()}`"""
    if isinstance(node, ast.DictComp):
        first = node.generators[0]
        keys = first.target.elts[:1] if isinstance(first.target, ast.Tuple) else []
        return not first.ifs and any(_is_same(key, node.key) for key in keys) and _are_entries(first.iter)
    if isinstance(node, ast.Call) and _is_state(node):
        return True
    if not isinstance(node, ast.Call) or site.resolve(node.func) != "dict" or len(node.args) != 1:
        return False
    given = node.args[0]
    return (
        isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr in _ITERATORS | _NAMED
    )


def _calls_little(site: Site, body: list[ast.stmt], names: set[str]) -> bool:
    """Whether statements give a parameter to a function that does little else than a small operation on it.

    `average(name, p.data)`, `q.data = self.mixed(q.data, p.data)`.
    """
    names = names | {name for statement in body for name in _other_names(statement, names)}
    for statement in body:
        if isinstance(statement, ast.If):
            if _is_for_all(site, statement, names) and _calls_little(site, statement.body, names):
                return True
            continue
        call = statement.value if isinstance(statement, ast.Expr | ast.Assign) else None
        if not isinstance(call, ast.Call) or not any(_is_of_parameter(site, one, names) for one in given_to(call)):
            continue
        targets = site.project.targets(site.function, call)
        stored = isinstance(statement, ast.Assign) and _is_data(statement.targets[0], names)
        if len(targets) == 1 and _is_little(site, call, targets[0], names, stored=stored):
            return True
    return False


def _other_names(statement: ast.stmt, names: set[str]) -> Iterator[str]:
    """`old` and `new` of `old, new = q.data, p.data`."""
    if isinstance(statement, ast.Assign):
        for target, value in zip(elements(statement.targets[0]), elements(statement.value), strict=False):
            if isinstance(target, ast.Name) and isinstance(_start(value, names), ast.Name):
                yield target.id


def _is_little(site: Site, call: ast.Call, called: Function, names: set[str], *, stored: bool) -> bool:
    """Whether a function of a few statements writes to a parameter, or its entry, or gives the sum that is stored in it."""
    body = called.node.body
    if isinstance(body, ast.expr) or len(body) > _FEW + 1:
        return False
    handed = {name: given for name in called.positions if (given := called.argument(call, name)) is not None}
    keys = {name for name, given in handed.items() if isinstance(given, ast.Name) and given.id in names}
    own = {name for name, given in handed.items() if _is_of_parameter(site, given, names)}
    sums = [one.value for one in body if isinstance(one, ast.Return) and isinstance(one.value, ast.BinOp)]
    return (
        (stored and any(not own.isdisjoint(names_in(one)) for one in sums))
        or any(_start(part, own) is not None for parts in updates.remade(body, keys) for part in parts)
        or any(_is_small(site.at(called, one), one, own) for one in body)
    )


def _is_data(node: ast.expr, names: set[str]) -> bool:
    """`average.data`, `p.grad`"""
    return isinstance(node, ast.Attribute) and node.attr in ("data", "grad") and _root(node) in names


def _remakes(site: Site, body: list[ast.stmt], names: set[str]) -> bool:
    """Whether statements make the entry of each parameter anew of what it was and of the parameter."""
    blocks = [body]
    while blocks:
        block = blocks.pop()
        if any(_is_of_parameter(site, part, names) for parts in updates.remade(block, names) for part in parts):
            return True
        for inner in block:
            if isinstance(inner, ast.With) or (isinstance(inner, ast.If) and _is_for_all(site, inner, names)):
                blocks.append(inner.body)
    return False


def _is_of_parameter(site: Site, node: ast.expr, names: set[str]) -> bool:
    """`p`, `p.data`, `p.detach().float()`, `state[key]`: neither a number nor a copy on the host."""
    start = _start(node, names)
    return start is not None and site.value(start if isinstance(start, ast.Subscript) else node).is_tensor


def _start(node: ast.expr, names: set[str]) -> ast.expr | None:
    """The name, or the entry of one of the names, whose tensor an expression gives as large as it is; None where it gives another."""
    for part in steps(node):
        if isinstance(part, ast.Call):
            if not isinstance(part.func, ast.Attribute) or part.func.attr not in _KEEPING:
                return None
        elif isinstance(part, ast.Name | ast.Subscript):
            return part if _root(part) in names else None
    return None


def _is_for_all(site: Site, statement: ast.If, names: set[str]) -> bool:
    """Whether a condition is about the parameter alone, such as `p.grad is not None`, or the same for all of them."""
    test = statement.test
    if any(isinstance(part, ast.Attribute) and part.attr == "is_sparse" for part in ast.walk(test)) or _is_of_one(test):
        return False  # a way for few of them
    asked = [part for part in conjuncts(test) if not _has_entry(part, statement.body, names)]
    read = (node for part in asked for node in ast.walk(part) if isinstance(node, ast.Name))
    asks = {node.id for node in read if site.resolve(node) not in _OF_KIND}
    # `if scale < 1:` asks the same for all of them.
    once = asks.isdisjoint(names) and isinstance(test, ast.Compare) and _is_order(test)
    return asks <= names or once


def _is_of_one(test: ast.expr) -> bool:
    """`name == "head.weight"`"""
    return any(
        isinstance(part, ast.Compare) and isinstance(part.ops[0], ast.Eq) and string(part.comparators[0]) is not None
        for part in conjuncts(test)
    )


def _has_entry(test: ast.expr, body: list[ast.stmt], names: set[str]) -> bool:
    """`name in self.shadow`, where the body changes `self.shadow[name]`: whoever keeps a copy of a parameter has an entry."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.In) or _root(test.left) not in names:
        return False
    return any(
        isinstance(part, ast.Subscript) and same(part.slice, test.left) and same(part.value, test.comparators[0])
        for statement in body
        for part in updates.written(statement)
    )


def _are_entries(node: ast.expr) -> bool:
    """`model.state_dict().items()`, `model.named_parameters()`"""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    holder = node.func.value
    return node.func.attr == "named_parameters" or (
        node.func.attr == "items" and isinstance(holder, ast.Call) and _is_state(holder)
    )


def _is_small(site: Site, statement: ast.stmt, names: set[str], *, told: bool = True) -> bool:
    """An operation in place on the parameter, its data or gradient, or its norm; behind `if p.grad is not None` too.

    `told` says whether TL706 reports an optimizer written by hand.
    """
    if told and updates.from_gradient(statement) is not None:
        return False
    if isinstance(statement, ast.With):
        return any(_is_small(site, inner, names, told=told) for inner in statement.body)
    if isinstance(statement, ast.If):
        # `name = names[key]`: what is looked up by the name is a parameter too.
        found = names | {_root(s.targets[0]) for s in statement.body if isinstance(s, ast.Assign)}
        return _is_for_all(site, statement, names) and any(
            _is_small(site, inner, found, told=told) for inner in statement.body
        )
    if any(_is_reduced(site, part, names) for part in _added(statement)):
        return True
    if isinstance(statement, ast.AugAssign):
        return _root(statement.target) in names and not _counts(site, statement)
    value = statement.value if isinstance(statement, ast.Expr | ast.Assign) else None
    if isinstance(statement, ast.Assign) and isinstance(value, ast.BinOp):
        return _is_data(statement.targets[0], names)  # `average.data = decay * average.data + ...`
    if isinstance(value, ast.Call) and isinstance(statement, ast.Expr):
        out = keyword_of(value, "out")
        if out is not None:
            return _root(out) in names
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    method = value.func.attr
    in_place = isinstance(statement, ast.Expr) and method.endswith("_") and not method.endswith("__")
    norm = isinstance(statement, ast.Assign) and method == "norm"
    holder = value.func.value
    while in_place and isinstance(holder, ast.Call) and isinstance(holder.func, ast.Attribute):
        if not holder.func.attr.endswith("_") and holder.func.attr != "detach":
            break
        holder = holder.func.value  # `average.detach().mul_(decay).add_(...)`
    return ((in_place and method != "requires_grad_") or norm) and _root(holder) in names


def _added(statement: ast.stmt) -> Iterator[ast.expr]:
    """The terms that a statement adds to a sum: `total += term`, `total = total + term`."""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
        yield from addends(statement.value)
    elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp):
        terms, target = list(addends(statement.value)), chain(statement.targets[0])
        rest = [term for term in terms if chain(term) != target]
        if target is not None and len(rest) < len(terms):
            yield from rest


def _is_reduced(site: Site, term: ast.expr, names: set[str]) -> bool:
    """Whether a term is made of a single value of the parameter, or of what is calculated of it: `0.5 * (p - q).pow(2).sum()`."""
    return any(
        isinstance(part, ast.Call)
        and (given := _given_to_reduce(site, part)) is not None
        and not names.isdisjoint(names_in(given))
        and site.value(given).is_tensor
        for part in ast.walk(term)
    )


def _given_to_reduce(site: Site, call: ast.Call) -> ast.expr | None:
    """`p` of `p.norm(2)` and `torch.sum(p)`."""
    func = call.func
    if not (isinstance(func, ast.Attribute) and func.attr in _REDUCING):
        return None
    if site.resolve(func) in _REDUCES:
        return call.args[0] if call.args else None
    return func.value


def _counts(site: Site, statement: ast.AugAssign) -> bool:
    """`sizes[name] += p.numel()`"""
    adds = isinstance(statement.target, ast.Subscript) and isinstance(statement.op, ast.Add | ast.Sub)
    return adds and site.value(statement.value).kind == "number"


def _is_order(test: ast.Compare) -> bool:
    return isinstance(test.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE)


def _root(node: ast.expr) -> str:
    """The name at the start of `p.grad.data`; of `averages[key]` that of the key."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.slice if isinstance(node, ast.Subscript) else node.value
    return node.id if isinstance(node, ast.Name) else ""
