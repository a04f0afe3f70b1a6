from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from typing import TypeGuard

from torchlint.facts import layer_outputs, layer_rows, layers, names, norms, syntax, uses, wrapped_layers
from torchlint.facts.makers import Makers, is_chosen
from torchlint.facts.module import Class, Function, Module
from torchlint.facts.nodes import argument_of, is_constant, spreads
from torchlint.facts.sequences import Sequences
from torchlint.facts.values import Value
from torchlint.rule import Finding, Site, rule

_SEQUENTIAL = "torch.nn.Sequential"
_LIST = "torch.nn.ModuleList"
_BIAS = layers.BIAS["torch.nn.Conv2d"]
"""Where convolutions have it among the positional arguments; a linear layer has it elsewhere."""
_DEPTH = 4
"""Through how many calls a word is followed."""
_MOST = 40
"""So many calls are asked what they give, or what they make of a layer."""
_HELPERS = 2
"""Through how many functions a layer is returned."""
_REWEIGHTED = frozenset(("spectral_norm", "SpectralNorm", "weight_norm", "WeightNorm"))
"""What is given a layer and gives one that calculates its weight anew, with the bias as it was."""


@rule(
    "TL704",
    shape=[*(f"{name}(...)" for name in layers.BIAS), f"{_SEQUENTIAL}(...)"],
    severity="info",
    fix="unsafe",
    numbers="init",
    impact="low",
    category="kernel",
    principle=("locality",),
)
def conv_bias_before_batchnorm(site: Site) -> Iterator[Finding]:
    """A convolution has a bias that the batch norm behind it takes away again.

    ## What it does

    Finds convolutions and linear layers with a bias that are followed directly by a `BatchNorm`, `SyncBatchNorm` or
    `InstanceNorm`: next to each other in an `nn.Sequential` or a class of such, in a list that is spread into one, also
    by whom a function gives it to, in an `nn.ModuleList` that is run in order (`for layer in self.layers: x = layer(x)`), in a list of such lists (`self.convs[i][j]`), with a name in between that nothing else reads (`conv = nn.Conv2d(...)`, `layers += [conv, norm]`), added one after the other (`append`, `+=`, `add_module`), or as
    `self.norm(self.conv(x))` in the methods of a class, of two lists as well (`for conv, norm in zip(self.convs, self.norms): x = norm(conv(x))`), also in a later statement, where nothing else reads what the layer gives. A subclass that begins with its norm counts as well, a layer inside `spectral_norm(...)`, and a norm that
    a word chooses which all callers give: `if norm == "batch": layers.append(nn.BatchNorm2d(n))`.
    A class of the project whose `forward` gives what its convolution gives, and whose `bias=True` no one turns off, counts as that.
    A layer that a function returns (`def conv3x3(i, o): return nn.Conv2d(i, o, 3)`) counts where all calls of that are followed so.
    So does a norm that is handed on, `norm_layer(n)`, where all calls in the project, the default where one of them gives nothing,
    and every path of a function that chooses it (`get_norm_layer(norm)`) give a norm of these, or `functools.partial` of one.
    What is looked up in a dictionary, `CONV[dims](3, 64, 3)` and `NORM[dims](64)`, counts where all that it holds are convolutions, and norms of these.
    Of `**options` that a function hands on, all calls in the project tell whether they hold a `bias`.
    A linear layer counts with `--preview` alone, and where the norm is over as many features as the layer gives: its bias is added in the kernel of the product.

    ## Why is this slow?

    The norm subtracts the mean of each channel, and with it the bias.
    What stays is a kernel or an epilogue that adds it, a parameter, its gradient (a reduction over the whole output in
    the backward pass) and its state in the optimizer.

    ## When it does not matter

    Where the weights come from a checkpoint that has the bias, which then would have to be converted: modules near which
    published weights are loaded (`from_pretrained` and its like, in the same file, in what it imports or where it is used) are reported with `--preview` alone.
    Where somebody outside of the project gives another `norm_layer`: before a `GroupNorm` or `LayerNorm` the bias is needed.
    In inference after the norm was folded into the convolution, which needs a bias. Tests are not reported.
    Without `--preview` it tells of layers in files that a training loop of the project imports, directly or through
    others: a library of models that others train keeps the parameters that their weights have.

    ## Bad

    ```python
    block = torch.nn.Sequential(
        torch.nn.Conv2d(3, 64, 3, padding=1),  # TL704
        torch.nn.BatchNorm2d(64),
        torch.nn.ReLU(),
    )
    for x, y in loader:
        criterion(block(x), y).backward()
        optimizer.step()
    ```

    ## Good

    ```python
    block = torch.nn.Sequential(
        torch.nn.Conv2d(3, 64, 3, padding=1, bias=False),  # ok
        torch.nn.BatchNorm2d(64),
        torch.nn.ReLU(),
    )
    ```

    ## Fix safety

    Adds `bias=False`, or changes the literal that is there.
    The fix is unsafe because the `state_dict` loses a key, so that existing checkpoints load with `strict=False` only,
    because the weights that are initialised later draw other random numbers, and because the running
    means start without the bias: an evaluation after few steps gives something else. `parameters()` has one entry less: what counts
    on an order, as a list of weights for a functional forward pass or the state of an optimizer, has to follow.
    Nothing is offered where what the layer gives may be had without the norm: the class takes layers out of the `Sequential`
    (`self.net[0](x)`, `for layer in self.net:`), or the project registers forward hooks. Nor is it where the project reads the `bias` of what may be such a layer without asking whether there is one: in
    its own initialisation, in a function that is given to `apply`, as a key of a `state_dict`. Nor where it takes weights
    by their places, `F.conv2d(x, weights[0], weights[1])`, `weight, bias = conv.parameters()`, or puts norms alone into evaluation, `if isinstance(m, nn.BatchNorm2d): m.eval()`:
    these subtract what they have kept, and not the bias.

    ## References

    - https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#disable-bias-for-convolutions-directly-followed-by-a-batch-norm
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.BatchNorm2d.html
    """
    # What holds of a whole file comes first: the value of each layer takes longer to tell.
    if not _is_trained_here(site):
        return
    if site.name == f"{_SEQUENTIAL}()":
        yield from _wrapped(site)
        return
    if not _has_bias(site) or (_is_linear(site) and not site.settings.preview):
        return
    if _norm_behind(site) is not None:
        yield _told(site, site.call, "the norm behind it", site.module)
    elif _is_before_norm_where_called(site, _HELPERS):
        yield _told(site, site.call, f"the norm behind each call of `{site.function.name}`", site.module)


def _is_linear(site: Site) -> bool:
    """Whether the layer is a linear one, whose bias is part of one kernel with the product, and small beside it."""
    return site.name == "torch.nn.Linear()"


def _is_trained_here(site: Site) -> bool:
    """Whether the weights of the file's models are those that this project trains."""
    if site.role == "test" or _is_left_out(site, site.module):
        return False
    return site.settings.preview or site.analysis.steps.trains(site.module.path)


def _is_left_out(site: Site, module: Module) -> bool:
    """Whether a file's models may get published weights, which then had to be converted: told with `--preview` alone."""
    return not site.settings.preview and site.analysis.context.loads_published(module)


def _told(site: Site, made: ast.expr, norm: str, module: Module) -> Finding:
    published = site.analysis.context.loads_published(module)
    unless = ", unless published weights have it" if published else ""
    return site.finding(f"`{site.short(made)}` adds a bias that {norm} subtracts again{unless}", at=made)


def _wrapped(site: Site) -> Iterator[Finding]:
    """`nn.Sequential(ConvNorm(80, 512), nn.BatchNorm1d(512))` of a class of the project that is a convolution, or of what is chosen among those of torch."""
    given = site.call.args
    parts = given if site.function is site.module.body else [uses.meant(site.function, one) for one in given]
    for made, behind in itertools.pairwise(parts):
        if not (isinstance(made, ast.Call) and isinstance(behind, ast.Call)):
            continue
        if (site.resolve(made.func) or "").startswith("torch."):
            continue
        if is_chosen(site.function, made.func):
            if _may_have_bias(made) and _is_norm(site, site.function, behind) and _is_convolution(site, made.func):
                yield _told(site, made, "the norm behind it", site.module)
            continue
        klass = site.value(made).class_
        if klass is None or not _is_norm(site, site.function, behind):
            continue
        if not _is_left_out(site, klass.module) and wrapped_layers.adds_bias(site.project, klass, made):
            yield _told(site, made, "the norm behind it", klass.module)


def _may_have_bias(made: ast.Call) -> bool:
    given = argument_of(made, "bias", _BIAS)
    return not spreads(made) and (given is None or is_constant(given, True))


def _is_convolution(site: Site, maker: ast.expr) -> bool:
    """Whether what makes a layer is one of torch's convolutions in any case: `CONV[dims]` of `CONV = {2: nn.Conv2d, 3: nn.Conv3d}`."""
    return Makers(site.project, _is_class_of_convolutions).holds(site.function, maker)


def _is_class_of_convolutions(value: Value) -> bool:
    if value.kind != "name" or not value.proven or value.other_kinds:
        return False
    return all(layers.BIAS.get(one.class_name) == _BIAS for one in value.choices or (value,))


def _has_bias(site: Site) -> bool:
    if any(isinstance(given, ast.Starred) for given in site.call.args):
        return False
    if any(keyword.arg is None and not _leaves_bias_out(site, keyword.value) for keyword in site.call.keywords):
        return False
    given = site.argument("bias", layers.BIAS[site.name.removesuffix("()")])
    return given is None or is_constant(given, True)


def _leaves_bias_out(site: Site, options: ast.expr) -> bool:
    """Whether `**options` are known, and hold no `bias`: a dictionary, or what no call of the function gives by that name."""
    keys = site.value(options).entries
    if keys:
        return "bias" not in keys
    function = site.function
    if not isinstance(options, ast.Name) or options.id != function.keywords or function.flow.stores.get(options.id):
        return False
    around = [function.flow.parents.get(read) for read in function.flow.loads.get(options.id, ())]
    if not all(isinstance(one, ast.keyword) and one.arg is None for one in around):
        return False  # it may get a `bias` in the function
    runs = site.project.all_runs_of(function, _MOST)
    calls = [one.given or one.call for one in runs or ()]
    return bool(calls) and not any(spreads(call) or _gives(call, "bias") for call in calls)


def _gives(call: ast.Call, name: str) -> bool:
    return any(keyword.arg == name for keyword in call.keywords)


def _norm_behind(site: Site) -> ast.expr | None:
    """The call that builds or applies the norm behind the layer that the site builds; None where there is none."""
    behind = Sequences(site.project, lambda statement: _chosen(site, statement)).behind(site.function, _placed(site))
    return behind if behind is not None and _is_norm(site, site.function, behind) else _applied(site)


def _is_before_norm_where_called(site: Site, depth: int) -> bool:
    """Whether a function returns the layer, and all of its calls are followed by a norm: `def conv3x3(i, o): return nn.Conv2d(i, o, 3)`."""
    helper = site.function
    if helper.cls is not None or not isinstance(site.flow.parents.get(_placed(site)), ast.Return) or not depth:
        return False
    # The features of a linear one stand in the call under another name.
    calls = site.project.all_runs_of(helper, _MOST) if not _is_linear(site) else None
    return bool(calls) and all(
        one.given is None and _is_followed(site.at(one.function, one.call), depth) for one in calls or ()
    )


def _is_followed(site: Site, depth: int) -> bool:
    if _is_left_out(site, site.module):
        return False
    return _norm_behind(site) is not None or _is_before_norm_where_called(site, depth - 1)


def _placed(site: Site) -> ast.expr:
    """Where the layer stands, or `spectral_norm(layer)` around it, or the name of either that nothing else reads."""
    layer = uses.only_read_inside(site.function, site.call) or site.call
    around = site.flow.parents.get(layer)
    wraps = isinstance(around, ast.Call) and around.args == [layer] and names.last(around.func) in _REWEIGHTED
    return uses.only_read_inside(site.function, around) or around if wraps and isinstance(around, ast.expr) else layer


def _chosen(site: Site, statement: ast.stmt | None) -> ast.stmt | None:
    """The statement that runs next: of `if norm == "batch": ...`, where all callers give one word, the first of that branch."""
    while isinstance(statement, ast.If):
        test, true, block, other = site.flow.choice(statement)
        if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq)):
            return None
        value, word = site.value(test.left), test.comparators[0]
        if not (isinstance(word, ast.Constant) and isinstance(word.value, str)):
            return None
        if value.kind != "str" or not value.proven or value.other_kinds or value.const is None:
            return None
        if not (isinstance(test.left, ast.Name) and _is_always_given(site, site.function, test.left.id, _DEPTH)):
            return None
        branch = block if (value.const == word.value) is true else other
        statement = branch[0] if branch else None
    return statement


def _is_always_given(site: Site, function: Function, name: str, depth: int) -> bool:
    """Whether all calls of the program give a parameter, a word or what was given to themselves: no default says another word."""
    calls = (site.project.runs_of(function, _MOST) or []) if depth and name in function.positions else []
    given = [(one.function, function.argument(one.given or one.call, name)) for one in calls]
    return bool(given) and all(
        isinstance(node, ast.Constant)
        or (isinstance(node, ast.Name) and _is_always_given(site, caller, node.id, depth - 1))
        for caller, node in given
    )


def _is_norm(site: Site, function: Function, node: ast.expr) -> bool:
    """Whether an expression is a norm; behind a linear layer, one over as many features as the layer gives."""
    named = function.flow.assignment(node.id) if isinstance(node, ast.Name) else None
    made = named.value if named is not None else node
    if isinstance(made, ast.Call) and is_chosen(function, made.func):
        makers = Makers(site.project, lambda value: value.kind in ("name", "class") and norms.is_norm(site, value))
        return _fits(site, made) and makers.holds(function, made.func)
    value = site.project.value(function, node)
    return norms.is_norm(site, value) and _fits(site, value.made_by)


def _fits(site: Site, made: ast.expr | None) -> bool:
    """Whether a norm is over as many features as the layer gives, where that is a linear one."""
    features = made.args[0] if isinstance(made, ast.Call) and made.args else None
    return not _is_linear(site) or syntax.same(features, site.argument("out_features", 1))


# self.norm(self.conv(x))


def _applied(site: Site) -> ast.expr | None:
    """The call of a norm on the layer's output, where every use of the layer is followed by one."""
    klass = site.function.cls
    listed = _list_of(site)
    if listed is not None and klass is not None:
        return _applied_from_list(site, klass, listed)
    row = layer_rows.with_layer(site.function, _placed(site)) if klass is not None else None
    if row is not None and klass is not None:
        return _applied_from_rows(site, klass, row.name) if _is_list(row.made, site) else None
    name = syntax.own_attribute(site.function, syntax.target(site.flow, _placed(site)))
    if name is None or klass is None or len(site.project.attribute_stores(klass, name)) != 1:
        return None
    first: ast.expr | None = None
    for function, func in klass.uses.get(name, ()):
        if layer_outputs.is_attribute(function, func):
            continue
        norm = _norm_of(site, function, func)
        if norm is None:
            return None
        first = first or norm
    return first


def _list_of(site: Site) -> str | None:
    """The attribute that is a list with the layer: `self.convs.append(conv)`, `self.convs = nn.ModuleList([conv for _ in range(n)])`."""
    layer = _placed(site)
    around = site.flow.parents.get(layer)
    if isinstance(around, ast.ListComp | ast.GeneratorExp) and around.elt is layer:
        made = site.flow.parents.get(around)
        return syntax.own_attribute(site.function, syntax.target(site.flow, made)) if _is_list(made, site) else None
    if not isinstance(around, ast.Call) or around.args != [layer] or not isinstance(around.func, ast.Attribute):
        return None
    return syntax.own_attribute(site.function, around.func.value) if around.func.attr == "append" else None


def _is_list(made: ast.AST | None, site: Site) -> TypeGuard[ast.Call]:
    return isinstance(made, ast.Call) and site.resolve(made.func) == _LIST


def _applied_from_list(site: Site, klass: Class, name: str) -> ast.expr | None:
    """The call of a norm on the output of a layer that a list holds, where every use of what it holds is followed by one."""
    stores = site.project.attribute_stores(klass, name)
    if len(stores) != 1 or not _is_list(syntax.given_to_target(stores[0][0].flow, stores[0][1]), site):
        return None
    first: ast.expr | None = None
    for function, read in klass.uses.get(name, ()):
        taken = layer_outputs.taken(function, read)
        if taken is None:
            return None
        for layer in taken:
            norm = _norm_of(site, function, layer)
            if norm is None:
                return None
            first = first or norm
    return first


def _applied_from_rows(site: Site, klass: Class, name: str) -> ast.expr | None:
    """The same of a list of lists: `self.convs[i][j]`."""
    stores = site.project.attribute_stores(klass, name)
    if len(stores) != 1 or not _is_list(syntax.given_to_target(stores[0][0].flow, stores[0][1]), site):
        return None
    taken = [(function, layer_rows.taken(function, read)) for function, read in klass.uses.get(name, ())]
    if _is_linear(site) or any(layers is None for _, layers in taken):
        return None
    behind = [_norm_of(site, function, layer) for function, layers in taken for layer in layers or ()]
    return behind[0] if behind and None not in behind else None


def _norm_of(site: Site, function: Function, func: ast.expr) -> ast.expr | None:
    call = syntax.called(function.flow, func)
    if call is None:
        return None
    parent = function.flow.parents.get(call)
    if isinstance(parent, ast.Call) and parent.args == [call]:
        return parent.func if _applies_norm(site, function, parent.func) else None
    # x = self.conv(x), and the next statement that names it is x = self.norm(x)
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1 or not isinstance(parent.targets[0], ast.Name):
        return None
    name = parent.targets[0].id
    behind = layer_outputs.naming(function, parent, name)
    for norm in layer_outputs.calls_of(behind, name):
        if behind is not None and layer_outputs.is_last_read(function, parent, behind, name):
            return norm.func if _applies_norm(site, function, norm.func) else None
    return None


def _applies_norm(site: Site, function: Function, func: ast.expr) -> bool:
    listed = layer_outputs.held_by(function, func)
    if listed is not None and function.cls is not None and _fills_with_norms(site, function.cls, listed):
        return True
    rows = layer_rows.held_by(function, func)
    if rows is not None and function.cls is not None and _fills_rows_with_norms(site, function.cls, rows):
        return True
    name = syntax.own_attribute(function, func)
    stores = site.project.attribute_stores(function.cls, name) if name is not None and function.cls is not None else []
    made = [(method, syntax.given_to_target(method.flow, target)) for method, target in stores]
    if any(isinstance(one, ast.Call) and is_chosen(method, one.func) for method, one in made):
        return all(one is not None and _is_norm(site, method, one) for method, one in made)
    return _is_norm(site, function, func)


def _fills_with_norms(site: Site, klass: Class, name: str) -> bool:
    """Whether a list begins empty, and all that methods append to it are norms."""
    stores = site.project.attribute_stores(klass, name)
    made = syntax.given_to_target(stores[0][0].flow, stores[0][1]) if len(stores) == 1 else None
    if not _is_list(made, site) or made.args or made.keywords:
        return False
    written = (method.flow.targets.get(f"{method.own_name}.{name}", ()) for method in klass.methods.values())
    if sum(map(len, written)) != 1:
        return False  # `self.norms += [...]`
    found: list[tuple[Function, ast.expr]] = []
    for method, read in klass.uses.get(name, ()):
        use = method.flow.parents[read]
        if isinstance(use, ast.Attribute):
            call = syntax.called(method.flow, use)
            if use.attr != "append" or call is None or len(call.args) != 1:
                return False
            found.append((method, call.args[0]))
    return bool(found) and all(_is_norm(site, method, one) for method, one in found)


def _fills_rows_with_norms(site: Site, klass: Class, name: str) -> bool:
    """Whether a list begins empty, and all that methods append to the lists in it are norms."""
    stores = site.project.attribute_stores(klass, name)
    made = syntax.given_to_target(stores[0][0].flow, stores[0][1]) if len(stores) == 1 else None
    rows = layer_rows.of_attribute(klass, name) if _is_list(made, site) and not made.args else None
    if not rows or any(not _is_list(row.made, site) or row.made.args or not row.layers for _, row in rows):
        return False
    return all(_is_norm(site, method, layer) for method, row in rows for layer in row.layers)
