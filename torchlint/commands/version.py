"""`torchlint version`."""

from __future__ import annotations

import argparse
import json

from . import terminal


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("version", help="show the version", description="Show the version.")
    parser.add_argument("--output-format", choices=("text", "json"), default="text", help="(default: text)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from importlib import metadata

    version = metadata.version("torchlint")
    if args.output_format == "json":
        import platform

        text = json.dumps({"version": version, "python": platform.python_version(), "torch": _torch()}, indent=2)
    else:
        text = f"torchlint {version}"
    terminal.out(text + "\n")
    return 0


def _torch() -> str | None:
    """The version of the installed torch, which is not imported for it."""
    from importlib import metadata

    try:
        return metadata.version("torch")
    except metadata.PackageNotFoundError:
        return None
