"""Where captions are seen, and its plain kind: lines, for a file, a pipe or a terminal that cannot draw."""

import contextlib
import errno
import os
import stat
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from threading import Lock
from types import TracebackType
from typing import Self, TextIO

from typing_extensions import override

from connectors.messages.log import tell
from connectors.view.status import Status, sayable
from operators.errors import OutputError
from operators.events import Caption
from operators.text_layout import cleaned


class Screen(ABC):
    """Where captions are seen. Any thread may call any method, but no signal handler.

    Text from outside never reaches the terminal as anything but text.
    """

    @abstractmethod
    def draw(self, captions: Sequence[Caption]) -> None:
        """Show captions that came together.

        Raises:
            OutputError: when nobody reads the output any more or the disk is full.
        """

    @abstractmethod
    def status(self, status: Status) -> None:
        """Show how it goes, where there is a terminal.

        At most ten times a second; what comes in between is shown at the next call of any method. A
        failing output is left to `draw` to report.
        """

    @abstractmethod
    def notice(self, sentence: str) -> None:
        """Show the user a sentence that is no caption: above the captions, or on standard error."""

    @abstractmethod
    def close(self) -> None:
        """Leave what is still open as finished lines, and take the status away; it may be called again.

        It raises nothing: an error that ended the captions is already on its way.
        """

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Lines(Screen):
    """One line for each final."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._lock = Lock()

    @override
    def draw(self, captions: Sequence[Caption]) -> None:
        texts = [cleaned(caption.shown) for caption in captions if caption.is_final]
        with self._lock:
            write(self._out, "".join(f"{text}\n" for text in texts if text))

    @override
    def status(self, status: Status) -> None:
        pass

    @override
    def notice(self, sentence: str) -> None:
        with self._lock, contextlib.suppress(OSError):
            print(f"surtitle: {cleaned(sentence)}", file=sys.stderr, flush=True)

    @override
    def close(self) -> None:
        pass


class LoggedLines(Lines):
    """The same, where messages are JSON: what is no caption goes where they all go."""

    @override
    def notice(self, sentence: str) -> None:
        tell("message", cleaned(sentence))


def encoding_of(out: TextIO) -> str:
    """The encoding of what is written to ``out``."""
    return out.encoding or "utf-8"


def write(out: TextIO, text: str) -> None:
    """Write ``text`` at once, with question marks for what the output cannot encode.

    A terminal that is gone takes it, and all that comes after it, without a word.

    Raises:
        OutputError: when nobody reads the output any more or the disk is full.
    """
    if not text:
        return
    try:
        out.write(sayable(text, encoding_of(out)))
        out.flush()
    except OSError as error:
        if not is_gone(out, error):
            raise OutputError(
                f"the captions cannot be written to standard output: {error.strerror}"
            ) from None


def is_gone(out: TextIO, error: OSError) -> bool:
    """Whether an error says that a terminal is gone: its window closed, or the connection to it lost.

    There is nothing to mend then, and files to end: what is written to it from now on goes nowhere.
    """
    if error.errno != errno.EIO or not stat.S_ISCHR(os.fstat(out.fileno()).st_mode):
        return False
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, out.fileno())
    os.close(nowhere)
    return True
