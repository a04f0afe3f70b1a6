"""A repository that nobody trusts: one file's fault is that file's, and a setting's is told in one sentence."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from torchlint import cli
from torchlint.commands import shared
from torchlint.evidence.certificate import verify
from torchlint.settings.keys import FORMATS
from torchlint.system.failure import Failure

TRAIN = """\
import torch
def train(model, loader, opt):
    for x in loader:
        loss = model(x.cuda())
        loss.backward()
        opt.step()
        print(loss.item())
"""
FOUND = "7:9:"
"""Where TL104 is found in it."""
Run = Callable[..., tuple[int, str, str]]
posix = pytest.mark.skipif(os.name == "nt", reason="no such files there")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: a repository with one good file."""
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    (root / "good.py").write_text(TRAIN)
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Run:
    """Lint the working directory; nobody is shown a traceback."""

    def check(*arguments: str) -> tuple[int, str, str]:
        code = cli.main(["check", "--output-format", "concise", "-j", "1", *arguments])
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        assert "bug in torchlint" not in said.err
        return code, said.out, said.err

    return check


class TestClasses:
    def test_classes_that_inherit_from_each_other(self, check: Run) -> None:
        ring = (
            "import torch\nclass A(B, torch.nn.Module):\n    def forward(self, x):\n        return x + self.mask.to(x.device)\n"
            "class B(A):\n    def forward(self, x):\n        return self.mask.cuda().sum().item()\n"
            "    def step(self, x):\n        return self.other.cuda()\n"
        )
        Path("ring.py").write_text(ring)
        code, out, err = check("--select", "ALL", "--preview", "ring.py")
        assert (code, err) == (1, "")
        assert [line[: len("ring.py:7:16: TL106 ")] for line in out.splitlines()[:-1]] == ["ring.py:7:16: TL106 "]

    def test_methods_that_name_no_object(self, check: Run) -> None:
        """Python would refuse each call of them, and torchlint runs none."""
        loops = "        for x in loader:\n            loss = net({part}.mask.to('cuda'))\n            loss.backward()\n            opt.step()\n"
        bare = (
            "import torch\nclass Odd(torch.utils.data.DataLoader):\n    def __init__(*args):\n        super().__init__(pin_memory=args)\n"
            "    def __iter__():\n        return other\n    def __next__(*args):\n        return args[0]\n"
            "    @staticmethod\n    def fit():\n"
            + loops.format(part="a.b")
            + "    def train():\n"
            + loops.format(part="a.b")
            + "    def many(*args):\n"
            + loops.format(part="args.b")
            + "for x in Odd(data):\n    net(x.cuda()).backward()\n    opt.step()\n"
        )
        Path("bare.py").write_text(bare)
        assert check("--select", "ALL", "--preview", "bare.py") == (0, "All checks passed!\n", "")


class TestLoops:
    def test_a_loop_over_what_comes_asynchronously_is_no_loop_over_a_tensor(self, check: Run) -> None:
        stream = (
            "import torch\nasync def serve(model: torch.nn.Module, rows: torch.Tensor, opt):\n"
            "    async for row in rows:\n        model(row.sum()).backward()\n        opt.step()\n"
            "        async for p in model.parameters():\n            p.data.mul_(0.9)\n"
        )
        Path("stream.py").write_text(stream)
        assert check("--select", "TL7", "--preview", "stream.py") == (0, "All checks passed!\n", "")

    def test_a_loop_that_counts_nothing(self, check: Run) -> None:
        """Python would refuse to run it."""
        lines = (
            "import torch\ndef train(model, loader, opt):\n    for batch in loader:\n"
            "        for i, row in enumerate():\n            model(row.cuda()).sum().backward()\n"
            "        for () in enumerate(batch):\n            model(batch[i].cuda()).sum().backward()\n"
            "            print(torch.ones(3, device='cuda').sum().item())\n        opt.step()\n"
        )
        Path("count.py").write_text(lines)
        code, out, err = check("--select", "ALL", "--preview", "count.py")
        assert (code, err) == (1, "")
        assert [line.split()[:2] for line in out.splitlines()[:-1]] == [["count.py:8:13:", "TL104"]]

    def test_a_loop_over_what_is_made_of_itself(self, check: Run) -> None:
        ring = "import torch\nfrom tqdm import tqdm\ndef train(loader, model, opt):\n    while model:\n        a = enumerate(b)\n        b = enumerate(a)\n        for x in a:\n            model(x).backward()\n            opt.step()\n"
        Path("ring.py").write_text(ring)
        assert check("--select", "TL1", "--preview", "ring.py") == (0, "All checks passed!\n", "")


class TestDefaults:
    """A default sees no parameter, and its own least of all."""

    def test_that_are_called_like_their_parameter(self, check: Run) -> None:
        circles = (
            "import torch\nfrom torch import Tensor\nclass Net(torch.nn.Module):\n"
            "    def forward(self=self, x=x, *, y: Tensor = y, z=z + y, f=f(x)):\n"
            "        def hook(module, x=x, y=y.sum()):\n            print(x.item(), y.item())\n"
            "        for row in x:\n            self.layer.register_forward_hook(hook)\n"
            "        return f(lambda x=x, y=x: x) + torch.masked_select(x, z)\n"
        )
        Path("circles.py").write_text(circles)
        assert check("--select", "ALL", "--preview", "--ignore", "TL102,TL107", "circles.py") == (
            0,
            "All checks passed!\n",
            "",
        )

    def test_that_read_what_stands_around_the_function(self, check: Run) -> None:
        kept = (
            "import torch\ndef train(model, loader, opt):\n    scale = torch.ones(3, device='cuda')\n    for x in loader:\n"
            "        def scaled(loss, scale=scale.sum().item()):\n            return loss * scale\n"
            "        scaled(model(x)).backward()\n        opt.step()\n"
        )
        Path("kept.py").write_text(kept)
        found = "kept.py:5:32: TL101 `scale.sum().item()` waits for the device on every training step"
        assert check("--select", "ALL", "--preview", "kept.py") == (1, f"{found}\nFound 1 error.\n", "")


class TestContainers:
    """What holds itself twice is twice as large each time."""

    @pytest.mark.parametrize(
        "form",
        ["({0}, {0})", "[{0}, {0}]", "{{'a': {0}, 'b': {0}}}", "[{0}, {0}] if c else ({0}, {0})", "list(zip({0}, {0}))", "({0}.append({0}), {0})[1]"],
    )  # fmt: skip
    def test_that_hold_themselves(self, check: Run, form: str) -> None:
        grown = "".join(f"    a = {form.format('a')}\n    b = {form.format('b')}\n" for _ in range(400))
        held = f"{TRAIN}def f(c):\n    a = [torch.ones(3)]\n    b = [torch.ones(3)]\n{grown}    y = a if c else b\n    return y[0][0]['a'].item()\n"
        Path("good.py").write_text(held.replace("model(x.cuda())", "model(x.cuda(), f(x))"))
        code, out, err = check("--select", "ALL", "--preview", "good.py")
        assert (code, err) == (1, "")
        assert FOUND in out

    @pytest.mark.parametrize(("opened", "closed"), [("[", "]"), ("{'a': ", "}"), ("(x, ", ",)")])
    def test_that_are_written_in_each_other(self, check: Run, opened: str, closed: str) -> None:
        deep = f"{opened * 60}x{closed * 60}"
        Path("good.py").write_text(f"{TRAIN}        y = {deep} if x.shape[0] > 2 else {deep}\n        y[0].item()\n")
        code, out, err = check("--select", "ALL", "--preview", "good.py")
        assert (code, err) == (1, "")
        assert FOUND in out


class TestNames:
    ODD = (
        b"e\xff.py",
        b"\xff\xfe/__init__.py",
        b"\xff\xfe/m.py",
        b"a\nb.py",
        b"c\x1b[2Jred.py",
        b"e+(.py",
        b"x'\"\\.py",
        b"-x.py",
    )

    @pytest.fixture
    def odd(self) -> list[str]:
        names = [os.fsdecode(name) for name in self.ODD]
        for number, name in enumerate(names):
            Path(name).parent.mkdir(exist_ok=True)
            Path(name).write_text(f"{TRAIN}def f{number}(x):\n    return x.cuda()\nimport good\ngood.train(1, 2, 3)\n")
        Path("good.py").write_text(f"from e import f0\n{TRAIN}    f0(1)\n")
        return names

    @posix
    @pytest.mark.parametrize("form", FORMATS)
    def test_in_every_format(self, check: Run, odd: list[str], form: str) -> None:
        arguments = ("--output-format", form, "--select", "ALL", "--preview")
        code, out, err = check(*arguments, "-n")
        assert (1, "") == (code, err)
        assert {r"e\xff.py", "e%FF.py", r"e\\xff.py", r"e\\xff"} & {
            word for word in (r"e\xff.py", "e%FF.py", r"e\\xff.py", r"e\\xff") if word in out
        }
        out.encode()
        if form in ("json", "sarif", "gitlab", "rdjson"):
            json.loads(out)
        assert (code, out, err) == check(*arguments) == check(*arguments)

    @posix
    def test_in_several_processes(self, check: Run, odd: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("torchlint.lint.parallel.WORTH", 0)
        monkeypatch.setattr("torchlint.lint.parallel.WORTH_HERE", 0)
        assert check("-n") == check("-n", "-j", "2")

    @posix
    def test_with_fixes(self, check: Run, odd: list[str]) -> None:
        fixable = "import torch\ncontext = torch.cuda.amp.autocast()\n"
        for name in odd:
            Path(name).write_text(fixable)
        diff = subprocess.run(
            [sys.executable, "-m", "torchlint", "check", "--diff", "--select", "TL9", "-q"],
            capture_output=True,
            check=False,
        ).stdout
        assert len(odd) == diff.count(b"+context")
        assert 0 == check("--fix", "--select", "TL9", "-q")[0]
        assert {'import torch\ncontext = torch.amp.autocast("cuda", dtype=torch.float16)\n'} == {
            Path(name).read_text() for name in odd
        }
        for name in odd:
            Path(name).write_text(fixable)
        subprocess.run(["git", "apply", "-p0", "-"], input=diff, check=True)
        assert {'import torch\ncontext = torch.amp.autocast("cuda", dtype=torch.float16)\n'} == {
            Path(name).read_text() for name in odd
        }

    @posix
    @pytest.mark.parametrize(
        "arguments",
        [
            ["--show-files"],
            ["--show-settings"],
            ["--statistics"],
            ["--add-noqa"],
            ["--add-ignore=known"],
            ["--verbose"],
        ],
    )
    def test_in_what_else_is_said(self, check: Run, odd: list[str], arguments: list[str]) -> None:
        code, out, err = check(*arguments)
        assert code in (0, 1)
        (out + err).encode()
        assert "\x1b" not in out + err

    @posix
    def test_in_a_baseline(self, check: Run, odd: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        assert 0 == cli.main(["baseline", "-j", "1"])
        assert "Wrote " in capsys.readouterr().out
        code, out, _ = check("--baseline")
        assert (0, "All checks passed!\n") == (code, out)
        os.unlink(odd[0])
        code, out, err = check("--baseline")
        assert (0, "All checks passed!\n") == (code, out)
        assert r"e\xff.py: TL104" in err

    @posix
    def test_as_arguments(self, check: Run, odd: list[str]) -> None:
        for name in odd:
            code, out, err = check("--", name)
            assert (1, "") == (code, err), name
            assert FOUND in out

    @posix
    def test_a_name_that_begins_a_command(self, check: Run) -> None:
        Path("::error::x.py").write_text(TRAIN)
        assert "./::error::x.py:7:9: TL104" in check()[1]


class TestOneFile:
    """That can't be read costs itself alone."""

    def told(self, check: Run, name: str, what: str) -> None:
        code, out, err = check("-n", "--select", "TL001,TL104")
        assert (1, "") == (code, err)
        assert f"good.py:{FOUND} TL104" in out
        assert what in next(line for line in out.splitlines() if line.startswith(name))

    @pytest.mark.parametrize(
        "name",
        ["undefined", "idna", "punycode", "hex", "zlib", "rot13", "nosuch", "unicode_internal", "..", "-", "a" * 5000],
    )
    def test_an_encoding_that_programs_are_not_written_in(self, check: Run, name: str) -> None:
        Path("bad.py").write_text(f"# coding: {name}\nimport torch\n")
        self.told(check, "bad.py:", "unknown encoding")

    @pytest.mark.parametrize(
        "line",
        [
            "x = torch.zeros(8, device=device).view(0x{})",
            "LIMIT = int(os.environ.get('LIMIT', 0x{}))",
            "LIMIT = int(os.environ.get('LIMIT', '{}'))",
            "for x in loader:\n    if LIMIT == 0x{}:\n        print(model(x).sum().item())\n    optimizer.step()",
            "torch._dynamo.config.cache_size_limit = 0x{}",
            "y = torch.addcmul(x, 0x{}, x, x)",
            "y = torch.log(torch.softmax(x, 0x{}))",
        ],
    )
    def test_numbers_that_python_reads_and_does_not_write(self, check: Run, line: str) -> None:
        Path("long.py").write_text(f"import os\nimport torch\n{line.format('9' * 5000)}\n")
        code, _, err = check("-n", "--select", "ALL", "--preview", "--fix", "--unsafe-fixes")
        assert (1, "") == (code, err)

    def test_no_encoding_that_python_has_ends_the_run(self, check: Run) -> None:
        import encodings.aliases

        for name in sorted(
            {*encodings.aliases.aliases.values(), "idna", "raw_unicode_escape", "undefined", "mbcs", "oem"}
        ):
            data = (
                f"# coding: {name}\nimport torch\nx = '+2AA- \\ud800 \\x'\n".encode()
                + b"# \xff\xfe \xed\xa0\x80 \x1b$B\x80\n"
            )
            Path(f"{name}.py").write_bytes(data)
        code, out, err = check("-n", "--select", "ALL", "--preview")
        assert (1, "") == (code, err)
        assert f"good.py:{FOUND} TL104" in out

    @posix
    @pytest.mark.parametrize(
        "make", [os.mkfifo, lambda path: os.symlink("/dev/zero", path), lambda path: os.symlink(path, path)]
    )
    def test_a_pipe_and_a_device_are_left_out(self, check: Run, make: Callable[[str], object]) -> None:
        make("bad.py")
        make("bad.ipynb")
        code, out, err = check("-n")
        assert (1, "") == (code, err)
        assert 2 == out.count("\n") - out.count("fix")

    @posix
    @pytest.mark.parametrize("make", [os.mkfifo, lambda path: os.symlink("/dev/zero", path)])
    def test_a_pipe_and_a_device_are_no_baseline(self, check: Run, make: Callable[[str], object]) -> None:
        make("given")
        cause = f"torchlint failed\n  Cause: {Path('given').absolute()}: not a regular file\n"
        assert (2, "", cause) == check("--baseline", "given")
        with pytest.raises(Failure, match="not a regular file"):
            verify(Path("given"), Path())

    @posix
    @pytest.mark.parametrize(
        "name",
        [
            "requirements.txt",
            ".gitignore",
            "setup.py",
            "setup.cfg",
            "environment.yml",
            "torchlint.toml",
            "pyproject.toml",
        ],
    )
    @pytest.mark.parametrize("kind", ["pipe", "directory", "socket", "loop"])
    def test_a_pipe_in_the_place_of_a_projects_file_is_not_waited_for(self, check: Run, name: str, kind: str) -> None:
        if kind == "pipe":
            os.mkfifo(name)
        elif kind == "directory":
            os.mkdir(name)
        elif kind == "loop":
            os.symlink(name, name)
        else:
            with socket.socket(socket.AF_UNIX) as listening:
                listening.bind(name)
        code, out, err = check()
        assert (1, "") == (code, err)
        assert f"good.py:{FOUND} TL104" in out


class TestSettings:
    """A mistake in them is one sentence that names file and key, and exit code 2."""

    @pytest.mark.parametrize(
        ("name", "text", "message"),
        [
            ("pyproject.toml", 'tool = "torchlint"\n', "{}: `tool` must be a table, not a string"),
            ("pyproject.toml", 'tool = ["torchlint"]\n', "{}: `tool` must be a table, not a list with other things in it"),
            ("pyproject.toml", "[tool]\ntorchlint = 3\n", "{}:2: `torchlint` must be a table, not an integer"),
            ("torchlint.toml", f"ignore = {'[' * 5000}{']' * 5000}\n", "{}: nested too deeply to be read"),
            ("torchlint.toml", f"a = {'{a=' * 5000}1{'}' * 5000}\n", "{}: nested too deeply to be read"),
            ("torchlint.toml", 'extend = "torchlint.toml"\n', "{}:1: `extend` leads back to {}"),
            ("torchlint.toml", 'extend = "d/../torchlint.toml"\n', "{}:1: `extend` leads back to {.parent}/torchlint.toml"),
            ("torchlint.toml", 'extend = "link.toml"\n', "{}:1: `extend` leads back to {.parent}/link.toml"),
            ("torchlint.toml", 'extend = "d"\n', "{}:1: `extend` names {.parent}/d, which isn't there"),
            ("torchlint.toml", 'extend = "pipe"\n', "{}:1: `extend` names {.parent}/pipe, which isn't there"),
            ("torchlint.toml", f'extend = "{"a" * 5000}"\n', f"{{}}:1: `extend` names {{.parent}}/{'a' * 5000}, which isn't there"),
            ("torchlint.toml", 'extend = "~no.such.user/x"\n', "{}:1: `extend` names {.parent}/~no.such.user/x, which isn't there"),
            ("torchlint.toml", 'extend = "a\\u0000b"\n', "{}:1: `extend` can't hold a null character"),
            ("torchlint.toml", 'cache-dir = "a\\u0000b"\n', "{}:1: `cache-dir` can't hold a null character"),
            ("torchlint.toml", '[per-file-ignores]\n"[z-a].py" = ["TL1"]\n', "{}:2: `[z-a].py` in `per-file-ignores` can't be used: the range `z-a` ends before it starts"),
            ("torchlint.toml", f'[per-file-ignores]\n"{"{a,b}" * 20}" = ["TL1"]\n', f"{{}}:2: `{'{{a,b}}' * 20}` in `per-file-ignores` can't be used: it has more than 1000 alternatives"),
        ],
    )  # fmt: skip
    def test_is_told(self, check: Run, project: Path, name: str, text: str, message: str) -> None:
        (project / "d").mkdir()
        (project / "link.toml").symlink_to("torchlint.toml")
        if hasattr(os, "mkfifo"):
            os.mkfifo("pipe")
        (project / name).write_text(text)
        cause = (
            message.format(project / name, project / name)
            if "{.parent}" not in message
            else message.replace("{}", str(project / name)).replace("{.parent}", str(project))
        )
        assert (2, "", f"torchlint failed\n  Cause: {cause}\n") == check()

    def test_a_chain_of_two_thousand_files(self, check: Run) -> None:
        for number in range(2000):
            Path(f"c{number}.toml").write_text(f'extend = "c{number + 1}.toml"\n')
        Path("c2000.toml").write_text('ignore = ["TL104"]\n')
        Path("torchlint.toml").write_text('extend = "c0.toml"\n')
        assert (0, "All checks passed!\n", "") == check()

    @pytest.mark.parametrize(
        "pattern", [r"[[:alpha:\\].py", r"[\\].py", "[", "[]", "[!]", "{", "{a", "a}", "{a,{b,c}}", "", "!", "\\\\"]
    )
    def test_an_odd_pattern_matches_what_it_matches(self, check: Run, pattern: str) -> None:
        Path("torchlint.toml").write_text(f'[per-file-ignores]\n"{pattern}" = ["TL102"]\n')
        code, out, err = check()
        assert (1, "") == (code, err)
        assert f"good.py:{FOUND} TL104" in out

    @pytest.mark.parametrize(
        "pattern",
        [
            "*a" * 40 + "b",
            "**/" * 40 + "*a" * 40 + "b",
            "*[ab]" * 60 + "c",
            "*?" * 60 + "b",
            "{*a,*b}" * 9 + "c",
            "*" * 300 + "b",
        ],
    )
    def test_stars_cost_no_time(self, check: Run, pattern: str) -> None:
        Path("a" * 200 + ".py").write_text(TRAIN)
        Path("torchlint.toml").write_text(f'[per-file-ignores]\n"{pattern}" = ["TL104"]\n"x{pattern}*" = ["TL104"]\n')
        code, out, err = check("-n", "--select", "TL104")
        assert (1, "") == (code, err)
        assert 2 == out.count(" TL104 ")

    @pytest.mark.parametrize(
        "line", ["\\", "a\\", "[", "[z-a]", "[[:x:]]", "!", "/", "*a" * 7 + "\\b", "**/" * 60 + "\\", "\x00", "\xff"]
    )
    def test_odd_lines_of_what_is_ignored(self, check: Run, line: str) -> None:
        Path("a" * 60 + ".py").write_text(TRAIN)
        Path(".gitignore").write_bytes(line.encode("latin-1") + b"\n")
        Path("torchlint.toml").write_text(f"extend-exclude = {json.dumps([line])}\n")
        code, out, err = check("-n")
        assert (1, "") == (code, err)
        assert 2 == out.count(f":{FOUND} TL104 ")


class TestOtherFiles:
    def failed(self, check: Run, *arguments: str) -> str:
        code, out, err = check(*arguments)
        assert (2, "") == (code, out)
        return err

    @pytest.mark.parametrize("text", ["[" * 100_000, "3", "null", "[]", "", "{}", '"x"', "\x00", "[1" + ",1" * 1000])
    def test_what_is_no_baseline(self, check: Run, text: str) -> None:
        Path("b.json").write_text(text)
        assert self.failed(check, "--baseline", "b.json").startswith("torchlint failed\n  Cause: ")

    @pytest.mark.parametrize("text", ["[" * 100_000, "3", "null", "[]", "x", "{}", '{"kind": []}', '{"stack": 3}'])
    def test_what_is_no_evidence(self, check: Run, text: str) -> None:
        Path("events").write_text(text)
        cause = "events is not a file of torchlint events"
        assert f"torchlint failed\n  Cause: {cause}\n" == self.failed(check, "--evidence", "events")

    @pytest.mark.parametrize("name", ["a.py", "a.pyi", "a.ipynb"])
    def test_a_report_replaces_no_code(self, check: Run, name: str) -> None:
        Path(name).write_text(TRAIN)
        cause = f"{name} is code, which what is written there would replace"
        assert f"torchlint failed\n  Cause: {cause}\n" == self.failed(check, "--output-file", name, "--fix")
        assert TRAIN == Path(name).read_text()

    @pytest.mark.parametrize("name", ["pyproject.toml", "torchlint.toml", ".torchlint.toml"])
    def test_a_report_replaces_no_settings(self, check: Run, name: str) -> None:
        Path(name).write_text("")
        cause = f"{name} is a file of settings, which what is written there would replace"
        assert f"torchlint failed\n  Cause: {cause}\n" == self.failed(check, "--output-file", name)
        assert not Path(name).read_text()

    @pytest.mark.parametrize(
        ("target", "kind"), [("a.py", "code"), ("pyproject.toml", "a file of settings"), ("b/a.ipynb", "code")]
    )
    def test_a_report_replaces_no_code_behind_a_link(self, check: Run, target: str, kind: str) -> None:
        Path("b").mkdir()
        Path(target).write_text("")
        Path("report.txt").symlink_to(target)
        cause = f"report.txt is a link to {Path(target).resolve()}, which is {kind}, which what is written there would replace"
        assert f"torchlint failed\n  Cause: {cause}\n" == self.failed(check, "--output-file", "report.txt")
        assert not Path(target).read_text()

    @pytest.mark.parametrize("there", [True, False])
    @pytest.mark.parametrize("marked", [True, False])
    def test_a_report_goes_through_no_link_out_of_the_project(
        self, check: Run, marked: bool, there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        outside, inside = tmp_path / "precious", tmp_path / "repository"
        inside.mkdir()
        if there:
            outside.write_text("precious")
        if marked:
            (inside / ".git").mkdir()
        monkeypatch.chdir(inside)
        Path("report.txt").symlink_to("../precious")
        cause = f"report.txt is a link to {outside}, which is not in {inside}: delete it, or write somewhere else"
        for way in ("option", "environment"):
            if way == "environment":
                monkeypatch.setenv("TORCHLINT_OUTPUT_FILE", "report.txt")
            arguments = ("--output-file", "report.txt") if way == "option" else ()
            assert f"torchlint failed\n  Cause: {cause}\n" == self.failed(check, *arguments)
        with pytest.raises(Failure, match="is a link to"):
            shared.write(Path("report.txt"), None)
        assert there is outside.exists()
        assert not there or "precious" == outside.read_text()

    def test_a_report_replaces_a_report(self, check: Run) -> None:
        for _ in range(2):
            assert (1, "", "") == check("--output-file", "report.txt")

    @pytest.mark.parametrize("option", ["--diff-base", "--select", "--baseline", "--output-file", "--target-torch"])
    def test_two_dashes_are_no_value(self, check: Run, option: str) -> None:
        cause = f"`{option}=--`: `--` is no value"
        assert f"torchlint failed\n  Cause: {cause}\n" == self.failed(check, f"{option}=--")

    @pytest.mark.parametrize("revision", ["-p", "--output=x", "HEAD", "a b", "@{-1}", ":/x", "a..b", "^a"])
    def test_what_is_no_revision(self, check: Run, revision: str) -> None:
        subprocess.run(["git", "init", "-q", "."], check=True)
        err = self.failed(check, f"--diff-base={revision}")
        assert f"git knows no commit `{revision}`" in err
        assert not Path("x").exists()


@pytest.mark.parametrize("name", ["logging", "email", "libcst"])
def test_a_module_of_the_working_directory_is_not_imported(project: Path, name: str) -> None:
    (project / name).mkdir()
    (project / name / "__init__.py").write_text("raise SystemExit('imported')\n")
    (project / "pyproject.toml").write_text('[project]\nname = "p"\ndependencies = ["torch>=2.6"]\n')
    command = [sys.executable, "-m", "torchlint", "check", "--no-cache", "--output-format", "concise", "good.py"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (1, "") == (ran.returncode, ran.stderr)
    assert f"good.py:{FOUND}" in ran.stdout
