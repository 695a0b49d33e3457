"""A broadcast as a live input: HLS (``https://….m3u8``), RTMP, or sound over HTTP."""

import time
from collections.abc import Callable
from contextlib import closing
from threading import Event

from typing_extensions import override

from connectors.audio.media import MediaDecoder
from connectors.audio.recording import shown
from connectors.microphone.buffer import CaptureBuffer
from connectors.microphone.capture import LiveInput
from operators.errors import InputError
from operators.events import SAMPLE_RATE

# Queued sound is delivered faster than real time: a broadcast's clock may be faster than this one's.
_SPEED = 1.02
# If the clock jumps further, it is another broadcast.
_MAX_GAP_S = 60.0


class Broadcast(LiveInput):
    """A broadcast, read in real time; sound that is not due yet stays with the sender.

    HLS has time stamps: after a lost connection, nothing is read twice, and segments that are still offered
    are read late. With other protocols, the sound sent meanwhile is lost.
    """

    longest_wait_s = 30.0

    def __init__(self, address: str) -> None:
        self.name = f"broadcast {shown(address)}"
        self._address = address
        #: End of the sound that was read, on its own clock.
        self._heard_s: float | None = None

    @override
    def record(
        self, buffer: CaptureBuffer, stop: Event, on_sound: Callable[[], None], *, is_again: bool
    ) -> None:
        decoder = MediaDecoder(self._address, stop=stop, is_live=True, heard_s=self._heard_s)
        with closing(decoder):
            if decoder.duration_s is not None:
                if not is_again:
                    where = shown(self._address)
                    raise InputError(
                        f"{where}: it is a recording of {decoder.duration_s:.0f} s, not live; "
                        f"write: surtitle file {where}"
                    )
                # Its list of segments is complete: the broadcast has ended.
                self.is_over = True
                return
            begin_s, heard_s = decoder.begin_s, self._heard_s
            if begin_s is not None and heard_s is not None and 0 <= begin_s - heard_s < _MAX_GAP_S:
                buffer.resumed(begin_s - heard_s)
            else:
                buffer.opened(SAMPLE_RATE, 1)
            self._heard_s = begin_s
            self._play(decoder, buffer, stop, on_sound)

    def _play(
        self, decoder: MediaDecoder, buffer: CaptureBuffer, stop: Event, on_sound: Callable[[], None]
    ) -> None:
        due, damaged = time.monotonic(), self.damaged
        for block in decoder.blocks():
            # After a wait for the sender, the clock restarts.
            due = max(due, time.monotonic() - 1.0)
            if stop.wait(max(0.0, due - time.monotonic())):
                return
            buffer.put(block, len(block) // 2)
            on_sound()
            seconds = len(block) / 2 / SAMPLE_RATE
            due += seconds / _SPEED
            self.damaged = damaged + decoder.damaged
            if self._heard_s is not None:
                self._heard_s += seconds
