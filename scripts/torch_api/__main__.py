"""Write torchlint/torch_api/operators.json, one row an operator, and dynamic.py from the installed torch and what is mended by hand.

    python scripts/torch_api          # write the table
    python scripts/torch_api --check  # say what differs from the table, exit with 1 if anything does

What torch declares comes first (`declared.py`), then what its operators were seen to do (`measured.py`). What these
don't say, or say wrongly, stands in mended.toml, each entry with its reason. docs/tables.md tells what the columns mean.
"""

from __future__ import annotations

import json
import sys

import table

if __name__ == "__main__":
    made = table.made()
    if "--check" in sys.argv:
        told = list(table.differences(json.loads(table.TABLE.read_text(encoding="utf-8")), made))
        if table.NAMES.read_text(encoding="utf-8") != table.names(made):
            told.append(f"{table.NAMES.name} does not fit the table")
        for line in told:
            print(line)
        sys.exit(bool(told))
    table.TABLE.write_text(table.written(made), encoding="utf-8")
    table.NAMES.write_text(table.names(made), encoding="utf-8")
