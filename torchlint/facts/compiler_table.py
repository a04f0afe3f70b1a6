"""Private names of the compiler and the public names that took their place."""

from __future__ import annotations

from .deprecated_table import Entry


def _same(name: str, new: str, *refused: str) -> tuple[str, Entry]:
    return name, Entry(name, f"`{new}`", rename=new, attribute=True, refused=frozenset(refused))


def _told(name: str, successor: str, instead: str) -> tuple[str, Entry]:
    return name, Entry(name, instead, successor=successor)


_MEMBERS = ("allow_in_graph", "reset", "list_backends", "assume_constant_result")
PUBLIC = dict(
    (
        *(_same(f"torch._dynamo.{name}", f"torch.compiler.{name}") for name in _MEMBERS),
        _same("torch._dynamo.disable", "torch.compiler.disable", "wrapping"),
        _same("torch._dynamo.is_compiling", "torch.compiler.is_compiling"),
        _same("torch._dynamo.external_utils.is_compiling", "torch.compiler.is_compiling"),
        _same("torch._utils.is_compiling", "torch.compiler.is_compiling"),
        _same("torch._dynamo.config.cache_size_limit", "torch._dynamo.config.recompile_limit"),
        _same("torch._dynamo.config.accumulated_cache_size_limit", "torch._dynamo.config.accumulated_recompile_limit"),
        _told("torch._dynamo.optimize", "torch.compile", "`torch.compile(model, backend=...)`"),
        _told("torch._dynamo.export", "torch.export.export", "`torch.export.export`"),
    )
)
"""What is the same function or option under its public name has a `rename`."""
