"""`torchlint dev test`: for people who write rules of their own."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from torchlint.system.failure import Failure

from . import terminal

if TYPE_CHECKING:
    from torchlint.rule import Rule

_DESCRIPTION = """\
Run the examples on the pages of a package's rules: the docstring of NAME, and the edge cases in CASES/NAME.md.

Each ```python fence is linted with its rule alone. It must fire on the lines that are marked with its code, and on no
other; an ```output, ```fixed or ```safe fence behind it says what is told, and what fixes make of it.
The package is imported: it is your code.
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "dev",
        help="test rules of your own",
        usage="torchlint dev test [--cases DIR] PACKAGE ...",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("action", choices=("test",), help="run the examples on the pages of rules")
    parser.add_argument("packages", metavar="PACKAGE", nargs="+", help="a package of rules, such as my_rules")
    parser.add_argument("--cases", metavar="DIR", default="tests/rules", help="edge cases (default: tests/rules)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from torchlint.fix.examples import examples, mistakes
    from torchlint.report import plural
    from torchlint.rule import HOMES
    from torchlint.rule.plugins import plug

    rules = [rule for rule in plug(args.packages) if HOMES.get(rule.code) in args.packages]
    ran = failed = 0
    for rule in rules:
        page = Path(args.cases, f"{rule.name.replace('-', '_')}.md")
        texts = {"doc": rule.doc, "case": _text(page)}
        found = [example for where, text in texts.items() for example in examples(rule, text, where)]
        for example in found:
            ran += 1
            told = list(mistakes(example))
            failed += bool(told)
            for one in told:
                terminal.out(f"{example.name}: {one.rstrip()}\n")
        for one in _missing(rule, [example.code for example in found]):
            failed += 1
            terminal.out(f"{rule.name}: {one}\n")
    terminal.out(f"{plural(len(rules), 'rule')}, {plural(ran, 'example')}, {failed or 'none'} failed\n")
    return int(failed > 0)


def _missing(rule: Rule, codes: list[str]) -> list[str]:
    """What every page needs."""
    told = [] if rule.summary else ["it has no docstring, which is its page"]
    text = "\n".join(codes)
    if rule.code not in text:
        told.append(f"no example is marked with `# {rule.code}`")
    if "# ok" not in text:
        told.append(
            "no example is marked with `# ok`: a line that a search for the name would find, and the rule must not"
        )
    return told


def _text(page: Path) -> str:
    try:
        return page.read_text("utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"{page}: {getattr(error, 'strerror', None) or error}") from None
