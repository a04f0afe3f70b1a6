"""Each file is linted with the settings closest to it, in whatever way it comes to be linted: packages of one repository."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from torchlint import check, cli
from torchlint.lint.parallel import Shared
from torchlint.lint.run import lint
from torchlint.program.files import read
from torchlint.program.project import Project
from torchlint.rule import load as rules
from torchlint.settings.config import ConfigError, Settings, load
from torchlint.settings.discover import ProjectFiles, discover

STEP = """\
import torch

def train(net, optimizer, loader):
    total = 0
    for x in loader:
        loss = net(x.cuda())
        loss.backward(), optimizer.step()
        total += loss.item()
    return total
"""
"""TL101 in line 8."""
Said = list[str]
Run = Callable[..., Said]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three packages, of which `quiet` has settings of its own, and `plain` a pyproject.toml that says nothing of torchlint."""
    top = tmp_path / "repository"
    (top / ".git").mkdir(parents=True)
    for name in ("quiet", "loud", "plain"):
        (top / name / "src").mkdir(parents=True)
        (top / name / "src/step.py").write_text(STEP)
    (top / "torchlint.toml").write_text('select = ["TL101"]\n')
    (top / "quiet/torchlint.toml").write_text("select = []\n")
    (top / "plain/pyproject.toml").write_text('[project]\nname = "plain"\n')
    monkeypatch.chdir(top)
    return top


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def ask(*arguments: str) -> Said:
        cli.main(["check", "-n", "--output-format", "json", *arguments])
        out, err = capsys.readouterr()
        assert err in ("", "warning: No Python files found under the given path(s)\n")
        found = json.loads(out)
        return [f"{os.path.relpath(one['filename'])}:{one['location']['row']} {one['code']}" for one in found]

    return ask


EVERYWHERE = ["loud/src/step.py:8 TL101", "plain/src/step.py:8 TL101"]


def test_a_file_is_linted_with_the_closest_settings(repository: Path, run: Run) -> None:
    assert EVERYWHERE == run()
    assert EVERYWHERE == run("loud", "quiet", "plain")
    assert EVERYWHERE == run("quiet/src/step.py", "loud/src/step.py", "plain/src/step.py")


def test_from_a_package_the_answer_is_the_same(repository: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [] == run("quiet") == run("quiet/src/step.py")
    monkeypatch.chdir(repository / "quiet/src")
    assert [] == run()
    assert ["../../loud/src/step.py:8 TL101"] == run("../../loud", "step.py")


def test_a_package_may_turn_on_what_the_repository_does_not(repository: Path, run: Run) -> None:
    (repository / "torchlint.toml").write_text("select = []\n")
    (repository / "quiet/torchlint.toml").write_text('select = ["TL101"]\n')
    assert ["quiet/src/step.py:8 TL101"] == run()


def test_a_link_has_the_settings_of_what_it_leads_to(repository: Path, run: Run) -> None:
    (repository / "loud/other.py").symlink_to("../quiet/src/step.py")
    assert [] == run("loud/other.py")


def test_one_configuration_for_all_files_where_it_is_named(repository: Path, run: Run) -> None:
    assert [] == run("--config", "quiet/torchlint.toml")
    assert 3 == len(run("--isolated", "--select", "TL101"))


def test_the_command_line_goes_before_every_file(repository: Path, run: Run) -> None:
    assert 3 == len(run("--select", "TL101"))
    assert 3 == len(run("--config", 'select = ["TL101"]'))
    assert ["plain/src/step.py:8 TL101"] == run("--select", "TL101", "--per-file-ignores", "quiet/*:TL1,loud/*:TL101")
    assert ["loud/src/step.py:8 TL101"] == run("--extend-exclude", "plain/src/*.py")
    assert ["quiet/src/step.py:8 TL101"] == run(
        "--select", "TL101", "--extend-exclude", "plain/**", "--extend-per-file-ignores", "loud/*:ALL"
    )


def test_what_a_package_excludes_is_meant_below_it(repository: Path, run: Run) -> None:
    (repository / "loud/torchlint.toml").write_text('select = ["TL101"]\nexclude = ["src/*"]\n')
    assert ["plain/src/step.py:8 TL101"] == run()
    assert ["loud/src/step.py:8 TL101"] == run("loud/src/step.py")
    (repository / "loud/torchlint.toml").write_text('select = ["TL101"]\nexclude = ["src/*"]\nforce-exclude = true\n')
    assert [] == run("loud/src/step.py")


def test_what_an_extended_file_says_of_paths_is_meant_below_its_own_directory(repository: Path, run: Run) -> None:
    (repository / "torchlint.toml").write_text(
        'select = ["TL101"]\nextend-exclude = ["*/gen/*.py"]\n[per-file-ignores]\n"quiet/src/*" = ["TL101"]\n'
    )
    (repository / "quiet/torchlint.toml").write_text(
        'extend = "../torchlint.toml"\n[extend-per-file-ignores]\n"tests/*" = ["TL1"]\n'
    )
    for name in ("gen", "tests", "bin"):
        (repository / "quiet" / name).mkdir()
        (repository / f"quiet/{name}/step.py").write_text(STEP)
    assert ["quiet/bin/step.py:8 TL101"] == run("quiet")


def test_severities_and_what_fails_a_run_are_those_of_the_file(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "quiet/torchlint.toml").write_text(
        'select = ["TL101"]\nfail-level = "warning"\nseverity = { TL1 = "info" }\n'
    )
    arguments = ["check", "-n", "--output-format", "json"]
    assert 0 == cli.main([*arguments, "quiet"])
    assert 0 == cli.main([*arguments, "quiet", "--extend-exclude", "loud"])
    capsys.readouterr()
    assert 1 == cli.main(arguments)
    found = json.loads(capsys.readouterr().out)
    assert [("loud", "warning"), ("plain", "warning"), ("quiet", "info")] == [
        (Path(one["filename"]).relative_to(repository).parts[0], one["severity"]) for one in found
    ]


def test_fixes_are_those_that_the_files_settings_allow(repository: Path) -> None:
    settings = load(rules().values(), {"select": ["TL101"]}, cwd=repository)
    (repository / "quiet/torchlint.toml").write_text('unfixable = ["TL1"]\n')
    found = {Path(one.path).parts[0]: one for one in lint(discover(["."], settings).files, settings).findings}
    assert (True, False) == (settings.may_fix(found["loud"]), settings.may_fix(found["quiet"]))


def test_the_torch_and_the_options_are_those_of_the_file(repository: Path, run: Run) -> None:
    for name, version in (("loud", "2.3"), ("quiet", "2.6")):
        (repository / name / "src/step.py").write_text("import torch\nscaler = torch.cuda.amp.GradScaler()\n")
        (repository / name / "torchlint.toml").write_text(f'target-torch = "{version}"\nselect = ["TL901", "TL903"]\n')
    first, second = run("loud"), run("quiet")
    assert first != second
    assert sorted(first + second) == run("loud", "quiet")


def test_what_is_compiled_elsewhere_is_known_whichever_files_are_linted(repository: Path, run: Run) -> None:
    (repository / "plain/src/step.py").write_text(
        "import torch\n\ndef helper(x):\n    print(x)\n    return x\n\nclass Net(torch.nn.Module):\n"
        "    def forward(self, x):\n        return helper(x)\n"
    )
    (repository / "torchlint.toml").write_text('select = ["TL2"]\n')
    assert [] == run("plain")
    (repository / "quiet/torchlint.toml").write_text('compiled = ["step:Net.forward"]\nselect = []\n')
    assert ["plain/src/step.py:4 TL203"] == run("plain") == run()


def test_settings_that_can_not_be_used_stop_the_run_where_they_count(
    repository: Path, capsys: pytest.CaptureFixture[str], run: Run
) -> None:
    (repository / "quiet/torchlint.toml").write_text('selekt = ["TL1"]\n')
    assert ["loud/src/step.py:8 TL101"] == run("loud")  # nothing of `quiet` is linted
    assert 2 == cli.main(["check", "-n"])
    assert "quiet/torchlint.toml:1: unknown key `selekt`" in capsys.readouterr().err
    with pytest.raises(ConfigError):
        check(["quiet/src/step.py", "loud/src/step.py"])


def test_the_cache_knows_whose_settings_have_changed(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def places() -> list[str]:
        cli.main(["check", "--output-format", "concise", "-q"])
        return [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()]

    loud = ["loud/src/step.py", "plain/src/step.py"]
    assert loud == places() == places()
    (repository / "quiet/torchlint.toml").write_text('select = ["TL101"]\n')
    assert [*loud, "quiet/src/step.py"] == places() == places()
    (repository / "plain/.torchlint.toml").write_text("select = []\n")
    assert ["loud/src/step.py", "quiet/src/step.py"] == places() == places()
    (repository / "quiet/torchlint.toml").write_text('extend = "base.toml"\n')
    (repository / "quiet/base.toml").write_text("select = []\n")
    assert ["loud/src/step.py"] == places()
    (repository / "quiet/base.toml").write_text('select = ["TL101"]\n')
    assert ["loud/src/step.py", "quiet/src/step.py"] == places()


def test_a_worker_with_another_disk_knows_them(repository: Path) -> None:
    settings = load(rules().values(), cwd=repository)
    files = [str(path) for path in discover(["."], settings).files]
    there = pickle.loads(pickle.dumps(Shared(Project({path: read(path) for path in files}), settings)))
    moved: Settings = there.settings
    for path in files:
        assert settings.enabled(path) == moved.enabled(path)
    assert settings.all_codes(files) == moved.all_codes(files)


def test_other_files_of_a_project_are_those_that_their_settings_leave(repository: Path) -> None:
    (repository / "quiet/torchlint.toml").write_text('exclude = ["src"]\n')
    settings = load(rules().values(), cwd=repository, near=repository / "loud")
    assert [Path("plain/src/step.py")] == list(ProjectFiles(repository, [Path("loud/src/step.py")], settings))


def test_a_missing_path_is_told_and_the_others_are_linted(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == cli.main(["check", "-n", "-q", "--output-format", "concise", "loud", "gone.py", "gone"])
    out, err = capsys.readouterr()
    assert out.startswith("loud/src/step.py:8:18: TL101 ")
    assert "error: gone.py: No such file or directory\nerror: gone: No such file or directory\n" == err
    assert 2 == cli.main(["baseline", "loud", "gone.py"])
    assert "error: gone.py: No such file or directory\n" in capsys.readouterr().err
    assert 0 == cli.main(["check", "-n", "-q", "--baseline", "--", "loud"])
