"""What the configurations of a program spell: a class that it makes by a text has its name there, and a file that they start; and which methods its pages show calls of."""

from __future__ import annotations

from ..query.question import question
from .project import Project
from .spelled import configurations, names_in


@question("configured", None)
def configured(project: Project) -> frozenset[str] | None:
    """The names that the configurations of a project spell, None where nobody can tell; the cache is told by its frame."""
    return names_in(configurations(project.home.root))
