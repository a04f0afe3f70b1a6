"""`torchlint server`: findings in editors, through the Language Server Protocol."""

from __future__ import annotations

import argparse
import atexit
import os

from torchlint.system import streams
from torchlint.system.failure import Failure

from .options import plug_of


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "server",
        help="run the language server that editors start",
        description="Speak the Language Server Protocol on standard input and output. Editors start it; see docs/editors.md.",
        allow_abbrev=False,
    )
    parser.add_argument("--stdio", action="store_true", help="what it does anyway; some editors say so")
    parser.add_argument(
        "--allow-plugins", action="store_true", help="load the rules that the settings name as `plugins`: they are code"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve until the editor ends it."""
    from importlib import metadata

    try:
        from torchlint.lsp.server import Server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        from torchlint.system import install

        raise Failure(f"the language server needs pygls: {install.command('lsp', 'pygls')}") from None
    code = Server(metadata.version("torchlint"), plug_of(args)).run()
    # Taking the trees of a project apart would take seconds, also in the middle of a look at it.
    atexit._run_exitfuncs()
    os._exit(streams.finish(code))
