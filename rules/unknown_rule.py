from __future__ import annotations

from collections.abc import Iterator

from torchlint.rule import FileSite, Finding, rule


@rule(
    "TL003",
    shapeless="it reads the text and what the tool says of it, no tree",
    scope="file",
    impact="low",
    category="tool",
)
def unknown_rule(site: FileSite) -> Iterator[Finding]:
    """A suppression comment names a rule that does not exist.

    ## What it does

    Finds codes and names in suppressions that no rule has (`# torchlint: ignore[TL1O1]`), and comments that begin with
    `# torchlint:` and are no suppression (`# torchlint: ingore`, a bracket that is not closed, an `ignore-file` behind
    code). In `# noqa`, only codes that start with `TL` are taken for torchlint's.

    ## Why is this bad?

    The comment silences nothing, and its author believes that it does.

    ## When it does not matter

    Another tool may use codes that start with `TL`. Put `TL003` into `ignore` then.
    """
    if site.suppressions is None:
        return
    for unknown in site.suppressions.unknown(site.known):
        if unknown.text.startswith("#"):
            message = f"`{unknown.text}` is no suppression; those are `ignore`, `ignore[CODE]` and, on its own line, `ignore-file`"
        else:
            message = f"there is no rule `{unknown.text}`"
        yield site.finding(message, unknown.line, unknown.column, unknown.end_column)
