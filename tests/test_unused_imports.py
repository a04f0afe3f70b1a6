"""Imports that fixes have made unused are taken out again; in doubt they stay."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from torchlint.fix.run import fix_files
from torchlint.settings.config import Settings
from torchlint.text.source import Source
from torchlint.text.tree import Tree

USE = "\nx = torch.ones(3)\na = Variable(x)\n"
IMPORTS = "import torch\nfrom torch.autograd import Variable\n"


def fixed(text: str, path: str = "model.py", **others: str) -> str:
    """What the fixes of TL910 make of a file."""
    rules = frozenset(("TL910",))
    files = {path: text, **{f"{name}.py": other for name, other in others.items()}}
    settings = Settings(rules, fixable=rules, root=Path.cwd(), preview=True)
    result = fix_files({name: code.encode() for name, code in files.items()}, settings, unsafe=True, write=False)
    return result.contents.get(path, text.encode()).decode()


@pytest.mark.parametrize(
    "code",
    [
        IMPORTS + USE + "print(Variable)\n",
        IMPORTS + USE + '__all__ = ["Variable"]\n',
        IMPORTS + USE + 'def f(x: "list[Variable]"): ...\n',
        IMPORTS.replace("Variable", "Variable  # for others") + USE,
        IMPORTS + USE + 'def f(x):\n    """' + "It is long. " * 20 + '\n\n    >>> f(Variable)\n    """\n',
        IMPORTS + USE + "print(globals()['Vari' + 'able'])\n",
        IMPORTS + USE + "print(vars()['Vari' + 'able'])\n",
        IMPORTS + USE + "print(getattr(sys.modules[__name__], 'Vari' + 'able'))\n",
        IMPORTS + USE + "print(eval('Vari' + 'able'))\n",
        IMPORTS + USE + "import __main__\nprint(__main__.Variable)\n",
        "import torch\nclass A:\n    from torch.autograd import Variable\n    x = torch.ones(3)\n    a = Variable(x)\n",
        "import torch\ntry:\n    from torch.autograd import Variable\nexcept ImportError:\n    Variable = None\n" + USE,
        "import torch\ntry:\n    from torch.autograd import Variable\n    NEW = False\nexcept ImportError:\n    NEW = True\n"
        + USE,
    ],
)
def test_what_may_be_needed_stays(code: str) -> None:
    assert code.replace("Variable(x)", "x.detach()") == fixed(code)


@pytest.mark.parametrize(
    "line", ["%timeit Variable(x)", "%%time Variable(x)", "!echo {Variable}", "y = %time Variable(x)"]
)
def test_what_a_magic_names_stays(line: str) -> None:
    def notebook(code: str) -> str:
        cells = [{"cell_type": "code", "source": source} for source in (IMPORTS, f"{line}\n{code}")]
        return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4})

    assert notebook(USE.replace("Variable(x)", "x.detach()")) == fixed(notebook(USE), "model.ipynb")


@pytest.mark.parametrize(
    "other",
    [
        "from model import Variable\n",
        "import model\nmodel.Variable\n",
        "from model import *\nprint(Variable)\n",
        "from model import *\nimport pkg\nprint(pkg.Variable)\n",
        "from model import *\nfrom pkg import Variable as V\n",
        "from model import *\nfrom pkg import nets\nprint(nets.Variable)\n",
        "from model import *\ndef f(:\n    Variable\n",
        "import model\ngetattr(model, 'Variable')\n",
        "import importlib\nimportlib.import_module('model').__dict__[\"Variable\"]\n",
        "@mock.patch('model.Variable')\ndef test(variable): ...\n",
    ],
)
def test_what_another_file_takes_from_here_stays(other: str) -> None:
    assert IMPORTS in fixed(IMPORTS + USE, train=other)
    assert IMPORTS in fixed(IMPORTS + USE, path="pkg/__init__.py")


@pytest.mark.parametrize(
    "other",
    [
        "from model import *\n",
        "from model import *  # with Variable\n",
        "from model import *\nfrom torch.autograd import Variable\nprint(Variable)\n",
        "from model import *\nimport torch\nprint(torch.autograd.Variable, self.Variable)\n",
    ],
)
def test_what_a_star_hands_on_to_nobody_goes(other: str) -> None:
    assert "Variable" not in fixed(IMPORTS + USE, train=other)


@pytest.mark.parametrize(
    "line", ["# %timeit Variable(x)", "# !echo {Variable}", "# %%time\n# a = Variable(x)", "# MAGIC %time Variable(x)"]
)
def test_what_a_magic_names_in_a_notebook_that_is_a_script_stays(line: str) -> None:
    code = f"# %%\n{IMPORTS}{USE}{line}\n"

    assert code.replace("a = Variable(x)\n", "a = x.detach()\n", 1) == fixed(code)


def test_what_a_comment_of_another_script_names_goes() -> None:
    assert "from torch.autograd" not in fixed(f"#!/usr/bin/python\n{IMPORTS}{USE}# Variable(x) of 100 % are ! old\n")


def test_what_was_unused_before_stays() -> None:
    code = "import torch\nfrom torch import nn\nfrom torch.autograd import Variable\n"

    assert "import torch\nfrom torch import nn\n\nx = torch.ones(3)\na = x.detach()\n" == fixed(code + USE)


@pytest.mark.parametrize(
    ("imports", "left"),
    [
        ("from torch.autograd import Variable\n", ""),
        ("from torch.autograd import Variable, grad\n", "from torch.autograd import grad\n"),
        ("from torch.autograd import Function, Variable\n", "from torch.autograd import Function\n"),
        (
            "from torch.autograd import (\n    Function,\n    Variable,\n)\n",
            "from torch.autograd import (\n    Function,\n)\n",
        ),
        (
            "from torch.autograd import (\n    Variable,\n    grad,  # of\n)\n",
            "from torch.autograd import (\n    grad,  # of\n)\n",
        ),
        ("import json; from torch.autograd import Variable\n", "import json; from torch.autograd import Variable\n"),
        ("if True:\n    from torch.autograd import Variable\n", "if True:\n    pass\n"),
    ],
)
def test_what_is_unused_now_goes(imports: str, left: str) -> None:
    assert f"import torch\n{left}\nx = torch.ones(3)\na = x.detach()\n" == fixed(f"import torch\n{imports}{USE}")


def test_what_reads_other_names_keeps_none() -> None:
    code = "def f(model, args):\n    print(vars(args))\n    model.eval()\n    model.exec(dir(model))\n"

    assert f"import torch\n\nx = torch.ones(3)\na = x.detach()\n{code}" == fixed(IMPORTS + USE + code)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import json\n\nIMPORT\n\n\nJSON = 1\n", "import json\n\n\nJSON = 1\n"),
        ("import json\nIMPORT\n\n\nJSON = 1\n", "import json\n\n\nJSON = 1\n"),
        ("IMPORT\n\nimport json\n", "import json\n"),
        ("def f():\n    IMPORT\n\n    return 1\n", "def f():\n    return 1\n"),
        ("def f():\n    return 1\n    IMPORT\n\n\nJSON = 1\n", "def f():\n    return 1\n\n\nJSON = 1\n"),
    ],
)
def test_no_more_blank_lines_are_left_than_there_were(before: str, after: str) -> None:
    data = before.replace("IMPORT", "import torch").encode()
    source = Source.of("a.py", data)
    module = source.parse()
    tree = Tree(source, lambda: module)
    statement = next(
        one for one in ast.walk(tree.module) if isinstance(one, ast.Import) and one.names[0].name == "torch"
    )

    edit = tree.delete_statement(statement)

    assert edit is not None
    assert after == (data[: edit.start] + edit.text + data[edit.end :]).decode()


LOCAL = """import torch

def f():
    from torch.autograd import Variable

    x = torch.ones(3)
    return Variable(x)

def g(x):
    from torch.autograd import Variable
    return Variable(x, requires_grad=True)
"""


def test_an_import_in_a_function_is_that_of_the_function() -> None:
    assert """def f():
    x = torch.ones(3)
    return x.detach()

def g(x):
    from torch.autograd import Variable
""" in fixed(LOCAL)


@pytest.mark.parametrize(
    "line", ["    global Variable\n", "    def g(): return Variable\n", "    print(locals())\n", "    Variable = 1\n"]
)
def test_an_import_in_a_function_stays_where_more_may_want_it(line: str) -> None:
    assert (
        "    from torch.autograd import Variable\n"
        in fixed(LOCAL.replace("def f():\n", f"def f():\n{line}")).partition("def g(x)")[0]
    )


def test_it_goes_once_its_last_use_has_gone(tmp_path: Path) -> None:
    code = IMPORTS + USE + "b = Variable(Variable(a))\nc = Variable(x, requires_grad=True)\n"

    assert "from torch.autograd import Variable" in fixed(code)
    assert "Variable" not in fixed(code.replace(", requires_grad=True", ""))


def test_a_module_goes_where_another_import_binds_its_package() -> None:
    code = "import torch\nimport torch.autograd\n\nx = torch.ones(3)\na = torch.autograd.Variable(x)\n"

    assert "import torch\n\nx = torch.ones(3)\na = x.detach()\n" == fixed(code)
    alone = code.replace("import torch\nimport", "import")
    assert alone.replace("torch.autograd.Variable(x)", "x.detach()") == fixed(alone)


@pytest.mark.parametrize(
    "other",
    [
        "def helper():\n    import torch\n    return torch.ones(2)\n",
        "def helper(torch):\n    return torch\n",
        "class Helper:\n    torch = 1\n",
        "if TYPE_CHECKING:\n    import torch\n",
        "try:\n    import torch\nexcept ImportError:\n    pass\n",
        "import torch.fx\n",
    ],
)
def test_a_module_stays_where_nothing_else_surely_binds_its_package(other: str) -> None:
    text = "import torch.autograd\n" + other + "x = torch.ones(3)\na = torch.autograd.Variable(x)\n"
    assert text.replace("torch.autograd.Variable(x)", "x.detach()") == fixed(text)


def test_a_module_stays_where_its_package_is_bound_below_a_read() -> None:
    text = "import torch.autograd\nx = torch.ones(3)\nimport torch\na = torch.autograd.Variable(x)\n"
    assert text.replace("torch.autograd.Variable(x)", "x.detach()") == fixed(text)


def test_two_modules_of_a_package_do_not_vouch_for_each_other() -> None:
    text = "import torch.autograd\nimport torch.autograd.variable\nx = torch.ones(3)\na = torch.autograd.Variable(x)\n"
    assert text.replace("torch.autograd.Variable(x)", "x.detach()") == fixed(text)


def test_a_module_in_a_function_goes_where_that_binds_its_package() -> None:
    text = (
        "def f(x):\n    import torch\n    import torch.autograd\n    y = torch.ones(3)\n"
        "    return torch.autograd.Variable(y)\n"
    )
    after = text.replace("    import torch.autograd\n", "").replace("torch.autograd.Variable(y)", "y.detach()")
    assert after == fixed(text)


def test_what_a_long_text_takes_from_the_program_stays() -> None:
    text = IMPORTS + USE + 'SETUP = """' + "x = 1\n" * 40 + 'from __main__ import Variable\n"""\n'
    assert text.replace("Variable(x)", "x.detach()") == fixed(text)
