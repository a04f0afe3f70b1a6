"""Where `validate_args` stands among the positional arguments of torch's distributions."""

from __future__ import annotations

_OTHERS = {
    1: "Chi2 Dirichlet Exponential HalfCauchy HalfNormal Poisson",
    3: "Binomial ContinuousBernoulli LowRankMultivariateNormal Multinomial NegativeBinomial RelaxedBernoulli "
    "RelaxedOneHotCategorical StudentT",
    4: "MultivariateNormal Wishart",
}
_BY_NAME = {name: position for position, names in _OTHERS.items() for name in names.split()}


def validated_at(name: str) -> int:
    """The position of `validate_args` in the constructor of a distribution; most have two parameters before it."""
    return _BY_NAME.get(name, 2)
