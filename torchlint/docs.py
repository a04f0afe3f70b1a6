"""The pages that are made: of the rules from their docstrings, of the settings from their table.

`python -m torchlint.docs docs` writes them.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable
from pathlib import Path

from . import settings_page
from .rule import Rule, fixer, load

FAMILIES = {
    "TL0": "The tool itself",
    "TL1": "Host-device synchronization",
    "TL2": "Graph breaks and compilation",
    "TL3": "Recompilation and dynamic shapes",
    "TL4": "Data loading and transfers",
    "TL5": "Memory and autograd",
    "TL6": "Precision and math modes",
    "TL7": "Layout, kernels, vectorization",
    "TL8": "Distributed training",
    "TL9": "Version migration",
    "TLD": "Inference and deployment",
    "TLK": "Kernel source",
    "TLM": "Measurement",
}
FIXES = {
    "none": "There is no fix.",
    "suggestion": "A fix is suggested, never applied.",
    "unsafe": "A fix is sometimes available; it may change what the program does.",
    "safe": "A fix is sometimes available; it keeps what the program does.",
}
NUMBERS = {
    "": "",
    "exact": "Results stay the same to the bit.",
    "rounding": "Results may differ by rounding.",
    "init": "Random numbers are drawn in another order.",
    "changed": "Results change: that is what it is for.",
}
"""What a fix may do to what a program computes; `torchlint compare` tells them apart."""
RISKS = {"none": "medium", "suggestion": "medium", "unsafe": "medium", "safe": "low"}
"""What following a rule may change, by the class of its fix: `low` is nothing, with `medium` a person has to look."""
SETS = {"default": "On by default.", "preview": "On with `--preview`.", "opt-in": "Off until its own code is selected."}
_HEAD = """\
# Rules

Made by `python -m torchlint.docs docs` from the docstrings in `rules/`; change them there.

- **Set**: `default` rules are on, `preview` rules with `--preview`, `opt-in` rules when their own code or name is selected.
- **Fix**: `safe` fixes are applied by `--fix`, `unsafe` ones with `--unsafe-fixes` too, a `suggestion` is only shown.
- **Torch**: the versions that the rule is for; nothing there means all.
"""


def page(rule: Rule) -> str:
    """The page of a rule in Markdown."""
    facts = [f"{rule.severity.capitalize()}, {rule.impact} impact.", SETS[rule.set], FIXES[rule.fix]]
    if rule.numbers:
        facts.append(NUMBERS[rule.numbers])
    if str(rule.torch):
        facts.append(f"For torch {rule.torch}.")
    events = " or ".join(f"`{event}`" for event in rule.confirmed_by)
    facts.append(f"A traced run confirms it by {events} events." if events else "A traced run can't confirm it.")
    text = f"# {rule.name} ({rule.code})\n\n{' '.join(facts)}\n\n{rule.doc}\n"
    if rule.options:
        text = text.replace("## Bad\n", f"{_options(rule)}\n## Bad\n", 1)
    heading = "## Fix safety\n\n"
    what = _what_the_fix_does(rule)
    return text.replace(heading, f"{heading}{what}\n\n", 1) if what else text


def _options(rule: Rule) -> str:
    """What the configuration can turn on."""
    items = "".join(f"- `{name}`: {what}\n" for name, what in rule.options.items())
    switches = "".join(f"{name} = true\n" for name in rule.options)
    example = f"```toml\n[tool.torchlint.{rule.name}]\n{switches}```\n"
    return f"## Options\n\nOff unless turned on in the configuration:\n\n{items}\n{example}"


def _what_the_fix_does(rule: Rule) -> str:
    """The first line of the fixer's docstring."""
    fix = fixer(rule.name)
    return (fix.__doc__ or "").strip().partition("\n")[0] if fix else ""


def table(rules: Collection[Rule]) -> str:
    """All rules by family, each with a link to its page, and once more by category."""
    families: dict[str, list[Rule]] = {}
    for rule in rules:
        families.setdefault(rule.code[:3], []).append(rule)
    return _HEAD + "".join(f"\n{_section(name, members)}" for name, members in families.items()) + _by_category(rules)


def _by_category(rules: Iterable[Rule]) -> str:
    """The rules of each word that `--select` knows them by."""
    categories: dict[str, list[str]] = {}
    for rule in rules:
        categories.setdefault(rule.category, []).append(f"[{rule.name}](rules/{file(rule)})")
    lines = "".join(f"- `{name}`: {', '.join(sorted(links))}\n" for name, links in sorted(categories.items()))
    return f"\n## By category\n\n`--select` and `--ignore` take these words, too.\n\n{lines}"


def _section(family: str, rules: Iterable[Rule]) -> str:
    rows = (
        f"| {rule.code} | [{rule.name}](rules/{file(rule)}) | {_cell(rule.summary)} | {rule.set} | {rule.severity} "
        f"| {rule.fix} | {_cell(str(rule.torch))} | {rule.impact} |\n"
        for rule in rules
    )
    return (
        f"## {FAMILIES[family]} ({family})\n\n"
        "| Code | Name | What it finds | Set | Severity | Fix | Torch | Impact |\n"
        "|---|---|---|---|---|---|---|---|\n" + "".join(rows)
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def file(rule: Rule) -> str:
    """The name of a rule's page."""
    return f"{rule.name}.md"


def pages() -> dict[str, str]:
    """What the folder of the docs holds about rules and settings: text by path."""
    rules = load().values()
    return {
        "rules.md": table(rules),
        **{f"rules/{file(rule)}": page(rule) for rule in rules},
        "settings.md": settings_page.page(),
        "torchlint.schema.json": settings_page.schema_text(),
    }


def write(folder: Path) -> None:
    """Write all pages, and remove those of rules that are no more."""
    wanted = pages()
    (folder / "rules").mkdir(parents=True, exist_ok=True)
    for old in (folder / "rules").glob("*.md"):
        if f"rules/{old.name}" not in wanted:
            old.unlink()
    for path, text in wanted.items():
        (folder / path).write_text(text, "utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m torchlint.docs FOLDER")
    write(Path(sys.argv[1]))
