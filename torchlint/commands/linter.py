"""`torchlint linter`: what rules there are, by the beginning of their codes."""

from __future__ import annotations

import argparse
import json

from . import terminal


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "linter",
        help="list the families of rules",
        description="List the families of rules, with the beginning of the codes that selects each.",
        allow_abbrev=False,
    )
    parser.add_argument("--output-format", choices=("text", "json"), default="text", help="(default: text)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from torchlint.docs import FAMILIES

    if args.output_format == "json":
        families = [{"prefix": prefix, "name": name} for prefix, name in FAMILIES.items()]
        terminal.out(json.dumps(families, indent=2) + "\n")
    else:
        terminal.out("".join(f"{prefix:>5} {name}\n" for prefix, name in FAMILIES.items()))
    return 0
