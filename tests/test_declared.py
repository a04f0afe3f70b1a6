"""What a text says that it makes, told without a tree."""

from __future__ import annotations

import pytest

from torchlint.text.declared import made_for, made_in
from torchlint.text.source import Source


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("net = Model(a, b=Part())", ["b Part", "net Model"]),
        ("self.net: nn.Module = models.Model()", ["net Model"]),
        ("run(x, net=Model())", ["net Model"]),
        ("a, b = f(x)", ["b f"]),
        ("net, ema = Model(), Average(0.9)", ["ema Average", "net Model"]),
        ("self.net, ema = models.Model(1, 'x,('), {'a': 1}  # c, D(", ["net Model"]),
        ("net, ema = Model(x=[1, 2]), None", ["net Model"]),
        ("a, b, c = A(), (B(), C()), D(1, (2, 3))", ["a A", "c D"]),
        ("net, ema = Model(\n    1), Average()", ["ema Model"]),  # where the line ends, nobody knows more
        ("run(a,\n    x, net=Model(), y)", ["net Model"]),
        ("if a, b == Model(): pass", []),
    ],
)
def test_what_names_are_given(text: str, made: list[str]) -> None:
    source = Source.of("a.py", text.encode())
    assert made == made_in(source)
    assert all(klass in made_for(source, name) for name, klass in map(str.split, made))
