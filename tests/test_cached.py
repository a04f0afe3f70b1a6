"""What is found with a cache is what is found without, whatever happens in between."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from torchlint import cli
from torchlint.cache import run as cached
from torchlint.cache.dependencies import Recording
from torchlint.cache.links import Links, noted, packed, unpacked
from torchlint.cache.store import Cache
from torchlint.lint import parallel
from torchlint.lint import run as linting
from torchlint.lint.run import Result, lint
from torchlint.program.noting import Atom
from torchlint.query.closures import Depends, chosen
from torchlint.rule import load
from torchlint.settings.config import Settings
from torchlint.settings.discover import ProjectFiles, discover
from torchlint.settings.home import Home, project_root
from torchlint.system.stamp import contents, digest
from torchlint.text.finding import Finding
from torchlint.torch_api.version import Range

from .worded import WORDED

CODES = frozenset(load())
TRAIN = """\
import torch
from model import Net
from tools.metrics import Meter, accuracy

def train(loader, optimizer):
    net = Net().cuda()
    meter = Meter()
    for x, y in loader:
        loss = net(x.cuda()).sum()
        loss.backward()
        optimizer.step()
        meter.update(loss, accuracy(loss, y))
"""
MODEL = """\
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.ones(3).cuda()

    def forward(self, x):
        if x.sum() > 0:
            return x * self.scale
        return x
"""
METRICS = """\
import torch

class Meter:
    def __init__(self):
        self.total = 0.0

    def update(self, loss, share):
        self.total += loss.item()  # noqa: TL101

def accuracy(output, target):
    return (output.argmax(-1) == target).float().mean().item()
"""
FILES = {
    "train.py": TRAIN,
    "model.py": MODEL,
    "tools/__init__.py": "",
    "tools/metrics.py": METRICS,
    "plain.py": "def add(a, b):\n    return a + b  # noqa: TL999\n",
    "broken.py": "import torch\ndef f(:\n",
    "pyproject.toml": '[project]\nname = "x"\ndependencies = ["torch>=2.4"]\n',
}


def settings_with(**changes: Any) -> Settings:
    return Settings(codes=CODES, fixable=CODES, root=Path.cwd(), **changes)


class Linter:
    """`lint.lint`, which keeps what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, files: Sequence[Path], settings: Settings, **options: Any) -> Result:
        self.asked += [path.as_posix() for path in files]
        return lint(files, settings, **options)


def files_of(paths: Sequence[str], settings: Settings) -> tuple[Sequence[Path], Sequence[Path]]:
    files = discover(paths, settings).files
    return files, ProjectFiles(project_root(Path()), files, settings)


def plain(settings: Settings, *paths: str) -> Result:
    files, context = files_of(paths or ["."], settings)
    return lint(files, settings, context=context)


Ran = tuple[Result, list[str]]


def run(settings: Settings | None = None, *paths: str, directory: str = ".torchlint_cache") -> Ran:
    """What is found with the cache, and which files were linted for it."""
    linter = Linter()
    settings = settings or settings_with()
    files, context = files_of(paths or ["."], settings)
    result = cached.lint(files, settings, Cache(directory), linter, context=context)
    return result, linter.asked


def same(one: Result, other: Result) -> bool:
    return said(one) == said(other)


def said(result: Result) -> object:
    checked = [(path, one._replace(hangs_on=None)) for path, one in (result.checked or {}).items()]
    return result.findings, result.suppressed, result.files, result.errors, checked


def worded_beside(what: str) -> None:
    """Put beside the files what keeps anybody from telling which words they have."""
    match what:
        case "large":
            put("notes.md", "x" * 300_000)
        case "linked":
            os.symlink("..", "notes.d", target_is_directory=True)
        case "unread":
            put("notes.md", "")
            os.chmod("notes.md", 0)
        case "many":
            for number in range(9):
                put(f"notes/{number}.md", "")


def put(path: str, text: str | bytes, *, age: float = 60.0) -> None:
    """Write a file that was changed some seconds ago."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    then = time.time() - age
    os.utime(file, (then, then))


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: a project that trains a model, with a finding in each of two files because of a third."""
    root = tmp_path / "project"
    root.mkdir()
    monkeypatch.chdir(root)
    monkeypatch.delenv("TORCHLINT_CACHE_DIR", raising=False)
    monkeypatch.setattr("torchlint.system.stamp.YOUNG", 0)  # the times of inodes can't be set back
    monkeypatch.setattr(cached, "identity", lambda: b"this torchlint")  # even if its files change meanwhile
    for path, text in FILES.items():
        put(path, text)
    return root


def entries(directory: str = ".torchlint_cache") -> list[Path]:
    return sorted(Path(directory).glob("*.entry"))


def entry(kind: str = "results") -> Path:
    """Where a run with all rules keeps its results, or what they hang on."""
    key = cached._key(settings_with(), ".torchlint_cache")
    return Path(".torchlint_cache", (key if kind == "results" else digest(key, b"links")).hex() + ".entry")


ALL = ["broken.py", "model.py", "plain.py", "tools/__init__.py", "tools/metrics.py", "train.py"]
TORCH = ["broken.py", "model.py", "tools/metrics.py", "train.py"]


@dataclass(frozen=True)
class Other:
    """A finding in model.py that another file decides."""

    path: str
    text: str
    other: str
    code: str
    model: str


BASE = """\
import torch

class Base(torch.nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        return x * self.scale.item()

"""
AMP = "import torch\n\ndef step(x):\n    with torch.cuda.amp.autocast():\n        return x * 2\n"
LIBRARY = "from setuptools import setup\nsetup()\n"
"""For those who install it: what nobody uses in a program is not told of, and who uses what is in a class is asked of its text."""
SUBCLASS = """\
import torch
from model import Base

class Net(Base):
    def __init__(self):
        super().__init__({})
"""
TABLE = """\
import torch
from model import Base

class Small(Base):
    pass

NETS = {{'base': Base, 'small': Small}}

def make(name):
    return NETS[name]({})
"""
CHOSEN = """\
def one(model, x):
    model(x)
    return x.sum().item()

def other(model, x):
    return x
"""
CHOOSING = """\
import sys
import torch
from model import one, other

run = one if len(sys.argv) > 1 else other
model = torch.nn.Linear(3, 3).cuda()
while True:
    run({})
"""
OTHERS = [
    pytest.param(
        Other(
            "nets.py",
            TABLE.format("torch.ones(3).cuda()"),
            TABLE.format("3.0"),
            "TL106",
            BASE,
        ),
        id="a table of classes",
    ),
    pytest.param(
        Other(
            "choosing.py",
            CHOOSING.format("model, torch.ones(3).cuda()"),
            CHOOSING.format("model, torch.ones(3)"),
            "TL101",
            CHOSEN,
        ),
        id="a call by another name",
    ),
    pytest.param(
        Other(
            "nets.py",
            SUBCLASS.format("torch.ones(3).cuda()"),
            SUBCLASS.format("3.0"),
            "TL106",
            BASE,
        ),
        id="the constructor of a subclass",
    ),
    pytest.param(
        Other(
            "patch.py",
            "import torch\n\ntorch.autocast = None\n",
            "import torch\n\ntorch.other = None\n",
            "TL901",
            AMP,
        ),
        id="a function of torch that is replaced",
    ),
    pytest.param(
        Other(
            "patch.py",
            "import torch as th\n\nth.autocast = None\n",
            "import torch as th\n\nth.other = None\n",
            "TL901",
            AMP,
        ),
        id="one that is replaced under another name of torch",
    ),
]


def used(result: Result) -> list[Finding]:
    """The findings that don't say that no run gets to their place."""
    return [one for one in result.findings if not one.message.endswith(("`)", "this file)"))]


class TestKnown:
    def test_nothing_is_linted_twice(self) -> None:
        first, asked = run()
        assert ALL == asked
        assert {"TL001", "TL101"} <= {finding.code for finding in first.findings}
        assert first.suppressed == 1
        second, asked = run()
        assert [] == asked
        assert same(first, second)

    def test_the_source_of_a_known_finding_can_be_shown(self) -> None:
        first, _ = run()
        second, _ = run()
        assert [first.line(f.path, f.line) for f in first.findings] == [
            second.line(f.path, f.line) for f in second.findings
        ]
        assert set(first.sources or ()) == set(second.sources or ())
        assert second.source("tools/__init__.py") is None

    def test_a_source_that_has_changed_since_can_not_be_shown(self) -> None:
        run()
        result, _ = run()
        put("model.py", "import torch\n")
        assert result.source("model.py") is None
        assert "" == result.line("model.py", 1)

    def test_a_file_that_was_only_touched_is_known(self) -> None:
        run()
        os.utime("model.py")
        assert [] == run()[1]

    def test_a_project_that_was_moved_is_known(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        first, _ = run()
        shutil.copytree(project, project.parent / "elsewhere")
        monkeypatch.chdir(project.parent / "elsewhere")
        second, asked = run()
        assert [] == asked
        assert same(first, second)

    def test_some_of_the_files_are_known_from_a_run_over_all(self) -> None:
        run()
        result, asked = run(None, "model.py", "train.py")
        assert [] == asked
        assert same(plain(settings_with(), "model.py", "train.py"), result)

    def test_all_of_the_files_after_some(self) -> None:
        run(None, "model.py")
        result, asked = run()
        assert [path for path in ALL if path != "model.py"] == asked
        assert same(plain(settings_with()), result)

    def test_notebooks(self) -> None:
        cells = [["import torch\n"], ["x = torch.ones(3)\n", "if x.sum().item() == 0: pass  # noqa: TL999\n"]]
        book = {
            "cells": [
                {"cell_type": "code", "source": cell, "metadata": {}, "outputs": [], "execution_count": None}
                for cell in cells
            ],
            "metadata": {},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        put("book.ipynb", json.dumps(book))
        first, _ = run()
        second, asked = run()
        assert [] == asked
        assert same(first, second)
        assert {2} == {finding.cell for finding in second.findings if finding.path == "book.ipynb"}


class TestChanged:
    def test_a_file_without_torch_is_linted_alone(self) -> None:
        run()
        put("plain.py", "x = 1\n")
        # The project is another one, and who knows who imports it.
        result, asked = run()
        assert "plain.py" in asked
        assert same(plain(settings_with()), result)

    def test_findings_of_another_file_go_when_their_loop_goes(self) -> None:
        first, _ = run()
        assert any(f.path == "tools/metrics.py" and f.code == "TL101" for f in first.findings)
        gone = TRAIN.replace("loss.backward()", "pass").replace("optimizer.step()", "pass")
        # A loop that runs the model, or sends the batches, would be one of evaluation.
        put("train.py", gone.replace("net(x.cuda())", "x"))
        result, _ = run()
        assert not any(f.path == "tools/metrics.py" and f.code == "TL101" for f in result.findings)
        assert same(plain(settings_with()), result)

    def test_files_that_have_nothing_to_do_with_a_change_are_not_read(self, monkeypatch: pytest.MonkeyPatch) -> None:
        put("far.py", "import torch\n\ndef far(x):\n    return x.of().all()\n")
        run()
        read: list[str] = []

        def noted(path: str) -> bytes:
            read.append(path)
            return contents(path)

        monkeypatch.setattr("torchlint.program.files.contents", noted)
        put("model.py", MODEL.replace("self.scale", "self.factor"))
        result, asked = run()
        assert "model.py" in asked
        assert "far.py" not in {*asked, *read}
        assert same(plain(settings_with()), result)

    def test_a_method_that_another_file_calls_now(self) -> None:
        run()
        put("far.py", "from tools.metrics import Meter\n\ndef report(meter: Meter):\n    meter.update(1, 2)\n")
        result, _ = run()
        assert same(plain(settings_with()), result)
        put("far.py", "from tools.metrics import Meter\n\ndef report(meter: Meter):\n    meter.total\n")
        result, _ = run()
        assert same(plain(settings_with()), result)

    def test_an_object_that_is_called_as_where_another_file_makes_it(self) -> None:
        put(
            "features.py",
            "import torch\n\nclass Extra:\n    def __call__(self, x):\n        return x.cuda().sum().item()\n",
        )
        put(
            "steps.py",
            "class Run:\n    def __init__(self, features):\n        self.features = features\n\n    def train(self, loader, loss, optimizer):\n"
            "        for x in loader:\n            y = self.features(x)\n            loss.backward()\n            optimizer.step()\n",
        )
        for text, found in (("features = Extra()", True), ("others = Extra()", False), ("features = Extra()", True)):
            put("main.py", f"import steps\nfrom features import Extra\n{text}\nsteps.Run(read())\n")
            result, _ = run()
            assert found is any(f.path == "features.py" and f.code == "TL101" for f in result.findings)
            assert same(plain(settings_with()), result)
            assert run()[1] == []

    def test_another_folder_that_a_script_puts_on_its_path(self) -> None:
        start = "import sys\nsys.path.append('{}')\nimport torch\nfrom reads import read\n\ndef train(net, loader, optimizer):\n"
        start += "    for x in loader:\n        loss = net(x.cuda()).sum()\n        loss.backward()\n        optimizer.step()\n        read(loss)\n"
        for folder in ("one", "two"):
            put(f"{folder}/reads.py", "import torch\n\ndef read(value):\n    return value.item() + 1\n")
        for folder in ("one", "two", "three", "one"):
            put("start.py", start.format(folder))
            result, _ = run()
            assert {f"{folder}/reads.py"} - {"three/reads.py"} <= {f.path for f in result.findings if f.code == "TL101"}
            assert same(plain(settings_with()), result)

    def test_a_change_of_the_same_size_in_the_same_instant(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("torchlint.system.stamp.YOUNG", 2_000_000_000)
        run()
        stat = os.stat("model.py")
        Path("model.py").write_text(MODEL.replace("> 0", "< 0"))
        os.utime("model.py", ns=(stat.st_atime_ns, stat.st_mtime_ns))
        assert "model.py" in run()[1]

    def test_a_loop_that_stays_on_the_host_because_of_a_third_file(self) -> None:
        model = "import torch\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return x * 2\n\n"
        model += "def predict(net, x):\n    y = net(x)\n    return y.cpu().numpy(), torch.tensor([1, 2]).to(y.device)\n"
        evaluate = "import torch\nfrom model import Net, predict\nfrom places import device\n\nother_device = 'cpu'\n\n"
        evaluate += "def evaluate(loader):\n    net = Net().eval()\n    with torch.no_grad():\n"
        evaluate += "        for x in loader:\n            predict(net, x.to(device))\n"
        places = "import torch\n\nother_device = 'cpu'\ndevice = torch.device({})\n"
        put("model.py", model)
        put("evaluate.py", evaluate)
        put("places.py", places.format("'cuda'"))
        put("train.py", "import torch\n")
        run()
        put("model.py", f"{model}\nX = 1\n")
        result, _ = run()  # what was known of the loop is taken from the cache
        assert any(f.path == "model.py" and f.code == "TL113" for f in result.findings)
        put("places.py", places.format("'cpu'"))
        result, _ = run()
        assert not any(f.path == "model.py" and f.code == "TL113" for f in result.findings)
        assert same(plain(settings_with()), result)

    def test_a_method_that_too_many_files_call(self) -> None:
        """Of those that call it enough are noted to know that; which they are does not matter to what is found."""
        call = "from tools.metrics import Meter\n\ndef report_{0}(meter: Meter):\n    meter.update({0}, 2)\n"
        for number in range(50):
            put(f"use/use_{number:02}.py", call.format(number))
        run()
        for changed in ([0], range(1, 5), range(5, 20)):
            for number in changed:
                put(f"use/use_{number:02}.py", "x = 1\n")
            result, _ = run()
            assert same(plain(settings_with()), result)

    @pytest.mark.parametrize("case", OTHERS)
    def test_what_another_file_says(self, case: Other) -> None:
        """Of a file not its text counts, but what was asked of it: a finding goes and comes with that."""
        put("setup.py", LIBRARY)
        put("model.py", case.model)
        found = []
        for text in (case.text, f"# a comment\n{case.text}", case.other, case.text):
            put(case.path, text)
            result, _ = run()
            found.append(
                [replace(f, related=()) for f in result.findings if f.code == case.code and f.path == "model.py"]
            )
            assert same(plain(settings_with()), result)
        assert found[0] == found[1] == found[3] != found[2]

    def test_a_comment_in_a_file_that_has_a_subclass(self) -> None:
        put("setup.py", LIBRARY)
        put("model.py", BASE)
        put("nets.py", SUBCLASS.format("torch.ones(3).cuda()"))
        run()
        put("nets.py", f"# a comment\n{SUBCLASS.format('torch.ones(3).cuda()')}")
        assert run()[1] == ["nets.py"]

    def test_what_stands_beside_a_class_that_a_rule_was_handed(self) -> None:
        kept = "class Cache:\n    def update(self, x):\n        return {}\n\nclass Other:\n    size = {}\n"
        put("kept.py", kept.format("x", 1))
        put(
            "use.py",
            "import torch\nfrom kept import Cache\n\ndef show(cache: Cache, x):\n    return cache.update(torch.ones(3).cuda()).item()\n",
        )
        run()
        asked = []
        for returned, size in (("x", 2), ("x + 1", 2), ("x + 1", 3)):
            put("kept.py", kept.format(returned, size))
            result, looked = run()
            asked.append("use.py" in looked)
            assert same(plain(settings_with()), result)
        assert asked == [False, True, False]

    @pytest.mark.parametrize(
        "beside", ["tools/core.cpython-311-x86_64-linux-gnu.so", "tools/core.py", "tools/core/data"]
    )
    def test_what_an_import_finds_that_is_none_of_the_files(self, beside: str) -> None:
        put(".gitignore", "core*\n")
        put("tools/old.py", "import torch\nfrom .core import x\n\ntorch.nn.init.xavier_uniform(x)\n")
        found = []
        for there in (False, True, False):
            if there:
                put(beside, "x = 1\n")
            else:
                Path(beside).unlink(missing_ok=True)
                shutil.rmtree("tools/core", ignore_errors=True)
            result, _ = run()
            assert same(plain(settings_with()), result)
            found.append([f.line for f in used(result) if f.path == "tools/old.py" and f.code == "TL903"])
        assert [[], [4], []] == found

    def test_what_a_script_without_an_ending_takes(self) -> None:
        """It is no module; whether an import that others may take is rewritten hangs on it."""
        found = []
        put("requirements.txt", "torch>=2.6\n")
        put("train.py", "from torch.cuda.amp import autocast\nwith autocast():\n    pass\n")
        for text in ("from torch import nn\n", "from train import autocast\n", "import os\n"):
            put("bin/go", f"#!/usr/bin/env python3\n{text}")
            result, _ = run()
            assert same(plain(settings_with()), result)
            fixes = [one.fix for one in result.findings if one.code == "TL901" and one.fix is not None]
            found.append([b"torch.amp" in {edit.text for edit in fix.edits} for fix in fixes])
        assert [[True], [False], [True]] == found

    def test_what_a_configuration_spells(self) -> None:
        put(
            "main.py",
            "import importlib, torch\nfrom nets import Net\n\nimportlib.import_module(name.rsplit('.', 1)[0])\nNet()\n",
        )
        spare = "class Spare(nn.Module):\n    def __init__(self):\n        nn.init.xavier_uniform(self.bias)\n"
        put("nets.py", f"import torch.nn as nn\n\nclass Net(nn.Module): ...\n\n{spare}")
        found = []
        for name in ("Net", "Spare", "Spare", "Net"):
            put("conf/net.yaml", f"target: nets.{name}\n")
            result, _ = run()
            assert same(plain(settings_with()), result)
            found.append([f.line for f in used(result) if f.path == "nets.py" and f.code == "TL903"])
        Path("conf/net.yaml").write_text("target: nets.Net\nsize: 3\n")
        assert ([[], [7], [7], []], []) == (found, run()[1])

    def test_a_word_that_a_text_spells_now(self) -> None:
        """Nothing is linted anew but what has asked for that word."""
        put("worded.py", WORDED)
        put("README.md", "volume\n")
        found = []
        for text in ("volume", "volume, brief", "volume, phong", "volume"):
            put("README.md", f"{text}\n")
            result, asked = run()
            assert same(plain(settings_with()), result)
            found.append((any(f.path == "worded.py" and f.code == "TL104" for f in result.findings), asked))
        assert [(False, [*ALL, "worded.py"]), (False, []), (True, ["worded.py"]), (False, ["worded.py"])] == found

    @pytest.mark.parametrize(
        "text",
        [
            "parser.add_argument('--kind', help='volume '\n    'or phong')\n",
            "# python train.py --kind phong\n",
            "'Usage: train.py (volume | phong)'\n",
            "setattr(args, 'kind', read())\n",
            "args.kind, n = read()\n",
        ],
    )
    def test_what_another_file_tells_of_an_option_now(self, text: str) -> None:
        put("worded.py", WORDED)
        found = []
        for now in ("", text, text.replace("phong", "brief").replace("kind", "sort")):
            put("options.py", now)
            result, _ = run()
            assert same(plain(settings_with()), result)
            found.append(any(f.path == "worded.py" and f.code == "TL104" for f in result.findings))
        assert [False, True, False] == found

    @pytest.mark.parametrize("before", ["large", "linked", "unread", "many"])
    def test_words_that_nobody_could_tell(self, before: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """No words at all are something else than those that nobody can tell."""
        monkeypatch.setattr("torchlint.program.spelled.MOST_FILES", 5)
        put("worded.py", WORDED)
        found = []
        for is_there in (False, True, False):
            if is_there:
                worded_beside(before)
                if before == "unread" and os.access("notes.md", os.R_OK):
                    pytest.skip("root may read everything")
            else:
                for path in filter(os.path.lexists, ("notes.md", "notes.d")):
                    os.unlink(path)
                shutil.rmtree("notes", ignore_errors=True)
            result, _ = run()
            assert same(plain(settings_with()), result)
            found.append(any(f.path == "worded.py" and f.code == "TL104" for f in result.findings))
        assert [False, True, False] == found

    def test_a_new_folder_of_files(self) -> None:
        """It is known by its files: nothing else is linted for it."""
        run()
        put("more/parts/new.py", "import torch\n")
        assert run()[1] == ["more/parts/new.py"]

    def test_a_file_that_is_gone(self) -> None:
        run()
        Path("train.py").unlink()
        result, asked = run()
        assert ["model.py", "tools/metrics.py"] == asked
        assert same(plain(settings_with()), result)

    def test_a_file_that_is_gone_since_another_run(self) -> None:
        """Of what nothing hangs on any more nothing is asked: it tells of the files that were there then."""
        caller = "import torch\nfrom {0} import {0}_it\n\ndef show(n):\n    return {0}_it(torch.ones(n).cuda())\n"
        for name, count in (("read", 4), ("keep", 30)):
            put(f"{name}.py", f"import torch\n\ndef {name}_it(x):\n    return x.item()\n")
            for number in range(count):
                put(f"{name}_{number}.py", caller.format(name))
        run()
        Path("read_2.py").unlink()
        run()
        put("read_1.py", caller.format("read").replace("ones", "zeros"))
        result, _ = run()
        assert same(plain(settings_with()), result)

    def test_a_file_that_puts_something_into_torch(self) -> None:
        weights = "import torch.nn as nn\n\ndef start(net):\n    nn.init.constant(net.bias, 0)\n"
        put("weights.py", f"{weights}\nstart(nn.Linear(2, 2))\n")
        put("patch.py", "import torch\n\ndef mine(*given): pass\n")
        first, _ = run()
        put("patch.py", "import torch\n\ndef mine(*given): pass\n\ntorch.nn.init.constant_ = mine\n")
        result, asked = run()
        assert "weights.py" in asked and "model.py" not in asked
        assert same(plain(settings_with()), result) and not same(first, result)

    def test_a_file_that_is_new(self) -> None:
        run()
        put("other.py", "from tools.metrics import Meter\nimport torch\n")
        result, asked = run()
        assert ["other.py", "tools/metrics.py"] == asked  # which looks for its callers
        assert same(plain(settings_with()), result)

    def test_classes_that_inherit_from_each_other(self) -> None:
        put(
            "shown.py",
            "class Shown:\n    def show_it(self, x):\n        pass\nclass Loud(Shown):\n    def show_it(self, x):\n        x\n",
        )
        shown = (
            TRAIN.replace("(loader, optimizer)", "(loader, optimizer, shown: Shown)") + "        shown.show_it(loss)\n"
        )
        put("train.py", f"from shown import Shown\n{shown}")
        put("other.py", "import torch\n")
        run()
        put("other.py", "import torch\nprint(torch.__version__)\n")
        result, asked = run()
        assert ["other.py"] == asked
        put(
            "other.py",
            "import torch\nfrom shown import Shown\nclass Other(Shown):\n    def show_it(self, x):\n        x.item()\n",
        )
        result, asked = run()
        assert "other.py" in asked
        assert same(plain(settings_with()), result)

    def test_what_a_call_on_each_step_says_of_a_branch(self) -> None:
        put("scale.py", "def scaled(y):\n    return y * 2\n")
        put(
            "parts.py",
            "import torch\nfrom scale import scaled\ndef forward(model, x, train):\n    y = scaled(model(x.cuda()))\n"
            "    if not train:\n        print(scaled(y).sum().item())\n",
        )
        put(
            "steps.py",
            "from parts import forward\ndef fit(model, loader, optimizer):\n    for x in loader:\n"
            "        forward(model, x, train=True)\n        optimizer.step()\n",
        )
        run()
        put("scale.py", "def scaled(y):\n    return y.to('cuda')\n")
        result, asked = run()
        assert "parts.py" in asked
        assert result.errors == ()
        assert same(plain(settings_with()), result)

    def test_a_suppression_that_is_new(self) -> None:
        run()
        put("tools/metrics.py", METRICS.replace("mean().item()", "mean().item()  # noqa: TL101"))
        result, _ = run()
        assert result.suppressed == 2
        assert same(plain(settings_with()), result)

    def test_another_torch(self) -> None:
        run()
        put("pyproject.toml", FILES["pyproject.toml"].replace("2.4", "2.9"))
        result, asked = run()
        assert TORCH == asked
        assert same(plain(settings_with()), result)

    def test_a_page_that_tells_of_another_torch(self) -> None:
        Path("pyproject.toml").unlink()
        put("README.md", "pip install torch==2.4\n")
        run()
        put("README.md", "pip install torch==2.4\nThen train.\n")
        assert [] == run()[1]
        put("README.md", "pip install torch==1.9\nThen train.\n")
        result, asked = run()
        assert TORCH == asked
        assert same(plain(settings_with()), result)

    def test_a_list_of_requirements_next_to_one_file(self) -> None:
        run()
        put("tools/requirements-dev.txt", "torch<2.3\n")
        result, asked = run()
        assert TORCH == asked
        assert same(plain(settings_with()), result)

    def test_constraints_that_requirements_name(self) -> None:
        put("tools/requirements.txt", "torch\n-c ../pins/gpu.txt\n")
        run()
        put("pins/gpu.txt", "torch<2.3\n")
        result, asked = run()
        assert TORCH == asked
        assert same(plain(settings_with()), result)

    def test_a_package_that_refuses_a_torch(self) -> None:
        put("tools/__init__.py", "import torch\n")
        run()
        put("tools/__init__.py", "import torch\nassert torch.__version__ < '2.9'\n")
        result, asked = run()
        assert sorted([*TORCH, "tools/__init__.py"]) == asked
        assert same(plain(settings_with()), result)
        put("tools/__init__.py", "import torch\nassert torch.__version__ < '2.9'\nVERSION = 1\n")
        assert ["tools/__init__.py"] == run()[1]

    def test_a_program_that_becomes_a_package(self) -> None:
        spare = "\n\ndef spare(net):\n    for one in net.modules():\n        torch.nn.init.xavier_uniform(one.weight)\n"
        put("tools/metrics.py", METRICS + spare)
        settings = settings_with(target_torch=Range.parse(">=2.6"))

        def told() -> list[str]:
            result, _ = run(settings)
            assert same(plain(settings), result)
            return [one.path for one in used(result) if one.code == "TL903"]

        assert [] == told()
        put("pyproject.toml", FILES["pyproject.toml"] + '[build-system]\nrequires = ["hatchling"]\n')
        assert ["tools/metrics.py"] == told()

    def test_requirements_are_of_no_interest_where_torch_is_given(self) -> None:
        settings = settings_with(target_torch=Range.parse(">=2.6"))
        run(settings)
        put("pyproject.toml", FILES["pyproject.toml"].replace("2.4", "2.9"))
        assert [] == run(settings)[1]

    def test_a_file_that_changes_while_it_is_linted_is_not_kept(self) -> None:
        def slow(files: Sequence[Path], settings: Settings, **options: Any) -> Result:
            result = lint(files, settings, **options)
            put("model.py", MODEL.replace("sum", "max"))
            return result

        files, context = files_of(["."], settings_with())
        cached.lint(files, settings_with(), Cache(".torchlint_cache"), slow, context=context)
        result, asked = run()
        assert ALL == asked
        assert same(plain(settings_with()), result)

    def test_what_went_wrong_is_tried_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        Path("model.py").chmod(0)
        if os.access("model.py", os.R_OK):
            pytest.skip("root may read everything")
        first, _ = run()
        assert ["model.py"] == [error.path for error in first.errors]
        Path("model.py").chmod(0o644)
        result, _ = run()
        assert same(plain(settings_with()), result)


def shown_in(run: Callable[[], Ran], monkeypatch: pytest.MonkeyPatch) -> tuple[Ran, list[str]]:
    """What a run gives, and the functions that rules were shown for it."""
    shown: list[str] = []
    show = linting._Run._shown

    def noted(self: Any, dispatch: Any, function: Any, lines: Any) -> Any:
        if function.parent is not None:
            shown.append(f"{function.module.path} {function.qualname}")
        return show(self, dispatch, function, lines)

    with monkeypatch.context() as patch:
        patch.setattr(linting._Run, "_shown", noted)
        return run(), shown


HELPERS = f"""{METRICS}

def worst(output):
    return output.max().item()
"""


class TestByFunction:
    """Of a file that has changed in one place, what was said of its other functions is said again."""

    @pytest.fixture(autouse=True)
    def _linted(self, project: Path) -> None:
        put("tools/metrics.py", HELPERS)
        run()

    def test_lines_that_are_moved(self, monkeypatch: pytest.MonkeyPatch) -> None:
        put("tools/metrics.py", f"# what is measured\n\n{HELPERS}")
        (result, asked), shown = shown_in(run, monkeypatch)
        assert (["tools/metrics.py"], []) == (asked, shown)
        assert [13] == [f.line for f in result.findings if f.path == "tools/metrics.py"]
        assert same(plain(settings_with()), result)

    def test_a_function_that_is_another(self, monkeypatch: pytest.MonkeyPatch) -> None:
        put("tools/metrics.py", HELPERS.replace("output.max()", "output.max().abs()"))
        (result, _), shown = shown_in(run, monkeypatch)
        assert {"tools/metrics.py worst"} == set(shown)
        assert same(plain(settings_with()), result)

    def test_again_after_a_run_in_which_another_file_changed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        put("plain.py", "x = 1\n")
        run()
        put("tools/metrics.py", f"# what is measured\n{HELPERS}")
        (result, _), shown = shown_in(run, monkeypatch)
        assert [] == shown
        assert same(plain(settings_with()), result)

    def test_a_constant_of_the_file_is_of_all_of_them(self, monkeypatch: pytest.MonkeyPatch) -> None:
        put("tools/metrics.py", f"LIMIT = 3\n{HELPERS}")
        (result, _), shown = shown_in(run, monkeypatch)
        assert {"tools/metrics.py Meter.update", "tools/metrics.py accuracy"} <= set(shown)
        assert same(plain(settings_with()), result)

    def test_a_method_beside_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        reads = HELPERS.replace("self.total = 0.0", "self.total = torch.zeros(1).cuda()")
        reads = reads.replace("self.total += loss.item()  # noqa: TL101", "print(self.total.item())")
        put("tools/metrics.py", reads)
        run()
        put("tools/metrics.py", reads.replace("torch.zeros(1).cuda()", "torch.zeros(1).cuda().cpu()"))
        (result, _), shown = shown_in(run, monkeypatch)
        assert "tools/metrics.py Meter.update" in shown
        assert "tools/metrics.py worst" not in shown
        assert same(plain(settings_with()), result)

    def test_a_method_beside_it_that_it_has_nothing_to_do_with(self, monkeypatch: pytest.MonkeyPatch) -> None:
        told = "    def told(self, x):\n        return x.sum().item()\n\n"
        told = HELPERS.replace("class Meter:\n", f"class Meter:\n{told}")
        put("tools/metrics.py", told)
        run()
        put("tools/metrics.py", told.replace("x.sum()", "x.mean()"))
        (result, _), shown = shown_in(run, monkeypatch)
        assert {"tools/metrics.py Meter.told"} == set(shown)
        assert same(plain(settings_with()), result)

    def test_a_loop_elsewhere_that_is_gone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        gone = TRAIN.replace("loss.backward()", "pass").replace("optimizer.step()", "pass")
        put("train.py", gone.replace("net(x.cuda())", "x"))
        put("tools/metrics.py", f"# what is measured\n{HELPERS}")
        result, _ = run()
        assert not any(f.path == "tools/metrics.py" and f.code == "TL101" for f in result.findings)
        assert same(plain(settings_with()), result)

    def test_lines_of_another_file_that_a_finding_tells(self) -> None:
        for first in ("# a\n", "# a\n# b\n", ""):
            put("train.py", f"{first}{TRAIN}")
            put("tools/metrics.py", f"{first}{HELPERS}")
            assert same(plain(settings_with()), run()[0])

    def test_lines_of_other_functions_that_a_finding_tells(self, monkeypatch: pytest.MonkeyPatch) -> None:
        head = "import torch\nfrom model import Net\n\n"
        train = "def train(loader, optimizer):\n    net = Net().cuda()\n    for x in loader:\n        loss = net(x.cuda()).sum()\n"
        train += "        loss.backward()\n        optimizer.step()\n        show(loss)\n"
        show = "\ndef show(loss):\n    print(loss.item())\n"
        put("loop.py", f"{head}{train}{show}")
        first, _ = run()
        assert [(13, [6])] == [
            (f.line, [one.line for one in f.related])
            for f in first.findings
            if f.code == "TL104" and f.path == "loop.py"
        ]
        for text in (
            f"{head}# a\n\n{train}{show}",
            f"{head}{train}# a\n# b\n{show}",
            f"{head}# a\n\n{train}# b\n{show}",
        ):
            put("loop.py", text)
            (result, _), shown = shown_in(run, monkeypatch)
            assert [] == [one for one in shown if one.startswith("loop.py")]
            assert same(plain(settings_with()), result)

    def test_a_fix_is_moved_with_its_finding(self) -> None:
        put("amp.py", AMP)
        run()
        put("amp.py", f"# in half precision\n{AMP}")
        result, _ = run()
        (fix,) = (finding.fix for finding in result.findings if finding.path == "amp.py" and finding.fix is not None)
        assert fix.edits
        assert same(plain(settings_with()), result)

    def test_of_many_files_it_is_not_kept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(cached, "FEW", 3)
        shutil.rmtree(".torchlint_cache")
        run()
        put("tools/metrics.py", f"# what is measured\n{HELPERS}")
        (result, _), shown = shown_in(run, monkeypatch)
        assert {"tools/metrics.py Meter.update", "tools/metrics.py accuracy"} <= set(shown)
        assert same(plain(settings_with()), result)

    @pytest.mark.parametrize("told", [None, 3, [3], [[]], {"a": 1}])
    def test_what_does_not_look_right_is_found_again(self, told: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        cache = Cache(".torchlint_cache")
        key = digest(cached._key(settings_with(), ".torchlint_cache"), b"links")
        kept = cache.load(key)
        kept["links"]["functions"] = [[*one[:4], told] for one in kept["links"]["functions"]]
        cache.save(key, kept)
        put("tools/metrics.py", f"# what is measured\n{HELPERS}")
        (result, _), shown = shown_in(run, monkeypatch)
        assert {"tools/metrics.py Meter.update", "tools/metrics.py accuracy"} <= set(shown)
        assert same(plain(settings_with()), result)


class TestProcesses:
    """What workers find out about what results hang on comes back with the results."""

    @pytest.fixture(autouse=True)
    def worth(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(parallel, "WORTH", 0)
        monkeypatch.setattr(parallel, "WORTH_HERE", 0)

    def run(self) -> tuple[Result, Links]:
        linter = parallel.Linter(2)
        files, context = files_of(["."], settings_with())
        cache = Cache(".torchlint_cache")
        result = cached.lint(files, settings_with(), cache, linter.lint, context=context)
        kept = cache.load(digest(cached._key(settings_with(), cache.directory), b"links"))
        links = unpacked(kept["links"])
        assert links is not None
        return result, links

    def test_as_in_one_process(self) -> None:
        result, links = self.run()
        shutil.rmtree(".torchlint_cache")
        alone, _ = run()
        kept = Cache(".torchlint_cache").load(digest(cached._key(settings_with(), ".torchlint_cache"), b"links"))
        in_one = unpacked(kept["links"])
        assert in_one is not None
        assert same(alone, result)
        assert set(in_one.hangs_on) == set(links.hangs_on)
        assert set(in_one.answers) == set(links.answers)
        for path, bits in in_one.hangs_on.items():
            assert set(chosen(in_one.atoms, bits)) >= set(chosen(links.atoms, links.hangs_on[path]))

    def test_what_files_say_by_themselves_as_in_one_process(self) -> None:
        # Otherwise the next run searches all files again for what only workers have asked of them.
        _, links = self.run()
        shutil.rmtree(".torchlint_cache")
        run()
        kept = Cache(".torchlint_cache").load(digest(cached._key(settings_with(), ".torchlint_cache"), b"links"))
        in_one = unpacked(kept["links"])
        assert in_one is not None
        assert in_one.told == links.told

    def test_forks_after_one_process_that_kept_what_rules_said_of_functions(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("torchlint.lint.executors._is_alone", lambda: True)
        train = TRAIN.replace("        meter.update", "        step(worst().item())\n        meter.update")
        train = train.replace("import Net\n", "import Net\nfrom worst import worst\n")
        put("worst.py", "import torch\n\ndef worst():\n    return torch.ones(3, device='cuda').max()\n")
        put("train.py", train)
        run()
        put("train.py", f"# with what is worst\n{train}")
        result, _ = self.run()
        assert any(f.path == "train.py" and "worst()" in f.message for f in result.findings)
        put("worst.py", "import numpy\n\ndef worst():\n    return numpy.ones(3).max()\n")
        result, _ = self.run()
        assert not any(f.path == "train.py" and "worst()" in f.message for f in result.findings)
        assert same(plain(settings_with()), result)

    @pytest.mark.parametrize("path", ["train.py", "model.py", "tools/metrics.py"])
    def test_after_a_change(self, path: str) -> None:
        self.run()
        put(path, FILES[path].replace("x.sum() > 0", "x.max() > 0").replace("loss.backward()", "pass"))
        assert same(plain(settings_with()), self.run()[0])


class TestKeys:
    @pytest.mark.parametrize(
        "changes",
        [
            {"codes": frozenset({"TL101"})},
            {"sieve": False},
            {"ignore_noqa": True},
            {"per_file_ignores": (("model.py", frozenset({"TL101"})),)},
            {"target_torch": Range.stated("2.5")},
            {"compiled": ("model:Net.*",)},
            {"accelerators": ("xpu",)},
        ],
        ids=lambda changes: next(iter(changes)),
    )
    def test_other_settings_share_nothing(self, changes: dict[str, Any]) -> None:
        first, _ = run()
        other = replace(settings_with(), **changes)
        result, asked = run(other)
        assert ALL == asked
        assert same(plain(other), result)
        again, asked = run()
        assert [] == asked
        assert same(first, again)

    def test_what_findings_do_not_hang_on_is_shared(self) -> None:
        run()
        shared = settings_with(output_format="json", fix=True, unsafe_fixes=True, show_fixes=True)
        assert [] == run(replace(shared, fixable=frozenset()))[1]

    def test_another_torchlint_shares_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        run()
        monkeypatch.setattr(cached, "identity", lambda: b"another")
        assert ALL == run()[1]

    def test_another_working_directory_shares_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        settings = settings_with()
        run(settings)
        monkeypatch.chdir("tools")
        result, asked = run(settings, ".", directory="../.torchlint_cache")
        assert ["__init__.py", "metrics.py"] == asked
        assert same(plain(settings), result)


def test_what_many_files_hang_on_together_is_kept_once() -> None:
    """Of transformers it was 160 MB of numbers, of which a cache keeps none."""
    atoms = [("text", f"{n}.py", f"{n}.py") for n in range(8_000)]
    shared = (1 << len(atoms)) - 1
    links = Links(atoms, {f"{n}.py": shared ^ (1 << n) for n in range(1_000)}, {}, [], {})
    data = packed(links)
    assert len(data["hang on"]) < 100_000
    assert links == unpacked(json.loads(json.dumps(data)))


def test_what_few_files_say_takes_no_room_for_the_others() -> None:
    """Of transformers 950 of 1,038 kinds are known of a few of its 2,883 files."""
    paths = [f"{n}.py" for n in range(3_000)]
    told = {"few": {"7.py": "1", "2999.py": "a b"}, "all": dict.fromkeys(paths, "0"), "none": {}}
    data = packed(Links([], {}, {}, paths, told))
    assert len(json.dumps(data["told"]["few"])) < 50
    links = unpacked(json.loads(json.dumps(data)))
    assert links is not None
    assert told == links.told


@pytest.mark.parametrize("column", [[None, "0"], [[0], "0\n1"], [[0, 1], "0"], [[2], "0"], [None, 0], ["0"], [0, "0"]])
def test_what_other_files_said_is_not_believed(column: list[Any]) -> None:
    data = packed(Links([], {}, {}, ["a.py", "b.py"], {}))
    assert unpacked({**data, "told": {"x": [None, "0\n1"]}}) is not None
    assert unpacked({**data, "told": {"x": column}}) is None


def test_a_file_that_asked_for_nothing_hangs_on_what_its_project_does_on_steps() -> None:
    project = Recording({"a.py": lambda: b"import torch\n"}, Home(os.getcwd()))
    links = noted(project, settings_with(), {"a.py": Depends((), 0)}, {})
    assert [("regions", "a.py"), ("renames", ""), ("steps", "a.py")] == [
        atom[:2] for atom in chosen(links.atoms, links.hangs_on["a.py"])
    ]


def test_numbers_stay_while_most_of_them_are_of_use() -> None:
    """To count all of transformers anew took 8 of the 14 seconds that an edit of one of its files cost."""

    def atoms() -> Sequence[Atom]:
        links = unpacked(
            Cache(".torchlint_cache").load(digest(cached._key(settings_with(), ".torchlint_cache"), b"links"))["links"]
        )
        assert links is not None
        return links.atoms

    run()
    before = atoms()
    put("far.py", "import torch\n\ndef far(x):\n    return x.sum().item()\n")
    run()
    assert len(before) < len(atoms()) and atoms()[: len(before)] == before
    for path in ("model.py", "train.py", "tools/metrics.py"):
        put(path, f"import torch\n\n\ndef other(x):\n    return x.{path[0]}()\n")
    run()
    assert len(atoms()) < len(before)


class TestClasses:
    """What answers hang on of a class is what somebody has looked at: a method, who stores an attribute, its head."""

    NETS = """\
import torch
from torch import nn

class Base(nn.Module):
    def forward(self, x):
        return self.body(x)

class Net(Base):
    limit = 3

    def __init__(self):
        super().__init__()
        self.scale = torch.ones(3).cuda()
        self.layer = nn.Linear(3, 3).cuda()

    def body(self, x):
        return self.layer(x) * self.scale

    @property
    def size(self):
        return self.scale.sum()

    def keep(self, name, value):
        setattr(self, name, value)

    def fill(self, x):
        self.parts = [x.sum().cuda(), x.mean().cuda()]
        self.table = {"a": x.cuda()}

    def first(self):
        return self.parts[0]

    def entry(self):
        return self.table["a"]

    def told(self):
        return "a net"
"""
    USES = """\
import torch
from nets import Net

def train(loader, optimizer):
    net = Net()
    net.keep("seen", 0)
    net.fill(torch.ones(3))
    for x in loader:
        out = net(x)
        if out.sum() > net.limit:
            print(net.size.item(), net.scale.cpu(), net.seen, net.first().item(), net.entry().cpu())
        loss = out.sum()
        loss.backward()
        optimizer.step()
"""

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("return self.layer(x) * self.scale", "return (self.layer(x) * self.scale).cpu()"),
            ("return self.layer(x) * self.scale", "return [1, 2]"),
            ("self.scale = torch.ones(3).cuda()", "self.scale = torch.ones(3)"),
            ("self.scale = torch.ones(3).cuda()", "self.scale = 3"),
            ("self.scale = torch.ones(3).cuda()", "self.register_buffer('scale', torch.ones(3))"),
            ("    @property\n", ""),
            ("return self.scale.sum()", "return 3"),
            ("def body(self, x)", "def other(self, x)"),
            ("limit = 3", "limit = torch.ones(1).cuda()"),
            ("class Net(Base)", "class Net(nn.Module)"),
            ("class Net(Base)", "class Net"),
            ("class Base(nn.Module)", "class Base"),
            ("return self.body(x)", "return self.body(x).cpu()"),
            ("setattr(self, name, value)", "setattr(self, name, torch.ones(3).cuda())"),
            ("    def told", "    def forward(self, x):\n        return x.cpu()\n\n    def told"),
            ("    def told", "    def __call__(self, x):\n        return 3\n\n    def told"),
            ("x.sum().cuda()", "3"),
            ("x.sum().cuda()", "x.sum().cpu()"),
            ('"a": x.cuda()', '"a": x.cpu()'),
            ('"a": x.cuda()', '"b": 3'),
            ("return self.parts[0]", "return self.parts[1].cpu()"),
            ('return "a net"', "self.parts = [3]"),
            ('return "a net"', "self.parts.append(3)"),
            ('return "a net"', "self.table = {}"),
            ('return "a net"', "self.scale = 3"),
            ('return "a net"', "self.layer = None"),
            ('return "a net"', "return self.scale.item()"),
        ],
    )
    def test_an_edit_and_back(self, old: str, new: str, project: Path) -> None:
        put("nets.py", self.NETS)
        put("uses.py", self.USES)
        first, _ = run()
        assert {f.path for f in first.findings} >= {"uses.py"}
        assert old in self.NETS
        for text in (self.NETS.replace(old, new), self.NETS):
            put("nets.py", text)
            result, _ = run()
            assert same(plain(settings_with()), result)

    def test_what_a_method_hands_on_to_the_object_itself(self, project: Path) -> None:
        alone = "import torch\nfrom torch import nn\n\nclass Alone(nn.Module):\n    def forward(self, x):\n        return x.sum().item()\n\n"
        alone += "    def again(self, x):\n        return self({})\n"
        uses = "from alone import Alone\n\ndef train(loader, model, optimizer):\n    alone = Alone()\n    for x in loader:\n"
        uses += "        model(x.cuda()).sum().backward()\n        optimizer.step()\n        alone.again(x)\n"
        put("uses.py", uses)
        for handed in ("x.cuda()", "x.cpu()", "x.cuda()"):
            put("alone.py", alone.format(handed))
            assert same(plain(settings_with()), run()[0])

    def test_a_method_that_no_other_file_asks_for(self, project: Path) -> None:
        put("nets.py", self.NETS)
        put("uses.py", self.USES)
        run()
        put("nets.py", self.NETS.replace("a net", "a large net"))
        result, asked = run()
        assert ["nets.py"] == asked
        assert same(plain(settings_with()), result)


def rows(kept: Any, count: int, byte: bytes = b"\0") -> str:
    """So many rows of bits, none or all of them set."""
    width = (len(kept["links"]["atoms"]) + 7) // 8
    return b64encode(zlib.compress(byte * (width * count + (len(kept["links"]["atoms"]) % 8 == 0)))).decode()


class TestNeverTrusted:
    @pytest.mark.parametrize(
        "damage",
        [
            lambda data: b"",
            lambda data: data[:-1],
            lambda data: data[: len(data) // 2],
            lambda data: data.replace(b"TL101", b"TL102"),
            lambda data: bytes(len(data)),
            lambda data: b"{}",
            lambda data: data + b" ",
        ],
        ids=("empty", "cut", "halved", "changed", "zeros", "json", "longer"),
    )
    def test_a_damaged_entry(self, damage: Callable[[bytes], bytes]) -> None:
        first, _ = run()
        entry().write_bytes(damage(entry().read_bytes()))
        result, asked = run()
        assert ALL == asked
        assert same(first, result)
        assert [] == run()[1]

    @pytest.mark.parametrize(
        "damage", [lambda data: b"", lambda data: data[:-1], lambda data: data.replace(b"text", b"tixt")]
    )
    def test_damaged_links(self, damage: Callable[[bytes], bytes]) -> None:
        run()
        entry("links").write_bytes(damage(entry("links").read_bytes()))
        put("plain.py", "x = 1\n")
        result, asked = run()
        assert sorted([*TORCH, "plain.py"]) == sorted(asked)
        assert same(plain(settings_with()), result)

    @pytest.mark.parametrize(
        "change",
        [
            lambda kept: kept.clear(),
            lambda kept: kept.update(links=[]),
            lambda kept: kept.update(frame=3),
            lambda kept: kept.update(digests=[]),
            lambda kept: kept["links"].update(atoms=[["text"]]),
            lambda kept: kept["links"].update(atoms=[[1, 2, 3]]),
            lambda kept: kept["links"].update({"hang on": "no rows"}),
            lambda kept: kept["links"].update({"hang on": rows(kept, 0)}),
            lambda kept: kept["links"].update({"hang on": rows(kept, 10**6)}),
            lambda kept: kept["links"].update({"files": ["model.py"], "hang on": rows(kept, 1, b"\xff")}),
            lambda kept: kept["links"].update(files=["model.py"]),
            lambda kept: kept["links"].update(
                {"answers": [["own", "'model.py'", {"Thread": []}]], "answers hang on": rows(kept, 1)}
            ),
            lambda kept: kept["links"]["told"].update(imports={"model.py": 1}),
            lambda kept: kept["links"]["told"].update(words="one line"),
            lambda kept: kept["links"].update(paths=["model.py"]),
        ],
    )
    def test_links_that_say_something_else(self, change: Callable[[Any], object]) -> None:
        run()
        cache = Cache(".torchlint_cache")
        key = digest(cached._key(settings_with(), ".torchlint_cache"), b"links")
        kept = cache.load(key)
        change(kept)
        cache.save(key, kept)
        put("plain.py", "x = 1\n")
        result, asked = run()
        assert sorted([*TORCH, "plain.py"]) == sorted(asked)
        assert same(plain(settings_with()), result)

    def test_an_entry_of_another_kind_of_run_under_this_name(self) -> None:
        run(settings_with(sieve=False))
        (other,) = (one for one in entries() if b'"rows"' in one.read_bytes())
        run()
        shutil.copy(other, entry())
        assert ALL == run()[1]

    @pytest.mark.parametrize(
        "entry",
        [
            None,
            [],
            {"rows": [], "said": {}},
            {"rows": {"model.py": 3}, "said": {}},
            {"rows": {"model.py": [[1, 2, 3, 4], "0"]}, "said": {}},
            {"rows": {}, "said": {"model.py": ["0", 7, []]}},
        ],
        ids=repr,
    )
    def test_an_entry_that_says_something_else(self, entry: Any) -> None:
        cache = Cache(".torchlint_cache")
        cache.save(cached._key(settings_with(), cache.directory), entry)
        result, asked = run()
        assert ALL == asked
        assert same(plain(settings_with()), result)

    @pytest.mark.parametrize(
        "text", [None, [], [[], "1"], [[[1]], 0], [[[[1] * 6, ["a"] * 4, 1, None, [], None]], 0]], ids=repr
    )
    def test_findings_that_are_none(self, text: Any) -> None:
        run()
        cache = Cache(".torchlint_cache")
        key = cached._key(settings_with(), cache.directory)
        entry = cache.load(key)
        entry["said"]["model.py"][2] = text
        cache.save(key, entry)
        result, asked = run()
        assert ["model.py"] == asked
        assert same(plain(settings_with()), result)

    def test_a_directory_that_can_not_be_made(self) -> None:
        Path("file").write_text("")
        told: list[str] = []
        files, context = files_of(["."], settings_with())
        cache = Cache("file/cache")
        result = cached.lint(files, settings_with(), cache, Linter(), context=context, warn=told.append)
        assert same(plain(settings_with()), result)
        assert ["file/cache: Not a directory; nothing is kept for the next run"] == told


class TestDirectory:
    def test_it_hides_itself(self) -> None:
        run()
        assert "# Made by torchlint.\n*\n" == Path(".torchlint_cache/.gitignore").read_text()
        tag = Path(".torchlint_cache/CACHEDIR.TAG").read_text()
        assert tag.startswith("Signature: 8a477f597d28d172789f06886806bc55\n")

    def test_it_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        run()
        old = entries()
        for one in old:
            os.utime(one, (1, 1))
        monkeypatch.setattr("torchlint.cache.store.LIMIT", int(1.5 * sum(one.stat().st_size for one in old)))
        run(settings_with(sieve=False))
        assert set() == set(old) & set(entries())
        assert 2 == len(entries())

    def test_an_entry_above_the_limit_is_kept_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("torchlint.cache.store.LIMIT", 1)
        run()
        assert [entry()] == entries()
        assert [] == run()[1]

    def test_clean_deletes_it(self) -> None:
        run()
        cache = Cache(".torchlint_cache")
        assert [] == cache.clean()
        assert not os.path.exists(cache.directory)
        assert None is cache.clean()

    @pytest.mark.parametrize("name", ["CACHEDIR.TAG", "entry"])
    def test_clean_says_of_a_file_that_it_can_not_be_read(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        run()
        part = name if name != "entry" else entry().name
        lstat = os.lstat

        def locked(path: Any, **options: Any) -> os.stat_result:
            if os.path.basename(path) == part:
                raise PermissionError(13, "Permission denied", path)
            return lstat(path, **options)

        with monkeypatch.context() as patched:
            patched.setattr(os, "lstat", locked)
            with pytest.raises(PermissionError, match=part):
                Cache(".torchlint_cache").clean()
        assert entries()


class TestCommand:
    @pytest.fixture
    def check(self, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
        def run(*arguments: str) -> tuple[int, str, str]:
            code = cli.main(["check", "--output-format", "concise", *arguments])
            said = capsys.readouterr()
            return code, said.out, said.err

        return run

    def test_the_same_is_said_again(self, check: Callable[..., tuple[int, str, str]]) -> None:
        first = check()
        assert (1, "") == (first[0], first[2])
        assert first == check() == check("--no-cache")
        assert 3 == len(entries())

    @pytest.mark.parametrize("form", ["full", "json", "sarif", "gitlab", "junit", "grouped", "rdjson"])
    def test_in_all_formats(self, check: Callable[..., tuple[int, str, str]], form: str) -> None:
        check()
        assert check("--output-format", form, "-n") == check("--output-format", form)

    def test_no_cache_writes_none(self, check: Callable[..., tuple[int, str, str]]) -> None:
        check("--no-cache")
        assert not Path(".torchlint_cache").exists()

    def test_nothing_is_kept_of_standard_input(
        self, check: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        import io

        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"import torch\n")))
        check("-", "--stdin-filename", "model.py")
        assert not Path(".torchlint_cache").exists()

    def test_it_lies_where_it_is_told_to(
        self, check: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch, project: Path
    ) -> None:
        put("torchlint.toml", 'cache-dir = "c"\n')
        check()
        monkeypatch.setenv("TORCHLINT_CACHE_DIR", "b")
        check()
        check("--cache-dir", "a")
        assert [3, 3, 2] == [len(entries(name)) for name in "abc"]
        assert not Path(".torchlint_cache").exists()

    def test_it_lies_in_the_directory_of_the_project(
        self, check: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir("tools")
        check()
        assert [] == entries()
        assert 1 <= len(entries("../.torchlint_cache"))

    def test_a_directory_that_can_not_be_written_is_told_once(
        self, check: Callable[..., tuple[int, str, str]], project: Path
    ) -> None:
        Path("file").write_text("")
        code, out, err = check("--cache-dir", "file")
        assert (code, out) == check("--no-cache")[:2]
        assert f"warning: {project}/file: File exists; nothing is kept for the next run\n" == err

    def test_clean(
        self, check: Callable[..., tuple[int, str, str]], capsys: pytest.CaptureFixture[str], project: Path
    ) -> None:
        check()
        assert 0 == cli.main(["clean"])
        assert f"Removing cache at: {project}/.torchlint_cache\n" == capsys.readouterr().err
        assert not Path(".torchlint_cache").exists()
        assert 0 == cli.main(["clean"])
        assert "" == capsys.readouterr().err

    def test_fixes_start_from_what_is_known(
        self, check: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put("book.py", "import torch\nscaler = torch.cuda.amp.GradScaler()\n")
        check()
        expected = check("--diff", "-n")
        assert expected == check("--diff")
        assert "+scaler = torch.amp.GradScaler" in expected[1]
        asked: list[object] = []
        lint = parallel.Linter.lint

        def counted(self: parallel.Linter, files: Any, settings: Settings, **options: Any) -> Result:
            asked.append(options.get("buffers"))
            return lint(self, files, settings, **options)

        monkeypatch.setattr(parallel.Linter, "lint", counted)
        assert expected == check("--diff")
        assert [["book.py"]] == [list(one) for one in asked if isinstance(one, dict)]

    def test_processes_at_once(self, project: Path) -> None:
        command = [sys.executable, "-m", "torchlint", "check", "--output-format", "concise", "-j", "1"]
        running = [
            subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)
        ]
        said = {process.communicate() for process in running}
        assert 1 == len(said)
        assert 3 == len(entries())
        assert {"CACHEDIR.TAG", ".gitignore", *(entry.name for entry in entries())} == set(
            os.listdir(".torchlint_cache")
        )
        again = subprocess.run(command, cwd=project, capture_output=True, check=False)
        assert said == {(again.stdout, again.stderr)}


# Random edits: what is kept from run to run must never show.

SNIPPETS: Mapping[str, Sequence[str]] = {
    "train.py": (
        TRAIN,
        TRAIN.replace("optimizer.step()", "pass").replace("loss.backward()", "pass"),
        TRAIN.replace("meter.update", "# meter.update"),
        TRAIN.replace("    for x, y", "    # a comment\n    for x, y"),
        TRAIN.replace("net = Net()", "net = torch.compile(Net())"),
        TRAIN.replace("from tools.metrics import Meter, accuracy", "from tools import Meter, accuracy"),
        TRAIN.replace("Meter, accuracy", "Meter, accuracy as share").replace("accuracy(loss", "share(loss"),
        "import torch\nfrom other import *\n\ndef go(model):\n    step(model)\n",
        TRAIN.replace("    for x, y", "    task = made()\n    for x, y").replace(
            "optimizer.step()", "task.take_step(optimizer, loss)"
        ),
        "import torch\n\ndef train(task, loader, optimizer, model):\n    for x in loader:\n        task.take_step(optimizer, model(x))\n",
    ),
    "model.py": (
        MODEL,
        MODEL.replace("torch.nn.Module", "Base").replace("import torch\n", "import torch\nfrom other import Base\n"),
        MODEL.replace("    def forward", "    @torch.compile\n    def forward"),
        MODEL.replace("    def forward", "    @torch.no_grad()\n    def forward"),
        MODEL.replace("x.sum() > 0", "self.training"),
        MODEL.replace("Net", "Network"),
        MODEL + "\ndef helper(x):\n    return x.item()\n",
        "def broken(:\n",
    ),
    "tools/__init__.py": (
        "",
        "from .metrics import *\n",
        "from .metrics import Meter, accuracy\n",
        "import torch\n",
        "import torch\nassert torch.__version__ >= '2.9'\n",
    ),
    "tools/metrics.py": (
        METRICS,
        METRICS.replace("  # noqa: TL101", ""),
        METRICS.replace("loss.item()", "float(loss)"),
        METRICS.replace("mean().item()", "mean()"),
        METRICS.replace("def update", "def add"),
        METRICS.replace("def accuracy", "@torch.compile\ndef accuracy"),
        "\n\n" + METRICS,
    ),
    "other.py": (
        "import torch\nclass Base(torch.nn.Module):\n    pass\n",
        "import torch\nclass Base:\n    pass\n",
        (
            "from tools.metrics import Meter as M\nimport torch\n\ndef loop(opt, loss):\n    m = M()\n"
            "    for _ in range(9):\n        loss.backward()\n        opt.step()\n        m.update(loss, 1)\n"
        ),
        "from tools.metrics import Meter\n\nclass Better(Meter):\n    def update(self, loss, n):\n        return loss.cuda().item()\n",
        "class Task:\n    def take_step(self, optimizer, loss):\n        optimizer.step()\n        return loss.cuda().item()\n",
        "class Task:\n    def take_step(self, optimizer, loss):\n        loss.backward()\n        optimizer.step()\n        return loss.cuda().item()\n",
        "import torch as t\nfrom torch import compile as c\nfrom model import Net\nnet = c(Net())\n",
        "import torch\ntorch._dynamo.config.capture_scalar_outputs = True\n",
        "import torch\nfrom torch.utils.data import DataLoader as DL\n",
        (
            "import torch\nfrom model import Net\n\ndef step(net: Net):\n    with torch.no_grad():\n"
            "        return net(torch.ones(3)).item()\n"
        ),
    ),
    "pyproject.toml": (FILES["pyproject.toml"], '[project]\nname = "x"\ndependencies = ["torch>=2.9"]\n'),
    "tools/requirements.txt": ("torch==2.1\n", "numpy\n-c ../pins.txt\n"),
    "pins.txt": ("torch<2.3\n",),
}
EDITS = st.one_of(
    *(st.tuples(st.just(path), st.sampled_from([*texts, None]), st.booleans()) for path, texts in SNIPPETS.items()),
    st.tuples(st.just("settings"), st.integers(0, 3), st.booleans()),
)
VARIANTS: Sequence[Mapping[str, Any]] = (
    {},
    {"codes": frozenset(code for code in CODES if code.startswith("TL1"))},
    {"compiled": ("model:*",)},
    {"ignore_noqa": True},
)


@contextmanager
def directory(path: Path) -> Iterator[None]:
    before = os.getcwd()
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    os.chdir(path)
    try:
        yield
    finally:
        os.chdir(before)


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(edits=st.lists(EDITS, min_size=1, max_size=6))
@example(edits=[("train.py", SNIPPETS["train.py"][1], True), ("train.py", TRAIN, True)])
@example(edits=[("other.py", SNIPPETS["other.py"][0], True), ("model.py", SNIPPETS["model.py"][1], True)])
@example(edits=[("tools/requirements.txt", "torch==2.1\n", True), ("train.py", None, False)])
def test_results_with_a_cache_are_those_without(tmp_path: Path, edits: Sequence[tuple[str, Any, bool]]) -> None:
    with directory(tmp_path / "edited"):
        for path, text in FILES.items():
            put(path, text)
        variant = settings_with()
        for path, text, everything in [("settings", 0, True), *edits]:
            if path == "settings":
                variant = (
                    settings_with(**VARIANTS[text])
                    if "codes" not in VARIANTS[text]
                    else replace(settings_with(), **VARIANTS[text])
                )
            elif text is None:
                Path(path).unlink(missing_ok=True)
            else:
                put(path, text)
            paths = ["."] if everything else [name for name in ("train.py", "tools") if os.path.exists(name)]
            assert same(plain(variant, *paths), run(variant, *paths)[0])
