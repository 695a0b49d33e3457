"""The standard streams of this process: those it was started without, and output that cannot be written."""

import faulthandler
import io
import os
import sys
from typing import TextIO

# ENABLE_VIRTUAL_TERMINAL_PROCESSING
_VT_PROCESSING = 4
_STREAMS = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


def prepare_streams() -> None:
    """Make sure that there are standard streams, and that native code has its own standard error."""
    open_absent_streams()
    if sys.platform == "win32":
        _prepare_windows()
    part_stderr()


def _prepare_windows() -> None:
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if stream.isatty():
            # Of input, the flag means something else. Rich obeys what it finds.
            if stream is not sys.stdin:
                obeys_escapes(stream)
        elif isinstance(stream, io.TextIOWrapper) and "PYTHONIOENCODING" not in os.environ:
            # A file or a pipe would get the code page of the system, which has no letters of most languages.
            stream.reconfigure(encoding="utf-8")


def obeys_escapes(out: TextIO) -> bool:
    """Whether a terminal obeys escape sequences; a console of Windows does when it is told to."""
    if sys.platform != "win32":
        return True
    import ctypes
    import msvcrt

    console, mode = msvcrt.get_osfhandle(out.fileno()), ctypes.c_ulong()
    system = ctypes.windll.kernel32
    is_known = system.GetConsoleMode(ctypes.c_void_p(console), ctypes.byref(mode))
    return bool(is_known and system.SetConsoleMode(ctypes.c_void_p(console), mode.value | _VT_PROCESSING))


def part_stderr() -> None:
    """Give Python's standard error a descriptor of its own, for good, if it has descriptor 2.

    Descriptor 2 can then lead elsewhere for a while, to discard what native code writes to it. Another object
    in the place of ``sys.stderr`` for a while would not do: a line of progress that begins meanwhile puts it
    back when it ends, and by then it is closed.
    """
    stderr = sys.stderr
    try:
        if stderr.fileno() != 2:
            return
    except (OSError, ValueError):  # it writes to memory, as in a test
        return
    stderr.flush()
    sys.stderr = open(  # noqa: SIM115 - for good
        os.dup(2), "w", buffering=1, encoding=stderr.encoding, errors=stderr.errors, closefd=False
    )
    if faulthandler.is_enabled():
        # A crash in native code says where it was, also while descriptor 2 leads elsewhere.
        faulthandler.enable(sys.stderr)


def open_absent_streams() -> None:
    """Open the null device for each standard stream that this process was started without.

    Otherwise the next file that is opened would get the number of the stream, and what native code writes to
    the stream would go into that file. Python has no object for such a stream, and ``print`` writes what is
    meant for standard error to standard output.
    """
    for number, (name, mode) in enumerate(_STREAMS):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number is this one.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - for good


def is_of_output(error: OSError) -> bool:
    """Whether an error was raised because standard output cannot be written."""
    try:
        # What could not be written is still there, and fails again.
        sys.stdout.flush()
    except OSError:
        return True
    return isinstance(error, BrokenPipeError)


def forget_output() -> None:
    """Discard standard output that cannot be written: Python would fail again when it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
