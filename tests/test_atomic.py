"""Files are written whole or not at all, and stay the same files: by whom, with what rights, under which names."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchlint.system import atomic, state

OLD, NEW = b"old" * 5000, b"NEW" * 4000
posix = pytest.mark.skipif(os.name == "nt", reason="no such thing there")
as_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away")


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file in a directory of its own; notes are kept elsewhere."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a.py").write_bytes(OLD)
    return tmp_path / "d" / "a.py"


def is_tidy(file: Path, *others: str) -> bool:
    """Whether nothing is left beside the files, and no note."""
    return sorted([file.name, *others]) == sorted(os.listdir(file.parent)) and [] == state.unfinished()


def test_a_new_file(file: Path) -> None:
    new = file.with_name("new.py")
    before = os.umask(0o027)
    try:
        atomic.write(str(new), NEW)
    finally:
        os.umask(before)
    assert (NEW, 0o640) == (new.read_bytes(), stat.S_IMODE(new.stat().st_mode))
    assert is_tidy(file, "new.py")


@posix
def test_mode_and_times_of_use(file: Path) -> None:
    file.chmod(0o4751)
    atomic.write(str(file), NEW)
    assert (NEW, 0o4751) == (file.read_bytes(), stat.S_IMODE(file.stat().st_mode))
    assert is_tidy(file)


@as_root
def test_owner_and_group(file: Path) -> None:
    os.chown(file, 1234, 4321)
    file.chmod(0o640)
    atomic.write(str(file), NEW)
    found = file.stat()
    assert (NEW, 1234, 4321, 0o640) == (file.read_bytes(), found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode))
    assert is_tidy(file)


@posix
def test_an_owner_that_can_not_be_given(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then it is written over: it stays the same file."""

    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    inode = file.stat().st_ino
    monkeypatch.setattr(os, "fchmod", refused)
    atomic.write(str(file), NEW)
    assert (NEW, inode) == (file.read_bytes(), file.stat().st_ino)
    assert is_tidy(file)


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="no attributes there")
def test_attributes(file: Path) -> None:
    try:
        os.setxattr(file, "user.mine", b"kept")
    except OSError:
        pytest.skip("the file system has no attributes")
    atomic.write(str(file), NEW)
    assert (NEW, b"kept") == (file.read_bytes(), os.getxattr(file, "user.mine"))


def test_other_names(file: Path) -> None:
    other = file.with_name("b.py")
    os.link(file, other)
    atomic.write(str(other), NEW)
    assert (NEW, NEW, 2) == (file.read_bytes(), other.read_bytes(), file.stat().st_nlink)
    assert is_tidy(file, "b.py")


def test_links(file: Path) -> None:
    link = file.with_name("link.py")
    link.symlink_to("a.py")
    atomic.write(str(link), NEW)
    assert link.is_symlink()
    assert NEW == file.read_bytes()
    atomic.put(str(link), OLD)
    assert not link.is_symlink()
    assert (OLD, NEW) == (link.read_bytes(), file.read_bytes())
    assert is_tidy(file, "link.py")


@posix
def test_a_device_is_written_to() -> None:
    atomic.write(os.devnull, NEW)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_takes_no_file(file: Path) -> None:
    file.parent.chmod(0o555)
    try:
        atomic.write(str(file), NEW)
    finally:
        file.parent.chmod(0o755)
    assert NEW == file.read_bytes()


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("step", ["fsync", "replace", "ftruncate", "write", "makedirs"])
def test_what_fails_changes_nothing(file: Path, monkeypatch: pytest.MonkeyPatch, linked: bool, step: str) -> None:
    if linked:
        os.link(file, file.with_name("b.py"))
    with monkeypatch.context() as patched:
        done = getattr(os, step)
        calls = iter(range(100))

        def full(*arguments: object, **options: object) -> object:
            if next(calls):
                return done(*arguments, **options)
            raise OSError(28, "No space left on device")

        patched.setattr(os, step, full)
        with suppress(OSError):
            atomic.write(str(file), NEW)
    assert file.read_bytes() in (OLD, NEW)
    assert is_tidy(file, *(["b.py"] if linked else []))


@pytest.mark.parametrize("linked", [False, True])
def test_what_changed_meanwhile_stays(file: Path, linked: bool) -> None:
    if linked:
        os.link(file, file.with_name("b.py"))

    def changed() -> None:
        raise KeyError

    with pytest.raises(KeyError):
        atomic.write(str(file), NEW, ready=changed)
    assert OLD == file.read_bytes()
    assert is_tidy(file, *(["b.py"] if linked else []))


def test_without_a_place_for_a_backup_nothing_is_written_over(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(file.parent / "nowhere"))
    with pytest.raises(FileNotFoundError):
        (file.parent / "nowhere").stat()
    atomic.write(str(file), NEW)
    os.link(file, file.with_name("b.py"))
    with pytest.raises(OSError, match="it has other names or another owner, and no backup can be made"):
        atomic.write(str(file), OLD)
    assert NEW == file.read_bytes()


class TestKilled:
    """At every single step."""

    STEPS = ("open", "write", "fsync", "fchmod", "ftruncate", "replace", "unlink", "close", "makedirs")

    def die_at(self, moment: int, work: Callable[[], object]) -> bool:
        """Do some work in a process that is killed before its nth step; whether there were as many."""
        child = os.fork()
        if not child:
            left = iter(range(moment, -1, -1))
            for name in self.STEPS:
                setattr(os, name, self.counted(getattr(os, name), left))
            with suppress(BaseException):
                work()
            os._exit(0)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL

    @staticmethod
    def counted(step: Callable[..., object], left: object) -> Callable[..., object]:
        def counted(*arguments: object, **options: object) -> object:
            if next(left, 1) == 0:  # type: ignore[call-overload]
                os.kill(os.getpid(), signal.SIGKILL)
            return step(*arguments, **options)

        return counted

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork there")
    @pytest.mark.parametrize("linked", [False, True])
    def test_the_next_one_tidies_up(self, file: Path, linked: bool) -> None:
        others = ["b.py"] if linked else []
        if linked:
            os.link(file, file.with_name("b.py"))
        moment = 0
        while self.die_at(moment, lambda: atomic.write(str(file), NEW)):
            atomic.sweep()
            assert file.read_bytes() in (OLD, NEW)
            assert is_tidy(file, *others)
            atomic.write(str(file), OLD)
            moment += 1
        assert 5 < moment
        assert NEW == file.read_bytes()

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork there")
    @pytest.mark.parametrize("size", [0, 1, 6000, len(NEW) - 1, len(NEW)])
    def test_in_the_midst_of_a_write(self, file: Path, size: int) -> None:
        os.link(file, file.with_name("b.py"))
        write = os.write

        def work() -> None:
            def some(descriptor: int, data: bytes) -> int:
                write(descriptor, data[:size])
                os.kill(os.getpid(), signal.SIGKILL)
                return 0

            os.write = some  # type: ignore[assignment]
            atomic.write(str(file), NEW)

        assert self.die_at(10**6, work)
        assert NEW[:size] + OLD[size:] == file.read_bytes()
        atomic.sweep()
        assert OLD == file.read_bytes()
        assert is_tidy(file, "b.py")

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork there")
    def test_what_was_edited_since_stays(self, file: Path) -> None:
        os.link(file, file.with_name("b.py"))
        assert self.die_at(0, lambda: self.edit_and_die(file))
        edited = b"# mine\n" + file.read_bytes()
        file.write_bytes(edited)
        atomic.sweep()
        assert edited == file.read_bytes()
        assert [] == state.unfinished()

    @staticmethod
    def edit_and_die(file: Path) -> None:
        atomic.write(str(file), NEW, ready=lambda: os.kill(os.getpid(), signal.SIGKILL))


ENDED = """\
import os, signal, sys
from torchlint.system import atomic, signals

number, step = signal.Signals[sys.argv[2]], sys.argv[3]
plain = getattr(os, step)

def ended(*given):
    os.kill(os.getpid(), number)
    return plain(*given)

signals.catch()
setattr(os, step, ended)
atomic.write(sys.argv[1], b"NEW" * 4000)
print("not ended")
"""


@posix
@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129), ("SIGINT", -signal.SIGINT)])
def test_a_signal_that_ends_the_program_waits_for_the_file(file: Path, name: str, code: int, linked: bool) -> None:
    others = ["b.py"] if linked else []
    if linked:
        os.link(file, file.with_name("b.py"))
    command = [sys.executable, "-c", ENDED, str(file), name, "fsync" if linked else "replace"]

    ended = subprocess.run(
        command,
        cwd=file.parent,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),  # who runs the tests by nohup ignores it
    )

    assert (code, "") == (ended.returncode, ended.stdout)
    assert NEW == file.read_bytes()
    assert is_tidy(file, *others)


@posix
def test_what_is_under_way_is_left_alone(file: Path) -> None:
    """Another process sweeps while this one writes."""
    program = "from torchlint.system import atomic; atomic.sweep()"

    def meanwhile() -> None:
        (note,) = state.unfinished()
        subprocess.run([sys.executable, "-c", program], check=True)
        assert [note] == state.unfinished()
        assert 2 == len(os.listdir(file.parent))

    atomic.write(str(file), NEW, ready=meanwhile)
    assert NEW == file.read_bytes()
    assert is_tidy(file)


@given(data=st.binary(max_size=40))
def test_a_note_that_says_something_else_is_taken_away(data: bytes) -> None:
    folder = Path(state.made(), state.UNFINISHED)
    folder.mkdir(exist_ok=True)
    (folder / "odd").write_bytes(data)
    atomic.sweep()
    assert [] == state.unfinished()


@given(old=st.binary(max_size=8), new=st.binary(max_size=8), edited=st.binary(max_size=8))
def test_only_a_half_written_file_is_torn(old: bytes, new: bytes, edited: bytes) -> None:
    assert not atomic._is_torn(old, old, new)
    assert not atomic._is_torn(new, old, new)
    for size in range(len(new) + 1):
        half = new[:size] + old[size:]
        assert atomic._is_torn(half, old, new) is (half not in (old, new))
    halves = {new[:size] + old[size:] for size in range(len(new) + 1)}
    assert atomic._is_torn(edited, old, new) is (edited in halves - {old, new})
