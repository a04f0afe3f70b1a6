"""The range of torch versions that a rule is true for, against the version that brought what the rule is about."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchlint import api
from torchlint.facts import api_table
from torchlint.rule import load
from torchlint.torch_api.version import Range, Version

RULES = load()
ANY = Range()
# The name or argument without which a rule has nothing to say, or nothing to advise.
BROUGHT = {
    "TL111": "torch.linalg.solve_ex(check_errors)",
    "TL210": "torch.compile",
    "TL211": "torch.compile",
    "TL212": "torch.compile",
    "TL213": "torch.cuda.graph",
    "TL303": "torch.compile",
    "TL601": "torch.set_float32_matmul_precision",
    "TL602": "torch.backends.cuda.matmul.fp32_precision",
    "TL604": "torch.cuda.amp.autocast",
    "TL605": "torch.cuda.amp.GradScaler",
    "TL606": "torch.cuda.amp.GradScaler",
    "TL610": "torch.linalg.solve",
    "TL701": "torch.nn.functional.scaled_dot_product_attention",
    "TL702": "torch.nn.functional.scaled_dot_product_attention",
    "TL703": "torch.nn.functional.scaled_dot_product_attention",
    "TL706": "torch.optim.SGD(foreach)",
    "TL712": "torch.compile",
    "TL804": "torch.distributed.fsdp.fully_shard",
    "TL805": "torch.distributed.fsdp.FullyShardedDataParallel(auto_wrap_policy)",
    "TL901": "torch.amp.custom_fwd",
    "TL905": "torch.backends.cudnn.conv.fp32_precision",
    "TL907": "torch.optim.Muon",
    "TL908": "torch.library.custom_op",
    "TL909": "torch.compiler.disable",
    "TLD01": "torch.inference_mode",
    "TLD05": "torch.compile",
    "TLM04": "torch.profiler.profile",
}
# What torch warns of since then.
WARNED = {
    "TL901": "torch.cuda.amp.autocast",
    "TL904": "torch.jit.script",
    "TL906": "torch.utils.checkpoint.checkpoint(!use_reentrant)",
}
# Which torch changed a default, an operator or a compiler, before the oldest torch measured, too: no name came with it.
BEHAVIOUR = {"TL302", "TL402", "TL501", "TL503", "TL705", "TL910", "TL911", "TL912", "TLD06", "TLK08"}


def low(code: str) -> Version:
    return RULES[code].torch.low


def agrees(code: str, first: Version) -> bool:
    """Whether the range begins with that version; before the oldest torch measured any begin will do."""
    return low(code) == first if first != api_table.ALWAYS else low(code) <= api_table.measured()[0]


@pytest.mark.parametrize("code", BROUGHT)
def test_a_rule_begins_with_what_it_is_about(code: str) -> None:
    assert agrees(code, api_table.there(BROUGHT[code])), api_table.states(BROUGHT[code])


@pytest.mark.parametrize("code", WARNED)
def test_a_rule_begins_with_the_warning(code: str) -> None:
    since = api_table.warns(WARNED[code], ANY)

    assert since is not None and agrees(code, since), api_table.states(WARNED[code])


def test_every_rule_with_a_range_is_held_against_something() -> None:
    ranged = {code for code, rule in RULES.items() if rule.torch != ANY}

    assert ranged == {*BROUGHT, *WARNED, *BEHAVIOUR}


def test_gradients_are_set_to_none_by_default_from_2_0_on() -> None:
    states = api_table.states("torch.optim.Optimizer.zero_grad(set_to_none=)")

    assert {(1, 11): "= False", (2, 0): "= True"} == states


def test_onnx_goes_through_export_by_default_from_2_9_on() -> None:
    assert "= True" == api_table.states("torch.onnx.export(dynamo=)")[low("TL912")]


@pytest.mark.parametrize(
    ("optimizer", "first"), [("Adam", (1, 13)), ("AdamW", (2, 0)), ("SGD", (2, 3)), ("Adagrad", (2, 4))]
)
def test_the_first_fused_optimizers(optimizer: str, first: Version) -> None:
    assert first == api_table.there(f"torch.optim.{optimizer}(fused)")


@pytest.mark.parametrize("optimizer", ["ASGD", "Adadelta", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop"])
def test_the_others_have_no_fused_kernel(optimizer: str) -> None:
    assert api_table.NEVER == api_table.there(f"torch.optim.{optimizer}(fused)")


@pytest.mark.parametrize(("stated", "lines"), [("", []), ("torch>=1.8\n", []), ("torch>=2.1\n", [3])])
def test_a_fused_adam_is_asked_of_who_states_a_torch_that_has_it(tmp_path: Path, stated: str, lines: list[int]) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "requirements.txt").write_text(stated)
    (tmp_path / "train.py").write_text(
        "import torch\n\noptimizer = torch.optim.Adam(model.cuda().parameters(), lr=1e-3)\n"
    )
    found = api.check([tmp_path / "train.py"], isolated=True, select=["TL706"], preview=True).findings
    assert lines == [one.line for one in found]


@pytest.mark.parametrize(
    ("stated", "found"),
    [("1.8.2", []), ("1.11.0", ["TL604"]), ("1.12.1", ["TL601", "TL604"])],
)
def test_nobody_is_told_to_call_what_the_stated_torch_lacks(tmp_path: Path, stated: str, found: list[str]) -> None:
    """`torch.set_float32_matmul_precision` came with 1.12, which turned TF32 off for products, and `torch.autocast` with 1.10."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "requirements.txt").write_text(f"torch=={stated}\n")
    (tmp_path / "train.py").write_text(
        "import torch\n\nmodel = torch.nn.Linear(3, 3).cuda()\noptimizer = torch.optim.SGD(model.parameters())\n"
        'if __name__ == "__main__":\n    for x in loader:\n        model(x.cuda()).sum().backward()\n        optimizer.step()\n'
    )
    result = api.check([tmp_path / "train.py"], isolated=True, select=["TL601", "TL604"])
    assert found == [one.code for one in result.findings]


@pytest.mark.parametrize(
    ("demand", "lines"),
    [
        ("assert torch.cuda.is_available()", [5]),
        ("assert torch.__version__.split('.')[0] == '1'", [5]),
        ("assert torch.__version__ >= '1.10'", [5]),
        ("assert torch.__version__.split('.')[0] == '0'", []),
    ],
)
def test_a_file_that_refuses_the_torch_of_its_project(tmp_path: Path, demand: str, lines: list[int]) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "requirements.txt").write_text("torch==1.13.1\n")
    (tmp_path / "convert.py").write_text(f"import torch\n\n{demand}\n\nlayer = torch.nn.Softmax()\n")
    found = api.check([tmp_path / "convert.py"], isolated=True, select=["TL903"]).findings
    assert lines == [one.line for one in found]
