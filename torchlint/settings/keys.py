"""The table of settings: of each key what it may hold, what it is if nobody says, and what it is for.

Reading a configuration file, `torchlint config`, docs/settings.md and docs/torchlint.schema.json all come from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from ..torch_api.version import Range
from .select import suggestion

FORMATS = (
    "full", "concise", "grouped", "json", "json-lines", "github", "gitlab", "sarif", "rdjson", "rdjsonl", "junit", "azure",
    "pylint", "html",
)  # fmt: skip
BUDGETS = ("syncs", "h2d", "d2h", "bytes", "memory", "breaks", "recompiles", "kernels", "operators", "traffic")
ACCELERATORS = ("cuda", "rocm", "xpu", "mps", "hpu", "npu", "xla", "cpu")
EXCLUDE = (
    ".bzr", ".direnv", ".eggs", ".git", ".git-rewrite", ".hg", ".ipynb_checkpoints", ".mypy_cache", ".nox", ".pants.d",
    ".pyenv", ".pytest_cache", ".pytype", ".ruff_cache", ".svn", ".torchlint_cache", ".tox", ".venv", ".vscode", "__pycache__",
    "__pypackages__", "_build", "buck-out", "build", "dist", "node_modules", "site-packages", "venv",
)  # fmt: skip
LEVELS = ("info", "warning", "error")
"""Severities, the mildest first."""


class Key:
    """One setting.

    `kind` is what it may hold, a key of `KINDS`; `default` what it is if nobody says, as TOML; `example` the line of a
    configuration file. `choices` are the words that a text, the items of a list or the names in a table may be;
    `selects` says that it, its items or its names are selectors of rules. `mistakes` finds what else is wrong with a value.
    """

    __slots__ = ("about", "choices", "default", "example", "kind", "mistakes", "selects")

    def __init__(
        self,
        kind: str,
        default: str,
        about: str,
        example: str,
        *,
        choices: tuple[str, ...] = (),
        selects: bool = False,
        mistakes: Callable[[Any], Sequence[str]] | None = None,
    ) -> None:
        self.kind = kind
        self.default = default
        self.about = about
        self.example = example
        self.choices = choices
        self.selects = selects
        self.mistakes = mistakes


def wrong(name: str, value: object) -> list[str]:
    """What is wrong with the value of a key."""
    key = KEYS[name]
    what, is_one = KINDS[key.kind]
    if not is_one(value):
        return [f"`{name}` must be {what}, not {type_name(value)}"]
    found = [*key.mistakes(value)] if key.mistakes is not None else []
    if key.choices and key.kind != "levels":
        found += _not_among(name, [value] if isinstance(value, str) else value, key.choices)  # type: ignore[arg-type]
    return found


def type_name(value: object) -> str:
    """What TOML calls a value like this."""
    names = {
        bool: "a boolean",
        str: "a string",
        int: "an integer",
        float: "a number",
        list: "a list with other things in it",
        dict: "a table",
    }
    return names.get(type(value), type(value).__name__)


def _is_strings(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value)


def _is_table(value: object) -> bool:
    return isinstance(value, Mapping) and all(map(_is_strings, value.values()))


def _is_levels(value: object) -> bool:
    return isinstance(value, Mapping) and all(level in ("off", *LEVELS) for level in value.values())


def _is_numbers(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(v, int | float | str) for v in value.values())


KINDS: dict[str, tuple[str, Callable[[object], bool]]] = {
    "list": ("a list of strings", _is_strings),
    "bool": ("true or false", lambda value: isinstance(value, bool)),
    "text": ("a string", lambda value: isinstance(value, str)),
    "table": ("a table of lists of strings", _is_table),
    "numbers": ("a table of numbers", _is_numbers),
    "levels": (f"a table of rules and one of off, {', '.join(LEVELS)} for each", _is_levels),
}
"""What a key may hold, in words, and whether a value is that."""


def _not_among(name: str, values: Iterable[str], known: Sequence[str]) -> list[str]:
    unknown = (value for value in values if value not in known)
    return [f"`{name}` can't be `{v}`{suggestion(v, known) or '; it can be ' + ', '.join(known)}" for v in unknown]


def _bad_rule_url(value: str) -> list[str]:
    if "{name}" in value or "{code}" in value:
        return []
    return [f"`rule-url` can't be `{value}`: `{{name}}` or `{{code}}` must stand where a rule's name or code goes"]


def _bad_target(value: str) -> list[str]:
    try:
        Range.stated(value or "nothing")
    except ValueError as error:
        return [f"`target-torch` can't be used: {error}"]
    return []


def _bad_compiled(value: Iterable[str]) -> list[str]:
    odd = (item for item in value if not re.fullmatch(r"[\w.*]+:[\w.*]+", item))
    return [f"`compiled` can't be `{item}`; it looks like `package.module:Class.method`" for item in odd]


def _bad_plugins(value: Iterable[str]) -> list[str]:
    odd = (item for item in value if not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*", item))
    return [f"`plugins` can't be `{item}`; it names packages, such as `my_rules`" for item in odd]


def _bad_path(name: str, value: str) -> list[str]:
    return [f"`{name}` can't hold a null character"] if "\0" in value else []


_EXCLUDED = "[" + ", ".join(f'"{name}"' for name in EXCLUDE) + "]"
KEYS: dict[str, Key] = {
    "select": Key(
        "list", "the rules of the default set",
        "The rules to use: codes, starts of codes, names, categories such as `sync` or `memory`, or `ALL`. Of two selectors "
        "that speak of a rule the longer one counts.",
        'select = ["TL1", "memory"]', selects=True,
    ),
    "ignore": Key("list", "[]", "Rules to leave out.", 'ignore = ["TL702"]', selects=True),
    "extend-select": Key(
        "list", "[]", "Rules to use beside the selected ones, or beside the default set.", 'extend-select = ["TL712"]',
        selects=True,
    ),
    "preview": Key("bool", "false", "Whether to use rules that are still being tried out.", "preview = true"),
    "severity": Key(
        "levels", "{}",
        "The severity that rules have in place of their own, or `off`; of two selectors the longer one counts.",
        'severity = { TL903 = "error", data = "info", TL408 = "off" }', choices=("off", *LEVELS), selects=True,
    ),
    "fail-level": Key(
        "text", '"info"', "The mildest severity that makes a run exit with 1; what is milder is shown all the same.",
        'fail-level = "warning"', choices=LEVELS,
    ),
    "per-file-ignores": Key(
        "table", "{}",
        "Rules to leave out in some files. A pattern is held against a file's name and its path below the configuration "
        "file; `!` in front turns it round.",
        'per-file-ignores = { "tests/*" = ["TL1"] }', selects=True,
    ),
    "extend-per-file-ignores": Key(
        "table", "{}", "The same, beside what a file that this one extends says.",
        'extend-per-file-ignores = { "tools/*" = ["ALL"] }', selects=True,
    ),
    "exclude": Key(
        "list", _EXCLUDED, "What not to look at: names, or patterns as in a .gitignore below the configuration file.",
        'exclude = ["build", "legacy/*.py"]',
    ),
    "extend-exclude": Key("list", "[]", "What not to look at beside these.", 'extend-exclude = ["third_party"]'),
    "respect-gitignore": Key("bool", "true", "Whether to leave out what git ignores.", "respect-gitignore = false"),
    "force-exclude": Key(
        "bool", "false", "Whether to exclude files even if they are named on the command line, as pre-commit does.",
        "force-exclude = true",
    ),
    "target-torch": Key(
        "text", "what the project's own files require", "The torch that the code runs with: a version or a range.",
        'target-torch = ">=2.4,<2.9"', mistakes=_bad_target,
    ),
    "compiled": Key(
        "list", "[]", "Functions that are compiled by code that torchlint does not see; `*` stands for any name.",
        'compiled = ["model.net:Net.forward"]', mistakes=_bad_compiled,
    ),
    "accelerators": Key(
        "list", "[]", "The devices that the code runs on, instead of what it mentions.", 'accelerators = ["cuda"]',
        choices=ACCELERATORS,
    ),
    "fixable": Key("list", "all rules", "The rules whose fixes may be applied.", 'fixable = ["TL5"]', selects=True),
    "extend-fixable": Key(
        "list", "[]", "Rules whose fixes may be applied beside those.", 'extend-fixable = ["TL405"]', selects=True
    ),
    "unfixable": Key("list", "[]", "Rules whose fixes may not be applied.", 'unfixable = ["TL702"]', selects=True),
    "fix": Key("bool", "false", "Whether `torchlint check` applies the safe fixes, as with `--fix`.", "fix = true"),
    "unsafe-fixes": Key("bool", "false", "Whether fixes may be unsafe ones.", "unsafe-fixes = true"),
    "fix-only": Key("bool", "false", "Whether to apply fixes and say nothing of what is left.", "fix-only = true"),
    "show-fixes": Key("bool", "false", "Whether to list what was fixed.", "show-fixes = true"),
    "output-format": Key(
        "text", '"full"', "The format of the report.", 'output-format = "concise"', choices=FORMATS
    ),
    "rule-url": Key(
        "text", "the pages in the repository that the installed torchlint names",
        "Where the page of a rule is, with `{name}` or `{code}` in it, for links in terminals, editors and reports.",
        'rule-url = "https://docs.example.org/rules/{name}/"', mistakes=_bad_rule_url,
    ),
    "budget": Key(
        "numbers", "{}", "What a traced run may do at most, a step; `torchlint trace` fails beyond it.",
        'budget = { syncs = 1, breaks = 0, memory = "2 GiB" }', choices=BUDGETS,
    ),
    "cache-dir": Key(
        "text", '".torchlint_cache" in the project\'s directory', "Where the cache is.", 'cache-dir = "~/.cache/torchlint"',
        mistakes=partial(_bad_path, "cache-dir"),
    ),
    "plugins": Key(
        "list", "[]",
        "Packages of rules of your own. They are code, and loaded only with `--allow-plugins`; what names their rules is "
        "left out without it.",
        'plugins = ["my_rules"]', mistakes=_bad_plugins,
    ),
    "extend": Key(
        "text", "none", "Another configuration file that this one builds on; what this one says goes before.",
        'extend = "../torchlint.toml"', mistakes=partial(_bad_path, "extend"),
    ),
}  # fmt: skip
"""The settings by name, in the order in which they are told."""
