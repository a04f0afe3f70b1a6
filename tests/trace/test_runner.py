"""One process of a traced run: what the program meets, how it is stopped, and that nothing it does loses events."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from torchlint.evidence.confirm import device_rows, discover, is_async, launches
from torchlint.evidence.steady import Steady
from torchlint.evidence.tracing import Child, trace
from torchlint.messages.event import Event
from torchlint.messages.job import Job

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

Run = Callable[..., Child]

MODEL = """
import torch
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def step():
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


@pytest.fixture
def eager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a script, given as its source, in an eager child on the CPU; the working directory is `tmp_path`."""
    monkeypatch.chdir(tmp_path)

    def run(source: str, *args: str, name: str = "train.py", entry: str | None = None, **options: object) -> Child:
        script = tmp_path / name
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(dedent(source), "utf-8")
        fields: dict[str, object] = {"device": "cpu", "steps": 4, "seconds": 30.0, **options}
        job = Job(entry or name, args, "eager", "", **fields)  # type: ignore[arg-type]
        return trace(job, "eager").children[0]

    return run


def ended(child: Child) -> tuple[str, str, int]:
    return child.end.name, child.end.detail, child.returncode


def kinds(child: Child) -> list[str]:
    return [event.kind for event in child.events]


# --- what the program meets --------------------------------------------------------------------------------------


def test_a_script_meets_what_python_would_give_it(eager: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same lines are printed as by `python sub/train.py --lr 3`, which is run beside it."""
    source = """\
    import os, sys
    print(sys.argv, sys.path[0], os.getcwd(), __name__, __file__, __package__, __spec__, __builtins__)
    print(sys.modules["__main__"].__file__, os.environ["COLOR"], sys.stdin.read() == "")
    """
    monkeypatch.setenv("COLOR", "blue")
    child = eager(source, "--lr", "3", name="sub/train.py")
    plain = subprocess.run(
        [sys.executable, "sub/train.py", "--lr", "3"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )

    assert plain.stdout == child.output
    assert ended(child) == ("finished", "", 0)


@pytest.mark.parametrize("name", ["shop/__main__.py", "shop/train.py", "train.py"])
def test_a_module_meets_what_python_would_give_it(eager: Run, tmp_path: Path, name: str) -> None:
    """The same lines are printed as by `python -m shop --lr 3`, which is run beside it."""
    source = """\
    import os, sys
    print(sys.argv, sys.path[0], os.getcwd(), __name__, __file__, __package__, __spec__.name, __spec__.parent)
    print(sys.modules["__main__"].__dict__ is globals(), "model" in globals())
    if __package__:
        from .model import WIDTH
        print(WIDTH)
    """
    module = name.removesuffix(".py").removesuffix("/__main__").replace("/", ".")
    if "/" in name:
        (tmp_path / "shop").mkdir()
        (tmp_path / "shop" / "__init__.py").write_text("import sys\nprint(sys.argv)\n")
        (tmp_path / "shop" / "model.py").write_text("WIDTH = 8\n")
    child = eager(source, "--lr", "3", name=name, entry=f"-m {module}")
    command = [sys.executable, "-m", module, "--lr", "3"]
    plain = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)

    assert plain.stdout == child.output
    assert ended(child) == ("finished", "", 0)


@pytest.mark.parametrize("module", ["nothing", "shop.nothing", "empty", "sys"])
def test_a_module_that_can_not_be_run_is_no_entry(eager: Run, tmp_path: Path, module: str) -> None:
    for name in ("shop", "empty"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("")
    child = eager("", entry=f"-m {module}")

    assert ("no entry", 2) == (child.end.name, child.returncode)
    assert f"there is no module {module}" in child.end.detail


def test_a_module_that_trains_is_known_before_it_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from torchlint.trace.program.entry import trains

    monkeypatch.chdir(tmp_path)
    for name, text in (("__init__", "raise SystemExit"), ("__main__", "loss.backward()"), ("show", "model(x)")):
        (tmp_path / "shop").mkdir(exist_ok=True)
        (tmp_path / "shop" / f"{name}.py").write_text(text)

    assert [trains(f"-m {name}") for name in ("shop", "shop.show", "nothing", "shop.nothing")] == [
        True, False, False, False,
    ]  # fmt: skip


def test_a_program_ends_when_its_threads_have(eager: Run) -> None:
    source = MODEL + (
        "import threading\n"
        "def train():\n"
        "    for _ in range(3): step()\n"
        "    print('trained')\n"
        "threading.Thread(target=train).start()\n"
        "threading.Thread(target=lambda: threading.Event().wait(), daemon=True).start()\n"
    )
    child = eager(source)

    assert (ended(child), child.steps, child.output) == (("finished", "", 0), 3, "trained\n")


def test_a_thread_that_trains_is_stopped_whatever_feeds_it(eager: Run) -> None:
    source = MODEL + (
        "import queue, threading\n"
        "batches = queue.Queue(1)\n"
        "def feed():\n"
        "    while True: batches.put(1)\n"
        "def train():\n"
        "    while batches.get(): step()\n"
        "threading.Thread(target=train).start()\n"
        "threading.Thread(target=feed).start()\n"
    )
    child = eager(source)

    assert ("stopped", 4) == (child.end.name, child.steps)


def test_a_sibling_module_is_imported_and_not_one_of_the_working_directory(eager: Run, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "helper.py").write_text("WHERE = 'sub'\n")
    (tmp_path / "helper.py").write_text("WHERE = 'cwd'\n")
    (tmp_path / "json.py").write_text("raise RuntimeError('shadowed')\n")
    child = eager("import helper\nprint(helper.WHERE)\n", name="sub/train.py")

    assert child.output == "sub\n"


def test_classes_of_the_script_can_be_pickled(eager: Run) -> None:
    child = eager("import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))) is A)\n")

    assert child.output == "True\n"


def test_torch_compile_does_nothing_in_the_eager_pass(eager: Run) -> None:
    child = eager(
        """
import torch
f = torch.compile(lambda x: x + 1)
f(torch.ones(1))
print(dict(torch._dynamo.utils.counters["stats"]), torch.compiler.is_compiling())
"""
    )

    assert child.output == "{} False\n"


def test_garbage_is_collected_as_ever(eager: Run) -> None:
    child = eager("import gc\nprint(gc.isenabled())")

    assert child.output == "True\n"


def test_a_rule_for_a_mode_of_the_program_is_followed(eager: Run) -> None:
    child = eager(
        """
import torch
from torch.utils._python_dispatch import TorchDispatchMode
@torch.library.custom_op("mine::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2
class Plain(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        print("mode", func.name())
        return func(*args, **(kwargs or {}))
@torch.library.register_torch_dispatch("mine::twice", Plain)
def rule(mode, func, types, args=(), kwargs=None):
    print("rule")
    return func(*args, **(kwargs or {}))
x = torch.ones(2, device="cuda")
with Plain():
    print((twice(x) + 1).device)
""",
        device="virtual",
    )

    assert child.output.split() == ["rule", "mode", "aten::add.Tensor", "cuda:0"]


@pytest.mark.parametrize("device", ["cpu", "virtual"])
def test_nested_tensors_run_and_are_counted_by_what_they_are_made_of(eager: Run, device: str) -> None:
    child = eager(
        """
import torch
where = "cuda" if torch.cuda.is_available() else "cpu"
model = torch.nn.Linear(2, 2).to(where)
nested = torch.nested.nested_tensor([torch.ones(n, 2, device=where) for n in (2, 1)], layout=torch.jagged)
out = model(nested)
print(out.values().shape)
""",
        device=device,
    )

    assert child.output == "torch.Size([3, 2])\n"
    assert sum(event.count for event in child.events if event.kind == "operator" and event.line == 6) == 1


def test_what_is_compiled_goes_its_way_in_the_eager_pass(eager: Run) -> None:
    child = eager(
        """
import torch

def inner(): return torch.compiler.is_compiling(), torch.compiler.is_dynamo_compiling(), torch._dynamo.is_compiling()
class Net(torch.nn.Module):
    def forward(self, x): return inner()
disabled = torch.compiler.disable(inner)
net = Net()
print(inner(), torch.compile(inner)(), torch.compile(Net())(1), torch.compile(lambda: disabled())(), net(1))
net.compile()
print(net(1), torch.compiler.disable(torch.compile(inner))(), inner())

class Branch(torch.nn.Module):
    def forward(self, x): return x + 1 if torch.compiler.is_compiling() else x - 1
print(torch.export.export(Branch(), (torch.ones(1),)).module()(torch.ones(1)).item())
print(torch.export.export(Branch(), (torch.ones(1),), strict=True).module()(torch.ones(1)).item())
"""
    )

    no, yes = (False,) * 3, (True,) * 3
    assert child.output.splitlines() == [f"{no} {yes} {yes} {no} {no}", f"{yes} {no} {no}", "2.0", "2.0"]


# --- steps and the soft stop -------------------------------------------------------------------------------------


def test_it_is_stopped_after_the_steps(eager: Run) -> None:
    child = eager(MODEL + "for i in range(100): step()\nprint('never')\n", steps=3)

    assert ended(child) == ("stopped", "after 3 steps", 0)
    assert [event.step for event in child.events if event.kind == "step"] == [1, 2, 3]
    assert child.output == ""


def test_the_users_cleaning_up_runs(eager: Run) -> None:
    child = eager(MODEL + "try:\n  while True: step()\nfinally: print('saved')\n")

    assert child.output == "saved\n"
    assert ended(child) == ("stopped", "after 4 steps", 0)


def test_except_exception_does_not_swallow_the_stop(eager: Run) -> None:
    child = eager(MODEL + "while True:\n  try: step()\n  except Exception: print('swallowed')\n")

    assert child.output == ""
    assert ended(child) == ("stopped", "after 4 steps", 0)


def test_a_bare_except_is_asked_three_times(eager: Run) -> None:
    child = eager(MODEL + "while True:\n  try: step()\n  except: print('swallowed')\n")

    assert child.output == "swallowed\n" * 3
    assert ended(child) == ("stopped", "after 4 steps; it caught the request to stop 3 times", 0)


def test_an_infinite_loop_is_stopped_after_the_seconds(eager: Run) -> None:
    child = eager("while True: pass\n", seconds=0.5)

    assert ended(child) == ("stopped", "after 0.5 seconds", 0)


def test_a_program_that_can_not_be_interrupted_is_killed(eager: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from torchlint.evidence import tracing

    wait, up = tracing._wait, Path("up")

    def wait_while_up(process: subprocess.Popen[bytes], seconds: float, look: Callable[[], None]) -> bool:
        while not up.exists():  # on a busy machine torch takes its time
            if wait(process, 0.1, look):
                return True
        return wait(process, 1.0, look)

    monkeypatch.setattr(tracing, "_wait", wait_while_up)
    source = (
        "import signal, time\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\nprint('up', flush=True)\nopen('up', 'w')\n"
    )
    child = eager(MODEL + "step()\n" + source + "while True: time.sleep(60)\n", seconds=20.0)

    assert child.end.name == "killed"
    assert child.output == "up\n"
    assert [event.step for event in child.events if event.kind == "step"] == [1]


def test_two_optimizers_take_one_step_together(eager: Run) -> None:
    gan = "critic = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)\n"
    child = eager(MODEL + gan + "for i in range(3):\n  critic.step(); step()\n")

    assert child.steps == 3


def test_gradient_accumulation_is_one_step(eager: Run) -> None:
    source = "for i in range(6):\n  model(torch.ones(1, 4)).sum().backward()\n  if i % 2: optimizer.step()\n"

    assert eager(MODEL + source).steps == 3


def test_a_compiled_step_is_a_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = (
        MODEL
        + "update = torch.compile(lambda: optimizer.step())\nfor i in range(9):\n"
        + ("  model(torch.ones(2, 4)).sum().backward(); update(); torch.compile(torch.relu)(torch.ones(1))\n")
    )
    (tmp_path / "train.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    (child,) = trace(Job("train.py", (), "eager", "", steps=4, device="cpu"), "compile").children

    assert ended(child) == ("stopped", "after 4 steps", 0)


def test_without_an_optimizer_a_backward_pass_is_a_step(eager: Run) -> None:
    child = eager("import torch\nw = torch.ones(2, requires_grad=True)\nfor i in range(3): w.sum().backward()\n")

    assert child.steps == 3


# --- how it may end ----------------------------------------------------------------------------------------------


def test_sys_exit_keeps_its_code(eager: Run) -> None:
    assert ended(eager(MODEL + "import sys\nstep()\nsys.exit(7)\n")) == ("exit", "sys.exit(7)", 7)


def test_sys_exit_with_a_text_is_shown(eager: Run) -> None:
    child = eager("import sys\nsys.exit('no data')\n")

    assert ended(child) == ("exit", "sys.exit('no data')", 1)
    assert child.errors == "no data\n"


def test_os_exit_loses_nothing(eager: Run) -> None:
    child = eager(MODEL + "import os\nprint('out')\nstep()\nos._exit(5)\n")

    assert ended(child) == ("exit", "os._exit(5)", 5)
    assert child.output == "out\n"
    assert child.steps == 1


def test_a_program_may_leave_its_working_directory_for_one_that_is_gone(eager: Run) -> None:
    child = eager(
        MODEL
        + "import os, tempfile\nstep()\nfolder = tempfile.mkdtemp()\nos.chdir(folder)\nos.rmdir(folder)\nprint('out')\n"
    )

    assert ended(child) == ("finished", "", 0)
    assert child.output == "out\n"


def test_a_raised_exception_is_an_event_at_the_users_line(eager: Run, tmp_path: Path) -> None:
    child = eager("import torch\ndef f():\n    return torch.ones(2) @ torch.ones(3)\nf()\n")
    (error,) = [event for event in child.events if event.kind == "error"]

    assert (error.file, error.line, error.function, error.name) == (str(tmp_path / "train.py"), 3, "f", "RuntimeError")
    assert child.end.name == "error"
    assert child.returncode == 1
    assert 'train.py", line 4, in <module>\n    f()\n' in child.errors
    assert "torchlint" not in child.errors


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("raise ValueError('one\\ntwo\\n three')", "ValueError: one"),
        ("raise ValueError('\\ntwo\\nthree')", "ValueError: two"),
        ("x = (", "SyntaxError: '(' was never closed"),
        ("class Own(Exception): pass\nraise Own", "Own"),
    ],
)
def test_an_exception_is_told_by_its_name_and_first_line(eager: Run, source: str, told: str) -> None:
    child = eager(source)

    assert child.end.name == "error"
    assert child.end.detail.removeprefix("__main__.") == told


def test_a_syntax_error_names_its_line(eager: Run, tmp_path: Path) -> None:
    child = eager("x = 1\nif:\n")
    (error,) = [event for event in child.events if event.kind == "error"]

    assert (error.file, error.line, error.name) == (str(tmp_path / "train.py"), 2, "SyntaxError")


def test_a_crash_keeps_the_events_and_says_where(eager: Run) -> None:
    child = eager(MODEL + "step()\nimport ctypes\nctypes.string_at(0)\n")

    assert child.end == Event("end", name="died", detail="SIGSEGV")
    assert child.steps == 1
    assert 'train.py", line 11 in <module>' in child.errors


def test_much_output_neither_blocks_nor_is_kept_whole(eager: Run) -> None:
    child = eager("for i in range(200_000): print('x' * 20, i)\n")

    assert child.output.endswith("x 199999\n")
    assert child.output.startswith("[...]")
    assert len(child.output) < 70_000


def test_a_closed_stdout_is_no_error(eager: Run) -> None:
    assert ended(eager("import sys\nsys.stdout.close()\n")) == ("finished", "", 0)


def test_a_forked_process_records_nothing(eager: Run) -> None:
    source = "import os\npid = os.fork()\nstep()\nif pid: os.waitpid(pid, 0)\n"
    child = eager(MODEL + source)

    assert ["step", "end"] == [
        kind for kind in kinds(child) if kind not in ("start", "operator", "optimizer", "imported")
    ]
    assert child.end.name == "finished"


def test_data_loader_workers_record_nothing_and_leave_nothing_behind(eager: Run) -> None:
    source = """
from torch.utils.data import DataLoader, Dataset
class Rows(Dataset):
    def __len__(self): return 64
    def __getitem__(self, index):
        row = torch.ones(4)
        return row
if __name__ == "__main__":
    for rows in DataLoader(Rows(), batch_size=2, num_workers=2):
        step()
"""
    script = MODEL + source
    watched = script.splitlines().index("        row = torch.ones(4)") + 1
    child = eager(script, watch={os.path.realpath("train.py"): (watched,)})

    assert [event for event in child.events if event.kind == "line"] == []
    assert child.steps == 4


def test_a_changed_directory_does_not_matter(eager: Run, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    child = eager(MODEL + "import os\nos.chdir('elsewhere')\nstep()\n")

    assert child.steps == 1


# --- what is seen ------------------------------------------------------------------------------------------------


def test_watched_lines_are_told_once_a_step(eager: Run, tmp_path: Path) -> None:
    source = MODEL + "def never():\n    return 1\nfor i in range(2):\n    for j in range(3): x = j\n    step()\n"
    lines = source.splitlines()
    inner, missed = lines.index("    for j in range(3): x = j") + 1, lines.index("    return 1") + 1
    child = eager(source, watch={str(tmp_path / "train.py"): (inner, missed)})

    assert [(event.line, event.step) for event in child.events if event.kind == "line"] == [(inner, 0), (inner, 1)]


def test_warnings_are_told_at_the_users_line(eager: Run, tmp_path: Path) -> None:
    child = eager("import warnings\ndef f():\n    warnings.warn('old', FutureWarning)\nf()\nf()\n")
    (warning,) = [event for event in child.events if event.kind == "warning"]

    assert (warning.file, warning.line, warning.name, warning.detail) == (
        str(tmp_path / "train.py"), 3, "FutureWarning", "old",
    )  # fmt: skip
    assert "FutureWarning: old" in child.errors


def test_shapes_of_outermost_modules_only(eager: Run) -> None:
    source = "import torch\nm = torch.nn.Sequential(torch.nn.Linear(4, 2))\nm(torch.ones(3, 4))\nm(torch.ones(5, 4))\n"
    child = eager(source, shapes=True)

    assert [(event.line, event.name, event.detail) for event in child.events if event.kind == "shape"] == [
        (3, "Sequential", "float32[3, 4]"),
        (4, "Sequential", "float32[5, 4]"),
    ]


# --- functions and factories -------------------------------------------------------------------------------------


def test_a_function_without_steps_is_called_once_a_step(eager: Run) -> None:
    child = eager("def f(): print('called')\n", name="job.py", entry="job:f", steps=3)

    assert child.output == "called\n" * 3
    assert child.steps == 3


def test_a_function_with_steps_is_called_once(eager: Run) -> None:
    child = eager(MODEL + "def f():\n  print('called')\n  step(); step()\n", name="job.py", entry="job:f")

    assert child.output == "called\n"
    assert child.steps == 2


def test_a_factory_has_forward_and_backward_traced_with_two_batch_sizes(eager: Run) -> None:
    source = """
import torch
class Net(torch.nn.Linear):
    def forward(self, x, scale):
        print(list(x.shape), scale)
        return super().forward(x)
def make(): return Net(4, 2), (torch.ones(3, 4), 2)
"""
    child = eager(source, name="job.py", entry="job:make", steps=4)

    assert child.output == "[3, 4] 2\n" * 2 + "[4, 4] 2\n" * 2
    assert child.steps == 4


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("nowhere:f", "there is no module nowhere in {cwd} or among the packages"),
        ("job:nothing", "job has no nothing"),
        ("job:NUMBER", "job:NUMBER is not a function"),
    ],
)
def test_what_can_not_be_run_is_named(eager: Run, tmp_path: Path, entry: str, reason: str) -> None:
    child = eager("NUMBER = 1\n", name="job.py", entry=entry)

    assert ended(child) == ("no entry", reason.format(cwd=tmp_path), 2)


def test_an_import_error_inside_the_module_is_the_programs_own(eager: Run) -> None:
    child = eager("import no_such_package\n", name="job.py", entry="job:f")

    assert child.end.name == "error"
    assert child.end.detail == "ModuleNotFoundError: No module named 'no_such_package'"


def test_cuda_without_a_gpu_says_what_to_do(eager: Run) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    child = eager("pass\n", device="cuda")

    assert ended(child)[:2] == ("no entry", "--device cuda: torch sees no GPU here; --device virtual needs none")


# --- on the virtual GPU ------------------------------------------------------------------------------------------

PLANTED = """
import torch
from torch.utils.data import DataLoader
model = torch.nn.Linear(16, 4).to("cuda")  # warm-up: no part of a step
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
total = 0.0
step = 0
rows = [(torch.ones(16), 1) for _ in range(64)]
for x, y in DataLoader(rows, batch_size=4, pin_memory=True):
    x = x.to("cuda")  # h2d pinned, blocking
    y = y.to("cuda", non_blocking=True)  # h2d pinned, non_blocking
    mask = torch.ones(4, device="cuda") > 0
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    total += loss.item()  # sync item
    if (loss > 100).any():  # sync bool
        break
    model(x)[mask]  # sync mask
    if step % 2 == 0:
        print(f"{loss:.3f}")  # sync, every other step
    shape = f"{loss.shape}"
    step += 1
    optimizer.step()
"""


def planted(word: str) -> int:
    return next(number for number, line in enumerate(PLANTED.splitlines(), 1) if word in line)


def test_planted_events_are_on_their_lines_and_nowhere_else(eager: Run, tmp_path: Path) -> None:
    child = eager(PLANTED, device="virtual", steps=8)
    found = device_rows(child.events, Steady.of(child.events))

    assert sorted((row.event.line, row.event.kind, row.count, is_async(row.event)) for row in found) == [
        (planted("# h2d pinned, blocking"), "h2d", 1.0, False),
        (planted("# h2d pinned, non_blocking"), "h2d", 1.0, True),
        (planted("# sync item"), "sync", 1.0, False),
        (planted("# sync bool"), "sync", 1.0, False),
        (planted("# sync mask"), "sync", 1.0, False),
        (planted("# sync, every other"), "sync", 0.5, False),
    ]
    assert {row.event.file for row in found} == {str(tmp_path / "train.py")}
    assert ended(child) == ("stopped", "after 8 steps", 0)


def test_values_are_those_of_the_cpu(eager: Run) -> None:
    source = MODEL + "torch.manual_seed(0)\nfor i in range(4): step(); print(model.weight.sum())\n"
    on_cpu = eager("import torch; torch.manual_seed(1)\n" + source)
    on_device = eager(
        "import torch; torch.manual_seed(1); torch.set_default_device('cuda')\n" + source, device="virtual"
    )

    assert on_cpu.output.replace(", grad_fn", ", device='cuda:0', grad_fn") == on_device.output


def test_both_passes_tell_of_one_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = """
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)
    def forward(self, x):
        x = self.linear(x).relu()
        print("a break")
        return x * 2
def make():
    return Net(), torch.randn(4, 8)
"""
    (tmp_path / "net.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    traced = trace(Job("net:make", (), "eager", "", device="virtual", steps=4))
    found = {(one.code, one.line) for one in discover(traced.events)}

    assert [child.end.name for child in traced.children] == ["stopped", "stopped"]
    assert ("TLT02", source.splitlines().index('        print("a break")') + 1) in found
    assert {code for code, _ in found} == {"TLT02", "TLT03", "TLT04", "TLT11"}
    assert min(launches(traced.events)) >= 1


# --- what is counted ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["cpu", "virtual"])
def test_operators_and_the_bytes_that_they_touch_are_counted_at_their_line(eager: Run, device: str) -> None:
    source = """\
    import torch
    model = torch.nn.Linear(4, 4, bias=False).to("cuda" if torch.cuda.is_available() else "cpu")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)
    for step in range(6):
        x = torch.ones(8, 4, device=model.weight.device)
        y = x.view(4, 8).t().detach()
        z = torch.relu(x) + 1
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    """
    child = eager(source, device=device, steps=6)
    found = {
        event.line: (event.count, event.size) for event in child.events if event.kind == "operator" and event.step == 3
    }

    assert (1, 128) == found[5]  # what is filled
    assert (2, 4 * 128) == found[7]  # the max of one, the sum of another
    assert found.keys() == {5, 7, 8, 9}  # views and dropped gradients are none
    assert (1, 64 * 3) == found[9]
