"""Memory-mapped files, and how a run survives when one is truncated or overwritten.

A process that reads beyond the end of a truncated file that it has mapped is killed (SIGBUS). On Linux, this
module makes such reads return zeros instead, in every thread, including llama.cpp's. `MappedFile.check` then
raises an error, and results made from the zeros are dropped. So the run ends as with any other invalid input.
"""

import ctypes
import mmap
import os
import platform
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any
from weakref import WeakSet, finalize

from operators.errors import InputError
from operators.unreadable import unreadable

_PROT_READ, _MAP_PRIVATE, _MAP_FIXED, _MAP_ANONYMOUS = 0x1, 0x02, 0x10, 0x20
_SA_SIGINFO = 4
# The offset of the address in Linux' siginfo, and the code of a signal that a process has sent.
_CODE_AT, _ADDRESS_AT = 8, 16

#: The files that are watched now.
_watched: "WeakSet[MappedFile]" = WeakSet()
#: The spans of addresses where zeros replaced what was missing.
_zeros: list[range] = []


class MappedFile:
    """A file that the caller maps, or a library that gets its path.

    It is watched until this object is closed or garbage-collected.

    Raises:
        InputError: when it cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        _survive()
        self.path = path
        try:
            self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise InputError(unreadable(path, error)) from None
        self._end = finalize(self, os.close, self._file)
        status = os.fstat(self._file)
        self._size = status.st_size
        self._inode, self._name = status.st_ino, os.fsencode(os.path.realpath(path))
        #: Whether a read hit a part of the file that no longer exists.
        self.is_cut = False
        _watched.add(self)

    def check(self) -> None:
        """Raise `InputError` if the file has changed; anything read since then may be wrong."""
        if os.fstat(self._file).st_size != self._size:
            raise InputError(
                f"{self.path} was truncated or overwritten while it was in use: "
                "put the whole file there and start again"
            )
        if self.is_cut:
            # It was truncated only for a moment, or its disk failed: the signal is the same.
            raise InputError(
                f"{self.path} could not be read while it was in use, although its length is unchanged: "
                "check its disk, and start again"
            )

    def is_called(self, inode: int, name: bytes) -> bool:
        """Whether this is the file's name in Linux' list of mappings."""
        # It may have been renamed, and some file systems show another inode number there.
        return inode == self._inode or name == self._name

    def close(self) -> None:
        """Stop watching: the file is no longer mapped. May be called more than once."""
        _watched.discard(self)
        self._end()


def check_mapped() -> None:
    """Raise `InputError` if one of the mapped files has changed."""
    for file in list(_watched):
        file.check()


class _Action(ctypes.Structure):
    """``struct sigaction`` of Linux' C libraries on 64-bit machines."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_ubyte * 128),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


_Handler = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
#: The previous signal handler.
_before = _Action()


# Not a Python-level handler: those run after the faulty read has returned, which it never does.
@_Handler  # type: ignore[untyped-decorator]  # ctypes types no decorator
def _on_bus_error(number: int, info: int, _context: object) -> None:
    with suppress(Exception):
        if ctypes.c_int.from_address(info + _CODE_AT).value > 0:
            address = ctypes.c_void_p.from_address(info + _ADDRESS_AT).value or 0
            if _is_replaced(address):
                return
    # Not one of our files: act as if this handler were not installed.
    _library.sigaction(number, ctypes.byref(_before), None)
    _library.raise_(number)


def _is_replaced(address: int) -> bool:
    """Map zeros over the missing part of a watched file from an address on; return whether there was one."""
    page = address - address % mmap.PAGESIZE
    for line in Path("/proc/self/maps").read_bytes().splitlines():
        bounds, rights, _offset, _device, inode, *name = line.split(maxsplit=5)
        start, end = (int(one, 16) for one in bounds.split(b"-"))
        if start <= address < end and rights.startswith(b"r--"):
            if int(inode) == 0 and any(address in span for span in _zeros):
                # Another thread hit the same gap, and its handler was first.
                return True
            found = [file for file in _watched if file.is_called(int(inode), b"".join(name))]
            for file in found:
                file.is_cut = True
            how = _MAP_PRIVATE | _MAP_FIXED | _MAP_ANONYMOUS
            if not found or _library.mmap(page, end - page, _PROT_READ, how, -1, 0) != page:
                return False
            _zeros.append(range(page, end))
            return True
    return False


def _open_library() -> Any:
    library: Any = ctypes.CDLL(None)
    library.mmap.restype = ctypes.c_void_p
    size, number = ctypes.c_size_t, ctypes.c_int
    library.mmap.argtypes = (ctypes.c_void_p, size, number, number, number, ctypes.c_long)
    library.raise_ = library["raise"]
    return library


_is_known = sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64")
_library: Any = _open_library() if _is_known else None


def _survive() -> None:
    """Install the handler that answers reads of truncated parts with zeros, at the first file."""
    if _library is None or _watched:
        return
    action = _Action(handler=ctypes.cast(_on_bus_error, ctypes.c_void_p).value, flags=_SA_SIGINFO)
    before = _Action()
    _library.sigaction(signal.SIGBUS, ctypes.byref(action), ctypes.byref(before))
    if before.handler != action.handler:
        ctypes.pointer(_before)[0] = before
