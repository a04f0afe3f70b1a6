"""What torch.compile compiles: the roots, their options, and every function of the project traced from them."""

from __future__ import annotations

import ast
import functools
import re
from bisect import bisect_right
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from ..facts import names
from ..facts.guards import ASKS_COMPILER, MAKES_GRAPHS, asks_compiler
from ..facts.module import BODIES, Function, Module
from ..facts.nearby import CALLS, nodes_on
from ..facts.nodes import argument_of, callee, keyword_of, string, truth
from ..facts.syntax import is_super
from ..facts.values import Value
from ..system.cached import cached_property
from ..system.regex import regex
from ..system.stamp import as_bytes
from ..text.source import Source
from ..text.spoken import in_code
from .handed import uses
from .places import Ask, Asked, Place, asked_here, function_at, functions_at, place_of, soundly, told_place, whole
from .project import Project
from .supers import run_by as run_by_super
from .uncalled import is_uncalled

STOPS = frozenset(
    """disable allow_in_graph nonstrict_trace leaf_function custom_op triton_op forbid_in_graph run_and_hide
    substitute_in_graph disallow_in_graph jit_ignore""".split()
)
MAX_FUNCTIONS = 20000
# Where a diffusers model names the classes of the blocks that its `compile_repeated_blocks` compiles.
REPEATED = b"_repeated_blocks"
_REPEATED = regex(REPEATED)
# By these options the arguments of a Trainer, of transformers or what builds on it, have its model compiled.
_BY_TRAINER = frozenset(("torch_compile", "torch_compile_mode", "torch_compile_backend"))
_TRAINER = regex(rb"torch_compile(?:_mode|_backend)?[ ]*=")
_TORCH = regex(b"torch")
_CALLED = regex(rb"[\s\\]*\(")
_GIVEN = regex(rb"[\s\\]*[,)]")
_QUOTED = regex(rb"[\w.]*`")
"""A dotted name from its end, as prose writes it; no code holds "`"."""
_FAR = 100
"""So many bytes in front of a name are looked at for what it is part of."""
# Options that change what breaks the graph; an assignment, a keyword of `config.patch`, a key of its dict, an environment variable.
_OPTIONS = b"""capture_scalar_outputs capture_dynamic_output_shape_ops allow_rnn trace_autograd_ops compiled_autograd
allow_unspec_int_on_nn_module reorderable_logging_functions ignore_logging_functions ignore_logger_methods""".split()
OPTION = regex(
    rb"\b(?:TORCHDYNAMO_)?(%s)\b(?:['\"]?\]?\s*[=:,]\s*['\"]?(?:True|1)|\.(?:add|update)|\s*\|?=\s*\{)"
    % b"|".join(_OPTIONS),
    re.IGNORECASE,
)


def _holds_option(data: bytes) -> bool:
    lowered = data.lower()
    return any(option in lowered for option in _OPTIONS)


class Region(NamedTuple):
    """One use of torch.compile: where it stands, with which options, and what it compiles."""

    path: str
    line: int
    """The label of the line."""
    column: int
    fullgraph: bool
    dynamic: bool | None
    mode: str
    root: Place


class RegionIndex(NamedTuple):
    """What is compiled in a project."""

    functions: Mapping[Place, Region]
    """Every function that a compiled region traces; a fullgraph region wins over others."""
    options: frozenset[str]
    """See `Regions.options`."""


def region_index(regions: Regions, asked: Asked[Regions, Any, Any]) -> RegionIndex:
    """Find what is compiled, in the order of the files."""
    ask = soundly(regions.project, asked)
    nothing = RegionIndex({}, frozenset())
    return whole(regions.project, "Finding compiled code", lambda: _region_index(regions, ask), nothing)


def _region_index(regions: Regions, ask: Ask[Regions, Any, Any]) -> RegionIndex:
    roots: list[Region] = [region for found in ask(Regions.roots_in, regions.mentioning, []) for region in found]
    functions: dict[Place, Region] = {}

    def order(region: Region) -> tuple[bool, bool]:
        """What a program compiles, before what a test does; whole graphs first."""
        return regions.project.in_test(region.path, ""), not region.fullgraph

    todo = [(region.root, region) for region in sorted(roots, key=order)]
    while todo:
        new = [place for place in dict.fromkeys(place for place, _ in todo) if place not in functions]
        traced = dict(zip(new, ask(Regions.traced_from, new, None), strict=True))
        found: list[tuple[Place, Region]] = []
        for place, region in todo:
            targets = traced.get(place)
            if targets is not None and place not in functions and len(functions) < MAX_FUNCTIONS:
                functions[place] = region
                found += [(target, region) for target in targets]
        todo = found
    return RegionIndex(functions, regions.options)


def _is_compiled(data: bytes, trigger: re.Pattern[bytes]) -> bool:
    """Whether a text calls what compiles, decorates with it, or makes a decorator of it: `partial(torch.compile, ...)`."""
    handed_on = b"partial" in data
    for found in in_code(data, trigger):
        start, end = found.span()
        if _QUOTED.match(data[max(start - _FAR, 0) : start][::-1]):
            continue
        line = data.rfind(b"\n", 0, start) + 1
        if _CALLED.match(data, end) or data[line:start].lstrip().startswith(b"@"):
            return True
        if handed_on and _GIVEN.match(data, end):
            return True
    return False


class Regions:
    """The compiled functions of a project."""

    def __init__(self, project: Project, patterns: Sequence[str] = ()) -> None:
        self.project = project
        self.patterns = patterns

    @cached_property
    def index(self) -> RegionIndex:
        """What is known of the whole project."""
        return self.project.indexed("regions", lambda: region_index(self, self.project.asking(asked_here(self))))

    def know(self, index: RegionIndex) -> None:
        """Take over what another process has found out."""
        self.__dict__["index"] = index
        self.__dict__["_options"] = index.options

    @property
    def mentioning(self) -> list[str]:
        """The files that may compile something."""
        found = []
        holds, words, trigger = self.project.holds, self._words, self._trigger
        for path in self.project.paths:
            declared = holds(path, _REPEATED) or holds(path, _TRAINER)
            if not (self.patterns or declared or holds(path, trigger, words)):
                continue
            # A file may have torch.compile from another one, under whatever name.
            torch = holds(path, _TORCH) or not words.isdisjoint(self.project.import_words(path))
            if self.patterns or declared or (torch and self._mentions(path)):
                found.append(path)
        return found

    def _mentions(self, path: str) -> bool:
        """Whether the code of a file mentions what may compile; most texts that do speak of it."""
        trigger = self._trigger
        told = f"compiles {trigger.pattern.decode('latin-1')}"
        return bool(self.project.fact(path, told, lambda source: _is_compiled(source.data, trigger)))

    def roots_in(self, path: str) -> list[Region]:
        """What a file compiles."""
        module = self.project.module(path)
        return list(self._in(module)) if module is not None else []

    @property
    def _words(self) -> frozenset[bytes]:
        """What the imports of the project call `compile`."""
        return frozenset(as_bytes(name) for name in ("compile", *self.project.renamed("compile")))

    @property
    def _trigger(self) -> re.Pattern[bytes]:
        # Each begins with something literal, which is many times quicker to look for.
        # No code holds "`".
        words = (rb"%s(?<!\w%s)(?<!\Wre\.%s)\b(?!`)" % (word, word, word) for word in sorted(self._words))
        return re.compile(b"|".join(words))

    def _in(self, module: Module) -> Iterator[Region]:
        if self.patterns:
            yield from self._configured(module)
        for function in module.functions[1:]:
            if function.decorators:
                for decorator in function.decorators:
                    call = _compile_decorator(self.project, function, decorator)
                    if call is not None:
                        region = self._region(function.module, decorator, call.keywords, function)
                        if region is not None:
                            yield region
        lines = module.source.told_lines(
            f"lines {self._trigger.pattern!r}", functools.partial(_lines_of, self._trigger)
        )
        for function, numbers in module.functions_at(lines).items():
            for node, _ in nodes_on(function, numbers, CALLS):
                assert isinstance(node, ast.Call)
                for region in self._compiled_by(function, node):
                    if not self._is_left(function):
                        yield region
        if module.source.holds(REPEATED):
            yield from self._repeated(module)
        if module.source.holds(_TRAINER):
            yield from self._by_trainers(module)

    def _repeated(self, module: Module) -> Iterator[Region]:
        """The forwards of the blocks that a class of the module declares to be compiled one by one."""
        for klass in module.classes:
            for statement in klass.node.body:
                if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == REPEATED.decode():
                    for node in ast.walk(statement.value):
                        block = module.top_classes.get(string(node) or "")
                        forward = self.project.method(block, "forward") if block is not None else None
                        if forward is not None:
                            line = module.label(statement.lineno)
                            yield Region(module.path, line, statement.col_offset, False, None, "", place_of(forward))

    def _by_trainers(self, module: Module) -> Iterator[Region]:
        """What a Trainer compiles that is given arguments which say so: `Trainer(model, TrainingArguments(torch_compile=True))`."""
        lines = module.source.told_lines("lines for trainers", functools.partial(_lines_of, _TRAINER))
        for function in module.functions_at(lines):
            for call in function.flow.calls:
                asked = {one.arg: one.value for one in call.keywords if one.arg in _BY_TRAINER}
                if not any(isinstance(one, ast.Constant) and one.value for one in asked.values()):
                    continue
                mode = asked.get("torch_compile_mode")
                options = [ast.keyword("mode", mode)] if mode is not None else []
                for root in self._trained_with(function, call):
                    region = self._region(module, call, options, root)
                    if region is not None:
                        yield region

    def _trained_with(self, function: Function, arguments: ast.Call) -> Iterator[Function]:
        """The forwards of the models of the Trainers that are given some arguments."""
        for where, use in uses(self.project, function, arguments, named=True):
            trainer = where.flow.argument_of(use)
            if (
                isinstance(trainer, ast.Call)
                and argument_of(trainer, "args", 1) is use
                and self._is_trainer(where, trainer)
            ):
                model = argument_of(trainer, "model", 0)
                yield from self._functions(where, model) if model is not None else ()

    def _is_trainer(self, function: Function, call: ast.Call) -> bool:
        """Whether a call makes a Trainer of a library, or of a class that is derived from one."""
        klass = self.project.value(function, call.func).class_
        if klass is not None:
            return any(word.endswith("Trainer") for word in self.project.base_words(klass))
        return names.last(call.func).endswith("Trainer") and self.project.resolve(function, call.func) is not None

    def _configured(self, module: Module) -> Iterator[Region]:
        for function in module.functions[1:]:
            name = f"{module.name}:{function.qualname}"
            if any(fnmatchcase(name, pattern) for pattern in self.patterns):
                line = module.label(function.first_line)
                yield Region(module.path, line, 0, False, None, "", place_of(function))

    def _compiled_by(self, function: Function, call: ast.Call) -> Iterator[Region]:
        if self.project.resolve(function, call.func) == "torch.compile":
            target = call.args[0] if call.args else keyword_of(call, "model")
            if target is None:
                return
            roots = self._functions(function, target)
        elif isinstance(call.func, ast.Attribute) and call.func.attr == "compile" and not call.args:
            roots = self._in_place(function, call, call.func.value)
        else:
            return
        for root in roots:
            region = self._region(function.module, call, call.keywords, root)
            if region is not None:
                yield region

    def _is_left(self, function: Function) -> bool:
        """Whether what a function compiles is left as it is: it is a method that is there to compile its object, and nobody calls it."""
        while function.cls is None and function.parent is not None:
            function = function.parent
        return "compile" in function.name and is_uncalled(self.project, function)

    def _in_place(self, function: Function, call: ast.Call, module: ast.expr) -> list[Function]:
        """What `module.compile()` compiles: nothing by itself where that is a method of the project, but `super().compile()` in it."""
        klass = function.cls
        if is_super(module) and klass is not None:
            plain = self.project.is_module(klass) and run_by_super(self.project, function, call) is None
            forward = self.project.method(klass, "forward") if plain else None
            return [forward] if forward is not None else []
        value = self.project.value(function, module)
        return self._of_value(value) if value.kind == "module" and not self.project.has_own(value, "compile") else []

    def _functions(self, function: Function, target: ast.expr) -> list[Function]:
        if isinstance(target, ast.Attribute) and target.attr == "forward":
            value = self.project.value(function, target.value)
            if value.kind == "module":
                return self._of_value(value)
        return self._of_value(self.project.value(function, target))

    def _of_value(self, value: Value) -> list[Function]:
        return self.project.run_by(value) if value.kind in ("function", "module") else []

    def _region(self, module: Module, node: ast.expr, keywords: list[ast.keyword], root: Function) -> Region | None:
        options = {k.arg: k.value.value for k in keywords if k.arg and isinstance(k.value, ast.Constant)}
        if options.get("disable") is True:
            return None
        dynamic = options.get("dynamic")
        return Region(
            module.path,
            module.label(node.lineno),
            node.col_offset,
            options.get("fullgraph") is True,
            dynamic if isinstance(dynamic, bool) else None,
            str(options.get("mode") or ""),
            place_of(root),
        )

    @property
    def options(self) -> frozenset[str]:
        """The options of `torch._dynamo.config` that a file of the project turns on or adds to."""
        self.project.note("options")
        return self._options

    @cached_property
    def _options(self) -> frozenset[str]:
        return self.project.indexed("options", self._find_options)

    def _find_options(self) -> frozenset[str]:
        found = (self.project.fact(path, "options", self._options_in) for path in self.project.paths)
        return frozenset(option for options in found for option in options or ())

    def _options_in(self, source: Source) -> list[str]:
        # `torch._dynamo`, `TorchDynamoPlugin`, `TORCHDYNAMO_...`
        if b"ynamo" not in source.data and b"DYNAMO" not in source.data:
            return []
        if not any(
            found for _, found in source.in_parts("options", _holds_option)
        ):  # many times quicker than the pattern
            return []
        matches = (m for m in OPTION.finditer(source.data) if not self._in_prose(source.path, m.start()))
        return sorted({match[1].decode().lower() for match in matches})

    def _in_prose(self, path: str, offset: int) -> bool:
        """Whether a place of a file stands in a comment or in a docstring."""
        module = self.project.module(path)
        if module is None:
            return True
        line = bisect_right(module.source.lines, offset)
        if b"#" in module.source.data[module.source.lines[line - 1] : offset]:
            return True
        todo: list[ast.AST] = list(module.tree.body)
        while todo:
            node = todo.pop()
            if not isinstance(node, ast.stmt | ast.excepthandler):
                todo += node.body  # type: ignore[attr-defined]
            elif node.lineno <= line <= (node.end_lineno or node.lineno):
                if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                    return True
                todo += [inner for field in BODIES for inner in getattr(node, field, ())]
        return False

    def functions_in(self, paths: Container[str]) -> list[Function]:
        """The functions of some files that a compiled region traces."""
        return functions_at(self.project, (place for place in self.index.functions if place[0] in paths))

    def traced_from(self, place: Place) -> list[Place] | None:
        """What a function of a compiled region calls, as far as it is traced; None where it is not traced itself."""
        function = function_at(self.project, place)
        if function.decorator_names & STOPS or _is_autograd(function) or self._replaced(function):
            return None
        return [
            told_place(self.project, target)
            for call in function.flow.calls
            if self.reached(function, call)
            for target in self.project.targets(function, call)
        ]

    def _replaced(self, function: Function) -> bool:
        """Whether a decorator of the class puts another method in the place of this one, and so says what runs."""
        klass = function.cls
        return klass is not None and any(
            isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr == function.name
            for decorator in klass.decorators
            if (definition := self._own(klass.parent, getattr(decorator, "func", decorator))) is not None
            for node in ast.walk(definition.node)
        )

    def _own(self, scope: Function, func: ast.expr) -> Function | None:
        """The project's function of a name."""
        name = self.project.resolve(scope, func)
        if name is None and isinstance(func, ast.Name):
            return scope.module.top_functions.get(func.id)
        definition = self.project.definition(name, scope.module) if name else None
        return definition if isinstance(definition, Function) else None

    def reached(self, function: Function, node: ast.AST) -> bool:
        """Whether a place of a compiled function is traced: not behind `if not torch.compiler.is_compiling()`."""
        return not any(
            _known(guard.test, lambda call: self._says(function, call)) is (not guard.true)
            for guard in function.flow.guards(node)
        )

    def _says(self, function: Function, call: ast.Call, depth: int = 0) -> bool | None:
        """What a call of the project says while Dynamo traces; None where that depends on more than the compiler.

        `is_tracing()` of the project asks whether Dynamo traces, too; `exporting()` may be one test of the compiler.
        """
        found = self._own(function, call.func) if depth < _FOLLOWED else None
        if names.last(call.func) in MAKES_GRAPHS:
            return found is not None and asks_compiler(found.flow)
        telling = found.telling if found is not None and isinstance(found.node, ast.FunctionDef) else []
        statement = telling[0] if len(telling) == 1 else None
        if found is None or call.args or call.keywords or not isinstance(statement, ast.Return):
            return None
        return _known(statement.value, lambda inner: self._says(found, inner, depth + 1)) if statement.value else None

    def at(self, function: Function, node: ast.AST) -> Region | None:
        """The compiled region that a place belongs to."""
        self.project.note("regions", function.module.path)
        region = self.index.functions.get(place_of(function))
        return region if region is not None and self.reached(function, node) else None


def _lines_of(pattern: re.Pattern[bytes], source: Source) -> list[int]:
    """The lines on which a text holds a pattern."""
    found = source.in_parts(pattern, lambda data: [match.start() for match in pattern.finditer(data)])
    return [bisect_right(source.lines, start + at) for start, offsets in found for at in offsets]


_FOLLOWED = 5
"""How many functions, each asking the next, a test is followed through."""


def _known(test: ast.expr, says: Callable[[ast.Call], bool | None]) -> bool | None:
    """What a test is while Dynamo traces; None where that depends on more than the compiler.

    `says` tells it of calls that are none of those which say that Dynamo traces.
    """

    def known(part: ast.expr) -> bool | None:
        if isinstance(part, ast.Call):
            return True if names.last(part.func).lstrip("_") in ASKS_COMPILER else says(part)
        return bool(part.value) if isinstance(part, ast.Constant) else None

    return truth(test, known)


def _is_autograd(function: Function) -> bool:
    return function.cls is not None and any(names.last(base) == "Function" for base in function.cls.bases)


def _compile_decorator(project: Project, function: Function, decorator: ast.expr) -> ast.Call | None:
    """The call whose keywords are the options, if the decorator is torch.compile in one of its forms."""
    scope = function.parent or function.module.body
    name = project.resolve(scope, callee(decorator))
    if not isinstance(decorator, ast.Call):
        return ast.Call(func=decorator, args=[], keywords=[]) if name == "torch.compile" else None
    if name == "functools.partial" and decorator.args:
        name = project.resolve(scope, decorator.args[0])
    return decorator if name == "torch.compile" else None
