"""What torch.compile compiles.

In the programs below `# compiled` marks the lines that a compiled region traces, `# fullgraph` those of one that allows
no graph break. All other lines are not traced.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from torchlint.program.project import Project
from torchlint.program.regions import Region, Regions
from torchlint.text.spoken import in_code

Files = dict[str, str]
MARK = re.compile(r"# (compiled|fullgraph)\b")
HEAD = "import torch\nfrom torch import nn\n"


@pytest.fixture(autouse=True)
def anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The programs lie where nothing says that they are a library."""
    monkeypatch.chdir(tmp_path)


def regions_of(files: Files, patterns: Sequence[str] = ()) -> Regions:
    return Regions(Project({path: text.encode for path, text in files.items()}), patterns)


def traced(files: Files, patterns: Sequence[str] = ()) -> Iterator[tuple[str, int, str]]:
    regions = regions_of(files, patterns)
    for path in files:
        module = regions.project.module(path)
        for function in module.functions if module is not None else ():
            for node in function.flow.nodes:
                if isinstance(node, ast.Expr | ast.Assign | ast.Return | ast.Pass):
                    region = regions.at(function, node)
                    if region is not None:
                        yield path, node.lineno, "fullgraph" if region.fullgraph else "compiled"


def check(files: Files, patterns: Sequence[str] = ()) -> None:
    marked = {
        (path, number, match[1])
        for path, text in files.items()
        for number, line in enumerate(text.splitlines(), 1)
        if (match := MARK.search(line))
    }
    assert marked == set(traced(files, patterns))


def check_one(code: str) -> None:
    check({"train.py": HEAD + code})


def roots_of(files: Files) -> list[Region]:
    regions = regions_of(files)
    return [region for path in regions.mentioning for region in regions.roots_in(path)]


def only(code: str) -> Region:
    (region,) = roots_of({"train.py": HEAD + code})
    return region


NET = (
    "class Part(nn.Module):\n    def forward(self, x):\n        return x + 1  {part}\n"
    "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.part = Part()\n        self.blocks = nn.ModuleList([Part()])\n"
    "    def forward(self, x):\n        return self.part(x)  {net}\n"
    "    def generate(self, x):\n        return self(x)\n"
)
COMPILED = NET.format(part="# compiled", net="# compiled")
PART = NET.format(part="# compiled", net="")
PLAIN = NET.format(part="", net="")
OWN = """class Net({base}):
    def compile(self, **options):
        {does}
    def block(self, x):
        return x
    def forward(self, x):
        return self.block(x)  {net}
"""


# What is not compiled


@pytest.mark.parametrize(
    "code",
    [
        "def f(x):\n    return x",
        "import re\nPATTERN = re.compile('a')\ndef f(x):\n    return PATTERN.match(x)",
        "@compile\ndef f(x):\n    return x",
        "from other import compile\n@compile\ndef f(x):\n    return x",
        "@torch.jit.script\ndef f(x):\n    return x",
        "@torch.compiler.disable\ndef f(x):\n    return x",
        "@torch.compile(disable=True)\ndef f(x):\n    return x",
        "def f(x):\n    return x\ng = torch.compile(f, disable=True)",
        "def f(x):\n    return x\ng = torch.compile()",
        "def f(x):\n    return x\ng = torch.compile(f.x)",
        "def f(x):\n    return x\ng = torch.compile(unknown)",
        "@partial(other, 1)\ndef f(x):\n    return x",
        "from functools import partial\n@partial(other, fullgraph=True)\ndef f(x):\n    return x",
        "class A:\n    def compile(self):\n        return 1\nA().compile()",
        "class A:\n    def forward(self, x):\n        return x\nA().compile()",
        PLAIN + "net = Net()",
        PLAIN + "keras = load()\nkeras.compile(optimizer)\nNet().compile(Net())",
        PLAIN + "torch.compile(nn.Linear(1, 1))\nnn.Linear(1, 1).compile()",
        PLAIN + "torch.compile(print)",
        PLAIN + "for part in parts:\n    part.compile()",
        PLAIN + "torch.jit.trace(Net(), x)",
        OWN.format(does="self.fast = True", base="nn.Module", net="") + "net = Net().cuda()\nnet.compile()",
        OWN.format(does="self.fast = True", base="nn.Module", net="")
        + "class Other(Net):\n    pass\nOther().compile()",
    ],
)
def test_what_is_not_compiled(code: str) -> None:
    check_one(code)


# Roots


@pytest.mark.parametrize(
    "code",
    [
        "@torch.compile\ndef f(x):\n    return x  # compiled",
        "@torch.compile()\ndef f(x):\n    return x  # compiled",
        "@torch.compile(mode='max-autotune')\ndef f(x):\n    return x  # compiled",
        "@torch.compile(fullgraph=True)\ndef f(x):\n    return x  # fullgraph",
        "@torch.compile(fullgraph=flag)\ndef f(x):\n    return x  # compiled",
        "from torch import compile as fast\n@fast\ndef f(x):\n    return x  # compiled",
        "@other\n@torch.compile\n@another\ndef f(x):\n    return x  # compiled",
        "from functools import partial\n@partial(torch.compile, fullgraph=True)\ndef f(x):\n    return x  # fullgraph",
        "import functools\n@functools.partial(torch.compile)\ndef f(x):\n    return x  # compiled",
        "def f(x):\n    return x  # compiled\ng = torch.compile(f)",
        "def f(x):\n    return x  # compiled\ng = torch.compile(model=f)",
        "def f(x):\n    return x  # fullgraph\nf = torch.compile(f, fullgraph=True)",
        "def main():\n    def f(x):\n        return x  # compiled\n    g = torch.compile(f)",
        "def main():\n    @torch.compile\n    def f(x):\n        return x  # compiled",
        "class A:\n    @torch.compile\n    def f(self, x):\n        return x  # compiled",
        "class A:\n    def __init__(self):\n        self.g = torch.compile(self.f)\n    def f(self, x):\n        return x  # compiled",
        "class A:\n    @staticmethod\n    @torch.compile\n    def f(x):\n        return x  # compiled",
        COMPILED + "net = torch.compile(Net())",
        COMPILED + "net = Net().cuda()\nnet = torch.compile(net)",
        COMPILED + "net = Net()\nnet.compile()",
        COMPILED + "net = Net()\nnet.compile(mode='reduce-overhead')",
        COMPILED + "net = Net()\nnet.forward = torch.compile(net.forward)",
        COMPILED + "def build():\n    return Net()\nnet = torch.compile(build())",
        COMPILED + "def main(model):\n    model = torch.compile(model)\nmain(Net())",
        COMPILED + "torch.compile(nn.DataParallel(Net()))",
        COMPILED + "torch.compile(nn.Sequential(Net(), nn.ReLU()))",
        COMPILED + "nn.Sequential(nn.ReLU(), Net()).compile()",
        PART + "net = Net()\nnet.part = torch.compile(net.part)",
        PART + "net = Net()\nnet.part.compile()",
        PART + "net = Net()\nfor block in net.blocks:\n    block.compile()",
        PART + "net = Net()\nfor i, block in enumerate(net.blocks):\n    net.blocks[i] = torch.compile(block)",
        PART + "net = Net()\nfor block in net.blocks:\n    block.forward = torch.compile(block.forward)",
        PART + "blocks = [torch.compile(b) for b in Net().blocks]",
    ],
)
def test_roots(code: str) -> None:
    check_one(code)


def test_what_a_method_compiles_that_a_class_has_in_the_place_of_its_own() -> None:
    block = OWN.format(does="self.block = torch.compile(self.block)", base="nn.Module", net="")
    check_one(block.replace("return x\n", "return x  # compiled\n") + "net = Net()\nnet.compile()")
    above = OWN.format(does="super().compile(fullgraph=True, **options)", base="nn.Module", net="# fullgraph")
    check_one(above.replace("return x\n", "return x  # fullgraph\n") + "net = Net()\nnet.compile()")
    base = "class Base(nn.Module):\n    def compile(self):\n        pass\n"
    check_one(base + OWN.format(does="super().compile()", base="Base", net="") + "net = Net()\nnet.compile()")
    check_one(OWN.format(does="super().compile()", base="Base", net=""))


LOSS = (
    HEAD
    + """class Loss({base}):
    def loss(self, x):
        return x{mark}
    def compile(self, **options):
        self.loss = torch.compile(self.loss, **options)
    def call(self, x):
        return self.loss(x)
"""
)
TRAINER = (
    HEAD
    + """from loss import Loss
class Trainer:
    def __init__(self, model):
        self.model = model
        self.crit = Loss()
    def step(self, x):
        return self.crit.loss(x)
"""
)


def check_loss(mark: str, *more: str, base: str = "object", **files: str) -> None:
    texts = {f"{name}.py": text for name, text in files.items()}
    check({"loss.py": LOSS.format(base=base, mark=mark), "train.py": TRAINER + "".join(more), **texts})


@pytest.mark.parametrize(
    "more",
    [
        "",
        "        # self.crit.compile()\n",
        "    def start(self):\n        self.model.compile()\n",
        "    def start(self):\n        if self.crit is not None and isinstance(self.crit, Loss):\n            self.model.compile()\n",
        "class Other:\n    def __init__(self, crit):\n        self.crit = crit\n        run(self.crit)\nload().part.compile()\n",
        "import re\nre.compile('a')\ntorch.compile(print)\n",
        "class Heir(Loss):\n    def compile(self):\n        super().compile()\n",
    ],
)
def test_a_method_that_compiles_and_nobody_calls(more: str) -> None:
    check_loss("", more)
    check_loss("", more, base="nn.Module")


@pytest.mark.parametrize(
    "more",
    [
        "    def start(self):\n        self.crit.compile()\n",
        "Trainer(1).crit.compile()\n",
        "def start(trainer):\n    trainer.crit.compile()\n",
        "loss = Loss()\nloss.compile()\n",
        "    def start(self):\n        for part in (self.model, self.crit):\n            part.compile()\n",
        "    def start(self):\n        start(self.crit)\ndef start(part):\n    part.compile()\n",
        "    def start(self):\n        Loss.compile(self.crit)\n",
        "    def start(self):\n        run(self.crit.compile)\n        self.model.compile()\n",
        "LOSSES = {'l1': Loss}\nload().compile()\n",
        "def make():\n    return Loss()\nmake().compile()\n",
        "class Heir(Loss):\n    def start(self):\n        super().compile()\n",
        "class Heir(Loss):\n    def start(self):\n        self.compile()\n",
        "class Heir(Loss):\n    def compile(self):\n        super().compile()\nheir = Heir()\nheir.compile()\n",
    ],
)
def test_a_method_that_compiles_and_may_be_called(more: str) -> None:
    check_loss("  # compiled", more)


def test_a_method_that_compiles_and_another_file_calls() -> None:
    check_loss("  # compiled", other="def start(trainer):\n    trainer.crit.compile()\n")
    check_loss("  # compiled", other="def start(trainer):\n    part = trainer.crit\n    part.compile()\n")


def test_a_method_of_a_module_is_called_on_what_holds_it() -> None:
    more = "def start(model):\n    for part in model.children():\n        part.compile()\n"
    check_loss("  # compiled", more, base="nn.Module")
    check_loss("", more)


def test_a_method_that_compiles_is_for_the_users_of_a_library() -> None:
    check_loss("  # compiled", setup="from setuptools import setup\nsetup()\n")
    check_loss("  # compiled", base="lightning.LightningModule")


def test_blocks_that_a_model_of_diffusers_declares() -> None:
    check_one(PART + "class Model(nn.Module):\n    _repeated_blocks = ['Part', 'Missing']\n    other = ['Net']\n")


TRAINED = """from transformers import Trainer, TrainingArguments, Seq2SeqTrainer
class Net(nn.Module):
    def forward(self, x):
        return x{mark}
class Own(Trainer):
    def compute_loss(self, model, inputs):
        return model(inputs)
class Other:
    def __init__(self, model, args):
        self.model = model
"""


@pytest.mark.parametrize(
    "more",
    [
        "args = TrainingArguments('runs', torch_compile=True)\nTrainer(model=Net(), args=args).train()\n",
        "Own(Net(), TrainingArguments('runs', torch_compile_mode='max-autotune')).train()\n",
        "def main():\n    net = Net()\n    Seq2SeqTrainer(args=TrainingArguments(torch_compile_backend='inductor'), model=net)\n",
        "def given():\n    return TrainingArguments(torch_compile=True)\ntrainer = Own(model=Net(), args=given())\n",
        "def fit(net, args):\n    Trainer(net, args).train()\nfit(Net(), TrainingArguments(torch_compile=True))\n",
    ],
)
def test_a_trainer_compiles_the_model_that_it_is_given(more: str) -> None:
    check_one(TRAINED.format(mark="  # compiled") + more)


@pytest.mark.parametrize(
    "more",
    [
        "Trainer(model=Net(), args=TrainingArguments('runs', torch_compile=False)).train()\n",
        "Trainer(model=Net(), args=TrainingArguments('runs', torch_compile=chosen)).train()\n",
        "args = TrainingArguments('runs', torch_compile=True)\nTrainer(model=Net(), args=TrainingArguments('runs'))\n",
        "args = TrainingArguments('runs', torch_compile=True)\nTrainer(model=model, args=args)\nnet = Net()\n",
        "Other(Net(), TrainingArguments('runs', torch_compile=True))\n",
        "def compiled(net, args, torch_compile=True):\n    Trainer(net, args)\ncompiled(Net(), args)\n",
    ],
)
def test_a_trainer_that_compiles_nothing(more: str) -> None:
    check_one(TRAINED.format(mark="") + more)


def test_a_trainer_compiles_a_model_of_another_file() -> None:
    net = HEAD + "class Net(nn.Module):\n    def forward(self, x):\n        return x  # compiled\n"
    train = "from transformers import Trainer, TrainingArguments\nfrom net import Net\n"
    check({"net.py": net, "train.py": train + "Trainer(Net(), TrainingArguments(torch_compile=True)).train()\n"})


def test_options() -> None:
    region = only(
        "def f(x):\n    return x\ng = (\n  torch.compile(f, fullgraph=True, dynamic=False, mode='max-autotune')\n)\n"
    )
    plain = only("@torch.compile\ndef f(x):\n    return x\n")

    assert (6, 2, True, False, "max-autotune", ("train.py", "f", 0)) == (
        region.line, region.column, region.fullgraph, region.dynamic, region.mode, region.root,
    )  # fmt: skip
    assert (3, 1, False, None, "") == (plain.line, plain.column, plain.fullgraph, plain.dynamic, plain.mode)


def test_options_that_are_no_literals_are_unknown() -> None:
    region = only("@torch.compile(dynamic='yes', mode=mode, fullgraph=1, **options)\ndef f(x):\n    return x\n")

    assert (False, None, "") == (region.fullgraph, region.dynamic, region.mode)


# What a root reaches


def test_functions_that_a_region_calls() -> None:
    check_one(
        "def deep(x):\n    return x  # compiled\ndef helper(x):\n    return deep(x)  # compiled\ndef other(x):\n    return x\n"
        "@torch.compile\ndef f(x):\n    return helper(x)  # compiled\nother(f(x))"
    )


def test_functions_of_other_files() -> None:
    check(
        {
            "train.py": HEAD + "from model import Net\nnet = torch.compile(Net())\n",
            "model.py": HEAD + "import ops\nfrom layers import Block\nclass Net(nn.Module):\n    def __init__(self):\n"
            "        super().__init__()\n        self.blocks = nn.ModuleList([Block() for _ in range(3)])\n    def forward(self, x):\n"
            "        for block in self.blocks:\n            x = block(x)  # compiled\n        return ops.norm(x)  # compiled\n",
            "layers.py": HEAD + "class Block(nn.Module):\n    def forward(self, x):\n        return x  # compiled\n",
            "ops.py": HEAD + "def norm(x):\n    return x  # compiled\ndef other(x):\n    return x\n",
            "old/ops.py": HEAD + "def norm(x):\n    return x\n",
        }
    )


def test_modules_in_containers() -> None:
    parts = "".join(
        f"class {name}(nn.Module):\n    def forward(self, x):\n        return x  # compiled\n" for name in "ABCD"
    )
    check_one(
        parts
        + "class Unused(nn.Module):\n    def forward(self, x):\n        return x\nclass Net(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.seq = nn.Sequential(A(), nn.ReLU())\n        self.dict = nn.ModuleDict({'b': B(), 'u': Unused()})\n"
        "        self.list = nn.ModuleList([C()])\n        self.head = D()\n    def forward(self, x):\n        x = self.seq(x)  # compiled\n"
        "        x = self.dict['b'](x)  # compiled\n        x = self.list[0](x)  # compiled\n        return self.head(x)  # compiled\n"
        "Net().compile()\n"
    )


def test_methods_that_forward_calls() -> None:
    check_one(
        "class Base(nn.Module):\n    def norm(self, x):\n        return x  # compiled\n"
        "class Net(Base):\n    def forward(self, x):\n        return self.scale(self.norm(x))  # compiled\n    def scale(self, x):\n        return x  # compiled\n"
        "    def other(self, x):\n        return x\ntorch.compile(Net())\n"
    )


def test_fullgraph_wins_where_two_regions_meet() -> None:
    check_one(
        "def shared(x):\n    return x  # fullgraph\n@torch.compile\ndef f(x):\n    return shared(x)  # compiled\n"
        "@torch.compile(fullgraph=True)\ndef g(x):\n    return shared(x)  # fullgraph\n"
    )


def test_functions_that_call_each_other() -> None:
    check_one("@torch.compile\ndef f(x):\n    return g(x)  # compiled\ndef g(x):\n    return f(x)  # compiled\n")


# Where tracing stops


@pytest.mark.parametrize(
    "stop",
    [
        "torch.compiler.disable",
        "torch._dynamo.disable",
        "torch.compiler.disable(recursive=False)",
        "torch.compiler.allow_in_graph",
        "torch.library.custom_op('a::b', mutates_args=())",
        "torch._dynamo.nonstrict_trace",
    ],
)
def test_decorators_that_stop_tracing(stop: str) -> None:
    check_one(
        f"@{stop}\ndef g(x):\n    return h(x)\ndef h(x):\n    return x\n@torch.compile\ndef f(x):\n    return g(x)  # compiled\n"
    )


def test_functions_of_autograd_are_not_traced() -> None:
    check_one(
        "class Op(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        return x\n"
        "@torch.compile\ndef f(x):\n    return Op.apply(x), Op.forward(None, x)  # compiled\n"
    )


@pytest.mark.parametrize(
    ("condition", "then", "otherwise"),
    [
        ("torch.compiler.is_compiling()", "# compiled", ""),
        ("not torch.compiler.is_compiling()", "", "# compiled"),
        ("torch._dynamo.is_compiling()", "# compiled", ""),
        ("is_torchdynamo_compiling()", "# compiled", ""),
        ("torch.jit.is_scripting()", "", "# compiled"),
        ("torch.jit.is_tracing() or torch.jit.is_scripting()", "", "# compiled"),
        ("torch.compiler.is_compiling() or flag", "# compiled", ""),
        ("torch.jit.is_scripting() or flag", "# compiled", "# compiled"),
        ("torch.jit.is_scripting() and flag", "", "# compiled"),
        ("flag and not torch.compiler.is_compiling()", "", "# compiled"),
        ("torch.compiler.is_compiling() and flag", "# compiled", "# compiled"),
        ("not flag", "# compiled", "# compiled"),
        ("flag()", "# compiled", "# compiled"),
        ("flags[0]()", "# compiled", "# compiled"),
    ],
)
def test_branches_that_depend_on_the_compiler(condition: str, then: str, otherwise: str) -> None:
    check_one(
        f"@torch.compile\ndef f(x):\n    if {condition}:\n        x = 1  {then}\n    else:\n        x = 2  {otherwise}\n    return x  # compiled\n"
    )


def test_calls_behind_the_compiler_s_back() -> None:
    check_one(
        "def log(x):\n    print(x)\ndef ok(x):\n    return x  # compiled\n@torch.compile\ndef f(x):\n    if not torch.compiler.is_compiling():\n"
        "        log(x)\n    ok(x)  # compiled\n    if torch.jit.is_scripting():\n        return log(x)\n    return x  # compiled\n"
    )


# Code that is compiled elsewhere


@pytest.mark.parametrize(
    ("patterns", "net", "helper"),
    [
        ([], "", ""),
        (["other:Net.forward"], "", ""),
        (["model:forward"], "", ""),
        (["model:Net.forward"], "# compiled", "# compiled"),
        (["model:Net.*"], "# compiled", "# compiled"),
        (["*:helper"], "", "# compiled"),
        (["nothing", "mod*:hel*"], "", "# compiled"),
    ],
)
def test_configured_patterns(patterns: list[str], net: str, helper: str) -> None:
    code = f"class Net:\n    def forward(self, x):\n        return helper(x)  {net}\ndef helper(x):\n    return x  {helper}\n"
    check({"model.py": code}, patterns)


def test_a_forward_that_a_decorator_of_the_class_replaces_is_not_traced() -> None:
    code = (
        "class Interface:\n    pass\n"
        "def chosen(cls):\n    original = cls.forward\n"
        "    def forward(self, x):\n        return pick(self, original)(x)\n"
        "    cls.forward = forward\n    return cls\n"
        "def named(cls):\n    cls.title = cls.forward.__name__\n    return cls\n"
        "@chosen\nclass Experts:\n    def forward(self, x):\n        return x\n"
        "    def other(self, x):\n        return x  # compiled\n"
        "@named\nclass Titled:\n    def forward(self, x):\n        return x  # compiled\n"
    )
    check({"model.py": code}, ["model:Experts.*", "model:Titled.*"])


def test_a_function_of_the_project_that_asks_the_compiler_knows_that_it_traces() -> None:
    tracing = (
        "import torch\nfrom torch.compiler import is_compiling\n"
        "def is_tracing(x=None):\n    return is_compiling() or x is None{compiled}\n"
        "def f(x):\n    if is_tracing():\n        x = 1  # compiled\n"
        "    if not is_tracing(x):\n        x = 2\n"
        "    if torch.jit.is_tracing():\n        x = 3\n    return x  # compiled\n"
    )
    check({"model.py": tracing.format(compiled="  # compiled")}, ["model:f"])


def test_a_function_of_the_project_that_is_one_test_of_the_compiler_is_known() -> None:
    checks = (
        "import torch\nfrom torch.compiler import is_compiling as compiling, is_dynamo_compiling\n"
        "def dynamo():\n    return is_dynamo_compiling()\n"
        'def exporting():\n    """For torch.export alone."""\n    return not dynamo() and compiling()\n'
        "def never():\n    return torch.jit.is_scripting() or again()\n"
        "def again():\n    return never()\n"
        "def chosen(flag):\n    return flag and not dynamo()\n"
        "def counted():\n    n = 3\n    return not dynamo()\n"
        "try:\n    from torch.compiler import is_exporting\n"
        "    def strict():\n        return not dynamo()\n"
        "except ImportError:\n    def strict():\n        return False\n"
    )
    model = (
        "from checks import again, chosen, counted, exporting, strict\n"
        "def f(x):\n"
        "    if exporting():\n        x = 1\n"
        "    if not exporting():\n        x = 2  # compiled\n"
        "    if again():\n        x = 3  # compiled\n"
        "    if chosen(x):\n        x = 4  # compiled\n"
        "    if counted():\n        x = 5  # compiled\n"
        "    if strict():\n        x = 6\n"
        "    return x  # compiled\n"
    )
    regions = regions_of({"checks.py": checks, "model.py": model}, ["model:f"])
    module = regions.project.module("model.py")
    assert module is not None
    function = module.top_functions["f"]
    marked = {number for number, line in enumerate(model.splitlines(), 1) if MARK.search(line)}
    nodes = (node for node in function.flow.nodes if isinstance(node, ast.Assign | ast.Return))
    assert marked == {node.lineno for node in nodes if regions.at(function, node) is not None}


# Switches of the project


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import torch", set()),
        ("import torch\ntorch._dynamo.config.capture_scalar_outputs = False", set()),
        ("import torch\nif config.capture_scalar_outputs == x: pass", set()),
        ("capture_scalar_outputs = True", set()),
        ("import torch\n# torch._dynamo.config.capture_scalar_outputs = True", set()),
        ('"""Set\n\n    torch._dynamo.config.capture_scalar_outputs = True\n"""\nimport torch', set()),
        ("import torch\ntorch._dynamo.config.capture_scalar_outputs = True", {"capture_scalar_outputs"}),
        (
            "import torch\nwith torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True): pass",
            {"capture_dynamic_output_shape_ops"},
        ),
        ("from torch._dynamo import config\nconfig.patch({'allow_rnn': True})", {"allow_rnn"}),
        ("import os, torch\nos.environ['TORCHDYNAMO_CAPTURE_SCALAR_OUTPUTS'] = '1'", {"capture_scalar_outputs"}),
        (
            "import torch\ntorch._dynamo.config.reorderable_logging_functions.add(print)",
            {"reorderable_logging_functions"},
        ),
        ("import torch\ntorch._dynamo.config.ignore_logging_functions |= {print}", {"ignore_logging_functions"}),
    ],
)
def test_options_that_a_project_turns_on(code: str, expected: set[str]) -> None:
    assert expected == set(regions_of({"a.py": code}).options)


def test_files_that_do_not_parse_are_passed_over() -> None:
    assert [] == roots_of({"a.py": "import torch\ntorch.compile(", "b.py": "\x00torch.compile"})


# Files that speak of it


@pytest.mark.parametrize(
    ("code", "mentions"),
    [
        ("# torch.compile(model) is quicker", False),
        ('"""\n>>> model = torch.compile(model)\n"""', False),
        ('"""What `torch.compile` makes of it; see ``torch.compile``."""', False),
        ("# torch.compile(model)\n    # torch.compile(model)", False),
        ("model = torch.compile(model)", True),
        ("x = 1  # torch.compile(model)", False),
        ("x = '#', torch.compile(model)", True),
        ("# torch.compile\nmodel.compile()", True),
        ("model.compile ()", True),
        ("model = torch.compile\\\n(model)", True),
        ("@torch.compile\ndef f(x): return x", True),
        ("@functools.partial(torch.compile, dynamic=True)\ndef f(x): return x", True),
        ("@functools.partial(\n    torch.compile,\n    dynamic=True,\n)\ndef f(x): return x", True),
        ("@functools.partial(torch.compile)\ndef f(x): return x", True),
        ("compiled = torch.compile", False),
        ('"""What torch.compile makes of it, or `torch.compile(model)` does."""', False),
        ("def f(compile=False, quick=True): ...", False),
        ('"""`torch.compile` it: torch.compile(model)"""', True),
    ],
)
def test_files_whose_code_may_compile(code: str, mentions: bool) -> None:
    assert regions_of({"train.py": HEAD + code}).mentioning == ["train.py"] * mentions


def test_a_text_is_searched_once_a_line() -> None:
    text = b"# " + b"torch.compile " * 100_000 + b"\ntorch.compile(model)"

    assert len(list(in_code(text, re.compile(b"compile")))) == 1
    assert not list(in_code(text, re.compile(b"compile ")))
