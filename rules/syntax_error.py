from __future__ import annotations

from collections.abc import Iterator

from torchlint.rule import FileSite, Finding, rule


@rule(
    "TL001",
    shapeless="it reads the text and what the tool says of it, no tree",
    scope="file",
    severity="error",
    impact="low",
    category="tool",
)
def syntax_error(site: FileSite) -> Iterator[Finding]:
    """A file can't be read as Python, so nothing in it was looked at.

    ## What it does

    Reports, once for each file, where Python stops to understand it: a syntax error, Python 2, syntax that is newer than
    the Python that runs torchlint, a null byte, bytes that are no text in the file's encoding, or an expression that is
    nested too deeply for the parser. All other files are linted as usual.

    ## Why is this bad?

    No rule has looked at the file: that nothing is reported in it does not mean that nothing is wrong. Other files may
    be judged wrongly too where they depend on what it defines.

    ## When it does not matter

    Templates and data for tests are often no Python; those of cookiecutter, `{{cookiecutter.name}}.py`, are passed over. Leave them out with `extend-exclude`, or silence the rule in them
    with `per-file-ignores` or a line `# torchlint: ignore-file`. Selecting other rules does not turn this one off;
    `ignore = ["TL001"]` does.
    """
    if site.error is not None and "{{" not in site.path:  # no module has such a name
        yield site.finding(site.error.message, site.error.line, site.error.column)
