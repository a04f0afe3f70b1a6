"""What things are likely to be by the names that people give them."""

from __future__ import annotations

import ast
import re

from ..system.regex import regex
from ..text.source import Words
from . import names

PACKS = Words(b"pack_padded_sequence", b"pack_sequence", b"PackedSequence")
"""What a file holds that has packed sequences."""

LIGHTNING_TRAINERS = ("lightning.Trainer", "lightning.pytorch.Trainer", "pytorch_lightning.Trainer")
TRAINING_ARGUMENTS = ("transformers.TrainingArguments", "transformers.Seq2SeqTrainingArguments")

# Names that people give to models and losses; what calling one gives is likely a tensor.
MODEL_NAME = regex(
    r"(?:^|_)(?:model|net|network|criterion|loss_?fn|loss_?func|loss_?function|generator|discriminator|denoiser|backbone|unet|vae"
    r"|transformer|critic|actor|policy|teacher|student|q_network|qf\d|classifier|encoder|decoder|ddp|lm|gpt|llm"
    r"|net[B-G]|mse_loss|ce_loss|l1_loss|[a-z]{3,12}(?<!inter)(?<!ether)(?<!sub)net|rnn|lstm|gru|mlp|cnn|vgg|bert)\d*(?:_model|_target)?$",
    re.IGNORECASE,
)
LOSS_NAME = regex(r"(?:^|_)(?:loss|losses|criterion|criterions|criteria|objective|objectives)\d*$", re.IGNORECASE)
LOADER_NAME = regex(
    r"(?:^|_)(?:data)?loaders?\d*$|(?:^|_)dataloaders?\d*(?:_|$)|(?:^|_)(?:train|val|valid|test|eval)_?(?:dl|loader|iter|iterator)$",
    re.IGNORECASE,
)
OPTIMIZER_NAME = regex(
    r"(?:^|_)(?:optim|optimizer|optimizers|opt)(?:\d{1,9}|_?[a-zA-Z]|_\w{1,99})?$|_(?:optim|optimizer|opt)$|^optimizer|optimizer$",
    re.IGNORECASE,
)
OPTIONS_NAME = regex(r"(?:^|_)(?:args?|opts?|options?|config|cfg|conf|hparams|settings|flags|kwargs)$")
ENVIRONMENT_NAME = regex(r"(?:^|_)(?:env|envs|robot)$")
EPSILON_NAME = regex(r"(?:^|_)(?:eps|epsilon)$", re.IGNORECASE)
DEVICE_NAME = regex(r"(?:^|_)(?:device|dev)$", re.IGNORECASE)
PINS_NAME = regex(r"pin|(?:^|_)(?:cuda|gpu)$", re.IGNORECASE)
"""Options that have loaders pin: `args.pin_mem`, and where there is an accelerator, `use_cuda`."""
_DEVICE_WORDS = ("device", "rank", "gpu", "cuda", "gpu_id", "local_rank")


def named_like_device(node: ast.expr) -> bool:
    """Whether people give such a name to a device: `self.device`, `local_rank`."""
    return names.last(node).lower().strip("_").endswith(_DEVICE_WORDS)
