"""A real editor: Helix on a pseudo-terminal shows a finding, applies its fix, and fixes a file as it is written."""

from __future__ import annotations

import fcntl
import os
import re
import select
import shutil
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.lsp.editors import FIXED, PAGE, TEXT, environment

pytest.importorskip("pygls")

HELIX = shutil.which("hx") or shutil.which("helix")
SHOWN = """\
[editor]
end-of-line-diagnostics = "hint"
"""

pytestmark = pytest.mark.skipif(HELIX is None, reason="Helix is not installed")


class Terminal:
    """What stands between a program on a pseudo-terminal and a person."""

    def __init__(self, keyboard: int) -> None:
        self.keyboard = keyboard
        self.shown = ""

    def wait_for(self, text: str, seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while text not in self.shown:
            assert time.monotonic() < end, f"{text!r} was not shown: {self.shown[-2000:]!r}"
            if select.select([self.keyboard], [], [], 0.2)[0]:
                written = os.read(self.keyboard, 65536).decode("utf-8", "replace")
                self.shown += re.sub(r"\x1b\[[0-9;?:]*[A-Za-z]", "", written)

    def press(self, keys: str) -> None:
        self.shown = ""
        os.write(self.keyboard, keys.encode())


@contextmanager
def helix(file: Path, languages: str) -> Iterator[Terminal]:
    settings = file.parent / "home" / ".config" / "helix"
    settings.mkdir(parents=True)
    (settings / "config.toml").write_text(SHOWN)
    (settings / "languages.toml").write_text(languages)
    env = environment(HOME=str(file.parent / "home"), TERM="xterm-256color", COLORTERM="")
    env.pop("XDG_CONFIG_HOME", None)
    ours, its = os.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 250, 0, 0))
    editor = subprocess.Popen(
        [str(HELIX), str(file)], stdin=its, stdout=its, stderr=its, cwd=file.parent, env=env, start_new_session=True
    )
    os.close(its)
    try:
        yield Terminal(ours)
    finally:
        editor.kill()
        editor.wait()
        os.close(ours)


def saved(file: Path, text: str) -> bool:
    """Whether the file has that text before a minute is over."""
    end = time.monotonic() + 60
    while file.read_text() != text and time.monotonic() < end:
        time.sleep(0.05)
    return file.read_text() == text


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "one.py").write_text(TEXT)
    return tmp_path / "one.py"


SECTION, ON_TEXT = re.findall(
    r"^```toml\n(\[language-server.torchlint\].*?|code-actions-on-save.*?)^```", PAGE, re.MULTILINE | re.DOTALL
)


def test_a_finding_is_shown_and_its_fix_is_in_the_menu(file: Path) -> None:
    with helix(file, SECTION.replace('"pyright", ', "")) as terminal:
        terminal.wait_for("is deprecated since torch 2.4")
        terminal.press("]d")  # the cursor goes to the finding
        terminal.press(" a")
        terminal.wait_for("suppress TL901")
        terminal.press("\r")
        terminal.press(":w\r")
        assert saved(file, FIXED)


def test_everything_is_fixed_before_the_file_is_written(file: Path) -> None:
    with helix(file, SECTION.replace('"pyright", ', "") + ON_TEXT) as terminal:
        terminal.wait_for("is deprecated since torch 2.4")
        terminal.press(":w\r")
        assert saved(file, FIXED)
