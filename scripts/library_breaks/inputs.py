"""Inputs that a model takes, by the names of its parameters."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch  # noqa: TID251 - this is a program that runs models, not a part of the linter
from shared import FIRST_SPECIAL, ROWS, VOCABULARY, WORDS, Inputs

PARTS = {
    "vision": ("vision_config", "image_config", "vit_config", "backbone_config", "vision_tower_config", "vq_config"),
    "audio": ("audio_config", "audio_encoder_config", "speech_config", "encoder_config", "audio_encoder", "encoder"),
}


@dataclass
class Builder:
    """Makes a model's inputs from the names of its forward's parameters."""

    model: Any
    mode: str
    # Of images and sounds: plain, many (in a row), video, (rows of) patches; of a sound's codes: codes, decoder codes,
    # decoder rows.
    form: str = "plain"
    without: tuple[str, ...] = ()  # optional parameters that are not given
    wide: bool = False  # whether every parameter known here is given
    tokens: dict[str, int] = field(default_factory=dict)  # how many image, video, audio tokens a row has
    length: int = 0  # of a spectrogram; 0 where the configuration says it
    codes: int = 0  # of a moment of sound; likewise
    numbers: int = 0  # of a frame of sound; 0 where the configuration says it

    @property
    def config(self) -> Any:
        """The model's configuration."""
        return self.model.config

    @property
    def text(self) -> Any:
        """The configuration of the part that reads text."""
        try:
            return self.config.get_text_config(decoder=False)
        except Exception:  # noqa: BLE001 - a model's own, of any kind
            return self.config

    def part(self, kind: str) -> Any:
        """The configuration of the part that sees or hears; the whole one where there is no such part."""
        for owner in (self.config, getattr(self.config, "thinker_config", None)):
            for name in PARTS[kind]:
                if getattr(owner, name, None) is not None:
                    return getattr(owner, name)
        return self.config

    def setting(self, owner: Any, *names: str, default: Any) -> Any:
        """The first of a configuration's settings that it has."""
        return next((getattr(owner, name) for name in names if getattr(owner, name, None) is not None), default)

    def side(self) -> tuple[int, int]:
        """An image's height and width."""
        size = self.setting(self.part("vision"), "image_size", "img_size", "input_size", default=None)
        if size is None:
            size = self.setting(self.config, "image_size", default=64)
        if isinstance(size, dict):
            return int(size.get("height", 64)), int(size.get("width", 64))
        if isinstance(size, (list, tuple)):
            return int(size[0]), int(size[-1])
        return int(size), int(size)

    def channels(self) -> int:
        """How many channels an image has."""
        return int(self.setting(self.part("vision"), "num_channels", "in_channels", "in_chans", "channels", default=3))

    def patch(self) -> int:
        """A patch's side."""
        size = self.setting(self.part("vision"), "patch_size", "spatial_patch_size", default=16)
        return int(size[0] if isinstance(size, (list, tuple)) else size)

    def depth(self) -> int:
        """How many frames a patch spans."""
        return int(self.setting(self.part("vision"), "temporal_patch_size", default=1))

    def text_length(self) -> int:
        """How many tokens a row has, with those of images and sounds."""
        return WORDS + sum(self.tokens.values())

    def words(self, length: int | None = None) -> torch.Tensor:
        """Random text."""
        most = min(int(self.setting(self.text, "vocab_size", default=VOCABULARY)), FIRST_SPECIAL)
        return torch.randint(min(5, most - 1), most, (ROWS, length or WORDS))

    def input_ids(self) -> torch.Tensor:
        """Random text, with the tokens that stand for images and sounds."""
        ids, place = self.words(self.text_length()), 1
        for kind in ("image", "audio", "video"):
            ids[torch.eq(ids, self.token(kind) or -1)] = 4  # none but those asked for
        for kind, number in self.tokens.items():
            ids[:, place : place + number] = self.token(kind) or 0
            place += number
        if self.form == "codes":
            return ids.unsqueeze(-1).repeat(1, 1, self.codebooks())
        if "MultipleChoice" in type(self.model).__name__:
            return ids.unsqueeze(1).repeat(1, 2, 1)
        return ids

    def codebooks(self) -> int:
        """How many codes a moment of sound has; 0 for models without."""
        if self.codes:
            return self.codes
        for owner in (self.config, getattr(self.config, "decoder_config", None), getattr(self.config, "decoder", None)):
            for name in ("num_codebooks", "num_channels", "num_quantizers", "n_q", "channels"):
                if type(getattr(owner, name, None)) is int:
                    return int(getattr(owner, name))
        return 0

    def decoder_input_ids(self) -> torch.Tensor:
        """Random text, or codes in the form being tried."""
        ids = self.words()
        if self.form == "decoder codes":
            return ids.unsqueeze(-1).repeat(1, 1, self.codebooks())
        return ids.repeat(self.codebooks(), 1) if self.form == "decoder rows" else ids

    def token(self, kind: str) -> int | None:
        """The id of the token that stands for an image, a video or a sound; None where there is none."""
        names = [
            f"{kind}_{end}" for end in ("token_id", "token_index", "token", "pad_token_id", "placeholder_token_id")
        ]
        names += {"image": ["img_token_id", "vision_token_id", "media_token_id", "media_placeholder_token_id"]}.get(
            kind, []
        )
        for owner in (self.config, self.text, getattr(self.config, "thinker_config", None)):
            for name in names:
                if type(getattr(owner, name, None)) is int:
                    return int(getattr(owner, name))
        return None

    def attention_mask(self) -> torch.Tensor:
        """A mask whose last row is padded by two."""
        if "input_ids" in self.names():
            mask = torch.ones(ROWS, self.text_length(), dtype=torch.long)
        elif "input_features" in self.names():
            return torch.ones(self.input_features().shape[0], self.frames(), dtype=torch.long)
        else:
            mask = torch.ones(ROWS, self.samples(), dtype=torch.long)
        mask[-1, ..., -2:] = 0
        return mask

    def names(self) -> dict[str, inspect.Parameter]:
        """The parameters of the model's forward."""
        return dict(inspect.signature(type(self.model).forward).parameters)

    def pixel_values(self) -> torch.Tensor:
        """Images, in the form being tried."""
        height, width = self.side()
        if self.form == "rows of patches":
            return torch.randn(ROWS, 16, self.channels() * self.depth() * self.patch() ** 2)
        if self.form == "patches":
            return torch.randn(ROWS * 16, self.channels() * self.depth() * self.patch() ** 2)
        if self.form == "many":
            return torch.randn(ROWS, 1, self.channels(), height, width)
        if self.form == "video":
            owner = self.part("vision") if hasattr(self.part("vision"), "num_frames") else self.config
            frames = int(self.setting(owner, "num_frames", default=2))
            return torch.randn(ROWS, frames, self.channels(), height, width)
        return torch.randn(ROWS, self.channels(), height, width)

    def flattened_patches(self) -> torch.Tensor:
        """Patches in a row, each with its place before it (Pix2Struct)."""
        numbers = self.setting(self.part("vision"), "patch_embed_hidden_size", default=3 * self.patch() ** 2)
        places = torch.tensor([[number // 4 + 1, number % 4 + 1] for number in range(16)])
        return torch.cat([places.expand(ROWS, -1, -1), torch.randn(ROWS, 16, int(numbers))], dim=-1)

    def samples(self) -> int:
        """How many samples a sound has."""
        return 4000

    def frames(self) -> int:
        """How many frames a spectrogram has."""
        if self.length:
            return self.length
        owner = self.part("audio")
        longest = self.setting(owner, "max_source_positions", default=None)
        if longest is not None and self.setting(owner, "num_conv_layers", default=None) is None:
            return int(longest) * 2
        return int(self.setting(owner, "max_length", "spec_size", default=64))

    def bins(self) -> int:
        """How many numbers describe a frame of sound."""
        if self.numbers:
            return self.numbers
        return int(
            self.setting(
                self.part("audio"),
                "num_mel_bins",
                "feature_size",
                "input_feat_per_channel",
                "n_mels",
                "mel_bins",
                "input_dim",
                default=80,
            )
        )

    def input_features(self) -> torch.Tensor:
        """Spectrograms; numbers come before frames in Whisper and its kin, and the other way round if that fails."""
        longest = self.setting(self.part("audio"), "max_source_positions", default=None)
        if self.form == "many":
            frames, bins_first = self.length or 64, longest is None
        else:
            frames, bins_first = self.frames(), longest is not None and self.frames() == 2 * longest
        shape = (self.bins(), frames) if bins_first else (frames, self.bins())
        return torch.randn(ROWS, *([1] if self.form == "video" else []), *shape)

    def input_values(self) -> torch.Tensor:
        """Sounds."""
        if self.form == "many":
            return torch.randn(ROWS, 1, self.samples())
        if hasattr(self.config, "num_mel_bins"):
            return torch.randn(ROWS, int(self.setting(self.config, "max_length", default=64)), self.config.num_mel_bins)
        return torch.randn(ROWS, self.samples())

    def bbox(self) -> torch.Tensor:
        """A box on the page for each token."""
        return torch.tensor([10, 10, 40, 40]).repeat(*self.input_ids().shape, 1)

    def grid(self) -> torch.Tensor:
        """Four by four patches for each row's image."""
        return torch.tensor([[1, 4, 4]] * ROWS)

    def kinds_of_tokens(self) -> torch.Tensor:
        """Which tokens stand for text (0), an image (1) or a sound (3)."""
        ids = self.input_ids()
        kinds = torch.zeros_like(ids)
        for kind, number in (("image", 1), ("audio", 3)):
            kinds.masked_fill_(torch.eq(ids, self.token(kind) or -1), number)
        return kinds

    def frame_mask(self) -> torch.Tensor:
        """A mask of spectrograms without padding."""
        return torch.ones(ROWS, self.frames(), dtype=torch.long)

    def past(self) -> int:
        """How many steps of a time series are known."""
        lags = self.setting(self.config, "lags_sequence", default=[0])
        return int(self.setting(self.config, "context_length", default=8)) + (max(lags) if lags else 0)

    def past_values(self) -> torch.Tensor:
        """A time series."""
        channels = self.setting(self.config, "num_input_channels", default=None)
        return torch.randn(ROWS, self.past(), *([] if channels is None else [int(channels)]))

    def image_sizes(self) -> torch.Tensor:
        """Each image's height and width."""
        return torch.tensor([list(self.side())] * ROWS)

    def pixel_mask(self) -> torch.Tensor:
        """A mask of images without padding."""
        return torch.ones(ROWS, *self.side(), dtype=torch.long)

    def token_types(self) -> torch.Tensor:
        """The same segment for each token."""
        return torch.zeros_like(self.input_ids())

    def build(self) -> Inputs:
        """The inputs."""
        names = self.names()
        if not names.keys() & SEQUENCES:
            names.pop("attention_mask", None)
        inputs: Inputs = {}
        for name, parameter in names.items():
            make = MAKERS.get(name)
            needed = parameter.default is inspect.Parameter.empty
            if make is not None and (needed or ((self.wide or name in WANTED) and name not in self.without)):
                inputs[name] = make(self)
        if "decoder_input_ids" in inputs and self.mode == "labels" and not self.wide:
            del inputs["decoder_input_ids"]
        if self.mode == "labels":
            inputs |= self.labels(names)
        return inputs

    def labels(self, names: dict[str, inspect.Parameter]) -> Inputs:
        """The labels that the model's head wants."""
        place = torch.tensor([1, 2])
        if "start_positions" in names:
            return {"start_positions": place, "end_positions": place + 2}
        if "mask_labels" in names:
            height, width = self.side()
            return {"mask_labels": [torch.ones(2, height, width)] * ROWS, "class_labels": [place] * ROWS}
        if "next_sentence_label" in names:
            return {"labels": self.words(self.text_length()), "next_sentence_label": place - 1}
        if "labels" not in names:
            raise ValueError("forward takes no labels")
        return {"labels": self.label()}

    def label(self) -> Any:
        """What `labels` is for the model's head."""
        name = type(self.model).__name__
        if re.search(r"Detection$", name):
            return [{"class_labels": torch.tensor([0, 1]), "boxes": torch.rand(2, 4) * 0.4 + 0.3}] * ROWS
        if re.search(r"Segmentation$", name):
            return torch.randint(0, 2, (ROWS, *self.side()))
        if re.search(r"ForTokenClassification$", name):
            return torch.randint(0, 2, (ROWS, self.text_length()))
        if re.search(r"Classification|MultipleChoice|NextSentence|ForSequence", name):
            return torch.tensor([0, 1])
        if re.search(r"ForCTC$", name):
            return torch.randint(1, 20, (ROWS, 4))
        if "input_ids" in self.names() and "decoder_input_ids" not in self.names():
            return self.input_ids()
        return self.words()


MAKERS: dict[str, Callable[[Builder], Any]] = {
    "input_ids": Builder.input_ids,
    "attention_mask": Builder.attention_mask,
    "token_type_ids": Builder.token_types,
    "pixel_values": Builder.pixel_values,
    "images": Builder.pixel_values,
    "flattened_patches": Builder.flattened_patches,
    "image_embeds_position_mask": lambda self: torch.tensor([[0, *[1] * 4, *[0] * (self.text_length() - 5)]] * ROWS),
    "pixel_values_videos": Builder.pixel_values,
    "input_features": Builder.input_features,
    "input_values": Builder.input_values,
    "decoder_input_ids": Builder.decoder_input_ids,
    "decoder_input_values": lambda self: torch.randn(ROWS, 8, self.bins()),
    "qformer_input_ids": Builder.words,
    "task_inputs": lambda self: self.words(int(self.config.task_seq_len)),
    "inputs": lambda self: torch.randn(ROWS, WORDS, self.config.d_model),
    "bbox": Builder.bbox,
    "image_grid_thw": Builder.grid,
    "grid_thw": Builder.grid,
    "image_sizes": Builder.image_sizes,
    "mm_token_type_ids": Builder.kinds_of_tokens,
    "high_res_pixel_values": Builder.pixel_values,
    "input_features_mask": Builder.frame_mask,
    "feature_attention_mask": Builder.frame_mask,
    "padding_mask": lambda self: torch.ones(ROWS, self.samples(), dtype=torch.long),
    "pixel_attention_mask": lambda self: torch.ones(ROWS, 16, dtype=torch.long),
    "spatial_shapes": lambda self: torch.tensor([[4, 4]] * ROWS),
    "past_time_features": lambda self: torch.randn(ROWS, self.past(), self.config.num_time_features),
    "past_observed_mask": lambda self: torch.ones(ROWS, self.past()),
    "static_categorical_features": lambda self: torch.zeros(ROWS, 1, dtype=torch.long),
    "future_time_features": lambda self: torch.randn(
        ROWS, self.config.prediction_length, self.config.num_time_features
    ),
    "future_values": lambda self: torch.randn(ROWS, self.config.prediction_length),
    "states": lambda self: torch.randn(ROWS, 4, self.config.state_dim),
    "actions": lambda self: torch.randn(ROWS, 4, self.config.act_dim),
    "rewards": lambda self: torch.randn(ROWS, 4, 1),
    "returns_to_go": lambda self: torch.randn(ROWS, 4, 1),
    "timesteps": lambda self: torch.arange(4).repeat(ROWS, 1),
    "pixel_mask": Builder.pixel_mask,
    "input_points": lambda self: torch.rand(ROWS, 1, 2, 2) * 60,
    "visual_embeds": lambda self: torch.randn(ROWS, 3, self.config.visual_embedding_dim),
    "visual_feats": lambda self: torch.randn(ROWS, 3, self.config.visual_feat_dim),
    "visual_pos": lambda self: torch.rand(ROWS, 3, self.config.visual_pos_dim),
    "past_values": Builder.past_values,
    "past_values_padding": lambda self: torch.zeros(ROWS, self.past()),
    "freq": lambda self: torch.zeros(ROWS, 1, dtype=torch.long),
}
SEQUENCES = {"input_ids", "input_features", "input_values"}  # what an attention mask can be of
# Optional parameters that are given nevertheless, since without them a model does nothing or less than usual.
WANTED = {
    "input_ids", "attention_mask", "pixel_values", "input_features", "input_values", "decoder_input_ids", "bbox",
    "image_grid_thw", "grid_thw", "image_sizes", "flattened_patches", "visual_embeds", "mm_token_type_ids",
    "high_res_pixel_values", "image_embeds_position_mask", "states", "actions", "rewards", "returns_to_go",
    "timesteps", "past_values",
}  # fmt: skip
