"""Names, callers, classes and values across the files of a project."""

from __future__ import annotations

import ast
import functools
import random
from collections.abc import Callable

import pytest

from torchlint.facts.module import Class, Function, Module
from torchlint.facts.values import Value
from torchlint.program.files import normal, read
from torchlint.program.project import Project
from torchlint.program.texts import MAX_FILES
from torchlint.system.stack import with_room

Files = dict[str, str]
TORCH = "import torch\nfrom torch import nn\n"


def project_of(files: Files) -> Project:
    return Project({path: text.encode for path, text in files.items()})


def module(project: Project, path: str) -> Module:
    found = project.module(path)
    assert found is not None
    return found


def last(project: Project, path: str) -> tuple[Function, ast.expr]:
    """The last statement of a file that is an expression alone."""
    pairs = [(f, n) for f in module(project, path).functions for n in f.flow.nodes if isinstance(n, ast.Expr)]
    function, statement = max(pairs, key=lambda pair: pair[1].lineno)
    return function, statement.value


def resolved(files: Files, path: str) -> str | None:
    project = project_of(files)
    return project.resolve(*last(project, path))


def value(files: Files, path: str) -> Value:
    project = project_of(files)
    return project.value(*last(project, path))


def called(files: Files, path: str) -> list[str]:
    """What the last call of a file runs, as `path:function`."""
    project = project_of(files)
    function, call = last(project, path)
    assert isinstance(call, ast.Call)
    return [f"{target.module.path}:{target.qualname}" for target in project.targets(function, call)]


def callers(files: Files, path: str, qualname: str) -> list[str] | None:
    """The places that call a function, as `path:line`."""
    project = project_of(files)
    (function,) = [function for function in module(project, path).functions if function.qualname == qualname]
    sites = project.call_sites(function)
    return None if sites is None else [f"{site.function.module.path}:{site.call.lineno}" for site in sites]


# Which file an import reads


OWN = ["deep/kit/setup.py", "deep/kit/kit/__init__.py", "deep/kit/kit/model.py"]


@pytest.mark.parametrize(
    ("paths", "near", "dotted", "expected"),
    [
        # Nothing of the project
        (["a.py"], "b.py", "missing", None),
        (["torch.py"], "b.py", "torch", None),
        (["os.py"], "b.py", "os", None),
        (["numpy/__init__.py"], "b.py", "numpy", None),
        (["other/utils.py"], "here/train.py", "utils", None),
        (["here/sub/utils.py"], "here/train.py", "utils", None),
        (["a/models.py", "a/xmodels.py"], "b/train.py", "models", None),
        (["pkg/deep/model.py"], "train.py", "pkg.model", None),
        # A file beside, in a package, above
        (["utils.py"], "train.py", "utils", "utils.py"),
        (["here/utils.py"], "here/train.py", "utils", "here/utils.py"),
        (["utils.py"], "here/deep/train.py", "utils", "utils.py"),
        (["utils.pyi"], "train.py", "utils", "utils.pyi"),
        (["pkg/__init__.py"], "train.py", "pkg", "pkg/__init__.py"),
        (["pkg/model.py"], "train.py", "pkg.model", "pkg/model.py"),
        (["pkg/model.py", "pkg/__init__.py"], "scripts/train.py", "pkg.model", "pkg/model.py"),
        (["/work/pkg/model.py"], "/work/train.py", "pkg.model", "/work/pkg/model.py"),
        (["/pkg/model.py"], "/work/train.py", "pkg.model", "/pkg/model.py"),
        # Source folders beside what is above
        (["src/pkg/model.py"], "scripts/train.py", "pkg.model", "src/pkg/model.py"),
        (["src/pkg/model.py"], "src/pkg/train.py", "pkg.model", "src/pkg/model.py"),
        (["lib/pkg/__init__.py"], "tests/test_a.py", "pkg", "lib/pkg/__init__.py"),
        (["deep/src/pkg/model.py"], "train.py", "pkg.model", None),
        # A package that is installed by itself, from a folder below others
        ([*OWN], "train.py", "kit.model", "deep/kit/kit/model.py"),
        ([*OWN], "train.py", "kit", "deep/kit/kit/__init__.py"),
        ([*OWN, "kit/model.py"], "train.py", "kit.model", "kit/model.py"),
        ([*OWN[1:]], "train.py", "kit.model", None),
        ([*OWN, "deep/kit/__init__.py"], "train.py", "kit.model", None),
        ([OWN[0], OWN[2]], "train.py", "kit.model", None),
        ([*OWN, "old/kit/setup.py", "old/kit/kit/__init__.py", "old/kit/kit/model.py"], "train.py", "kit.model", None),
        # The nearest of several
        (["utils.py", "a/utils.py"], "a/train.py", "utils", "a/utils.py"),
        (["utils.py", "a/utils.py"], "b/train.py", "utils", "utils.py"),
        (["a/utils.py", "b/utils.py"], "b/train.py", "utils", "b/utils.py"),
        (["utils.py", "a/utils.py", "a/__init__.py"], "a/train.py", "utils", "a/utils.py"),
        (["utils.py", "a/utils.py"], "a/deep/train.py", "utils", "a/utils.py"),
        (["a/utils.py", "a/__init__.py"], "a/deep/train.py", "utils", "a/utils.py"),
        (["a/utils.py", "a/__init__.py", "a/b/utils.py"], "a/b/c/train.py", "utils", "a/b/utils.py"),
        # A package is no folder that others below it import from, where there is another one
        (["utils.py", "a/utils.py", "a/__init__.py"], "a/deep/train.py", "utils", "utils.py"),
        (["utils.py", "a/utils/__init__.py", "a/__init__.py"], "a/deep/train.py", "utils", "utils.py"),
    ],
)
def test_file_of_an_import(paths: list[str], near: str, dotted: str, expected: str | None) -> None:
    project = project_of(dict.fromkeys([*paths, near], ""))

    assert expected == project.find(dotted, module(project, near))


@pytest.mark.parametrize(
    ("text", "dotted", "expected"),
    [
        ("", "data", None),
        ("sys.path.append('other')", "data", None),
        ("sys.path.append('core')", "os", None),
        ("sys.path.append('core')", "torch", None),
        ("sys.path.remove('core')", "data", None),
        ("sys.path.append()", "data", None),
        ("path.append('core')", "data", None),
        ("sys.path.append('..')", "data", None),
        ("sys.path.append('core.d')", "data", None),
        ("sys.path.append('/home/somebody/core')", "data", None),
        ("def f(): sys.path.append('core')", "data", None),
        ("sys.path.append('core')", "data", "core/data.py"),
        ("sys.path.append('core')", "parts.layer", "core/parts/layer.py"),
        ("sys.path.insert(0, './core/')", "data", "core/data.py"),
        ("sys.path.append('core/parts')", "layer", "core/parts/layer.py"),
        ("sys.path.append(os.path.join(ROOT, 'core', 'parts'))", "layer", "core/parts/layer.py"),
        ("sys.path.append(os.path.join(os.path.dirname(__file__), '../core'))", "data", "core/data.py"),
        ("sys.path.append('core')", "beside", "beside.py"),
    ],
)
def test_file_in_a_folder_that_the_script_puts_on_its_path(text: str, dotted: str, expected: str | None) -> None:
    files = ("core/data.py", "core/os.py", "core/torch.py", "core/beside.py", "core/parts/layer.py", "beside.py")
    project = project_of({**dict.fromkeys(files, ""), "train.py": f"import sys\n{text}\nimport {dotted}\n"})

    assert expected == project.find(dotted, module(project, "train.py"))
    importers = project.importers(module(project, expected).path) if expected is not None else ["train.py"]
    assert importers == ["train.py"]


@pytest.mark.parametrize(
    ("text", "dotted", "expected"),
    [
        ("", "data", None),
        ("sys.path.insert(0, join(ROOT, 'other'))", "data", None),
        ("def f():\n    sys.path.append('core')", "data", None),
        ("sys.path.insert(0, '/core')", "data", None),
        ("add_path('core')", "data", None),
        ("sys.path.insert(0, join(ROOT, 'core'))", "os", None),
        ("sys.path.insert(0, join(ROOT, 'core'))\nsys.path.insert(0, join(ROOT, 'more'))", "data", None),
        ("sys.path.insert(0, join(ROOT, 'core'))", "data", "core/data.py"),
        ("sys.path.insert(0, join(ROOT, 'core'))", "parts.layer", "core/parts/layer.py"),
        ("sys.path.insert(\n    0, join(ROOT, 'core', 'parts')\n)", "layer", "core/parts/layer.py"),
        ("sys.path.insert(0, join(ROOT, 'core', 'parts')", "layer", None),
        ("sys.path.insert(0, r'C:/core')\nsys.path.append('C:\\data')", "data", None),
        (f"sys.path.append({'(' * 300}'core'{')' * 300})", "data", None),
        ("sys.path.append('../core')", "parts", "core/parts/__init__.py"),
        ("from paths import add_pypath  # sys.path\nadd_pypath(join(cfg.root, 'core'))", "data", "core/data.py"),
        ("sys.path.append('core')", "beside", "main/beside.py"),
    ],
)
def test_file_in_a_folder_that_another_file_puts_on_the_path(text: str, dotted: str, expected: str | None) -> None:
    files = ("core/data.py", "core/os.py", "core/beside.py", "core/parts/__init__.py", "core/parts/layer.py")
    others = {"more/data.py": "", "main/beside.py": "", "main/config.py": f"import sys\n{text}\n"}
    project = project_of({**dict.fromkeys(files, ""), **others, "main/train.py": f"import config\nimport {dotted}\n"})

    assert expected == project.find(dotted, module(project, "main/train.py"))
    assert expected is None or project.importers(expected) == ["main/train.py"]


@pytest.mark.parametrize(
    ("imports", "expected"),
    [
        ("from plain import Plain as M", ["Plain"]),
        ("from gan import Gan as M\n    from plain import Plain as M", ["Gan", "Plain"]),
        ("if kind: from gan import Gan as M\n    else: from plain import Plain as M", ["Gan", "Plain"]),
        ("if kind: from gan import Gan as M\n    else: from elsewhere import Plain as M", []),
        ("if kind: from gan import make as M\n    else: from plain import Plain as M", ["Plain"]),
    ],
)
def test_a_name_that_branches_import_differently_is_one_of_several_classes(imports: str, expected: list[str]) -> None:
    files = {
        "gan.py": "class Gan: pass\ndef make(): pass\n",
        "plain.py": "class Plain: pass\n",
        "made.py": f"def make(kind):\n    {imports}\n    return M(kind)\n",
    }
    project = project_of(files)
    made = project.returns(module(project, "made.py").top_functions["make"])

    assert expected == [one.name for one in made.any_class]


@pytest.mark.parametrize(
    ("path", "others", "expected"),
    [
        ("train.py", [], "train"),
        ("a/train.py", [], "train"),
        ("a/train.py", ["a/__init__.py"], "a.train"),
        ("a/b/train.py", ["a/__init__.py", "a/b/__init__.py"], "a.b.train"),
        ("a/b/train.py", ["a/b/__init__.py"], "b.train"),
        ("a/b/__init__.py", ["a/__init__.py"], "a.b"),
        ("__init__.py", [], "__init__"),
        ("a/model.pyi", [], "model"),
    ],
)
def test_name_of_a_module(path: str, others: list[str], expected: str) -> None:
    assert expected == module(project_of(dict.fromkeys([path, *others], "")), path).name


# Names across files


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"main.py": "from .ops import compile\ncompile", "ops.py": "def compile(f): return f"}, "ops.compile"),
        ({"main.py": "from ops import compile\ncompile", "ops.py": "compile = 1"}, "ops.compile"),
        ({"main.py": "from ops import compile\ncompile"}, "ops.compile"),
        ({"main.py": "import ops\nops.compile", "ops.py": "x ="}, "ops.compile"),
        ({"main.py": "from ops import compile\ncompile", "ops.py": "from torch import compile"}, "torch.compile"),
        ({"main.py": "from ops import fast\nfast", "ops.py": "from torch import compile as fast"}, "torch.compile"),
        ({"main.py": "import ops\nops.nn.Linear", "ops.py": "from torch import nn"}, "torch.nn.Linear"),
        (
            {
                "main.py": "from pkg import fast\nfast",
                "pkg/__init__.py": "from .ops import fast",
                "pkg/ops.py": "from torch import compile as fast",
            },
            "torch.compile",
        ),
        # A function that the file defines itself hides what it imports.
        (
            {"main.py": "import ops\nops.compile", "ops.py": "from torch import compile\ndef compile(f): return f"},
            "ops.compile",
        ),
        # So does a wrapper that takes the name, once it is made for certain.
        (
            {"main.py": "from ops import fast\nfast", "ops.py": "from torch import fast\nfast = wrapped(fast)"},
            "ops.fast",
        ),
        (
            {
                "main.py": "from ops import nn\nnn.Linear",
                "ops.py": "try:\n    from torch import nn\nexcept ImportError:\n    nn = None",
            },
            "torch.nn.Linear",
        ),
        # Star imports
        ({"main.py": "from ops import *\nfast", "ops.py": "from torch import compile as fast"}, "torch.compile"),
        ({"main.py": "from ops import *\nnn.Linear", "ops.py": "from torch import nn"}, "torch.nn.Linear"),
        (
            {"main.py": "from a import *\nnn.ReLU", "a.py": "from b import *", "b.py": "from torch import nn"},
            "torch.nn.ReLU",
        ),
        (
            {"main.py": "import a\na.nn.ReLU", "a.py": "from b import *", "b.py": "from torch import nn"},
            "torch.nn.ReLU",
        ),
        ({"main.py": "from ops import *\nmake", "ops.py": "def make(): pass"}, "ops.make"),
        # Circles end.
        ({"main.py": "from a import x\nx", "a.py": "from b import x", "b.py": "from a import x"}, "b.x"),
        ({"main.py": "import numpy as np\nnp.zeros"}, "numpy.zeros"),
    ],
)
def test_re_exports(files: Files, expected: str) -> None:
    assert expected == resolved(files, "main.py")


def test_a_class_by_the_name_of_its_base() -> None:
    files = {
        "data.py": "from torch.utils.data import Dataset\nclass Dataset(Dataset):\n    def f(self):\n        return 1\n",
        "a.py": "from data import Dataset\nDataset().f()",
        "b.py": "from data import Dataset\nDataset()",
        "amp.py": "try:\n    from torch.amp import GradScaler\nexcept ImportError:\n    class GradScaler: pass\n",
        "c.py": "from amp import GradScaler\nGradScaler()",
    }

    assert "number" == value(files, "a.py").kind
    assert "data.Dataset" == value(files, "b.py").class_name
    assert "scaler" == value(files, "c.py").kind


def test_a_module_does_not_import_itself() -> None:
    files = {
        "model/__init__.py": "from model.net import Net\n",
        "model/net.py": "class Net: pass\n",
        "utils/model.py": "from model import Net\ndef load():\n    return Net()\nload()",
        "utils/here.py": "class Base: pass\nclass Heir(Base):\n    pass\nimport here\nhere.Base()",
        "train.py": "from utils.model import load\nload()",
    }

    assert "model.net.Net" == value(files, "utils/model.py").class_name
    assert "model.net.Net" == value(files, "train.py").class_name
    assert "here.Base" == value(files, "utils/here.py").class_name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("torch.nn.Linear", None),
        ("pkg.missing", None),
        ("pkg.model.missing", None),
        ("pkg.model.Net.missing", None),
        ("pkg.model.Net.forward.deeper", None),
        ("pkg.model.build.deeper", None),
        ("pkg.broken.f", None),
        ("circle.x", None),
        ("pkg", "module pkg"),
        ("pkg.model", "module pkg.model"),
        ("pkg.model.Net", "class Net"),
        ("pkg.model.Net.forward", "Net.forward"),
        ("pkg.model.build", "build"),
        ("pkg.Net", "class Net"),
        ("pkg.make", "build"),
        ("stars.build", "build"),
        ("main.own", "own"),
    ],
)
def test_definitions(name: str, expected: str | None) -> None:
    project = project_of(
        {
            "main.py": "def own(): pass",
            "pkg/__init__.py": "from .model import Net, build as make",
            "pkg/model.py": "class Net:\n    def forward(self): pass\ndef build(): pass",
            "pkg/broken.py": "def f(:",
            "stars.py": "from torch import *\nfrom pkg.model import *",
            "circle.py": "from circle import x",
        }
    )

    found = project.definition(name, module(project, "main.py"))

    told = None
    if isinstance(found, Function):
        told = found.qualname
    elif found is not None:
        told = f"class {found.qualname}" if isinstance(found, Class) else f"module {found.name}"
    assert expected == told


def test_a_file_that_does_not_parse_is_told() -> None:
    project = project_of({"a.py": "def f(:", "b.py": "x = 'caf\\xe9'", "c.py": ""})

    assert [None, None] == [project.module("a.py"), project.module("a.py")]
    assert ["a.py"] == list(project.errors)


def test_a_file_that_can_not_be_read_is_told() -> None:
    project = Project({"gone.py": read("/nowhere/gone.py"), "raw.py": lambda: b"\xff\xfe"})

    assert [None, None] == [project.module("gone.py"), project.module("raw.py")]
    assert ["FileNotFoundError", "SourceError"] == [type(error).__name__ for error in project.errors.values()]


def test_a_path_as_the_project_knows_it() -> None:
    assert ["a/b.py", "a.py", "/a.py"] == [normal("./a/b.py"), normal("b/../a.py"), normal("/a.py")]


def test_files_that_are_added_later() -> None:
    files: dict[str, Callable[[], bytes]] = {"b.py": lambda: b""}
    project = Project(files)
    files["a.py"] = lambda: b""
    project.refresh()

    assert ["a.py", "b.py"] == project.paths


@pytest.mark.parametrize(
    "code",
    [
        "from ops import *\nmissing",
        "from ops import *\nx[0].nn",
        "from ops import *\nnn = 1\nnn.Linear",
        "from ops import *\ndef f(nn):\n    nn.Linear",
    ],
)
def test_what_no_star_import_brings_in(code: str) -> None:
    assert None is resolved({"main.py": code, "ops.py": "from torch import nn"}, "main.py")


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({"main.py": "from ops import zeros\nzeros(3)"}, "tensor"),
        ({"main.py": "import ops\nops.zeros(3)"}, "tensor"),
        ({"main.py": "from ops import *\nzeros(3)"}, "tensor"),
        ({"main.py": "from pkg import *\nzeros(3)", "pkg.py": "from ops import *"}, "tensor"),
        ({"main.py": "from pkg import *\nzeros(3)", "pkg.py": "from ops import *\nfrom main import *"}, "tensor"),
        ({"main.py": "from pkg import *\nzeros(3)", "pkg.py": "from ops import *\ndef zeros(n): return 'a'"}, "str"),
        ({"main.py": "from ops import *\nempty(3)"}, "unknown"),
    ],
)
def test_another_name_of_a_function_of_torch_in_another_file(files: Files, kind: str) -> None:
    assert kind == value({"ops.py": "import torch\nzeros = torch.zeros\nempty = one()\n", **files}, "main.py").kind


SAMPLER = "class Data:\n    def sample(self):\n        return [1, 2]\nclass Other:\n    pass\n"


@pytest.mark.parametrize(
    ("code", "made"),
    [
        ("from files import *\nother.sample()", "data = Data()"),
        ("from files import *\n_data.sample()", "_data = Data()"),
        ("from files import *\ndata = load()\ndata.sample()", "data = Data()"),
        ("from files import *\ndef f(data):\n    data.sample()", "data = Data()"),
        ("from files import *\ndata.sample()", "data = load()"),
        ("from files import *\ndata.sample()", "data = Data()\ndata = Other()"),
        ("from files import *\ndata.draw()", "data = Data()"),
        ("from gone import *\ndata.sample()", "data = Data()"),
        ("from files import data\ndata.sample()", "data = Other()"),
        ("from files import data\ndata.sample()", "data = Data() if small else load()"),
        ("import files\nfiles.sample()", "data = Data()"),
    ],
)
def test_methods_of_what_no_other_file_makes(code: str, made: str) -> None:
    assert "unknown" == value({"main.py": code, "files.py": SAMPLER + made}, "main.py").kind


@pytest.mark.parametrize(
    "code",
    [
        "from files import *\ndata.sample()",
        "from files import *\ndef f():\n    data.sample()",
        "from files import *\nfrom os.path import *\ndata.sample()",
        "from files import data\ndata.sample()",
        "from files import data as own\nown.sample()",
        "import files as own\nown.data.sample()",
    ],
)
def test_methods_of_what_another_file_makes(code: str) -> None:
    given = value({"main.py": code, "files.py": SAMPLER + "data = Data()"}, "main.py")

    assert "list" == given.kind
    assert given.proven


def test_a_file_that_does_not_hold_a_name_is_not_parsed_for_a_star_import() -> None:
    project = project_of({"main.py": "from a import *\nfrom b import *\nx", "a.py": "x = 1", "b.py": "y = 2"})

    assert "number" == project.value(*last(project, "main.py")).kind
    assert {"main.py", "a.py"} == project.parsed.keys()


STARS = {
    "pkg/__init__.py": "from .models import *",
    "pkg/models/__init__.py": "from .bert import *\nfrom .gpt import *",
    "pkg/models/bert.py": "class Bert: pass",
    "pkg/models/gpt.py": "class Gpt: pass",
    "pkg/masks.py": "def fill(): pass  # for Bert",
}


def test_files_that_do_not_hold_a_name_are_not_parsed_to_look_for_it() -> None:
    project = project_of({**STARS, "main.py": "from pkg import Gpt\nGpt"})

    assert "pkg.models.gpt.Gpt" == project.resolve(*last(project, "main.py"))
    assert {"main.py", "pkg/__init__.py", "pkg/models/__init__.py", "pkg/models/gpt.py"} == project.parsed.keys()


def test_a_module_of_a_package_is_not_looked_for_in_its_star_imports() -> None:
    project = project_of({**STARS, "main.py": "from pkg import masks\nmasks"})

    assert "pkg.masks" == project.resolve(*last(project, "main.py"))
    assert {"main.py", "pkg/__init__.py"} == project.parsed.keys()


# What a call runs


@pytest.mark.parametrize(
    "files",
    [
        {"main.py": "f()"},
        {"main.py": "print(1)"},
        {"main.py": TORCH + "torch.compile(f)"},
        {"main.py": "import utils\nutils.f()"},
        {"main.py": "x.f()", "other.py": "def f(): pass"},
        {"main.py": "f()", "other.py": "def f(): pass"},
        {"a/main.py": "from utils import f\nf()", "b/utils.py": "def f(): pass", "main.py": "f()"},
        {"main.py": "class A: pass\nA()"},
        {"main.py": "class A: pass\nA()()"},
        {"main.py": TORCH + "nn.Linear(1, 2)(x)"},
        {"main.py": "def g(f):\n    f()\ndef f(): pass\n"},
        {"main.py": "from ops import *\ndef g():\n    f = 1\n    f()", "ops.py": "def f(): pass"},
        {"main.py": "items[0]()"},
        {"main.py": "class A:\n    def f(self): pass\nself.f()"},
    ],
)
def test_calls_that_run_nothing_of_the_project(files: Files) -> None:
    assert [] == called(files, "main.py")


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"main.py": "def f(): pass\nf()"}, ["main.py:f"]),
        ({"main.py": "def f():\n    def g(): pass\n    g()\ndef g(): pass"}, ["main.py:f.g"]),
        ({"main.py": "from utils import f\nf()", "utils.py": "def f(): pass"}, ["utils.py:f"]),
        ({"main.py": "from utils import f as g\ng()", "utils.py": "def f(): pass"}, ["utils.py:f"]),
        ({"main.py": "import utils\nutils.f()", "utils.py": "def f(): pass"}, ["utils.py:f"]),
        ({"main.py": "from utils import *\nf()", "utils.py": "def f(): pass"}, ["utils.py:f"]),
        ({"main.py": "class A:\n    def __init__(self): pass\nA()"}, ["main.py:A.__init__"]),
        ({"main.py": "class B:\n    def __init__(self): pass\nclass A(B): pass\nA()"}, ["main.py:B.__init__"]),
        ({"main.py": "from m import A\nA()", "m.py": "class A:\n    def __init__(self): pass"}, ["m.py:A.__init__"]),
        ({"main.py": "class A:\n    def f(self): pass\nA().f()"}, ["main.py:A.f"]),
        ({"main.py": "class A:\n    def __call__(self): pass\na = A()\na()"}, ["main.py:A.__call__"]),
        ({"main.py": "class A:\n    def g(self): pass\n    def f(self):\n        self.g()"}, ["main.py:A.g"]),
        ({"main.py": "class A:\n    @staticmethod\n    def g(): pass\nA.g()"}, ["main.py:A.g"]),
        ({"main.py": "def f(): pass\ndef g(): pass\nh = f if a else g\nh()"}, ["main.py:f", "main.py:g"]),
        (
            {
                "main.py": "class A:\n    def f(self): pass\n    def g(self): pass\n"
                "    def __init__(self, a):\n        self.h = self.f if a else self.g\nA(1).h()"
            },
            ["main.py:A.f", "main.py:A.g"],
        ),
        (
            {"main.py": "class A:\n    @classmethod\n    def g(cls):\n        cls()\n    def __init__(self): pass"},
            ["main.py:A.__init__"],
        ),
        ({"main.py": TORCH + "class N(nn.Module):\n    def forward(self, x): pass\nN()(x)"}, ["main.py:N.forward"]),
        ({"main.py": "def f(): pass\ng = f\ng()"}, ["main.py:f"]),
        ({"main.py": "import functools\ndef f(): pass\ng = functools.partial(f, 1)\ng()"}, ["main.py:f"]),
        ({"main.py": TORCH + "def f(): pass\ng = torch.compile(f)\ng()"}, ["main.py:f"]),
        (
            {
                "main.py": "class A:\n    def f(self): pass\nclass B:\n    def f(self): pass\n"
                "k = A if x else B\nk().f()",
            },
            ["main.py:A.f", "main.py:B.f"],
        ),
        (
            {
                "main.py": "class A:\n    def f(self): pass\nclass B(A):\n    def g(self): pass\n"
                "b = B() if x else A()\nb.f()",
            },
            ["main.py:A.f"],
        ),
        (
            {
                "main.py": "def f(): pass\ndef g(h):\n    h()\ng(f)".replace("h()\ng(f)", "h()").replace(
                    "def g", "g(f)\ndef g"
                )
            },
            ["main.py:f"],
        ),
        (
            {
                "main.py": "from m import A\nclass B(A):\n    def f(self):\n        self.g()",
                "m.py": "class A:\n    def g(self): pass",
            },
            ["m.py:A.g"],
        ),
    ],
)
def test_calls_that_run_a_function_of_the_project(files: Files, expected: list[str]) -> None:
    assert expected == called(files, "main.py")


NET = (
    TORCH + "class A(nn.Module):\n    def forward(self, x): pass\n"
    "class B(nn.Module):\n    def forward(self, x): pass\n"
    "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.one = A()\n"
    "        self.list = nn.ModuleList([A() for _ in range(3)])\n"
    "        self.pair = nn.ModuleList([A(), B()])\n"
    "        self.dict = nn.ModuleDict({'a': A(), 'b': B()})\n"
    "        self.seq = nn.Sequential(A(), nn.ReLU(), B())\n"
    "        self.given = nn.Sequential(*[B() for _ in range(3)])\n"
    "    def forward(self, x):\n"
)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("self.one(x)", ["A"]),
        ("self.one.forward(x)", ["A"]),
        ("self.list[0](x)", ["A"]),
        ("for block in self.list:\n            block(x)", ["A"]),
        ("for i, block in enumerate(self.list):\n            block(x)", ["A"]),
        ("self.pair[0](x)", ["A"]),
        ("self.pair[1](x)", ["B"]),
        ("self.dict['a'](x)", ["A"]),
        ("self.dict['b'](x)", ["B"]),
        ("self.seq(x)", ["A", "B"]),
        ("self.seq[2](x)", ["B"]),
        ("self.seq[1](x)", []),
        ("self.missing(x)", []),
    ],
)
def test_modules_in_modules(body: str, expected: list[str]) -> None:
    assert [f"main.py:{name}.forward" for name in expected] == called({"main.py": f"{NET}        {body}\n"}, "main.py")


# Who calls a function


@pytest.mark.parametrize(
    ("files", "qualname", "expected"),
    [
        ({"a.py": "def f(): pass"}, "f", []),
        ({"a.py": "def f(): pass\nprint(f)"}, "f", []),
        ({"a.py": "def f(): pass", "b.py": "def f(): pass\nf()"}, "f", []),
        ({"x/a.py": "def f(): pass", "y/b.py": "from a import f\nf()", "a.py": "def f(): pass"}, "f", []),
        ({"a.py": "class A:\n    def f(self): pass", "b.py": "x.f()"}, "A.f", []),
        # Names too common to look for
        ({"a.py": "class A:\n    def get(self): pass\nA().get()"}, "A.get", None),
        ({"a.py": TORCH + "class A(nn.Module):\n    def forward(self): pass\nA()()"}, "A.forward", None),
        ({"a.py": "f()"}, "<module>", None),
        ({"a.py": "def f(): pass", "b.py": "from a import f\nf("}, "f", []),
        ({"a.py": "def f(): pass\nf()\nif x:\n    f()"}, "f", ["a.py:2", "a.py:4"]),
        ({"a.py": "def get(): pass\nget()\nx.get()"}, "get", ["a.py:2"]),
        ({"a.py": "class A:\n    def update(self): pass\nA().update()\n{}.update()"}, "A.update", ["a.py:3"]),
        (
            {"a.py": "def f(): pass", "b.py": "from a import f\nf()", "c.py": "import a\na.f()"},
            "f",
            ["b.py:2", "c.py:2"],
        ),
        ({"a.py": "def f(): pass", "b.py": "from a import f as g\ng()"}, "f", ["b.py:2"]),
        ({"a.py": "def f(): pass", "b.py": "from a import *\nf()"}, "f", ["b.py:2"]),
        ({"a.py": "def f(): pass", "b.py": "from a import (\n    g,\n    f,\n)\nf()"}, "f", ["b.py:5"]),
        ({"a.py": "def g():\n    def f(): pass\n    f()\ndef h():\n    f()"}, "g.f", ["a.py:3"]),
        ({"a.py": "class A:\n    def f(self):\n        self.g()\n    def g(self): pass"}, "A.g", ["a.py:3"]),
        ({"a.py": "class A:\n    def f(self): pass", "b.py": "from a import A\nA().f()"}, "A.f", ["b.py:2"]),
        ({"a.py": "class A:\n    def __init__(self): pass\nA()"}, "A.__init__", ["a.py:3"]),
        (
            {
                "a.py": "class A:\n    def f(self): pass",
                "b.py": "from a import A\nclass B(A):\n    def g(self):\n        self.f()",
            },
            "A.f",
            ["b.py:4"],
        ),
        # Of its own object: by the names of classes and of what imports call them
        (
            {
                "a.py": "class A:\n    def f(self): pass",
                "b.py": "from a import A\nclass B:\n    def g(self):\n        self.f()",
            },
            "A.f",
            [],
        ),
        (
            {
                "a.py": "class A:\n    def f(self): pass",
                "b.py": "from a import A\nclass B(A):\n    def f(self):\n        super().f()",
            },
            "A.f",
            [],  # what `super()` is, nobody tells
        ),
        (
            {
                "a.py": "class A:\n    def f(self): pass",
                "b.py": "from a import A as C",
                "c.py": "from b import C\nclass B(C): pass",
                "d.py": "from c import B\nimport a\nclass D(B):\n    def g(self):\n        self.f()",
            },
            "A.f",
            ["d.py:5"],
        ),
        # What a base leaves to those that inherit from it, and what it has itself
        (
            {
                "a.py": "from b import B\nclass A(B):\n    def f(self): pass",
                "b.py": "class B:\n    def g(self):\n        self.f()",
            },
            "A.f",
            ["b.py:3"],
        ),
        (
            {
                "a.py": "from b import B\nclass A(B):\n    def f(self): pass",
                "b.py": "class B:\n    def g(self):\n        self.f()\n    def f(self): pass",
            },
            "A.f",
            [],
        ),
        (
            {
                "a.py": "from b import B\nclass A(B):\n    def f(self): pass",
                "b.py": "class B: pass\nclass C:\n    def g(self):\n        self.f()",
            },
            "A.f",
            [],
        ),
        (
            {
                "a.py": "class A:\n    def f(self): pass",
                "b.py": "from a import A\ndef g(self):\n    self.f()\ng(A())",
            },
            "A.f",
            ["b.py:3"],
        ),
    ],
)
def test_callers(files: Files, qualname: str, expected: list[str] | None) -> None:
    assert expected == callers(files, next(path for path in files if path.endswith("a.py")), qualname)


@pytest.mark.parametrize(
    "code",
    [
        "def f(self): pass",
        "class B:\n    def f(self): pass",
        "class B:\n    def f(self):\n        self.f()",
        "class B(Base):\n    def f(self):\n        super().f()",
    ],
)
def test_files_with_a_method_of_that_name_of_their_own_are_not_parsed_to_look_for_callers(code: str) -> None:
    project = project_of({"a.py": "class A:\n    def f(self): pass", "b.py": f"from a import A\n{code}"})
    (function,) = [function for function in module(project, "a.py").functions if function.qualname == "A.f"]

    assert project.call_sites(function) == []
    assert "b.py" not in project.parsed


def test_callers_of_objects_that_a_factory_makes() -> None:
    """`step` is called in more files than are looked at; those are that import what imports the class."""
    others = {
        f"other{number}.py": "class Timer:\n    def run(self, clock):\n        clock.step()" for number in range(9)
    }
    files = {
        "agents/sac.py": "class Sac:\n    def step(self, batch): pass",
        "agents/factory.py": "from agents.sac import Sac\nAGENTS = {'sac': Sac}\ndef make(name):\n    return AGENTS[name]()",
        "train.py": "import sys\nfrom agents.factory import make\nagent = make(sys.argv[1])\nagent.step(1)",
        "play.py": "from agents.factory import make\ndef play(game):\n    game.step(1)",
    }

    assert ["train.py:4"] == callers({**files, **others}, "agents/sac.py", "Sac.step")


def test_callers_through_a_re_export() -> None:
    files = {"pkg/__init__.py": "from .a import f", "pkg/a.py": "def f(): pass", "b.py": "from pkg import f\nf()"}

    assert ["b.py:2"] == callers(files, "pkg/a.py", "f")


def test_files_that_work_together_through_packages() -> None:
    files = {
        "pkg/__init__.py": "from .nets import Net\n",
        "pkg/nets/__init__.py": "from .net import *\n",
        "pkg/nets/net.py": "class Net: pass\n",
        "helpers.py": "from pkg import Net\n",
        "train.py": "import pkg\nfrom all import Net\n",
        "all.py": "from helpers import *\n",
        "test.py": "import train\n",
    }
    project = project_of(files)

    users = project.users_of("pkg/nets/net.py")
    assert ["helpers.py", "pkg/__init__.py", "pkg/nets/__init__.py", "train.py"] == sorted(users)
    used = project.used_by(module(project, "train.py"))
    assert ["all.py", "helpers.py", "pkg/__init__.py", "pkg/nets/__init__.py", "pkg/nets/net.py"] == sorted(
        one.path for one in used
    )
    assert ["train.py"] == [one.path for one in project.used_by(module(project, "test.py"))]


@pytest.mark.parametrize("line", ["from .a import *", "from .a import f", "from . import a\nf = a.f"])
def test_a_package_in_a_folder_that_is_none(line: str) -> None:
    files = {
        "models/main.py": "from util.kit import f\nf()",
        "util/kit/__init__.py": line,
        "util/kit/a.py": "def f(): pass",
    }

    assert ["util/kit/a.py:f"] == called(files, "models/main.py")
    assert ["models/main.py:2"] == callers(files, "util/kit/a.py", "f")


def test_another_package_of_the_same_name() -> None:
    files = {
        "main.py": "from util.kit import f\nf()",
        "kit/__init__.py": "from .a import *",
        "kit/a.py": "def f(): pass",
        "util/kit/__init__.py": "from .a import *",
        "util/kit/a.py": "def f(): pass",
    }

    assert ["util/kit/a.py:f"] == called(files, "main.py")
    assert "torch.compile" == resolved(
        {"main.py": "from util.kit import fast\nfast", "util/kit/__init__.py": "from torch import compile as fast"},
        "main.py",
    )


def _handed_on(main: str) -> Files:
    init = "from .deep.trainer import Trainer\nfrom . import deep\n"
    trainer = "class Trainer:\n    def __init__(self, model):\n        self.model = model\n"
    return {"kit/__init__.py": init, "kit/deep/__init__.py": "", "kit/deep/trainer.py": trainer, "main.py": main}


@pytest.mark.parametrize(
    ("main", "expected"),
    [
        ("import kit\nkit.Trainer(1)\n", ["main.py:2"]),
        ("import kit\ndef f(model):\n    return kit.Trainer(model)\n", ["main.py:3"]),
        ("import kit\nkit.deep.trainer.Trainer(1)\n", ["main.py:2"]),
        # Other packages have a class of that name, too.
        ("import kit\nimport other\nother.Trainer(1)\n", []),
        ("import other as kit\nkit.Trainer(1)\n", []),
        ("import other\nkit.Trainer(1)\n", []),
        ("import kit\nx.kit.Trainer(1)\n", []),
    ],
)
def test_callers_of_what_a_package_hands_on(main: str, expected: list[str]) -> None:
    project = project_of(_handed_on(main))
    made = next(f for f in module(project, "kit/deep/trainer.py").functions if f.name == "__init__")
    found = [f"{site.function.module.path}:{site.call.lineno}" for site in project.call_sites(made) or ()]
    assert expected == found


@pytest.mark.parametrize(
    ("count", "path", "expected"),
    [
        (2, "b.py", ["b.py:2", "b.py:3"]),
        (8, "b.py", [f"b.py:{line}" for line in range(2, 10)]),
        (9, "b.py", []),
        (2, "tests/test_b.py", []),
        (9, "tests/test_b.py", []),
    ],
)
def test_callers_outside_of_tests_however_many_tests_call(count: int, path: str, expected: list[str]) -> None:
    tests = {f"tests/test_{at}.py": "from a import step\ndef test_it():\n    step()\n    step()" for at in range(9)}
    project = project_of({"a.py": "def step(): pass", path: "from a import step\n" + "step()\n" * count, **tests})
    (step,) = module(project, "a.py").functions[1:]

    assert expected == [f"{site.function.module.path}:{site.call.lineno}" for site in project.own_sites(step)]


@pytest.mark.parametrize(
    ("path", "code", "expected"),
    [
        ("b.py", "from other.utils import g\nstep()", []),
        ("b.py", "from pkg import utils\nutils.step()", ["b.py:2"]),
        ("b.py", "import pkg.utils as u\nu.step()", ["b.py:2"]),
        ("pkg/b.py", "from . import utils\nutils.step()", ["pkg/b.py:2"]),
        ("pkg/sub/b.py", "from .. import utils\nutils.step()", ["pkg/sub/b.py:2"]),
        ("pkg/sub/b.py", "from ..utils import *\nstep()", ["pkg/sub/b.py:2"]),
        ("b.py", "from pkg.utils import step as go\ngo()", ["b.py:2"]),
    ],
)
def test_callers_that_import_a_module_whose_name_others_have_too(path: str, code: str, expected: list[str]) -> None:
    packages = {
        "pkg/__init__.py": "",
        "pkg/sub/__init__.py": "",
        "other/__init__.py": "",
        "other/utils.py": "def g(): pass",
    }
    project = project_of({**packages, "pkg/utils.py": "def step(): pass", path: code})
    (step,) = module(project, "pkg/utils.py").functions[1:]

    sites = project.call_sites(step)

    assert sites is not None
    assert expected == [f"{site.function.module.path}:{site.call.lineno}" for site in sites]
    assert bool(expected) == (path in project.parsed)


@pytest.mark.parametrize(
    ("agent", "expected"),
    [
        ("from .base import *\nto_np(x)", ["agents/dqn.py:2"]),
        ("from .base import *\nprint(to_np)", []),
        ("from .base import Base\nto_np(x)", []),
        ("from .other import *\nto_np(x)", []),
        ("from .base import *\ndef to_np(x): pass\nto_np(x)", []),
    ],
)
def test_callers_of_what_modules_hand_on_with_all_they_have(agent: str, expected: list[str]) -> None:
    files = {
        "tools/__init__.py": "from .arrays import *",
        "tools/arrays.py": "def to_np(x): pass",
        "agents/__init__.py": "from .dqn import *",
        "agents/base.py": "from tools import *\nclass Base: pass",
        "agents/other.py": "def to_np(x): pass",
        "agents/dqn.py": agent,
    }

    assert expected == callers(files, "tools/arrays.py", "to_np")


def test_where_too_many_take_all_of_something_none_is_looked_at() -> None:
    files = {"a.py": "def f(): pass", "b.py": "from a import f\nf()", "c.py": "from a import *"}
    many = {f"d{n}.py": "from c import *\nf()" for n in range(MAX_FILES)}

    assert ["b.py:2"] == callers({**files, **many}, "a.py", "f")


def test_callers_of_what_everybody_uses_are_not_counted() -> None:
    files = {"a.py": "def f(): pass", **{f"b{n}.py": "from a import f\nf()" for n in range(MAX_FILES + 1)}}

    assert callers(files, "a.py", "f") is None


# What is passed for a parameter


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("f(1, 2)", {"a": "1", "b": "2", "c": None}),
        ("f(1, b=2)", {"a": "1", "b": "2"}),
        ("f(c=3)", {"a": None, "c": "3"}),
        ("f(*x, 2)", {"a": None, "b": None}),
        ("f(1, *x)", {"a": "1", "b": None}),
        ("f(**x)", {"a": None}),
        ("f(1, d=4)", {"d": "4", "e": None}),
    ],
)
def test_argument_of_a_parameter(call: str, expected: dict[str, str | None]) -> None:
    function = module(project_of({"a.py": "def f(a, b=1, *, c=2, **d): pass"}), "a.py").functions[1]
    node = ast.parse(call, mode="eval").body
    assert isinstance(node, ast.Call)

    told = {name: function.argument(node, name) for name in expected}

    assert expected == {name: given and ast.unparse(given) for name, given in told.items()}


@pytest.mark.parametrize(
    ("call", "shape"), [("f(1, 2, 3)", None), ("f(1, 2, shape=3)", "3"), ("f(1, *x, shape=4)", "4"), ("f(1)", None)]
)
def test_what_stands_behind_a_rest_is_given_by_its_name_alone(call: str, shape: str | None) -> None:
    function = module(project_of({"a.py": "def f(a, *rest, shape=None, **more): pass"}), "a.py").functions[1]
    node = ast.parse(call, mode="eval").body
    assert isinstance(node, ast.Call)

    given = function.argument(node, "shape")

    assert shape == (given and ast.unparse(given))
    assert "1" == ast.unparse(function.argument(node, "a") or node)


def test_argument_of_a_method() -> None:
    function = module(project_of({"a.py": "class A:\n    def f(self, a): pass"}), "a.py").functions[1]
    node = ast.parse("x.f(1)", mode="eval").body
    assert isinstance(node, ast.Call)

    assert "1" == ast.unparse(function.argument(node, "a") or node)
    assert function.argument(node, "self") is None


@pytest.mark.parametrize(
    ("parameters", "fitting", "others"),
    [
        ("a, b=1, *, c=2", ["f(1)", "f(1, 2)", "f(a=1, c=3)", "f(*x)", "f(1, *x)", "f(**x)"], ["f()", "f(1, 2, 3)", "f(1, d=4)", "f(c=3)"]),
        ("a, *b, c", ["f(1, c=2)", "f(1, 2, 3, c=4)", "f(*x)"], ["f(1)", "f(1, 2)"]),
        ("a, /, **b", ["f(1)", "f(1, c=2)", "f(**x)"], ["f()", "f(a=1)", "f(1, 2)"]),
    ],
)  # fmt: skip
def test_calls_that_a_function_takes(parameters: str, fitting: list[str], others: list[str]) -> None:
    code = (
        f"def f({parameters}): pass\nclass A:\n    def f(self, {parameters}): pass\n    @of(1)\n    def g(self): pass\n"
    )
    functions = module(project_of({"a.py": code}), "a.py").functions[1:]

    def takes(call: str) -> list[bool]:
        node = ast.parse(call, mode="eval").body
        assert isinstance(node, ast.Call)
        return [function.takes(node) for function in functions]

    assert [[True, True, True]] * len(fitting) == list(map(takes, fitting))
    assert [[False, False, True]] * len(others) == list(map(takes, others))


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"a.py": "def f(x):\n    x"}, "unknown"),
        ({"a.py": "class A:\n    def apply(self, x):\n        x", "b.py": "from a import A\nA().apply(3)"}, "unknown"),
        ({"a.py": "def f(x):\n    x", "b.py": TORCH + "from other import f\nf(torch.zeros(3))"}, "unknown"),
        ({"a.py": "def f(x):\n    x", "b.py": TORCH + "from a import f\nf(torch.zeros(3))"}, "tensor"),
        ({"a.py": "def f(x):\n    x", "b.py": TORCH + "from a import f\nf(x=torch.zeros(3))"}, "tensor"),
        ({"a.py": "def f(x=None):\n    x", "b.py": TORCH + "from a import f\nf(torch.zeros(3))"}, "tensor"),
        (
            {
                "a.py": "class A:\n    def __init__(self, x):\n        x",
                "b.py": TORCH + "from a import A\nA(torch.zeros(3))",
            },
            "tensor",
        ),
        (
            {
                "a.py": "class A:\n    def __init__(self, x):\n        self.x = x\n    def f(self):\n        self.x",
                "b.py": TORCH + "from a import A\nA(torch.zeros(3)).f()",
            },
            "tensor",
        ),
        # What keywords give
        ({"a.py": TORCH + "f(**others)\ndef f(**kwargs):\n    for x in kwargs.values():\n        x"}, "unknown"),
        ({"a.py": TORCH + "f(x=torch.zeros(3))\ndef f(**kwargs):\n    kwargs.get('y')"}, "unknown"),
        ({"a.py": TORCH + "f(x=3)\nf(y=torch.zeros(3))\ndef f(**kwargs):\n    kwargs['x']"}, "number"),
        (
            {"a.py": TORCH + "f(a=torch.zeros(3))\ndef f(a, **kwargs):\n    for x in kwargs.values():\n        x"},
            "unknown",
        ),
        ({"a.py": TORCH + "f(a=torch.zeros(3))\ndef f(**kwargs):\n    for x in kwargs.values():\n        x"}, "tensor"),
        (
            {
                "a.py": TORCH
                + "f(**{key: torch.zeros(3) for key in keys})\ndef f(**kwargs):\n    for k, x in kwargs.items():\n        x"
            },
            "tensor",
        ),
        # Processes and threads
        (
            {
                "a.py": TORCH
                + "import torch.multiprocessing as mp\nmp.spawn(f, args=(2, torch.zeros(3)))\ndef f(rank, n, x):\n    x"
            },
            "tensor",
        ),
        (
            {"a.py": TORCH + "import torch.multiprocessing as mp\nmp.spawn(f, args=(2,))\ndef f(rank, n):\n    rank"},
            "number",
        ),
        (
            {
                "a.py": TORCH
                + "import torch.multiprocessing as mp\nmp.spawn(f, (torch.zeros(3),))\ndef f(rank, x):\n    x"
            },
            "tensor",
        ),
        (
            {
                "a.py": TORCH
                + "from torch.multiprocessing import Process\nProcess(target=f, args=(torch.zeros(3),))\ndef f(x):\n    x"
            },
            "tensor",
        ),
        (
            {"a.py": TORCH + "from threading import Thread\nThread(target=f, args=[torch.zeros(3)])\ndef f(x):\n    x"},
            "tensor",
        ),
        ({"a.py": TORCH + "from threading import Thread\nThread(target=f, args=values)\ndef f(x):\n    x"}, "unknown"),
        (
            {
                "a.py": TORCH
                + "from threading import Thread\nThread(target=other, args=(torch.zeros(3),))\ndef f(x):\n    x"
            },
            "unknown",
        ),
        (
            {
                "a.py": TORCH
                + "import torch.multiprocessing as mp\nmp.spawn(f, args=(torch.zeros(3),))\ng(f)\ndef f(rank, x):\n    x"
            },
            "tensor",
        ),
        (
            {"a.py": TORCH + "from threading import Thread\nThread(target=f, kwargs=dict(x=3))\ndef f(x):\n    x"},
            "number",
        ),
        (
            {"a.py": TORCH + "from threading import Thread\nThread(target=f, kwargs={'x': 3})\ndef f(x):\n    x"},
            "number",
        ),
        (
            {"a.py": TORCH + "from threading import Thread\nThread(target=f, kwargs=values)\ndef f(x):\n    x"},
            "unknown",
        ),
        # What callers give for `*args`, where they all give as many.
        ({"a.py": "def f(a, *x):\n    x[0]", "b.py": TORCH + "from a import f\nf(1, torch.zeros(3), 2)"}, "tensor"),
        (
            {"a.py": "def f(a, *x):\n    for y in x:\n        y", "b.py": "from a import f\nf('a', 2)\nf(a, 4)"},
            "number",
        ),
        ({"a.py": "def f(a, *x):\n    x[0]", "b.py": "from a import f\nf(1, 2)\nf(1, 2, 3)"}, "unknown"),
        ({"a.py": "def f(a, *x):\n    x[0]", "b.py": "from a import f\nf(1, *values)"}, "unknown"),
        ({"a.py": "class A:\n    def f(self, *x):\n        x[0]", "b.py": "from a import A\nA().f(3)"}, "number"),
        # What a test passes counts where nobody else passes anything, and for what it is, not for where it lives.
        ({"a.py": "def f(x):\n    x", "test_a.py": TORCH + "from a import f\nf(torch.zeros(3))"}, "tensor"),
        (
            {
                "a.py": "def f(x):\n    x",
                "test_a.py": TORCH + "from a import f\nf(torch.zeros(3))",
                "b.py": "from a import f\nf(1)",
            },
            "number",
        ),
        # What is passed by another name, where all of it is passed, and nobody calls it by its own.
        (
            {"a.py": "def g(x): pass\ndef f(x):\n    x", "b.py": "from a import f, g\nh = f if flag else g\nh(1)"},
            "number",
        ),
        (
            {
                "a.py": "def g(x): pass\ndef f(x):\n    x",
                "b.py": "from a import f, g\nif flag:\n    h = f\nelse:\n    h = g\nh(1)",
            },
            "number",
        ),
        (
            {
                "a.py": "def g(x): pass\ndef f(x):\n    x",
                "b.py": "from a import f, g\nh = f if flag else g\nh(1)\nf('a')",
            },
            "str",
        ),
        (
            {
                "a.py": "def f(a, x):\n    x",
                "b.py": "from functools import partial\nfrom a import f\nh = partial(f, 'a')\nh(1, 2)",
            },
            "unknown",
        ),
        ({"a.py": "def f(a, x):\n    x", "b.py": "from a import f\nlist(map(f, 'a', 1))"}, "unknown"),
        ({"a.py": "def g(x): pass\ndef f(x):\n    x", "b.py": "from a import f, g\nh = g\nh(1)\nkept = f"}, "unknown"),
        (
            {
                "a.py": "def g(x): pass\ndef f(x):\n    x",
                "b.py": "from a import f, g\nh = f if flag else g\nh(1)\n" + "f('a')\n" * 17,
            },
            "unknown",
        ),
        # As a method it takes its object first.
        ({"a.py": "def f(x):\n    x", "b.py": "from a import f\nclass B: pass\nB.g = f\nB().g(1)"}, "unknown"),
        ({"a.py": "def f(x):\n    x", "b.py": "from a import f\nclass B:\n    g = f\nB().g(1)"}, "unknown"),
        # A method gets what is passed to that of its base class.
        (
            {
                "a.py": "class A:\n    def f(self, x): pass\nclass B(A):\n    def f(self, x):\n        x",
                "b.py": "from a import A\ndef g(a: A):\n    a.f(1)",
            },
            "number",
        ),
        (
            {
                "a.py": "class A:\n    def f(self, x): pass\nclass B:\n    def f(self, x):\n        x",
                "b.py": "from a import A\ndef g(a: A):\n    a.f(1)",
            },
            "unknown",
        ),
    ],
)
def test_parameters(files: Files, expected: str) -> None:
    assert expected == value(files, "a.py").kind


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("f(*pair)", ("number", "str", "unknown")),
        ("f(*pair, [])", ("number", "str", "list")),
        ("f([], *pair)", ("list", "number", "str")),
        ("f([], *pair[:1])", ("list", "unknown", "unknown")),
        ("f(*pair, *pair)", ("number", "str", "number")),
        ("f(*pair, c=[])", ("number", "str", "list")),
        # How many there are is not known: `c` has a default.
        ("f(*words)", ("str", "str", "unknown")),
        ("f([], *words)", ("list", "str", "unknown")),
        # One of two lengths: what stands at a place in each.
        ("some = pair\nif other:\n    some += (1.5,)\nf(*some)", ("number", "str", "number")),
        ("some = pair\nif other:\n    some += (1.5,)\nf([], *some)", ("list", "number", "str")),
        ("some = pair\nif other:\n    some += (1.5,)\nf(*some, 1)", ("unknown", "unknown", "unknown")),
        ("f(*words, 1)", ("unknown", "unknown", "unknown")),
        ("f(*other)", ("unknown", "unknown", "unknown")),
        ("f(1, 'a', **other)", ("number", "str", "unknown")),
    ],
)
def test_parameters_that_are_spread(call: str, expected: tuple[str, str, str]) -> None:
    for name, kind in zip("abc", expected, strict=True):
        code = f"pair = (1, 'a')\nwords = [str(word) for word in other]\n{call}\ndef f(a, b, c=None):\n    {name}"
        assert kind == value({"a.py": code}, "a.py").kind


@pytest.mark.parametrize(
    ("parameters", "call", "expected"),
    [
        # A function may have a default for what is not given, or take more.
        ("a, b, c=None", "f(*words, 1)", ("unknown", "unknown", "unknown")),
        ("a, b, *c", "f(*words, 1)", ("unknown", "unknown", "tuple")),
        ("a, b, c", "f(*words, *words)", ("unknown", "unknown", "unknown")),
        ("a, b, c", "f(*words, 1, **other)", ("unknown", "unknown", "unknown")),
        ("a, b, c", "f(*words, 1, 2, 3, 4)", ("unknown", "unknown", "unknown")),
        # It asks for three: of what stands behind a star there are as many as are left.
        ("a, b, c", "f(*words, 1)", ("str", "str", "number")),
        ("a, b, c", "f([], *words, 1)", ("list", "str", "number")),
        ("a, b, c", "f(*words, 1, c=[])", ("str", "number", "list")),
        ("a, b, /, *, c", "f(*words, 1, c=[])", ("str", "number", "list")),
    ],
)
def test_as_many_are_spread_as_are_asked_for(parameters: str, call: str, expected: tuple[str, str, str]) -> None:
    for name, kind in zip("abc", expected, strict=True):
        code = f"words = [str(word) for word in other]\n{call}\ndef f({parameters}):\n    {name}"
        assert kind == value({"a.py": code}, "a.py").kind


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("device: str = 'cpu'", ""),
        ("device: str = 'cuda'", "accelerator"),
        ("device = 'cpu'", "cpu"),
        ("device = 'cuda'", "accelerator"),
    ],
)
def test_the_device_that_is_an_option(field: str, expected: str) -> None:
    """A field of a dataclass is the host where nobody gives another: who has an accelerator does."""
    code = f"{TORCH}class Config:\n    {field}\ndef f(config: Config):\n    torch.zeros(3).to(config.device)\n"
    assert expected == value({"a.py": code}, "a.py").device


def test_where_the_argument_of_a_test_lives_is_not_known() -> None:
    files = {"a.py": "def f(x, device):\n    x\n", "test_a.py": f"{TORCH}from a import f\nf(torch.zeros(3), 'cpu')"}
    assert "" == value(files, "a.py").device

    del files["test_a.py"]
    files["b.py"] = f"{TORCH}from a import f\nf(torch.zeros(3), 'cpu')"
    assert "cpu" == value(files, "a.py").device


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ("", None),
        ("f(1)", {}),
        ("f(1, b=2)", {}),
        ("f(1, k=2)", {"k": 2}),
        ("f(1, **{'b': 3, 'k': 2})", {"k": 2}),
        ("f(1, **options)", None),
        ("f(1, k=2)\nf(1, **options)", None),
        ("f(1, k=2)\nf(1, k=2, l=3)", {"k": 2, "l": 3}),
        ("f(1, k=2)\nf(1, k=3)", {"k": None}),
        ("\n".join(["f(1, k=2)"] * 9), None),
    ],
)
def test_keywords_that_callers_give_beside_the_parameters(calls: str, expected: dict[str, object] | None) -> None:
    keys = value({"a.py": "def f(a, b=1, **x):\n    x", "b.py": f"from a import f\n{calls}"}, "a.py").entries

    assert expected == (None if keys is None else {key: given.const for key, given in keys.items()})


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("def f(x: list[int]):\n    x", "list"),
        ("def f(x: list[list[str]]):\n    x", "list"),
        ("def f(x: list):\n    x", "tensor"),
        ("def f(x: list[Row]):\n    x", "tensor"),
        ("def f(x):\n    x", "tensor"),
        ("def f(x: list[int]):\n    if isinstance(x, int): return\n    x", "tensor"),
    ],
)
def test_a_tensor_that_is_given_for_a_list_of_numbers(function: str, expected: str) -> None:
    batches = "for x, y in torch.utils.data.DataLoader(rows):\n    f(x)"
    files = {"a.py": function, "b.py": f"{TORCH}from a import f\n{batches}"}

    assert expected == value(files, "a.py").kind


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("f(torch.ones(3))", "tensor"),
        ("class Net(nn.Module):\n    def forward(self, keys):\n        f(keys)", "list"),
    ],
)
def test_a_tensor_that_shows_that_an_annotation_is_wrong(given: str, expected: str) -> None:
    files = {"a.py": "def f(x: list[int]):\n    x", "b.py": f"{TORCH}from a import f\n{given}"}

    assert expected == value(files, "a.py").kind


@pytest.mark.parametrize(
    ("annotation", "given", "expected"),
    [
        ("Box", "f(Box())\nf(torch.ones(3))", "instance"),
        ("Box", "f(torch.ones(3))", "tensor"),
        ("int", "f(Box())\nf(torch.ones(3))", "number"),
        ("list", "f(Box())\nf(torch.ones(3))", "tensor"),
    ],
)
def test_an_object_that_is_annotated_where_calls_give_one_or_a_tensor(
    annotation: str, given: str, expected: str
) -> None:
    code = f"class Box: pass\ndef f(x: {annotation}):\n    x"

    assert expected == value({"a.py": code, "b.py": f"{TORCH}from a import Box, f\n{given}"}, "a.py").kind


# Classes


LAYERS = """
    def __init__(self, size):
        super().__init__(size)
        self.size = size
        self.head = nn.Linear(2, 2)
    def forward(self, x):
        return self.head(x)
"""


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"a.py": "class A: pass"}, False),
        ({"a.py": "class A(dict): pass"}, False),
        ({"a.py": "class A(B): pass"}, False),
        ({"a.py": TORCH + "class A(nn.Parameter): pass"}, False),
        ({"a.py": TORCH + "class A(torch.autograd.Function): pass"}, False),
        ({"a.py": TORCH + "class A(torch.utils.data.Dataset): pass"}, False),
        ({"a.py": "class A(A): pass"}, False),
        ({"a.py": "class B: pass\nclass A(B): pass"}, False),
        ({"a.py": "class Module: pass\nclass A(Module): pass"}, False),
        ({"a.py": TORCH + "class A(Base):" + LAYERS}, False),
        ({"a.py": TORCH + "class A(dict):" + LAYERS}, False),
        ({"a.py": TORCH + "class A(torch.utils.data.Dataset):" + LAYERS}, False),
        ({"a.py": TORCH + "from zoo import Base\nclass A(Base):" + LAYERS.replace("forward", "run")}, False),
        ({"a.py": TORCH + "from zoo import Base\nclass A(Base):\n    @staticmethod\n    def forward(): pass"}, False),
        ({"a.py": TORCH + "from zoo import Base\nclass A(Base):" + LAYERS, "zoo.py": "class Base: pass"}, False),
        ({"a.py": TORCH + "from zoo import Base\nclass A(Base):" + LAYERS}, True),
        ({"a.py": TORCH + "from zoo import Base\nclass A(Base):" + LAYERS.replace("nn.Linear(2, 2)", "3")}, True),
        (
            {"a.py": TORCH + "from mmcv.runner import BaseModule\nclass A(BaseModule):\n    def forward(self): pass"},
            True,
        ),
        ({"a.py": TORCH + "import zoo\nclass A(zoo.models.Base):" + LAYERS}, True),
        ({"a.py": TORCH + "class A(nn.Module): pass"}, True),
        ({"a.py": TORCH + "class A(nn.Linear): pass"}, True),
        ({"a.py": TORCH + "class A(Mixin, nn.Module): pass"}, True),
        ({"a.py": TORCH + "class B(nn.Module): pass\nclass A(B): pass"}, True),
        ({"a.py": TORCH + "class B(nn.Module): pass\nclass A(B[int]): pass"}, True),
        ({"a.py": "from b import B\nclass A(B): pass", "b.py": TORCH + "class B(nn.Module): pass"}, True),
        ({"a.py": "import b\nclass A(b.B): pass", "b.py": TORCH + "class B(nn.Module): pass"}, True),
        ({"a.py": "from lightning import LightningModule\nclass A(LightningModule): pass"}, True),
        ({"a.py": "from transformers import PreTrainedModel as P\nclass A(P): pass"}, True),
        ({"a.py": "from keras import Module\nclass A(Module): pass"}, True),
        ({"a.py": "from transformers import ElectraPreTrainedModel\nclass A(ElectraPreTrainedModel): pass"}, True),
    ],
)
def test_classes_that_are_modules_of_torch(files: Files, expected: bool) -> None:
    project = project_of(files)

    assert expected == project.is_module(module(project, "a.py").classes[-1])


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("def f(self):\n        self.x", "unknown"),
        ("x = 3\n    def f(self):\n        self.x", "number"),
        ("x: int = 3\n    def f(self):\n        self.x", "number"),
        ("def g(self):\n        other.x = 1\n    def f(self):\n        self.x", "unknown"),
        ("def g():\n        self.x = 1\n    def f(self):\n        self.x", "unknown"),
        ("def __init__(self):\n        self.x = 1\n    def f(self):\n        self.x", "number"),
        ("def g(this):\n        this.x = 1\n    def f(self):\n        self.x", "number"),
        ("def g(self):\n        self.x: int = 1\n    def f(self):\n        self.x", "number"),
        ("def g(self):\n        y, self.x = 'a', 1\n    def f(self):\n        self.x", "number"),
        (
            "def g(self):\n        for i in y:\n            with z:\n                self.x = 1\n    def f(self):\n        self.x",
            "number",
        ),
        (
            "async def g(self):\n        async for i in y:\n            async with z:\n                self.x = 1\n    def f(self):\n        self.x",
            "number",
        ),
        (
            "def g(self):\n        match y:\n            case 1:\n                self.x = 1\n    def f(self):\n        self.x",
            "number",
        ),
        (
            "def g(self):\n        try:\n            y()\n        except E:\n            self.x = 1\n    def f(self):\n        self.x",
            "number",
        ),
        (
            "def g(self):\n        self.x = None\n    def h(self):\n        self.x = 1\n    def f(self):\n        self.x",
            "number",
        ),
        (
            "def g(self):\n        self.x = 'a'\n    def h(self):\n        self.x = 1\n    def f(self):\n        self.x",
            "unknown",
        ),
        ("def g(self):\n        self.x = None\n    def f(self):\n        self.x", "none"),
        ("def __init__(self):\n        self.register_buffer('x', y)\n    def f(self):\n        self.x", "tensor"),
        ("def __init__(self):\n        self.register_buffer('y', x)\n    def f(self):\n        self.x", "unknown"),
        ("def g(self):\n        self.register_buffer('x', y)\n    def f(self):\n        self.x", "tensor"),
        ("def g(self):\n        y.register_buffer('x', y)\n    def f(self):\n        self.x", "unknown"),
        (
            "def g(self, k, v):\n        setattr(self, k, v)\n        self.g('x', 1)\n    def f(self):\n        self.x",
            "number",
        ),
        (
            "def g(self, k, v):\n        setattr(v, k, v)\n        self.g('x', 1)\n    def f(self):\n        self.x",
            "unknown",
        ),
        (
            "def g(self, k, v):\n        setattr(self, v, k)\n        self.g('x', 1)\n    def f(self):\n        self.x",
            "str",
        ),
        ("@property\n    def x(self):\n        return 1\n    def f(self):\n        self.x", "number"),
        ("@cached_property\n    def x(self):\n        return 1\n    def f(self):\n        self.x", "number"),
        ("@functools.cached_property\n    def x(self):\n        return 1\n    def f(self):\n        self.x", "number"),
        ("@cached\n    def x(self):\n        return 1\n    def f(self):\n        self.x", "function"),
        ("def f(self):\n        self.inherited", "number"),
        ("def f(self):\n        self.nowhere()", "unknown"),
        ("def f(self):\n        self.distant", "str"),
    ],
)
def test_attributes(body: str, expected: str) -> None:
    files = {
        "a.py": f"from b import Base\nclass A(Base):\n    {body}\n",
        "b.py": "from c import Root\nclass Base(Root):\n    def __init__(self):\n        self.inherited = 1\n",
        "c.py": "class Root:\n    distant = 'a'\n",
    }

    assert expected == value(files, "a.py").kind


def test_an_attribute_that_may_be_none_says_so() -> None:
    found = value(
        {
            "a.py": "class A:\n    def g(self, ok):\n        self.x = None\n        if ok:\n            self.x = 1\n"
            "    def f(self):\n        self.x"
        },
        "a.py",
    )

    assert "number" == found.kind
    assert {"none"} == found.other_kinds


# Flags of a call


MADE = "def make(n, train=False):\n    if train:\n        return n, 1\n    return 'a'\n"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        # Nothing is known of the flag, or the paths do not hang on it alone.
        (f"{MADE}make(0, train=flag)", "unknown"),
        (f"{MADE}make(*both)", "unknown"),
        (f"{MADE}make(0, **options)", "unknown"),
        (MADE.replace("if train:", "if train and n:") + "make(0, train=True)", "unknown"),
        (MADE.replace("    if", "    train = n > 1\n    if") + "make(0, train=True)", "unknown"),
        (MADE.replace("if train:", "if other:") + "make(0, train=True)", "unknown"),
        # The default, by name, by position
        (f"{MADE}make(0)", "str"),
        (f"{MADE}make(0, train=False)", "str"),
        (f"{MADE}make(0, train=True)", "tuple"),
        (f"{MADE}make(0, True)", "tuple"),
        (f"{MADE}x, y = make(0, True)\ny", "number"),
        (MADE.replace("if train:", "if not train:") + "make(0, True)", "str"),
        (
            f"class A:\n    {MADE.replace(chr(10), chr(10) + '    ').replace('(n', '(self, n')}\nA().make(0, True)",
            "tuple",
        ),
    ],
)
def test_what_a_call_with_flags_gives(code: str, expected: str) -> None:
    assert expected == value({"a.py": code}, "a.py").kind


def test_a_class_method_makes_an_object_of_the_class_that_it_is_called_on() -> None:
    base = (
        "class Mixin:\n    @classmethod\n    def load(cls, name, full=False):\n        made = cls(name)\n"
        "        if full:\n            return made, 1\n        return made\n    @staticmethod\n    def plain():\n        return Mixin()\n"
    )
    files = {
        "base.py": base,
        "net.py": f"{TORCH}from base import Mixin\nclass Net(nn.Module, Mixin):\n    pass\n",
        "a.py": "from net import Net\nNet.load('a')",
        "b.py": "from net import Net\nkind = Net\nkind.load('a')",
        "c.py": "from net import Net\nNet.plain()",
        "d.py": "from base import Mixin\nMixin.load('a')",
    }

    assert ["net.Net", "net.Net", "base.Mixin", "base.Mixin"] == [
        value(files, f"{name}.py").class_name for name in "abcd"
    ]
    assert "module" == value(files, "a.py").kind


# Constructors


KEPT = "class A:\n    def __init__(self, x):\n        self.x = x\n    def f(self):\n        self.x\n"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("self.n[key] = 1; self.n[other] = 'a'", "unknown"),
        ("self.n[key] = 1; self.n[other] = made()", "unknown"),
        ("self.n[key] = 1; self.n[other], y = made()", "unknown"),
        ("self.n[key] = 1; self.n.update(others)", "unknown"),
        ("self.n[key] = 1; self.n.setdefault(key, others)", "unknown"),
        ("self.n['a'] = 1", "unknown"),
        ("self.m[key] = 1", "unknown"),
        ("other.n[key] = 1", "unknown"),
        ("self.n[key] = 1; self.n = made()", "unknown"),
        ("self.n[key] = 1; self.n = {'a': 'b'}", "str"),
        ("self.n[key] = Kinds()", "unknown"),
        ("self.n[key] = 1", "number"),
        ("self.n[key] = len(self.n)", "number"),
        ("self.n[key] = 1; self.n[other] += 1", "number"),
        ("self.n[key] = torch.zeros(3)", "tensor"),
    ],
)
def test_what_methods_put_into_a_dictionary(code: str, expected: str) -> None:
    files = {
        "kinds.py": f"{TORCH}class Kinds:\n    def __init__(self):\n        self.n = {{}}\n    def add(self, key, other):\n        {code}\n",
        "a.py": "from kinds import Kinds\nkinds = Kinds()\nkinds.n[unknown]",
    }

    assert expected == value(files, "a.py").kind


@pytest.mark.parametrize(("callers", "expected"), [(17, "unknown"), (15, "number"), (3, "number")])
def test_what_all_callers_of_a_helper_give(callers: int, expected: str) -> None:
    files = {
        "a.py": "def helper(n):\n    n",
        **{f"c{i}.py": "from a import helper\nhelper(3)" for i in range(callers)},
    }

    assert expected == value(files, "a.py").kind


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("table = read()\nfit(table.parameters(3))\ntable\n", "unknown"),
        ("x = torch.ones(3)\nx.parameters()\nx\n", "tensor"),
        ("class Agent:\n    def parameters(self): ...\nagent = Agent()\nfit(agent.parameters())\nagent\n", "instance"),
        ("encode = Adam(models.build())\nfit(encode.state_dict())\nencode\n", "unknown"),
        ("encode = build().cuda()\noptimizer = Adam(encode.parameters())\nencode\n", "module"),
        ("net = model.net(config).cuda()\noptimizer = Adam(net.parameters())\nnet\n", "module"),
        ("signature = read()\nnames = list(signature.parameters)\nsignature\n", "unknown"),
        ("encode = build()\nnames = [name for name, p in encode.named_parameters()]\nencode(3)\n", "tensor"),
    ],
)
def test_what_has_parameters_is_a_module(code: str, expected: str) -> None:
    """Whatever made it, and though the name looks like the output of a model."""
    assert expected == value({"a.py": TORCH + code}, "a.py").kind


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        # Nobody makes one, or passes that on.
        ("class B(A):\n    def __init__(self):\n        self.x = 1\nB()", "unknown"),
        ("class B(A):\n    def __init__(self):\n        super().setup(1)\nB()", "unknown"),
        ("class B(A):\n    def __init__(self):\n        super().__init__()\nB()", "unknown"),
        ("class C:\n    def __init__(self, x): pass\nKINDS = {'a': A, 'c': C}\n", "unknown"),
        ("class C:\n    def __init__(self, x): pass\nKINDS = {'c': C, 'd': dict}\nKINDS['c'](1)", "unknown"),
        ("class B(A):\n    def __init__(self):\n        super().__init__(1)\nclass D(A): pass\nD('a')", "unknown"),
        # Subclasses
        ("class B(A):\n    def __init__(self):\n        super().__init__(1)", "number"),
        ("class B(A):\n    def __init__(self, y, x):\n        super(B, self).__init__(x=x)\nB(y, 1)", "number"),
        ("class B(A): pass\nB(1)", "number"),
        ("class B(A): pass\nclass C(B):\n    def __init__(self):\n        super().__init__(1)", "number"),
        # Tables
        ("class C: pass\nKINDS = {'a': A, 'c': C}\ndef make(name):\n    return KINDS[name](1)", "number"),
        (
            "class C: pass\ndef make(name):\n    kinds = {1: A, 2: C}\n    kind = kinds[name]\n    return kind(1)",
            "number",
        ),
        ("class B(A): pass\nclass C: pass\nKINDS = {B.code(): B, C.code(): C}\nKINDS[name](1)", "number"),
    ],
)
def test_what_constructors_are_given_otherwise(others: str, expected: str) -> None:
    files = {"a.py": KEPT, "b.py": f"from a import A\n{others}"}

    assert expected == value(files, "a.py").kind


@pytest.mark.parametrize(("scripts", "expected"), [(20, "number"), (21, "unknown")])
def test_an_object_that_many_scripts_make(scripts: int, expected: str) -> None:
    files = {"a.py": KEPT} | {f"train_{i}.py": f"from a import A\nA({i})" for i in range(scripts)}

    assert expected == value(files, "a.py").kind


@pytest.mark.parametrize(("given", "expected"), [("(3, 4)", "number"), ("[3, 4]", "unknown"), ("other", "unknown")])
def test_what_is_in_a_tuple_that_an_object_is_given(given: str, expected: str) -> None:
    files = {
        "a.py": "class A:\n    def __call__(self, size):\n        height, width = size\n        width",
        "b.py": f"from a import A\nscale = A()\nscale({given})",
    }

    assert expected == value(files, "a.py").kind


def test_a_table_of_classes_in_another_file() -> None:
    files = {
        "a.py": KEPT,
        "kinds/__init__.py": "from a import A\nclass C: pass\nKINDS = {'a': A, 'c': C}\n",
        "train.py": "from kinds import KINDS\ndef main(args):\n    kind = KINDS[args.kind]\n    return kind(1)\n",
    }

    assert "number" == value(files, "a.py").kind


@pytest.mark.parametrize(
    "table",
    [
        "{'a':A, 'c': C}",
        "{'a': a.A, 'c': C}",
        "{'a': (A), 'c': C}",
        "{\n    'a': A,\n    'c': C,\n}",
        "{'c': C, 'a':\n    A}",
        "{'c': C, 'a':  # the first\n    A  # of all\n}",
        "{'c': C, 'a': \\\n A}",
        f"{{'c': C, 'a': {' ' * 300}A}}",
        f"{{'c': C, 'a': {' ' * 300}a.A}}",
    ],
)
def test_the_ways_to_write_a_table_of_classes(table: str) -> None:
    files = {"a.py": KEPT, "b.py": f"import a\nfrom a import A\nclass C: pass\nKINDS = {table}\nKINDS[name](1)"}

    assert "number" == value(files, "a.py").kind


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("{'a': nets.a, 'b': nets.b}", ["nets/a.py:make", "nets/b.py:make"]),
        ("{'a': nets.a, 'c': nets.c}", ["nets/a.py:make"]),
        ("{'c': nets.c, 'd': os.path}", []),
    ],
)
def test_a_table_of_modules(table: str, expected: list[str]) -> None:
    files = {
        "nets/__init__.py": "",
        "nets/a.py": "def make(x):\n    return 1\n",
        "nets/b.py": "def make(x):\n    return 2\n",
        "nets/c.py": "def other(x):\n    return 3\n",
        "run.py": f"import os\nimport nets.a, nets.b, nets.c\ntable = {table}\ntable[name].make(0)\n",
    }
    assert expected == called(files, "run.py")


def test_a_file_without_such_a_table_is_not_parsed_for_one() -> None:
    text = "from a import A\ndef f(x) -> A:\n    'A'\n    return isinstance(x, (int, A)) or {'a': A.b, A: 1}\n"
    files = {"a.py": f"{KEPT}A('a')", "b.py": text}
    project = Project({path: functools.partial(str.encode, text) for path, text in files.items()})
    module = project.module("a.py")
    assert module is not None

    project.parameter(module.classes[0].methods["__init__"], "x")

    assert {"a.py"} == set(project.parsed)


# Abstract methods


ABSTRACT = (
    "from abc import ABC, abstractmethod\nclass A(ABC):\n    def __init__(self):\n        self.net = self.build()\n"
)
RAISES = "def build(self):\n        raise NotImplementedError"
ONE = "class B(A):\n    def build(self): return 1\n"


@pytest.mark.parametrize(
    ("base", "heirs", "expected"),
    [
        # Nobody says what it gives, or it says so itself.
        (RAISES, "", "unknown"),
        ("def build(self):\n        pass", ONE, "unknown"),
        ("def build(self):\n        return 'a'", ONE, "str"),
        ("def build(self):\n        raise ValueError(self)", ONE, "unknown"),
        (RAISES, "class B(A):\n    def build(self): raise NotImplementedError\n", "unknown"),
        (RAISES, f"{ONE}class C(A):\n    def build(self): return 'a'\n", "unknown"),
        # What subclasses give.
        (RAISES, ONE, "number"),
        (
            'def build(self):\n        """Make it."""\n        raise NotImplementedError("no")\n        return None',
            "class B(A):\n    pass\nclass C(B):\n    def build(self): return 1\n",
            "number",
        ),
        ("@abstractmethod\n    def build(self):\n        pass", ONE, "number"),
        ("@abstractmethod\n    def build(self): ...", ONE, "number"),
    ],
)
def test_what_an_abstract_method_gives(base: str, heirs: str, expected: str) -> None:
    files = {"a.py": f"{ABSTRACT}    {base}\n    def f(self):\n        self.net", "b.py": f"from a import A\n{heirs}"}

    assert expected == value(files, "a.py").kind


# Values across files


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"a.py": "from b import x\nx", "b.py": "x = 1"}, "number"),
        ({"a.py": "import b\nb.x", "b.py": "x = 1"}, "number"),
        ({"a.py": "import b\nb.y", "b.py": "x = 1"}, "unknown"),
        ({"a.py": "from b import f\nf()", "b.py": "def f(): return 1"}, "number"),
        ({"a.py": "from b import f\nf", "b.py": "def f(): return 1"}, "function"),
        ({"a.py": "from b import A\nA", "b.py": "class A: pass"}, "class"),
        ({"a.py": "from b import A\nA()", "b.py": "class A: pass"}, "instance"),
        ({"a.py": "from b import A\nA()", "b.py": TORCH + "class A(nn.Module): pass"}, "module"),
        ({"a.py": "from b import A\ndef f(a: A):\n    a", "b.py": "class A: pass"}, "instance"),
        (
            {
                "a.py": "from b import Net as N\nN()",
                "b.py": "from c import Net",
                "c.py": TORCH + "class Net(nn.Module): pass",
            },
            "module",
        ),
        # What a file binds to a name
        ({"a.py": "from b import f\nf()", "b.py": "f = unknown"}, "unknown"),
        (
            {
                "a.py": "from b import net\nnet()",
                "b.py": TORCH + "from functools import partial\nnet = partial(Net, 3)\nclass Net(nn.Module): pass",
            },
            "module",
        ),
        (
            {
                "a.py": "from b import D\nD(1, 2).y",
                "b.py": "from collections import namedtuple\nD = namedtuple('D', 'x y')",
            },
            "number",
        ),
        # Two functions that call each other
        ({"a.py": "def f():\n    return g()\ndef g():\n    return f()\nf()"}, "unknown"),
        (
            {
                "a.py": "from b import g\ndef f():\n    return g()\nf()",
                "b.py": "from a import f\ndef g():\n    return f()",
            },
            "unknown",
        ),
        (
            {
                "a.py": "class A:\n    def f(self):\n        self.x = self.g()\n    def g(self):\n        return self.x\nA().x"
            },
            "unknown",
        ),
        # Names that stand for each other, in files that import each other
        ({"a.py": "from b import y\nx = y\nx", "b.py": "from a import x\ny = x"}, "unknown"),
        # A chain of calls is followed to its end.
        ({"a.py": "def f():\n    return g()\ndef g():\n    return h()\ndef h():\n    return 1\nf()"}, "number"),
        (
            {
                "a.py": "\n".join(f"def f{n}():\n    return f{n + 1}()" for n in range(30))
                + "\ndef f30():\n    return 1\nf0()"
            },
            "number",
        ),
        # What comes out of a recursion is what goes in at its end.
        ({"a.py": "def f(n):\n    if n:\n        return f(n - 1)\n    return 1\nf(3)"}, "number"),
        (
            {"a.py": "def f(n):\n    if n:\n        return g(n)\n    return 1\ndef g(n):\n    return f(n - 1)\ng(3)"},
            "number",
        ),
        (
            {
                "a.py": TORCH
                + "class A:\n    def __init__(self):\n        self.h = torch.zeros(3)\n"
                + "    def step(self):\n        self.h = self.next(self.h)\n"
                + "    def next(self, h):\n        return h + 1\nA().h"
            },
            "tensor",
        ),
    ],
)
def test_values_across_files(files: Files, expected: str) -> None:
    assert expected == with_room(lambda: value(files, "a.py")).kind


CIRCLES: Files = {
    "a.py": TORCH
    + """from b import Base, walk

class A(Base):
    def __init__(self, first):
        self.first = first
        self.rest = []

    def put(self, x):
        self.rest.append(self.first)
        self.first = self.change(x)
        return walk(self, x)

    def change(self, x):
        return self.put(x) if x is None else Base.change(self, x)

def go(n):
    if n:
        return back(n - 1)
    return torch.zeros(3)
""",
    "b.py": """from a import A, go

class Base:
    def change(self, y):
        self.last = y
        return walk(self, self.last)

def walk(node, z):
    if z is None:
        return back(z)
    return node.put(node.change(z))

def back(n):
    if n:
        return go(n)
    return A(go(0)).first
""",
}
"""Questions that lead to each other in many ways."""


@pytest.mark.parametrize("turn", range(12))
def test_what_is_asked_first_makes_no_difference(turn: int) -> None:
    def told(order: random.Random | None) -> dict[object, str]:
        project = project_of(CIRCLES)
        functions = [f for path in CIRCLES for f in module(project, path).functions]
        classes = [c for path in CIRCLES for c in module(project, path).classes]
        questions: dict[object, Callable[[], object]] = {
            (f.module.path, f.qualname): functools.partial(project.returns, f) for f in functions
        }
        questions |= {
            (f.module.path, f.qualname, p.arg): functools.partial(project.parameter, f, p.arg)
            for f in functions
            for p in f.parameters
        }
        questions |= {
            (c.name, name): functools.partial(project.attribute, c, name)
            for c in classes
            for name in ("first", "last", "rest")
        }
        questions |= {
            (node.lineno, node.col_offset, str(ast.dump(node))): functools.partial(project.value, f, node)
            for f in functions
            for node in f.flow.nodes
            if isinstance(node, ast.Call | ast.Attribute)
        }
        keys = list(questions)
        if order is not None:
            order.shuffle(keys)
        found = {key: questions[key]() for key in keys}
        return {key: _told(found[key]) for key in questions}

    assert told(None) == told(random.Random(turn))


def _told(value: object) -> str:
    assert isinstance(value, Value)
    owners = [owner.qualname for owner in (value.function, value.class_, *value.classes) if owner is not None]
    return repr(
        (
            value.kind,
            value.certainty,
            value.device,
            value.class_name,
            sorted(value.other_kinds),
            owners,
            value.element is None,
        )
    )


def test_a_number_beside_what_may_be_anything_is_a_number() -> None:
    code = """class Trainer:
    def __init__(self):
        self.steps = 0

    def load(self, path):
        self.steps = on_cpu(read(path))

    def f(self):
        self.steps

def on_cpu(data):
    if isinstance(data, torch.Tensor):
        return data.cpu()
    if isinstance(data, dict):
        return {key: on_cpu(value) for key, value in data.items()}
    if isinstance(data, list):
        return [on_cpu(value) for value in data]
    return data
"""
    found = value({"a.py": TORCH + code}, "a.py")

    assert "number" == found.kind
    assert {"none"} >= found.other_kinds


def test_code_that_is_nested_deeply_has_a_value_where_there_is_room() -> None:
    assert "number" == with_room(lambda: value({"a.py": "1" + " + 1" * 600}, "a.py")).kind


# Who imports a file


@pytest.mark.parametrize(
    ("files", "path", "expected"),
    [
        ({"a.py": "", "b.py": "x"}, "a.py", []),
        ({"a.py": "", "b.py": "import c"}, "a.py", []),
        ({"x/a.py": "", "y/b.py": "import a", "a.py": ""}, "x/a.py", []),
        ({"a.py": "import a"}, "a.py", []),
        ({"a.py": "", "b.py": "import a"}, "a.py", ["b.py"]),
        ({"a.py": "", "b.py": "def f():\n    from a import x"}, "a.py", ["b.py"]),
        ({"pkg/__init__.py": "", "pkg/a.py": "", "b.py": "from pkg.a import x"}, "pkg/a.py", ["b.py"]),
        ({"pkg/__init__.py": "", "pkg/a.py": "", "pkg/b.py": "from .a import x"}, "pkg/a.py", ["pkg/b.py"]),
        ({"pkg/a.py": "", "b.py": "from pkg.a import x"}, "pkg/a.py", ["b.py"]),
        ({"top/pkg/a.py": "", "b.py": "from top.pkg.a import x"}, "top/pkg/a.py", ["b.py"]),
    ],
)
def test_importers(files: Files, path: str, expected: list[str]) -> None:
    project = project_of(files)

    assert expected == project.importers(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import a\nfrom b import (c,\n d)\n", {"import", "a", "from", "b", "c", "d"}),
        ("from a \\\n  import b\n", {"from", "a", "import", "b"}),
        ("import a\rb = 1\rimport c\r", {"import", "a", "b", "c"}),
        ("x = 1; import a\nimportant = 'import'\n", {"import", "a"}),
        ("if x:\n    from a import b\n\timport c\n", {"from", "a", "import", "b", "c"}),
        ("import a; import b\ntry: import c\nfinally: pass\n", {"import", "a", "b", "c"}),
        ("# what to import\nx = 1\n'''\n    from the left\n'''\nimport a\n", {"import", "a"}),
        ("__import__('x')\nimportlib.import_module('y')\nimport a\n", {"import", "a"}),
        ("from a import(b)\nfrom a \\\n  import (  # (c\n  d,\n)\n", {"from", "a", "import", "b", "c", "d"}),
    ],
)
def test_words_of_imports(text: str, expected: set[str]) -> None:
    words = {word.decode() for word in Project({"a.py": text.encode}).import_words("a.py")}

    assert expected <= words


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("pkg/__init__.py", "from .version import version\n"),
        ("pkg/__init__.py", "from .a import b\nfrom .b import a as version, a\n"),
        ("pkg/__init__.py", "from pkg.version import version\n"),
        ("__init__.py", "from .version import version\n"),
        ("pkg/__init__.py", "import pkg.version as version\n"),
        ("pkg/__init__.py", "from . import version\n"),
    ],
)
def test_a_name_of_a_file_that_is_not_there_leads_nowhere(path: str, code: str) -> None:
    made = project_of({path: f"import torch\n{code}def f(x):\n    version.y.z(x)\n    return version(x).item()\n"})
    module = made.module(path)
    assert module is not None

    for function in module.functions:
        for call in (node for node in ast.walk(function.node) if isinstance(node, ast.Call)):
            name = made.resolve(function, call.func)
            assert name is None or (len(name) < 60 and made.definition(name, module) is None)
