"""Which rules are on: codes, prefixes, names, categories (`sync`) and `ALL`, the way ruff decides.

Within one layer (a configuration file, the command line) a longer selector wins over a shorter one, whether it selects
or ignores. A layer with `select` starts afresh; one without changes what the layers before it said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from ..system.failure import Failure


class Selectable(Protocol):
    """What selection needs to know of a rule."""

    @property
    def code(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def set(self) -> str: ...
    @property
    def category(self) -> str: ...


class Layer(NamedTuple):
    """The selectors of one place. `select` is None where that place has no such list."""

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend: tuple[str, ...] = ()


def suggestion(word: str, known: Iterable[str]) -> str:
    """`; did you mean ...?` when something known is close to the word, else nothing."""
    import difflib

    originals = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower(), originals, n=1)
    return f"; did you mean `{originals[close[0]]}`?" if close else ""


class Selector:
    """The table of rules, asked by selector.

    `gated`: preview rules need `preview`, and opt-in rules their own code or name (or `ALL` with `preview`).
    """

    def __init__(self, rules: Iterable[Selectable], *, preview: bool, gated: bool = True) -> None:
        self.rules = tuple(rules)
        self.preview = preview
        self.gated = gated
        self.categories = frozenset(rule.category for rule in self.rules)
        self.exact = {key: rule.code for rule in self.rules for key in (rule.code, rule.name)}

    def codes(self, selector: str) -> frozenset[str]:
        """The codes a selector names, on or off by default. Raises Failure when there are none."""
        if selector == "ALL":
            return frozenset(rule.code for rule in self.rules)
        if selector in self.exact:
            return frozenset((self.exact[selector],))
        if selector in self.categories:
            return frozenset(rule.code for rule in self.rules if rule.category == selector)
        found = frozenset(rule.code for rule in self.rules if selector and rule.code.startswith(selector))
        if not found:
            known = ["ALL", *sorted(self.categories), *self.exact]
            raise Failure(f"Unknown rule selector `{selector}`{suggestion(selector, known)}")
        return found

    def knows(self, selector: str) -> bool:
        """Whether any rule goes by it."""
        try:
            return bool(self.codes(selector))
        except Failure:
            return False

    def selected(self, selector: str) -> frozenset[str]:
        """The codes that selecting this turns on."""
        codes = self.codes(selector)
        if not self.gated:
            return codes
        opt_in = selector in self.exact or (selector == "ALL" and self.preview)
        gates = {"default": True, "preview": self.preview, "opt-in": opt_in}
        return frozenset(rule.code for rule in self.rules if rule.code in codes and gates[rule.set])

    def defaults(self) -> frozenset[str]:
        wanted = {"default", "preview"} if self.preview else {"default"}
        return frozenset(rule.code for rule in self.rules if rule.set in wanted)

    def resolve(self, layers: Sequence[Layer], start: frozenset[str]) -> frozenset[str]:
        """The codes that are on after all layers, the first one on top of `start`."""
        on = start
        for layer in layers:
            steps = [(self.length(s), 0, s) for s in (*(layer.select or ()), *layer.extend)]
            steps += [(self.length(s), 1, s) for s in layer.ignore]
            changes: dict[str, bool] = {}
            for _, ignores, selector in sorted(steps):
                codes = self.codes(selector) if ignores else self.selected(selector)
                changes.update(dict.fromkeys(codes, not ignores))
            kept = on.difference(changes) if layer.select is None else frozenset()
            on = kept.union(code for code, enabled in changes.items() if enabled)
        return on

    def warnings(self, layers: Iterable[Layer]) -> tuple[str, ...]:
        """One sentence for each selector that turns nothing on."""
        selectors = [s for layer in layers for s in (*(layer.select or ()), *layer.extend) if not self.selected(s)]
        return tuple(f"Selection `{s}` has no effect because {self._why(s)}." for s in selectors)

    def length(self, selector: str) -> int:
        """How narrow a selector is: of two, the longer one wins."""
        if selector == "ALL":
            return 0
        if selector in self.categories:  # before the shortest code, `TL1`
            return 1
        return 1_000 if selector in self.exact else len(selector)

    def _why(self, selector: str) -> str:
        sets = {rule.set for rule in self.rules if rule.code in self.codes(selector)}
        if "preview" in sets:
            return "preview is not enabled"
        return "its rules are opt-in: select each by its own code"
