"""Which lines may read the device without a name that says so: by their text alone, too many rather than too few."""

from __future__ import annotations

import pytest

from torchlint.lint import unnamed
from torchlint.text.source import Source


@pytest.mark.parametrize(
    "line",
    [
        "y = x[0]",
        "y = x[i]",  # of which nothing is known
        "y = x[:, None]",
        "y = x[names]",
        "y = x[names[i]]",
        "y = x[1:]",
        "y = x[:n]",
        "y = [a, b]",
        "y = [[2, 1], [0]]",
        "y = x[rows, None]",
        "y = x[a.view(-1)]",
        "y = x[a.to(x.device)]",
        "n = float(self.num_batches)",
        "y = first and n",
        "if n > 0:",
        "if not n:",
        "if i < n:",
        "while not step != n:",
        "n = int(n)",
        "notif n > 0",
        "print(n)",
        "n = x.sum()",
        "n = x.sum()  # notif it",
        "print(x.max(), n if n else 0)",
        "n = torch.max(x, 1).sum()",
        "n = argmax(x.sum(), 1)",
        "for i in range(n):",  # and nothing is indexed by it
        "for a, b in zip(net.rows(), x):",
        "q = to_numpy",
        "q = x.to_numpy()",
    ],
)
@pytest.mark.parametrize("before", ["", "names = x > 0\nseven = x.sum()\n", "x.n = seven\n"])
def test_nothing_is_read(line: str, before: str) -> None:
    other = before.replace("names", "others")

    assert [] == found(f"{other}{line}\n    pass\n")


@pytest.mark.parametrize(
    "line",
    [
        "y = x[x > 0]",
        "y = x[~kept]",
        "y = x[:, a & b]",
        "y = x[a[0] == 1, :]",
        "x[x != x] = 0",
        "y = x[mask]",
        "y = x[:, data.mask, :]",
        "y = x[a[i].bool()]",
        "y = x[out.mask.to(x.device)]",
        "y = x[spans.is_left]",
        "y = x[: n[0]]",
        "y = x[i, : lengths[i]]",
        "y = x[n[0] : n[1]]",
        "q = to_np(net(x))",
        "if n[0] > 0:",
        "while n[i]:",
        "if not n[0] > 0:",
        "if i < n[0]:",
        "while step <= n[k]:",
        "if first and not i == n[0]:",
        "if not (0 <= n[k][0] <= 4):",
        "assert n[0] > 0",
        "n = int(n[0])",
        "n = float(loss)",
        "if ce_loss > 4:",
        "y = torch.randperm(n[i])",
        "if x.sum() == 0:",
        "elif (x > 0).sum() > 3:",
        "while not torch.max(x) > 1:",
        "n = max(x.sum().float(), 1)",
        "n = 1 / min((x > 0).data.sum(), n)",
        "for i in range(x.sum()):",
        "assert y.any() and x.mean() > 0",
        "y = a if x.norm() > 1 else b",
        "if (x > 0).any():",
        "y = first and n[0] == 0",
        "y = x[(a + b).gt(0)]",
        "y = x[mask, None]",
        "y = x[rows, mask]",
        "y = x[mask.view(-1)]",
        "y = x[[2, 1, 0]]",
        "y = x[:, [0]]",
        "y = x[None, :, [2,1,0]]",
        "y = x[range(n), labels]",
        "y = x[list(range(n)), labels]",
        "y = x[:3, mask.view(-1)]",
        "y = x[frame.mask.view(-1)[(i / 2).long()]]",
        "if x.std() == 0:",
        "if x[i, min(j + 1, x.shape[1] - 1)] > x[i, 0]:",
    ],
)
def test_what_the_line_itself_shows(line: str) -> None:
    assert [line] == found(f"{line}\n    pass\n")


@pytest.mark.parametrize(
    ("assigned", "line"),
    [
        ("ok = x > 0", "y = x[ok]"),
        ("ok = x.gt(0)", "y = x[:, ok]"),
        ("self.ok = ~other", "y = x[self.ok]"),
        ("self.ok = ~other", "y = x[data.ok]"),
        ("n, ok = f(x), x.isnan()", "y = x[ok]"),
        ("ok = torch.where(\n    x > 0, 1, 0)", "y = x[ok]"),
        ("ok = x > 0", "y = x[ok[i]]"),
        ("t = x.max()", "y = x[:t]"),
        ("t = lengths[0]", "y = x[:t]"),
        ("t = lengths[0]\r", "y = x[:t]"),
        ("t = x.sum()", "if t > 0:"),
        ("t = x.sum()", "if i < t:"),
        ("t = x.sum()", "while i != t:"),
        ("t = x.sum()", "n = int(t)"),
        ("t, i = x.max(0)", "if t > 0:"),
        ("t = x[-1, 0] + 1", "for i in range(t):"),
        ("t = x[k]", "n = max(t, 1)"),
        ("ok = x!=0", "y = x[ok]"),
        ("ok = (a[:, 0] >0) * (a[:, 1] >0)", "y = x[ok]"),
        ("t = x.max()\nrest = n - self.k - t", "y = x[:rest]"),
        ("n, t = pair[0], pair[1]\nlast = self.start + 1 + t", "if last > self.size:"),
        ("for t in torch.unique(x):", "if t == 0:"),
        ("for i, t in enumerate(steps):", "assert not t < -1"),
    ],
)
def test_what_an_assignment_shows(assigned: str, line: str) -> None:
    assert line in found(f"{assigned}\n{line}\n    pass\n")
    assert line not in found(f"{line}\n    pass\n")


def test_a_parameter_that_is_asked() -> None:
    assert "if self.eta <= 0:" in found("self.eta = nn.Parameter(torch.ones(1))\nif self.eta <= 0:\n    pass\n")
    assert [] == found("self.eta = 3\nif self.eta <= 0:\n    pass\n")


def test_a_sum_that_calls_something() -> None:
    assert [] == found("t = x.size(0)\nrest = n - t\ny = x[:rest]\n")
    assert "y = x[:rest]" not in found("t = x.sum()\nrest = f(t)\ny = x[:rest]\n")
    assert "y = x[:a]" not in found("a = b + 1\nb = a + 1\ny = x[:a]\n")


def test_a_name_that_ends_like_another() -> None:
    assert [] == found("not_ok = y\nnok = x > 0\ny = x[ok]\n")


def test_a_loop_whose_index_takes_rows() -> None:
    assert ["for i in range(n):"] == found("for i in range(n):\n    y = x[i]\n")
    assert ["for i in range(n):"] == found("for i in range(n):\n    y = x[i, 0]\n")
    assert "for i in np.arange(n):" in found("for i in np.arange(n):\n    y = x[i]\n")
    assert [] == found("for i in range(n):\n    y = x[j]\n")
    assert [] == found("for i in range(n):\n" + "    y = 1\n" * 500 + "    y = x[i]\n")


def test_a_bound_that_a_loop_takes_out_of_something() -> None:
    assert "y = x[:n]" in found("for n in lengths:\n    y = x[:n]\n")
    assert "y = x[a : a + n]" in found("for i, (n, m) in enumerate(pairs):\n    y = x[a : a + n]\n")
    assert [] == found("for n in range(4):\n    y = x[:n]\n")


def test_what_a_loop_takes_out_of_something_as_a_number() -> None:
    assert "n = int(n)" in found("for n in lengths:\n    n = int(n)\n")
    assert ["y = [float(n) for n in lengths]"] == found("y = [float(n) for n in lengths]\n")
    assert [] == found("for n in range(4):\n    y = float(n)\n")
    assert [] == found("n = 3\ny = float(n)\n")


@pytest.mark.parametrize(
    "loop",
    [
        "for t, h, w in grid:",
        "for i, size in enumerate(sizes):",
        "for row in rows:",
        "for a, b in zip(x, y):",
        "for a, b, c, d, e, f, g in zip(first, second, third, fourth, fifth, sixth, seventh):",
        "for i, place in enumerate(self.modes):",
        'for n in batch["counts"]:',
        'for i, n in enumerate(batch["counts"]):',
        "for n in batch.counts:",
        "for a, b in zip(*torch.broadcast_tensors(x, y.unsqueeze(-1))):",
    ],
)
def test_a_loop_over_what_a_name_holds(loop: str) -> None:
    assert [loop] == found(f"{loop}\n    y = 1\n")


@pytest.mark.parametrize(
    "loop",
    ["for i in range(n):", "for k, v in pairs.items():", "for a in zip(*x):", "for layer in self.layers:"],
)
def test_a_loop_over_no_name(loop: str) -> None:
    assert [] == found(f"{loop}\n    y = 1\n")


def test_an_option_whatever_takes_it() -> None:
    assert ["unit = Unit("] == found("unit = Unit(\n    (1, [2]),\n    detect_anomaly=True,\n)\n")
    assert ["unit = Unit(detect_anomaly=args.check)"] == found("unit = Unit(detect_anomaly=args.check)\n")
    assert [] == found("unit = Unit(detect_anomaly=False, x=None)\ncheck(detect_anomaly == 1)\nf(detect_anomaly)\n")


def test_a_mask_in_another_shape() -> None:
    ok = "ok = x > 0\nwide = ok.unsqueeze(2).expand_as(x)\nflat = wide.view(-1)\n"
    assert "y = x[flat]" in found(f"{ok}y = x[flat]\n")
    assert "y = x[flat]" not in found(f"{ok.replace('>', '+')}y = x[flat]\n")
    assert "y = x[turns]" not in found("turns = rounds.view(1)\nrounds = turns.view(1)\ny = x[turns]\n")


def test_a_row_of_a_mask() -> None:
    kept = "all_kept = x > 0\nfor i in range(n):\n    kept = all_kept[i]\n"
    assert "y = x[kept]" in found(f"{kept}    y = x[kept]\n")
    assert "y = x[kept]" not in found("".join([kept.replace(">", "+").replace("kept", "rows"), "    y = x[rows]\n"]))
    assert "y = x[row]" not in found("all = x > 0\nrow = all[0].sum(1)\ny = x[row]\n")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("if sizes[i]==0:", "if sizes[i]==0:"),
        ("if best<=now[i]:", "if best<=now[i]:"),
        ("FP_num=torch.sum(x)\nif FP_num > eps:", "if FP_num > eps:"),
        ("kept=((x==0)&(y>1))\ny = x[kept]", "y = x[kept]"),
        ("if node.tokens[-1] == end:", "if node.tokens[-1] == end:"),
        ("if torch.isnan(loss) or stop:", "if torch.isnan(loss) or stop:"),
        ("t = rows[i, :]\nword = words[t[i]]", "word = words[t[i]]"),
        ("n = max(lengths)", "n = max(lengths)"),
        ("n = sum(lengths)", "n = sum(lengths)"),
        ("n = x.sum()\nfor i in range(0, n, 2):", "for i in range(0, n, 2):"),
        ("if cached and (\n    ready or mask.all()\n):", "ready or mask.all()"),
        ("for i, n in enumerate(x): counts[self.last, n] += 1", "for i, n in enumerate(x): counts[self.last, n] += 1"),
    ],
)
def test_however_it_is_written(text: str, line: str) -> None:
    assert line in found(f"{text}\n    pass\n")


def test_what_is_no_number_of_a_tensor() -> None:
    assert [] == found("t = rows.copy()\nword = words[t]\n")
    assert [] == found("n = max(lengths, key=len)\nm = net.max(lengths)\n")
    assert [] == found("n = sum(lengths, start)\nm = net.sum(lengths)\nfor i in range(0, n):\n    pass\n")
    assert [] == found("n = net.land(x.sum())\n")
    assert [] == found("for i in range(n):\n    y = 1\ncounts[last, i] += 1\n")


@pytest.mark.parametrize("line", ["if self.low <= 0:", "if ready and self.low < 1:", "n = int(self.low)"])
def test_what_is_asked_of_a_parameter(line: str) -> None:
    assert line in found(f"self.low = nn.Parameter(x)\n{line}\n    pass\n")
    assert [] == found(f"self.low = Parameters(x)\nself.lower = nn.Parameter(x)\n{line}\n    pass\n")


def test_a_file_without_torch() -> None:
    assert [] == found("y = x[x > 0]\n", before="import numpy\n")


def found(text: str, before: str = "import torch\n") -> list[str]:
    """The lines that are found, without their blanks."""
    data = (before + text).encode()
    lines = data.decode().split("\n")
    return [lines[number - 1].strip() for number in sorted(unnamed.lines(Source.of("a.py", data)))]
