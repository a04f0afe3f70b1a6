from __future__ import annotations

from collections.abc import Iterator

from torchlint.rule import FileSite, Finding, rule


@rule(
    "TL004",
    shapeless="it reads the text and what the tool says of it, no tree",
    scope="file",
    severity="error",
    impact="low",
    category="tool",
)
def fix_failed(site: FileSite) -> Iterator[Finding]:
    """A fix would have broken the file and was taken back.

    ## What it does

    Reports a rule whose fixes left a file that Python can't parse, needed a character that the file's encoding lacks, or
    undid each other for ever. Every file is parsed after each pass of fixes; those of such a rule are taken back in the
    file, and the fixes of all other rules stay.

    ## Why is this bad?

    It is a bug in torchlint. The file is unharmed, and the finding is still reported for you to repair by hand.

    ## When it does not matter

    It always does: please report it with the lines around the finding.
    """
    for finding in site.failed:
        message = f"the fix of {finding.code} ({finding.name}) would break the file and was taken back"
        end = finding.end_column if finding.end_line == finding.line else 0
        yield site.finding(message, finding.line, finding.column, end)
