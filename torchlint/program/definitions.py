"""What names stand for across the files of a project, and what its classes inherit."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Collection, Iterable, Iterator

from ..facts import names
from ..facts import torch_table as table
from ..facts.module import Class, Function, Module
from ..facts.nodes import NEXT
from ..facts.values import Value
from ..query.question import question
from ..system.stamp import as_bytes
from ..text import search_path
from ..text.declared import packages_of
from .files import OUTSIDE
from .texts import MAX_SITES, Texts

# Methods that are called in other ways than by name, or whose names are too common to find callers by.
_NO_OPTIMIZERS = ("torch.optim.lr_scheduler.", "torch.optim.swa_utils.")
"""What torch.optim has beside optimizers."""
GENERIC = frozenset("forward __call__ __getitem__ __len__ __iter__ __next__ get call apply to".split())
_OF_EACH_MODULE = frozenset(
    """apply bfloat16 buffers children compile cpu cuda double eval extra_repr float half load_state_dict modules
    named_buffers named_children named_modules named_parameters parameters register_buffer register_parameter
    requires_grad_ share_memory state_dict to to_empty train type xpu zero_grad""".split()
)
"""The last text of a call, where it is the name of a folder: `join(root, "common"))`."""
_CUSTOMARY = {"torch": "torch", "nn": "torch.nn", "F": "torch.nn.functional", "np": "numpy"}
"""What everybody calls these packages."""
MOST_HEIRS = 100
"""Classes that many hardly stand for one thing: a call of their common method tells of none."""


class Definitions(Texts):
    """The files of a project, and what it defines in them."""

    # Names

    def definition(self, name: str, near: Module) -> Function | Class | Module | None:
        """What the project defines under a dotted name that `near` may import."""
        # What asks for itself (a circular re-export) finds nothing.
        nothing: Function | Class | Module | None = None
        return self.ask(("definition", near, name), lambda: self._definition(name, near), nothing)

    def is_namespace(self, name: str, near: Module) -> bool:
        """Whether a dotted name is one of the project's modules or classes."""
        return isinstance(self.definition(name, near), Module | Class)

    def _definition(self, name: str, near: Module) -> Function | Class | Module | None:
        parts = name.split(".")
        if parts[0] in OUTSIDE:
            return None
        for length in range(len(parts), 0, -1):
            path = self.find(".".join(parts[:length]), near)
            if path is None:
                continue
            if length == len(parts):
                return self.module(path)
            found = self._member_of(path, parts[length:])
            if found is None and path == near.path:
                # `from model import Net` in `utils/model.py` is about another file of that name.
                folder = self.home(path).rpartition("/")[0]
                other = self._find(".".join(parts[:length]), folder, path)
                found = self._member_of(other, parts[length:]) if other is not None else None
            return found
        # A module that no path leads to, such as a script, still knows its own names.
        if name.startswith(f"{near.name}."):
            return self._member(near, name[len(near.name) + 1 :].split("."))
        return None

    def _member_of(self, path: str, rest: list[str]) -> Function | Class | Module | None:
        module = self.module(path) if self.may_hold(path, rest[0]) else None
        return self._member(module, rest) if module is not None else None

    def _member(self, module: Module, rest: list[str]) -> Function | Class | Module | None:
        first = rest[0]
        if first in module.top_functions:
            return module.top_functions[first] if len(rest) == 1 else None
        if first in module.top_classes:
            klass = module.top_classes[first]
            return klass if len(rest) == 1 else self.method(klass, rest[1]) if len(rest) == 2 else None
        if first in module.imports:
            origin = module.imports[first]
            gone = self._is_gone(origin.rpartition(".")[0], module)
            return self.definition(".".join([origin, *rest[1:]]), module) if not gone else None
        for origin in module.stars if len(rest) == 1 else ():
            found = self.definition(f"{origin}.{first}", module)
            if found is not None:
                return found
        return None

    def canonical(self, name: str, near: Module) -> str:
        """A dotted name as `near` imports it, with the project's re-exports followed: `.ops.compile` is `torch.compile`."""
        root = name.partition(".")[0]
        if root == "torch":
            return names.public(name)
        if root in OUTSIDE:
            return name
        return self.ask(("canonical", near, name), lambda: self._follow(name, near), name)

    def _follow(self, name: str, near: Module) -> str:
        parts = name.split(".")
        for length in range(len(parts) - 1, 0, -1):
            path = self.find(".".join(parts[:length]), near)
            if path is None:
                continue
            module = self.module(path) if self.may_import(path, parts[length]) else None
            found = self._re_exported(module, parts[length:]) if module is not None else None
            return found if found is not None and module is not None and self._means(found, module, near) else name
        return names.public(name)

    def _means(self, name: str, there: Module, here: Module) -> bool:
        """Whether a name means the same in two files: one of a package in a folder that is none is known beside it alone."""
        root = name.partition(".")[0]
        known = self.find(root, there)
        return known is None or known == self.find(root, here)

    def _re_exported(self, module: Module, rest: list[str]) -> str | None:
        """The name that a module's own import gives to one of its members, None where it has none."""
        first = rest[0]
        own = first in module.top_functions or _derives(module, first)
        if first in module.imports and not own and not _wraps(module, first):
            if self._is_gone(module.imports[first].rpartition(".")[0], module):
                return None
            return self.canonical(".".join([module.imports[first], *rest[1:]]), module)
        if own or first in module.top_classes:
            return None
        return self._starred(module, rest)

    def _is_gone(self, origin: str, module: Module) -> bool:
        """Whether a file of the project's own packages is meant that is not there: its names would lead back to the package."""
        below = origin.startswith(f"{module.name}.") or self.find(origin.partition(".")[0], module) is not None
        return below and self.find(origin, module) is None

    def _starred(self, module: Module, parts: list[str]) -> str | None:
        """The canonical name of what a star import of the project brings in."""
        if module.stars and self.find(f"{module.name}.{parts[0]}", module) is not None:
            return None  # a module of the package
        for origin in module.stars:
            if self._is_gone(origin, module):
                continue
            name = ".".join([origin, *parts])
            canonical = self.canonical(name, module)
            if canonical != name or self.definition(f"{origin}.{parts[0]}", module) is not None:
                return canonical
        return None

    def starred_files(self, module: Module, name: str) -> Iterator[Module]:
        """The files of the project that a module has star imports of and that may bind a name, the last one first.

        Each before those that it has star imports of itself: `from utils import *` of a package that has `from .torch import *`.
        """
        return self._starred_files(module, name, {module}) if not name.startswith("_") else iter(())

    def _starred_files(self, module: Module, name: str, seen: set[Module]) -> Iterator[Module]:
        for origin in reversed(module.stars):
            path = self.find(origin, module)
            found = self.module(path) if path is not None and self.may_hold(path, name) else None
            if found is not None and found not in seen:
                seen.add(found)
                yield found
                yield from self._starred_files(found, name, seen)

    def resolve(self, function: Function, node: ast.expr) -> str | None:
        """The canonical dotted name of an expression that starts at an import or a builtin, or None."""
        name = names.resolve(function, node)
        if name is not None:
            return self.canonical(name, function.module)
        if function.module.stars:
            parts = names.chain(node)
            if parts is not None and not names.shadowed(function, parts[0]):
                return self._starred(function.module, parts) or self._customary(function.module, parts)
        return None

    def _customary(self, module: Module, parts: list[str]) -> str | None:
        """What a name means to everybody that a star import may bring of a file that is not there: `torch`, `np`."""
        meant = _CUSTOMARY.get(parts[0])
        if meant is None or all(self.find(origin, module) is not None for origin in module.stars):
            return None
        return names.public(".".join([meant, *parts[1:]]))

    # Classes

    def bases(self, klass: Class) -> list[Class]:
        """The project's classes among the bases."""
        found = (self._base(klass, base)[1] for base in klass.bases)
        return [one for one in found if one is not None and one is not klass]

    def _base(self, klass: Class, base: ast.expr) -> tuple[str, Class | None]:
        """The name of a base of a class, "" where that is not known, and the project's class of that name."""
        name = self.base_name(klass, base) or ""
        definition = self.definition(name, klass.module) if name else None
        return name, definition if isinstance(definition, Class) else None

    def subclasses(self, klass: Class) -> list[Class]:
        """The project's classes that inherit from a class; none where there are too many."""
        found: dict[Class, None] = {}
        todo = [klass]
        while todo:
            current = todo.pop()
            heirs = self.heirs(current.name)
            if len(heirs) + len(found) > MOST_HEIRS:
                return []
            for path, name in heirs:
                module = self.module(path)
                for heir in module.classes if module is not None else ():
                    if heir.name == name and heir not in found and heir is not klass and current in self.bases(heir):
                        found[heir] = None
                        todo.append(heir)
        return list(found)

    def of_modules(self, name: str) -> list[Function]:
        """The methods of that name, where only modules of one family have one, and few; nothing for what each module has."""
        if name in _OF_EACH_MODULE or name in GENERIC or not 0 < len(self.definers(name)) <= MAX_SITES:
            return []
        return self._of_modules(name)

    @question("of modules", [])
    def _of_modules(self, name: str) -> list[Function]:
        classes = self.having(name, self.definers(name))
        one_family = all(map(self.is_module, classes)) and len(set(map(self.root, classes))) == 1
        return [klass.methods[name] for klass in classes] if one_family else []

    def having(self, name: str, paths: Iterable[str]) -> list[Class]:
        """The classes of some files that define a method of that name."""
        return [klass for module in self.modules(paths) for klass in module.classes if name in klass.methods]

    def classes_named(self, path: str, name: str) -> list[Class]:
        """The classes of a name in a file."""
        module = self.module(path)
        return [klass for klass in module.classes if klass.name == name] if module is not None else []

    def root(self, klass: Class) -> Class:
        """The first of a class's ancestors in the project."""
        seen = {klass}
        while True:
            base = next(iter(self.bases(klass)), None)
            if base is None or base in seen:
                return klass
            seen.add(base)
            klass = base

    def base_name(self, klass: Class, base: ast.expr) -> str | None:
        """The canonical name of a base, of `Base[T]` that of `Base`."""
        base = base.value if isinstance(base, ast.Subscript) else base
        name = self.resolve(klass.parent, base)
        parts = names.chain(base)
        if name is None and parts is not None and parts[0] in klass.module.top_classes:
            return ".".join([klass.module.name, *parts])
        return name

    @question("is module", False)
    def is_module(self, klass: Class) -> bool:
        """Whether instances are nn.Modules: through a base of torch, of a library that makes models, or of the project."""
        return any(self._is_module_base(klass, base) for base in klass.bases)

    def is_distribution(self, klass: Class) -> bool:
        """Whether instances are distributions of torch's: a subclass of one."""
        return self._inherits_of_torch(klass, "torch.distributions.")

    def is_optimizer(self, klass: Class) -> bool:
        """Whether instances are optimizers of torch's: a subclass of one."""
        return self._inherits_of_torch(klass, "torch.optim.")

    @question("inherits of torch", False)
    def _inherits_of_torch(self, klass: Class, package: str) -> bool:
        """Whether a class inherits from one of a package of torch, schedulers apart."""
        return any(self._is_base_from(klass, base, package) for base in klass.bases)

    def _is_base_from(self, klass: Class, base: ast.expr, package: str) -> bool:
        name, own = self._base(klass, base)
        if own is not None:
            return own is not klass and self._inherits_of_torch(own, package)
        return name.startswith(package) and not name.startswith(_NO_OPTIMIZERS)

    def is_progress_bar(self, klass: Class) -> bool:
        """Whether instances show how far they are with what they are given, and give that on: a subclass of tqdm's."""
        if not klass.methods.keys().isdisjoint(("__iter__", "__next__")):
            return False
        return any(self._base(klass, base)[0].rpartition(".")[2] == "tqdm" for base in klass.bases)

    def is_autograd_function(self, klass: Class) -> bool:
        """Whether a class is a function with a backward pass of its own: its `apply` runs its `forward`."""
        return any(self._base(klass, base)[0] == "torch.autograd.Function" for base in klass.bases)

    def constructor_of_torch(self, klass: Class) -> str:
        """The class of torch whose constructor runs behind that of a class; "" where that is not known."""
        seen = {klass}
        while len(klass.bases) == 1:
            name, own = self._base(klass, klass.bases[0])
            if own is None:
                return name if name.startswith("torch.") else ""
            if own in seen or "__init__" in own.methods:
                break
            seen.add(own)
            klass = own
        return ""

    def is_loader(self, klass: Class) -> bool:
        """Whether instances are loaders of torch's: a subclass that iterates as its base does."""
        own = (klass.methods.get(name) for name in ("__iter__", "__next__"))
        if not klass.module.source.holds(b"DataLoader") or not all(map(_gives_batches_on, filter(None, own))):
            return False
        return self._inherits_loader(klass)

    @question("is loader", False)
    def _inherits_loader(self, klass: Class) -> bool:
        return any(self._is_loader_base(klass, base) for base in klass.bases)

    def _is_loader_base(self, klass: Class, base: ast.expr) -> bool:
        name, own = self._base(klass, base)
        if name == "torch.utils.data.DataLoader" or name in table.LIBRARY_LOADERS:
            return True
        return own is not None and own is not klass and self.is_loader(own)

    def _is_module_base(self, klass: Class, base: ast.expr) -> bool:
        if isinstance(base, ast.Subscript):
            base = base.value
        name, own = self._base(klass, base)
        if own is not None:
            return self.is_module(own)
        if name.startswith(("torch.nn.", "torch.jit.")):
            return name != "torch.nn.Parameter"
        last = name.rpartition(".")[2] or names.last(base)
        if last in table.MODULE_BASES or last == "Module" or last.endswith("PreTrainedModel"):
            return True
        root = name.partition(".")[0]
        if "." not in name or (root != "torchvision" and root in OUTSIDE):
            return False
        return _has_forward(klass) or any(one.own_name for one in self.of_heirs(klass, "forward"))

    def of_heirs(self, klass: Class, name: str, most: int = MOST_HEIRS) -> list[Function]:
        """The methods of a name in the subclasses of a class; none where there are more than that."""
        definers = self.definers(name)
        if not definers or self._files_of_heirs(klass.name).isdisjoint(definers):
            return []  # before the files of all subclasses are parsed
        heirs = self.subclasses(klass)
        found = [heir.methods[name] for heir in heirs if name in heir.methods]
        return found if len(found) <= most else []

    @question("files of heirs", frozenset())
    def _files_of_heirs(self, name: str) -> frozenset[str]:
        """The files with classes that may inherit from one of that name, as far as `subclasses` would look for them."""
        seen, todo = {name}, [name]
        found: set[str] = set()
        while todo:
            for path, heir in self.heirs(todo.pop()):
                found.add(path)
                if heir not in seen:
                    seen.add(heir)
                    todo.append(heir)
        return frozenset(found)

    def method(self, klass: Class, name: str) -> Function | None:
        """A method of a class or of its bases in the project."""
        return next((one.methods[name] for one in self.ancestry(klass) if name in one.methods), None)

    def has_own(self, value: Value, name: str) -> bool:
        """Whether a class of the project has a method in the place of torch's: `net.compile()` is `Net.compile`."""
        return any(self.method(klass, name) is not None for klass in value.any_class)

    def ancestry(self, klass: Class) -> Iterator[Class]:
        """A class and all that it inherits from in the project, the nearest first, each once: classes may inherit from each other."""
        seen: set[Class] = set()
        todo = [klass]
        while todo:
            current = todo.pop(0)
            if current not in seen:
                seen.add(current)
                yield current
                todo += self.bases(current)

    def base_words(self, klass: Class) -> list[str]:
        """The last words of the names of all the bases of a class, as they are written: `Optimizer` of `torch.optim.Optimizer`."""
        bases = (base for one in self.ancestry(klass) for base in one.bases)
        return [names.last(base.value if isinstance(base, ast.Subscript) else base) for base in bases]

    def has_plain_bases(self, klass: Class, plain: Collection[str]) -> bool:
        """Whether each base that is written of a class is one of the project's, or one of some names."""
        named = sum(self.base_name(klass, base) in plain for base in klass.bases)
        return len(self.bases(klass)) + named == len(klass.bases)

    def overridden(self, method: Function) -> list[Function]:
        """The methods of base classes that a method stands in place of."""
        above = itertools.islice(self.ancestry(method.cls), 1, None) if method.cls is not None else ()
        return [base.methods[method.name] for base in above if method.name in base.methods]

    def inherits(self, klass: Class, base: Class) -> bool:
        """Whether a class is another one of the project, or inherits from it."""
        return base in self.ancestry(klass)

    # Imports

    def find(self, dotted: str, near: Module) -> str | None:
        found = super().find(dotted, near)
        return found if found is not None else self._find_elsewhere(dotted, self.home(near.path).rpartition("/")[0])

    def _find_elsewhere(self, dotted: str, folder: str) -> str | None:
        """The file that a module of a folder finds below another one which any file of the project puts on `sys.path`: `config.py`, which all import."""
        if dotted.partition(".")[0] in OUTSIDE:
            return None
        found = {self._find(f"{below}.{dotted}", folder) for below in self.folders_on_path()} - {None}
        return found.pop() if len(found) == 1 else None

    @question("folders on path", ())
    def folders_on_path(self) -> tuple[str, ...]:
        """The folders that files of the project put on `sys.path`, as dotted names."""
        said = self.said(search_path.FOLDERS, search_path.find_folders)
        return tuple(sorted({folder for told in said.values() for folder in told}))

    @question("imports", [])
    def imports_of(self, module: Module) -> list[Module]:
        """The project's files that a module imports, or imports from."""
        return self._find_imports(module)

    def _find_imports(self, module: Module) -> list[Module]:
        paths = {
            path
            for name in origins(module)
            # The name of a module, or of a member of one.
            if (path := self.find(name, module) or self.find(name.rpartition(".")[0] or name, module)) is not None
        }
        return list(self.modules(sorted(paths)))

    def mentioned(self, module: Module, pattern: re.Pattern[bytes]) -> bool:
        """Whether a file of the project holds a pattern."""
        return module.source.holds(pattern)

    def importers(self, file: str) -> list[str]:
        """The files whose imports name a file."""
        module, is_package = self._name(file)
        stem = module.rpartition(".")[2]
        own = self.home(file).rpartition("/")[0]
        # A folder without `__init__.py` may be part of the name too; one that is put on `sys.path` is none.
        parts = own.split("/") if is_package else [*own.split("/"), stem]
        longer = [".".join(parts[start:]) for start in range(len(parts) - (not self.folders_on_path()))]
        return [
            path
            for path in self.naming(as_bytes(stem))
            if path != file and self._imports(path, file, module, longer, beside=own if "." in module else None)
        ]

    def users_of(self, file: str) -> list[str]:
        """The files whose imports name a file, or what hands on what it has: a package, or a file that imports all of it."""
        seen, todo = {file: None}, [file]
        while todo:
            new = [path for path in self.importers(todo.pop()) if path not in seen]
            seen.update(dict.fromkeys(new))
            todo += filter(self._hands_on, new)
        return [*seen][1:]

    def used_by(self, module: Module) -> list[Module]:
        """The project's files that a module imports, and what those hand on."""
        seen, todo = {module: None}, [module]
        while todo:
            new = [one for one in self.imports_of(todo.pop()) if one not in seen]
            seen.update(dict.fromkeys(new))
            todo += (one for one in new if self._hands_on(one.path))
        return [*seen][1:]

    def _hands_on(self, path: str) -> bool:
        """Whether a file is a package, or imports all that another one has."""
        return self._name(path)[1] or self._has_star(path)

    def _imports(self, path: str, file: str, module: str, longer: list[str], beside: str | None) -> bool:
        """Whether the imports of a file, which hold the last word of a module, name it: by its name, or by a longer one."""
        folder = self.home(path).rpartition("/")[0]

        def names(name: str) -> bool:
            found = self._find(name, folder)
            return file in (found, self._find(name, folder, path)) or (
                found is None and self._find_elsewhere(name, folder) == file
            )

        if folder == beside or names(module):
            return True
        text, word = self.import_text(path), as_bytes(module.rpartition(".")[2])
        written = [name for name in longer if as_bytes(name) in text]
        parted = [name for name in longer if name not in written and as_bytes(name.rpartition(".")[0]) in text]
        packages = packages_of(text, word) if parted else ()
        likely = [*written, *(name for name in parted if name.rpartition(".")[0] in packages)]
        if any(map(names, likely)):
            return True
        near = self.module(path) if self.names_search_path(path) else None
        return near is not None and any(self._put_on_path(name, near, folder) == file for name in (module, *likely))

    def names_search_path(self, path: str) -> bool:
        """Whether a file names `sys.path`, and may so have others found that lie in folders which it puts there."""
        return self.holds(path, search_path.NAMES)


def origins(module: Module) -> set[str]:
    """What a module and its functions import: dotted names of modules and of their members."""
    others = {one for function in module.functions for more in function.other_imports.values() for one in more}
    return {origin for function in module.functions for origin in function.imports.values()} | others | {*module.stars}


def _wraps(module: Module, name: str) -> bool:
    """Whether a module puts something of its own in place of what it imports: `compile = timed(compile)`."""
    return any(
        isinstance(statement, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in statement.targets)
        for statement in module.tree.body
    )


def _derives(module: Module, name: str) -> bool:
    """Whether a module has a class by the name of what it imports, and not only where the import fails: `class Dataset(Dataset):`."""
    klass = module.top_classes.get(name)
    return klass is not None and klass.node in module.tree.body


def _gives_batches_on(method: Function) -> bool:
    """Whether a loader's `__iter__` or `__next__` gives the batches of its base as they are: `yield next(self.iterator)`, `return self`."""
    given = [node.value for node in method.flow.nodes if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom)]
    return all(value is not None and _is_of_base(method, value) for value in given)


def _is_of_base(method: Function, value: ast.expr) -> bool:
    """`self`, an iterator of its own, `next(self.iterator)`, `super().__iter__()`, or a name for one of them."""
    if isinstance(value, ast.Call):
        return names.last(value.func) in NEXT | {"__iter__"}
    if isinstance(value, ast.Name) and value.id in method.flow.stores:
        made = [method.flow.parents.get(store) for store in method.flow.stores[value.id]]
        return all(isinstance(one, ast.Assign) and _is_of_base(method, one.value) for one in made)
    owner = value.value if isinstance(value, ast.Attribute) else value
    return isinstance(owner, ast.Name) and owner.id == method.own_name


def _has_forward(klass: Class) -> bool:
    """Whether a class has a `forward` of its objects, as modules have: with a base from elsewhere it is one, and so are those below which one has it."""
    forward = klass.methods.get("forward")
    return forward is not None and forward.own_name != ""
