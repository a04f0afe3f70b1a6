"""`python -m torchlint.trace JOB.json`: started by torchlint.evidence.tracing, not by people."""

import sys
from pathlib import Path

from torchlint.messages.job import Job
from torchlint.trace.child import run

if __name__ == "__main__":
    run(Job.from_json(Path(sys.argv[1]).read_text("utf-8")))
