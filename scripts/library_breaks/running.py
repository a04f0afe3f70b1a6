"""One model built, run and compiled, with what Dynamo broke and traced on the way."""

from __future__ import annotations

import collections
import contextlib
import importlib
import inspect
import json
import re
import resource
import signal
import sys
import time
import traceback
import types
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch  # noqa: TID251 - this is a program that runs models, not a part of the linter
from candidates import library
from configurations import SPECIAL, small_configurations
from inputs import Builder
from shared import MEMORY, MOST_PARAMETERS, ROWS, WIDTH, Inputs, OutOfTimeError

SEEN = ("pixel_values", "image_sizes", "image_grid_thw", "grid_thw", "mm_token_type_ids")
HEARD = ("input_features", "input_values", "input_features_mask", "feature_attention_mask")


def attempts(model: Any, mode: str) -> Iterator[Builder]:
    """The forms of inputs to try: all that is usual, then less, then more, then a multimodal model's text alone."""
    first = Builder(model, mode)
    names = first.names()
    parts = {"image": "pixel_values" in names, "audio": bool(names.keys() & {*HEARD, "audio_values", "audio_features"})}
    tokens = {
        kind: 4 for kind, there in parts.items() if there and "input_ids" in names and first.token(kind) is not None
    }
    gridded = names.keys() & {"image_grid_thw", "grid_thw"}
    forms = ["patches", "rows of patches"] if gridded else ["plain", "many", "video", "patches", "rows of patches"]
    if first.codebooks() and not parts["image"]:
        forms += ["codes", "decoder codes", "decoder rows"]
    for form in forms:
        for without in ((), ("image_sizes",), ("attention_mask",), ("image_sizes", "attention_mask")):
            if set(without) <= names.keys():
                yield Builder(model, mode, form, without, False, dict(tokens))
        yield Builder(model, mode, form, (), True, dict(tokens))
    if "input_ids" in names and names.keys() & {*SEEN, *HEARD}:
        yield Builder(model, mode, "plain", (*SEEN, *HEARD))


MISMATCH = re.compile(
    r"(image|video|audio).*?tokens do not match.*?tokens: ?(\d+).*?features:? ?(\d+)", re.DOTALL | re.IGNORECASE
)
SHAPES = re.compile(r"mat1 and mat2 shapes cannot be multiplied \(\d+x(\d+) and (\d+)x\d+\)")
NORMED = re.compile(r"expected input with shape \[\*, (\d+)\], but got input of size ?\[.*?(\d+)\]")
SIZES = re.compile(r"The size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\)")
FRAMES = re.compile(r"input features to be of length (\d+), but found")


def corrected(builder: Builder, error: str) -> bool:
    """Takes from an error how many tokens or numbers the model wants; whether there is something new to try."""
    if match := MISMATCH.search(error):
        kind, features = match[1].lower(), int(match[3])
        if int(match[2]) == features:  # some models tell the numbers of their features, not how many there are
            features //= builder.setting(builder.text, "hidden_size", default=WIDTH)
        wanted = max(1, features // ROWS)
        if builder.tokens.get(kind) == wanted:
            return False
        builder.tokens[kind] = wanted
        return True
    if (match := SHAPES.search(error)) and not builder.numbers and int(match[1]) == builder.bins():
        builder.numbers = int(match[2])
        return True
    if (match := NORMED.search(error)) and not builder.numbers and int(match[2]) == builder.bins():
        builder.numbers = int(match[1])
        return True
    if (match := SIZES.search(error)) and not builder.codes and int(match[1]) == builder.codebooks():
        builder.codes = int(match[2])
        return True
    if (match := FRAMES.search(error)) and not builder.length:
        builder.length = int(match[1])
        return True
    return False


def fitting_inputs(model: Any, mode: str, errors: list[str]) -> Inputs | None:
    """The first inputs with which the model runs; where it says how many image tokens it wants, it is given so many."""
    for builder in attempts(model, mode):
        for _ in range(4):
            try:
                torch.manual_seed(0)
                inputs = builder.build()
                with gradients(mode):
                    model(**inputs)
                return inputs
            except Exception as error:  # noqa: BLE001 - a model's own, of any kind
                errors.append(told(error))
                if not corrected(builder, str(error)):
                    break
    return None


def gradients(mode: str) -> contextlib.AbstractContextManager[Any]:
    """Gradients on for training, off otherwise."""
    return torch.enable_grad() if mode == "train" else torch.no_grad()


def told(error: BaseException) -> str:
    """An exception in a line: what and where."""
    stack = [*(getattr(error, "real_stack", None) or traceback.extract_tb(error.__traceback__))]
    frames = [frame for frame in stack if "/transformers/" in frame.filename] or stack
    where = "".join(f" at {short(frame.filename)}:{frame.lineno}" for frame in reversed(frames[-3:]))
    return f"{type(error).__name__}: {str(error)[:400]}{where}"


def short(file: str) -> str:
    """A file of transformers, from the package's folder on."""
    return file.rpartition("/transformers/")[2]


def size_of(model_class: Any, config: Any) -> int:
    """How many parameters a model would have, without making them."""
    try:
        with torch.device("meta"):
            return sum(one.numel() for one in model_class(config).parameters())
    except Exception:  # noqa: BLE001 - a model's own, of any kind
        return 0  # some cannot be made so; the limit of memory is their guard


def built(model_class: Any, config: Any) -> Any:
    """A model with random weights; refused where it is too large."""
    size = size_of(model_class, config)
    if size > MOST_PARAMETERS:
        raise ValueError(f"{size} parameters are too many")
    torch.manual_seed(0)
    return model_class(config)


@dataclass
class Break:
    """A graph break at a line of transformers; `stack` is the frames of transformers, the outermost first."""

    file: str
    line: int
    gb: str
    reason: str
    kind: str
    type: str
    at: str
    stack: list[tuple[str, int]]
    count: int = 1


@dataclass
class Result:
    """What one run found."""

    model: str
    cls: str
    mode: str
    ok: bool = False
    why: str = ""
    params: int = 0
    breaks: list[Break] = field(default_factory=list)
    traced: dict[str, list[int]] = field(default_factory=dict)
    executed: dict[str, list[int]] = field(default_factory=dict)
    skipped: list[tuple[str, int, str]] = field(default_factory=list)
    seconds: float = 0.0
    tries: list[str] = field(default_factory=list)
    inputs: dict[str, str] = field(default_factory=dict)

    def written(self) -> str:
        """As JSON."""
        values = asdict(self)
        values["class"] = values.pop("cls")
        return json.dumps(values, indent=1)


class Lines:
    """Lines of the files below transformers/."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.found: dict[str, set[int]] = collections.defaultdict(set)

    def add(self, file: str, line: int) -> None:
        """Notes a line, if its file is one of transformers."""
        if file.startswith(self.root):
            self.found[file[len(self.root) :]].add(line)

    def listed(self) -> dict[str, list[int]]:
        """The lines noted, by file."""
        return {file: sorted(lines) for file, lines in sorted(self.found.items())}

    @contextlib.contextmanager
    def executed(self) -> Iterator[None]:
        """Notes the lines that run inside the block."""

        def trace(frame: types.FrameType, event: str, _: Any) -> Any:
            file = frame.f_code.co_filename
            if not file.startswith(self.root):
                return None
            lines = self.found[file[len(self.root) :]]

            def local(frame: types.FrameType, event: str, _: Any) -> Any:
                if event == "line":
                    lines.add(frame.f_lineno)
                return local

            return local

        sys.settrace(trace)
        try:
            yield
        finally:
            sys.settrace(None)


class Watcher:
    """Notes, from inside Dynamo, the lines it traces and the graph breaks it meets."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.lines = Lines(root)
        self.breaks: dict[tuple[object, ...], Break] = {}
        self.skipped: set[tuple[str, int, str]] = set()

    def install(self) -> None:
        """Puts the notes into Dynamo's own functions; for the rest of this process."""
        convert: Any = importlib.import_module("torch._dynamo.symbolic_convert")
        frames: Any = importlib.import_module("torch._dynamo.convert_frame")
        translator = convert.InstructionTranslatorBase
        starts_line, log_graph_break, format_error = (
            translator.starts_line,
            translator.log_graph_break,
            frames.format_error_msg,
        )

        def noted_line(one: Any, line: int) -> None:
            if not one.is_tracing_resume_prologue:
                self.lines.add(one.f_code.co_filename, line)
            starts_line(one, line)

        def noted_break(one: Any, code: Any, reason: str, exc: Any) -> None:
            if not exc.logged:
                self.note(exc, reason)
            log_graph_break(one, code, reason, exc)

        def noted_skip(exc: Any, code: types.CodeType, *rest: Any) -> Any:
            if code.co_filename.startswith(self.root):
                self.skipped.add((code.co_filename[len(self.root) :], code.co_firstlineno, code.co_name))
            if not getattr(exc, "logged", False):
                self.note(exc, "")
            return format_error(exc, code, *rest)

        translator.starts_line, translator.log_graph_break = noted_line, noted_break
        frames.format_error_msg = noted_skip

    def note(self, exc: Any, reason: str) -> None:
        """Notes one graph break."""
        stack = list(getattr(exc, "real_stack", None) or torch._guards.TracingContext.extract_stack())
        inner = stack[-1] if stack else None
        if not any(frame.filename.startswith(self.root) for frame in stack):
            above = importlib.import_module("torch._dynamo.symbolic_convert").get_stack_above_dynamo()
            stack = [*above, *stack]
        ours = [
            (frame.filename[len(self.root) :], int(frame.lineno or 0))
            for frame in stack
            if frame.filename.startswith(self.root)
        ]
        file, line = ours[-1] if ours else ("", 0)
        text = str(exc)
        ids = re.findall(r"gb(\d{4})", text, re.IGNORECASE)
        key = (file, line, text[:200])
        if key in self.breaks:
            self.breaks[key].count += 1
            return
        at = f"{inner.filename}:{inner.lineno}" if inner is not None else ""
        self.breaks[key] = Break(
            file,
            line,
            f"GB{ids[0]}" if ids else "",
            text[:1500],
            kind_of(reason),
            str(getattr(exc, "gb_type", type(exc).__name__)),
            at,
            ours[-12:],
        )


def kind_of(reason: str) -> str:
    """How Dynamo went on after a break: at the next instruction, from an earlier state, or not at all."""
    if reason.startswith("Failed to handle graph break") or not reason:
        return "skip"
    return "earlier" if reason.startswith("Encountered graph break that we cannot resume") else "resume"


def found_class(key: str) -> Any:
    """The class of a key such as llama.LlamaModel."""
    folder, _, name = key.partition(".")
    for file in sorted((library() / "models" / folder).glob("modeling_*.py")):
        if re.search(rf"^class {re.escape(name)}\b", file.read_text(encoding="utf-8"), re.MULTILINE):
            return getattr(importlib.import_module(f"transformers.models.{folder}.{file.stem}"), name)
    raise ValueError(f"no class {key}")


def ready_model(model_class: Any, result: Result) -> tuple[Any, Inputs] | None:
    """A model in its mode and inputs that it takes: the first configuration for which there are such."""
    for make in small_configurations(model_class.config_class, SPECIAL.get(result.model, {})):
        try:
            config = make()
            model = built(model_class, config)
        except Exception as error:  # noqa: BLE001 - a model's own, of any kind
            why = "build: " + told(error)
            if result.tries.count(why) > 1:
                return None  # the size is not the matter
            result.tries.append(why)
            continue
        model.train(result.mode == "train")
        errors: list[str] = []
        inputs = fitting_inputs(model, result.mode, errors)
        result.tries += errors
        if inputs is not None:
            result.params = sum(one.numel() for one in model.parameters())
            result.inputs = {name: shape_of(value) for name, value in inputs.items()}
            return model, inputs
    return None


def shape_of(value: Any) -> str:
    """An input in a word."""
    return str(list(value.shape)) if isinstance(value, torch.Tensor) else type(value).__name__


def measure(result: Result) -> None:
    """Builds, runs and compiles the model of a result, and fills the result in."""
    model_class = found_class(result.cls)
    parameters = inspect.signature(model_class.forward).parameters
    if result.mode == "labels" and not parameters.keys() & {"labels", "start_positions", "mask_labels"}:
        result.why = "forward takes no labels"
        return
    if issubclass(model_class, torch.nn.Module) and model_class.forward is torch.nn.Module.forward:
        result.why = "no forward"
        return
    ready = ready_model(model_class, result)
    if ready is None:
        result.why = "eager: " + (result.tries[0] if result.tries else "nothing to try")
        return
    model, inputs = ready
    root = str(library()) + "/"
    executed, watcher = Lines(root), Watcher(root)
    try:
        with gradients(result.mode):
            with executed.executed():
                model(**inputs)
            torch._dynamo.reset()
            watcher.install()
            compiled: Any = torch.compile(model, backend="eager")
            compiled(**inputs)
        result.ok = True
    except Exception as error:  # noqa: BLE001 - a model's own, of any kind
        result.why = "compiled: " + told(error)
    finally:
        result.executed, result.traced = executed.listed(), watcher.lines.listed()
        result.breaks, result.skipped = list(watcher.breaks.values()), sorted(watcher.skipped)


def run(key: str, mode: str, out: Path, timeout: int) -> Result:
    """One class in one mode, in this process, within a limit of time and memory; writes the file."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    result, began = Result(key.partition(".")[0], key, mode), time.monotonic()

    def over(*_: object) -> None:
        raise OutOfTimeError

    signal.signal(signal.SIGALRM, over)
    signal.alarm(timeout)
    try:
        measure(result)
    except OutOfTimeError as error:
        result.why = "timeout: " + told(error)
    except Exception as error:  # noqa: BLE001 - a model's own, of any kind
        result.why = "set up: " + told(error)
    signal.alarm(0)
    result.seconds = round(time.monotonic() - began, 2)
    out.write_text(result.written(), encoding="utf-8")
    return result
