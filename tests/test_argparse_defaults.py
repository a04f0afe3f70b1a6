"""What options are when nobody gives them."""

from __future__ import annotations

import pytest

from torchlint.facts.argparse_defaults import argparse_defaults
from torchlint.facts.module import Module
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
    ],
)
def test_default_of_an_option(code: str, expected: dict[str, object]) -> None:
    assert expected == defaults(code)


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
