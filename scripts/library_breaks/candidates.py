"""What there is to run: the model classes of an installed transformers."""

from __future__ import annotations

import ast
import contextlib
import importlib
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import torch  # noqa: TID251 - this is a program that runs models, not a part of the linter


@dataclass(frozen=True)
class Candidate:
    """One model class of one folder of transformers/models."""

    folder: str
    module: str
    name: str

    @property
    def key(self) -> str:
        """FOLDER.CLASS, as a run is asked for."""
        return f"{self.folder}.{self.name}"

    @property
    def is_head(self) -> bool:
        """Whether the class is a head (it takes labels), not a base model."""
        return re.search(r"For[A-Z]|Head", self.name) is not None


def allow_torchvision() -> None:
    """Makes torchvision importable where its operators were built for another torch than the one installed.

    transformers imports it wherever it is found; the models need its transforms' names, hardly ever its operators.
    """
    with contextlib.suppress(ImportError):
        try:
            importlib.import_module("torchvision")
        except RuntimeError:
            for name in ("nms", "qnms"):
                boxes = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
                torch.library.define(f"torchvision::{name}", boxes)
            for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
                del sys.modules[name]  # half imported


def library() -> Path:
    """The folder of the installed transformers."""
    allow_torchvision()
    return Path(str(importlib.import_module("transformers").__file__)).parent


def bases_of(node: ast.ClassDef) -> list[str]:
    """The last names of a class's bases."""
    return [ast.unparse(base).rpartition(".")[2] for base in node.bases]


def model_classes(source: str) -> list[str]:
    """The classes of a file that come from a PreTrainedModel and have or inherit a forward, in the file's order."""
    nodes = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)}

    def is_model(name: str, seen: frozenset[str] = frozenset()) -> bool:
        if name not in nodes or name in seen:
            return name.endswith("PreTrainedModel")
        return any(is_model(base, seen | {name}) for base in bases_of(nodes[name]))

    return [
        name
        for name in nodes
        if is_model(name)
        and "PreTrained" not in name
        and re.search(r"Model$|For[A-Z]\w+$|HeadModel$|LMHead\w*$|Backbone$|Generator$", name)
    ]


def base_names() -> dict[str, set[str]]:
    """By model type, the classes that AutoModel makes."""
    auto = importlib.import_module("transformers.models.auto.modeling_auto")
    return {kind: {names} if isinstance(names, str) else set(names) for kind, names in auto.MODEL_MAPPING_NAMES.items()}


HEAD_ORDER = (
    "ForConditionalGeneration",
    "ForCausalLM",
    "LMHeadModel",
    "ForCTC",
    "ForObjectDetection",
    "ForImageClassification",
    "ForMaskedLM",
    "ForSequenceClassification",
    "ForPreTraining",
    "ForSemanticSegmentation",
    "ForUniversalSegmentation",
    "ForDepthEstimation",
    "ForAudioClassification",
    "ForTokenClassification",
    "ForQuestionAnswering",
)


def head_rank(name: str) -> int:
    """How early a head is run: the usual ones first."""
    return next((place for place, ending in enumerate(HEAD_ORDER) if name.endswith(ending)), len(HEAD_ORDER))


def candidates_in(folder: Path, bases: set[str], heads: int) -> list[Candidate]:
    """A folder's base model and its first heads; without a base model that AutoModel knows, its last plain one."""
    found = [
        Candidate(folder.name, file.stem, name)
        for file in sorted(folder.glob("modeling_*.py"))
        for name in model_classes(file.read_text(encoding="utf-8"))
    ]
    plain = [one for one in found if not one.is_head]
    known = [one for one in plain if one.name in bases]
    rest = sorted((one for one in found if one.is_head), key=lambda one: head_rank(one.name))
    return (known or plain)[-1:] + rest[:heads]


def all_runs(heads: int = 2) -> list[tuple[Candidate, str]]:
    """Every class and mode, what tells most first: each folder's base model, its first head with labels, training."""
    known = set().union(*base_names().values())
    runs: list[tuple[int, Candidate, str]] = []
    for folder in sorted(path for path in (library() / "models").iterdir() if path.is_dir()):
        for place, one in enumerate(candidates_in(folder, known, heads)):
            text = (folder / f"{one.module}.py").read_text(encoding="utf-8")
            modes = ["labels", "eval"] if one.is_head else ["eval"]
            modes += ["train"] if "self.training" in text else []
            runs += [(place + 2 * number, one, mode) for number, mode in enumerate(modes)]
    return [(one, mode) for _, one, mode in sorted(runs, key=lambda run: run[0])]
