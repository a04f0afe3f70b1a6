"""A real Emacs without a screen, set up as docs/editors.md says: it shows the findings, and fixes them before it saves."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.lsp.editors import FIXED, PAGE, TEXT, environment

pytest.importorskip("pygls")

EMACS = shutil.which("emacs") or ""
SCRIPT = Path(__file__).with_name("emacs.el")
PACKAGES = Path("/usr/share/emacs/site-lisp/elpa")
"""Where Debian has them."""


@pytest.mark.skipif(not EMACS, reason="Emacs is not installed")
@pytest.mark.parametrize(("client", "package", "number"), [("eglot", "eglot", 0), ("lsp-mode", "lsp-mode", 1)])
def test_findings_are_shown_and_fixed_before_the_file_is_saved(
    client: str, package: str, number: int, tmp_path: Path
) -> None:
    built_in = [EMACS, "--batch", "-Q", "--eval", f'(unless (locate-library "{package}") (kill-emacs 1))']
    if not list(PACKAGES.glob(f"{package}-*")) and subprocess.run(built_in, check=False).returncode:
        pytest.skip(f"{package} is not installed")
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "one.py").write_text(TEXT)
    (tmp_path / "init.el").write_text(re.findall(r"^```elisp\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[number])
    env = environment(HOME=str(tmp_path), TORCHLINT_CLIENT=f"with-{client}")
    ran = subprocess.run(
        [EMACS, "--batch", "-Q", "-l", str(SCRIPT)],
        cwd=tmp_path, env=env, timeout=180, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert 0 == ran.returncode, ran.stderr
    assert "TL901" in (tmp_path / "codes.txt").read_text()
    assert FIXED == (tmp_path / "one.py").read_text()
