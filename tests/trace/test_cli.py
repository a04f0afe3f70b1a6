"""`torchlint trace` as it is called: budgets, baselines, the HTML page, and programs that go wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from torchlint.system import install

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

Done = subprocess.CompletedProcess[str]
Command = Callable[..., Done]

MODEL = """
import torch
model = torch.nn.Linear(4, 1).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def step():
    loss = model(torch.ones(2, 4, device="cuda")).sum()
    loss.backward()
    optimizer.step()
    return loss
"""


@pytest.fixture
def torchlint(tmp_path: Path) -> Command:
    """Run `torchlint trace train.py ...` on a script given as its source."""

    def run(source: str, *options: str, **environment: str) -> Done:
        (tmp_path / "train.py").write_text(dedent(source), "utf-8")
        command = [sys.executable, "-m", "torchlint", "trace", "train.py", "--device", "virtual", *options]
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=False, env={**os.environ, **environment}
        )

    return run


# --- budgets -----------------------------------------------------------------------------------------------------


def test_a_budget_that_is_kept_and_a_baseline(torchlint: Command, tmp_path: Path) -> None:
    loop = MODEL + "for i in range(9):\n    loss = step()\n"
    kept = torchlint(loop, "--budget", "syncs=0,breaks=0", "--save", "base.json", "--html", "run.html")
    worse = torchlint(loop + "    print(loss.item())\n", "--compare", "base.json")

    assert (0, "Budget: kept") == (kept.returncode, kept.stdout.splitlines()[-3])
    assert "<h2>Budget</h2>" in (tmp_path / "run.html").read_text("utf-8")
    assert 1 == worse.returncode
    assert [
        "  over  syncs       1 a step, limit 0",
        "               1  train.py:12 new  print(loss.item())",
    ] == worse.stdout.splitlines()[-10:-8]


def test_the_budget_of_the_configuration_with_one_limit_overridden(torchlint: Command, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.torchlint.budget]\nsyncs = 0\nh2d = 1\nmemory = '1B'\n")
    done = torchlint(
        MODEL + "for i in range(9):\n    step().item()\n", "--output-format", "json", "--budget", "syncs=1"
    )

    assert 1 == done.returncode
    assert [("syncs", 1.0, False), ("h2d", 1.0, False), ("memory", 1.0, True)] == [
        (each["name"], each["limit"], each["over"]) for each in json.loads(done.stdout)["budget"]
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--budget", "sync=1"), "there is no budget `sync`; did you mean `syncs`?"),
        (("--compare", "none.json"), "none.json: No such file or directory"),
        (("--html", "no/such/folder.html"), "no/such/folder.html: No such file or directory"),
        (("--save", "no/such/folder.json"), "no/such/folder.json: No such file or directory"),
    ],
)
def test_a_mistake_in_an_option_is_told_before_the_run(
    torchlint: Command, options: tuple[str, ...], message: str
) -> None:
    done = torchlint("print('ran')\n", *options)

    assert 2 == done.returncode
    assert message in done.stderr
    assert "ran" not in done.stdout


def test_a_mistake_in_the_configuration_is_told_at_its_line(torchlint: Command, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.torchlint]\nbudget = {sincs = 1}\n")
    done = torchlint("pass\n")

    assert 2 == done.returncode
    assert "pyproject.toml:2: `budget` can't be `sincs`" in done.stderr


# --- programs that go wrong --------------------------------------------------------------------------------------

TROUBLE = {
    "raises": (
        "step().item(); step().item()\nraise ValueError('no data')\n",
        "raised ValueError: no data, after 2 steps",
        "the program raised ValueError: no data after 2 steps",
    ),
    "exits": (
        "step().item(); step().item()\nimport os; os._exit(3)\n",
        "2 steps, ended by os._exit(3)",
        "the program ended with exit code 3 after 2 steps",
    ),
    "lacks an argument": (
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--data', required=True)\np.parse_args()\n",
        "no step taken, ended by sys.exit(2)",
        (
            "the program ended with exit code 2 before any step; "
            "its own arguments come after --, as in `torchlint trace train.py -- --epochs 1`"
        ),
    ),
    "asks": (
        "input()\n",
        "raised EOFError: EOF when reading a line, before any step",
        (
            "the program raised EOFError: EOF when reading a line before any step; "
            "it asked for input, and a traced run gives none"
        ),
    ),
}


@pytest.mark.parametrize("which", TROUBLE)
def test_a_program_that_failed_is_told_with_what_was_seen_of_it(torchlint: Command, which: str) -> None:
    source, said, sentence = TROUBLE[which]
    done = torchlint(MODEL + source)

    assert said in done.stdout
    assert (2, f"error: {sentence}\n") == (done.returncode, done.stderr)


def test_findings_are_judged_in_the_files_that_the_run_imported(torchlint: Command, tmp_path: Path) -> None:
    """A helper beside the folder of the entry is one of them, a program that is not imported is only counted."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "scripts").mkdir()
    loop = "    for batch in range(9):\n        loss = step()\n        loss.item()\n"
    helper = "import sys\nsys.path.insert(0, '..')\nfrom loop import fit\nfit()\n"
    (tmp_path / "loop.py").write_text(f"{MODEL}\ndef fit():\n{loop}")
    (tmp_path / "other.py").write_text(f"{MODEL}\ndef fit():\n{loop}")
    (tmp_path / "scripts" / "go.py").write_text(helper)
    command = [sys.executable, "-m", "torchlint", "trace", "go.py", "--device", "virtual", "--findings"]
    done = subprocess.run(command, cwd=tmp_path / "scripts", capture_output=True, text=True, check=False)

    lines = done.stdout.splitlines()
    first = lines.index("Verdicts")
    assert [
        f"  confirmed    {tmp_path}/loop.py:14:9  TL101 `loss.item()` waits for the device on every training step",
        "               `item`, 1 a step (6 of 6 steps)",
        "  not judged: 1 finding in files that the run did not import",
    ] == lines[first + 1 : first + 4]


def test_a_program_that_takes_no_step_and_ends_well_is_observed(torchlint: Command) -> None:
    done = torchlint(f"{MODEL}x = torch.ones(3, device='cuda'); x.sum().item()\nraise SystemExit\n")

    assert (0, "") == (done.returncode, done.stderr)
    assert "no step taken" in done.stdout


def test_a_budget_that_could_not_be_measured_is_over(torchlint: Command) -> None:
    done = torchlint(MODEL + "raise ValueError('no data')\n", "--budget", "syncs=9,breaks=9")

    assert 2 == done.returncode
    assert "  over  syncs       not measured: the eager pass failed, limit 9" in done.stdout
    assert "  over  breaks      not measured: the eager pass failed, limit 9" in done.stdout


def test_without_torch_one_line_says_what_is_needed(torchlint: Command, tmp_path: Path) -> None:
    (tmp_path / "away" / "torch").mkdir(parents=True)
    (tmp_path / "away" / "torch" / "__init__.py").write_text("raise ImportError('No module named torch')\n")
    done = torchlint("pass\n", PYTHONPATH=str(tmp_path / "away"))

    assert 2 == done.returncode
    assert (
        "torchlint failed\n  Cause: torch can't be imported (No module named torch). "
        f"A traced run needs it: {install.command('trace', 'torch')}\n"
    ) == done.stderr


# --- what findings of operators cost -----------------------------------------------------------------------------

GROWS = """
import torch
model = torch.nn.Linear(64, 64).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(6):
    x = torch.ones(64, 64, device="cuda")
    rows = torch.zeros(0, 64, device="cuda")
    for _ in range(8):
        rows = torch.cat([rows, model(x)])
    optimizer.zero_grad(set_to_none=False)
    rows.sum().backward()
    optimizer.step()
"""


def test_a_cat_that_grows_and_zeros_in_gradients_are_confirmed_and_priced(torchlint: Command) -> None:
    done = torchlint(GROWS, "--findings", "--gpu", "h100", "--output-format", "json")
    document = json.loads(done.stdout)
    found = {each["code"]: each["evidence"] for each in document["verdicts"]}
    at = [row for row in document["operators"] if row["line"] == 9]

    assert {"TL306": 8.0, "TL501": 2.0} == {code: found[code]["count"] for code in ("TL306", "TL501")}
    assert found["TL306"]["detail"].startswith("`cat`, 8 a step")
    assert found["TL501"]["detail"].startswith("`zero_`, 2 a step")
    assert [0.0] * 3 == found["TL306"]["saves"], "a small one is a launch as before, and the host bounds the step"
    assert all(0 < share < 0.2 for share in found["TL501"]["saves"])
    assert {""} == {row.get("name", "") for row in at}, "a line has one row for its operators, whatever they are called"


def test_what_is_on_the_host_grows_without_a_verdict_of_the_device(torchlint: Command) -> None:
    source = GROWS.replace(', device="cuda"', "").replace("model(x)", "model(x.cuda()).cpu()")
    document = json.loads(torchlint(source, "--findings", "--output-format", "json").stdout)

    assert "confirmed" not in {each["evidence"]["verdict"] for each in document["verdicts"] if each["code"] == "TL306"}


def test_what_is_compiled_is_priced_as_if_it_ran_eagerly_and_says_so(torchlint: Command) -> None:
    compiled = MODEL.replace("optimizer =", "model = torch.compile(model, backend='eager')\noptimizer =")
    loop = "for i in range(4):\n    step()\n"
    eager = torchlint(MODEL + loop, "--gpu", "h100").stdout
    told = torchlint(compiled + loop, "--gpu", "h100").stdout

    assert "Predicted step on NVIDIA H100 80GB SXM (assumed constants)" in eager
    assert "(assumed constants; what the program compiles is priced as if it ran eagerly)" in told
