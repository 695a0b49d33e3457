"""Messages as JSON lines on standard error, and nothing else there.

python-json-logger would replace only the choice of a record's fields, some ten lines. The rest (truncated
texts, numbers that JSON lacks, lone surrogates, event names) would still be needed here.
"""

import atexit
import contextlib
import json
import logging
import math
import os
import sys
import threading
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from typing_extensions import override

# Maximum characters of a text in a message: texts from outside may have any length.
_MAX_CHARACTERS = 8_000
_MAX_TRACEBACK = 32_000
# Bytes that may wait in the pipe: native code may write while it holds the interpreter's lock.
_PIPE = 1 << 20
# Maximum seconds for the last lines.
_MAX_LAST_S = 1.0
_OURS = ("flows", "connectors", "operators")
# Attributes of every record; all others are fields.
_STANDARD = {*logging.makeLogRecord({}).__dict__, "message", "asctime", "event", "taskName"}


def is_ours(record: logging.LogRecord) -> bool:
    """Whether the message comes from surtitle itself and not from a library."""
    return record.name.partition(".")[0] in _OURS


def object_of(record: logging.LogRecord) -> dict[str, Any]:
    """The object to write for a record: time, level, event, message, and its fields."""
    at = datetime.fromtimestamp(record.created, UTC)
    event = getattr(record, "event", "message") if is_ours(record) else "library_message"
    made: dict[str, Any] = {
        "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "level": record.levelname.lower(),
        "event": event,
        "message": _text(record.getMessage()),
    }
    if not is_ours(record):
        made["logger"] = record.name
    for name, value in record.__dict__.items():
        if name not in _STANDARD and name not in made:
            made[name] = _plain(value)
    if record.exc_info and record.exc_info[1] is not None:
        made["error"] = record.exc_info[0].__name__ if record.exc_info[0] else "?"
        made["traceback"] = _text("".join(traceback.format_exception(*record.exc_info)), _MAX_TRACEBACK)
    return made


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, dict):
        return {_text(str(name)): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return _text(str(value))


def _text(text: str, most: int = _MAX_CHARACTERS) -> str:
    """The text without lone surrogates, which JSON does not allow, and shortened in the middle if long."""
    if len(text) > most:
        text = f"{text[: most // 2]} … {text[-most // 2 :]}"
    return text.encode("utf-8", "replace").decode("utf-8")


class JsonMessages(logging.Handler):
    """Writes each message as one line: an object in ASCII, which suits any terminal and encoding."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        """``write`` takes a whole line; calls are never concurrent."""
        super().__init__(logging.INFO)
        self._write = write

    @override
    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = json.dumps(object_of(record), allow_nan=False)
        except Exception as error:  # noqa: BLE001 - a message must neither end a run nor be lost silently
            line = json.dumps(
                {
                    "level": "error",
                    "event": "message",
                    "message": f"this message could not be written: {error!r}",
                }
            )
        with contextlib.suppress(OSError):  # there is no reader any more
            self._write(line.encode("ascii") + b"\n")


class StandardError:
    """Exclusive use of standard error: what others write to it is passed on line by line instead."""

    def __init__(self) -> None:
        try:
            sys.stderr.flush()
            self._terminal = os.dup(2)
        except (AttributeError, OSError):  # the program was started without one
            self._terminal = os.open(os.devnull, os.O_WRONLY)
        self._thread: threading.Thread | None = None

    def write(self, line: bytes) -> None:
        """Write to the original standard error; raises `OSError`."""
        left = memoryview(line)
        while left:
            left = left[os.write(self._terminal, left) :]

    def redirect(self, take: Callable[[str], None]) -> None:
        """Pass what is written to descriptor 2 to ``take``, line by line, until the process ends."""
        read, write = os.pipe()
        _widen(write)
        os.dup2(write, 2)
        os.close(write)
        self._thread = threading.Thread(target=_read, args=(read, take), name="stderr", daemon=True)
        self._thread.start()
        atexit.register(self._end)

    def _end(self) -> None:
        """Pass on the last lines; later ones could not become messages, and are lost."""
        with contextlib.suppress(AttributeError, OSError, ValueError):
            sys.stderr.flush()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)
        os.close(nowhere)
        if self._thread is not None:
            self._thread.join(_MAX_LAST_S)


def _widen(pipe: int) -> None:
    if sys.platform == "linux":
        import fcntl

        with contextlib.suppress(OSError):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE)


def _read(pipe: int, take: Callable[[str], None]) -> None:
    with os.fdopen(pipe, "rb") as lines:
        while line := lines.readline(_MAX_CHARACTERS):
            text = line.decode("utf-8", "replace").rstrip()
            if text:
                take(text)
