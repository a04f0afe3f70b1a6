"""Torch versions: the releases, and intervals of them."""

from __future__ import annotations

from dataclasses import dataclass

Version = tuple[int, int]

LATEST: Version = (2, 13)
"""The newest torch that is known here; a program without any statement about torch is taken to run on it."""

RELEASES: dict[Version, str] = {
    (2, 0): "2023-03", (2, 1): "2023-10", (2, 2): "2024-01", (2, 3): "2024-04", (2, 4): "2024-07", (2, 5): "2024-10",
    (2, 6): "2025-01", (2, 7): "2025-04", (2, 8): "2025-08", (2, 9): "2025-10", (2, 10): "2026-01", (2, 11): "2026-03",
    (2, 12): "2026-05", (2, 13): "2026-07",
}  # fmt: skip
"""The month of each release, by "Release Cadence" in https://github.com/pytorch/pytorch/blob/main/RELEASE.md."""
BEHIND_PYTHON: dict[Version, Version] = {
    (3, 0): (1, 5), (3, 6): (1, 6), (3, 7): (1, 11), (3, 8): (2, 0), (3, 9): (2, 5), (3, 10): (2, 9),
}  # fmt: skip
"""For Pythons below a version the first torch that has no wheel for any of them: torch 2.4 is the last for Python 3.8."""
_VISION_OF_TORCH_1_4, _VISION_OF_TORCH_2_0 = 5, 15
"""The minor versions of torchvision that came with a torch: since then both count on together."""
_EARLY_VISION = {"1": ("0.2",), "2": ("0.3", "1.0"), "3": ("1.1",), "4": ("1.2", "1.3")}
"""The newest torch of the time of a torchvision before those, by its minor version and its patch; the last one for later patches."""
_EARLY_TEXT = {"1": ("0.2",), "2": ("0.3", "0.3", "0.3", "0.4")}
_TEXTS_WITH_TORCH = range(8, 18)
"""The minor versions of torchtext that were each built for one torch, numbered as those of torchvision; between them any torch goes."""
_TORCH_OF_TRITON = {"2": 0, "3": 4}
"""The minor version of the first torch 2 that came with a major one of triton: since then both count on together."""
_LAST_OF_TRITON = {"2": 3}
_LAST_ON_CUDA = {
    "9.0": "1.1", "9.2": "1.7", "10.0": "1.4", "10.1": "1.8", "10.2": "1.12", "11.0": "1.7", "11.1": "1.10", "11.3": "1.12",
    "11.5": "1.11", "11.6": "1.13", "11.7": "2.0", "11.8": "2.7", "12.1": "2.5", "12.4": "2.6",
}  # fmt: skip
"""The newest torch that was built for a CUDA, by https://pytorch.org/get-started/previous-versions/."""
_OF_NVIDIA = {
    "19.01": "1.0", "19.07": "1.1", "19.10": "1.2", "19.11": "1.3", "20.03": "1.4", "20.06": "1.5", "20.08": "1.6",
    "20.11": "1.7", "21.03": "1.8", "21.07": "1.9", "21.11": "1.10", "22.03": "1.11", "22.06": "1.12", "22.11": "1.13",
    "23.03": "2.0", "23.11": "2.1", "24.02": "2.2", "24.05": "2.3", "24.08": "2.4", "24.11": "2.5", "25.02": "2.6",
    "25.05": "2.7", "25.09": "2.8", "25.12": "2.9",
}  # fmt: skip
"""The torch that NVIDIA's images have since a month, by https://docs.nvidia.com/deeplearning/frameworks/pytorch-release-notes/; of an alpha the one before it."""
YEARS = 3
"""For how long after its release people are taken to use a torch."""

_LOWEST: Version = (0, 0)
_HIGHEST: Version = (99, 0)

_SIGNS = "=<>!~^"
_MOST_DIGITS = 9
"""No number of a version has more; `int` and `str` refuse thousands of them."""


@dataclass(frozen=True, slots=True)
class Range:
    """The versions from `low` up to but not including `high`, to the minor version: torch changes no API in a patch."""

    low: Version = _LOWEST
    high: Version = _HIGHEST
    supposed: bool = False
    """Whether `high` is only what was the newest for something else, beside which a newer one can be installed: enough to be silent."""

    @classmethod
    def parse(cls, text: str) -> Range:
        """An interval as it is written here: `>=2.4`, `<2.9`, `>=2.4,<2.9`; all versions for nothing. Raises ValueError."""
        whole = cls()
        for clause in text.split(",") if text else ():
            sign = clause[: 2 if clause[1:2] == "=" else 1]
            major, minor = clause[len(sign) :].split(".")
            whole = whole.narrowed(sign, (int(major), int(minor)))
        return whole

    @classmethod
    def stated(cls, text: str) -> Range:
        """The smallest interval around what people write: a PEP 440 specifier, or what Poetry and conda make of one.

        Those know `^2.1`, `~2.1`, `=2.1`, `2.6` and `^1.13 || ^2.0`. Holes (`!=2.2`) and local parts (`+cu118`) are dropped.
        Raises ValueError for anything else, and if no version is left.
        """
        found = []
        for alternative in text.split("||"):
            whole = cls()
            for clause in filter(None, (part.strip() for part in alternative.split(","))):
                for sign, release in _comparisons(clause):
                    whole = whole.narrowed(sign, release)
            found.append(whole)
        return cls(min(one.low for one in found), max(one.high for one in found))

    def narrowed(self, sign: str, release: tuple[int, ...]) -> Range:
        """The versions that compare so with a release; 2.4.1 is above 2.4 and still of minor version 2.4. Raises ValueError
        if none is left.
        """
        at = (release[0], release[1] if len(release) > 1 else 0)
        after = (at[0], at[1] + 1)
        match sign:
            case ">=" | ">":
                other = Range(low=at)
            case "<":
                other = Range(high=after if any(release[2:]) else at)
            case "<=":
                other = Range(high=after)
            case "==" | "===":
                other = Range(at, after)
            case "!=":
                return self
            case _:
                raise ValueError(f"{sign!r} compares no versions")
        met = self.intersection(other)
        if met is None:
            bounds = (str(self), f"{sign}{'.'.join(map(str, release))}")
            raise ValueError(f"no version is in {' and '.join(filter(None, bounds))}")
        return met

    def contains(self, version: Version) -> bool:
        return self.low <= version < self.high

    def intersects(self, other: Range) -> bool:
        """Whether there is a version in both."""
        return max(self.low, other.low) < min(self.high, other.high)

    def intersection(self, other: Range) -> Range | None:
        """The versions in both, or None."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        supposed = all(one.supposed for one in (self, other) if one.high == high)
        return Range(low, high, supposed) if low < high else None

    def __str__(self) -> str:
        """A specifier that parses to this range; empty for all versions."""
        low = f">={self.low[0]}.{self.low[1]}" if self.low > _LOWEST else ""
        high = f"<{self.high[0]}.{self.high[1]}" if self.high < _HIGHEST else ""
        return ",".join(filter(None, (low, high)))


def on_python(highest: Range) -> Range:
    """The versions of torch that have a wheel for a Python in a range: those of its highest one."""
    return Range(high=next((BEHIND_PYTHON[end] for end in sorted(BEHIND_PYTHON) if highest.high <= end), _HIGHEST))


def behind_nvidia(month: str) -> str:
    """The torch in an image of NVIDIA by its month: 1.9 for 21.10, whose torch is an alpha of 1.10; "" for one from before all that are known."""
    return next((torch for first, torch in reversed(_OF_NVIDIA.items()) if first <= month), "")


def behind_vision(version: str) -> str:
    """The torch that a release of torchvision asks for in its wheels, or that was the newest of its time: 1.7 for 0.8.2, 2.1 for 0.16, 0.2 for
    0.1.9; "" where that is not known.
    """
    major, _, rest = version.partition(".")
    minor = rest.partition(".")[0]
    if major == "0" and minor in _EARLY_VISION:
        return _of_patch(_EARLY_VISION[minor], rest)
    if (
        major != "0"
        or (number := _number(minor)) is None
        or not _VISION_OF_TORCH_1_4 <= number <= _VISION_OF_TORCH_2_0 + LATEST[1]
    ):
        return ""
    behind = number - _VISION_OF_TORCH_2_0
    return f"2.{behind}" if behind >= 0 else f"1.{number - 1}"


def behind_text(version: str) -> str:
    """The same for torchtext: 1.7 for 0.8.1, 0.2 for 0.1.1; "" for those of 0.3 to 0.7, which any torch runs."""
    major, _, rest = version.partition(".")
    minor = rest.partition(".")[0]
    if major == "0" and minor in _EARLY_TEXT:
        return _of_patch(_EARLY_TEXT[minor], rest)
    return behind_vision(version) if _number(minor) in _TEXTS_WITH_TORCH else ""


def _of_patch(of_each: tuple[str, ...], rest: str) -> str:
    """What belongs to the patch of `2.1.post3`, `2`, which is the first, or `2.*`, which is the last."""
    patch = _number(rest.partition(".")[2].partition(".")[0] or "0")
    return of_each[-1 if patch is None else min(patch, len(of_each) - 1)]


def _number(digits: str) -> int | None:
    """A number of a version; None if it is none."""
    return int(digits) if digits.isdecimal() and len(digits) <= _MOST_DIGITS else None


def vision_of(torch: Version) -> str:
    """The release of torchvision that came with a torch since 1.4: 0.13 for 1.12, 0.16 for 2.1."""
    return f"0.{torch[1] + (_VISION_OF_TORCH_2_0 if torch[0] == 2 else 1)}"


def behind_triton(version: str) -> str:
    """The torch whose wheels ask for a release of triton: 2.2 for 2.2.0, 2.4 for 3.0.0; "" where that is not known."""
    major, _, rest = version.partition(".")
    minor = rest.partition(".")[0]
    first, number = _TORCH_OF_TRITON.get(major), _number(minor)
    if first is None or number is None or first + number > _LAST_OF_TRITON.get(major, LATEST[1]):
        return ""
    return f"2.{first + number}"


def oldest_in_use() -> Version:
    """The oldest release of the last years before the newest one: a program that names no torch may run on it."""
    year, _, month = RELEASES[LATEST].partition("-")
    return min(version for version, released in RELEASES.items() if released >= f"{int(year) - YEARS}-{month}")


def _comparisons(clause: str) -> list[tuple[str, tuple[int, ...]]]:
    """What one clause of a specifier asks of a version, as comparisons with releases."""
    from packaging.specifiers import InvalidSpecifier, Specifier
    from packaging.version import InvalidVersion, Version

    if clause == "*":
        return []
    written = clause.lstrip(_SIGNS)
    sign, version = clause[: len(clause) - len(written)], written.strip().partition("+")[0]
    own = sign in ("", "^", "~", "=")  # what Poetry and conda add
    try:
        release = Version(version.removesuffix(".*")).release
        if not own:
            Specifier(sign + version)
        if max(release) >= 10**_MOST_DIGITS:
            raise InvalidVersion(version)
    except (InvalidSpecifier, InvalidVersion):
        raise ValueError(f"{clause!r} is not a version or a specifier such as '>=2.4,<2.9'") from None
    if sign == "!=":
        return []
    if sign == "^":
        kept = next((at for at, number in enumerate(release, 1) if number), 1)
    elif sign == "~=":
        kept = len(release) - 1
    elif own or version.endswith(".*"):
        kept = min(len(release), 2)
    else:
        return [(sign, release)]
    return [(">=", release), ("<", (*release[: kept - 1], release[kept - 1] + 1))]


def behind_cuda(version: str) -> str:
    """The newest torch that was built for a CUDA: 2.0 for 11.7; "" where that is not known."""
    return _LAST_ON_CUDA.get(version, "")
