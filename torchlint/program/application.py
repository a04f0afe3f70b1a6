"""What is known of a project as a whole: whether it is a program, and whether it looks names up as it runs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from itertools import accumulate

from ..facts.module import Module
from ..query.question import question
from ..system.regex import regex
from ..system.stamp import contents
from ..text.declared import WORD, import_text
from ..text.source import Source
from ..text.whole_words import WholeWords
from .finders import fact_of_files
from .project import Project

TOP, ANY_TOP, MEMBER, ANY_MEMBER = "*top", "*any top", "*member", "*any member"
"""What a project may find as it runs, in any file: what stands at its top, or a member; by a name that some text spells, or by any."""
_BY_TEXT = WholeWords(*(b"importlib", b"__import__", b"import_module", b"runpy"))
"""What imports files by a text."""
_BY_WHOLE = regex(rb"\.rsplit\(")
"""How the whole name of a class is divided into that of its file and its own: `path.rsplit(".", 1)`."""
_TARGET = WholeWords(b"_target_")
_BY_TABLE = WholeWords(*(b"pkgutil", b"sys.modules", b"__subclasses__"))
"""What goes through all that there is."""
_PUT_TOGETHER = regex(rb"(?i)camel|\.(?:title|capitalize)\(\)")
"""How a name is made of another one."""
_RUN = (
    regex(rb"\bglobals\(\)"),
    regex(rb"exec\((?<!def exec\()(?<![\w.]exec\()\s*[^)\s]"),
    regex(rb"eval\((?<!def eval\()(?<![\w.]eval\()\s*(?!f?[\"']\w+\.)[^)\s]"),
)
"""What runs a text, or finds by one, what a file has and imports."""
_BY_OPTIONS = regex(rb"(?m)^[ \t]*(?:from|import)[ \t]+(?:hydra|jsonargparse|gin)\b")
_BY_COMMAND = regex(rb"(?m)^[ \t]*(?:from|import)[ \t]+fire\b")
_OPTIONS = (b"hydra", b"jsonargparse", b"gin")
"""What makes objects by the words of a configuration."""
_EVALUATED = (b"eval(", regex(rb"eval\((?<!def eval\()(?<![\w.]eval\()\s*f?[\"'](\w+)\."))
"""What evaluates a text that begins with a name: `eval("networks." + name)` finds what is in `networks`."""
_GETS = rb"getattr\((?<!\wgetattr\()\s{0,99}([A-Za-z_]\w{0,99})(?!\w)[\w.]{0,299}\s{0,99},(?!\s*[\"']\w*[\"']\s*[,)])"
_GIVEN = rb"\s{0,99}[A-Za-z_][\w.]{0,99}\s{0,99}[,)]"
_OF_OBJECT = (
    (b"getattr(", regex(_GETS + rb"(?=%s)" % _GIVEN), MEMBER),
    (b"getattr(", regex(_GETS + rb"(?!%s)" % _GIVEN), ANY_MEMBER),
    (b"vars(", regex(rb"vars\((?<!\wvars\()\s*([A-Za-z_]\w*)"), ANY_MEMBER),
    (b".__dict__", regex(rb"(?<!\w)([A-Za-z_]\w{0,99})(?!\w)[\w.]{0,299}\.__dict__\b"), ANY_MEMBER),
)
"""What looks a member up by a name that is made as the program runs, each with a word of it, and which names it may have; found is the first word of what it is of."""
_MODULE = regex(rb"mod|pack|pkg|lib|arch|net")
"""Part of a name that a parameter has which gets a module, or an object of one."""
_OBJECT = regex(rb"(?:^|_)(?:model|net|module)$")
"""What objects are called, and no files."""


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
_BUILD = regex(rb"(?m)^\[build-system\]")
_COMPILERS = regex(rb"maturin|scikit[-_]build|meson|cmake|bazel|rust")
_MOST_BYTES = 1 << 20
PAGES = ("README.md", "README.rst", "README.txt", "README", "readme.md", "Readme.md", "INSTALL.md")
_SETTINGS = ("pyproject.toml", "setup.py", "setup.cfg")
_INSTALLS = regex(rb"(?i)\b(?:pip3?|conda|mamba|poetry|uv|pdm)\b[^\n`]*?\b(?:install|add)\b([^\n`]*)")
_OFFERED = regex(rb"(?i)\bgit\+|pypi\.org/project/|badge\.fury\.io/py/|shields\.io/pypi|anaconda\.org/")
"""What a page has of a package that others install."""
_EDITABLE = regex(rb"\binstall[ \t][^\n`]*(?:-e|--editable)\b|setup\.py[ \t]+develop\b")
_PUBLISHED = regex(rb"\bclassifiers[\"']?[ \t]*=|\blong_description\b")
"""What is said of a package to an index."""
_NAME = regex(rb"(?m)(?:^|[(,])[ \t]*name[ \t]*=[ \t]*[\"']([\w.-]+)[\"']")
_WORD = regex(rb"[\w.-]+")


@question("library", False)
def is_library(project: Project) -> bool:
    """Whether a project is built or installed for others; the cache is told by its frame."""
    return is_for_others(project.home.root)


def is_for_others(root: str) -> bool:
    """Whether what lies in a directory is loaded from a hub, or is built and others are told how to install it: what is only installed to be worked on is a program."""
    if os.path.exists(os.path.join(root, "hubconf.py")):
        return True
    return _is_installed(root) and _is_offered(root)


def _is_installed(root: str) -> bool:
    return os.path.exists(os.path.join(root, "setup.py")) or is_built(root)


def _is_offered(root: str) -> bool:
    """Whether a page of a project tells how to install it by its name, or from another place, its settings are made to be published, or there is no page."""
    pages, settings = _contents(root, PAGES), _contents(root, _SETTINGS)
    if not pages or any(map(_OFFERED.search, pages)):
        return True
    if any(map(_PUBLISHED.search, settings)) and not any(map(_EDITABLE.search, pages)):
        return True
    names = {_plain(name) for text in settings for name in _NAME.findall(text)}
    given = (_plain(word) for page in pages for line in _INSTALLS.findall(page) for word in _WORD.findall(line))
    return not names or not names.isdisjoint(given)


def _plain(name: bytes) -> bytes:
    """The name of a package as an index knows it."""
    return re.sub(rb"[-_.]+", b"-", name).lower().strip(b"-")


def _contents(root: str, names: Iterable[str]) -> list[bytes]:
    found = []
    for name in names:
        with suppress(OSError):
            found.append(contents(os.path.join(root, name), _MOST_BYTES))
    return found


@question("application", False)
def is_application(project: Project) -> bool:
    """Whether a project is a program and no library: scripts stand at its top, or anywhere but in its tests, examples and docs.

    A script at the top may leave all that has to do with torch to the files that it imports.

    What lies beside an `__init__.py` may be a part of a package, whose users lie elsewhere.
    """
    if is_library(project):
        return False
    if _is_installed(project.home.root):
        return _has_script_beside(project)
    if project.any_holds(_SCRIPT, _SCRIPTS, word=b"__name__"):
        return True
    if project.any_holds(b"", r"__init__\.py$"):
        return False
    return project.any_holds(_TORCH, _TOP) or _starts_own_files(project)


def _has_script_beside(project: Project) -> bool:
    """Whether a script lies in no package of what is installed: `train.py` or `tools/train.py` beside `lib/__init__.py`."""
    scripts = sorted(map(project.home, project.holders(_SCRIPT, word=b"__name__")))
    return any(re.match(_SCRIPTS, place) and place != "setup.py" and not _packages(project, place) for place in scripts)


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


def is_built(root: str) -> bool:
    """Whether the `pyproject.toml` of a directory says how to build a package; the cache is told by its key."""
    return _says(root, _BUILD)


def is_compiled(root: str) -> bool:
    """Whether the `pyproject.toml` of a directory names what builds more than Python, and is told elsewhere what of."""
    return _says(root, _COMPILERS)


def _says(root: str, pattern: re.Pattern[bytes]) -> bool:
    with suppress(OSError):
        return pattern.search(contents(os.path.join(root, "pyproject.toml"), _MOST_BYTES)) is not None
    return False


def looks_up(project: Project, module: Module, *marks: str) -> bool:
    """Whether a project may find what a file defines by a name that it makes as it runs: `vars(models)[name]`.

    `marks`: also where it may find these in any file.
    """
    places = project.home(module.path).removesuffix(".py").split("/")
    imported = (places[-1], *module.top_classes, *module.top_functions)
    return bool({*marks, *places, *(f"={name}" for name in imported)} & looked_into(project))


@question("looked into", frozenset())
def looked_into(project: Project) -> frozenset[str]:
    """The words by which a project names modules whose members it looks up, with what it may find in any; behind `=` what files import that run texts."""
    said = project.said("looked into", _looked_into)
    return frozenset(word for path, words in said.items() for word in words if not project.in_test(path, ""))


@fact_of_files("looked into")
def _looked_into(source: Source) -> list[str]:
    imports = source.fact("imports", import_text)
    named = any(word in imports for word in _OPTIONS) and source.holds(_BY_OPTIONS)
    found = {TOP} if named or source.holds(_TARGET) else set[str]()
    if source.holds(_BY_TEXT):
        found.add(TOP if source.holds(_BY_WHOLE) else ANY_TOP)
    if source.holds(_BY_TABLE):
        found.add(ANY_TOP)
    if any(source.holds(one) for one in _RUN):
        found.update(f"={word.decode('latin-1')}" for word in WORD.findall(imports))
    if b"fire" in imports and source.holds(_BY_COMMAND):
        found.update((ANY_TOP, ANY_MEMBER))
    owners = {(word, mark) for word, pattern, mark in _OF_OBJECT for word in _found(source, word, pattern)}
    for owner, mark in owners:
        if _MODULE.search(owner):
            mark = ANY_MEMBER if source.holds(_PUT_TOGETHER) else mark
            found.add(mark)
            if not _OBJECT.search(owner):
                found.add(TOP if mark == MEMBER else ANY_TOP)
        found.update(_imported_with(source, owner))
    for owner in set(_found(source, *_EVALUATED)):
        found.update(_imported_with(source, owner) or {ANY_TOP, ANY_MEMBER})
    return sorted(found)


def _found(source: Source, word: bytes, pattern: re.Pattern[bytes]) -> list[bytes]:
    return pattern.findall(source.data) if source.holds(word) else []


def _imported_with(source: Source, name: bytes) -> set[str]:
    """The words of the lines of a file that import a name."""
    if name not in source.fact("imports", import_text):
        return set()
    lines = re.findall(rb"(?m)^[ \t]*(?:from|import)\b[^\n#]*\b%s\b" % name, source.data)
    return {word.decode("latin-1") for line in lines for word in WORD.findall(line)}
