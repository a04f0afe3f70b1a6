"""Whether what a fix relies on is what it is taken for: names of imports, and functions of torch that nobody replaces."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

from ..facts import names
from ..facts.lookup import lookup
from ..facts.module import Class, Module
from ..facts.nodes import OPERATORS
from ..program.project import Project
from ..rule import Site
from ..system.regex import regex
from ..system.stamp import as_bytes
from ..text.finders import fact_of_files
from ..text.finding import Fix
from ..text.source import Source

Pairs = list[list[str]]
"""The modules into which a file puts something, each with the member or nothing."""
_KNOWN = frozenset(("torch", "functorch", "triton", "numpy", "tensorrt", "time"))
"""The packages whose names fixers know."""
_SCOPES = regex(rb"\b(?:global|nonlocal)\b")
_HOMES = frozenset((b"torch", b"functorch", b"nn", b"F", b"functional", b"init", b"amp", b"checkpoint", b"Tensor"))
"""What modules of torch, and its tensor, are called where something is put into them."""
_ROOTS = (b"torch", b"functorch", b"nn", b"F", b"Tensor")
"""What most files call them that something is put into."""
_TENSORS = frozenset((b"Tensor", b"TensorBase", b"_TensorBase", b"Parameter"))
"""The classes whose methods tensors have."""
_BASES = ("Tensor", "Parameter", "Buffer")
"""The classes that a project makes tensors of its own of."""
_TARGET = (
    # At the beginning of a statement: `torch.X = ...`, `torch.X: T = ...`, `torch.X, y = ...`.
    rb"(%(root)s\.(?:(?:(?<=[\r\n;\t]%(root)s\.)|(?<=[;\r\n \t] %(root)s\.)|(?<=[\r\n][(\[]%(root)s\.)|(?<=[ \t]{2}[(\[]%(root)s\.))"
    rb"(?=[\w.]+[ \t]*(?:(?:[-+@%%&|^]|\*\*?|//?|<<|>>)?=(?!=)|:[^=\n(]*=(?!=)|[)\]]*,[^=\n(]*[ \t]=(?!=)))"
    # `for torch.X in`, `with f() as torch.X:`, `del torch.X`, `x = torch.X = ...`, `x, torch.X = ...`
    rb"|(?<=for %(root)s\.)(?=[\w.]+ in\b)|(?<=as %(root)s\.)(?=[\w.]+\)?:)|(?<=del %(root)s\.)"
    rb"|(?<=[,=] %(root)s\.)(?=[\w.]+\)* (?:=(?!=)|in\b)))"
    rb"(?!backends\b|_(?:dynamo|inductor)\.config\b)(?:\w+\.)*)(\w+)"
)
"""How a statement binds or deletes a member of a module: the module, and the member.

What begins with a text is quickly searched for, so that what stands before it is looked back at.
"""
_WRITTEN = (
    rb"\s*(?:\[\s*[\"'](\w+)[\"']\s*\][ \t]*=(?!=)|\[[^\]\n]*\][ \t]*=(?!=)|,|\|="
    rb"|\.(?:update|setdefault|pop|popitem|clear|__setitem__|__delitem__)\()"
)
"""What changes the dictionary before it, or hands it to who does: `patch.dict(torch.__dict__, ...)`."""
_IN_DICTIONARY = rb"(%(root)s(?<!\w%(root)s)(?:\.\w+)*)\.__(?:(?:set|del)attr__\(|dict__[\"']?" + _WRITTEN + rb")"
"""How members are bound by what is between underscores: `torch.__dict__["tensor"] = ...`, `torch.__setattr__(...)`."""
_AT_RUN_TIME = (
    rb"vars\((%(root)s(?:\.\w+)*)\)(?=" + _WRITTEN + rb")",
    rb"etattr(?:__)?\((?<!getattr\()\s*(%(root)s(?:\.\w+)*),\s*(?![\"'\s])()",
    rb"patch\.multiple\(\s*(%(root)s(?:\.\w+)*)\b()",
)
"""How members of a module are bound otherwise that only the run may know: the module, and the member or nothing.

Each begins with a text of its own, which is searched for once for modules of all names.
"""
_SETS = rb"attr(?:__)?\((?<!getattr\()(?<!hasattr\()\s*"
_MOCKS = rb"patch(?:\.object)?\(\s*"
_MEMBER = rb"[\"']?([\w.]+)(?:\.|,\s*[\"'])(\w+)[\"']"
_MEMBER_OF = rb"(%(root)s(?:\.\w+)*),\s*[\"'](\w+)[\"']"
_OF_OBJECTS = (_SETS + _MEMBER_OF, _MOCKS + _MEMBER_OF)
"""How a member of a module, or of the objects of a class, is set by its name."""
_HANDED = (
    rb"(%(root)s(?<![\w.]%(root)s)(?<!attr\(%(root)s)(?<!\w\[%(root)s)(?:\.\w+)*)\s*,\s*[\"'](\w+)[\"'](?![ \t]*:)",
    rb"(%(root)s(?<=\(%(root)s)(?<!partial\(%(root)s)(?<!multiple\(%(root)s)(?:\.\w+)*)\s*,\s*(?!(?:device|dtype|use_reentrant)\b)(\w+)\s*=(?!=)",
)
"""How a module and its member are handed to what may set it: `replace(torch, "tensor", fake)`, `[(torch, "tensor", fake)]`,
`swap(torch, tensor=fake)`; `getattr(torch, "tensor")`, `Float[Tensor, "n"]` and `{"torch": torch, "device": device}` change nothing.
"""
_OF_ALIAS = (_TARGET, _IN_DICTIONARY, *_AT_RUN_TIME, *_OF_OBJECTS, *_HANDED)
"""Ways to put something of one's own into a module that a file calls by a name of its own."""
_PATCHES = (
    *(way % {b"root": root} for way in (_TARGET, _IN_DICTIONARY) for root in _ROOTS),
    *(way % {b"root": b"(?:%s)" % b"|".join(_ROOTS)} for way in _AT_RUN_TIME),
    _SETS + _MEMBER,
    _MOCKS + _MEMBER,
    rb"patch\.multiple\(\s*[\"']([\w.]+)()",
    rb"import(?:_module|__)\([\"']([\w.]+)[\"']\)\.(\w+)[ \t]*=(?!=)",
)
"""Ways to put something of one's own into a module: the module, and the member or nothing."""
_OWNERS_HANDED = _HOMES | _TENSORS | {b"cuda"}
"""The modules and classes that one is handed with a name of a member of theirs."""
_ADDED = (
    rb"def (\w+)\(\s*self\s*:\s*\(?[\"']?(?:[\w.]+\s*[|,]\s*)?(?:\w+\.)*(?:Tensor|TensorBase|Parameter)\b",
    rb"@[\w.]{1,60}\([\w.= ]{0,60}\b(?:Tensor|TensorBase|Parameter)\b[^\r\n]{0,80}\)\r?\ndef (\w+)\(\s*self\b",
)
"""How a function becomes a method of tensors by a decorator, such as those of fastcore: `@patch`, `@patch_to(Tensor)`."""
_GIVEN_FUNCTION = rb"\n[ \t]*(?!self\.|cls\.)[a-z_]\w*\.(\w+)(?:[ \t]*:[^\r\n=]{1,60})?[ \t]*=[ \t]*(lambda\b|[A-Za-z_]\w*(?=[ \t]*[\r\n#]))"
"""How an object, or a class that has another name here, gets another method: `owner.cuda = lambda self: self`."""
_OF_MADE = rb"(?:patch|etattr)\(\s{0,99}(?:[fF][\"'][^\"'\n]{0,99}\}|[\w.]{1,99}\s{0,9}\+\s{0,9}[\"'])[\w.]{0,99}\.(\w{1,99})[\"']"
"""A member of a module whose name is made as the program runs: `mock.patch(f"{MODULE}.vmap")`, `patch(MODULE + ".vmap")`."""
_BEHIND = rb": (torch\.(?!backends\b|_(?:dynamo|inductor)\.config\b)(?:\w+\.)*)(\w+)[ \t]*=(?!=)"
"""How a statement behind a colon binds a member of torch; that of `x: torch.Tensor = None` is no statement."""
_COMPOUND = regex(rb"[ \t]*(?:if|elif|else|for|while|with|try|except|finally)\b[^\r\n]*$")
"""The beginning of a line up to that colon."""
_WHOLE = frozenset((b"__dict__", b"__class__"))
"""What holds all members of a module."""
_PUT = rb"\.(%(names)s)[ \t]*=(?!=)|,\s*[\"'](%(names)s)[\"']"
"""How a file puts something into a module that it has imported: `helper.autocast = ...`, `setattr(helper, "autocast", ...)`."""
_CALLED = (
    rb"import (?P<module>torch[\w.]*) as (?P<name>\w+)",
    *(
        rb"(?P<module>%s) as (?P<name>\w+)" % home
        for home in (b"nn", b"functional", b"init", b"amp", b"checkpoint", b"Tensor")
    ),
    rb"from torch[\w.]* import[^\n]*\b(?P<name>(?P<module>functional|init|amp|checkpoint|cuda))\b",
    rb"for (?P<name>\w+) in [(\[][^\r\n:]*\b(?P<module>torch)[ \t]*[,)\]]",
)
"""How files call modules of torch, or its tensor, otherwise than most do."""
_MODULES = (
    rb"= (torch(?:\.(?:cuda|amp|nn|functional|init|utils|checkpoint))*)[ \t]*[\r\n;#]",
    rb"import(?:_module|__)\([\"'](torch)\b",
)
"""How they assign them to names: what follows the name, or that and an equals sign."""
_ASSIGNED = regex(rb"(\w+)[ \t]*(?:=[ \t]*(?:importlib\.|__)?)?$")
"""What a line holds before that."""
_RENAMES = regex(
    rb"(?<![\w.])exec\(|(?<![\w.])(?:globals|vars|locals)\(\)(?:\.update\(|\.__setitem__\(|\[[^\]\n]*\][ \t]*=(?!=))"
    rb"|sys\.modules\[[^\]\n]*\][\w.]*(?:\[[^\]\n]*\])?[ \t]*=(?!=)|sys\.modules\.(?:update|pop|setdefault)\("
    rb"|(?:setattr|delattr|vars)\(\s*sys\.modules\[|\bdel sys\.modules\[|(?:setitem|delitem|dict)\(\s*[\"']?sys\.modules\b"
    rb"|\b(?:f_|__)globals(?:__)?(?:\[[^\]\n]*\][ \t]*=(?!=)|\.update\()|\bFunctionType\("
)
"""How a program gives its names another meaning without an assignment to them."""
_OWNER = regex(rb"[A-Za-z_][\w.]*$")
_FAR = 100
"""No dotted name is longer."""
_OWN_TORCH = r"(?:src/)?torch(?:\.py|/__init__\.py)$"
_TORCH_ITSELF = r"(?:src/)?torch/_tensor\.py$"
_WORD = regex(rb"[A-Za-z_]\w*")
_MADE = rb"type\((?<!\wtype\()\s*[\"'][^)]*\bTensor\b"
"""A subclass of Tensor that no statement makes: `type("Mask", (torch.Tensor,), {"clone": ...})`."""
_KEY = regex(rb"[\"'](\w+)[\"']\s*:")
_WAITED = regex(
    rb"\b(?:warns|deprecated_call|assertWarns\w*)\(|\bcatch_warnings\([^)\n]*\brecord\b"
    rb"|\b(?:simplefilter|filterwarnings)\(\s*[\"']error[\"']"
)
"""How a file waits for warnings: `pytest.warns(...)`, `catch_warnings(record=True)`, or makes errors of them."""
_OWNERS = regex(rb"(\w+)\.\w")
"""The words before dots."""


def is_meant(site: Site) -> bool:
    """Whether the names at a place that imports bind mean these imports, whatever way the program took there."""
    if _has_own_torch(site.project):
        return False
    if any(_may_be_another(site, node, origin) for node, origin in _imported(site)):
        return False
    return not any(_is_shimmed(site.project, site.module, name) for name in _borrowed(site))


def _has_own_torch(project: Project) -> bool:
    """Whether what files import as torch is a stand-in of the project: a module or package at its top, which is not torch itself."""
    return project.any_holds(b"", _OWN_TORCH) and not project.any_holds(b"", _TORCH_ITSELF)


def told_of_patches(site: Site, fix: Fix) -> Fix:
    """The fix; unsafe where the project puts something of its own in the place of what it takes or gives."""
    if fix.applicability != "safe":
        return fix
    project = site.project
    given = {word for edit in fix.edits for word in _WORD.findall(edit.text)}
    given |= {word.encode() for word in site.relied_on}
    taken = _WORD.findall(site.name.encode())
    patched = _patched_in_torch(project)
    methods = {*map(str.encode, _methods(site))}
    replaced = (given | {*taken[-1:]}) & {member for _, member in patched}
    replaced |= methods & {member for owner, member in patched if owner in _TENSORS}
    for word in sorted(replaced):
        return _no_longer(fix, f"the project puts something else in the place of torch's `{word.decode()}`")
    for word in sorted(methods & _put_into_objects(project)) if methods else ():
        return _no_longer(fix, f"the project may put something else in the place of a tensor's `{word.decode()}`")
    owners = {owner for edit in fix.edits for owner in _OWNERS.findall(edit.text)} | {*taken[-2:-1]}
    owners |= _TENSORS if methods else set()
    for word in sorted({*map(_own_name, owners)} & {owner for owner, member in patched if not member}):
        return _no_longer(fix, f"the project puts things of its own into `{word.decode()}`")
    if any(event.startswith("warning:") for event in site.rule.confirmed_by):
        if site.module.source.holds(_WAITED):
            return _no_longer(fix, "this file may wait for the warning that the fix ends")
        if _is_waited_for(project, site.module):
            return _no_longer(fix, "a file that uses this one may wait for the warning that the fix ends")
    names_ = {node.id.encode() for node, _ in _imported(site)}
    if names_ and site.module.source.holds(_RENAMES):
        return _no_longer(fix, "this file gives names another meaning as it runs")
    for word in sorted((given | names_) & _replaced(project, site.module)):
        return _no_longer(fix, f"the project puts something else in the place of this file's `{word.decode()}`")
    for method in _overridden(site, methods | given if methods else set()):
        return _no_longer(fix, f"a subclass of Tensor in the project may have its own `{method}`")
    for name in sorted(_bound_by_others(site)):
        return _no_longer(fix, f"another function binds `{name}` anew")
    return fix


def _is_waited_for(project: Project, module: Module) -> bool:
    """Whether a file that uses a module may wait for warnings."""

    def found() -> bool:
        direct = project.importers(module.path)
        if any(project.holds(path, _WAITED) for path in direct):
            return True
        # Who has it by a package, as one has a whole library, waits for its warnings only where it names what it has.
        own = [*module.top_functions, *module.top_classes]
        further = [path for path in project.users_of(module.path) if project.holds(path, _WAITED)]
        return any(project.mentions(path, name) for path in further for name in own)

    return project.ask(("waited for", module), found, False)


def _overridden(site: Site, methods: set[bytes]) -> Iterator[str]:
    """The methods of a place of tensors which a subclass of Tensor may have of its own, or its file defines."""
    if not methods:
        return
    project = site.project
    files = project.lineage("Tensor")
    own = project.ask(("methods of tensors", ""), lambda: frozenset(_own_methods(project)), frozenset[str]())
    for one in map(bytes.decode, sorted(methods)):
        if one in own or (files and not files.isdisjoint(project.definers(one))):
            yield one


def _own_methods(project: Project) -> Iterator[str]:
    """What classes of the project that inherit from a tensor define or assign, in themselves or in bases of the project."""
    paths = frozenset[str]().union(*map(project.lineage, _BASES))
    for module in project.modules(sorted(paths)):
        for klass in module.classes:
            family = [*project.ancestry(klass)]
            if any(map(partial(_inherits_tensor, project), family)):
                yield from (name for one in family for name in (*one.methods, *one.assigned))
    for path in sorted(project.holders(_MADE, word=b"type(")):
        source = project.source(path)
        yield from (name.decode() for name in _made_with(source.data if source is not None else b""))


def _made_with(data: bytes) -> Iterator[bytes]:
    """What subclasses of Tensor have that no statement makes; all keys of a file where one is given another thing than a dictionary."""
    for made in re.finditer(_MADE + rb"[^()]*\)?[ \t\n]*,?[ \t\n]*", data):
        end = data.find(b"}", made.end())
        written = data.startswith(b"{", made.end()) and end >= 0
        yield from _KEY.findall(data, made.end(), end) if written else _KEY.findall(data)


def _inherits_tensor(project: Project, klass: Class) -> bool:
    """Whether a base of a class is the tensor of torch, or a subclass that torch has; not what the project itself calls so."""
    resolved = (project.resolve(klass.parent, base) or names.last(base) or "" for base in klass.bases)
    called = (name for name in resolved if name.rpartition(".")[2] in _BASES)
    return any(project.definition(name, klass.module) is None for name in called)


def _methods(site: Site) -> set[str]:
    """The methods that a place calls of tensors, operators included."""
    if not site.name.startswith(".") and not isinstance(site.target, ast.Subscript):
        return set()
    nodes = list(_parts(site))
    methods = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    methods |= {"__getitem__", "__setitem__"} if any(isinstance(node, ast.Subscript) for node in nodes) else set()
    used = {OPERATORS[type(node.op)] for node in nodes if isinstance(node, ast.BinOp)}
    return methods | {f"__{side}{operator}__" for operator in used for side in ("", "r")}


def _bound_by_others(site: Site) -> set[str]:
    """The names at a place that its function binds, and a function that may run in between, too: `global x`, `nonlocal x`."""
    if not site.module.source.holds(_SCOPES):
        return set()
    others = [one for one in site.module.functions if one is not site.function]
    bound = {name for one in others for name in one.flow.globals if name in one.flow.stores}
    return {node.id for node in _names(site) if node.id in bound and node.id in site.flow.stores}


def _no_longer(fix: Fix, note: str) -> Fix:
    return replace(fix, applicability="unsafe", note=note)


def _patched_in_torch(project: Project) -> frozenset[tuple[bytes, bytes]]:
    """What any file of the project puts into modules of torch: the last word of the module, and the member or nothing."""

    def found() -> Iterator[tuple[bytes, bytes]]:
        for owner, member in _patched(project):
            parts = owner.split(b".")
            if not _HOMES.isdisjoint(parts):
                yield _own_name(parts[-1]), member
        for pairs in project.said("puts under aliases", _puts_under_aliases).values():
            yield from _told(pairs)

    return project.ask(("patched", "torch"), lambda: frozenset(found()), frozenset[tuple[bytes, bytes]]())


def _put_under_aliases(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """What a file puts into modules of torch that it calls by names of its own: `th.tensor = tensor`."""
    called = {(one["name"], _last(one["module"])) for way in _CALLED for one in re.finditer(way, data)}
    for name, module in sorted(called | {*_assigned(data)}):
        if name in _ROOTS:
            continue
        for way in _OF_ALIAS:
            for owner, member in _found(way % {b"root": name}, data):
                last = module if owner == name else _last(owner)
                if way in _OF_OBJECTS and last[:1].isupper() and last not in _HOMES | _TENSORS:
                    continue  # a member of objects of that class: `patch.object(interfaces.CudaInterface, "device")`
                if way in _HANDED and last not in _OWNERS_HANDED:
                    continue
                yield last, member


def _assigned(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The names to which a file assigns modules of torch, `t = torch`, `t = import_module("torch")`, each with what the module is called."""
    for way in _MODULES:
        for found in re.finditer(way, data):
            name = _ASSIGNED.search(data[max(found.start() - _FAR, 0) : found.start()])
            if name is not None:
                yield name[1], _last(found[1])


def _last(dotted: bytes) -> bytes:
    return dotted.rpartition(b".")[2]


def _own_name(module: bytes) -> bytes:
    """What torch itself calls a module."""
    return b"functional" if module == b"F" else module


def _patched(project: Project) -> frozenset[tuple[bytes, bytes]]:
    """What any file of the project puts into a module by its dotted name, of torch or its own: what is called how, and the member."""

    def found() -> Iterator[tuple[bytes, bytes]]:
        for pairs in project.said("puts into modules", _puts_into_modules).values():
            yield from _told(pairs)

    return project.ask(("patched", "modules"), lambda: frozenset(found()), frozenset[tuple[bytes, bytes]]())


@fact_of_files("puts into modules")
def _puts_into_modules(source: Source) -> Pairs:
    """What a file puts into modules by their dotted names."""
    data = source.data
    found = [one for way in _PATCHES for one in _found(way, data)]
    return _as_text([*found, *_handed(data), *_added(data), *_put_behind_colons(data)])


@fact_of_files("puts under aliases")
def _puts_under_aliases(source: Source) -> Pairs:
    """What a file puts into modules of torch that it calls by names of its own."""
    return _as_text(_put_under_aliases(source.data))


def _as_text(pairs: Iterable[tuple[bytes, bytes]]) -> Pairs:
    return [[owner.decode("latin-1"), member.decode("latin-1")] for owner, member in sorted({*pairs})]


def _told(pairs: Pairs) -> Iterator[tuple[bytes, bytes]]:
    return ((owner.encode("latin-1"), member.encode("latin-1")) for owner, member in pairs)


def _handed(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The modules of torch, and its tensor, that a file hands to something with the name of a member."""
    for way in _HANDED:
        for root in _ROOTS:
            for owner, member in _found(way % {b"root": root}, data):
                if _last(owner) in _OWNERS_HANDED:
                    yield owner, member


def _added(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The methods that a file adds to tensors by decorators."""
    return ((b"Tensor", name) for way in _ADDED for name in re.findall(way, data))


def _put_into_objects(project: Project) -> frozenset[bytes]:
    """The methods that the project gives to what only the run knows: any of these may be the class of tensors."""

    def found() -> Iterator[bytes]:
        for names_ in project.said("puts into objects", _puts_into_objects).values():
            yield from (name.encode("latin-1") for name in names_)

    return project.ask(("put into objects", ""), lambda: frozenset(found()), frozenset[bytes]())


@fact_of_files("puts into objects")
def _puts_into_objects(source: Source) -> list[str]:
    """The members of objects to which a file assigns its functions."""
    found = re.findall(_GIVEN_FUNCTION, source.data)
    given = {name for name, value in found if value == b"lambda" or b"def %s(" % value in source.data}
    return sorted(name.decode("latin-1") for name in given)


def _put_behind_colons(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """What a file puts into torch in statements such as `if old: torch.tensor = tensor`."""
    for one in re.finditer(_BEHIND, data):
        begin = max(data.rfind(b"\n", 0, one.start()), data.rfind(b"\r", 0, one.start())) + 1
        if _COMPOUND.match(data[begin : one.start()]) is not None:
            yield one[1].rstrip(b"."), one[2]


def _found(way: bytes, data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The modules that a text puts something into, each with the member or nothing."""
    for owner, member in re.findall(way, data):
        yield owner.rstrip(b"."), b"" if member in _WHOLE else member


def _replaced(project: Project, module: Module) -> frozenset[bytes]:
    """The imports of a module in whose place another file of the project puts something, as tests do."""
    return project.ask(
        ("replaced", module), lambda: frozenset(_put_from_elsewhere(project, module)), frozenset[bytes]()
    )


def _put_from_elsewhere(project: Project, module: Module) -> Iterator[bytes]:
    stem = module.name.rpartition(".")[2]
    yield from (name for owner, name in _patched(project) if name and _last(owner) == stem.encode())
    spelled = re.compile(rb"[\"'](?:[\w.]*\.)?%s[\"']" % re.escape(as_bytes(stem)))
    for path in sorted(project.holders(_OF_MADE)):
        text, other = project.source(path), project.module(path)
        if text is None or other is None:
            continue
        told = [text, *(one.source for one in project.imports_of(other))]
        if as_bytes(stem) in project.import_words(path) or any(spelled.search(one.data) for one in told):
            yield from re.findall(_OF_MADE, text.data)
    imported = b"|".join(re.escape(name.encode()) for name in sorted(module.body.imports))
    put = re.compile(_PUT % {b"names": imported})
    importers = project.importers(module.path) if imported else ()
    for path in importers:
        if not project.holds(path, put):
            continue  # of most files no more is looked at
        source, other = project.source(path), None
        for found in put.finditer(source.data) if source is not None else ():
            owner = _OWNER.search(found.string[max(found.start() - _FAR, 0) : found.start()])
            other = other or project.module(path)
            if owner is not None and other is not None and _is_called(owner[0].decode(), stem, other):
                yield found[1] or found[2]


def _is_called(written: str, stem: str, module: Module) -> bool:
    """Whether a dotted name is that of an imported module whose own name has such an end."""
    first, _, rest = written.partition(".")
    origins = (scope.imports[first] for scope in module.functions if first in scope.imports)
    return any(f"{origin}.{rest}".rstrip(".").rpartition(".")[2] == stem for origin in origins)


def _imported(site: Site) -> Iterator[tuple[ast.Name, str]]:
    """The names of known packages in the expression that the rule speaks of."""
    for node in _names(site):
        origin = names.imported(site.function, node.id, node)
        if origin is not None and origin.partition(".")[0] in _KNOWN:
            yield node, origin


def _borrowed(site: Site) -> Iterator[str]:
    """The names of the project in the expression that stand for something of a known package."""
    for node in _parts(site):
        name = names.resolve(site.function, node) if isinstance(node, ast.Name | ast.Attribute) else None
        own = name is not None and "." in name and name.partition(".")[0] not in _KNOWN
        if name is not None and own and site.project.canonical(name, site.module).partition(".")[0] in _KNOWN:
            yield name


def _is_shimmed(project: Project, module: Module, name: str) -> bool:
    """Whether a file of the project binds what it is imported for to more than one thing: `try: from torch... except: def ...`"""
    parts = name.split(".")
    for length in range(len(parts) - 1, 0, -1):
        path = project.find(".".join(parts[:length]), module)
        other = project.module(path) if path is not None else None
        if other is None or other is module:
            continue
        given = lookup(other).given(parts[length])
        origin = other.imports.get(parts[length], "")
        further = origin.partition(".")[0] not in _KNOWN and origin != name
        return len(given) > 1 or (bool(origin) and further and _is_shimmed(project, other, origin))
    return False


def _names(site: Site) -> Iterator[ast.Name]:
    """The names in the expression that the rule speaks of."""
    yield from (node for node in _parts(site) if isinstance(node, ast.Name))


def _parts(site: Site) -> Iterator[ast.AST]:
    """The nodes of the expression that the rule speaks of."""
    whole = site.match.whole if site.pattern else site.target
    if isinstance(whole, ast.stmt):
        whole = site.target
    yield from ast.walk(whole) if isinstance(whole, ast.expr) else ()


def _may_be_another(site: Site, node: ast.Name, origin: str) -> bool:
    module, name = site.module, node.id
    again = site.once(("bound again", module, name), lambda: _is_bound_again(module.source, name))
    if again and lookup(module).may_be_another(node, name, origin):
        return True
    key = ("brought", module, name, origin)
    return bool(module.stars) and site.once(key, lambda: _is_brought(site.project, module, name, origin))


def _is_bound_again(source: Source, name: str) -> bool:
    """Whether more than one import may bind a name, as far as the text tells: mostly it stands before a dot or a parenthesis."""
    if source.holds(_SCOPES):
        return True
    word = name.encode()
    bare = re.compile(rb"(?<![\w.])%s(?![\w.(])|\b(?:def|class)\s+%s\b" % (word, word))
    for count, found in enumerate(bare.finditer(source.data)):
        line = source.data[source.data.rfind(b"\n", 0, found.start()) + 1 : found.start()].lstrip()
        if count or not line.startswith((b"import ", b"from ")):
            return True
    return False


def _is_brought(project: Project, module: Module, name: str, origin: str) -> bool:
    """Whether a star import of the project may bring something else under that name."""
    seen, todo = {module.path}, [module]
    while todo:
        one = todo.pop()
        for star in one.stars:
            path = project.find(star, one)
            if path is None or path in seen:
                continue
            seen.add(path)
            other = project.module(path)
            if other is None or other.body.binds(name):
                return True
            if name in other.imports and project.canonical(other.imports[name], other) != project.canonical(
                origin, module
            ):
                return True
            todo.append(other)
    return False
