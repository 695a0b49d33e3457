"""Opens standard streams that this process was started without, and handles output that cannot be written."""

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
            # For input, the flag means something else. Rich uses the mode that it finds.
            if stream is not sys.stdin:
                obeys_escapes(stream)
        elif isinstance(stream, io.TextIOWrapper) and "PYTHONIOENCODING" not in os.environ:
            # A file or a pipe would use the system's code page, which lacks the letters of most languages.
            stream.reconfigure(encoding="utf-8")


def obeys_escapes(out: TextIO) -> bool:
    """Whether a terminal supports escape sequences; a Windows console does once its mode is set here."""
    if sys.platform != "win32":
        return True
    import ctypes
    import msvcrt

    console, mode = msvcrt.get_osfhandle(out.fileno()), ctypes.c_ulong()
    system = ctypes.windll.kernel32
    is_known = system.GetConsoleMode(ctypes.c_void_p(console), ctypes.byref(mode))
    return bool(is_known and system.SetConsoleMode(ctypes.c_void_p(console), mode.value | _VT_PROCESSING))


def part_stderr() -> None:
    """Move Python's standard error permanently from descriptor 2 to a descriptor of its own.

    Descriptor 2 can then be redirected for a while, to discard what native code writes to it. Replacing
    ``sys.stderr`` for a while would fail: a progress line that starts meanwhile restores the replacement when
    it ends, and by then the replacement is closed.
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
        # The traceback of a crash in native code must appear also while descriptor 2 is redirected.
        faulthandler.enable(sys.stderr)


def open_absent_streams() -> None:
    """Open the null device for each standard stream that this process was started without.

    Otherwise the next file that is opened would get the number of the stream, and native code would write its
    messages there. Python has no object for such a stream, and ``print`` writes to standard output instead of
    standard error.
    """
    for number, (name, mode) in enumerate(_STREAMS):
        try:
            os.fstat(number)
        except OSError:
            # The new descriptor gets the lowest free number, which is this one.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - for good


def is_of_output(error: OSError) -> bool:
    """Whether an error was raised because standard output cannot be written."""
    try:
        # Unwritten output is still buffered, and fails again.
        sys.stdout.flush()
    except OSError:
        return True
    return isinstance(error, BrokenPipeError)


def forget_output() -> None:
    """Discard standard output that cannot be written: Python would fail again when it exits."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
