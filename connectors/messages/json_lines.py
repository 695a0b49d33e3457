"""Messages as JSON lines on standard error, and nothing else there.

python-json-logger would save the choice of a record's fields, some ten lines. What is needed beyond that
(texts that are cut, numbers that JSON lacks, half characters, the name of the event) would stay here.
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

# Characters of a text in a message: what strangers hand in may be of any length.
_MAX_CHARACTERS = 8_000
_MAX_TRACEBACK = 32_000
# Bytes that may wait in the pipe: native code may write while it holds the interpreter's lock.
_PIPE = 1 << 20
# Seconds that the last lines may take.
_LAST_S = 1.0
_OURS = ("flows", "connectors", "operators")
# What every record has; all else is a field.
_STANDARD = {*logging.makeLogRecord({}).__dict__, "message", "asctime", "event", "taskName"}


def is_ours(record: logging.LogRecord) -> bool:
    """Whether surtitle itself says it, and no library."""
    return record.name.partition(".")[0] in _OURS


def object_of(record: logging.LogRecord) -> dict[str, Any]:
    """A record as the object that is written: time, level, event, message, and the fields that it has."""
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
    """The text without half characters, which JSON does not have, and cut in its middle where it is long."""
    if len(text) > most:
        text = f"{text[: most // 2]} … {text[-most // 2 :]}"
    return text.encode("utf-8", "replace").decode("utf-8")


class JsonMessages(logging.Handler):
    """Writes each message as one line: an object in ASCII, so that no terminal and no encoding minds it."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        """``write`` takes a whole line; calls come one after the other."""
        super().__init__(logging.INFO)
        self._write = write

    @override
    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = json.dumps(object_of(record), allow_nan=False)
        except Exception as error:  # noqa: BLE001 - a message must not end a run, nor be lost without a word
            line = json.dumps({"level": "error", "event": "message", "message": f"not told: {error!r}"})
        with contextlib.suppress(OSError):  # nobody reads it any more
            self._write(line.encode("ascii") + b"\n")


class StandardError:
    """Standard error for us alone: whatever else is written to it is handed over line by line instead."""

    def __init__(self) -> None:
        try:
            sys.stderr.flush()
            self._terminal = os.dup(2)
        except (AttributeError, OSError):  # the program was started without one
            self._terminal = os.open(os.devnull, os.O_WRONLY)
        self._thread: threading.Thread | None = None

    def write(self, line: bytes) -> None:
        """Write to where standard error led; raises `OSError`."""
        left = memoryview(line)
        while left:
            left = left[os.write(self._terminal, left) :]

    def redirect(self, take: Callable[[str], None]) -> None:
        """Hand over what is written to descriptor 2, until the process ends; ``take`` gets lines."""
        read, write = os.pipe()
        _widen(write)
        os.dup2(write, 2)
        os.close(write)
        self._thread = threading.Thread(target=_read, args=(read, take), name="stderr", daemon=True)
        self._thread.start()
        atexit.register(self._end)

    def _end(self) -> None:
        """Hand over the last lines. What comes after them would be no message any more, and is lost."""
        with contextlib.suppress(AttributeError, OSError, ValueError):
            sys.stderr.flush()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)
        os.close(nowhere)
        if self._thread is not None:
            self._thread.join(_LAST_S)


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
