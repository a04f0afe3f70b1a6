"""The command that installs what a part of torchlint needs.

It never names torchlint alone: that is a name on an index, where anybody may own it. What is installed from a folder, a
file or an address is named by it (PEP 610 has it written down beside the package); else the libraries are named.
"""

from __future__ import annotations

import json
import re
import shlex
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

NAME = "torchlint"
_EXTRA = re.compile(r"""\s*;.*\bextra\s*==\s*["']([\w.-]+)["']""")


class _Origin(NamedTuple):
    """Where torchlint was installed from: a folder, or an address."""

    folder: str = ""
    address: str = ""
    editable: bool = False


def command(extra: str, library: str) -> str:
    """What installs the libraries of that extra; `library` where nothing is known of the installation."""
    try:
        found = distribution(NAME)
    except PackageNotFoundError:
        return f"pip install {shlex.quote(library)}"
    origin = _origin(found)
    if origin.folder:
        return f"pip install {'-e ' if origin.editable else ''}'{origin.folder}[{extra}]'"
    if origin.address:
        return f"pip install '{NAME}[{extra}] @ {origin.address}'"
    extras = ((line, _EXTRA.search(line)) for line in found.requires or ())
    needed = [line[: match.start()] for line, match in extras if match and match[1] == extra]
    return f"pip install {' '.join(map(shlex.quote, needed or [library]))}"


def _origin(found: Distribution) -> _Origin:
    """Where it came from; nothing if that is not known or gone, or holds a secret."""
    try:
        written = json.loads(found.read_text("direct_url.json") or "{}")
        url, vcs = str(written.get("url", "")), written.get("vcs_info", {})
        parts = urlsplit(url)
        path = Path(unquote(parts.path))
        if "'" in unquote(url) or parts.username or parts.password or (parts.scheme == "file" and not path.exists()):
            return _Origin()
        if parts.scheme == "file" and path.is_dir() and not vcs:
            return _Origin(folder=str(path), editable=bool(written.get("dir_info", {}).get("editable")))
        if url and vcs:
            revision = f"@{vcs['requested_revision']}" if vcs.get("requested_revision") else ""
            return _Origin(address=f"{vcs['vcs']}+{url}{revision}")
        return _Origin(address=url)
    except (AttributeError, KeyError, OSError, ValueError):
        return _Origin()
