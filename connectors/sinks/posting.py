"""Sends finals to another machine over HTTP, one request each, in order, on a thread of its own.

A machine that does not answer must not delay captions. So finals wait here, at most `MAX_WAITING` of them,
and each is sent again after a growing wait until it is accepted. A repeated request has the same number, so
that the receiver can detect it.
"""

import re
import threading
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from http.client import HTTPException
from typing import Any

import msgspec
from bytewax.outputs import FixedPartitionedSink, StatefulSinkPartition
from typing_extensions import override

from connectors.files.watch import OutputWatch
from operators.addresses import parts_of, shown, without_user
from operators.errors import UsageError
from operators.events import Caption
from operators.languages import ENGLISH, Language
from operators.notifications import OutputChanged
from operators.secret import Secret
from operators.speakers import Turns, introduced, shown_name

#: Finals that wait for a receiver: some hours of speech.
MAX_WAITING = 1000
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 30.0
_ANSWER_S = 10.0
# Seconds at the end of a run in which waiting finals are still sent.
_END_S = 5.0
_SENDABLE = re.compile(r"[!-~]+")
# Status codes that reject this request for good; after any other, it is sent again.
_REFUSED = (400, 413, 415, 422)


class NumberedFinal(msgspec.Struct, frozen=True):
    number: int
    caption: Caption
    #: When it was spoken, in seconds since 1970.
    said_at: float
    #: The speaker's name; empty if unknown.
    speaker: str = ""
    #: The mark before its text if the speaker changes, in captions of a broadcast: ``>>``.
    opening: str = ""

    @property
    def text(self) -> str:
        return self.opening + self.caption.text

    @property
    def said(self) -> datetime:
        """When it was spoken, in UTC."""
        return datetime.fromtimestamp(self.said_at, UTC)


#: Sends a final to an address, and returns the status of the answer. The last argument is a name that a run
#: keeps when it resumes.
Send = Callable[[str, NumberedFinal, str], int]


class PostState(msgspec.Struct, frozen=True):
    run: str
    next_number: int = 1
    waiting: tuple[NumberedFinal, ...] = ()
    #: The last speaker, for `Turns`.
    speaker: str = ""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, which would turn a POST into a GET, and could send a secret elsewhere."""

    @override
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


_opener = urllib.request.build_opener(_NoRedirect)


def post(url: str, body: bytes, headers: dict[str, str]) -> int:
    """Send a request, and return the status of the answer; a user in the address is sent as a header."""
    url, user = without_user(url)
    request = urllib.request.Request(url, body, user | headers, method="POST")
    try:
        with _opener.open(request, timeout=_ANSWER_S) as answer:
            answer.read(4096)
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


class PostSink(FixedPartitionedSink[Caption, PostState]):
    """Posts each final to an address; takes pairs of a key, which is ignored, and captions.

    Delivery: at least once with recovery, in order; a request that is repeated has the same number.

    Args:
        send: Sends a final, by `post` for example.
        watch: Notified while the receiver does not answer.
        useful_s: Seconds after which a final is of no use to the receiver; None for never.
        language_of: Gives the language of a caption, and thereby of *Speaker 1*.

    Raises:
        UsageError: when the address has another scheme, or characters that cannot be sent.
    """

    def __init__(
        self,
        url: Secret | str,
        send: Send,
        *,
        watch: OutputWatch,
        useful_s: float | None = None,
        schemes: tuple[str, ...] = ("https", "http"),
        language_of: Callable[[Caption], Language] = lambda _caption: ENGLISH,
    ) -> None:
        self.url = url.reveal() if isinstance(url, Secret) else str(url)
        parts = parts_of(self.url)
        if parts is None or parts.scheme not in schemes or not _SENDABLE.fullmatch(self.url):
            raise UsageError(
                f"{shown(self.url)} is not an address for this; give one of {' or '.join(schemes)}, with %… "
                "for letters beyond ASCII"
            )
        self.send, self.watch, self.useful_s, self.language_of = send, watch, useful_s, language_of

    @override
    def list_parts(self) -> list[str]:
        return ["post"] if self.watch.is_here else []

    @override
    def part_fn(self, item_key: str) -> int:
        return 0

    @override
    def build_part(self, step_id: str, for_part: str, resume_state: PostState | None) -> "PostPartition":
        return PostPartition(self, resume_state or PostState(run=f"{time.time_ns():x}"))


class PostPartition(StatefulSinkPartition[Caption, PostState]):
    def __init__(self, sink: PostSink, state: PostState) -> None:
        self._sink, self._address = sink, shown(sink.url)
        self._run, self._next, self._turns = state.run, state.next_number, Turns(state.speaker)
        self._waiting = deque(state.waiting)
        #: Why the last request failed; empty once one is answered.
        self._trouble = ""
        self._ends, self._end_s = threading.Event(), float("inf")
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._send_all, name="post", daemon=True)
        self._thread.start()

    @override
    def write_batch(self, values: list[Caption]) -> None:
        """Queue finals; returns at once."""
        with self._changed:
            for caption in values:
                if caption.is_final and caption.text.strip():
                    said_at = time.time() - max(0.0, caption.ready_s - caption.start_s)
                    self._waiting.append(NumberedFinal(self._next, caption, said_at, *self._who(caption)))
                    self._next += 1
            while len(self._waiting) > MAX_WAITING:
                self._waiting.popleft()
                self._sink.watch.lose(self._address, 1, self._trouble)
            self._changed.notify()

    @override
    def snapshot(self) -> PostState:
        with self._changed:
            return PostState(self._run, self._next, tuple(self._waiting), self._turns.last)

    def _who(self, caption: Caption) -> tuple[str, str]:
        """The speaker's name, and the mark before the text if rows are short."""
        language, speaker = self._sink.language_of(caption), caption.speaker or ""
        name = shown_name(speaker, language)
        if not self._turns.begins(caption):
            return name, ""
        return name, ">> " if speaker.isdecimal() else introduced(f">> {name}", "", language)

    @override
    def close(self) -> None:
        """Send waiting finals, for some seconds at most; never raises."""
        with self._changed:
            self._end_s = time.monotonic() + _END_S
            self._ends.set()
            self._changed.notify()
        self._thread.join(_END_S)
        with self._changed:
            if self._waiting:
                reason = self._trouble or "there was no time"
                self._sink.watch.lose(self._address, len(self._waiting), reason)

    def _send_all(self) -> None:
        wait_s = _FIRST_WAIT_S
        while (final := self._first()) is not None:
            try:
                self._finish(final, self._attempt(final))
            except (OSError, HTTPException) as error:
                self._postpone(error)
                if self._ends.wait(wait_s):
                    time.sleep(_FIRST_WAIT_S)  # there is no time for long waits
                wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
            else:
                wait_s = _FIRST_WAIT_S

    def _first(self) -> NumberedFinal | None:
        """The next one to send; None at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._ends.is_set())
            return self._waiting[0] if self._waiting and time.monotonic() < self._end_s else None

    def _attempt(self, final: NumberedFinal) -> str:
        """Send a final; returns why it is dropped, or an empty text. Raises if it should be sent again."""
        sink = self._sink
        if sink.useful_s is not None and time.time() - final.said_at > sink.useful_s:
            return self._trouble or "it answered too late"
        try:
            status = sink.send(sink.url, final, self._run)
        except ValueError as error:
            # The text of the error may quote the address, or a header with a secret.
            return f"no request can hold them ({type(error).__name__})"
        if status in _REFUSED:
            return f"it refused them with status {status}"
        if not 200 <= status < 300:
            raise OSError(f"status {status}")
        return ""

    def _finish(self, final: NumberedFinal, lost: str) -> None:
        with self._changed:
            # It may have been dropped for a newer one meanwhile.
            if self._waiting and self._waiting[0] is final:
                self._waiting.popleft()
                if lost:
                    self._sink.watch.lose(self._address, 1, lost)
        if not lost and self._trouble:
            self._trouble = ""
            self._report("takes captions again", is_late=False)

    def _postpone(self, error: OSError | HTTPException) -> None:
        # The text of an HTTPException may quote the address.
        text = str(getattr(error, "reason", error)) if isinstance(error, OSError) else ""
        why = text or type(error).__name__
        if not self._trouble:
            self._report(f"does not take captions ({why}); they wait, and captions continue", is_late=True)
        self._trouble = why

    def _report(self, sentence: str, *, is_late: bool) -> None:
        self._sink.watch.observe(OutputChanged(self._address, f"{self._address} {sentence}", is_late))
