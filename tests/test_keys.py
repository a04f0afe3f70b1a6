"""The table of settings: what it says is so, and what is made of it."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from torchlint import cli, settings_page
from torchlint.rule import load
from torchlint.settings import config
from torchlint.settings.keys import KEYS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@pytest.mark.parametrize("name", KEYS)
def test_an_example_can_be_used(name: str, tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    (tmp_path / "torchlint.toml").touch()
    (tmp_path / "base/torchlint.toml").write_text(KEYS[name].example)
    assert [name] == list(tomllib.loads(KEYS[name].example))
    found = config.load(load().values(), cwd=tmp_path, near=tmp_path / "base")
    assert found.source == tmp_path / "base/torchlint.toml"


@pytest.mark.parametrize("name", KEYS)
def test_a_default_is_what_a_run_without_settings_has(name: str, tmp_path: Path) -> None:
    try:
        value = tomllib.loads(f"value = {KEYS[name].default}")["value"]
    except tomllib.TOMLDecodeError:
        pytest.skip("a default that no line of a file says")
    built_in = config.load(load().values(), cwd=tmp_path, isolated=True)
    said = config.load(load().values(), {name: value}, cwd=tmp_path, isolated=True)
    assert built_in == said


@pytest.fixture
def judge() -> Any:
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft7Validator.check_schema(settings_page.schema())
    return jsonschema.Draft7Validator(settings_page.schema())


@pytest.mark.parametrize("name", KEYS)
def test_the_schema_takes_every_example(name: str, judge: Any) -> None:
    assert [] == list(judge.iter_errors(tomllib.loads(KEYS[name].example)))


@pytest.mark.parametrize(
    "text",
    [
        'selekt = ["TL1"]',
        'select = "TL1"',
        'select = ["TL99"]',
        "fix = 1",
        'fail-level = "fatal"',
        'severity = { TL1 = "loud" }',
        'severity = { TL99 = "info" }',
        "budget = { sync = 1 }",
        'per-file-ignores = { "tests/*" = "TL1" }',
        "[optimizer-slow-impl]\nfast = true",
        "[TL706]\nsuggest-fused = 1",
    ],
)
def test_the_schema_and_torchlint_refuse_the_same(text: str, judge: Any, tmp_path: Path) -> None:
    assert [] != list(judge.iter_errors(tomllib.loads(text)))
    (tmp_path / "torchlint.toml").write_text(text)
    with pytest.raises(config.ConfigError):
        config.load(load().values(), cwd=tmp_path)


def test_the_schema_takes_rules_of_plugins_and_options(judge: Any) -> None:
    text = 'select = ["MY1", "MY101", "my-own-rule"]\n[TL706]\nsuggest-fused = true\n[optimizer-slow-impl]\n'
    assert [] == list(judge.iter_errors(tomllib.loads(text)))


def test_all_unknown_keys_are_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "torchlint.toml"
    path.write_text('selct = ["TL1"]\nfix = true\nzzz = 1\n[optimiser-slow-impl]\n')
    with pytest.raises(config.ConfigError) as told:
        config.load(load().values(), cwd=tmp_path)
    assert [
        f"{path}:1: unknown key `selct`; did you mean `select`?",
        f"{path}:3: unknown key `zzz`",
        f"{path}:4: unknown key `optimiser-slow-impl`; did you mean `optimizer-slow-impl`?",
    ] == str(told.value).splitlines()


class TestCommand:
    def ran(self, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
        code = cli.main(["config", *arguments])
        return (code, *capsys.readouterr())

    def test_lists_the_settings(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert (0, "".join(f"{name}\n" for name in KEYS), "") == self.ran(capsys)

    def test_explains_one(self, capsys: pytest.CaptureFixture[str]) -> None:
        code, out, _ = self.ran(capsys, "fail-level")
        assert (0, f"# fail-level\n\n{settings_page.entry('fail-level')}") == (code, out)
        assert 'It is a string; if nobody says, `"info"`.\n\nIt can be `info`, `warning`, `error`.\n' in out

    def test_names_the_nearest(self, capsys: pytest.CaptureFixture[str]) -> None:
        expected = "torchlint failed\n  Cause: there is no setting `fail-lvl`; did you mean `fail-level`?\n"
        assert (2, "", expected) == self.ran(capsys, "fail-lvl")

    def test_as_json(self, capsys: pytest.CaptureFixture[str]) -> None:
        everything = json.loads(self.ran(capsys, "--output-format", "json")[1])
        one = json.loads(self.ran(capsys, "fix", "--output-format", "json")[1])
        assert list(KEYS) == list(everything)
        assert everything["fix"] == one
        assert ("false", "true or false", "fix = true") == (one["default"], one["value_type"], one["example"])

    def test_writes_the_schema(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert settings_page.schema() == json.loads(self.ran(capsys, "--schema")[1])


def test_the_page_names_each_key_once() -> None:
    assert list(KEYS) == re.findall(r"^## `(.*)`$", settings_page.page(), re.MULTILINE)
