"""The command line: finds the subcommand, runs it, and turns what goes wrong into an exit code."""

from __future__ import annotations

import gc
import os
import sys

from .cache.replay import replay
from .system import state, streams
from .system.failure import Failure

TYPE_CHECKING = False  # importing typing costs more than printing again what was printed before
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import NoReturn

COMMANDS = tuple(
    """check baseline bench certificate clean compare completion config dev doctor calibrate review rule linter
    optimize server trace version""".split()
)
"""The modules of torchlint.commands."""
_BARE = ("--add-noqa", "--add-ignore")
"""Options that take a value only behind `=`: the next word is a path."""


def main(argv: Sequence[str] | None = None, *, is_program: bool = False) -> int:
    """Run torchlint. 0: nothing was found, 1: something was, 2: the work could not be done, 128 and more: a signal ended it."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    streams.prepare()
    try:
        if state.unfinished():
            from .system import atomic

            atomic.sweep()
        if any(argument.startswith("@") for argument in arguments):
            arguments = _expanded(arguments)
        if arguments[:1] == ["check"] and (again := replay(arguments)) is not None:
            return again
        if is_program:
            from .system import signals

            signals.catch()
        args = _parse(arguments)
        from .system.stack import with_frames

        code: int = with_frames(lambda: args.run(args))
    except Failure as failure:
        return _failed(str(failure))
    except OSError as error:
        return _failed(_reason(error))
    except MemoryError:
        return _out_of_memory()
    except KeyboardInterrupt:
        streams.say("torchlint was interrupted")
        return 130
    except Exception:  # noqa: BLE001 - a crash must not look like findings, which Python's own exit code 1 would
        try:
            return _crashed()
        except MemoryError:  # of which Python itself may make a SystemError at first
            return _out_of_memory()
    return code


def _expanded(arguments: Sequence[str]) -> list[str]:
    """The arguments with the lines of FILE in place of each `@FILE`; what follows `--` is a program's own."""
    own = arguments.index("--") if "--" in arguments else len(arguments)
    found: list[str] = []
    for argument in arguments[:own]:
        if not argument.startswith("@") or os.path.exists(argument):
            found.append(argument)
            continue
        try:
            with open(argument[1:], encoding="utf-8") as file:
                found += [line for line in file.read().splitlines() if line.strip()]
        except (OSError, UnicodeDecodeError) as error:
            raise Failure(f"{argument[1:]}: {getattr(error, 'strerror', None) or error}") from None
    return [*found, *arguments[own:]]


def _crashed() -> int:
    import traceback

    from .system.printable import several_lines

    streams.say(several_lines(traceback.format_exc().rstrip()))
    streams.say("torchlint crashed: this is a bug in torchlint, please report it with the lines above")
    return 2


def _out_of_memory() -> int:
    streams.say("torchlint failed\n  Cause: there is not enough memory")  # nothing is imported for it
    return 2


def _failed(cause: str) -> int:
    from .system.printable import several_lines

    streams.say(f"torchlint failed\n  Cause: {several_lines(cause)}")
    return 2


def _reason(error: OSError) -> str:
    """What the system refused, and of what."""
    try:
        os.getcwd()
    except OSError:
        return "the working directory is not there any more"
    name = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
    return f"{name}{error.strerror or error}"


def entry() -> NoReturn:
    """Run torchlint as a program, and end the process."""
    once = sys.argv[1:2] in (["check"], ["fix"]) and not {"-w", "--watch"}.intersection(sys.argv)
    if once:
        gc.disable()  # what a run builds lives to its end: collecting would only look at it again and again
    code = streams.finish(main(is_program=True))
    if once:
        _end(code)
    sys.exit(code)


def _end(code: int) -> None:
    """End the process without taking a million objects apart, if nobody is left who would mind."""
    threading = sys.modules.get("threading")
    if threading is not None and threading.active_count() > 1:
        return
    import atexit

    atexit._run_exitfuncs()  # what others, such as coverage, have to do at the end
    os._exit(streams.finish(code))


def _parse(arguments: list[str]) -> argparse.Namespace:
    import argparse
    import importlib

    parser = argparse.ArgumentParser(
        prog="torchlint",
        description="Finds what makes PyTorch code slow, proves it with a traced run, and fixes it.",
        epilog="`torchlint COMMAND --help` tells more of a command.",
        allow_abbrev=False,
    )
    parser.set_defaults(parser=parser, arguments=arguments)
    parser.add_argument("-V", "--version", action="store_true", help="show the version")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:2], "--help"]
    word = next((argument for argument in arguments if not argument.startswith("-")), None)
    is_check = arguments[:1] in (["check"], ["fix"])  # what people wait for; the others take time to import
    for name in ("check",) if is_check else COMMANDS:
        importlib.import_module(f".commands.{name}", __package__).add(commands)
    if word is not None and word not in commands.choices:
        print(_unknown(word, list(commands.choices)), file=sys.stderr)
        raise SystemExit(2)
    if word is None and {"-V", "--version"}.intersection(arguments):
        return parser.parse_args(["version"])
    end = arguments.index("--") if "--" in arguments else len(arguments)
    own, others = arguments[:end], arguments[end:]
    for one in own:
        if one.startswith("--") and one.endswith("=--"):  # which argparse takes for nothing at all
            raise Failure(f"`{one}`: `--` is no value")
    args, rest = parser.parse_known_args([*(f"{one}=" if one in _BARE else one for one in own), *others])
    if args.command is None:
        parser.print_help(sys.stderr)
        raise SystemExit(2)
    _take(args, rest, commands.choices[args.command])
    return args


def _take(args: argparse.Namespace, rest: list[str], parser: argparse.ArgumentParser) -> None:
    """Add the paths that stand behind options, where argparse no longer looks for them; anything else is unknown."""
    from .settings.select import suggestion

    unknown = [word for word in rest if word.startswith("-") and word not in ("-", "--")]
    if unknown or (rest and "paths" not in args):
        word = (unknown or rest)[0]
        option = word.partition("=")[0]
        tip = suggestion(option, parser._option_string_actions) if option.startswith("-") else ""
        parser.error(f"unrecognized argument: {word}{tip}")
    if rest:
        default = parser.get_default("paths")
        args.paths = [*(args.paths if args.paths is not default else ()), *(word for word in rest if word != "--")]


def _unknown(word: str, commands: list[str]) -> str:
    from .settings.select import suggestion

    looks_like_path = os.path.exists(word) or os.sep in word or word.endswith(".py")
    tip = f"; to lint it, type `torchlint check {word}`" if looks_like_path else suggestion(word, commands)
    return f"error: unrecognized subcommand '{word}'{tip}\n\nUsage: torchlint COMMAND ...\n\nFor more information, try '--help'."
