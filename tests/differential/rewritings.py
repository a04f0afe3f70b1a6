"""A program written in other ways that mean the same: line ends, indentation, comments, other statements around it."""

from __future__ import annotations

import ast
import io
import itertools
import keyword
import re
import tokenize
from collections.abc import Callable, Iterator

from .programs import imported

Rewriting = Callable[[str], bytes | None]
"""Gives None where a program can't be written so."""


def _lines(text: str) -> bytes:
    return text.encode()


def _crlf(text: str) -> bytes:
    return text.replace("\n", "\r\n").encode()


def _tabs(text: str) -> bytes:
    return re.sub(r"^(?: {4})+", lambda match: "\t" * (len(match[0]) // 4), text, flags=re.MULTILINE).encode()


def _bom(text: str) -> bytes:
    return b"\xef\xbb\xbf" + text.encode()


def _unended(text: str) -> bytes:
    return text.rstrip("\n").encode()


def _form_feed(text: str) -> bytes:
    return b"\x0c\n" + text.encode()


def _indented(text: str, *around: str) -> bytes | None:
    """Everything behind the imports at the top, inside of other statements."""
    if "__all__" in text:
        return None  # it means something at the top only
    tree = ast.parse(text)
    top = next((n for n, one in enumerate(tree.body) if not isinstance(one, ast.Import | ast.ImportFrom)), 0)
    lines = text.splitlines(keepends=True)
    start = (
        min([one.lineno, *(d.lineno for d in getattr(one, "decorator_list", ()))]) - 1 if (one := tree.body[top]) else 0
    )
    margin = "    " * len(around)
    head = "".join(f"{'    ' * depth}{line}\n" for depth, line in enumerate(around))
    strings = _inside_strings(text)
    rest = [
        line if n in strings or not line.strip() else margin + line for n, line in enumerate(lines[start:], start + 1)
    ]
    return "".join([*lines[:start], head, *rest]).encode()


def _tried(text: str) -> bytes | None:
    inside = _indented(text, "try:")
    return None if inside is None else inside + b"except ValueError:\n    pass\n"


def _inside_strings(text: str) -> set[int]:
    """The lines that begin inside of a string."""
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING or tokenize.tok_name[token.type] == "FSTRING_MIDDLE":
            found.update(range(token.start[0] + 1, token.end[0] + 1))
    return found


def _beside(text: str, before: str, after: str) -> bytes:
    """Every simple statement of one line with others on its line."""
    lines = text.splitlines()
    single = _single(ast.parse(text))
    for number in single:
        line = lines[number - 1]
        margin = line[: len(line) - len(line.lstrip())]
        code, comment = _split(line[len(margin) :])
        lines[number - 1] = f"{margin}{before}{code.rstrip()}{after}{comment}"
    return ("\n".join(lines) + "\n").encode()


def _tight(text: str) -> bytes:
    """No space between a keyword and a bracket: `return(x)`, `f(x)if y else(z)`."""
    lines = text.splitlines(keepends=True)
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    for one, other in reversed(list(itertools.pairwise(tokens))):
        (row, end), (below, start) = one.end, other.start
        opens = keyword.iskeyword(one.string) and other.string in "([{"
        closes = one.string in ")]}" and keyword.iskeyword(other.string)
        if (opens or closes) and row == below and lines[row - 1][end:start].isspace():
            lines[row - 1] = lines[row - 1][:end] + lines[row - 1][start:]
    return "".join(lines).encode()


def _single(tree: ast.Module) -> list[int]:
    """The lines that hold one simple statement and nothing else."""
    begun: dict[int, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            for line in {node.lineno, node.end_lineno or node.lineno}:
                begun[line] = begun.get(line, 0) + 1
    return sorted(
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr | ast.Return | ast.Delete | ast.Raise)
        and node.lineno == node.end_lineno
        and begun[node.lineno] == 1
    )


def _split(line: str) -> tuple[str, str]:
    """A line's code and its comment."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(line).readline):
            if token.type == tokenize.COMMENT:
                return line[: token.start[1]], f"  {token.string}"
    except tokenize.TokenError:
        pass
    return line, ""


def _imported(style: str) -> Rewriting:
    def rewritten(text: str) -> bytes | None:
        tree = ast.parse(text)
        plain = [n for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom) and "torch" in ast.unparse(n)]
        if [ast.unparse(node) for node in plain] != ["import torch"] or "from __future__" in text:
            return None
        lines = text.splitlines(keepends=True)
        del lines[plain[0].lineno - 1]
        made = imported("".join(lines), style)
        names = [
            alias.asname or alias.name
            for n in ast.parse(made).body[: made.count("import ")]
            for alias in getattr(n, "names", ())
        ]
        return None if _binds(tree, names) else made.encode()

    return rewritten


def _binds(tree: ast.Module, names: list[str]) -> bool:
    """Whether a program uses one of the names for something of its own."""
    own = {getattr(node, "name", None) or getattr(node, "arg", None) for node in ast.walk(tree)}
    own |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return not own.isdisjoint(names)


WAYS: dict[str, Rewriting] = {
    "as it is": _lines,
    "CRLF": _crlf,
    "tabs": _tabs,
    "byte order mark": _bom,
    "no newline at the end": _unended,
    "form feed": _form_feed,
    "behind a semicolon": lambda text: _beside(text, "pass; ", ""),
    "before a semicolon": lambda text: _beside(text, "", "; pass"),
    "in one line with an if": lambda text: _beside(text, "if True: ", ""),
    "in a function": lambda text: _indented(text, "def main():"),
    "in an async function": lambda text: _indented(text, "async def main():"),
    "in a nested class": lambda text: _indented(text, "class Outer:", "class Inner:"),
    "under a condition": lambda text: _indented(text, "if __name__ == '__main__':"),
    "in a try": _tried,
    "without spaces at brackets": _tight,
    "torch as th": _imported("torch as th"),
    "names of torch": _imported("names"),
    "other names of torch": _imported("other names"),
    "modules of torch": _imported("modules"),
}


def commented(text: str, start: int, end: int) -> Iterator[str]:
    """The program with a comment at each gap between tokens of a region where a line may end, one at a time."""
    lines = text.splitlines(keepends=True)
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line))
    depth = 0
    before = -1
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        at = offsets[token.start[0] - 1] + token.start[1]
        if depth > 0 and before >= start and at <= end and token.type not in (tokenize.COMMENT, tokenize.NL):
            yield f"{text[:before]}  # a comment to keep\n        {text[before:].lstrip(' ')}"
        if token.type == tokenize.OP:
            depth += (token.string in "([{") - (token.string in ")]}")
        before = offsets[token.end[0] - 1] + token.end[1]
