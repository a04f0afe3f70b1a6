"""Private names of the compiler and the public names that took their place."""

from __future__ import annotations

from .deprecated_table import Entry


def _same(name: str, new: str, *refused: str, risk: str = "") -> Entry:
    return Entry(name, f"`{new}`", rename=new, attribute=True, refused=frozenset(refused), risk=risk)


_ASKED = "behind a graph break the old function may have been compiled by itself, and said so"

_TRACED = "where it is called in compiled code, the public function raises"
_MEMBERS = ("allow_in_graph", "reset", "list_backends")
_ENTRIES = (
    *(_same(f"torch._dynamo.{name}", f"torch.compiler.{name}") for name in _MEMBERS),
    _same("torch._dynamo.assume_constant_result", "torch.compiler.assume_constant_result", risk=_TRACED),
    _same("torch._dynamo.disable", "torch.compiler.disable", "wrapping"),
    *(
        _same(f"torch.{home}.is_compiling", "torch.compiler.is_compiling", risk=_ASKED)
        for home in ("_dynamo", "_dynamo.external_utils", "_utils")
    ),
    _same("torch._dynamo.config.cache_size_limit", "torch._dynamo.config.recompile_limit"),
    _same("torch._dynamo.config.accumulated_cache_size_limit", "torch._dynamo.config.accumulated_recompile_limit"),
    Entry("torch._dynamo.optimize", "`torch.compile(model, backend=...)`", successor="torch.compile"),
    Entry("torch._dynamo.export", "`torch.export.export`", successor="torch.export.export"),
)
PUBLIC = {entry.name: entry for entry in _ENTRIES}
"""What is the same function or option under its public name has a `rename`."""
