"""Regular expressions that are compiled when they are first used: a run needs few of those that it imports."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


def regex(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """What `re.compile` gives, compiled at the first use. Raises re.error then."""
    return cast("re.Pattern[AnyStr]", _Regex(pattern, flags))


class _Regex:
    def __init__(self, pattern: Any, flags: int) -> None:
        self._made_of = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = self.__dict__[name] = getattr(re.compile(*self._made_of), name)  # the next use finds it without this
        return found
