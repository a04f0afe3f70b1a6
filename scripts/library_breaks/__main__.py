"""Run the models of an installed transformers under torch.compile, note where Dynamo breaks their graphs, and judge findings by that.

    python scripts/library_breaks run --model llama.LlamaForCausalLM --mode eval --out llama.json
    python scripts/library_breaks sweep --out FOLDER [--only REGEX] [--timeout 120] [--minutes 60]
    python scripts/library_breaks judge --runs FOLDER --findings findings.json --package FOLDER/transformers [--table TSV]

`run` builds one class with a small random configuration, runs it eagerly (noting the lines executed), compiles it with
backend="eager", and writes one JSON object: the graph breaks, each at the innermost line of transformers, and the lines
that Dynamo traced. `sweep` does so for every folder of transformers/models, a process for each class and mode; those
whose file is in FOLDER already are left out, so that it may be ended and begun again. Modes: eval (no gradients), train
(model.train()) and labels (eval with labels). Both need torch and transformers, and nothing of torchlint.

`judge` needs neither: it holds what `torchlint check --output-format json` said of the package, with
`compiled = ["transformers.models.*:*.forward"]`, against the runs.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", TOKENIZERS_PARALLELISM="false")

MODES = ("eval", "train", "labels")


def main() -> None:
    """Reads the command line, and runs one or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    one = verbs.add_parser("run", help="one class in one mode")
    one.add_argument("--model", required=True, metavar="FOLDER.CLASS")
    one.add_argument("--mode", choices=MODES, default="eval")
    one.add_argument("--out", type=Path, required=True)
    every = verbs.add_parser("sweep", help="all of them")
    every.add_argument("--out", type=Path, required=True)
    every.add_argument("--only", default="", metavar="REGEX", help="of FOLDER.CLASS")
    every.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    every.add_argument("--again", action="store_true", help="also those that failed before")
    every.add_argument("--minutes", type=float, default=60.0, help="begin no further run after these")
    for verb in (one, every):
        verb.add_argument("--timeout", type=int, default=120, metavar="SECONDS")
    judged = verbs.add_parser("judge", help="findings against the runs")
    judged.add_argument("--runs", type=Path, required=True)
    judged.add_argument("--findings", type=Path, required=True)
    judged.add_argument("--package", type=Path, required=True)
    judged.add_argument("--table", type=Path, help="where the lines that broke are written, with what was found")
    options = parser.parse_args()
    if options.verb == "judge":
        from judging import judge

        judge(options.runs, options.findings, options.package, options.table)
        return
    from running import run
    from sweeping import sweep

    if options.verb == "run":
        run(options.model, options.mode, options.out, options.timeout)
    else:
        sweep(options.out, options.only, options.timeout, options.minutes, options.modes, options.again)


if __name__ == "__main__":
    main()
