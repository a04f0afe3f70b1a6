"""What the note of a fix warns of is what the project does."""

from __future__ import annotations

import pytest

from torchlint.lint.run import lint
from torchlint.settings.config import Settings

CODES = frozenset(("TL503",))
CHECK = "import torch\ndef check(model: torch.nn.Module, loader):\n    model.eval()\n    for x in loader:\n        print((model(x).argmax(1) == 1).sum())\n"
ENCODER = "from torch import nn\nencoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2), 2)\n"


def notes(**files: str) -> list[str]:
    """The notes of what is offered for what is found in a file `a.py` of a project."""
    given = {f"{name}.py": code.encode() for name, code in files.items()}
    found = lint(given, Settings(CODES, CODES, preview=True)).findings
    return [one.fix.note for one in found if one.path == "a.py" and one.fix is not None]


@pytest.mark.parametrize(
    "other",
    [
        ENCODER,
        ENCODER + "encoder(x, mask=m)\n",
        "class TransformerEncoder:\n    pass\nTransformerEncoder()(x, src_key_padding_mask=m)\n",
        "layer(x, src_key_padding_mask=m)\n",
    ],
)
def test_no_padded_encoder_of_torch_takes_its_fast_path(other: str) -> None:
    (note,) = notes(a=CHECK, b=other)

    assert "fast path" not in note


@pytest.mark.parametrize(
    "other",
    [
        ENCODER + "encoder(x, src_key_padding_mask=m)\n",
        "import torch.nn as nn\nnn.Transformer(8, batch_first=True)(x, y, src_key_padding_mask=m)\n",
        "from torch.nn import Linear, TransformerEncoder\nTransformerEncoder(layer, 2)(x, src_key_padding_mask=m)\n",
    ],
)
def test_a_padded_encoder_of_torch_takes_its_fast_path(other: str) -> None:
    (note,) = notes(a=CHECK, b=other)

    assert note.endswith("takes its fast path, which gives zeros at places that are padded")
