from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.rule import Finding, Site, rule
from torchlint.rule.lazy import regex

_TRAINS = regex(
    rb"\.backward\(|optim\b|[Oo]ptimizer|Trainer\b|\.train\(|\.eval\(|training_step|fabric|set_training_mode|bn_update|update_bn"
)
_MODAL = regex(rb"Dropout|BatchNorm|dropout|batch_norm|DropPath|InstanceNorm")


@rule(
    "TLD01",
    shape="$x.load_state_dict(...)",
    set="preview",
    severity="info",
    fix="unsafe",
    numbers="changed",
    torch=">=1.9",
    category="deployment",
)
def inference_mode_missing(site: Site) -> Iterator[Finding]:
    """Weights are loaded for inference, and the model stays in training mode.

    ## What it does

    Finds `model.load_state_dict(...)` in a function that then calls the model, in a file that neither trains nor ever calls
    `eval()` or `train()`.
    The catalogue's second half, to replace `no_grad` by `inference_mode`, is left out: under `torch.compile` the two cost
    the same, and `inference_mode` changes what may be done with the results.

    ## Why is this slow?

    In training mode dropout draws random numbers for each activation and batch norm computes and stores statistics of each
    batch. The outputs are noisy, and the kernels are not those that inference would run.

    ## When it does not matter

    For a model without dropout and batch norm; where the project's class for it has neither, nothing is reported. Monte
    Carlo dropout and recalibration of batch norm want training mode. Models of `from_pretrained` are in evaluation mode.

    ## Bad

    ```python
    def predict(x):
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.1))
        model.load_state_dict(torch.load("model.pt"))  # TLD01
        return model(x)
    ```

    ## Good

    ```python
    def predict(x):
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.1))
        model.load_state_dict(torch.load("model.pt"))  # ok
        model.eval()
        return model(x)
    ```

    ## Fix safety

    `model.eval()` is put behind the load. It is unsafe, since the outputs change: that is what it is for.

    ## References

    - <https://docs.pytorch.org/docs/stable/notes/autograd.html#evaluation-mode-nn-module-eval>
    - <https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html>
    """
    if site.role == "test" or site.source.holds(_TRAINS):
        return
    receiver = site.call.func.value if isinstance(site.call.func, ast.Attribute) else None
    if (
        not isinstance(receiver, ast.Name)
        or site.receiver.kind != "module"
        or not isinstance(site.statement, ast.Expr | ast.Assign)
    ):
        return
    klass = site.receiver.class_
    if klass is not None and not klass.module.source.holds(_MODAL):
        return
    used = [
        load for load in site.flow.loads.get(receiver.id, ()) if load.lineno > site.call.lineno and _runs(site, load)
    ]
    if used:
        yield site.finding(
            f"`{receiver.id}` is run in training mode: dropout and batch norm do what they do in training"
        )


def _runs(site: Site, load: ast.Name) -> bool:
    parent = site.flow.parents.get(load)
    if isinstance(parent, ast.Call):
        return parent.func is load
    return isinstance(parent, ast.Attribute) and parent.attr in ("forward", "generate", "predict")
