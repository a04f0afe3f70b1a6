"""`torchlint config`: what can be set."""

from __future__ import annotations

import argparse
import json
import sys

from torchlint.settings.keys import KEYS, KINDS
from torchlint.settings.select import suggestion
from torchlint.system.failure import Failure

from . import terminal


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "config",
        help="list the settings, or explain one",
        description="List what can stand in a configuration file, or explain one setting. `torchlint check --show-settings` "
        "shows what they are for a run.",
        allow_abbrev=False,
    )
    parser.add_argument("key", metavar="KEY", nargs="?", help="a setting, such as per-file-ignores")
    parser.add_argument("--output-format", choices=("text", "json"), default="text", help="(default: text)")
    parser.add_argument(
        "--schema", action="store_true", help="write the JSON schema of configuration files, for editors"
    )
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="(default: auto)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from torchlint import settings_page

    if args.key is not None and args.key not in KEYS:
        raise Failure(f"there is no setting `{args.key}`{suggestion(args.key, KEYS)}")
    if args.schema:
        terminal.out(settings_page.schema_text())
    elif args.output_format == "json":
        items = {name: _item(name) for name in KEYS if args.key in (None, name)}
        terminal.out(json.dumps(items[args.key] if args.key else items, indent=2) + "\n")
    elif args.key is None:
        terminal.out("".join(f"{name}\n" for name in KEYS))
    else:
        text = f"# {args.key}\n\n{settings_page.entry(args.key)}"
        terminal.out(terminal.rendered(text) if terminal.colored(args.color, sys.stdout) else text)
    return 0


def _item(name: str) -> dict[str, object]:
    key = KEYS[name]
    return {
        "doc": key.about,
        "default": key.default,
        "value_type": KINDS[key.kind][0],
        "choices": list(key.choices),
        "example": key.example,
    }
