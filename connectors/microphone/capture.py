"""Keeps a live input open on a thread of its own, and reopens it after a loss."""

import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable

from typing_extensions import override

from connectors.microphone import devices
from connectors.microphone.buffer import CaptureBuffer
from connectors.microphone.devices import InputDevice, find_again, find_device
from operators.errors import SurtitleError

# Seconds between two checks of a device, and before the first attempt to reopen an input; the others follow
# at growing intervals.
_CHECK_S = _WAIT_S = 0.25
# Seconds between two checks before the first samples: shorter, because somebody waits to speak.
_FIRST_CHECK_S = 0.02
# Closing a device that is gone may hang in its driver; it is abandoned after this time.
_CLOSE_S = 2.0


class LiveInput(ABC):
    """A source of live sound: a device or an address."""

    #: Its description in messages.
    name: str
    #: Longest wait between two attempts to reopen it, in seconds.
    longest_wait_s: float
    #: Whether it has ended for good.
    is_over = False
    #: Packets that could not be decoded so far, and became silence.
    damaged = 0

    @abstractmethod
    def record(
        self, buffer: CaptureBuffer, stop: threading.Event, on_sound: Callable[[], None], *, is_again: bool
    ) -> None:
        """Open it, and record until it is lost or ``stop`` is set.

        Args:
            on_sound: Called on this thread, at least once after sound has arrived.
            is_again: Whether it was lost before.

        Raises:
            SurtitleError: when it cannot be opened.
        """


class Device(LiveInput):
    """A microphone; if it was chosen by its name, only that one is reopened."""

    longest_wait_s = 3.0
    # Devices call back many times a second. The first samples may take longer: a sound server wakes up, a
    # headset connects.
    _FIRST_S, _SILENT_S = 5.0, 1.0

    def __init__(self, device: InputDevice, *, by_name: bool) -> None:
        self._device = device
        self._by_name = by_name
        self.name = f"microphone {device.name}" if by_name else "default microphone"

    @override
    def record(
        self, buffer: CaptureBuffer, stop: threading.Event, on_sound: Callable[[], None], *, is_again: bool
    ) -> None:
        if is_again:
            devices.refresh()
            device = find_again(self._device) if self._by_name else find_device(None)
            if device is None:
                return
            self._device = device
        stream = devices.record(self._device, buffer.opened, buffer.put)
        opened, silent = time.monotonic(), 0
        # Twice in a row: after a pause of the whole process, samples may arrive just after this check.
        while stream.is_active and silent < 2 and not stop.wait(_CHECK_S if buffer.last else _FIRST_CHECK_S):
            last, now = buffer.last, time.monotonic()
            if last is not None:
                on_sound()
            is_silent = now - opened > self._FIRST_S if last is None else now - last > self._SILENT_S
            silent = silent + 1 if is_silent else 0
        stream.close()


class Capture:
    """Keeps a live input open from `start` to `close`, and writes its samples to a buffer."""

    def __init__(self, live: LiveInput, buffer: CaptureBuffer) -> None:
        self._live = live
        self._buffer = buffer
        self._stop = threading.Event()
        self._is_lost = False
        # Called at the first sound.
        self._opened: Callable[[], None] | None = None
        self._wait_s = _WAIT_S
        self._thread: threading.Thread | None = None
        #: Messages for the user about losses and returns; taken from the left.
        self.changes: deque[str] = deque()
        #: The error that made recording impossible.
        self.error: Exception | None = None

    @property
    def is_over(self) -> bool:
        """Whether the input has come to its end, and the buffer has all of it."""
        return self._live.is_over and self._thread is not None and not self._thread.is_alive()

    def start(self, opened: Callable[[], None] | None = None) -> None:
        """Start to record; may be called more than once.

        Args:
            opened: Called on another thread when the first sound has come.
        """
        if self._thread is None:
            self._opened = opened
            self._thread = threading.Thread(target=self._run, name="microphone", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stop recording; the buffer keeps what was recorded. May be called more than once."""
        if self._stop.is_set():
            return
        self._stop.set()
        if damaged := self._live.damaged:
            packets = "1 damaged packet" if damaged == 1 else f"{damaged} damaged packets"
            self.changes.append(f"{packets} of the {self._live.name} became silence")
        if self._thread is not None:
            self._thread.join(_CLOSE_S)
            if self._thread.is_alive() and isinstance(self._live, Device):
                devices.abandon()

    def _run(self) -> None:
        try:
            self._live.record(self._buffer, self._stop, self._on_sound, is_again=False)
            while not self._stop.is_set():
                if not self._is_lost:
                    self._is_lost = True
                    self.changes.append(f"the {self._live.name} was disconnected; waiting for it")
                if self._live.is_over:
                    self.changes.append(f"the {self._live.name} has ended")
                    return
                if not self._stop.wait(self._wait_s):
                    self._wait_s = min(2 * self._wait_s, self._live.longest_wait_s)
                    self._reopen()
        except Exception as error:  # noqa: BLE001 - the flow's thread raises it
            self.error = error

    def _reopen(self) -> None:
        try:
            self._live.record(self._buffer, self._stop, self._on_sound, is_again=True)
        except SurtitleError:
            return  # the next attempt may succeed

    def _on_sound(self) -> None:
        if self._opened is not None:
            self._opened()
            self._opened = None
        if self._is_lost:
            self._is_lost, self._wait_s = False, _WAIT_S
            self.changes.append(f"the {self._live.name} is back")
