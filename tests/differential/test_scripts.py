"""Scripts with corners are fixed and do what they did: each runs before and after in one child process, printing what it sees."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from torchlint.fix.run import fix_files
from torchlint.rule import load
from torchlint.settings.config import Settings

from . import corners
from .scripts import SAFE, UNSAFE

pytest.importorskip("torch")

RUN = """
import contextlib, io, json, sys, warnings
import torch

def printed(code):
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float32)
    torch.set_default_device(None)
    out = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(out):
        warnings.simplefilter("ignore")
        try:
            exec(compile(code, "<script>", "exec"), {"__name__": "__main__"})
        except Exception as error:
            print(f"raises {type(error).__name__}: {error}")
    return out.getvalue()

torch.set_num_threads(1)
answers = {name: [printed(before), printed(after)] for name, (before, after) in json.load(sys.stdin).items()}
print("\\n" + json.dumps(answers))
"""
SCRIPTS = {
    **{name: (code.lstrip(), False) for name, code in (SAFE | corners.SAFE).items()},
    **{n: (c.lstrip(), True) for n, c in UNSAFE.items()},
}
Printed = dict[str, tuple[str, str]]


def fixed(code: str, unsafe: bool) -> str:
    codes = frozenset(load())
    settings = Settings(codes=codes, fixable=codes, root=Path.cwd(), preview=True)
    result = fix_files({"script.py": code.encode()}, settings, unsafe=unsafe, write=False)
    return result.contents.get("script.py", code.encode()).decode()


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Printed:
    """What the scripts print, before and after."""
    pairs = {name: (code, fixed(code, unsafe)) for name, (code, unsafe) in SCRIPTS.items()}
    assert [] == [name for name, (before, after) in pairs.items() if before == after]
    folder = tmp_path_factory.mktemp("scripts")
    done = subprocess.run(
        [sys.executable, "-c", RUN], input=json.dumps(pairs), capture_output=True, text=True, cwd=folder, check=True
    )
    return {name: (before, after) for name, (before, after) in json.loads(done.stdout.splitlines()[-1]).items()}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_prints_what_it_printed(name: str, printed: Printed) -> None:
    before, after = printed[name]

    assert "raises" not in before
    assert before == after
