"""The formats for programs, against their specifications."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from torchlint.report import Look, render
from torchlint.report.sarif import line_hashes
from torchlint.text.finding import Edit, Finding, Fix, Severity
from torchlint.text.source import Source

Make = Callable[..., Any]
PAGES = "https://example.org/torchlint/blob/main/docs/rules"


def finding(line: int, column: int, end_line: int, end_column: int, **others: Any) -> Finding:
    return Finding("train.py", line, column, end_line, end_column, "TL101", "item-in-loop", "slow", "warning", **others)


def at(row: int, column: int) -> dict[str, int]:
    return {"column": column, "row": row}


class TestJson:
    def test_has_ruffs_keys_and_ours(self, result: Any, look: Look) -> None:
        items = json.loads(render("json", result, look))
        assert {
            "cell": None,
            "code": "TL101",
            "end_location": at(7, 25),
            "evidence": {"count": 1.0, "detail": "1 host-device synchronization a step", "verdict": "confirmed"},
            "filename": "/repo/examples/train.py",
            "fix": {
                "applicability": "unsafe",
                "edits": [
                    {"content": "loss.detach()", "end_location": at(7, 25), "location": at(7, 14)},
                    {"content": "print(total.item())", "end_location": at(12, 13), "location": at(12, 1)},
                ],
                "message": "Add up the tensor and read it once, behind the loop",
                "note": "the sum is a float32 tensor instead of a Python float",
            },
            "impact": "high",
            "location": at(7, 14),
            "message": "`loss.item()` waits for the GPU on every step",
            "name": "item-in-loop",
            "noqa_row": 7,
            "related": [
                {"filename": "/repo/examples/train.py", "location": at(4, 1), "message": "this is the step loop"}
            ],
            "severity": "warning",
            "statement_rows": [7, 7],
            "url": f"{PAGES}/item-in-loop.md",
        } == items[1]

    def test_columns_are_characters(self, result: Any, look: Look) -> None:
        item = json.loads(render("json", result, look))[0]
        assert (at(3, 64), at(3, 70)) == (item["location"], item["fix"]["edits"][0]["location"])

    def test_suggestions_are_for_display(self, result: Any, look: Look) -> None:
        levels = [item["fix"]["applicability"] for item in json.loads(render("json", result, look))]
        assert ["display", "unsafe", "safe"] == levels

    def test_keys_are_sorted(self, result: Any, look: Look) -> None:
        assert all(list(item) == sorted(item) for item in json.loads(render("json", result, look)))

    def test_lines_hold_the_same_objects(self, result: Any, look: Look) -> None:
        lines = render("json-lines", result, look).splitlines()
        assert [json.loads(line) for line in lines] == json.loads(render("json", result, look))
        assert lines[0].startswith('{"cell":null,"code":"TL405",')

    def test_nothing(self, nothing: Any, look: Look) -> None:
        assert "[]\n" == render("json", nothing, look)
        assert "" == render("json-lines", nothing, look)


class TestGithub:
    def test_worst_first_and_no_columns_over_lines(self, result: Any, look: Look) -> None:
        reversed_result = replace(result, findings=result.findings[::-1])
        assert (
            "::error title=torchlint (TL405),file=examples/train.py,line=3,col=64,endLine=3,endColumn=75::"
            "examples/train.py:3:64: TL405 100%25 of the step, 50,000 launches: `fused=False`%0A  help: Say `fused=True`\n"
            "::warning title=torchlint (TL101),file=examples/train.py,line=7,col=14,endLine=7,endColumn=25::"
            "examples/train.py:7:14: TL101 `loss.item()` waits for the GPU on every step"
            "%0A  help: Add up the tensor and read it once, behind the loop\n"
            "::notice title=torchlint (TL402),file=examples/train.py,line=8,endLine=10::"
            "examples/train.py:8:5: TL402 Filling gradients with zeros costs a kernel a parameter"
            "%0A  help: Leave out `set_to_none`\n"
        ) == render("github", reversed_result, look)

    def test_errors_then_impact_then_severity(self, make: Make, look: Look) -> None:
        """TL109 has low impact, TL402 medium, TL101 high."""
        ranked: tuple[tuple[str, Severity], ...] = (
            ("TL406", "error"), ("TL101", "warning"), ("TL101", "info"), ("TL402", "warning"), ("TL402", "info"),
            ("TL109", "info"),
        )  # fmt: skip
        findings = [replace(finding(1, 1, 1, 2), code=code, severity=severity) for code, severity in ranked[::-1]]
        lines = render("github", make("x\n", *findings), look).splitlines()
        levels = {"error": "error", "warning": "warning", "info": "notice"}
        assert [f"::{levels[severity]} title=torchlint ({code})" for code, severity in ranked] == [
            line.partition(",")[0] for line in lines
        ]

    def test_escapes_colons_and_commas_in_properties_alone(self, make: Make, look: Look) -> None:
        odd = replace(finding(1, 1, 1, 2), path="a,b:c%.py", message="x: y, z\r\n")
        assert (
            "::warning title=torchlint (TL101),file=examples/a%2Cb%3Ac%25.py,line=1,col=1,endLine=1,endColumn=2::"
            "examples/a,b:c%25.py:1:1: TL101 x: y, z%0D%0A\n"
        ) == render("github", make("x\n", odd), look)

    def test_nothing(self, nothing: Any, look: Look) -> None:
        assert "" == render("github", nothing, look)


class TestAzure:
    def test_worst_first(self, result: Any, look: Look) -> None:
        assert (
            "##vso[task.logissue type=error;sourcepath=/repo/examples/train.py;linenumber=3;columnnumber=64;code=TL405;]"
            "100%AZP25 of the step, 50,000 launches: `fused=False`\n"
            "##vso[task.logissue type=warning;sourcepath=/repo/examples/train.py;linenumber=7;columnnumber=14;code=TL101;]"
            "`loss.item()` waits for the GPU on every step\n"
            "##vso[task.logissue type=warning;sourcepath=/repo/examples/train.py;linenumber=8;columnnumber=5;code=TL402;]"
            "Filling gradients with zeros costs a kernel a parameter\n"
        ) == render("azure", replace(result, findings=result.findings[::-1]), look)

    def test_escapes_what_would_end_a_property(self, make: Make, look: Look) -> None:
        text = render("azure", make("x\n", replace(finding(1, 1, 1, 2), path="a;b].py")), look)
        assert "sourcepath=/repo/examples/a%3Bb%5D.py;" in text

    def test_nothing(self, nothing: Any, look: Look) -> None:
        assert "" == render("azure", nothing, look)


class TestGitlab:
    def test_has_the_required_keys(self, result: Any, look: Look) -> None:
        item = json.loads(render("gitlab", result, look))[2]
        del item["fingerprint"]
        assert item == {
            "check_name": "TL402",
            "description": "TL402: Filling gradients with zeros costs a kernel a parameter",
            "severity": "info",
            "location": {
                "path": "examples/train.py",
                "positions": {"begin": {"line": 8, "column": 5}, "end": {"line": 10, "column": 6}},
            },
        }

    def prints(self, result: Any, look: Look) -> list[str]:
        return [item["fingerprint"] for item in json.loads(render("gitlab", result, look))]

    def test_fingerprints_survive_moved_and_indented_lines(self, make: Make, look: Look) -> None:
        before = make("x.item()\n", finding(1, 1, 1, 9))
        after = make("import a\n\nif a:\n    x.item()\n", finding(4, 5, 4, 13))
        assert self.prints(before, look) == self.prints(after, look)

    def test_fingerprints_are_unique(self, make: Make, look: Look) -> None:
        twice = make("x.item()\nx.item()\n", finding(1, 1, 1, 9), finding(2, 1, 2, 9), finding(2, 1, 2, 9))
        assert 3 == len(set(self.prints(twice, look)))

    def test_fingerprints_tell_rules_and_files_apart(self, make: Make, look: Look) -> None:
        one = finding(1, 1, 1, 2)
        others = (one, replace(one, name="other"), replace(one, path="b.py"))
        assert 3 == len({self.prints(make("x\n", other), look)[0] for other in others})

    def test_nothing(self, nothing: Any, look: Look) -> None:
        assert "[]\n" == render("gitlab", nothing, look)


class TestRdjson:
    def one(self, result: Any, look: Look) -> dict[str, Any]:
        diagnostic: dict[str, Any] = json.loads(render("rdjsonl", result, look))
        return diagnostic

    def test_the_whole_document(self, result: Any, look: Look) -> None:
        report = json.loads(render("rdjson", replace(result, findings=result.findings[1:2]), look))
        assert {
            "source": {"name": "torchlint", "url": "https://example.org/torchlint"},
            "severity": "WARNING",
            "diagnostics": [
                {
                    "message": "`loss.item()` waits for the GPU on every step",
                    "location": {
                        "path": "examples/train.py",
                        "range": {"start": {"line": 7, "column": 14}, "end": {"line": 7, "column": 25}},
                    },
                    "severity": "WARNING",
                    "code": {"value": "TL101", "url": f"{PAGES}/item-in-loop.md"},
                    "related_locations": [
                        {
                            "message": "this is the step loop",
                            "location": {
                                "path": "examples/train.py",
                                "range": {"start": {"line": 4, "column": 1}},
                            },
                        }
                    ],
                }
            ],
        } == report

    def test_columns_are_bytes(self, result: Any, look: Look) -> None:
        diagnostic = self.one(replace(result, findings=result.findings[:1]), look)
        expected = {"start": {"line": 3, "column": 66}, "end": {"line": 3, "column": 77}}
        assert expected == diagnostic["location"]["range"]

    def test_a_safe_fix_is_one_suggestion_of_whole_lines(self, result: Any, look: Look) -> None:
        diagnostic = self.one(replace(result, findings=result.findings[2:]), look)
        assert [
            {"range": {"start": {"line": 8}, "end": {"line": 10}}, "text": "    optimizer.zero_grad()"}
        ] == diagnostic["suggestions"]
        expected = {"start": {"line": 8, "column": 5}, "end": {"line": 10, "column": 6}}
        assert expected == diagnostic["location"]["range"]

    def test_several_edits_are_one_suggestion_and_the_diagnostic_covers_it(self, result: Any, look: Look) -> None:
        diagnostic = self.one(replace(result, findings=result.findings[1:2]), replace(look, unsafe=True))
        lines = {"start": {"line": 7}, "end": {"line": 12}}
        assert diagnostic["location"]["range"] == lines
        assert diagnostic["suggestions"] == [
            {
                "range": lines,
                "text": "    total += loss.detach()\n    optimizer.zero_grad(\n        set_to_none=False,\n    )\n"
                "    optimizer.step()\nprint(total.item())",
            }
        ]

    def test_edits_far_apart_make_no_suggestion(self, make: Make, look: Look) -> None:
        fix = Fix("x", (Edit(0, 0, b"import torch\n"), Edit(60, 61, b"y")), "safe")
        diagnostic = self.one(make("\n" * 60 + "x\n", finding(61, 1, 61, 2, fix=fix)), look)
        assert "suggestions" not in diagnostic
        assert {"line": 61, "column": 1} == diagnostic["location"]["range"]["start"]

    def test_lines_hold_the_same_diagnostics(self, result: Any, look: Look) -> None:
        lines = [json.loads(line) for line in render("rdjsonl", result, look).splitlines()]
        assert lines == json.loads(render("rdjson", result, look))["diagnostics"]

    def test_nothing(self, nothing: Any, look: Look) -> None:
        assert [] == json.loads(render("rdjson", nothing, look))["diagnostics"]
        assert "" == render("rdjsonl", nothing, look)


class TestJunit:
    def test_a_suite_a_file_and_a_case_a_finding(self, result: Any, look: Look) -> None:
        assert (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            '<testsuites name="torchlint" tests="1" skipped="0" failures="1" errors="0">\n'
            '    <testsuite name="/repo/examples/train.py" tests="1" skipped="0" errors="0" failures="1" package="torchlint">\n'
            '        <testcase name="torchlint.TL405" classname="/repo/examples/train" line="3" column="64">\n'
            "            <properties>\n"
            '                <property name="severity" value="error" />\n'
            "            </properties>\n"
            '            <failure message="100% of the step, 50,000 launches: `fused=False`">'
            "line 3, col 64, 100% of the step, 50,000 launches: `fused=False`</failure>\n"
            "        </testcase>\n"
            "    </testsuite>\n"
            "</testsuites>\n"
        ) == render("junit", replace(result, findings=result.findings[:1]), look)

    def test_odd_characters_keep_it_well_formed(self, make: Make, look: Look) -> None:
        odd = replace(finding(1, 1, 1, 2), path='a&"<.py', message='<b> & "c" \x00\x1b\ud800')
        case = ElementTree.fromstring(render("junit", make("x\n", odd), look))[0][0]
        failure = case.find("failure")
        assert failure is not None
        shown = '<b> & "c" \\x00\\x1b\\ud800'
        assert (shown, f"line 1, col 1, {shown}") == (failure.get("message"), failure.text)

    def test_nothing_is_one_passed_test(self, nothing: Any, look: Look) -> None:
        root = ElementTree.fromstring(render("junit", nothing, look))
        assert {"name": "torchlint", "tests": "1", "skipped": "0", "failures": "0", "errors": "0"} == root.attrib
        assert [{"name": "No errors found", "classname": "torchlint"}] == [
            case.attrib for case in root.iter("testcase")
        ]


class TestSarif:
    def run(self, result: Any, look: Look) -> dict[str, Any]:
        run: dict[str, Any] = json.loads(render("sarif", result, look))["runs"][0]
        return run

    def test_the_frame(self, nothing: Any, look: Look) -> None:
        report = json.loads(render("sarif", nothing, look))
        assert ("https://json.schemastore.org/sarif-2.1.0.json", "2.1.0") == (report["$schema"], report["version"])
        (run,) = report["runs"]
        assert ("unicodeCodePoints", [], []) == (run["columnKind"], run["results"], run["tool"]["driver"]["rules"])

    def test_rules_have_pages_and_indices(self, result: Any, look: Look) -> None:
        run = self.run(result, look)
        rules = run["tool"]["driver"]["rules"]
        assert ["TL405", "TL101", "TL402"] == [rules[item["ruleIndex"]]["id"] for item in run["results"]]
        page = "Reading a value waits for the GPU.\n\n## Bad\n\nx.item()"
        assert {
            "id": "TL101",
            "name": "item-in-loop",
            "shortDescription": {"text": "Reading a value waits for the GPU."},
            "fullDescription": {"text": "Reading a value waits for the GPU."},
            "help": {"text": page, "markdown": page},
            "helpUri": f"{PAGES}/item-in-loop.md",
            "defaultConfiguration": {"level": "warning"},
            "properties": {
                "tags": ["performance", "pytorch", "sync"],
                "precision": "high",
                "problem.severity": "warning",
            },
        } == rules[0]

    def test_a_code_without_page_is_described_by_its_name(self, make: Make, look: Look) -> None:
        event = replace(finding(1, 1, 1, 2), code="TLT02", name="graph-break")
        (rule,) = self.run(make("x\n", event), look)["tool"]["driver"]["rules"]
        assert ("graph break", ["performance", "pytorch"]) == (rule["help"]["text"], rule["properties"]["tags"])

    def test_a_result_has_everything(self, result: Any, look: Look) -> None:
        item = self.run(result, look)["results"][1]
        artifact = {"uri": "examples/train.py", "uriBaseId": "%SRCROOT%"}
        region = {"startLine": 7, "startColumn": 14, "endLine": 7, "endColumn": 25}
        printed = {"startLine": 12, "startColumn": 1, "endLine": 12, "endColumn": 13}
        assert item == {
            "ruleId": "TL101",
            "ruleIndex": 0,
            "level": "warning",
            "message": {"text": "`loss.item()` waits for the GPU on every step"},
            "locations": [{"physicalLocation": {"artifactLocation": artifact, "region": region}}],
            "partialFingerprints": {"primaryLocationLineHash": "4ff7878ac6644756:1"},
            "relatedLocations": [
                {
                    "id": 1,
                    "physicalLocation": {
                        "artifactLocation": artifact,
                        "region": {"startLine": 4, "startColumn": 1},
                    },
                    "message": {"text": "this is the step loop"},
                }
            ],
            "fixes": [
                {
                    "description": {"text": "Add up the tensor and read it once, behind the loop"},
                    "artifactChanges": [
                        {
                            "artifactLocation": artifact,
                            "replacements": [
                                {"deletedRegion": region, "insertedContent": {"text": "loss.detach()"}},
                                {"deletedRegion": printed, "insertedContent": {"text": "print(total.item())"}},
                            ],
                        }
                    ],
                }
            ],
            "properties": {
                "applicability": "unsafe",
                "verdict": "confirmed",
                "evidence": "1 host-device synchronization a step",
                "eventsPerStep": 1.0,
            },
        }

    def test_a_notebooks_cell_is_a_property(self, make: Make, look: Look) -> None:
        (item,) = self.run(make("x\n", finding(1, 1, 1, 2, cell=3)), look)["results"]
        assert {"cell": 3} == item["properties"]

    def test_a_deletion_inserts_the_empty_text(self, result: Any, look: Look) -> None:
        change = self.run(result, look)["results"][2]["fixes"][0]["artifactChanges"][0]
        assert [{"text": ""}] == [replacement["insertedContent"] for replacement in change["replacements"]]

    @pytest.mark.parametrize(
        ("path", "expected"),
        [
            ("a b/c#d.py", {"uri": "examples/a%20b/c%23d.py", "uriBaseId": "%SRCROOT%"}),
            ("gr\u00f6\u00dfe.py", {"uri": "examples/gr%C3%B6%C3%9Fe.py", "uriBaseId": "%SRCROOT%"}),
            ("/tmp/x.py", {"uri": "file:///tmp/x.py"}),
            ("../../x.py", {"uri": "file:///x.py"}),
        ],
    )
    def test_uris_are_relative_to_the_repository_and_escaped(
        self, make: Make, look: Look, path: str, expected: dict[str, str]
    ) -> None:
        (item,) = self.run(make("x\n", replace(finding(1, 1, 1, 2), path=path)), look)["results"]
        assert expected == item["locations"][0]["physicalLocation"]["artifactLocation"]

    def test_a_file_without_text_has_no_fingerprint(self, make: Make, look: Look) -> None:
        (item,) = self.run(make("x\n", replace(finding(1, 1, 1, 2), path="broken.py")), look)["results"]
        assert "partialFingerprints" not in item

    def test_the_byte_order_mark_counts_as_github_counts_it(self, result: Any, look: Look) -> None:
        raw = b"\xef\xbb\xbfx\n"
        marked = replace(result, findings=(finding(1, 1, 1, 2),), sources={"train.py": Source.of("train.py", raw)})
        (item,) = self.run(marked, look)["results"]
        assert item["partialFingerprints"]["primaryLocationLineHash"] == line_hashes("\ufeffx\n")[0]


END = "c129715d7a2bc9a3:1"
HELLO = [
    "e9496ae3ebfced30",
    "fb7c023a8b9ccb3f",
    "ce8ba1a563dcdaca",
    "e20e36e16fcb0cc8",
    "b3edc88f2938467e",
    "c8e28b0b4002a3a0",
]
HELLO_HASHES = [*(f"{value}:1" for value in HELLO), END]
OPEN = [
    "8b7cf3e952e7aeb2",
    "b1ae1287ec4718d9",
    "bff680108adb0fcc",
    "c6805c5e1288b612",
    "b86d3392aea1be30",
    "e6ceba753e1a442",
]
LOREM = [*(f"a7f2ff13bc495cf2:{n}" for n in range(1, 7)), "a7f2ff1481e87703:1", "a9cf91f7bbf1862b:1",
         "55ec222b86bcae53:1", "cc97dc7b1d7d8f7b:1", END]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [END]),
        (" a\nb\n  \t\tc\n d", ["271789c17abda88f:1", "54703d4cd895b18:1", "180aee12dab6264:1", "a23a3dc5e078b07b:1"]),
        (" hello; \t\nworld!!!\n\n\n  \t\tGreetings\n End", [f"{value}:1" for value in OPEN]),
        (" hello; \t\nworld!!!\n\n\n  \t\tGreetings\n End\n", HELLO_HASHES),
        (" hello; \t\nworld!!!\r\r\r  \t\tGreetings\r End\r", HELLO_HASHES),
        (" hello; \t\r\nworld!!!\r\n\r\n\r\n  \t\tGreetings\r\n End\r\n", HELLO_HASHES),
        (" hello; \t\nworld!!!\r\n\n\r  \t\tGreetings\r End\r\n", HELLO_HASHES),
        ("Lorem ipsum dolor sit amet.\n" * 10, LOREM),
    ],
)
def test_line_hashes_are_githubs(text: str, expected: list[str]) -> None:
    """The vectors of github/codeql-action, src/fingerprints.test.ts."""
    assert expected == line_hashes(text)


def test_paths_outside_the_working_directory_stay_absolute() -> None:
    look = Look(cwd=Path("/repo/examples"), root=Path("/repo"))
    assert ("/repo/b.py", "b.py") == (look.path("/repo/b.py"), look.uri("/repo/b.py"))
    assert ("/repo/b.py", "/b.py") == (look.path("../b.py"), look.uri("/b.py"))
