"""Rewrites of small programs, harmless and wrong ones, for the numbers check to tell apart.

`python -m tests.prove.rewrites [NAME ...]` runs all of them, or those, and prints a table. The ones marked `unseen` were
written after the check was, and nothing in it was changed for them.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

PROGRAMS = Path(__file__).with_name("programs")


@dataclass(frozen=True)
class Rewrite:
    """A program after some replacements of its text; `first` is what the program itself has replaced before."""

    name: str
    program: str
    edits: tuple[tuple[str, str], ...]
    kind: Literal["harmless", "wrong"]
    unseen: bool = False
    first: tuple[tuple[str, str], ...] = ()

    @property
    def before(self) -> str:
        return _replaced((PROGRAMS / f"{self.program}.py").read_text("utf-8"), self.first)

    @property
    def after(self) -> str:
        return _replaced(self.before, self.edits)


def _replaced(text: str, edits: tuple[tuple[str, str], ...]) -> str:
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


_SOFTMAX = "        w = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(16), dim=-1)\n"
_WEIGHTED = "        y = (w @ v).transpose(1, 2)"
_FUSED = "        y = nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2)"
_SDPA = (_SOFTMAX + _WEIGHTED, _FUSED)
_ROWS = (
    """\
        scores = []
        for i in range(x.shape[0]):
            scores.append(self.out(torch.relu(self.body(x[i]))))
        return torch.stack(scores)
""",
    "        return self.out(torch.relu(self.body(x)))\n",
)
_BF16 = (
    ("nn.Sequential(Attention(), Attention())", "nn.Sequential(Attention(), Attention()).bfloat16()"),
    ("torch.randn(4, 48, 64)", "torch.randn(4, 48, 64).bfloat16()"),
)
_UNSEEDED = (("torch.manual_seed(0)\n", ""),)
_URANDOM = (("torch.manual_seed(0)\n", "import os\ntorch.manual_seed(int.from_bytes(os.urandom(4), 'big'))\n"),)
_LOG = "torch.log(torch.softmax(model(x), dim=-1))"
_SCALED = "q @ k.transpose(-2, -1) / math.sqrt(16)"


def _harmless(name: str, program: str, *edits: tuple[str, str], unseen: bool = False, first: object = ()) -> Rewrite:
    return Rewrite(name, program, edits, "harmless", unseen, first)  # type: ignore[arg-type]


def _wrong(name: str, program: str, *edits: tuple[str, str], unseen: bool = False, first: object = ()) -> Rewrite:
    return Rewrite(name, program, edits, "wrong", unseen, first)  # type: ignore[arg-type]


SEEN = (
    _harmless("sdpa", "attention", _SDPA),
    _harmless("sdpa in bfloat16", "attention", _SDPA, first=_BF16),
    _harmless("mse_loss", "attention", ("(model(x) - x.flip(1)).pow(2).mean()", "nn.functional.mse_loss(model(x), x.flip(1))")),
    _harmless("einsum", "attention", ("q @ k.transpose(-2, -1)", "torch.einsum('bhtd,bhsd->bhts', q, k)")),
    _harmless("scale before", "attention", (_SCALED, "(q / math.sqrt(16)) @ k.transpose(-2, -1)")),
    _harmless("scale in two", "attention", (_SCALED, "(q * 0.3) @ k.transpose(-2, -1) * (0.25 / 0.3)")),
    _harmless("fused AdamW", "attention", ("eps=1e-8", "eps=1e-8, fused=True")),
    _harmless("sdpa and fused AdamW", "attention", _SDPA, ("eps=1e-8", "eps=1e-8, fused=True")),
    _harmless("batched rows", "rows", _ROWS),
    _harmless("batched rows, unseeded", "rows", _ROWS, first=_UNSEEDED),
    _harmless("cross_entropy of log-probabilities", "logits", ("nll_loss(log_probs", "cross_entropy(log_probs")),
    _harmless("channels_last", "convolution", ("model = Net()", "model = Net().to(memory_format=torch.channels_last)")),
    _harmless("sum over the count", "dropout", (".pow(2).mean()", ".pow(2).sum() / 128")),
    _harmless("less that nobody uses", "repeats", ("REPEATS = 40", "REPEATS = 29")),
    _harmless("train() without effect", "evaluation", ("    model.train()\n", "")),
    _wrong("causal mask", "attention", (_SDPA[0], _FUSED.replace("q, k, v)", "q, k, v, is_causal=True)"))),
    _wrong("wrong scale", "attention", ("/ math.sqrt(16)", "/ math.sqrt(17)")),
    _wrong("wrong scale in bfloat16", "attention", ("/ math.sqrt(16)", "/ math.sqrt(17)"), first=_BF16),
    _wrong("softmax over the batch", "logits", (_LOG, "torch.log_softmax(model(x), dim=0)")),
    _wrong("another eps of LayerNorm", "attention", ("eps=1e-5", "eps=1e-6")),
    _wrong("another eps of LayerNorm in bfloat16", "attention", ("eps=1e-5", "eps=1e-6"), first=_BF16),
    _wrong("another eps of AdamW", "attention", ("eps=1e-8", "eps=1e-7")),
    _wrong("tanh GELU", "attention", ("nn.GELU()", "nn.GELU('tanh')")),
    _wrong("detached residual", "attention", ("return x + self.act(", "return x.detach() + self.act(")),
    _wrong("detached values", "attention", ("(w @ v)", "(w @ v.detach())")),
    _wrong("half precision product", "attention", ("(w @ v)", "(w.half() @ v.half()).float()")),
    _wrong("bfloat16 product", "attention", ("(w @ v)", "(w.bfloat16() @ v.bfloat16()).float()")),
    _wrong("gradients kept every other step", "attention", ("    optimizer.zero_grad()", "    if step % 2: optimizer.zero_grad()")),
    _wrong("a bit more weight decay", "attention", ("eps=1e-8", "eps=1e-8, weight_decay=0.011")),
    _wrong("a step without gradients", "attention", ("    optimizer.step()", "    if step == 7: model.zero_grad()\n    optimizer.step()")),
    _wrong("file written", "attention", ("print(f", "torch.save(model.state_dict(), 'x.pt'); print(f")),
    _wrong("no dropout", "dropout", ("nn.Dropout(0.2)", "nn.Identity()")),
    _wrong("a bit more dropout", "dropout", ("nn.Dropout(0.2)", "nn.Dropout(0.21)")),
    _wrong("half the batch", "rows", ("torch.randn(32, 64)", "torch.randn(16, 64)")),
    _wrong("a random seed", "rows", _ROWS, first=_URANDOM),
    _wrong("other words", "evaluation", ("accuracy {evaluate", "acc {evaluate")),
    _wrong("half the held-out set", "evaluation", ("    for x, y in loader:", "    for x, y in loader[:8]:")),
    _wrong("something added in the logarithm", "logits", (_LOG, "torch.log(torch.softmax(model(x), dim=-1) + 1e-8)")),
    _wrong("a learning rate off by a thousandth", "logits", ("lr=0.1", "lr=0.1001")),
    _wrong("one step less", "logits", ("range(12)", "range(11)")),
)  # fmt: skip

_SIGMOID = "binary_cross_entropy(torch.sigmoid(scores.float()), labels)"
_ONE_HOT = "F.one_hot(tokens, 40).float() @ self.embed.weight"
_NORM = "scores / scores.norm(dim=-1, keepdim=True).clamp_min(1e-12)"
_LOOP = "torch.cat([model(requests[i : i + 1]) for i in range(len(requests))])"
_BOTH = "criterion(judge(batch), torch.ones(32, 1)) + criterion(judge(made.detach()), torch.zeros(32, 1))"
_EMA = "            kept.mul_(0.99).add_(now, alpha=0.01)"

UNSEEN = (
    _harmless("lookup for one-hot", "language", (_ONE_HOT, "self.embed(tokens)"), unseen=True),
    _harmless("foreach Adam", "language", ("lr=2e-3, foreach=False", "lr=2e-3, foreach=True"), unseen=True),
    _harmless("foreach clipping", "language", ("0.05, foreach=False", "0.05"), unseen=True),
    _harmless("stacked losses", "language", ("sum(losses) / len(losses)", "torch.stack(losses).mean()"), unseen=True),
    _harmless("loss summed as a tensor", "language", ("total = 0.0", "total = torch.zeros(())"), ("total += loss.item()", "total += loss.detach()"), unseen=True),
    _harmless("both batches at once", "adversaries", (_BOTH, "2 * criterion(judge(torch.cat([batch, made.detach()])), torch.cat([torch.ones(32, 1), torch.zeros(32, 1)]))"), unseen=True),
    _harmless("logits for sigmoid", "loading", (_SIGMOID, "binary_cross_entropy_with_logits(scores.float(), labels)"), unseen=True),
    _harmless("no pinned memory", "loading", (", pin_memory=True", ""), unseen=True),
    _harmless("gradients dropped", "loading", ("        optimizer.zero_grad(set_to_none=False)\n        for", "        optimizer.zero_grad()\n        for"), ("                optimizer.zero_grad(set_to_none=False)", "                optimizer.zero_grad()"), unseen=True),
    _harmless("normalize", "serving", (_NORM, "nn.functional.normalize(scores, dim=-1)"), unseen=True),
    _harmless("requests in one batch", "serving", (_LOOP, "model(requests)"), unseen=True),
    _harmless("inference_mode", "serving", ("torch.no_grad()", "torch.inference_mode()"), unseen=True),
    _harmless("solve for inverse", "solving", ("torch.inverse(gram) @ (phi.T @ targets)", "torch.linalg.solve(gram, phi.T @ targets)"), unseen=True),
    _harmless("logsumexp", "solving", ("peak + torch.log(torch.sum(torch.exp(phi @ solution - peak)))", "torch.logsumexp(phi @ solution, dim=(0, 1))"), unseen=True),
    _harmless("average by lerp", "variational", (_EMA, "            kept.lerp_(now, 0.01)"), unseen=True),
    _wrong("state lost between parts", "language", ("one.detach() for one in state", "torch.zeros_like(one) for one in state"), unseen=True),
    _wrong("padding counted", "language", (", ignore_index=PAD", ""), unseen=True),
    _wrong("clipped a bit later", "language", ("0.05, foreach", "0.051, foreach"), unseen=True),
    _wrong("places shifted by one", "language", ("self.place[: tokens.shape[1]]", "self.place[1 : tokens.shape[1] + 1]"), unseen=True),
    _wrong("warm-up shorter by a step", "language", ("/ 6))", "/ 5))"), unseen=True),
    _wrong("schedule before the step", "language", ("    optimizer.step()\n    schedule.step()", "    schedule.step()\n    optimizer.step()"), unseen=True),
    _wrong("labels smoothed", "language", ("ignore_index=PAD", "ignore_index=PAD, label_smoothing=0.001"), unseen=True),
    _wrong("labels of the real ones smoothed", "adversaries", ("judge(batch), torch.ones(32, 1)", "judge(batch), torch.full((32, 1), 0.999)"), unseen=True),
    _wrong("made ones not used again", "adversaries", ("criterion(judge(made), torch", "criterion(judge(maker(torch.randn(32, 8))), torch"), unseen=True),
    _wrong("maker learns with the judge", "adversaries", ("made.detach()", "made"), ("    loss.backward()", "    loss.backward(retain_graph=True)"), ("    makes.zero_grad()\n", ""), unseen=True),
    _wrong("discount", "policy", ("GAMMA = 0.99", "GAMMA = 0.989"), unseen=True),
    _wrong("best instead of drawn", "policy", ("choice.sample()", "choice.probs.argmax()"), unseen=True),
    _wrong("spread without correction", "policy", ("returns.std()", "returns.std(correction=0)"), unseen=True),
    _wrong("weights carry on", "policy", ("advantage = (returns - returns.mean())", "advantage = (returns - returns.median())"), unseen=True),
    _wrong("spread for deviation", "variational", ("torch.exp(0.5 * spread)", "torch.exp(spread)"), unseen=True),
    _wrong("prior averaged", "variational", ("-0.5 * torch.sum(", "-0.5 * torch.mean("), unseen=True),
    _wrong("average follows faster", "variational", (_EMA, "            kept.mul_(0.98).add_(now, alpha=0.02)"), unseen=True),
    _wrong("last batch twice", "variational", ("32 * (step % 3) : 32 * (step % 3) + 32", "32 * min(step % 3, 1) : 32 * min(step % 3, 1) + 32"), unseen=True),
    _wrong("four for five", "serving", ("topk(5", "topk(4"), unseen=True),
    _wrong("softmax in half precision", "serving", ("torch.softmax(scores, dim=-1)", "torch.softmax(scores.half(), dim=-1).float()"), unseen=True),
    _wrong("less in the file", "serving", ('{"weights": weights, "similar": similar}', '{"weights": weights}'), unseen=True),
    _wrong("exit code", "serving", ('"answers.pt")', '"answers.pt")\nraise SystemExit(1)'), unseen=True),
    _wrong("no shuffling", "loading", ("shuffle=True", "shuffle=False"), unseen=True),
    _wrong("last batch dropped", "loading", ("shuffle=True", "shuffle=True, drop_last=True"), unseen=True),
    _wrong("no model.eval()", "loading", ("        model.eval()\n", ""), unseen=True),
    _wrong("another momentum of the statistics", "convolution", ("self.bn2 = nn.BatchNorm2d(16)", "self.bn2 = nn.BatchNorm2d(16, momentum=0.09)"), unseen=True),
    _wrong("float32 for bfloat16", "loading", ('torch.autocast("cpu", dtype=torch.bfloat16)', 'torch.autocast("cpu", enabled=False)'), unseen=True),
    _wrong("other mean of the data", "loading", ("/ 255 - 0.5)", "/ 255 - 0.501)"), unseen=True),
    _wrong("loss not divided", "loading", (", labels) / 2", ", labels)"), unseen=True),
    _wrong("log without the loss", "loading", ('f"loss {loss.item():.5f}\\n"', 'f"loss {epoch:.5f}\\n"'), unseen=True),
    _wrong("ridge", "solving", ("0.5 * torch.eye(8)", "0.5001 * torch.eye(8)"), unseen=True),
    _wrong("graph cut in the solution", "solving", ("torch.inverse(gram)", "torch.inverse(gram.detach())"), unseen=True),
    _wrong("unbiased scale", "solving", ("unbiased=False", "unbiased=True"), unseen=True),
    _wrong("momentum", "solving", ("momentum=0.9)", "momentum=0.9, nesterov=True)"), unseen=True),
    _wrong("eval() before the last step", "convolution", ("    optimizer.step()\nmodel", "    optimizer.step()\n    if step == 6: model.eval()\nmodel"), unseen=True),
)  # fmt: skip

REWRITES = (*SEEN, *UNSEEN)


def main() -> None:
    """Judge each, and print what is wrong with the judgements."""
    import tempfile

    from torchlint.prove.compare import Numbers
    from torchlint.prove.lab import Conditions, Lab
    from torchlint.prove.runs import Runner
    from torchlint.prove.versions import Versions
    from torchlint.prove.workspace import Workspace

    wanted = sys.argv[1:]
    chosen = [
        one for one in REWRITES if not wanted or one.name in wanted or ("unseen" if one.unseen else "seen") in wanted
    ]
    mistakes = 0
    with tempfile.TemporaryDirectory() as folder, Workspace() as space, Runner(space.folder) as runner:
        known: dict[str, Numbers] = {}
        Path(folder, "pyproject.toml").touch()
        for number, one in enumerate(chosen):
            before = Path(folder, f"{one.program}_{abs(hash(one.before))}.py")
            before.write_text(one.before, "utf-8")
            Path(folder, f"after{number}.py").write_text(one.after, "utf-8")
        versions = Versions(space, "")
        lab = Lab(space, runner, Conditions(steps=1000))
        for number, one in enumerate(chosen):
            if one.before not in known:
                known[one.before] = Numbers.of(
                    lab, versions.named(f"{folder}/{one.program}_{abs(hash(one.before))}.py")
                )
            judged = known[one.before].with_(versions.named(f"{folder}/after{number}.py")).judgement
            right = judged.within("rounding") == (one.kind == "harmless")
            mistakes += not right
            mark = " " if right else "!"
            print(f"{mark} {one.kind:9}{one.name:40}{judged.name:10}{'; '.join(judged.reasons)}", flush=True)
    print(f"{len(chosen)} rewrites, {mistakes} judged wrongly")


if __name__ == "__main__":
    main()
