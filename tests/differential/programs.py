"""Programs with a fault: its shape, what it is written on, where it stands, how torch is imported, in what kind of function.

A program defines `run(x, y)`, which the judge calls with two tensors. Which values meet is chosen by a covering design:
of any two axes, all pairs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, product

OPERANDS = {
    "name": "x",
    "attribute": "box.x",
    "subscript": "xs[0]",
    "call": "same(x)",
    "method": "x.abs()",
    "slice": "x[..., :1]",
    "transposed": "x.mT",
    "sum": "x + y",
    "product": "x * 2",
    "remainder": "x % y",
    "power": "x ** 2",
    "shift": "x << 1",
    "matrix product": "x @ y",
    "bits": "x & y",
    "negated": "-x",
    "inverted": "~x",
    "compared": "x > y",
    "either": "x if c else y",
    "or": "x if box is None else box.x",
    "and": "c and x",
    "walrus": "(z := x)",
    "lambda": "(lambda: x)()",
    "of a list": "[x, y][0]",
    "of a comprehension": "[t for t in xs][0]",
    "in parentheses": "(x)",
    "over lines": "(x  # first\n    + y)",
}
"""Expressions of every class that can be a tensor."""

PLACES = {
    "returned": "return {E}",
    "assigned": "r = {E}\nreturn r",
    "annotated": "r: torch.Tensor = {E}\nreturn r",
    "to two names": "r = s = {E}\nreturn r, s, r is s",
    "unpacked": "r, s = {E}, x\nreturn r, s",
    "added to a list": "r = [x]\nr += [{E}]\nreturn r",
    "subtracted": "r = y.clone()\nr = r - {E}\nreturn r",
    "augmented": "r = torch.zeros(2, 3)\nr += {E}\nreturn r",
    "argument": "return same({E})",
    "keyword argument": "return same(value={E})",
    "spread": "return pack(*[{E}], x)",
    "default": "def inner(value={E}):\n    return value\nreturn inner(), inner()",
    "lambda": "inner = lambda: {E}\nreturn inner(), inner()",
    "nested function": "def inner():\n    return {E}\nreturn inner()",
    "generator function": "def inner():\n    yield {E}\n    yield {E}\nreturn list(inner())",
    "class body": "class Inner:\n    value = {E}\nreturn Inner.value",
    "list": "return [{E}, {E}]",
    "comprehension": "return [{E} for _ in range(2)]",
    "generator": "return tuple({E} for _ in range(2))",
    "dictionary": "return {k: {E} for k in ('a', 'b')}",
    "set in a row": "rows = {}\nrows['r'] = {E}\nreturn rows",
    "f-string": "return f'{{E}}'",
    "f-string format": "return f'{{E}!s:>5}'",
    "printed": "print({E})\nreturn x",
    "walrus": "if (r := {E}) is not None:\n    return r\nreturn x",
    "bare walrus": "pack(r := {E})\nreturn r",
    "comprehension's name": "return [{E} for name in range(2)]",
    "conditional": "return {E} if c else x",
    "condition": "return x if {E} is not None else y",
    "left": "return {E} + 1",
    "right": "return 1 - {E}",
    "base": "return {E} ** 2",
    "exponent": "return 2 ** {E}",
    "minus": "return -{E}",
    "not": "return not {E}.numel()",
    "compared": "return {E} == y",
    "attribute": "return {E}.shape",
    "method": "return {E}.sum()",
    "indexed": "return {E}[None]",
    "index": "return [x][{E}.numel() * 0]",
    "after return": "if c: return {E}\nreturn x",
    "between semicolons": "s = 1; r = {E}; return r, s",
    "parenthesised": "return ({E})",
    "over lines": "return (  # why\n    # first\n    {E}  # last\n)",
    "continued": "r = \\\n    {E}\nreturn r",
    "with": "with torch.no_grad():\n    r = {E}\nreturn r",
    "with autocast": "with torch.autocast('cpu', torch.bfloat16):\n    r = {E}\nreturn r",
    "with device": "with torch.device('meta'):\n    r = {E}\nreturn r",
    "with inference": "with torch.inference_mode():\n    r = {E}\nreturn r",
    "try": "try:\n    return {E}\nexcept RuntimeError:\n    return 'failed'",
    "finally": "r = x\ntry:\n    pass\nfinally:\n    r = {E}\nreturn r",
    "asserted": "assert {E} is not None, 'nothing'\nreturn x",
    "matched": "match {E}:\n    case r:\n        return r",
    "yielded": "def inner():\n    got = yield {E}\n    return got\nreturn list(inner())",
    "awaited": "async def inner():\n    return {E}\nimport asyncio\nreturn asyncio.run(inner())",
    "written": "r = {E}\nr.mul_(2)\nreturn r",
    "written by index": "r = {E}\nr[...] = 0\nreturn r",
    "written by out": "r = {E}\ntorch.add(r, 1, out=r)\nreturn r",
    "written through a view": "r = {E}\nv = r.view(-1)\nv.zero_()\nreturn r, v",
    "written in one": "return {E}.add_(1)",
    "source written": "r = {E}\nx.mul_(2)\nreturn r",
    "other written": "r = {E}\ny.mul_(2)\nreturn r",
    "source written by index": "r = {E}\nx[...] = 1\nreturn r, x",
    "source as out": "r = {E}\ntorch.add(x, 1, out=x)\nreturn r, x",
    "kept": "box.kept = {E}\nbox.kept.add_(1)\nreturn box.kept, x",
    "deleted": "r = {E}\ndel x\nreturn r",
    "resized": "r = {E}\nr.resize_(0)\nreturn r",
    "leaf": "r = {E}\nr.requires_grad_()\nreturn r * 2, r.is_leaf",
    "global": "global KEPT\nKEPT = {E}\nreturn KEPT",
    "tested": "return ({E} is x), ({E} is y)",
}
"""Where an expression can stand in a function, with what happens to its result there."""

PRELUDE = """\
CALLS = []


class Box:
    def __init__(self, x: torch.Tensor):
        self.x = x
        self.kept = None


def same(value: torch.Tensor) -> torch.Tensor:
    CALLS.append("same")
    return value


def pack(*values):
    CALLS.append("pack")
    return values
"""

GIVEN = "x: torch.Tensor, y: torch.Tensor, c: bool, box: Box, xs: list[torch.Tensor]"
TAKEN = "x, y, True, Box(x), [x, y]"

HOSTS = {
    "forward": """\
class Block(torch.nn.Module):
    def forward(self, GIVEN):
        BODY


def run(x, y):
    return Block()(TAKEN)
""",
    "function": """\
def calculate(GIVEN):
    BODY


def run(x, y):
    return calculate(TAKEN)
""",
    "loop": """\
def repeated(GIVEN):
    for _ in range(2):
        BODY


def run(x, y):
    return repeated(TAKEN)
""",
    "sample": """\
class Samples(torch.utils.data.Dataset):
    def __init__(self, GIVEN):
        self.given = TAKEN_AS_GIVEN

    def __getitem__(self, index):
        x, y, c, box, xs = self.given
        BODY


def run(x, y):
    return Samples(TAKEN)[0]
""",
    "async forward": """\
class Block(torch.nn.Module):
    async def forward(self, GIVEN):
        BODY


def run(x, y):
    return Block()(TAKEN)
""",
    "nested class": """\
def made():
    class Block(torch.nn.Module):
        def forward(self, GIVEN):
            BODY

    return Block


def run(x, y):
    return made()()(TAKEN)
""",
}
"""The functions that the places are in."""

STEPS = {
    "step loop": """\
def calculate(GIVEN):
    BODY


def run(x, y):
    weight = torch.nn.Parameter(torch.ones((), device="cpu"))
    optimizer = torch.optim.SGD([weight], lr=0.0)
    for step in range(2):
        result = calculate(TAKEN)
        loss = weight * 2
        loss.backward()
        optimizer.step()
    return result
""",
}
"""Functions that a training loop calls."""

IMPORTS = ("torch", "torch as th", "names", "other names", "modules")
"""Ways to import what a program uses: see `imported`."""

DECOYS: dict[str, tuple[str, str, str]] = {
    "none": ("", "", ""),
    "late": ("", "", "IMPORT"),
    "for type checkers": ("from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    IMPORT", "", ""),
    "under a condition": ("if len(CALLS) > 9:\n    IMPORT", "", ""),
    "behind a missing module": ("try:\n    import missing_module\n    IMPORT\nexcept ImportError:\n    pass", "", ""),
    "in a class": ("class Holder:\n    IMPORT", "", ""),
    "in another function": ("def other():\n    IMPORT\n    return NAME", "", ""),
    "in the function, below": ("", "IMPORT", ""),
    "in the function, under a condition": ("", "if len(CALLS) > 9:\n    IMPORT", ""),
    "bound anew": ("IMPORT\nNAME = None", "", ""),
    "bound anew below": ("IMPORT", "", "NAME = None"),
    "deleted": ("IMPORT\ndel NAME", "", ""),
    "by a loop": ("IMPORT\nfor NAME in (1, 2):\n    pass", "", ""),
    "by with": ("import contextlib\n\nIMPORT\nwith contextlib.nullcontext(3) as NAME:\n    pass", "", ""),
    "by except": ("IMPORT\ntry:\n    raise ValueError\nexcept ValueError as NAME:\n    pass", "", ""),
    "by a capture": ("IMPORT\nmatch 3:\n    case NAME:\n        pass", "", ""),
    "by a comprehension's walrus": ("IMPORT\nwalked = [NAME := n for n in (1, 2)]", "", ""),
    "by a global statement": ("IMPORT\n\n\ndef rebind():\n    global NAME\n    NAME = None\n\n\nrebind()", "", ""),
    "by a function": ("IMPORT\n\n\ndef NAME():\n    pass", "", ""),
    "by a class": ("IMPORT\n\n\nclass NAME:\n    pass", "", ""),
    "a local of the function": ("IMPORT", "NAME = None", ""),
    "a local below": ("IMPORT", "if len(CALLS) > 9:\n    NAME = None", ""),
    "in sight": ("IMPORT", "", ""),
}
"""Imports beside the program's own, of which a fix can't use the name: what stands at the top, at the end of the function,
and at the end of the file."""

_NAME = re.compile(r"(?<!from )(?<!import )\b(?:torch|functorch)(?:\.[A-Za-z_]\w*)+")


def imported(text: str, style: str) -> str:
    """A program with imports in front of it, and its dotted names of torch written as these bind them."""
    used = sorted({match[0] for match in _NAME.finditer(text)})
    lines: list[str] = []
    written: dict[str, str] = {}
    for name in used:
        home = _home(name)
        below = name[len(home) + 1 :]
        member, dot, rest = below.partition(".")
        if style == "torch":
            local, line = name, f"import {home}"
        elif style == "torch as th" and name.startswith("torch."):
            local, line = f"th{name[5:]}", "import torch as th" if home == "torch" else f"import {home}"
        elif style == "modules":
            local, line = f"mod_{home.replace('.', '_')}.{below}", f"import {home} as mod_{home.replace('.', '_')}"
        elif style == "names":
            local, line = below, f"from {home} import {', '.join(_members(home, used))}"
        else:
            local, line = f"my_{member}{dot}{rest}", f"from {home} import {member} as my_{member}"
        if local in written.values():  # torch.cuda.amp.autocast and torch.cpu.amp.autocast in one program
            local, line = f"mod_{home.replace('.', '_')}.{below}", f"import {home} as mod_{home.replace('.', '_')}"
        written[name] = local
        lines.append(line)
    if style == "torch as th":
        lines.insert(0, "import torch as th")
    return "\n".join([*dict.fromkeys(lines), "", _NAME.sub(lambda match: written[match[0]], text)])


_MODULES = (
    "torch.nn.functional",
    "torch.nn.init",
    "torch.nn.utils.stateless",
    "torch.nn.utils",
    "torch.nn",
    "torch.utils.checkpoint",
    "torch.utils.data",
    "torch.cuda.amp",
    "torch.cpu.amp",
    "torch.amp",
    "torch.cuda",
    "torch.autograd",
    "torch.linalg",
    "torch.library",
    "torch._dynamo.external_utils",
    "torch._dynamo",
    "torch._utils",
    "torch",
    "functorch",
)


def _members(home: str, names: Sequence[str]) -> list[str]:
    """What is used of a module."""
    return sorted({name[len(home) + 1 :].partition(".")[0] for name in names if _home(name) == home})


def _home(name: str) -> str:
    """The module that a dotted name is imported from."""
    return next(module for module in _MODULES if name.startswith(f"{module}."))


@dataclass(frozen=True)
class Program:
    """One program; `shape` is the fault in it, `name` tells the rest too."""

    name: str
    shape: str
    text: str
    ambient: str = ""
    """What is switched on around each of its calls, in place of one thing after the other."""
    cures: Sequence[str] = ()
    """How the exceptions begin that the fix may spare."""


@dataclass(frozen=True)
class Grid:
    """The programs of one rule.

    In a shape `{x}` is the operand, in parentheses where it needs them, and `{raw}` the operand as it is.
    """

    fixed: Mapping[str, str]
    """Faults by name that are fixed, at least on some operand at some place."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Faults, and what looks like one, that no safe fix may touch."""
    either: Mapping[str, str] = field(default_factory=dict)
    """Faults that a fix may leave alone, as with comments inside of them."""
    operands: Mapping[str, str] = field(default_factory=lambda: OPERANDS)
    places: Mapping[str, str] = field(default_factory=lambda: PLACES)
    hosts: Mapping[str, str] = field(default_factory=lambda: HOSTS)
    imports: Sequence[str] = IMPORTS
    modules: Sequence[str] = ()
    """Modules that a fix may write the name of: decoys import them where that helps nobody."""
    prelude: str = PRELUDE
    ambient: str = ""
    cures: Sequence[str] = ()
    """See `Program`."""

    def programs(self, most: int) -> Iterator[Program]:
        """Each fault at its plainest, and programs in which all pairs of all axes meet, or an even choice of them."""
        shapes = {**self.fixed, **self.refused, **self.either}
        decoys = DECOYS if self.modules else {"none": DECOYS["none"]}
        axes = [list(axis) for axis in (shapes, self.places, self.operands, self.hosts, self.imports, decoys)]
        rows = list(pairs(*map(len, axes)))
        seen: set[str] = set()
        plain = [(shape, *(0 for _ in axes[1:])) for shape in range(len(self.fixed))]
        for levels in (*plain, *rows[:: _step(len(rows), most)]):
            shape, place, operand, host, style, decoy = (axis[n] for axis, n in zip(axes, levels, strict=True))
            written = _written(shapes[shape], self.operands[operand])
            text = self._assembled(self.places[place].replace("{E}", written), self.hosts[host], decoys[decoy])
            if _is_python(text) and text not in seen:
                seen.add(text)
                name = f"{shape} / {operand} / {place} / {host} / {style} / {decoy}"
                yield Program(name, shape, imported(text, style), self.ambient, self.cures)

    def _assembled(self, body: str, host: str, decoy: tuple[str, str, str]) -> str:
        top, inside, below = (self._decoyed(part) for part in decoy)
        margin = next(line for line in host.splitlines() if line.strip() == "BODY").partition("BODY")[0]
        lines = "\n".join((body, inside) if inside else (body,)).replace("\n", f"\n{margin}")
        function = host.replace("BODY", lines).replace("TAKEN_AS_GIVEN", "x, y, c, box, xs")
        parts = (self.prelude, top, function.replace("GIVEN", GIVEN).replace("TAKEN", TAKEN), below)
        return "\n\n".join(part for part in parts if part)

    def _decoyed(self, part: str) -> str:
        """A decoy for each of the modules."""
        return "\n".join(_of_module(part, module) for module in self.modules) if part else ""


def _step(rows: int, most: int) -> int:
    """How far to go through the rows at a time: never a whole number of lines, which would keep one axis where it is."""
    step = max(1, rows // most)
    return step if step == 1 or rows % step else step + 1


def _of_module(part: str, module: str) -> str:
    home, _, name = module.rpartition(".")
    line = f"from {home} import {name}" if home else f"import {name}"
    return part.replace("IMPORT", line).replace("NAME", name)


def _written(shape: str, operand: str) -> str:
    tree = ast.parse(f"({operand})", mode="eval").body
    tight = operand.startswith("(") or isinstance(tree, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    return shape.replace("{raw}", operand).replace("{x}", operand if tight else f"({operand})")


def _is_python(text: str) -> bool:
    """An operand over several lines has no place in an f-string."""
    try:
        compile(text, "program", "exec")
    except SyntaxError:
        return False
    return True


def pairs(*sizes: int) -> Iterator[tuple[int, ...]]:
    """Rows of levels, one of each axis, in which any two levels of two axes meet: a line through each pair of points.

    Over a prime p no smaller than any axis, row (i, j) takes i + k * j of axis k, and two axes differ in two equations.
    """
    prime = next(n for n in count(max(*sizes, len(sizes))) if n > 1 and all(n % d for d in range(2, n)))
    for i, j in product(range(prime), repeat=2):
        yield tuple((i + k * j) % prime % size for k, size in enumerate(sizes))
