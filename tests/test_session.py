"""A project kept warm says what a run of the command line would say."""

from __future__ import annotations

import ast
import random
import shutil
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import pytest

from torchlint.facts.module import Function
from torchlint.lint.dispatch import Dispatch
from torchlint.lint.run import lint
from torchlint.lsp.open_file import OpenModule
from torchlint.lsp.session import Session
from torchlint.lsp.warm import Interrupted, Warm
from torchlint.program.noting import Noting
from torchlint.program.project import Project
from torchlint.program.regions import Regions
from torchlint.program.texts import Sought
from torchlint.rule import load
from torchlint.settings import config
from torchlint.text.finding import Finding
from torchlint.text.source import Source

TRAIN = """\
import torch
from model import Net, log
from pkg.losses import penalty

device = torch.device("cuda")


def train(loader):
    model = Net().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        loss = model(x.to(device)).sum() + penalty(model)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log(loss)
"""
MODEL = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        if x.sum() > 0:
            x = x * 2
        return self.layer(x)


def log(value):
    print(value.item())
"""
LOSSES = """\
import torch


def penalty(model):
    total = torch.zeros(1).cuda()
    for p in model.parameters():
        total += p.norm().item()
    return total
"""
SNIPPETS = (
    "        print(loss.item())",
    "    print(x.max().item())",
    "model = torch.compile(Net())",
    "from model import log as penalty",
    "import torch as t",
    "def log(value):",
    "    return value.cpu().numpy()",
    "class Net(nn.Module):",
    "    def forward(self, x):",
    "        torch.cuda.synchronize()",
    "    for x in range(3):",
    "        value.backward()",
    "# noqa: TL101",
    "x = (",
    '"""',
)


IMPORTS = (
    "from model import Net",
    "from model import *",
    "from pkg import losses",
    "from torch import compile as c",
    "c(log)",
)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/__init__.py").write_text("")
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "pkg/losses.py").write_text(LOSSES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def session(root: Path) -> Session:
    return Session(root, config.load(load().values()))


def as_told(session: Session, buffers: dict[str, str]) -> dict[str, list[Finding]]:
    """What the command line says of the files, with the texts in place of those on disk."""
    files = [path.relative_to(session.root) for path in sorted(session.root.rglob("*.py"))]
    result = lint(files, session.settings, buffers={path: text.encode() for path, text in buffers.items()})
    return {str(path): [finding for finding in result.findings if finding.path == str(path)] for path in files}


def places(findings: Iterator[Finding] | tuple[Finding, ...] | list[Finding]) -> list[tuple[int, str]]:
    return [(finding.line, finding.code) for finding in findings]


def test_the_first_look_is_that_of_the_command_line(session: Session) -> None:
    found = session.look(["train.py", "model.py", "pkg/losses.py"])
    assert as_told(session, {}) == {path: list(result.findings) for path, result in found.items()} | {
        "pkg/__init__.py": []
    }
    assert found["model.py"].findings, "a fact of train.py makes log() hot"


def test_an_edit_is_seen_at_once(session: Session) -> None:
    session.edit("model.py", MODEL.encode())
    session.look(["model.py"])
    text = MODEL.replace("value.item()", "value")
    session.edit("model.py", text.encode())
    assert as_told(session, {"model.py": text})["model.py"] == list(session.glance("model.py").findings)


def test_a_keystroke_searches_no_other_file(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.look(["train.py", "model.py", "pkg/losses.py"])
    searched: list[str] = []

    def options(self: Regions, source: Source) -> list[str]:
        searched.append(source.path)
        return []

    def mentions(self: Project, path: str, name: str) -> bool:
        searched.append(path)
        return name.encode() in self._raw(path)

    def mentioning(self: Project, sought: Sought) -> list[str] | None:
        searched.append(f"callers of {sought.name}")
        return []

    monkeypatch.setattr(Regions, "_options_in", options)
    monkeypatch.setattr(Project, "mentioning", mentioning)
    monkeypatch.setattr(Project, "mentions", mentions)

    session.edit("model.py", f"# typed\n{MODEL}".encode())
    session.glance("model.py")

    assert {"model.py"} == set(searched)


def test_an_edit_of_nothing_but_a_mark_is_one(session: Session) -> None:
    for text in (MODEL.encode(), b"\xef\xbb\xbf" + MODEL.encode(), MODEL.encode()):
        session.edit("model.py", text)
        session.look(["model.py"])
        source = session.source("model.py")
        assert source is not None and source.raw == text


def test_a_new_call_in_another_file_is_seen_by_the_next_look(session: Session) -> None:
    quiet = TRAIN.replace("        log(loss)\n", "")
    session.edit("train.py", quiet.encode())
    assert "TL104" not in {f.code for f in session.look(["model.py"])["model.py"].findings}
    session.edit("train.py", TRAIN.encode())
    session.glance("train.py")
    assert "TL104" in {f.code for f in session.look(["model.py"])["model.py"].findings}


def test_a_file_that_does_not_parse_keeps_its_last_good_facts(session: Session) -> None:
    before = session.look(["model.py"])["model.py"]
    session.edit("train.py", TRAIN.encode())
    session.look(["train.py"])
    session.edit("train.py", TRAIN.replace("log(loss)", "log(loss").encode())
    broken = session.glance("train.py")
    assert [(16, "TL001")] == places(broken.findings)
    assert before.findings == session.look(["train.py", "model.py"])["model.py"].findings


def test_a_file_that_never_parsed_is_no_part_of_the_project(session: Session) -> None:
    session.edit("new.py", b"def f(:\n")
    found = session.look(["new.py", "train.py"])
    assert [(1, "TL001")] == places(found["new.py"].findings)
    assert as_told(session, {})["train.py"] == list(found["train.py"].findings)


def test_a_closed_file_is_read_from_disk_again(session: Session) -> None:
    session.edit("model.py", b"import torch\n")
    assert () == session.look(["model.py"])["model.py"].findings
    session.close("model.py")
    assert as_told(session, {})["model.py"] == list(session.look(["model.py"])["model.py"].findings)


def test_files_that_come_and_go_on_disk_are_noticed(session: Session, root: Path) -> None:
    session.look(["model.py"])
    (root / "train.py").unlink()
    assert as_told(session, {})["model.py"] == list(session.look(["model.py"])["model.py"].findings)
    (root / "train.py").write_text(TRAIN)
    assert as_told(session, {})["model.py"] == list(session.look(["model.py"])["model.py"].findings)


def test_a_look_that_is_not_wanted_any_more_ends(session: Session) -> None:
    session.look(["train.py"])
    session.edit("train.py", TRAIN.encode() + b"\n")
    with pytest.raises(Interrupted):
        session.look(["train.py"], lambda: True)
    assert as_told(session, {"train.py": TRAIN + "\n"})["train.py"] == list(
        session.look(["train.py"])["train.py"].findings
    )


def edited(text: str, dice: random.Random) -> str:
    """One random edit: lines taken out, doubled, moved or put in, or a few characters gone."""
    lines = text.split("\n")
    at = dice.randrange(len(lines))
    match dice.randrange(5):
        case 0:
            del lines[at : at + dice.randrange(1, 4)]
        case 1:
            lines.insert(at, lines[dice.randrange(len(lines))])
        case 2:
            lines.insert(at, dice.choice(SNIPPETS))
        case 3:
            cut = dice.randrange(len(text) + 1)
            return text[:cut] + text[cut + dice.randrange(4) :]
        case _:
            lines[at] = dice.choice(("", "    ")) + lines[at]
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(12))
def test_after_random_edits_and_undo_it_says_what_the_command_line_says(session: Session, seed: int) -> None:
    dice = random.Random(seed)
    texts = {"train.py": TRAIN, "model.py": MODEL, "pkg/losses.py": LOSSES}
    good = dict(texts)
    for path, text in texts.items():
        session.edit(path, text.encode())
    session.look(list(texts))
    for step in range(25):
        path = dice.choice(list(texts))
        texts[path] = good[path] if dice.random() < 0.3 else edited(texts[path], dice)
        session.edit(path, texts[path].encode())
        session.glance(path)
        if step % 5 == 4:
            for path, text in texts.items():  # what does not parse is undone: its facts would be those of another text
                if any(f.code == "TL001" for f in session.glance(path).findings):
                    texts[path] = good[path]
                    session.edit(path, good[path].encode())
                else:
                    good[path] = text
            found = session.look(list(texts))
            told = as_told(session, texts)
            assert {path: told[path] for path in texts} == {
                path: list(result.findings) for path, result in found.items()
            }


def parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


@pytest.mark.parametrize("seed", range(16))
def test_any_order_of_files_and_questions_with_edits_in_between_is_a_fresh_run(session: Session, seed: int) -> None:
    dice = random.Random(seed)
    texts = {"train.py": TRAIN, "model.py": MODEL, "pkg/losses.py": LOSSES, "pkg/__init__.py": ""}
    good = dict(texts)
    for path in dice.sample(list(texts), len(texts)):
        session.edit(path, texts[path].encode())
    for _ in range(20):
        for path in dice.sample(list(texts), dice.randrange(3)):
            text = dice.choice((good[path], edited(texts[path], dice), f"{dice.choice(IMPORTS)}\n{texts[path]}"))
            if parses(text):
                texts[path] = text
                session.edit(path, text.encode())
        asked = dice.sample(list(texts), dice.randrange(1, len(texts) + 1))
        found = session.look(asked) if dice.random() < 0.3 else {path: session.glance(path) for path in asked}
        told = as_told(session, texts)
        assert {path: told[path] for path in asked} == {path: list(result.findings) for path, result in found.items()}


PROJECTS = Path(__file__).parent / "projects"
STATEMENTS = (
    "print(loss.item())",
    "loss.backward()",
    "optimizer.step()",
    "x = x.cpu()",
    "self.flag = x.item()",
    "x = torch.tensor([1.0, 2.0])",
    "model = torch.compile(model)",
    "torch.cuda.synchronize()",
    "import torch as t",
    "global device",
    "return x",
    "pass",
    "# typed",
    "",
    "\f",
    "x = x.cuda()  # noqa: TL402",
    "y = 1  # noqa: TL101",
    "text = '''\n# none\n'''",
)
WORDS = ("self", "model", "loss", "x", "device", "optimizer", "item", "cpu", "step", "backward", "torch", "range", "if")


def line_changed(text: str, dice: random.Random) -> str:
    """A text with another line in place of one of its lines, with one more, one less, or with some of them elsewhere."""
    lines = text.split("\n")[:-1]
    at = dice.randrange(len(lines))
    line = lines[at]
    indent = line[: len(line) - len(line.lstrip())]
    words = [word for word in WORDS if word in line]
    match dice.randrange(9):
        case 0 if words:
            lines[at] = line.replace(dice.choice(words), dice.choice(WORDS), 1)
        case 1:
            lines[at] = f"{line}  # {dice.choice(('typed', 'noqa', 'noqa: TL101'))}"
        case 2:
            lines[at] = dice.choice([one for one in lines if one.startswith(indent)])
        case 3:
            lines[at] = indent + dice.choice(STATEMENTS)
        case 4:
            lines[at : at + dice.randrange(1, 3)] = []
        case 5:
            part = lines[at : at + 3]
            lines[at : at + 3] = []
            to = dice.randrange(len(lines) + 1)
            lines[to:to] = part
        case _:
            lines.insert(at + dice.randrange(2), indent + dice.choice(STATEMENTS))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("seed", range(12))
def test_lines_changed_in_open_files_are_what_a_fresh_run_says(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(seed)
    folders = sorted(path for path in PROJECTS.iterdir() if path.is_dir())
    folder = folders[seed % len(folders)]
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / "pyproject.toml").write_text("")
    monkeypatch.chdir(tmp_path)
    session = Session(tmp_path, config.load(load().values()))
    newline = dice.choice(("\n", "\r\n"))
    texts = {path.relative_to(tmp_path).as_posix(): path.read_text() for path in sorted(tmp_path.rglob("*.py"))}
    session.look(list(texts))
    for path, text in texts.items():
        session.edit(path, f"{text}\n".replace("\n", newline).encode())
        texts[path] = f"{text}\n"
    taken: list[str] = []
    before = Warm.take_part

    def take_part(self: Warm, module: OpenModule, changed: Collection[str]) -> None:
        taken.append(module.path)
        before(self, module, changed)

    monkeypatch.setattr(Warm, "take_part", take_part)
    for _ in range(25):
        path = dice.choice([path for path, text in texts.items() if text.strip()])
        text = line_changed(texts[path], dice)
        if not parses(text):
            continue
        texts[path] = text
        session.edit(path, text.replace("\n", newline).encode())
        asked = dice.choice(list(texts))
        buffers = {path: text.replace("\n", newline).encode() for path, text in texts.items()}
        told = lint(list(map(Path, texts)), session.settings, buffers=buffers)
        for one in {path, asked}:
            assert list(session.glance(one).findings) == [found for found in told.findings if found.path == one]
    assert taken, "many edits leave the rest of their file as it is"


def test_an_edit_of_a_function_shows_rules_only_what_hangs_on_it(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"{MODEL}\n\ndef rare(x):\n    return x.item()\n"
    shown: list[str] = []
    before = Dispatch.nodes

    def nodes(self: Dispatch, function: Function, *how: Any) -> Any:
        shown.append(function.qualname)
        return before(self, function, *how)

    monkeypatch.setattr(Dispatch, "nodes", nodes)
    session.look(["train.py", "model.py", "pkg/losses.py"])
    session.edit("model.py", text.encode())
    found = session.glance("model.py").findings
    assert {"log", "rare"} <= set(shown)
    shown.clear()
    text = text.replace("nn.Linear(4, 4)", "nn.Linear(8, 4)")
    session.edit("model.py", text.encode())
    assert session.glance("model.py").findings == found
    assert "rare" not in shown
    shown.clear()
    longer = text
    for old, new, more in (("class Net", "# more\n\nclass Net", 2), ("Linear(8", "Linear(\n            8", 3)):
        longer = longer.replace(old, new)
        session.edit("model.py", longer.encode())
        after = list(session.glance("model.py").findings)
        assert "rare" not in shown
        assert after == as_told(session, {"model.py": longer})["model.py"]
        assert [one.line - more for one in after] == [one.line for one in found]
        shown.clear()
    session.edit("model.py", text.replace("x.item()", "x.item() + 1").encode())
    session.glance("model.py")
    assert "rare" in shown


FOUND = """\
import torch


# here
class Kept(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("given", torch.zeros(3, device="cuda"))

    def forward(self, x):
        return x + self.given


# there
def train(model, loader, optimizer):
    for x, y in loader:
        é = "ä"; loss = model(x).sum()
        optimizer.zero_grad(
            set_to_none=False  # said
        )
        loss.backward()
        optimizer.step()
        show(loss.item())  # known
        show(loss)


def show(loss):
    print(
        loss.item(),
    )
"""


@pytest.mark.parametrize(
    ("old", "new", "again"),
    [
        ("# here\n", "# here\n# more\n\n", set[str]()),
        ("# here\n", "# longer than it was\n", set()),
        ("# there\n", "", set()),
        ("        return x", "        é = 1\n        return x", {"Kept.forward", "train"}),
        ("        super().__init__()\n", "", {"Kept.__init__", "train"}),
        ("# known", "# known by now", {"train", "show"}),
        ("# said", "", {"train", "show"}),
        ('é = "ä"', 'é = "ae"', {"train", "show"}),
        ("        )\n", "            # or so\n        )\n", {"train", "show"}),
        ("    print(\n", "    print(  # so\n", {"show"}),
        ("        loss.item(),\n", "        # one\n        loss.item(),\n", {"show"}),
    ],
)
def test_what_was_found_in_a_function_moves_with_it(
    old: str, new: str, again: set[str], session: Session, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "train.py").write_text(FOUND)
    session.look(["train.py"])
    session.edit("train.py", f"{FOUND}\n".encode())
    found = session.glance("train.py").findings
    assert {"TL101", "TL501"} <= {one.code for one in found}
    assert any(one.fix for one in found)
    assert any(one.related for one in found)
    shown: set[str] = set()
    before = Dispatch.nodes

    def nodes(self: Dispatch, function: Function, *how: Any) -> Any:
        shown.add(function.qualname)
        return before(self, function, *how)

    text = FOUND.replace(old, new)
    with monkeypatch.context() as patched:
        patched.setattr(Dispatch, "nodes", nodes)
        session.edit("train.py", f"{text}\n".encode())
        after = list(session.glance("train.py").findings)
    assert after == as_told(session, {"train.py": f"{text}\n"})["train.py"]
    assert shown - {"<module>"} <= again


STEPS = """\
from names import Parts


def train(loader, model, optimizer):
    for x, y in loader:
        loss = model(x).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        inner = Parts(x, num_workers=2)
"""


def test_the_first_change_of_an_alias_is_seen_in_other_open_files(session: Session, root: Path) -> None:
    names = "from torch.utils.data import DataLoader as {}\n"
    (root / "names.py").write_text(names.format("Halves"))
    text = f"import torch\n{STEPS}"
    session.edit("train.py", text.encode())
    assert session.look(["train.py", "names.py"])["train.py"].findings == ()
    session.edit("names.py", names.format("Parts").encode())
    after = list(session.glance("train.py").findings)
    assert after == as_told(session, {"train.py": text, "names.py": names.format("Parts")})["train.py"]
    assert places(after) == [(11, "TL408")]


def test_an_edit_costs_what_hangs_on_the_file_alone(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.look(["train.py", "model.py", "pkg/losses.py"])
    asked: list[str] = []
    before = Noting._ask

    def ask(self: Noting, key: tuple[Any, ...], compute: Callable[[], Any], initial: Any) -> Any:
        def noted() -> Any:
            asked.append(key[1].module.path)
            return compute()

        return before(self, key, noted, initial)

    monkeypatch.setattr(Noting, "_ask", ask)
    session.edit("model.py", f"# typed\n{MODEL}".encode())
    session.look(["train.py", "model.py"])
    assert {"train.py", "model.py"} == set(asked)


PATCH = "import torch\n\n\ndef mine(*given):\n    return None\n\n\ntorch.nn.init.constant_ = mine\n"
SEEKS = "import parts\n\n\ndef by(name):\n    return getattr(parts, name)\n"
PARTS = """\
import torch.nn as nn


def spare(net):
    nn.init.constant(net.bias, 0)


def used(net):
    nn.init.constant(net.bias, 1)
"""
MAIN = "import torch\nfrom parts import used\n\nused(torch.nn.Linear(2, 2))\n"


@pytest.mark.parametrize(("other", "text"), [("patch.py", PATCH), ("seeks.py", SEEKS)], ids=["patch", "seeks"])
def test_what_all_files_say_is_said_anew_behind_an_edit(root: Path, other: str, text: str) -> None:
    (root / "pyproject.toml").unlink()
    (root / ".git").mkdir()
    plain = text.replace("torch.nn.init.constant_ = mine", "mine()").replace("getattr(parts, name)", "name")
    for name, code in {"parts.py": PARTS, "main.py": MAIN, other: plain}.items():
        (root / name).write_text(code)
    session = Session(root, config.load(load().values()))
    first = list(session.look(["parts.py", other])["parts.py"].findings)
    assert first == as_told(session, {})["parts.py"]
    for now in (text, plain, text):
        session.edit(other, now.encode())
        found = list(session.glance("parts.py").findings)
        assert found == as_told(session, {other: now})["parts.py"]
        assert (found == first) == (now == plain)
