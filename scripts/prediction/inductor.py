"""Adds to inductor.json: the kernels that Inductor generates for published models, and the bytes that they read and write.

    python scripts/prediction/inductor.py INDUCTOR.json MODEL:SIZE:BATCH ...

It needs timm, and neither a GPU nor memory for the models: a model's graph is traced on fake tensors of a GPU, under what
autocast does there, and Inductor lowers it for an sm_89. Its own count of a kernel's bytes is taken, library kernels apart.
"""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any
from unittest import mock

import timm
import torch
from record import HalfAutocast
from torch._inductor import compile_fx
from torch._inductor.decomposition import select_decomp_table
from torch._inductor.graph import GraphLowering
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional

from torchlint.trace.compiled import codegen, private
from torchlint.trace.eager.targets import properties

_TARGET = "sm_89"  # an RTX 4090


def _attention(query: Any, key: Any, value: Any, attn_mask: Any = None, *rest: Any, **options: Any) -> Any:
    if attn_mask is not None and attn_mask.dtype != torch.bool:
        attn_mask = attn_mask.half()
    return codegen._attention_as_on_cuda(query.half(), key.half(), value.half(), attn_mask, *rest, **options)


def _graph(name: str, size: int, batch: int) -> tuple[Any, int]:
    """The operators of a model's forward pass on fake tensors of a GPU, and how many of its inputs are the model's."""
    with torch.device("meta"):
        model = timm.create_model(name).eval()
    state = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    with torch.no_grad(), mock.patch.object(functional, "scaled_dot_product_attention", _attention):
        given = []
        for one in state.values():
            fake = torch.empty(one.shape, dtype=one.dtype, device="cuda")
            given.append(torch.nn.Parameter(fake) if isinstance(one, torch.nn.Parameter) else fake)
        images = torch.empty(batch, 3, size, size, device="cuda")

        def forward(given: Any, images: Any) -> Any:
            with HalfAutocast():
                return torch.func.functional_call(model, dict(zip(state, given, strict=True)), (images,))

        return make_fx(forward, decomposition_table=select_decomp_table())(given, images), len(given)


def kernels(name: str, size: int, batch: int) -> list[int]:
    """How many kernels Inductor generates for a batch, and the bytes of all of them."""
    found: list[int] = []

    def take(lowering: Any, code: object) -> Any:
        own = [node for node in lowering.scheduler.nodes if not node.is_extern()]
        found[:] = [len(own), sum(int(node.get_read_write_buffers_sizes()) for node in own)]
        lowering.cache_key, lowering.cache_path, lowering.cache_linemap = "none", __file__, []
        return types.SimpleNamespace(__file__=__file__, call=lambda *_: None, key="none")

    with FakeTensorMode(allow_non_fake_inputs=True):
        graph, state = _graph(name, size, batch)
        inputs = [node.meta["val"] for node in graph.graph.nodes if node.op == "placeholder"]
        lowered = mock.patch.object(GraphLowering, "_compile_to_module_lines", take)
        with private.inductor_for(properties(_TARGET)), lowered:
            compile_fx.compile_fx_inner(graph, inputs, is_inference=True, static_input_idxs=list(range(state)))
    return found


def main(path: str, models: list[str]) -> None:
    timm.layers.set_fused_attn(True)
    if not private.allow_cuda_fake_tensors():
        sys.exit("this torch build can't represent tensors on a CUDA device")
    file = Path(path)
    found = json.loads(file.read_text("utf-8"))["models"] if file.exists() else {}
    for model in models:
        name, size, batch = model.split(":")
        try:
            found[f"{name} {size} {batch}"] = kernels(name, int(size), int(batch))
        except Exception as error:  # noqa: BLE001 - one model of many
            print(model, type(error).__name__, str(error)[:120], file=sys.stderr)
    rows = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in sorted(found.items()))
    versions = f'"torch": "{torch.__version__}", "timm": "{timm.__version__}"'
    file.write_text(f'{{{versions}, "models": {{\n{rows}\n}}}}\n', "utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
