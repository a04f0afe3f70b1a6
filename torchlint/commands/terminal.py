"""What commands write, and whether in colour."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, TextIO

from torchlint.system import streams
from torchlint.system.printable import printable

if TYPE_CHECKING:
    from torchlint.system.fault import FileError

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
    """Write to stdout, as `streams.write` does."""
    streams.write(sys.stdout, text)


def patch(data: bytes) -> None:
    """Write a diff to stdout: to be applied as it is or, on a terminal, to be read."""
    if not sys.stdout.isatty():
        out(data)
    else:
        text = data.decode(sys.stdout.encoding, "surrogateescape")
        out("".join(f"{printable(line.replace(chr(9), ' ' * 4))}\n" for line in text.removesuffix("\n").split("\n")))


def tell(text: object) -> None:
    """Say something on stderr, on one line whatever it is made of."""
    print(printable(str(text)), file=sys.stderr)


def warn(text: str) -> None:
    tell(f"warning: {text}")


def error(text: object) -> None:
    tell(f"error: {text}")


def errors(found: Iterable[FileError]) -> None:
    """What went wrong while the run went on, and whom to tell where torchlint itself is to blame."""
    is_bug = False
    for one in found:
        error(one)
        is_bug |= one.is_bug
    if is_bug:
        error("this is a bug in torchlint: what it found elsewhere stands; please report it with the lines above")


def rendered(markdown: str) -> str:
    """A page as a terminal shows it."""
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(force_terminal=True)
    with console.capture() as captured:
        console.print(Markdown(markdown, code_theme="ansi_dark"))
    return captured.get()
