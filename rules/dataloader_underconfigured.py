from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import collation, drawn, names, opened_streams, prefetched
from torchlint.facts.argparse_defaults import unless_given
from torchlint.facts.common_names import LOADER_NAME, TRAINING_ARGUMENTS
from torchlint.facts.held_samples import is_held
from torchlint.facts.loader_calls import Handed, handed_on, hands_on_options, options_given
from torchlint.facts.module import Function
from torchlint.facts.nodes import is_constant, names_in, spreads
from torchlint.facts.syntax import same
from torchlint.facts.told import Options
from torchlint.facts.torch_table import WALKERS
from torchlint.facts.values import UNKNOWN
from torchlint.rule import Finding, Site, Value, rule
from torchlint.rule.lazy import regex

_OF_DEVICE = regex(r"(?i)cuda|gpu")
_UNPINNED = "no `pin_memory=True`"
_WRITTEN = {
    "no `num_workers`": "num_workers=4",
    _UNPINNED: "pin_memory=True",
    "no `persistent_workers=True`": "persistent_workers=True",
}
"""What a loader lacks, and how it is written where the call does not name the option yet."""
_ABOUT_WORKERS = regex(rb"#(?![^\n]*workers?\s*=)[^\n]*worker")
"""A comment that is no code."""
_WITHOUT_WORKERS = regex(
    rb"worker[^\n]*\b(?:must|(?:has|have|needs?) to)\b|\b(?:can(?:not|'t| not)|does(?:n't| not)|do(?:n't| not)) (?:be|work|use|support)[^\n]*worker"
)
"""A comment that says why there are none: `# num_workers has to be 0 here`."""
_ABOUT_MACS = regex(rb"\bmps\b|\b[Mm]ac(?:OS|book)?\b|xla")
"""Where memory can't be pinned."""


@rule(
    "TL401",
    shape=[
        "torch.utils.data.DataLoader(...)",
        "torch_geometric.loader.DataLoader(...)",
        "torch_geometric.data.DataLoader(...)",
        "torch_geometric.loader.DenseDataLoader(...)",
        "torch_geometric.data.DenseDataLoader(...)",
        "monai.data.DataLoader(...)",
        "torchdata.stateful_dataloader.StatefulDataLoader(...)",
        "torchmeta.utils.data.BatchMetaDataLoader(...)",
        "torchmeta.utils.data.dataloader.BatchMetaDataLoader(...)",
        "dgl.dataloading.GraphDataLoader(...)",
        "torch.utils.data.DataLoader",
        "$model.loader(...)",
        *(f"{name}(...)" for name in TRAINING_ARGUMENTS),
    ],
    severity="info",
    fix="suggestion",
    impact="high",
    category="data",
    principle=("pipeline",),
)
def dataloader_underconfigured(site: Site) -> Iterator[Finding]:
    """A `DataLoader` works in the training process, into memory that is not pinned, or forks anew in each epoch.

    ## What it does

    Finds `DataLoader(...)`, those of PyTorch Geometric and MONAI included, `loader(...)` of the former's `Node2Vec`, and DGL's `GraphDataLoader` (workers alone: its graphs can't be pinned), without `num_workers` and without `pin_memory=True`, where a training or evaluation loop sends
    its batches to the device; where a class of the project is made of it (`class Ragged(DataLoader)`) and hands on what it is given, that is told where an object of the class is made; so is `functools.partial(DataLoader, ...)` and what calls of that give, and with `--preview` what calls of a function lack that hands its `**options` on to a loader. With `--preview` it finds those without such a loop in sight as well, `dataloader_num_workers=0` and `dataloader_pin_memory=False` that are
    written out in the `TrainingArguments` of transformers, and loaders
    with workers but without `persistent_workers=True` where an epoch loop iterates over them again and again. One finding
    says all that a loader lacks. Options in dictionaries (`**kwargs`) are followed; what can't be known is not reported.

    ## Why is this slow?

    With `num_workers=0` the training loop itself reads and decodes the next batch while the device waits. A batch that
    is not pinned is copied through a staging buffer, and `non_blocking=True` has no effect on it. Without
    `persistent_workers` each epoch starts the processes anew, imports and all.

    ## When it does not matter

    Data that is in memory already (a `TensorDataset`, a list, a dataset that only indexes what it holds, or makes up its samples of random numbers) gains nothing from workers and is not reported for
    them; from pinned memory it gains as much as its batches are large. What is on the device already, or is put there by the collate function, can't be pinned. Nor are arrays and objects of
    the project's own classes, unless these have a `pin_memory` method: torch hands them on as they are.
    A pinned loader without workers over a dataset of which nothing is known is reported with `--preview` only: its samples may be ready.
    Nor does a loader of which nobody draws more than one batch, `next(iter(loader))`, or one at a time that is begun anew for each on no training step (`next(iter(self.shown))`), or a few, `islice(loader, 4)`; workers have nothing to do ahead where one batch is the whole dataset.
    A `num_workers=0` beside which a comment speaks of workers is a choice, and so is one below a comment that says that there can't be any.
    So is a dataset that reads a video or a file which its constructor has opened: workers would share its place. `Subset(data, [])` gives no batch.
    A dataset of the program that takes its samples from a queue which a thread of its own fills needs no workers, and one that pins them no `pin_memory=True`.
    So is, without `--preview`, a `pin_memory=False` that is written out over a dataset of which nothing is known: its samples may be on the device.
    How many workers are best depends on the machine: measure. Where processes are spawned (Windows, macOS) the script
    needs an `if __name__ == "__main__"` guard.

    ## Bad

    ```python
    dataset = torchvision.datasets.ImageFolder('images')
    loader = torch.utils.data.DataLoader(dataset, batch_size=64, shuffle=True)  # TL401
    for images, labels in loader:
        loss = criterion(model(images.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
    ```

    ## Good

    ```python
    dataset = torchvision.datasets.ImageFolder('images')
    loader = torch.utils.data.DataLoader(  # ok
        dataset, batch_size=64, shuffle=True, num_workers=8, pin_memory=True, persistent_workers=True
    )
    ```

    ## References

    - https://docs.pytorch.org/docs/stable/data.html
    - https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
    """
    if site.role in ("test", "benchmark") or "jax" in site.module.imports.values():
        return
    if not isinstance(site.target, ast.Call):
        yield from _of_subclass(site)
        yield from _of_partial(site)
        return
    if site.name.endswith("TrainingArguments()"):
        yield from _of_trainer(site) if site.settings.preview else ()
        return
    if site.name == ".loader()" and site.receiver.class_name not in WALKERS:
        return
    missing = list(_missing(site)) if not _may_give_device(site) else []
    if missing and not site.settings.preview and not (_is_worth_it(site, missing) and site.feeds_device):
        return
    if missing and not (drawn.is_first_alone(site) or drawn.is_few(site) or drawn.is_empty(site)):
        lacking = tuple(_WRITTEN[fault] for fault in missing if fault in _WRITTEN)
        yield site.finding(f"`{site.short(site.call.func)}` has {_listed(missing)}", told=Options(lacking))
    elif not missing and site.settings.preview:
        yield from _of_wrapper(site)


def _is_worth_it(site: Site, missing: list[str]) -> bool:
    """Whether what a loader lacks matters: the samples of a dataset of which nothing is known may be ready."""
    if _UNPINNED in missing or _joins_graphs(site):
        return True
    # A function that puts samples together, pads them mostly, has work to do in any case.
    return _dataset(site).class_ is not None or site.argument("collate_fn", 6) is not None


def _missing(site: Site) -> Iterator[str]:
    workers = _option(site, "num_workers", 5)
    if workers is None and not _in_memory(site):
        yield "no `num_workers`"
    elif workers is not None and _is(workers, 0) and not _in_memory(site) and not _is_explained(site):
        yield "`num_workers=0`"
    elif site.settings.preview and _is_by_default(site, "num_workers", 5, 0) and not _in_memory(site):
        yield "`num_workers=0` by default"
    pinned = _option(site, "pin_memory", 7)
    if _may_be_pinned(site) and _has_accelerator(site) and not _of_indices(site) and not _is_never_pinned(site):
        if pinned is None or (_is(pinned, False) and not _may_have_reason(site)):
            yield _UNPINNED
        elif site.settings.preview and _is_by_default(site, "pin_memory", 7, False):
            yield "`pin_memory=False` by default"
    several = workers is not None and isinstance(workers.const, int) and workers.const > 0
    kept = _option(site, "persistent_workers", -1)
    if site.settings.preview and several and (kept is None or _is(kept, False)) and _in_epochs(site):
        yield "no `persistent_workers=True`"


def _may_be_pinned(site: Site) -> bool:
    """Whether batches are read by somebody, and no graphs of DGL."""
    return not _joins_graphs(site) and not drawn.is_unread(site)


def _is_by_default(site: Site, name: str, position: int, default: object) -> bool:
    """Whether an option of the command line decides, `num_workers=args.workers`, with that default, and the program sets it nowhere."""
    given = site.argument(name, position)
    if not isinstance(given, ast.Attribute) or site.value(given) or _is_tested(site, given):
        return False
    if site.value(given.value).kind == "loader" or LOADER_NAME.search(names.last(given.value)):
        return False  # as another loader has it, of which is told there
    if name == "pin_memory" and _OF_DEVICE.search(given.attr):
        return False  # where the device is used, they are pinned
    found = unless_given(site.project, site.module, given)
    return type(found) is type(default) and found == default


def _is_explained(site: Site) -> bool:
    """Whether a comment beside the call speaks of workers, or one above it of why there are none: who writes `num_workers=0` and says why has a reason."""
    return site.module.says(site.call, _ABOUT_WORKERS) or any(map(_WITHOUT_WORKERS.search, _comments_above(site)))


def _comments_above(site: Site) -> Iterator[bytes]:
    """The lines of a comment that stands right above the statement."""
    source = site.module.text_of(site.statement)
    for line in range(site.statement.lineno - 1, 0, -1):
        start, end = source.span(line, line)
        text = source.data[start:end].lstrip()
        if not text.startswith(b"#"):
            return
        yield text


def _may_have_reason(site: Site) -> bool:
    """Whether nothing is known of the dataset: who writes `pin_memory=False` may have put its samples on the device."""
    return not site.settings.preview and _dataset(site).kind == "unknown"


def _option(site: Site, name: str, position: int) -> Value | None:
    """What the call gives for an option: UNKNOWN where it may be hidden in `**kwargs`, None where it is not given."""
    given = site.argument(name, position if site.name.startswith("torch.") else -1)
    if given is not None:
        return UNKNOWN if _is_tested(site, given) else site.value(given)
    unclear = any(isinstance(argument, ast.Starred) for argument in site.call.args)
    for keyword in site.call.keywords:
        if keyword.arg is None:
            keys = site.value(keyword.value).entries
            if keys is not None and name in keys:
                return keys[name]
            unclear = unclear or not keys
    return UNKNOWN if unclear else None


def _is_tested(site: Site, given: ast.expr) -> bool:
    """`if workers > 0: DataLoader(..., num_workers=workers)`: behind a test for it an option is set, whatever its default is."""
    for guard in site.flow.guards(site.target):
        test = guard.test
        if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Gt | ast.NotEq | ast.GtE):
            test = test.left
        if guard.true and same(test, given):
            return True
    return False


def _is(value: Value, literal: object) -> bool:
    return type(value.const) is type(literal) and value.const == literal and not value.other_kinds


def _has_accelerator(site: Site) -> bool:
    """Whether batches may go to an accelerator: files of data seldom name one, scripts do."""
    if site.accelerator or site.feeds_device:
        return True
    script = site.function is site.module.body or site.source.holds(b"__main__")
    return not script and site.analysis.context.anywhere


def _dataset(site: Site) -> Value:
    given = site.argument("dataset", 0)
    return site.value(given) if given is not None else UNKNOWN


def _may_give_device(site: Site) -> bool:
    """Whether the samples of the dataset are on the device already, or a collate function puts them there, where no worker should and nothing can be pinned."""
    collate = site.argument("collate_fn", 6 if site.name.startswith("torch.") else -1)
    if collate is not None and collation.is_sent(site, collate):
        return True
    batch = site.value(site.call).element
    if batch is None or batch.device or site.settings.preview:
        return batch is not None and batch.device == "accelerator"
    return not (_holds_given(site) and site.feeds_device)


def _holds_given(site: Site) -> bool:
    """Whether a dataset holds what is given from elsewhere and of which nothing is known: who then sends its batches has them on the host."""
    made = _dataset(site).made_by
    if not isinstance(made, ast.Call) or made not in site.flow.parents:
        return False
    given = [one.value if isinstance(one, ast.Starred) else one for one in made.args]
    return bool(given) and not any(site.value(one) for one in given)


def _in_memory(site: Site) -> bool:
    """Whether the dataset holds its samples, or reads them in a way of its own, from an open stream say, or all of them for one batch."""
    given = site.argument("dataset", 0)
    if given is None:
        return site.name != ".loader()"  # which draws each sample
    if _joins_graphs(site):
        return False
    if drawn.is_whole(site.call) or opened_streams.reads_opened(site, given):
        return True
    dataset = _dataset(site)
    bases = dataset.class_.bases if dataset.class_ is not None else []
    kinds = [dataset.class_name.rpartition(".")[2], *(names.last(base) for base in bases)]
    return is_held(site, dataset) or not {"IterableDataset", "InMemoryDataset"}.isdisjoint(kinds)


def _joins_graphs(site: Site) -> bool:
    """Whether the loader is DGL's: to join graphs is work, wherever they are, and they can't be pinned."""
    return site.name.startswith("dgl.")


def _is_never_pinned(site: Site) -> bool:
    """Whether the dataset pins its samples, or the loader's collate function gives what nobody pins."""
    dataset = _dataset(site)
    if dataset.class_ is not None and prefetched.pins(dataset.class_, dataset.made_by):
        return True
    given = site.argument("collate_fn", 6 if site.name.startswith("torch.") else -1)
    return given is not None and collation.is_never_pinned(site, given, dataset)


def _of_indices(site: Site) -> bool:
    """`DataLoader(range(n))`: there is nothing to read, and nothing worth pinning."""
    given = site.argument("dataset", 0)
    return isinstance(given, ast.Call) and site.resolve(given.func) == "range"


def _in_epochs(site: Site) -> bool:
    """Whether a loop inside a loop of the same function iterates over the loader."""
    statement = site.statement
    if not isinstance(statement, ast.Assign):
        return False
    names = {target.id for target in statement.targets if isinstance(target, ast.Name)}
    for node in site.flow.nodes:
        if isinstance(node, ast.For) and site.flow.loops(node):
            read = names_in(node.iter)
            if names & read:
                return True
    return False


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


# What `partial` makes of a loader


def _of_partial(site: Site) -> Iterator[Finding]:
    """`make = partial(DataLoader, batch_size=64)`: what neither that gives nor any call of `make`, where nobody else gets it."""
    partial = site.flow.parents.get(site.target)
    kept = site.flow.parents.get(partial) if isinstance(partial, ast.Call) else None
    name = kept.targets[0] if isinstance(kept, ast.Assign) else None
    if not isinstance(partial, ast.Call) or not isinstance(name, ast.Name) or kept is not site.flow.assignment(name.id):
        return
    uses = [(load, site.flow.parents[load]) for load in site.flow.loads.get(name.id, ())]
    calls = [call for load, call in uses if isinstance(call, ast.Call) and call.func is load]
    if site.resolve(partial.func) != "functools.partial" or len(calls) < len(uses) or any(map(spreads, calls)):
        return
    given = {keyword.arg for call in (partial, *calls) for keyword in call.keywords}
    made = [site.at(site.function, call) for call in calls]
    if (
        len(partial.args) > 1
        or None in given
        or any(len(one.call.args) > 1 or is_held(one, _dataset(one)) for one in made)
    ):
        return
    missing = ["no `num_workers`"] if "num_workers" not in given else []
    missing += [_UNPINNED] if "pin_memory" not in given and _has_accelerator(site) else []
    if missing and (site.settings.preview or any(one.feeds_device for one in made)):
        yield site.finding(f"`{site.short(site.target)}` has {_listed(missing)}")


# Functions that make a loader of what they are given


def _of_wrapper(site: Site) -> Iterator[Finding]:
    """`def padded(*args, **options): return DataLoader(*args, collate_fn=pad, **options)`: what calls of it lack, by `partial(padded, ...)` too."""
    if not hands_on_options(site.function, site.call):
        return
    told = False
    calls = {one.call: one.function for one in site.callers(site.function)}
    for call, function in calls.items():
        made = site.at(function, call)
        missing = [] if made.role in ("test", "benchmark") else list(_not_given(made, site))
        if missing and function.module is site.module:
            yield made.finding(f"`{made.short(call.func)}` has {_listed(missing)}", told=Options(()))
        elif missing and not told:
            told = True
            what = f"`{site.short(site.call.func)}` has {_listed(missing)}"
            yield site.finding(f"{what} where `{site.function.name}` is called", told=Options(()))


def _not_given(made: Site, inner: Site) -> Iterator[str]:
    """What a loader lacks by what one call of the function around it gives by name."""
    given = options_given(made.function, made.call, made.value)
    if given is None or len(made.call.args) > 5 or drawn.is_first_alone(made):
        return
    if "num_workers" not in given and not is_held(made, _dataset(made)):
        yield "no `num_workers`"
    if "pin_memory" not in given and _has_accelerator(made) and not _is_never_pinned(inner):
        yield _UNPINNED


# What a trainer gives its loaders


def _of_trainer(site: Site) -> Iterator[Finding]:
    """What is written out of the loaders that transformers' `Trainer` makes; it is to stay where the program trains on the CPU or a Mac."""
    if any(site.argument(name) is not None for name in ("no_cuda", "use_cpu", "use_mps_device")):
        return
    workers, pinned = site.argument("dataloader_num_workers"), site.argument("dataloader_pin_memory")
    nothing = Options(())
    if is_constant(workers, 0) and not _is_explained(site):
        message = "`dataloader_num_workers=0` makes each batch in the training process"
        yield site.finding(message, at=workers, told=nothing)
    if is_constant(pinned, False) and not site.source.holds(_ABOUT_MACS):
        message = "`dataloader_pin_memory=False` has batches copied from memory that is not pinned"
        yield site.finding(message, at=pinned, told=nothing)


# Classes that are made of a loader


def _of_subclass(site: Site) -> Iterator[Finding]:
    """`class Ragged(DataLoader)`: what is given to its objects, and what it hands on to the loader that it is."""
    node = site.flow.parents.get(site.target)
    klass = site.module.class_of.get(node) if isinstance(node, ast.ClassDef) else None
    init = klass.methods.get("__init__") if klass is not None else None
    if klass is None or init is None or not site.project.is_loader(klass):
        return
    inner = [site.at(init, call) for call in init.flow.calls_named("__init__") if init.flow.loops(call) == []]
    if len(inner) != 1:
        return
    told = False
    objects = site.project.constructed(klass, init)
    if not objects and site.settings.preview and not inner[0].spread:
        missing = list(_not_handed(inner[0], init, inner[0]))
        if missing:
            yield inner[0].finding(f"`{klass.name}` has {_listed(missing)}")
    for function, call in objects:
        made = site.at(function, call)
        missing = [] if made.role in ("test", "benchmark") else list(_not_handed(made, init, inner[0]))
        if not missing or not (site.settings.preview or made.feeds_device):
            continue
        if function.module is site.module:
            yield made.finding(f"`{klass.name}` has {_listed(missing)}")
        elif not told:
            told = True
            yield inner[0].finding(f"`{klass.name}` has {_listed(missing)} where it is made")


def _not_handed(made: Site, init: Function, inner: Site) -> Iterator[str]:
    """What a loader lacks that an object of a class is, by what is given to the class, and by it to the loader."""
    dataset = _handed(made, init, inner, "dataset", 0)
    held = dataset is not None and is_held(made, dataset)
    if dataset is None or _is_never_pinned(inner) or (held and not made.settings.preview):
        return
    workers = _handed(made, init, inner, "num_workers", 5)
    if not held and (workers is None or _is(workers, 0)):
        yield "no `num_workers`" if workers is None else "`num_workers=0`"
    pinned = _handed(made, init, inner, "pin_memory", 7)
    if _has_accelerator(made) and (pinned is None or _is(pinned, False)):
        yield _UNPINNED


def _handed(made: Site, init: Function, inner: Site, name: str, position: int) -> Value | None:
    """What reaches the loader for an option: UNKNOWN where that can't be told, None where it is not given."""
    # `DataLoader.__init__(self, dataset)` names the object first.
    own = isinstance(inner.call.func, ast.Attribute) and isinstance(inner.call.func.value, ast.Call)
    given = inner.argument(name, position + (not own))
    if given is None:
        rest = [keyword.value for keyword in inner.call.keywords if keyword.arg is None]
        if not rest and not any(isinstance(argument, ast.Starred) for argument in inner.call.args):
            return None
        passed = [isinstance(one, ast.Name) and one.id == init.keywords for one in rest]
        return _option(made, name, -1) if passed == [True] else UNKNOWN
    handed = handed_on(init, given, made.call) if made is not inner else Handed(given, by_maker=True)
    if handed is None:
        return UNKNOWN
    return (made if handed.by_maker else inner).value(handed.node)
