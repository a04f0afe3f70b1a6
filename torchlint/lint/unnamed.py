"""Where a file may read the device by something that has no name to look for: an index, a bound, a branch, a loop over rows; or give an option.

Functions that run on each step are shown to the rules whole; of all others these lines are, whatever else the sieve finds.
The text is all that is looked at: it tells too many places, and the rules ask for values.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from ..system.cached import cached_property
from ..system.regex import regex
from ..text.source import Source

_PLAIN = rb"[^\[\]\n%s]{0,200}"
_NESTED = rb"(?:\[" + _PLAIN % b"" + rb"\]%s){0,8}"
# Each repeat has a limit and ends where no other can begin: a file that is nothing but brackets costs no more a byte.
_INSIDE = _PLAIN % b"" + _NESTED % (_PLAIN % b"")
_COMPARED = regex(rb"\[" + _PLAIN % b"=!<>~&|" + _NESTED % (_PLAIN % b"=!<>~&|") + b"[=!<>~&|]" + _INSIDE + rb"\]")
"""`x[a > b]`, `x[~kept]`, `x[:, a & b]`"""
_BY_METHOD = regex(rb"\.(?:gt|lt|ge|le|eq|ne|bool|byte|logical_(?:not|and|or|xor))\([^\[\]()\n]{0,60}\)\)?\]")
"""`x[(a + b).gt(0)]`, `x[kept[i].bool()]`, from the method on"""
_INDEX = regex(rb"\[(?:[-\d:.]{1,12}, ?){0,4}([a-z_]\w{0,60}(?:\.\w{1,60}){0,4})(?:, ?[:.]{1,3}){0,4}\]")
"""`x[kept]`, `x[:3, kept]`, `x[data.mask, :]`"""
_FIRST = regex(rb"\[([a-z_]\w{0,60}), ?[^\[\]\n]{1,60}\]")
"""`x[kept, None]`, `x[kept, 1:4]`"""
_LAST = regex(rb", ?([a-z_]\w{0,60})\]")
"""`x[rows, kept]`"""
_RESHAPED = regex(
    rb"\[(?:[-\d:.]{1,12}, ?){0,4}([a-z_]\w{0,60}(?:\.\w{1,60}){0,4})\.(?:cuda|to|reshape|view|flatten|squeeze|unsqueeze|triu|tril|flip|roll)\([\w., =-]{0,60}\)\]"
)
"""`x[kept.reshape(-1)]`, `x[out.kept.to(x.device)]`"""
_BEGUN = regex(rb"\[(?:[-\d:.]{1,12}, ?){0,4}([a-z_]\w{0,60}(?:\.\w{1,60}){0,4})[\[(]")
"""`x[frame.kept.view(-1)[rows]]`, as far as the first bracket"""
_KEYED = regex(rb"""\[(?:[-\d:.]{1,12}, ?){0,4}([a-z_]\w{0,60}\[["']\w{1,60}["']\])""")
"""`x[batch["kept"]]`, `x[batch["kept"].byte()]`"""
_PICKED = regex(rb"\[((?:self\.)?[a-z_]\w{0,60})\]\.[a-z_]")
"""`layers[t].forward(x)`: an object of a list, by a number"""
_OF_ROW = regex(rb"\[([a-z_]\w{0,60})\[\w{1,60}\]\]")
"""`x[kept[i]]`"""
_INVERTED = regex(rb"""~([a-z_]\w{0,60}(?:\.\w{1,60}){0,4}(?:\[["']\w{1,60}["']\])?)""")
"""`~kept`, `~batch["kept"]`"""
_BY_LIST = regex(
    rb"\[(?<=[\w)\]]\[)(?:(?:[:.]{1,3}|None), ?){0,4}(?:\[[\w, -]{1,60}\]|(?:list\(range|range|(?:np|numpy|torch)\.(?:arange|randperm))\()"
)
"""`x[[2, 1, 0]]`, `x[None, :, [0]]`, `x[range(n), labels]`, `x[torch.randperm(n)]`"""
_BOUND = regex(rb"\[(" + _PLAIN % b":" + _NESTED % (_PLAIN % b":") + b":" + _INSIDE + rb")\]")
"""`x[:t]`, `x[i, : lengths[i]]`"""
_ASKING = (b"if", b"while", b"assert", b"and", b"or")
_CASTS = (b"int", b"float", b"bool")
_BEHIND = rb"%s(?<!\w%s)[ (]+(?:not[ (]+)?%s([A-Za-z_]\w*(?:(?:\.\w{1,60}){0,4}\[[^\[\]\n]*(?:\[[^\[\]\n]{0,60}\][^\[\]\n]{0,60}){0,3}\]){0,3})[ :,)=!<>]"
_TAKEN = [
    regex(_BEHIND % (word, word, rb"(?:-?[\d.]+ ?(?:[<>]=?|,) ?)?"))
    for word in (*_ASKING, *_CASTS, b"range", b"randperm", b"max", b"min", b"sum")
] + [regex(_BEHIND % (word, word, rb"[A-Za-z_]\w* ?[<>=!]=? ?")) for word in _ASKING]
"""`if t > 0`, `if not 0 <= t[i][0]`, `int(t)`, `range(lengths[i])`, `range(0, t)`, `if i < t`; each begins with a word, by which a search is quick"""
_WHOLE = regex(rb"(?<![\w.])(?:max|min|sum)\(([a-z_]\w{0,60})\)")
"""`max(lengths)`, `sum(lengths)`, which go through all of them"""
_CAST = [regex(rb"%s\((?<!\w%s\()([a-z_]\w{0,60})\)" % (word, word)) for word in _CASTS]
"""`int(n)`"""
_COMPARED_NAME = [
    regex(rb"%s(?<!\w%s)[ (]+(?:not[ (]+)?([a-z_]\w*) [<>=!]=? -?[\d.]" % (word, word)) for word in _ASKING
]
"""`if t == 0`"""
_DRAWN = regex(rb"torch\.(?:rand|bernoulli)\(")
"""`if torch.rand(1, device=p.device) > p`"""
_BUFFERS = [
    *(regex(rb"%s\(self\.(?<!\w%s\(self\.)(\w{1,60})[ :)=<>]" % (word, word)) for word in _CASTS),
    *(regex(rb"%s (?:not )?self\.(\w{1,60})[ :)=<>]" % word) for word in _ASKING),
]
"""`int(self.queue_ptr)`, `if not self.ready:`"""
_REGISTERED = [
    regex(rb"""register_buffer\(\s{0,40}["'](\w{1,60})"""),
    regex(rb"self\.(\w{1,60}) = (?:torch\.)?(?:nn\.)?Parameter\("),
]
"""`self.register_buffer("ready", x)`, `self.scale = nn.Parameter(x)`"""
_REDUCED = regex(rb"\.(?:sum|max|min|mean|std|var|median|count_nonzero|norm|any|all|isnan|isinf|isfinite)\(")
_TESTS = regex(rb"(?<!\w)(?:if|elif|while|assert|and|or)[ (]|(?<![\w.])(?:max|min|range)\(")
"""`if kept.sum() == 0:`, `a if (x > 0).sum() else b`, `max(kept.sum(), 1)`: what stands in front of a reduction on its line"""
_ROWS = regex(rb"for ([a-z_]\w{0,60}) in (?:(?:np|numpy)\.a)?range\(")
_TARGETS = regex(rb"for ([\w, ()]{1,80}) in (?!range\()")
"""`for length in lengths`, `for i, (start, end) in enumerate(spans)`"""
_OVER = regex(rb"for [\w, ()]{1,80} in (?:enumerate\()?([a-z_]\w{0,60})\)?:")
"""`for t, h, w in grid:`, `for i, size in enumerate(sizes):`"""
_OVER_PART = regex(
    rb"for [\w, ()]{1,80} in (?:enumerate\([a-z_]\w{0,60}(?:\.\w{1,60}){1,4}\)|(?:enumerate\()?[a-z_]\w{0,60}\[[\"'\w]{1,60}\]\)?|(?!self\.)[a-z_]\w{0,60}(?:\.\w{1,60}){1,4}|zip\(\*[a-z_][\w.]{0,60}\([^\n]{0,120}\)\)):"
)
"""`for i, place in enumerate(self.modes):`, `for n in batch["counts"]:`, `for n in batch.counts:`, `for a, b in zip(*x.topk(5)):`; what a module goes through of its own are mostly layers"""
_ONE_BY_ONE = regex(rb"for ([a-z_]\w{0,60}) in ([a-z_][^\n]{0,80}):[ \t]{0,20}\r?\n")
"""`for i in order:`, with what the loop goes through"""
_FLAT = regex(
    rb"(?:argsort|argwhere|nonzero|randperm|unique|arange|linspace|flatten|ravel|bincount|masked_select|view|reshape)\("
)
"""What gives a tensor of one dimension, whose elements are integers without dimensions, or the places of `nonzero()`, rows of one."""
_OVER_LISTED = regex(rb"for [\w, ()*]{1,80} in enumerate\([a-z_][^\n]{0,80}\.tolist\(\)\):")
"""`for i, place in enumerate(mask.nonzero().tolist()):`"""
_OVER_PAIRS = regex(rb"for [\w, ()]{1,160} in zip\((?:[a-z_]\w{0,60}, ?){1,9}[a-z_]\w{0,60}\):")
"""`for row, target in zip(rows, targets):`"""
_EACH = regex(rb"for [\w, ()]{1,80} in (?:enumerate\(|zip\()?[a-z_][\w., ]{0,60}\)?\s{1,40}if ")
"""`for token in tokens if`: the condition of a comprehension"""
_LISTED = regex(rb"for [\w, ()]{1,80} in [a-z_][^\n\]]{0,80}\s{0,40}\]")
"""`[f(row) for row in rows]`, from its `for` on"""
_NAME = regex(rb"[A-Za-z_]\w*(\[)?")
_ATTRIBUTES = regex(rb"[A-Za-z_]\w*(?![\w.])")
"""The names of a sum, of dotted ones the last."""
_ASSIGNED = regex(rb"(?<![=!<>+*/%&|^:-]) ?=(?!=) ?([^\n]*(?:(?<=\()\r?\n[^\n]*)?)")
"""What is assigned: the rest of the line, with the next one where a call begins at its end."""
_TARGET = regex(rb"[ \t]*((?:[\w.]+, )*[\w.]+)(?: ?: [^=\n]+)?")
_BOUND_NAMES = regex(rb"(\w+)(?:, |$)")
"""The names, or attributes, of one or several targets."""
_CALLED_MASK = regex(rb"mask|valid|keep|kept|inlier|flag|(?:^|\.)(?:is|has)_")
_CALLED_SCALAR = regex(rb"loss|entropy|perplexity")
_BOOLEAN = regex(
    rb"[=!]=|[<>]=?|~|&|\||\.bool\(|\.byte\(|torch\.bool|uint8|logical_|is(?:in|nan|inf|finite)\(|\.(?:eq|ne|gt|lt|ge|le)\("
)
_TYPE = regex(rb"cuda\.[A-Z]\w{2,8}Tensor")
"""`torch.cuda.FloatTensor([0])`, and `FT([0])` of a name for it"""
_CALLED = regex(rb"(?<!\w)([A-Za-z_]\w{0,60})\(")
_KEPT = regex(
    rb"([a-z_]\w{0,60})\.(?:unsqueeze|squeeze|expand|expand_as|view|view_as|reshape|flatten|repeat|repeat_interleave|t|transpose|permute|triu|tril|flip|roll)\("
)
"""`kept.unsqueeze(2).expand_as(x)`: what is a mask in another shape"""
_ROW = regex(rb"([a-z_]\w{0,60})\[[^\[\]\n]{1,40}\][ \t\r]*$")
"""`kept[i]`, and nothing else: a row of a mask"""
_SUM = regex(rb"[\w.]{1,60}(?: [-+*/%]{1,2} [\w.]{1,60}){1,8}(?=[ \t\r]*$)")
"""`total - length - 1`, and nothing else"""
_NAMES = 3
"""Through how many names such a mask, or an element in such a sum, is followed."""
_ELEMENT = regex(
    rb"torch\.(?:rand|bernoulli)\(|(?<!\w)(?:max|min)\([a-z_]\w{0,60}\[|\.(?:sum|max|min|amax|amin|any|all|mean|std|var|median|count_nonzero|prod|argmax|argmin|norm|long|int|float|round|ceil|floor)\(|[\w)\]]\[[^\[\]\n]*\](?: [-+*/%]{1,2} [\w.]{1,60})?[ \t\r]*$"
)
_TO_HOST = regex(rb"to_?(?:np|numpy|array|host|cpu)\((?!\))")
"""`to_np(model(x))`: a helper that takes a tensor to the host by its name"""
_OPTION = regex(rb"detect_anomaly(?<!\wdetect_anomaly) *= *(?!=|False\b|None\b)")
"""`Unit(detect_anomaly=True)`, whatever is called"""
_BODY = 2000
"""How many bytes of a loop are looked through for its index."""
_LONG = 300
"""So many bytes of a line are looked through for a test: a line may be all of a file."""


def lines(source: Source) -> frozenset[int]:
    """The lines of a file that may read the device without a name that says so."""
    return source.fact("unnamed reads", _lines)


def _lines(source: Source) -> frozenset[int]:
    data = source.data
    if b"torch" not in data:
        return frozenset()
    parts = list(source.in_parts("unnamed reads", _Part))
    text = _Text(data, [part for _, part in parts])
    found: list[int] = []
    for start, part in parts:
        found += [start + at for at in part.compared]
        found += [start + at for at, name in (*part.indices, *part.keyed, *part.of_rows) if text.may_be_mask(name)]
        found += [start + at for at, name in (*part.of_rows, *part.picked) if text.has_element(name)]
        found += [start + at for at, name in part.indices if name in text.places]
        found += [start + at for at, name in part.beside if name in text.targets]
        found += [start + at for at, value in part.bounds if text.has_element(value) or text.has_target(value)]
        found += [start + at for at in (*part.tested, *part.to_host, *part.over, *part.options)]
        found += [start + at for at, value in part.taken if text.has_element(value) or value in text.targets]
        found += [start + at for at in (*part.whole, *part.begun)]
        found += [start + at for at, name in (*part.compared_names, *part.cast) if name in text.targets]
        found += [start + at for at in part.typed]
        found += [start + at for at, name in part.attributes if name in text.buffers]
        found += [start + at for at, end, name in part.loops if text.reads_rows(start + end, name)]
    found += text.typed()
    return frozenset(bisect_right(source.lines, offset) for offset in found)


class _Part:
    """What a part of a text holds that may read the device, and what it assigns."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.compared = [match.start() for found in (_COMPARED, _BY_METHOD, _BY_LIST) for match in found.finditer(data)]
        self.indices = [(match.start(1), match[1]) for match in _INDEX.finditer(data)]
        self.beside = [(match.start(1), match[1]) for some in (_FIRST, _LAST) for match in some.finditer(data)]
        self.indices += self.beside
        self.indices += [(match.start(1), match[1]) for match in _RESHAPED.finditer(data)]
        self.begun = [match.start(1) for match in _BEGUN.finditer(data) if _CALLED_MASK.search(match[1])]
        self.over = [
            match.start() for found in (_OVER, _OVER_PART, _OVER_PAIRS, _OVER_LISTED) for match in found.finditer(data)
        ]
        self.over += [_opened(data, match.start()) for found in (_EACH, _LISTED) for match in found.finditer(data)]
        self.picked = [(match.start(1), match[1]) for match in _PICKED.finditer(data)]
        self.keyed = [(match.start(1), match[1]) for match in _KEYED.finditer(data)]
        self.of_rows = [(match.start(1), match[1]) for match in _OF_ROW.finditer(data)]
        self.bounds = [(match.start(), match[1]) for match in _BOUND.finditer(data)]
        self.taken = [(match.start(1), match[1]) for taken in _TAKEN for match in taken.finditer(data)]
        self.whole = [match.start() for match in _WHOLE.finditer(data)]
        self.compared_names = [(match.start(1), match[1]) for one in _COMPARED_NAME for match in one.finditer(data)]
        self.cast = [(match.start(1), match[1]) for cast in _CAST for match in cast.finditer(data)]
        self.attributes = [(match.start(1), match[1]) for some in _BUFFERS for match in some.finditer(data)]
        reads = (match.start() for found in (_REDUCED, _DRAWN) for match in found.finditer(data))
        self.tested = [start for start in reads if self._is_tested(start)]
        self.to_host = [match.start() for match in _TO_HOST.finditer(data)]
        self.options = [_opened(data, match.start()) for match in _OPTION.finditer(data)]
        self.typed = [match.start() for match in _TYPE.finditer(data)]
        self.loops = [(match.start(), match.end(), match[1]) for match in _ROWS.finditer(data)]

    def _is_tested(self, offset: int) -> bool:
        """Whether the line of an offset tests something in front of it."""
        line = self._data[max(0, offset - _LONG) : offset].rpartition(b"\n")[2]
        return _TESTS.search(line) is not None

    @cached_property
    def inverted(self) -> list[bytes]:
        return _INVERTED.findall(self._data)

    @cached_property
    def buffers(self) -> list[bytes]:
        return [name for registered in _REGISTERED for name in registered.findall(self._data)]

    @cached_property
    def targets(self) -> list[bytes]:
        return _TARGETS.findall(self._data)

    @cached_property
    def one_by_one(self) -> list[tuple[bytes, bytes]]:
        return _ONE_BY_ONE.findall(self._data)

    @cached_property
    def assigned(self) -> list[tuple[bytes, bytes]]:
        """What is assigned to each name, or to an attribute of that name, whatever its object."""
        data, found = self._data, []
        for match in _ASSIGNED.finditer(data):
            start = data.rfind(b"\n", 0, match.start()) + 1
            target = _TARGET.fullmatch(data, start, match.start()) if start else None
            if target is not None:
                found += [(name, match[1]) for name in _BOUND_NAMES.findall(target[1])]
        return found


_NEW_LINE = ord("\n")
_INSIDE = b" \t\r\n)]}#"
"""What a line begins with that is no first one of a statement of the file."""


def _opened(data: bytes, offset: int) -> int:
    """Where the bracket opens that an offset stands in; the offset itself where that is far away, or in another statement of the file."""
    depth = 0
    for at in range(offset - 1, max(0, offset - _BODY) - 1, -1):
        depth += (data[at] in b")]}") - (data[at] in b"([{")
        if depth < 0:
            return at
        if data[at] == _NEW_LINE and data[at + 1] not in _INSIDE:
            return offset
    return offset


class _Text:
    """What the assignments of a file say of its names."""

    def __init__(self, data: bytes, parts: Sequence[_Part]) -> None:
        self.data = data
        self._parts = parts
        self._known: dict[tuple[bytes, bool], bool] = {}
        self._masks: dict[bytes, bool] = {}

    def may_be_mask(self, name: bytes) -> bool:
        """Whether a name says that it is a mask, is turned round, or is assigned what a comparison gives, in whatever shape."""
        if name not in self._masks:
            self._masks[name] = self._is_mask(name, _NAMES)
        return self._masks[name]

    def _is_mask(self, name: bytes, steps: int) -> bool:
        if _CALLED_MASK.search(name) is not None or name in self._inverted or self._is_assigned(name, True):
            return True
        made = self._assignments.get(name.rpartition(b".")[2], ()) if steps else ()
        kept = {match[1] for value in made if (match := _KEPT.match(value) or _ROW.match(value)) is not None}
        return any(self._is_mask(one, steps - 1) for one in kept)

    def has_element(self, text: bytes) -> bool:
        """Whether an expression holds an element of something, a name that is assigned one or a sum, or a loss."""
        if _CALLED_SCALAR.search(text) is not None:
            return True
        return any(match[1] or self._is_element(match[0], _NAMES) for match in _NAME.finditer(text))

    def _is_element(self, name: bytes, steps: int) -> bool:
        """Whether a name is assigned an element or a sum, or adds one, or what a loop takes out of something, to other numbers."""
        if self._is_assigned(name, False):
            return True
        made = self._assignments.get(name, ()) if steps else ()
        sums = [match[0] for value in made if (match := _SUM.match(value)) is not None]
        parts = {one for text in sums for one in _ATTRIBUTES.findall(text)}
        return any(one in self.targets or self._is_element(one, steps - 1) for one in parts)

    def has_target(self, text: bytes) -> bool:
        """Whether an expression holds what a loop takes out of something one by one."""
        return any(match[0] in self.targets for match in _NAME.finditer(text))

    def typed(self) -> Iterator[int]:
        """Where a name is called that stands for a type of the device: `FT = torch.cuda.FloatTensor if cuda else torch.FloatTensor`."""
        if any(part.typed for part in self._parts):
            types = {name for name, made in self._assignments.items() if any(map(_TYPE.search, made))}
            yield from (match.start() for match in _CALLED.finditer(self.data) if types and match[1] in types)

    def reads_rows(self, start: int, name: bytes) -> bool:
        """Whether something is indexed by the name of a loop below it."""
        return any(self.data.find(b"[" + name + closing, start, start + _BODY) >= 0 for closing in (b"]", b","))

    def _is_assigned(self, name: bytes, boolean: bool) -> bool:
        key = name, boolean
        if key not in self._known:
            what = _BOOLEAN if boolean else _ELEMENT
            self._known[key] = any(map(what.search, self._assignments.get(name.rpartition(b".")[2], ())))
        return self._known[key]

    @cached_property
    def _inverted(self) -> frozenset[bytes]:
        return frozenset(name for part in self._parts for name in part.inverted)

    @cached_property
    def buffers(self) -> frozenset[bytes]:
        """The names of what modules register as buffers, or have as parameters."""
        return frozenset(name for part in self._parts for name in part.buffers)

    @cached_property
    def targets(self) -> frozenset[bytes]:
        return frozenset(match[0] for part in self._parts for names in part.targets for match in _NAME.finditer(names))

    @cached_property
    def places(self) -> frozenset[bytes]:
        """What loops take out of tensors of one dimension, one by one: `for i in order`, where `order = x.argsort()`; and its elements by name."""
        if _FLAT.search(self.data) is None:
            return frozenset()
        over = [pair for part in self._parts for pair in part.one_by_one]
        found = {name for name, whole in over if self._is_flat(whole)}
        elements = ((name, _ROW.match(value)) for name, made in self._assignments.items() for value in made)
        return frozenset((*found, *(name for name, row in elements if row is not None and self._is_flat(row[1]))))

    def _is_flat(self, whole: bytes) -> bool:
        return any(_FLAT.search(one) is not None for one in (whole, *self._assignments.get(whole, ())))

    @cached_property
    def _assignments(self) -> dict[bytes, list[bytes]]:
        """What is assigned to each name, or to an attribute of that name, whatever its object."""
        found: dict[bytes, list[bytes]] = {}
        for part in self._parts:
            for name, value in part.assigned:
                found.setdefault(name, []).append(value)
        return found
