"""Begin a rule: `python scripts/new_rule.py NAME --family TL1 --category sync --shape '$x.item()'`.

Writes `rules/NAME.py`, a rule that finds everything of that shape under the family's next free code; `tests/rules/NAME.md`, its
cases; a line in CHANGELOG.md; and the generated pages. All of it passes the tests as it is, and waits for the rule's words,
facts and hard cases.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from torchlint import docs
from torchlint.lint.dispatch import searchable
from torchlint.pattern.words import trigger
from torchlint.rule import load

ROOT = Path(__file__).parents[1]
_RULE = '''\
from __future__ import annotations

from collections.abc import Iterator

from torchlint.rule import Finding, Site, rule


@rule(
    "{code}",
    shape="{shape}",
    scope="{scope}",
    set="preview",
    impact="medium",
    category="{category}",
)
def {module}(site: Site) -> Iterator[Finding]:
    """`{shown}` is called, in one sentence that says what is wrong.

    ## What it does

    Finds calls of `{shown}`.

    ## Why is this slow?

    What the host, the device or the compiler does there, and how much that is.

    ## When it does not matter

    Where the same code does no harm: these places are left alone, or tell why they can't be.

    ## Bad

    ```python
    {example}  # {code}
    ```

    ## Good

    ```python
    other = 1  # ok
    ```

    ## References

    - https://docs.pytorch.org/docs/stable/index.html
    """
    yield site.finding(f"`{{site.short()}}` is called")
'''
_CASES = """\
# Cases of {name}

What a search for the name would find, and the rule must not.

```python
import torch
text = "{example}"  # ok
# {example} in a comment
other = text.replace("{example}", "")  # ok
def mine(): return text  # ok
```

What it must find.

```python
{example}  # {code}
```

```output
1:1 warning `{example}` is called
```
"""


def next_code(family: str, taken: set[str]) -> str:
    """The first free code of a family: of TL1, TL114 where TL113 is the last."""
    last = max((int(code[3:]) for code in taken if code.startswith(family)), default=0)
    return f"{family}{last + 1:02d}"


def main() -> int:
    rules = load()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="the fault, with hyphens: item-in-hot-loop")
    parser.add_argument("--family", choices=sorted(docs.FAMILIES), required=True, help="the beginning of its code")
    parser.add_argument("--category", choices=sorted({rule.category for rule in rules.values()}), required=True)
    parser.add_argument(
        "--shape", required=True, help="the shape of the fault, as `torchlint.pattern` explains: '$x.item(...)'"
    )
    parser.add_argument("--scope", choices=("any", "hot", "compiled"), default="any", help="(default: any)")
    args = parser.parse_args()
    module = args.name.replace("-", "_")
    if not re.fullmatch(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+", args.name) or (ROOT / "rules" / f"{module}.py").exists():
        parser.error(f"{args.name} is taken, or no name of lower-case words with hyphens")
    word = trigger(args.shape)
    if args.scope == "any" and not searchable(word):
        parser.error(f"the shape has no name to look for ({word}): it needs --scope hot or compiled")
    code = next_code(args.family, set(rules))
    example = re.sub(r"\$\w+", "value", args.shape).replace("...", "")
    words = {"name": args.name, "module": module, "code": code, "shape": args.shape, "scope": args.scope}
    words |= {"category": args.category, "shown": word.removeprefix("."), "example": example}
    (ROOT / "rules" / f"{module}.py").write_text(_RULE.format(**words), "utf-8")
    (ROOT / "tests" / "rules" / f"{module}.md").write_text(_CASES.format(**words), "utf-8")
    changelog = ROOT / "CHANGELOG.md"
    text = changelog.read_text("utf-8")
    changelog.write_text(text.replace("### Added\n\n", f"### Added\n\n- {code} {args.name} (preview).\n", 1), "utf-8")
    load.cache_clear()
    docs.write(ROOT / "docs")
    print(f"{code} {args.name}: rules/{module}.py, tests/rules/{module}.md, CHANGELOG.md and the pages are written.")
    print(f"Name {code} in docs/coverage.md where it serves a principle, then: pytest -k '{module} or {code}'")
    return 0


if __name__ == "__main__":
    sys.exit(main())
