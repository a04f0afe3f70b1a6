"""Imports point one way, as docs/architecture.md says, and linting does without torch."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
ROWS = re.findall(r"^\| \d+ \w+ \| (.*) \|$", PAGE, re.MULTILINE)
ORDER = [name.rstrip("/") for row in ROWS for name in re.findall(r"`([^`]+)`", row)]
CIRCLES = [
    {f"facts.{name}" for name in ("bindings", "consumers", "flow", "module", "names", "scope", "short_functions")},
]
"""Modules that import each other, which is one circle too many each."""
FOLDERS = {"torchlint": ROOT / "torchlint", "rules": ROOT / "rules", "fixers": ROOT / "fixers"}
FILES = [path for folder in FOLDERS.values() for path in sorted(folder.rglob("*.py"))]
RUN = {"trace", "runner"}
"""What runs in processes of its own, with torch."""
HEAVY = {"libcst", "rich", "pygments", "jinja2", "markupsafe", "tomllib", "tomli", "torch", "numpy"}


def test_every_folder_is_shipped() -> None:
    """An editable installation finds them all; a wheel has those that pyproject.toml names."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    (named,) = re.findall(r"^packages = \[(.*?)^\]", text, re.MULTILINE | re.DOTALL)
    folders = {path.parent.relative_to(ROOT) for path in FILES if path.name == "__init__.py"}
    shipped = {
        ".".join(["torchlint", *folder.parts] if folder.parts[0] != "torchlint" else folder.parts) for folder in folders
    }
    assert shipped == set(re.findall(r'"([\w.]+)"', named))


def name_of(path: Path) -> str:
    """The dotted name of a file below torchlint: `facts.flow`, `rules.item_in_hot_loop`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[1:] if parts[0] == "torchlint" else parts).removesuffix(".__init__")


@cache
def imported(path: Path) -> set[str]:
    """The modules of torchlint that a file imports, wherever in the file."""
    name = name_of(path)
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
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


def test_no_modules_import_each_other_in_a_circle() -> None:
    known = {name_of(path): imported(path) for path in FILES}
    circles: list[set[str]] = []
    for name in sorted(known):
        circle = {one for one in _reached(name, known) if name in _reached(one, known)}
        if len(circle) > 1 and circle not in circles:
            circles.append(circle)
    assert circles == CIRCLES


def _reached(name: str, known: dict[str, set[str]]) -> set[str]:
    """All that a module imports, and what that imports."""
    found: set[str] = set()
    todo = [name]
    while todo:
        new = known.get(todo.pop(), set()) - found
        found |= new
        todo += new
    return found


def test_tracing_knows_messages_and_operators_only() -> None:
    known = {one for path in FILES if place(name_of(path)) == "trace" for one in imported(path)}
    assert {"messages.event", "messages.job", "torch_api.operators"} == {one for one in known if place(one) != "trace"}


def test_the_tracing_is_divided() -> None:
    """What runs the program knows no observation, the eager one not the compiled one, and nobody what joins them."""
    order = ["program", "eager", "compiled"]
    known = {name_of(path): imported(path) for path in FILES if name_of(path).startswith("trace.")}
    assert {*order, "child", "doctor", "calibrate", "__main__"} == {name.split(".")[1] for name in known}
    below = {
        (name, one)
        for name, found in known.items()
        for one in found
        if (own := name.split(".")[1]) in order and one.startswith("trace.")
        if one.split(".")[1] not in order[: order.index(own) + 1]
    }
    assert set() == below


def test_running_knows_messages_and_the_tracing_only() -> None:
    known = {one for path in FILES if place(name_of(path)) == "runner" for one in imported(path)}
    assert {"messages", "trace"} == {place(one) for one in known if place(one) != "runner"}


def test_only_commands_know_the_tracing() -> None:
    assert {"commands"} == {
        place(name_of(path))
        for path in FILES
        if place(name_of(path)) not in RUN and any(place(one) in RUN for one in imported(path))
    }


def test_rules_and_fixers_know_their_interface_only() -> None:
    known = {one for path in FILES if place(name_of(path)) in ("rules", "fixers") for one in imported(path)}
    interface = {"rule", "rule.rewrite", "rule.lazy"}
    assert {"facts", "torch_api"} >= {place(one) for one in known - interface}


@pytest.mark.parametrize(
    "path", sorted((ROOT / "scripts").rglob("*.py")), ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_scripts_import_what_is_there(path: Path) -> None:
    """They are run by hand, seldom, and some need what is not installed."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("torchlint"):
            module = ROOT / (node.module or "").replace(".", "/")
            file = module / "__init__.py" if module.is_dir() else module.with_suffix(".py")
            known = set(re.findall(r"^(?:def|class|from|import)? *(\w+)", file.read_text("utf-8"), re.MULTILINE))
            known |= {one.stem for one in module.glob("*")}
            known |= set(re.findall(r"\bimport (\w+)", file.read_text("utf-8")))
            assert set() == {alias.name for alias in node.names} - known


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
