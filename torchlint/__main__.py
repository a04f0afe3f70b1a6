"""`python -m torchlint`."""

import os
import sys

try:
    _here, _home = os.getcwd(), os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
except OSError:  # a working directory that is gone has nothing to import
    _here = _home = ""
if sys.path and sys.path[0] in ("", _here) and _here != _home:
    del sys.path[0]  # where Python looks first, but what is linted there is not trusted, and never imported

from .cli import entry

entry()
