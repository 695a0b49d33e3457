"""Where captions are shown, and its plain form: lines for a file, a pipe or a terminal that cannot draw."""

import contextlib
import errno
import os
import stat
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Self, TextIO

from typing_extensions import override

from connectors.files.output import WriteError
from connectors.messages import tell
from connectors.view import Status, encodable
from operators.errors import OutputError
from operators.events import Caption
from operators.text import cleaned


class Screen(ABC):
    """Shows captions. Any thread may call any method, but signal handlers must not.

    Text from outside reaches the terminal only as text, never as control sequences.
    """

    @abstractmethod
    def draw(self, captions: Sequence[Caption]) -> None:
        """Show captions that arrived together.

        Raises:
            OutputError: when nobody reads the output any more or the disk is full.
        """

    @abstractmethod
    def status(self, status: Status) -> None:
        """Show the run's status, if there is a terminal.

        At most ten times a second; a status in between is shown at the next call of any method. If the
        output fails, `draw` reports it.
        """

    @abstractmethod
    def notice(self, sentence: str) -> None:
        """Show the user a sentence that is not a caption: above the captions, or on standard error."""

    @abstractmethod
    def close(self) -> None:
        """Finish the open captions as plain lines and remove the status line; may be called more than once.

        Never raises: an error that ended the captions is already being reported.
        """

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Lines(Screen):
    """One line for each final, which begins with its language where there are several."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._lock = Lock()

    @override
    def draw(self, captions: Sequence[Caption]) -> None:
        finals = [(cleaned(caption.shown), caption.language) for caption in captions if caption.is_final]
        lines = [f"{language}: {text}\n" if language else f"{text}\n" for text, language in finals if text]
        with self._lock:
            write(self._out, "".join(lines))

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
    """The same when messages are JSON: everything that is not a caption is logged."""

    @override
    def notice(self, sentence: str) -> None:
        tell("message", cleaned(sentence))


def encoding_of(out: TextIO) -> str:
    """The encoding of ``out``."""
    return out.encoding or "utf-8"


def write(out: TextIO, text: str) -> None:
    """Write ``text`` immediately, with question marks for characters that the encoding lacks.

    If the terminal is gone, this text and all later text is silently discarded.

    Raises:
        OutputError: when nobody reads the output any more or the disk is full.
    """
    if not text:
        return
    try:
        out.write(encodable(text, encoding_of(out)))
        out.flush()
    except OSError as error:
        if not is_gone(out, error):
            trouble = WriteError(Path("standard output"), error)
            raise OutputError(f"{trouble}; add --quiet to print none") from None


def is_gone(out: TextIO, error: OSError) -> bool:
    """Whether an error means that a terminal is gone: its window closed, or its connection lost.

    Nothing can be repaired then, and the run's files still need completing, so later output is discarded.
    """
    if error.errno != errno.EIO or not stat.S_ISCHR(os.fstat(out.fileno()).st_mode):
        return False
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, out.fileno())
    os.close(nowhere)
    return True
