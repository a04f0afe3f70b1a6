"""Pictures of a terminal for the README, of real runs: `python scripts/pictures.py`."""

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
PICTURES = {"check": ["check", "docs/demo", "--select", "TL101,TL501", "--color", "always"]}
"""The arguments of each run by the name of its picture."""
COLUMNS = 118


def picture(arguments: list[str]) -> str:
    """What a run prints, as SVG."""
    command = [sys.executable, "-m", "torchlint", *arguments]
    environment = {**os.environ, "COLUMNS": str(COLUMNS)}
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
    shown = [word for word in arguments if word not in ("--color", "always")]
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print(Text(f"$ torchlint {' '.join(shown)}", style="bold"))
    console.print(Text.from_ansi(ran.stdout))
    svg = console.export_svg(title="torchlint", unique_id="torchlint")
    return re.sub(r"\n\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)  # fonts from elsewhere


if __name__ == "__main__":
    folder = ROOT / "docs" / "pictures"
    folder.mkdir(exist_ok=True)
    for name, arguments in PICTURES.items():
        (folder / f"{name}.svg").write_text(picture(arguments), "utf-8")
