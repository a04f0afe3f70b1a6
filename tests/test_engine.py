"""From files to findings: what a run reads, what it reports, and what a fault costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest

import torchlint.lint.run
from torchlint.lint.run import Result, lint
from torchlint.rule import Rule, load
from torchlint.rule.site import Site
from torchlint.settings.config import Settings
from torchlint.system.fault import FileError
from torchlint.text.finding import Finding, Severity
from torchlint.torch_api.version import Range

STEP = "import torch\nfor batch in loader:\n    loss = model(batch.cuda()).sum()\n    loss.backward()\n    total += loss.item()\n"
PARALLEL = "import torch\ntorch.nn.DataParallel(model)\n"


def run(files: dict[str, str], codes: str = "TL101 TL801", **changes: object) -> Result:
    wanted = frozenset(codes.split())
    settings = replace(Settings(codes=wanted, fixable=wanted), **changes)  # type: ignore[arg-type]
    return lint({path: text.encode() for path, text in files.items()}, settings)


def told(result: Result) -> list[str]:
    return [f"{finding.path}:{finding.line} {finding.code}" for finding in result.findings]


# What is reported


def test_nothing_is_found_in_nothing() -> None:
    result = run({})

    assert ((), 0, 0, ()) == (result.findings, result.suppressed, result.files, result.errors)


def test_files_without_torch_hold_no_findings() -> None:
    assert [] == told(run({"a.py": STEP.replace("import torch\n", "import other\n").replace(".cuda()", "")}))


def test_findings_come_in_order() -> None:
    result = run({"b.py": STEP + PARALLEL, "a.py": PARALLEL})

    assert ["a.py:2 TL801", "b.py:5 TL101", "b.py:7 TL801"] == told(result)
    assert 2 == result.files


def test_lines_of_the_files_with_findings() -> None:
    result = run({"a.py": PARALLEL, "b.py": "x = 1\n"})

    assert ["torch.nn.DataParallel(model)", "", "", ""] == [
        result.line("a.py", 2), result.line("a.py", 9), result.line("a.py", 0), result.line("b.py", 1),
    ]  # fmt: skip
    assert result.source("b.py") is None


def test_a_file_given_twice_is_linted_once(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(PARALLEL)
    codes = frozenset(("TL801",))

    result = lint([file, file], Settings(codes=codes, fixable=codes, root=tmp_path))

    assert 1 == len(result.findings)
    assert 1 == result.files


def test_suppressed_findings_are_counted() -> None:
    result = run({"a.py": PARALLEL.replace("(model)", "(model)  # noqa: TL801")})

    assert ([], 1) == (told(result), result.suppressed)


MOVED = "import torch\nfor x in loader:\n    eye = torch.eye(3){}\n    eye = eye.cuda(){}\n    model(x.cuda() @ eye).sum().backward()\n"


def test_what_is_made_in_one_statement_and_moved_in_another_is_told_where_it_is_made() -> None:
    (found,) = run({"train.py": MOVED.format("", "")}, "TL405").findings

    assert (3, 11, (4, 4)) == (found.line, found.column, found.statement)
    assert (4, "moved here") == (found.related[0].line, found.related[0].message)


MOVED_TWICE = """import torch
for x in loader:
    rows, columns = torch.meshgrid(torch.arange(n), torch.arange(n))
    rows = rows.cuda()
    columns = columns.cuda()
    model(x.cuda() @ rows @ columns).sum().backward()
"""


def test_what_is_made_once_and_moved_twice_is_told_once_with_both_moves() -> None:
    (found,) = run({"train.py": MOVED_TWICE}, "TL405").findings

    assert (3, 4) == (found.line, found.statement[0])
    assert [4, 5] == [one.line for one in found.related if one.message == "moved here"]


@pytest.mark.parametrize(("silenced", "left"), [("rows.cuda()", 5), ("columns.cuda()", 4)])
def test_a_comment_at_one_of_two_moves_silences_that_one(silenced: str, left: int) -> None:
    code = MOVED_TWICE.replace(f" = {silenced}", f" = {silenced}  # torchlint: ignore[TL405]")

    result = run({"train.py": code}, "TL002 TL405")

    (found,) = result.findings
    assert ("TL405", 1) == (found.code, result.suppressed)
    assert [left] == [one.line for one in found.related if one.message == "moved here"]


def test_comments_at_both_moves_are_both_used() -> None:
    code = MOVED_TWICE.replace(".cuda()\n", ".cuda()  # torchlint: ignore[TL405]\n")

    result = run({"train.py": code}, "TL002 TL405")

    assert ((), 2) == (result.findings, result.suppressed)


@pytest.mark.parametrize("comments", [("  # torchlint: ignore[TL405]", ""), ("", "  # torchlint: ignore[TL405]")])
def test_a_comment_counts_where_it_is_made_and_where_it_is_moved(comments: tuple[str, str]) -> None:
    result = run({"train.py": MOVED.format(*comments)}, "TL405")

    assert ((), 1) == (result.findings, result.suppressed)


def test_suppressions_can_be_ignored() -> None:
    result = run({"a.py": PARALLEL.replace("(model)", "(model)  # noqa: TL801")}, ignore_noqa=True)

    assert (["a.py:2 TL801"], 0) == (told(result), result.suppressed)


def test_codes_that_are_off_in_a_file(tmp_path: Path) -> None:
    ignores = (("b.py", frozenset(("TL801",))),)

    assert ["a.py:2 TL801"] == told(run({"a.py": PARALLEL, "b.py": PARALLEL}, per_file_ignores=ignores))


def test_a_finding_in_a_function_that_runs_hot_and_compiled_is_told_once() -> None:
    code = "import torch\ndef f(x):\n    return torch.nn.DataParallel(x)\ng = torch.compile(f)\n"

    assert ["a.py:3 TL801"] == told(run({"a.py": code}))


# Other files of the project


def on_disk(folder: Path, files: dict[str, str], targets: list[str], context: list[str], **buffers: str) -> list[str]:
    """The findings as `file:line code`, with paths below the folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    codes = frozenset(("TL101", "TL801"))
    result = lint(
        [folder / name for name in targets],
        Settings(codes=codes, fixable=codes, root=folder),
        context=[folder / name for name in context],
        buffers={str(folder / f"{name}.py"): text.encode() for name, text in buffers.items()},
    )
    assert () == result.errors
    return [f"{Path(f.path).relative_to(folder).as_posix()}:{f.line} {f.code}" for f in result.findings]


HELPER = "import torch\ndef add(total, loss: torch.Tensor):\n    return total + loss.item()\n"
CALLER = "import torch\nfrom helper import add\nfor batch in loader:\n    loss = model(batch.cuda()).sum()\n    loss.backward()\n    add(0, loss)\ntorch.nn.DataParallel(model)\n"


def test_context_makes_a_function_hot_and_is_not_reported(tmp_path: Path) -> None:
    files = {"helper.py": HELPER, "train.py": CALLER}

    assert [] == on_disk(tmp_path, files, ["helper.py"], [])
    assert ["helper.py:3 TL101"] == on_disk(tmp_path, files, ["helper.py"], ["train.py"])
    assert ["helper.py:3 TL101", "train.py:7 TL801"] == on_disk(tmp_path, files, ["helper.py", "train.py"], [])


def test_context_is_not_read_for_a_file_without_torch(tmp_path: Path) -> None:
    plain = {"helper.py": "def add(total, loss):\n    return total + loss.item()\n"}

    assert [] == on_disk(tmp_path, plain, ["helper.py"], ["missing.py"])


def test_edited_text_stands_for_what_is_on_disk(tmp_path: Path) -> None:
    files = {"helper.py": HELPER, "train.py": CALLER}

    assert [] == on_disk(tmp_path, files, ["helper.py"], ["train.py"], train="import torch\n")
    assert ["helper.py:2 TL801"] == on_disk(tmp_path, files, ["helper.py"], [], helper=PARALLEL)


# Versions of torch


@pytest.mark.parametrize(
    ("target", "code", "expected"),
    [
        ("<2.9", "if torch.__version__ >= '2.4':\n    {}", True),
        (">=2.0,<2.4", "{}", False),
        (">=2.0,<2.4", "if torch.__version__ >= '2.4':\n    {}", False),
        (">=2.4", "{}", True),
        (">=2.4", "if torch.__version__ < '2.4':\n    {}", False),
        (">=2.0", "if torch.__version__ < '2.4':\n    {}\n", False),
        (">=2.0", "if torch.__version__ < '2.4':\n    pass\nelse:\n    {}\n", True),
    ],
)
def test_rules_for_some_versions(target: str, code: str, expected: bool) -> None:
    text = "import torch\n" + code.format("torch.cuda.amp.autocast()")

    result = run({"a.py": text}, "TL901", target_torch=Range.stated(target))

    assert expected == bool(result.findings)


@pytest.mark.parametrize("severities", list(permutations(("info", "warning", "error"))))
def test_of_what_is_said_twice_of_one_place_the_most_severe_is_told(
    severities: tuple[Severity, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever comes first: a set of them has another order in each process."""
    rule = load()["TL801"]

    def check(site: Site) -> Iterator[Finding]:
        (finding,) = rule.check(site)
        yield from (replace(finding, severity=severity) for severity in severities)

    rules: dict[str, Rule] = {**load(), "TL801": replace(rule, check=check)}
    monkeypatch.setattr(torchlint.lint.run, "load", lambda: rules)

    assert ["error"] == [finding.severity for finding in run({"a.py": PARALLEL}).findings]


# Faults


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> None:
    """TL801 fails at `bad` and works elsewhere."""
    rule = load()["TL801"]

    def check(site: Site) -> Iterator[Finding]:
        if "bad" in site.text(site.statement):
            raise KeyError("bad")
        yield from rule.check(site)

    rules: dict[str, Rule] = {**load(), "TL801": replace(rule, check=check)}
    monkeypatch.setattr(torchlint.lint.run, "load", lambda: rules)


@pytest.mark.usefixtures("faulty")
def test_a_fault_of_a_rule_costs_one_finding_and_is_told() -> None:
    code = "import torch\ntorch.nn.DataParallel(bad)\ntorch.nn.DataParallel(good)\n"

    result = run({"a.py": code, "b.py": STEP})

    assert ["a.py:3 TL801", "b.py:5 TL101"] == told(result)
    (error,) = result.errors
    assert ("a.py", 2, True) == (error.path, error.line, error.is_bug)
    assert error.message.startswith("TL801 failed: KeyError: 'bad' (")


def test_a_file_that_can_not_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(PARALLEL)
    missing = tmp_path / "missing.py"
    codes = frozenset(("TL801",))

    result = lint([tmp_path / "a.py", missing], Settings(codes=codes, fixable=codes, root=tmp_path))

    assert 1 == len(result.findings)
    assert (FileError(missing.as_posix(), "No such file or directory"),) == result.errors


def test_a_file_that_does_not_parse_costs_only_its_own_findings() -> None:
    result = run({"a.py": "import torch\ntorch.nn.DataParallel(\n", "b.py": PARALLEL}, "TL001 TL801")

    assert ["a.py:2 TL001", "b.py:2 TL801"] == told(result)


def test_what_a_graph_break_says_already_is_not_said_twice(linted: Callable[..., list[Finding]]) -> None:
    program = """\
import torch

class Net(torch.nn.Module):
    def forward(self, x):
        if x.isnan().any():
            return x.zero_()
        return x

net = torch.compile(Net().cuda())
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for batch in batches:
    loss = net(batch.cuda()).sum()
    loss.backward()
    optimizer.step()
"""
    findings = linted(program, codes="TL")

    assert [("TL202", 5)] == [(f.code, f.line) for f in findings if f.code in ("TL102", "TL202")]
    assert [("TL102", 5)] == [(f.code, f.line) for f in linted(program, codes="TL102")]


def test_a_file_that_names_no_torch_runs_on_each_step() -> None:
    train = (
        "import torch\nfrom scores import Scores, mean\nscores = Scores()\nmodel = torch.nn.Linear(2, 2).cuda()\n"
        "optimizer = torch.optim.SGD(model.parameters(), 0.1)\n"
        "for x in torch.utils.data.DataLoader(data):\n    loss = model(x.cuda()).mean()\n    loss.backward()\n"
        "    optimizer.step()\n    scores.add(loss)\n    mean([1.0, x.size(0)])\n"
    )
    text = "class Scores:\n    def add(self, loss):\n        self.total = loss.item()\ndef mean(xs):\n    return xs[0].item()\n"

    assert [] == told(run({"train.py": "import numpy as np\nnp.zeros(2).sum().item()\n", "scores.py": text}, "TL101"))
    assert [] == told(run({"train.py": train, "scores.py": f"import jax\n{text}"}, "TL101"))
    assert ["scores.py:3 TL101"] == told(run({"train.py": train, "scores.py": text}, "TL101"))


def test_a_graph_that_another_file_drops_or_records() -> None:
    model = "import torch, torchvision\nmodel = torchvision.models.resnet50()\n"
    score = "def score(out):\n    return out.argmax(1).sum().item()\n"
    extract = "def extract(x):\n    return model(x)\n"
    run_score = "for x in loader:\n    print(score(model(x.cuda())))\n"
    run_extract = "for x in loader:\n    print(extract(x.cuda()).detach())\n"
    main = 'if __name__ == "__main__":\n    pass\n'

    assert ["a.py:6 TL503"] == told(run({"a.py": model + score + run_score}, "TL503"))
    assert ["a.py:6 TL503"] == told(run({"a.py": model + extract + run_extract + main}, "TL503"))
    apart = run({"a.py": "from b import score\n" + model + run_score, "b.py": f"import torch\n{score}"}, "TL503")
    assert () == apart.errors
    apart = run(
        {"a.py": "import torch\nfrom b import extract\n" + run_extract, "b.py": model + extract + main}, "TL503"
    )
    assert () == apart.errors


def test_stubs_run_nothing() -> None:
    text = "from torch._six import inf\ndef f(x=inf): ...\n"
    assert [] == told(run({"a.pyi": text}, "TL902"))
    assert ["a.py:2 TL902"] == told(run({"a.py": text}, "TL902"))


def test_files_of_another_framework_hold_no_findings() -> None:
    other = "import jittor as jt\nfrom jittor import nn\nmodel = nn.Linear(3, 3)\nmodel.eval()\nfor x in y:\n    model(x.cuda())\n"
    assert [] == told(run({"a.py": other}, "TL503"))
    for said in ('"""Pytorch implementation: https://pytorch.org/x"""\n', "# as torch does\n", "x = 'torch'\n"):
        assert [] == told(run({"a.py": said + other}, "TL503"))
    for named in ("from torch import Tensor\n", "from utils import to_torch\n", "x = torch.ones\n"):
        assert ["a.py:7 TL503"] == told(run({"a.py": named + other.replace("from jittor", "from torch")}, "TL503"))
    assert ["a.py:6 TL503"] == told(run({"a.py": other.replace("jittor", "torch")}, "TL503"))


def test_a_method_that_leaves_it_to_others_to_switch_autograd_off() -> None:
    model = (
        "import torch\nclass Tracker(torch.nn.Module):\n    def __init__(self, n):\n        super().__init__()\n"
        "        self.layer = torch.nn.Linear(n, 3)\n    def features(self, x):\n        return self.layer(x)\n"
        "    def tracked(self, state):\n        device = state['device']\n        with torch.inference_mode():\n"
        "            state['y'] = self.features(state['x'].to(device))\n        return state\n"
        "    def begun(self, path):\n        return self.tracked({'x': path})\n"
        "    def scored(self, path):\n        return self.features(self.begun(path)['y'])\n"
        "def made(n=3):\n    return Tracker(n)\n"
    )
    script = (
        "import torch\nfrom b import made\nnet = made()\nnet = net.cuda()\nnet = net.eval()\nstate = net.begun('x')\n"
        "state = net.tracked(state)\nprint(state['y'])\n"
    )
    assert [] == told(run({"a.py": script, "b.py": model}, "TL503"))
    assert ["a.py:9 TL503"] == told(run({"a.py": f"{script}print(net.scored('x').shape)\n", "b.py": model}, "TL503"))
