"""Landlock: the Linux kernel refuses this process, and all that it starts, to write outside of some folders."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterable

# linux/landlock.h; the numbers of the system calls are the same on every architecture
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_PATH_BENEATH = 1
_NO_NEW_PRIVILEGES = 38
_WRITE_FILE = 1 << 1
_REMOVE_AND_MAKE = sum(1 << bit for bit in range(4, 13))
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_ON_FILES = _WRITE_FILE | _TRUNCATE


def available() -> bool:
    """Whether this kernel has Landlock switched on."""
    return sys.platform == "linux" and _version() > 0


def _version() -> int:
    return int(ctypes.CDLL(None).syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_FLAG))


def restrict(writable: Iterable[str]) -> None:
    """Allow writing beneath these paths only; for good. Raises OSError where the kernel doesn't do it."""
    libc = ctypes.CDLL(None, use_errno=True)

    def call(*arguments: object) -> int:
        result = int(libc.syscall(*arguments))
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return result

    version = _version()
    handled = _WRITE_FILE | _REMOVE_AND_MAKE | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
    attributes = struct.pack("=Q", handled)
    ruleset = call(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    try:
        for path in writable:
            try:
                place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            allowed = handled if os.path.isdir(path) else handled & _ON_FILES
            call(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", allowed, place), 0)
            os.close(place)
        if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "no_new_privs")
        call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)
