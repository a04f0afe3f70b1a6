"""Files that are made to be slow: 200,000 of anything is read in time; what grows with the square of it takes minutes.

`tests/test_linear.py` counts what Python does; this is about what patterns do inside of one line of it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TRAIN = """\
import torch
def train(model, loader, opt):
    for x in loader:
        loss = model(x.cuda())
        loss.backward()
        opt.step()
        print(loss.item())
"""
SECONDS = 5
"""Of CPU time for each file: four times what any of them takes."""
SLOWEST = 60
"""Seconds by the clock that are waited for a file, whatever else the machine does."""
LONG, CODES = 200_000, 20_000
"""How many characters; and where each word is an unknown code, and so a finding that is made and told."""
WORDS = (
    "a", "0", " ", "\\t", ".", ",", "(", ")", "[", "{", "=", ":", "#", "-", "_", "\\\\", "a.", "a(", "a,", "a b ", "x=",
    "torch.", "torch ", "torch", ".item(", "import ", "import a, ", "from a ", "as ", "noqa", "noqa: TL1, ", "# noqa ",
    "TL101, ", "TL101", "torchlint: ignore[", "torchlint: ignore[TL101], ", "ignore-file", "coding: ", "loader ", "loader",
    "compile(", "def f(", "self.a", "no_grad ", "backward(", ".step(", "register_", "tl.load(", "%(a)s", "{a}", "b'", "f'",
    "[=", "[a]", "=[a]", ":, ", "a[0] > ", "if a[", "int(", "not (", "for a in range(",
)  # fmt: skip
PLACES = {
    "in a string": "x = '''{}'''\n",
    "in a comment": "# {}\n",
    "behind a bracket that stays open": "# x[{}\n",
    "behind a statement": "x = 1  # {}\n",
    "as a comment about a finding": "# torchlint: ignore[{}]\nx = 1\n",
}
LINES = ("", " ", "#", "# noqa", "x = 1", "# torchlint: ignore-file[TL999]", "'a'", "\\f", "import torch  # noqa: TL9")


@pytest.mark.parametrize("place", PLACES)
def test_long_lines(tmp_path: Path, place: str) -> None:
    length = CODES if "ignore[" in PLACES[place] else LONG
    for number, word in enumerate(WORDS):
        text = PLACES[place].format(word.encode().decode("unicode_escape") * (length // len(word)))
        (tmp_path / f"m{number}.py").write_text(text + TRAIN)
    lint(tmp_path, len(WORDS))


def test_many_names(tmp_path: Path) -> None:
    """Each is looked up among all that is assigned."""
    reads = ("y = x[a{}]", "y = x[:a{}]", "if a{} > 0: y = 1", "a{} = b == c; y = x[a{}]")
    for number, read in enumerate(reads):
        lines = (f"{read.replace('{}', str(name))}\n" for name in range(10_000))
        (tmp_path / f"m{number}.py").write_text("".join(lines) + TRAIN)
    lint(tmp_path, len(reads))


def test_many_lines(tmp_path: Path) -> None:
    for number, line in enumerate(LINES):
        (tmp_path / f"m{number}.py").write_text(f"{line}\n".encode().decode("unicode_escape") * 10_000 + TRAIN)
    lint(tmp_path, len(LINES))


def lint(folder: Path, count: int) -> None:
    """Lint each file alone, so that the one that takes long is named."""
    program = (
        "import time\nfrom pathlib import Path\nfrom torchlint.settings.config import Settings\nfrom torchlint.lint.run import lint\n"
        "from torchlint.rule import load\ncodes = frozenset(load())\n"
        "for path in sorted(Path('.').glob('*.py')):\n"
        "    begun = time.process_time()\n    print(path, end=' ', flush=True)\n"
        "    result = lint([path], Settings(codes=codes, fixable=codes))\n"
        "    assert not result.errors, result.errors\n"
        "    print(time.process_time() - begun, flush=True)\n"
    )
    try:
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=count * SLOWEST,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise AssertionError(f"too long in the last of: {error.stdout!r}") from None
    assert 0 == done.returncode, done.stderr
    taken = dict(line.split() for line in done.stdout.splitlines())
    assert count == len(taken)
    assert {} == {path: seconds for path, seconds in taken.items() if float(seconds) > SECONDS}


def test_what_names_torch(tmp_path: Path) -> None:
    """The files that say which torch a project is for."""
    spaces, deep = " " * 200_000, 300_000
    files = {
        "requirements.txt": f"torch{spaces}x\ntorch>=2,{'<3,' * 50_000}x\ntorch>=2; {'(' * deep}x{')' * deep}\n",
        "requirements-dev.txt": f"torch>=2.{'1.' * 100_000}x\ntorch>=2.0{'rc' * 100_000}x\ntorch[{'a,' * 50_000}b]>=2\n",
        "environment.yml": f"  - pytorch=1{spaces}\"x\n  - torch=1{spaces}'x\n  - pytorch{spaces}x\n{spaces}- pytorch",
        "setup.py": f"'torch'\n'torch{'a' * 200_000}\n{'(' * 200_000}{chr(34) * 200_000}\n",
        "setup.cfg": f"[options]\ninstall_requires =\n  torch\n{spaces}x\n# torch",
        "pyproject.toml": f"[project]\ndependencies = ['torch>=2']\nx = {'[' * deep}{']' * deep}\n",
        "requirements-old.txt": f"torch-1{'.1' * 100_000}\nhttps://x.org/{'torch-1' * 30_000}.whl\n",
        "env.yaml": f"- pytorch\n# cudatoolkit pytorch-cuda\n{chr(10) * 200_000}",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "m.py").write_text(TRAIN)
    command = [sys.executable, "-m", "torchlint", "check", "-n", "--isolated", "--output-format", "concise"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=SLOWEST, check=False, env=os.environ
    )
    assert (1, "") == (done.returncode, done.stderr)
    assert "m.py:7:9: TL104 " in done.stdout


def test_what_a_page_or_an_image_installs(tmp_path: Path) -> None:
    """Where no file asks for a torch."""
    files = {
        "README.md": f"torch{chr(10) * 100_000}* torch{' ' * 100_000}x\n{'conda install torch ' * 5_000}\n{'torch](' * 20_000}\n",
        "INSTALL.md": f"* torch {'](' * 100_000}\n{'pip install torch -i=' * 5_000}\n",
        "Dockerfile": f"ARG A={'x' * 50_000}\nRUN {'$A' * 50_000}\nRUN {'pip install a ' * 10_000}torch\n",
        "setup.sh": f"{'pip install torch ' * 10_000}\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "m.py").write_text(TRAIN)
    command = [sys.executable, "-m", "torchlint", "check", "-n", "--isolated", "--output-format", "concise"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=SLOWEST, check=False)
    assert (1, "") == (done.returncode, done.stderr)
    assert "m.py:7:9: TL104 " in done.stdout


def test_what_a_program_is_told_by(tmp_path: Path) -> None:
    """How it is installed, what it hands on and by which names it finds it."""
    words = {
        "pip ": 400_000,
        "install ": 400_000,
        "pip install ": 100_000,
        "uv a ": 100_000,
        "python ": 50_000,
        "python a/": 50_000,
    }  # less than is read of a page
    helpers = "import torch.nn as nn\n\ndef init_params(net):\n    nn.init.xavier_uniform(net.weight)\n"
    files = {
        "README.md": "".join(f"{word * (length // len(word))}\n" for word, length in words.items())
        + f"python {'a' * 200_000}\n",
        "pyproject.toml": f"[build-system]\n[project]\nname = 'a'\nclassifiers{' ' * 200_000}x\n",
        "conf.yaml": f"{'a' * 200_000}\n",
        "uv.lock": f"{'name = ' * 50_000}\n" + 'name = "torch"\nversion = "' * 20_000 + "1" * 200_000,
        "Pipfile.lock": '"torch": {' * 50_000 + " " * 200_000,
        "names.py": "__all__ = [\n" * 20_000 + "'init_params'\n",
        "found.py": f"from helpers import {'a' * 200_000}, owner\n\ngetattr(owner, name)\n",
        "loads.py": f"import_module({' ' * 200_000}\nsys.modules[{' ' * 200_000}\n{'import_module(' * 10_000}\n",
        "helpers.py": helpers,
        "main.py": "import torch\nimport helpers\n\nif __name__ == '__main__':\n    helpers.average(train)\n" + TRAIN,
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    command = [sys.executable, "-m", "torchlint", "check", "-n", "--isolated", "--output-format", "concise"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=SLOWEST, check=False)
    assert "main.py:12:9: TL104 " in done.stdout
