"""Torch version ranges, and what a project says of the torch it needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchlint.config import Settings
from torchlint.lint import lint
from torchlint.version import LATEST, RELEASES, Range, oldest_in_use, project_torch


@pytest.mark.parametrize(
    "text",
    ["abc", ">=", "2.x", "torch>=2", "2.4 2.5", ">=2.4;<2.9", "~=2", ">=2.9,<2.4", "==2.4,==2.5", "-1", "2.4-"],
)
def test_nonsense_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a version|no version is in|needs a minor version"):
        Range.parse(text)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("", (0, 0), (99, 0)),
        ("*", (0, 0), (99, 0)),
        ("!=2.2", (0, 0), (99, 0)),
        (">=2.4,<2.9", (2, 4), (2, 9)),
        (" >= 2.4 , < 2.9 ,", (2, 4), (2, 9)),
        (">=2.1.0,!=2.2", (2, 1), (99, 0)),
        (">2.4", (2, 4), (99, 0)),
        ("<2.9.0", (0, 0), (2, 9)),
        ("<2.9.1", (0, 0), (2, 10)),
        ("<=2.9", (0, 0), (2, 10)),
        ("<3", (0, 0), (3, 0)),
        ("==2.6", (2, 6), (2, 7)),
        ("==2.6.*", (2, 6), (2, 7)),
        ("==2.*", (2, 0), (3, 0)),
        ("===2.6.0", (2, 6), (2, 7)),
        ("==2.1.0+cu118", (2, 1), (2, 2)),
        ("==2.5.0a0+git1f2e3d", (2, 5), (2, 6)),
        (">=2.6.0.dev20250101", (2, 6), (99, 0)),
        ("~=2.1", (2, 1), (3, 0)),
        ("~=2.1.0", (2, 1), (2, 2)),
        ("2.6", (2, 6), (2, 7)),
        ("v2.6.1", (2, 6), (2, 7)),
        ("2", (2, 0), (3, 0)),
        ("^2.1", (2, 1), (3, 0)),
        ("^0.4.1", (0, 4), (0, 5)),
        ("~2.1", (2, 1), (2, 2)),
        ("=2.1", (2, 1), (2, 2)),
    ],
)
def test_a_specifier_is_read_as_an_interval(text: str, low: tuple[int, int], high: tuple[int, int]) -> None:
    assert Range(low, high) == Range.parse(text)
    assert Range(low, high) == Range.parse(str(Range(low, high)))


def test_a_range_is_written_as_a_specifier() -> None:
    assert [">=2.4,<2.9", ">=2.4", "<2.9", ""] == [
        str(Range.parse(text)) for text in (">=2.4,<2.9", ">2.4", "<2.9", "")
    ]


def test_the_lower_end_is_inside_and_the_upper_outside() -> None:
    range_ = Range.parse(">=2.4,<2.9")

    assert [False, True, True, False] == [range_.contains((2, minor)) for minor in (3, 4, 8, 9)]


def test_ranges_that_only_touch_do_not_intersect() -> None:
    old, new = Range.parse("<2.4"), Range.parse(">=2.4")

    assert not old.intersects(new)
    assert old.intersection(new) is None
    assert Range((2, 4), (2, 9)) == new.intersection(Range.parse("<2.9"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("requirements.txt", "torchvision>=0.20\ntorchaudio==2.4\ntorch-geometric>=2\npytorch>=2\n# torch==2.1\n"),
        ("requirements.txt", "torch\n"),
        ("requirements.txt", "torch @ https://download.pytorch.org/whl/torch-2.1.0-cp311-linux.whl\n"),
        ("requirements.txt", "torch>=two\n"),
        ("pyproject.toml", "[project]\ndependencies = ['torch>=2.4'\n"),
        ("pyproject.toml", "[project]\ndependencies = 'torch>=2.4'\n[tool]\npoetry = 3\n"),
        ("setup.py", "x = torch>=2.4\n"),
        ("setup.cfg", "install_requires = torch>=2\n"),
        ("environment.yml", "dependencies:\n  - pytorch-cuda=11.8\n  - torchvision=0.15\n"),
        ("constraints.txt", "torch>=2.4\n"),
    ],
)
def test_files_that_do_not_narrow_torch_say_nothing(project: Path, name: str, text: str) -> None:
    (project / name).write_text(text)

    assert project_torch(project) is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("requirements.txt", "numpy\ntorch>=2.4,<2.9\n"),
        ("requirements.txt", "Torch[opt-einsum] >=2.4, <2.9 ; python_version >= '3.10'  # why\n"),
        ("requirements-dev.txt", "torch>=2.4.0,<2.9 \\\n  --hash=sha256:aaa\n"),
        ("requirements.txt", "\ufefftorch (>=2.4,<2.9)\n"),
        ("requirements/base.txt", "torch>=2.4,<2.9\n"),
        ("pyproject.toml", "[project]\ndependencies = ['numpy', 'torch>=2.4,<2.9']\n"),
        ("pyproject.toml", "[project.optional-dependencies]\ngpu = ['torch>=2.4,<2.9']\n"),
        ("pyproject.toml", "[dependency-groups]\ndev = [{include-group = 'x'}, 'torch>=2.4,<2.9']\n"),
        ("pyproject.toml", "[tool.poetry.dependencies]\npython = '^3.10'\ntorch = '>=2.4,<2.9'\n"),
        ("pyproject.toml", "[tool.poetry.group.gpu.dependencies]\ntorch = {version = '>=2.4,<2.9', optional = true}\n"),
        ("setup.cfg", "[options]\ninstall_requires =\n  numpy\n  torch>=2.4,<2.9\n"),
        ("setup.cfg", "[options.extras_require]\ngpu = torch>=2.4,<2.9\n"),
        ("setup.py", "setup(install_requires=['numpy', \"torch>=2.4,<2.9\", 'torchvision'])\n"),
        ("environment.yml", "dependencies:\n  - pytorch::pytorch>=2.4,<2.9  # gpu\n"),
        ("environment.yaml", "dependencies:\n  - pip:\n    - 'torch>=2.4,<2.9'\n"),
    ],
)
def test_every_place_a_project_names_torch_in_is_read(project: Path, name: str, text: str) -> None:
    (project / name).parent.mkdir(exist_ok=True)
    (project / name).write_text(text, encoding="utf-8")

    assert Range((2, 4), (2, 9)) == project_torch(project)


def test_a_conda_pin_with_a_build_counts(project: Path) -> None:
    (project / "environment.yml").write_text("dependencies:\n- pytorch=2.1.0=py3.9_cuda11.8_cudnn8.7.0_0\n")

    assert Range((2, 1), (2, 2)) == project_torch(project)


def test_several_statements_hold_together(project: Path) -> None:
    (project / "requirements.txt").write_text("torch>=2.4\n")
    (project / "setup.py").write_text("setup(install_requires=['torch<2.9'])\n")

    assert Range((2, 4), (2, 9)) == project_torch(project)


def test_a_project_that_contradicts_itself_says_nothing(project: Path) -> None:
    (project / "requirements.txt").write_text("torch==2.4\ntorch==2.2\n")

    assert project_torch(project) is None


@pytest.mark.parametrize(
    ("name", "text", "low", "high"),
    [
        (
            "requirements.txt",
            "torch>=2.4; sys_platform == 'linux'\ntorch==2.2.2; sys_platform == 'darwin'\n",
            (2, 2),
            (99, 0),
        ),
        (
            "requirements.txt",
            "torch==2.4; sys_platform == 'linux'\ntorch==2.2; sys_platform == 'darwin'\n",
            (2, 2),
            (2, 5),
        ),
        ("requirements.txt", "torch>=2.1\ntorch==2.4; sys_platform == 'linux'\n", (2, 1), (99, 0)),
        (
            "pyproject.toml",
            "[project]\ndependencies = ['torch>=2.4']\noptional-dependencies.new = ['torch>=2.9']\n",
            (2, 4),
            (99, 0),
        ),
        ("pyproject.toml", "[project.optional-dependencies]\na = ['torch==2.4']\nb = ['torch==2.6']\n", (2, 4), (2, 7)),
        (
            "pyproject.toml",
            "[tool.poetry.dependencies]\ntorch = [{version = '^2.4', markers = 'a'}, {version = '2.2.2', markers = 'b'}]\n",
            (2, 2),
            (3, 0),
        ),
    ],
)
def test_of_several_markers_and_groups_any_may_hold(
    project: Path, name: str, text: str, low: tuple[int, int], high: tuple[int, int]
) -> None:
    (project / name).write_text(text)

    assert Range(low, high) == project_torch(project)


def test_the_nearest_directory_that_narrows_torch_counts(project: Path) -> None:
    (project / "requirements.txt").write_text("torch>=2.4\n")
    inner = project / "examples" / "mnist"
    inner.mkdir(parents=True)
    (inner / "requirements.txt").write_text("torch\n")

    assert Range((2, 4)) == project_torch(inner)

    (inner / "requirements.txt").write_text("torch==2.1\n")

    assert Range((2, 1), (2, 2)) == project_torch(inner)


def test_nothing_above_the_repository_is_read(project: Path) -> None:
    (project / "requirements.txt").write_text("torch>=2.4\n")
    repository = project / "repository"
    (repository / ".git").mkdir(parents=True)

    assert project_torch(repository) is None


def test_a_file_that_is_not_utf8_is_passed_over(project: Path) -> None:
    (project / "requirements.txt").write_bytes(b"torch==2.4 # caf\xe9\n")

    assert project_torch(project) is None


# What runs where nothing is said


def test_releases_are_told_in_their_order_up_to_the_latest() -> None:
    assert LATEST == max(RELEASES)
    assert sorted(RELEASES) == sorted(RELEASES, key=RELEASES.__getitem__)
    assert len(RELEASES) == len(set(RELEASES.values()))


def test_the_oldest_torch_in_use_came_within_three_years_of_the_latest() -> None:
    oldest, (year, month) = oldest_in_use(), RELEASES[LATEST].split("-")

    assert RELEASES[oldest] >= f"{int(year) - 3}-{month}"
    assert all(released < f"{int(year) - 3}-{month}" for version, released in RELEASES.items() if version < oldest)


OLD = "import torch\nimport torch.distributed\ntorch.distributed._all_gather_base(out, x)\n"
LONG_THERE = "import torch\ntorch.nn.init.xavier_uniform(w)\n"


@pytest.mark.parametrize(
    ("text", "requirements", "target", "expected"),
    [
        (LONG_THERE, "", None, ("safe", "")),
        (LONG_THERE, "torch>=1.8\n", None, ("safe", "")),
        (OLD, "", None, ("unsafe", "it needs torch 2.13, and the project does not say which it has")),
        (OLD, "torch>=2.9\n", None, ("unsafe", "it needs torch 2.13, and the project allows older ones")),
        (OLD, "torch>=2.13\n", None, ("safe", "")),
        (OLD, "torch>=2.13\n", ">=2.4", ("unsafe", "it needs torch 2.13, and the project allows older ones")),
        (OLD, "", "2.13", ("safe", "")),
        (
            OLD.replace("torch.distributed._", "if torch.__version__ >= '2.13':\n    torch.distributed._"),
            "",
            None,
            ("safe", ""),
        ),
    ],
)
def test_a_rename_is_safe_where_each_torch_that_may_run_it_has_the_name(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    requirements: str,
    target: str | None,
    expected: tuple[str, str],
) -> None:
    monkeypatch.chdir(project)
    (project / "requirements.txt").write_text(requirements)
    codes = frozenset(("TL902", "TL903"))
    wanted = Range.parse(target) if target is not None else None

    (finding,) = lint({"a.py": text.encode()}, Settings(codes=codes, fixable=codes, target_torch=wanted)).findings

    assert finding.fix is not None
    assert expected == (finding.fix.applicability, finding.fix.note)
    assert (" from torch 2.13 on" in finding.message) == (expected[0] == "unsafe")
