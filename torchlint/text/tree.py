"""libcst, reached last: the lossless tree of one statement, joined to `ast` by byte span, and the edits fixers make with it."""

from __future__ import annotations

import ast
import itertools
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

from ..system.cached import cached_property
from ..system.regex import regex
from .finding import Edit
from .normal_form import PairedAssign
from .source import ASYNC, NON_BLOCKING, Source

if TYPE_CHECKING:
    import libcst as cst

Span = tuple[int, int]

_SAME_NAME = (
    "AnnAssign Assert Assign Attribute AugAssign Await Break Call ClassDef Continue Dict DictComp ExceptHandler Expr For "
    "FunctionDef GeneratorExp Global If IfExp Import ImportFrom Lambda List ListComp Match Name NamedExpr Nonlocal Pass "
    "Raise Return Set SetComp Slice Subscript Try TryStar Tuple TypeAlias While With Yield"
)
_KINDS: dict[str, tuple[str, ...]] = {
    **{name: (name,) for name in _SAME_NAME.split()},
    "alias": ("ImportAlias", "ImportStar"),
    "AsyncFor": ("For",),
    "AsyncFunctionDef": ("FunctionDef",),
    "AsyncWith": ("With",),
    "BinOp": ("BinaryOperation",),
    "BoolOp": ("BooleanOperation",),
    "Compare": ("Comparison",),
    "Constant": ("SimpleString", "ConcatenatedString", "Integer", "Float", "Imaginary", "Name", "Ellipsis"),
    "Delete": ("Del",),
    "JoinedStr": ("FormattedString", "ConcatenatedString"),
    "keyword": ("Arg",),
    "Starred": ("StarredElement", "Arg"),
    "TemplateStr": ("TemplatedString", "ConcatenatedString"),
    "UnaryOp": ("UnaryOperation",),
    "YieldFrom": ("Yield",),
}
"""The libcst classes of each `ast` class. A tuple without parentheses in a subscript has none."""

_STRINGS = frozenset(("JoinedStr", "TemplateStr"))
"""Strings that hold expressions. Before Python 3.12 `ast` gives wrong positions there, and no quotes could be nested;
`{x=}` shows what it says. So nothing inside has a node, whatever Python it is, and no fix goes there."""
_DEEPEST = 200  # libcst takes a few frames a level, and beyond some thousand levels the process crashes
_LONE_CR = regex(r"\r(?!\n)")
_NEWLINE = regex(r"\r\n?|\n")
_KEYWORD = regex(r"\s*(\w+)\s*=(?!=)")


HEADED = (
    ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef,
)  # fmt: skip
"""Statements whose header says what they are, without their blocks."""


_OF_ALL = (0, True)
"""The key of what is parsed of a file, for all of it."""


class NoNode(LookupError):
    """An `ast` node has no libcst node of its own, its place is not known, or its text can't stand where it is wanted."""


class _Recorder:
    """Notes the bytes that a node writes."""

    __slots__ = ("_end_node", "_node", "_spans", "_start", "_start_node")

    def __init__(
        self, spans: _Spans, node: cst.CSTNode, start_node: cst.CSTNode | None, end_node: cst.CSTNode | None
    ) -> None:
        self._spans = spans
        self._node = node
        self._start_node = start_node
        self._end_node = end_node

    def __enter__(self) -> None:
        self._start = self._spans.at

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is not None:
            return
        spans = self._spans.spans
        start = spans[self._start_node][0] if self._start_node is not None else self._start
        end = spans[self._end_node][1] if self._end_node is not None else self._spans.at
        spans[self._node] = (start, end)


class _Spans:
    """Stands in for libcst's CodegenState: writes a module out once and notes where each node lies, `at` bytes further on."""

    def __init__(self, module: cst.Module, at: int) -> None:
        self.default_indent = module.default_indent
        self.default_newline = module.default_newline
        self.at = at
        self.tokens: list[str] = []
        self.spans: dict[cst.CSTNode, Span] = {}
        self._indents: list[str] = []
        self._starts: list[int] = []
        module._codegen(cast(Any, self))

    def increase_indent(self, value: str) -> None:
        self._indents.append(value)

    def decrease_indent(self) -> None:
        self._indents.pop()

    def add_indent_tokens(self) -> None:
        for token in self._indents:
            self.add_token(token)

    def add_token(self, value: str) -> None:
        self.tokens.append(value)
        self.at += len(value) if value.isascii() else len(value.encode())

    def pop_trailing_newline(self) -> None:
        self.tokens.pop()

    def before_codegen(self, node: cst.CSTNode) -> None:
        self._starts.append(self.at)

    def after_codegen(self, node: cst.CSTNode) -> None:
        start = self._starts.pop()
        self.spans.setdefault(node, (start, self.at))

    def record_syntactic_position(
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> _Recorder:
        return _Recorder(self, node, start_node, end_node)


@dataclass(eq=False, slots=True)
class _Slice:
    """A parsed piece of the file: the nodes' bytes, and the nodes by the span that `ast` gives them."""

    home: ast.stmt | ast.Module
    spans: dict[cst.CSTNode, Span]
    at: dict[Span, list[cst.CSTNode]] = field(default_factory=dict)
    borrowed: dict[cst.CSTNode, Span] = field(default_factory=dict)
    """For `x for x in y` in `f(x for x in y)`: with the parentheses of the call, as `ast` has it."""

    def __post_init__(self) -> None:
        for node, span in self.spans.items():
            kind = type(node).__name__
            if kind in ("Tuple", "GeneratorExp") and (left := getattr(node, "lpar", None)):
                # `ast` counts the parentheses that make it a tuple
                span = self.spans[node] = (self.spans[left[-1]][0], self.spans[cast(Any, node).rpar[0]][1])
            self.at.setdefault(span, []).append(node)
            if kind == "Call" and len(args := cast(Any, node).args) == 1 and _bare_generator(args[0]):
                start = self.spans[cast(Any, node).whitespace_before_args][0] - 1
                self.at.setdefault((start, span[1]), []).append(args[0].value)
                self.borrowed[args[0].value] = (start, span[1])


def _bare_generator(arg: cst.Arg) -> bool:
    """Is it the x of `f(x for x in y)`, which borrows the parentheses of the call?"""
    return type(arg.value).__name__ == "GeneratorExp" and not arg.value.lpar


@lru_cache(maxsize=256)
def _parsed(text: str, is_expression: bool) -> cst.CSTNode:
    """An expression or a simple statement by itself; those who find faults in the same text share it. Raises NoNode."""
    import libcst

    if "\r" in text:
        text = _LONE_CR.sub("\n", text)
    if "async" in text:
        text = ASYNC.sub(rf"\g<1>{NON_BLOCKING}", text)
    try:
        if is_expression:
            return libcst.parse_expression(f"({text}\n)")
        line = libcst.parse_statement(text)
    except (libcst.ParserSyntaxError, libcst.CSTValidationError, RecursionError) as error:
        raise NoNode("libcst can't parse it") from error
    return line.body[0] if isinstance(line, libcst.SimpleStatementLine) else line


class Tree:
    """The libcst nodes of a file, each statement parsed when it is first asked for.

    All positions are byte offsets in `source.data`.
    """

    def __init__(
        self, source: Source, whole: Callable[[], ast.Module], look: Callable[[ast.AST], None] = lambda node: None
    ) -> None:
        """`whole` gives what `source.parse()` gave, to who looks at all of the file; `look` is told of nodes looked at."""
        self.source = source
        self._whole = whole
        self._look = look
        self._parsed: dict[tuple[int, bool], _Slice | None] = {}
        self._owner: dict[cst.CSTNode, _Slice] = {}
        self._counterparts: dict[int, dict[Span, list[ast.AST]]] = {}
        self._owns: dict[int, frozenset[ast.AST]] = {}
        """Of statements that were asked about: what stands in them, and in no f-string."""

    @property
    def module(self) -> ast.Module:
        """The tree of the file."""
        return self._whole()

    # Nodes

    def node(self, target: ast.AST, chain: Sequence[ast.stmt]) -> cst.CSTNode:
        """The libcst node of an expression or statement; `chain` is the statements around it, innermost first.

        The first of the chain is `target` itself if that is a statement. Raises NoNode for what has no node of its own
        (`a, b` in `x[a, b]`), for what libcst can't parse, and inside f-strings.
        """
        kinds = _KINDS.get(type(target).__name__, ())
        if not kinds:
            raise NoNode(f"no libcst node for ast.{type(target).__name__}")
        if isinstance(target, PairedAssign):
            raise NoNode("it is not all that is assigned there")
        if chain and target not in self._own_nodes(chain[0]):
            raise NoNode("what stands in an f-string has no node")
        span = self._ast_span(target)
        for piece in self._slices(target, chain):
            for node in piece.at.get(span, ()):
                if type(node).__name__ in kinds:
                    return node
            break
        raise NoNode(f"no libcst node for ast.{type(target).__name__} at {self.source.position(span[0])}")

    def alone(self, node: ast.expr | ast.stmt) -> cst.CSTNode:
        """The libcst node of an expression or a simple statement parsed by itself: quicker than `node`, and without a place."""
        if isinstance(node, PairedAssign):
            return self._alone_of_several(node)
        start, end = self._ast_span(node)
        # Each level of nesting takes a character at least.
        if end - start > _DEEPEST and _depth(node, inner=True) > _DEEPEST:
            raise NoNode("it is nested too deeply for libcst")
        return _parsed(self.source.data[start:end].decode(), isinstance(node, ast.expr))

    def _alone_of_several(self, node: PairedAssign) -> cst.CSTNode:
        """The assignment that would stand there if the statement assigned nothing else."""
        spans = (self._ast_span(part) for part in (node.targets[0], node.value))
        target, value = (self.source.data[start:end].decode() for start, end in spans)
        if _depth(node, inner=True) > _DEEPEST:
            raise NoNode("it is nested too deeply for libcst")
        return _parsed(f"({target}) = ({value}\n)", False)

    def header(self, statement: ast.stmt) -> cst.CSTNode:
        """The libcst node of a compound statement with an empty block; raises NoNode for what libcst can't parse."""
        kinds = _KINDS[type(statement).__name__]
        start, _ = self._ast_span(statement)
        piece = self._parse(statement, whole=False)
        for node, span in piece.spans.items() if piece is not None else ():
            if span[0] == start and type(node).__name__ in kinds:
                return node
        raise NoNode(f"no libcst node for ast.{type(statement).__name__} at {self.source.position(start)}")

    def span(self, node: cst.CSTNode) -> Span:
        """The bytes of a node that `node` returned, or of one below it. As in `ast`, without parentheses around it."""
        return self._owner[node].spans[node]

    def code(self, node: cst.CSTNode) -> str:
        """The source text of a node."""
        start, end = self.span(node)
        return self.source.data[start:end].decode()

    def counterpart(self, node: cst.CSTNode) -> ast.AST | None:
        """The `ast` node of a libcst node; None if there is none, or inside f-strings."""
        piece = self._owner[node]
        known = self._counterparts.get(id(piece.home))
        if known is None:
            known = self._counterparts[id(piece.home)] = {}
            for one in _walk(piece.home, inner=True):
                if hasattr(one, "lineno"):
                    known.setdefault(self._ast_span(one), []).append(one)
        span = piece.borrowed.get(node, piece.spans[node])
        kind = type(node).__name__
        return next((one for one in known.get(span, ()) if kind in _KINDS.get(type(one).__name__, ())), None)

    def _own_nodes(self, statement: ast.stmt) -> frozenset[ast.AST]:
        found = self._owns.get(id(statement))
        if found is None:
            found = self._owns[id(statement)] = frozenset(_walk(statement, inner=False))
        return found

    def _ast_span(self, node: ast.AST) -> Span:
        self._look(node)
        place = cast(ast.expr, node)
        source = self.source
        return source.start_of(place), source.end_of(place)

    def _slices(self, target: ast.AST, chain: Sequence[ast.stmt]) -> Iterator[_Slice]:
        """The pieces to look in: what is parsed already, then the innermost statement, and outwards if libcst can't parse that."""
        header = [(id(chain[0]), False)] if chain and target is not chain[0] else []
        for key in (*header, *((id(home), True) for home in chain), _OF_ALL):
            if piece := self._parsed.get(key):
                yield piece
        for statement in chain:
            whole = target is statement or statement is not chain[0]
            if piece := self._parse(statement, whole):
                yield piece
        if piece := self._parse(self.module, True):
            yield piece

    def _parse(self, home: ast.stmt | ast.Module, whole: bool) -> _Slice | None:
        key = _OF_ALL if isinstance(home, ast.Module) else (id(home), whole)
        if key not in self._parsed:
            piece = self._parsed[key] = self._slice(home, whole)
            if piece:
                self._owner.update(dict.fromkeys(piece.spans, piece))
        return self._parsed[key]

    def _slice(self, home: ast.stmt | ast.Module, whole: bool) -> _Slice | None:
        """Parse a statement, or its header if not `whole`; None if libcst can't, or if it does not write the same text again."""
        import libcst

        if _depth(home, inner=whole) > _DEEPEST:
            return None
        region = (b"", 0, len(self.source.data), b"") if isinstance(home, ast.Module) else self._region(home, whole)
        if region is None:
            return None
        before, start, end, after = region
        text = (before + self.source.data[start:end] + after).decode()
        if "\r" in text:
            text = _LONE_CR.sub("\n", text)
        try:
            module = libcst.parse_module(text)
            written = _Spans(module, start - len(before))
        except (libcst.ParserSyntaxError, libcst.CSTValidationError, RecursionError):
            return None
        return _Slice(home, written.spans) if "".join(written.tokens) == text else None

    def _region(self, statement: ast.stmt, whole: bool) -> tuple[bytes, int, int, bytes] | None:
        """What to parse for a statement: the text before it, its first and last byte, the text after it."""
        start, end = self._statement_span(statement)
        body: list[ast.stmt] | None = getattr(statement, "body", None)
        if body is None and not isinstance(statement, ast.Match):
            return b"", start, end, b""
        indent = self._line_start(start)[1].rpartition(b"\f")[2]
        if indent.strip(b" \t"):
            return None
        before = b"if 1:\n" if indent else b""
        if isinstance(statement, ast.If) and self.source.data.startswith(b"elif", start):
            before += indent + b"if 1: pass\n"
        before += indent
        if whole or body is None or isinstance(statement, ast.Try | _TRY_STAR):
            return before, start, end, b"\n"
        return before, start, self._statement_span(body[0])[0], b"pass\n"

    def _statement_span(self, statement: ast.stmt) -> Span:
        """The bytes of a statement, decorators and all."""
        start, end = self._ast_span(statement)
        decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
        if decorators:
            start = self.source.data.rindex(b"@", 0, self._ast_span(decorators[0])[0])
        return start, end

    def _line_start(self, offset: int) -> tuple[int, bytes]:
        """Where the line of an offset starts, and what stands on it before."""
        lines = self.source.lines
        start = lines[bisect_right(lines, offset) - 1]
        return start, self.source.data[start:offset]

    def _line_end(self, offset: int) -> tuple[int, int]:
        """Where the line of an offset ends, without and with its newline."""
        data, lines = self.source.data, self.source.lines
        line = bisect_right(lines, offset)
        after = lines[line] if line < len(lines) else len(data)
        return offset + len(data[offset:after].rstrip(b"\r\n")), after

    # Edits

    def _bytes(self, code: str) -> bytes:
        """Code as bytes, with the newlines of the file."""
        if _NEWLINE.search(code) is None:
            return code.encode()
        _ = self.module  # all lines tell which newline that is
        return _NEWLINE.sub(self.source.newline.replace("\\", r"\\"), code).encode()

    def replace(self, node: cst.CSTNode, code: str) -> Edit:
        """Put code where the node is; parentheses around the node stay."""
        return self._apart(*self.span(node), self._bytes(code))

    def insert_before(self, node: cst.CSTNode, code: str) -> Edit:
        start, _ = self.span(node)
        return self._apart(start, start, self._bytes(code))

    def insert_after(self, node: cst.CSTNode, code: str) -> Edit:
        _, end = self.span(node)
        return self._apart(end, end, self._bytes(code))

    def _apart(self, start: int, end: int, code: bytes) -> Edit:
        """The edit, with a space where a word would grow into its neighbour: `return(x + y).clone()` becomes `return x + y`."""
        data = self.source.data
        before = b" " if grows_together(data[max(start - 1, 0) : start], code) else b""
        after = b" " if grows_together(code, data[end : end + 1]) else b""
        return Edit(start, end, before + code + after)

    def delete(self, node: cst.CSTNode) -> Edit:
        return Edit(*self.span(node), b"")

    def remove_argument(self, call: cst.Call, arg: cst.Arg) -> Edit:
        """Take an argument out of a call with its comma and its space, or its line. Comments stay."""
        data = self.source.data
        start, end = self.span(arg)
        at = call.args.index(arg)
        opened, closed = self._parentheses(call)
        if len(call.args) == 1 and b"#" not in data[opened:start] + data[end:closed]:
            return Edit(opened, closed, b"")
        comma = self._after_comma(arg)
        if comma is None and at:
            before = self.span(call.args[at - 1])[1]
            if b"#" not in data[before:start]:
                return Edit(before, end, b"")
        end = comma or end
        line_start, indent = self._line_start(start)
        line_end, next_line = self._line_end(end)
        rest = data[end:line_end].lstrip(b" \t")
        if not rest and not indent.strip():
            return Edit(line_start, next_line, b"")
        if (not rest or rest[:1] in b"#)") and indent.strip():
            return Edit(start - (len(indent) - len(indent.rstrip(b" \t"))), end, b"")
        return Edit(start, line_end - len(rest), b"")

    def add_argument(self, call: cst.Call, *given: str) -> Edit | None:
        """Write arguments after the last one, in the layout of the call: one a line where they stand so.

        None where that can't be done safely: `**kwargs` might hold the keyword already, a keyword that is there is not
        given twice, a positional argument can't follow a keyword, a bare generator must stand alone.
        """
        keywords = [match[1] if (match := _KEYWORD.match(code)) else None for code in given]
        for arg in call.args:
            taken = arg.keyword is not None and arg.keyword.value in keywords
            if arg.star == "**" or taken or _bare_generator(arg) or (None in keywords and (arg.keyword or arg.star)):
                return None
        if not call.args:
            opened, _ = self._parentheses(call)
            return Edit(opened, opened, self._bytes(", ".join(given)))
        last = call.args[-1]
        start, end = self.span(last)
        _, indent = self._line_start(start)
        if indent.strip():
            return Edit(end, end, self._bytes(f", {', '.join(given)}"))
        comma = self._after_comma(last)
        line_end, _ = self._line_end(comma or end)
        between = self.source.data[comma or end : line_end]
        lines = b",".join(self._bytes("\n") + indent + self._bytes(code) for code in given)
        if between.strip() and not between.lstrip().startswith(b"#"):
            return Edit(end, end, b"," + lines)
        # A formatter ends the only argument of a line with no comma where it fits, and each of several with one.
        ending = b"," if comma is not None or len(call.args) == 1 else b""
        if comma is not None:
            return Edit(line_end, line_end, lines + ending)
        return Edit(end, line_end, b"," + between + lines + ending)

    def lead_argument(self, call: cst.Call, code: str, name: str = "") -> Edit | None:
        """Write an argument before the first one, in the layout of the call; `name` in front of what was the first.

        None where the keyword is there already.
        """
        keyword = _KEYWORD.match(code)
        if keyword is not None and any(
            arg.keyword is not None and arg.keyword.value == keyword[1] for arg in call.args
        ):
            return None
        start, _ = self.span(call.args[0])
        _, indent = self._line_start(start)
        gap = b" " if indent.strip() else self._bytes("\n") + indent
        return Edit(start, start, self._bytes(f"{code},") + gap + self._bytes(name))

    def _parentheses(self, call: cst.Call) -> Span:
        """Where a call's arguments begin and end: after `(` and before `)`."""
        return self.span(call.whitespace_before_args)[0], self.span(call)[1] - 1

    def _after_comma(self, arg: cst.Arg) -> int | None:
        """The end of the comma after an argument."""
        space = getattr(arg.comma, "whitespace_before", None)
        return None if space is None else self.span(space)[1] + 1

    def add_decorator(self, function: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, code: str) -> Edit:
        """Decorate a function or class, nearest to it: below `@staticmethod` and the like."""
        start, _ = self._ast_span(function)
        _, indent = self._line_start(start)
        return Edit(start, start, self._bytes(code) + self._bytes("\n") + indent)

    def add_import(self, line: str) -> tuple[Edit, ...]:
        """Write an import after the last one at the top of the file; nothing if it is there already."""
        wanted = ast.dump(ast.parse(line).body[0])
        body = self.module.body
        imports = leading_imports(self.module)
        if any(ast.dump(one) == wanted for one in imports):
            return ()
        top = len(imports) + (1 if body and _docstring(body[0]) else 0)
        if not top:
            at = self._line_start(self._statement_span(body[0])[0])[0] if body else len(self.source.data)
            return (Edit(at, at, self._bytes(f"{line}\n")),)
        gap = "\n" if _docstring(body[top - 1]) else ""
        while top < len(body) and body[top].lineno == body[top - 1].end_lineno:  # after a semicolon
            top += 1
        line_end, at = self._line_end(self._ast_span(body[top - 1])[1])
        code = f"\n{gap}{line}" if line_end == at else f"{gap}{line}\n"
        return (Edit(at, at, self._bytes(code)),)

    def delete_statement(self, statement: ast.stmt) -> Edit | None:
        """Delete a statement and its line; `pass` takes its place if its block would be empty.

        None if it shares its line with another statement.
        """
        if isinstance(statement, PairedAssign):
            return None
        data = self.source.data
        _ = self.module  # the lines around it, too
        start, end = self._statement_span(statement)
        line_start, before = self._line_start(start)
        line_end, next_line = self._line_end(end)
        rest = data[end:line_end].strip(b" \t\f;")
        continued = data[:line_start].rstrip(b"\r\n").endswith(b"\\")
        if before.strip() or continued or (rest and not rest.startswith(b"#")):
            return None
        if self._alone(statement):
            return Edit(start, end, b"pass")
        opens = any(block[0] is statement for block in self._blocks)
        return Edit(line_start, self._past_blank_lines(line_start, next_line, opens), b"")

    def _past_blank_lines(self, start: int, end: int, opens: bool) -> int:
        """The end of lines to delete with as many of the blank ones below as stand above too: where they open a block or
        the file, with all.
        """
        lines = self.source.lines
        first, below = (bisect_right(lines, at) - 1 for at in (start, end))
        above = next((count for count in range(first) if not self._is_blank(first - count - 1)), first)
        wanted = len(lines) if opens or above == first else above
        while wanted and self._is_blank(below):
            end, below, wanted = self._line_end(end)[1], below + 1, wanted - 1
        return end

    def _is_blank(self, line: int) -> bool:
        """Whether a line, counted from 0, is there and holds nothing."""
        lines, data = self.source.lines, self.source.data
        start = lines[line] if line < len(lines) else len(data)
        return start < len(data) and not data[start : self._line_end(start)[1]].strip()

    def _alone(self, statement: ast.stmt) -> bool:
        """Is it the only statement of its block?"""
        return any(block[0] is statement and len(block) == 1 for block in self._blocks)

    @cached_property
    def _blocks(self) -> list[list[ast.stmt]]:
        """The statements of every block but the module."""
        names = ("body", "orelse", "finalbody")
        nodes = [node for node in ast.walk(self.module) if node is not self.module]
        blocks = [getattr(node, name, None) for node in nodes for name in names]
        return [block for block in blocks if isinstance(block, list) and block]

    def indent(self, code: str, like_line: int) -> str:
        """Code moved to the right as far as a line of the file is; its first line too."""
        _ = self.module
        text = self.source.line_text(like_line)
        margin = text[: len(text) - len(text.lstrip(" \t\f"))].rpartition("\f")[2]
        return "".join(margin + line if line.strip() else line for line in code.splitlines(keepends=True))


_TRY_STAR: Any = getattr(ast, "TryStar", ast.Try)


def grows_together(left: bytes, right: bytes) -> bool:
    """Whether the last word of one text and the first of another would be one beside each other."""
    return _is_of_word(left[-1:]) and _is_of_word(right[:1])


def _is_of_word(letter: bytes) -> bool:
    return letter.isalnum() or letter == b"_" or letter > b"\x7f"


def leading_imports(module: ast.Module) -> list[ast.Import | ast.ImportFrom]:
    """The imports at the top of a file, below its docstring, before anything else runs."""
    body = module.body[1:] if module.body and _docstring(module.body[0]) else module.body
    return [one for one in itertools.takewhile(_is_import, body) if isinstance(one, ast.Import | ast.ImportFrom)]


def _is_import(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Import | ast.ImportFrom)


def _docstring(statement: ast.stmt) -> bool:
    value = getattr(statement, "value", None)
    return isinstance(statement, ast.Expr) and isinstance(value, ast.Constant) and isinstance(value.value, str)


def _walk(home: ast.AST, *, inner: bool) -> Iterator[ast.AST]:
    """The nodes whose position is known; without those of `inner` statements on demand."""
    todo = [home]
    while todo:
        node = todo.pop()
        yield node
        if type(node).__name__ not in _STRINGS:
            todo += [child for child in ast.iter_child_nodes(node) if inner or not isinstance(child, ast.stmt)]


def _depth(home: ast.AST, *, inner: bool) -> int:
    """How deeply libcst nests what is in a statement: `a or b or c` is flat in `ast` only."""
    deepest = 0
    todo = [(home, 1)]
    while todo:
        node, depth = todo.pop()
        depth += len(node.values) if isinstance(node, ast.BoolOp) else 1
        deepest = max(deepest, depth)
        todo += [(child, depth) for child in ast.iter_child_nodes(node) if inner or not isinstance(child, ast.stmt)]
    return deepest
