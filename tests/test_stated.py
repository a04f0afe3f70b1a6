"""What a project says of the torch it needs."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from torchlint.lint.run import lint
from torchlint.program.stated import project_torch
from torchlint.settings.config import Settings
from torchlint.torch_api.version import Range


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("requirements.txt", "torchvision>=0.20\ntorchaudio==2.4\ntorch-geometric>=2\npytorch>=2\n# torch==2.1\n"),
        ("requirements.txt", "torch\n"),
        ("requirements.txt", "torch @ https://github.com/pytorch/pytorch/archive/v2.1.0.zip\n"),
        (
            "requirements.txt",
            "https://data.pyg.org/whl/torch-1.12.0%2Bcpu/torch_sparse-0.6.16-cp38-cp38-linux_x86_64.whl\n",
        ),
        ("requirements.txt", "# https://download.pytorch.org/whl/torch-2.1.0-cp311-cp311-linux_x86_64.whl\n"),
        (
            "requirements.txt",
            "-f https://x.org/whl/torch-1.12.0.html\nhttps://x.org/torch-2.1.0-cp311-cp311-linux.whl.metadata\n",
        ),
        ("requirements.txt", "torchtext==0.6.0\ntorchtext==0.18.0\ntorchtext>=0.1\n"),
        ("environment.yml", "dependencies:\n  - pip:\n    # - https://x.org/torch-2.1.0-cp311-cp311-linux.whl\n"),
        (
            "README.md",
            "pip install https://x.org/torch_scatter-2.0.4-cp36-cp36m-linux_x86_64.whl\nwget https://x.org/torch-1.9.0-cp36.whl\n",
        ),
        ("Pipfile", "[packages]\ntorch = '*'\n"),
        (
            "pyproject.toml",
            "[tool.uv.sources]\ntorch = [{ index = 'cpu', marker = 'x' }, { url = 'https://x.org/torch-2.1.0-cp311-cp311-linux.whl' }]\n",
        ),
        (
            "pyproject.toml",
            "[tool.uv.sources]\ntorch = [{ url = 'https://x.org/torch-2.1.0-cp311-cp311-linux.whl', extra = 'cpu' }]\n",
        ),
        (
            "pyproject.toml",
            "[tool.poetry.dependencies]\ntorch = [{ url = 'https://x.org/torch-2.1.0-cp311.whl', platform = 'linux' }, { path = '../torch', platform = 'win32' }]\n",
        ),
        ("pyproject.toml", "[project.optional-dependencies]\na = ['torch==2.4']\nb = ['torch']\n"),
        ("pyproject.toml", "[tool.uv]\nconstraint-dependencies = [\"torch==2.4; sys_platform == 'linux'\"]\n"),
        ("setup.py", "setup(install_requires=['numpy', 'torch'], extras_require={'gpu': ['torch>=2.8']})\n"),
        ("pixi.toml", "[dependencies]\npytorch = '*'\n[feature.a.dependencies]\npytorch = '2.8.*'\n"),
        ("environment.yml", "- torch==2.8; sys_platform == 'linux'\n- torch; sys_platform == 'darwin'\n"),
        ("environment.yml", "- pytorch\n- cudatoolkit=10.2\n- cudatoolkit=99.0\n"),
        ("install.sh", "if old; then\n  pip install 'torch<2'\nelse\n  pip install torch==2.8\nfi\n"),
        ("install.sh", "pip install torch==2.8\npip install torch==$OLDER\n"),
        ("Dockerfile", "FROM pytorch/pytorch:2.8.0\nFROM pytorch/pytorch:${OLDER}-runtime\n"),
        ("Dockerfile", "FROM nvcr.io/nvidia/pytorch:22.08-py3\nFROM nvcr.io/nvidia/pytorch:$OLDER-py3\n"),
        ("Dockerfile", "FROM nvcr.io/nvidia/pytorch:17.10\nFROM nvcr.io/nvidia/tritonserver:20.06-v1-py3\n"),
        ("Dockerfile", "ARG OLDER\nRUN pip install torch==2.8.0\nRUN pip install torch==$OLDER\n"),
        ("requirements.txt", "torch>=two\n"),
        ("pyproject.toml", "[project]\ndependencies = ['torch>=2.4'\n"),
        ("pyproject.toml", "[project]\ndependencies = 'torch>=2.4'\n[tool]\npoetry = 3\n"),
        ("setup.py", "x = torch>=2.4\n"),
        ("setup.cfg", "install_requires = torch>=2\n"),
        ("environment.yml", "dependencies:\n  - pytorch-cuda=11.8\n  - torchvision=0.15\n"),
        ("constraints.txt", "torch>=2.4\n"),
        ("requirements.txt", "numpy\n-c https://example.com/constraints.txt\n# -c constraints.txt\n"),
        ("setup.py", "import torch\nif torch.__version__ < '2.4':\n    print('old')\n"),
        ("__init__.py", "import torch\n\ndef f():\n    assert torch.__version__ >= '2.4'\n"),
        (
            "install.sh",
            "# pip install torch==1.9.1\npip install torch\npip install torch-scatter==2.0.9 torchaudio==0.9\n",
        ),
        ("install.sh", "echo torch==1.9.1\npip install numpy; echo torch==1.9\n"),
        ("INSTALL.md", "Built in PyTorch 1.8.1.\n"),
        ("INSTALL_WIN.md", "pip install torch==1.9.1\n"),
        ("docs/INSTALL_OLD.md", "pip install torch==1.9.1\n"),
        ("TRAINING_LOG.md", "* PyTorch 1.9\n"),
        ("train.md", "* PyTorch 1.9\n"),
        ("guides/INSTALL.md", "pip install torch==1.9.1\n"),
        ("README.md", "pip install torch torchvision\nTested with PyTorch 1.9.1.\n"),
        ("README.md", "- PyTorch Lightning 1.9\n- PyTorch 1.81\n"),
        ("README.md", "Tested with CUDA 10.2 and a nightly PyTorch, on Ubuntu 18.04\nPyTorch, tested by us\n"),
        (
            "README.md",
            "- PyTorch 1.9 (tested)\n- PyTorch 1.9, or so\n- PyTorch 1.9 and newer\n- PyTorch 1.9 made it faster\n",
        ),
        (
            "README.md",
            "- PyTorch before 1.5 is not supported\n- PyTorch < 1.5, which has no such thing\nPyTorch < 1.5\n",
        ),
        ("README.md", "- What was there in PyTorch before 1.5\n- PyTorch before we came\n- TorchText < 0.4\n"),
        ("README.md", "PyTorch 1.9\n"),
        ("README.md", "Python 3.6 & PyTorch 1.9\n```\ntorch.Size([1, 9])\ntorch 1.9 lets it pass\n```\nPyTorch 1.9\n"),
        ("README.md", "Requirements: PyTorch 1.9 for training\nNot a requirement: PyTorch 1.9\n"),
        (
            "README.md",
            "Environments: PyTorch, Python 1.9\nEnvironment: fast, PyTorch 1.9 and newer\n",
        ),
        ("README.md", "- Python3, PyTorch 1.9, numba\n"),
        (
            "README.md",
            "- torch.1.9\n- PyTorch 1.9 / 21\n- PyTorch 1.x\n- PyTorch 1.9.x.1\n- PyTorch 1.9 or Python 2.0\n- PyTorch==1.9 or later\n- torch_geometric 1.9\n",
        ),
        ("docs/README.md", "pip install torch==1.9.1\n"),
        (
            "README.md",
            "![](https://img.shields.io/badge/pytorch-forum-DE3412.svg) ![](https://img.shields.io/badge/PyTorch--Geometric-1.9-red)\n",
        ),
        (
            "README.md",
            "![](https://img.shields.io/badge/torchview-0.2%2B-6CB) ![](https://img.shields.io/badge/PyTorch-tested%20on%201.9-red)\n",
        ),
        ("README.md", "| PyTorch Lightning 1.9 | yes |\n| torch | 1.9 |\n| model | torch 1.9 |\n"),
        ("tox.ini", "deps =\n    # torch==1.9\n    torch-scatter==2.0.9\n    torchvision==0.10\n    torch==1.91\n"),
        (".github/workflows/test.yml", "- run: pip install torch==2.9.1\n"),
        (
            ".github/workflows/test.yml",
            "matrix:\n  python: [3.8]\nkey: torch-1.9\nwith: ${{ matrix.torch }}\nlightning: 1.9\n",
        ),
        (".github/torch.yml", "- run: pip install torch==1.9\n"),
        (".github/workflows/torch.md", "pip install torch==1.9\n"),
        ("README.zh.md", "pip install torch==1.9.1\n"),
        ("setup.py", "setup(python_requires='>=3.6', classifiers=['Programming Language :: Python :: 3.7'])\n"),
        ("setup.py", "setup(python_requires='>=3.7,<3.12')\n"),
        ("setup.py", "setup(python_requires=MINIMUM)\nprint('for python 3.7')\n"),
        ("setup.cfg", "[options]\npython_requires = >=3.7\n[mypy]\npython_version = 3.7\n"),
        ("setup.cfg", "python_requires = <3.8\n"),
        ("pyproject.toml", "[project]\nrequires-python = '>=3.8'\n[tool.mypy]\npython_version = '3.8'\n"),
        ("pyproject.toml", "[tool.poetry.dependencies]\npython = '^3.8'\n"),
        ("pyproject.toml", "[tool.hatch.envs.old]\npython = '3.8'\n"),
        ("pyproject.toml", "[project]\nrequires-python = 'old'\n"),
        ("environment.yml", "dependencies:\n  - python\n  - python-dateutil=2.8\n  - python>=3.7\n  - python=3.10\n"),
        ("environment.yml", "name: python=3.7\ndependencies:\n  # - python=3.7\n  - ipython=3.7\n"),
        ("requirements.txt", "numpy; python_version < '3.8'\n"),
        ("Dockerfile", "FROM python:3.12-slim\nRUN pip install torch\n"),
        ("Dockerfile", "FROM python:3\nFROM $IMAGE\nFROM mypython:3.7\nFROM other/python:3.7\nCOPY python:3.7 /\n"),
        ("Dockerfile", "FROM pytorch/pytorch:latest\nFROM other/pytorch:1.9.0\n# FROM pytorch/pytorch:1.9.0\n"),
        ("pixi.toml", "[dependencies]\npytorch = '*'\ntorchvision = '0.9.*'\n[feature.x]\npytorch = '1.9'\n"),
        ("meta.yaml", "requirements:\n  run:\n    - pytorch\n    - pytorch-cuda 11.8\n"),
        ("docker/Dockerfile", "FROM python:3.7\n"),
    ],
)
def test_files_that_do_not_narrow_torch_say_nothing(project: Path, name: str, text: str) -> None:
    (project / name).parent.mkdir(parents=True, exist_ok=True)
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
        ("requirements/base.in", "torch>=2.4,<2.9\n"),
        ("requirements.in", "-c constraints.txt\ntorch>=2.4,<2.9\n"),
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
        ("conda_env.yml", "dependencies:\n  - pytorch>=2.4,<2.9\n"),
        ("linux_cuda10.yaml", "dependencies:\n  - pytorch>=2.4,<2.9\n"),
        ("pytorch24.yml", "dependencies:\n  - pytorch>=2.4,<2.9\n"),
        ("reqs.txt", "torch>=2.4,<2.9\n"),
        ("pixi.toml", "[dependencies]\npytorch = '>=2.4,<2.9'\n"),
        ("pixi.toml", "[pypi-dependencies]\ntorch = { version = '>=2.4,<2.9', index = 'https://x' }\n"),
        ("pixi.toml", "[feature.a.dependencies]\npytorch = '2.4.*'\n[feature.b.dependencies]\npytorch = '2.8.*'\n"),
        ("meta.yaml", "requirements:\n  run:\n    - python\n    - pytorch >=2.4,<2.9\n"),
        ("conda-recipe/meta.yaml", "requirements:\n  run:\n    - pytorch >=2.4,<2.9\n"),
        ("cog.yaml", "build:\n  python_version: '3.8'\n  python_packages:\n    - \"torch>=2.4,<2.9\"\n"),
    ],
)
def test_every_place_a_project_names_torch_in_is_read(project: Path, name: str, text: str) -> None:
    (project / name).parent.mkdir(parents=True, exist_ok=True)
    (project / name).write_text(text, encoding="utf-8")

    assert Range((2, 4), (2, 9)) == project_torch(project)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        (
            "pip install torch==1.9.1+cu111 torchaudio -f https://download.pytorch.org/whl/torch_stable.html\n",
            (1, 9),
            (1, 10),
        ),
        ("yes | pip install --upgrade numpy 'torch==1.9.1'\n", (1, 9), (1, 10)),
        (
            "if old; then\n  conda install -y pytorch=1.7.1 -c pytorch\nelse\n  pip3 install torch==2.1\nfi\n",
            (1, 7),
            (2, 2),
        ),
    ],
)
def test_what_a_script_installs(project: Path, text: str, low: tuple[int, int], high: tuple[int, int]) -> None:
    (project / "install.sh").write_text(text)

    assert Range(low, high) == project_torch(project)


UV = """\
version = 1
requires-python = ">=3.12"

[[package]]
name = "numpy"
version = "2.4.1"
dependencies = [{{ name = "torch" }}]

[[package]]
name = "torch"
version = "{version}"
source = {{ registry = "https://pypi.org/simple" }}

[[package]]
name = "torch-scatter"
version = "2.1.2"
"""


@pytest.mark.parametrize(
    ("name", "text", "low", "high"),
    [
        ("uv.lock", UV.format(version="2.9.1"), (2, 9), (2, 10)),
        ("uv.lock", UV.format(version="2.6.0+cu126"), (2, 6), (2, 7)),
        ("uv.lock", UV.format(version="2.2.2") + UV.format(version="2.9.1"), (2, 2), (2, 10)),
        ("poetry.lock", UV.format(version="2.5.1").replace("\n", "\r\n"), (2, 5), (2, 6)),
        ("pdm.lock", UV.format(version="1.13.1"), (1, 13), (1, 14)),
        ("Pipfile.lock", '{"default": {"torch": {"hashes": ["sha256:1"], "version": "==1.2.0"}}}\n', (1, 2), (1, 3)),
        ("Pipfile", "[packages]\ntorch = '==1.2.0'\n[requires]\npython_version = '3.6'\n", (1, 2), (1, 3)),
        ("Pipfile", "[packages]\ntorch = {version = '==1.2.0', index = 'x'}\n", (1, 2), (1, 3)),
    ],
)
def test_what_a_lock_pins(project: Path, name: str, text: str, low: tuple[int, int], high: tuple[int, int]) -> None:
    (project / name).write_text(text)

    assert Range(low, high) == project_torch(project)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("uv.lock", UV.format(version="2.9.1").replace('name = "torch"', 'name = "torchvision"')),
        ("uv.lock", '[[package]]\nname = "torch"\nversion = "later"\n'),
        ("other.lock", UV.format(version="2.9.1")),
        ("Pipfile.lock", '{"default": {"torch": {"git": "x"}, "numpy": {"version": "==1.2.0"}}}\n'),
        ("Pipfile", "[packages]\ntorch = '*'\n[dev-packages]\ntorchvision = '==0.4'\n"),
        ("Pipfile", "[packages\n"),
    ],
)
def test_a_lock_that_says_nothing_of_torch(project: Path, name: str, text: str) -> None:
    (project / name).write_text(text)

    assert project_torch(project) is None


def test_what_a_manifest_asks_for_goes_before_what_a_lock_pins(project: Path) -> None:
    (project / "uv.lock").write_text(UV.format(version="2.9.1"))
    (project / "install.sh").write_text("pip install torch==1.9.1\n")
    assert Range((2, 9), (2, 10)) == project_torch(project)

    (project / "pyproject.toml").write_text("[project]\ndependencies = ['torch>=2.4']\n")
    assert Range((2, 4)) == project_torch(project)


def test_what_a_manifest_asks_for_goes_before_what_a_script_installs(project: Path) -> None:
    (project / "install.sh").write_text("pip install torch==1.9.1\n")
    (project / "setup.cfg").write_text("[options]\ninstall_requires =\n  torch>=1.8\n")

    assert Range((1, 8)) == project_torch(project)


# What Pythons are allowed


@pytest.mark.parametrize(
    ("name", "text", "high"),
    [
        ("environment.yml", "dependencies:\n  - python=3.8\n", (2, 5)),
        ("environment.yml", "dependencies:\n  - conda-forge::python=3.7.11=h12debc9_0\n", (2, 0)),
        ("environment-gpu.yaml", "dependencies:\n  - python<3.7  # gym\n", (1, 11)),
        ("environment.yml", "dependencies:\n  - python >=3.6,<=3.9\n", (2, 9)),
        ("setup.py", "setup(\n    python_requires='>=3.6, <3.9',\n)\n", (2, 5)),
        ("setup.py", 'setup(python_requires="~=3.7.0")\n', (2, 0)),
        ("setup.cfg", "[options]\npython_requires = ==3.8.*\n", (2, 5)),
        ("pyproject.toml", "[project]\nrequires-python = '>=3.7,<3.10'\n", (2, 9)),
        ("pyproject.toml", "[tool.poetry.dependencies]\npython = '~3.8'\n", (2, 5)),
        ("pyproject.toml", "[tool.poetry.dependencies]\npython = '3.6.9'\n", (1, 11)),
        ("Dockerfile", "FROM python:3.8-slim\nRUN pip install torch\n", (2, 5)),
        ("Dockerfile", "ARG VERSION=3.7\nFROM docker.io/library/python:$VERSION\n", (2, 0)),
    ],
)
def test_the_highest_python_that_is_allowed_says_which_torch_is_the_highest(
    project: Path, name: str, text: str, high: tuple[int, int]
) -> None:
    (project / name).write_text(text)

    assert Range(high=high) == project_torch(project)


def test_the_torch_that_is_asked_for_is_narrowed_by_the_python(project: Path) -> None:
    (project / "environment.yml").write_text("dependencies:\n  - python=3.7\n  - pytorch>=1.8\n")

    assert Range((1, 8), (2, 0)) == project_torch(project)


def test_a_torch_that_the_python_does_not_have_goes_before_it(project: Path) -> None:
    (project / "environment.yml").write_text("dependencies:\n  - python=3.7\n")
    (project / "requirements.txt").write_text("torch>=2.6\n")

    assert Range((2, 6)) == project_torch(project)


def test_of_several_environments_the_newest_python_counts(project: Path) -> None:
    (project / "environment.yml").write_text("dependencies:\n  - python=3.7\n")
    (project / "Dockerfile").write_text("FROM python:3.8\n")

    assert Range(high=(2, 5)) == project_torch(project)

    (project / "environment-new.yml").write_text("dependencies:\n  - python=3.12\n")

    assert project_torch(project) is None


def test_an_environment_that_the_package_does_not_allow_says_nothing(project: Path) -> None:
    (project / "environment.yml").write_text("dependencies:\n  - python=3.7\n")
    (project / "pyproject.toml").write_text("[project]\nrequires-python = '>=3.10'\n")

    assert project_torch(project) is None


def test_what_a_script_installs_counts_beside_the_python(project: Path) -> None:
    (project / "environment.yml").write_text("dependencies:\n  - python=3.8\n")
    (project / "install.sh").write_text("pip install torch==1.9.1\n")

    assert Range((1, 9), (1, 10)) == project_torch(project)


@pytest.mark.parametrize(
    ("text", "high"),
    [
        ("```\npip install torch==1.11.0+cu113 torchvision -f https://x.org/stable.html\n```\n", (1, 12)),
        ("torch 2.1.1 + cu118: `pip install torch==2.1.1`\n", (2, 2)),
        ("    conda install pytorch=1.7.1 -c pytorch\n\nor\n\n    pip install torch==1.8.0\n", (1, 9)),
        ("- [PyTorch](https://github.com/pytorch/pytorch) >= 1.9, \\<= 1.10.2\n", (1, 11)),
        (
            "CUDA 10.1 and pytorch 1.7.1 work for me.\n\n    pip install torchvision==0.8.2\n    pip install timm\n",
            (1, 8),
        ),
        ("* [PyTorch 0.3.0](http://pytorch.org/)\n", (0, 4)),
        (" - [Pytorch](http://pytorch.org/) before 0.4 (for a newer version see issue #3)\n", (0, 4)),
        ("1. 1.1.0 =< PyTorch < 1.5.0\n", (1, 5)),
        ("- 1.1 <= torch < 1.5\n", (1, 5)),
        ("- PyTorch >= 2.0 <2.2\n", (2, 2)),
        ("PyTorch >= 1.7.0 < 1.11.0;\npython >= 3.7;\n", (1, 11)),
        ("- PyTorch<1.5\n- PyTorch 1.4.0\n", (1, 5)),
        ("1. [torch](https://pytorch.org/) 1.1.0\n2. numpy\n", (1, 2)),
        ("- Pytorch (1.13.1)\n", (1, 14)),
        ("- Pytorch 0.3.\\*/0.4.\\*\n", (0, 5)),
        ("- PyTorch 1.0 or 0.4.x\n", (1, 1)),
        ("- PyTorch 1.9 / 2.0\n", (2, 1)),
        ("- PyTorch 1.4.*\n- numpy\n", (1, 5)),
        ("  * `pytorch==1.10`.\n", (1, 11)),
        ("- torch: v2.1\n", (2, 2)),
        ("* **PyTorch 1.3.0**\n* **TorchAudio 0.3.1**\n", (1, 4)),
        ("- PyTorch 1.4.0, CUDA 10.1 and cuDNN 7.6\n", (1, 5)),
        ("- Install [PyTorch 1.0](https://pytorch.org)\n", (1, 1)),
        ("```\npython 3.9.5\npytorch 1.11.0\ncuda 11.3\n```\n", (1, 12)),
        ("```\nPyTorch 0.4 & Python 3.6\nNumpy\n```\n", (0, 5)),
        ("Requirement: PyTorch 0.4.1, spaCy 2.0.16.\n", (0, 5)),
        ("Environments: Python3, Pytorch 1.6.0, Numpy 1.18.1, numba\n", (1, 7)),
        ("2. Tested on Pytorch version 1.13.1 with Google Colab\n", (1, 14)),
        ("- [PyTorch](https://pytorch.org/) tested on 1.4.0, 1.5.0\n", (1, 6)),
        ("* `torch`: tested on v1.10.1+cu111\n", (1, 11)),
        ("Our experiment environment is Python 3.6 & PyTorch 0.3.1. \n", (0, 4)),
        ("Environment: torch 1.8, ubuntu 16.04\n", (1, 9)),
        ("Our environment: PyTorch 1.9\n", (1, 10)),
        ("The code has been tested with Python 3.6, CUDA 10.0 and PyTorch `1.0` on Ubuntu 18.04.\n", (1, 1)),
        ("pytorch==1.5.0<br />\nnumpy==1.18.5<br />\n", (1, 6)),
        ("    pip install \\\n        torch==1.7.0\n", (1, 8)),
        ("    conda install -y torchvision=0.16.1 numpy -c pytorch\n", (2, 2)),
        ("    pip install torch==2.2.0 torchvision==0.16.0\n", (2, 3)),
        ("    conda install pytorch torchvision pytorch-cuda=11.7 -c pytorch -c nvidia\n", (2, 1)),
        ("    pip3 install torch torchvision --index-url https://download.pytorch.org/whl/cu121\n", (2, 6)),
        ("    conda install pytorch=1.12 cudatoolkit=10.1 -c pytorch\n", (1, 13)),
        ("    pip install http://x.org/whl/cu80/torch-0.2.0.post3-cp27-cp27mu-manylinux1_x86_64.whl\n", (0, 3)),
        ("    pip3 install numpy torch-1.7.0-cp36-cp36m-linux_aarch64.whl\n", (1, 8)),
        ("- PyTorch v1.7\n- numpy v1.20\n", (1, 8)),
        ("- PyTorch version 1.4.0\n", (1, 5)),
        ("![](https://img.shields.io/badge/pytorch-v1.7.0-green.svg?style=plastic)\n", (1, 8)),
        ("<img src='https://img.shields.io/badge/PyTorch-1.9-red'> <img src='https://x.org/y.svg'>\n", (1, 10)),
        ("    pip install 'torch @ https://x.org/torch-1.7.0%2Bcu101-cp36-cp36m-linux_x86_64.whl'\n", (1, 8)),
    ],
)
def test_the_newest_torch_that_a_readme_tells_to_install(project: Path, text: str, high: tuple[int, int]) -> None:
    (project / "README.md").write_text(text)

    assert Range(high=high) == project_torch(project)

    (project / "README.md").rename(project / "readme.md")

    assert Range(high=high) == project_torch(project)

    (project / "install.sh").write_text("pip install torch==2.6\n")

    assert Range((2, 6), (2, 7)) == project_torch(project)


def test_the_torch_that_another_branch_is_for_says_nothing(project: Path) -> None:
    (project / "README.md").write_text(
        "* PyTorch (== 1.4.1, for <= 1.4.0 see [branch](https://example.org/tree/old))\n"
    )

    assert project_torch(project) is None


def test_the_toolkit_that_a_readme_installs_says_what_was_the_newest_torch_with_it(project: Path) -> None:
    (project / "README.md").write_text(
        "    conda install -y pytorch cudatoolkit=10.0 -c pytorch\nor\n    conda install pytorch cudatoolkit=9.2\n"
    )

    assert Range(high=(1, 8), supposed=True) == project_torch(project)

    (project / "requirements.txt").write_text("torch<1.6\n")

    assert Range(high=(1, 6)) == project_torch(project)


@pytest.mark.parametrize(
    "text",
    [
        "pip install torch --extra-index-url https://download.pytorch.org/whl/cu117\n",
        "pip install torch --index-url https://download.pytorch.org/whl/cu128\n",
        "conda install pytorch cudatoolkit=10.2 -c pytorch\npip install torch --index-url https://download.pytorch.org/whl/cu130\n",
        "conda install tensorflow cudatoolkit=10.0\npip install torch\n",
        "conda install pytorch-lightning cudatoolkit=10.0\n",
    ],
)
def test_a_cuda_that_any_torch_is_built_for_says_nothing(project: Path, text: str) -> None:
    (project / "README.md").write_text(text)

    assert project_torch(project) is None


@pytest.mark.parametrize(
    ("lines", "high"),
    [
        ("  - pytorch\n  - cudatoolkit=10.2\n", (1, 13)),
        ("  - pytorch::pytorch>=1.9\n  - pytorch-cuda=11.8\n", (2, 8)),
        ("  - cudatoolkit=10.2\n  - pip:\n    - torch\n", None),
        ("  - pytorch-lightning\n  - cudatoolkit=10.2\n", None),
        ("  - pytorch\n  - cudatoolkit=11.2\n", None),
    ],
)
def test_the_cuda_of_an_environment(project: Path, lines: str, high: tuple[int, int] | None) -> None:
    (project / "environment.yml").write_text(f"dependencies:\n{lines}")

    found = project_torch(project)

    assert high == (found.high if found is not None else None)


ENDLESS = """\
import torch

model, optimizer = torch.nn.Linear(4, 4), torch.optim.SGD(p, lr=1)
for x in loader:
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("lines", "fills"),
    [
        ("  - pytorch\n  - cudatoolkit=10.2\n", False),
        ("  - pytorch\n  - cudatoolkit=10.2\n  - python=3.11\n", False),
        ("  - pytorch=1.9\n  - cudatoolkit=10.2\n", True),
        ("  - pytorch<=1.12\n  - cudatoolkit=10.2\n", True),
        ("  - pytorch\n  - python=3.7\n", True),
        ("  - pytorch\n  - pytorch-cuda=11.6\n", True),
    ],
)
def test_a_toolkit_does_not_keep_a_newer_torch_out(
    project: Path, monkeypatch: pytest.MonkeyPatch, lines: str, fills: bool
) -> None:
    monkeypatch.chdir(project)
    (project / "environment.yml").write_text(f"dependencies:\n{lines}")

    found = lint({"a.py": ENDLESS.encode()}, Settings(frozenset(("TL501",)), frozenset())).findings

    assert fills == bool(found)


@pytest.mark.parametrize("name", ["INSTALL.md", "README.MD", "Install.md", "INSTALLATION.md", "installation.rst", "INSTALL", "docs/INSTALL.md",
                                  "doc/installation.md", "environment.md", "readme/INSTALL.md",
                                  "TRAINING.md", "USAGE.md", "tutorial.rst"])  # fmt: skip
def test_what_the_page_on_installing_says_counts_as_the_readme_does(project: Path, name: str) -> None:
    (project / name).parent.mkdir(parents=True, exist_ok=True)
    (project / name).write_text("Built in PyTorch 1.8.1.\n\n    conda install pytorch=1.8 torchvision -c pytorch\n")

    assert Range(high=(1, 9)) == project_torch(project)

    (project / "README.md").write_text("Needs PyTorch 1.8 or newer.\n")

    assert Range(low=(1, 8)) == project_torch(project)

    (project / "requirements.txt").write_text("torch==2.1\n")

    assert Range((2, 1), (2, 2)) == project_torch(project)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("Sparse inference needs `PyTorch >= 2.1`.\n", Range(high=(1, 11))),
        ("Needs PyTorch 1.12+ for the demo.\n", Range(high=(1, 11))),
        ("Needs PyTorch 1.10+.\n", Range((1, 10))),
        ("Needs PyTorch >= 1.8.\n", Range((1, 8))),
        ("Needs PyTorch >= 1.8; the demo PyTorch 2.0 or newer.\n", Range((1, 8))),
        ("Needs PyTorch >= 1.8.\nThe demo needs PyTorch 2.0 or newer.\n", None),
        ("Needs PyTorch >=, see below.\n", None),
    ],
)
def test_a_torch_newer_than_what_is_installed_is_for_a_part_alone(
    project: Path, text: str, whole: Range | None
) -> None:
    (project / "README.md").write_text(text)
    (project / "INSTALL.md").write_text("    conda install pytorch==1.10.1 -c pytorch\n")

    assert whole == project_torch(project)


@pytest.mark.parametrize("name", ["README.md", "get_started.md", "docs/getting-started.md", "GETTING_STARTED.md"])
@pytest.mark.parametrize(
    "text",
    [
        "PyTorch >= 1.9, for example:\n\n    pip install torch==1.11.0+cu113\n",
        "- [PyTorch](https://pytorch.org) 1.9+\n\n    conda install pytorch==1.11.0\n",
        "pytorch (1.9 or higher)\n\n    conda install pytorch==1.11.0\n",
        "- PyTorch 2.0\n- CPU: PyTorch 1.9+\n",
        "Needs PyTorch >= 1.9.\n\n    conda install pytorch cudatoolkit=11.3 -c pytorch\n",
        "![](https://img.shields.io/badge/PyTorch-1.9%2B-red)\n",
        "![](https://img.shields.io/badge/PyTorch_1.9.0+-ee4c2c?logo=pytorch&logoColor=white)\n",
        "![](https://img.shields.io/badge/PyTorch-%3E%3D1.9-red)\n",
        "| | cu113 |\n|---|---|\n| torch 1.10.0 | x |\n| **PyTorch 1.9.1** | x |\n",
        "- PyTorch 1.9+\n- PyTorch 1.9 or newer\n- PyTorch Lightning 1.8\n- PyTorch 1.81\n",
        "Install `PyTorch>=1.9.0` and `torchvision>=0.10.0`:\n\n    conda install pytorch==1.9.0 torchvision==0.10.0\n",
    ],
)
def test_the_oldest_torch_that_a_page_says_is_enough(project: Path, name: str, text: str) -> None:
    (project / name).parent.mkdir(parents=True, exist_ok=True)
    (project / name).write_text(text)

    assert Range((1, 9)) == project_torch(project)

    (project / "requirements.txt").write_text("torch==2.1\n")

    assert Range((2, 1), (2, 2)) == project_torch(project)


@pytest.mark.parametrize(
    ("lines", "low", "high"),
    [
        ("torch\ntorchvision==0.8.2\n", (1, 7), (1, 8)),
        ("torchvision==0.16.0+cu118  # why\n", (2, 1), (2, 2)),
        ("torchvision>=0.13,<=0.15.2\n", (0, 0), (2, 1)),
        ("torch>=1.6\ntorchvision==0.9.*\n", (1, 8), (1, 9)),
        # What does not go together says what torch's own line says.
        ("torch==2.0.1\ntorchvision==0.8.2\n", (2, 0), (2, 1)),
    ],
)
def test_the_torch_that_a_torchvision_asks_for(
    project: Path, lines: str, low: tuple[int, int], high: tuple[int, int]
) -> None:
    (project / "requirements.txt").write_text(lines)

    assert Range(low, high) == project_torch(project)


WHEEL = "torch-2.1.0%2Bcu121-cp310-cp310-linux_x86_64.whl"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("requirements.txt", f"https://download.pytorch.org/whl/cu121/{WHEEL}\nnumpy\n"),
        (
            "requirements.txt",
            "http://download.pytorch.org/whl/torch-2.1.0.post3-cp35-cp35m-manylinux1_x86_64.whl  # why\n",
        ),
        ("requirements.txt", f"torch @ https://x.org/{WHEEL}\n"),
        ("requirements.txt", f"torch@https://x.org/{WHEEL}#sha256=0f\n"),
        ("requirements.txt", f"./wheels/{WHEEL}\n"),
        (
            "requirements.txt",
            f"https://x.org/{WHEEL} ; sys_platform == 'linux'\ntorch==2.1 ; sys_platform == 'darwin'\n",
        ),
        ("requirements.txt", "https://x.org/torchvision-0.16.0-cp310-cp310-linux_x86_64.whl\n"),
        ("requirements.txt", "torchtext==0.16.0\n"),
        ("setup.py", f"setup(install_requires=['torch @ https://x.org/{WHEEL}'])\n"),
        ("setup.cfg", f"[options]\ninstall_requires =\n    torch @ https://x.org/{WHEEL}\n"),
        ("pyproject.toml", f"[project]\ndependencies = ['torch @ https://x.org/{WHEEL}']\n"),
        ("pyproject.toml", f"[tool.poetry.dependencies]\ntorch = {{ url = 'https://x.org/{WHEEL}' }}\n"),
        (
            "pyproject.toml",
            f"[tool.poetry.dependencies]\ntorch = [{{ url = 'https://x.org/{WHEEL}', markers = 'a' }}, {{ version = '2.1', markers = 'b' }}]\n",
        ),
        (
            "pyproject.toml",
            f"[project]\ndependencies = ['torch']\n[tool.uv.sources]\ntorch = {{ url = 'https://x.org/{WHEEL}' }}\n",
        ),
        ("Pipfile", f"[packages]\ntorch = {{ file = 'https://x.org/{WHEEL}' }}\n"),
        ("pixi.toml", f"[pypi-dependencies]\ntorch = {{ url = 'https://x.org/{WHEEL}' }}\n"),
        ("environment.yml", f"dependencies:\n  - pip:\n      - https://x.org/{WHEEL}\n"),
        ("environment.yml", f"dependencies:\n  - pip:\n      - 'torch @ https://x.org/{WHEEL}'\n"),
        ("install.sh", f"pip3 install --user https://x.org/{WHEEL}\n"),
    ],
)
def test_the_version_of_a_wheel_is_asked_for(project: Path, name: str, text: str) -> None:
    (project / name).write_text(text)

    assert Range((2, 1), (2, 2)) == project_torch(project)


@pytest.mark.parametrize(
    ("line", "high"),
    [
        ("torchvision==0.1.9\n", (0, 3)),
        ("torchvision==0.2.0\n", (0, 4)),
        ("torchvision==0.2.1\n", (1, 1)),
        ("torchvision==0.2.2.post3\n", (1, 1)),
        ("torchvision==0.2.*\n", (1, 1)),
        ("torchvision==0.3\n", (1, 2)),
        ("torchtext==0.1.1\n", (0, 3)),
        ("torchtext==0.2.3\n", (0, 5)),
        ("torchvision<=0.4.1\n", (1, 4)),
        ("http://x.org/whl/torchvision-0.1.9-py2.py3-none-any.whl\n", (0, 3)),
    ],
)
def test_a_companion_that_was_built_for_any_torch_says_the_newest_of_its_time(
    project: Path, line: str, high: tuple[int, int]
) -> None:
    (project / "requirements.txt").write_text(line)

    assert Range(high=high) == project_torch(project)


@pytest.mark.parametrize(
    "line", ["torchvision\n", "torchvision==1.0\n", "torchvision==0.99\n", "torchvision!=0.9\n",
             "torchvision==0.8.2; python_version < '3.8'\n", "torchvision @ https://x.org/v.whl\n", "torchvision-extra==0.8\n"]
)  # fmt: skip
def test_a_torchvision_of_which_nothing_is_known_says_nothing(project: Path, line: str) -> None:
    (project / "requirements.txt").write_text(line)

    assert project_torch(project) is None


@pytest.mark.parametrize(
    ("name", "lines", "expected"),
    [
        ("requirements.txt", "triton==2.2.0\n", "<2.3,>=2.2"),
        ("requirements.txt", "triton==3.1.0\ntorchvision==0.20.1\n", "<2.6,>=2.5"),
        ("requirements.yaml", "dependencies:\n  - python=3.9\n  - pip:\n      - triton==2.2.0\n", "<2.3,>=2.2"),
        ("environment.yml", "dependencies:\n  - pip:\n      - torchvision==0.8.2\n", "<1.8,>=1.7"),
        ("requirement.txt", "torch>=1.7.1\n", ">=1.7"),
        # What does not go together says what torch's own line says.
        ("requirements.txt", "torch==2.3.0\ntriton==3.1.0\n", "<2.4,>=2.3"),
        ("requirements.txt", "numpy\ntorch=1.8.1\n", "<1.9,>=1.8"),
        ("requirements.txt", "numpy=1.19=py38\ntorch=1.8.1=py3.8_0  # listed\n", "<1.9,>=1.8"),
        ("requirements.txt", "torch=1.8.1=py3.8_0\n", "<1.9,>=1.8"),
        ("requirements.txt", "triton>=2.2\ntriton==2.9\ntriton==1.1.1\ntritonclient==2.2.0\ntriton==nightly\n", None),
        ("requirements.txt", "triton==2.2.0; sys_platform == 'win32'\n", None),
        ("models.yaml", "- triton==2.2.0\n", None),
        ("environment.yml", "dependencies:\n  - triton=2.2\n", None),
    ],
)
def test_the_torch_that_a_pinned_companion_is_made_for(
    project: Path, name: str, lines: str, expected: str | None
) -> None:
    (project / name).write_text(lines)

    assert project_torch(project) == (Range.stated(expected) if expected else None)


@pytest.mark.parametrize(
    "image",
    [
        "FROM pytorch/pytorch:1.9.0-cuda11.1-cudnn8-devel\nRUN pip install torch==1.9.0\n",
        "ARG PYTORCH=1.9.0\nFROM docker.io/pytorch/pytorch:${PYTORCH}-cuda11.1-cudnn8-devel AS base\n",
        "FROM pytorch/pytorch:2.1.0\nFROM pytorch/pytorch:1.9.1\n",
        "FROM nvidia/cuda\nRUN pip install numpy \\\n    https://x.org/torch-1.9.0%2Bcu111-cp38-cp38-linux_x86_64.whl\n",
        "FROM nvidia/cuda\n# RUN pip install torch==1.4\nRUN pip install torch==1.9.0 torchvision==0.10\n",
        "RUN if [ $CUDA = 12 ]; then pip install torch==2.8.0; \\\n    else pip install torch==1.9.0; fi\n",
        "RUN pip install torch==2.8.0 || pip install torch==1.9.0\n",
        "ARG V=1.9.0\nFROM pytorch/pytorch:$V\nARG V=2.8.0\nRUN pip install torch==$V\n",
    ],
)
def test_the_image_of_a_dockerfile_says_the_oldest_torch_where_nothing_is_asked_for(project: Path, image: str) -> None:
    (project / "Dockerfile").write_text(image)

    assert Range(low=(1, 9)) == project_torch(project)

    (project / "README.md").write_text("pip install torch==1.11.0\n")

    assert Range((1, 9), (1, 12)) == project_torch(project)

    (project / "requirements.txt").write_text("torch>=2.0\n")

    assert Range(low=(2, 0)) == project_torch(project)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tox.ini", "[testenv]\ndeps =\n    torch110: torch==1.10.*\n    torch19: torch==1.9.*\n"),
        (".travis.yml", "install:\n  - pip install torch==1.9.1+cpu -f https://x.org\n"),
        (".travis.yml", "install:\n  - conda install -y pytorch==1.9 -c pytorch\n"),
        (".travis.yml", "install:\n  - conda install -y pytorch=1.9 cpuonly -c pytorch\n"),
        (".circleci/config.yml", '      - TORCH_VERSION: "torch==1.9"\n'),
        (".github/workflows/test.yaml", "matrix:\n  torch-version: [1.9.0, 1.10.0, 2.0.0]\n"),
        (".github/workflows/test.yml", "matrix:\n  include:\n    - torch: 2.9.0\n    - torch: 1.9.1\n"),
    ],
)
def test_the_oldest_torch_that_is_tested_counts_where_nothing_else_says_any(
    project: Path, name: str, text: str
) -> None:
    (project / name).parent.mkdir(parents=True, exist_ok=True)
    (project / name).write_text(text)

    assert Range(low=(1, 9)) == project_torch(project)

    (project / "README.md").write_text("Needs PyTorch >= 1.11.\n")

    assert Range(low=(1, 11)) == project_torch(project)

    (project / "requirements.txt").write_text("torch>=1.6\n")

    assert Range(low=(1, 6)) == project_torch(project)


def test_a_recipe_of_conda_pins_without_a_sign(project: Path) -> None:
    (project / "meta.yaml").write_text("requirements:\n  run:\n    - pytorch 1.8\n    - pytorch 1.8.* *cuda*\n")

    assert Range((1, 8), (1, 9)) == project_torch(project)


def test_what_the_commands_of_cog_install(project: Path) -> None:
    run = 'build:\n  python_packages:\n    - "ipython==7.21.0"\n  run:\n    - pip install torch==1.10.0+cu113 torchvision==0.11.1\n'
    (project / "cog.yaml").write_text(run)
    assert Range((1, 10), (1, 11)) == project_torch(project)

    (project / "cog.yaml").write_text(run.replace("pip install", "# pip install"))
    assert project_torch(project) is None


def test_an_environment_in_a_folder_counts_where_nothing_else_says_any(project: Path) -> None:
    for folder in ("scripts", "setup", "configs"):
        (project / folder).mkdir()
    (project / "configs" / "env.yml").write_text("dependencies:\n  - pytorch=1.4\n")

    assert project_torch(project) is None

    (project / "scripts" / "rome.yml").write_text("dependencies:\n  - pytorch=1.10.2\n")
    (project / "scripts" / "train.yml").write_text("model:\n  - torch\n")

    assert Range((1, 10), (1, 11)) == project_torch(project)

    (project / "setup" / "env.yaml").write_text("dependencies:\n  - pytorch=1.13\n")

    assert Range((1, 10), (1, 14)) == project_torch(project)

    (project / "setup.sh").write_text("pip install torch==2.1\n")

    assert Range((2, 1), (2, 2)) == project_torch(project)


IMAGES = [
    (".devcontainer/devcontainer.json", '{"name": "x", "image": "pytorch/pytorch:1.9.0-cuda10.1-cudnn7-devel"}'),
    (".devcontainer.json", '{\n  // Opened in\n  "image": "pytorch/pytorch:1.9.0"\n}'),
    (".devcontainer/Dockerfile", "FROM pytorch/pytorch:1.9.0-cuda10.1-cudnn7-devel\n"),
    ("Dockerfile", "FROM pytorch/pytorch:1.9.0-cuda10.1-cudnn7-runtime\nCOPY . /app\n"),
    ("Dockerfile", "RUN pip install torch==1.9.0\n"),
    ("Dockerfile", "ARG FROM_IMAGE_NAME=nvcr.io/nvidia/pytorch:21.10-py3\nFROM ${FROM_IMAGE_NAME}\n"),
    ("compose.yaml", "a:\n  image: nvcr.io/nvidia/pytorch:21.07-py3\n"),
    ("docker-compose.yml", "services:\n  train:\n    image: pytorch/pytorch:1.9.0-cuda10.1-cudnn7-runtime\n"),
    ("compose.gpu.yaml", "a:\n  image: 'docker.io/pytorch/pytorch:2.1.0'\nb:\n  image: \"pytorch/pytorch:1.9.0\"\n"),
]


@pytest.mark.parametrize(("name", "text"), IMAGES)
def test_an_image_says_the_oldest_torch_of_its_folder(project: Path, name: str, text: str) -> None:
    path = project / "legacy" / name
    path.parent.mkdir(parents=True)
    path.write_text(text)

    assert Range(low=(1, 9)) == project_torch(project / "legacy")

    (project / "requirements.txt").write_text("torch>=2.6\n")

    assert Range(low=(1, 9)) == project_torch(project / "legacy")
    assert Range(low=(2, 6)) == project_torch(project)

    (project / "legacy" / "requirements.txt").write_text("torch>=1.12\n")

    assert Range(low=(1, 12)) == project_torch(project / "legacy")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Dockerfile", "FROM pytorch/pytorch:2.8.0\n"),
        ("docker-compose.yml", "a:\n  image: pytorch/pytorch:$VERSION\nb:\n  image: pytorch/pytorch:1.9.0\n"),
        ("docker-compose.yml", "a:\n  # image: pytorch/pytorch:1.9.0\n  image: other/pytorch:1.9.0\n"),
        (".devcontainer/devcontainer.json", '{"image": "pytorch/pytorch:latest"}'),
        (".devcontainer/devcontainer.json", '{"name": "pytorch/pytorch:1.9.0", "my_image_of": 3}'),
    ],
)
def test_an_image_of_a_folder_that_has_no_older_torch_says_nothing(project: Path, name: str, text: str) -> None:
    path = project / "legacy" / name
    path.parent.mkdir(parents=True)
    path.write_text(text)
    (project / "requirements.txt").write_text("torch>=2.6\n")

    assert Range(low=(2, 6)) == project_torch(project / "legacy")


def test_the_readme_of_a_folder_says_nothing_of_a_project_that_asks_for_some(project: Path) -> None:
    folder = project / "examples"
    folder.mkdir()
    (folder / "README.md").write_text("    conda install pytorch==1.10.1\n")

    assert Range(high=(1, 11)) == project_torch(folder)

    (project / "requirements.txt").write_text("torch>=2.0\n")

    assert Range((2, 0)) == project_torch(folder)


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
        (
            "pyproject.toml",
            "[tool.poetry.dependencies]\ntorch = '>=1.6'\n[tool.poetry.group.gpu.dependencies]\ntorch = '2.8'\n",
            (1, 6),
            (99, 0),
        ),
        (
            "pyproject.toml",
            "[project]\ndependencies = ['torch>=1.6']\n[tool.uv.sources]\ntorch = [{ url = 'https://x.org/torch-2.8.0-cp310.whl', marker = 'x' }]\n",
            (1, 6),
            (99, 0),
        ),
        (
            "pyproject.toml",
            "[project]\ndependencies = ['torch>=1.6']\n[tool.uv]\nconstraint-dependencies = [\"torch==2.8; sys_platform == 'linux'\", 'torch<2.9']\n",
            (1, 6),
            (2, 9),
        ),
        (
            "setup.cfg",
            "[options]\ninstall_requires = torch>=1.6\n[options.extras_require]\ngpu = torch>=2.8\n",
            (1, 6),
            (99, 0),
        ),
        ("setup.cfg", "[options.extras_require]\nold = torch==1.6\nnew = torch==2.8\n", (1, 6), (2, 9)),
        (
            "setup.py",
            "setup(install_requires=['torch>=1.6'], extras_require={'gpu': ['torch>=2.8']}, packages=['torch'])\n",
            (1, 6),
            (99, 0),
        ),
        ("setup.py", "if old:\n    needs = ['torch==1.6']\nelse:\n    needs = ['torch==2.8']\n", (1, 6), (2, 9)),
        (
            "environment.yml",
            "- pip:\n  - https://x.org/torch-2.8.0-cp36.whl; sys_platform == 'linux'\n  - torch>=1.6; sys_platform == 'win32'\n"
            + "  - \"torch @ https://x.org/torch-2.8.0-cp36.whl ; sys_platform == 'linux'\"  # why\n",
            (1, 6),
            (99, 0),
        ),
        ("environment.yml", "- pytorch=1.6  # old\n- pip:\n  - torch==2.8; sys_platform == 'linux'\n", (1, 6), (1, 7)),
        ("meta.yaml", "run:\n  - pytorch >=2.8  # [linux]\n  - pytorch >=1.6  # [win]\n", (1, 6), (99, 0)),
        ("meta.yaml", "run:\n  - pytorch >=2.8  # [linux]\n  - pytorch >=1.6\n", (1, 6), (99, 0)),
        (
            "pixi.toml",
            "[dependencies]\npytorch = '>=1.6'\n[feature.a.dependencies]\npytorch = '2.8.*'\n",
            (1, 6),
            (99, 0),
        ),
        (
            "pixi.toml",
            "[feature.a.dependencies]\npytorch = '2.8.*'\n[target.win-64.dependencies]\npytorch = '1.6.*'\n",
            (1, 6),
            (2, 9),
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


# Files that others name


def test_constraints_that_requirements_name_count(project: Path) -> None:
    (project / "constraints.txt").write_text("torch<2.9  # until it is tested\nnumpy<3\n")
    (project / "requirements.txt").write_text("torch>=2.4\n-c constraints.txt\n")

    assert Range((2, 4), (2, 9)) == project_torch(project)

    (project / "requirements.txt").write_text("torchvision\n--constraint=constraints.txt\n")

    assert Range(high=(2, 9)) == project_torch(project)


def test_a_constraint_under_a_marker_leaves_torch_open_elsewhere(project: Path) -> None:
    (project / "requirements.txt").write_text("torch>=1.6\n-c constraints.txt\n")
    (project / "constraints.txt").write_text("torch==2.8; sys_platform == 'linux'\n")

    assert Range((1, 6)) == project_torch(project)


def test_a_file_that_no_system_can_name_is_passed_over(project: Path) -> None:
    (project / "requirements.txt").write_text("torch>=2.4\n-r other\0.txt\n-c more\0.txt\n")

    assert Range((2, 4)) == project_torch(project)


MANY = "9" * 5000


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("requirements.txt", f"torchvision==0.{MANY}\ntorchtext==0.{MANY}\ntriton==3.{MANY}\n"),
        ("requirements.txt", f"torch>=1.{MANY}; sys_platform == 'linux'\n"),
        ("requirements.txt", f"torch<=1.{MANY[:4300]}; sys_platform == 'linux'\n"),
        ("requirements.txt", f"https://x.org/torch-1.{MANY}-cp36.whl\nhttps://x.org/torchvision-0.{MANY}-cp36.whl\n"),
        ("environment.yml", f"- pytorch=1.{MANY}\n- cudatoolkit={MANY}.1\n- python=3.{MANY}\n"),
        ("Dockerfile", f"FROM python:3.{MANY}\nFROM pytorch/pytorch:1.{MANY}\nRUN pip install torch==1.{MANY}\n"),
        ("README.md", f"| torch 1.{MANY} |\n"),
        ("README.md", f"PyTorch {MANY}.0+\nPyTorch 1.{MANY}+\nPyTorch >= {MANY}.0\n* PyTorch 1.{MANY}\n"),
        ("README.md", f"pip install torchvision==0.{MANY} torch==1.{MANY}\nPyTorch <= 1.{MANY}\n* torch < 1.{MANY}\n"),
        ("README.md", f"pip install torch --index-url https://x.org/whl/cu{MANY}\n"),
        (".travis.yml", f"- pip install torch==1.{MANY}\n- torch: [1.{MANY}]\n"),
        ("install.sh", f"pip install torch==1.{MANY}\n"),
    ],
)
def test_what_has_more_digits_than_a_version_says_nothing(project: Path, name: str, text: str) -> None:
    (project / name).write_text(text)

    assert project_torch(project) is None


def test_a_companion_with_too_many_digits_is_the_last_of_its_time(project: Path) -> None:
    (project / "requirements.txt").write_text(f"torchvision==0.2.{MANY}\n")

    assert Range(high=(1, 1)) == project_torch(project)


def test_what_arguments_are_is_not_kept_for_each_line(project: Path) -> None:
    lines = [
        f"ARG A={'x' * 100_000}",
        "# torch",
        *["RUN " + "$A" * 100] * 300,
        f"ARG B={'x' * 100}",
        "RUN " + "$B" * 9000,
    ]
    (project / "Dockerfile").write_text("\n".join(lines))

    tracemalloc.start()
    try:
        assert project_torch(project) is None
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 10_000_000


def test_a_requirement_that_lies_elsewhere_in_the_repository_counts(project: Path) -> None:
    (project / "common").mkdir()
    (project / "common/base.in").write_text("-c ../pins.txt\n-r base.in\ntorch>=2.4\n")
    (project / "pins.txt").write_text("torch<2.9\n")
    example = project / "example"
    example.mkdir()
    (example / "requirements.txt").write_text("-r ../common/base.in\n-r missing.txt\n")

    assert Range((2, 4), (2, 9)) == project_torch(example)


def test_what_lies_outside_of_the_repository_is_not_read(project: Path) -> None:
    repository = project / "repository"
    (repository / ".git").mkdir(parents=True)
    (project / "pins.txt").write_text("torch<2.9\n")
    (repository / "link.txt").symlink_to(project / "pins.txt")
    (repository / "requirements.txt").write_text("torch>=2.4\n-c ../pins.txt\n-c link.txt\n")

    assert Range((2, 4)) == project_torch(repository)


# What refuses other versions


@pytest.mark.parametrize("name", ["setup.py", "__init__.py"])
def test_a_minimum_that_is_asserted_counts(project: Path, name: str) -> None:
    (project / name).write_text("import torch\nassert torch.__version__ >= '2.4', 'torch is too old'\n")

    assert Range((2, 4)) == project_torch(project)


def test_the_packages_that_a_folder_is_in_count_beside_the_manifests(project: Path) -> None:
    inner = project / "pkg" / "models"
    inner.mkdir(parents=True)
    (project / "setup.py").write_text("setup(install_requires=['torch>=1.8,<2.9'])\n")
    (project / "__init__.py").write_text("raise ImportError\n")
    (project / "pkg/__init__.py").write_text(
        "import torch\nif torch.__version__ < '2.4':\n    raise ImportError('old')\n"
    )
    (inner / "__init__.py").write_text("")

    assert Range((2, 4), (2, 9)) == project_torch(inner)
    assert Range((1, 8), (2, 9)) == project_torch(project)


def test_a_package_that_can_not_be_parsed_says_nothing(project: Path) -> None:
    (project / "__init__.py").write_text("import torch\nassert torch.__version__ >= '2.4'\nprint 1\n")

    assert project_torch(project) is None


OLD = "import torch\nimport torch.distributed\ntorch.distributed._all_gather_base(out, x)\n"
GRID = "import torch\nx, y = torch.meshgrid(a, b)\n"
MODEL = "import torch\n\nclass M(torch.nn.Module):\n    def forward(self, x: torch.Tensor):\n        return "
COPIED = f"{MODEL}x.clone().float()\n"
MOVED = f"{MODEL}x * torch.ones(3).cuda()\n"
LONG_THERE = "import torch\ntorch.nn.init.xavier_uniform(w)\n"


@pytest.mark.parametrize(
    ("text", "requirements", "target", "expected"),
    [
        (LONG_THERE, "", None, ("safe", "")),
        (LONG_THERE, "torch>=1.8\n", None, ("safe", "")),
        (OLD, "", None, ("unsafe", "it needs torch 2.13, and the project does not say which it has")),
        (OLD, "torch<3\n", None, ("unsafe", "it needs torch 2.13, and the project allows older ones")),
        (OLD, "torch>=2.13\n", None, ("safe", "")),
        (OLD, "torch>=2.13\n", "<3", ("unsafe", "it needs torch 2.13, and the project allows older ones")),
        (OLD, "", "2.13", ("safe", "")),
        ("import torch\nassert torch.__version__ >= '2.13'\n" + OLD, "", None, ("safe", "")),
        (
            "import torch\nassert torch.__version__ < '3.0'\n" + OLD,
            "",
            None,
            ("unsafe", "it needs torch 2.13, and the project allows older ones"),
        ),
        (GRID, "", None, ("safe", "")),
        (GRID, "torch<3\n", None, ("unsafe", "it needs torch 1.10, and the project allows older ones")),
        (GRID, "torch>=1.10\n", None, ("safe", "")),
        (COPIED, "", None, ("safe", "")),
        (COPIED, "torch==0.4.1\n", None, ("unsafe", "it needs torch 1.0, and the project allows older ones")),
        (MOVED, "torch==0.4.1\n", None, ("safe", "")),
        (MOVED, "torch==0.3.1\n", None, ("unsafe", "it needs torch 0.4, and the project allows older ones")),
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
    codes = frozenset(("TL405", "TL713", "TL902", "TL903"))
    wanted = Range.stated(target) if target is not None else None

    (finding,) = lint(
        {"a.py": text.encode()}, Settings(codes=codes, fixable=codes, target_torch=wanted, preview=True)
    ).findings

    assert finding.fix is not None
    assert expected == (finding.fix.applicability, finding.fix.note)
    if text in (OLD, LONG_THERE):
        assert (" from torch 2.13 on" in finding.message) == (expected[0] == "unsafe")


SCALED = "import torch\ntorch.cuda.amp.GradScaler()\n"
CLOSE = "import torch\ntorch.testing.assert_allclose(x, y)\n"
WEIGHTS = "import torchvision\ntorchvision.models.resnet50(pretrained=True)\n"
LIMIT = "import torch\ntorch._dynamo.config.cache_size_limit = 64\n"
AGAIN = "import torch\ntorch.utils.checkpoint.checkpoint(block, x)\n"
SCRIPTED = "import torch\ntorch.jit.script(model)\n"
ATTENTION = "import torch\nwith torch.backends.cuda.sdp_kernel(enable_flash=True):\n    f()\n"
ON_DEVICE = "import torch\ntorch.set_default_tensor_type('torch.cuda.FloatTensor')\n"
ON_HOST = "import torch\ntorch.set_default_tensor_type(torch.DoubleTensor)\n"
VARIABLE = "import torch\ndef f(x):\n    return torch.autograd.Variable(x)\n"
PINNED = "import torch\ntorch.utils.data.DataLoader(data, pin_memory_device='cuda')\n"
RATE = "import torch\ns = torch.optim.lr_scheduler.StepLR(torch.optim.SGD(p, lr=1), 3)\ns.get_lr()\n"


@pytest.mark.parametrize(
    ("text", "oldest", "enough"),
    [
        (CLOSE, "1.6", "1.9"),
        (WEIGHTS, "1.6", "1.12"),
        (LIMIT, "2.4", "2.7"),
        (AGAIN, "1.10", "1.11"),
        (ATTENTION, "2.2", "2.3"),
        (ON_DEVICE, "1.1", "2.0"),
        (ON_HOST, "0.3", "1.1"),
        (VARIABLE, "0.3", "0.4"),
        (LONG_THERE, "0.3", "0.4"),
        (GRID, "1.8", "1.10"),
        (OLD, "2.9", "2.13"),
        (PINNED, "2.8", "2.9"),
        (RATE, "1.3", "1.4"),
    ],
)
def test_an_old_name_is_left_alone_where_the_oldest_torch_of_a_project_has_no_other(
    project: Path, monkeypatch: pytest.MonkeyPatch, text: str, oldest: str, enough: str
) -> None:
    monkeypatch.chdir(project)
    codes = frozenset(("TL903", "TL906", "TL909", "TL910"))

    def found(requirements: str) -> int:
        (project / "requirements.txt").write_text(requirements)
        return len(lint({"a.py": text.encode()}, Settings(codes, frozenset(), preview=True)).findings)

    assert (0, 1) == (found(f"torch>={oldest}\n"), found(f"torch>={enough}\n"))
    # Who names no oldest one is for today's, up to where the newest that is named has no other, either.
    assert (1, 1, 0) == (found("torch\n"), found("torch<3\n"), found(f"torch<={oldest}\n"))


@pytest.mark.parametrize(("text", "code"), [(SCALED, "TL901"), (SCRIPTED, "TL904")])
@pytest.mark.parametrize("asked", ["torch", "torch>=1.11", "torch>=2.4"])
def test_mixed_precision_and_torchscript_are_told_of_where_an_older_torch_does_too(
    project: Path, monkeypatch: pytest.MonkeyPatch, text: str, code: str, asked: str
) -> None:
    monkeypatch.chdir(project)
    (project / "requirements.txt").write_text(f"{asked}\n")
    found = lint({"a.py": text.encode()}, Settings(frozenset((code,)), frozenset())).findings
    assert [2] == [one.line for one in found]


def test_what_the_newest_torch_does_not_have_any_more_is_told_whatever_the_oldest_has(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    (project / "requirements.txt").write_text("torch>=1.5\n")
    text = "import torch\nvalues, vectors = torch.symeig(a, eigenvectors=True)\n"

    found = lint({"a.py": text.encode()}, Settings(frozenset(("TL902", "TL903")), frozenset())).findings

    assert ["TL902"] == [one.code for one in found]


def test_a_guard_that_lets_newer_ones_through_has_the_new_name(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    (project / "requirements.txt").write_text("torch>=1.6\n")
    text = "import torch\nif torch.__version__ >= '2.4':\n    torch.cuda.amp.GradScaler()\nelse:\n    torch.cuda.amp.GradScaler()\n"

    found = lint({"a.py": text.encode()}, Settings(frozenset(("TL901",)), frozenset())).findings

    assert [3] == [one.line for one in found]
