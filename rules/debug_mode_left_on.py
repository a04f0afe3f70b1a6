from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchlint.facts import syntax
from torchlint.facts.argparse_defaults import unless_given
from torchlint.facts.common_names import LIGHTNING_TRAINERS
from torchlint.facts.module import Class, Function
from torchlint.facts.nodes import is_constant, string
from torchlint.rule import Finding, Site, rule
from torchlint.rule.lazy import regex

_VARIABLES = {
    "CUDA_LAUNCH_BLOCKING": ("1", "the host waits for every kernel"),
    "HIP_LAUNCH_BLOCKING": ("1", "the host waits for every kernel"),
    "TRITON_INTERPRET": ("1", "Triton kernels run in the Python interpreter"),
    "TORCH_DISTRIBUTED_DEBUG": ("DETAIL", "every collective is checked across all processes"),
    "PYTORCH_NO_CUDA_MEMORY_CACHING": ("1", "every allocation asks the driver, and waits"),
}
_CALLS = {
    "torch.autograd.set_detect_anomaly": "every operation records a stack, and every gradient is searched for NaN",
    "torch.autograd.anomaly_mode.set_detect_anomaly": "every operation records a stack, and every gradient is searched for NaN",
    "torch.autograd.detect_anomaly": "every operation records a stack, and every gradient is searched for NaN",
    "torch.autograd.anomaly_mode.detect_anomaly": "every operation records a stack, and every gradient is searched for NaN",
    "torch.cuda.set_sync_debug_mode": "every wait for the device prints a warning",
    "torch.autograd.profiler.emit_nvtx": "every operation is annotated",
    "torch.autograd.profiler.emit_itt": "every operation is annotated",
}
_SETS = ("os.environ[$name] = $value", "os.environ.setdefault($name, $value)", "os.putenv($name, $value)")
_UPDATE = "os.environ.update(...)"
_OPTION = "$made(..., detect_anomaly=$on)"
_OFF = (None, False, 0, "default")
"""What a switch is given that turns it off, or may."""
_UNITS = ("torchtnt.framework.auto_unit.", "torchtnt.framework.AutoUnit", "torchtnt.framework.AutoPredictUnit")
"""Classes of torchtnt that take the option, and those in the same file."""
_DETECTS = regex(rb"\bautograd\.(?:anomaly_mode\.)?(?:set_)?detect_anomaly\(")
_ON_PURPOSE = regex(r"determin|debug|seed|reproduc|profil|trace|detect|anomal|check", re.IGNORECASE)
_REPEATABLE = regex(rb"^(?:torch\.)?use_deterministic_algorithms\(\s*True", re.MULTILINE)
"""A program that asks for the same bits on every run as a whole: slow on purpose."""


@rule(
    "TL504",
    shape=[
        *(f"{name}(...)" for name in _CALLS),
        *(f"{name}(..., detect_anomaly=$on)" for name in LIGHTNING_TRAINERS),
        _OPTION,
        *_SETS,
        _UPDATE,
    ],
    fix="suggestion",
    impact="high",
    category="memory",
)
def debug_mode_left_on(site: Site) -> Iterator[Finding]:
    """A switch for debugging is on for the whole run.

    ## What it does

    Finds `set_detect_anomaly(True)`, `detect_anomaly()`, `detect_anomaly=True` of Lightning's `Trainer`, of torchtnt's `AutoUnit`, and of what the project
    defines to hand it on to autograd, `set_sync_debug_mode`, `emit_nvtx`, `emit_itt`, and the
    environment variables `CUDA_LAUNCH_BLOCKING=1`, `TRITON_INTERPRET=1`, `TORCH_DISTRIBUTED_DEBUG=DETAIL` and
    `PYTORCH_NO_CUDA_MEMORY_CACHING=1`, where no condition stands around them. An option that is on by default
    (`set_detect_anomaly(config.debug)`, `bool(config.debug)` with `debug: bool = True`, or with `default=True` or `action="store_false"` on the command line) counts as well.

    ## Why is this slow?

    Anomaly detection formats a stack for each operation of the forward pass and reads back each gradient; blocking
    launches take away all overlap of host and device. These cost integer factors, on every step.

    ## When it does not matter

    While debugging. Behind a flag, in tests, in helpers for determinism or debugging, and where the switch is turned off
    again nothing is reported, nor in files whose top says `use_deterministic_algorithms(True)`. `TORCH_SHOW_CPP_STACKTRACES` costs only where something raises, and is not reported.

    ## Bad

    ```python
    torch.autograd.set_detect_anomaly(True)  # TL504
    ```

    ## Good

    ```python
    torch.autograd.set_detect_anomaly(args.debug)  # ok
    ```

    ## References

    - https://docs.pytorch.org/docs/stable/autograd.html#anomaly-detection
    - https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#disable-debugging-apis
    - https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution
    """
    if site.role != "script" and site.role != "library":
        return
    found = _environment(site) if site.name.startswith("os.") else _call(site)
    if found is None or _conditional(site) or site.source.holds(_REPEATABLE) or _ON_PURPOSE.search(site.function.name):
        return
    what, cost = found
    yield site.finding(f"{what} is on for the whole run: {cost}", at=_switch_given(site))


def _call(site: Site) -> tuple[str, str] | None:
    name = site.name.removesuffix("()")
    given = _switch_given(site)
    if given is not None:
        if site.pattern == _OPTION and not _is_handed_on(site):
            return None
        what = f"`detect_anomaly={site.short(given)}`{_if_by_default(given)}"
        return (what, _CALLS["torch.autograd.detect_anomaly"]) if _unless_given(site, given) is True else None
    last = name.rpartition(".")[2]
    switch = _switch(site)
    if last in ("set_detect_anomaly", "set_sync_debug_mode"):
        value = _unless_given(site, switch) if switch is not None else None
        if value in _OFF or _turned_off(site, last):
            return None
    elif last.startswith("emit") and switch is not None:
        return None
    return f"`{site.short()}`{_if_by_default(switch)}", _CALLS[name]


def _switch_given(site: Site) -> ast.expr | None:
    """What is given for the option `detect_anomaly`."""
    return site.part("on") if site.pattern.endswith("$on)") else None


def _is_handed_on(site: Site) -> bool:
    """Whether what takes the option is known to hand it on to autograd: torchtnt, or what the project defines beside autograd's own switch."""
    made = site.part("made")
    value = site.value(made)
    if isinstance(made, ast.Attribute) and syntax.is_super(made.value) and site.function.cls is not None:
        return _takes(site, site.function.cls)
    if value.kind == "class" and value.class_ is not None:
        return _takes(site, value.class_)
    if value.kind == "function" and value.function is not None:
        return value.function.module.source.holds(_DETECTS)
    return (site.resolve(made) or "").startswith(_UNITS)


def _takes(site: Site, klass: Class) -> bool:
    """Whether a class, or what it inherits from, has the option."""
    line = [*site.project.ancestry(klass)]
    bases = (site.project.base_name(one, base) or "" for one in line for base in one.bases)
    return any(one.module.source.holds(_DETECTS) for one in line) or any(
        name.startswith((*_UNITS, *LIGHTNING_TRAINERS)) for name in bases
    )


def _unless_given(site: Site, switch: ast.expr) -> object:
    """What a switch is, by itself or by an option that nobody gives; None where the program may make it another thing."""
    if isinstance(switch, ast.Call) and site.resolve(switch.func) == "bool" and len(switch.args) == 1:
        inner = _unless_given(site, switch.args[0])
        return None if inner is None else bool(inner)
    if isinstance(switch, ast.Attribute):
        name = switch.attr.encode()
        if site.project.any_holds(rb"\b%s *=(?!=| *True\b)" % name, word=name):
            return None
    if isinstance(switch, ast.Name) and _is_off_for_some(site, switch.id):
        return None
    value = site.value(switch)
    return unless_given(site.project, site.module, switch) if value.kind in ("unknown", "name") else value.const


def _is_off_for_some(site: Site, name: str) -> bool:
    """Whether a parameter has a default that is not True, which a caller leaves as it is."""
    default = site.function.defaults.get(name)
    if default is None or is_constant(default, True):
        return False
    return any(site.function.argument(one.call, name) is None for one in site.callers(site.function))


def _if_by_default(switch: ast.expr | None) -> str:
    return ", by default," if switch is not None and not isinstance(switch, ast.Constant) else ""


def _switch(site: Site) -> ast.expr | None:
    """What a call of autograd or the profiler is given to be on or off."""
    return site.argument("mode", 0) or site.argument("debug_mode") or site.argument("enabled")


def _turned_off(site: Site, last: str) -> bool:
    """Whether the file calls the switch again, with another argument, where a run that comes here may get to as well."""
    if len(re.findall(rf"{last}\s*\(", site.source.text)) == 1:
        return False
    again = ((other, call) for other in site.module.functions for call in other.flow.calls_named(last))
    return any(call is not site.call and _may_turn_off(site, other, call) for other, call in again)


def _may_turn_off(site: Site, other: Function, call: ast.Call) -> bool:
    place = site.at(other, call)
    switch = _switch(place)
    value = _unless_given(place, switch) if switch is not None else None
    return value in _OFF and not site.excludes(other)


def _environment(site: Site) -> tuple[str, str] | None:
    """The variable that is set and what it costs, where it is one of the table's."""
    for name, value in _set(site):
        given = str(value.value) if isinstance(value, ast.Constant) else ""
        bad, cost = _VARIABLES.get(name or "", ("", ""))
        if bad and given == bad:
            return f"`{name}={given}`", cost
    return None


def _set(site: Site) -> Iterator[tuple[str | None, ast.expr]]:
    """The variables that a place sets, and to what: one, or all of `os.environ.update(A="1", B="0")`."""
    if site.pattern != _UPDATE:
        yield string(site.part("name")), site.part("value")
        return
    for given in site.call.args:
        if isinstance(given, ast.Dict):
            yield from ((string(key), value) for key, value in zip(given.keys, given.values, strict=True))
    yield from ((keyword.arg, keyword.value) for keyword in site.call.keywords)


def _conditional(site: Site) -> bool:
    """Whether a condition other than `__name__ == "__main__"` stands around the place."""
    return any("__name__" not in ast.unparse(guard.test) for guard in site.flow.guards(site.target))
