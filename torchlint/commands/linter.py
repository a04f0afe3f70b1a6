"""`torchlint linter`: what rules there are, by the beginning of their codes."""

from __future__ import annotations

import argparse
import json

from . import terminal
from .rule import plug_here


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "linter",
        help="list the families of rules",
        description="List the families of rules, with the beginning of the codes that selects each.",
        allow_abbrev=False,
    )
    parser.add_argument("--output-format", choices=("text", "json"), default="text", help="(default: text)")
    parser.add_argument(
        "--allow-plugins", action="store_true", help="those of the plugins that the settings name here, too"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from torchlint.docs import FAMILIES
    from torchlint.rule import HOMES

    known = dict(FAMILIES)
    if args.allow_plugins:
        plug_here()
        known.update({code.rstrip("0123456789"): f"Rules of {package}" for code, package in HOMES.items()})
    if args.output_format == "json":
        families = [{"prefix": prefix, "name": name} for prefix, name in known.items()]
        terminal.out(json.dumps(families, indent=2) + "\n")
    else:
        terminal.out("".join(f"{prefix:>5} {name}\n" for prefix, name in known.items()))
    return 0
