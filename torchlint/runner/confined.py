"""`python -m torchlint.runner.confined COMMAND PLACE FOLDER...`: a shell command, run in a place, that may write in some
folders only.

By the kernel, where Linux has Landlock; elsewhere it is run as it is.
"""

from __future__ import annotations

import contextlib
import os
import sys

from torchlint.runner import landlock

if __name__ == "__main__":
    command, place, *folders = sys.argv[1:]
    os.chdir(place)
    if landlock.available():
        with contextlib.suppress(OSError):
            landlock.restrict([*folders, "/dev"])
    os.execv("/bin/sh", ["sh", "-c", command])
