"""Torch versions: the intervals rules are true for, and the one a project asks for."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import stamp

Version = tuple[int, int]
Reader = Callable[[str], Iterator[str]]
"""From the text of a file to the version specifiers for torch in it."""

LATEST: Version = (2, 13)
"""The newest torch that is known here; a program without any statement about torch is taken to run on it."""

RELEASES: dict[Version, str] = {
    (2, 0): "2023-03", (2, 1): "2023-10", (2, 2): "2024-01", (2, 3): "2024-04", (2, 4): "2024-07", (2, 5): "2024-10",
    (2, 6): "2025-01", (2, 7): "2025-04", (2, 8): "2025-08", (2, 9): "2025-10", (2, 10): "2026-01", (2, 11): "2026-03",
    (2, 12): "2026-05", (2, 13): "2026-07",
}  # fmt: skip
"""The month of each release, by "Release Cadence" in https://github.com/pytorch/pytorch/blob/main/RELEASE.md."""
YEARS = 3
"""For how long after its release people are taken to use a torch."""

_LOWEST: Version = (0, 0)
_HIGHEST: Version = (99, 0)

_CLAUSE = re.compile(
    r"""(?P<op>===|==|~=|!=|<=|>=|<|>|\^|~|=)?\s*
        v?(?:\d+!)?(?P<major>\d+)(?:\.(?P<minor>\d+|\*))?(?P<rest>(?:\.(?:\d+|\*))*)
        (?:[-._]?(?:alpha|beta|preview|post|dev|pre|rev|rc|a|b|c|r)[-._]?\d*)*
        (?:\+[\w.-]+)?""",
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Range:
    """The versions from `low` up to but not including `high`, to the minor version: torch changes no API in a patch."""

    low: Version = _LOWEST
    high: Version = _HIGHEST

    @classmethod
    def parse(cls, text: str) -> Range:
        """The smallest interval around a PEP 440 specifier such as `>=2.4,<2.9`; `2.6`, `^2.1` and `=2.1` are read too.

        Holes (`!=2.2`) and local parts (`+cu118`) are dropped. Raises ValueError for anything else, and if no version is left.
        """
        whole = cls()
        for clause in filter(None, (part.strip() for part in text.split(","))):
            met = whole.intersection(_interval(clause))
            if met is None:
                raise ValueError(f"no version is in {text!r}")
            whole = met
        return whole

    def contains(self, version: Version) -> bool:
        return self.low <= version < self.high

    def intersects(self, other: Range) -> bool:
        return self.intersection(other) is not None

    def intersection(self, other: Range) -> Range | None:
        """The versions in both, or None."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        return Range(low, high) if low < high else None

    def __str__(self) -> str:
        """A specifier that parses to this range; empty for all versions."""
        low = f">={self.low[0]}.{self.low[1]}" if self.low > _LOWEST else ""
        high = f"<{self.high[0]}.{self.high[1]}" if self.high < _HIGHEST else ""
        return ",".join(filter(None, (low, high)))


def oldest_in_use() -> Version:
    """The oldest release of the last years before the newest one: a program that names no torch may run on it."""
    year, _, month = RELEASES[LATEST].partition("-")
    return min(version for version, released in RELEASES.items() if released >= f"{int(year) - YEARS}-{month}")


def _interval(clause: str) -> Range:
    """The versions of one clause of a specifier."""
    if clause == "*":
        return Range()
    match = _CLAUSE.fullmatch(clause)
    if match is None:
        raise ValueError(f"{clause!r} is not a version or a specifier such as '>=2.4,<2.9'")
    operator, minor = match["op"] or "", match["minor"]
    major = int(match["major"])
    short = minor is None or minor == "*"
    at = (major, 0 if short else int(minor))
    after, next_major = (at[0], at[1] + 1), (major + 1, 0)
    match operator:
        case "!=":
            return Range()
        case ">=" | ">":  # 2.4.1 is above 2.4 and still minor version 2.4
            return Range(low=at)
        case "<":
            patch = any(part.strip("0*") for part in match["rest"].split("."))
            return Range(high=after if patch else at)
        case "<=":
            return Range(high=after)
        case "^":
            return Range(at, next_major if major else after)
        case "~=":
            if minor is None:
                raise ValueError(f"{clause!r} needs a minor version")
            return Range(at, after if match["rest"] else next_major)
        case "==" | "===":
            return Range(at, next_major if minor == "*" else after)
    return Range(at, next_major if short else after)  # `2`, `~2`, `=2.1` as Poetry and conda mean them


_NAMED = re.compile(r"\s*torch\b", re.IGNORECASE)
_COMMENT = re.compile(r"(?:^|\s)#.*| --.*")
_CONDA = re.compile(
    r"\s*-\s*[\"']?(?:[\w.-]+::)?(?:pytorch|torch)(?P<versions>(?:\s*[=<>!~\d][^#\"']*)?)(?:[\"']\s*)?(?:#.*)?"
)
_LITERAL = re.compile(r"([\"'])(torch\b[^\"'\n]*)\1")


Stated = dict[Path, tuple[list[Range | None], bool]]
"""What the files of directories ask for, and whether a repository begins there."""


def project_torch(root: Path, known: Stated | None = None) -> Range | None:
    """The torch versions the project around `root` asks for; None if it names none or contradicts itself.

    Of the directories from `root` up to the one with `.git`, the nearest that narrows torch counts. Files that can't be read say nothing.
    `known` is what was found before, and takes in what is found now.
    """
    known = {} if known is None else known
    for directory in (root := root.resolve(), *root.parents):
        if directory not in known:
            found = (_range(text) for text in _statements(directory))
            ranges: list[Range | None] = [one for one in found if one not in (None, Range())]
            known[directory] = ranges, (directory / ".git").exists()
        stated, is_repository = known[directory]
        if stated:
            whole: Range | None = Range()
            for one in stated:
                whole = whole and one and whole.intersection(one)
            return whole
        if is_repository:
            break
    return None


def _range(text: str) -> Range | None:
    try:
        return Range.parse(text)
    except ValueError:
        return None


def manifests(directory: str) -> list[tuple[str, Reader]]:
    """The files of one directory that may say which torch the project is for, and what reads each."""
    names = stamp.manifests(directory)
    return [
        (os.path.join(directory, name), read)
        for pattern, read in _READERS.items()
        for name in names
        if re.fullmatch(pattern, name)
    ]


def _statements(directory: Path) -> Iterator[str]:
    """The version specifiers for torch in the files of one directory."""
    for path, read in manifests(str(directory)):
        try:
            text = stamp.contents(path).decode("utf-8-sig")
        except (OSError, UnicodeDecodeError):
            continue
        if "torch" in text.lower():
            yield from read(text)


def _of_requirements(lines: object) -> Iterator[str]:
    """The specifiers of those PEP 508 lines that ask for torch itself; of several markers any may hold."""
    from packaging.requirements import InvalidRequirement, Requirement

    everywhere: list[str] = []
    marked: dict[str, list[str]] = {}
    for line in lines if isinstance(lines, list) else ():
        if not isinstance(line, str) or _NAMED.match(line) is None:
            continue
        try:
            wanted = Requirement(_COMMENT.sub("", line).strip())
        except (InvalidRequirement, RecursionError):
            continue
        if wanted.name.lower() != "torch":
            continue
        if wanted.marker is None:
            everywhere.append(str(wanted.specifier))
        else:
            marked.setdefault(str(wanted.marker), []).append(str(wanted.specifier))
    yield from everywhere or _either(",".join(specifiers) for specifiers in marked.values())


def _either(specifiers: Iterable[str]) -> Iterator[str]:
    """The specifier of the versions between the lowest and the highest that any of some asks for; none where one asks for all."""
    ranges = [found for specifier in specifiers if (found := _range(specifier)) is not None]
    if ranges:
        yield str(Range(min(one.low for one in ranges), max(one.high for one in ranges)))


def _requirements(text: str) -> Iterator[str]:
    return _of_requirements(text.replace("\\\n", " ").splitlines())


def _setup_py(text: str) -> Iterator[str]:
    return _of_requirements([literal for _, literal in _LITERAL.findall(text)])


def _environment(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if match := _CONDA.fullmatch(line.rstrip()):
            versions = match["versions"].strip()
            yield re.sub(r"^(=?=?[\d.*]+)=.*", r"\1", versions)  # conda's third part is a build: 2.1.0=py3.9_cuda11.8


def _setup_cfg(text: str) -> Iterator[str]:
    import configparser

    parser = configparser.RawConfigParser()
    try:
        parser.read_string(text)
    except configparser.Error:
        return
    if parser.has_section("options"):
        yield from _of_requirements(parser.get("options", "install_requires", fallback="").splitlines())
    if parser.has_section("options.extras_require"):
        for _, value in parser.items("options.extras_require"):
            yield from _of_requirements(value.splitlines())


def _pyproject(text: str) -> Iterator[str]:
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return
    project = _table(table, "project")
    needed = list(filter(None, _of_requirements(project.get("dependencies"))))
    yield from needed
    groups = (*_table(project, "optional-dependencies").values(), *_table(table, "dependency-groups").values())
    if not needed:  # nobody installs all of the groups
        yield from _either(filter(None, (",".join(_of_requirements(group)) for group in groups)))
    poetry = _table(table, "tool", "poetry")
    owners = [group for group in _table(poetry, "group").values() if isinstance(group, dict)]
    for owner in (poetry, *owners):
        wanted = _table(owner, "dependencies").get("torch")
        several = wanted if isinstance(wanted, list) else [wanted]
        versions = [one.get("version") if isinstance(one, dict) else one for one in several]
        yield from _either(one for one in versions if isinstance(one, str))


def _table(table: dict[str, Any], *path: str) -> dict[str, Any]:
    """The table at a path; empty if there is none."""
    for name in path:
        inner = table.get(name)
        table = inner if isinstance(inner, dict) else {}
    return table


_READERS: dict[str, Reader] = {
    r"pyproject\.toml": _pyproject,
    r"requirements[^/]*\.txt": _requirements,
    r"requirements/[^/]*\.txt": _requirements,
    r"setup\.cfg": _setup_cfg,
    r"setup\.py": _setup_py,
    r"environment[^/]*\.y[^/]*ml": _environment,
}
