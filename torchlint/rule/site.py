"""One place a rule is shown. Its facts are free; `node` is the libcst node, parsed at first use."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from ..facts import frequency, rollouts, versions
from ..facts.arguments import is_device
from ..facts.certain import Made, Tensors, Valued
from ..facts.flow import Comprehension, Flow, Loop
from ..facts.guards import RARE, Meaning
from ..facts.module import Class, Function, Module
from ..facts.nodes import argument_of, spreads
from ..facts.operator_results import DEFAULT_TYPE, SETS_TYPE
from ..facts.roles import Role, is_own_check, is_own_test, is_own_trial
from ..facts.values import UNKNOWN, Value
from ..pattern.words import is_plain
from ..program import conditions, default_device, dispatch, families, frameworks
from ..program.calling import CallSite, is_either, passes_messages
from ..program.feeding import feeders, is_handed_over
from ..program.model_calls import runs_module
from ..program.places import place_of
from ..program.project import Project
from ..program.ray_host import is_on_ray_host, uses_ray
from ..program.regions import Region
from ..program.scripts import is_handed_out
from ..program.steps import Hot
from ..program.together import meet
from ..program.trials import is_tried
from ..program.unmoved import runs_unmoved_model
from ..program.warm_loops import Caller
from ..settings.config import Settings
from ..system.cached import cached_property
from ..text.finding import Finding, Fix, Related, Severity
from ..text.source import NOTEBOOK, Source, SourceError
from ..text.suppress import without_comments, without_prose
from ..text.tree import HEADED, NoNode, Tree
from ..torch_api.version import Range, Version, oldest_in_use
from .analysis import Analysis

if TYPE_CHECKING:
    import libcst

    from ..pattern.match import Match
    from ..text.suppress import Suppressions


T = TypeVar("T")


_DTYPE = rb"\b%s *(?:: *[\w.]+ *)?= *torch\.(?:float|half|double|bfloat|int|long|short|uint|bool|complex)"
"""How a program gives something of that name a dtype."""


class Ruled(Protocol):
    """What a site needs of the rule it is shown to (a Rule of `rule.py`, which lies above)."""

    @property
    def code(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def severity(self) -> Severity: ...
    @property
    def confirmed_by(self) -> tuple[str, ...]: ...


@cache
def _is_free(pattern: str) -> bool:
    """Whether a place has a shape by its name or kind alone."""
    from ..pattern.shape import shape

    return is_plain(pattern) or shape(pattern).bare


@cache
def _around() -> Callable[..., Match | None]:
    # An import on each call took longer than most matches.
    from ..pattern.match import around

    return around


class Site:
    """One expression or statement, in its function, for one rule.

    Facts are asked of `ast` nodes and of libcst nodes alike (`value`, `resolve`); `node` and everything below it is libcst.
    """

    def __init__(self, analysis: Analysis, function: Function, target: ast.AST, rule: Ruled, name: str = "") -> None:
        self.analysis = analysis
        self.function = function
        self.target = target
        """The `ast` node the rule asked for."""
        self.rule = rule
        self.name = name
        """What the rule asked for: `.item()`, `torch.nn.DataParallel`, `if`."""
        self.pattern = ""
        """The pattern of the rule that the place has the shape of."""
        self._match: Match | None = None
        self.relied_on: set[str] = set()
        """The functions and methods of torch that a proof rests on (`surely_tensor`)."""

    # The shape of the rule

    def look(self, patterns: Iterable[str], parent: ast.AST) -> bool:
        """Whether the place has one of the shapes; the first that it has is the place's."""
        for pattern in patterns:
            self.pattern = pattern
            if _is_free(pattern):
                return True
            self._match = self._looked(parent)
            if self._match is not None:
                return True
        return False

    def _looked(self, parent: ast.AST) -> Match | None:
        return _around()(self.pattern, self.target, parent, lambda: self.flow.parents, self.resolve)

    @property
    def match(self) -> Match:
        """What the pattern catches of the place, nodes of `ast`."""
        if self._match is None:
            self._match = self._looked(self.target)
        assert self._match is not None, f"`{self.short()}` is no `{self.pattern}`"
        return self._match

    @property
    def whole(self) -> ast.expr:
        """The expression that has the rule's shape."""
        whole = self.match.whole
        assert isinstance(whole, ast.expr)
        return whole

    def part(self, name: str) -> ast.expr:
        """The expression that a hole of the pattern caught."""
        part = self.match.caught[name]
        assert isinstance(part, ast.expr)
        return part

    @cached_property
    def confirmed(self) -> bool:
        """Whether libcst sees the shape too: where it does not, the rule has nothing to say. Asked last, of findings alone."""
        from ..pattern.match import in_tree

        whole = self.match.whole
        strings = [node for node in self.flow.expressions(whole) if isinstance(node, ast.JoinedStr)]
        try:
            if isinstance(whole, HEADED):
                return in_tree(self.pattern, self.tree.header(whole), self.resolve) is not None
            if not strings:
                return in_tree(self.pattern, self.tree.alone(whole), self.resolve) is not None
            return self._is_in_text(whole, self.tree.alone(strings[-1]))
        except NoNode:
            return False

    def _is_in_text(self, whole: ast.AST, string: libcst.CSTNode) -> bool:
        """Whether the shape is in an f-string, where nothing has a place: by what is written."""
        from ..pattern import on_libcst
        from ..pattern.match import in_tree

        written = ast.unparse(whole)
        return any(
            in_tree(self.pattern, node, self.resolve) is not None and on_libcst.written(node) == written
            for node in on_libcst.expressions(string)
        )

    def caught(self, name: str = "") -> libcst.BaseExpression:
        """The libcst expression that a hole of the pattern caught, the whole without a name, with its place in the file.

        Raises NoNode where it has none.
        """
        import libcst

        node = self._matched.caught[name] if name else self._matched.whole
        assert isinstance(node, libcst.BaseExpression)
        return node

    @cached_property
    def _matched(self) -> Match:
        """What the pattern catches of the libcst node that lies in the tree of the file."""
        from ..pattern.match import in_tree

        whole = self.match.whole
        node = self.tree.header(whole) if isinstance(whole, HEADED) else self.cst(whole)
        found = in_tree(self.pattern, node, self.resolve)
        if found is None:
            raise NoNode(f"`{self.short()}` is no `{self.pattern}`")
        return found

    # The place

    def at(self, function: Function, target: ast.AST) -> Site:
        """Another place that the same rule has something to say of."""
        return Site(self.analysis, function, target, self.rule, self.name)

    @property
    def module(self) -> Module:
        return self.function.module

    @property
    def place(self) -> str:
        """Where the file lies in its project."""
        return self.project.home(self.module.path)

    @property
    def source(self) -> Source:
        return self.function.module.source

    @property
    def flow(self) -> Flow:
        return self.function.flow

    @property
    def project(self) -> Project:
        return self.analysis.project

    @cached_property
    def tree(self) -> Tree:
        """The libcst view of the file: spans, source text, edits."""
        return self.analysis.tree(self.function.module)

    @cached_property
    def node(self) -> libcst.CSTNode:
        """The libcst node of the place; only the statement around it is parsed."""
        return self.cst(self.target)

    def cst(self, target: ast.AST) -> libcst.CSTNode:
        """The libcst node of an `ast` node of this file. Raises NoNode inside f-strings."""
        return self.tree.node(target, self.flow.chain(target))

    @property
    def call(self) -> ast.Call:
        assert isinstance(self.target, ast.Call)
        return self.target

    @cached_property
    def statement(self) -> ast.stmt:
        return self.flow.statement(self.target)

    def text(self, node: ast.AST | None = None) -> str:
        """The source text of an `ast` node (of the place itself)."""
        node = node if node is not None else self.target
        start, end = self._span(node)
        return self.module.text.data[start:end].decode()

    def code_holds(self, pattern: re.Pattern[bytes]) -> bool:
        """Whether a pattern is in the code of the file, and not in its comments and docstrings alone."""
        return self.source.holds(pattern) and pattern.search(without_prose(self.source.data)) is not None

    def code(self, node: ast.AST | None = None) -> bytes:
        """The text of an `ast` node (of the whole file) without its comments and docstrings."""
        return without_prose(self.source.data if node is None else self.text(node).encode())

    def short(self, node: ast.AST | None = None, limit: int = 40) -> str:
        """The source text on one line, cut in the middle where it is long, with nothing that ends a message's backticks."""
        text = self.text(node)
        if "#" in text and "\n" in text:
            text = without_comments(text.encode()).decode()
        text = " ".join(text.split()).replace("`", r"\x60")
        return text if len(text) <= limit else f"{text[: limit // 2 - 2]}...{text[-(limit // 2 - 1) :]}"

    def _span(self, node: ast.AST) -> tuple[int, int]:
        source = self.module.text_of(node)
        return source.start_of(node), source.end_of(node)

    # Facts

    @cached_property
    def hot(self) -> Hot | None:
        """Why the place runs on every training step, unthrottled; None where it does not. Never inside a compiled region."""
        return self.analysis.steps.hot(self.function, self.target)

    @cached_property
    def warm(self) -> Loop | None:
        """The evaluation or generation loop that runs the place on each iteration."""
        return self.analysis.warm_loops.warm(self.function, self.target)

    @cached_property
    def warm_caller(self) -> Caller | None:
        """The evaluation or generation loop in another function, or of a framework, that runs the place on each iteration."""
        return self.analysis.warm_loops.warm_caller(self.function, self.target) if self.warm is None else None

    @property
    def beside_generation(self) -> bool:
        """Whether a step comes to the place once, beside a loop of its function that generates, with autograd off.

        So it does beside a loop that plays: the rollout of an environment, however it learns from that.
        """
        if self.hot is None:
            return False
        if self.hot.function is self.function:
            loop = self.hot.loop
            return loop is not None and rollouts.is_beside(
                self.function, self.target, loop, lambda: self._plays_by_others(loop)
            )
        return self.analysis.warm_loops.is_beside(self.function, self.target) and self.grad_off

    def _plays_by_others(self, loop: Loop) -> bool:
        """Whether the iterations of a loop play by functions of the project that they call."""
        if not self.project.any_holds(rollouts.STEPS):
            return False
        targets = partial(self.project.targets, self.function)
        return self.once(("plays by others", loop), lambda: rollouts.plays_by_others(self.function, loop, targets))

    def callers(self, function: Function) -> Iterator[CallSite]:
        """Where a function may be called, one by one, also by what it is handed to."""
        yield from families.calls_of(self.project, function)
        yield from families.calls_by_name(self.project, function)
        yield from dispatch.calls_handing(self.project, function)

    def excludes(self, other: Function) -> bool:
        """Whether the program runs either the place's function or another one: by two branches, or what one call chooses."""
        sites = [list(self.callers(function)) for function in (self.function, other)]
        return all(sites) and all(is_either(one, two) for one, two in itertools.product(*sites))

    def may_run(self, call: ast.Call) -> list[Function]:
        """The project's functions that a call may run, by what is called or by its name."""
        return families.may_run(self.project, self.function, call)

    @property
    def feeds_device(self) -> bool:
        """Whether the place makes a loader whose batches a training or evaluation loop, or a framework, sends to the device."""
        if is_handed_over(self.project, self.function):
            return True
        found = self.once(
            ("feeders", self.module.path), lambda: feeders(self.project, self.analysis.warm_loops, self.module)
        )
        return self.target in found

    @cached_property
    def shown_whole(self) -> bool:
        """Whether rules are shown all of the place's function, not its calls alone: it runs on each step, or in a warm loop."""
        return self.hot is not None or self.function in self.analysis.warm_loops.warm_in(self.module.path)

    @cached_property
    def region(self) -> Region | None:
        """The torch.compile region that traces the place; what a test compiles tells nothing of how its library runs."""
        found = self.analysis.regions.at(self.function, self.target)
        if found is None or not self.project.in_test(found.path, ""):
            return found
        return found if self.project.in_test(self.module.path, self.function.name) else None

    @property
    def in_compiled(self) -> bool:
        """Whether a program compiles the place: what a test compiles tells nothing of how its library runs."""
        return self.region is not None and not self.project.in_test(self.region.path, "")

    @property
    def is_root(self) -> bool:
        """Whether the place's function is what torch.compile was given."""
        return self.region is not None and self.region.root == place_of(self.function)

    def traced(self, node: ast.AST) -> bool:
        """Whether a part of the place is reached while torch.compile traces: not behind `not torch.compiler.is_compiling()`."""
        return self.analysis.regions.at(self.function, node) is not None

    def guarded(self, node: ast.AST, loop: Loop | None) -> Meaning:
        """What the conditions between a part of the function and its loop (or the start of the function) say of how often they hold."""
        return conditions.guarded(self.project, self.function, node, loop)

    def runs_module(self, method: Function) -> bool:
        """Whether a method of a model calls a module, by itself or in another method."""
        return runs_module(self.project, method)

    @property
    def rare(self) -> bool:
        """Whether its function, or a decorator of that, keeps the place from most calls: a throttle, a flag for debugging, a way to an exception."""
        return self.guarded(self.target, None) in RARE or conditions.is_throttled(self.project, self.function)

    @property
    def seldom_comes(self) -> bool:
        """Whether all calls of its function that the program makes are behind conditions that seldom hold: `if step % 100 == 0: self.prune()`."""
        return conditions.seldom_comes(self.project, self.function)

    @property
    def once_a_run(self) -> bool:
        """Whether the place is in a method that a framework calls at the start or the end of a run, and in no step loop."""
        return frameworks.runs_once(self.project, self.function) and self.hot is None

    @property
    def dynamo_options(self) -> frozenset[str]:
        """The options of `torch._dynamo.config` that the project turns on or adds to."""
        return self.analysis.regions.options

    @property
    def in_forward(self) -> bool:
        """Whether the place stands in the `forward` of an nn.Module, or a function inside that it calls, or in the `message` of a layer of graphs."""
        function = self.function
        if passes_messages(function) or self._is_forward(function):
            return True
        inside = function.cls is None and any(map(self._is_forward, function.scopes))
        return inside and frequency.in_forward(self)

    def _is_forward(self, function: Function) -> bool:
        return function.name == "forward" and function.cls is not None and self.project.is_module(function.cls)

    @property
    def grad_off(self) -> bool:
        """Whether autograd is proven off."""
        return self.analysis.context.grad_off(self.function, self.target)

    @property
    def grad_surely_off(self) -> bool:
        """Whether autograd is off whatever way the program takes: what a safe fix rests on."""
        return self.analysis.context.surely_off(self.function, self.target)

    @property
    def accelerator(self) -> bool:
        """Whether the program deals with an accelerator at all: the file, those near it, for a module any, or the step loop that runs the place."""
        return self.may_have_accelerator and not self._stays_on_host() and not self._is_run_on_ray_host()

    @property
    def may_have_accelerator(self) -> bool:
        """The same but for loops that stay on the host, which take longer to tell: for who asks `accelerator` last."""
        context = self.analysis.context
        if self.settings.accelerators or context.accelerator(self.module):
            return True
        if context.has_host_alone(self.module):
            return False  # wherever other programs of the project move their modules
        klass = self.function.cls
        if klass is not None and context.anywhere and self._moves_with_model(klass):
            return True
        if self.hot is not None and context.accelerator(self.hot.function.module):
            return True
        if (
            klass is not None
            and (self.hot is not None or self.warm is not None)
            and context.runs_on_accelerator(self.module)
        ):
            return True
        return klass is None and context.anywhere and frequency.in_forward(self)  # what such a part calls

    def _moves_with_model(self, klass: Class) -> bool:
        """Whether the program moves a class's objects, or what they work on: parts of a model, functions of autograd, optimizers."""
        return (
            self.project.is_module(klass)
            or self.project.is_autograd_function(klass)
            or frameworks.is_optimizer(self.project, klass)
        )

    @property
    def makes_on_accelerator(self) -> bool:
        """Whether a script of the project has tensors made there by default: `torch.set_default_tensor_type(torch.cuda.FloatTensor)`."""
        return self._sets_type or self.has_default_device

    @property
    def _sets_type(self) -> bool:
        project = self.project
        holders = project.holders(DEFAULT_TYPE, word=SETS_TYPE)
        return any(not project.in_test(path, "") for path in holders)  # what a test says holds for that alone

    @property
    def has_default_type(self) -> bool:
        """Whether the file, or one that imports it, has tensors made there by their type."""
        if not self._sets_type:
            return False
        holders = self.project.holders(DEFAULT_TYPE)
        return not holders.isdisjoint((self.module.path, *self.project.importers(self.module.path)))

    def is_handed_out(self, name: str) -> bool:
        """Whether another file may have what an import binds to a name in this one."""
        return is_handed_out(self.project, self.module, name)

    def program_holds(self, pattern: bytes, word: bytes) -> bool:
        """Whether a file that a program is known to hold with this one, notebooks apart, holds a pattern; `word` is in whatever that matches."""
        holders = sorted(self.project.holders(pattern, word=word))
        modules = (path for path in holders if not path.endswith(NOTEBOOK))
        return any(meet(self.project, self.module.path, path) for path in modules)

    @property
    def has_default_device(self) -> bool:
        """Whether the file, or one that imports it, has tensors made there that are given no device, but for those of old constructors."""
        return default_device.is_accelerator(self.project, self.module)

    def _stays_on_host(self) -> bool:
        """Whether the loop that runs the place on each step or iteration is one of the host."""
        context = self.analysis.context
        names_host = context.names_host()
        function, around = self.function, self.warm or self.target
        if self.hot is not None:
            function, around = self.hot.function, self.hot.loop or self.target
        elif names_host and self.warm is None and context.knows_host_loops() and self.warm_caller is not None:
            function, around = self.warm_caller
        loop = around if isinstance(around, ast.For | ast.AsyncFor | ast.While) else None
        if loop is None:
            return False
        stays = names_host and context.stays_on_host(function, loop)
        return stays or runs_unmoved_model(self.project, function, loop)

    def _is_run_on_ray_host(self) -> bool:
        """Whether the loop that runs the place on each step or iteration is one of a driver of Ray's workers."""
        if not uses_ray(self.project):
            return False
        runner = self.function
        if self.hot is not None:
            runner = self.hot.function
        elif self.warm_caller is not None:
            runner = self.warm_caller[0]
        return is_on_ray_host(self.project, runner)

    @property
    def role(self) -> Role:
        own = is_own_test(self.function) or is_own_check(self.function, self.target) or self.in_own_trial
        return "test" if own else self.analysis.context.role(self.module)

    @property
    def in_own_trial(self) -> bool:
        """Whether the place only tries the file where that is run by itself, which others import: in its `if __name__ == "__main__":`."""
        if is_own_trial(self.function, self.target) and self.project.importers(self.module.path):
            return True
        return is_tried(self.project, self.function, self.target)

    @cached_property
    def torch(self) -> Range | None:
        """The torch versions under which the place is reached; None where a guard leaves none."""
        target = self.analysis.torch(self.module)
        return (
            versions.narrowed(target, self.flow, self.target) if self.analysis.tests_versions(self.module) else target
        )

    @cached_property
    def allowed_torch(self) -> Range | None:
        """The same for what is written there: where the project says nothing, each torch of the last years may run it."""
        if self.analysis.stated_for(self.module) is not None:
            return self.torch
        recent = Range(low=oldest_in_use())
        return (
            versions.narrowed(recent, self.flow, self.target) if self.analysis.tests_versions(self.module) else recent
        )

    def lacks(self, version: Version) -> bool:
        """Whether the project says that it is for a torch from before a version, so that it can't use what came with that.

        A project that names no oldest torch is for today's.
        """
        if self.analysis.stated_for(self.module) is None or self.torch is None:
            return False
        return Range().low < self.torch.low < version or self.torch.high <= version

    def from_torch(self, version: Version) -> str:
        """` from torch 2.3 on`, as a message says of what came with it; "" where each torch that the project asks for has it."""
        stated = self.analysis.stated_for(self.module)
        older = stated is not None and self.torch is not None and self.torch.low < version
        return f" from torch {version[0]}.{version[1]} on" if older else ""

    @property
    def settings(self) -> Settings:
        """The settings of the file."""
        return self.analysis.settings.at(self.module.path)

    def option(self, name: str) -> bool:
        """Whether the configuration turns on this switch of the rule."""
        return f"{self.rule.code}.{name}" in self.settings.options

    def value(self, node: ast.expr | libcst.CSTNode) -> Value:
        """What an expression of this function evaluates to."""
        expression = node if isinstance(node, ast.AST) else self.tree.counterpart(node)
        return self.project.value(self.function, expression) if isinstance(expression, ast.expr) else UNKNOWN

    def surely_tensor(self, node: ast.expr) -> bool:
        """Whether an expression is a tensor whatever way the program takes: what a safe fix of it rests on."""
        self.module.whole_tree()
        proof = Tensors(self.project, self.module)
        found = proof.holds(node)
        self.relied_on |= proof.words
        return found

    def surely_device(self, node: ast.expr) -> bool:
        """Whether an expression is a device whatever way the program takes, and its name no dtype's: `config.device = torch.half`.

        That of a tensor, `x.device`, nobody can set.
        """
        of_tensor = isinstance(node, ast.Attribute) and self.value(node.value).is_tensor
        if isinstance(node, ast.Attribute) and not of_tensor and self.project.any_holds(_DTYPE % node.attr.encode()):
            return False
        return self._surely(node, is_device)

    def surely_dict(self, node: ast.expr) -> bool:
        """Whether an expression is a dictionary whatever way the program takes."""
        return self._surely(node, lambda value: value.kind == "dict" and not value.other_kinds)

    def _surely(self, node: ast.expr, accepts: Callable[[Value], bool]) -> bool:
        self.module.whole_tree()
        return Valued(self.project, self.module, accepts).holds(node)

    def surely_made(self, node: ast.expr, by: Collection[str]) -> bool:
        """Whether an expression comes from calls of these functions whatever way the program takes through its function."""
        self.module.whole_tree()
        return Made(self.project, self.module, by).holds(node)

    @property
    def receiver(self) -> Value:
        """The value that a method is called on."""
        assert isinstance(self.target, ast.Call) and isinstance(self.target.func, ast.Attribute)
        return self.value(self.target.func.value)

    def resolve(self, node: ast.expr) -> str | None:
        """The canonical dotted name of an expression that starts at an import or a builtin."""
        return self.project.resolve(self.function, node)

    def loop(self, kinds: tuple[type[ast.AST], ...] = (ast.For, ast.AsyncFor, ast.While)) -> Loop | None:
        """The innermost loop around the place."""
        return next((loop for loop in self.flow.loops(self.target) if isinstance(loop, kinds)), None)

    def argument(self, keyword: str, position: int = -1) -> ast.expr | None:
        """What the call passes by this keyword, or at this position (from 0)."""
        return argument_of(self.call, keyword, position)

    @property
    def spread(self) -> bool:
        """Whether `*` or `**` hides some of the call's arguments."""
        return spreads(self.call)

    def consumed_by(
        self, words: Collection[str], node: ast.expr | None = None, handed: Collection[ast.AST] = ()
    ) -> bool:
        """Whether a call whose name ends in one of the words takes the value of an expression, or it is what is `handed` to one: directly, or through the names it is assigned to."""
        taken = node if node is not None else self.target
        return self.flow.consumers.take(taken, frozenset(words), frozenset(handed))

    def once(self, key: Hashable, answer: Callable[[], T]) -> T:
        """What several places of a run ask alike, worked out for the first of them."""
        return self.project.linked(("once", key), lambda: self.analysis.once(key, answer))

    @property
    def shim(self) -> bool:
        """Whether the place belongs to a compatibility shim (`hasattr(torch, ...)`, `except ImportError`)."""
        of_vision = self.name.startswith("torchvision.")
        return versions.behind_probe(self.flow, self.target) or (
            of_vision and versions.behind_version_of(self.flow, self.target, "torchvision")
        )

    # Findings

    def finding(
        self,
        message: str,
        *,
        at: ast.AST | None = None,
        seen: ast.AST | None = None,
        severity: Severity | None = None,
        related: Iterable[Related] = (),
        provable: bool = True,
        told: object = None,
    ) -> Finding:
        """A finding at the place, or at another node of the same function.

        `seen` is the node at which a traced run sees it, where that is in another statement; `told` is for the rule's fixer.
        """
        target = self.placeable(at if at is not None else self.target)
        start, end = self._place(target)
        source = self.module.text
        line, column = source.position(start)
        end_line, end_column = source.position(end)
        shows = seen if seen is not None else target
        statement = self.flow.statement(shows) if shows in self.flow.parents else self.statement
        header = _header_end(statement)
        return Finding(
            self.module.path,
            line,
            column,
            end_line,
            end_column,
            self.rule.code,
            self.rule.name,
            message,
            severity or self.rule.severity,
            None,
            tuple(related),
            None,
            None,
            (statement.lineno, header if seen is not None else max(header, line)),
            provable,
            told,
            target,
        )

    def placeable(self, node: ast.AST) -> ast.AST:
        """The node itself, or the whole f-string around it: positions inside one are wrong before Python 3.12."""
        around = self.flow.expressions(node) if node in self.flow.parents else ()
        return next((one for one in around if isinstance(one, ast.JoinedStr)), node)

    def _place(self, node: ast.AST) -> tuple[int, int]:
        """Where a finding is shown: an expression whole, a compound statement by its header's first line."""
        start, end = self._span(node)
        if isinstance(node, HEADED):
            data = self.module.text.data
            line_end = data.find(b"\n", start)
            line_end = line_end if line_end >= 0 else len(data)
            end = min(end, start + len(data[start:line_end].rstrip()))
        return start, end

    def related(self, function: Function, node: ast.AST, message: str) -> Related:
        """Another place that explains the finding, in whatever file of the project."""
        if function.module is not self.module:
            self.project.note_lines(function.module)
        source = function.module.text_of(node)
        line, column = source.position(source.start_of(node))
        return Related(function.module.path, line, column, message)

    def why_hot(self) -> tuple[Related, ...]:
        """The step loop that makes the place hot, or the evaluation loop that makes it warm."""
        if self.hot is not None:
            loop, function = self.hot.loop, self.hot.function
            if loop is not None:
                # An attack has no optimizer, nor has a loop that calls what steps in another file.
                steps = function.module.source.holds(b".step(")
                what = "this loop steps the optimizer" if steps else "this loop runs backward passes"
                return (self.related(function, loop, what),)
            return (self.related(function, function.node, "called on every step"),)
        if self.warm is not None:
            return (self.related(self.function, self.warm, "this loop runs the model"),)
        if self.warm_caller is not None:
            function, node = self.warm_caller
            runs = "this comprehension" if isinstance(node, Comprehension) else "this loop"
            called = "called for every token" if function.name == "__call__" else "called on every batch"
            why = called if node is function.node else f"{runs} runs the model"
            return (self.related(function, node, why),)
        return ()

    def why_compiled(self) -> tuple[Related, ...]:
        """The torch.compile that makes the place a compiled region."""
        region = self.region
        if region is None:
            return ()
        module = self.project.module(region.path)
        assert module is not None
        source = module.source
        line, column = source.position(source.offset(module.line(region.line), region.column))
        return (Related(region.path, line, column, "compiled here"),)


class FileSite:
    """One file as a whole, for the rules of the tool itself (TL001 to TL004)."""

    def __init__(
        self,
        path: str,
        rule: Ruled,
        *,
        source: Source | None = None,
        error: SourceError | None = None,
        suppressions: Suppressions | None = None,
        known: dict[str, str] | None = None,
        enabled: frozenset[str] = frozenset(),
        failed: Sequence[Finding] = (),
    ) -> None:
        self.path = path
        self.rule = rule
        self.source = source
        self.error = error
        self.suppressions = suppressions
        self.known = known or {}
        """Every rule's name by its code."""
        self.enabled = enabled
        self.failed = failed
        """One finding for each rule whose fixes were taken back because they broke the file or never came to rest."""

    def finding(
        self,
        message: str,
        line: int = 1,
        column: int = 1,
        end_column: int = 0,
        *,
        severity: Severity | None = None,
        fix: Fix | None = None,
    ) -> Finding:
        return Finding(
            self.path,
            line,
            column,
            line,
            max(end_column, column),
            self.rule.code,
            self.rule.name,
            message,
            severity or self.rule.severity,
            fix,
            (),
            None,
            None,
            (line, line),
        )


def _header_end(statement: ast.stmt) -> int:
    """The last line of a simple statement, or of a compound one's header."""
    body = getattr(statement, "body", None)
    if isinstance(body, list) and body and not isinstance(statement, ast.Expr):
        return max(statement.lineno, int(body[0].lineno) - 1)
    return statement.end_lineno or statement.lineno
