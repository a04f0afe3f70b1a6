"""Which calls have a thread run what they are given: `pool.map(f, rows)`, `Thread(target=f)`. What a thread has switched holds for that one alone."""

from __future__ import annotations

import ast

from ..facts import names
from ..facts.module import Function
from ..facts.nodes import argument_of, is_constant, keyword_of, spreads
from ..facts.syntax import given_to_target, stores_of
from ..text.source import Words
from .project import Project

_THREADS = frozenset(("threading.Thread", "threading.Timer", "asyncio.to_thread", "_thread.start_new_thread"))
_POOLS = frozenset(
    (
        "concurrent.futures.ThreadPoolExecutor",
        "concurrent.futures.thread.ThreadPoolExecutor",
        "multiprocessing.pool.ThreadPool",
        "multiprocessing.dummy.Pool",
    )
)
NAMED = Words(b"Thread", b"to_thread", b"multiprocessing.dummy", b"run_in_executor")
"""What a file says that has threads run something."""
_GIVES = frozenset(
    "submit map imap imap_unordered starmap apply apply_async map_async starmap_async run_in_executor".split()
)
"""Methods that give a pool something to run."""
_STARTS = _GIVES | {name.rpartition(".")[2] for name in _THREADS}


def start(project: Project, function: Function, call: ast.Call) -> bool:
    """Whether a call has a thread run what it is given, as far as that is known."""
    last = names.last(call.func)
    if last not in _STARTS:
        return False
    if project.resolve(function, call.func) in _THREADS:
        return True
    if last == "run_in_executor":
        pool = argument_of(call, "executor", 0)
        return pool is not None and (is_constant(pool, None) or _is_pool(project, function, pool))
    return isinstance(call.func, ast.Attribute) and _is_pool(project, function, call.func.value)


def _is_pool(project: Project, function: Function, node: ast.expr) -> bool:
    """Whether an expression is a pool of threads, whatever binds it."""
    stores = stores_of(function, node)
    made = [(scope, _bound(scope, store)) for scope, store in stores] or [(function, node)]
    return all(one is not None and _makes_pool(project, scope, one) for scope, one in made)


def _bound(scope: Function, store: ast.expr) -> ast.expr | None:
    """What a target is given by an assignment, or by `with ... as pool`."""
    parent = scope.flow.parents.get(store)
    return parent.context_expr if isinstance(parent, ast.withitem) else given_to_target(scope.flow, store)


def _makes_pool(project: Project, function: Function, node: ast.expr) -> bool:
    """`ThreadPoolExecutor(4)`; not one that prepares its threads by a function, which may switch something."""
    if not isinstance(node, ast.Call) or project.resolve(function, node.func) not in _POOLS:
        return False
    return len(node.args) < 2 and not spreads(node) and keyword_of(node, "initializer") is None
