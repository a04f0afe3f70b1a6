"""The cost of a file grows with its lines, whatever it has many of.

Each file grows 2, 4 and 8 times, and every line of torchlint's code is counted as it runs. A line that runs once for each
pair of things runs 4 times as often when things double; here none may come near that. Counts, unlike seconds, are the
same on every machine. What C code does inside one line is not seen: `python -m tests.bench.growing` times that.
"""

from __future__ import annotations

import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from torchlint.facts.flow import NEAREST
from torchlint.lint.run import Result, lint
from torchlint.program.texts import MAX_FILES
from torchlint.rule import load
from torchlint.settings.config import Settings

ROOT = Path(__file__).parents[1]
OURS = tuple(str(ROOT / folder) + "/" for folder in ("torchlint", "rules", "fixers"))
SMALLEST = 12
STEEP = 3.0
"""Between the 2 of linear and the 4 of quadratic growth."""

Files = dict[str, str]
Shape = Callable[[int], Files]
Lines = Counter[tuple[CodeType, int]]

HEAD = """\
import torch
from torch import nn

device = torch.device("cuda")
model = nn.Linear(4, 4).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = nn.CrossEntropyLoss()
"""
LOOP = """\
for images, labels in loader:
    optimizer.zero_grad()
    loss = criterion(model(images.to(device)), labels.to(device))
    loss.backward()
    optimizer.step()
"""
STEP = HEAD.count("\n") + 2 + LOOP.count("\n")
"""The lines before what `step` puts into the loop."""


def one(*parts: str) -> Files:
    return {"grown.py": "".join(parts)}


def indented(text: str, by: int = 4) -> str:
    return "".join(f"{' ' * by}{line}\n" for line in text.splitlines())


def step(body: Iterable[str]) -> Files:
    """A step loop in a function, with these lines in it."""
    start = "def train(loader, model, optimizer, criterion, device):\n    total = 0.0\n" + indented(LOOP)
    return one(HEAD, start, indented("\n".join(body), 8), "    print(total)\n")


def each(n: int, line: str) -> Iterator[str]:
    """The line for each number, `#` being the number."""
    return (line.replace("#", str(i)) for i in range(n))


def many(n: int, text: str) -> str:
    return "".join(each(n, text))


SHAPES: dict[str, Shape] = {
    # many statements in one function
    "statements": lambda n: step(each(n, "x# = #")),
    "tensors": lambda n: step(each(n, "x# = loss + #")),
    "rebindings": lambda n: step(["x = loss", *each(n, "x = x + #"), "total += x.item()"]),
    "semicolons": lambda n: step(["; ".join(each(n, "x# = loss.item()"))]),
    "subscripts": lambda n: step(each(n, "x[#] = loss; y# = x[#].item()")),
    "attributes": lambda n: one(
        HEAD,
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n",
        many(n, "        self.l# = nn.Linear(4, 4)\n"),
        "    def forward(self, x):\n",
        many(n, "        x = self.l#(x)\n"),
        "        return x\nmodel = torch.compile(Net().to(device))\n",
        LOOP,
    ),
    "ifs": lambda n: step(each(n, "if kind == #:\n    total += loss.item()")),
    "ifs that bind": lambda n: step([*each(n, "if kind == #:\n    x# = loss"), *each(n, "x#.item()")]),
    "flags": lambda n: step(
        ["f0 = use_amp", *(f"f{i + 1} = f{i} or f{i}" for i in range(n)), f"if f{n}:\n    loss.item()"]
    ),
    "flags that are used": lambda n: step(
        ["f0 = use_amp", *(f"f{i + 1} = f{i} or f{i}\nif f{i + 1}:\n    loss.item()" for i in range(n))]
    ),
    "an or of flags": lambda n: step(
        [*each(n, "f# = f# or use_amp"), "if " + " or ".join(each(n, "f#")) + ":\n    loss.item()"]
    ),
    "tries": lambda n: step(each(n, "try:\n    x = loss.item()\nexcept ValueError:\n    x = 0")),
    "contexts": lambda n: step(each(n, "with torch.no_grad():\n    x = loss.item()")),
    "clocks": lambda n: one(
        HEAD,
        "import time\ndef f(model, x):\n",
        many(n, "    t# = time.time()\n    model(x)\n    print(time.time() - t#)\n"),
    ),
    # many reads
    "reads": lambda n: step(each(n, "loss.item()")),
    "reads that are kept": lambda n: step(each(n, "x# = loss.item()")),
    "reads that feed each other": lambda n: step(["x0 = 0", *(f"x{i + 1} = f(x{i}, loss.item())" for i in range(n))]),
    "reads into one sum": lambda n: step(each(n, "total += loss.item()")),
    "reads in one list": lambda n: step(["x = [", *each(n, "    loss.item(),"), "]"]),
    "reads in one f-string": lambda n: step(["x = (", *each(n, "    f'{loss.item()}'"), ")"]),
    "reads in one `or`": lambda n: step([f"if {' or '.join(each(n, 'loss.item() > #'))}:", "    print(1)"]),
    "reads behind one `or`": lambda n: step([f"x = {' or '.join(each(n, 'y#'))} or loss.item()", "x.item()"]),
    "reads in one `and` of `or`": lambda n: step(
        [f"if {' and '.join(each(n, '(a# or loss.item() or b#)'))}:", "    x = loss.item()"]
    ),
    "reads in one comparison": lambda n: step([f"x = {' < '.join(each(n, 'loss.item()'))}"]),
    "reads in conditional expressions": lambda n: step(
        [f"x = {' '.join(each(n, 'loss.item() if a# else'))} loss.item()"]
    ),
    "flags of one `or`": lambda n: step(
        [*each(n, "f# = step % # == 0"), f"if {' or '.join(each(n, 'f#'))}:", "    loss.item()"]
    ),
    "names that stand for each other": lambda n: step(
        ["x0 = loss.item()", *(f"x{i + 1} = x{i} or x{i}" for i in range(n)), f"if x{n}:", "    loss.item()"]
    ),
    "reads in evaluation": lambda n: one(
        HEAD,
        "def test(model, loader):\n    model.eval()\n    with torch.no_grad():\n        for x in loader:\n",
        "            out = model(x.to(device))\n",
        many(n, "            total# = out.sum().item()\n"),
    ),
    "reads in one operation": lambda n: step(["x = " + " + ".join(each(n, "loss.item()"))]),
    "calls in a chain": lambda n: step(["x = loss" + ".abs()" * n, "x.item()"]),
    "copies": lambda n: step(each(n, "y# = x#.cuda(); z# = y#.cpu().numpy()")),
    "prints": lambda n: step(each(n, "print(loss)")),
    "lists that grow": lambda n: step(each(n, "losses#.append(loss)")),
    "allocations": lambda n: step(each(n, "a# = torch.zeros(4).cuda(); b# = torch.tensor([1.0], device=device)")),
    # many functions
    "functions": lambda n: one(HEAD, many(n, "def f#(x):\n    y = x.to(device)\n    return y.item()\n")),
    "functions that a step calls": lambda n: one(
        HEAD, many(n, "def f#(x):\n    return x.to(device).item()\n"), LOOP, many(n, "    f#(loss)\n")
    ),
    "functions that call each other": lambda n: one(
        HEAD,
        "def f0(x):\n    return x\n",
        *(f"def f{i + 1}(x):\n    y = f{i}(x)\n    return y.item()\n" for i in range(n)),
        LOOP,
        f"    f{n}(loss)\n",
    ),
    "functions of one name": lambda n: one(HEAD, "def f(x):\n    return x.cuda().item()\n" * n, LOOP, "    f(loss)\n"),
    "nested functions": lambda n: one(
        HEAD,
        "def main(loader):\n",
        many(n, "    def f#(x):\n        return x.to(device).item()\n"),
        indented(LOOP),
        many(n, "        f#(loss)\n"),
    ),
    "calls of one function": lambda n: one(
        HEAD, "def f(x):\n    return x.to(device).item()\n", LOOP, "    f(loss)\n" * n
    ),
    "compiled functions": lambda n: one(
        HEAD, many(n, "@torch.compile\ndef f#(x):\n    if x.sum() > 0:\n        print(x)\n    return x.item()\n")
    ),
    "functions that a compiled one calls": lambda n: one(
        HEAD,
        many(n, "def f#(x):\n    print(x)\n    return x.item()\n"),
        "@torch.compile\ndef main(x):\n",
        many(n, "    x = f#(x)\n"),
    ),
    "functions that look something up": lambda n: one(
        HEAD, many(n, "def f#(x, y):\n    g = getattr(x, 'a')\n    return g(y), x.item()\n")
    ),
    "kernels": lambda n: one(
        "import torch\nimport triton\nimport triton.language as tl\n",
        many(
            n,
            "@triton.jit\ndef k#(p, q, n, B: tl.constexpr):\n    i = tl.program_id(0) * B + tl.arange(0, B)\n"
            "    tl.store(q + i, tl.load(p + i))\ndef run#(x, y):\n    k#[(4,)](x, y, 4, B=16)\n",
        ),
    ),
    # many classes
    "classes": lambda n: one(
        HEAD,
        many(n, "class C#(nn.Module):\n    def forward(self, x):\n        return self.l(x).item()\n"),
        LOOP,
        many(n, "    C#()(loss)\n"),
    ),
    "classes of one name": lambda n: one(
        HEAD, "class C(nn.Module):\n    def forward(self, x):\n        return x.item()\n" * n, LOOP, "    C()(loss)\n"
    ),
    "methods": lambda n: one(
        HEAD,
        "class C:\n",
        many(n, "    def m#(self, x):\n        self.a# = x.to(device)\n        return self.a#.item()\n"),
        "c = C()\n",
        LOOP,
        many(n, "    c.m#(loss)\n"),
    ),
    "methods of one name": lambda n: one(
        HEAD, many(n, "class C#:\n    def run(self, x):\n        return x.item()\n"), LOOP, "    m.run(loss)\n"
    ),
    # many files
    "files": lambda n: {f"m{i}.py": HEAD + LOOP + "    total += loss.item()\n" for i in range(n)},
    "files in a ring": lambda n: {
        f"m{i}.py": f"import torch\nfrom m{(i + 1) % n} import f{(i + 1) % n}\n"
        f"def f{i}(x):\n    y = x.cuda()\n    return f{(i + 1) % n}(y).item()\n"
        for i in range(n)
    },
    "files that import one": lambda n: {
        "base.py": "import torch\ndef work(x):\n    return x.cuda()\n",
        **{f"m{i}.py": f"import torch\nfrom base import work\ndef f{i}(x):\n    work(x).item()\n" for i in range(n)},
    },
    "files that one imports": lambda n: {
        "train.py": HEAD + many(n, "from m# import f#\n") + LOOP + many(n, "    f#(loss)\n"),
        **{f"m{i}.py": f"import torch\ndef f{i}(x):\n    x.cuda().item()\n" for i in range(n)},
    },
    "reads of one name that a function gives back": lambda n: one(
        HEAD,
        LOOP,
        "    a = model(images)\n",
        many(n, "    a = a.cpu().numpy()\n"),
        "def f(a):\n",
        many(n, "    a = a.cpu()\n"),
        "    return a\n",
    ),
    # long blocks and literals
    "hooks of one function": lambda n: one(
        HEAD,
        *each(n, "def hook#(module, given, out):\n    print(out.mean().item())\n"),
        "@torch.no_grad()\ndef evaluate(model, loader):\n",
        *each(n, "    h# = model.l#.register_forward_hook(hook#)\n"),
        "    for x in loader:\n        model(x)\n",
        *each(n, "    h#.remove()\n"),
    ),
    "elifs": lambda n: step(["if kind == 0:\n    x = 0", *each(n, "elif kind == #:\n    x = loss.item()")]),
    "cases": lambda n: step(["match kind:", *each(n, "    case #:\n        x = loss.item()")]),
    "ways out of a loop": lambda n: step(each(n, "if kind == #:\n    x# = loss\n    break\nx#.item()")),
    "comprehensions that bind": lambda n: step(each(n, "[x# := loss for _ in y]; x#.item()")),
    "loops": lambda n: one(HEAD, (LOOP + "    total += loss.item()\n") * n),
    "loops in a function": lambda n: one(HEAD, "def train(loader):\n", indented(LOOP + "    loss.item()\n") * n),
    "inner loops": lambda n: step(each(n, "for p in ps#:\n    p.item()")),
    "evaluation loops": lambda n: one(
        HEAD,
        "def test(model, loader):\n    model.eval()\n    with torch.no_grad():\n",
        "        for x in loader:\n            out = model(x.to(device))\n            out.sum().item()\n" * n,
    ),
    "imports": lambda n: one(many(n, "import m#\n"), *step(["loss.item()"]).values()),
    "imported names": lambda n: one(
        "from m import (\n", many(n, "    f#,\n"), ")\n", *step(each(n, "f#(loss).item()")).values()
    ),
    "imports of one name": lambda n: one(many(n, "import torch\nx# = torch.cuda.amp.autocast()\n")),
    "imports of one name below": lambda n: one(
        "import torch\n", many(n, "x# = torch.cuda.amp.autocast()\n"), "import torch\n" * n
    ),
    "renamed imports": lambda n: one(many(n, "from torch.nn import DataParallel as D#\n"), many(n, "d# = D#(model)\n")),
    "imports in functions": lambda n: one(
        HEAD, many(n, "def f#(x):\n    import torch.nn as n#\n    return n#.DataParallel(x)\n")
    ),
    "a long list": lambda n: step(["x = [", *each(n, "    #, 'a',"), "]", "loss.item()"]),
    "a long dict": lambda n: step(["x = {", *each(n, "    'k#': [#],"), "}", "loss.item()"]),
    "a long string": lambda n: step(["x = '''", *each(n, "loss.item()"), "'''", "loss.item()"]),
    "a long model": lambda n: one(HEAD, "net = nn.Sequential(\n", "    nn.Linear(4, 4),\n" * n, ").cuda()\n", LOOP),
    "options": lambda n: one(
        "import argparse\np = argparse.ArgumentParser()\n",
        many(n, "p.add_argument('--o#', type=int, default=#)\n"),
        "args = p.parse_args()\n",
        *step(each(n, "if step % args.o# == 0:\n    loss.item()")).values(),
    ),
    # comments and findings
    "comments": lambda n: step([*each(n, "# loss.item() #"), "loss.item()"]),
    "suppressions": lambda n: step(each(n, "total += loss.item()  # noqa: TL101")),
    "unused suppressions": lambda n: step(each(n, "total += 1  # torchlint: ignore[TL101]")),
    "suppressions of the file": lambda n: one(
        "# torchlint: ignore-file[TL101]\n" * n, *step(each(n, "loss.item()")).values()
    ),
    "codes of one suppression": lambda n: step([f"loss.item()  # noqa: {', '.join(each(n, 'TLX#'))}"]),
    "findings": lambda n: one(HEAD, many(n, "m# = nn.DataParallel(model)\n")),
    "findings in one statement": lambda n: one("import torch\nx = [\n", "    torch.cuda.amp.autocast(),\n" * n, "]\n"),
    "moves in a chain": lambda n: step([f"y = x{'.to(device)' * n}.item()"]),
    "methods in a chain": lambda n: step([f"y = x{'.exp()' * n}.to(device)"]),
    "an operator on all before": lambda n: step([f"y = {' * '.join(each(n, 'x.to(device)'))}"]),
    "conditions in one statement": lambda n: one(
        HEAD,
        "class C(nn.Module):\n    def forward(self, x):\n        return [\n",
        many(n, "            x.exp() if x[#].any() else 0,\n"),
        "        ]\nnet = C().cuda()\n",
        LOOP,
    ),
    "scores that are scaled": lambda n: one(
        "import torch\ndef attend(q, k, v, r):\n    s = q @ k\n",
        many(n, "    r = r / q * (r / #)\n"),
        "    s = s / r\n    return s.softmax(-1) @ v\n",
    ),
    "names for runs of autograd": lambda n: one(
        "import torch\n",
        many(
            n,
            "class F#(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        return x * 2\nf# = F#.apply\n",
        ),
        "def run(x):\n",
        many(n, "    x = f#(x)\n"),
        "    return x\n",
    ),
    "loaders": lambda n: one(
        "import torch\nfrom torch.utils.data import DataLoader\n", many(n, "l# = DataLoader(d#, batch_size=4)\n")
    ),
}


@pytest.fixture(scope="module")
def settings() -> Settings:
    codes = frozenset(load())
    return Settings(codes=codes, fixable=codes, root=ROOT)


@pytest.mark.parametrize("name", SHAPES)
def test_no_line_runs_for_each_pair_of_things(name: str, settings: Settings) -> None:
    shape = SHAPES[name]
    linted(shape(SMALLEST), settings)  # what is made once in a process is made now

    # Arms further away than the `NEAREST` are passed over: four times as many are more than those, like eight times.
    # Callers in more than `MAX_FILES` are not looked for. Of long chains it is kept where they begin. Of many names that
    # are asked for a table is made.
    far = {
        "elifs": NEAREST // 3,
        "cases": NEAREST // 3,
        "files that import one": MAX_FILES,
        "moves in a chain": 50,
        "hooks of one function": 40,
    }
    smallest = far.get(name, SMALLEST)
    two, four, eight = (counted(shape(smallest * times), settings) for times in (2, 4, 8))

    assert {} == steep(two, four, eight)


def test_a_count_for_each_pair_is_steep() -> None:
    line = (steep.__code__, 1)

    pairs = [Counter({line: n * n // 2}) for n in (48, 96, 192)]
    things = [Counter({line: 40 * n + 9000}) for n in (48, 96, 192)]

    assert [(1152, 4608, 18432)] == list(steep(*pairs).values())
    assert {} == steep(*things)


def test_a_thousand_parentheses_are_one_syntax_error(settings: Settings) -> None:
    nested = one("x = ", "(" * 1000, "1", ")" * 1000, "\n", HEAD, LOOP, "    loss.item()\n")

    assert [("TL001", 1)] == found(nested, settings)


def test_ninety_blocks_lie_in_each_other(settings: Settings) -> None:
    nested = step([*(" " * depth + f"if a{depth}:" for depth in range(90)), " " * 90 + "loss.item()"])

    assert [("TL101", STEP + 90 + 1)] == found(nested, settings)


def test_a_chain_of_three_thousand_arms(settings: Settings) -> None:
    arms = step(["if kind == 0:\n    pass", *each(3000, "elif kind == #:\n    x = #"), "loss.item()"])

    assert [("TL101", STEP + 2 + 6000 + 1)] == found(arms, settings)


def test_a_megabyte_of_string_and_a_hundred_thousand_numbers(settings: Settings) -> None:
    text = one(
        HEAD, "x = '", "loss.item() " * 90_000, "'\n", "y = [", "10, " * 100_000, "]\n", LOOP, "    loss.item()\n"
    )

    assert [("TL101", HEAD.count("\n") + 2 + LOOP.count("\n") + 1)] == found(text, settings)


def test_a_dictionary_of_many_keys_is_not_kept_for_each_of_them(settings: Settings) -> None:
    keys = step(["d = {}", *each(3000, "d['k#'] = loss"), "d['k1'].item()"])
    linted(step(["pass"]), settings)

    tracemalloc.start()
    try:
        linted(keys, settings)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 50_000_000


def found(files: Files, settings: Settings) -> list[tuple[str, int]]:
    """The codes and lines of what is found."""
    return [(finding.code, finding.line) for finding in linted(files, settings).findings]


def linted(files: Files, settings: Settings) -> Result:
    result = lint({name: text.encode() for name, text in files.items()}, settings)
    assert () == result.errors
    return result


def counted(files: Files, settings: Settings) -> Lines:
    """How often each line of torchlint's code runs."""
    counts: dict[
        int, tuple[CodeType, int, list[int]]
    ] = {}  # by line from a first one on: half of all time is spent here
    inside_of: dict[int, Callable[..., Any] | None] = {}  # by id: the hash of a code is worked out anew each time
    codes: list[CodeType] = []  # so that no id is given twice

    def counting(code: CodeType) -> Callable[..., Any] | None:
        codes.append(code)
        if not code.co_filename.startswith(OURS):
            return None
        numbers = [number for _, _, number in code.co_lines() if number is not None]
        first = min(numbers)
        _, _, lines = counts[id(code)] = code, first, [0] * (max(numbers) - first + 1)

        def inside(frame: FrameType, event: str, argument: Any) -> Any:
            lines[frame.f_lineno - first] += 1
            return inside

        return inside

    def called(frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if id(code) not in inside_of:
            inside_of[id(code)] = counting(code)
        inside = inside_of[id(code)]
        return inside and inside(frame, event, argument)

    before = sys.gettrace()
    sys.settrace(called)
    try:
        linted(files, settings)
    finally:
        sys.settrace(before)
    return Counter(
        {(code, first + at): count for code, first, lines in counts.values() for at, count in enumerate(lines) if count}
    )


def steep(two: Lines, four: Lines, eight: Lines) -> Mapping[str, tuple[int, int, int]]:
    """The lines that run more than in proportion, with their counts."""
    return {
        f"{Path(code.co_filename).name}:{line}": (two[code, line], four[code, line], count)
        for (code, line), count in eight.items()
        if count > 8 * SMALLEST
        and count - four[code, line] > STEEP * max(four[code, line] - two[code, line], 2 * SMALLEST)
    }
