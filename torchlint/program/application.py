"""Whether a project is a program or a library, and which files of a library are programs."""

from __future__ import annotations

import re
from itertools import accumulate

from ..facts.module import Module
from ..query.question import question
from ..system.regex import regex
from .installed import is_for_others, is_installed, is_offered, started
from .project import Project

_TORCH = rb"\btorch\b"
_SCRIPT = rb"(?m)\A(?=[\s\S]*\btorch\b)(?=[\s\S]*^if __name__ == )"
_MAIN = rb"(?m)^if __name__ == "
IS_SCRIPT = regex(_MAIN)
_PACKAGES = regex(rb"\bpackages[ \t]*=[ \t]*(?:(?:setuptools\.)?find_packages\(|\[)")
"""How `setup.py` says which packages are installed."""
_LISTED = regex(rb"\bpackages[ \t]*=[ \t]*\[")
"""How it lists them."""
_ANY_PACKAGES = regex(rb"\bfind_namespace\w*|\bpy_modules\b|\bpackages[ \t]*\+=|PEP420")
"""How it may install what lies in no package."""
_TOP = r"[^/]+\.py$"
_SCRIPTS = r"(?!(?:.*/)?(?:tests?|examples?|docs?|benchmarks?|tutorials?)/).*\.py$"
"""Where the scripts of a program may lie that has none at its top: not where a library has what shows, tries or tells of it."""


@question("library", False)
def is_library(project: Project) -> bool:
    """Whether a project is built or installed for others; the cache is told by its frame."""
    if _called_so(project, "hubconf", "hubconf.py") or is_for_others(project.home.root):
        return True
    return _is_installed(project) and is_offered(project.home.root)


def _is_installed(project: Project) -> bool:
    """Whether a project can be installed; one that is given as texts lies nowhere."""
    return _called_so(project, "setup", "setup.py") is not None or is_installed(project.home.root)


@question("application", False)
def is_application(project: Project) -> bool:
    """Whether a project is a program and no library: scripts stand at its top, or anywhere but in its tests, examples and docs.

    A script at the top may leave all that has to do with torch to the files that it imports.

    What lies beside an `__init__.py` may be a part of a package, whose users lie elsewhere.
    """
    if is_library(project):
        return False
    if _is_installed(project):
        return _has_script_beside(project)
    if project.any_holds(_SCRIPT, _SCRIPTS, word=b"__name__"):
        return True
    if project.any_holds(b"", r"__init__\.py$"):
        return False
    return project.any_holds(_TORCH, _TOP) or _starts_own_files(project)


def _has_script_beside(project: Project) -> bool:
    """Whether a script lies in no package of what is installed, `train.py` or `tools/train.py` beside `lib/__init__.py`, or a page tells to start one."""
    found = frozenset(map(project.home, project.holders(_SCRIPT, word=b"__name__")))
    # What a page tells to start need not ask whether it is started.
    told = {place for place in started(project.home.root) if _called_so(project, _stem(place), place)}
    return any(
        _is_script(place) and (not _packages(project, place) or place in found & told) for place in sorted(found | told)
    )


def _stem(place: str) -> str:
    return place.rpartition("/")[2].removesuffix(".py")


def _is_script(place: str) -> bool:
    """Whether a file may be a script of a program by where it lies."""
    return re.match(_SCRIPTS, place) is not None and place != "setup.py"


def _packages(project: Project, place: str) -> list[str]:
    """The packages that a file lies in, or that a folder above it is."""
    folders = place.split("/")[:-1]
    chain = zip(accumulate(folders, "{}/{}".format), folders, strict=True)
    return [folder for folder, name in chain if _called_so(project, name, f"{folder}/__init__.py")]


@question("apart", False)
def is_apart(project: Project, module: Module) -> bool:
    """Whether a file of a library is a program by itself, or one of its files: tests apart, a script that nobody imports and that lies in no package, or a file that is not installed."""
    folders = project.home(module.path).split("/")[:-1]
    if not folders or project.in_test(module.path, ""):
        return False
    packages = _packages(project, project.home(module.path))
    if not packages and module.source.holds(IS_SCRIPT) and not project.importers(module.path):
        return True
    setup = _called_so(project, "setup", "setup.py")
    if setup is None or not project.holds(setup, _PACKAGES) or project.holds(setup, _ANY_PACKAGES):
        return False
    if any(_called_so(project, "setup", f"{folder}/setup.py") for folder in accumulate(folders, "{}/{}".format)):
        return False
    # What is looked for is found where each folder above it is a package, too.
    if folders[0] in packages and not project.holds(setup, _LISTED):
        return False
    return not any(project.writes(setup, f"{quote}{folders[0]}") for quote in "\"'")


def _called_so(project: Project, stem: str, place: str) -> str | None:
    """The file of a project that lies at a place."""
    return next((path for path in project.called(stem) if project.home(path) == place), None)


def _starts_own_files(project: Project) -> bool:
    """Whether a script at the top of a project imports from a folder of it."""
    scripts = [path for path in project.holders(_MAIN, word=b"__name__") if "/" not in project.home(path)]
    folders = {home.partition("/")[0] for path in project.paths if "/" in (home := project.home(path))}
    return any(folders & {word.decode("latin-1") for word in project.import_words(path)} for path in scripts)
