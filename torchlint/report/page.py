"""HTML pages that need nothing else: no font, no picture, no script from elsewhere. Their templates lie in `templates/`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchlint.system.printable import printable

from . import one_line

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_TEMPLATES = Path(__file__).with_name("templates")


def page(template: str, **values: object) -> str:
    """A page of its template and what stands in it: text, of which all is escaped, and `Markup`."""
    return _environment().get_template(f"{template}.html").render(values)


def python(text: str) -> Markup:
    """Lines of Python as HTML, one for each that is given."""
    from markupsafe import Markup
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    formatter: Any = HtmlFormatter(nowrap=True)
    return Markup(highlight(text, PythonLexer(stripnl=False, ensurenl=False), formatter))


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup, escape

    def shown(value: object) -> object:
        return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    def lines(text: str) -> Markup:
        return Markup("\n").join(escape(printable(line.expandtabs())) for line in text.split("\n"))

    def own(name: str) -> Markup:
        return Markup((_TEMPLATES / name).read_text("utf-8").strip("\n"))

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"one_line": one_line, "lines": lines, "in_code": _in_code}
    environment.globals |= {"file": own, "python_css": lambda: Markup(_python_css())}
    return environment


def _in_code(text: str) -> list[str]:
    """What stands between backticks has the odd places; a last one that is alone is text."""
    parts = text.split("`")
    return parts if len(parts) % 2 else [*parts[:-2], "`".join(parts[-2:])]


@cache
def _python_css() -> str:
    from pygments.formatters import HtmlFormatter

    def style(name: str) -> str:
        formatter: Any = HtmlFormatter(style=name)  # get_style_defs has no types
        return "\n".join(line for line in formatter.get_style_defs(".text").splitlines() if line.startswith(".text ."))

    return f"{style('tango')}\n@media (prefers-color-scheme:dark){{{style('github-dark')}}}"
