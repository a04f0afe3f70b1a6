"""Rules of one's own: a package of them is loaded where the user allows it, and is as good as torchlint's own there."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from torchlint import cli
from torchlint.cache.run import _key
from torchlint.lint.parallel import Shared
from torchlint.program.project import Project
from torchlint.rule import load, plugins
from torchlint.settings import config
from torchlint.system.failure import Failure

if TYPE_CHECKING:
    from torchlint.lsp.looked import Looked

PLUGIN = Path(__file__).parent / "plugin"
STEP = """\
import time
import torch

def train(model, optimizer, loader):
    for x in loader:
        loss = model(x.cuda()).sum()
        loss.backward()
        optimizer.step()
        time.sleep(0.1)
"""
LEFT_OUT = "warning: `plugins` (my_rules) are not loaded: code that settings name is run with `--allow-plugins` only.\n"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A repository whose settings name the plugin, which is installed beside torchlint."""
    shutil.copytree(PLUGIN, tmp_path / "installed", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.syspath_prepend(str(tmp_path / "installed"))
    top = tmp_path / "repository"
    top.mkdir()
    (top / "torchlint.toml").write_text('plugins = ["my_rules"]\nselect = ["MY101", "TL101"]\n')
    (top / "step.py").write_text(STEP)
    monkeypatch.chdir(top)
    yield top
    plugins.unplug()
    for name in [name for name in sys.modules if name.partition(".")[0] in ("my_rules", "bad_rules")]:
        del sys.modules[name]


def ran(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.main(list(arguments))
    return (code, *capsys.readouterr())


FOUND = "step.py:9:9: MY101 `time.sleep(0.1)` stops every training step\n"


class TestLoading:
    def test_a_repository_loads_no_code_by_itself(self, capsys: pytest.CaptureFixture[str]) -> None:
        for command in ("check", "fix", "baseline"):
            code, out, err = ran(capsys, command, "-n", "-q") if command != "baseline" else ran(capsys, command)
            assert (0, LEFT_OUT) == (code, err)
            assert "MY101" not in out
        assert "my_rules" not in sys.modules
        assert (2, "there is no rule `MY101`") == (
            (told := ran(capsys, "rule", "MY101"))[0],
            told[2].partition("Cause: ")[2][:24],
        )
        assert "my_rules" not in sys.modules

    def test_not_through_a_file_that_is_extended_nor_of_a_folder(
        self, project: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (project / "base.toml").write_text('plugins = ["my_rules"]\n')
        (project / "torchlint.toml").write_text('extend = "base.toml"\n[sleep-in-hot-loop]\nfast = true\n')
        (project / "inner").mkdir()
        (project / "inner/torchlint.toml").write_text('plugins = ["my_rules"]\n')
        (project / "inner/step.py").write_text(STEP)
        ran(capsys, "check", "-n")
        assert "my_rules" not in sys.modules

    def test_it_does_where_the_user_says_so(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert (1, FOUND, "") == ran(capsys, "check", "--allow-plugins", "-n", "-q", "--output-format", "concise")

    @pytest.mark.parametrize(
        ("name", "text", "told"),
        [
            ("gone_rules", None, "plugin `gone_rules` is not installed beside torchlint"),
            ("bad_rules", "", "plugin `bad_rules` has no rules: functions below `@torchlint.rule.rule(...)` in its modules"),
            ("bad_rules", "1 / 0", "plugin `bad_rules` can't be loaded: ZeroDivisionError: division by zero"),
            ("bad_rules", "import sys; sys.exit(0)", "plugin `bad_rules` can't be loaded: SystemExit: 0"),
            ("bad_rules", "import nowhere", "plugin `bad_rules` can't be loaded: ModuleNotFoundError: No module named 'nowhere'"),
            ("bad_rules", "TL999 a_b", "plugin `bad_rules`: `TL999` is no code of a plugin's rule: letters but not TL, and a number"),
            ("bad_rules", "MY1 item_in_hot_loop", "plugin `bad_rules`: MY1 (item-in-hot-loop) is taken by TL101 (item-in-hot-loop)"),
        ],
    )  # fmt: skip
    def test_what_can_not_be_loaded_is_told(
        self, project: Path, name: str, text: str | None, told: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        if text is not None:
            code, _, function = text.partition(" ")
            rule = f'from torchlint.rule import rule\n@rule("{code}", shape="a.b(...)", category="sync")\ndef {function}(site): ...\n'
            (project.parent / "installed/bad_rules.py").write_text(rule if text[:2] in ("TL", "MY") else text)
        (project / "torchlint.toml").write_text(f'plugins = ["{name}"]\n')
        assert (2, "", f"torchlint failed\n  Cause: {told}\n") == ran(capsys, "check", "--allow-plugins", "-n")

    def test_what_is_no_name_of_a_package(self, project: Path) -> None:
        (project / "torchlint.toml").write_text('plugins = ["../evil.py"]\n')
        with pytest.raises(config.ConfigError, match=r"1: `plugins` can't be `../evil.py`; it names packages"):
            config.load(load().values())

    def test_a_package_is_loaded_once(self) -> None:
        for _ in range(2):
            with pytest.raises(Failure, match="not installed"):
                plugins.plug(["my_rules", "gone_rules"])
        assert 1 == [rule.code for rule in load().values()].count("MY101")


def test_fixes_suppressions_and_severities_are_like_those_of_torchlints_own(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    quiet = STEP.replace("time.sleep(0.1)\n", "time.sleep(0.1)  # torchlint: ignore[MY101]\n")
    (project / "step.py").write_text(quiet)
    assert 0 == ran(capsys, "check", "--allow-plugins", "-n", "--extend-select", "TL0")[0]
    (project / "step.py").write_text(STEP)
    (project / "torchlint.toml").write_text(
        'plugins = ["my_rules"]\nseverity = { MY1 = "info" }\nfail-level = "error"\n'
    )
    assert 0 == ran(capsys, "check", "--allow-plugins", "-n")[0]
    ran(capsys, "fix", "--allow-plugins", "-n", "--unsafe-fixes")
    assert STEP.replace("time.sleep(0.1)", "pass") == (project / "step.py").read_text()


def test_formats_and_commands_know_the_rules(capsys: pytest.CaptureFixture[str]) -> None:
    sarif = json.loads(ran(capsys, "check", "--allow-plugins", "-n", "--output-format", "sarif")[1])
    (rule,) = sarif["runs"][0]["tool"]["driver"]["rules"]
    assert ("MY101", "A training step sleeps.") == (rule["id"], rule["shortDescription"]["text"])
    assert "helpUri" not in rule
    (found,) = json.loads(ran(capsys, "check", "--allow-plugins", "-n", "--output-format", "json")[1])
    assert "MY101" == found["code"]
    assert "# sleep-in-hot-loop (MY101)\n" in ran(capsys, "rule", "--allow-plugins", "MY101")[1]
    assert "   MY Rules of my_rules\n" in ran(capsys, "linter", "--allow-plugins")[1]


def test_the_cache_knows_the_files_of_plugins(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check = ("check", "--allow-plugins", "-q", "--output-format", "concise")
    assert (1, FOUND, "") == ran(capsys, *check) == ran(capsys, *check)
    settings = config.load(load().values(), plug=plugins.plug)
    before = _key(settings, ".torchlint_cache")
    assert before == _key(settings, ".torchlint_cache")
    file = project.parent / "installed/my_rules/fixers/sleep_in_hot_loop.py"
    file.write_text(file.read_text() + "\n# changed\n")
    assert before != _key(settings, ".torchlint_cache")
    os.remove(project / "torchlint.toml")
    plugins.unplug()  # as the next process
    assert "MY101" not in ran(capsys, "check", "-q")[1]


def test_a_worker_that_knows_nothing_loads_them() -> None:
    settings = config.load(load().values(), plug=plugins.plug)
    sent = pickle.dumps(Shared(Project({}), settings))
    plugins.unplug()
    pickle.loads(sent)
    assert "MY101" in load()


class TestPages:
    def test_the_examples_of_the_package_are_run(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert (0, "1 rule, 4 examples, none failed\n", "") == ran(
            capsys, "dev", "test", "my_rules", "--cases", str(PLUGIN / "cases")
        )

    def test_what_is_not_as_the_page_says_is_told(self, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
        page = project / "tests/rules/sleep_in_hot_loop.md"
        page.parent.mkdir(parents=True)
        page.write_text("```python\nimport time\ntime.sleep(1)  # MY101\n```\n\n```output\n2:1 error waits\n```\n")
        code, out, _ = ran(capsys, "dev", "test", "my_rules")
        assert 1 == code
        assert out.splitlines() == [
            "sleep-in-hot-loop-case-0: it fires on no line, the page says on line 2",
            "sleep-in-hot-loop-case-0: is told",
            "the page says",
            "2:1 error waits",
            "1 rule, 3 examples, 1 failed",
        ]

    def test_a_page_without_examples_is_no_page(self, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
        rule = 'from torchlint.rule import rule\n@rule("MY7", shape="a.b(...)", category="sync")\ndef a_b(site): ...\n'
        (project.parent / "installed/bad_rules.py").write_text(rule)
        code, out, _ = ran(capsys, "dev", "test", "bad_rules")
        assert (1, 3) == (code, out.count("\n") - 1)


class _Listener:
    def __init__(self) -> None:
        self.said: list[str] = []

    def found(self, looked: Looked, *, settled: bool) -> None: ...

    def progress(self, root: Path, message: str | None) -> None: ...

    def show(self, message: str) -> None:
        self.said.append(message)

    log = show


@pytest.mark.parametrize("allowed", [False, True])
def test_an_editor_shows_them_where_its_command_allows_it(project: Path, allowed: bool) -> None:
    pytest.importorskip("pygls")
    from torchlint.lsp.engine import Engine, _Text
    from torchlint.lsp.looked import Client

    engine = Engine(Client("utf-8"), _Listener(), plugins.plug if allowed else None)
    uri = (project / "step.py").as_uri()
    engine._edit(uri, _Text(1, STEP.encode(), {}))
    engine._glance()
    engine._look()
    looked = engine.result(uri)
    assert looked is not None
    assert (["MY101"] if allowed else []) == [finding.code for finding in looked.findings]
