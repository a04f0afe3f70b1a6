"""Private names of the compiler and the public names that took their place."""

from __future__ import annotations

from .deprecated_table import Entry


def _same(since: tuple[int, int], new: str) -> Entry:
    return Entry(since, f"`{new}`", rename=new, renamed_in=since, attribute=True)


PUBLIC = {
    **{
        f"torch._dynamo.{name}": _same((2, 1), f"torch.compiler.{name}")
        for name in ("disable", "allow_in_graph", "reset", "list_backends", "assume_constant_result")
    },
    "torch._dynamo.is_compiling": _same((2, 3), "torch.compiler.is_compiling"),
    "torch._dynamo.external_utils.is_compiling": _same((2, 3), "torch.compiler.is_compiling"),
    "torch._utils.is_compiling": _same((2, 3), "torch.compiler.is_compiling"),
    "torch._dynamo.config.cache_size_limit": _same((2, 7), "torch._dynamo.config.recompile_limit"),
    "torch._dynamo.config.accumulated_cache_size_limit": _same(
        (2, 7), "torch._dynamo.config.accumulated_recompile_limit"
    ),
    "torch._dynamo.optimize": Entry((2, 0), "`torch.compile(model, backend=...)`"),
    "torch._dynamo.export": Entry((2, 1), "`torch.export.export`"),
}
"""What is the same function or option under its public name has a `rename`."""
