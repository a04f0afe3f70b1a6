"""What an application has and nothing of it names: what its scripts took over with a file, and left."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator

from ..facts.module import Class, Function, Module
from ..facts.nodes import callee, root_of, spelled
from ..facts.units import outermost
from ..query.question import question
from ..system.regex import regex
from ..system.stamp import as_bytes
from ..text.finders import fact_of_words
from ..text.source import Source
from ..text.spoken import in_code
from ..text.whole_words import whole_word
from .application import IS_SCRIPT, is_apart, is_application
from .configured import configured
from .left_behind import ends_at_import, is_idle, is_left_behind, lacking
from .looked_up import ANY_MEMBER, ANY_TOP, MEMBER, TOP, looks_up
from .project import Project
from .taking import naming, takers, takers_by_name, uses
from .together import are_together

Takers = Callable[[Project, Module, str, frozenset[str]], Iterator[str]]

_AT_RUN_TIME = regex(
    rb"\bglobals\(\)|(?<!def )(?<![\w.])(?:eval|exec)\(\s*[^)\s]|(?<!\bself\.)\b__dict__\b|\bvars\((?!\s*(?:self|args)\s*\))"
)
"""How a file may call its own functions by names that are made as it runs: not by what an object or a command line has."""
_BY_PARTS = regex(rb"\bgetattr\(\s*[\w.\[\]]+\s*,(?!\s*[\"']\w*[\"']\s*[,)])")
"""How a method may be called by a name that no text spells."""
_NOT_IMPORTED = "nothing here imports this file"
_STARTS = frozenset(("main", "setup"))
"""Functions that others start a program by."""
_PLAIN_BASES = frozenset(
    """torch.nn.Module torch.nn.Sequential torch.nn.modules.loss._Loss torch.utils.data.Dataset torch.utils.data.IterableDataset
    torch.utils.data.Sampler torch.autograd.Function torch.optim.Optimizer torch.optim.optimizer.Optimizer
    torch.optim.lr_scheduler.LRScheduler torch.optim.lr_scheduler._LRScheduler object abc.ABC""".split()
)
"""Bases of which it is known what their users call."""
_CALLED_BY_BASES = frozenset(
    "forward backward setup_context vmap jvp symbolic extra_repr train eval to cuda cpu half float double apply state_dict"
    " load_state_dict parameters named_parameters children named_children modules named_modules buffers named_buffers"
    " step get_lr add_param_group zero_grad requires_grad_ register_buffer register_parameter add_module reset_parameters collate_fn".split()
)
"""Methods of these bases, and what other libraries call on their objects."""
_HOW_IT_RUNS = frozenset(
    ("torch.no_grad", "torch.inference_mode", "torch.enable_grad", "torch.compile", "torch.jit.script")
)
"""Decorators that hand a function to nobody."""
_SPELLED = rb"[\"'][\w./:-]*\bNAME\b[\w./:-]*[\"']"
"""A text that may lead to a name, where a program finds something by texts."""
_BY_PREFIX = ("__", "on_", "test")
"""Names by which frameworks find methods."""


def why_unused(project: Project, function: Function, place: ast.AST | None = None) -> str:
    """Why no run of an application gets to a place, "" where one may: nobody names its function, class, method or file.

    Others have to import the file, or it has to be a script, or nobody can tell what it is for; what a library has is for
    those who install it. A name that cannot be imported is what ends the file, and runs.
    """
    module = function.module
    if is_left_behind(project, module):
        root = root_of(place, ast.Attribute, ast.Subscript, ast.Call) if isinstance(place, ast.expr) else None
        if root is not None and root.id in lacking(project, module):
            return ""
        return "an import that fails ends this file" if ends_at_import(project, module) else _NOT_IMPORTED
    if is_idle(project, module):
        return _NOT_IMPORTED
    if not _is_of_program(project, module):
        return ""
    top = outermost(function)
    if top is module.body or top.name in _STARTS:
        return ""
    if top.cls is None:
        unused = top.name if not _is_registered(project, top) and _is_unused(project, top) else ""
    elif is_unused_class(project, top.cls):
        unused = top.cls.name
    else:
        unused = top.name if _is_unused_method(project, top) else ""
    return f"nothing that runs here uses `{unused}`" if unused else ""


def _is_of_program(project: Project, module: Module) -> bool:
    return is_application(project) or is_apart(project, module)


@question("unused", False)
def _is_unused(project: Project, function: Function) -> bool:
    module = function.module
    if module.source.holds(_AT_RUN_TIME) or _is_used(project, module, function.name, function.is_stated_by):
        return False
    return not looks_up(project, module)  # asks all files


def _may_be_configured(project: Project, name: str) -> bool:
    """Whether a text of a program, or a configuration, may spell the name of a class."""
    if not name[:1].isupper() or _spellers(project, name):
        return True
    names = configured(project)
    return names is None or name in names


def _is_registered(project: Project, function: Function) -> bool:
    """Whether a decorator may give a function to others: one of torch that decides how it runs does not."""
    decorators = (project.resolve(function.module.body, callee(one)) for one in function.decorators)
    return any(name not in _HOW_IT_RUNS for name in decorators)


@question("unused class", False)
def is_unused_class(project: Project, klass: Class) -> bool:
    """Whether nothing but tests, and what others import it by, names a class: an application does not use it, a library offers it."""
    module = klass.module
    if klass.decorators or klass.parent is not module.body or not is_plain(project, klass):
        return False
    if _is_used(project, module, klass.name, klass.is_stated_by):
        return False
    # Nobody who finds models by a text looks for a function of autograd.
    if project.is_autograd_function(klass):
        return not looks_up(project, module)
    if looks_up(project, module, ANY_TOP):
        return False
    return not (looks_up(project, module, TOP) and _may_be_configured(project, klass.name))


@question("unused method", False)
def _is_unused_method(project: Project, method: Function) -> bool:
    klass, module, name = method.cls, method.module, method.name
    assert klass is not None
    if (
        name in _CALLED_BY_BASES
        or name.startswith(_BY_PREFIX)
        or method.decorator_names - {"staticmethod", "classmethod"}
    ):
        return False
    if not is_plain(project, klass) or not _is_named_nowhere_else(project, module, name):
        return False
    if name in (configured(project) or ()):  # a page shows how it is called
        return False
    # asks all files
    if looks_up(project, module, ANY_MEMBER) or (looks_up(project, module, MEMBER) and _spellers(project, name)):
        return False
    return not module.source.holds(_BY_PARTS) and not _is_named(project, module, name, method.node)


def is_plain(project: Project, klass: Class) -> bool:
    """Whether a class inherits from nothing that may look for it, or for methods of it, by itself."""
    return all(
        not one.keywords and "__init_subclass__" not in one.methods and project.has_plain_bases(one, _PLAIN_BASES)
        for one in project.ancestry(klass)
    )


def _is_used(project: Project, module: Module, name: str, defines: Callable[[ast.AST], bool]) -> bool:
    """Whether an application may use what is called so: more than itself, and what its file does not use either, has the name."""
    # Where other letters begin and end is not told by the bytes of a text.
    if not name.isascii() or _is_used_at_home(project, module, name, defines):
        return True
    if project.importers(module.path):
        return _is_used_elsewhere(project, module, name, takers)
    if not _is_of_script(module, name) and not _is_found_without(project, module, name):
        return True
    return _is_used_elsewhere(project, module, name, takers_by_name)


def _is_found_without(project: Project, module: Module, name: str) -> bool:
    """Whether a configuration leads to a file that nobody imports, `_target_: models.unet.UNet`, and none spells a name of it."""
    names = configured(project)
    stem = module.name.rpartition(".")[2]
    return names is not None and stem in names and name not in names and looks_up(project, module, TOP)


def _is_used_elsewhere(project: Project, module: Module, name: str, taken_by: Takers) -> bool:
    """Whether another file may take a name from one; what it calls so itself, `ssim = measure(x)`, is another thing."""
    others = naming(project, module, name)
    if any(_runs_with(project, module, path, name) for path in taken_by(project, module, name, others)):
        return True
    spelled_by = others & _spellers(project, name)
    return bool(spelled_by and looks_up(project, module, TOP, ANY_TOP))


def _spellers(project: Project, name: str) -> frozenset[str]:
    """The files that have a name in a text, `__all__` apart."""
    word = as_bytes(name)
    holders = project.holders(_SPELLED.replace(b"NAME", word), word=word)
    return frozenset(path for path in holders if uses(project, path, name))


def _runs_with(project: Project, module: Module, path: str, name: str) -> bool:
    """Whether a program may run a file and what of another one has a name: not what nobody uses, a file that ends at an import, nor a test."""
    # What is found by texts may be brought together by a configuration.
    if not are_together(project, module.path, path) and not looks_up(project, module, TOP, ANY_TOP):
        return False
    if project.in_test(path, "") and not project.in_test(module.path, ""):
        return False
    user = project.module(path)
    if user is None:
        return True
    if is_left_behind(project, user):
        return False
    if not _is_of_program(project, user):
        return True
    naming = [one for one in user.whole_tree().body if _is_named_in(one, name)]
    return not naming or not all(
        _is_unused_part(project, user, one) or _names_idly(project, user, one, name) for one in naming
    )


def _is_named_in(statement: ast.stmt, name: str) -> bool:
    """Whether a statement has a name, as a text too; an import, or `__all__`, that hands it to others is no use."""
    if _is_all(statement):
        return False
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return any(alias.asname is not None and alias.name.endswith(name) for alias in statement.names)
    return _spells(statement, name)


def _is_used_at_home(project: Project, module: Module, name: str, defines: Callable[[ast.AST], bool]) -> bool:
    """Whether a file has a name anywhere but in its definition, in `__all__` and in what is not used itself."""
    held = module.lines_holding(name)
    if len({*held}) == 1:
        return False  # where it is defined
    naming = (
        one
        for one in module.statements
        if not defines(one) and _holds_one(one, held) and any(name == spelled(node) for node in ast.walk(one))
    )
    return not all(_is_all(one) or _is_unused_part(project, module, one) for one in naming)


def _holds_one(statement: ast.stmt, lines: list[int]) -> bool:
    """Whether one of several lines is of a statement, or of what decorates it."""
    first = min((one.lineno for one in getattr(statement, "decorator_list", ())), default=statement.lineno)
    return any(first <= line <= (statement.end_lineno or first) for line in lines)


def _is_all(statement: ast.stmt) -> bool:
    """`__all__ = [...]`: what is handed to `import *`."""
    return isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__"


def _is_unused_part(project: Project, module: Module, statement: ast.stmt) -> bool:
    match statement:
        case ast.ClassDef(name=name) if (klass := module.top_classes.get(name)) is not None:
            return klass.is_stated_by(statement) and is_unused_class(project, klass)
        case ast.FunctionDef(name=name) if (function := module.top_functions.get(name)) is not None:
            if function.node is not statement or name in _STARTS or _is_registered(project, function):
                return False
            return _is_unused(project, function)
    return False


def _is_of_script(module: Module, name: str) -> bool:
    """Whether a file is a script, and has a name once in its code: where it defines it."""
    source = module.source
    return source.holds(IS_SCRIPT) and source.fact(f"once in code {name}", lambda text: is_once_in_code(text, name))


@fact_of_words("once in code")
def is_once_in_code(source: Source, name: str) -> bool:
    """Whether a name stands in one place of a text that is no comment."""
    return len([*itertools.islice(in_code(source.data, whole_word(name)), 2)]) == 1


def _is_named_nowhere_else(project: Project, module: Module, name: str) -> bool:
    """Whether a file that others of an application import, or one of its scripts, is the only one that has a name in its code."""
    word, named = as_bytes(name), whole_word(name)
    if not (project.importers(module.path) or _is_of_script(module, name)):
        return False
    # Before all texts are searched for the name: `Projection` is no part of `ProjectionHelper`.
    likely = (path for path in project.named_by(module, name) if project.holds(path, named, frozenset((word,))))
    if any(_is_used_by(project, module, path, name) for path in likely):
        return False
    return not any(_is_used_by(project, module, path, name) for path in sorted(naming(project, module, name)))


def _is_used_by(project: Project, module: Module, path: str, name: str) -> bool:
    return uses(project, path, name) and _runs_with(project, module, path, name)


def _is_named(project: Project, module: Module, name: str, definition: ast.AST) -> bool:
    """Whether what a file uses has a name anywhere but where it is defined and where it is handed to `import *`."""
    body = (one for one in module.whole_tree().body if not _is_all(one))
    return any(_uses(project, module, one, name, definition) for one in body)


def _uses(project: Project, module: Module, statement: ast.stmt, name: str, definition: ast.AST | None = None) -> bool:
    """Whether a statement has a name in a part that is used: of a class, methods that nobody calls are none."""
    klass = module.top_classes.get(statement.name) if isinstance(statement, ast.ClassDef) else None
    if not isinstance(statement, ast.ClassDef) or klass is None or not klass.is_stated_by(statement):
        return statement is not definition and _spells(statement, name)
    around = [*statement.decorator_list, *statement.bases, *statement.keywords]
    members = [one for one in statement.body if one is not definition and _names(one, name)]
    return any(_spells(one, name) for one in around) or not all(
        _is_unused_member(project, klass, one) for one in members
    )


def _names(member: ast.stmt, name: str) -> bool:
    """The same of what stands in a class, where a method of that name is another one, and calls nothing by it."""
    own = (
        member.body if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef) and member.name == name else [member]
    )
    return any(_spells(one, name) for one in own)


def _is_unused_member(project: Project, klass: Class, member: ast.stmt) -> bool:
    method = klass.methods.get(member.name) if isinstance(member, ast.FunctionDef) else None
    return method is not None and method.node is member and _is_unused_method(project, method)


def _names_idly(project: Project, module: Module, statement: ast.stmt, name: str) -> bool:
    """Whether a class has a name in methods alone that nobody calls."""
    return isinstance(statement, ast.ClassDef) and not _uses(project, module, statement, name)


def _spells(part: ast.AST, name: str) -> bool:
    """Whether code has a name, or imports something of that name."""
    return any(name == spelled(node) or (isinstance(node, ast.alias) and node.name == name) for node in ast.walk(part))
