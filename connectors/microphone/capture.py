"""Keeps a live input open on a thread of its own, and gets it back when it was lost."""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Protocol

from connectors.microphone import devices
from connectors.microphone.buffer import CaptureBuffer
from connectors.microphone.devices import InputDevice, find_again, find_device, record
from operators.errors import SurtitleError

# Seconds between two looks at a device, and before the first attempt to find a missing one; the others
# follow at growing intervals.
_WATCH_S = _WAIT_S = 0.25
# Closing a device that is gone may hang in its driver; it is abandoned after this time.
_CLOSE_S = 2.0


class LiveStream(Protocol):
    """Sound that is coming in, on a thread of its own."""

    @property
    def is_active(self) -> bool:
        """False once no more will come."""
        ...

    def close(self) -> None:
        """End it; may be called more than once."""


class LiveInput(Protocol):
    """What sound comes from as it happens: a device, or an address."""

    #: What it is, for the user.
    name: str
    #: Seconds without sound after which it is taken for gone: at the beginning, and later.
    first_s: float
    silent_s: float
    #: Longest wait between two attempts to get it back, in seconds.
    longest_wait_s: float
    #: Whether it has come to its end, and will never be back.
    is_over: bool
    #: Packets that could not be decoded so far, and became silence.
    damaged: int

    def open(self, buffer: CaptureBuffer, ended: Callable[[], None], /) -> LiveStream:
        """Let the sound come into a buffer; ``ended`` is called on another thread when no more will.

        Raises:
            SurtitleError: when that is impossible.
        """
        ...

    def again(self, buffer: CaptureBuffer, ended: Callable[[], None], /) -> LiveStream | None:
        """The same after it was lost; None while it is away."""

    def close(self) -> None:
        """Stop waiting in `open` or `again`, on another thread."""


class Device:
    """A microphone as a live input; if it was chosen by its name, it is waited for when it is gone."""

    # Devices call back many times a second. The first samples may take longer: a sound server wakes up, a
    # headset connects.
    first_s, silent_s, longest_wait_s = 5.0, 1.0, 3.0
    is_over, damaged = False, 0

    def __init__(self, device: InputDevice, *, by_name: bool) -> None:
        self._device = device
        self._by_name = by_name
        self.name = f"microphone {device.name}" if by_name else "default microphone"

    def open(self, buffer: CaptureBuffer, ended: Callable[[], None]) -> LiveStream:
        """Begin to record."""
        return record(self._device, buffer.opened, buffer.put, ended)

    def again(self, buffer: CaptureBuffer, ended: Callable[[], None]) -> LiveStream | None:
        """Begin to record again, if it is there."""
        devices.refresh()
        device = find_again(self._device) if self._by_name else find_device(None)
        if device is None:
            return None
        self._device = device
        return self.open(buffer, ended)

    def close(self) -> None:
        """Nothing waits."""


class Capture:
    """Keeps a live input open from `start` to `close`, and writes its samples to a buffer."""

    def __init__(self, live: LiveInput, buffer: CaptureBuffer) -> None:
        self._live = live
        self._buffer = buffer
        self._wake = threading.Event()
        self._is_closing = False
        self._thread: threading.Thread | None = None
        #: Messages for the user about changes of the device since the start; taken from the left.
        self.changes: deque[str] = deque()
        #: Why recording is impossible.
        self.error: Exception | None = None

    @property
    def is_over(self) -> bool:
        """Whether the input has come to its end, and the buffer has all of it."""
        return self._live.is_over and self._thread is not None and not self._thread.is_alive()

    def start(self) -> None:
        """Start to record; may be called more than once."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._keep, name="microphone", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stop recording; the buffer keeps what was recorded. May be called more than once."""
        if self._is_closing:
            return
        self._is_closing = True
        if damaged := self._live.damaged:
            packets = "1 damaged packet" if damaged == 1 else f"{damaged} damaged packets"
            self.changes.append(f"{packets} of the {self._live.name} became silence")
        self._live.close()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(_CLOSE_S)
            if self._thread.is_alive() and isinstance(self._live, Device):
                devices.abandon()

    def _keep(self) -> None:
        name, wait_s, is_lost = self._live.name, _WAIT_S, False
        try:
            stream: LiveStream | None = self._live.open(self._buffer, self._wake.set)
            while True:
                if stream is not None:
                    if self._lasts(stream, is_lost=is_lost):
                        wait_s, is_lost = _WAIT_S, False
                    stream.close()
                if self._is_closing:
                    return
                if not is_lost:
                    self.changes.append(f"the {name} was disconnected; waiting for it")
                    is_lost = True
                if self._live.is_over:
                    self.changes.append(f"the {name} has ended")
                    return
                self._wake.clear()
                self._wake.wait(wait_s)
                wait_s = min(2 * wait_s, self._live.longest_wait_s)
                stream = self._again()
        except Exception as error:  # noqa: BLE001 - the flow's thread raises it
            self.error = error

    def _again(self) -> LiveStream | None:
        self._wake.clear()
        if self._is_closing:
            return None
        try:
            return self._live.again(self._buffer, self._wake.set)
        except SurtitleError:
            return None

    def _lasts(self, stream: LiveStream, *, is_lost: bool) -> bool:
        """Record for as long as the device works; returns whether it gave any sound."""
        opened = time.monotonic()
        silent = 0
        # Twice in a row: after a pause of the whole process, samples may arrive just after this check.
        while not self._is_closing and stream.is_active and silent < 2:
            self._wake.wait(_WATCH_S)
            silent = silent + 1 if self._is_silent(opened) else 0
            if is_lost and self._buffer.last is not None:
                self.changes.append(f"the {self._live.name} is back")
                is_lost = False
        return self._buffer.last is not None

    def _is_silent(self, opened: float) -> bool:
        last, now = self._buffer.last, time.monotonic()
        return now - opened > self._live.first_s if last is None else now - last > self._live.silent_s
