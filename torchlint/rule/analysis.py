"""What is known of a project in one run."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from ..facts import versions
from ..facts.minima import demanded
from ..facts.module import Module
from ..program.context import Context
from ..program.project import Project
from ..program.regions import Regions
from ..program.stated import Stated, project_torch
from ..program.steps import Steps
from ..program.warm_loops import WarmLoops
from ..settings.config import Settings, compiled_in
from ..text.tree import Tree
from ..torch_api.version import LATEST, Range

_LATEST = Range(low=LATEST)
T = TypeVar("T")


class Analysis:
    """Everything that is known of a project in one run."""

    def __init__(self, project: Project, settings: Settings) -> None:
        self.project = project
        self.settings = settings
        self.steps = Steps(project)
        self.warm_loops = WarmLoops(self.steps)
        self.regions = Regions(project, compiled_in(project.paths, settings))
        self.context = Context(project)
        self._trees: dict[str, Tree] = {}
        self.known_torch: dict[str, Range | None] = {}
        """`stated_torch` of the folders that it was asked for."""
        self._stated = Stated()
        self._tests_versions: dict[str, bool] = {}
        self._stated_for: dict[str, Range | None] = {}
        self._kept: dict[Hashable, Any] = {}
        self.dispatches: dict[Hashable, Any] = {}
        """What rules are shown, by scope; an editor keeps them from run to run."""

    def tree(self, module: Module) -> Tree:
        if module.path not in self._trees:
            self._trees[module.path] = Tree(module.text, module.whole_tree, module.look_at)
        return self._trees[module.path]

    def torch(self, module: Module) -> Range:
        """The torch versions that a file is for; the latest where nothing is said of them."""
        return self.stated_for(module) or _LATEST

    def stated_for(self, module: Module) -> Range | None:
        """What the settings, its project or the file itself say of its torch; None where they say nothing."""
        if module.path not in self._stated_for:
            self._stated_for[module.path] = self._told_for(module)
        return self._stated_for[module.path]

    def _told_for(self, module: Module) -> Range | None:
        stated = self.stated_torch(module.path.rpartition("/")[0])
        if self.settings.target_torch is not None or not self.tests_versions(module):
            return stated
        own = self.once(("demanded", module.path), lambda: demanded(module.tree))
        if own == Range():
            return stated
        # A file that refuses what its project asks for is for what it lets itself be imported under.
        return own if stated is None else stated.intersection(own) or own

    def stated_torch(self, folder: str) -> Range | None:
        """What the settings, or the project of the files in a folder, say of its torch; None where they say nothing."""
        if folder not in self.known_torch:
            told = self.settings.at_folder(folder).target_torch
            self.known_torch[folder] = told or project_torch(Path(folder), self._stated)
        return self.known_torch[folder]

    def know_torch(self, known: Mapping[str, Range | None]) -> None:
        """Take over `stated_torch` of some folders, which was looked up elsewhere."""
        self.known_torch.update(known)

    def once(self, key: Hashable, answer: Callable[[], T]) -> T:
        """What is asked several times in a run, worked out at the first time."""
        if key not in self._kept:
            self._kept[key] = answer()
        return self._kept[key]  # type: ignore[no-any-return]

    def tests_versions(self, module: Module) -> bool:
        """Whether the file asks for torch's version anywhere."""
        if module.path not in self._tests_versions:
            self._tests_versions[module.path] = module.source.holds(versions.MENTIONED)
        return self._tests_versions[module.path]
