"""Which methods a call may run besides the one it names: overrides in subclasses, and what one family of classes alone defines."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Collection, Iterator

from ..facts import names, syntax
from ..facts.module import Class, Function, Module
from ..facts.nodes import receiver_of, string
from ..facts.syntax import is_super
from ..facts.values import Value
from ..query.question import question
from ..system.regex import regex
from ..system.stamp import as_bytes
from ..text.declared import class_names, made_as_pattern, made_for
from ..torch_api.operators import operator
from . import by_text, dispatch, handed, mixins, supers
from .calling import CallSite, calls_named, passes_messages
from .definitions import GENERIC, MOST_HEIRS
from .objects import files_calling, made_as
from .project import Project
from .texts import MAX_SITES

# Methods that objects of torch and of well-known libraries have, too.
_ELSEWHERE = frozenset(
    """zero_grad state_dict load_state_dict named_parameters named_modules named_buffers register_buffer register_parameter
    register_forward_hook register_forward_pre_hook add_module requires_grad_ to_empty get_parameter get_submodule
    extra_repr param_groups add_param_group get_lr get_last_lr set_epoch set_postfix set_description add_scalar
    add_scalars add_image add_histogram add_argument add_argument_group parse_args parse_known_args batch_decode
    batch_encode_plus encode_plus apply_chat_template from_pretrained save_pretrained push_to_hub from_config
    get_rank get_world_size get_device set_device is_available manual_seed all_reduce all_gather no_sync
    unwrap_model clip_grad_norm_ backward manual_backward wait_for_everyone save_state load_state log_dict log_metrics
    to_dict from_dict to_json is_set read_text write_text""".split()
)

_KINDS = frozenset("agent algo algorithm actor critic policy learner trainer solver model".split())
"""What objects are called in the code around them as their classes are: `self.agent` is a `SacAgent`, or a class derived from `Agent`."""
_OF_MODULES = frozenset("train eval to cpu cuda load save parameters state_dict load_state_dict zero_grad".split())
_SETS_UP = regex(r"(?:init|initialize|setup|set_up|build|load|save|close)(?:_|$)")
_WORD = regex(r"(?:[A-Z]?[a-z]{1,30}|[A-Z]{1,30})(?=\d{0,9}$)")


def may_run(project: Project, function: Function, call: ast.Call) -> list[Function]:
    """The project's functions that a call may run."""
    found = dict.fromkeys(project.targets(function, call))
    if found and dispatch.is_by_words_alone(project, function, call):
        return []  # what it runs say the words of who calls its function: `fired`
    receiver = receiver_of(call)
    if found:
        methods = [method for method in found if method.cls is not None and method.name != "__init__"]
        if methods and not _is_exact(project, function, receiver):
            others = (
                other for method in methods for other in overrides(project, method, own_class(function, call, method))
            )
            beside = mixins.run_by(project, function, call)
            found.update(dict.fromkeys(other for other in (*others, *beside) if other.takes(call)))
    elif (above := supers.run_by(project, function, call)) is not None:
        return list(dict.fromkeys((above, *mixins.run_by(project, function, call))))
    elif isinstance(call.func, ast.Attribute):
        if call.func.attr == "propagate" and function.cls is not None:
            found.update(dict.fromkeys(filter(passes_messages, function.cls.methods.values())))
        if not found and _is_unknown(project, function, call, receiver):
            guessed = of_one_family(project, call.func.attr) or of_one_kind(project, call.func.attr, _kind(receiver))
            guessed = guessed or of_named(project, call.func.attr, names.last(receiver))
            found.update(dict.fromkeys(method for method in guessed if method.takes(call)))
        if not found:
            run = (*_of_heirs(project, function, call, call.func), *mixins.run_by(project, function, call))
            found.update(dict.fromkeys(one for one in run if one.takes(call)))
    if not found:
        found.update(dict.fromkeys(by_text.run_by(project, function, call)))
    if not found:
        called = [method for method in of_named(project, "__call__", names.last(call.func)) if method.takes(call)]
        if called and project.may_be_own(function, call) and not project.value(function, call.func):
            return called
    return list(found)


def _of_heirs(project: Project, function: Function, call: ast.Call, method: ast.Attribute) -> Iterator[Function]:
    """What subclasses define that the classes of an object lack: the object is of a subclass."""
    if not project.may_be_own(function, call) or not project.definers(method.attr):
        return
    value = project.value(function, method.value)
    if value.kind == "module" and value.of_any_class:
        yield from project.of_modules(method.attr)
        return
    classes = value.any_class
    if value.kind not in ("module", "instance") or any(project.method(one, method.attr) for one in classes):
        return
    made = value.made_by
    if isinstance(made, ast.Call) and not (isinstance(made.func, ast.Name) and made.func.id == "cls"):
        return  # what a constructor gave is of its very class, which may take what it lacks from a library
    for one in classes:
        yield from project.of_heirs(one, method.attr)


def callers(project: Project, function: Function) -> list[CallSite]:
    """Where a function may be called: by its name, as the method of a base class, and where nobody knows the object of its kind."""
    sites = [
        *(project.call_sites(function) or ()),
        *supers.calls(project, function),
        *mixins.calls(project, function),
    ]
    for method in project.overridden(function):
        sites += (site for site in project.call_sites(method) or () if _may_stand_in(project, function, site))
    if all(map(_hands_on, sites)):
        sites += [*calls_by_name(project, function)] or dispatch.calls(project, function)
    if function.name == "__call__" and function.cls is not None:
        sites += _calls_of_objects(project, function, function.cls)
    return list({site.call: site for site in sites}.values())


def _hands_on(site: CallSite) -> bool:
    """`super().update(batch)`, `Base.update(self, batch)`, by which an override calls what it stands in place of."""
    func, given = site.call.func, site.call.args[:1]
    if not isinstance(func, ast.Attribute) or not site.function.is_method:
        return False
    own = site.function.own_name
    by_class = func.attr == site.function.name and bool(given) and isinstance(given[0], ast.Name) and given[0].id == own
    return is_super(func.value) or by_class


def calls_by_name(project: Project, method: Function) -> Iterator[CallSite]:
    """The calls of a method on objects of which nobody knows the class, where its name tells it."""
    klass = method.cls
    if klass is None:
        return
    for path in dict.fromkeys((*_calling_kin(project, method, klass), *_calling_objects(project, method, klass))):
        module = project.module_for_calls(path, method.name)
        yield from _by_name(project, module, method.name).get(method, ()) if module is not None else ()


def _calling_kin(project: Project, method: Function, klass: Class) -> list[str]:
    """The files that call a method on objects of its kind, or of the only family that has one of that name."""
    name = method.name
    is_of_kind = _may_tell(name) and not _KINDS.isdisjoint(_kinds_of(klass))
    if not (is_of_kind or _is_telling(name)):
        return []
    # Of `self` and `cls` it is known what they are.
    paths = [path for path in _few(project.calling(name)) if project.called_as(path, name) in ("base", "any")]
    return paths if paths and (is_of_kind or method in of_one_family(project, name)) else []


def _calling_objects(project: Project, method: Function, klass: Class) -> list[str]:
    """The files that call a method on something named as objects of its class are where they are made."""
    name = method.name
    paths = project.calling(name) - {method.module.path} if _may_be_named(name) else frozenset[str]()
    kin = (klass, *project.subclasses(klass)[:MAX_SITES]) if paths else ()
    calls = sorted({f"{word}.{name}(" for one in kin for word in made_as(project, one)})
    return _few([path for path in paths if any(project.writes(path, call) for call in calls)])


@question("by name", {})
def _by_name(project: Project, module: Module, name: str) -> dict[Function, list[CallSite]]:
    """The calls in a file of a method on objects of which nobody knows the class, by what they may run."""
    sites: dict[Function, list[CallSite]] = {}
    for caller, call in calls_named(module, name):
        for method in may_run(project, caller, call) if not project.targets(caller, call) else ():
            sites.setdefault(method, []).append(CallSite(caller, call))
    return sites


def _calls_of_objects(project: Project, method: Function, klass: Class) -> Iterator[CallSite]:
    """`loss_scaler(loss, optimizer)`: where objects of a class are called, by the names that its constructor is assigned to."""
    for name in made_as(project, klass):
        paths = _few(files_calling(project, name))
        for module in filter(None, (project.module_for_calls(path, name) for path in paths)):
            for caller, call in calls_named(module, name):
                if method in may_run(project, caller, call):
                    yield CallSite(caller, call)


def of_named(project: Project, name: str, called: str) -> list[Function]:
    """The methods of that name of the classes whose objects are called so where they are made: `compute` of `Features` behind `features = Features()`."""
    if not called or not (name == "__call__" or _may_be_named(name)):
        return []
    return _among(
        project, name, MAX_SITES, ("named", name, called), lambda paths: _of_named(project, name, called, paths)
    )


def _among(
    project: Project, name: str, most: int, key: tuple[str, ...], choose: Callable[[list[str]], list[Function]]
) -> list[Function]:
    """The methods that are chosen among those of a name, by the files that define one; none where these are too many."""
    paths = project.definers(name)
    return project.ask(key, lambda: choose(paths), []) if len(paths) <= most else []


def _of_named(project: Project, name: str, called: str, paths: Collection[str]) -> list[Function]:
    made = _made(project, called)
    found: list[Function] = []
    for path in paths if made else ():
        defined = project.fact(path, "class names", class_names) or ()
        classes = {klass for klass in defined if _is_made(project, klass, made)}
        having = project.having(name, [path]) if classes else ()
        found += [one.methods[name] for one in having if one.name in classes]
    return found if len(found) <= MAX_SITES else []


def _is_made(project: Project, klass: str, made: frozenset[str]) -> bool:
    """Whether objects of classes of that name are made, or of those that mention it among their bases."""
    return not made.isdisjoint((klass, *project.renamed(klass), *(heir for _, heir in project.heirs(klass))))


@question("made", frozenset())
def _made(project: Project, called: str) -> frozenset[str]:
    """What the project calls for what it assigns to a name, or gives by it: classes, and what looks like them."""
    word = as_bytes(called)
    paths = project.holders(made_as_pattern(word), word=word)
    found = (project.fact(path, f"made as {called}", lambda source: made_for(source, called)) for path in paths)
    return frozenset(name for names_ in found for name in names_ or ())


def _few(paths: Collection[str]) -> list[str]:
    """Files in which something is called, in their order; none where it has a name that too many use."""
    return sorted(paths) if len(paths) <= MOST_HEIRS else []


def calls_of(project: Project, function: Function) -> Iterator[CallSite]:
    """Where a function may be called, one by one, in its own file also by a name that many things have."""
    for one in (function, *project.overridden(function)):
        by_any_name = one.cls is not None and one.name in GENERIC and not one.name.startswith("__")
        near = project.sites_in(one.module.path, one) if by_any_name else ()
        for site in itertools.chain(near, project.calls_of(one)):
            if one is function or _may_stand_in(project, function, site):
                yield site
        if one.name == "__call__" and one.cls is not None:
            yield from _calls_of_objects(project, one, one.cls)
            yield from handed.calls_of_made(project, one)
    yield from supers.calls(project, function)
    yield from mixins.calls(project, function)


def _is_unknown(project: Project, function: Function, call: ast.Call, receiver: ast.expr) -> bool:
    """Whether the class of an object is unknown whose method may be the project's own."""
    if not project.may_be_own(function, call) or project.resolve(function, call.func) is not None:
        return False
    value = project.value(function, receiver)
    if value.kind == "tensor" and not value.proven and isinstance(call.func, ast.Attribute):
        # A parameter of a forward is only likely a tensor: what calls a method that no tensor has is none.
        return operator(f"torch.Tensor.{call.func.attr}") is None
    return not value or (value.kind == "module" and value.class_ is None and not value.classes and not value.class_name)


def _is_exact(project: Project, function: Function, receiver: ast.expr) -> bool:
    """Whether an object is known to be of its very class, not of a subclass: `super()`, what a constructor gave."""
    if is_super(receiver):
        return True
    value: Value = project.value(function, receiver)
    return value.kind == "class" or value.made_by is not None or bool(value.classes)


def overrides(project: Project, method: Function, klass: Class | None = None) -> Iterator[Function]:
    """The methods of subclasses in place of a method, which an object of `klass` may have."""
    if method.cls is not None and method.name != "__init__":
        yield from project.of_heirs(klass or method.cls, method.name)


def _may_stand_in(project: Project, override: Function, site: CallSite) -> bool:
    """Whether a call of a method may run an override of it: `self.gather()` runs none of a class beside its own."""
    own = own_class(site.function, site.call, override)
    return own is None or override.cls is None or project.inherits(override.cls, own)


def own_class(function: Function, call: ast.Call, method: Function) -> Class | None:
    """The class whose object calls a method of its own, `self.gather()`; None for what calls another object."""
    return function.cls if syntax.own_attribute(function, call.func) == method.name else None


def of_one_family(project: Project, name: str) -> list[Function]:
    """The methods of that name, where the classes that have one inherit from one class, are all modules, or there is one class only.

    Nothing for names that do not tell.
    """
    if not _is_telling(name):
        return []
    return _among(project, name, MOST_HEIRS, ("family", name), lambda paths: _family(project, name, paths))


def fired(project: Project, call: ast.Call, targets: Collection[Function]) -> list[Function]:
    """The methods that a call names by a word, where what it runs looks them up: `self.fire("on_step")` behind `getattr(callback, name)(self)`."""
    looked = ((target, one) for target in targets for one in dispatch.looked_up(target))
    words = [one.name_of(string(target.argument(call, one.parameter))) for target, one in looked]
    found = [method for word in words if word is not None for method in of_one_family(project, word)]
    return [method for method in found if not _is_wrapped(project, method)]


def _is_wrapped(project: Project, method: Function) -> bool:
    """Whether all objects of a method's class are given to another of its family, which decides when it runs: `Throttled(Printer(), 50)`."""
    klass = method.cls
    if klass is None:
        return False
    paths = (klass.module.path, *project.named_by(klass.module, klass.name)[:MAX_SITES])
    modules = filter(None, (project.module_for_name(path, klass.name) for path in paths))
    made = [one for module in modules for one in calls_named(module, klass.name)]
    return bool(made) and all(_is_given_to_kin(project, function, call, klass) for function, call in made)


def _is_given_to_kin(project: Project, function: Function, call: ast.Call, klass: Class) -> bool:
    taker = function.flow.argument_of(call)
    classes = project.value(function, taker.func).any_class if isinstance(taker, ast.Call) else ()
    return any(project.root(one) == project.root(klass) for one in classes)


def of_one_kind(project: Project, name: str, kind: str) -> list[Function]:
    """The methods of that name of the classes that are called as an object is: `act` of `SacAgent` and of `Ppo(Agent)` for `self.agent`."""
    if kind not in _KINDS or not _may_tell(name):
        return []
    return _among(project, name, MOST_HEIRS, ("kind", name, kind), lambda paths: _of_kind(project, name, kind, paths))


def _of_kind(project: Project, name: str, kind: str, paths: Collection[str]) -> list[Function]:
    found = [klass.methods[name] for klass in project.having(name, paths) if kind in _kinds_of(klass)]
    return found if len(found) <= MOST_HEIRS else []


def _may_tell(name: str) -> bool:
    return not name.startswith("_") and name not in GENERIC and name not in _ELSEWHERE and name not in _OF_MODULES


def _may_be_named(name: str) -> bool:
    """Whether a method is looked for by what its object is called: what sets it up runs once."""
    return _may_tell(name) and _SETS_UP.match(name) is None


def _kinds_of(klass: Class) -> set[str]:
    """The last words of the names of a class and of its bases: agent of `class SacAgent(Base)`."""
    return {_last_word(name) for name in (klass.name, *map(names.last, klass.bases))}


def _kind(receiver: ast.expr) -> str:
    """The last word of the name of an object: agent of `self.sac_agent`."""
    return _last_word(names.last(receiver))


def _last_word(name: str) -> str:
    found = _WORD.search(name)
    return found[0].lower() if found is not None else ""


def _is_telling(name: str) -> bool:
    """Whether a name can tell what is called: those of one word are everybody's (`step`, `update`, `reset`), others torch's own."""
    if "_" not in name.strip("_") or name.startswith("_") or name in GENERIC or name in _ELSEWHERE:
        return False
    return operator(f"torch.Tensor.{name}") is None


def _family(project: Project, name: str, paths: Collection[str]) -> list[Function]:
    classes = project.having(name, paths)
    one = len({project.root(klass) for klass in classes}) == 1
    if not one and not (classes and all(map(project.is_module, classes))):
        return []
    return [klass.methods[name] for klass in classes]
