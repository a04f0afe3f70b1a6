"""Which import a name means at a place, whatever way the program took to it."""

from __future__ import annotations

import ast

import pytest

from torchlint.facts.lookup import lookup
from torchlint.facts.module import Module
from torchlint.text.source import Source


def module_of(code: str) -> Module:
    return Module(Source.of("a.py", code.encode()), "a", False)


def here(module: Module) -> ast.AST:
    """Where `here` is read, or else the module."""
    return next((n for n in ast.walk(module.tree) if isinstance(n, ast.Name) and n.id == "here"), module.tree)


def imported(code: str, name: str = "nn") -> str | None:
    """What the name means where `here` is read."""
    module = module_of(code)
    return lookup(module).imported(here(module), name)


@pytest.mark.parametrize(
    "code",
    [
        "from torch import nn\nhere",
        "import torch.nn as nn\nhere",
        "from torch import nn, Tensor\ndef f():\n    here",
        "from torch import nn\ndef f():\n    def g():\n        return lambda: [here for _ in x]",
        "from torch import nn\nclass A:\n    def f(self):\n        here",
        "def f():\n    from torch import nn\n    if x:\n        here",
        "def f():\n    from torch import nn\n    def g():\n        here",
        "if x:\n    from torch import nn\n    here",
        "try:\n    from torch import nn\n    here\nexcept ImportError:\n    pass",
        "class A:\n    from torch import nn\n    x = here",
        "from torch import nn\ndef f(x=here, nn=1):\n    pass",
        "from torch import nn\nclass A:\n    nn = 1\n    def f(self):\n        here",
        "from torch import nn\nx = [nn for nn in here]",
        "from torch import nn\n[nn for nn in x]\nhere",
        "from torch import nn\n(lambda nn: nn)\nhere",
        "from torch import nn\ndef f(nn):\n    pass\nhere",
        "from torch import nn\ndef f():\n    from torch import nn\nhere",
        "from torch import nn\nfrom torch import nn\nhere",
    ],
)
def test_an_import_that_has_run_before_is_sure(code: str) -> None:
    assert "torch.nn" == imported(code)


@pytest.mark.parametrize(
    "code",
    [
        "here",
        "here\nfrom torch import nn",
        "def f():\n    here\nf()\nfrom torch import nn",
        "def f():\n    here\n    from torch import nn",
        "def f():\n    from torch import nn\nhere",
        "def f():\n    from torch import nn\ndef g():\n    here",
        "if TYPE_CHECKING:\n    from torch import nn\nhere",
        "if x:\n    from torch import nn\nelse:\n    here",
        "for x in y:\n    from torch import nn\nhere",
        "while x:\n    from torch import nn\nhere",
        "with x:\n    from torch import nn\nhere",
        "match x:\n    case 1:\n        from torch import nn\nhere",
        "try:\n    from torch import nn\nexcept ImportError:\n    here",
        "try:\n    from torch import nn\nexcept ImportError:\n    nn = None\nhere",
        "try:\n    from torch import nn\nfinally:\n    here",
        "class A:\n    from torch import nn\n    def f(self):\n        here",
        "class A:\n    from torch import nn\n    x = [here for _ in y]",
        "class A:\n    from torch import nn\nhere",
        "class A:\n    x = here\n    from torch import nn",
        "from torch import nn\nclass A:\n    nn = 1\n    x = here",
    ],
)
def test_an_import_that_may_not_have_run_is_not(code: str) -> None:
    assert imported(code) is None


@pytest.mark.parametrize(
    "code",
    [
        "from torch import nn\nnn = 1\nhere",
        "from torch import nn\nhere\nnn = 1",
        "from torch import nn\nnn += 1\nhere",
        "from torch import nn\nnn: int = 1\nhere",
        "from torch import nn\nfor nn in x:\n    here",
        "from torch import nn\nwith x as nn:\n    here",
        "from torch import nn\ntry:\n    pass\nexcept E as nn:\n    here",
        "from torch import nn\nmatch x:\n    case nn:\n        here",
        "from torch import nn\nmatch x:\n    case [*nn]:\n        here",
        "from torch import nn\nmatch x:\n    case {**nn}:\n        here",
        "from torch import nn\nmatch x:\n    case A() as nn:\n        here",
        "from torch import nn\n(nn := 1)\nhere",
        "from torch import nn\n[nn := y for y in x]\nhere",
        "from torch import nn\ndel nn\nhere",
        "from torch import nn\ndef nn(): pass\nhere",
        "from torch import nn\nclass nn: pass\nhere",
        "from torch import nn\nfrom other import nn\nhere",
        "from torch import nn\nimport nn\nhere",
        "from torch import nn\nfrom . import nn\nhere",
        "from .torch import nn\nhere",
        "from torch import nn\nfrom other import *\nhere",
        "from torch import nn\ndef f():\n    global nn\n    nn = 1\nhere",
        "from torch import nn\ndef f():\n    nn = 1\n    here",
        "from torch import nn\ndef f():\n    here\n    nn = 1",
        "from torch import nn\ndef f(nn):\n    here",
        "from torch import nn\ndef f(*nn):\n    here",
        "from torch import nn\ndef f(**nn):\n    here",
        "from torch import nn\ndef f(*, nn):\n    here",
        "from torch import nn\ndef f(nn):\n    def g():\n        here",
        "from torch import nn\ndef f():\n    nn = 1\n    def g():\n        nonlocal nn\n        here",
        "from torch import nn\nlambda nn: here",
        "from torch import nn\n[here for nn in x]",
        "from torch import nn\n[y for nn in x for y in here]",
        "from torch import nn\n{here: 1 for _, nn in x}",
    ],
)
def test_a_name_that_is_bound_otherwise_is_not(code: str) -> None:
    assert imported(code) is None


def test_an_import_binds_the_first_part_of_a_dotted_name() -> None:
    assert "torch" == imported("import torch.nn.functional\nhere", "torch")
    assert "torch.nn.functional" == imported("import torch.nn.functional as F\nhere", "F")


@pytest.mark.parametrize(
    ("code", "free"),
    [
        ("x = 1", True),
        ("def f():\n    import torch.nn", True),
        ("if x:\n    import torch", True),
        ("def f(torch): pass", False),
        ("import other as torch", False),
        ("try:\n    import torch\nexcept ImportError:\n    torch = None", False),
        ("from other import *", False),
        ("def f():\n    global torch", False),
        ("[torch for torch in x]", False),
        ("def f():\n    here\n    import torch", False),
        ("def f():\n    def g():\n        here\n    import torch.nn", False),
        ("def f():\n    if x:\n        import torch\n    [here for _ in x]", False),
        ("class A:\n    here\n    import torch", False),
        ("class A:\n    import torch\n    def f(self):\n        here", True),
        ("def f():\n    import torch\nhere", True),
    ],
)
def test_a_name_is_free_where_an_import_at_the_top_gives_it_and_nobody_another(code: str, free: bool) -> None:
    module = module_of(code)
    assert free is lookup(module).free(here(module), "torch", "torch")


def may_be_another(code: str) -> bool:
    """Whether `nn` may be something else than its import where `here` is read."""
    module = module_of(code)
    return lookup(module).may_be_another(here(module), "nn", "torch.nn")


@pytest.mark.parametrize(
    "code",
    [
        "from torch import nn\nhere",
        "import torch.nn as nn\nfrom torch import nn\nhere",
        "from .torch import nn\nfrom .torch import nn\nhere",
        "try:\n    from torch import nn\nexcept ImportError:\n    nn = None\ndef f():\n    here",
        "from torch import nn\nhere\nnn = 1",
        "from torch import nn\nnn = here",
        "from torch import nn\nnn, x = 1, here",
        "from torch import nn\nnn: int = here",
        "from torch import nn\nif here:\n    nn = 1",
        "from torch import nn\nhere\nfor nn in x:\n    pass",
        "from torch import nn\nhere\ndef nn():\n    pass",
        "def f():\n    from torch import nn\n    for x in y:\n        here\n    nn = 1",
        "from torch import nn\n[nn for nn in x]\nhere",
        "from torch import nn\n(lambda nn: nn)\nhere",
        "from torch import nn\nclass A:\n    nn = 1\n    def f(self):\n        here",
        "from torch import nn\ndef f():\n    nn = 1\nhere",
        "def f():\n    global nn\n    from torch import nn\nhere",
    ],
)
def test_an_import_that_nothing_replaces_before_a_place(code: str) -> None:
    assert not may_be_another(code)


@pytest.mark.parametrize(
    "code",
    [
        "here",
        "class A:\n    from torch import nn\nhere",
        "from torch import nn\nclass A:\n    nn = 1\n    x = here",
        "from torch import nn\nclass A:\n    from other import nn\n    x = here",
        "from torch import nn\ndef f():\n    global nn\n    nn = 1\nhere",
        "def f():\n    from torch import nn\n    def g():\n        nonlocal nn\n        nn = 1\n    here",
        "from torch import nn\ndef f():\n    here\nnn = 1",
        "from torch import nn\ndef f():\n    here\nwith x as nn:\n    pass",
        "from torch import nn\nfor x in y:\n    here\n    nn = 1",
        "from torch import nn\nwhile x:\n    for y in z:\n        here\n    nn = 1",
        "from torch import nn\n[nn := y for y in x]\nhere",
        "from torch import nn\n[here for nn in x]",
        "from torch import nn\nlambda nn: here",
        "from torch import nn\ndel nn\nhere",
        "from torch import nn\nnn = 1\nhere",
        "from torch import nn\nx = (nn := 1), here",
        "from torch import nn\nfor nn in x:\n    here",
        "from torch import nn\nnn += here",
        "if x:\n    from torch import nn\nelse:\n    from other import nn\nhere",
        "from torch import nn\nfrom .torch import nn\nhere",
    ],
)
def test_what_a_name_may_be_besides_its_import(code: str) -> None:
    assert may_be_another(code)
