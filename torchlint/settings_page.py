"""What the table of settings gives to read: docs/settings.md, and docs/torchlint.schema.json for editors."""

from __future__ import annotations

import json
from typing import Any

from .rule import Rule, load
from .settings.keys import KEYS, KINDS, LEVELS, Key

_HEAD = """\
# Settings

Made by `python -m torchlint.docs docs` from the table in `torchlint/settings/keys.py`; `torchlint config KEY` shows one of them.

They stand in `torchlint.toml`, `.torchlint.toml` or the table `[tool.torchlint]` of `pyproject.toml`; each file is linted with the closest one at or above it ([more](usage.md#configuration)).
The same names can be given on the command line as `--config 'KEY = VALUE'`, and sent by [editors](editors.md#settings).

"""
_SCHEMA = "http://json-schema.org/draft-07/schema#"


def page() -> str:
    """The page of all settings in Markdown."""
    return _HEAD + "\n".join(f"## `{name}`\n\n{entry(name)}" for name in KEYS) + "\n" + _options()


def entry(name: str) -> str:
    """What there is to say of one setting."""
    key = KEYS[name]
    what = f"It is {KINDS[key.kind][0]}; if nobody says, {_default(key)}."
    choices = f"\nIt can be {', '.join(f'`{word}`' for word in key.choices)}.\n" if key.choices else ""
    return f"{key.about}\n\n{what}\n{choices}\n```toml\n{key.example}\n```\n"


def _default(key: Key) -> str:
    is_toml = key.default[:1] in '"[{' or key.default in ("true", "false")
    return f"`{key.default}`" if is_toml and not key.default.endswith("directory") else key.default


def _options() -> str:
    rows = "".join(
        f"| `[{rule.name}]` | {rule.code} | `{name}` | {what} |\n"
        for rule in load().values()
        for name, what in rule.options.items()
    )
    head = "## Options of rules\n\nEach rule that has some is a table of its own, by its name or code.\n\n"
    return f"{head}| Table | Rule | Key | If true |\n|---|---|---|---|\n{rows}"


def schema() -> dict[str, Any]:
    """The JSON schema of a `torchlint.toml`, and of the table in pyproject.toml."""
    rules = load().values()
    return {
        "$schema": _SCHEMA,
        "title": "torchlint",
        "description": "Settings of torchlint: torchlint.toml, .torchlint.toml, or [tool.torchlint] in pyproject.toml.",
        "type": "object",
        "additionalProperties": False,
        "definitions": {"selector": _selector()},
        "properties": {
            **{name: {"description": key.about, **_type(key)} for name, key in KEYS.items()},
            **{name: _table_of(rule) for rule in rules if rule.options for name in (rule.name, rule.code)},
        },
    }


def schema_text() -> str:
    return json.dumps(schema(), indent=2) + "\n"


def _selector() -> dict[str, Any]:
    """A selector of torchlint's own rules, which editors complete, or one of rules that a plugin brings."""
    rules = load().values()
    starts = {rule.code[:length] for rule in rules for length in range(2, len(rule.code) + 1)}
    words = ["ALL", *sorted({rule.category for rule in rules}), *sorted(starts), *(rule.name for rule in rules)]
    return {"anyOf": [{"enum": words}, {"type": "string", "pattern": "^(?!TL)[A-Z]+[0-9]*$|^[a-z0-9]+(-[a-z0-9]+)*$"}]}


def _type(key: Key) -> dict[str, Any]:
    """What the value of a key may be."""
    text: dict[str, Any] = {"type": "string"}
    item = {"$ref": "#/definitions/selector"} if key.selects else {"enum": list(key.choices)} if key.choices else text
    kinds: dict[str, dict[str, Any]] = {
        "bool": {"type": "boolean"},
        "text": item,
        "list": {"type": "array", "items": item},
        "table": {"type": "object", "additionalProperties": {"type": "array", "items": item}},
        "levels": {"type": "object", "propertyNames": item, "additionalProperties": {"enum": ["off", *LEVELS]}},
        "numbers": {"type": "object", "propertyNames": item, "additionalProperties": {"type": ["number", "string"]}},
    }
    return kinds[key.kind]


def _table_of(rule: Rule) -> dict[str, Any]:
    return {
        "description": f"Options of {rule.code} ({rule.name}).",
        "type": "object",
        "additionalProperties": False,
        "properties": {name: {"type": "boolean", "description": what} for name, what in rule.options.items()},
    }
