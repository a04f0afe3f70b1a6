"""Notebooks: read as one program, and written back byte for byte but for what changes."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from torchlint import cli
from torchlint.text.source import Notebook, Source, SourceError

Cells = list[str]
LOOP = """\
loader = DataLoader(dataset, pin_memory=True)
for x, y in loader:
    x = x.to("cuda")
    loss = model(x).sum()
    loss.backward()
    optimizer.step()
    print(metric(loss))"""
BOOK = [
    "%matplotlib inline\nimport torch\nfrom torch.utils.data import DataLoader",
    "#: A title",
    "def metric(loss):\n    return loss.item()",
    f"%%time\nfiles = !ls\n{LOOP}",
]
"""Cell 2 is no code. TL101 is in cell 3, line 2; TL402, with a safe fix, in cell 4, line 5."""


def raw(cells: Cells, **options: Any) -> bytes:
    """A notebook as Jupyter writes it; a cell that starts with `#:` is Markdown."""
    options = {"indent": 1, "ensure_ascii": False, "as_text": False, **options}
    as_text = options.pop("as_text")
    found: list[dict[str, Any]] = []
    for cell in cells:
        source = cell if as_text else cell.splitlines(keepends=True)
        kind: dict[str, Any] = (
            {"cell_type": "markdown"}
            if cell.startswith("#:")
            else {"cell_type": "code", "execution_count": None, "outputs": []}
        )
        found.append({**kind, "metadata": {}, "source": source})
    book = {"cells": found, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}
    return (json.dumps(book, **options) + "\n").encode()


def read(*cells: str) -> Notebook:
    book = Source.of("a.ipynb", raw(list(cells)))
    assert isinstance(book, Notebook)
    return book


def sources(data: bytes) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(data.decode("utf-8-sig"))["cells"]]


# Byte for byte

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\r\0\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"), max_size=30)
FORMATS = st.fixed_dictionaries(
    {
        "indent": st.sampled_from([None, 0, 1, 4, "\t"]),
        "ensure_ascii": st.booleans(),
        "as_text": st.booleans(),
        "separators": st.sampled_from([None, (",", ":"), (" ,  ", " : ")]),
        "sort_keys": st.booleans(),
    }
)


@given(st.lists(TEXT, max_size=5), FORMATS, st.booleans())
def test_nothing_changes_when_nothing_is_edited(cells: Cells, form: dict[str, Any], bom: bool) -> None:
    data = b"\xef\xbb\xbf" * bom + raw(cells, **form)
    book = Source.of("a.ipynb", data)
    assert data == book.encode(book.data)


@given(st.lists(TEXT, min_size=1, max_size=5), FORMATS, st.data())
def test_only_the_edited_cell_changes(cells: Cells, form: dict[str, Any], data: st.DataObject) -> None:
    before = raw(cells, **form)
    book = Source.of("a.ipynb", before)
    assert isinstance(book, Notebook)
    assume(book.book.cells)
    line = data.draw(st.sampled_from([at for at in range(1, len(book.lines) + 1) if book.row(at) == 1]))
    end = book.around(line)[1]
    at = book.lines[end] if end < len(book.lines) else len(book.data)
    number = book.cell(line)
    assert number is not None
    after = book.encode(book.data[:at] + "é = 1\n".encode() + book.data[at:])
    cell = cells[number - 1]
    expected = f"{cell}\né = 1" if cell and not cell.endswith("\n") else f"{cell}é = 1\n" if cell else "\né = 1"
    assert cells[: number - 1] == sources(after)[: number - 1]
    assert expected == sources(after)[number - 1]
    assert cells[number:] == sources(after)[number:]
    assert json.loads(before) | {"cells": 0} == json.loads(after) | {"cells": 0}


def test_unchanged_lines_of_a_changed_cell_stay_as_they_are_written() -> None:
    text = r"""{"cells": [ {"cell_type":"code",
      "source" : [ "x = '\u00e9\/'\n" ,
                   "y = 1" ] } ], "metadata": {}, "nbformat": 4}"""
    book = Source.of("a.ipynb", text.encode())
    assert (
        text.replace('"y = 1"', "\"y = '\\u00fc'\"")
        == book.encode(book.data.replace(b"y = 1", "y = 'ü'".encode())).decode()
    )


# One program


def test_cells_are_one_program() -> None:
    book = read("x = 1", "#: words", "", "y = x\n")
    assert "x = 1\n#%%0:3\n\n#%%0:4\ny = x\n" == book.text
    assert [(1, 1), (3, 1), (4, 1)] == [(book.cell(line), book.row(line)) for line in (1, 3, 5)]


def test_a_cell_that_is_indented_as_a_whole_is_a_block() -> None:
    book = read("  x = 1\n  y = 2", "z = x", "\n    # words\n    w = 1", "    # words\nv = 1", "    # words")
    expected = (
        "if True:#%%0:1\n  x = 1\n  y = 2\n#%%0:2\nz = x\nif True:#%%0:3\n\n    # words\n    w = 1\n"
        "#%%0:4\n    # words\nv = 1\n#%%0:5\n    # words\n"
    )
    assert expected == book.text
    assert [(1, 0), (1, 1), (1, 2), (2, 1), (3, 1), (3, 3)] == [
        (book.cell(line), book.row(line)) for line in (1, 2, 3, 5, 7, 9)
    ]
    ast.parse(book.text)
    after = sources(book.encode(book.data.replace(b"y = 2", b"y = 3").replace(b"w = 1", b"w = 2")))
    assert ["  x = 1\n  y = 3", "z = x", "\n    # words\n    w = 2"] == after[:3]
    with pytest.raises(SourceError, match="an edit stands in front of the first cell"):
        book.encode(b"import os\n" + book.data)


@given(st.lists(st.sampled_from(["  x = 1\n  y = 2", "x = 1", "  # x", "\n", "  x"]), min_size=1, max_size=4))
def test_indented_cells_go_back_byte_for_byte(cells: Cells) -> None:
    data = raw(cells)
    book = Source.of("a.ipynb", data)
    assert data == book.encode(book.data)
    ast.parse(book.text)


def test_borders_are_told_from_comments() -> None:
    assert "#%%0:2\n#%%1:2\nx\n" == read("#%%0:2", "x").text


def test_no_code() -> None:
    assert b"" == read("#: words").data


@pytest.mark.parametrize("metadata", [{"language_info": {"name": "R"}}, {"kernelspec": {"language": "julia"}}])
def test_other_languages_have_no_code(metadata: object) -> None:
    data = json.loads(raw(["x = "])) | {"metadata": metadata}
    assert b"" == Source.of("a.ipynb", json.dumps(data).encode()).data


@pytest.mark.parametrize("metadata", [{}, {"kernelspec": {"name": "python3"}}, {"kernelspec": None}])
def test_python_without_saying_so(metadata: object) -> None:
    data = json.loads(raw(["x = 1"])) | {"metadata": metadata}
    assert b"x = 1\n" == Source.of("a.ipynb", json.dumps(data).encode()).data


# What only IPython reads


@pytest.mark.parametrize(
    "code",
    [
        "x = a % b",
        "x = (a\n% b)",
        "x = a \\\n% b",
        "x = '''\n%magic\n!ls\n'''",
        "x = \"\"\"\n?x\n\"\"\" + '''\n!ls'''",
        "x = '\\\n!ls'",
        "x = [\n  '(', # )\n%a\n]",
        "x != y",
        "ls -la",
        "cd = 3",
        "pip in x",
        "cat if x else y",
        "print('ls?')",
        "f(x='=!')",
        "x = 1 # really?",
        "ls (x)",
        "ls / content / x",
    ],
)
def test_python_is_left_alone(code: str) -> None:
    assert f"{code}\n" == read(code).text


@pytest.mark.parametrize(
    ("code", "masked"),
    [
        ("%matplotlib inline", "pass  #%%0:1!0;"),
        ("!pip install torch", "pass  #%%0:1!0;"),
        (" !tts \\\n   --out x\ny = 1", "pass  #%%0:1!0;\n   #%%0:1!1;\ny = 1"),
        ("if x:\n    !ls\n", "if x:\n    pass  #%%0:1!1;"),
        ("!!ls", "pass  #%%0:1!0;"),
        ("?torch.nn", "pass  #%%0:1!0;"),
        ("torch.nn??", "pass  #%%0:1!0;"),
        ("files = !ls", "files = None  #%%0:1!0;"),
        ("a, b = %sql x", "a, b = None  #%%0:1!0;"),
        ("pip install torch", "pass  #%%0:1!0;"),
        ("ls /content/checkpoints/", "pass  #%%0:1!0;"),
        ("!pip \\\n  install \\\n  torch\nx = 1", "pass  #%%0:1!0;\n  #%%0:1!1;\n  #%%0:1!2;\nx = 1"),
        ("%%time\nx = 1", "pass  #%%0:1!0;\nx = 1"),
        ("\n%%capture out\nx = 1", "\npass  #%%0:1!1;\nx = 1"),
    ],
)
def test_masked(code: str, masked: str) -> None:
    book = read(code)
    book.parse()
    assert f"{masked.removesuffix(chr(10))}\n" == book.text
    assert code.removesuffix("\n") == book.plain(book.text).removesuffix("\n")
    assert code.splitlines() == [book.line_text(line) for line in range(1, code.removesuffix("\n").count("\n") + 2)]


def test_cells_in_other_languages_are_left_out() -> None:
    assert "x\n#%%0:3\ny\n" == read("x", "%%bash\nls (", "y").text


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda data: data.replace(b"#%%0:2\n", b""), "an edit goes over the border of two cells"),
        (lambda data: b"import os\n" + data, "an edit stands in front of a cell magic"),
        (lambda data: data.replace(b"None  #%%0:2!0;", b"None"), "an edit changes a magic"),
    ],
)
def test_edits_that_are_refused(edit: Callable[[bytes], bytes], message: str) -> None:
    book = read("%%time\nx = 1", "y = !ls")
    with pytest.raises(SourceError) as caught:
        book.encode(edit(book.data))
    assert message == str(caught.value)


# Bad input


@pytest.mark.parametrize(
    ("data", "line", "column", "message"),
    [
        (b"", 1, 1, "not a notebook: Expecting '{'"),
        (b"print(1)\n", 1, 1, "not a notebook: Expecting '{'"),
        (b"[]", 1, 1, "not a notebook: Expecting '{'"),
        (b'{"nbformat": 4,\n "cells": [}', 2, 12, "not a notebook: Expecting value"),
        (b'{"nbformat": 4, "cells": []', 1, 28, "not a notebook: Expecting ','"),
        (b'{"nbformat": 4, "cells": []} x', 1, 30, "not a notebook: Extra data"),
        (b"{1: 2}", 1, 2, "not a notebook: Expecting property name enclosed in double quotes"),
        (b"{}", 1, 1, "not a notebook: it has no `nbformat`"),
        (b'{"nbformat": 4}', 1, 1, "not a notebook: it has no `cells`"),
        (b'{"nbformat": 3, "worksheets": []}', 1, 1, "a notebook of format 3; only format 4 is known; `jupyter nbconvert --to notebook --nbformat 4` converts it"),
        (b'{"nbformat": 5, "cells": []}', 1, 1, "a notebook of format 5; only format 4 is known"),
        (b'{"nbformat": "4", "cells": []}', 1, 1, "not a notebook: it has no `cells`"),
        (b'{"nbformat": 4, "cells": [{"source": ""}]}', 1, 1, "not a notebook: its cells are not as nbformat 4 has them"),
        (b'{"nbformat": 4, "cells": [{"source": [1], "cell_type": "code"}]}', 1, 1, "not a notebook: its cells are not as nbformat 4 has them"),
        (b'{"nbformat": 4, "cells": [{"source": "\\ud800", "cell_type": "code"}]}', 1, 1, "not a notebook: half of a surrogate pair in a code cell"),
        (b"\xff\xfe{\0}\0", 1, 1, "not a notebook: not UTF-8 (invalid start byte)"),
        (b"[" * 100_000, 1, 1, "not a notebook: Expecting '{'"),
        (b'{"a": ' + b"[" * 100_000, 1, 1, "not a notebook: its cells are not as nbformat 4 has them"),
    ],
)  # fmt: skip
def test_unreadable(data: bytes, line: int, column: int, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        Source.of("a.ipynb", data)
    assert (message, line, column) == (caught.value.message, caught.value.line, caught.value.column)


# From the command line

Check = Callable[..., tuple[int, str]]


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Check:
    """Write a notebook and lint the folder: exit code and output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)

    def run(*options: str, cells: Cells = BOOK, form: str = "concise") -> tuple[int, str]:
        Path("a.ipynb").write_bytes(raw(cells))
        code = cli.main(["check", "--select=TL101,TL402", f"--output-format={form}", "-q", *options])
        return code, capsys.readouterr().out

    return run


ITEM = "TL101 `loss.item()` waits for the device on every training step"
COPY = '`x.to("cuda")` copies a pinned batch and waits for it on every step'


def test_places_are_in_cells(check: Check) -> None:
    assert (1, f"a.ipynb:cell 3:2:12: {ITEM}\na.ipynb:cell 4:5:9: TL402 [*] {COPY}\n") == check()


def test_frame_stays_in_its_cell_and_shows_magics(check: Check) -> None:
    cells = [
        BOOK[0],
        BOOK[2],
        "%time\n"
        + LOOP.replace("loader = DataLoader(dataset, pin_memory=True)\n", "").replace(
            "in loader", "in DataLoader(d, pin_memory=True)"
        ),
    ]
    expected = f"""\
TL402 [*] {COPY}
 --> a.ipynb:cell 3:3:9
  |
1 | %time
2 | for x, y in DataLoader(d, pin_memory=True):
3 |     x = x.to("cuda")
  |         ^^^^^^^^^^^^
4 |     loss = model(x).sum()
5 |     loss.backward()
  |
 ::: a.ipynb:2:1 this loop steps the optimizer (cell 3)
  = warning: blocking-h2d-copy
help: Copy without waiting
  |
2 | for x, y in DataLoader(d, pin_memory=True):
  -     x = x.to("cuda")
3 +     x = x.to("cuda", non_blocking=True)
4 |     loss = model(x).sum()
  |

"""
    assert (1, expected) == check("--ignore=TL101", cells=cells, form="full")


def test_json(check: Check) -> None:
    one = json.loads(check("--ignore=TL101", form="json")[1])[0]
    assert (4, {"row": 5, "column": 9}, {"row": 5, "column": 21}) == (one["cell"], one["location"], one["end_location"])
    place = {"row": 5, "column": 20}
    assert [{"content": ", non_blocking=True", "location": place, "end_location": place}] == one["fix"]["edits"]


@pytest.mark.parametrize("form", ["github", "gitlab", "azure", "sarif", "rdjson", "rdjsonl", "junit", "pylint"])
def test_code_hosts_get_lines_of_the_file(check: Check, form: str) -> None:
    _, out = check("--ignore=TL101", form=form)
    lines = Path("a.ipynb").read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if "x.to" in text)
    where = {
        "github": f"line={line},col=6,",
        "gitlab": f'"line": {line},',
        "azure": f"linenumber={line};",
        "sarif": f'"startLine": {line},',
        "rdjson": f'"line": {line}\n',
        "rdjsonl": f'"line":{line}}}',
        "junit": f'line="{line}"',
        "pylint": f"a.ipynb:{line}: ",
    }
    assert where[form] in out
    assert "(cell 4, line 5)" in out


@pytest.mark.parametrize(
    ("first", "row"),
    [
        (["a = 1\rb = 2\rc = 3\n"], 8),
        (["%matplotlib inline\rb = 2\r", "\nc = 3\n"], 8),
        (["import json; ", "x = 1; ", "", "y = 2\n"], 6),
        (["", "x = 1", "\n"], 6),
    ],
)
@pytest.mark.parametrize("apart", [True, False])
def test_lines_that_end_or_begin_at_odd_places_move_no_other(
    check: Check, first: list[str], row: int, apart: bool
) -> None:
    """A lone carriage return ends a line for Python, and a string of the list need not end with one."""
    loop = LOOP.splitlines(keepends=True)
    cells = [[BOOK[0]], first, loop] if apart else [[BOOK[0]], [*first, *loop]]
    book = json.loads(raw(["x"] * len(cells)))
    for cell, source in zip(book["cells"], cells, strict=True):
        cell["source"] = source
    Path("b.ipynb").write_text(json.dumps(book, indent=1))
    line = next(at for at, text in enumerate(Path("b.ipynb").read_text().splitlines(), 1) if "x.to" in text)
    place = f"cell {len(cells)}:{3 if apart else row - 2}:9"
    assert f"b.ipynb:{place}: TL402 [*] {COPY}\n" in check("b.ipynb")[1]
    assert f"file=b.ipynb,line={line}," in check("b.ipynb", form="github")[1]
    check("b.ipynb", "--fix")
    after = ["".join(cell["source"]) for cell in json.loads(Path("b.ipynb").read_text())["cells"]]
    assert ["".join(cell).replace('"cuda")', '"cuda", non_blocking=True)') for cell in cells] == after


def test_a_suggestion_is_a_line_of_the_file(check: Check) -> None:
    found = json.loads(check("--ignore=TL101", form="rdjson")[1])["diagnostics"][0]["suggestions"][0]
    assert '    "    x = x.to(\\"cuda\\", non_blocking=True)\\n",' == found["text"]


def test_fix_changes_one_line(check: Check) -> None:
    assert 1 == check("--fix")[0]
    before = raw(BOOK).decode().splitlines()
    after = Path("a.ipynb").read_text().splitlines()
    assert ['    "    x = x.to(\\"cuda\\", non_blocking=True)\\n",'] == [
        new for old, new in zip(before, after, strict=True) if old != new
    ]


def test_a_name_that_a_magic_uses_keeps_its_meaning(check: Check) -> None:
    cells = [
        "import torch\nfrom torch.cuda.amp import autocast",
        "with autocast(enabled=False):\n    pass",
        "%timeit autocast()",
    ]
    check("--fix", "--extend-select=TL901", cells=cells)
    assert [
        cells[0],
        'with torch.amp.autocast("cuda", dtype=torch.float16, enabled=False):\n    pass',
        cells[2],
    ] == ["".join(cell["source"]) for cell in json.loads(Path("a.ipynb").read_bytes())["cells"]]


def test_diff_is_one_that_git_applies(check: Check) -> None:
    _, out = check("--diff")
    subprocess.run(["git", "apply", "-"], input=out.encode(), check=True)
    assert b'x.to(\\"cuda\\", non_blocking=True)' in Path("a.ipynb").read_bytes()


def test_suppressions(check: Check) -> None:
    cells = [cell.replace('x.to("cuda")', 'x.to("cuda")  # noqa: TL402') for cell in BOOK]
    assert (0, "") == check("--ignore=TL101", cells=cells)


def test_suppressions_are_added(check: Check) -> None:
    assert (0, "") == check("--add-ignore")
    assert (
        "def metric(loss):\n    return loss.item()  # torchlint: ignore[TL101]"
        == sources(Path("a.ipynb").read_bytes())[2]
    )


def test_baseline(check: Check, capsys: pytest.CaptureFixture[str]) -> None:
    check()
    cli.main(["baseline", "--select=TL101,TL402"])
    capsys.readouterr()
    moved = ["import os", *BOOK]
    assert (0, "") == check("--baseline", cells=moved)


def test_changed_lines(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.ipynb").write_bytes(raw(BOOK))
    commit = ["git", "-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "x"]
    for command in (["git", "init", "-q"], ["git", "add", "a.ipynb"], commit):
        subprocess.run(command, check=True)
    assert (0, "") == check("--diff-base=HEAD", cells=["import os", *BOOK])
    changed = [cell.replace("return loss.item()", "return (loss).item()") for cell in BOOK]
    code, out = check("--diff-base=HEAD", cells=changed)
    assert (1, "a.ipynb:cell 3:2:12: TL101") == (code, out[:26])


def test_a_finding_in_an_indented_cell(check: Check) -> None:
    cells = [BOOK[0], "".join(f"    {line}\n" for line in LOOP.replace("metric(loss)", "loss.item()").splitlines())]
    code, out = check("--select=TL402,TL001", cells=cells)
    assert (1, "a.ipynb:cell 2:3:13: TL402") == (code, out.partition(" [")[0])
    assert 0 == check("--select=TL402", "--fix", cells=cells)[0]
    assert '        x = x.to("cuda", non_blocking=True)\n' in sources(Path("a.ipynb").read_bytes())[1]


def test_syntax_errors_are_in_their_cell(check: Check) -> None:
    code, out = check("--select=TL001", cells=["x = 1\n\n", "y = 'a"])
    assert (1, "a.ipynb:cell 2:1:5: TL001 unterminated string literal (Python 3") == (code, out.partition(".1")[0])


def test_what_is_no_notebook(check: Check, capsys: pytest.CaptureFixture[str]) -> None:
    Path("b.ipynb").write_text("{")
    assert (
        "b.ipynb:1:2: TL001 not a notebook: Expecting property name enclosed in double quotes\n"
        in check("--select=TL001")[1]
    )


def test_standard_input(check: Check, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import io
    import sys

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw(BOOK))))
    cli.main(["check", "--select=TL402", "-q", "--fix-only", "-", "--stdin-filename=x.ipynb"])
    assert (
        raw(BOOK).decode().replace('x.to(\\"cuda\\")', 'x.to(\\"cuda\\", non_blocking=True)') == capsys.readouterr().out
    )


# Notebooks that nobody trusts


@pytest.mark.parametrize("numbers", [range(3000), [0, 10, 11, 12], [10**30], ["9" * 100_000]])
def test_comments_like_the_borders_clash_with_none(numbers: Any) -> None:
    cell = "import torch\n" + "".join(f"#%%{number}:\n" for number in numbers) + "%time\nx = 1\n"
    book = read(cell, "y = 2\n")
    assert book.raw == book.encode(book.data)
    assert cell + "\ny = 2\n" == book.plain(book.data.decode())
    assert ["import torch\n" + cell[13:], "z = 2\n"] == sources(book.encode(book.data.replace(b"y = 2", b"z = 2")))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"nbformat": 4', f'"nbformat": {"9" * 10_000}', "a notebook of format inf; only format 4 is known"),
        ('"nbformat": 4', f'"nbformat": -{"9" * 10_000}', "a notebook of format -inf; only format 4 is known; `jup"),
        ('"nbformat": 4', '"nbformat": "4"', "not a notebook: it has no `cells`"),
        ('"nbformat": 4', '"nbformat": NaN', "a notebook of format nan; only format 4 is known"),
        ('"code"', "9" * 10_000, ""),
        ('"execution_count": null', f'"execution_count": {"9" * 100_000}', ""),
        ('"metadata": {}', f'"metadata": {"[" * 100_000}', "not a notebook: its cells are not as nbformat 4 has them"),
        ('"cells": [', '"cells": {', "not a notebook: Expecting property name enclosed in double quotes"),
    ],
)  # fmt: skip
def test_huge_numbers_and_deep_values(old: str, new: str, message: str) -> None:
    text = raw(["x = 1"], indent=None).decode()
    assert old in text
    try:
        Source.of("a.ipynb", text.replace(old, new).encode())
    except SourceError as error:
        assert message
        assert error.message.startswith(message)
    else:
        assert not message


GROWING = {
    "blank lines": "'import torch' + '\\n' * n",
    "blank lines of spaces": "'import torch' + ' \\n' * n + '%x'",
    "form feeds": "'import torch\\n' + '\\f' * n + '%x\\n'",
    "a line of spaces": "'import torch\\n%x\\n' + ' ' * n + 'x = 1'",
    "a line of names": "'%x\\n' + 'a ' * n + '= 1'",
    "a line of brackets": "'%x\\na' + '[0]' * n + ' = 1\\nb' + '[0]' * n",
    "open brackets": "'%x\\na' + '[' * n + '\\na' + '[a' * n + ']' * n",
    "question marks": "'%x\\n' + '?' * n + ' ' * n + 'x'",
    "questions on lines": "'%x\\n' + '?\\n' * n + 'x'",
    "signs": "'%x\\n' + '= ' * n + 'x'",
    "shell words": "'%x\\npip ' + '- ' * n + '\\npip ' + ' ' * n + '-' * n",
    "operators": "'%x\\n' + 'a' * n + ' ' * n + '@'",
    "quotes": "'%x\\n' + '\"' * n + \"'\" * n",
    "backslashes": "'%x\\n' + '\\\\\\\\ ' * n",
    "magics": "'%x\\n' * n",
    "assigned magics": "'y = %x\\n' * n",
    "numbers like borders": "''.join(f'#%%{i}\\n' for i in range(n)) + '%x\\n'",
    "a long number like a border": "'#%%' + '1' * n + '\\n%x\\n'",
}


@pytest.mark.parametrize("name", GROWING)
def test_no_line_takes_time_beyond_measure(name: str) -> None:
    """100,000 of anything: what grows with the square of it would take minutes."""
    program = (
        "import json; from torchlint.text.source import Source; n = 100_000\n"
        f"code = {GROWING[name]}\n"
        "cells = [{'cell_type': 'code', 'source': code, 'metadata': {}, 'outputs': []}]\n"
        "raw = json.dumps({'cells': cells, 'metadata': {}, 'nbformat': 4}).encode()\n"
        "book = Source.of('a.ipynb', raw); assert raw == book.encode(book.data)\n"
        "book.plain(book.data.decode()); book.encode(book.data + b'x = 1\\n')\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_places_of_many_lines_and_cells_take_no_time_beyond_measure() -> None:
    program = (
        "import json; from torchlint.text.source import Source\n"
        "lines = ['x = \"é\"\\n'] * 20_000\n"
        "cells = [{'cell_type': 'code', 'source': lines, 'metadata': {}, 'outputs': []}] * 3\n"
        "cells += [{'cell_type': 'code', 'source': '%x\\ny = 1\\n', 'metadata': {}, 'outputs': []}] * 20_000\n"
        "raw = json.dumps({'cells': cells, 'metadata': {}, 'nbformat': 4}, ensure_ascii=False).encode()\n"
        "book = Source.of('a.ipynb', raw)\n"
        "for line in range(1, len(book.lines), 2):\n"
        "    start, end = book.place(line); book.line_text(line)\n"
        "    assert raw[start - 1:start] == raw[end:end + 1] == b'\"', line\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_fixes_of_many_cells_with_long_outputs_take_no_time_beyond_measure() -> None:
    program = (
        "import json; from torchlint.lint.run import lint; from torchlint.report.cells import in_files\n"
        "from torchlint.fix.apply import apply; from torchlint.settings.config import Settings\n"
        "output = [{'output_type': 'stream', 'name': 'stdout', 'text': ['z' * 20_000]}]\n"
        "cell = {'cell_type': 'code', 'source': 'x = torch.cuda.amp.autocast()\\n', 'metadata': {}, 'outputs': output}\n"
        "first = {**cell, 'source': 'import torch\\n'}\n"
        "raw = json.dumps({'cells': [first] + [cell] * 400, 'metadata': {}, 'nbformat': 4}, indent=1).encode()\n"
        "codes = frozenset(('TL901',)); result = lint({'a.ipynb': raw}, Settings(codes, codes))\n"
        "book = result.source('a.ipynb'); found = in_files(result).findings; assert len(found) == 400\n"
        "for one, there in zip(result.findings, found):\n"
        "    edit = there.fix.edits[0]; assert len(edit.text) < 100\n"
        "    if there in (found[0], found[200], found[-1]):\n"
        "        new = book.encode(apply(book, [one.fix])[0])\n"
        "        assert raw[:edit.start] + edit.text + raw[edit.end:] == new\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
