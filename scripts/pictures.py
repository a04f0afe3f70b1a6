"""Pictures of a terminal for the README and the tour, of real runs: `python scripts/pictures.py [NAME ...]`; some need torch."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parents[1]
PICTURES = {
    "check": ["check", "docs/demo", "--select", "TL101,TL501", "--color", "always"],
    "trace": ["trace", "docs/demo/train.py", "--steps", "4", "--color", "always"],
    "optimize": ["optimize", "docs/demo/train.py", "--seconds", "60"],
}
"""The arguments of each run by the name of its picture."""
LINES = {"trace": slice(0, 24), "optimize": slice(-34, None)}
"""Of a run that prints more than a picture holds, the lines that are shown."""
COLUMNS = 118


def picture(arguments: list[str], lines: slice) -> str:
    """What a run prints, as SVG; what is left out before or behind the lines is marked by a line of its own."""
    command = [sys.executable, "-m", "torchlint", *arguments]
    environment = {**os.environ, "COLUMNS": str(COLUMNS)}
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
    shown = [word for word in arguments if word not in ("--color", "always")]
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print(Text(f"$ torchlint {' '.join(shown)}", style="bold"))
    printed = ran.stdout.splitlines()
    first, last, _ = lines.indices(len(printed))
    shortened = [*["..."][: first > 0], *printed[first:last], *["..."][: last < len(printed)]]
    console.print(Text.from_ansi("\n".join(shortened)))
    svg = console.export_svg(title="torchlint", unique_id="torchlint")
    return re.sub(r"\n\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)  # fonts from elsewhere


if __name__ == "__main__":
    folder = ROOT / "docs" / "pictures"
    folder.mkdir(exist_ok=True)
    for name in sys.argv[1:] or PICTURES:
        svg = picture(PICTURES[name], LINES.get(name, slice(None)))
        (folder / f"{name}.svg").write_text(svg, "utf-8")
