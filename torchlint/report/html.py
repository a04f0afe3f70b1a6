"""The findings as one HTML page with their code, to sort and to search; for people who don't live in terminals."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from torchlint.report.cells import in_cell
from torchlint.system.printable import printable
from torchlint.text.finding import Finding
from torchlint.text.source import Source

from . import Look, fixed_lines, impact, impact_rank, merged, plural
from .document import document, escape

if TYPE_CHECKING:
    from torchlint.lint.run import Result

_CONTEXT = 2
_LONGEST = 40
"""Lines of one frame; what is longer is cut in the middle."""
_HEADS = ("Place", "Rule", "Severity", "Impact", "Fix", "Finding")
_RANK = {"error": 0, "warning": 1, "info": 2}
_STYLE = """
th button{all:unset;cursor:pointer}th button:focus-visible{outline:2px solid var(--kernel)}th[aria-sort]{color:var(--fg)}
th[aria-sort=ascending] button::after{content:" \\25b2"}th[aria-sort=descending] button::after{content:" \\25bc"}
input[type=search]{width:100%;margin:20px 0 8px;padding:8px 12px;font:inherit;color:inherit;background:var(--soft);
border:1px solid var(--line);border-radius:8px}td.place{white-space:nowrap}.tag.error{background:var(--sync)}
.tag.warning{background:var(--copy)}.tag.info{background:var(--kernel)}.row.mark{--note:var(--copy)}
.row.gone{--note:var(--sync)}.row.come{--note:var(--ok)}td details{margin:6px 0 0}tr[hidden]{display:none}
main{max-width:1500px}td:nth-child(2){white-space:nowrap}details>p,details>ul{margin:6px 14px}.wide{overflow-x:visible}
"""
_SCRIPT = """
const table=document.querySelector("table"),body=table&&table.tBodies[0],search=document.querySelector("input");
if(table){
 table.querySelectorAll("th button").forEach((button,column)=>button.addEventListener("click",()=>{
  const head=button.parentElement,down=head.getAttribute("aria-sort")==="ascending";
  table.querySelectorAll("th").forEach(th=>th.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort",down?"descending":"ascending");
  const key=row=>row.cells[column].dataset.key;
  const rows=[...body.rows].sort((a,b)=>key(a).localeCompare(key(b),"en",{numeric:true}));
  body.append(...(down?rows.reverse():rows));}));
 search.addEventListener("input",()=>{const words=search.value.toLowerCase().split(/\\s+/);
  for(const row of body.rows)row.hidden=!words.every(word=>row.textContent.toLowerCase().includes(word));});}
"""


def render(result: Result, look: Look) -> str:
    count = plural(len(result.findings), "finding")
    head = f"<h1>torchlint</h1>\n<div class=dim>{count} in {plural(result.files, 'file')}</div>"
    if not result.findings:
        return document("torchlint", f"{head}\n<p>All checks passed!</p>")
    heads = "".join(f"<th scope=col><button>{name}</button></th>" for name in _HEADS)
    rows = "\n".join(_row(result, finding, look) for finding in result.findings)
    search = '<input type=search placeholder="Search: a file, a code, a word" aria-label="Search">'
    table = f"<div class=wide><table><thead><tr>{heads}</tr></thead><tbody>\n{rows}\n</tbody></table></div>"
    return document(f"torchlint: {count}", f"{head}\n{search}\n{table}", style=_STYLE, script=_SCRIPT)


def _row(result: Result, finding: Finding, look: Look) -> str:
    url = look.page(finding)
    rule = f"{finding.code}<br><span class=dim>{escape(finding.name)}</span>"
    fix = finding.fix.applicability if finding.fix is not None else ""
    cells = (
        (
            f"{look.path(finding.path)}:{finding.line:>9}",
            f"<code>{escape(look.place(in_cell(result, finding)))}</code>",
        ),
        (finding.code, f'<a href="{escape(url)}">{rule}</a>' if url else rule),
        (str(_RANK[finding.severity]), f'<span class="tag {finding.severity}">{finding.severity}</span>'),
        (str(impact_rank(finding.code)), impact(finding.code)),
        (fix, fix),
        (finding.message, _prose(finding.message) + _more(result, finding, look)),
    )
    return (
        "<tr>"
        + "".join(
            f'<td{" class=place" if not at else ""} data-key="{escape(key)}">{text}</td>'
            for at, (key, text) in enumerate(cells)
        )
        + "</tr>"
    )


def _more(result: Result, finding: Finding, look: Look) -> str:
    """What can be folded out: the code, the places that explain it, the fix."""
    parts = []
    if finding.evidence is not None:
        parts.append(f"<p>{escape(finding.evidence.verdict)}: {escape(finding.evidence.detail)}</p>")
    source = result.source(finding.path)
    if source is not None:
        parts.append(_frame(source, finding))
    related = "".join(
        f"<li><code>{escape(look.path(one.path))}:{one.line}</code> {_prose(one.message)}</li>"
        for one in in_cell(result, finding).related
    )
    parts.append(f"<ul>{related}</ul>" if related else "")
    if finding.fix is not None:
        note = f" {escape(finding.fix.note)}" if finding.fix.note else ""
        parts.append(f"<p><b>{escape(finding.fix.title)}</b> ({finding.fix.applicability}).{note}</p>")
        parts.append(_change(source, finding) if source is not None and finding.fix.edits else "")
    return f"<details><summary>code</summary>{''.join(parts)}</details>"


def _prose(text: str) -> str:
    """Text whose `code` is set as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _frame(source: Source, finding: Finding) -> str:
    first = min(finding.line, len(source.lines))
    last = min(max(finding.end_line, first), len(source.lines))
    lowest, highest = source.around(first)
    shown = range(max(lowest, first - _CONTEXT), min(highest, last + _CONTEXT) + 1)
    numbers = [*shown] if len(shown) <= _LONGEST else [*shown[: _LONGEST // 2], 0, *shown[-_LONGEST // 2 :]]
    rows = (
        _line(source.row(n), source.line_text(n), " noted mark" if first <= n <= last else "")
        if n
        else '<div class="gap">…</div>'
        for n in numbers
    )
    return f'<div class="source mono">{"".join(rows)}</div>'


def _change(source: Source, finding: Finding) -> str:
    assert finding.fix is not None, "asked of what has a fix"
    first, last = fixed_lines(source, finding.fix)
    last = min(last, len(source.lines))
    gone = (_line("-", source.line_text(n), " noted gone") for n in range(first, last + 1))
    come = (_line("+", text, " noted come") for text in merged(source, finding.fix, first, last))
    return f'<div class="source mono">{"".join((*gone, *come))}</div>'


def _line(mark: object, text: str, kind: str) -> str:
    return f'<div class="row{kind}"><span class="no">{mark}</span><span class="text">{_python(text)}</span></div>'


def _python(line: str) -> str:
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    formatter: Any = HtmlFormatter(nowrap=True)
    line = printable(line.replace("\t", "    "))
    return str(highlight(line, PythonLexer(stripnl=False, ensurenl=False), formatter))
