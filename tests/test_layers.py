"""Imports point one way, as docs/architecture.md says, and linting does without torch."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
ROWS = re.findall(r"^\| \d+ \w+ \| (.*) \|$", PAGE, re.MULTILINE)
ORDER = [name.rstrip("/") for row in ROWS for name in re.findall(r"`([^`]+)`", row)]
FOLDERS = {"torchlint": ROOT / "torchlint", "rules": ROOT / "rules", "fixers": ROOT / "fixers"}
FILES = [path for folder in FOLDERS.values() for path in sorted(folder.rglob("*.py"))]
RUN = {"trace", "runner"}
"""What runs in processes of its own, with torch."""
HEAVY = {"libcst", "rich", "pygments", "tomllib", "tomli", "torch", "numpy"}


def name_of(path: Path) -> str:
    """The dotted name of a file below torchlint: `facts.flow`, `rules.item_in_hot_loop`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[1:] if parts[0] == "torchlint" else parts).removesuffix(".__init__")


def imported(path: Path) -> set[str]:
    """The modules of torchlint that a file imports, wherever in the file."""
    name = name_of(path)
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    found = set()
    for node in _running(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {
                alias.name.removeprefix("torchlint.") for alias in node.names if alias.name.startswith("torchlint.")
            }
        elif isinstance(node, ast.ImportFrom):
            base = (node.module or "").split(".") if node.module else []
            if node.level:
                base = package[: len(package) - node.level + 1] + base
            elif base[0] != "torchlint":
                continue
            else:
                base = base[1:]
            found |= {_module([*base, alias.name]) for alias in node.names}
    return found - {""}


def _running(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a file without those for type checkers alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        yield node
        yield from _running(node)


def _module(parts: list[str]) -> str:
    whole = ROOT / "torchlint" / Path(*parts)
    return ".".join(parts if whole.is_dir() or whole.with_suffix(".py").exists() else parts[:-1])


def place(name: str) -> str:
    return name.partition(".")[0]


def test_every_module_has_its_place() -> None:
    known = {place(name_of(path)) for path in FILES} - {"", "__init__"}
    assert known == set(ORDER)
    assert len(ORDER) == len(set(ORDER))


@pytest.mark.parametrize("path", [path for path in FILES if name_of(path)], ids=name_of)
def test_imports_point_up_the_list(path: Path) -> None:
    own = place(name_of(path))
    below = {one for one in imported(path) if place(one) != own and ORDER.index(place(one)) > ORDER.index(own)}
    assert set() == below


def test_tracing_knows_events_jobs_and_operators_only() -> None:
    known = {one for path in FILES if place(name_of(path)) == "trace" for one in imported(path)}
    assert {"event", "job", "torch_api.operators"} == {one for one in known if place(one) != "trace"}


def test_running_knows_orders_and_the_tracing_only() -> None:
    known = {one for path in FILES if place(name_of(path)) == "runner" for one in imported(path)}
    assert {"event", "job", "order", "trace"} == {place(one) for one in known if place(one) != "runner"}


def test_only_commands_know_the_tracing() -> None:
    assert {"commands"} == {
        place(name_of(path))
        for path in FILES
        if place(name_of(path)) not in RUN and any(place(one) in RUN for one in imported(path))
    }


def test_rules_and_fixers_know_their_interface_only() -> None:
    known = {one for path in FILES if place(name_of(path)) in ("rules", "fixers") for one in imported(path)}
    assert {"rule", "rewrite", "lazy", "facts", "torch_api"} >= {place(one) for one in known}


def test_nobody_knows_a_rule_or_a_fixer_by_name() -> None:
    assert [] == [one for path in FILES for one in imported(path) if place(one) in ("rules", "fixers")]


@pytest.mark.parametrize("path", [path for path in FILES if place(name_of(path)) not in RUN], ids=name_of)
def test_heavy_modules_are_imported_where_they_are_needed(path: Path) -> None:
    tops = [node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {alias.name for node in tops if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in tops if isinstance(node, ast.ImportFrom) and not node.level}
    assert set() == {name for name in names if name.partition(".")[0] in HEAVY}


def test_linting_and_fixing_do_without_torch(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import torch\n"
        "from torch.utils.data import DataLoader\n\n"
        "def train(model, optimizer, dataset):\n"
        "    for x, y in DataLoader(dataset, pin_memory=True):\n"
        '        loss = model(x.to("cuda")).sum()\n'
        "        loss.backward()\n"
        "        optimizer.step()\n"
        "        total = loss.item()\n"
    )
    program = (
        "import sys; sys.modules['torch'] = None\n"
        "from torchlint import cli\n"
        "sys.exit(cli.main(['check', '--isolated', '--fix', '--select', 'ALL', '--preview', '--statistics']))\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (1, "") == (ran.returncode, ran.stderr)
    assert "TL101\thigh\titem-in-hot-loop" in ran.stdout
    assert 'x.to("cuda", non_blocking=True)' in (tmp_path / "train.py").read_text()
