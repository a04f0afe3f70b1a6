from __future__ import annotations

from collections.abc import Iterator

from torchlint.rule import FileSite, Finding, rule


@rule(
    "TL002",
    shapeless="it reads the text and what the tool says of it, no tree",
    scope="file",
    fix="safe",
    impact="low",
    category="tool",
)
def unused_suppression(site: FileSite) -> Iterator[Finding]:
    """A suppression comment silences nothing.

    ## What it does

    Finds codes in `# noqa: TL101` and `# torchlint: ignore[TL101]` that no finding needs, and comments
    `# torchlint: ignore` and `# torchlint: ignore-file` that silence nothing at all. A code is judged only if its rule
    is on for the file. A bare `# noqa` and the codes of other tools never are, for they may serve another linter.

    ## Why is this bad?

    It tells the reader of a cost that is not there any more, and it will hide the next one that appears on its line.

    ## When it does not matter

    Where a finding depends on the torch version or on other files, a suppression may be needed in one run and not in the
    next. Name this rule too (`# noqa: TL101, TL002`) and the comment is left alone.

    ## Fix safety

    Removes the code, or the comment where nothing else is in it. Comments do not change what a program does.
    It is unsafe where words that belong to the comment would go with it (`# noqa: TL101 until #12 is done`).
    """
    if site.suppressions is None or site.error is not None:
        return
    for unused in site.suppressions.unused(site.known, site.enabled):
        message = f"`{unused.text}` silences nothing here"
        yield site.finding(message, unused.line, unused.column, unused.end_column, fix=unused.fix)
