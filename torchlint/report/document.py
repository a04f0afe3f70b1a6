"""The frame of an HTML page that needs nothing else: no font, no picture, no script from elsewhere."""

from __future__ import annotations

import html
from functools import cache
from typing import Any

from torchlint.system.printable import printable

_CSS = """
:root{--bg:#fff;--fg:#1c2330;--dim:#667085;--line:#e4e7ec;--soft:#f6f7f9;--sync:#d92d20;--copy:#dc6803;--overlapped:#079455;
--break:#6938ef;--ok:#079455;--kernel:#1570ef}
@media (prefers-color-scheme:dark){:root{--bg:#12161f;--fg:#e6e9ef;--dim:#98a2b3;--line:#2b3240;--soft:#1a202c;--sync:#f97066;
--copy:#fdb022;--overlapped:#47cd89;--break:#a48afb;--ok:#47cd89;--kernel:#53b1fd}}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif}
main{max-width:1120px;margin:0 auto;padding:28px 20px 80px}h1{font-size:22px;margin:0}h1 code{font-size:inherit}h2{font-size:17px;margin:36px 0 10px}
code,pre,td.code,.mono{font:13px/1.55 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}.dim{color:var(--dim)}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:10px;margin-top:20px}
.card{background:var(--soft);border:1px solid var(--line);border-radius:10px;padding:12px 14px}.card b{display:block;font-size:24px}
.advice{border:1px solid var(--line);border-left:4px solid var(--sync);border-radius:8px;padding:14px 18px;margin-top:24px}
.advice h2{margin:0 0 6px}.advice ul{margin:10px 0 0;padding:0;list-style:none}.advice li{margin:3px 0}
.tag{display:inline-block;border-radius:20px;padding:0 9px;font-size:12px;font-weight:600;color:#fff;background:var(--dim)}
.tag.High,.tag.sync,.tag.over,.tag.confirmed{background:var(--sync)}.tag.Medium,.tag.copy{background:var(--copy)}
.tag.break{background:var(--break)}.tag.overlapped,.tag.ok,.tag.refuted{background:var(--ok)}.tag.kernel{background:var(--kernel)}
@media (prefers-color-scheme:dark){.tag{color:#12161f}}
table{border-collapse:collapse;width:100%;font-size:14px}th{text-align:left;color:var(--dim);font-weight:500}
th,td{padding:5px 10px 5px 0;border-bottom:1px solid var(--line);vertical-align:top}td.n,th.n{text-align:right;padding-right:16px}
.wide{overflow-x:auto}figure{margin:0}svg{display:block;width:100%;height:auto}svg text{fill:var(--dim);font:11px system-ui,sans-serif}
.sync-bar{fill:var(--sync)}.copy-bar{fill:var(--copy)}.overlapped-bar{fill:var(--overlapped)}.break-bar{fill:var(--break)}
.kernel-bar{fill:var(--kernel)}.warm{fill:var(--soft)}figcaption span{margin-right:16px;font-size:13px;color:var(--dim)}
figcaption i{display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:5px}
details{border:1px solid var(--line);border-radius:8px;margin:10px 0;overflow:hidden}summary{cursor:pointer;padding:8px 14px;
background:var(--soft)}.source{overflow-x:auto;margin:0;padding:8px 0}.row{display:flex;min-width:max-content;padding-right:14px}
.row>.no{flex:0 0 56px;text-align:right;padding-right:14px;color:var(--dim);user-select:none}.row>.text{flex:1;white-space:pre}
.row.noted{background:color-mix(in srgb,var(--note) 13%,transparent);box-shadow:inset 3px 0 var(--note)}
.row.sync{--note:var(--sync)}.row.copy{--note:var(--copy)}.row.overlapped{--note:var(--overlapped)}.row.break{--note:var(--break)}
.row.kernel{--note:var(--kernel)}.note{padding:0 14px 4px 56px;color:var(--dim);font-size:13px;max-width:100vw}
.gap{color:var(--dim);padding:2px 14px 2px 56px}a{color:inherit}
"""


def escape(text: str) -> str:
    """Text on one line of the page."""
    return html.escape(printable(text))


def document(title: str, body: str, *, style: str = "", script: str = "") -> str:
    """A page of its title and body, which are HTML already."""
    code = f"<script>{script}</script>\n" if script else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'  # else the browser asks for /favicon.ico
        f"<title>{title}</title>\n<style>{_CSS}{_python_css()}{style}</style>\n</head>\n<body>\n<main>\n"
        f"{body}\n</main>\n{code}</body>\n</html>\n"
    )


@cache
def _python_css() -> str:
    from pygments.formatters import HtmlFormatter

    def style(name: str) -> str:
        formatter: Any = HtmlFormatter(style=name)  # get_style_defs has no types
        return "\n".join(line for line in formatter.get_style_defs(".text").splitlines() if line.startswith(".text ."))

    return f"{style('tango')}\n@media (prefers-color-scheme:dark){{{style('github-dark')}}}"
