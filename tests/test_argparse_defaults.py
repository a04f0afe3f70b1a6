"""What options are when nobody gives them."""

from __future__ import annotations

import ast

import pytest

from torchlint.facts import fixed_options
from torchlint.facts.argparse_defaults import argparse_defaults, by_default, unchanging
from torchlint.facts.module import Module
from torchlint.program.project import Project
from torchlint.text.source import Source

HEAD = "import argparse\nparser = argparse.ArgumentParser()\n"


def defaults(code: str) -> dict[str, object]:
    return dict(argparse_defaults(Module(Source.of("train.py", (HEAD + code).encode()), "train", False)))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ('parser.add_argument("--fast", action="store_true")', {"fast": False}),
        ('parser.add_argument("--no-fast", action="store_false", dest="fast")', {"fast": True}),
        ('parser.add_argument("-w", "--num-workers", type=int, default=0)', {"num_workers": 0}),
        ('parser.add_argument("-w", default=4)', {"w": 4}),
        ('parser.add_argument("--path")', {"path": None}),
        ('parser.add_argument("--fast", action="store_true", default=True)', {"fast": True}),
        ('flags.DEFINE_bool("fast", True, "help")', {"fast": True}),
        ('flags.DEFINE_string(name="path", default=None, help="help")', {"path": None}),
    ],
)
def test_default_of_an_option(code: str, expected: dict[str, object]) -> None:
    assert expected == defaults(code)


def test_an_option_of_a_file_is_what_the_file_itself_says() -> None:
    none, four = (f'{HEAD}parser.add_argument("--workers", default={n})\n' for n in (0, 4))
    project = Project({"none.py": none.encode, "four.py": four.encode, "uses.py": b"print(1)".strip})
    told = {path: by_default(project, module, "workers") for path in project.paths if (module := project.module(path))}
    assert {"none.py": 0, "four.py": 4, "uses.py": None} == told


def test_an_option_is_found_by_what_it_is_called_in_the_program() -> None:
    added = f'{HEAD}parser.add_argument("--no-fast", "-n", dest="fast", action="store_false")\n'
    project = Project({"train.py": added.encode, "uses.py": b"print(1)".strip})
    module = project.module("uses.py")
    assert module is not None
    assert [True, None, None] == [by_default(project, module, name) for name in ("fast", "no_fast", "n")]


@pytest.mark.parametrize(
    "code",
    [
        'parser.add_argument("path")',  # has to be given
        'parser.add_argument("--size", default=side * side)',
        'parser.add_argument("--size", **options)',
        'parser.add_argument("--fast", action=argparse.BooleanOptionalAction)',
        'parser.add_argument("--fast", dest=name, default=1)',
        'parser.add_argument("--n", default=1)\nother.add_argument("--n", default=2)',
        'parser.add_arguments("--n", default=1)',
        'flags.DEFINE_integer("n", 2 * size, "help")',
        'flags.DEFINE_integer(name, 2, "help")',
        'flags.DEFINE_enum("how", "a", ["a", "b"], "help")',
        'flags.DEFINE_bool("fast", True, "help")\nflags.DEFINE_bool("fast", False, "help")',
        "",
    ],
)
def test_what_is_not_told_is_left_out(code: str) -> None:
    assert {} == defaults(code)


def test_options_added_in_a_function_and_read_once() -> None:
    module = Module(
        Source.of("train.py", b"def parse(parser):\n    parser.add_argument('--n', default=3)\n"), "train", False
    )

    assert {"n": 3} == argparse_defaults(module)
    assert argparse_defaults(module) is argparse_defaults(module)


# Switches that nobody can change

STUCK = 'parser.add_argument("--no-cuda", action="store_true", default=True)\nargs = parser.parse_args()\n'


def truth(code: str, test: str = "args.cuda") -> bool | None:
    module = Module(Source.of("train.py", (HEAD + code).encode()), "train", False)
    return fixed_options.truth(module, ast.parse(test, mode="eval").body)


@pytest.mark.parametrize(
    "code",
    [
        'parser.add_argument("--fast", action="store_true")',
        'parser.add_argument("--fast", action="store_true", default=False)',
        'parser.add_argument("--fast", action="store_false", default=True)',
        'parser.add_argument("--fast", action="store_true", default=FAST)',
        'parser.add_argument("--fast", default=True)',
        'parser.add_argument("--fast", action=argparse.BooleanOptionalAction, default=True)',
        'parser.add_argument("--fast", action="store_true", default=True)\nparser.set_defaults(**config)',
        (
            'parser.add_argument("--fast", action="store_true", default=True)\n'
            'parser.add_argument("--slow", action="store_false", dest="fast")'
        ),
    ],
)
def test_switches_that_can_be_changed(code: str) -> None:
    assert {} == unchanging(Module(Source.of("train.py", (HEAD + code).encode()), "train", False))


@pytest.mark.parametrize(
    ("code", "test", "expected"),
    [
        (STUCK, "args.no_cuda", True),
        (STUCK, "not args.no_cuda", False),
        (STUCK, "args.other", None),
        (STUCK, "no_cuda", None),
        (STUCK, "args.no_cuda and ready()", None),
        (STUCK, "args.no_cuda or ready()", True),
        (STUCK + "args.cuda = not args.no_cuda and torch.cuda.is_available()", "args.cuda", False),
        (STUCK + "args.cuda = not args.no_cuda\nargs.gpu = args.cuda", "args.gpu", False),
        # Written elsewhere too, or by what is not told.
        (STUCK + "args.cuda = not args.no_cuda\nargs.cuda = True", "args.cuda", None),
        (STUCK + "args.cuda = not args.no_cuda\ndef main():\n    args.cuda = True", "args.cuda", None),
        (STUCK + "args.no_cuda = ask()", "args.no_cuda", None),
        (STUCK + "args.cuda = torch.cuda.is_available()", "args.cuda", None),
        (STUCK + "args.cuda = args.cuda", "args.cuda", None),
        (STUCK.replace(", default=True", "") + "args.cuda = not args.no_cuda", "args.cuda", None),
    ],
)
def test_truth_of_a_condition_on_switches(code: str, test: str, expected: bool | None) -> None:
    assert truth(code, test) is expected
