"""Settings for a process that has another working directory, and maybe another disk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from ..settings.config import Settings


@dataclass(frozen=True)
class Elsewhere(Settings):
    """The settings of a run in another directory, and maybe on another disk."""

    directory: Path = Path()
    others: Mapping[str, Elsewhere] = field(default_factory=dict, compare=False)
    """Those of the files and directories that have others."""

    def at(self, path: Path | str) -> Settings:
        return self.others.get(str(path), self)

    def at_folder(self, folder: str) -> Settings:
        return self.at(folder)

    def enabled(self, path: Path | str) -> frozenset[str]:
        here = self.at(path)
        return Settings.enabled(here, self.directory / path)


def elsewhere(settings: Settings, paths: Iterable[str]) -> Elsewhere:
    """The settings as another process takes them with it, with those of some files."""

    def moved(one: Settings, **more: Any) -> Elsewhere:
        options = {item.name: getattr(one, item.name) for item in fields(one) if item.name != "closest"}
        return Elsewhere(**options, directory=Path.cwd(), **more)

    known = {path: settings.at(path) for path in paths}
    known.update({folder: settings.at_folder(folder) for folder in {path.rpartition("/")[0] for path in known}})
    made = {id(one): moved(one) for one in known.values() if one is not settings}
    return moved(settings, others={path: made[id(one)] for path, one in known.items() if one is not settings})
