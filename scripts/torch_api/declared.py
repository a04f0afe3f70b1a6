"""What torch declares of its operators: schemas (native_functions.yaml, which torchgen carries), annotations, stubs."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import torch  # noqa: TID251
import torchgen
from torch._jit_internal import boolean_dispatched  # noqa: TID251
from torchgen.gen import parse_native_yaml
from torchgen.model import Argument, NativeFunction, Return, Variant

NATIVE = Path(torchgen.__file__).parent / "packaged" / "ATen" / "native"
SCHEMAS = [str(NATIVE / name) for name in ("native_functions.yaml", "tags.yaml")]
STUBS = Path(torch.__file__).parent / "_C"

Row = dict[str, Any]
PLACES: dict[str, Any] = {
    "torch": torch,
    "torch.nn.functional": torch.nn.functional,
    "torch.linalg": torch.linalg,
    "torch.fft": torch.fft,
    "torch.special": torch.special,
    "torch.sparse": torch.sparse,
    "torch.signal.windows": torch.signal.windows,
    "torch.nn.init": torch.nn.init,
    "torch.nn.utils": torch.nn.utils,
    "torch.nn.utils.rnn": torch.nn.utils.rnn,
    "torch.Tensor": torch.Tensor,
}
"""Where programs find operators: the first that has one gives its row the name."""
TYPES = {
    "Tensor": "tensor",
    "Tensor[]": "tensors",
    "bool": "bool",
    "SymBool": "bool",
    "int": "int",
    "SymInt": "int",
    "float": "float",
    "Scalar": "number",
    "ScalarType": "dtype",
    "str": "str",
}
"""The types of schemas, as the table writes them."""
ANNOTATIONS = {
    "torch.Tensor": "tensor",
    "torch._tensor.Tensor": "tensor",
    "Tensor": "tensor",
    "Self": "tensor",
    "typing_extensions.Self": "tensor",
    "bool": "bool",
    "_bool": "bool",
    "int": "int",
    "_int": "int",
    "float": "float",
    "_float": "float",
    "number": "number",
    "str": "str",
    "None": "none",
    "torch.dtype": "dtype",
    "_dtype": "dtype",
    "torch.device": "device",
    "torch.Size": "size",
    "tuple[torch.Tensor, ...]": "tensors",
    "tuple[Tensor, ...]": "tensors",
    "list[torch.Tensor]": "tensors",
    "collections.abc.Sequence[torch.Tensor]": "tensors",
    "torch.Generator": "object",
    "torch.types.Storage": "object",
}
"""The annotations of Python functions and stubs, as the table writes them."""
INTEGERS = {"indices": "int64", "pivots": "int32", "info": "int32", "exponent": "int32"}
"""The fields of results that hold integers."""


# --- schemas -----------------------------------------------------------------------------------------------------


def schemas() -> dict[str, list[NativeFunction]]:
    """The overloads of each spelling that C++ binds: `torch.sum`, `torch.Tensor.sum`, `torch.linalg.svd`."""
    found: dict[str, list[NativeFunction]] = {}
    for native in parse_native_yaml(*SCHEMAS).native_functions:
        base = native.func.name.name
        if native.func.is_out_fn() or base.dunder_method:
            continue
        name = base.base + ("_" if base.inplace else "")
        module = native.python_module
        if Variant.function in native.variants:
            owner = f"torch.{module}" if module not in (None, "nn") else "torch"
            owner = "torch.nn.functional" if module == "nn" else owner
            found.setdefault(f"{owner}.{name.removeprefix(f'{module}_')}", []).append(native)
        if Variant.method in native.variants:
            found.setdefault(f"torch.Tensor.{name}", []).append(native)
    return found


def of_schemas(overloads: list[NativeFunction]) -> Row:
    """What the overloads of one spelling say."""
    by_result: dict[str, list[NativeFunction]] = {}
    for overload in overloads:
        by_result.setdefault(json.dumps(result(overload.func.returns)), []).append(overload)
    # What needs the least arguments is what a call gives where nothing else is said.
    plain, *others = sorted(by_result.items(), key=lambda pair: min(len(required(one)) for one in pair[1]))
    row: Row = {"returns": json.loads(plain[0])}
    if others:
        most = [one.name for one in required(min(plain[1], key=lambda one: len(required(one))))]
        row["when"] = [
            [f"{python_name(new[0])}=", json.loads(returns)]
            for returns, variants in others
            if (new := [one for one in required(variants[0]) if one.name not in most])
        ]
    row["params"] = parameters(overloads)
    device = [any(one.name == "device" for one in overload.func.arguments.flat_all) for overload in overloads]
    if any(device):
        tensors = [any("Tensor" in str(one.type) for one in overload.func.arguments.flat_all) for overload in overloads]
        row["device"] = "like" if any(tensors) else "factory"
    alias = {aliasing(overload) for overload in overloads}
    if alias != {None}:
        row["alias"] = next(iter(alias)) if len(alias) == 1 else "maybe"
    return row


def aliasing(native: NativeFunction) -> str | None:
    """Whether the result is an input (`self`), lies in its memory (`view`), or may (`maybe`)."""
    annotations = [one.annotation for one in native.func.returns if one.annotation is not None]
    if not annotations:
        return None
    if any(one.is_write for one in annotations):
        return "self"
    # What is made of other operators returns a view, or the input, or a copy: `reshape`, `contiguous`, `to`.
    return "maybe" if native.has_composite_implicit_autograd_kernel else "view"


def result(returns: Iterable[Return]) -> str | list[str]:
    """What a schema returns: `tensor`, or the items of a tuple."""
    items = [(one.name or "", TYPES.get(str(one.type), "unknown")) for one in returns]
    if len(items) == 1:
        return items[0][1]
    return [item(name, kind) for name, kind in items] if items else "none"


def item(name: str, kind: str) -> str:
    """One item of a tuple: `values`, `indices: int64`, `bin_edges: tensors`."""
    kind = INTEGERS.get(name, kind) if kind == "tensor" else kind
    return name if kind == "tensor" else f"{name}: {kind}"


def required(native: NativeFunction) -> list[Argument]:
    """The arguments that a call must give, `self` too."""
    return [one for one in native.func.arguments.flat_all if one.default is None]


def parameters(overloads: list[NativeFunction]) -> list[str]:
    """The names by position; `dim: other|other: tensor` where overloads differ in the type of what stands there."""
    found: list[dict[str, str]] = []
    for overload in overloads:
        for at, one in enumerate(overload.func.arguments.flat_positional):
            if at == len(found):
                found.append({})
            found[at][python_name(one)] = {"Tensor": "tensor", "Tensor[]": "tensors"}.get(str(one.type), "other")
    return [
        "|".join(f"{name}: {kind}" for name, kind in names.items()) if len(names) > 1 else "".join(names)
        for names in found
    ]


def python_name(argument: Argument) -> str:
    """The name of an argument in Python."""
    return "input" if argument.name == "self" else argument.name


# --- annotations ---------------------------------------------------------------------------------------------------


def of_python(function: Any) -> Row | None:
    """What the annotation of a function says; of one that a flag divides in two, what both halves say."""
    if function in boolean_dispatched:
        halves = list(dispatched(function, {}))
        names = list(dict.fromkeys(name for flags, _ in halves for name in flags))
        plain = next(returns for flags, returns in halves if not any(flags.values()))
        if any(returns is None for _, returns in halves):
            return None
        others = sorted((pair for pair in halves if any(pair[0].values())), key=lambda pair: -sum(pair[0].values()))
        return {
            "returns": plain,
            "when": [[" ".join(n for n in names if flags.get(n)), returns] for flags, returns in others],
            "params": signature(leaf(function)),
        }
    try:
        annotation = inspect.signature(function).return_annotation
    except (TypeError, ValueError):
        return None
    returns = annotated(annotation)
    if returns is None:
        return None
    row: Row = {"returns": returns, "params": signature(function)}
    takes = inspect.signature(function).parameters
    if "device" in takes and not any("Tensor" in str(one.annotation) for one in takes.values()):
        row["device"] = "factory"
    return row


def signature(function: Any) -> list[str]:
    """The names of a Python function's arguments by position, a method's `self` as `input`."""
    names = [
        name
        for name, one in inspect.signature(function).parameters.items()
        if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
    ]
    return ["input", *names[1:]] if names[:1] == ["self"] else names


def dispatched(function: Any, flags: dict[str, bool]) -> Iterator[tuple[dict[str, bool], Any]]:
    """The flags of a function made by boolean_dispatch, and what it gives for them."""
    halves = boolean_dispatched.get(function)
    if halves is None:
        yield flags, annotated(inspect.signature(function).return_annotation)
        return
    for value in (False, True):
        yield from dispatched(halves[f"if_{str(value).lower()}"], {**flags, halves["arg_name"]: value})


def leaf(function: Any) -> Any:
    """One of the functions that a dispatch by flags calls; all take the same arguments."""
    while function in boolean_dispatched:
        function = boolean_dispatched[function]["if_false"]
    return function


def annotated(annotation: Any) -> str | list[str] | None:
    """What an annotation stands for, as the table writes it; None where it tells nothing."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text = text.replace("Optional[", "").replace(" | None", "").replace("typing.", "")
    if text in ANNOTATIONS:
        return ANNOTATIONS[text]
    if re.fullmatch(r"TypeIs\[.*\]|typing_extensions.TypeIs\[.*\]", text):
        return "bool"
    if text.startswith("torch.return_types."):
        return named_tuple(getattr(torch.return_types, text.rpartition(".")[2]))
    several = re.fullmatch(r"[tT]uple\[(.*)\]", text)
    if several is None:
        return None
    items = [ANNOTATIONS.get(part.strip()) for part in several[1].split(",")]
    return [item("", kind) for kind in items if kind is not None] if None not in items else None


def named_tuple(kind: Any) -> list[str]:
    """The items of one of torch.return_types."""
    return [item(name, "tensor") for name in kind.__match_args__]


def stubs() -> dict[str, str]:
    """What the stubs say of methods that Python or C++ binds by hand: one annotation for all overloads."""
    body = ast.parse((STUBS / "__init__.pyi").read_text(encoding="utf-8")).body
    tensor = next(node.body for node in body if isinstance(node, ast.ClassDef) and node.name == "TensorBase")
    functions = ast.parse((STUBS / "_VariableFunctions.pyi").read_text(encoding="utf-8")).body
    found: dict[str, set[str]] = {}
    for owner, nodes in (("torch", body), ("torch", functions), ("torch.Tensor", tensor)):
        for node in nodes:
            if isinstance(node, ast.FunctionDef) and node.returns is not None:
                found.setdefault(f"{owner}.{node.name}", set()).add(ast.unparse(node.returns))
    return {name: given.pop() for name, given in found.items() if len(given) == 1}


# --- what there is -------------------------------------------------------------------------------------------------


def spellings() -> Iterator[tuple[str, Any]]:
    """What programs can call, by its dotted name."""
    for place, owner in PLACES.items():
        for name in sorted(dir(owner)):
            called = getattr(owner, name)
            if name.startswith("_") or not callable(called) or isinstance(called, type | ModuleType):
                continue
            if owner is not torch.Tensor and place != "torch" and _foreign(owner, called):
                continue
            yield f"{place}.{name}", called
    for name in torch.nn.modules.__all__:
        forward = getattr(getattr(torch.nn, name), "forward", None)
        if forward is not None and forward is not torch.nn.Module.forward:
            yield f"torch.nn.{name}.forward", forward


def _foreign(owner: Any, called: Any) -> bool:
    """Whether a module merely imported a function."""
    home = getattr(called, "__module__", None)
    return home is not None and not str(home).startswith(("torch", owner.__name__))


def rows() -> dict[str, Row]:
    """A row for each spelling, as torch describes it."""
    native, stub = schemas(), stubs()
    told: dict[str, Row] = {}
    for name, called in spellings():
        last = name.rpartition(".")[2]
        if name in native and called not in boolean_dispatched:
            told[name] = of_schemas(native[name])
        elif (row := of_python(called)) is not None:
            told[name] = row
        elif name in stub and (returns := annotated(stub[name])) is not None:
            told[name] = {"returns": returns}
        elif inspect.isbuiltin(called) and f"torch.{last}" in native:
            told[name] = of_schemas(native[f"torch.{last}"])
    return told
