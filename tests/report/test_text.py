"""The formats for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from torchlint.report import Look, render, statistics, summary
from torchlint.system.fault import FileError
from torchlint.text.finding import Edit, Finding, Fix, Related

Make = Callable[..., Any]

FULL = """\
TL405 100% of the step, 50,000 launches: `fused=False`
 --> train.py:3:64
  |
1 | import torch
2 |
3 | name = "Größe"; optimizer = torch.optim.Adam(net.parameters(), fused=False)
  |                                                                ^^^^^^^^^^^
4 | for x, y in loader:
5 |     loss = criterion(net(x), y)
  |
  = error: unfused-optimizer
help: Say `fused=True`
  |
2 |
  - name = "Größe"; optimizer = torch.optim.Adam(net.parameters(), fused=False)
3 + name = "Größe"; optimizer = torch.optim.Adam(net.parameters(), fused=True)
4 | for x, y in loader:
  |
note: This is a suggestion and is never applied

TL101 `loss.item()` waits for the GPU on every step
 --> train.py:7:14
  |
5 |     loss = criterion(net(x), y)
6 |     loss.backward()
7 |     total += loss.item()
  |              ^^^^^^^^^^^
8 |     optimizer.zero_grad(
9 |         set_to_none=False,
  |
 ::: train.py:4:1 this is the step loop
  = warning: item-in-loop
  = confirmed: 1 host-device synchronization a step
help: Add up the tensor and read it once, behind the loop
   |
6  |     loss.backward()
   -     total += loss.item()
7  +     total += loss.detach()
8  |     optimizer.zero_grad(
--------------------------------------------------------------------------------
11 |     optimizer.step()
   - print(total)
12 + print(total.item())
   |
note: This is an unsafe fix and may change runtime behavior: the sum is a float32 tensor instead of a Python float

TL402 [*] Filling gradients with zeros costs a kernel a parameter
  --> train.py:8:5
   |
 6 |       loss.backward()
 7 |       total += loss.item()
 8 | /     optimizer.zero_grad(
 9 | |         set_to_none=False,
10 | |     )
   | |_____^
11 |       optimizer.step()
12 |   print(total)
   |
   = info: zero-grad-fills
help: Leave out `set_to_none`
  |
7 |     total += loss.item()
  -     optimizer.zero_grad(
  -         set_to_none=False,
  -     )
8 +     optimizer.zero_grad()
9 |     optimizer.step()
  |

"""


def plain(line: int, column: int, end_line: int, end_column: int, **others: Any) -> Finding:
    """A finding that says no more than where it is."""
    return Finding("train.py", line, column, end_line, end_column, "TL101", "item-in-loop", "slow", "warning", **others)


def frame(text: str) -> str:
    """The lines between the place and the rule's name."""
    lines = text.splitlines()
    return "\n".join(lines[2 : next(i for i, line in enumerate(lines) if line.strip().startswith("= "))])


def test_full_shows_frames_reasons_and_fixes(result: Any, look: Look) -> None:
    assert FULL == render("full", result, look)


def test_full_of_nothing_is_empty(nothing: Any, look: Look) -> None:
    assert "" == render("full", nothing, look)


def test_full_marks_unsafe_fixes_once_they_are_wanted(result: Any, look: Look) -> None:
    heads = [line for line in render("full", result, replace(look, unsafe=True)).splitlines() if line[:2] == "TL"]
    assert [
        "TL405 100% of the step, 50,000 launches: `fused=False`",
        "TL101 [*] `loss.item()` waits for the GPU on every step",
        "TL402 [*] Filling gradients with zeros costs a kernel a parameter",
    ] == heads


def test_a_file_without_text_gets_no_frame(make: Make, look: Look) -> None:
    broken = replace(plain(3, 1, 3, 1), path="broken.py", fix=Fix("Repair it", (Edit(0, 1, b""),), "safe"))
    assert ("TL101 [*] slow\n--> broken.py:3:1\n = warning: item-in-loop\nhelp: Repair it\n\n") == render(
        "full", make("", broken), look
    )


def test_a_title_without_edits_is_only_said(make: Make, look: Look) -> None:
    finding = plain(1, 1, 1, 2, fix=Fix("Think again", (), "suggestion"))
    assert render("full", make("x\n", finding), look).endswith(
        "help: Think again\nnote: This is a suggestion and is never applied\n\n"
    )


def test_wide_characters_and_tabs_keep_the_carets_in_place(make: Make, look: Look) -> None:
    text = render("full", make("if y:\n\tx = '中文'; z(y)\n", plain(2, 12, 2, 16)), look)
    assert "  |\n1 | if y:\n2 |     x = '中文'; z(y)\n  |                 ^^^^" == frame(text)


def test_an_empty_range_gets_one_caret(make: Make, look: Look) -> None:
    assert "  |\n1 | x = (\n  |      ^" == frame(render("full", make("x = (\n", plain(1, 6, 1, 6)), look))


def test_a_place_behind_the_end_is_shown_at_the_end(make: Make, look: Look) -> None:
    assert "  |\n1 | x = (\n  | ^" == frame(render("full", make("x = (", plain(2, 1, 2, 1)), look))


def test_blank_lines_at_the_outer_ends_are_left_out(make: Make, look: Look) -> None:
    text = render("full", make("a\n\nb\n\nc\n\nd\n", plain(5, 1, 5, 2)), look)
    assert "  |\n3 | b\n4 |\n5 | c\n  | ^\n6 |\n7 | d\n  |" == frame(text)


def test_a_range_that_starts_behind_code_is_led_to(make: Make, look: Look) -> None:
    text = render("full", make("x = f(\n    1,\n)\ny\n", plain(1, 5, 3, 2)), look)
    assert "  |\n1 |   x = f(\n  |  _____^\n2 | |     1,\n3 | | )\n  | |_^\n4 |   y\n  |" == frame(text)


def test_a_range_up_to_the_start_of_a_line_ends_on_the_line_before(make: Make, look: Look) -> None:
    assert "  |\n1 | x = 1\n  | ^^^^^\n2 | y\n  |" == frame(render("full", make("x = 1\ny\n", plain(1, 1, 2, 1)), look))


def test_the_middle_of_a_long_range_is_left_out(make: Make, look: Look) -> None:
    program = "for x in y:\n" + "".join(f"    f({i})\n" for i in range(2, 13))
    assert (
        "   |\n 1 | / for x in y:\n 2 | |     f(2)\n 3 | |     f(3)\n 4 | |     f(4)\n...\n"
        "11 | |     f(11)\n12 | |     f(12)\n   | |_________^"
    ) == frame(render("full", make(program, plain(1, 1, 12, 10)), look))


def test_a_long_line_is_cut_around_the_range(make: Make, look: Look) -> None:
    line = f"x = '{'a' * 200}' + y.item() + '{'b' * 200}'"
    rows = frame(render("full", make(line + "\n", plain(1, 210, 1, 218)), look)).splitlines()
    assert f"1 | …{'a' * 55}' + y.item() + '{'b' * 67}…" == rows[1]
    assert f"  | {' ' * 60}{'^' * 8}" == rows[2]
    assert len(rows[1]) == 140 + len("1 | ")


def test_a_fix_at_the_end_of_a_file_without_newline(make: Make, look: Look) -> None:
    fix = Fix("Drop it", (Edit(2, 4, b"y"),), "safe")
    text = render("full", make("a\nbc", plain(2, 1, 2, 3, fix=fix)), look)
    assert text.endswith("help: Drop it\n  |\n1 | a\n  - bc\n2 + y\n  |\n\n")


def test_a_fix_that_inserts_a_first_line(make: Make, look: Look) -> None:
    fix = Fix("Import it", (Edit(0, 0, b"import torch\n"),), "safe")
    text = render("full", make("a\nb\n", plain(2, 1, 2, 2, fix=fix)), look)
    assert text.endswith("help: Import it\n  |\n1 + import torch\n2 | a\n  |\n\n")


def test_a_fix_that_deletes_a_whole_line(make: Make, look: Look) -> None:
    fix = Fix("Drop it", (Edit(2, 4, b""),), "safe")
    text = render("full", make("a\nb\nc\nd\n", plain(2, 1, 2, 2, fix=fix)), look)
    assert text.endswith("help: Drop it\n  |\n1 | a\n  - b\n2 | c\n  |\n\n")


def test_related_places_may_lie_in_other_files(make: Make, look: Look) -> None:
    finding = plain(1, 1, 1, 2, related=(Related("../lib/model.py", 12, 5, "compiled here"),))
    assert " ::: /repo/lib/model.py:12:5 compiled here\n" in render("full", make("x\n", finding), look)


def test_a_finding_in_a_notebook_names_its_cell(make: Make, look: Look) -> None:
    text = render("full", make("x\n", plain(1, 1, 1, 2, cell=3)), look)
    assert " --> train.py:cell 3:1:1" == text.splitlines()[1]


def test_colours_and_links_change_nothing_but_the_look(
    result: Any, look: Look, strip_escapes: Callable[[str], str]
) -> None:
    painted = render("full", result, replace(look, color=True, links=True))
    assert FULL == strip_escapes(painted)
    link = "\x1b]8;;https://example.org/torchlint/blob/main/docs/rules/item-in-loop.md\x1b\\\x1b[1;33mTL101\x1b[0m\x1b]8;;\x1b\\"
    assert link in painted
    assert "\x1b[34mimport\x1b" in painted


def test_concise(result: Any, look: Look) -> None:
    assert (
        "train.py:3:64: TL405 100% of the step, 50,000 launches: `fused=False`\n"
        "train.py:7:14: TL101 `loss.item()` waits for the GPU on every step\n"
        "train.py:8:5: TL402 [*] Filling gradients with zeros costs a kernel a parameter\n"
    ) == render("concise", result, look)


def test_grouped(result: Any, look: Look) -> None:
    other = replace(result.findings[1], path="/elsewhere/b.py", line=123, cell=2)
    both = replace(result, findings=(*result.findings, other))
    assert (
        "train.py:\n"
        "  3:64 TL405 100% of the step, 50,000 launches: `fused=False`\n"
        "  7:14 TL101 `loss.item()` waits for the GPU on every step\n"
        "  8:5  TL402 [*] Filling gradients with zeros costs a kernel a parameter\n"
        "\n"
        "/elsewhere/b.py:\n"
        "  cell 2:123:14 TL101 `loss.item()` waits for the GPU on every step\n"
        "\n"
    ) == render("grouped", both, look)


def test_pylint(result: Any, look: Look) -> None:
    assert (
        "train.py:3: [TL405] 100% of the step, 50,000 launches: `fused=False`\n"
        "train.py:7: [TL101] `loss.item()` waits for the GPU on every step\n"
        "train.py:8: [TL402] Filling gradients with zeros costs a kernel a parameter\n"
    ) == render("pylint", result, look)


@pytest.mark.parametrize("name", ["concise", "grouped", "pylint"])
def test_nothing_is_no_line(name: str, nothing: Any, look: Look) -> None:
    assert "" == render(name, nothing, look)


@pytest.mark.parametrize("name", ["concise", "grouped", "pylint"])
def test_a_message_of_several_lines_stays_on_one(name: str, make: Make, look: Look) -> None:
    assert render(name, make("x\n", replace(plain(1, 1, 1, 2), message="a\n  b")), look).rstrip().endswith(" a b")


class TestStatistics:
    def test_counts_the_most_frequent_first(self, result: Any, look: Look) -> None:
        twice = replace(result, findings=(*result.findings, result.findings[1]))
        assert (
            "2\tTL101\thigh\t[ ] item-in-loop\n1\tTL402\tmedium\t[*] zero-grad-fills\n"
            "1\tTL405\tmedium\t[ ] unfused-optimizer\n"
        ) == statistics.render(twice, look)

    def test_no_marks_when_nothing_can_be_fixed(self, result: Any, look: Look) -> None:
        assert "1\tTL405\tmedium\tunfused-optimizer\n" == statistics.render(
            replace(result, findings=result.findings[:1]), look
        )

    def test_marks_rules_of_which_some_can_be_fixed(self, result: Any, look: Look) -> None:
        zero = result.findings[2]
        mixed = replace(result, findings=(zero, replace(zero, fix=None)))
        assert "2\tTL402\tmedium\t[-] zero-grad-fills\n" == statistics.render(mixed, look)

    def test_as_json(self, result: Any, look: Look) -> None:
        text = statistics.render(replace(result, findings=result.findings[2:]), look, as_json=True)
        assert (
            '[\n  {\n    "code": "TL402",\n    "name": "zero-grad-fills",\n    "impact": "medium",\n    "count": 1,\n'
            '    "fixable": true,\n    "fixable_count": 1\n  }\n]\n'
        ) == text

    def test_impact_goes_before_number(self, result: Any, look: Look) -> None:
        item, zero = result.findings[1:]
        many = replace(result, findings=(zero, zero, zero, item))
        assert "1\tTL101\thigh\t[ ] item-in-loop\n3\tTL402\tmedium\t[*] zero-grad-fills\n" == statistics.render(
            many, look
        )

    def test_of_nothing(self, nothing: Any, look: Look) -> None:
        assert "" == statistics.render(nothing, look)


class TestSummary:
    def test_of_nothing(self, nothing: Any, look: Look) -> None:
        assert "All checks passed!\n" == summary.render(nothing, look)

    def test_of_a_file_that_could_not_be_read(self, nothing: Any, look: Look) -> None:
        unread = replace(nothing, errors=(FileError("b.py", "Permission denied"),))
        assert "" == summary.render(unread, look)

    def test_tells_safe_from_unsafe_fixes(self, result: Any, look: Look) -> None:
        assert (
            "Found 3 errors.\n[*] 1 fixable with `--fix` (1 unsafe fix available with `--fix --unsafe-fixes`).\n"
        ) == summary.render(result, look)

    def test_counts_unsafe_fixes_once_they_are_wanted(self, result: Any, look: Look) -> None:
        assert "Found 3 errors.\n[*] 2 fixable with `--fix`.\n" == summary.render(result, replace(look, unsafe=True))

    def test_only_unsafe_fixes(self, result: Any, look: Look) -> None:
        left = replace(result, findings=result.findings[1:2] * 2)
        assert ("Found 2 errors.\n2 unsafe fixes available with `--fix --unsafe-fixes`.\n") == summary.render(
            left, look
        )

    def test_unfixable_rules_have_no_fix(self, result: Any, look: Look) -> None:
        assert "Found 3 errors.\n" == summary.render(result, replace(look, may_fix=lambda finding: False))

    def test_after_fixing(self, result: Any, look: Look) -> None:
        left = replace(result, findings=result.findings[:1])
        assert "Found 3 errors (2 fixed, 1 remaining).\n" == summary.render(left, replace(look, fixed=2))

    def test_after_fixing_all(self, nothing: Any, look: Look) -> None:
        assert "Found 1 error (1 fixed, 0 remaining).\n" == summary.render(nothing, replace(look, fixed=1))

    @pytest.mark.parametrize(
        ("fixed", "written", "expected"),
        [
            (2, True, "Fixed 2 errors (1 additional fix available with `--unsafe-fixes`).\n"),
            (1, False, "Would fix 1 error (1 additional fix available with `--unsafe-fixes`).\n"),
            (0, True, "No errors fixed (1 fix available with `--unsafe-fixes`).\n"),
            (0, False, "No errors would be fixed (1 fix available with `--unsafe-fixes`).\n"),
        ],
    )
    def test_of_fixes_only(self, result: Any, look: Look, fixed: int, written: bool, expected: str) -> None:
        assert expected == summary.fixes_only(result, replace(look, fixed=fixed), written=written)

    def test_of_fixes_only_without_more_to_fix(self, nothing: Any, look: Look) -> None:
        assert "" == summary.fixes_only(nothing, look, written=False)
        assert "Would fix 3 errors.\n" == summary.fixes_only(nothing, replace(look, fixed=3), written=False)

    def test_lists_fixes_by_file_and_rule(self, look: Look) -> None:
        fixed = {"b.py": Counter({"TL402": 1}), "a.py": Counter({"TL101": 2, "TL405": 11})}
        assert (
            "\nFixed 14 errors:\n"
            "- a.py:\n"
            "    11 \N{MULTIPLICATION SIGN} TL405 (unfused-optimizer)\n"
            "     2 \N{MULTIPLICATION SIGN} TL101 (item-in-loop)\n"
            "- b.py:\n"
            "     1 \N{MULTIPLICATION SIGN} TL402 (zero-grad-fills)\n"
            "\n"
        ) == summary.fixes(fixed, look)

    def test_lists_no_fixes(self, look: Look) -> None:
        assert "" == summary.fixes({}, look)
