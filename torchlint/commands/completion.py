"""`torchlint generate-shell-completion`: a script that lets the Tab key complete commands and options."""

from __future__ import annotations

import argparse

from torchlint.system.failure import Failure

from . import terminal

_SHELLS = ("bash", "zsh", "fish", "tcsh")
_FILES = ("PATH", "FILE", "ENTRY", "PATH|KEY=VALUE")
"""The placeholders that stand for names of files."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "generate-shell-completion",
        help="write a script for shell completion",
        description="Write a script for shell completion to standard output.",
        epilog='To use it in bash, write into ~/.bashrc: eval "$(torchlint generate-shell-completion bash)"',
        allow_abbrev=False,
    )
    parser.add_argument("shell", metavar="SHELL", choices=_SHELLS, help=f"one of {', '.join(_SHELLS)}")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    if args.shell == "fish":
        terminal.out(_fish(args.parser))
        return 0
    try:
        import shtab
    except ImportError:
        from torchlint.system import install

        raise Failure(f"shtab is not installed; it comes with: {install.command('completion', 'shtab')}") from None
    _complete_files(args.parser, shtab.FILE)
    terminal.out(shtab.complete(args.parser, args.shell) + "\n")
    return 0


def _complete_files(parser: argparse.ArgumentParser, files: object) -> None:
    """Let file names complete where an option or argument takes one."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in set(action.choices.values()):
                _complete_files(command, files)
        elif action.metavar in _FILES:
            action.complete = files  # type: ignore[attr-defined]


def _fish(parser: argparse.ArgumentParser) -> str:
    """The script for fish, which shtab does not write (https://fishshell.com/docs/current/completions.html)."""
    (commands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    helps = {action.dest: action.help or "" for action in commands._choices_actions}
    lines = ["complete -c torchlint -f"]
    for name, command in commands.choices.items():
        lines.append(f"complete -c torchlint -n __fish_use_subcommand -a {name} -d {_quoted(helps.get(name, ''))}")
        inside = f"complete -c torchlint -n {_quoted(f'__fish_seen_subcommand_from {name}')}"
        for action in command._actions:
            if not action.option_strings:
                if action.metavar in _FILES:
                    lines.append(f"{inside} -F")
                continue
            short = [f"-s {one[1:]}" for one in action.option_strings if not one.startswith("--")]
            long = [f"-l {one[2:]}" for one in action.option_strings if one.startswith("--")]
            words = [inside, *short, *long]
            if action.nargs != 0:
                words.append("-r")
                if action.choices:
                    words.append(f"-a {_quoted(' '.join(map(str, action.choices)))}")
                elif action.metavar in _FILES:
                    words.append("-F")
            if action.help and action.help != argparse.SUPPRESS:
                words.append(f"-d {_quoted(action.help)}")
            lines.append(" ".join(words))
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
