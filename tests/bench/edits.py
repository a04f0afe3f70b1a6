"""Edit copies of repositories at random: a run with the cache prints what a run without it prints; run by hand.

    python tests/bench/edits.py [--edits N] [--seed N] FOLDER...

After each edit of a folder two runs with the cache (the second one mostly prints again what the first one printed) are held
against one without, by exit code and by the bytes on both streams. Every tenth edit the first run is killed on its way.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

OPTIONS = ("--select", "ALL", "--preview", "--output-format", "json-lines", "-j", "1")
Ran = tuple[int, bytes, bytes]
SNIPPETS = (
    "@torch.compile\n",
    "import torch\n",
    "for batch in loader:\n    batch = batch.cuda()\n    print(batch.item())\n",
    "model = torch.compile(model)\n",
    "with torch.no_grad():\n    pass\n",
    "# a comment\n",
    "x = torch.ones(3).item()  # noqa: TL101\n",
    "loss.backward(); optimizer.step()\n",
)


def run(folder: Path, *more: str) -> Ran:
    done = subprocess.run(
        [sys.executable, "-m", "torchlint", "check", *OPTIONS, *more], cwd=folder, capture_output=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def killed(folder: Path, after: float) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "torchlint", "check", *OPTIONS],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(after)
    process.kill()
    process.wait()


class Editor:
    """Makes one edit after the other."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.random = random.Random(seed)

    def files(self) -> list[Path]:
        hidden = ("/.git/", "/.torchlint_cache/")
        return sorted(p for p in self.folder.rglob("*.py") if p.is_file() and not any(h in str(p) for h in hidden))

    def edit(self) -> str:
        kinds: list[Callable[[], str]] = [
            self.drop, self.double, self.swap, self.rename, self.insert, self.insert, self.insert, self.copy, self.delete,
            self.touch, self.settings, self.requirements,
        ]  # fmt: skip
        return self.random.choice(kinds)()

    def _changed(self, change: Callable[[list[str]], None]) -> str:
        file = self.random.choice(self.files())
        lines = file.read_text("utf-8", errors="surrogateescape").splitlines(keepends=True) or ["\n"]
        change(lines)
        file.write_text("".join(lines), "utf-8", errors="surrogateescape")
        return file.name

    def _place(self, lines: list[str]) -> int:
        return self.random.randrange(len(lines))

    def drop(self) -> str:
        def change(lines: list[str]) -> None:
            del lines[self._place(lines)]

        return f"line dropped in {self._changed(change)}"

    def double(self) -> str:
        def change(lines: list[str]) -> None:
            at = self._place(lines)
            lines.insert(at, lines[at])

        return f"line doubled in {self._changed(change)}"

    def swap(self) -> str:
        def change(lines: list[str]) -> None:
            at, other = self._place(lines), self._place(lines)
            lines[at], lines[other] = lines[other], lines[at]

        return f"lines swapped in {self._changed(change)}"

    def rename(self) -> str:
        def change(lines: list[str]) -> None:
            words = re.findall(r"\b[a-z_]{4,}\b", "".join(lines)) or ["x"]
            word, new = self.random.choice(words), self.random.choice([*words[:50], "renamed"])
            lines[:] = [re.sub(rf"\b{word}\b", new, line) for line in lines]

        return f"word renamed in {self._changed(change)}"

    def insert(self) -> str:
        def change(lines: list[str]) -> None:
            at = self._place(lines)
            margin = re.match(r"\s*", lines[at])
            assert margin is not None
            snippet = self.random.choice(SNIPPETS)
            lines[at:at] = [margin[0].rstrip("\r\n") + line for line in snippet.splitlines(keepends=True)]

        return f"code put into {self._changed(change)}"

    def copy(self) -> str:
        file = self.random.choice(self.files())
        shutil.copyfile(file, file.with_name(f"copied_{file.stem}_{self.random.randrange(1000)}.py"))
        return f"{file.name} copied"

    def delete(self) -> str:
        file = self.random.choice(self.files())
        file.unlink()
        return f"{file.name} deleted"

    def touch(self) -> str:
        file = self.random.choice(self.files())
        os.utime(file)
        return f"{file.name} touched"

    def settings(self) -> str:
        text = self.random.choice(
            ["", 'ignore = ["TL101"]\n', 'target-torch = "2.4"\n', 'extend-exclude = ["copied_*"]\n']
        )
        (self.folder / "torchlint.toml").write_text(text)
        return f"settings {text.strip()}"

    def requirements(self) -> str:
        text = self.random.choice(["torch>=2.1\n", "torch==2.9\n", "numpy\n"])
        (self.folder / "requirements.txt").write_text(text)
        return f"requirements {text.strip()}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edits", type=int, default=60, help="of each folder")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    args = parser.parse_args()
    worse = 0
    for folder in args.folders:
        with tempfile.TemporaryDirectory() as home:
            copy = Path(home) / folder.name
            shutil.copytree(folder, copy, symlinks=True, ignore=shutil.ignore_patterns(".git", ".torchlint_cache"))
            (copy / ".git").mkdir()
            editor = Editor(copy, args.seed)
            equal = again = 0
            for number in range(args.edits):
                what = editor.edit()
                if number % 10 == 9:
                    killed(copy, editor.random.uniform(0.05, 1.5))
                first, second, plain = run(copy), run(copy), run(copy, "--no-cache")
                if first == second == plain:
                    equal += 1
                else:
                    worse += 1
                    print(f"{folder.name}: edit {number} ({what}) differs", flush=True)
                again += len(first[1])
            names = {name for name in os.listdir(copy / ".torchlint_cache") if not name.endswith(".entry")}
            worse += names != {".gitignore", "CACHEDIR.TAG"}
            print(
                f"{folder.name}: {equal} of {args.edits} edits equal, {again} bytes compared, beside entries: {sorted(names)}",
                flush=True,
            )
    return int(worse > 0)


if __name__ == "__main__":
    sys.exit(main())
