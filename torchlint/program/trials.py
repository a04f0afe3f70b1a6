"""What a part of a program does where it is run by itself, to try it: `if __name__ == "__main__": test()`."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ..facts import names
from ..facts.flow import contains
from ..facts.module import Function, Module
from ..facts.roles import is_main
from ..facts.units import outermost
from ..query.question import question
from ..system.regex import regex
from .project import Project
from .texts import MAX_SITES

_OPTIONS = regex(
    rb"argparse|parse_args|ArgumentParser|\bsys\.argv\b|\bFLAGS\b|\b(?:hydra|click|fire|absl|tyro|typer|docopt|getopt|gin|yaml)\b"
)
"""What a file holds that is run with options, as programs are."""
_WORKS = regex(
    r"train|fit|optimi[sz]|infer|predict|evaluat|generat|serv|load(?!er)|save|dump|writ|time|synchronize|perf_counter|(?i:bench)"
    r"|^(?:backward|step|main|run|launch|spawn|from_pretrained|learn|solve|test_?(?:all|net|model|epoch|loop))$"
)
"""What something is called that trains, runs what was trained, measures, or keeps what comes out."""


def is_tried(project: Project, function: Function, node: ast.AST) -> bool:
    """Whether a place is of a trial: in the `if __name__ == "__main__":` of a file that others import, or a function for that alone.

    The file takes no options, and the trial neither trains, loads what was trained, keeps nor measures anything.
    """
    module = function.module
    if not module.source.holds(b"__main__"):
        return False
    blocks, tried = _trial(project, module)
    function = outermost(function)
    return function in tried or (function is module.body and any(contains(block, node) for block in blocks))


@question("trial", ((), ()))
def _trial(project: Project, module: Module) -> tuple[tuple[ast.If, ...], tuple[Function, ...]]:
    """The blocks of a file that try it, and the functions that these alone call."""
    blocks = tuple(one for one in module.body.node.body if isinstance(one, ast.If) and is_main(one.test))
    if not blocks or module.source.holds(_OPTIONS):
        return (), ()
    tried = _only_called_in(project, module, blocks)
    nodes = (*blocks, *(one.node for one in tried))
    calls = (part for node in nodes for part in ast.walk(node) if isinstance(part, ast.Call))
    if any(_WORKS.search(names.last(call.func)) for call in calls) or not _is_part(project, module):
        return (), ()
    return blocks, tried


def _only_called_in(project: Project, module: Module, blocks: Iterable[ast.If]) -> tuple[Function, ...]:
    """The functions of a file that nothing but some blocks of its own names, or functions that these alone name."""
    found: dict[Function, None] = {}
    places: list[ast.AST] = list(blocks)
    named = [node for node in ast.walk(module.whole_tree()) if isinstance(node, ast.Name | ast.Constant)]
    for place in places:  # which grows
        called = {node.id for node in ast.walk(place) if isinstance(node, ast.Name)}
        for name in sorted(called & module.top_functions.keys()):
            function = module.top_functions[name]
            if function in found or function.decorators:
                continue
            uses = [one for one in named if name == (one.id if isinstance(one, ast.Name) else one.value)]
            inside = all(any(contains(place, use) for place in (*places, function.node)) for use in uses)
            if inside and not _is_called_elsewhere(project, function):
                found[function] = None
                places.append(function.node)
    return tuple(found)


def _is_called_elsewhere(project: Project, function: Function) -> bool:
    """Whether a file names a function of another one."""
    sites = project.call_sites(function, MAX_SITES)
    outside = sites is None or any(site.function.module is not function.module for site in sites)
    return outside or bool(project.named_by(function.module, function.name))


def _is_part(project: Project, module: Module) -> bool:
    """Whether a file of the project that is no test imports another one."""
    users = [path for path in project.importers(module.path) if not project.in_test(path, "")]
    return any(module in project.imports_of(user) for user in project.modules_for_imports(users))
