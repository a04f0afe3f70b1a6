"""Everything a rule or a fixer may import, and the table of all rules."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Literal

from ..facts.names import chain as chain
from ..facts.values import Value as Value
from ..pattern.words import plain as plain
from ..pattern.words import triggers
from ..text.finding import Edit as Edit
from ..text.finding import Finding as Finding
from ..text.finding import Fix as Fix
from ..text.finding import Related as Related
from ..text.finding import Severity as Severity
from ..torch_api.version import Range as Range
from .site import FileSite as FileSite
from .site import Site as Site

Set = Literal["default", "preview", "opt-in"]
Scope = Literal["any", "hot", "compiled", "file"]
FixClass = Literal["none", "suggestion", "unsafe", "safe"]
Numbers = Literal["", "exact", "rounding", "init", "changed"]
"""What a fix may do to the results of a program at most: nothing, what another order of the same sums does, the same
function begun from other random numbers, or what it is for."""
Check = Callable[[Any], Iterator[Finding]]
"""A function of a Site (of a FileSite where the scope is `file`) that yields findings."""
Fixer = Callable[[Site, Finding], Fix | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """A documented check and the places it is shown."""

    code: str
    name: str
    shape: tuple[str, ...]
    """The shape of the fault, as patterns of `torchlint.pattern`; one is enough."""
    shapeless: str
    """Why the rule has no shape."""
    scope: Scope
    set: Set
    severity: Severity
    fix: FixClass
    numbers: Numbers
    torch: Range
    impact: Literal["high", "medium", "low"]
    category: str
    principle: tuple[str, ...]
    depends_on: tuple[str, ...]
    silenced_by: tuple[str, ...]
    confirmed_by: tuple[str, ...]
    check: Check
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    """What can be asked of the rule besides, by the names of the switches: `suggest-fused`."""

    @property
    def on(self) -> Mapping[str, tuple[str, ...]]:
        """What the rule wants to be shown, each under the name it has where it is defined, with the patterns that say more."""
        return triggers(self.shape)

    @property
    def doc(self) -> str:
        """The page: the docstring of the check."""
        return inspect.cleandoc(self.check.__doc__ or "")

    @property
    def summary(self) -> str:
        """The first line of the page."""
        return self.doc.partition("\n")[0]


def rule(
    code: str,
    *,
    shape: str | Iterable[str] = (),
    shapeless: str = "",
    scope: Scope = "any",
    set: Set = "default",
    severity: Severity = "warning",
    fix: FixClass = "none",
    numbers: Numbers = "",
    torch: str = "",
    impact: Literal["high", "medium", "low"] = "medium",
    category: str,
    principle: tuple[str, ...] = (),
    depends_on: tuple[str, ...] = (),
    silenced_by: tuple[str, ...] = (),
    confirmed_by: tuple[str, ...] = (),
    options: Mapping[str, str] | None = None,
) -> Callable[[Check], Rule]:
    """Make a rule of a function: its name and docstring become the rule's name and page.

    `shape` is the shape of the fault, as one pattern of Python with holes or several (`torchlint.pattern` explains them):
    `$x.item()`, `torch.compile(...)`, `$x * torch.sigmoid($x)`. What the sieve looks for, which nodes the check is shown
    and which libcst nodes a finding must have are all taken from it. Names are those that things have where they are
    defined: imports, aliases and the project's re-exports are followed. A pattern without a name (`$x[$i]`, `for $x in $xs: ...`)
    can't be looked for: it needs the scope `hot` or `compiled`, and with `any` is shown where functions are shown whole, in
    step loops with what they call and in evaluation loops, and elsewhere on lines that may read the device by it
    (`lint.unnamed`). `shapeless` says why a rule has no shape.
    `scope` says where: `hot` (step loops and what they call, functions with evaluation loops; method and function calls
    also in what these call),
    `compiled` (compiled regions), `any`; `file` is for the tool's own rules, which are shown a FileSite.
    `numbers` says what an unsafe fix may do to the results of a program; a safe one does nothing to them.
    `torch` is a version range such as `>=2.4` or `>=2.4,<2.9`.
    `options` are switches that the configuration can turn on, `[tool.torchlint.NAME]`, each with what it adds in one sentence;
    the check asks for them by `site.option`.
    """

    def make(check: Check) -> Rule:
        name = check.__name__.replace("_", "-")
        return Rule(
            code,
            name,
            (shape,) if isinstance(shape, str) else tuple(dict.fromkeys(shape)),
            shapeless,
            scope,
            set,
            severity,
            fix,
            numbers or ("exact" if fix == "safe" else ""),
            Range.parse(torch),
            impact,
            category,
            principle,
            depends_on,
            silenced_by,
            confirmed_by,
            check,
            options or {},
        )

    return make


PLUGGED: dict[str, Rule] = {}
"""The rules of plugins that were loaded (`plugins.plug`), by their codes."""
HOMES: dict[str, str] = {}
"""The packages that they come from."""


def _modules(package: str) -> Iterator[ModuleType]:
    for info in pkgutil.iter_modules(importlib.import_module(package).__path__):
        if not info.name.startswith("_"):
            yield importlib.import_module(f"{package}.{info.name}")


@functools.cache
def load() -> dict[str, Rule]:
    """Every rule by its code, those of plugins behind torchlint's own. A module in rules/ is one rule, named like the module."""
    rules: dict[str, Rule] = {}
    for module in _modules("torchlint.rules"):
        found: Rule = getattr(module, module.__name__.rpartition(".")[2])
        assert found.code not in rules, f"{found.code} is taken twice"
        rules[found.code] = found
    assert rules, "no rule was found: is torchlint installed (pip install -e .)?"
    return {**dict(sorted(rules.items())), **dict(sorted(PLUGGED.items()))}


@functools.cache
def fixer(name: str) -> Fixer | None:
    """The fixer of the rule of that name; imported only when its rule has found something."""
    package = next((home for code, home in HOMES.items() if PLUGGED[code].name == name), "torchlint")
    module = f"{package}.fixers.{name.replace('-', '_')}"
    try:
        return importlib.import_module(module).fix  # type: ignore[no-any-return]
    except ModuleNotFoundError as error:
        if error.name not in (module, f"{package}.fixers"):
            raise
        return None
