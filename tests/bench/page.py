"""The page of measurements: each section's table between its own markers in docs/speed.md, and the plot."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Data = Mapping[str, Any]
OWN = "torchlint, all rules"
PLOT = "speed.svg"


def render(page: str, measured: Data) -> str:
    """The page with the tables of what was measured in place of what stood there; raises ValueError where a marker lacks."""
    for name, show in {**SHOWN, "bounds": bounds}.items():
        if name != "bounds" and name not in measured:
            continue
        pattern = re.compile(rf"(<!-- measured: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        if not pattern.search(page):
            raise ValueError(f"docs/speed.md has no place for {name}: <!-- measured: {name} --> and <!-- end -->")
        text = bounds(measured) if name == "bounds" else f"{_when(measured[name])}\n\n{show(measured[name]['data'])}"
        page = pattern.sub(lambda found, text=text: f"{found[1]}\n{text}\n\n{found[2]}", page)  # type: ignore[misc]
    return page


def _when(section: Data) -> str:
    return f"{section['versions']}; {section['jobs']} jobs, medians of {section['repeat']} rounds in turn."


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A table in Markdown; all columns but the first ones are figures."""
    rule = ["---"] * left + ["---:"] * (len(head) - left)
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))


def seconds(value: float) -> str:
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"


def cold(data: Data) -> str:
    return "\n\n".join(_repository(name, one) for name, one in data.items())


def _repository(name: str, one: Data) -> str:
    own = one["rows"][OWN]["cpu"]
    rows = [_row(tool, row, own) for tool, row in one["rows"].items()]
    beside = one["slow"][OWN]["cpu"]
    whole = one["part"]["lines"] == one["lines"]
    for tool, row in one["slow"].items():
        if tool != OWN:
            rows.append(_row(tool if whole else f"{tool} ¹", row, beside))
    at = f" at {one['commit']}" if one["commit"] else ""
    text = f"### {name}{at}: {one['files']:,} files, {one['lines']:,} lines\n\n"
    text += table(("tool", "CPU s", "wall s", "peak MiB", "CPU to torchlint's", "runs"), rows)
    if not whole:
        part, own_part = one["part"], one["slow"][OWN]
        text += (
            f"\n\n¹ On {part['files']:,} of the files with {part['lines']:,} lines, "
            f"where torchlint takes {seconds(own_part['cpu'])} s of CPU; the ratio is to that."
        )
    return text


def _row(tool: str, row: Data, own: float) -> tuple[str, ...]:
    figures = seconds(row["cpu"]), seconds(row["wall"]), f"{row['peak']:.0f}"
    return (tool, *figures, f"{row['cpu'] / own:.2f}", str(row["runs"]))


def growth(data: Data) -> str:
    sizes = [point["lines"] for point in data[OWN]]
    rows = []
    for tool, points in data.items():
        by_size = {point["lines"]: point for point in points}
        rows.append((tool, *(seconds(by_size[size]["cpu"]) if size in by_size else "" for size in sizes)))
    plot = f"![CPU seconds against lines, both logarithmic]({PLOT})"
    return f"{plot}\n\nCPU seconds by lines:\n\n{table(('tool', *(f'{size:,}' for size in sizes)), rows)}"


def warm(data: Data) -> str:
    rows = [
        (
            name,
            f"{one['files']:,}",
            *(seconds(one[case]["wall"]) for case in ("first", "same", "changed")),
            *(seconds(one[case]["cpu"]) for case in ("first", "same", "changed")),
            f"`{one['changed file']}`",
        )
        for name, one in data.items()
    ]
    head = (
        "repository",
        "files",
        "filling the cache, wall s",
        "nothing changed",
        "one file changed",
        "CPU s",
        "nothing changed",
        "one file changed",
        "which",
    )
    return table(head, rows)


def hook(data: Data) -> str:
    rows = [
        (name, f"{one['lines']:,}", tool, f"{row['wall']:.3f}", f"{row['cpu']:.3f}", f"{row['peak']:.0f}")
        for name, one in data.items()
        for tool, row in one["rows"].items()
    ]
    return table(("repository", "lines of the five", "run", "wall s", "CPU s", "peak MiB"), rows)


def file(data: Data) -> str:
    rows = []
    for one in data.values():
        rows += [
            (f"`{one['file']}`", f"{one['lines']:,}", tool, f"{row['wall']:.3f}", f"{row['cpu']:.3f}")
            for tool, row in one["rows"].items()
        ]
        keys = one["editor"]
        rows.append(
            (f"`{one['file']}`", f"{one['lines']:,}", "editor, a keystroke", "", f"{keys['median'] / 1000:.3f}")
        )
    return table(("file", "lines", "run", "wall s", "CPU s"), rows)


def sieve(data: Data) -> str:
    rows = [
        (name, f"{one['files']:,}", f"{one['lines']:,}", f"{one['findings']:,}", str(one["differences"]))
        for name, one in data.items()
    ]
    return table(("repository", "files", "lines", "findings", "differences"), rows)


SHOWN: dict[str, Callable[[Data], str]] = {
    "cold": cold,
    "growth": growth,
    "warm": warm,
    "hook": hook,
    "file": file,
    "sieve": sieve,
}


# The bounds


@dataclass(frozen=True)
class Bound:
    """One promise: what was measured, how much it may be."""

    case: str
    measured: float
    most: float
    unit: str

    @property
    def row(self) -> tuple[str, ...]:
        return (
            self.case,
            self._text(self.most),
            self._text(self.measured),
            "yes" if self.measured <= self.most else "no",
        )

    def _text(self, value: float) -> str:
        if self.unit == "part":
            return f"1/{1 / value:.0f}"
        return f"{value:.3g} {self.unit}".strip()


def bounds(measured: Data) -> str:
    """All that issue 12 asks of speed and that is measured here, in one table."""
    rows = [bound.row for bound in _bounds({name: section["data"] for name, section in measured.items()})]
    return table(("", "at most", "measured", "reached"), rows)


def _bounds(data: Data) -> Iterator[Bound]:
    cold_runs = data.get("cold", {})
    for name, wall in (("timm", None), ("transformers", 4.5), ("diffusers", 6.0)):
        if name in cold_runs:
            yield from _cold_bounds(name, cold_runs[name], wall)
    for name, one in data.get("warm", {}).items():
        if name == "transformers":
            case = f"{name}, {one['files']:,} files"
            yield Bound(f"{case}, warm, nothing changed", one["same"]["wall"], 0.05, "s")
            yield Bound(f"{case}, warm, one file changed that others depend on", one["changed"]["wall"], 1.5, "s")
    for name, one in data.get("hook", {}).items():
        yield Bound(f"five files of {name} in a hook, cold", one["rows"]["cold"]["wall"], 0.2, "s")
        yield Bound(f"five files of {name} in a hook, cached", one["rows"]["cached"]["wall"], 0.05, "s")
        for run, most in (("of a repository, cold", 0.2), ("of a repository, behind an edit", 0.5)):
            if run in one["rows"]:
                yield Bound(f"five files of {name} in a hook, {run}", one["rows"][run]["wall"], most, "s")
    for size, most, typed in (("1000", 0.30, 30), ("5000", 0.40, 40)):
        if size in data.get("file", {}):
            one = data["file"][size]
            yield Bound(f"one file of {one['lines']:,} lines, a process", one["rows"][OWN]["wall"], most, "s")
            yield Bound(
                f"one file of {one['lines']:,} lines, a keystroke in the editor", one["editor"]["median"], typed, "ms"
            )
    for name, one in data.get("sieve", {}).items():
        yield Bound(f"findings of {name} that differ with --no-sieve", one["differences"], 0, "")


def _cold_bounds(name: str, one: Data, wall: float | None) -> Iterator[Bound]:
    own = one["rows"][OWN]
    if wall is not None:
        yield Bound(f"{name}, cold, wall", own["wall"], wall, "s")
    if "TorchFix" in one["slow"] and name == "timm":
        ratio = one["slow"][OWN]["cpu"] / one["slow"]["TorchFix"]["cpu"]
        part = f" ({one['part']['lines']:,} lines)" if one["part"]["lines"] < one["lines"] else ""
        yield Bound(f"{name}{part}, cold, CPU to TorchFix's", ratio, 1 / 150, "part")
    if "Ruff, default rules" in one["rows"] and name == "timm":
        yield Bound(
            f"{name}, cold, CPU to Ruff's default rules",
            own["cpu"] / one["rows"]["Ruff, default rules"]["cpu"],
            3,
            "times",
        )
    peak = max(own["peak"], one["rows"]["torchlint, all rules, one process"]["peak"])
    yield Bound(f"{name}, cold, memory of one process", peak, 500, "MiB")


def plot(data: Data, target: Path) -> None:
    """CPU seconds against lines. Raises ImportError without matplotlib."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    matplotlib.rcParams["svg.hashsalt"] = "torchlint"  # the same file for the same figures
    figure, axes = plt.subplots(figsize=(8, 5))
    for tool, points in data.items():
        ours = tool.startswith("torchlint")
        axes.plot(
            [point["lines"] for point in points],
            [point["cpu"] for point in points],
            marker="o" if ours else "s",
            linewidth=2 if ours else 1,
            linestyle="-" if ours else "--",
            label=tool,
        )
    axes.set(xscale="log", yscale="log", xlabel="lines", ylabel="CPU seconds, all processes")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(fontsize="small")
    figure.savefig(target, metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)
