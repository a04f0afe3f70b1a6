"""What holds on both of two paths, for every kind of value: the same in any order, and no more than each of them says."""

from __future__ import annotations

import ast
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchlint.facts.module import Module
from torchlint.facts.values import (
    CUDA,
    DEVICE,
    LIKELY,
    NONE,
    PROVEN,
    STR,
    UNKNOWN,
    Batch,
    Certainty,
    Dict,
    FunctionValue,
    List,
    Number,
    Tensor,
    Text,
    Tuple,
    Unknown,
    Value,
    constant,
    join,
    replace,
)
from torchlint.text.source import Source

KINDS: tuple[type[Value], ...] = get_args(Value)
MODULE = Module(Source.of("a.py", b"class A: pass\nclass B: pass\ndef f(): pass\ndef g(): pass\n"), "a", False)
CALLS = [ast.parse(text, mode="eval").body for text in ("f()", "\ng()", "\n\nlambda: 1")]  # no two at one place
FUNCTIONS = tuple(MODULE.top_functions.values())
FLAG = st.booleans()
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "certainty": st.sampled_from((LIKELY, PROVEN)),
    "other_kinds": st.frozensets(st.sampled_from(("none", "number", "unknown", "list")), max_size=2),
    "made_by": st.sampled_from((None, *CALLS)),
    "made_in": st.sampled_from((None, MODULE)),
    "device": st.sampled_from(("", "cpu", "accelerator")),
    "class_name": st.sampled_from(("", "a.A", "a.B")),
    "class_": st.sampled_from((None, *MODULE.classes)),
    "classes": st.sampled_from(((), tuple(MODULE.classes))),
    "function": st.sampled_from((None, *FUNCTIONS)),
    "choices": st.sampled_from(((), tuple(FunctionValue(function=function) for function in FUNCTIONS))),
    "pinned": st.sampled_from((None, True, False)),
    "loader_calls": st.frozensets(st.sampled_from(CALLS), max_size=2),
}
"""What the fields of values may be; the others are flags, or hold values."""
CONSTANTS: dict[type[Value], st.SearchStrategy[Any]] = {
    Number: st.sampled_from((None, 1, 1.0, True, 2)),
    Text: st.sampled_from((None, "x", "cpu", "cuda:0", "cuda:1")),
}
CERTAIN = ("scalar", "boolean", "integer", "parameter", "extent", "needs_accelerator")
"""Flags that say something of every path."""
SAME = ("const", "class_name", "class_", "function", "made_by", "made_in")


@st.composite
def values(draw: st.DrawFn, kind: type[Value] | None = None, depth: int = 1) -> Value:
    """A value of a kind, or of any."""
    of = kind or draw(st.sampled_from(KINDS))
    parts = values(depth=depth - 1)
    holding: dict[str, st.SearchStrategy[Any]] = {
        "const": CONSTANTS.get(of, st.none()),
        "element": st.none() | parts if depth else st.none(),
        "items": st.none() | st.lists(parts, max_size=2).map(tuple) if depth else st.none(),
        "entries": st.none() | st.dictionaries(st.sampled_from("xy"), parts) if depth else st.none(),
        "by_length": st.just(()) | st.tuples(st.tuples(parts), st.tuples(parts, parts)) if depth else st.just(()),
    }
    fields = {name: draw({**FIELDS, **holding}.get(name, FLAG)) for name in of._names}
    if fields.get("by_length"):
        fields["items"] = None  # which are those of one length
    if of is Unknown:
        fields["certainty"] = draw(st.sampled_from((Certainty.UNKNOWN, PROVEN)))
    return of(**fields)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
class TestEachKind:
    @settings(max_examples=20)
    @given(data=st.data())
    def test_a_value_joined_with_its_like_stays(self, kind: type[Value], data: st.DataObject) -> None:
        value = data.draw(values(kind))
        assert value == join(value, kind(**vars(value)))

    @settings(max_examples=25)
    @given(data=st.data())
    def test_the_order_of_paths_does_not_matter(self, kind: type[Value], data: st.DataObject) -> None:
        one, other = data.draw(values(kind)), data.draw(values(kind) | values())
        assert join(one, other) == join(other, one)

    @settings(max_examples=25)
    @given(data=st.data())
    def test_nothing_is_proven_that_one_path_does_not_prove(self, kind: type[Value], data: st.DataObject) -> None:
        one, other = data.draw(values(kind)), data.draw(values(kind) | values())
        _holds_for(join(one, other), (one, other))


def _holds_for(both: Value, paths: tuple[Value, Value]) -> None:
    """Fails where a join says more than one of two paths."""
    if both.proven:
        assert all(path.proven for path in paths)
    if both.kind == "unknown" and "unknown" not in {path.kind for path in paths}:
        return
    for path in paths:
        assert path.other_kinds <= both.other_kinds
        assert path.kind == both.kind or path.kind in both.other_kinds or {path.kind, both.kind} == {"str", "device"}
    alike = [path for path in paths if path.kind == both.kind]
    for path in alike:
        for flag in CERTAIN:
            assert getattr(path, flag, False) or not getattr(both, flag, False), flag
        for field in SAME:
            found = getattr(both, field)
            assert found in (None, "") or (found == getattr(path, field) and type(found) is type(getattr(path, field)))
        assert path.device == "cpu" or both.device != "cpu"
        assert getattr(path, "pinned", None) is False or getattr(both, "pinned", None) is not False
    if len(alike) == 2:
        one, other = alike
        for part, left, right in zip(both.items or (), one.items or (), other.items or (), strict=False):
            _holds_for(part, (left, right))
        if both.element and one.element and other.element:
            _holds_for(both.element, (one.element, other.element))
        for key in {*(one.entries or ())} & {*(other.entries or ())} & {*(both.entries or ())}:
            assert one.entries and other.entries and both.entries
            _holds_for(both.entries[key], (one.entries[key], other.entries[key]))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (Tensor(), UNKNOWN, Tensor(LIKELY, frozenset(("unknown",)))),
        (Tensor(), NONE, Tensor(PROVEN, frozenset(("none",)))),
        (Tensor(), constant(3), Tensor(PROVEN, frozenset(("number",)))),
        (Tensor(), List(), Tensor(LIKELY, frozenset(("list",)))),
        (List(), Dict(), UNKNOWN),
        (constant(1), constant(True), Number(integer=True)),
        (constant(1), constant(1.0), Number()),
        (constant("cpu"), constant("cuda"), CUDA),
        (constant("cuda"), constant("x"), STR),
        (DEVICE, constant("cuda"), CUDA),
        (Tensor(scalar=True, grad=True), Tensor(scalar=True), Tensor(scalar=True, grad=True)),
        (Tensor(scalar=True), Tensor(), Tensor()),
        (Tensor(device="cpu"), Tensor(device="accelerator"), Tensor(device="accelerator")),
        (Tensor(device="cpu"), Tensor(), Tensor()),
        (Batch(from_loader=True), Batch(device="accelerator"), Batch(device="accelerator")),
        (List(), List(element=NONE), List(element=NONE)),
        (List(element=UNKNOWN), List(element=Tensor()), List(element=Tensor())),
        (Dict(entries={"x": NONE}), Dict(entries={"y": STR}), Dict(entries={"x": NONE, "y": STR})),
        (Tuple(items=(STR,)), Tuple(items=(STR, NONE)), Tuple(by_length=((STR,), (STR, NONE)))),
        (
            Tuple(items=(STR, STR)),
            Tuple(by_length=((STR,), (STR, NONE))),
            Tuple(by_length=((STR,), (STR, join(STR, NONE)))),
        ),
        (Tuple(), Tuple(by_length=((STR,), (STR, NONE))), Tuple()),
    ],
)
def test_what_is_left(one: Value, other: Value, expected: Value) -> None:
    assert (expected, expected) == (join(one, other), join(other, one))


def test_a_kind_takes_no_field_of_another() -> None:
    with pytest.raises(TypeError, match="no field of number: device"):
        replace(Number(), device="cpu")


def test_what_is_none_or_unknown_on_one_path_is_no_proven_tensor() -> None:
    assert not join(join(NONE, UNKNOWN), Tensor()).proven
