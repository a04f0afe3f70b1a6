"""Small configurations of models, by the names of their settings."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from shared import FIRST_SPECIAL, HEADS, VOCABULARY, WIDTH, Settings

LAYER_COUNT = re.compile(
    r"num_hidden_layers|num_layers|n_layers?|depth|encoder_layers|decoder_layers|num_encoder_layers|num_decoder_layers"
    r"|num_blocks|encoder_num_hidden_layers|decoder_num_hidden_layers|block_count|num_block_layers"
)
NOT_LAYERS = re.compile(
    r".*(feat_extract|conv|upsampl|downsampl|adapter|codebook|quantiz|mlp_|stage|feature_level).*"
    r"|.*(dense_layers|every_n_layers)|num_kv_shared_layers"
)

# What a whole number is cut to, by the setting's name; the first that matches. None leaves the number.
NUMBERS: tuple[tuple[str, int | None], ...] = (
    (r".*token_(id|index)|.*_id|.*version.*", None),
    (r"(.*_)?vocab_size(_.*)?|.*_vocab", VOCABULARY),
    (r"rotary_dim|rope_dim", 8),
    (r".*(kv_heads|key_value_heads|n_head_kv|kv_n_heads|num_kv_heads|query_groups)", 2),
    (r".*qk_head_dim", 32),
    (r".*(head_dim|head_size|d_kv|kv_channels|d_head|per_head)", 16),
    (r".*(lora_rank|dt_rank)", 32),
    (r".*(attention_heads|num_heads|n_heads?|_heads)", HEADS),
    (r"(mamba_)?(n|num)_groups|ssm_groups", 2),
    (r"index_topk", 8),
    (r".*(topk_group|n_group|num_expert_group|expert_groups?)", 1),
    (r".*(num_experts_per_tok|experts_per_tok(en)?|top_?k|topk|moe_k|num_selects|topk_experts)", 2),
    (r".*(num|n|routed|local|moe).*experts.*", 4),
    (
        r"first_k_dense_replace|.*num_dense_layers|.*dense_layers|moe_layer_start_index|.*layer_offset|num_kv_shared.*",
        1,
    ),
    (r".*(_period|_interval|sparse_step|_freq|_frequency|every_n_layers|every_n|window_pattern|_pattern)", 2),
    (r".*(sliding_window|attention_window|attention_chunk_size|local_attention)", 16),
    (r".*(max_position_embeddings|n_positions|max_seq_len|max_sequence_length|n_ctx)", 512),
    (r".*(intermediate|ffn|feed_?forward|inner_dim|n_inner|d_ff|mlp_dim|mlp_hidden|mlp_size).*", 64),
    (r".*((?<!patch_embed_)hidden_size|d_model|n_embd|embed_dim|hidden_dim).*", WIDTH),
    (r".*(embedding_size|embedding_dim|projection_dim|projection_size).*", WIDTH),
    (r"(.*_)?(dim|width|hidden|embed_size|d_embed|output_size)|dim_\w+|d_inner", WIDTH),
    (r"num_queries|.*num_latents|.*num_query_tokens|num_proposals|two_stage_num_proposals", 20),
)
# What a setting that is None by default, and that the model needs, is given.
NEEDED: Settings = {
    "num_experts_per_tok": 2,
    "n_routed_experts": 4,
    "num_experts": 4,
    "top_k_experts": 2,
    "moe_intermediate_size": WIDTH,
    "n_shared_experts": 1,
    "n_group": 1,
    "topk_group": 1,
    "prediction_length": 4,
    "image_token_id": FIRST_SPECIAL + 20,
    "image_token_index": FIRST_SPECIAL + 20,
}
# Settings of single folders that no rule hits.
SPECIAL: dict[str, Settings] = {
    "align": {"depth_coefficient": 0.3},
    "aria": {"projector_patch_to_query_dict": {16: 4}},
    "bamba": {"attn_layer_indices": [1]},
    "chameleon": {"vocabulary_map": {"<image>": 97, "IMGIMGAZ": 20, "IMGIMGBZ": 21}, "num_embeddings": 2},
    "dbrx": {"attn_config": {"rope_theta": 10000.0}},
    "deepseek_ocr2": {"mlp_layer_types": ["dense", "sparse"]},
    "efficientnet": {"depth_coefficient": 0.3},
    "emu3": {
        "vocabulary_map": {
            "<image>": 97,
            "<|extra_200|>": 98,
            "<|visual token 000000|>": 20,
            "<|visual token 000001|>": 21,
        },
        "codebook_size": 2,
    },
    "esmfold2": {"num_uid_rope_pairs": 2},
    "gemma3": {"mm_tokens_per_image": 4},
    "xmod": {"default_language": "en_XX"},
    "timm_backbone": {"backbone": "resnet18"},
    "tvp": {"max_img_size": 64},
    "shieldgemma2": {"mm_tokens_per_image": 4},
    "gemma3n": {"architecture": "resnet18"},
    "glm46v": {"rope_parameters": {"mrope_section": [4, 2, 2]}},
    "glm4v": {"rope_parameters": {"mrope_section": [4, 2, 2]}},
    "glm4v_moe": {"rope_parameters": {"mrope_section": [2, 1, 1]}},
    "granite4_vision": {"deepstack_layer_map": [[-1, 0]]},
    "granitemoehybrid": {"layer_types": ["linear_attention", "full_attention"]},
    "kosmos2": {"latent_query_num": 4},
    "kosmos2_5": {"latent_query_num": 4},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"]},
    "glm_ocr": {"rope_parameters": {"mrope_section": [4, 2, 2]}},
    "llava_next": {"image_grid_pinpoints": [[84, 84]]},
    "llava_next_video": {"image_grid_pinpoints": [[84, 84]]},
    "llava_onevision": {"image_grid_pinpoints": [[84, 84]]},
    "mistral4": {"qk_rope_head_dim": 8},
    "molmo2": {"vision_feature_layer": [-1, -2]},
    "qwen2_5_vl": {"rope_parameters": {"mrope_section": [4, 2, 2]}},
    "qwen2_vl": {"rope_parameters": {"mrope_section": [4, 2, 2]}},
    "qwen3_omni_moe": {"vision_start_token_id": 120, "vision_end_token_id": 121},
    "recurrent_gemma": {"num_hidden_layers": 3},
    "sam2": {
        "backbone_config": {"hidden_size": 96, "num_attention_heads": 1},
        "backbone_feature_sizes": [[16, 16], [8, 8], [4, 4]],
    },
}


def number_for(name: str, value: int, mild: bool) -> int:
    """A whole number of a configuration made small."""
    rule = next((cut for pattern, cut in NUMBERS if re.fullmatch(pattern, name)), None)
    if rule is None or (mild and rule != VOCABULARY):
        return value
    return 2 if rule == HEADS and value == 3 else min(rule, value)  # three heads divide no width


def layer_count(values: Settings) -> int:
    """How many layers a configuration has; 0 where it does not say."""
    return next((value for name, value in values.items() if LAYER_COUNT.fullmatch(name) and type(value) is int), 0)


def is_by_layer(name: str, value: object, layers: int) -> bool:
    """Whether a setting gives something for each layer, in a list or as a letter each."""
    kind = (list, str) if "pattern" in name else list
    return layers > 2 and isinstance(value, kind) and len(value) == layers


def is_by_number(value: object) -> bool:
    """Whether a setting gives something for some layers by their numbers."""
    return isinstance(value, dict) and bool(value) and all(re.fullmatch(r"\d+", str(one)) for one in value)


def is_places(name: str, value: object, layers: int) -> bool:
    """Whether a setting lists some layers by their places."""
    named = re.search(r"indices|indexes|index|layer_ids|_layers$|out_features|attn_layers|layers_idx", name)
    return (
        bool(named)
        and isinstance(value, list)
        and 0 < len(value) == len(set(value)) < layers
        and all(type(one) is int and -1 <= one <= layers for one in value)
    )


def kinds_of_layers(values: Settings, layers: int) -> list[tuple[str, ...]]:
    """For each layer, all that the configuration says of it alone."""
    by_layer = [value for name, value in values.items() if is_by_layer(name, value, layers)]
    places = [value for name, value in values.items() if is_places(name, value, layers)]
    single = [value for value in values.values() if is_by_number(value)]
    return [
        (
            *(str(value[place]) for value in by_layer),
            *(str(place in value) for value in places),
            *(str(value.get(place, value.get(str(place)))) for value in single),
        )
        for place in range(layers)
    ]


def chosen_layers(values: Settings, layers: int) -> list[int]:
    """Which layers stay: the first of each kind (six at most), those whose output is used, and at least two."""
    kinds = kinds_of_layers(values, layers)
    chosen = set(sorted({kinds.index(kind) for kind in kinds})[:6])
    for name, value in values.items():
        if is_places(name, value, layers) and "out" in name and len(value) <= 4:
            chosen |= {min(place, layers - 1) % layers for place in value}
    return sorted(chosen) if len(chosen) > 1 else sorted({*chosen, 0, 1})[:2]


class Shrinker:
    """Makes a configuration's settings small, nested ones too; special tokens keep one id each over all of them."""

    def __init__(self, mild: bool) -> None:
        self.mild = mild
        self.specials: dict[int, int] = {}

    def special(self, token: Any) -> Any:
        """A special token's id within the vocabulary."""
        if isinstance(token, list):
            return [self.special(one) for one in token]
        if type(token) is not int or token < FIRST_SPECIAL:
            return token
        return self.specials.setdefault(token, FIRST_SPECIAL + len(self.specials) % (VOCABULARY - FIRST_SPECIAL))

    def settings(self, values: Settings) -> Settings:
        """All settings of one configuration, made small."""
        layers = layer_count(values)
        chosen = chosen_layers(values, layers) if layers > 2 else list(range(layers))
        small = {name: self.setting(name, value, layers, chosen) for name, value in values.items()}
        return small if self.mild else fitted(small, values)

    def setting(self, name: str, value: Any, layers: int, chosen: list[int]) -> Any:
        """One setting, made small."""
        if name == "per_layer_config" and is_by_number(value):
            places = {int(place): self.settings(one) for place, one in value.items()}
            return {number: places[place] for number, place in enumerate(chosen) if place in places}
        if isinstance(value, dict):
            return self.settings(value) if all(isinstance(one, str) for one in value) else value
        if value is None:
            return NEEDED.get(name)
        if re.fullmatch(r".*(_token_ids?|_token_index|(?<!_per)_token|_tokens_ids?|_start_id|_end_id|_idx)", name):
            return self.special(value)
        if layers > 2 and is_places(name, value, layers):
            return places_kept(value, layers, chosen)
        if is_by_layer(name, value, layers):
            kept = [value[place] for place in chosen]
            return "".join(kept) if isinstance(value, str) else kept
        if type(value) is int:
            return self.number(name, value, chosen)
        if isinstance(value, list) and value and all(type(one) is int for one in value):
            return self.numbers(name, value)
        return value

    def number(self, name: str, value: int, chosen: list[int]) -> int:
        """A whole number, made small."""
        if re.fullmatch(r".*(layers?|depth|blocks|block_count)", name) and not NOT_LAYERS.fullmatch(name):
            return min(value, max(2, len(chosen)))
        return number_for(name, value, self.mild)

    def numbers(self, name: str, value: list[int]) -> list[int]:
        """A list of whole numbers, one for each stage, made small."""
        if re.fullmatch(
            r".*depths?|.*num_blocks|layers|num_layers|.*layer_repeats?|.*stage_num_blocks|.*block_repeats"
            r"|.*num_conv_blocks",
            name,
        ):
            return [min(one, 2) for one in value]
        return value


def places_kept(value: list[int], layers: int, chosen: list[int]) -> list[int]:
    """Places of layers, as they are among the layers that stay; counted from 1 where the last is the layers' number."""
    if max(value) == layers:
        return [number + 1 for number, place in enumerate(chosen) if place + 1 in value] or [len(chosen)]
    return [number for number, place in enumerate(chosen) if place in value or place - layers in value]


def fitted(small: Settings, values: Settings) -> Settings:
    """The small settings, with those that must fit one another made to; `values` are the default ones."""
    fit_heads(small, values)
    fit_states(small)
    fit_stages(small, values)
    if type(small.get("image_size")) is int:
        patch = small.get("patch_size")
        small["image_size"] = image_size(patch if type(patch) is int else 16)
    if isinstance(small.get("mrope_section"), list) and len(small["mrope_section"]) == 3:
        small["mrope_section"] = [4, 2, 2]  # half a head
    return small


def fit_heads(small: Settings, values: Settings) -> None:
    """Sets the heads of keys, which stay as many as those of queries where they were, and a head's width."""
    queries = next(
        (name for name in ("num_attention_heads", "num_heads", "n_head") if type(small.get(name)) is int), None
    )
    if queries is None:
        return
    for name in ("num_key_value_heads", "num_kv_heads"):
        if name in values and values[name] in (None, values[queries]):
            small[name] = small[queries]
    if small.get("head_dim", 0) is None and type(small.get("hidden_size")) is int:
        small["head_dim"] = small["hidden_size"] // max(1, small[queries])


def fit_states(small: Settings) -> None:
    """Sets the widths of a state-space layer, which is its expansion times the model's."""
    hidden = small.get("hidden_size", WIDTH)
    if type(small.get("expand")) is int and "head_dim" in small and type(small.get("num_heads")) is int:
        small["head_dim"] = small["expand"] * hidden // small["num_heads"]
    if type(small.get("mamba_d_head")) is int and type(small.get("mamba_n_heads")) is int:
        small["mamba_d_head"] = small.get("mamba_expand", 2) * hidden // small["mamba_n_heads"]
    if type(small.get("mamba_d_ssm")) is int:
        small["mamba_d_ssm"] = small.get("mamba_expand", 2) * hidden


def fit_stages(small: Settings, values: Settings) -> None:
    """Sets what is said of a backbone's stages."""
    channels = values.get("decoder_in_channels")
    if isinstance(channels, (list, tuple)) and set(channels) == {values.get("encoder_hidden_dim")}:
        small["decoder_in_channels"] = [small["encoder_hidden_dim"]] * len(channels)
    fewer = small.get("num_hidden_layers") != values.get("num_hidden_layers")
    if fewer and "out_indices" in small and "out_features" in small:
        del small["out_features"]  # named by the layers' old numbers; the class names them from out_indices
        small.pop("stage_names", None)


def image_size(patch: int) -> int:
    """A side of at least 64 pixels, and of an even number of patches."""
    return patch * max(4, math.ceil(64 / patch / 2) * 2)


DROPPED = {
    "transformers_version",
    "model_type",
    "architectures",
    "dtype",
    "torch_dtype",
    "_name_or_path",
    "id2label",
    "label2id",
}


def plain_settings(config: Any) -> Settings:
    """A configuration's settings, without what its class says of itself."""
    return {name: value for name, value in config.to_dict().items() if name not in DROPPED}


def given_settings(config: Any, small: Settings) -> Settings:
    """Of small settings, those that differ from the default ones; the class works out what follows from them."""
    whole = config.to_dict()
    return {name: value for name, value in small.items() if value != whole.get(name)}


def put(values: Settings, special: Settings) -> Settings:
    """Settings with some of them put in, wherever in the nested ones they stand; at the top where nowhere."""
    text = json.dumps(values, default=str)

    def merged(old: Any, new: Any) -> Any:
        return old | new if isinstance(old, dict) and isinstance(new, dict) and old else new

    def at(here: Settings) -> Settings:
        known = {name: merged(here[name], special[name]) for name in here if name in special}
        return {name: at(value) if isinstance(value, dict) else value for name, value in here.items()} | known

    return at(values) | {name: value for name, value in special.items() if f'"{name}": ' not in text}


def small_configurations(config_class: Any, special: Settings) -> Iterator[Any]:
    """Makers of the configurations to try for a class, the smallest first."""
    default = config_class()
    for mild in (False, True):
        small = put(Shrinker(mild).settings(plain_settings(default)), special)
        yield lambda small=small: config_class(**small)
        yield lambda small=small: config_class(**given_settings(default, small))
    yield lambda: default
