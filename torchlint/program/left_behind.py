"""Files of a project that no run of it gets through: those that others have replaced, and those whose imports fail."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..facts.module import Module
from ..facts.nodes import spelled
from ..query.question import question
from ..system.regex import regex
from ..system.stamp import as_bytes
from ..text.whole_words import whole_word
from .application import IS_SCRIPT, is_application, is_library
from .configured import configured
from .definitions import origins
from .files import OUTSIDE
from .installed import is_compiled
from .looked_up import ANY_TOP, TOP, looks_up
from .project import Project
from .taking import defining, naming, says

_MAKES_NAMES = regex(
    rb"(?m)\bglobals\(\)|\bexec\(|\b__getattr__\b|\b__path__\b|\bsetattr\(|\bsys\.modules\b|^[ \t]*from\b.*\bimport[ \t]*\*"
)
"""How a file may have names that its text does not spell."""
_MADE = regex(r"version|pb2")
"""Part of the name of a file that is made where a package is built."""
_LISTS = regex(rb"(?m)^__all__ = \[")
_BUILDS = rb"\bext_modules\b|Extension\b|\bcythonize\b|\bsetup\("
"""What a file holds that has others built."""
_FINDS = rb"\b__path__\b|\bmeta_path\b|\bsys\.modules\[(?!__name__\b)"
"""How a project may have modules found in other places than where they are looked for."""
_STARTED = frozenset("__init__ __main__ app cli conftest main run setup train".split())
"""What files are called that nobody imports."""
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Pass)


@question("left behind", False)
def is_left_behind(project: Project, module: Module) -> bool:
    """Whether nothing of a file ever runs: nobody imports it any more, or it ends at an import."""
    return ends_at_import(project, module) or _is_not_imported(project, module)


def ends_at_import(project: Project, module: Module) -> bool:
    """Whether a file imports, at its top and whatever comes, what the project does not have."""
    return bool(lacking(project, module)) or _lacks_file(project, module)


@question("lacking names", frozenset())
def lacking(project: Project, module: Module) -> frozenset[str]:
    """The names that a file imports at its top, whatever comes, of files of the project that do not have them: it ends there."""
    taken = (alias.asname or alias.name for one in _sure_imports(module) for alias in one.names)
    return frozenset(name for name in taken if _is_lacking(project, module, module.imports.get(name, "")))


def _sure_imports(module: Module) -> Iterator[ast.ImportFrom]:
    return (one for statement in module.statements for one in _surely_imported(statement))


def _surely_imported(statement: ast.stmt) -> list[ast.ImportFrom]:
    """The imports of a statement at the top of a file that end the file where they fail."""
    match statement:
        case ast.ImportFrom():
            return [statement]
        case ast.Try(body=body, handlers=handlers) if all(isinstance(one.body[-1], ast.Raise) for one in handlers):
            return [one for one in body if isinstance(one, ast.ImportFrom)]
    return []


def _lacks_file(project: Project, module: Module) -> bool:
    """Whether a file imports, at its top, one of the project that is not there: `from .trainer import Trainer` in a folder that it was moved to."""
    missing = [one for one in _sure_imports(module) if _is_missing(project, module, one)]
    return bool(missing) and not project.any_holds(_FINDS)


def _is_missing(project: Project, module: Module, statement: ast.ImportFrom) -> bool:
    """Whether there is no file, folder or built part of the name that an import begins with."""
    parts = (statement.module or "").split(".")
    # `from . import x` asks the package itself, and nobody tells what lies above the project.
    if not parts[0] or any(one.startswith("_") or _MADE.search(one) for one in parts):
        return False
    above = _looked_for_in(project, module, statement.level, parts)
    if above is None:
        return False
    place = "/".join((*above, *parts))
    inside = (path for alias in statement.names for path in project.called(alias.name))
    if any(project.home(path).startswith((f"{place}.", f"{place}/")) for path in (*project.called(parts[-1]), *inside)):
        return False
    return not project.lies(place) and not _is_built(project, parts[-1])


def _looked_for_in(project: Project, module: Module, level: int, parts: list[str]) -> list[str] | None:
    """The folders above which a module is looked for; None where that may be anywhere."""
    own = project.home(module.path).split("/")
    if level:
        return own[:-level] if level <= len(own) else None
    if len(parts) < 2:
        return None
    # Python looks first beside the script that it runs, and for parts of a package where it has found that; what lies in `src` is installed.
    likely = [own[:-1]] * module.source.holds(IS_SCRIPT) + [[]] * (own[0] == parts[0]) + [["src"]]
    packages = {project.home(path) for path in project.called(parts[0])}
    known = (folder for folder in likely if "/".join((*folder, parts[0], "__init__.py")) in packages)
    above = next(known, None)
    if above is None or any(_ends_with(project.home(path), parts) for path in project.called(parts[-1])):
        return None
    return above if project.find(".".join(parts), module) is None else None


def _ends_with(place: str, parts: list[str]) -> bool:
    """Whether a file may be what a dotted name stands for, from some folder on."""
    tail = "/".join(parts)
    return f"/{place}".endswith((f"/{tail}.py", f"/{tail}/__init__.py"))


def _is_not_imported(project: Project, module: Module) -> bool:
    """Whether nobody imports a file of an application, and another one replaces it or comments alone name what is in it: else it may be new."""
    if not _is_part(project, module) or _is_imported(project, module) or not _only_defines(module.statements):
        return False
    if _is_spelled(project, module) or looks_up(project, module, TOP):
        return False
    return _is_replaced(project, module) or _is_commented_out(project, module)


@question("idle", False)
def is_idle(project: Project, module: Module) -> bool:
    """Whether no import of an application names a file of it that is no script, nor a configuration or another text: it may be new, or forgotten."""
    if not _is_part(project, module) or not _defined(module) or project.importers(module.path):
        return False
    if not _only_defines(module.statements):
        return False
    names = configured(project)
    spelled = names is None or not names.isdisjoint((module.name.rpartition(".")[2], *module.top_classes))
    return not spelled and not _is_spelled(project, module)


def _is_part(project: Project, module: Module) -> bool:
    """Whether a file of an application is there for others: it lies in a folder, under a name that says of no use by itself."""
    stem = module.name.rpartition(".")[2]
    if "/" not in project.home(module.path) or stem in _STARTED:
        return False
    return is_application(project)


def _is_spelled(project: Project, module: Module) -> bool:
    """`python losses.py`, "losses" in a table of what is there; or whether files are found by names that are made as a program runs."""
    stem = as_bytes(module.name.rpartition(".")[2])
    written = rb"[\"'./]%s(?:[\"']|\.(?:py\b|\w+[\"']))" % re.escape(stem)
    return project.any_holds(written, word=stem) or looks_up(project, module, ANY_TOP)


def _is_imported(project: Project, module: Module) -> bool:
    """Whether another file may import one, or take something of it; what has its name may be another one."""
    users = project.modules_for_imports(project.importers(module.path))
    folder = project.home(module.path).split("/")[-2]
    stem = module.name.rpartition(".")[2]
    return any(
        as_bytes(f"{folder}.{stem}") in project.import_text(user.path)
        or any(_may_lead_to(project, user, origin.split("."), module.path, stem) for origin in origins(user))
        for user in users
    )


def _may_lead_to(project: Project, user: Module, parts: list[str], path: str, stem: str) -> bool:
    """Whether a dotted name may lead to a file of that name: not `losses.dice.Dice` to utils/dice.py."""
    if stem not in parts or parts[0] in OUTSIDE:
        return False
    end = parts.index(stem) + 1
    return end == 1 or project.find(".".join(parts[:end]), user) in (None, path)


def _is_replaced(project: Project, module: Module) -> bool:
    """Whether each class and function of a file is defined in another one, too, that others import.

    What else nobody imports may be there to choose from: a model of which the import in a script is exchanged. But for one
    that is called the same as a file that is imported and has half of what it has, where nothing names the rest.
    """
    names = _defined(module)
    rest = [name for name in names if not _is_imported_from(project, defining(project, module, name))]
    if not rest:
        return bool(names)
    alike = [path for path in project.called(module.name.rpartition(".")[2]) if path != module.path]
    shared = [name for name in names if _is_imported_from(project, defining(project, module, name) & {*alike})]
    return 2 * len(shared) >= len(names) and not any(_is_named_elsewhere(project, module, name) for name in rest)


def _defined(module: Module) -> list[str]:
    return [*module.top_classes, *module.top_functions]


def _is_commented_out(project: Project, module: Module) -> bool:
    """Whether others name what a file defines in comments alone: `# test = FeatureTest(loader)`, where it was used before."""
    named = [(name, naming(project, module, name)) for name in _defined(module) if name.isascii()]
    known = any(paths for _, paths in named)
    return known and not any(says(project, path, name) for name, paths in named for path in sorted(paths))


def _is_imported_from(project: Project, paths: frozenset[str]) -> bool:
    return any(project.importers(path) for path in paths)


def _is_named_elsewhere(project: Project, module: Module, name: str) -> bool:
    """Whether the code of another file has a name; a comment may say what was there before."""
    return any(
        name == (node.name if isinstance(node, ast.alias) else spelled(node))
        for other in project.modules(sorted(naming(project, module, name)))
        for node in ast.walk(other.whole_tree())
    )


def _only_defines(body: list[ast.stmt]) -> bool:
    """Whether statements do nothing but define functions, classes and what takes none of these to make."""
    own = {one.name for one in body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
    return all(_defines(one, own) for one in body)


def _defines(statement: ast.stmt, own: set[str]) -> bool:
    if isinstance(statement, ast.Try):
        handled = (part for handler in statement.handlers for part in handler.body)
        return all(_defines(one, own) for one in (*statement.body, *handled, *statement.orelse, *statement.finalbody))
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        called = (part.func for part in ast.walk(statement) if isinstance(part, ast.Call))
        return not any(isinstance(func, ast.Name) and func.id in own for func in called)
    return isinstance(statement, _DEFINITIONS)


def _is_lacking(project: Project, module: Module, dotted: str) -> bool:
    """Whether all files that a name may be imported from lack it."""
    origin, _, name = dotted.rpartition(".")
    found = project.find(origin, module) if origin and name.isascii() else None
    if found is None or _has_word(project, found, name) or _is_out_of_reach(project, module, origin, found):
        return False
    parts = origin.split(".")
    likely = [path for path in project.called(parts[-1]) if _ends_with(project.home(path), parts)]
    if found not in likely or project.find(dotted, module) is not None:
        return False
    if any(_has_word(project, path, name) or project.holds(path, _MAKES_NAMES) for path in likely):
        return False
    return not any(path.endswith("__init__.py") and _may_have_part(project, path, name) for path in likely)


def _is_out_of_reach(project: Project, module: Module, origin: str, found: str) -> bool:
    """Whether a script imports by one word a file of another folder, where Python looks for it last, if at all."""
    if "." in origin or found.endswith("__init__.py") or not module.source.holds(IS_SCRIPT):
        return False
    own, other = (project.home(path).rpartition("/")[0] for path in (module.path, found))
    return own != other


def _has_word(project: Project, path: str, name: str) -> bool:
    word = as_bytes(name)
    return project.holds(path, whole_word(name), frozenset((word,)))


def _may_have_part(project: Project, package: str, name: str) -> bool:
    """Whether a package may have a part that is not among the files of the project: one that is built, or each makes for himself.

    Only what is installed, is Python alone, and says in `__all__` what it has is known to have no other.
    """
    if name.startswith("_") or _MADE.search(name) or not is_library(project) or is_compiled(project.home.root):
        return True
    folder = project.home(package).removesuffix("__init__.py")
    if not project.holds(package, _LISTS) or project.any_holds(b"", re.escape(folder + name) + r"[./]"):
        return True
    return _is_built(project, name)


def _is_built(project: Project, name: str) -> bool:
    """Whether a file that has others built has a name."""
    return bool(project.holders(whole_word(name).pattern, word=as_bytes(name)) & project.holders(_BUILDS))
