"""The tables of docs/accuracy.md from docs/accuracy/: `python scripts/accuracy.py [--check | --count REPOSITORY.json...]`.

repositories.json: where a repository is, at which commit, how many lines of Python it has.
counts.json: findings of the default set, by repository and rule, those of a rule on one line as one; `--count` makes it from what
`torchlint check . --isolated --output-format json` printed in each.
unseen-SET.jsonl: hand-labelled lines, for a scorer alone; sets.json: who labelled a set, and what a scorer said of it (all rules, default set):
"first" before anything was mended, "unread" with later facts while its labels were still shut, "opened" with what it led to.
kinds.json: what a scorer said of many sets together, by kind of fault, in repositories whose missed lines were looked at ("opened") and in others
("shut"): how many bad lines and traps there are, and of each how many are found, with all rules and the default set, before and now.
unseen*.tsv: default findings that were read on unseen repositories; readings.json: how they were drawn, and at which commit;
read.tsv: the repositories with their commits, where those were written down.
The other *.jsonl: one judged finding a line: code, repo, path, line, verdict (right, debatable, wrong), reason (a sentence), and
`mended` where the finding is no longer reported: what was missing, or why a right one was given up.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from torchlint.rule import load

PAGE = Path(__file__).parents[1] / "docs" / "accuracy.md"
DATA = PAGE.with_suffix("")
READ_WHOLE = ("gpt-fast", "nanoGPT", "litgpt", "torchtitan")  # well-kept performance code: each finding is judged
TOOL = "TL00"  # findings about the source or the comments, not about torch
Row = dict[str, Any]


def judgements() -> list[Row]:
    files = [file for file in sorted(DATA.glob("*.jsonl")) if not file.name.startswith("unseen")]
    rows = [json.loads(row) for file in files for row in file.read_text("utf-8").splitlines()]
    return sorted(rows, key=lambda row: (row["code"], row["repo"], row["path"], row["line"]))


def share(verdicts: Counter[str]) -> float | None:
    """Right ones among all, in per cent; a debatable one counts as half."""
    total = verdicts.total()
    return 100 * (verdicts["right"] + verdicts["debatable"] / 2) / total if total else None


def percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1f} %".replace("100.0", "100")


def by_rule(counts: dict[str, dict[str, int]], rows: list[Row]) -> Iterable[str]:
    yield "| rule | findings | repositories | read | right | debatable | wrong | precision | at the first reading | gone since |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    total, first_total, findings = Counter[str](), Counter[str](), 0
    for code, rule in load().items():
        read = [row for row in rows if row["code"] == code]
        found = [codes[code] for codes in counts.values() if codes.get(code)]
        default = rule.set == "default" and not code.startswith(TOOL)
        if not default and not read:
            continue
        now = Counter(row["verdict"] for row in read if "mended" not in row and default)
        first = Counter(row["verdict"] for row in read)
        total, first_total, findings = total + now, first_total + first, findings + sum(found)
        moved = "" if default else f", {rule.set} since"
        yield row_of(f"[{code}](rules/{rule.name}.md){moved}", sum(found), len(found), now, first)
    yield row_of("**all**", findings, len(counts), total, first_total)


def row_of(name: str, findings: int, repositories: int, now: Counter[str], first: Counter[str]) -> str:
    cells = [findings, repositories, now.total(), now["right"], now["debatable"], now["wrong"]]
    shares = [percent(share(now)), percent(share(first)), first.total() - now.total()]
    return f"| {name} | {' | '.join(map(str, cells + shares))} |"


def by_repository(counts: dict[str, dict[str, int]], repositories: dict[str, Row]) -> Iterable[str]:
    yield "| repository | commit | lines | findings | warnings and errors | findings per 1,000 lines |"
    yield "|---|---|---:|---:|---:|---:|"
    rules = load()
    for name, about in sorted(repositories.items(), key=lambda item: item[0].lower()):
        codes = {code: n for code, n in counts[name].items() if not code.startswith(TOOL)}
        found = sum(codes.values())
        loud = sum(n for code, n in codes.items() if rules[code].severity != "info")
        rate = f"{1000 * found / about['lines']:.2f}"
        yield f"| {about['source']} | {about['commit'][:12]} | {about['lines']:,} | {found} | {loud} | {rate} |"


def by_finding(rows: list[Row]) -> Iterable[str]:
    yield "| finding | judgement |"
    yield "|---|---|"
    for repo in READ_WHOLE:
        for row in rows:
            if row["repo"] == repo and "mended" not in row:
                yield f"| {repo}/{row['path']}:{row['line']} {row['code']} | {row['verdict']}: {row['reason']} |"


def by_set() -> Iterable[str]:
    """What was found of each set of labels, at its first reading and since."""
    yield "| set | files | bad | first reading: all / default | traps hit: all / default | still unread, with later facts | opened (development) |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    sets = json.loads((DATA / "sets.json").read_text("utf-8"))
    pooled, bads, traps = [0, 0, 0, 0], 0, 0
    for name, about in sets.items():
        rows = [json.loads(row) for row in (DATA / f"unseen-{name}.jsonl").read_text("utf-8").splitlines()]
        counted = Counter(row["verdict"] for row in rows if row["confidence"] >= 0.5)
        bad, trap, files = counted["bad"], counted["trap"], len({(row["repo"], row["path"]) for row in rows})
        first = about["first"]
        if about["by"] == "a reader":
            bads, traps = bads + bad, traps + trap
            pooled = [one + two for one, two in zip(pooled, [*first["bad"], *first["traps"]], strict=True)]
        later = both(about["unread"]["bad"], bad) if "unread" in about else ""
        opened = both(about["opened"]["bad"], bad) if "opened" in about else ""
        mark = "" if about["by"] == "a reader" else f" (by {about['by']})"
        yield f"| {name}{mark} | {files} | {bad} | {both(first['bad'], bad)} | {both(first['traps'], trap)} | {later} | {opened} |"
    yield f"| **labelled by readers, each at its first reading** | | {bads:,} | **{both(pooled[:2], bads)}** | **{both(pooled[2:], traps)}** | | |"


def by_kind() -> Iterable[str]:
    """What was found of all sets of some repositories together, by kind of fault, before a day's work and behind it."""
    groups = json.loads((DATA / "kinds.json").read_text("utf-8"))
    yield (
        "| kind | "
        + " | ".join(f"bad, {name} | before: all / default | now: all / default" for name in groups)
        + " | traps | hit now: all / default |"
    )
    yield "|---|" + "---:|" * (3 * len(groups) + 2)
    total: dict[str, Counter[str]] = {name: Counter() for name in groups}
    for kind in sorted({kind for kinds in groups.values() for kind in kinds}):
        rows = {name: Counter[str](kinds.get(kind, {})) for name, kinds in groups.items()}
        for name, row in rows.items():
            total[name].update(row)
        yield kind_row(kind, rows)
    yield kind_row("**together**", total)


def kind_row(kind: str, groups: dict[str, Counter[str]]) -> str:
    cells = [kind]
    for row in groups.values():
        cells += [f"{row['bad']:,}", *(pair(row, f"{when}, bad", "bad") for when in ("before", "now"))]
    whole = sum(groups.values(), Counter[str]())
    return "| " + " | ".join([*cells, f"{whole['traps']:,}", pair(whole, "now, traps", "traps")]) + " |"


def pair(row: Counter[str], hits: str, total: str) -> str:
    return both([row[f"{hits}, all"], row[f"{hits}, default"]], row[total]) if row[total] else ""


def both(hit: list[int], total: int) -> str:
    return " / ".join(f"{100 * one / total:.1f}" for one in hit) + " %"


def by_reading() -> Iterable[str]:
    """What was right of the default findings that were read on unseen repositories."""
    yield "| read | drawn | at | findings | right | debatable | wrong | right of right and wrong | a debatable one as half |"
    yield "|---|---|---|---:|---:|---:|---:|---:|---:|"
    whole = Counter[str]()
    for about in json.loads((DATA / "readings.json").read_text("utf-8")):
        with (DATA / about["file"]).open(encoding="utf-8", newline="") as judged:
            verdicts = Counter(row["verdict"] for row in csv.DictReader(judged, delimiter="\t", quoting=csv.QUOTE_NONE))
        whole += verdicts
        name = about["file"].removeprefix("unseen").removeprefix("-").removesuffix(".tsv") or "2026-11-20"
        yield f"| {name} | {about['drawn']} | {about.get('at', '')} | {judged_cells(verdicts)} |"
    yield f"| **all** | | | {judged_cells(whole)} |"


def judged_cells(verdicts: Counter[str]) -> str:
    decided = verdicts["right"] + verdicts["wrong"]
    counts = [verdicts.total(), verdicts["right"], verdicts["debatable"], verdicts["wrong"]]
    return " | ".join([*map(str, counts), percent(100 * verdicts["right"] / decided), percent(share(verdicts))])


def tables() -> dict[str, Iterable[str]]:
    counts = json.loads((DATA / "counts.json").read_text("utf-8"))
    repositories = json.loads((DATA / "repositories.json").read_text("utf-8"))
    rows = judgements()
    return {
        "sets": by_set(),
        "kinds": by_kind(),
        "readings": by_reading(),
        "rules": by_rule(counts, rows),
        "repositories": by_repository(counts, repositories),
        "findings": by_finding(rows),
    }


def fill(text: str) -> str:
    for name, lines in tables().items():
        body = f"<!-- {name} -->\n\n" + "\n".join(lines) + f"\n\n<!-- end of {name} -->"
        before, _, rest = text.partition(f"<!-- {name} -->")
        text = before + body + rest.partition(f"<!-- end of {name} -->")[2]
    return text


def count(reports: list[Path]) -> None:
    path = DATA / "counts.json"
    counts = json.loads(path.read_text("utf-8")) if path.exists() else {}
    for report in reports:
        findings = json.loads(report.read_text("utf-8"))
        places = {(finding["code"], finding["filename"], finding["location"]["row"]) for finding in findings}
        codes = Counter(code for code, _, _ in places)
        counts[report.stem] = dict(sorted(codes.items()))
    path.write_text(json.dumps(dict(sorted(counts.items())), indent=1) + "\n", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the page is stale")
    parser.add_argument("--count", nargs="+", type=Path, default=[], metavar="REPOSITORY.json")
    options = parser.parse_args()
    if options.count:
        count(options.count)
    text = PAGE.read_text("utf-8")
    if not options.check:
        PAGE.write_text(fill(text), "utf-8")
    elif fill(text) != text:
        raise SystemExit("docs/accuracy.md is stale: run `python scripts/accuracy.py`")


if __name__ == "__main__":
    main()
