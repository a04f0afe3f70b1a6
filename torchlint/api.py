"""torchlint from Python: `from torchlint import check`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .lint.run import Result, lint
from .rule import load
from .settings import config, discover
from .settings.home import around, project_root
from .system.failure import Failure

Paths = str | Path | Iterable[str | Path] | Mapping[str, bytes | str]


def check(
    paths: Paths = ".",
    *,
    select: Iterable[str] | None = None,
    ignore: Iterable[str] = (),
    extend_select: Iterable[str] = (),
    preview: bool | None = None,
    target_torch: str | None = None,
    configuration: str | Path | None = None,
    isolated: bool = False,
) -> Result:
    """Lint files and directories as `torchlint check` does, or texts given as a mapping from path to content.

    The rest of the project around the paths is read where it matters; files of a program that nothing imports count
    where they are named themselves. `select`, `ignore`, `extend_select`, `preview` and `target_torch` go before the
    configuration file, which is the closest one at or above the paths, or `configuration`; none if `isolated`.

    Returns the findings in order of path and place; a file that can't be linted makes one of rule TL001 or an entry of
    `errors`, never an exception. Raises Failure for settings that can't be used and for paths that aren't there.
    """
    options: dict[str, Any] = {
        "select": None if select is None else list(select),
        "ignore": list(ignore) or None,
        "extend-select": list(extend_select) or None,
        "preview": preview,
        "target-torch": target_torch,
    }
    given = {key: value for key, value in options.items() if value is not None}
    named = [] if configuration is None else [str(configuration)]
    asked = [paths] if isinstance(paths, str | Path) else list(paths)
    settings = config.load(load().values(), given, near=around(map(str, asked)), config=named, isolated=isolated)
    if isinstance(paths, Mapping):
        texts = {path: text.encode() if isinstance(text, str) else text for path, text in paths.items()}
        return lint(texts, settings, context=_others(map(Path, texts), settings))
    found = discover.discover(asked, settings)
    if found.errors:
        raise Failure(str(found.errors[0]))
    files = found.files
    return lint(files, settings, context=_others(files, settings))


def _others(files: Iterable[Path], settings: config.Settings) -> discover.ProjectFiles:
    """The other files of the project."""
    return discover.ProjectFiles(project_root(settings.project), files, settings)
