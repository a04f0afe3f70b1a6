"""`python -m torchlint`."""

from .cli import entry

entry()
