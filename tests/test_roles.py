"""What is a cost in a program is none in its tests."""

from __future__ import annotations

import re

import pytest

from torchlint.lint.run import lint
from torchlint.program.project import Project
from torchlint.rule import load
from torchlint.settings.config import Settings

PRELUDE = "import torch\ndevice = torch.device('cuda')\n"


@pytest.mark.parametrize(
    "code",
    [
        *("TL101", "TL102", "TL104", "TL105", "TL108", "TL109", "TL112", "TL402", "TL405"),
        *("TL201", "TL202", "TL203", "TL204", "TL205", "TL206", "TL207", "TL208"),
    ],
)
def test_the_bad_example_of_a_rule_in_a_test(code: str) -> None:
    match = re.search(r"^## Bad\n.*?```python\n(.*?)^```", load()[code].doc, re.MULTILINE | re.DOTALL)
    assert match is not None
    text = (PRELUDE + match[1]).encode()
    settings = Settings(codes=frozenset((code,)), fixable=frozenset())

    found = {path: bool(lint({path: text}, settings).findings) for path in ("train.py", "tests/train.py")}

    assert {"train.py": True, "tests/train.py": False} == found


def test_a_speed_test_waits_for_the_device_on_purpose() -> None:
    text = PRELUDE + (
        "net = Net().to(device).eval()\nx = torch.randn(1, 3, 8, 8, device=device)\n"
        "with torch.no_grad():\n    for _ in tqdm(range(1000)):\n        y = net(x)\n        torch.cuda.synchronize()\n"
    )
    settings = Settings(codes=frozenset(("TL112",)), fixable=frozenset())
    names = ("predict.py", "speed_test.py", "inference_speed.py")

    found = {name: bool(lint({name: text.encode()}, settings).findings) for name in names}

    assert {"predict.py": True, "speed_test.py": False, "inference_speed.py": False} == found


@pytest.mark.parametrize(
    ("head", "found"),
    [
        ("def test_toy():", False),
        ("def test_epoch(loader):", True),
        ("def train():", True),
        ("class A:\n  def test_toy(self):", True),
    ],
)
def test_a_function_that_tests_the_code_beside_it(head: str, found: bool) -> None:
    body = "for x in loader:\n  loss = criterion(model(x.to(device)))\n  loss.backward()\n  optimizer.step()\n  assert loss > 0\n"
    text = PRELUDE + head + "\n" + "".join(f"    {line}\n" for line in body.splitlines())
    settings = Settings(codes=frozenset(("TL102",)), fixable=frozenset())

    assert found == bool(lint({"train.py": text.encode()}, settings).findings)


TRIAL = (
    PRELUDE
    + "class Net(torch.nn.Module):\n    def forward(self, x):\n        return x\n"
    + "if __name__ == '__main__':\n    model = Net().cuda()\n    optimizer = torch.optim.SGD(model.parameters())\n{before}"
    + "    for step in {steps}:\n        x = torch.randn(3, 4).cuda()\n        loss = model(x).sum()\n"
    + "        loss.backward()\n        optimizer.step()\n"
)


@pytest.mark.parametrize(
    ("steps", "before", "user", "found"),
    [
        ("range(10)", "", "from net import Net\n", False),
        ("range(steps)", "    steps = 3\n", "import net\n", False),
        ("range(10)", "", "import torch\n", True),  # nobody imports it: this is the program
        ("loader", "", "from net import Net\n", True),
        ("range(10)", "    args = parser.parse_args()\n", "from net import Net\n", True),
        ("range(10)", "    rows = numpy.load('rows.npy')\n", "from net import Net\n", True),
        ("range(10)", "    env = gym.make('Ant')\n", "from net import Net\n", True),
    ],
)
def test_a_module_that_is_tried_on_random_data(steps: str, before: str, user: str, found: bool) -> None:
    settings = Settings(codes=frozenset(("TL405",)), fixable=frozenset())
    files = {"net.py": TRIAL.format(steps=steps, before=before).encode(), "train.py": user.encode()}

    assert found == bool(lint(files, settings).findings)


@pytest.mark.parametrize(
    ("path", "head", "found"),
    [
        ("train_test.py", "def train(loader):", True),
        ("pkg/train_test.py", "def train(loader):", True),
        ("train_test.py", "def test(loader):", True),
        ("train_test.py", "def test_step(loader):", False),
        ("train_test.py", "import unittest\ndef train(loader):", False),
        ("train_test.py", "import pytest\ndef train(loader):", False),
        ("train_test.py", "class TestTrain:\n    pass\ndef train(loader):", False),
        ("tests/train_test.py", "def train(loader):", False),
        ("test_train_test.py", "def train(loader):", False),
        ("train_tests.py", "def train(loader):", False),
        # What evaluates takes options, or what was trained.
        ("test_net.py", "args = parser.parse_args()\ndef run(loader):", True),
        ("eval/test_net.py", "import hydra\n@hydra.main()\ndef run(loader):", True),
        ("test_net.py", "net.load_state_dict(state)\ndef test_epoch(loader):", True),
        ("test_net.py", "def run(loader):", False),
        ("test_net.py", "assert 1\ndef score(loader, net):\n    net.eval()\ndef run(loader):", True),
        ("test_net.py", "def score(loader, net):\n    net.eval()\ndef test_net(net):\n    pass\ndef run():", False),
        ("test_net.py", "def score(rows, net):\n    net.eval()\ndef run(rows):", False),
        ("tests/test_net.py", "def score(loader, net):\n    net.eval()\ndef run(loader):", False),
        ("test_net.py", "args = parser.parse_args()\ndef test_net():\n    pass\ndef run(loader):", False),
        ("test_net.py", "class TestNet:\n    def test_net(self): ...\ndef run(loader, args=parse_args()):", False),
        ("test_net.py", "class Tester:\n    def test(self): ...\ndef run(loader, args=parse_args()):", True),
        ("test_net.py", "class Tester:\n    def test(self): ...\ndef test_one(): ...\nargs = parse_args()", False),
        ("test_net.py", "import pytest\nargs = parser.parse_args()\ndef run(loader):", False),
        ("tests/test_net.py", "args = parser.parse_args()\ndef run(loader):", False),
        ("pkg/testing/test_net.py", "args = parser.parse_args()\ndef run(loader):", False),
        ("conftest.py", "args = parser.parse_args()\ndef run(loader):", False),
        # What a file calls is no test, whatever it is called: pytest alone calls these.
        ("test_util.py", "def all_cases(net):\n    return test_case(net, 1)\ndef test_case(net, x):", True),
        ("test_util.py", "def test_all(net):\n    return test_case(net, 1)\ndef test_case(net, x):", True),
        ("val.py", "def all_cases(net):\n    return test_case(net, 1)\ndef test_case(net, x):", True),
        ("test_util.py", "def test_all(net):\n    assert test_case(net, 1)\ndef test_case(net, x):", False),
        ("test_util.py", "def test_all():\n    return test_case(1, 1)\ndef test_case(net, x):", False),
        ("test_util.py", "def test_all(net):\n    # test_case(net, 1)\n    return 1\ndef test_case(net, x):", False),
        ("tests/util.py", "def all_cases(net):\n    return test_case(net, 1)\ndef test_case(net, x):", False),
        ("test_detect.py", "def test_detect(data_loader, net):\n    return net\ndef run(loader):", True),
        ("test_detect.py", "def test_detect(data_loader):\n    assert data_loader\ndef run(loader):", False),
        ("test_detect.py", "def test_detect(net):\n    return net\ndef run(loader):", False),
        ("tests/test_detect.py", "def test_detect(data_loader, net):\n    return net\ndef run(loader):", False),
        # A function of a program that is given what it tests is no test.
        ("train.py", "def test_epoch(loader):", True),
    ],
)
def test_a_file_of_training_and_testing(path: str, head: str, found: bool) -> None:
    body = "for x in loader:\n    loss = criterion(model(x.to(device)))\n    loss.backward()\n    optimizer.step()\n    loss.item()\n"
    text = f"{PRELUDE}{head}\n" + "".join(f"    {line}\n" for line in body.splitlines())
    settings = Settings(codes=frozenset(("TL101",)), fixable=frozenset())

    assert found == bool(lint({path: text.encode()}, settings).findings)


@pytest.mark.parametrize(
    ("trainer", "others", "found"),
    [
        ("", {"util.py": "def put(x):\n    return x.cuda()\n"}, True),
        ("", {"util.py": "def put(x):\n    return x.cpu()\n"}, False),
        (
            "",
            {
                "util.py": "def put(x):\n    return x.cuda()\n",
                "main.py": "from trainer import Trainer\nTrainer().train()\n",
            },
            False,
        ),
        ("", {"util.py": "def put(x):\n    return x.cuda()\n", "all.py": "from trainer import Trainer\n"}, True),
        ("", {"util.py": "def put(x):\n    return x\n", "main.py": "from trainer import Trainer\nx.cuda()\n"}, True),
        ("if __name__ == '__main__':\n    Trainer()\n", {"util.py": "def put(x):\n    return x.cuda()\n"}, False),
        ("for x in data:\n    Trainer().train()\n", {"util.py": "def put(x):\n    return x.cuda()\n"}, False),
    ],
)
def test_a_trainer_that_a_registry_makes(trainer: str, others: dict[str, str], found: bool) -> None:
    """Nobody imports it: it runs where whoever trains puts it."""
    text = (
        "from util import put\n\nclass Trainer:\n    def train(self):\n        for x in self.loader:\n"
        "            loss = self.net(self.put(x))\n            loss.backward()\n            self.optimizer.step()\n            loss.item()\n"
    )
    files = {"trainer.py": text + trainer, **others}
    settings = Settings(codes=frozenset(("TL101",)), fixable=frozenset())

    assert found == bool(lint({path: text.encode() for path, text in files.items()}, settings).findings)


@pytest.mark.parametrize(
    ("base", "others", "found"),
    [
        ("Optimizer", {}, False),
        ("object", {"train.py": "model.cuda()\n"}, False),
        ("Optimizer", {"train.py": "model.cuda()\n"}, True),
        (
            "Lookahead",
            {"train.py": "model.cuda()\n", "ahead.py": "class Lookahead(torch.optim.Optimizer): ...\n"},
            True,
        ),
    ],
)
def test_an_optimizer_in_a_file_that_names_no_device(base: str, others: dict[str, str], found: bool) -> None:
    """It updates what the program moved."""
    text = (
        "import torch\nfrom torch.optim import Optimizer\nfrom ahead import Lookahead\n\n"
        f"class Lars({base}):\n    def step(self):\n        for group in self.param_groups:\n"
        "            for p in group['params']:\n                if torch.norm(p.grad) > 0:\n                    p.mul_(0.9)\n"
    )
    settings = Settings(codes=frozenset(("TL102",)), fixable=frozenset())

    result = lint({path: text.encode() for path, text in {"lars.py": text, **others}.items()}, settings)

    assert found == bool(result.findings)


TRAINS = (
    "from torch.utils.data import DataLoader\n\n"
    "if __name__ == '__main__':\n    loader = DataLoader(data, num_workers=2)\n{before}    for x in loader:\n"
    "        loss = criterion(model(x.to(device)))\n        loss.backward()\n        optimizer.step()\n{after}"
    "        print(loss.item())\n"
)


@pytest.mark.parametrize(
    ("path", "before", "after", "found"),
    [
        ("tests/test_physionet.py", "", "", False),
        ("test_physionet.py", "", "        assert loss > 0\n", False),
        ("test_physionet.py", "    def test_loss(): ...\n", "", False),
        ("test_physionet.py", "    import pytest\n", "", False),
        ("test_physionet.py", "", "", True),
    ],
)
def test_a_program_that_is_named_like_a_test(path: str, before: str, after: str, found: bool) -> None:
    """It trains on data as it is run, and asserts nothing: "test" is its data, or its idea."""
    text = PRELUDE + TRAINS.format(before=before, after=after)
    settings = Settings(codes=frozenset(("TL104",)), fixable=frozenset())

    assert found == bool(lint({path: text.encode()}, settings).findings)


@pytest.mark.parametrize(
    ("path", "text", "tested"),
    [
        ("train.py", "def test_once(size, model): ...", True),
        ("train.py", "def test_once(test_dataset, model): ...", False),
        ("train.py", "def test_case(net, testset): ...", False),
        ("train.py", "def test_epoch(loader): ...", False),
        # A method of a class of no tests is none.
        ("track.py", "class Tracker:\n    def test_rois(self, rois): ...", False),
        ("track.py", "class Tracker:\n    def test_rois(self): ...", True),
        ("track.py", "class TestTracker:\n    def test_rois(self, rois): ...", True),
        ("track.py", "class Tracker(unittest.TestCase):\n    def test_rois(self, rois): ...", True),
        ("tests/track.py", "class Tracker:\n    def test_rois(self, rois): ...", True),
    ],
)
def test_functions_that_are_parts_of_tests(path: str, text: str, tested: bool) -> None:
    project = Project({path: text.encode})
    module = project.module(path)
    assert module is not None

    assert [tested] == [project.is_tested(one) for one in module.functions if one.name.startswith("test_")]


TRIED = (
    PRELUDE
    + "def forward(x):\n    return x + 1\n\n"
    + "{head}def check(n):\n    for i in range(n):\n        with torch.no_grad():\n            y = model(torch.ones(3).cuda())\n"
    + "        print(f'{{y.mean()}}')\n\n{more}"
    + "if __name__ == '__main__':\n{before}    check(4)\n"
)
USES = {"main.py": "import torch\nfrom net import forward\n\nprint(forward(torch.ones(1)))\n"}


def is_told(code: str, files: dict[str, str]) -> bool:
    settings = Settings(codes=frozenset((code,)), fixable=frozenset(), preview=True)
    result = lint({path: text.encode() for path, text in files.items()}, settings)
    assert not result.errors
    return bool(result.findings)


@pytest.mark.parametrize(
    ("head", "more", "before"),
    [
        ("", "", ""),
        ("", "", "    torch.manual_seed(0)\n"),
        ("", "def each():\n    check(2)\n\n", "    each()\n"),
    ],
)
def test_a_part_that_is_tried_where_it_is_run(head: str, more: str, before: str) -> None:
    """Who imports it gets nothing of what its `__main__` calls."""
    assert not is_told("TL104", {"net.py": TRIED.format(head=head, more=more, before=before), **USES})


@pytest.mark.parametrize(
    ("head", "more", "before"),
    [
        ("", "", "    args = parser.parse_args()\n"),
        ("import hydra\n", "", ""),
        ("", "", "    model.load_state_dict(torch.load('net.pt'))\n"),
        ("", "", "    train(model)\n"),
        ("", "", "    torch.save(model, 'net.pt')\n"),
        ("@main\n", "", ""),
        ("", "def evaluate():\n    check(2)\n\n", ""),  # another function that others may call
        ("", "CHECKS = {'check': check}\n\n", ""),
    ],
)
def test_a_part_that_is_a_program_as_well(head: str, more: str, before: str) -> None:
    assert is_told("TL104", {"net.py": TRIED.format(head=head, more=more, before=before), **USES})


@pytest.mark.parametrize(
    "users",
    [
        {"main.py": "import torch\n"},
        {"main.py": "from other.net import forward\n", "other/net.py": "def forward(x): ...\n"},
        {"tests/test_net.py": "from net import forward\n"},
        {"main.py": "from net import check\n\ncheck(3)\n"},
        {"main.py": "import net\n\nnet.check(3)\n"},
    ],
)
def test_what_no_part_imports_may_be_a_program(users: dict[str, str]) -> None:
    assert is_told("TL104", {"net.py": TRIED.format(head="", more="", before=""), **users})


SHAPE = (
    "import torch\nfrom torch.autograd import Variable\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return {here}\n\n"
    + "{more}if __name__ == '__main__':\n    {before}print(Net()({there}).size())\n"
)


@pytest.mark.parametrize(
    ("here", "there", "more", "before", "user", "found"),
    [
        ("x", "Variable(torch.randn(1, 3))", "", "", "from net import Net\n", False),
        ("x", "Variable(torch.randn(1, 3), volatile=True)", "", "", "from net import Net\n", False),
        ("x", "torch.FloatTensor([1, 2])", "", "", "from net import Net\n", False),
        ("x", "given()", "def given():\n    return Variable(torch.ones(1, 3))\n\n", "", "from net import Net\n", False),
        ("Variable(x)", "torch.randn(1, 3)", "", "", "from net import Net\n", True),
        ("x", "Variable(torch.randn(1, 3))", "", "", "import torch\n", True),  # nobody imports it
        ("x", "Variable(torch.randn(1, 3))", "", "args = parse_args()\n    ", "from net import Net\n", True),
        ("x", "Variable(torch.load('x.pt'))", "", "", "from net import Net\n", True),
        (
            "x",
            "given()",
            "def given():\n    return Variable(torch.ones(1, 3))\n\n",
            "",
            "from net import given\n",
            True,
        ),
    ],
)
def test_what_is_deprecated_where_a_file_is_tried(
    here: str, there: str, more: str, before: str, user: str, found: bool
) -> None:
    text = SHAPE.format(here=here, there=there, more=more, before=before)

    assert found == is_told("TL910", {"net.py": text, "main.py": user})


LOADS = (
    "import torch\nfrom torch.utils.data import DataLoader, Dataset\n\n"
    "class Images(Dataset):\n    def __getitem__(self, i):\n        return torch.load(self.paths[i])\n\n"
    "if __name__ == '__main__':\n    loader = DataLoader(Images(), num_workers=0)\n    for x in loader:\n        {body}\n"
)


@pytest.mark.parametrize(
    ("body", "user", "found"),
    [
        ("imshow(x)", "from images import Images\n", False),
        ("imshow(x)", "import torch\n", True),
        ("trainer.train_on(x.cuda())", "from images import Images\n", True),
    ],
)
def test_a_loader_that_is_looked_at_where_its_data_set_is_defined(body: str, user: str, found: bool) -> None:
    assert found == is_told("TL401", {"images.py": LOADS.format(body=body), "train.py": user})
