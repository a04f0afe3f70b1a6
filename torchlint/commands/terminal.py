"""What commands write, and whether in colour."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, TextIO

if TYPE_CHECKING:
    from torchlint.fault import FileError

When = Literal["auto", "always", "never"]

_LINKING = ("WT_SESSION", "KITTY_WINDOW_ID", "KONSOLE_VERSION", "VTE_VERSION", "DOMTERM")
_LINKING_PROGRAMS = ("iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper")


def colored(when: When, stream: TextIO) -> bool:
    """Whether to colour: as told, else by NO_COLOR (no-color.org), FORCE_COLOR and CLICOLOR_FORCE, else on a terminal.

    A terminal that is dumb, or CLICOLOR=0 (bixense.com/clicolors), gets none.
    """
    if when != "auto":
        return when == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR") or os.environ.get("CLICOLOR_FORCE", "0") != "0":
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb" and os.environ.get("CLICOLOR") != "0"


def linked(stream: TextIO) -> bool:
    """Whether the terminal is one of those known to show OSC 8 hyperlinks."""
    known = any(map(os.environ.get, _LINKING)) or os.environ.get("TERM_PROGRAM") in _LINKING_PROGRAMS
    return stream.isatty() and known


def out(text: str | bytes) -> None:
    """Write to stdout. Nobody reading any more isn't an error: the exit code still says what was found."""
    try:
        if isinstance(text, bytes):
            sys.stdout.flush()
            sys.stdout.buffer.write(text)
        else:
            sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def warn(text: str) -> None:
    print(f"warning: {text}", file=sys.stderr)


def error(text: object) -> None:
    print(f"error: {text}", file=sys.stderr)


def errors(found: Iterable[FileError]) -> None:
    """What went wrong while the run went on, and whom to tell where torchlint itself is to blame."""
    is_bug = False
    for one in found:
        error(one)
        is_bug |= one.is_bug
    if is_bug:
        error("this is a bug in torchlint: what it found elsewhere stands; please report it with the lines above")
