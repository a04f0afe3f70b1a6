"""`torchlint rule`: what a rule says and why."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torchlint.settings.select import suggestion
from torchlint.system.failure import Failure

from . import terminal

if TYPE_CHECKING:
    from torchlint.rule import Rule


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "rule",
        help="explain a rule, or all of them",
        description="Explain a rule: what it finds, why that is slow, when it does not matter, and what to write instead.",
        allow_abbrev=False,
    )
    parser.add_argument("rule", metavar="CODE|NAME", nargs="?", help="a rule, such as TL101 or item-in-loop")
    parser.add_argument("--all", action="store_true", help="explain all rules")
    parser.add_argument("--output-format", choices=("text", "json", "markdown"), default="text", help="(default: text)")
    parser.add_argument(
        "--allow-plugins", action="store_true", help="the rules of the plugins that the settings name here, too"
    )
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="(default: auto)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from torchlint import docs
    from torchlint.rule import load

    if args.allow_plugins:
        plug_here()
    rules = load()
    if args.all is (args.rule is not None):
        raise Failure("give either one rule or `--all`")
    chosen = list(rules.values()) if args.all else [_find(rules.values(), args.rule)]
    if args.output_format == "json":
        items = [_item(rule) for rule in chosen]
        terminal.out(json.dumps(items if args.all else items[0], indent=2, ensure_ascii=False) + "\n")
    else:
        pages = "\n".join(map(docs.page, chosen))
        rich = args.output_format == "text" and terminal.colored(args.color, sys.stdout)
        terminal.out(terminal.rendered(pages) if rich else pages)
    return 0


def plug_here() -> None:
    """Load the plugins that the settings of the working directory name."""
    from torchlint.rule import load
    from torchlint.rule.plugins import plug
    from torchlint.settings import config

    config.load(load().values(), plug=plug)


def _find(rules: Iterable[Rule], word: str) -> Rule:
    known = {key: rule for rule in rules for key in (rule.code, rule.name)}
    for key, rule in known.items():
        if key.lower() == word.lower().replace("_", "-"):
            return rule
    raise Failure(f"there is no rule `{word}`{suggestion(word, known)}")


def _item(rule: Rule) -> dict[str, Any]:
    from torchlint import docs

    return {
        "name": rule.name,
        "code": rule.code,
        "summary": rule.summary,
        "category": rule.category,
        "set": rule.set,
        "severity": rule.severity,
        "impact": rule.impact,
        "risk": docs.RISKS[rule.fix],
        "numbers": rule.numbers,
        "principle": list(rule.principle),
        "depends_on": list(rule.depends_on),
        "silenced_by": list(rule.silenced_by),
        "scope": rule.scope,
        "shape": list(rule.shape),
        "shapeless": rule.shapeless,
        "fix": docs.FIXES[rule.fix],
        "fix_availability": rule.fix,
        "torch": str(rule.torch),
        "confirmed_by": list(rule.confirmed_by),
        "options": dict(rule.options),
        "explanation": rule.doc,
        "preview": rule.set == "preview",
    }
