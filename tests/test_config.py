"""Settings: where they come from, which rules are on, and what is said of mistakes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from torchlint.settings.config import ConfigError, Settings, find, load
from torchlint.settings.keys import EXCLUDE
from torchlint.torch_api.version import Range


@dataclass(frozen=True)
class Rule:
    code: str
    name: str
    set: str = "default"
    options: Mapping[str, str] = field(default_factory=dict)
    category: str = "sync"


RULES = (
    Rule("TL002", "unused-suppression"),
    Rule("TL101", "item-in-loop"),
    Rule("TL102", "print-in-loop"),
    Rule("TL110", "any-all", "preview"),
    Rule("TL201", "unpinned-loader", category="data"),
    Rule("TL901", "no-compile", "opt-in", {"suggest-fused": "", "suggest-foreach": ""}),
)
DEFAULT = {"TL002", "TL101", "TL102", "TL201"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    return tmp_path


def settings(directory: Path, options: dict[str, Any] | None = None, **others: Any) -> Settings:
    return load(RULES, options, cwd=directory, **others)


def chosen(directory: Path, **options: Any) -> set[str]:
    return set(settings(directory, {key.replace("_", "-"): value for key, value in options.items()}).codes)


class TestSelection:
    def test_nothing_selected_is_the_default_set(self, project: Path) -> None:
        assert DEFAULT == chosen(project)

    def test_preview_adds_the_preview_rules(self, project: Path) -> None:
        assert DEFAULT | {"TL110"} == chosen(project, preview=True)

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            ({"select": ["TL1"]}, {"TL101", "TL102"}),
            ({"select": ["TL1"], "preview": True}, {"TL101", "TL102", "TL110"}),
            ({"select": ["TL10", "TL201"]}, {"TL101", "TL102", "TL201"}),
            ({"select": ["item-in-loop"]}, {"TL101"}),
            ({"select": ["ALL"]}, DEFAULT),
            ({"select": ["ALL"], "preview": True}, DEFAULT | {"TL110", "TL901"}),
            ({"select": ["TL9"], "preview": True}, set()),
            ({"select": ["TL901"]}, {"TL901"}),
            ({"select": ["no-compile"]}, {"TL901"}),
            ({"select": ["data"]}, {"TL201"}),
            ({"select": ["sync"]}, DEFAULT - {"TL201"}),
            ({"ignore": ["data"]}, DEFAULT - {"TL201"}),
            ({"select": []}, set()),
            ({"ignore": ["TL101"]}, DEFAULT - {"TL101"}),
            ({"ignore": ["ALL"]}, set()),
            ({"extend-select": ["TL901"]}, DEFAULT | {"TL901"}),
            ({"select": ["TL201"], "extend-select": ["TL101"]}, {"TL101", "TL201"}),
        ],
    )
    def test_selectors(self, project: Path, options: dict[str, Any], expected: set[str]) -> None:
        assert expected == chosen(project, **options)

    @pytest.mark.parametrize(
        ("select", "ignore", "expected"),
        [
            (["TL1"], ["TL101"], {"TL102"}),
            (["TL101"], ["TL1"], {"TL101"}),
            (["ALL"], ["TL1"], {"TL002", "TL201"}),
            (["TL10"], ["TL10"], set()),
            (["item-in-loop"], ["TL10"], {"TL101"}),
            (["sync"], ["TL1"], {"TL002"}),
            (["TL1"], ["sync"], {"TL101", "TL102"}),
            (["ALL"], ["sync"], {"TL201"}),
        ],
    )
    def test_the_longer_selector_wins(
        self, project: Path, select: list[str], ignore: list[str], expected: set[str]
    ) -> None:
        assert expected == chosen(project, select=select, ignore=ignore)

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            ({}, {"TL001", "TL101"}),
            ({"select": ["TL101"]}, {"TL001", "TL101"}),
            ({"select": []}, {"TL001"}),
            ({"ignore": ["TL001"]}, {"TL101"}),
            ({"select": ["ALL"], "ignore": ["TL0"]}, {"TL101"}),
        ],
    )
    def test_the_rule_for_files_that_cannot_be_read_is_on_unless_ignored(
        self, project: Path, options: dict[str, Any], expected: set[str]
    ) -> None:
        rules = (Rule("TL001", "syntax-error"), Rule("TL101", "item-in-loop"))
        assert expected == load(rules, options, cwd=project).codes

    def test_the_command_line_ignores_on_top_of_the_file(self, project: Path) -> None:
        (project / "torchlint.toml").write_text('select = ["TL1"]\n')
        assert set() == chosen(project, ignore=["TL1"])

    def test_the_command_line_selects_instead_of_the_file(self, project: Path) -> None:
        (project / "torchlint.toml").write_text('select = ["TL1"]\nignore = ["TL201"]\n')
        assert {"TL201"} == chosen(project, select=["TL201"])

    def test_a_preview_rule_without_preview_warns(self, project: Path) -> None:
        found = settings(project, {"select": ["TL110", "TL101"]})
        assert {"TL101"} == found.codes
        assert ("Selection `TL110` has no effect because preview is not enabled.",) == found.warnings

    def test_an_opt_in_rule_by_prefix_warns(self, project: Path) -> None:
        found = settings(project, {"extend-select": ["TL9"]})
        assert (
            "Selection `TL9` has no effect because its rules are opt-in: select each by its own code.",
        ) == found.warnings

    def test_all_fixes_may_be_applied_unless_told_otherwise(self, project: Path) -> None:
        assert settings(project).fixable == {rule.code for rule in RULES}
        assert {"TL101", "TL102", "TL110"} == settings(project, {"fixable": ["TL1"]}).fixable
        assert {"TL102", "TL110"} == settings(project, {"fixable": ["TL1"], "unfixable": ["TL101"]}).fixable


class TestPerFileIgnores:
    def enabled(self, project: Path, pattern: str, path: str) -> bool:
        """Whether TL101 is on in the file when the pattern ignores it."""
        found = settings(project, {"per-file-ignores": {pattern: ["TL1"]}})
        codes = found.enabled(project / path)
        assert "TL201" in codes
        return "TL101" in codes

    @pytest.mark.parametrize(
        ("pattern", "path"),
        [
            ("tests/*", "tests/a.py"),
            ("tests/*", "tests/deep/a.py"),
            ("./tests/*", "tests/a.py"),
            ("a.py", "deep/down/a.py"),
            ("**/a.py", "a.py"),
            ("**/tests/**", "x/tests/y/a.py"),
            ("{old,new}/*.py", "new/a.py"),
            ("test_[ab]?.py", "test_a1.py"),
            ("!src/*", "tests/a.py"),
        ],
    )
    def test_matches(self, project: Path, pattern: str, path: str) -> None:
        assert not self.enabled(project, pattern, path)

    @pytest.mark.parametrize(
        ("pattern", "path"),
        [
            ("tests/*", "src/tests/a.py"),
            ("tests", "tests/a.py"),
            ("a.py", "ba.py"),
            ("a.py", "axpy"),
            ("test_[!a].py", "test_a.py"),
            ("{old,new}/*.py", "older/a.py"),
            ("!src/*", "src/a.py"),
        ],
    )
    def test_does_not_match(self, project: Path, pattern: str, path: str) -> None:
        assert self.enabled(project, pattern, path)

    def test_a_file_above_the_working_directory(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (project / "tests/deep").mkdir(parents=True)
        found = settings(project, {"per-file-ignores": {"tests/*": ["TL1"]}})
        monkeypatch.chdir(project / "tests/deep")
        assert "TL101" not in found.enabled("../a.py")
        assert "TL101" in found.enabled("../../a.py")

    def test_several_patterns_add_up(self, project: Path) -> None:
        found = settings(project, {"per-file-ignores": {"a.py": ["TL101"], "*.py": ["TL2"]}})
        assert {"TL002", "TL102"} == found.enabled(project / "a.py")


class TestFiles:
    def test_nothing_found_is_built_in(self, project: Path) -> None:
        found = settings(project)
        assert (None, project, EXCLUDE, "full") == (found.source, found.root, found.exclude, found.output_format)

    def test_the_closest_file_counts_and_nothing_is_merged(self, project: Path) -> None:
        inner = project / "inner"
        inner.mkdir()
        (project / "torchlint.toml").write_text("preview = true\n")
        (inner / "torchlint.toml").write_text("fix = true\n")
        found = settings(inner)
        assert (found.preview, found.fix, found.root) == (False, True, inner)

    def test_a_file_above_is_found(self, project: Path) -> None:
        (project / "torchlint.toml").write_text("fix = true\n")
        below = project / "a" / "b"
        below.mkdir(parents=True)
        assert (True, project) == (settings(below).fix, settings(below).root)

    def test_the_hidden_name_comes_first(self, project: Path) -> None:
        for name in ("pyproject.toml", "torchlint.toml", ".torchlint.toml"):
            (project / name).write_text("[tool.torchlint]\n" if name[0] == "p" else "")
            assert project / name == find(project)

    def test_a_pyproject_without_the_table_is_passed_over(self, project: Path) -> None:
        inner = project / "inner"
        inner.mkdir()
        (project / "torchlint.toml").write_text("fix = true\n")
        (inner / "pyproject.toml").write_text('[project]\ndependencies = ["torchlint"]\n')
        assert project / "torchlint.toml" == settings(inner).source

    def test_all_keys(self, project: Path) -> None:
        (project / "pyproject.toml").write_text(
            '[tool.torchlint]\ntarget-torch = ">=2.4,<2.7"\ncompiled = ["pkg.model:Net.forward"]\n'
            'accelerators = ["cuda"]\nexclude = ["old"]\nextend-exclude = ["gen/*.py"]\nrespect-gitignore = false\n'
            'force-exclude = true\noutput-format = "concise"\nfix = true\nunsafe-fixes = true\nfix-only = true\n'
            'show-fixes = true\npreview = true\n\n[tool.torchlint.per-file-ignores]\n"a.py" = ["TL1"]\n'
        )
        assert settings(project) == Settings(
            codes=frozenset(DEFAULT | {"TL110"}),
            fixable=frozenset(rule.code for rule in RULES),
            per_file_ignores=(("a.py", frozenset({"TL101", "TL102", "TL110"})),),
            exclude=("old", "gen/*.py"),
            respect_gitignore=False,
            force_exclude=True,
            preview=True,
            target_torch=Range((2, 4), (2, 7)),
            compiled=("pkg.model:Net.forward",),
            accelerators=("cuda",),
            output_format="concise",
            fix=True,
            unsafe_fixes=True,
            fix_only=True,
            show_fixes=True,
            root=project,
            project=project,
            source=project / "pyproject.toml",
        )

    def test_extend_builds_on_another_file(self, project: Path) -> None:
        (project / "base.toml").write_text('select = ["TL1"]\nextend-exclude = ["a"]\nfix = true\n')
        (project / "torchlint.toml").write_text(
            'extend = "base.toml"\nextend-select = ["TL201"]\nextend-exclude = ["b"]\nfix = false\n'
        )
        found = settings(project)
        assert {"TL101", "TL102", "TL201"} == found.codes
        assert ((*EXCLUDE, "a", "b"), False) == (found.exclude, found.fix)

    def test_isolated_reads_none(self, project: Path) -> None:
        (project / "torchlint.toml").write_text("nonsense")
        assert settings(project, isolated=True).source is None

    def test_config_names_a_file_instead(self, project: Path) -> None:
        (project / "torchlint.toml").write_text("nonsense")
        (project / "other.toml").write_text("fix = true\n")
        assert settings(project, config=["other.toml"]).fix

    def test_config_sets_single_keys(self, project: Path) -> None:
        (project / "torchlint.toml").write_text("fix = true\npreview = true\n")
        found = settings(project, config=["fix = false", "select=['TL101']"])
        assert (False, True) == (found.fix, found.preview)
        assert {"TL101"} == found.codes

    def test_the_command_line_comes_first(self, project: Path) -> None:
        (project / "torchlint.toml").write_text('target-torch = "2.4"\nexclude = ["a"]\n')
        found = settings(project, {"target-torch": "2.6", "exclude": ["b"], "extend-exclude": ["c"]})
        assert (Range((2, 6), (2, 7)), ("b", "c")) == (found.target_torch, found.exclude)


class TestOptionsOfRules:
    def test_are_off(self, project: Path) -> None:
        assert frozenset() == settings(project).options

    @pytest.mark.parametrize("rule", ["TL901", "no-compile"])
    def test_are_turned_on_under_the_code_or_the_name(self, project: Path, rule: str) -> None:
        (project / "pyproject.toml").write_text(f"[tool.torchlint.{rule}]\nsuggest-fused = true\n")
        assert {"TL901.suggest-fused"} == settings(project).options

    def test_do_not_select_their_rule(self, project: Path) -> None:
        (project / "torchlint.toml").write_text("[TL901]\nsuggest-fused = true\n")
        assert DEFAULT == settings(project).codes

    def test_the_file_that_extends_another_has_the_last_word(self, project: Path) -> None:
        (project / "base.toml").write_text("[TL901]\nsuggest-fused = true\nsuggest-foreach = true\n")
        (project / "torchlint.toml").write_text('extend = "base.toml"\n[no-compile]\nsuggest-fused = false\n')
        assert {"TL901.suggest-foreach"} == settings(project).options

    def test_the_command_line_has_the_last_word(self, project: Path) -> None:
        (project / "torchlint.toml").write_text("[TL901]\nsuggest-foreach = true\n")
        given = ["TL901.suggest-foreach = false", "no-compile.suggest-fused = true"]
        assert {"TL901.suggest-fused"} == settings(project, config=given).options


class TestSeverities:
    def test_rules_have_their_own_unless_told(self, project: Path) -> None:
        assert () == settings(project).severities

    def test_the_longest_selector_wins_and_off_is_ignored(self, project: Path) -> None:
        (project / "torchlint.toml").write_text('severity = { sync = "info", TL101 = "error", TL10 = "off" }\n')
        found = settings(project)
        assert {"TL002": "info", "TL101": "error", "TL110": "info", "TL901": "info"} == dict(found.severities)
        assert DEFAULT - {"TL102"} == found.codes

    def test_the_file_that_extends_another_has_the_last_word(self, project: Path) -> None:
        (project / "base.toml").write_text('severity = { TL101 = "off", TL102 = "off" }\n')
        (project / "torchlint.toml").write_text('extend = "base.toml"\nseverity = { TL1 = "error" }\n')
        assert DEFAULT == settings(project).codes

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (
                'severity = { TL101 = "loud" }',
                "1: `severity` must be a table of rules and one of off, info, warning, error for each, not a table",
            ),
            ('severity = { TL999 = "off" }', "1: Unknown rule selector `TL999` in `severity`; did you mean `TL901`?"),
            ('fail-level = "warn"', "1: `fail-level` can't be `warn`; did you mean `warning`?"),
            (
                'rule-url = "https://x.example/rules"',
                "1: `rule-url` can't be `https://x.example/rules`: `{name}` or `{code}` must stand where a rule's name or code goes",
            ),
        ],
    )
    def test_mistakes_are_told(self, project: Path, text: str, message: str) -> None:
        (project / "torchlint.toml").write_text(text)
        with pytest.raises(ConfigError) as told:
            settings(project)
        assert f"{project / 'torchlint.toml'}:{message}" == str(told.value)


class TestMistakes:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ('selct = ["TL1"]\n', "1: unknown key `selct`; did you mean `select`?"),
            ("fix = true\nzzz = 1\n", "2: unknown key `zzz`"),
            ('fix = "yes"\n', "1: `fix` must be true or false, not a string"),
            ('# a\nselect = "TL1"\n', "2: `select` must be a list of strings, not a string"),
            ("select = [1]\n", "1: `select` must be a list of strings, not a list with other things in it"),
            ("output-format = 1\n", "1: `output-format` must be a string, not an integer"),
            (
                'per-file-ignores = ["a"]\n',
                "1: `per-file-ignores` must be a table of lists of strings, not a list with",
            ),
            (
                '[per-file-ignores]\n"a.py" = "TL1"\n',
                "1: `per-file-ignores` must be a table of lists of strings, not a t",
            ),
            ('[per-file-ignores]\n"a.py" = ["TX1"]\n', "2: Unknown rule selector `TX1` in `per-file-ignores`"),
            ('output-format = "jsn"\n', "1: `output-format` can't be `jsn`; did you mean `json`?"),
            ('accelerators = ["gpu"]\n', "1: `accelerators` can't be `gpu`"),
            ('target-torch = "new"\n', "1: `target-torch` can't be used: 'new' is not a version"),
            ('target-torch = ""\n', "1: `target-torch` can't be used: 'nothing' is not a version"),
            ('target-torch = ">=2.4,<2.0"\n', "1: `target-torch` can't be used: no version is in >=2.4 and <2.0"),
            ('target-torch = ">=2000.1"\n', "1: `target-torch` can't be used: no version is in >=2000.1"),
            ('compiled = ["Net"]\n', "1: `compiled` can't be `Net`; it looks like `package.module:Class.method`"),
            ('select = ["TL999"]\n', "1: Unknown rule selector `TL999` in `select`"),
            ('ignore = ["tl101"]\n', "1: Unknown rule selector `tl101` in `ignore`; did you mean `TL101`?"),
            (
                'unfixable = ["item-in-lop"]\n',
                "1: Unknown rule selector `item-in-lop` in `unfixable`; did you mean `item-in",
            ),
            ('select = [""]\n', "1: Unknown rule selector `` in `select`"),
            ("fix = true\nfix = [\n", "2: Invalid"),
            ("[tool\n", "1: Expected ']'"),
            ("fix = true\n# end\nselect = [", "3: "),
            ('extend = "gone.toml"\n', "1: `extend` names "),
            ("[item-in-loop]\nfast = true\n", "1: TL101 (item-in-loop) has no options"),
            ("TL901 = true\n", "1: `TL901` must be a table, not a boolean"),
            (
                "[no-compile]\nsuggest-fusd = true\n",
                "2: TL901 (no-compile) has no option `suggest-fusd`; did you mean `suggest-fused`?",
            ),
            (
                "[TL901]\nx = true\n",
                "2: TL901 (no-compile) has no option `x`; it has suggest-fused, suggest-foreach",
            ),
            ("[TL901]\nsuggest-fused = 1\n", "2: `suggest-fused` must be true or false, not an integer"),
            ("# a\u2028b\x85c\nfix = 3\n", "2: `fix` must be true or false, not an integer"),
            ('rule-url = "a\u2028{code}"\r\nfix = 3\r\n', "2: `fix` must be true or false, not an integer"),
            ("# a\u2028b\nselect = [", "2: "),
            ('rule-url = """\nfix = 1{code}"""\nfix = 3\n', "3: `fix` must be true or false, not an integer"),
            ("rule-url = '''\nfix = 1{code}'''\n\n'fix' = 3\n", "4: `fix` must be true or false, not an integer"),
            (
                '# it\'s """\nrule-url = \'"""{code}\'\nfix = 3\n# """\n',
                "3: `fix` must be true or false, not an integer",
            ),
            ("[no-compiled]\nsuggest-fused = true\n", "1: unknown key `no-compiled`; did you mean `no-compile`"),
        ],
    )
    def test_are_told_with_file_and_line(self, project: Path, text: str, expected: str) -> None:
        path = project / "torchlint.toml"
        path.write_text(text)
        with pytest.raises(ConfigError) as caught:
            settings(project)
        assert str(caught.value).startswith(f"{path}:{expected}")

    def test_the_line_in_a_pyproject_is_one_of_our_table(self, project: Path) -> None:
        path = project / "pyproject.toml"
        path.write_text('[tool.ruff]\nselect = ["E"]\n\n[tool.torchlint]\nselect = ["E"]\n')
        with pytest.raises(ConfigError) as caught:
            settings(project)
        assert f"{path}:5: Unknown rule selector `E` in `select`" == str(caught.value)

    def test_a_broken_pyproject_that_names_torchlint(self, project: Path) -> None:
        path = project / "pyproject.toml"
        path.write_text("[tool.torchlint]\nfix = \n")
        with pytest.raises(ConfigError) as caught:
            settings(project)
        assert f"{path}:2: Invalid value" == str(caught.value)

    def test_a_table_that_is_none(self, project: Path) -> None:
        (project / "pyproject.toml").write_text("[tool]\ntorchlint = 1\n")
        with pytest.raises(ConfigError, match="`torchlint` must be a table, not an integer"):
            settings(project)

    @pytest.mark.parametrize("name", ["torchlint.toml", ".torchlint.toml", "pyproject.toml"])
    def test_a_byte_order_mark_is_passed_over(self, project: Path, name: str) -> None:
        head = "[tool.torchlint]\n" if name == "pyproject.toml" else ""
        (project / name).write_text(f"\ufeff{head}fix = true\n", "utf-8")
        assert settings(project).fix
        (project / name).write_text(f"\ufeff{head}fix = 1\n", "utf-8")
        with pytest.raises(ConfigError) as caught:
            settings(project)
        assert str(caught.value).startswith(f"{project / name}:{1 + bool(head)}: `fix` must be")

    def test_a_file_that_is_no_text(self, project: Path) -> None:
        (project / "torchlint.toml").write_bytes(b"\xff")
        with pytest.raises(ConfigError, match=r"torchlint\.toml: 'utf-8' codec can't decode"):
            settings(project)

    def test_files_that_extend_each_other(self, project: Path) -> None:
        (project / "a.toml").write_text('extend = "torchlint.toml"\n')
        (project / "torchlint.toml").write_text('extend = "a.toml"\n')
        with pytest.raises(ConfigError, match=r"a\.toml:1: `extend` leads back to .*torchlint\.toml$"):
            settings(project)

    def test_on_the_command_line(self, project: Path) -> None:
        with pytest.raises(ConfigError) as caught:
            settings(project, {"select": ["ZZZ9"]})
        assert "Unknown rule selector `ZZZ9` in `select` from the CLI" == str(caught.value)

    @pytest.mark.parametrize(
        ("config", "expected"),
        [
            (["fix = maybe"], "`--config fix = maybe`:1: Invalid value"),
            (["fx = true"], "unknown key `fx`; did you mean `fix`? from `--config fx = true`"),
            (["gone.toml"], "gone.toml: No such file or directory"),
            (["a.toml", "b.toml"], "only one `--config` can be a file; let one of the files `extend` the other"),
        ],
    )
    def test_in_config_arguments(self, project: Path, config: list[str], expected: str) -> None:
        with pytest.raises(ConfigError) as caught:
            settings(project, config=config)
        assert expected == str(caught.value).removeprefix(f"{project}/")

    def test_isolated_and_a_file_contradict_each_other(self, project: Path) -> None:
        with pytest.raises(ConfigError, match="`--isolated` reads no configuration file"):
            settings(project, config=["a.toml"], isolated=True)
