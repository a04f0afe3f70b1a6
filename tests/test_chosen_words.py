"""What a program does where an option is a word that nothing gives it, or rare calls alone, runs on no step."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchlint import api

RENDERER = """\
from torch import nn

class Renderer(nn.Module):
    def forward(self, x, kind, add_noise=True):
        if kind == "volume":
            return self.volume(x)
        elif kind == "phong":
            return self.phong(x)
        elif kind == "surface":
            return self.surface(x)

    def volume(self, x):
        return x.sum().item()

    def phong(self, x):
        return x.mean().item()

    def surface(self, x):
        return x.max().item()
"""
TRAINER = """\
class Trainer:
    def __init__(self, model, optimizer, cfg):
        self.model, self.optimizer = model, optimizer
        self.kind = cfg["kind"]

    def step(self, x):
        loss = self.model(x.cuda(), self.kind)
        loss.backward()
        self.optimizer.step()

    def show(self, x):
        self.model(x.cuda(), "volume", add_noise=False)
        self.model(x.cuda(), "phong", add_noise=False)
"""
TRAIN = """\
import torch
from renderer import Renderer
from trainer import Trainer

if __name__ == "__main__":
    trainer = Trainer(Renderer().cuda(), optimizer, cfg)
    for step, x in enumerate(loader):
        trainer.step(x)
        if step % 1000 == 0:
            trainer.show(x)
"""
CONFIGURATION = "training:\n  kind: volume\n  rate: 0.1\n"
FILES = {"renderer.py": RENDERER, "trainer.py": TRAINER, "train.py": TRAIN, "configs/default.yaml": CONFIGURATION}


def told(root: Path, name: str, files: dict[str, str]) -> list[str]:
    """The lines of a file that wait for the device on a step."""
    (root / ".git").mkdir()
    for place, text in files.items():
        path = root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    result = api.check([root / name], select=["TL101", "TL106"], preview=True, isolated=True)
    assert not result.errors
    lines = files[name].splitlines()
    return [lines[one.line - 1].strip() for one in result.findings]


def test_words_that_rare_calls_give_or_nobody(tmp_path: Path) -> None:
    assert told(tmp_path, "renderer.py", FILES) == ["return x.sum().item()"]


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        # A configuration has the word, be it the key of a part that is chosen, or a page.
        ({"configs/phong.yaml": "training: {kind: phong}\n"}, ["sum", "mean"]),
        ({"README.md": "Train with `kind: surface` for surfaces.\n"}, ["sum", "max"]),
        ({"run.sh": "python train.py --kind=phong\n"}, ["sum", "mean"]),
        ({"docs/usage.md": "    python train.py --kind surface\n"}, ["sum", "max"]),
        ({"configs/deep.yaml": "training: {kind: volume, phong: {shine: 1}}\n"}, ["sum", "mean"]),
        ({"configs/deep.yaml": "training: {kind: volume, phongs: 1, blinn_phong: 2}\n"}, ["sum"]),
        ({"configs/run.YAML": "kind: phong\n"}, ["sum", "mean"]),
        ({"USAGE.MD": "`--kind phong`\n"}, ["sum", "mean"]),
        ({"args.txt": "--kind=phong\n"}, ["sum", "mean"]),
        ({"Makefile": "all:\n\tpython train.py KIND=phong\n"}, ["sum", "mean"]),
        ({"jobs/run.sbatch": "for kind in phong:4; do train; done\n"}, ["sum", "mean"]),
        ({".github/workflows/run.yml": "run: python train.py --kind phong\n"}, ["sum", "mean"]),
        ({"outputs/a.yaml": "kind: phong\n"}, ["sum", "mean"]),
        ({"node_modules/a.json": '["phong"]\n'}, ["sum"]),
        ({"data.csv": "phong\n"}, ["sum"]),
        # So has the program: a default, a table, a choice, the help for an option.
        ({"options.py": 'DEFAULTS = {"kind": "surface"}\n'}, ["sum", "max"]),
        ({"options.py": 'import argparse\nargparse.ArgumentParser().add_argument("--kind", help="volume or surface")\n'}, ["sum", "max"]),
        ({"options.py": 'p.add_argument("--kind",\n    help="volume (the default) "\n         "or surface")\n'}, ["sum", "max"]),
        ({"options.py": 'p.add_argument("--kind", choices="volume surface".split())\n'}, ["sum", "max"]),
        ({"options.py": 'p.add_argument("--kind", metavar="{volume,surface}")\n'}, ["sum", "max"]),
        ({"options.py": 'p.parse_args(["--kind=surface"])\n'}, ["sum", "max"]),
        ({"options.py": 'p.parse_args("--kind surface".split())\n'}, ["sum", "max"]),
        ({"options.py": 'kind: str = field(default=None, metadata={"help": "volume or surface"})\n'}, ["sum", "max"]),
        ({"options.py": '"""Usage:\n    train.py (volume | surface)\n"""\n'}, ["sum", "max"]),
        ({"options.py": '"""Try it:\n    train.py --kind surface\n"""\n'}, ["sum", "max"]),
        ({"options.py": "# python -m train model=surface\n"}, ["sum", "max"]),
        ({"options.py": 'kind = "volume"  # or surface\n'}, ["sum", "max"]),
        # What a text says of something else gives nothing.
        ({"options.py": '"""The surface of a body."""\n\nsurface = 1  # a surface\nprint("surface of", surface)\n'}, ["sum"]),
        ({"options.py": 'p.add_argument("--kind", help="volume, surfaces, sub-surface or x_surface")\n'}, ["sum"]),
        # What tests give, and what is compared, gives nothing.
        ({"tests/test_renderer.py": 'def test_it():\n    assert Renderer()(x, "surface")\n'}, ["sum"]),
        ({"check.py": 'def check(cfg):\n    return cfg["kind"] in ("volume", "surface")\n'}, ["sum"]),
        # A call that is not rare.
        ({"train.py": TRAIN.replace("step % 1000 == 0", "True")}, ["sum", "mean"]),
        # Others may set what a library has.
        ({"hubconf.py": "from renderer import Renderer\n"}, ["sum", "mean", "max"]),
        # No call says that these are words of one option.
        ({"trainer.py": TRAINER.replace('"volume"', "kind").replace('"phong"', "kind")}, ["sum", "mean", "max"]),
    ],
)  # fmt: skip
def test_words_that_are_given(tmp_path: Path, change: dict[str, str], lines: list[str]) -> None:
    assert told(tmp_path, "renderer.py", FILES | change) == [f"return x.{one}().item()" for one in lines]


def test_words_of_texts_in_other_encodings(tmp_path: Path) -> None:
    (tmp_path / "run.ps1").write_text("python train.py --kind phong\n", encoding="utf-16")

    assert told(tmp_path, "renderer.py", FILES) == ["return x.sum().item()", "return x.mean().item()"]


@pytest.mark.parametrize("hides", ["folder", "size"])
def test_words_that_nobody_can_tell(tmp_path: Path, hides: str) -> None:
    """A folder elsewhere that a link leads to, or a text that is too large to be read, may have any word."""
    project = tmp_path / "project"
    project.mkdir()
    if hides == "folder":
        (project / "configs-of-all").symlink_to(tmp_path, target_is_directory=True)
    else:
        (project / "notes.md").write_text("x" * 300_000, encoding="utf-8")

    assert len(told(project, "renderer.py", FILES)) == 3


EVENTS = """\
import torch

def tell(event, loss, state):
    {asked}

def train(model, loader, optimizer):
    model.cuda()
    state = dict(loss=0.0, sum=torch.zeros((), device="cuda"))
    for epoch in range(10):
        for x in loader:
            loss = model(x.cuda()).mean()
            loss.backward()
            optimizer.step()
            tell("taken", loss, state)
        {after}

if __name__ == "__main__":
    train(*torch.load("begun.pt"))
"""
ASKED = """if event == "taken":
        state["loss"] += loss.item()
    elif event == "over":
        state["loss"] = state["sum"].item()"""
MATCHED = """match event:
        case "taken":
            state["loss"] += loss.item()
        case "over":
            state["loss"] = state["sum"].item()"""


@pytest.mark.parametrize("asked", [ASKED, MATCHED])
@pytest.mark.parametrize(
    ("after", "is_told"),
    [
        ('tell("over", loss, state)', False),
        ('if epoch: tell("over", loss, state)', False),
        ('    tell("over", loss, state)', True),
    ],
)
def test_words_that_are_told_behind_the_loop_of_the_steps(
    tmp_path: Path, asked: str, after: str, is_told: bool
) -> None:
    lines = ['state["loss"] += loss.item()', 'state["loss"] = state["sum"].item()'][: 1 + is_told]

    assert told(tmp_path, "train.py", {"train.py": EVENTS.format(asked=asked, after=after)}) == lines


SCRIPT = """\
import argparse
import torch

def main(args):
    for x, y in loader:
        loss = torch.nn.functional.mse_loss(model(x.cuda()), y.cuda())
        loss.backward()
        optimizer.step()
        {condition}:
            seen.append(loss.item())

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--norm", type=str, default="brief")
    parser.add_argument("--name", type=str)
    main(parser.parse_args())
"""


@pytest.mark.parametrize(
    ("condition", "is_told"),
    [
        ('if args.norm == "full"', False),
        ('if args.norm in ("full", "long")', False),
        ('if not args.norm != "full"', False),
        ('if getattr(args, "norm", "brief") == "full"', False),
        ('if args.norm == "brief"', True),
        ('if args.norm in ("full", "brief")', True),
        ('if args.norm != "full"', True),
        # There has to be another word for it.
        ('if args.name == "full"', True),
        # What a model of a library is, its files say; a batch, what is in it.
        ('if model.config.norm == "full"', True),
        ('if x["norm"] == "full"', True),
        ("if args.norm == full", True),
    ],
)
def test_options_of_a_command_line(tmp_path: Path, condition: str, is_told: bool) -> None:
    files = {"train.py": SCRIPT.format(condition=condition)}

    assert told(tmp_path, "train.py", files) == ["seen.append(loss.item())"] * is_told


@pytest.mark.parametrize(
    ("line", "is_told"),
    [
        ("args.norm = args.name.lower()", True),
        ("args.norm: str = input()", True),
        ("args.norm, args.n = input(), 1", True),
        ("[n, (args.norm, _)] = read()", True),
        ("for args.norm in sys.argv: pass", True),
        ("with opened() as args.norm: pass", True),
        ("args.norm += input()", True),
        ("args.__dict__['norm'] = input()", True),
        ("setattr(args, 'norm', input())", True),
        ("vars(args).update(norm=input())", True),
        ("args.__dict__.update({'norm': input()})", True),
        ("args = args._replace(norm=input())", True),
        ("args = dataclasses.replace(args, norm=input())", True),
        ("OmegaConf.update(cfg, 'norm', input())", True),
        ("parser.set_defaults(norm=input())", True),
        ("args = argparse.Namespace(norm=input())", True),
        # Others have something of that name, too.
        ("self.norm, n = input(), 1", False),
        ("setattr(self, 'norm', input())", False),
        ("bar.update(norm=input())", False),
        ("args.update(rate=input(), name=args.norm)", False),
        ("table[args.norm], n = input(), 1", False),
        ("print(args.norm, end=input())", False),
        ("vars(args).update(norm='short')", False),
    ],
)
def test_an_option_that_the_program_sets_itself(tmp_path: Path, line: str, is_told: bool) -> None:
    script = SCRIPT.format(condition='if args.norm == "full"')
    set_here = script.replace("    for x, y", f"    {line}\n    for x, y")

    assert told(tmp_path, "train.py", {"train.py": set_here}) == ["seen.append(loss.item())"] * is_told


HANDED_ON = """\
import argparse
import torch

class Loss:
    def __init__(self, norm):
        self.norm = norm

    def of(self, x, y, kind):
        loss = torch.nn.functional.mse_loss(x, y.cuda())
        if kind == "rare":
            seen.append(loss.item())
        if self.norm == "rare":
            seen.append(loss.max().item())
        return loss

def main(opt):
    kind = opt.kind
    criterion = Loss(norm=opt.norm)
    for x, y in loader:
        loss = criterion.of(model(x.cuda()), y, kind)
        loss.backward()
        optimizer.step()

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", default="mean")
    parser.add_argument("--norm", default="sum")
    main(parser.parse_args())
"""


def test_options_that_are_handed_on(tmp_path: Path) -> None:
    assert told(tmp_path, "train.py", {"train.py": HANDED_ON}) == []


def test_what_is_handed_on_of_no_option(tmp_path: Path) -> None:
    handed_on = HANDED_ON.replace("kind = opt.kind", "kind = device.type").replace("opt.norm", "model.norm")

    assert told(tmp_path, "train.py", {"train.py": handed_on}) == [
        "seen.append(loss.item())",
        "seen.append(loss.max().item())",
    ]


HEAD = """\
import torch

class Head(torch.nn.Module):
    export = False
    boxes = False

    def forward(self, x):
        x = x.cuda()
        if self.boxes:
            return self.converted(x)
        return x

    def converted(self, x):
        return x * x.max().item()
"""
SETS = "model = load()\nmodel.head.boxes = True\n"


@pytest.mark.parametrize(
    ("more", "is_told"),
    [
        ({}, False),
        ({"export.py": f"import torch\n{SETS}torch.onnx.export(model, x, 'model.onnx')\n"}, False),
        ({"export.py": f"import torch\n{SETS}torch.jit.trace(model, x)\n"}, False),
        ({"detect.py": SETS}, True),
        ({"export.py": f"import torch\n{SETS}torch.onnx.export(model, x, 'm.onnx')\n", "detect.py": SETS}, True),
        ({"detect.py": "def turn_on(model):\n    setattr(model, 'boxes', True)\n"}, True),
        ({"other.py": "from head import Head\nclass Boxes(Head):\n    boxes = True\n"}, True),
        ({"other.py": "from head import Head\nclass Boxes(Head):\n    def on(self):\n        self.boxes = 1\n"}, True),
    ],
)
def test_a_switch_that_only_an_export_turns_on(tmp_path: Path, more: dict[str, str], is_told: bool) -> None:
    assert bool(told(tmp_path, "head.py", {"head.py": HEAD, **more})) is is_told
