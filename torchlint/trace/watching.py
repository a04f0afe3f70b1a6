"""What looks on at operators without being seen by the compiler."""

from __future__ import annotations

from torch.utils._python_dispatch import TorchDispatchMode


class Watching(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A mode that Dynamo compiles past, as if it were not there."""

    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    @classmethod
    def is_infra_mode(cls) -> bool:  # else Dynamo skips every frame (torch up to 2.9)
        return True

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        return True
