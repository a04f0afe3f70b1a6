"""The table of operators, put together from what torch declares, what was measured, and what is mended by hand."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import declared
import torch  # noqa: TID251
from declared import Row

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TABLE = Path(__file__).parents[2] / "torchlint" / "torch_api" / "operators.json"
NAMES = TABLE.with_name("dynamic.py")
MENDED = Path(__file__).with_name("mended.toml")
COLUMNS = ("returns", "when", "scalar", "dtype", "device", "dynamic", "waits", "alias", "saves", "called", "params")
_BELOW = "torch.ops."
"""The names of operators below Python."""
DEFAULTS = {"returns": "tensor", "waits": False, "dynamic": False}


def entries() -> list[dict[str, Any]]:
    """What is written by hand, with the reasons."""
    mend: list[dict[str, Any]] = tomllib.loads(MENDED.read_text(encoding="utf-8"))["mend"]
    return mend


def mended() -> dict[str, Row]:
    """What is written by hand, by spelling."""
    rows: dict[str, Row] = {}
    for entry in entries():
        facts = {key: value for key, value in entry.items() if key not in ("names", "reason")}
        assert facts.keys() <= set(COLUMNS), f"{entry['names']}: no such column"
        for name in entry["names"].split():
            row = rows.setdefault(name, {})
            assert row.keys().isdisjoint(facts), f"{name} is mended twice"
            row.update(facts)
    return rows


def found_at(name: str) -> Any:
    """What a dotted name stands for; None where this torch has no such name."""
    owner: Any = torch
    for part in name.split(".")[1:]:
        owner = getattr(owner, part, None)
    return owner


def said(only: Collection[str] | None = None) -> dict[str, Row]:
    """What torch says of each spelling: declared, and measured where it was seen; measured are `only` some, if given."""
    by_hand = {name: {"params": row.get("params", [])} for name, row in mended().items() if not name.startswith(_BELOW)}
    rows = {**by_hand, **declared.rows()}
    for name, columns in _measured(rows, only).items():
        rows[name] = {**columns, **rows[name]}
    return rows


def _measured(rows: dict[str, Row], only: Collection[str] | None) -> dict[str, Row]:
    """The columns of `measured.py`; what it did not see is taken from the same operator under another spelling."""
    _install({name: row for name, row in mended().items() if name.startswith(_BELOW)})
    import measured

    positions = {name: [next(iter(_names(one))) for one in row.get("params", ())] for name, row in rows.items()}
    asked = [name for name in rows if only is None or name in only]
    wanted = rows if only is None else {near for name in asked for near in _near(name)}
    seen = {name: measured.columns(one) for name, one in measured.observations(wanted, positions).items()}
    columns: dict[str, Row] = {}
    for name in asked:
        row, last = rows[name], name.rpartition(".")[2]
        if last == "forward":  # of a module
            continue
        near = _near(name)
        found: Row = dict(next((seen[one] for one in near if one in seen), {}))
        arguments = {one for parameter in row.get("params", ()) for one in _names(parameter)}
        if "reduction" in arguments:
            found["scalar"] = "!reduction=none"
        elif "dim" in arguments and row.get("returns") == "tensor" and measured.scalar(found_at(name)):
            found["scalar"] = "!dim="
        if last.endswith("_"):
            found.pop("dtype", None)
        columns[name] = found
    return columns


def _near(name: str) -> tuple[str, ...]:
    """Where an operator may have been seen: under its own name, and as the function of that name."""
    last = name.rpartition(".")[2]
    return name, f"torch.{last}", f"torch.nn.functional.{last}", f"torch.{last.rstrip('_')}"


def _names(parameter: str) -> list[str]:
    """`dim`, `other` of `dim: other|other: tensor`."""
    return [one.partition(":")[0] for one in parameter.split("|")]


def _install(rows: dict[str, Row]) -> None:
    """Let the virtual GPU read the operators below Python as they are mended now, not as the last table had them."""
    from torchlint.torch_api import operators

    operators._rows = lambda: rows
    operators.operator.cache_clear()


def plain_rows(only: Collection[str] | None = None) -> dict[str, Row]:
    """The row of each spelling; of `only` some, if given."""
    rows = said(only)
    for name, facts in mended().items():
        rows[name] = {**rows.get(name, {}), **facts}
    return {name: _plain(row) for name, row in rows.items() if only is None or name in only}


def made() -> dict[str, Any]:
    """The table; spellings of one name that share all facts share a row."""
    rows = plain_rows()
    shared: dict[str, tuple[str, list[str]]] = {}
    for name, row in rows.items():
        own = name if name.endswith(".forward") else name.rpartition(".")[2]
        key = f"{own} {json.dumps(row, sort_keys=True)}"
        shared.setdefault(key, (name, []))[1].append(name)
    operators = {}
    for name, names in sorted(shared.values()):
        operators[name] = {**({"also": names[1:]} if len(names) > 1 else {}), **rows[name]}
    return {"torch": torch.__version__.partition("+")[0], "operators": operators}


def _plain(row: Row) -> Row:
    """A row without what is the default, and with the arguments that its conditions ask for."""
    asked = json.dumps([row.get(name) for name in ("when", "scalar", "dynamic", "waits")])
    params: list[str] = row.get("params", [])
    needed = [at for at, one in enumerate(params) if any(re.search(rf"\b{name}\b", asked) for name in _names(one))]
    plain = {name: row[name] for name in COLUMNS if name in row and row[name] != DEFAULTS.get(name)}
    plain.pop("params", None)
    return {**plain, "params": params[: needed[-1] + 1]} if needed else plain


def written(table: dict[str, Any]) -> str:
    """The table as text, one row a line."""
    lines = [f'  "{name}": {json.dumps(row)}' for name, row in table["operators"].items()]
    return f'{{\n "torch": "{table["torch"]}",\n "operators": {{\n' + ",\n".join(lines) + "\n }\n}\n"


def names(table: dict[str, Any]) -> str:
    """The module of the names that a rule has to be shown: those whose shape depends on values."""
    rows = table["operators"].items()
    found = sorted({name for first, row in rows if row.get("dynamic") for name in (first, *row.get("also", ()))})
    lines = "\n".join(f"    {name}" for name in found)
    return f'''"""The operators whose shape depends on values; made by scripts/torch_api with the table, which loads later."""

from __future__ import annotations

DYNAMIC = frozenset(
    """
{lines}
    """.split()
)
'''


def by_spelling(table: dict[str, Any]) -> dict[str, Row]:
    """The rows of a table, one a spelling."""
    return {
        name: {key: value for key, value in row.items() if key != "also"}
        for first, row in table["operators"].items()
        for name in (first, *row.get("also", ()))
    }


def differences(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    """What the table says otherwise than torch."""
    for name in sorted(old["operators"].keys() | new["operators"].keys()):
        before, after = (table["operators"].get(name, "nothing") for table in (old, new))
        if before != after:
            yield f"{name} is {json.dumps(after)}, the table says {json.dumps(before)}"
