from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts import frequency
from torchlint.facts.distributions import validated_at
from torchlint.facts.nodes import given_to, is_constant
from torchlint.facts.sending import goes_to_device
from torchlint.facts.syntax import called
from torchlint.rule import Finding, Site, plain, rule
from torchlint.torch_api.version import Range

# The classes that check their parameters, by the module that defines them.
_MODULES = {
    "bernoulli": "Bernoulli",
    "beta": "Beta",
    "binomial": "Binomial",
    "categorical": "Categorical",
    "cauchy": "Cauchy",
    "chi2": "Chi2",
    "continuous_bernoulli": "ContinuousBernoulli",
    "dirichlet": "Dirichlet",
    "exponential": "Exponential",
    "fishersnedecor": "FisherSnedecor",
    "gamma": "Gamma",
    "geometric": "Geometric",
    "gumbel": "Gumbel",
    "half_cauchy": "HalfCauchy",
    "half_normal": "HalfNormal",
    "inverse_gamma": "InverseGamma",
    "kumaraswamy": "Kumaraswamy",
    "laplace": "Laplace",
    "log_normal": "LogNormal",
    "logistic_normal": "LogisticNormal",
    "lowrank_multivariate_normal": "LowRankMultivariateNormal",
    "multinomial": "Multinomial",
    "multivariate_normal": "MultivariateNormal",
    "negative_binomial": "NegativeBinomial",
    "normal": "Normal",
    "one_hot_categorical": "OneHotCategorical OneHotCategoricalStraightThrough",
    "pareto": "Pareto",
    "poisson": "Poisson",
    "relaxed_bernoulli": "RelaxedBernoulli",
    "relaxed_categorical": "RelaxedOneHotCategorical",
    "studentT": "StudentT",
    "uniform": "Uniform",
    "von_mises": "VonMises",
    "weibull": "Weibull",
    "wishart": "Wishart",
}
_ON = {
    f"torch.distributions.{path}{name}()"
    for module, names in _MODULES.items()
    for name in names.split()
    for path in ("", f"{module}.")
}
_BY_DEFAULT = Range(low=(1, 8))
"""Where arguments are checked unless told otherwise: https://github.com/pytorch/pytorch/releases/tag/v1.8.0"""
_SWITCHED_OFF = rb"set_default_validate_args\(\s*(?:value\s*=\s*)?False"


@rule(
    "TL110",
    shape=plain(*_ON),
    severity="info",
    fix="unsafe",
    numbers="exact",
    impact="medium",
    category="sync",
    principle=("async",),
    confirmed_by=("sync",),
)
def distribution_validates_args(site: Site) -> Iterator[Finding]:
    """A distribution that is built on every step checks its parameters on the host.

    ## What it does

    Finds constructors of `torch.distributions` classes without `validate_args`, in step loops, in what they call,
    in evaluation and generation loops and in `forward`, unless the project calls
    `Distribution.set_default_validate_args(False)`.

    ## Why is this slow?

    The constructor checks each parameter (`torch._is_all_true(constraint.check(value))`) and branches on the result
    in Python: the host waits for the device once for each parameter of each distribution. `log_prob` checks its
    argument too.

    ## When it does not matter

    While a model is being developed, the check is worth its price. Distributions of numbers or of tensors in host
    memory, those that are built once, and programs run with `python -O` check nothing on the device.

    ## Bad

    ```python
    for states, actions in loader:
        policy = torch.distributions.Categorical(logits=model(states.to(device)))  # TL110
        loss = -policy.log_prob(actions.to(device)).mean()
        loss.backward()
        optimizer.step()
    ```

    ## Good

    ```python
    for states, actions in loader:
        policy = torch.distributions.Categorical(logits=model(states.to(device)), validate_args=False)  # ok
        loss = -policy.log_prob(actions.to(device)).mean()
        loss.backward()
        optimizer.step()
    ```

    ## Fix safety

    The fix adds `validate_args=False`. It is unsafe, since parameters and values outside their domain (a negative
    scale, a NaN) are then no longer refused. Nothing is offered where a handler around the place, or around a call
    that leads there, waits for the refusal.

    ## References

    - <https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.distribution.Distribution.set_default_validate_args>
    """
    if site.spread or _is_decided(site) or not site.accelerator or site.in_compiled or not _validates(site):
        return
    given = [site.value(node) for node in given_to(site.call)]
    if all(value.on_cpu for value in given):
        return
    if site.hot is None and site.warm is None and (site.rare or not frequency.in_forward(site)):
        return
    if site.analysis.context.switched_on(_SWITCHED_OFF):
        return
    if not any(value.kind == "tensor" for value in given) and _is_sent(site):
        return
    name = site.name.removesuffix("()").rpartition(".")[2]
    message = f"`{name}(...)` checks its parameters, and the host waits for the device to know the result"
    yield site.finding(message, related=site.why_hot())


def _is_sent(site: Site) -> bool:
    """Whether what is drawn is sent to the device, there or by its name: it is drawn on the host, of numbers."""
    statement, flow = site.statement, site.flow
    if not isinstance(statement, ast.Assign):
        return False
    names = [target.id for target in statement.targets if isinstance(target, ast.Name)]
    read = [load for name in names for load in flow.loads.get(name, ()) if load.lineno > statement.lineno]
    around = (*(parent for _, parent in flow.upwards(site.call)), *(flow.parents[load] for load in read))
    methods = [one for one in around if isinstance(one, ast.Attribute) and one.attr in ("to", "cuda")]
    moves = [call for method in methods if (call := called(flow, method)) is not None]
    return any(goes_to_device(site, move) for move in moves)


def _validates(site: Site) -> bool:
    """Whether a torch that the project is for checks by default."""
    return site.torch is None or site.torch.intersects(_BY_DEFAULT)


def _is_decided(site: Site) -> bool:
    """Whether the call says True or False, by name or by position."""
    given = site.argument("validate_args", validated_at(site.name.removesuffix("()").rpartition(".")[2]))
    return given is not None and not is_constant(given, None)
