"""Methods by which models of libraries are run: an autoencoder of diffusers, CLIP."""

from __future__ import annotations

import ast
from collections.abc import Callable

from .values import Value

_ONCE = frozenset("forward encode decode encode_image encode_text get_image_features get_text_features".split())
"""Methods that run a model once: `generate` does so for each token."""


def runs_model(value_of: Callable[[ast.expr], Value], call: ast.Call) -> bool:
    """`vae.decode(latents)`: whether a call is a method by which a model of no class of the project is run."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in _ONCE or not call.args:
        return False
    owner = value_of(call.func.value)
    return owner.kind == "module" and bool(owner.class_name) and not owner.any_class
