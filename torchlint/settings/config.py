"""Settings: from the command line over the closest configuration file over what is built in.

A configuration file is torchlint.toml, .torchlint.toml or the `[tool.torchlint]` table of pyproject.toml. As in ruff, only
the closest one upward counts and nothing is merged, except that a file may build on another one by `extend`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from ..system.cached import cached_property
from ..system.failure import Failure
from ..system.regex import regex
from ..system.stamp import contents
from ..text.finding import Severity
from ..torch_api.version import Range
from . import globs
from .home import project_root
from .keys import EXCLUDE, KEYS, type_name, wrong
from .select import Layer, Selectable, Selector, suggestion

if TYPE_CHECKING:
    from ..text.finding import Finding

_ALTERNATIVES = 1000
"""How many patterns the braces of one may stand for."""
_OF_LINES = regex(
    r"""\#[^\n]*|(?P<lines>\"{3}(?:\\.|[^\\])*?\"{3}|'{3}.*?'{3})|"(?:\\.|[^"\\\n])*"|'[^'\n]*'""", re.DOTALL
)
"""Strings of several lines in TOML, and what may hold quotes besides."""
FILES = (".torchlint.toml", "torchlint.toml", "pyproject.toml")

SELECTORS = tuple(name for name, key in KEYS.items() if key.selects and key.kind in ("list", "levels"))
_IGNORES = ("per-file-ignores", "extend-per-file-ignores")


class Configurable(Selectable, Protocol):
    """What settings need to know of a rule."""

    @property
    def options(self) -> Mapping[str, str]: ...


T = TypeVar("T")
Options = Mapping[str, Any]
"""What one place sets, checked, by the names of `KEYS` and of rules with options; a key that isn't there isn't set."""
Layers = list[tuple[Options, Path]]
"""What several places set, each with the directory that its patterns are meant below; a later one goes before."""


class ConfigError(Failure):
    """A configuration that can't be used; the text says where and why."""


@dataclass(frozen=True)
class Settings:
    """What a run does: plain data, resolved. `codes` are the rules that are on, `fixable` those whose fixes may be applied.

    `exclude` are gitignore patterns below `root`; `compiled` names code that is compiled elsewhere, as
    `package.module:Class.method`; `accelerators` replaces the devices found in the code when it isn't empty;
    `budget` limits what a traced run may do; `options` are the switches of rules that are on, as `TL706.suggest-fused`;
    `severities` are those that rules have in place of their own, findings below `fail_level` do not make a run fail;
    `rule_url` is where the page of a rule is, with `{name}` or `{code}` in it;
    `project` is the directory of the project that the files belong to, which what they are for is told from;
    `cache_dir` is where the cache is to be instead of the project's directory;
    `source` is the configuration file, `warnings` what is odd about the configuration without stopping a run;
    `exclude_below` and `ignores_below` are patterns that are meant below other directories than `root`: those of files that
    the configuration file extends, and of the command line for another file;
    `plugins` are the packages whose rules were loaded;
    `closest` gives the settings of files that have a closer configuration file; None where all files have these.
    """

    codes: frozenset[str]
    fixable: frozenset[str]
    per_file_ignores: tuple[tuple[str, frozenset[str]], ...] = ()
    exclude: tuple[str, ...] = EXCLUDE
    respect_gitignore: bool = True
    force_exclude: bool = False
    preview: bool = False
    target_torch: Range | None = None
    compiled: tuple[str, ...] = ()
    accelerators: tuple[str, ...] = ()
    severities: tuple[tuple[str, Severity], ...] = ()
    fail_level: Severity = "info"
    output_format: str = "full"
    fix: bool = False
    unsafe_fixes: bool = False
    fix_only: bool = False
    show_fixes: bool = False
    budget: tuple[tuple[str, float | str], ...] = ()
    options: frozenset[str] = frozenset()
    ignore_noqa: bool = False
    sieve: bool = True
    cache_dir: Path | None = None
    rule_url: str = ""
    root: Path = field(default_factory=Path.cwd)
    project: Path = field(default_factory=Path.cwd)
    source: Path | None = None
    warnings: tuple[str, ...] = ()
    exclude_below: tuple[tuple[Path, tuple[str, ...]], ...] = ()
    ignores_below: tuple[tuple[Path, tuple[tuple[str, frozenset[str]], ...]], ...] = ()
    plugins: tuple[str, ...] = ()
    closest: Closest | None = field(default=None, compare=False, repr=False)

    def at(self, path: Path | str) -> Settings:
        """The settings of a file: those of the closest configuration file, where several count."""
        if self.closest is None:
            return self
        found = self.closest.of_file(str(path))
        return self if found is self.closest.run else found

    def at_folder(self, folder: str) -> Settings:
        """The same for the files of a directory."""
        if self.closest is None:
            return self
        found = self.closest.of_folder(folder)
        return self if found is self.closest.run else found

    def all_codes(self, paths: Iterable[Path | str]) -> frozenset[str]:
        """The codes that are on in any of the files."""
        if self.closest is None:
            return self.codes
        return frozenset[str]().union(*{settings.codes for settings in map(self.at, paths)})

    @property
    def all_warnings(self) -> tuple[str, ...]:
        """What is odd about these settings and those of files that were asked for."""
        others = self.closest.used() if self.closest is not None else ()
        return tuple(dict.fromkeys([*self.warnings, *(warning for one in others for warning in one.warnings)]))

    @property
    def sources(self) -> tuple[Path, ...]:
        """The configuration files that were read."""
        others = self.closest.used() if self.closest is not None else ()
        return tuple(one.source for one in (self, *others) if one.source is not None)

    def may_fix(self, finding: Finding) -> bool:
        """Whether fixes of the finding's rule may be applied in its file."""
        return finding.code in self.at(finding.path).fixable

    def enabled(self, path: Path | str) -> frozenset[str]:
        """The codes that are on in this file: `codes` less what `per-file-ignores` takes from it.

        A pattern is held against the file's name and its path below `root`; `!` in front turns it round.
        """
        here = self.at(path)
        if not here._ignores:
            return here.codes
        absolute = Path(os.path.realpath(path))  # `../x.py` without the dots, and whatever link it was named by
        hits = []
        for root, patterns, inverted, codes in here._ignores:
            below = absolute.relative_to(root) if absolute.is_relative_to(root) else absolute
            names = (absolute.name, below.as_posix())
            if any(pattern.fullmatch(name) for pattern in patterns for name in names) is not inverted:
                hits.append(codes)
        return here.codes.difference(*hits)

    @cached_property
    def _ignores(self) -> tuple[tuple[Path, list[re.Pattern[str]], bool, frozenset[str]], ...]:
        return tuple(
            (root, _globs(pattern.removeprefix("!")), pattern.startswith("!"), codes)
            for root, ignores in ((self.root, self.per_file_ignores), *self.ignores_below)
            for pattern, codes in ignores
        )


def _globs(pattern: str) -> list[re.Pattern[str]]:
    """A shell pattern as ruff reads it: `*` crosses slashes, `**/` may be nothing, `{a,b}` are alternatives.

    Raises ValueError for a pattern that can't be used.
    """
    parts = [
        part[1:-1].split(",") if part[:1] == "{" and part[-1:] == "}" else [part]
        for part in re.split(r"(\{[^{}]*\})", pattern.removeprefix("./"))
    ]
    if prod(map(len, parts)) > _ALTERNATIVES:
        raise ValueError(f"it has more than {_ALTERNATIVES} alternatives")
    return [_glob("".join(choice)) for choice in product(*parts)]


def _glob(pattern: str) -> re.Pattern[str]:
    plain: dict[str, str | tuple[globs.Star]] = {
        "**/": (globs.FOLDERS,), "**": (globs.STAR,), "*": (globs.STAR,), "?": "[^/]",
    }  # fmt: skip
    tokens: list[str | tuple[globs.Star]] = []
    for token in re.findall(r"\*\*/|\*\*|\[[^\]]+\]|.", pattern, re.DOTALL):
        if len(token) > 1 and token[0] == "[":
            if match := next((m for m in re.finditer("(.)-(.)", token[1:-1], re.DOTALL) if m[1] > m[2]), None):
                raise ValueError(f"the range `{match[0]}` ends before it starts")
            inside = token[1:-1].replace("\\", "\\\\")
            found = globs.char_class(f"[{inside}]", 0)
            tokens += [found[0]] if found is not None else map(re.escape, token)
        else:
            tokens.append(plain.get(token) or re.escape(token))
    return globs.compiled(globs.split(tokens))


class _Place(NamedTuple):
    """Where options stand, so that a message can point there."""

    name: str
    text: str = ""
    table: str = ""

    def error(self, message: str, key: str = "") -> ConfigError:
        line = self._line(key) if key else None
        if not self.text:
            return ConfigError(f"{message} from {self.name}")
        return ConfigError(f"{self.name}:{line}: {message}" if line else f"{self.name}: {message}")

    def _line(self, key: str) -> int | None:
        lines = _OF_LINES.sub(
            lambda match: "\n" * match[0].count("\n") if match["lines"] else match[0], self.text
        ).split("\n")
        header = rf"\s*\[\s*{re.escape(self.table)}\s*[\].]" if self.table else ""
        first = next((i for i, line in enumerate(lines) if re.match(header, line)), 0)
        wanted = rf"""\s*(?:\[(?:.*\.)?)?["']?{re.escape(key)}["']?\s*[=.\]]"""
        return next((i + 1 for i, line in enumerate(lines) if i >= first and re.match(wanted, line)), None)


def find(start: Path) -> Path | None:
    """The closest configuration file at or above the directory."""
    return next((path for directory in (start, *start.parents) if (path := _here(str(directory))) is not None), None)


def _here(directory: str) -> Path | None:
    """The configuration file of a directory."""
    for name in FILES:
        path = os.path.join(directory, name)
        if os.path.isfile(path) and (name != "pyproject.toml" or _has_table(Path(path))):
            return Path(path)
    return None


def extends(path: str | Path) -> bool:
    """Whether a configuration file may build on another one; what only has the name of one builds on nothing."""
    return os.path.isfile(path) and re.search(rb"\bextend[\"']?\s*=", contents(str(path))) is not None


class Closest:
    """The settings of each file: those of the closest configuration file at or above it, under those of the command line."""

    def __init__(self, rules: Sequence[Configurable], run: Settings, over: Layers, *, lacking: bool) -> None:
        """`run` are the settings of the run as a whole, `over` what goes before every file; `lacking`: see `_read`."""
        self._rules = rules
        self._lacking = lacking
        self.run = run
        self._over = over
        self._by_source: dict[Path | None, Settings] = {run.source: run}
        self._by_folder: dict[str, Settings] = {}
        self._by_name: dict[str, Settings] = {}
        self._by_file: dict[str, Settings] = {}
        self._wrong: dict[str, ConfigError] = {}
        """Directories whose file can't be used; the one above counts there for what is read and not linted."""

    def of_file(self, path: str) -> Settings:
        """The settings of a file."""
        found = self._by_file.get(path)
        if found is None:
            name = os.path.realpath(path) if os.path.islink(path) else path
            found = self._by_file[path] = self.of_folder(os.path.dirname(name))
        return found

    def of_folder(self, name: str) -> Settings:
        """The settings of the files in a directory, whatever it is called."""
        found = self._by_name.get(name)
        if found is None:
            found = self._by_name[name] = self.of(os.path.realpath(name or os.curdir))
        return found

    def of(self, folder: str) -> Settings:
        """The same for a directory that is named without links."""
        found = self._by_folder.get(folder)
        if found is None:
            found = self._by_folder[folder] = self._of_folder(folder)
        return found

    def _of_folder(self, folder: str) -> Settings:
        above = os.path.dirname(folder)
        try:
            source = _here(folder)
            if source is not None or above == folder:
                return self._of_source(source)
        except ConfigError as error:
            self._wrong[folder] = error
        found = self.run if above == folder else self.of(above)
        if above in self._wrong:
            self._wrong.setdefault(folder, self._wrong[above])
        return found

    def _of_source(self, source: Path | None) -> Settings:
        if source not in self._by_source:
            layers = [*_read(_files(source) if source else (), self._rules, lacking=self._lacking), *self._over]
            root = source.parent if source else self.run.project
            settings = _resolve(self._rules, layers, root, source)
            self._by_source[source] = replace(settings, project=self.run.project, plugins=self.run.plugins)
        return self._by_source[source]

    def check(self, paths: Iterable[str]) -> None:
        """Raise what is wrong with the settings of files, which are named without links."""
        if self._wrong:
            for folder in map(os.path.dirname, paths):
                self.of(folder)
                if folder in self._wrong:
                    raise self._wrong[folder]

    def used(self) -> Iterable[Settings]:
        """The settings that were asked for, besides those of the run."""
        return [settings for settings in self._by_source.values() if settings is not self.run]


def _has_table(path: Path) -> bool:
    """Whether a pyproject.toml configures torchlint; one that doesn't name it isn't parsed."""
    text = _text(path)
    return "torchlint" in text and "torchlint" in _tool(_parse(text, str(path)), path)


def read_toml(path: Path) -> dict[str, Any]:
    """What a TOML file holds. Raises ConfigError if it can't be read."""
    return _parse(_text(path), str(path))


def _tool(data: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    """The `tool` table of a pyproject.toml."""
    tool = data.get("tool", {})
    if not isinstance(tool, Mapping):
        raise ConfigError(f"{path}: `tool` must be a table, not {type_name(tool)}")
    return tool


def _text(path: Path) -> str:
    try:
        return contents(str(path)).decode("utf-8-sig")  # TOML knows no byte order mark, but editors do
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {getattr(error, 'strerror', None) or error}") from None


def _parse(text: str, name: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ConfigError(f"{name}: nested too deeply to be read") from None
    except tomllib.TOMLDecodeError as error:
        why, _, place = str(error).partition(" (at ")
        line = re.match(r"line (\d+)", place)  # otherwise it says: end of document
        end = text.removesuffix("\n").count("\n") + 1
        raise ConfigError(f"{name}:{line[1] if line else end}: {why}") from None


def load(
    rules: Iterable[Configurable],
    options: Options | None = None,
    *,
    cwd: Path | None = None,
    near: Path | None = None,
    config: Sequence[str] = (),
    isolated: bool = False,
    plug: Callable[[Sequence[str]], Iterable[Configurable]] | None = None,
) -> Settings:
    """Settings for a run in the directory `cwd` on what lies in `near` (default: the same).

    `options` come from the command line, `config` from its `--config` arguments, the rest from the closest file at or
    above `near`. What they say of paths is meant below that file's directory, without one below the project's.
    `plug` loads the plugins that they name, and gives all rules; without it none is loaded, and what only their rules could
    be called is left out.
    Raises ConfigError for everything that is wrong in them; nothing is skipped or guessed.
    """
    directory = (cwd or Path.cwd()).absolute()
    near = near or directory
    table = tuple(rules)
    paths = [item for item in config if "=" not in item or Path(directory, item).is_file()]
    if len(paths) > 1:
        raise ConfigError("only one `--config` can be a file; let one of the files `extend` the other")
    if isolated and paths:
        raise ConfigError("`--isolated` reads no configuration file, `--config` names one")
    source = None if isolated else (directory / paths[0] if paths else find(near))
    project = project_root(near) or near
    root = source.parent if source and not paths else project
    files = list(_files(source)) if source else []
    plugins = _plugins(files, [item for item in config if item not in paths], options or {})
    if plugins and plug is not None:
        table = tuple(plug(plugins))
    lacking = bool(plugins) and plug is None
    layers = _read(files, table, lacking=lacking)
    if paths:
        layers = [(given, root) for given, _ in layers]
    over = [(_pair(item, table), root) for item in config if item not in paths]
    over += [(_checked(options, _Place("the CLI"), table), root)] if options else []
    settings = replace(_resolve(table, [*layers, *over], root, source), project=project)
    if lacking:
        told = f"`plugins` ({', '.join(plugins)}) are not loaded: code that settings name is run with `--allow-plugins` only."
        settings = replace(settings, warnings=(*settings.warnings, told))
    elif plugins:
        settings = replace(settings, plugins=plugins)
    if isolated or paths:
        return settings
    return replace(settings, closest=Closest(table, settings, over, lacking=lacking))


def _read(files: Iterable[_File], rules: Sequence[Configurable], *, lacking: bool) -> Layers:
    """The options of a file, after those of the files it extends; `lacking`: without what only plugins could know."""
    layers: Layers = []
    for table, place, folder in files:
        layers.insert(0, (_checked(_without_plugins(table, rules) if lacking else table, place, rules), folder))
    return layers


_File = tuple[Any, _Place, Path]
"""What a configuration file says, where that stands, and its directory."""


def _files(path: Path) -> Iterator[_File]:
    """A file, and then those that it builds on."""
    seen: set[tuple[int, int]] = set()
    while True:
        text = _text(path)
        found = os.stat(path)  # the same file may have many names
        seen.add((found.st_dev, found.st_ino))
        in_pyproject = path.name == "pyproject.toml"
        data = _parse(text, str(path))
        place = _Place(str(path), text, "tool.torchlint" if in_pyproject else "")
        table = _tool(data, path).get("torchlint", {}) if in_pyproject else data
        yield table, place, path.parent
        extend = table.get("extend") if isinstance(table, Mapping) else None
        if not isinstance(extend, str) or "\0" in extend:  # the checks that follow tell what is wrong
            return
        named = path.parent / os.path.expanduser(extend)
        path = Path(os.path.realpath(named.parent), named.name)
        if not os.path.isfile(path):
            raise place.error(f"`extend` names {path}, which isn't there", "extend")
        found = os.stat(path)
        if (found.st_dev, found.st_ino) in seen:
            raise place.error(f"`extend` leads back to {path}", "extend")


def _plugins(files: Sequence[_File], pairs: Sequence[str], options: Options) -> tuple[str, ...]:
    """The plugins that a run names: their rules must be known before anything else is checked."""
    found: Any = ()
    for table in [
        *reversed([table for table, _, _ in files]),
        *(_parse(text, f"`--config {text}`") for text in pairs),
        options,
    ]:
        if isinstance(table, Mapping) and "plugins" in table and not wrong("plugins", table["plugins"]):
            found = table["plugins"]
    return tuple(found)


def _without_plugins(table: Any, rules: Sequence[Configurable]) -> Any:
    """A table without the selectors and options that no rule has, which those of plugins may have."""
    if not isinstance(table, Mapping):
        return table
    selector = Selector(rules, preview=True)

    def is_known(word: object) -> bool:
        return not isinstance(word, str) or word.startswith("TL") or selector.knows(word)

    def kept(name: str, value: Any) -> Any:
        key = KEYS.get(name)
        if key is None or not key.selects or wrong(name, value):
            return value
        if key.kind == "table":
            return {pattern: list(filter(is_known, words)) for pattern, words in value.items()}
        return (
            {word: value[word] for word in value if is_known(word)}
            if key.kind == "levels"
            else list(filter(is_known, value))
        )

    return {
        name: kept(name, value)
        for name, value in table.items()
        if name in KEYS or is_known(name) or not isinstance(value, Mapping)
    }


def _pair(text: str, rules: Sequence[Configurable]) -> Options:
    name = f"`--config {text}`"
    return _checked(_parse(text, name), _Place(name), rules)


def _checked(table: Options, place: _Place, rules: Sequence[Configurable]) -> Options:
    if not isinstance(table, Mapping):
        raise place.error(f"`torchlint` must be a table, not {type_name(table)}", "torchlint")
    named = {key: rule for rule in rules for key in (rule.code, rule.name)}
    unknown = [key for key in table if key not in KEYS and key not in named]
    if unknown:
        known = [*KEYS, *named]
        told = (str(place.error(f"unknown key `{key}`{suggestion(key, known)}", key)) for key in unknown)
        raise ConfigError("\n".join(told))
    for key, value in table.items():
        if key in named:
            _check_options(named[key], value, place, key)
            continue
        for message in wrong(key, value):
            raise place.error(message, key)
    selector = Selector(rules, preview=True)
    for key in SELECTORS:
        _check_selectors(selector, table.get(key, ()), key, place, key)
    for key in _IGNORES:
        for pattern, selectors in table.get(key, {}).items():
            try:
                _globs(pattern.removeprefix("!"))
            except ValueError as error:
                raise place.error(f"`{pattern}` in `{key}` can't be used: {error}", pattern) from None
            _check_selectors(selector, selectors, key, place, pattern)
    return table


def _check_options(rule: Configurable, table: object, place: _Place, key: str) -> None:
    """Hold the table of a rule, `[tool.torchlint.optimizer-slow-impl]`, to the options that the rule has."""
    if not rule.options:
        raise place.error(f"{rule.code} ({rule.name}) has no options", key)
    if not isinstance(table, Mapping):
        raise place.error(f"`{key}` must be a table, not {type_name(table)}", key)
    for option, value in table.items():
        if option not in rule.options:
            hint = suggestion(option, rule.options) or f"; it has {', '.join(rule.options)}"
            raise place.error(f"{rule.code} ({rule.name}) has no option `{option}`{hint}", option)
        if not isinstance(value, bool):
            raise place.error(f"`{option}` must be true or false, not {type_name(value)}", option)


def _check_selectors(selector: Selector, words: Iterable[str], option: str, place: _Place, key: str) -> None:
    for word in words:
        try:
            selector.codes(word)
        except Failure as error:
            unknown, _, hint = str(error).partition(";")
            message = f"{unknown} in `{option}`"
            if place.text:
                raise place.error(message + (f";{hint}" if hint else ""), key) from None
            raise ConfigError(f"{message} from {place.name}" + (f";{hint}" if hint else "")) from None


def _resolve(rules: Sequence[Configurable], placed: Layers, root: Path, source: Path | None) -> Settings:
    layers = [options for options, _ in placed]
    merged: dict[str, Any] = {}
    below: dict[str, Path] = {}
    """The directory that what a key says is meant below."""
    for options, base in placed:
        merged.update(options)
        below.update(dict.fromkeys(options, base))
    preview = merged.get("preview", False)
    selector = Selector(rules, preview=preview)
    selection = [Layer(_maybe(o, "select"), o.get("ignore", ()), o.get("extend-select", ())) for o in layers]
    fixes = [Layer(_maybe(o, "fixable"), o.get("unfixable", ()), o.get("extend-fixable", ())) for o in layers]
    everything = frozenset(rule.code for rule in rules)
    severities = _severities(selector, layers)
    plain = ("respect-gitignore", "force-exclude", "output-format", "fix", "unsafe-fixes", "fix-only", "show-fixes",
             "fail-level", "rule-url")  # fmt: skip
    off = frozenset(code for code, level in severities.items() if level == "off")
    ignores = _by_base(
        (base, (pattern, frozenset[str]().union(*map(selector.codes, words))))
        for base, table in [
            (below.get("per-file-ignores", root), merged.get("per-file-ignores", {})),
            *((base, options.get("extend-per-file-ignores", {})) for options, base in placed),
        ]
        for pattern, words in table.items()
    )
    excludes = _by_base(
        (base, pattern)
        for base, patterns in [
            (below.get("exclude", root), merged.get("exclude", EXCLUDE)),
            *((base, options.get("extend-exclude", ())) for options, base in placed),
        ]
        for pattern in patterns
    )
    return Settings(
        codes=(selector.resolve(selection, selector.defaults()) | _always(selector, selection)) - off,
        severities=tuple((code, level) for code, level in severities.items() if level != "off"),
        fixable=Selector(rules, preview=preview, gated=False).resolve(fixes, everything),
        per_file_ignores=ignores.pop(root, ()),
        ignores_below=tuple(ignores.items()),
        exclude=excludes.pop(root, ()),
        exclude_below=tuple(excludes.items()),
        preview=preview,
        target_torch=Range.stated(merged["target-torch"]) if "target-torch" in merged else None,
        compiled=tuple(merged.get("compiled", ())),
        accelerators=tuple(merged.get("accelerators", ())),
        budget=tuple(merged.get("budget", {}).items()),
        options=_options(rules, layers),
        cache_dir=below["cache-dir"] / os.path.expanduser(merged["cache-dir"]) if "cache-dir" in merged else None,
        root=root,
        source=source,
        warnings=selector.warnings(selection),
        **{key.replace("-", "_"): merged[key] for key in plain if key in merged},
    )


def compiled_in(paths: Iterable[str], settings: Settings) -> tuple[str, ...]:
    """What the settings of any file of a project say to be compiled elsewhere."""
    if settings.closest is None:
        return settings.compiled
    folders = dict.fromkeys(path.rpartition("/")[0] for path in paths)
    return tuple(dict.fromkeys(name for folder in folders for name in settings.at_folder(folder).compiled))


def _by_base(items: Iterable[tuple[Path, T]]) -> dict[Path, tuple[T, ...]]:
    """What is meant below each directory."""
    found: dict[Path, list[T]] = {}
    for base, item in items:
        found.setdefault(base, []).append(item)
    return {base: tuple(listed) for base, listed in found.items()}


def _severities(selector: Selector, layers: Sequence[Options]) -> dict[str, Any]:
    """What rules have in place of their own severity: of one table, what the longest selector says."""
    found: dict[str, Any] = {}
    for options in layers:
        for word, level in sorted(options.get("severity", {}).items(), key=lambda item: selector.length(item[0])):
            found.update(dict.fromkeys(sorted(selector.codes(word)), level))
    return found


def _options(rules: Sequence[Configurable], layers: Sequence[Options]) -> frozenset[str]:
    """The switches that are on; what a later layer says of one counts."""
    tables = ((rule.code, o[key]) for o in layers for rule in rules for key in (rule.code, rule.name) if key in o)
    values = {f"{code}.{option}": value for code, table in tables for option, value in table.items()}
    return frozenset(option for option, value in values.items() if value)


def _always(selector: Selector, selection: Sequence[Layer]) -> frozenset[str]:
    """The rule for files that can't be read is on whatever is selected, unless it is ignored."""
    ignored = frozenset[str]().union(*(selector.codes(word) for layer in selection for word in layer.ignore))
    return frozenset(rule.code for rule in selector.rules if rule.code == "TL001") - ignored


def _maybe(options: Options, key: str) -> tuple[str, ...] | None:
    return tuple(options[key]) if key in options else None
