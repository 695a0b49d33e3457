"""The destination of messages: standard error through standard logging, as sentences or as JSON lines.

To send a message, log it with a stable name in ``extra``:
``_log.warning(sentence, extra={"event": "segment_split", "stream": "talk"})``, or call `tell`. No message
quotes a caption.
"""

import logging
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

from typing_extensions import override

from connectors.messages.json_lines import JsonMessages, StandardError, is_ours
from operators.printable import printable

Format = Literal["text", "json"]

#: Level of messages to users about normal events; lower levels are for machines only.
NOTICE = 25

_log = logging.getLogger(__name__)


def tell(
    event: str, sentence: str, *, level: int = NOTICE, error: BaseException | None = None, **fields: Any
) -> None:
    """Tell the user a sentence.

    Args:
        event: Stable name of the event, in snake case; for machines.
        error: The error, if its traceback should be included.
        fields: The facts in the sentence, for machines: numbers and short texts.
    """
    _log.log(level, "%s", sentence, exc_info=error, extra={"event": event, **fields})


def begin_messages(format: Format) -> None:
    """From now on write messages in this ``format``; the last call counts.

    With ``json``, descriptor 2 is redirected to this process until it ends: what libraries and native code
    write there becomes messages as well.
    """
    root = logging.getLogger()
    before = [one for one in root.handlers if isinstance(one, TextMessages | JsonMessages)]
    if format == "json" and any(isinstance(one, JsonMessages) for one in before):
        return
    for handler in before:
        root.removeHandler(handler)
        handler.close()
    logging.addLevelName(NOTICE, "NOTICE")
    for ours in ("flows", "connectors", "operators"):
        logging.getLogger(ours).setLevel(logging.INFO)
    root.addHandler(_json_messages() if format == "json" else TextMessages())


def _json_messages() -> JsonMessages:
    stderr = StandardError()
    handler = JsonMessages(stderr.write)
    stderr.redirect(lambda line: _log.warning("%s", line, extra={"event": "stderr"}))
    logging.captureWarnings(True)
    threading.excepthook = _tell_of_thread
    return handler


def _tell_of_thread(what: threading.ExceptHookArgs) -> None:
    if what.exc_type is SystemExit or what.exc_value is None:
        return
    thread = what.thread.name if what.thread else "?"
    extra = {"event": "thread_error", "in_thread": thread}
    _log.error("a thread ended with an error", exc_info=what.exc_value, extra=extra)


@contextmanager
def shown_on(show: Callable[[str], None]) -> Iterator[None]:
    """Meanwhile, pass sentences to ``show``, so that they do not interrupt captions; JSON is unaffected."""
    handlers = [one for one in logging.getLogger().handlers if isinstance(one, TextMessages)]
    for handler in handlers:
        handler.show = show
    try:
        yield
    finally:
        for handler in handlers:
            handler.show = print_sentence


def print_sentence(sentence: str) -> None:
    """Print a sentence for a person on standard error."""
    print(f"surtitle: {printable(sentence)}", file=sys.stderr, flush=True)


class TextMessages(logging.Handler):
    """Writes messages as sentences for users."""

    def __init__(self) -> None:
        super().__init__(NOTICE)
        #: Receives surtitle's own sentences.
        self.show: Callable[[str], None] = print_sentence

    @override
    def emit(self, record: logging.LogRecord) -> None:
        try:
            if record.exc_info:
                traceback.print_exception(*record.exc_info)
            if is_ours(record):
                self.show(record.getMessage())
            else:
                print(record.getMessage(), file=sys.stderr, flush=True)
        except OSError:
            pass  # there is no reader any more
        except Exception:  # noqa: BLE001 - a message must not end a run
            self.handleError(record)
