"""The numbers check tells harmless rewrites from wrong ones; all of them are run by `python -m tests.prove.rewrites`."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from torchlint.prove import text
from torchlint.prove.reach import Part, parts

from .conftest import Compare

torch = pytest.mark.torch


def _table() -> ModuleType:
    path = Path(__file__).with_name("rewrites.py")
    spec = importlib.util.spec_from_file_location("rewrites", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules["rewrites"] = module
    spec.loader.exec_module(module)
    return module


REWRITES = {one.name: one for one in _table().REWRITES}

QUICK = {
    "sdpa and fused AdamW": "rounding",
    "batched rows": "rounding",
    "less that nobody uses": "exact",
    "logits for sigmoid": "rounding",
    "another eps of LayerNorm": "changed",
    "bfloat16 product": "precision",
    "no dropout": "changed",
    "half the held-out set": "changed",
    "other words": "changed",
    "file written": "changed",
    "less in the file": "changed",
    "exit code": "broken",
    "a random seed": "unknown",
}


def test_the_table_has_thirty_harmless_and_fifty_wrong_rewrites_half_of_them_unseen() -> None:
    for kind, least in (("harmless", 30), ("wrong", 50)):
        found = [one for one in REWRITES.values() if one.kind == kind]
        assert len(found) >= least
        assert sum(one.unseen for one in found) >= len(found) / 2
        assert all(one.before != one.after for one in found)


@torch
@pytest.mark.parametrize("name", QUICK)
def test_a_rewrite_is_known_for_what_it_is(name: str, compared: Compare) -> None:
    one = REWRITES[name]
    judgement = compared(one.before, one.after).judgement

    assert (QUICK[name], one.kind == "harmless") == (judgement.name, judgement.within("rounding"))


@torch
def test_it_is_said_where_two_versions_part(compared: Compare) -> None:
    one = REWRITES["detached residual"]
    judgement = compared(one.before, one.after).judgement

    assert judgement.first is not None
    assert (1, "the gradient of Sequential.0.qkv.weight") == (judgement.first.step, judgement.first.what)
    assert 0.01 < judgement.first.difference < 10


@torch
def test_what_was_not_run_proves_nothing(compared: Compare) -> None:
    before = REWRITES["batched rows"].before
    unused = "\n\ndef unused(x):\n    return x + {}\n"
    found = compared(before + unused.format(1), before + unused.format(2))

    assert ("unknown", ("what is different was not run: unused in train.py",)) == (
        found.judgement.name,
        found.judgement.reasons,
    )


@torch
def test_a_comment_changes_nothing(compared: Compare) -> None:
    before = REWRITES["batched rows"].before
    assert "exact" == compared(before, before.replace("model = Head()", "# a head\nmodel = Head()")).judgement.name


@torch
def test_times_that_a_program_prints_and_writes_are_no_difference(compared: Compare) -> None:
    said = 'import time\nnow = time.perf_counter_ns()\nprint(f"took {now} ns, loss {loss.item():.3f}")\nopen(f"log{now}.txt", "w").write(f"{now}")\n'
    before = REWRITES["batched rows"].before + said

    assert "rounding" == compared(before, REWRITES["batched rows"].after + said).judgement.name
    assert "changed" == compared(before, before.replace("loss.item():.3f", "2 * loss.item():.3f")).judgement.name


class TestText:
    def difference(self, one: str, other: str, again: str | None = None) -> text.TextDifference:
        known = text.varying(text.lines(one), text.lines(one if again is None else again))
        assert known is not None
        return text.difference(text.lines(one), text.lines(other), known)

    def test_other_words_are_shown(self) -> None:
        assert "accuracy 0.5" == self.difference("loss 0.5\n", "accuracy 0.5\n").words
        assert "one more" == self.difference("loss 0.5\n", "loss 0.5\none more\n").words

    def test_numbers_are_compared_in_proportion_and_in_units_of_the_last_digit(self) -> None:
        found = self.difference("loss 0.5000\n", "loss 0.5001\n")
        assert not found.words
        assert found.units == pytest.approx(1.0)
        assert found.relative == pytest.approx(2e-4)

    def test_a_number_that_varies_by_itself_is_left_out_on_every_line_like_it(self) -> None:
        text_of = "step {} loss {} in {} ms\n"
        one = text_of.format(1, 0.5, 10) + text_of.format(2, 0.4, 11)
        again = text_of.format(1, 0.5, 12) + text_of.format(2, 0.4, 11)
        assert self.difference(one, text_of.format(1, 0.5, 99) + text_of.format(2, 0.4, 98), again).same
        assert not self.difference(one, text_of.format(1, 0.5, 99) + text_of.format(2, 0.3, 98), again).same

    def test_not_a_number_differs_from_a_number(self) -> None:
        assert float("inf") == self.difference("loss 0.5\n", "loss nan\n").relative
        assert self.difference("loss nan\n", "loss nan\n").same

    def test_information_is_no_infinity(self) -> None:
        assert ("info: #", ("3",)) == (text.lines("info: 3\n")[0].words, text.lines("info: 3\n")[0].numbers)

    def test_addresses_are_left_out(self) -> None:
        assert self.difference("<Net at 0x7f00>\n", "<Net at 0x7e11>\n").same


class TestReach:
    def test_comments_and_blank_lines_need_no_run(self) -> None:
        assert () == parts("a.py", b"x = 1\n", b"# one\n\nx = 1\n")

    def test_a_statement_over_several_lines_is_one(self) -> None:
        before = b"def f():\n    return g(\n        1,\n        2,\n    )\n"
        assert (Part("a.py", "f", frozenset({2, 3, 4, 5})),) == parts("a.py", before, before.replace(b"2,", b"3,"))

    def test_a_decorator_counts_when_the_function_runs(self) -> None:
        before = b"def f():\n    x = 1\n    return x\n"
        assert (Part("a.py", "f", frozenset({3, 4})),) == parts("a.py", before, b"@g\n" + before)

    def test_a_function_that_lost_lines_has_to_run(self) -> None:
        before = b"def f():\n    g()\n    x = 1\n    return x\n"
        assert (Part("a.py", "f", frozenset({2, 3})),) == parts("a.py", before, before.replace(b"    g()\n", b""))

    def test_each_function_has_to_run(self) -> None:
        before = b"def f():\n    return 1\n\n\ndef g():\n    return 1\n"
        found = parts("a.py", before, before.replace(b"1", b"2"))
        assert {"f": {2}, "g": {6}} == {part.name: set(part.lines) for part in found}
