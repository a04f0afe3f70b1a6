"""What surrounds a place beyond its loops: grad mode, accelerator, the role of its file, project-wide switches."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Collection, Iterable, Iterator

from ..facts import alternatives, names
from ..facts.flow import Loop, contains
from ..facts.module import Class, Function, Module
from ..facts.moves import SENDING
from ..facts.nodes import callee, is_constant, keyword_of
from ..facts.roles import Role, role_of
from ..facts.torch_table import EVALUATION_STEPS, OFF
from ..query.question import question
from ..system.regex import regex
from ..text.blocks import in_loops
from ..text.declared import import_text
from ..text.finders import fact_of_files
from ..text.source import Source, Words
from ..text.whole_words import WholeWords
from . import dispatch, families, frameworks, objects, threads
from .calling import CallSite
from .host_defaults import is_of_host
from .host_places import may_name_host, names_host
from .places import asked_here, soundly
from .project import Project

ACCELERATOR = WholeWords(
    b"device", b"DEVICE", b"_device", b"get_device", b"xpu", b"mps", b"npu", b"fabric",
    sure=(b"cuda", b"accelerate", b"accelerator", b"lightning", b"deepspeed", b"torch_xla", b"local_rank", b"colossalai", b"fastai", b"mmengine", b"allennlp", b"KERAS_BACKEND"),
)  # fmt: skip
_HOST_ALONE = regex(
    rb"(?m)^[ \t]*(?:device|DEVICE)(?:[ \t]*:[^=\n]+)?[ \t]*=[ \t]*(?:torch\.device\()?[\"']cpu[\"']\)?[ \t]*$"
)
_OPENS = regex(rb"(?:async )?def \w+\((?!.*\b(?:device|DEVICE)\b)|if __name__\b")
"""What begins a block that a script runs in any case: a function that is given no device, `if __name__ == "__main__":`."""
_ASKED = regex(rb"(?<!torch)\.device\b")
"""A device that something has."""
_DEVICE = regex(rb"(?<![\w.])(?:device|DEVICE)\b")
_TOP = regex(rb"(?m)^[^\s#]")
_UNUSED = regex(rb"\buse_cuda[ \t]*=[ \t]*False\b")
"""What says `cuda`, and means the host."""
_SAID = regex(rb"(?m)^[ \t]*(?:device|DEVICE)\b[^\n=(]*=(?!=)|\.device[ \t]*=(?!=)")
_OTHER_DEVICES = WholeWords(
    *(word for word in ACCELERATOR.words if word not in (b"device", b"DEVICE")),
    b"gpu",
    sure=(*ACCELERATOR.sure, b"GPU", b"--device", b"accelerat"),
)
_TRAINERS = regex(rb"\b(?:transformers|trl) import [^\n]{0,499}Trainer(?:Callback)?\b|\bTrainingArguments\b")
"""A trainer that moves models and batches to the accelerator by itself."""
_RUNNING = (b"speechbrain", b"catalyst", b"composer", b"megatron", b"ultralytics", b"basicsr")
"""Libraries whose classes are only derived from to be run by them, on the accelerator that there is."""
_DERIVES = Words(*(word + library for word in (b"from ", b"import ") for library in _RUNNING))
_MOST_USERS = 50
"""So many files are looked at for a program that uses one."""
_MOVES = rb"\.cuda\(|\.to\([^()\n]{0,40}(?:device|DEVICE)|torch\.device\("
_MOVED_BY = (
    rb"(?m)^[ \t]*(?:from|import)[ \t]+(?:allennlp|fairseq|mmcv|mmengine|lightning|pytorch_lightning|detectron2"
    rb"|sentence_transformers|fastai|%s)\b" % b"|".join(_RUNNING)
)
"""Frameworks whose own programs move models and batches there."""
_OFF = frozenset(
    (
        "torch.no_grad",
        "torch.inference_mode",
        "torch.autograd.inference_mode",
        "torch.autograd.grad_mode.inference_mode",
    )
)
_SET = frozenset(("torch.set_grad_enabled", "torch.autograd.set_grad_enabled"))
_SWITCHES = Words(b"set_grad_enabled", b"__enter__")
"""What switches autograd for the statements that follow."""
_TURNS_ON = (
    rb"(?m)^[ \t]*(?:(?:if|elif|else)\b[^\n]*:[ \t]*|\w+[ \t]*=[ \t]*)?(?:[\w.]+\.)?_?set_grad_enabled\("
    rb"(?!\s*(?:mode\s*=\s*)?False\s*\))|enable_grad\(\)\.__enter__"
)
"""A statement that may switch autograd on for those that follow."""
_HANDS_OVER = (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)
"""Where other code may run, in the grad mode that a function has entered or its own, before the function goes on."""
_ON = frozenset(("torch.enable_grad", "torch.autograd.enable_grad"))
_FRAMEWORK_EVAL = EVALUATION_STEPS | {"on_validation_epoch_end", "evaluation_step"}
_PUBLISHED = rb"\b(?:from_pretrained|load_state_dict_from_url|hf_hub_download|model_zoo(?=\.\w| import\b))\b"
_MODELS = regex(rb"(?m)^class \w+\((?:(?:torch\.)?nn\.)?Module\)")
# Patterns that begin with a word are looked for quickly: what stands in front of it is asked behind it.
_CPU = rb"(?m)cpu(?:(?<==\s[\"']cpu)|(?<=e\([\"']cpu))[\"']\)?[^\S\n]*(?:#|$)"
_STAYS = (
    rb"store_(?:true\b[^)]{0,200}\bdefault *= *True|false\b[^)]{0,200}\bdefault *= *False)\b"
    rb"|default *= *(?:True\b[^)]{0,200}\bstore_true|False\b[^)]{0,200}\bstore_false)\b"
)
_OF_HOST = ((_CPU, b""), (_STAYS, b"store_"))
"""What a file holds whose device may be the CPU whatever is given: `x = "cpu"`, `x = torch.device("cpu")`, switches that stay; with a word that is in it."""
_CALLED = regex(rb"(?<![\w.\x80-\xff])([\w\x80-\xff]+)\(")
"""What is called by its bare name: `put(x)`, not `self.put(x)`."""
_FUNCTION = regex(rb"(?m)^(?:(?:async )?def|class) (\w+)(.*\n?(?:[ \t#)].*\n?|\r?\n)*)")
"""A function, or a class, at the top of a file: its name, and the rest of it."""
_MOVE = regex(rb"\.(cuda|to)\(([^()\n]*(?:\([^()\n]*\)[^()\n]*)*)")
_GIVEN = regex(rb"(?m)^(\w+)[ \t]*(?::[^=\n]+)?=(?!=)(.*)")
_SENDS = regex(rb"to(?<!\wto)[ \t]*\([\s\\]*(?:#|(\w+)[\s\\]*[,)#])")


class Context:
    """Answers about places and files of one project."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.ask = project.ask
        self._roles: dict[str, Role] = {}
        """Of some files, where they lie."""

    def refresh(self) -> None:
        """Forget what holds for one run."""
        self._roles.clear()

    # Grad mode

    def grad_off(self, function: Function, node: ast.AST) -> bool:
        """Whether autograd is proven off at the place: lexically, by a decorator, or at every call in the project."""
        return self._off_at(function, node) is True

    def _off_from(self, site: CallSite, of: Class | None = None) -> bool | None:
        """The same of a call of a function: a thread begins with autograd on, whatever its starter has switched."""
        if threads.start(self.project, site.function, site.call):
            return False
        return self._off_at(site.function, site.call, of)

    def _off_at(self, function: Function, node: ast.AST, of: Class | None = None) -> bool | None:
        """The same, None where that is open; of a method for objects `of` a class alone, where that is one of its heirs."""
        if self._is_in_thread(function, node):
            return False
        for context in function.flow.contexts(node):
            mode = self._mode(function, context)
            if mode is not None:
                return not mode
        if self._switched_off(function, node):
            return True
        mode = self._off(function, of)
        return self._off_behind(function, node, of) if mode is False and function.parameters else mode

    def _is_in_thread(self, function: Function, node: ast.AST) -> bool:
        """Whether a place runs where a thread calls what it is given: `pool.map(lambda x: model(x), rows)`."""
        flow = function.flow
        around = flow.ancestors(node) if function.module.source.holds(threads.NAMED) else ()
        calls = (flow.argument_of(one) for one in around if isinstance(one, ast.Lambda))
        return any(isinstance(call, ast.Call) and threads.start(self.project, function, call) for call in calls)

    @question("off behind", None)
    def _off_behind(self, function: Function, node: ast.AST, of: Class | None) -> bool | None:
        """The same of a place behind a condition of a parameter, by the calls alone that come there: `if target is None: self.generate(x)`."""
        said = alternatives.asked_of_callers(function, node)
        if not said:
            return False
        coming = [
            (site, heir)
            for site, heir in self._calls_for(function, of)
            if not alternatives.excluded(_said_by(function, site.call, said), said)
        ]
        modes = {self._off_from(site, heir) for site, heir in coming}
        return True in modes and False not in modes

    def _calls_for(self, function: Function, of: Class | None) -> Iterator[tuple[CallSite, Class | None]]:
        """Where a method may be called for objects `of` a class, its own where none is given; each with the class that the caller is run for.

        `self.gather()` in a class beside that one calls the method for other objects.
        """
        for site in self.calls(function):
            own = families.own_class(site.function, site.call, function)
            if of is None or own is None or self._may_be_both(own, of):
                yield site, self._narrower(own, of)
        for overridden in self.project.overridden(function):
            for site in self.project.calls_of(overridden):
                own = families.own_class(site.function, site.call, function)
                heir = of or function.cls
                if own is not None and heir is not None and self._may_be_both(own, heir):
                    yield site, self._narrower(own, heir)

    def _narrower(self, own: Class | None, of: Class | None) -> Class | None:
        """The class of the objects that a method of a class is run for where it calls one `of` another; None for its own."""
        return of if own is not None and of is not None and own is not of and self.project.inherits(of, own) else None

    def _may_be_both(self, one: Class, other: Class) -> bool:
        """Whether an object may be one of two classes at once: one inherits from the other, or a third from both."""
        if self.project.inherits(one, other) or self.project.inherits(other, one):
            return True
        heirs = self.project.subclasses(one)
        too_many = not heirs and bool(self.project.heirs(one.name))
        return too_many or any(self.project.inherits(heir, other) for heir in heirs)

    def calls(self, function: Function) -> Iterator[CallSite]:
        """Where a function may be called, a `forward` by calls of its module."""
        yield from self.project.calls_of(function)
        yield from dispatch.calls_by_others(self.project, function)
        if function.name == "forward" and function.cls is not None:
            yield from objects.calls(self.project, function) or objects.calls_where_made(self.project, function)

    def surely_off(self, function: Function, node: ast.AST) -> bool:
        """Whether autograd is off at the place whatever way the program takes: `torch.no_grad()` is entered there, or decorates."""
        if any(isinstance(one, ast.GeneratorExp | ast.Lambda) for one in function.flow.ancestors(node)):
            return False  # it may run elsewhere
        scope = function.parent or function.module.body
        entered = [(function, one) for one in function.flow.contexts(node)]
        entered += [(scope, one) for one in function.decorators]
        for where, context in entered:
            name = self.project.resolve(where, callee(context))
            if name in _OFF:
                given = isinstance(context, ast.Call) and (context.args or context.keywords)
                return not given and self._stays_off(function, context)
            if name is None or "grad" in name or self.project.definition(name, where.module) is not None:
                return False
        return False

    def _stays_off(self, function: Function, context: ast.expr) -> bool:
        """Whether nothing hands over to other code inside of what a function enters, or decorates it, nor may switch autograd on."""
        flow = function.flow
        entered = flow.parents.get(flow.parents.get(context, context))  # nothing of a decorator
        if entered is None and isinstance(function.node, ast.AsyncFunctionDef):
            return False  # what is decorated only makes the coroutine
        located = (one for one in flow.nodes if isinstance(one, ast.stmt | ast.expr))
        inside = [one for one in located if entered is None or contains(entered, one)]
        if entered is not None and any(isinstance(one, _HANDS_OVER) for one in inside):
            return False
        if not self.project.any_holds(_TURNS_ON, word=b"enable"):
            return True
        return not any(self._may_turn_on(function, one) for one in inside if isinstance(one, ast.Call))

    def _may_turn_on(self, function: Function, call: ast.Call) -> bool:
        """Whether a call may switch autograd on behind it, in a project that does so somewhere."""
        if isinstance(function.flow.parents.get(call), ast.withitem):
            return False  # that is switched off again behind it
        given = _mode_argument(call)
        if names.last(call.func).endswith(("set_grad_enabled", "__enter__")):
            return not is_constant(given, False)
        return bool(families.may_run(self.project, function, call))

    def function_off(self, function: Function) -> bool:
        """Whether the whole function runs with autograd off."""
        return self._off(function, None) is True

    def off_where_called(self, function: Function, node: ast.AST) -> bool:
        """The same, where a method of the class says nothing that calls a private one and is called by nobody: others are used."""
        return self.grad_off(function, node) or self._private_off(function) is True

    @question("private off", None)
    def _private_off(self, function: Function) -> bool | None:
        if function.cls is None or not function.name.startswith("_"):
            return self._off(function, None)
        modes = set[bool | None]()
        for site in self.project.calls_of(function):
            mode = self._off_from(site)
            if not mode and site.function.cls is function.cls:
                uncalled = next(self.project.calls_of(site.function), None) is None
                mode = None if uncalled else self._private_off(site.function)
            modes.add(mode)
        return True in modes and False not in modes

    @question("off", None)
    def _off(self, function: Function, of: Class | None) -> bool | None:
        """The same of a function, for objects of a class; None where only the function's own calls of itself decide it."""
        scope = function.parent or function.module.body
        for decorator in function.decorators:
            mode = self._mode(scope, decorator)
            if mode is not None:
                return not mode
        if function.name in _FRAMEWORK_EVAL or frameworks.is_tested(self.project, function):
            return True
        parent = function.parent
        nested = parent is not None and parent is not function.module.body and function.cls is None
        # A nested function runs where it is called from; mostly that is where it is defined.
        if parent is not None and nested and parent.decorators and self.function_off(parent):
            return not self._is_run_by_thread(function)
        modes = set[bool | None]()
        by_tests = []
        for site, heir in self._calls_for(function, of):
            if self.project.is_tested(site.function):
                by_tests.append(site)  # what a program does decides, where it calls the function as well
                continue
            modes.add(self._off_from(site, heir))
            if False in modes:
                return False
        modes |= {self._off_from(site) for site in by_tests} if not modes else set()
        return False not in modes and (True in modes or (None if modes else False))

    def _is_run_by_thread(self, function: Function) -> bool:
        """Whether a call has a thread run a function."""
        if not function.module.source.holds(threads.NAMED):
            return False
        return any(threads.start(self.project, site.function, site.call) for site in self.calls(function))

    def _mode(self, function: Function, node: ast.expr) -> bool | None:
        """True or False where a decorator or context manager turns grad on or off; None where it does neither."""
        target = callee(node)
        name = self.project.resolve(function, target)
        if name in _OFF:
            # `inference_mode(mode=False)` turns it back on.
            given = _mode_argument(node)
            return is_constant(given, False) and name != "torch.no_grad"
        if name in _ON:
            return True
        if name in _SET:
            given = _mode_argument(node)
            if isinstance(given, ast.Constant):
                return bool(given.value)
            if isinstance(given, ast.Name) and self._was_off(function, given):
                return False
            # `set_grad_enabled(phase == "train")`: on where it trains, off where it does not.
            return True if isinstance(given, ast.Compare) else None
        if name is not None:
            definition = self.project.definition(name, function.module)
            if isinstance(definition, Function) and _mentions_off(definition):
                return False
        elif isinstance(target, ast.Name):
            own = function.module.top_functions.get(target.id)
            if own is not None and _mentions_off(own):
                return False
        if isinstance(target, ast.Attribute) and target.attr in OFF:
            return False
        # `ctx = torch.no_grad()` entered by name, `torch.no_grad() if frozen else nullcontext()`
        if isinstance(node, ast.Name) and _named_off(function, node):
            return False
        if isinstance(node, ast.IfExp):
            modes = [self._mode(function, node.body), self._mode(function, node.orelse)]
            return False if False in modes else None
        return None

    def _switched_off(self, function: Function, node: ast.AST) -> bool:
        """`torch.set_grad_enabled(False)` or `torch.no_grad().__enter__()` as a statement before the place, in the function or at the module's top."""
        if not function.module.source.holds(_SWITCHES):
            return False
        return any(
            isinstance(scope.flow.parents.get(call), ast.Expr | ast.Assign)  # a notebook shows what is not assigned
            and (scope is not function or call.lineno < getattr(node, "lineno", 0))
            and self._switches_off(scope, call)
            for scope in {function, function.module.body}
            for call in scope.flow.calls
        )

    def _switches_off(self, scope: Function, call: ast.Call) -> bool:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "__enter__":
            return self._mode(scope, call.func.value) is False
        return self.project.resolve(scope, call.func) in _SET and self._mode(scope, call) is False

    def _was_off(self, function: Function, mode: ast.Name) -> bool:
        """Whether a name says that autograd was off: the `mode` of `mode = torch.is_grad_enabled()`, which a thread sets anew."""
        owner = next((one for one in function.scopes if one.binds(mode.id)), None)
        stores = owner.flow.stores.get(mode.id, ()) if owner is not None else ()
        made = owner.flow.parents.get(stores[0]) if owner is not None and len(stores) == 1 else None
        asked = made.value if isinstance(made, ast.Assign) else None
        if owner is None or not isinstance(asked, ast.Call):
            return False
        return self.project.resolve(owner, asked.func) == "torch.is_grad_enabled" and self.grad_off(owner, asked)

    # Files

    @question("accelerator", False)
    def accelerator(self, module: Module) -> bool:
        """Whether the file, or a file of the project that imports it, deals with an accelerator, or it imports what does."""
        source = module.source
        named = source.fact("names an accelerator", _names_accelerator) and not self._is_of_host_by_default(module)
        if named or (source.holds(b"Trainer") and source.holds(_TRAINERS)) or source.holds(_DERIVES):
            return True
        users = self.project.importers(module.path)
        if any(self.project.fact(path, "names an accelerator", _names_accelerator) for path in users):
            return True
        called = frozenset(source.fact("calls what it imports", _imported_calls))
        imports = ((name, origin) for name, origin in module.imports.items() if "." in origin)
        if any(self._leads_there(origin, module, called=name in called) for name, origin in imports):
            return True
        movers = {name for origin in module.stars for name in self._movers(self.project.find(origin, module), module)}
        return bool(movers) and not movers.isdisjoint(_called(source))

    @question("host alone", False)
    def has_host_alone(self, module: Module) -> bool:
        """Whether a file says that its device is the host, and no other file uses what it has."""
        said = module.source.fact("host alone", _has_host_alone) or self._is_of_host_by_default(module)
        return said and not self.project.importers(module.path)

    @question("of host by default", False)
    def _is_of_host_by_default(self, module: Module) -> bool:
        """Whether a script gives its functions no other device than the host that they have by default."""
        if not is_of_host(module) or _OTHER_DEVICES.search(module.source.data) is not None:
            return False
        return not self.project.importers(module.path)

    def _movers(self, path: str | None, module: Module) -> Collection[str]:
        """The functions and classes at the top of another file than that one that move something to an accelerator."""
        if path is None or path == module.path:
            return ()
        return self.project.fact(path, "moves tensors in", _moves_tensors_in) or ()

    def _leads_there(self, origin: str, module: Module, *, called: bool) -> bool:
        """Whether what a file imports and calls moves tensors to an accelerator, `to_gpu(x)`, or what it imports is one: `dev`."""
        package, _, name = (self.project.canonical(origin, module) if called else origin).rpartition(".")
        path = self.project.find(package, module)
        if called:
            return name in self._movers(path, module)
        if path is None or path == module.path:
            return False
        if name not in (self.project.fact(path, "devices", _devices) or ()):
            return False
        owner = self.project.definition(package, module)
        value = self.project.final(owner.body, name) if isinstance(owner, Module) else None
        return value is not None and value.kind == "device" and value.device == "accelerator"

    @question("run on accelerator", False)
    def runs_on_accelerator(self, module: Module) -> bool:
        """Whether a file only defines things, for a program that has an accelerator.

        A file says so that leads to it by its imports, or no program imports it by its name, and a registry makes its objects.
        """
        if not self._only_defines(module) or not self.anywhere:
            return False
        seen, users = {module.path}, [module]
        while users and len(seen) <= _MOST_USERS:
            paths = dict.fromkeys(path for user in users for path in self.project.importers(user.path))
            users = [user for user in self.project.modules([*paths]) if user.path not in seen]
            if any(map(self.accelerator, users)):
                return True
            if not all(self._only_defines(user) or self.role(user) == "test" for user in users):
                return False
            seen.update(user.path for user in users)
        return not users

    def _only_defines(self, module: Module) -> bool:
        """Whether a file runs nothing by itself: neither as a script, nor by a loop or a call at its top."""
        if self.role(module) != "library" or module.body.has_loops:
            return False
        body = module.body.node.body
        return not any(isinstance(one, ast.Expr) and isinstance(one.value, ast.Call) for one in body)

    @question("host named", False)
    def names_host(self) -> bool:
        """Whether a device of the project may be the CPU whatever is given."""
        return any(self._of_host())

    def _of_host(self) -> Iterator[frozenset[str]]:
        """The files whose device may be the CPU whatever is given, for each way to say so."""
        return (self.project.holders(pattern, word=word) for pattern, word in _OF_HOST)

    @question("host loops known", False)
    def knows_host_loops(self) -> bool:
        """Whether some file of the project that names the CPU has a loop that stays on the host."""
        holders = frozenset[str]().union(*self._of_host())
        sending = (path for path in sorted(holders) if self.project.fact(path, "sends in loops", _may_send_in_loops))
        ask = soundly(self.project, self.project.asking(asked_here(self)))
        few = 1
        while paths := [*itertools.islice(sending, few)]:
            if any(ask(Context.has_host_loop, paths, False)):
                return True
            few *= 4  # one file may be enough, but what many depend on is gone through together
        return False

    def has_host_loop(self, path: str) -> bool:
        """Whether a file has a loop that stays on the host: a question about the whole project, whose answers a cache keeps."""
        module = self.project.module_for_calls(path, "to")
        return module is not None and any(
            self.stays_on_host(function, loop)
            for function in module.functions_calling("to")
            for call in function.flow.calls_named("to")
            for loop in function.flow.loops(call)
        )

    @question("stays on host", False)
    def stays_on_host(self, function: Function, loop: Loop) -> bool:
        """Whether a loop sends its batches to `device`, or to a device by another name, which is the CPU whatever is given."""
        near = [call for call in function.flow.calls_within(loop) if contains(loop, call)]
        calls = [call for call in near if names.last(call.func) in SENDING]
        if not calls:
            return self._hands_host(function, near)
        return all(names_host(self.project, function, _device_sent_to(call)) for call in calls)

    def _hands_host(self, function: Function, calls: list[ast.Call]) -> bool:
        """Whether the functions that calls run send what they send to a device that these give them, which is the CPU: `step(x, device)`."""
        sent = [
            (target, call, _device_sent_to(inner))
            for call in calls
            for target in self.project.targets(function, call)
            for name in SENDING
            for inner in target.flow.calls_named(name)
        ]
        return bool(sent) and all(
            names_host(self.project, function, target.argument(call, node.id))
            if isinstance(node, ast.Name) and node.id in target.positions and node.id not in target.flow.stores
            else names_host(self.project, target, node)
            for target, call, node in sent
        )

    @property
    def anywhere(self) -> bool:
        """Whether any file of the project moves something to an accelerator."""
        return self.project.any_holds(_MOVES) or self.project.any_holds(_MOVED_BY)

    def switched_on(self, pattern: bytes, under: str = "", *, word: bytes = b"") -> bool:
        """Whether any file of the project, or of a folder of it, holds the pattern (a regular expression).

        `word` is in whatever it matches.
        """
        return self.project.any_holds(pattern, re.escape(under), word=word)

    @question("published", False)
    def loads_published(self, module: Module) -> bool:
        """Whether weights that others have trained are loaded near a module: its models keep their parameters.

        Near is the file itself, what it imports, and what imports it or these; a neighbour in its folder loads models of its own,
        and so does a file of models that it imports, such as a backbone.
        """
        loaders = self.project.holders(_PUBLISHED)
        return bool(loaders) and self._is_near(module, loaders)

    def _is_near(self, module: Module, others: frozenset[str]) -> bool:
        # Those who use the module come last: they are parsed for their names.
        return (
            module.path in others
            or any(one.path in others and not one.source.holds(_MODELS) for one in self.project.imports_of(module))
            or any(path in others for path in self._users(module))
        )

    def _users(self, module: Module) -> Iterator[str]:
        """The files that import a module, and those that import these."""
        direct = self.project.importers(module.path)
        yield from direct
        for user in self.project.modules(direct):
            yield from self.project.importers(user.path)

    def role(self, module: Module) -> Role:
        """What the file is for, by its path and its top-level code."""
        if module.path not in self._roles:
            self._roles[module.path] = role_of(module, self.project.home(module.path))
        return self._roles[module.path]


@fact_of_files("names an accelerator")
def _names_accelerator(source: Source) -> bool:
    return source.holds(ACCELERATOR) and not source.fact("host alone", _has_host_alone)


def _called(source: Source) -> set[str]:
    """The names that a text calls."""
    return {name.decode(errors="replace") for name in _CALLED.findall(source.data)}


@fact_of_files("calls what it imports")
def _imported_calls(source: Source) -> list[str]:
    """The names that a file calls and that its imports hold."""
    imported = source.fact("imports", import_text).decode(errors="replace")
    return sorted(_called(source).intersection(re.findall(r"\w+", imported)))


@fact_of_files("host alone")
def _has_host_alone(source: Source) -> bool:
    """Whether all that a file says of its device is `device = "cpu"`, at its top or in a function, whatever that is given."""
    data = source.data
    said = _SAID.findall(data) if b"cpu" in data else ()
    named = _HOST_ALONE.search(data) if len(said) == 1 else None
    if named is None or (data[named.start()] in b" \t" and not _is_only_there(data, named.start())):
        return False
    if b"use_cuda" in data:
        data = _UNUSED.sub(b"", data)
    return _OTHER_DEVICES.search(data) is None


def _is_only_there(data: bytes, start: int) -> bool:
    """Whether a line runs whatever its function is given, and only that function speaks of a device, which is no other's."""
    first, opens = start, _indent(data[start : start + 200])
    while opens and first:
        first, end = data.rfind(b"\n", 0, first - 1) + 1, first
        line = data[first:end]
        if (own := line.strip()) and not own.startswith(b"#") and _indent(line) < opens:
            opens = _indent(line)
            if not _OPENS.match(own):
                return False
    last = next((one.start() for one in _TOP.finditer(data, start)), len(data))
    return not (_ASKED.search(data) or _DEVICE.search(data[:first]) or _DEVICE.search(data[last:]))


def _indent(line: bytes) -> int:
    return len(line) - len(line.lstrip(b" \t"))


@fact_of_files("moves tensors in")
def _moves_tensors_in(source: Source) -> list[str]:
    """The functions and classes at the top of a file that move something to an accelerator: `x.cuda()`, `x.to(device)`."""
    if not source.holds(ACCELERATOR):
        return []
    return sorted({one[1].decode() for one in _FUNCTION.finditer(source.data) if _moves(one[2])})


def _moves(body: bytes) -> bool:
    return any(one[1] == b"cuda" or ACCELERATOR.search(one[2]) for one in _MOVE.finditer(body))


@fact_of_files("devices")
def _devices(source: Source) -> list[str]:
    """The names that a file gives at its top to what may be an accelerator."""
    given = _GIVEN.finditer(source.data) if source.holds(ACCELERATOR) else ()
    return sorted({one[1].decode() for one in given if ACCELERATOR.search(one[2])})


@fact_of_files("sends in loops")
def _may_send_in_loops(source: Source) -> bool:
    """Whether a text says `x.to(device)` in a loop, of a device that has a name."""
    found = in_loops(source.data, _SENDS)
    return any(one[1] is None or may_name_host(one[1].decode(errors="replace")) for one in found)


def _device_sent_to(call: ast.Call) -> ast.expr | None:
    """`device` of `x.to(device)`; None of what is given more, or nothing."""
    return call.args[0] if len(call.args) == 1 and not call.keywords else None


def _mode_argument(node: ast.expr) -> ast.expr | None:
    """What a call gives as `mode`."""
    if not isinstance(node, ast.Call):
        return None
    return node.args[0] if node.args else keyword_of(node, "mode")


def _mentions_off(function: Function) -> bool:
    return any(map(_is_off, ast.walk(function.node)))


def _is_off(node: ast.AST) -> bool:
    """`torch.no_grad`, `no_grad`"""
    return isinstance(node, ast.Name | ast.Attribute) and names.last(node) in OFF


def _named_off(function: Function, node: ast.Name) -> bool:
    stores = function.flow.stores.get(node.id, ())
    if not stores and function.parent is not None:
        return _named_off(function.parent, node)
    made = (function.flow.parents.get(store) for store in stores)
    parts = (part for one in made if isinstance(one, ast.Assign) for part in ast.walk(one.value))
    return any(_is_off(part) and isinstance(part, ast.expr) and names.chain(part) is not None for part in parts)


def _said_by(function: Function, call: ast.Call, said: Iterable[alternatives.Said]) -> list[alternatives.Said]:
    """What a call says of parameters: by constants, or that one which is None by default is given something."""
    names_ = {one.name for one in said}
    found = [*alternatives.given(function, call, names_)]
    for name in names_ - {one.name for one in found}:
        if is_constant(function.defaults.get(name), None) and function.argument(call, name) is not None:
            found.append(alternatives.Said(name, None, False))
    return found
