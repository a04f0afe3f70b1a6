"""The files of a project that are no modules, and may import some: scripts without an ending, and what runs commands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from ..facts.module import Module
from ..facts.taken import may_be_taken
from ..query.question import question
from ..system.stamp import contents
from ..text.source import Source, SourceError
from ..text.whole_words import whole_word
from .project import Project
from .spelled import ASIDE, MOST_BYTES, Found, below

_ENDINGS = (".mk", ".sh", ".bash", ".slurm", ".sbatch")


def scripts(root: str) -> Found:
    """Such files below the directory of a project, by what they are called."""
    return below(root, ASIDE, lambda name: name.endswith(_ENDINGS) or "." not in name)


def importing(found: Found) -> Iterator[Source]:
    """Those of some files that import anything."""
    for path in found.paths:
        with suppress(OSError, SourceError):
            data = contents(path, MOST_BYTES)
            if b"import" in data:
                yield Source.of(path, data)


@question("importing scripts", ())
def _importing(project: Project) -> tuple[Source, ...]:
    """The cache is told by its frame."""
    return tuple(importing(scripts(project.home.root)))


@question("may be taken", False)
def is_handed_out(project: Project, module: Module, name: str) -> bool:
    """Whether another file of a project may have what an import binds to a name in a module, whatever kind of file it is."""

    def others(word: bytes) -> Iterator[Source]:
        paths = project.holders(whole_word(word.decode()).pattern, word=word) - {module.path}
        yield from (source for path in sorted(paths) if (source := project.source(path)) is not None)
        yield from (source for source in _importing(project) if source.mentions(word))

    return may_be_taken(module.path, name, others)
