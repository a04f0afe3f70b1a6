"""Rules of the user's own: the packages that the setting `plugins` names, loaded only where the user allows it."""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Iterable, Iterator, Sequence
from types import ModuleType

from ..system.failure import Failure
from ..system.fault import EndedError, contained
from ..system.regex import regex
from . import HOMES, PLUGGED, Rule, fixer, load

_CODE = regex(r"(?!TL)[A-Z]{2,}[0-9]+")


def plug(packages: Sequence[str]) -> Iterable[Rule]:
    """Load the rules of packages, once each; all rules that there are then. Raises Failure for what can't be loaded."""
    for package in packages:
        if package not in HOMES.values():
            _take(package, _rules_of(package))
    return load().values()


def unplug() -> None:
    """Forget all plugins."""
    PLUGGED.clear()
    HOMES.clear()
    load.cache_clear()
    fixer.cache_clear()


def files(packages: Iterable[str]) -> list[str]:
    """The source files of packages that were loaded."""
    found: list[str] = []
    for package in packages:
        module = importlib.import_module(package)
        for folder in getattr(module, "__path__", ()):
            for above, _, names in os.walk(folder):
                found += [os.path.join(above, name) for name in names if name.endswith(".py")]
        if not hasattr(module, "__path__") and module.__file__:
            found.append(module.__file__)
    return sorted(found)


def _take(package: str, rules: list[Rule]) -> None:
    known = {key: rule for rule in load().values() for key in (rule.code, rule.name)}
    for rule in rules:
        if not _CODE.fullmatch(rule.code):
            raise Failure(
                f"plugin `{package}`: `{rule.code}` is no code of a plugin's rule: letters but not TL, and a number"
            )
        if rule.scope == "file":
            raise Failure(f"plugin `{package}`: {rule.code} has the scope `file`, which is for torchlint's own rules")
        if taken := known.get(rule.code) or known.get(rule.name):
            raise Failure(f"plugin `{package}`: {rule.code} ({rule.name}) is taken by {taken.code} ({taken.name})")
        known.update({rule.code: rule, rule.name: rule})
    if not rules:
        raise Failure(f"plugin `{package}` has no rules: functions below `@torchlint.rule.rule(...)` in its modules")
    PLUGGED.update((rule.code, rule) for rule in rules)
    HOMES.update((rule.code, package) for rule in rules)
    load.cache_clear()
    fixer.cache_clear()


def _rules_of(package: str) -> list[Rule]:
    try:
        modules = contained(lambda: list(_modules(package)))
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name == package:
            raise Failure(f"plugin `{package}` is not installed beside torchlint") from None
        what = error if isinstance(error, EndedError) else f"{type(error).__name__}: {error}"
        raise Failure(f"plugin `{package}` can't be loaded: {what}") from error
    return [
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, Rule) and value.check.__module__ == module.__name__
    ]


def _modules(package: str) -> Iterator[ModuleType]:
    """The module of a plugin, and those in it."""
    top = importlib.import_module(package)
    yield top
    for info in pkgutil.iter_modules(getattr(top, "__path__", ())):
        if not info.name.startswith("_") and info.name != "fixers":
            yield importlib.import_module(f"{package}.{info.name}")
