"""`python -m torchlint`."""

import sys

from .cli import main

sys.exit(main())
