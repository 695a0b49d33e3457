"""A broadcast at an address, as sound that comes in: HLS (``https://….m3u8``), RTMP, or sound over HTTP.

It satisfies `connectors.microphone.capture.LiveInput`.
"""

import threading
import time
from collections.abc import Callable
from typing import Protocol

from connectors.audio.media import MAX_GAP_S, MediaDecoder
from connectors.audio.recording import shown
from operators.errors import InputError
from operators.events import SAMPLE_RATE

# Of what waits, so much more than real time is delivered: a broadcast's clock may be faster than this one's.
_HASTE = 1.02
# A segment of HLS takes up to ten seconds, and is announced when it is complete.
_SILENT_S = 30.0
# FFmpeg's libraries wait 30 s for an answer, and say so.
_FIRST_S = 45.0
_MAX_WAIT_S = 30.0


class Buffer(Protocol):
    """What receives the sound: see `connectors.microphone.buffer.CaptureBuffer`."""

    def opened(self, rate: int, channels: int) -> None:
        """What comes next is new."""

    def resumed(self, gap_s: float) -> None:
        """What comes next follows what came last, so many seconds after it."""

    def put(self, data: bytes, frames: int) -> None:
        """Take int16 samples."""


class LiveAddress:
    """A broadcast, heard at the pace at which it is spoken; what waits is with the sender.

    Of HLS, whose packets have times, nothing is heard twice after a lost connection, and what the sender
    still offers is heard late. Of others, what came meanwhile is lost.

    Args:
        address: Of http, https or rtmp.
    """

    first_s, silent_s, longest_wait_s = _FIRST_S, _SILENT_S, _MAX_WAIT_S

    def __init__(self, address: str) -> None:
        self._address = address
        self._is_closed = False
        #: Ends the present connection.
        self._stop = threading.Event()
        #: How far it was heard, by its own clock.
        self._heard_s: float | None = None
        #: Packets that were left out.
        self.damaged = 0
        self.name = f"broadcast {shown(address)}"
        self.is_over = False

    def open(self, buffer: Buffer, ended: Callable[[], None]) -> "_Playing":
        """Begin to hear it; raises `InputError` for an address that has none, `UsageError` for others."""
        decoder = self._connect()
        if decoder.duration_s is not None:
            decoder.close()
            raise InputError(
                f"{shown(self._address)}: it is a recording of {decoder.duration_s:.0f} s, not live; "
                f"write: surtitle file {shown(self._address)}"
            )
        return self._play(decoder, buffer, ended)

    def again(self, buffer: Buffer, ended: Callable[[], None]) -> "_Playing | None":
        """Begin again where it was lost; None when it has ended."""
        decoder = self._connect()
        if decoder.duration_s is not None:
            # The list of its segments is complete.
            decoder.close()
            self.is_over = True
            return None
        return self._play(decoder, buffer, ended)

    def close(self) -> None:
        """End all waiting."""
        self._is_closed = True
        self._stop.set()

    def heard(self, seconds: float, damaged: int) -> None:
        """Note that so much more was heard, with so many more damaged packets."""
        self.damaged += damaged
        if self._heard_s is not None:
            self._heard_s += seconds

    def _connect(self) -> MediaDecoder:
        self._stop = threading.Event()
        if self._is_closed:
            self._stop.set()
        return MediaDecoder(self._address, stop=self._stop, live=True, heard_s=self._heard_s)

    def _play(self, decoder: MediaDecoder, buffer: Buffer, ended: Callable[[], None]) -> "_Playing":
        begin_s, heard_s = decoder.begin_s, self._heard_s
        if begin_s is not None and heard_s is not None and 0 <= begin_s - heard_s < MAX_GAP_S:
            buffer.resumed(begin_s - heard_s)
        else:
            buffer.opened(SAMPLE_RATE, 1)
        self._heard_s = begin_s
        return _Playing(self, decoder, self._stop, buffer, ended)


class _Playing:
    """Hands sound over when it is due, on a thread of its own."""

    def __init__(
        self,
        live: LiveAddress,
        decoder: MediaDecoder,
        stop: threading.Event,
        buffer: Buffer,
        ended: Callable[[], None],
    ) -> None:
        self._live, self._decoder, self._stop, self._buffer, self._ended = live, decoder, stop, buffer, ended
        self.is_active = True
        threading.Thread(target=self._play, name="broadcast", daemon=True).start()

    def close(self) -> None:
        """End it; the thread ends the process that decodes."""
        self._stop.set()

    def _play(self) -> None:
        due, damaged = time.monotonic(), 0
        try:
            for block in self._decoder.blocks():
                # After a wait for the sender, the clock begins again.
                due = max(due, time.monotonic() - 1.0)
                if self._stop.wait(max(0.0, due - time.monotonic())):
                    return
                seconds = len(block) / 2 / SAMPLE_RATE
                self._buffer.put(block, len(block) // 2)
                self._live.heard(seconds, self._decoder.damaged - damaged)
                damaged = self._decoder.damaged
                due += seconds / _HASTE
        finally:
            self._decoder.close()
            self.is_active = False
            self._ended()
