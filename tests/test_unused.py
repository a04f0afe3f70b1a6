"""What an application has and nothing of it names is told of as mild, with the reason: functions, classes, methods, files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from torchlint import api
from torchlint.text.finding import Finding

_REASON = re.compile(
    r" \((?:nothing (?:that runs here uses `\w+`|here imports this file)|an import that fails ends this file)\)$"
)

HELPERS = """\
\"\"\"Helpers: average, init_params.\"\"\"
import torch.nn as nn

def average(values):
    return sum(values) / len(values)

def init_params(net):
    for layer in net.modules():
        nn.init.xavier_uniform(layer.weight)
"""
MAIN = "import torch\nfrom helpers import average\n\nprint(average([torch.ones(1)]))\n"

CLASSES = """\
import torch.nn as nn

class Base(nn.Module):
    def __init__(self):
        super().__init__()
        nn.init.xavier_uniform(self.weight)

class Spare(Base):
    def __init__(self):
        super(Spare, self).__init__()
        nn.init.xavier_uniform(self.bias)

class Net(Base):
    def forward(self, x):
        return x

    def start_again(self):
        nn.init.xavier_uniform(self.weight)
"""
USING = "import torch\nfrom classes import Net\n\nprint(Net()(torch.ones(1)))\n"


def told(root: Path, name: str, **files: str) -> list[int]:
    """The lines of a file that something is told of as used, in a project of these files: `models__net` is models/net.py."""
    found = findings(root, name, **files)
    return [one.line for one in found if not _REASON.search(one.message)]


def findings(root: Path, name: str, **files: str) -> tuple[Finding, ...]:
    (root / ".git").mkdir()
    for key, text in files.items():
        path = root / f"{key.replace('__', '/')}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    result = api.check([root / name], isolated=True)
    assert {one.code for one in result.findings} <= {"TL903"} and not result.errors
    return result.findings


def test_a_function_that_nobody_names(tmp_path: Path) -> None:
    assert [] == told(tmp_path, "helpers.py", helpers=HELPERS, main=MAIN)


TRAINS = """\
import torch

def train(net, optimizer, loader):
    total = 0
    for x in loader:
        loss = net(x.cuda()).mean()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total
"""


@pytest.mark.parametrize(
    ("main", "severity", "reason"),
    [
        ("import torch\nfrom helpers import train\n\ntrain(net, adam, rows)\n", "warning", ""),
        ("import torch\nimport helpers\n", "info", " (nothing that runs here uses `train`)"),
    ],
)
def test_what_nobody_uses_is_mild_and_says_so(tmp_path: Path, main: str, severity: str, reason: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "helpers.py").write_text(TRAINS)
    (tmp_path / "main.py").write_text(main)

    found = api.check(tmp_path, select=["TL101"], isolated=True).findings

    waits = "`loss.item()` waits for the device on every training step: keep the sum on the device and read it once"
    assert [(f"{waits}{reason}", severity)] == [(one.message, one.severity) for one in found]


def test_a_function_of_a_package_may_have_users_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").touch()
    assert [9] == told(tmp_path, "helpers.py", helpers=HELPERS, main=MAIN)


STARTS = "from lib.run import start\n\nif __name__ == '__main__':\n    start()\n"
RUNS = "import torch\nfrom .helpers import average\n\ndef start():\n    print(average([torch.ones(1)]))\n"


def test_a_script_that_leaves_torch_to_its_folder(tmp_path: Path) -> None:
    assert [] == told(tmp_path, "lib/helpers.py", lib__helpers=HELPERS, lib__run=RUNS, main=STARTS)


@pytest.mark.parametrize(
    "files",
    [
        {"main": STARTS.replace("lib.run", "other.run")},
        {"main": STARTS.replace("if __name__ == '__main__':\n    ", "")},
    ],
)
def test_a_folder_that_no_script_starts(tmp_path: Path, files: dict[str, str]) -> None:
    assert [9] == told(tmp_path, "lib/helpers.py", lib__helpers=HELPERS, lib__run=RUNS, **files)


def test_a_script_in_a_package_that_leaves_torch_to_its_folder(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").touch()
    assert [9] == told(tmp_path, "lib/helpers.py", lib__helpers=HELPERS, lib__run=RUNS, main=STARTS)


def test_a_package_with_a_script_beside_its_init_is_an_application(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").touch()
    main = f"{MAIN}if __name__ == '__main__':\n    pass\n"
    assert [] == told(tmp_path, "helpers.py", helpers=HELPERS, main=main)


START = "\nif __name__ == '__main__':\n    print(average([1.0]))\n"


DEAD = "def train():\n    init_params(1)\n"


@pytest.mark.parametrize(
    "files",
    [
        {"tools": "from helpers import init_params\n\n" + DEAD, "main": MAIN + "import tools\n"},
        {"tools": "import helpers\n\n" + DEAD.replace("init", "helpers.init"), "main": MAIN + "import tools\n"},
        {
            "tools": "\n" + DEAD.replace("    ", "    from helpers import init_params\n    "),
            "main": MAIN + "import tools\n",
        },
        {"parts__tools": "from helpers import init_params\nfrom .away import x\n\ninit_params(1)\n"},
        {"tests__test_tools": "from helpers import init_params\n\ndef test_params():\n    init_params(1)\n"},
    ],
)
def test_a_function_that_only_dead_code_calls(tmp_path: Path, files: dict[str, str]) -> None:
    assert [] == told(tmp_path, "helpers.py", **{"helpers": HELPERS, "main": MAIN, **files})


@pytest.mark.parametrize(
    "tools",
    [
        DEAD + "\ntrain()\n",
        DEAD.replace("def train", "@register\ndef train"),
        DEAD.replace("train", "main"),
        DEAD + "\nSTEPS = {'train': train}\n",
        DEAD + "\ndef call(name):\n    globals()[name]()\n",
        "class Trainer(framework.Trainer):\n    def train(self):\n        init_params(1)\n",
    ],
)
def test_a_function_that_live_code_calls(tmp_path: Path, tools: str) -> None:
    files = {"tools": "from helpers import init_params\n\n" + tools, "main": MAIN + "import tools\n"}
    assert [9] == told(tmp_path, "helpers.py", helpers=HELPERS, **files)


ANOTHER = "import torch\nfrom torch import optim\n\nif __name__ == '__main__':\n    model.start_again()\n"


def test_a_method_whose_name_another_program_has(tmp_path: Path) -> None:
    assert [6] == told(tmp_path, "classes.py", classes=CLASSES, main=USING, other=ANOTHER)


@pytest.mark.parametrize(
    "files",
    [
        {"other": ANOTHER.replace("torch import optim", "classes import Base")},
        {"other": ANOTHER.replace("torch import optim", "parts.classes import Base")},  # wherever that is found
        {"other": ANOTHER, "start": "import other, main\n"},
        {"other": ANOTHER, "main": USING + "import other\n"},
        {"other": ANOTHER.replace("from torch", "from tools"), "tools": "import main\noptim = 1\n"},
    ],
)
def test_a_method_whose_name_the_same_program_has(tmp_path: Path, files: dict[str, str]) -> None:
    assert [6, 18] == told(tmp_path, "classes.py", **{"classes": CLASSES, "main": USING, **files})


def test_a_function_that_a_script_does_not_name(tmp_path: Path) -> None:
    script = HELPERS.replace(", init_params", "") + START + "    net.eval()\n"
    assert [] == told(tmp_path, "helpers.py", helpers=script)


def test_a_function_that_a_comment_of_a_script_calls(tmp_path: Path) -> None:
    script = HELPERS.replace(", init_params", "") + START + "    # init_params(net)\n"
    assert [] == told(tmp_path, "helpers.py", helpers=script)


@pytest.mark.parametrize(
    "main",
    [
        MAIN.replace("average\n", "average, init_params\n"),
        MAIN.replace("average\n", "(\n    average,\n    init_params,  # of a net\n)\n"),
        MAIN.replace("average\n", "average, \\\n    init_params\n"),
        MAIN + "# from helpers import init_params\n# init_params(net)\n",
        MAIN + "import helpers\nnet = 1  # helpers.init_params(net)\n",
    ],
)
def test_a_function_that_is_imported_and_not_used(tmp_path: Path, main: str) -> None:
    assert [] == told(tmp_path, "helpers.py", helpers=HELPERS, main=main)


@pytest.mark.parametrize("end", [START + "    eval(name)(net)\n", "\nprint(average([1.0]))\n"])
def test_a_function_that_a_script_may_call(tmp_path: Path, end: str) -> None:
    assert [9] == told(tmp_path, "helpers.py", helpers=HELPERS.replace(", init_params", "") + end)


@pytest.mark.parametrize(
    "files",
    [
        {"main": MAIN.replace("average\n", "average, init_params\n") + "init_params(net)\n"},
        {"main": MAIN.replace("average\n", "(\n    average,\n    init_params,\n)\n") + "run(\n    init_params,\n)\n"},
        {"main": MAIN.replace("average\n", "average, init_params as start\n") + "start(net)\n"},
        {"main": MAIN + "print('#', helpers.init_params)\n"},
        {"main": "import torch\nimport helpers\n\ngetattr(helpers, 'init_' + kind)(net)\n"},
        {"other": "import helpers\n\nprint([getattr(helpers, name) for name in ['init_params']])\n"},
        {"helpers": HELPERS + "\nSETUP = {'params': init_params}\n"},
        {"helpers": HELPERS + "\ndef call(name):\n    return globals()[name]\n"},
        {"helpers": HELPERS.replace("def init", "@register\ndef init")},
        {"helpers": HELPERS.replace("init_params(net)", "main(net)")},
        {"main": "import torch\n"},  # nobody imports the file
        {"setup": "from setuptools import setup\nsetup(name='helpers')\n"},
    ],
)
def test_a_function_that_somebody_may_call(tmp_path: Path, files: dict[str, str]) -> None:
    assert 1 == len(told(tmp_path, "helpers.py", **{"helpers": HELPERS, "main": MAIN, **files}))


@pytest.mark.parametrize("read", ["vars(args)", "vars(self)", "self.__dict__"])
def test_what_an_object_has_is_no_function_of_its_file(tmp_path: Path, read: str) -> None:
    helpers = HELPERS + f"\ndef settings(self, args):\n    return {read}\n"
    assert [] == told(tmp_path, "helpers.py", helpers=helpers, main=MAIN)


@pytest.mark.parametrize("read", ["vars(module)[name]", "vars()[name]", "module.__dict__[name]"])
def test_what_a_module_has_may_be_a_function_of_its_file(tmp_path: Path, read: str) -> None:
    helpers = HELPERS + f"\ndef find(module, name):\n    return {read}\n"
    assert [9] == told(tmp_path, "helpers.py", helpers=helpers, main=MAIN)


OWN = "\ndef init_params(net):\n    return net\n\ninit_params(1)\n"


@pytest.mark.parametrize(
    "files",
    [
        {"main": MAIN + "from helpers import *\n" + OWN},
        {"main": MAIN + "from tools import *\ninit_params(1)\n", "tools": "x = 1\n"},
        {"main": MAIN + "from tools import init_params\ninit_params(1)\n", "tools": OWN},
        {"main": MAIN + "from tools import (\n    x,\n    init_params,\n)\n", "tools": "x = 1\n" + OWN},
        {"main": MAIN + "from pack.x import init_params\ninit_params(1)\n", "pack__x": OWN},
    ],
)
def test_a_function_of_whose_name_others_have_another(tmp_path: Path, files: dict[str, str]) -> None:
    assert [] == told(tmp_path, "helpers.py", helpers=HELPERS, **files)


@pytest.mark.parametrize(
    "files",
    [
        {"main": MAIN + OWN + "from helpers import *\ninit_params(1)\n"},
        {"main": MAIN + OWN + "if x:\n    from helpers import *\ninit_params(1)\n"},
        {"main": MAIN + "from tools import *\ninit_params(1)\n", "tools": "from helpers import *\n"},
        {
            "main": MAIN + "from tools import *\ninit_params(1)\n",
            "tools": "import helpers\ninit_params = get(helpers)\n",
        },
        {"main": MAIN + "from tools import init_params\ninit_params(1)\n", "tools": "from helpers import *\n"},
        {"main": MAIN + "from tools import init_params\nimport helpers as h\nh.init_params(1)\n", "tools": OWN},
        {"main": MAIN + "from parts.helpers import init_params\ninit_params(1)\n", "parts__helpers": OWN},
        {
            "main": MAIN + "from tools import init_params\ninit_params(1)\n",
            "tools": "from helpers import init_params\n",
        },
    ],
)
def test_a_function_that_others_may_take(tmp_path: Path, files: dict[str, str]) -> None:
    assert [9] == told(tmp_path, "helpers.py", helpers=HELPERS, **files)


PAGE = "# Helpers\n\n```sh\nconda create -n helpers python=3.10\n{}\n```\n"


@pytest.mark.parametrize(
    "line",
    [
        "pip install -e .",
        "pip install -r requirements.txt\npython setup.py develop",
        "pip install torch==2.4 my-helpers-extra git+https://github.com/them/tools.git",
        "uv sync",
    ],
)
def test_what_is_installed_to_be_worked_on_is_a_program(tmp_path: Path, line: str) -> None:
    (tmp_path / "README.md").write_text(PAGE.format(line))
    (tmp_path / "pyproject.toml").write_text("[build-system]\n[project]\nname = 'my_helpers'\n")
    main = f"{MAIN}if __name__ == '__main__':\n    pass\n"
    assert [] == told(tmp_path, "helpers.py", helpers=HELPERS, main=main)


@pytest.mark.parametrize(
    ("place", "lines"),
    [("train", []), ("tools__train", []), ("lib__train", [9]), ("examples__train", [9]), ("lib__parts__train", [9])],
)
def test_a_package_to_be_worked_on_with_a_script(tmp_path: Path, place: str, lines: list[int]) -> None:
    (tmp_path / "README.md").write_text(PAGE.format("pip install -e ."))
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "__init__.py").touch()
    script = "import torch\nfrom lib.helpers import average\n\nif __name__ == '__main__':\n    average([1.0])\n"
    files = {"setup": "from setuptools import *\nsetup(name='lib')\n", "lib__helpers": HELPERS, place: script}
    assert lines == told(tmp_path, "lib/helpers.py", **files)


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("python lib/train.py --lr 1", []),
        ("torchrun --nproc 2 ./lib/train.py", []),
        ("python lib/helpers.py", [9]),  # which is no script
        ("python examples/train.py", [9]),
        ("python train.py", [9]),
        ("cat lib/train.py", [9]),
        ("pip install lib\npython lib/train.py", [9]),
    ],
)
def test_a_package_to_be_worked_on_that_a_page_tells_to_start(tmp_path: Path, line: str, lines: list[int]) -> None:
    (tmp_path / "README.md").write_text(PAGE.format(f"pip install -e .\n{line}"))
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "__init__.py").touch()
    script = "import torch\nfrom lib.helpers import average\n\nif __name__ == '__main__':\n    average([1.0])\n"
    files = {"lib__helpers": HELPERS, "lib__train": script, "examples__train": script}
    assert lines == told(tmp_path, "lib/helpers.py", setup="from setuptools import *\nsetup(name='lib')\n", **files)


@pytest.mark.parametrize(
    ("page", "settings"),
    [
        ("pip install My-Helpers", ""),
        ("pip3 install -U my_helpers[all]", ""),
        ("uv add my.helpers", ""),
        ("pip install git+https://github.com/them/my-helpers.git", ""),
        ("[![PyPI](https://img.shields.io/pypi/v/x.svg)](x)", ""),
        ("python setup.py install", "classifiers = ['Topic :: Software Development']\n"),
    ],
)
def test_what_others_are_told_to_install_is_a_library(tmp_path: Path, page: str, settings: str) -> None:
    (tmp_path / "README.md").write_text(PAGE.format(page))
    (tmp_path / "pyproject.toml").write_text(f"[build-system]\n[project]\nname = 'my_helpers'\n{settings}")
    main = f"{MAIN}if __name__ == '__main__':\n    pass\n"
    assert [9] == told(tmp_path, "helpers.py", helpers=HELPERS, main=main)


def test_what_is_installed_and_has_no_page_is_for_others(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[build-system]\n")
    assert [9] == told(tmp_path, "helpers.py", helpers=HELPERS, main=MAIN)


TOOL = HELPERS.replace(", init_params", "") + START


def told_of_tool(root: Path, name: str, **files: str) -> list[int]:
    """The lines of a file that something is told of, in a library with a package `lib`."""
    (root / "lib").mkdir()
    (root / "lib" / "__init__.py").touch()
    (root / "setup.py").write_text("from setuptools import setup, find_packages\nsetup(name='lib', packages=['lib'])\n")
    return told(root, name, **files)


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"tools__other": TOOL + "    init_params(net)\n"},
        {"tools__other": "from os import *\n" + OWN, "lib__parts": "call(init_params=1)\nfrom os import *\n"},
        {
            "tools__helpers": TOOL.replace("def init", "@torch.no_grad()\ndef init").replace(
                "import", "import torch, ", 1
            )
        },
    ],
)
def test_a_function_that_a_script_of_a_library_does_not_name(tmp_path: Path, files: dict[str, str]) -> None:
    assert [] == told_of_tool(tmp_path, "tools/helpers.py", **{"tools__helpers": TOOL, **files})


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("lib/helpers.py", {"lib__helpers": TOOL}),
        ("helpers.py", {"helpers": TOOL}),
        ("tests/test_helpers.py", {"tests__test_helpers": TOOL}),
        (
            "tools/helpers.py",
            {"tools__helpers": TOOL, "tools__other": "from helpers import init_params\ninit_params(1)\n"},
        ),
        ("tools/helpers.py", {"tools__helpers": TOOL + "    init_params(1)\n"}),
        ("tools/helpers.py", {"tools__helpers": TOOL + "    eval(name)(1)\n"}),
        ("tools/helpers.py", {"tools__helpers": TOOL.replace("def init", "@register\ndef init")}),
        ("tools/helpers.py", {"tools__helpers": HELPERS}),
    ],
)
def test_a_function_of_a_library_that_others_may_call(tmp_path: Path, name: str, files: dict[str, str]) -> None:
    assert 1 == len(told_of_tool(tmp_path, name, **files))


USES = "from tools.helpers import average\nprint(average([1.0]))\n"


@pytest.mark.parametrize(
    ("setup", "lines"),
    [
        ("setup(packages=['lib'])", []),
        ("setup(packages=find_packages())", []),
        ("setup(packages=setuptools.find_packages(exclude=['tests']))", []),
        ("setup(packages=['lib', 'tools'])", [9]),
        ("setup(packages=['lib', 'tools.parts'])", [9]),
        ("setup(packages=find_namespace_packages())", [9]),
        ("setup(packages=['lib'], py_modules=names)", [9]),
        ("setup(packages=names)", [9]),
        ("setup()", [9]),
    ],
)
def test_a_function_of_what_is_not_installed(tmp_path: Path, setup: str, lines: list[int]) -> None:
    files = {"setup": f"from setuptools import *\n{setup}\n", "tools__helpers": HELPERS, "tools__use": USES}
    assert lines == told_of_tool(tmp_path, "tools/helpers.py", **files)


def test_a_part_of_a_package_without_an_init_is_installed(tmp_path: Path) -> None:
    uses = USES.replace("tools", "lib.tools")
    assert [9] == told_of_tool(tmp_path, "lib/tools/helpers.py", lib__tools__helpers=HELPERS, lib__tools__use=uses)


@pytest.mark.parametrize(
    ("setup", "inits", "lines"),
    [
        ("setup(packages=['lib'])", ["tools", "tools/parts"], []),
        ("setup(packages=find_packages())", ["tools/parts"], []),
        ("setup(packages=find_packages())", ["tools", "tools/parts"], [9]),
        ("setup(packages=['lib', 'tools.parts'])", ["tools/parts"], [9]),
        ("setup()", ["tools/parts"], [9]),
    ],
)
def test_a_package_that_a_library_does_not_install(
    tmp_path: Path, setup: str, inits: list[str], lines: list[int]
) -> None:
    for folder in inits:
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "__init__.py").touch()
    files = {"setup": f"from setuptools import *\n{setup}\n", "tools__parts__helpers": HELPERS}
    uses = USES.replace("tools", "tools.parts")
    assert lines == told_of_tool(tmp_path, "tools/parts/helpers.py", tools__use=uses, **files)


def test_a_package_that_is_installed_by_itself(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "setup.py").write_text("from setuptools import *\nsetup(packages=['parts'])\n")
    (tmp_path / "tools" / "parts").mkdir()
    (tmp_path / "tools" / "parts" / "__init__.py").touch()
    uses = USES.replace("tools", "parts")
    files = {"tools__parts__helpers": HELPERS, "tools__use": uses}
    assert [9] == told_of_tool(tmp_path, "tools/parts/helpers.py", **files)


def test_tools_alone_make_no_package(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.ruff]\nline-length = 100\n")
    assert [] == told(tmp_path, "helpers.py", helpers=HELPERS, main=MAIN)


@pytest.mark.parametrize(
    ("page", "lines"),
    [
        ("python setup.py build_ext --inplace\npython main.py", []),
        ("python setup.py build_ext -i\npython main.py", []),
        ("python setup.py build_ext\npython main.py", [9]),
        ("python setup.py build_ext --inplace\npython examples/main.py", [9]),
    ],
)
def test_extensions_that_are_compiled_where_they_lie(tmp_path: Path, page: str, lines: list[int]) -> None:
    (tmp_path / "README.md").write_text(f"Compile and start:\n\n{page}\n")
    (tmp_path / "setup.py").write_text("from setuptools import setup\nsetup(ext_modules=cythonize(extensions))\n")

    assert lines == told(tmp_path, "helpers.py", helpers=HELPERS, main=MAIN)


def test_what_the_hub_loads_is_for_others(tmp_path: Path) -> None:
    assert [9] == told(tmp_path, "helpers.py", helpers=HELPERS, main=MAIN, hubconf="import torch\n")


def test_a_class_and_a_method_that_nobody_names(tmp_path: Path) -> None:
    assert [6] == told(tmp_path, "classes.py", classes=CLASSES, main=USING)


@pytest.mark.parametrize(
    "all_names", ["", "__all__ = ['Net', 'Spare']\n", "__all__ = (\n    'Net',\n    'Spare',\n)\n"]
)
@pytest.mark.parametrize("more", ["", "BY_NAME"])
def test_a_class_that_a_package_hands_on_and_nobody_takes(tmp_path: Path, all_names: str, more: str) -> None:
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "__init__.py").write_text("from .classes import Net, Spare\n" + all_names)
    main = RUN.replace("lib.classes", "nets") + (BY_NAME if more else "")
    assert [6] == told(tmp_path, "nets/classes.py", nets__classes=CLASSES, main=main)


@pytest.mark.parametrize(
    ("run", "lines"),
    [
        ("from nets import tools\n\neval(kind)()\n", [6]),
        ("from parts import *\n\neval(kind)()\n", [6]),
        ("from nets import *\n\nNet().eval()\n", [6]),
        ("from nets import *\n\neval(kind)()\n", [6, 11, 18]),
        ("from .nets import *\n\nglobals()[kind]()\n", [6, 11, 18]),
        ("from nets.nets import *\n\neval(kind)()\n", [6]),
        ("from renders import *\n\neval(kind)()\n", [6, 11, 18]),
        ("from renders import draw\n\neval(kind)()\n", [6]),
        ("from lib.renders import *\n\neval(kind)()\n", [6]),
    ],
)
def test_a_text_that_finds_all_that_a_package_hands_out(tmp_path: Path, run: str, lines: list[int]) -> None:
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "__init__.py").write_text("from .classes import *\n")
    main = RUN.replace("lib.", "nets.")
    renders = "from nets.classes import Base, Spare, Net\n\ndef draw(net):\n    return net\n"
    assert lines == told(tmp_path, "nets/classes.py", nets__classes=CLASSES, main=main, other=run, renders=renders)


def test_an_object_of_a_package_has_nothing_of_its_other_files(tmp_path: Path) -> None:
    main = RUN.replace("lib.", "nets.") + "    from nets.tools import options\n    getattr(options, name)\n"
    tools = "options = 1\n"
    assert [6] == told(tmp_path, "nets/classes.py", nets__classes=CLASSES, nets__tools=tools, main=main)


@pytest.mark.parametrize("more", ["TABLE = [Spare]\n", "NAMES = ['Spare']\nfrom .classes import Spare as Other\n"])
def test_a_class_that_a_package_uses(tmp_path: Path, more: str) -> None:
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "__init__.py").write_text("from .classes import Net, Spare\n" + more)
    main = RUN.replace("lib.classes", "nets")
    assert [6, 11] == told(tmp_path, "nets/classes.py", nets__classes=CLASSES, main=main)


def test_a_name_handed_to_import_star_names_nothing(tmp_path: Path) -> None:
    exported = CLASSES + '\n__all__ = ["Net", "Spare"]\n'
    assert [6] == told(tmp_path, "classes.py", classes=exported, main=USING)


RUN = "import torch\nfrom lib.classes import Net\n\nif __name__ == '__main__':\n    Net()(torch.ones(1))\n"
BY_NAME = "import importlib\n\nmodule, kind = name.rsplit('.', 1)\ngetattr(importlib.import_module(module), kind)()\n"


@pytest.mark.parametrize("looking", [BY_NAME, "import hydra\n", "getattr(net, name)()\n"])
def test_a_class_that_no_text_spells(tmp_path: Path, looking: str) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "net.yaml").write_text("_target_: classes.Net\nsparer: SpareNet\n")
    assert [6] == told(tmp_path, "classes.py", classes=CLASSES, main=USING + looking)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("net.yaml", "_target_: classes.Spare\n"),
        ("run.sh", "python main.py --net Spare\n"),
        ("net.json", '{"class": "classes:Spare"}'),
        ("large.json", f'"{"x" * (1 << 18)}"'),
    ],
)
def test_a_class_that_a_configuration_spells(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / name).write_text(text)
    assert [6, 11] == told(tmp_path, "classes.py", classes=CLASSES, main=USING + BY_NAME)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("_target_: models.helpers.Net\n", []),
        ("_target_: models.helpers.Net\ninit: models.helpers.init_params\n", [9]),
        ("_target_: models.net.Other\n", []),
        ("files: helpers\n", []),
    ],
)
def test_a_function_of_a_file_that_a_configuration_leads_to(tmp_path: Path, text: str, lines: list[int]) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "net.yaml").write_text(text)
    helpers = HELPERS + "\nclass Net(nn.Module):\n    def forward(self, x):\n        return average(x)\n"
    assert lines == told(tmp_path, "models/helpers.py", models__helpers=helpers, main="import hydra\nimport torch\n")


def test_a_class_whose_name_has_no_capital_letter(tmp_path: Path) -> None:
    classes = CLASSES.replace("Spare", "spare")
    assert [6, 11] == told(tmp_path, "classes.py", classes=classes, main=USING + BY_NAME)


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        ({"main": USING + "from classes import Spare\nSpare()\n"}, [6, 11]),
        ({"main": USING + "Net().start_again()\n"}, [6, 18]),
        ({"main": USING + "print(getattr(Net(), 'start_again'))\n"}, [6, 18]),
        ({"classes": CLASSES + "\nTABLE = {'spare': Spare}\n"}, [6, 11]),
        ({"classes": CLASSES.replace("class Spare", "@register\nclass Spare")}, [6, 12]),
        ({"classes": CLASSES.replace("class Spare(Base)", "class Spare(Base, metaclass=Known)")}, [6, 11]),
        ({"classes": CLASSES.replace("class Base(nn.Module)", "class Base(framework.Step)")}, [6, 11, 18]),
        ({"classes": CLASSES.replace("def start_again", "def on_start")}, [6, 18]),
        ({"classes": CLASSES.replace("def start_again", "def reset_parameters")}, [6, 18]),
        ({"classes": CLASSES + "\n    def run(self, name):\n        getattr(self, name)()\n"}, [6, 18]),
        ({"main": "import torch\nimport classes\n\nprint(getattr(classes, kind)())\n"}, [6, 11, 18]),
        ({"main": "import torch\nimport classes\n\nprint(classes.__dict__[kind]())\n"}, [6, 11, 18]),
        ({"main": USING, "other": BY_NAME + "NAMES = ['classes.Spare']\n"}, [6, 11]),
        ({"main": USING, "other": BY_NAME + "NAMES = [name.capitalize()]\nprint(getattr(mod, name))"}, [6, 11, 18]),
        ({"main": USING, "other": BY_NAME + "def find():\n    return globals()[name]\n"}, [6]),
        ({"main": USING, "lib__other": "import classes as c\n\ngetattr(c, name)()\n"}, [6, 11, 18]),
        ({"main": USING, "lib__other": "from classes import Net\n\ngetattr(Net, name)()\n"}, [6, 11, 18]),
        ({"main": USING, "lib__other": "from parts import tools\n\ngetattr(tools, name)()\n"}, [6]),
        ({"main": USING, "other": "from importlib import metadata\n\nprint(metadata.version('x'))\n"}, [6]),
        ({"main": USING, "other": "import importlib\n\nimportlib.import_module('classes')\n"}, [6]),
        ({"main": USING, "other": "import importlib\n\nimportlib.import_module('parts.' + name)\n"}, [6]),
        ({"main": USING, "other": "import importlib\n\nimportlib.import_module(f'classes.{name}')\n"}, [6, 11, 18]),
        ({"main": USING, "other": "import importlib\n\nfor name in names:\n    __import__(name)\n"}, [6, 11]),
        ({"main": USING, "other": "import sys\n\nsys.modules['x'] = 1\nprint('y' in sys.modules)\n"}, [6]),
        ({"main": USING, "other": "import sys\n\nprint(getattr(sys.modules[name], kind))\n"}, [6, 11]),
        ({"classes": CLASSES + "\ndef find(name):\n    return globals()[name]\n"}, [6, 11, 18]),
        ({"classes": CLASSES + "\nimport sys\nfound = getattr(sys.modules[__name__], kind)\n"}, [6, 11, 18]),
        ({"main": USING, "other": "from classes import *\n\ndef find():\n    return globals()[name]\n"}, [6, 11, 18]),
        ({"main": USING, "other": "import classes\n\nprint(eval(text))\n"}, [6, 11, 18]),
        ({"main": USING, "other": "from parts import Spare\n\nprint(eval(text))\n"}, [6, 11, 18]),
        ({"main": USING, "other": "import torch\n\nprint(eval(text))\n"}, [6]),
        ({"main": USING, "other": "import classes\n\n# the reward is eval(new) - eval(old)\n"}, [6]),
        ({"main": USING, "other": "import classes\n\nSAID = 'globals() is not asked'\n"}, [6]),
        ({"main": USING, "other": "import classes\n\n# eval(x)\nprint eval(x)\n"}, [6, 11, 18]),
        ({"main": USING, "other": "from parts import *\n\nprint(eval(text))\n"}, [6]),
        ({"main": USING, "tests__other": "getattr(model, 'start_' + name)()\n"}, [6]),
        ({"main": USING, "other": "from classes import Spare as S\n"}, [6, 11]),
        ({"main": USING + "for name in ('start_again', 'end'):\n    getattr(net, name)()\n"}, [6, 18]),
        ({"main": USING + "getattr(net, 'start_' + name)()\n"}, [6, 18]),
        ({"main": USING + "getattr(net, f'start_{name}')()\n"}, [6, 18]),
        ({"main": USING + "getattr(models, name)()\n"}, [6]),
        ({"main": USING + "getattr(models, 'Spare' + name)()\n"}, [6, 11, 18]),
        ({"main": USING, "other": "import importlib\n\nimportlib.import_module(name)\n"}, [6, 11]),
        ({"main": USING + "exec(line)\n"}, [6, 11, 18]),
        ({"main": USING, "other": "import fire\n\nfire.Fire(make)\n"}, [6, 11, 18]),
        ({"setup": "from setuptools import setup\nsetup(name='classes')\n"}, [6, 11, 18]),
    ],
)
def test_a_class_or_a_method_that_somebody_may_use(tmp_path: Path, change: dict[str, str], lines: list[int]) -> None:
    assert lines == told(tmp_path, "classes.py", **{"classes": CLASSES, "main": USING, **change})


FUNCTIONS = """\
from torch import nn
from torch.autograd import Function

class Shift(Function):
    @staticmethod
    def backward(ctx, grad):
        nn.init.xavier_uniform(grad)

class ShiftHelper:
    pass
"""
BY_TEXT = {
    "main": "import torch\nfrom functions import ShiftHelper\n\nShiftHelper()\n",
    "other": "import importlib\n\nimportlib.import_module(name)\n",
}


def test_a_function_of_autograd_that_nobody_applies(tmp_path: Path) -> None:
    """No text that is made as the program runs is its name."""
    assert [] == told(tmp_path, "functions.py", functions=FUNCTIONS, **BY_TEXT)


@pytest.mark.parametrize(
    "change",
    [
        {"main": "import torch\nfrom functions import Shift\n\nShift.apply(torch.ones(1))\n"},
        {"main": "import torch\nimport functions\n\nfunctions.Shift.apply(torch.ones(1))\n"},
        {"main": "import torch\nfrom functions import *\n\nshift = Shift.apply\n"},
        {"functions": FUNCTIONS + "\nshift = Shift.apply\n"},
        {"functions": FUNCTIONS.replace("(Function)", "(nn.Module)"), "names": "NAMES = ['functions.Shift']\n"},
        {"main": "import torch\nimport functions\n\ngetattr(functions, name).apply(torch.ones(1))\n"},
        {"setup": "from setuptools import setup\nsetup(name='functions')\n"},
        {"main": "import torch\n"},  # nobody imports the file
    ],
)
def test_a_function_of_autograd_that_somebody_may_apply(tmp_path: Path, change: dict[str, str]) -> None:
    files: dict[str, str] = {"functions": FUNCTIONS, **BY_TEXT, **change}
    assert [7] == told(tmp_path, "functions.py", **files)


@pytest.mark.parametrize("place", ["scripts__train", "tools__train", "demos__show", "src__main", "net__train"])
def test_a_program_whose_scripts_lie_in_a_folder(tmp_path: Path, place: str) -> None:
    assert [6] == told(tmp_path, "lib/classes.py", lib__classes=CLASSES, **{place: RUN})


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("scripts__train", RUN.partition("if __name__")[0]),  # which is no script
        ("scripts__train", RUN.replace("torch", "numpy")),
        *((f"{folder}__train", RUN) for folder in ("examples", "docs", "tests", "benchmarks", "tutorials")),
    ],
)
def test_what_makes_no_program(tmp_path: Path, place: str, text: str) -> None:
    assert [6, 11, 18] == told(tmp_path, "lib/classes.py", lib__classes=CLASSES, **{place: text})


PACKAGE = {
    "parts__used": HELPERS,
    "parts__spare": HELPERS,
    "main": "import torch\nfrom parts.used import average, init_params\n",
}


LONE = {"parts__spare": HELPERS, "parts__used": "import torch\n", "main": "import torch\nimport parts.used\n"}


def test_a_file_of_which_comments_alone_speak(tmp_path: Path) -> None:
    main = LONE["main"] + "# from parts.spare import average\n# print(average([1.0]))\n"
    assert [] == told(tmp_path, "parts/spare.py", **{**LONE, "main": main})


@pytest.mark.parametrize("main", ["", "# average\nprint('init_params')\n", "# average\ninit_params = 1\n"])
def test_a_file_that_may_be_new(tmp_path: Path, main: str) -> None:
    assert [] == told(tmp_path, "parts/spare.py", **{**LONE, "main": LONE["main"] + main})


def told_of_lone(root: Path, **files: str) -> list[int]:
    return told(root, "parts/spare.py", **{**LONE, **files})


@pytest.mark.parametrize(
    "change",
    [
        {"main": LONE["main"] + "import parts.spare\nparts.spare.init_params(net)\n"},
        {
            "main": LONE["main"]
            + "from parts.spare import average\nprint(average)\nfrom parts.spare import init_params as i\n"
        },
        {"main": LONE["main"] + "subprocess.run(['python', 'parts/spare.py'])\n"},
        {"main": LONE["main"] + "import importlib\nimportlib.import_module(name)\n"},
        {"parts__spare": HELPERS + "\ninit_params(net)\n"},
        {"parts__spare": HELPERS + "\nif __name__ == '__main__':\n    init_params(net)\n"},
        {"setup": "from setuptools import setup\nsetup(name='parts')\n"},
    ],
)
def test_a_file_that_is_imported_found_or_started(tmp_path: Path, change: dict[str, str]) -> None:
    assert [9] == told_of_lone(tmp_path, **change)


@pytest.mark.parametrize("text", ["python parts/spare.py\n", "torchrun --nproc 2 ./parts/spare.py --lr 1\n"])
def test_a_file_that_a_configuration_starts(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.sh").write_text(text)
    assert [9] == told_of_lone(tmp_path)


def test_a_file_that_another_one_has_replaced(tmp_path: Path) -> None:
    assert [] == told(tmp_path, "parts/spare.py", **PACKAGE)


@pytest.mark.parametrize(
    "change",
    [
        {"main": "import torch\nfrom parts import used, spare\n\nspare.init_params(net)\n"},
        {"parts__spare": HELPERS + "\ninit_params(net)\n"},
        {"parts__spare": HELPERS + "\nnet = init_params(net)\n"},
        {"parts__spare": HELPERS + "\nif __name__ == '__main__':\n    init_params(net)\n"},
        {"parts__run": "import subprocess\n\nsubprocess.run(['python', 'parts/spare.py'])\n"},
        {"parts__table": "NAMES = {'spare': 1}\n"},
        {"main": "import torch\nimport importlib\nfrom parts.used import average\n\nimportlib.import_module(name)\n"},
        {"setup": "from setuptools import setup\nsetup(name='parts')\n"},
    ],
)
def test_a_file_that_may_be_used(tmp_path: Path, change: dict[str, str]) -> None:
    assert [9] == told(tmp_path, "parts/spare.py", **{**PACKAGE, **change})


@pytest.mark.parametrize(
    "change",
    [
        {"main": "import torch\n"},  # nobody imports the other one either
        {"parts__used": HELPERS.replace("average", "mean")},
        {"parts__used": "import torch\n"},
    ],
)
def test_a_file_that_nobody_imports(tmp_path: Path, change: dict[str, str]) -> None:
    assert [] == told(tmp_path, "parts/spare.py", **{**PACKAGE, **change})


WINDOWS = """\
import torch.nn as nn

def ssim(x, layer):
    nn.init.xavier_uniform(layer.weight)
    return x

class SSIM(nn.Module):
    def forward(self, x):
        return ssim(x, self)  # ssim(x)

def matlab(x):
    return x
"""
MEASURED = "import torch\nfrom windows import matlab\n\nssim = matlab(torch.ones(1))\nprint(f'ssim {ssim}')\n"


def test_what_only_a_class_uses_that_nobody_names(tmp_path: Path) -> None:
    assert [] == told(tmp_path, "windows.py", windows=WINDOWS, main=MEASURED)


def test_methods_that_are_called_as_what_evaluates_texts(tmp_path: Path) -> None:
    main = (
        MEASURED
        + "\nclass Model:\n    def eval(self):\n        return self\n\n    def exec(self, x):\n        return x\n"
    )
    assert [] == told(tmp_path, "windows.py", windows=WINDOWS, main=main)


def test_what_others_call_so_themselves(tmp_path: Path) -> None:
    main = MEASURED + "\ndef ssim(x):\n    return x\n\n# ssim(1)\nprint(ssim(2), 'the test of ssim', 'ssim')\n"
    assert [] == told(tmp_path, "windows.py", windows=WINDOWS, main=main)


def test_a_package_in_a_folder_that_is_none(tmp_path: Path) -> None:
    main = MEASURED.replace("from windows", "from model.windows")
    (tmp_path / "model" / "windows").mkdir(parents=True)
    (tmp_path / "model" / "windows" / "__init__.py").write_text(WINDOWS)
    assert [] == told(tmp_path, "model/windows/__init__.py", main=main)


def test_a_name_of_other_letters(tmp_path: Path) -> None:
    windows, main = (text.replace("ssim", "μ").replace("SSIM", "Loss") for text in (WINDOWS, MEASURED))
    files = {
        "windows": windows.replace("return μ(x, self)", "return x"),
        "main": main + "from windows import μ\nprint(μ(1, 2))\n",
    }
    assert [4] == told(tmp_path, "windows.py", **files)


@pytest.mark.parametrize(
    "change",
    [
        {"main": MEASURED + "from windows import SSIM\nprint(SSIM())\n"},
        {"main": MEASURED + "import windows\nprint(windows.ssim)\n"},
        {"main": MEASURED + "from windows import (\n    matlab as m, SSIM, ssim)\nprint(SSIM())\n"},
        {"main": MEASURED + "from windows import (matlab,\n    ssim  # of pictures\n)\nprint(ssim)\n"},
        {"main": MEASURED + "from windows import matlab, \\\n    ssim\nprint(ssim)\n"},
        {"main": MEASURED + "from windows import (\n    SSIM as S,\n    ssim as s,\n)\nprint(s)\n"},
        {"main": MEASURED + "from windows import *\nprint(ssim)\n"},
        {"main": MEASURED + "import importlib\nLOSSES = ['windows.SSIM']\nprint(importlib.import_module(LOSSES[0]))\n"},
        {"windows": WINDOWS + "\nbest = SSIM()\n"},
        {"windows": WINDOWS.replace("def matlab(x):\n    return x", "def matlab(x):\n    return ssim(x, x)")},
        {"windows": WINDOWS.replace("class SSIM", "@register\nclass SSIM")},
        {"other": "import windows\n\nprint eval(name)\n", "main": MEASURED + "from windows import ssim\n"},
        {"setup": "from setuptools import setup\nsetup(name='windows')\n"},
    ],
)
def test_what_a_class_uses_that_somebody_may_use(tmp_path: Path, change: dict[str, str]) -> None:
    assert [4] == told(tmp_path, "windows.py", **{"windows": WINDOWS, "main": MEASURED, **change})


MORE = """\
\"\"\"Scores: average, init_params, spread.\"\"\"
import torch.nn as nn

def init_params(net):
    pass

def average(net):
    for layer in net.modules():
        nn.init.xavier_uniform(layer.weight)

def spread(values):
    return max(values) - min(values)
"""
ALIKE = {
    "parts__scores": MORE,
    "losses__scores": HELPERS,
    "nets__net": "import torch\n",
    "main": "import torch\nimport nets\nfrom losses.scores import average  # spread\n\neval('nets.' + kind + '.Net')()\n",
}


def test_a_file_that_one_called_the_same_has_replaced(tmp_path: Path) -> None:
    assert [] == told(tmp_path, "parts/scores.py", **ALIKE)


@pytest.mark.parametrize(
    "change",
    [
        {"main": "import torch\nimport losses.scores\nfrom parts.scores import average\naverage(net)\n"},
        {"main": "import torch\nimport losses.scores\nimport parts.scores\n\nparts.scores.average(net)\n"},
        {"main": "import torch\nfrom losses.scores import average\nfrom parts import scores\n\nscores.average(net)\n"},
        {
            "main": "import torch\nfrom losses.scores import average\n",
            "parts__all": "from .scores import average\naverage(1)\n",
        },
        {"main": ALIKE["main"].replace("'nets.'", "'parts.'").replace("import nets", "import parts")},
        {"main": ALIKE["main"].replace("import nets\n", "")},  # a member of what?
        {"main": ALIKE["main"].replace("'nets.'", "name")},
        {"parts__scores": MORE + "\nif __name__ == '__main__':\n    spread([1])\n"},
    ],
)
def test_a_file_that_is_only_called_the_same(tmp_path: Path, change: dict[str, str]) -> None:
    assert [9] == told(tmp_path, "parts/scores.py", **{**ALIKE, **change})


@pytest.mark.parametrize(
    "change",
    [
        {"nets__net": "import torch\nspread = None\n"},
        {
            "parts__scores": MORE
            + "\ndef last(values):\n    return values[-1]\n\ndef first(values):\n    return values[0]\n\ndef none(values):\n    return values[:0]\n"
        },
        {"losses__scores": HELPERS.replace("average", "mean").replace("init_params", "init")},
        {"losses__scores": "import torch\n", "losses__others": HELPERS},
    ],
)
def test_a_file_that_nobody_imports_under_the_name_of_another(tmp_path: Path, change: dict[str, str]) -> None:
    assert [] == told(tmp_path, "parts/scores.py", **{**ALIKE, **change})


@pytest.mark.parametrize("name", ["spare (1", "spare[1", "spare+", "*"])
def test_a_file_whose_name_is_no_pattern(tmp_path: Path, name: str) -> None:
    files = {**PACKAGE, f"parts__{name}": PACKAGE["parts__spare"]}
    assert [] == told(tmp_path, f"parts/{name}.py", **files)


SCRIPT = (
    "from torch.nn import init\nfrom helpers import kept\n\ndef start(w):\n    init.xavier_uniform(w)\n\nstart(kept)\n"
)


def test_a_file_that_ends_at_an_import(tmp_path: Path) -> None:
    assert [] == told(tmp_path, "old.py", old=SCRIPT, helpers=HELPERS)


@pytest.mark.parametrize(
    "change",
    [
        {"helpers": HELPERS + "\nkept = 1\n"},
        {"helpers": HELPERS + "\nfrom others import *\n"},
        {"helpers": HELPERS + "\ndef __getattr__(name):\n    return 1\n"},
        {"lib__helpers": "kept = 1\n"},
        {"helpers__kept": "value = 1\n", "helpers__x": HELPERS},
        {
            "old": SCRIPT.replace(
                "from helpers import kept", "try:\n    from helpers import kept\nexcept ImportError:\n    kept = 0"
            )
        },
        {"old": SCRIPT.replace("helpers", "elsewhere")},
    ],
)
def test_a_file_whose_imports_may_work(tmp_path: Path, change: dict[str, str]) -> None:
    files = {"old": SCRIPT, **({} if "helpers__x" in change else {"helpers": HELPERS}), **change}
    assert 1 == len(told(tmp_path, "old.py", **files))


MOVED = (
    "from torch.nn import init\nfrom .trainer import Trainer\n\ndef start(w):\n    init.xavier_uniform(w)\n\nstart(1)\n"
)
TRAINERS = {"trainers__trainer": "class Trainer:\n    pass\n", "trainers__old__moved": MOVED}


def test_a_file_that_imports_one_from_where_it_was_before(tmp_path: Path) -> None:
    (tmp_path / "trainers").mkdir()
    assert [] == told(tmp_path, "trainers/old/moved.py", **TRAINERS)


def test_a_file_that_imports_one_that_is_nowhere(tmp_path: Path) -> None:
    (tmp_path / "trainers").mkdir()
    assert [] == told(tmp_path, "trainers/old/moved.py", trainers__old__moved=MOVED)


WHOLE = MOVED.replace("from .trainer", "from nets.trainer")
BESIDE = WHOLE + "\nif __name__ == '__main__':\n    start(2)\n"
NETS = {"nets__net": "Net = 1\n"}


def packages(root: Path, *places: str) -> None:
    for place in places:
        (root / place).mkdir(parents=True, exist_ok=True)
        (root / place / "__init__.py").touch()


@pytest.mark.parametrize(
    ("place", "text"),
    [("train", BESIDE), ("tools__train", BESIDE.replace("nets.", "tools.nets.")), ("nets__other", WHOLE)],
)
def test_a_file_that_imports_one_of_a_package_that_is_not_there(tmp_path: Path, place: str, text: str) -> None:
    packages(tmp_path, "nets", "tools/tools/nets", "tools/tools", "tools")
    assert [] == told(tmp_path, f"{place.replace('__', '/')}.py", **NETS, **{place: text})


@pytest.mark.parametrize(
    "change",
    [
        {"nets__trainer": "Trainer = 1\n"},
        {"nets__trainer__Trainer": "x = 1\n"},
        {"lib__nets__trainer": "Trainer = 1\n"},
        {"train": BESIDE.replace("nets.trainer", "nets")},
        {"train": BESIDE.replace("nets.trainer", "other.trainer")},
        {"train": BESIDE.replace("nets.trainer", "nets._trainer")},
        {"train": BESIDE.replace("from nets", "if w:\n    from nets")},
        {"train": WHOLE},  # which is no script
        {"tools": "import nets\nnets.__path__ += ['elsewhere']\n"},
        {"setup": "from setuptools import setup, Extension\nsetup(ext_modules=[Extension('nets.trainer', [])])\n"},
    ],
)
def test_a_file_whose_package_may_have_another_part(tmp_path: Path, change: dict[str, str]) -> None:
    packages(tmp_path, "nets", "lib", "lib/nets")
    assert 1 == len(told(tmp_path, "train.py", **{**NETS, "train": BESIDE, **change}))


def test_a_folder_that_is_no_package_may_be_one_of_several(tmp_path: Path) -> None:
    assert 1 == len(told(tmp_path, "train.py", nets__net="Net = 1\n", train=BESIDE))


def test_a_part_of_a_package_that_is_built(tmp_path: Path) -> None:
    packages(tmp_path, "nets")
    (tmp_path / "nets" / "trainer.so").touch()
    assert 1 == len(told(tmp_path, "train.py", **NETS, train=BESIDE))


@pytest.mark.parametrize(
    "change",
    [
        {"trainers__old__trainer": "Trainer = 1\n"},
        {"trainers__old__trainer__Trainer": "x = 1\n"},
        {"trainers__old__moved": MOVED.replace(".trainer", "..trainer")},
        {"trainers__old__moved": MOVED.replace(".trainer", "....trainer")},
        {"trainers__old__moved": MOVED.replace(".trainer", "trainer")},
        {"trainers__old__moved": MOVED.replace(".trainer", ".")},
        {"trainers__old__moved": MOVED.replace(".trainer", "._trainer")},
        {"trainers__old__moved": MOVED.replace(".trainer", ".trainer_pb2")},
        {"trainers__old__moved": MOVED.replace(".trainer", ".version.trainer")},
        {
            "trainers__old__moved": MOVED.replace(
                "from .trainer import Trainer", "try:\n    from .trainer import Trainer\nexcept ImportError:\n    pass"
            )
        },
        {"trainers__old__moved": MOVED.replace("from .trainer", "if w:\n    from .trainer")},
        {
            "setup": "from setuptools import setup, Extension\nsetup(ext_modules=[Extension('trainers.old.trainer', [])])\n"
        },
        {"start": "import trainers\ntrainers.__path__ += ['elsewhere']\n"},
        {"start": "import sys\nsys.modules['trainers.old.trainer'] = sys\n"},
    ],
)
def test_a_file_that_may_import_one_beside_it(tmp_path: Path, change: dict[str, str]) -> None:
    (tmp_path / "trainers" / "old").mkdir(parents=True)
    assert 1 == len(told(tmp_path, "trainers/old/moved.py", **{**TRAINERS, **change}))


@pytest.mark.parametrize("name", ["trainer.cpython-311-x86_64-linux-gnu.so", "trainer.pyx", "trainer"])
def test_a_file_that_imports_what_is_no_python(tmp_path: Path, name: str) -> None:
    (tmp_path / "trainers" / "old").mkdir(parents=True)
    (tmp_path / "trainers" / "old" / name).touch()
    assert [5] == told(tmp_path, "trainers/old/moved.py", **TRAINERS)


def test_a_file_that_imports_what_git_leaves_out(tmp_path: Path) -> None:
    (tmp_path / "trainers" / "old").mkdir(parents=True)
    (tmp_path / ".gitignore").write_text("trainers/old/trainer.py\n")
    assert [5] == told(tmp_path, "trainers/old/moved.py", trainers__old__trainer="Trainer = 1\n", **TRAINERS)


PACK = '__all__ = ["optimizers"]\n\nfrom . import optimizers\n'
"""A package that is installed, and has no `amp` any more."""
SETUP = "from setuptools import setup\nsetup(name='pack')\n"
ASKING = """\
from torch.nn import init

try:
    from pack import amp
except ImportError:
    raise ImportError("install pack")

init.xavier_uniform(amp.weight())
"""


def told_of_pack(root: Path, text: str, **files: str) -> list[int]:
    """The lines of a script that something is told of, beside a package of that text."""
    (root / "pack").mkdir()
    (root / "pack" / "__init__.py").write_text(text)
    return told(root, "old.py", **{"old": ASKING, "setup": SETUP, "pack__optimizers": "x = 1\n", **files})


TAKING = "import torch.nn.init as init\nfrom data import load\n\nif __name__ == '__main__':\n    init.xavier_uniform(load())\n"


@pytest.mark.parametrize(("place", "lines"), [("tools/run.py", [5]), ("run.py", [])])
def test_a_script_that_takes_from_a_file_of_its_folder(tmp_path: Path, place: str, lines: list[int]) -> None:
    """Where that is not there the one of another folder is none that it finds for sure."""
    files = {place.removesuffix(".py").replace("/", "__"): TAKING, "data": "size = 1\n"}
    assert lines == told(tmp_path, place, **files)


def test_a_package_that_has_no_such_name(tmp_path: Path) -> None:
    assert [] == told_of_pack(tmp_path, PACK)


@pytest.mark.parametrize(
    ("text", "files"),
    [
        (PACK + "amp = 1\n", {}),
        (PACK + "from .optimizers import *\n", {}),
        (PACK + "def __getattr__(name):\n    return 1\n", {}),
        (PACK + "__path__ = extended(__path__)\n", {}),
        ("from . import optimizers\n", {}),
        ("", {}),
        (PACK, {"pack__amp": "weight = 1\n"}),
        (PACK, {"setup": SETUP.replace(")", ", ext_modules=[CppExtension('pack.amp', ['amp.cpp'])])")}),
        (PACK, {"old": ASKING.replace("amp", "_amp")}),
        (PACK, {"old": ASKING.replace("amp", "version")}),
        (PACK, {"old": ASKING.replace('raise ImportError("install pack")', "amp = None")}),
        (PACK, {"old": ASKING.replace('raise ImportError("install pack")', "if strict:\n        raise")}),
        (PACK, {"old": ASKING.replace("from pack", "from packs")}),
    ],
)
def test_a_package_that_may_have_a_name(tmp_path: Path, text: str, files: dict[str, str]) -> None:
    assert 1 == len(told_of_pack(tmp_path, text, **files))


def test_a_package_whose_name_is_built_by_others(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[build-system]\nbuild-backend = "maturin"\n')
    assert [8] == told_of_pack(tmp_path, PACK)


def test_a_package_that_is_not_installed(tmp_path: Path) -> None:
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text(PACK)
    assert [8] == told(tmp_path, "old.py", old=ASKING, pack__optimizers="x = 1\n")


def test_what_is_wrong_with_the_name_itself(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "apex").mkdir()
    old = ASKING.replace("pack", "apex") + "model, optimizer = amp.initialize(model, optimizer)\n"
    for name, text in {
        "apex/__init__.py": PACK,
        "apex/optimizers.py": "x = 1\n",
        "setup.py": SETUP,
        "old.py": old,
    }.items():
        (tmp_path / name).write_text(text)
    found = api.check([tmp_path / "old.py"], isolated=True).findings
    assert [("TL901", 9)] == [(one.code, one.line) for one in found if not _REASON.search(one.message)]


def test_a_folder_of_a_package_without_an_init(tmp_path: Path) -> None:
    (tmp_path / "pack" / "amp").mkdir(parents=True)
    (tmp_path / "pack" / "amp" / "state.py").write_text("x = 1\n")
    (tmp_path / "pack" / "__init__.py").write_text(PACK)
    assert [8] == told(tmp_path, "old.py", old=ASKING, setup=SETUP, pack__optimizers="x = 1\n")


RUNNER = "import torch.nn as nn\n\nclass Runner:\n    def run(self):\n        nn.init.xavier_uniform(self.net.weight)\n"


@pytest.mark.parametrize(
    ("main", "lines"),
    [
        ("from runners import *\n\nprint(eval(name)())\n", [5]),
        ("from runners import *\n\nprint(globals()[name]())\n", [5]),
        ("from runners import Other\n\nprint(eval(name)())\n", []),
        ("from others import *\n\nprint(eval(name)())\n", []),
        ("from runners import *\n\nprint(model.eval()(x))\n", []),
    ],
)
def test_a_class_that_a_package_hands_on_to_who_finds_it_by_a_text(tmp_path: Path, main: str, lines: list[int]) -> None:
    (tmp_path / "runners").mkdir()
    (tmp_path / "runners" / "__init__.py").write_text("from runners.one import *\n")
    assert lines == told(tmp_path, "runners/one.py", runners__one=RUNNER, main=main + "import torch\n")


SAMPLER = """\
import torch.nn as nn

class Sampler:
    def sample(self, net):
        return net

    def loop(self, net):
        return self.progressive(net)

    def progressive(self, net):
        nn.init.xavier_uniform(net.weight)
"""
SAMPLES = "import torch\nfrom sampler import Sampler\n\nSampler().sample(torch.ones(1))\n"
"""A program that calls one of three methods; of the others one calls the other."""


def test_a_method_that_only_another_one_calls_which_nobody_does(tmp_path: Path) -> None:
    assert [] == told(tmp_path, "sampler.py", sampler=SAMPLER, main=SAMPLES)


@pytest.mark.parametrize(("call", "lines"), [("", []), ("Other().show(1)\n", [11])])
def test_a_method_that_a_method_of_another_file_calls(tmp_path: Path, call: str, lines: list[int]) -> None:
    other = "class Other:\n    def run(self):\n        return 1\n\n    def show(self, one):\n        return one.progressive(1)\n"
    main = SAMPLES + "from other import Other\n\nOther().run()\n" + call
    assert lines == told(tmp_path, "sampler.py", sampler=SAMPLER, other=other, main=main)


@pytest.mark.parametrize(
    "change",
    [
        {"main": SAMPLES + "Sampler().loop(1)\n"},
        {"main": SAMPLES + "Sampler().progressive(1)\n"},
        {"main": SAMPLES + "for name in ('loop', 'sample'):\n    getattr(net, name)(1)\n"},
        {"sampler": SAMPLER.replace("return net", "return self.loop(net)")},
        {"sampler": SAMPLER.replace("    def loop(self", "    @hook\n    def loop(self")},
        {"sampler": SAMPLER.replace("def loop", "def on_end")},
        {"sampler": SAMPLER.replace("class Sampler:", "class Sampler(Base):")},
        {"sampler": SAMPLER + "\nprint(Sampler.loop)\n"},
        {"sampler": SAMPLER.replace("    def loop", "    run = 'progressive'\n\n    def loop")},
    ],
)
def test_a_method_that_a_called_one_may_call(tmp_path: Path, change: dict[str, str]) -> None:
    assert 1 == len(told(tmp_path, "sampler.py", **{"sampler": SAMPLER, "main": SAMPLES, **change}))


@pytest.mark.parametrize(
    ("page", "lines"),
    [
        ("```python\nx = Sampler().loop(net)\n```\n", [11]),
        ("Call `sampler.progressive(net)`.\n", [11]),
        ("It has a loop that is progressive, and a loop().\n", []),
        ("Sampler.loop is gone.\n", []),
    ],
)
def test_a_method_that_a_page_shows_a_call_of(tmp_path: Path, page: str, lines: list[int]) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "README.md").write_text(page)
    assert lines == told(tmp_path, "sampler.py", sampler=SAMPLER, main=SAMPLES)


@pytest.mark.parametrize(("text", "lines"), [("Spare", [6, 11]), ("Other", [6])])
def test_a_class_that_mmcv_makes_by_a_text(tmp_path: Path, text: str, lines: list[int]) -> None:
    made = f"import classes\nfrom mmcv.runner import obj_from_dict\n\nobj_from_dict(dict(type={text!r}), classes)\n"
    assert lines == told(tmp_path, "classes.py", classes=CLASSES, main=USING + made)


@pytest.mark.parametrize(
    ("taken", "lines"), [("kit.old.data", []), ("kit.parts", [6]), ("kit.data", [6]), ("kitten.old.data", [6])]
)
def test_a_script_that_takes_what_a_package_in_src_no_longer_has(tmp_path: Path, taken: str, lines: list[int]) -> None:
    package = tmp_path / "src" / "kit"
    (package / "parts").mkdir(parents=True)
    for place in ("__init__.py", "data.py", "parts/__init__.py"):
        (package / place).write_text("def read(x):\n    return x\n")
    script = f"import torch.nn as nn\nfrom {taken} import read\n\ndef main(net):\n    for layer in net.modules():\n        nn.init.xavier_uniform(layer.weight)\n"
    files = {"examples__run": script + "\nif __name__ == '__main__':\n    main(read(1))\n"}
    assert lines == told(tmp_path, "examples/run.py", **files)
