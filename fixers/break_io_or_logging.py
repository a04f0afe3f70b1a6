from __future__ import annotations

import ast

from torchlint.facts import api_table
from torchlint.facts.bindings import Assigned
from torchlint.rule import Finding, Fix, Site
from torchlint.rule.lazy import regex
from torchlint.rule.rewrite import behind, older_torch, spelled

_NOTE = "the compiled program does not write this any more"
_LEVELS = frozenset(("debug", "info", "warning", "warn", "error", "critical", "exception", "log"))
_WRITERS = frozenset(
    (
        "print",
        "warnings.warn",
        *(f"logging.{level}" for level in _LEVELS),
        *(f"sys.{stream}.{verb}" for stream in ("stdout", "stderr") for verb in ("write", "writelines", "flush")),
    )
)
_PURE = frozenset(
    """len str repr float int bool complex tuple list dict set type min max sum round abs sorted format isinstance id any all
    hasattr getattr zip range enumerate""".split()
)
_CHANGING = regex(
    r"^torch\.(?:autograd\.|distributed\.(?!get_|is_)|save$|load$|use_)|\.(?:set_\w+|reset_\w+|synchronize|empty_cache)$"
)
"""What of torch does more than to give something."""
_LAZY = frozenset(("iter", "map", "filter", "zip", "enumerate", "reversed"))
_RANDOM = regex(r"rand|normal|bernoulli|multinomial|poisson|dropout|exponential|uniform|seed")
_VALUES = frozenset(("tensor", "str", "dict", "list", "tuple", "number", "size"))
_CHANGES = frozenset(
    "pop popitem append extend insert remove clear update setdefault sort reverse backward register_hook copy_".split()
)


def fix(site: Site, finding: Finding) -> Fix | None:
    """Put a statement that only writes behind `if not torch.compiler.is_compiling():`."""
    statement = site.statement
    if not isinstance(statement, ast.Expr) or statement.value is not site.target or not _only_writes(site):
        return None
    spelling = spelled(site, "torch.compiler.is_compiling")
    moved = behind(site, f"not {spelling[0]}()", statement) if spelling is not None else None
    if spelling is None or moved is None:
        return None
    edits = (*moved, *spelling[1])
    older = older_torch(site, api_table.there("torch.compiler.is_compiling"))
    return Fix("Leave it out of the compiled program", edits, "unsafe", f"{_NOTE}; {older}" if older else _NOTE)


def _only_writes(site: Site) -> bool:
    """Whether the call is for its output alone, and so is what it is given: nothing is lost with it that later code needs."""
    name, func = site.resolve(site.call.func), site.call.func
    if name is not None:
        writes = name in _WRITERS
    else:
        logger = isinstance(func, ast.Attribute) and func.attr in _LEVELS
        writes = logger and not site.project.targets(site.function, site.call)
    return writes and all(_has_no_effect(site, part) for part in ast.walk(site.call) if part is not site.call)


def _has_no_effect(site: Site, node: ast.AST) -> bool:
    """Whether nothing changes by evaluating a node, apart from its parts."""
    if isinstance(node, ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr):
        return False
    if not isinstance(node, ast.Call):
        return not isinstance(node, ast.Name) or not _is_used_up(site, node)
    name, func = site.resolve(node.func), node.func
    if any(keyword.arg in ("out", "inplace") for keyword in node.keywords):
        return False
    if name is not None:
        last = name.rpartition(".")[2]
        known = name in _PURE or name.startswith("time.") or (name.startswith("torch.") and not last.endswith("_"))
        return known and not _RANDOM.search(name) and not _CHANGING.search(name)
    if not isinstance(func, ast.Attribute) or func.attr.endswith("_") or func.attr in _CHANGES:
        return False
    return site.value(func.value).kind in _VALUES and not _RANDOM.search(func.attr)


def _is_used_up(site: Site, name: ast.Name) -> bool:
    """Whether a name stands for what can be gone through once: `rows = zip(a, b)`, and `print(*rows)` leaves nothing of it."""
    binding = site.function.bindings.reach.get(name)
    made = binding.node if isinstance(binding, Assigned) else None
    called = site.resolve(made.func) if isinstance(made, ast.Call) else None
    return isinstance(made, ast.GeneratorExp) or called in _LAZY
