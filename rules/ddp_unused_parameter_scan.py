from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import evaluation_mode, random_parts, syntax
from torchlint.facts.common_names import LIGHTNING_TRAINERS, TRAINING_ARGUMENTS
from torchlint.facts.nodes import is_constant, keyword_of, receiver_of
from torchlint.facts.wrapped_models import wrapped
from torchlint.rule import Finding, Site, chain, rule
from torchlint.rule.lazy import regex

_DDP = "torch.nn.parallel.DistributedDataParallel"
_WRAPPERS = (
    _DDP,
    "accelerate.DistributedDataParallelKwargs",
    "accelerate.utils.DistributedDataParallelKwargs",
    "lightning.pytorch.strategies.DDPStrategy",
    "pytorch_lightning.strategies.DDPStrategy",
    "lightning.fabric.strategies.DDPStrategy",
)
_STATIC = regex(rb"\b_set_static_graph\(")
_TRAINS = regex(rb"(?i)train|backward|optim|\.fit\(|\.step\(")
_EVALUATES = regex(rb"\bevaluate\w*\(|\.eval\(\)")


@rule(
    "TL802",
    shape=[
        *(f"{name}(..., find_unused_parameters=True)" for name in _WRAPPERS),
        *(f"{name}(..., ddp_find_unused_parameters=True)" for name in TRAINING_ARGUMENTS),
        *(f'{name}(..., strategy="ddp_find_unused_parameters_true")' for name in LIGHTNING_TRAINERS),
        f"functools.partial({_DDP}, ..., find_unused_parameters=True)",
        f"{_DDP}(...)",
    ],
    severity="info",
    impact="low",
    category="distributed",
    principle=("parallelism",),
    options={"suggest-bucket-view": "find `DistributedDataParallel` without `gradient_as_bucket_view=True` too."},
)
def ddp_unused_parameter_scan(site: Site) -> Iterator[Finding]:
    """`DistributedDataParallel` looks for unused parameters on every step.

    ## What it does

    Finds the literal `find_unused_parameters=True` for `DistributedDataParallel`, also where `functools.partial` gives it, in
    accelerate's `DistributedDataParallelKwargs`, and in lightning's `DDPStrategy`; the same in the `TrainingArguments` of transformers
    (`ddp_find_unused_parameters=True`), and as the `strategy` of Lightning's `Trainer`.

    ## Why is this slow?

    Before each backward pass DDP then walks the graph of autograd from all outputs on the host, and the exchange of gradients
    waits for a second one, about which parameters were used.
    DDP says in a warning where no parameter was unused.
    Without `gradient_as_bucket_view=True` gradients are copied into the buckets of the exchange and back, and take twice the memory.

    ## When it does not matter

    Where some steps do leave parameters unused: layers that are dropped, experts, generators and discriminators in one module.
    Nothing is reported where a random number decides whether a module of the program runs one of its parts, or whether a step gives
    it an input or None (`if random.random() < p: label = None`).
    With `static_graph=True`, or `model._set_static_graph()` behind it, DDP looks once only, and nothing is reported; nor is anything in scripts that evaluate a model and train
    none, or where the function that wraps it does (`model.eval()`). DeepSpeed takes the place of DDP.
    Views of buckets can't be detached in place (`grad.detach_()`), and so are an option.

    ## Bad

    ```python
    model = torch.nn.parallel.DistributedDataParallel(model, find_unused_parameters=True)  # TL802
    ```

    ## Good

    ```python
    model = torch.nn.parallel.DistributedDataParallel(model, static_graph=True)  # ok
    ```

    ## References

    - https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
    """
    if site.role == "test":
        return
    copies = site.name == f"{_DDP}()" and not site.spread and site.argument("gradient_as_bucket_view") is None
    if copies and site.option("suggest-bucket-view"):
        yield site.finding(f"`{site.short()}` copies all gradients; with `gradient_as_bucket_view=True` it does not")
    if _only_evaluates(site) or evaluation_mode.is_wrapped_for_it(site) or _is_for_deepspeed(site):
        return
    if "find_unused_parameters" in site.pattern and not (
        is_constant(site.argument("static_graph"), True)
        or _is_made_static(site)
        or random_parts.leaves_some_out(site, site.argument("module", 0) if site.name == f"{_DDP}()" else None)
    ):
        yield site.finding(
            f"`{_option_of(site)}` walks the graph for unused parameters on every step; {_instead(site)}",
            at=_asks(site),
        )


def _option_of(site: Site) -> str:
    """What asks for it: of a trainer, which has many arguments, the one that does."""
    name = site.name.removesuffix("()")
    if name in LIGHTNING_TRAINERS:
        return "ddp_find_unused_parameters_true"
    return "ddp_find_unused_parameters=True" if name in TRAINING_ARGUMENTS else site.short()


def _asks(site: Site) -> ast.AST:
    """The place of that: the argument of a trainer, else the call."""
    asking = ("ddp_find_unused_parameters", "strategy")
    return next((one for one in site.call.keywords if one.arg in asking), site.target)


def _instead(site: Site) -> str:
    name = site.name.removesuffix("()")
    if name in LIGHTNING_TRAINERS:
        return '`strategy="ddp"` does not, where all are used'
    if name in TRAINING_ARGUMENTS:
        return "say `False` where all are used"
    return "leave it out where all are used, or set `static_graph=True` where the same ones are unused each time"


def _is_made_static(site: Site) -> bool:
    """Whether the model is told later that its graph stays: `self.model._set_static_graph()`; of one without a name nobody knows."""
    if not site.source.holds(_STATIC):
        return False
    models = list(_models(site))
    function, klass = site.function, site.function.cls
    around = [function, *(klass.methods.values() if klass is not None else ())]
    told = [
        chain(receiver_of(call))
        for one in dict.fromkeys(around)
        for call in one.flow.calls_named("_set_static_graph")
        if one is function or one.own_name == function.own_name
    ]
    return not models or any(model in told for model in models)


def _models(site: Site) -> Iterator[list[str]]:
    """What the wrapped model is called, or those that a partial wraps: `net` of `net = wrap(net)`."""
    made = wrapped(site)
    if made is None or site.name != "functools.partial()":
        yield from filter(None, [made])
        return
    for call in site.flow.calls:
        target = syntax.target(site.flow, call) if chain(call.func) == made else None
        if target is not None and (model := chain(target)) is not None:
            yield model


def _is_for_deepspeed(site: Site) -> bool:
    """Whether what DDP would be given goes to an accelerator that runs DeepSpeed instead: `Accelerator(deepspeed_plugin=plugin)`."""
    plugins = (keyword_of(call, "deepspeed_plugin") for call in site.flow.calls_named("Accelerator"))
    return "Kwargs" in site.name and any(one is not None and not is_constant(one, None) for one in plugins)


def _only_evaluates(site: Site) -> bool:
    """Whether a script runs the model to evaluate it and says nothing of training: the graph is walked for a backward pass alone."""
    data = site.source.data
    return site.role == "script" and _EVALUATES.search(data) is not None and _TRAINS.search(data) is None
