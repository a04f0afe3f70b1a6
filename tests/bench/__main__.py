"""Time torchlint and its peers in turn on the same files, and write tables and a plot to docs/speed.md.

    pip install -e '.[bench]'
    python -m tests.bench --install PEERS                                     # the peers, a virtual environment each
    python -m tests.bench --peers PEERS --checkout FOLDER                     # clone timm, diffusers, transformers; all sections
    python -m tests.bench --peers PEERS timm=FOLDER transformers=FOLDER       # the same for folders that are there
    python -m tests.bench warm hook timm=FOLDER                               # some sections; the others' tables stay

Sections: cold (each tool on each repository), growth (time against lines), warm (a cache that knows all or all but one),
hook (five files), file (one file, and keystrokes in it), sieve (what --no-sieve finds besides). What was measured is kept in
tests/bench/measured.json, from which the page is written; `python -m tests.bench page` writes it anew.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from . import page, tools
from .sections import SECTIONS, Plan

ROOT = Path(__file__).parents[2]
MEASURED = Path(__file__).with_name("measured.json")
PAGE = ROOT / "docs/speed.md"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="*", metavar="SECTION|NAME=FOLDER")
    parser.add_argument(
        "--peers", type=Path, metavar="FOLDER", help="where --install put the peers; without it, torchlint alone"
    )
    parser.add_argument("--install", type=Path, metavar="FOLDER", help="install the peers there")
    parser.add_argument("--checkout", type=Path, metavar="FOLDER", help="clone the repositories there that are not")
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="rounds (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="default: %(default)s")
    parser.add_argument(
        "--slow-peers-lines",
        type=int,
        default=150_000,
        metavar="N",
        help="lines up to which TorchFix, Fixit and torch-preflight are run (default: %(default)s)",
    )
    options = parser.parse_intermixed_args()
    if options.install is not None:
        tools.install(options.install)
        return
    sections = [one for one in options.what if "=" not in one and one != "page"] or list(SECTIONS)
    unknown = [one for one in sections if one not in SECTIONS]
    if unknown:
        parser.error(f"no section {', '.join(unknown)}; there are {', '.join(SECTIONS)}, page")
    repositories = {
        name: Path(folder).resolve() for name, _, folder in (one.partition("=") for one in options.what if "=" in one)
    }
    if options.checkout is not None:
        repositories.update(tools.checkout(options.checkout))
    missing = [f"{name}={folder}" for name, folder in repositories.items() if not folder.is_dir()]
    if missing:
        parser.error(f"no such folder: {', '.join(missing)}")
    if "page" not in options.what:
        if not repositories:
            parser.error("no repository: give NAME=FOLDER or --checkout FOLDER")
        peers = options.peers.resolve() if options.peers is not None else None
        measure(sections, Plan(repositories, peers, options.repeat, options.jobs, options.slow_peers_lines))
    write()


def measure(sections: list[str], plan: Plan) -> None:
    """Measure section by section; each is kept as soon as it is there."""
    for name in sections:
        print(name, file=sys.stderr)
        found = {
            "versions": tools.versions(plan.peers),
            "jobs": plan.jobs,
            "repeat": plan.repeat,
            "data": SECTIONS[name](plan),
        }
        MEASURED.write_text(json.dumps({**kept(), name: found}, indent=1, sort_keys=False) + "\n")


def kept() -> dict[str, object]:
    return dict(json.loads(MEASURED.read_text())) if MEASURED.exists() else {}


def write() -> None:
    measured: dict[str, dict[str, dict[str, object]]] = kept()  # type: ignore[assignment]
    if "growth" in measured:
        try:
            page.plot(measured["growth"]["data"], PAGE.with_name(page.PLOT))
        except ImportError:
            sys.exit("The plot needs matplotlib: pip install -e '.[bench]'")
    PAGE.write_text(page.render(PAGE.read_text(), measured))


if __name__ == "__main__":
    main()
