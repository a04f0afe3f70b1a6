"""The script that begins a rule: what it writes is a rule with a page, and passes as it is."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
COPIED = ("CHANGELOG.md", "docs", "fixers", "pyproject.toml", "rules", "scripts", "tests", "torchlint")
WITHOUT = shutil.ignore_patterns("__pycache__", "node_modules", ".*_cache", "bench", "trace", "projects")
IMPORTS = """
import pathlib, sys, torchlint
root = pathlib.Path.cwd()
torchlint.__path__[:] = [str(root / "torchlint")]
import importlib.util
for name in ("rules", "fixers"):
    found = importlib.util.spec_from_file_location(
        f"torchlint.{name}", root / name / "__init__.py", submodule_search_locations=[str(root / name)]
    )
    module = importlib.util.module_from_spec(found)
    sys.modules[f"torchlint.{name}"] = module
    setattr(torchlint, name, module)
"""


def test_it_writes_a_rule_that_passes_its_tests(tmp_path: Path) -> None:
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tmp_path / name, ignore=WITHOUT)
        else:
            shutil.copy(ROOT / name, tmp_path)
    run = f"{IMPORTS}\nimport runpy\nsys.argv = ['new_rule.py', *sys.argv[1:]]\n" + (
        "runpy.run_path('scripts/new_rule.py', run_name='__main__')"
    )
    options = ["--family", "TL1", "--category", "sync", "--shape", "torch.cuda.memory_allocated(...)"]
    command = [sys.executable, "-c", run, "memory-queried-in-loop", *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    code = done.stdout.partition(" ")[0]
    assert done.stdout.startswith(f"{code} memory-queried-in-loop: rules/memory_queried_in_loop.py, ")
    page = (tmp_path / "docs" / "rules" / "memory-queried-in-loop.md").read_text("utf-8")
    assert page.startswith(f"# memory-queried-in-loop ({code})\n")
    check = f"{IMPORTS}\nimport pytest\nsys.exit(pytest.main(sys.argv[1:]))"
    tests = ["tests/test_rules.py", "tests/test_catalogue.py", "tests/test_docs.py"]
    chosen = ["-k", f"(memory_queried_in_loop or memory-queried-in-loop or {code}) and not sieve"]
    ran = subprocess.run(
        [sys.executable, "-c", check, "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests, *chosen],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
