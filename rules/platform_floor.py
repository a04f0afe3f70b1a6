from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts.nodes import string
from torchlint.rule import Finding, Range, Site, rule
from torchlint.rule.lazy import regex

_REQUIREMENT = regex(r"torch\s*((?:[<>=!~]=?|===)[^;#]*)$")


@rule(
    "TL913",
    shape="setuptools.setup(..., python_requires=$python, install_requires=$requirements)",
    set="preview",
    severity="info",
    impact="low",
    category="migration",
)
def platform_floor(site: Site) -> Iterator[Finding]:
    """A package promises a Python that its torch does not run on.

    ## What it does

    Finds a `setup()` whose `python_requires` allows Python before 3.10 while its `install_requires` asks for torch 2.9 or
    later.
    The same promise in `pyproject.toml` is out of its sight: the linter reads Python files.

    ## Why is this slow?

    An installer on such a Python looks for a torch that is not there and stops, or falls back to a package of the project
    that is years old.

    ## When it does not matter

    Where the requirement has an environment marker for newer Pythons.

    ## Bad

    ```python
    from setuptools import setup

    setup(name="model", python_requires=">=3.8", install_requires=["torch>=2.9"])  # TL913
    ```

    ## Good

    ```python
    from setuptools import setup

    setup(name="model", python_requires=">=3.10", install_requires=["torch>=2.9"])  # ok
    ```

    ## References

    - https://pypi.org/project/torch/
    """
    python, requirements = site.part("python"), site.part("requirements")
    floor = _range(string(python) or "")
    if floor is None or floor.low >= (3, 10) or not isinstance(requirements, ast.List | ast.Tuple):
        return
    for item in requirements.elts:
        text = string(item) or ""
        match = _REQUIREMENT.match(text)
        torch = _range(match[1]) if match else None
        if torch is not None and torch.low >= (2, 9):
            yield site.finding(
                f"`python_requires={site.text(python)}` allows Python before 3.10, on which `{text}` does not install",
                at=python,
            )


def _range(text: str) -> Range | None:
    try:
        return Range.stated(text) if text else None
    except ValueError:
        return None
