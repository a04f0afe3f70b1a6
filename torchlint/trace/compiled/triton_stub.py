"""An inert `triton`, for machines without the package: Inductor writes Triton source with it, and nothing can run.

It is visible only inside `visible()`, so that the user's own `import triton` fails as it would have; the real package
is used wherever it is installed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

VERSION = "3.7.1"  # what torch 2.13 pins; Inductor asks it to choose between interfaces
_SUBMODULES = frozenset({"language", "runtime", "compiler", "backends", "driver", "extra", "libdevice", "jit_utils"})
_CLASSES = frozenset({"dtype", "constexpr", "pointer_type", "tensor"})
_ABSENT = frozenset({"AttrsDescriptor"})  # only of Triton 3.2 and older


class _Inert:
    """Any function or constant of triton: calling it gives another, decorating with it gives the function back."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and callable(args[0]) and not kwargs:
            return args[0]
        return _Inert(f"{self._name}()")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Inert(f"{self._name}.{name}")

    def __repr__(self) -> str:
        return f"<no triton: {self._name}>"


class _InertType(type):
    """Any class of triton: it can be subclassed, compared and asked for attributes."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Inert(f"{cls.__name__}.{name}")


def _accept_anything(self: object, *args: object, **kwargs: object) -> None:
    """The constructor of an inert class."""


def _inert_class(name: str) -> type:
    if name.endswith(("Error", "OutOfResources")):
        return type(name, (Exception,), {})
    return _InertType(name, (), {"__init__": _accept_anything})


class _InertModule(types.ModuleType):
    """Any module of triton."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self.__version__ = VERSION
        self.__file__ = __file__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in _ABSENT:
            raise AttributeError(name)
        depth = self.__name__.count(".")
        if name in _SUBMODULES and depth < 3 and name != self.__name__.rpartition(".")[2]:
            return importlib.import_module(f"{self.__name__}.{name}")
        value = _inert_class(name) if name.lstrip("_")[:1].isupper() or name in _CLASSES else _Inert(name)
        setattr(self, name, value)
        return value


@dataclasses.dataclass(frozen=True)
class GPUTarget:
    """Stands for `triton.backends.compiler.GPUTarget`."""

    backend: str
    arch: int
    warp_size: int


class Config:
    """Stands for `triton.Config`: what Inductor's own templates (FlexAttention) are configured by."""

    def __init__(
        self,
        kwargs: dict[str, Any],
        num_warps: int = 4,
        num_stages: int = 3,
        num_ctas: int = 1,
        maxnreg: int | None = None,
        pre_hook: object = None,
        **more: Any,
    ) -> None:
        self.kwargs = kwargs
        self.num_warps, self.num_stages, self.num_ctas = num_warps, num_stages, num_ctas
        self.maxnreg, self.pre_hook = maxnreg, pre_hook
        self.__dict__.update(more)

    def all_kwargs(self) -> dict[str, Any]:
        launch = ("num_warps", "num_ctas", "num_stages", "maxnreg")
        own = {name: getattr(self, name) for name in launch if getattr(self, name) is not None}
        return {**self.kwargs, **own}


class JITFunction:
    """Stands for `triton.runtime.jit.JITFunction`: a kernel of Inductor's templates, whose parameters it looks at."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn
        self.arg_names = list(inspect.signature(fn).parameters)
        self.__name__ = fn.__name__

    def __call__(self, *args: object, **options: object) -> Any:
        raise RuntimeError("Cannot call @triton.jit'd outside of the scope of a kernel")  # as triton's own


def jit(fn: Callable[..., Any] | None = None, **_options: object) -> Any:
    """Stands for `triton.jit`, with options or without."""
    return JITFunction if fn is None else JITFunction(fn)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds every module of triton."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name == "triton" or name.startswith("triton."):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _InertModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        if module.__name__ in ("triton", "triton.runtime", "triton.runtime.autotuner"):
            module.__dict__["Config"] = Config
        if module.__name__ in ("triton", "triton.runtime", "triton.runtime.jit"):
            module.__dict__.update(jit=jit, JITFunction=JITFunction)
        if module.__name__ == "triton.backends":
            module.__dict__["backends"] = {"nvidia": _Inert("nvidia")}
        elif module.__name__ == "triton.runtime.driver":
            module.__dict__["driver"] = types.SimpleNamespace(_active=None, _default=None)
        elif module.__name__ == "triton.backends.compiler":
            module.__dict__["GPUTarget"] = GPUTarget


_modules: dict[str, types.ModuleType] = {}


def needed() -> bool:
    """Is the real package missing?"""
    if "triton" in sys.modules:
        return isinstance(sys.modules["triton"], _InertModule)
    return importlib.util.find_spec("triton") is None


def _forget_answers() -> None:
    """torch caches whether there is a triton."""
    answers = sys.modules.get("torch.utils._triton")
    for answer in vars(answers).values() if answers else ():
        if hasattr(answer, "cache_clear"):
            answer.cache_clear()


@contextlib.contextmanager
def visible() -> Iterator[None]:
    """Let `import triton` find the stub inside the block, where the package isn't installed; else do nothing."""
    if not needed() or isinstance(sys.modules.get("triton"), _InertModule):
        yield
        return
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    sys.modules.update(_modules)  # the same modules each time: torch keeps what it imported
    _forget_answers()
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name == "triton" or name.startswith("triton.")]:
            _modules[name] = sys.modules.pop(name)
        _forget_answers()
