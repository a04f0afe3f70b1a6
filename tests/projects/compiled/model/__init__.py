from torch import compile as fast

from .net import Net as Net

__all__ = ["Net", "fast"]
