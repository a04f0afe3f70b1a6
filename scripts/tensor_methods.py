"""Write torchlint/facts/tensor_methods.py from the installed torch: `python scripts/tensor_methods.py`."""

from __future__ import annotations

import textwrap
from pathlib import Path

import torch  # noqa: TID251

PATH = Path(__file__).parents[1] / "torchlint" / "facts" / "tensor_methods.py"
HEAD = '''"""The methods of torch.Tensor; made by scripts/tensor_methods.py."""

from __future__ import annotations

METHODS = frozenset(
    """
{names}
    """.split()
)
'''


def methods() -> list[str]:
    """The public methods, without what Python's own syntax calls."""
    return [name for name in dir(torch.Tensor) if not name.startswith("_") and callable(getattr(torch.Tensor, name))]


if __name__ == "__main__":
    names = textwrap.fill(" ".join(methods()), 116, initial_indent="    ", subsequent_indent="    ")
    PATH.write_text(HEAD.format(names=names), "utf-8")
