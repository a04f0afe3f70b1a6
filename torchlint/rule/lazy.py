"""Modules and regular expressions that cost more than most runs need, made when they are first used."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

from ..system.regex import regex as regex  # noqa: PLC0414


def lazy(name: str) -> ModuleType:
    """The module of that name, executed at the first use of an attribute."""
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.loader is not None, name
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
