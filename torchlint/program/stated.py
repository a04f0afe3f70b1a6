"""What a project says of the torch it needs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..facts.minima import demanded
from ..facts.versions import MENTIONS
from ..settings.home import project_root
from ..system import stamp
from ..system.regex import regex
from ..text.source import Source, SourceError
from ..torch_api.version import (
    Range,
    behind_cuda,
    behind_nvidia,
    behind_text,
    behind_triton,
    behind_vision,
    oldest_in_use,
    on_python,
)
from .locked import of_lock, of_pipenv

if TYPE_CHECKING:
    from configparser import RawConfigParser

    from packaging.requirements import Requirement

Reader = Callable[[str], Iterator[str]]
"""From the text of a file to the version specifiers in it, for torch or for Python."""

_NAMED = regex(r"\s*(?:torch\b|[^\s#]*/torch-\d)", re.IGNORECASE)
_COMMENT = regex(r"(?:^|\s)#.*| --.*")
_CONDA = regex(
    r"\s*-\s*[\"']?(?:[\w.-]+::)?(?:pytorch|torch)(?P<versions>(?:\s*[=<>!~\d][^#\"']*)?)(?:[\"']\s*)?(?:#\s*(?P<where>\[[^\]]*\])?.*)?"
)
"""An item of an environment; that of a recipe may hold for some machines alone, `- pytorch 1.8  # [linux]`."""
_NUMBERS = r"\d{1,9}(?:\.\d{1,9})"
"""How a version begins: no number of one has more digits, and `int` refuses thousands of them."""
_WHOLE = r"(?!\.?\d)"
_COMMAND = regex(r"\b(pip3?|conda|mamba)\s+install\s")
_FIRST = r"(?:^|\s)[\"']?"
"""Where a word of a command begins."""
_NEXT = regex(r"[;&|]")
_WHEEL = r"(?:[^\s;&|\"']*/)?%s-(?=[^\s/]*\.whl)"
"""How a wheel's address or file begins, up to its version: `https://download.pytorch.org/whl/cu80/torch-0.3.1-cp36-cp36m-linux_x86_64.whl`."""
_INSTALL = regex(rf"{_FIRST}(?:(?:py)?torch\s*={{1,2}}\s*|{_WHEEL % 'torch'})({_NUMBERS}{{0,3}}){_WHOLE}")
_UNKNOWN_INSTALL = regex(rf"{_FIRST}(?:py)?torch\s*(?:<|~=|={{1,3}}\s*[\"']?\$)")
"""A torch that may be older than any version that is told beside it: `torch<2`, `torch==$VERSION`."""
_VISION = regex(rf"{_FIRST}(?:torchvision\s*={{1,2}}\s*|{_WHEEL % 'torchvision'})({_NUMBERS}{{1,3}}){_WHOLE}")
_OF_WHEEL = regex(rf"([a-z]+)-({_NUMBERS}{{1,3}}){_WHOLE}", re.IGNORECASE)
_LISTED = regex(r"\s*-\s*([\"']?)(.*)")
_TOOLKIT = "cudatoolkit"
"""What builds of torch before 1.13 asked conda for: a newer torch doesn't mind it."""
_CONDA_CUDA = r"(cudatoolkit|pytorch-cuda)\s*={1,2}\s*(\d{1,9}\.\d{1,9})(?!\d)"
_ANY_TORCH = regex(r"\b(?:py)?torch\s")
_WITH_CUDA = regex(rf"\b{_CONDA_CUDA}")
_INDEX_OF_CUDA = regex(r"(?:--index-url|-i)[\s=][^\s=]*/whl/cu(\d{1,3})(\d)\b")
"""Where pip gets a torch for a CUDA; an `--extra-index-url` leaves the newest torch to be had."""
_FOR_CUDA = regex(rf"(?m)^[ \t]*-[ \t]*[\"']?(?:[\w.-]+::)?{_CONDA_CUDA}")
_FROM_CONDA = regex(r"(?m)^[ \t]*-[ \t]*[\"']?(?:[\w.-]+::)?pytorch\b(?!-)")
_NAMED_OTHER = regex(r"\s*(?:-\s*)?((?:torchvision|torchtext|triton)\b.*|[^\s#]*/torchvision-\d.*)", re.IGNORECASE)
_BEHIND: dict[str, Callable[[str], str]] = {
    "torchvision": behind_vision,
    "torchtext": behind_text,
    "triton": behind_triton,
}
"""Packages of which each release goes with one torch."""
_FIRST_PINNED = (1, 2)
"""The first torch that its torchvision asked for by its version."""
_AT_LEAST = regex(
    r"\b(?:py)?torch\b(?:\]\([^()]*\))?[^\w.=<]{0,6}(?:(?:version|v)\s?)?"
    r"(?:(?:>=?|≥)\s*v?(\d{1,9}\.\d{1,9})?|(\d{1,9}\.\d{1,9})(?:\.\d{1,9})?(?:\+(?!\w)| or (?:higher|above|newer|later)))",
    re.IGNORECASE,
)
_AT_MOST = regex(
    rf"\b(?:py)?torch\b[^\n;]{{0,80}}?(?<!\bfor )\\?(?:<=|≤)\s*v?({_NUMBERS}{{1,3}}){_WHOLE}", re.IGNORECASE
)
_BEFORE = regex(
    rf"(?:{_NUMBERS}{{1,3}}\s*(?:<=?|=<|≤)\s*)?(?:py)?torch(?: version)?\s*(?:>=?\s*v?{_NUMBERS}{{1,3}}\s*,?\s*)?"
    rf"(?:\bbefore|\bbelow|\\?<(?!=))\s*v?({_NUMBERS}{{1,3}})\.?\s*(?:$|[(;])",
    re.IGNORECASE,
)
_BADGE = regex(r"\bimg\.shields\.io/badge/((?:py)?torch)[-_]((?!-)[^-\s\"'()]{1,99})-\w[^\s\"')>]*", re.IGNORECASE)
"""A picture with a version in its address: `https://img.shields.io/badge/pytorch-1.10%2B-red.svg`."""
_ROW = regex(r"(?m)^[ \t]*\|[ \t*`]*(?:py)?torch[ \t=v]*(\d{1,9}\.\d{1,9})(?:\.\d{1,9})?[ \t*`]*\|", re.IGNORECASE)
"""The beginning of a row of a table on versions of torch."""
_TESTED = regex(
    r"\b(?:torch={2,3}|pytorch={1,3})[\"']?(\d{1,9}\.\d{1,9})"
    r"|\b(?:py)?torch(?:[-_]version)?[\"']?\s*:\s*(\[[\d.,\s\"'+a-z]*\]|[\"']?\d{1,9}\.\d{1,9})",
    re.IGNORECASE,
)
"""A version that a service tests: `pip install torch==1.6`, `conda install pytorch=1.6`, `torch-version: [1.11.0, 2.0.0]`."""
_TRIED = regex(
    r"(?i:\b(?:tested|environment)\b[^\n]*?\b(?:py)?torch\b(?: version)?[ `*:=v]*(?P<behind>\d{1,9}\.\d{1,9}[^\n]*)"
    r"|\b(?:py)?torch\b[^\n]*?\btested (?:on|with|up to|over|in)\b[ `*:=v]*(?P<there>\d{1,9}\.\d{1,9}[^\n]*))"
)
"""What a page says its code was tested with: `tested on PyTorch 1.13.1`, `our environment is Python 3.6 & PyTorch 0.3.1`, `[PyTorch](https://pytorch.org/) tested on 1.4.0, 1.5.0`."""
_AND_NEWER = regex(r"[\d.]+\s*(?:\+(?!\w)|(?:and|or) (?:newer|later|higher|above|up)\b)", re.IGNORECASE)
_OF_CONDA = regex(r"^([A-Za-z][\w.-]{0,99})[ \t]{0,9}=[ \t]{0,9}(\d[\d.]{0,30})(?:=\S{0,99})?\s*$")
"""How conda pins a package, and lists those that are there: `torch=1.8.1`, `torch=1.8.1=py3.8_0`."""
_LONGEST = 1000
"""A line of so many letters is no sentence."""
_TRIED_TOO = regex(r"[`*]*(\d{1,9}\.\d{1,9})(?:\.\d{1,9})?(?:\+\w+)?[`*]*(?:\s*(?:,|and|or|/|&)\s*v?(?=[`*]*\d))?")
_MARKUP = regex(r"[*`]|<br\s*/?>|\]\([^\s()]*(?:\([^\s()]*)?\)|[\[\]]")
_ITEM = regex(r"\s*(?:(?:[-*+]|\d+[.)])\s+(?:install\s)?|(?P<heading>(?:requirement|environment)s?:))", re.IGNORECASE)
_FENCE = regex(r"\s*(?:```|~~~)")
_BETWEEN = regex(r"[,;&]|\band\b|\bwith\b", re.IGNORECASE)
_NAME = regex(
    r"(?!(?:newer|later|higher|above|up|greater|older|lower|below|so|more|others?)$)[a-z][\w-]*", re.IGNORECASE
)
"""A package without a version; what goes on about the one before is none."""
_WANTED = regex(
    r"([a-z][\w-]*(?: (?!v\d|version\b)[a-z][\w-]*)?)\s*(?:(==?|:)\s*)?\(?(?:version\s*|v)?"
    rf"({_NUMBERS}{{0,3}})(?:\s*(?:/|\bor\b)\s*({_NUMBERS}{{0,3}}))?\)?\.?",
    re.IGNORECASE,
)
_ANY_PATCH = regex(r"(?<=\d)\.(?:\\?\*|x\b)(?!\.)", re.IGNORECASE)
"""What stands for any number: `0.4.x`, `0.3.*`, with a backslash where Markdown asks for one."""
_VERSION = r"(?:0\.\d|1\.(?:1[0-3]|\d)|2\.\d+)(?:\.\d+)?"
_RELEASE = regex(_VERSION)
_RELEASES = regex(rf"(?<![\d.]){_VERSION}(?![\d.])")
_NEEDS_ANY = regex(r"\binstall_requires\s*=\s*\[[^\[\]]*?[\"']torch[\"']")
_LITERAL = regex(r"([\"'])(torch\b[^\"'\n]*)\1")
_CONDA_PYTHON = regex(r"\s*-\s*[\"']?(?:[\w.-]+::)?python(?P<versions>\s*[=<>!~\d][^#\"']*)(?:[\"']\s*)?(?:#.*)?")
_PYTHON_REQUIRES = regex(r"\bpython_requires\s*=\s*([\"'])([^\"'\n]*)\1")
_IMAGE = regex(r"FROM\s+(?:--\S+\s+)*(?:docker\.io/)?(?:library/)?python:(\d{1,9}\.\d{1,9})(?!\d)")
_OF_TORCH = (
    r"(?:(?:docker\.io/)?pytorch/pytorch:(?:(\d{1,9}\.\d{1,9})(?!\d)|\$)|nvcr\.io/nvidia/pytorch:(?:(\d\d\.\d\d)-|\$))"
)
_TORCH_IMAGE = regex(rf"FROM\s+(?:--\S+\s+)*{_OF_TORCH}")
"""The torch of an image, or the month of one of NVIDIA; one that nobody knows where an argument without a default says it."""
_IMAGE_OF = regex(rf"(?m)^[^#\n]{{0,99}}?\bimage[\"']?[ \t]{{0,9}}:\s*[\"']?{_OF_TORCH}")
"""That of what Compose starts, or an editor opens a project in."""
_ARGUMENT = regex(r"ARG\s+(\w+)=[\"']?([^\s\"']{1,120})(?![^\s\"'])")
"""What an argument is where nobody gives any; what is longer is no name of an image and no version."""
_REFERENCE = regex(r"\$\{?(\w+)\}?")


_INCLUDED = regex(r"\s*(?:-r|--requirement|(-c|--constraint))[\s=]*([^\s#-][^\s#]*)")
"""A line of a file of requirements that names another one, or one of constraints."""
_POETRY = ("tool", "poetry")
"""Where a `pyproject.toml` has what Poetry reads."""


class Said(NamedTuple):
    """What one directory says of torch."""

    asked: list[Range | None]
    """The versions that its manifests, or scripts that install something, ask for."""
    told: list[Range | None]
    """What its README, or its page on installing, tells to install: that of a folder says nothing of a project that asks for some."""
    images: list[Range | None]
    """What the images have that it is run in, where its manifests ask for nothing: an older torch than what a folder above asks for
    is the one that runs the files there.
    """
    is_repository: bool
    """Whether a repository begins there."""


class Stated:
    """What directories and packages were found to say of torch."""

    def __init__(self) -> None:
        self.named: dict[Path, Said] = {}
        self.demanded: dict[str, Range] = {}
        """What packages let themselves be imported under."""


def project_torch(root: Path, known: Stated | None = None) -> Range | None:
    """The torch versions the project around `root` asks for; None if it names none or contradicts itself.

    Of the directories from `root` up to the one with `.git`, the nearest whose manifests narrow torch counts, and so do the
    packages that `root` is in: they may refuse to be imported. Files that can't be read say nothing.
    `known` is what was found before, and takes in what is found now.
    """
    known = Stated() if known is None else known
    root = root.resolve()
    whole = _named(root, known)
    for path in packages(str(root)):
        if path not in known.demanded:
            known.demanded[path] = demanded_by(path)
        whole = whole and whole.intersection(known.demanded[path])
    return None if whole == Range() else whole


def _named(root: Path, known: Stated) -> Range | None:
    """What the manifests say: all versions where they say nothing, None where they contradict each other."""
    told: list[Range | None] = []
    images: Range | None = None
    for directory in (root, *root.parents):
        if directory not in known.named:
            known.named[directory] = _said_in(directory)
        one = known.named[directory]
        told = told or one.told
        images = images or next(iter(one.images), None)
        if one.asked:
            asked = _of_all(one.asked)
            return images if asked and images and images.low < asked.low else asked
        if one.is_repository:
            break
    return _of_all(told)


def _of_all(ranges: Iterable[Range | None]) -> Range | None:
    whole: Range | None = Range()
    for one in ranges:
        whole = whole and one and whole.intersection(one)
    return whole


def _said_in(directory: Path) -> Said:
    files = manifests(str(directory))
    asked = _ranges(_statements(files))
    pinning = list(_read("t", [(path, _as_it_is) for path, read in files if read in _PINNING]))
    _narrow(asked, _of_all(_ranges(chain.from_iterable(map(_others, pinning)))))
    _narrow(asked, _supposed(_of_all(_ranges(chain.from_iterable(map(_toolkit, pinning))))))
    told = told_by(files) if not asked else []
    images = _ranges(_read("torch", [(path, read) for path, read in files if read in _IMAGES and not asked]))
    oldest = min(filter(None, images), key=lambda one: one.low, default=None)
    _narrow(told, oldest)
    tested = [(path, read) for path, read in files if read is _service and not asked and not told]
    _narrow(told, _range(",".join(_oldest(_tested(_read("torch", tested))))))
    _narrow(asked or told, on_python(_python(files)))
    return Said(asked, told, [oldest] if oldest else [], (directory / ".git").exists())


def told_by(files: Iterable[tuple[str, Reader]]) -> list[Range | None]:
    """What the pages among some files tell of torch."""
    prose = "\n".join(_read("torch", [(path, _as_it_is) for path, read in files if is_page(read)]))
    return _ranges(_told(prose)) or _built_for(prose)


def is_page(read: Reader) -> bool:
    """Whether that is how a page is read, of which nothing counts but what it tells of torch."""
    return read is _told


def _supposed(one: Range | None) -> Range | None:
    return None if one is None else replace(one, supposed=one.high < Range().high)


def _narrow(ranges: list[Range | None], by: Range | None) -> None:
    """Take in what else narrows some ranges, unless it contradicts one of them."""
    if by not in (None, Range()) and all(one is not None and one.intersects(by) for one in ranges):
        ranges.append(by)


def _ranges(specifiers: Iterable[str]) -> list[Range | None]:
    return [one for one in map(_range, specifiers) if one is not None and one != Range()]


def packages(directory: str) -> Iterator[str]:
    """The `__init__.py` of the packages that a directory is in, the innermost first."""
    while os.path.isfile(path := os.path.join(directory, "__init__.py")):
        yield path
        directory = os.path.dirname(directory)


def demanded_by(path: str) -> Range:
    """What a module lets itself be imported under; all versions where it can't be read."""
    try:
        data = stamp.contents(path)
    except OSError:
        return Range()
    return _demanded(data, path)


def _demanded(data: bytes, path: str) -> Range:
    if not any(mention in data for mention in MENTIONS):
        return Range()
    try:
        return demanded(Source.of(path, data).parse())
    except SourceError:
        return Range()


def _range(text: str) -> Range | None:
    try:
        return Range.stated(text)
    except ValueError:
        return None


def manifests(directory: str) -> list[tuple[str, Reader]]:
    """The files of one directory that may say which torch the project is for, with those that these name, and what reads each."""
    names = stamp.manifests(directory)
    found = {
        os.path.join(directory, name): read
        for pattern, read in _READERS.items()
        for name in names
        if re.fullmatch(pattern, name)
    }
    todo = [path for path, read in found.items() if read is _requirements]
    top = os.path.join(project_root(Path(directory)) or directory, "") if todo else ""
    while todo:
        path = todo.pop()
        for name, read in _included(path):
            other = os.path.realpath(os.path.join(os.path.dirname(path), name))
            if other.startswith(top) and other not in found:
                found[other] = read
                todo.append(other)
    return list(found.items())


def _included(path: str) -> Iterator[tuple[str, Reader]]:
    """The names of other files in a file of requirements, and what reads them."""
    with suppress(OSError, UnicodeDecodeError):
        for line in stamp.contents(path).decode("utf-8-sig").splitlines():
            if (match := _INCLUDED.match(line)) and "\0" not in match[2]:  # no file has that in its name
                yield match[2], _constraints if match[1] else _requirements


def _statements(files: list[tuple[str, Reader]]) -> list[str]:
    """The version specifiers for torch in the files of one directory.

    What is pinned for all who install it counts where nothing else says any, then what a script installs, and then an
    environment below a folder for such things.
    """
    for readers in ({*_READERS.values(), _constraints} - _LOCKS - _INSTALLING, _LOCKS, {_installed}):
        read = [one for one in files if one[1] in readers]
        # Of several versions in one lock any may be the one.
        stated = list(_either(_read("torch", read)) if readers is _LOCKS else _read("torch", read))
        if any(stated):
            return stated
    # Of several environments any may be the one.
    return list(_either(filter(None, _read("torch", [one for one in files if one[1] is _environment_aside]))))


def _python(files: list[tuple[str, Reader]]) -> Range:
    """The Pythons that the files of one directory allow: of several environments any may be the one, and all must be allowed.

    All where they contradict each other.
    """
    read = [(path, _PYTHON_READERS.get(read, _nothing)) for path, read in files]
    of_any = _read("python", [file for file in read if file[1] not in _ENVIRONMENTS])
    of_one = _either(_read("python", [file for file in read if file[1] in _ENVIRONMENTS]))
    return _of_all(_range(one) or Range() for one in (*of_any, *of_one)) or Range()


def _read(what: str, files: Iterable[tuple[str, Reader]]) -> Iterator[str]:
    """What the files that hold a word say."""
    for path, read in files:
        try:
            text = stamp.contents(path).decode("utf-8-sig")
        except (OSError, UnicodeDecodeError):
            continue
        if what in text.lower():
            yield from read(text)


def _required(line: str) -> Requirement | None:
    """The requirement of a line; of a wheel's address alone the one that it is."""
    from packaging.requirements import InvalidRequirement, Requirement

    written = _COMMENT.sub("", line).strip()
    address = written.partition(" ")[0].partition(";")[0]
    wheel = _wheel(address)
    with suppress(InvalidRequirement, RecursionError):
        return Requirement(f"{wheel[1]} @ {address} {written[len(address) :]}" if wheel else written)
    return None


def _specifier(wanted: Requirement) -> str:
    """The versions that a requirement asks for: of an address the one of its wheel."""
    return _of_wheel(wanted.url) if wanted.url else str(wanted.specifier)


def _of_wheel(address: str) -> str:
    """The version of a wheel: `==2.3.0` for `https://download.pytorch.org/whl/torch-2.3.0%2Bcu121-cp310-cp310-linux_x86_64.whl`."""
    wheel = _wheel(address)
    return f"=={wheel[2]}" if wheel else ""


def _wheel(address: str) -> re.Match[str] | None:
    """The package and the version that a wheel's address begins with."""
    name = address.partition("#")[0].rpartition("/")[2]
    return _OF_WHEEL.match(name) if name.lower().endswith(".whl") else None


class _Pin(NamedTuple):
    """What one line asks for."""

    versions: str
    where: str
    """What it holds under, by a marker; "" everywhere."""


def _of_requirements(lines: object) -> Iterator[str]:
    """The specifiers of those PEP 508 lines that ask for torch itself; of several markers any may hold."""
    yield from _of_any(_pins(lines))


def _constrained(lines: object) -> Iterator[str]:
    """What constraints say of torch; those under a marker leave it open elsewhere."""
    yield from (pin.versions for pin in _pins(lines) if not pin.where)


def _pins(lines: object) -> Iterator[_Pin]:
    """What those of some PEP 508 lines ask for that name torch."""
    texts = (line for line in (lines if isinstance(lines, list) else ()) if isinstance(line, str))
    return filter(None, map(_pin, texts))


def _pin(line: str) -> _Pin | None:
    """What a PEP 508 line asks of torch; None if it does not name it."""
    wanted = _required(_OF_CONDA.sub(r"\1==\2", _COMMENT.sub("", line))) if _NAMED.match(line) else None
    if wanted is None or wanted.name.lower() != "torch":
        return None
    return _Pin(_specifier(wanted), str(wanted.marker or ""))


def _of_any(pins: Iterable[_Pin]) -> Iterator[str]:
    """What holds everywhere, else what holds under any marker."""
    found: dict[str, list[str]] = {}
    for pin in pins:
        found.setdefault(pin.where, []).append(pin.versions)
    yield from found[""] if "" in found else _either(map(",".join, found.values()))


def _either(specifiers: Iterable[str]) -> Iterator[str]:
    """The specifier of the versions between the lowest and the highest that any of some asks for; none where one asks for all, or
    for what nobody knows.
    """
    ranges = [_range(specifier) for specifier in specifiers]
    known = [one for one in ranges if one is not None]
    if known and len(known) == len(ranges):
        yield str(Range(min(one.low for one in known), max(one.high for one in known)))


def _requirements(text: str) -> Iterator[str]:
    return _of_requirements(text.replace("\\\n", " ").splitlines())


def _constraints(text: str) -> Iterator[str]:
    return _constrained(text.replace("\\\n", " ").splitlines())


def _others(text: str) -> Iterator[str]:
    """The torch that a torchvision or a triton is made for, 1.7 for `torchvision==0.8.2`, 2.2 for `triton==2.2.0`; and that conda has
    for a CUDA, up to 2.0 for `pytorch-cuda=11.7`.
    """
    from packaging.specifiers import SpecifierSet

    for match in filter(None, map(_NAMED_OTHER.match, text.splitlines())):
        wanted = _required(match[1])
        behind = _BEHIND.get(wanted.name.lower()) if wanted is not None else None
        if wanted is not None and behind is not None and wanted.marker is None:
            pinned = [one for one in SpecifierSet(_specifier(wanted)) if one.operator in ("==", "<=")]
            found = [(one.operator, torch) for one in pinned if (torch := behind(one.version))]
            # Before torch 1.2 they were built for any, but those who pinned them had no newer one.
            yield ",".join(f"{sign if _minor(torch) >= _FIRST_PINNED else '<='}{torch}" for sign, torch in found)
    yield from _on_cuda(text, "pytorch-cuda")


def _toolkit(text: str) -> Iterator[str]:
    """The newest torch of conda that asked for a `cudatoolkit` beside it: 1.12 for `cudatoolkit=10.2`."""
    yield from _on_cuda(text, _TOOLKIT)


def _on_cuda(text: str, package: str) -> Iterator[str]:
    if package in text and _FROM_CONDA.search(text) is not None:
        found = [behind_cuda(match[2]) for match in _FOR_CUDA.finditer(text) if match[1] == package]
        yield from _either(f"<={torch}" for torch in found) if all(found) else ()


def _setup_py(text: str) -> Iterator[str]:
    # Each may be of another extra, or stand behind a condition; a name alone may be anything, unless all install it.
    versions = [list(_of_requirements([literal])) for _, literal in _LITERAL.findall(text)]
    needed = [] if _NEEDS_ANY.search(text) else [",".join(one) for one in versions if any(one)]
    yield from _either(needed)
    yield str(_demanded(text.encode(), "setup.py"))


def _of_conda(text: str) -> Iterator[str]:
    yield from _of_any(filter(None, map(_conda_pin, text.splitlines())))


def _conda_pin(line: str) -> _Pin | None:
    """What an item of an environment asks of torch, in the words of conda or of pip."""
    if match := _CONDA.fullmatch(line.rstrip()):
        return _Pin(_without_build(match["versions"]), match["where"] or "")
    if (item := _LISTED.match(line)) is None:
        return None
    quote, said = item.groups()
    return _pin(said.rpartition(quote)[0] if quote else said)


def _without_build(versions: str) -> str:
    """The versions that conda is asked for, less its third part: `2.1.0` of `2.1.0=py3.9_cuda11.8`."""
    return re.sub(r"^(=?=?[\d.*]+)=.*", r"\1", versions.strip())


def _environment_python(text: str) -> Iterator[str]:
    found = filter(None, (_CONDA_PYTHON.fullmatch(line.rstrip()) for line in text.splitlines()))
    yield from (_without_build(match["versions"]) for match in found)


def _installed(text: str) -> Iterator[str]:
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    yield from _either(f"=={version}" for version in _all_installed(lines) or ())


def _all_installed(lines: Iterable[str]) -> list[str] | None:
    """The versions of torch that lines of a script install; None where one may be any."""
    commands = [given for line in lines for _, given in _commands(line)]
    if any(map(_UNKNOWN_INSTALL.search, commands)):
        return None
    return _first_of(_INSTALL, commands)


def _first_of(pattern: re.Pattern[str], commands: Iterable[str]) -> list[str]:
    return [match[1] for match in map(pattern.search, commands) if match]


def _commands(line: str) -> Iterator[tuple[str, str]]:
    """What installs something in a line, with what it is given."""
    found = list(_COMMAND.finditer(line))
    ends = [match.start() for match in found[1:]] + [len(line)]
    for match, end in zip(found, ends, strict=False):
        yield match[1], _NEXT.split(line[match.end() : end], maxsplit=1)[0]


def _told(text: str) -> Iterator[str]:
    """The newest torch that a README, a page on installing or both tell their readers to install: `conda install pytorch==1.11.0`, `PyTorch >= 1.9, <= 1.10.2`,
    or an item of what is needed, `* PyTorch 1.5.1`, `* PyTorch before 0.4`, `* 1.1 <= PyTorch < 1.5`; or the one behind `pip install torchvision==0.8.2`; else
    what they say the code was tested with.
    And the oldest that is enough for any part, by `PyTorch >= 1.10` or `PyTorch 1.7+`.

    They may have an older one than the newest. Beside `PyTorch >= 1.10` or `PyTorch 1.7+` what is installed is an example, unless it is older than that:
    then a part of the project alone needs the newer one.
    """
    tried = _tried(text.splitlines())
    text = _BADGE.sub(_badge, text.replace("\\\n", " "))
    lines = [line for line in text.splitlines() if "torch" in line.lower()]
    commands = [given for line in lines for _, given in _commands(line)]
    found = _first_of(_INSTALL, commands) + [match[1] for line in lines for match in _AT_MOST.finditer(line)]
    # A line that is no item may be about anything, unless it is nothing but two bounds: `PyTorch >= 1.7 < 1.11;`.
    before = {
        line: match[1]
        for line in lines
        if (match := _BEFORE.match(_item(line)) or (_BEFORE.fullmatch(line) if ">" in line else None))
    }
    least = [
        match
        for line in lines
        if (match := _AT_LEAST.search(line)) and not _AT_MOST.search(line) and line not in before
    ]
    if all(_is_older(found, match[1] or match[2]) for match in least):
        found += _listed(text)
        found = found or list(map(behind_vision, _first_of(_VISION, commands)))
        found = found or (list(tried) if not any(_ANY_TORCH.search(f"{given} ") for given in commands) else [])
        yield from _either(
            [*(f"<={version}" for version in filter(None, found)), *(f"<{version}" for version in before.values())]
        )
    enough = [match[1] or match[2] for match in least]
    if enough and all(enough) and not any(_is_older(found, one) for one in enough):
        yield f">={min(enough, key=_minor)}"
    elif not found and not enough:
        yield from _oldest(match[1] for match in _ROW.finditer(text))


def _badge(match: re.Match[str]) -> str:
    """What a picture of a version shows, as an item of a list."""
    from urllib.parse import unquote

    return f"\n* {match[1]} {unquote(match[2])}\n"


def _built_for(text: str) -> list[Range | None]:
    """What pages say of torch by the CUDA that they install it for: up to 2.0 for `conda install pytorch pytorch-cuda=11.7`; of several
    any may be the one. Nothing where the newest torch for one of them is not known, or an older torch is said to be enough.
    """
    lines = [line for line in text.replace("\\\n", " ").splitlines() if "torch" in line.lower()]
    found = [one for line in lines for command in _commands(line) if (one := _cuda(*command)) is not None]
    newest = [behind_cuda(version) for _, version in found]
    if not all(newest) or any(map(_AT_LEAST.search, lines)):
        return []
    limits = _ranges(_either(f"<={version}" for version in newest))
    return [_supposed(one) for one in limits] if any(name == _TOOLKIT for name, _ in found) else limits


def _cuda(command: str, given: str) -> tuple[str, str] | None:
    """What says for which CUDA a command installs a torch of any version, and that."""
    torch = _ANY_TORCH.search(given)
    if torch is None:
        return None
    if command in ("conda", "mamba"):
        match = _WITH_CUDA.search(given, torch.end())
        return (match[1], match[2]) if match else None
    match = _INDEX_OF_CUDA.search(given, torch.end())
    return ("", f"{match[1]}.{match[2]}") if match else None


def _item(line: str) -> str:
    """What an item of a list says, without its markup; "" of other lines."""
    item = _ITEM.match(line)
    return _MARKUP.sub(" ", line[item.end() :]).strip() if item else ""


def _listed(text: str) -> Iterator[str]:
    """The torch in lists of what is needed: `* PyTorch 1.5.1`, `- Python 3.6, PyTorch 1.9`, lines of a block such as `pytorch 1.11.0`,
    `Requirements: PyTorch 0.4.1, numpy 1.15`, `Environments: Python3, PyTorch 1.6.0, numba`, and `torch==1.6.0` alone; of two versions,
    `PyTorch 0.3.*/0.4.*`, the newer one. What says more than names and versions may be about anything.
    """
    in_block = False
    for line in text.splitlines():
        if _FENCE.match(line):
            in_block = not in_block
        if "torch" not in line.lower():
            continue
        item = _ITEM.match(line)
        plain = _MARKUP.sub(" ", _ANY_PATCH.sub("", line[item.end() :] if item else line))
        parts = [part.strip() for part in _BETWEEN.split(plain.strip(" \t.,;"))]
        if item and item["heading"]:
            parts = [part for part in parts if not _NAME.fullmatch(part)]
        found = [_WANTED.fullmatch(part) for part in parts]
        for one in filter(None, found if all(found) else ()):
            said = item or in_block or one[2] == "=="
            versions = [version for version in one.group(3, 4) if version is not None]
            if said and one[1].lower() in ("torch", "pytorch") and all(map(_RELEASE.fullmatch, versions)):
                yield max(versions, key=_minor)


def _tried(lines: Iterable[str]) -> Iterator[str]:
    """The versions of torch that lines say the code was tested with."""
    short = (line for line in lines if len(line) < _LONGEST and "torch" in line.lower())
    for said in filter(None, map(_TRIED.search, short)):
        rest = said["behind"] or said["there"]
        if _AND_NEWER.match(rest):
            continue
        at = 0
        while (version := _TRIED_TOO.match(rest, at)) is not None and (not at or rest[at - 1] in " ,/&v"):
            yield version[1]
            at = version.end()


def _is_older(installed: list[str], least: str | None) -> bool:
    """Whether all versions that are installed are older than one that something needs."""
    return least is not None and bool(installed) and all(_minor(one) < _minor(least) for one in installed)


def _minor(version: str) -> tuple[int, int]:
    major, minor, *_ = (*version.split("."), "0")
    return int(major), int(minor)


def _as_it_is(text: str) -> Iterator[str]:
    yield text


def _dockerfile_python(text: str) -> Iterator[str]:
    """`FROM python:3.8-slim`."""
    yield from (f"=={match[1]}.*" for match in map(_IMAGE.match, _filled(text)) if match)


def _dockerfile(text: str) -> Iterator[str]:
    """The oldest torch of `FROM pytorch/pytorch:1.6.0-cuda10.1-cudnn7-runtime` or `RUN pip install torch==1.6.0`: what an image has says no
    torch is too new elsewhere. None where one of them may be any.
    """
    found: list[str] = []
    for line in _filled(text.replace("\\\n", " ")):
        image, installed = _TORCH_IMAGE.match(line), _all_installed((line,))
        versions = [_torch_of(image)] if image else []
        if installed is None or not all(versions):
            return
        found += [*versions, *installed]
    yield from _oldest(found)


def _compose(text: str) -> Iterator[str]:
    """The oldest torch of the images that something is run in: `image: pytorch/pytorch:1.6.0-cuda10.1-cudnn7-runtime`."""
    found = [_torch_of(match) for match in _IMAGE_OF.finditer(text)]
    yield from _oldest(found) if all(found) else ()


def _torch_of(image: re.Match[str]) -> str:
    """The torch of an image; "" where nobody knows it."""
    return image[1] or behind_nvidia(image[2] or "")


def _oldest(versions: Iterable[str]) -> Iterator[str]:
    """The oldest of some versions and all newer ones; nothing where there is none."""
    oldest = min(versions, key=_minor, default="")
    yield from [f">={oldest}"] if oldest else ()


def _filled(text: str) -> Iterator[str]:
    """The lines of a Dockerfile, with what arguments are where nobody gives any: `ARG VERSION=3.8`; one at a time, since they may be long."""
    given: dict[str, str] = {}
    for line in map(str.strip, text.splitlines()):
        if argument := _ARGUMENT.match(line):
            given[argument[1]] = argument[2]
        elif not line.startswith("#"):
            yield _REFERENCE.sub(lambda reference: given.get(reference[1], reference[0]), line)


def _tested(versions: Iterable[str]) -> list[str]:
    """The versions that services test, where the oldest is none of the last years: a newer one says nothing of what else is in use."""
    found = list(versions)
    return found if found and min(map(_minor, found)) < oldest_in_use() else []


def _service(text: str) -> Iterator[str]:
    """The versions that a service tests: `pip install torch==1.6`, `torch-version: [1.11.0, 2.0.0]`."""
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    for match in _TESTED.finditer(lines):
        yield from _RELEASES.findall(match[1] or match[2])


def _setup_cfg(text: str) -> Iterator[str]:
    parser = _sections(text)
    options = parser.get("options", "install_requires", fallback="").splitlines()
    extras = parser["options.extras_require"].values() if parser.has_section("options.extras_require") else ()
    yield from _of_groups(options, (value.splitlines() for value in extras))


def _of_groups(needed: object, groups: Iterable[object]) -> Iterator[str]:
    """What all who install something need, else what any of its groups does: nobody installs all of those."""
    found = list(_of_requirements(needed))
    yield from found or _either(",".join(one) for group in groups if (one := list(_of_requirements(group))))


def _setup_cfg_python(text: str) -> Iterator[str]:
    yield _sections(text).get("options", "python_requires", fallback="")


def _environment(text: str) -> Iterator[str]:
    return _of_conda(text)


def _cog(text: str) -> Iterator[str]:
    """What Cog builds an image of: `python_packages: ["torch==1.8.0"]`, else `run: ["pip install torch==1.10.0"]`."""
    found = list(_of_conda(text))
    yield from found or _installed("\n".join(line.strip(" -\"'") for line in text.splitlines()))


def _environment_aside(text: str) -> Iterator[str]:
    return _of_conda(text)


def _sections(text: str) -> RawConfigParser:
    """A file of sections; nothing of what is behind its first error."""
    import configparser

    parser = configparser.RawConfigParser()
    with suppress(configparser.Error):
        parser.read_string(text)
    return parser


def _setup_py_python(text: str) -> Iterator[str]:
    yield from (versions for _, versions in _PYTHON_REQUIRES.findall(text))


def _pyproject(text: str) -> Iterator[str]:
    table = _parsed(text)
    project = _table(table, "project")
    groups = (*_table(project, "optional-dependencies").values(), *_table(table, "dependency-groups").values())
    yield from _of_groups(project.get("dependencies"), groups)
    yield from _constrained(_table(table, "tool", "uv").get("constraint-dependencies"))
    poetry = _table(table, *_POETRY)
    owners = [group for group in _table(poetry, "group").values() if isinstance(group, dict)]
    needed = _poetry_pins(poetry)
    yield from _either(needed or (pin for owner in owners for pin in _poetry_pins(owner)))
    sources = _table(table, "tool", "uv", "sources").get("torch")
    places = sources if isinstance(sources, list) else [sources]
    # Where none of their markers holds, torch comes from an index, in any version.
    found = [_pinned(one) for one in places]
    yield from _either(found) if all(found) and not all(map(_is_marked, places)) else ()


def _poetry_pins(owner: dict[str, Any]) -> list[str]:
    """The versions of torch that a group asks for, of which any may be the one; all where it doesn't say any."""
    wanted = _table(owner, "dependencies").get("torch")
    several = wanted if isinstance(wanted, list) else [wanted]
    return [_pinned(one) for one in several if one is not None]


def _is_marked(place: object) -> bool:
    """Whether a source is one for some machines, extras or groups alone."""
    return isinstance(place, dict) and not place.keys().isdisjoint(("marker", "extra", "group"))


def _pipfile(text: str) -> Iterator[str]:
    version = _pinned(_table(_parsed(text), "packages").get("torch"))
    yield from [version] if version not in ("", "*") else ()


def _pinned(wanted: object) -> str:
    """The versions that a table of TOML asks for, by a version, an address or a file; "" where it doesn't say any."""
    version = wanted.get("version") if isinstance(wanted, dict) else wanted
    if isinstance(version, str):
        return version
    places = [wanted.get(kind) for kind in ("url", "file", "path")] if isinstance(wanted, dict) else []
    return next((found for place in places if isinstance(place, str) and (found := _of_wheel(place))), "")


def _pixi(text: str) -> Iterator[str]:
    """What a `pixi.toml` asks for, of conda or of PyPI; of several features and platforms any may be the one."""
    table = _parsed(text)
    features = [one for one in _table(table, "feature").values() if isinstance(one, dict)]
    platforms = [one for owner in (table, *features) for one in _table(owner, "target").values()]
    needed = _pixi_pins(table)
    apart = [",".join(pins) for one in (*features, *platforms) if isinstance(one, dict) and (pins := _pixi_pins(one))]
    yield from needed or _either(apart)


def _pixi_pins(table: dict[str, Any]) -> list[str]:
    """The versions that a part of it asks for; "" for any."""
    tables = (_table(table, "dependencies"), _table(table, "pypi-dependencies"))
    return [_pinned(one[name]) for one in tables for name in ("pytorch", "torch") if name in one]


def _pipfile_python(text: str) -> Iterator[str]:
    version = _table(_parsed(text), "requires").get("python_version")
    if isinstance(version, str):
        yield f"=={version}.*"


def _pyproject_python(text: str) -> Iterator[str]:
    table = _parsed(text)
    asked = _table(table, "project").get("requires-python"), _table(table, *_POETRY, "dependencies").get("python")
    yield from (versions for versions in asked if isinstance(versions, str))


def _parsed(text: str) -> dict[str, Any]:
    """What a file of TOML says; nothing if it is none."""
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _nothing(text: str) -> Iterator[str]:
    """What a file says that is not read for this: requirements say nothing of Python."""
    yield from ()


def _table(table: dict[str, Any], *path: str) -> dict[str, Any]:
    """The table at a path; empty if there is none."""
    for name in path:
        inner = table.get(name)
        table = inner if isinstance(inner, dict) else {}
    return table


_READERS: dict[str, Reader] = {
    r"pyproject\.toml": _pyproject,
    r"req(?:s|uirements?)[^/]*\.(?:txt|in)": _requirements,
    r"requirements/[^/]*\.(?:txt|in)": _requirements,
    r"setup\.cfg": _setup_cfg,
    r"setup\.py": _setup_py,
    r"Pipfile": _pipfile,
    r"pixi\.toml": _pixi,
    r"(?:uv|poetry|pdm)\.lock": of_lock,
    r"Pipfile\.lock": of_pipenv,
    r"environment[^/]*\.y[^/]*ml|[^/]*(?:conda|cuda|env|cpu|gpu|torch)[^/]*\.ya?ml|(?:(?:conda[-.])?recipe/)?meta\.ya?ml|requirements?\.ya?ml": _environment,
    r"cog\.ya?ml": _cog,
    r"(?:conda|environments?|envs?|scripts|setup)/[^/]*\.ya?ml": _environment_aside,
    r"(?:install|env|setup)[^/]*\.sh": _installed,
    r"(?i:(?:README|(?:docs?/|readme/)?(?:environment|install(?:ation)?|get(?:ting)?[-_]?started)|training|tutorial|usage)(?:\.(?:md|rst|txt))?)": _told,
    r"(?:\.devcontainer/)?Dockerfile": _dockerfile,
    r"(?:docker-)?compose[^/]*\.ya?ml|\.devcontainer(?:/devcontainer)?\.json": _compose,
    r"tox\.ini|\.travis\.yml|\.circleci/config\.yml|\.github/workflows/[^/]*\.ya?ml": _service,
}
_PINNING = (_requirements, _constraints, _environment, _cog)
"""What reads files that may pin packages made for one torch."""
_LOCKS: set[Reader] = {of_lock, of_pipenv}
_IMAGES: set[Reader] = {_dockerfile, _compose}
_INSTALLING = {_installed, _told, _environment_aside, _service, *_IMAGES}
_PYTHON_READERS: dict[Reader, Reader] = {
    _pyproject: _pyproject_python,
    _setup_cfg: _setup_cfg_python,
    _setup_py: _setup_py_python,
    _pipfile: _pipfile_python,
    _environment: _environment_python,
    _cog: _environment_python,
    _dockerfile: _dockerfile_python,
}
"""What reads the Pythons in the file that the first reads torch in."""
_ENVIRONMENTS = (_environment_python, _dockerfile_python, _pipfile_python)
"""What tells of one environment, where other readers tell what is allowed in any."""
