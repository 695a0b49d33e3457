"""Writes messages to standard error through the standard logging, as sentences or as JSON lines.

To send a message, log it with a stable name in ``extra``:
``_log.warning(sentence, extra={"event": "segment_split", "stream": "talk"})``, or call `log_event`. No
message quotes a caption.
"""

import json
import logging
import math
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Literal

from typing_extensions import override

from operators.addresses import shown_in
from operators.errors import printable

# Maximum characters of a text in a message: texts from outside may have any length.
_MAX_CHARACTERS = 8_000
_MAX_TRACEBACK = 32_000
_OURS = ("flows", "connectors", "operators")
# Attributes of every record; all others are fields.
_STANDARD = {*logging.makeLogRecord({}).__dict__, "message", "asctime", "event", "taskName"}


def _is_ours(record: logging.LogRecord) -> bool:
    """Whether it comes from surtitle itself and not from a library."""
    return record.name.partition(".")[0] in _OURS


def _object_of(record: logging.LogRecord) -> dict[str, Any]:
    at = datetime.fromtimestamp(record.created, UTC)
    event = getattr(record, "event", "message") if _is_ours(record) else "library_message"
    made: dict[str, Any] = {
        "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "level": record.levelname.lower(),
        "event": event,
        "message": _text(record.getMessage()),
    }
    if not _is_ours(record):
        made["logger"] = record.name
    fields = record.__dict__.keys() - _STANDARD - made.keys()
    made |= {name: _plain(value) for name, value in record.__dict__.items() if name in fields}
    if record.exc_info and record.exc_info[0] is not None:
        made["error"] = record.exc_info[0].__name__
        made["traceback"] = _text(_traceback(record), _MAX_TRACEBACK)
    return made


def _traceback(record: logging.LogRecord) -> str:
    """The traceback of an error and its causes, made printable: it may quote text from outside."""
    return _printable_lines("".join(traceback.format_exception(*record.exc_info)) if record.exc_info else "")


def _printable_lines(text: str) -> str:
    return "\n".join(printable(shown_in(line)) for line in text.splitlines())


def _plain(value: Any) -> Any:
    """A value that JSON can express; an infinite number becomes None."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case None | bool() | int():
            return value
        case dict():
            return {_text(str(name)): _plain(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_plain(inner) for inner in value]
    return _text(str(value))


def _text(text: str, max_characters: int = _MAX_CHARACTERS) -> str:
    """The text without lone surrogates, which JSON does not allow, and shortened in the middle if long."""
    if len(text) > max_characters:
        text = f"{text[: max_characters // 2]} … {text[-max_characters // 2 :]}"
    return text.encode("utf-8", "replace").decode("utf-8")


Format = Literal["text", "json"]

#: Level of messages to users about normal events; lower levels are for machines only.
NOTICE = 25

_log = logging.getLogger(__name__)


def log_event(
    event: str, sentence: str, *, level: int = NOTICE, error: BaseException | None = None, **fields: Any
) -> None:
    """Log a sentence for the user.

    Args:
        event: Stable name of the event, in snake case; for machines.
        error: The error, if its traceback should be included.
        fields: The facts in the sentence, for machines: numbers and short texts.
    """
    _log.log(level, "%s", sentence, exc_info=error, extra={"event": event, **fields})


def begin_messages(format: Format) -> None:
    """From now on write messages in this ``format``; the last call counts."""
    root = logging.getLogger()
    for before in [one for one in root.handlers if isinstance(one, Messages)]:
        root.removeHandler(before)
    logging.addLevelName(NOTICE, "NOTICE")
    for ours in _OURS:
        logging.getLogger(ours).setLevel(logging.INFO)
    if format == "json":
        logging.captureWarnings(True)
        threading.excepthook = _log_thread_error
    root.addHandler(Messages(format))


def _log_thread_error(what: threading.ExceptHookArgs) -> None:
    if what.exc_type is SystemExit or what.exc_value is None:
        return
    thread = what.thread.name if what.thread else "?"
    extra = {"event": "thread_error", "in_thread": thread}
    _log.error("a thread ended with an error", exc_info=what.exc_value, extra=extra)


def print_sentence(sentence: str) -> None:
    print(f"surtitle: {printable(sentence)}", file=sys.stderr, flush=True)


class Messages(logging.Handler):
    """Writes messages on standard error: sentences for people, or a line of JSON in ASCII for each."""

    def __init__(self, format: Format) -> None:
        super().__init__(logging.INFO if format == "json" else NOTICE)
        self._format = format
        #: Receives surtitle's own sentences.
        self.show: Callable[[str], None] = print_sentence

    @override
    def emit(self, record: logging.LogRecord) -> None:
        try:
            if self._format == "json":
                print(json.dumps(_object_of(record), allow_nan=False), file=sys.stderr, flush=True)
                return
            if record.exc_info:
                print(_traceback(record), file=sys.stderr)
            if _is_ours(record):
                self.show(record.getMessage())
            else:
                print(_printable_lines(record.getMessage()), file=sys.stderr, flush=True)
        except OSError:
            pass  # there is no reader any more
        except Exception:  # noqa: BLE001 - a message must not end a run
            self.handleError(record)


@contextmanager
def shown_on(show: Callable[[str], None]) -> Iterator[None]:
    """In this block, pass sentences to ``show``, so that captions are not interrupted; JSON is unaffected."""
    handlers = [one for one in logging.getLogger().handlers if isinstance(one, Messages)]
    for handler in handlers:
        handler.show = show
    try:
        yield
    finally:
        for handler in handlers:
            handler.show = print_sentence
