"""`python -m torchlint`."""

import os
import sys

_AT_HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if sys.path and sys.path[0] in ("", os.getcwd()) and sys.path[0] != _AT_HOME != os.getcwd():
    del sys.path[0]  # where Python looks first, but what is linted there is not trusted, and never imported

from .cli import entry

entry()
