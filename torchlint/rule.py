"""Everything a rule or a fixer may import, and the table of all rules."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Literal

from .finding import Edit as Edit
from .finding import Finding as Finding
from .finding import Fix as Fix
from .finding import Severity
from .site import Site as Site
from .version import Range

Set = Literal["default", "preview", "opt-in"]
Scope = Literal["any", "hot", "compiled", "module"]
FixClass = Literal["none", "suggestion", "unsafe", "safe"]
Check = Callable[[Site], Iterator[Finding]]
Fixer = Callable[[Site, Finding], Fix | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """A documented check and the places it is shown."""

    code: str
    name: str
    doc: str
    on: frozenset[str]
    scope: Scope
    set: Set
    severity: Severity
    fix: FixClass
    torch: Range
    impact: Literal["high", "medium", "low"]
    category: str
    principle: tuple[str, ...]
    depends_on: tuple[str, ...]
    silenced_by: tuple[str, ...]
    confirmed_by: tuple[str, ...]
    check: Check

    @property
    def summary(self) -> str:
        """The first line of the page."""
        return self.doc.partition("\n")[0]


def rule(
    code: str,
    *,
    on: Iterable[str],
    scope: Scope = "any",
    set: Set = "default",
    severity: Severity = "warning",
    fix: FixClass = "none",
    torch: str = "",
    impact: Literal["high", "medium", "low"] = "medium",
    category: str,
    principle: tuple[str, ...] = (),
    depends_on: tuple[str, ...] = (),
    silenced_by: tuple[str, ...] = (),
    confirmed_by: tuple[str, ...] = (),
) -> Callable[[Check], Rule]:
    """Make a rule of a function: its name and docstring become the rule's name and page.

    `on` lists what the rule wants to be shown: `torch.nn.DataParallel` (a call, decorator, base class or bare use of that name),
    `.item()` (a call of a method of that name), `.grad` (an attribute), `float()` (a builtin), or the kind of a
    statement or expression: `if`, `while`, `assert`, `for`, `with`, `function`, `class`, `augassign`, `assign`,
    `subscript`, `ternary`, `boolop`, `comprehension`, `call`.
    `scope` narrows where: `hot` (step loops, eval loops and what they call), `compiled` (compiled regions),
    `module` (once a file), `any`. A kind such as `if` needs `hot` or `compiled`, since the sieve can't look for it.
    `torch` is a version range such as `>=2.4` or `>=2.4,<2.9`.
    """

    def make(check: Check) -> Rule:
        name = check.__name__.replace("_", "-")
        return Rule(
            code,
            name,
            inspect.getdoc(check) or "",
            frozenset(on),
            scope,
            set,
            severity,
            fix,
            Range.parse(torch),
            impact,
            category,
            principle,
            depends_on,
            silenced_by,
            confirmed_by,
            check,
        )

    return make


def _modules(package: str) -> Iterator[ModuleType]:
    for info in pkgutil.iter_modules(importlib.import_module(package).__path__):
        if not info.name.startswith("_"):
            yield importlib.import_module(f"{package}.{info.name}")


@functools.cache
def load() -> dict[str, Rule]:
    """Every rule by its code. A module in rules/ is one rule, named like the module."""
    rules: dict[str, Rule] = {}
    for module in _modules("torchlint.rules"):
        found: Rule = getattr(module, module.__name__.rpartition(".")[2])
        assert found.code not in rules, f"{found.code} is taken twice"
        rules[found.code] = found
    assert rules, "no rule was found: is torchlint installed (pip install -e .)?"
    return dict(sorted(rules.items()))


@functools.cache
def fixer(name: str) -> Fixer | None:
    """The fixer of the rule of that name; imported only when its rule has found something."""
    module = f"torchlint.fixers.{name.replace('-', '_')}"
    try:
        return importlib.import_module(module).fix  # type: ignore[no-any-return]
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        return None
