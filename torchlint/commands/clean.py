"""`torchlint clean`: delete the cache."""

from __future__ import annotations

import argparse
import os

from torchlint.system.failure import Failure

from . import terminal

_DESCRIPTION = """\
Delete the cache of the project around the working directory; the next run works everything out anew.
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("clean", help="delete the cache", description=_DESCRIPTION, allow_abbrev=False)
    parser.add_argument(
        "--cache-dir",
        type=os.path.abspath,
        metavar="DIR",
        default=argparse.SUPPRESS,
        help="where the cache is [env: TORCHLINT_CACHE_DIR]",
    )
    parser.set_defaults(run=run, config=[], isolated=False)


def run(args: argparse.Namespace) -> int:
    """Delete the cache, if there is one."""
    from torchlint.cache.run import cache_of

    from .options import settings_of

    cache = cache_of(settings_of(args))
    try:
        left = cache.clean()
    except OSError as error:
        raise Failure(f"{error.filename}: {error.strerror}" if error.filename else str(error)) from None
    if left == []:
        terminal.tell(f"Removing cache at: {cache.directory}")
    elif left is not None:
        terminal.tell(f"Emptied the cache at {cache.directory}, less what torchlint did not write: {', '.join(left)}")
    return 0
