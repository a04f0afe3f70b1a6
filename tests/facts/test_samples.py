"""What loops and comprehensions take out of batches, one by one."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from torchlint.facts import samples
from torchlint.rule.site import Site


def receiver(site: Site, method: str) -> ast.expr:
    func = site.flow.calls_named(method)[-1].func
    assert isinstance(func, ast.Attribute)
    return func.value


@pytest.mark.parametrize(
    ("expression", "field"),
    [
        ("[s.cuda() for s in batch]", False),
        ("[s[0].cuda() for s in batch]", False),
        ("[t['a'].cuda() for s in batch]", False),
        ("{k: v.cuda() for k, v in batch.items()}", False),
        ("[{k: v.cuda() for k, v in other.items()} for s in batch]", False),
        ("[s['a'].cuda() for s in made]", False),
        ("[s['a'].cuda() for s in batch]", True),
        ("[{k: v.cuda() for k, v in s.items()} for s in batch]", True),
    ],
)
def test_fields_of_samples(site_of: Callable[[str], Site], expression: str, field: bool) -> None:
    site = site_of(f"def f(batch, other, t):\n    made = [g(x) for x in other]\n    {expression}\n")

    assert samples.is_field_of_each(site, receiver(site, "cuda")) is field


@pytest.mark.parametrize(
    ("expression", "rows"),
    [
        ("[y.cuda() for x in xs]", None),
        ("[x.cuda() for y in ys for x in y]", None),
        ("[x.a.cuda() for x in xs]", None),
        ("[x.cuda() for x in xs]", "xs"),
        ("list(x.cuda() for x in xs[2:n])", "xs[2:n]"),
    ],
)
def test_elements_of_a_comprehension(site_of: Callable[[str], Site], expression: str, rows: str | None) -> None:
    site = site_of(f"def f(xs, ys, y, n):\n    {expression}\n")

    found = samples.each_of(site, receiver(site, "cuda"))

    assert (ast.unparse(found) if found is not None else None) == rows


@pytest.mark.parametrize(
    ("loop", "rows"),
    [
        ("for x in xs:\n        x = g(x)\n        x.cpu()", None),
        ("for x in xs:\n        y.cpu()", None),
        ("for i in range(3):\n        xs[i].cpu()", None),
        ("for i in range(n):\n        xs = g(i)\n        xs[i].cpu()", None),
        ("for i in range(n):\n        xs[j].cpu()", None),
        ("for i in range(n):\n        if i > 2:\n            xs[i].cpu()", None),
        ("for x in xs:\n        x.cpu()", "xs"),
        ("for i, x in enumerate(xs):\n        x.cpu()", "xs"),
        ("for i in range(n):\n        xs[i].cpu()", "xs"),
        ("for i, y in enumerate(ys):\n        xs[i].cpu()", "xs"),
        ("[x.cpu() for x in xs]", "xs"),
    ],
)
def test_rows_of_a_tensor(site_of: Callable[[str], Site], loop: str, rows: str | None) -> None:
    site = site_of(f"def f(xs, ys, y, j, n):\n    {loop}\n    0\n")
    place = site.at(site.function, site.flow.calls_named("cpu")[-1])

    found = samples.rows_of(place, receiver(site, "cpu"))

    assert (ast.unparse(found) if found is not None else None) == rows


@pytest.mark.parametrize(
    ("loops", "part"),
    [
        ("for x in loader:\n        x.cuda()", False),
        ("for x in loader:\n        for y in ys:\n            y.cuda()", False),
        ("for a, b in loader:\n        for x in a:\n            b.cuda()", False),
        ("for a, b in loader:\n        for x in a:\n            x.cuda()", True),
        ("for batch in loader:\n        for x, y in batch:\n            y.cuda()", True),
    ],
)
def test_samples_of_a_batch(site_of: Callable[[str], Site], loops: str, part: bool) -> None:
    site = site_of(f"def f(data, ys):\n    loader = DataLoader(data)\n    {loops}\n    0\n")
    place = site.at(site.function, site.flow.calls_named("cuda")[-1])

    assert samples.is_part_of_sample(place, receiver(site, "cuda")) is part
