"""Put real output under each `$ torchlint ...` in the README: `python scripts/readme.py`."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def output(match: re.Match[str]) -> str:
    arguments = shlex.split(match[1])[1:]
    command = [sys.executable, "-m", "torchlint", *arguments]
    ran = subprocess.run(command, cwd=README.parent, capture_output=True, text=True, check=False)
    return f"```console\n$ {match[1]}\n{ran.stdout}```"


if __name__ == "__main__":
    text = README.read_text("utf-8")
    README.write_text(re.sub(r"^```console\n\$ (.*)\n(?:.*\n)*?^```", output, text, flags=re.MULTILINE), "utf-8")
