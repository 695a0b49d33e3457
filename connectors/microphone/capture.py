"""Records from a microphone on a thread of its own, and resumes when the microphone was unplugged."""

import threading
import time
from collections import deque

from connectors.microphone import portaudio
from connectors.microphone.buffer import CaptureBuffer
from connectors.microphone.portaudio import InputDevice, InputStream, find_again, find_device
from operators.errors import SurtitleError

# Devices call back many times a second; one that is silent for this long is gone.
_SILENT_S = 1.0
# The first samples may take longer: a sound server wakes up, a headset connects.
_FIRST_S = 5.0
_WATCH_S = 0.25
# The intervals between attempts to find a missing device increase.
_WAIT_S = 0.25
_MAX_WAIT_S = 3.0
# Closing a device that is gone may hang in its driver; it is abandoned after this time.
_CLOSE_S = 2.0


class Capture:
    """Keeps a device open from `start` to `close`, and writes its samples to a buffer.

    Args:
        device: The device to record from.
        by_name: If the device is gone, wait for this device instead of using the current default device.
        buffer: Receives the samples.
    """

    def __init__(self, device: InputDevice, buffer: CaptureBuffer, *, by_name: bool) -> None:
        self._device = device
        self._buffer = buffer
        self._by_name = by_name
        self._wake = threading.Event()
        self._is_closing = False
        self._thread: threading.Thread | None = None
        #: Messages for the user about changes of the device since the start; taken from the left.
        self.changes: deque[str] = deque()
        #: Why recording is impossible.
        self.error: Exception | None = None

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
        self._wake.set()
        if self._thread is not None:
            self._thread.join(_CLOSE_S)
            if self._thread.is_alive():
                portaudio.abandon()

    @property
    def _name(self) -> str:
        return f"microphone {self._device.name}" if self._by_name else "default microphone"

    def _keep(self) -> None:
        try:
            stream: InputStream | None = self._open()
            while stream is not None and self._lasts(stream):
                self.changes.append(f"the {self._name} was disconnected; waiting for it")
                stream = self._wait()
                if stream is not None:
                    self.changes.append(f"the {self._name} is back")
        except Exception as error:  # noqa: BLE001 - the flow's thread raises it
            self.error = error

    def _open(self) -> InputStream:
        self._wake.clear()
        return InputStream(self._device, self._buffer.opened, self._buffer.put, self._wake.set)

    def _lasts(self, stream: InputStream) -> bool:
        """Record for as long as the device works; returns False if the recording was closed."""
        opened = time.monotonic()
        silent = 0
        # Twice in a row: after a pause of the whole process, samples may arrive just after this check.
        while not self._is_closing and stream.is_active and silent < 2:
            self._wake.wait(_WATCH_S)
            silent = silent + 1 if self._is_silent(opened) else 0
        stream.close()
        return not self._is_closing

    def _is_silent(self, opened: float) -> bool:
        last = self._buffer.last
        now = time.monotonic()
        return now - opened > _FIRST_S if last is None else now - last > _SILENT_S

    def _wait(self) -> InputStream | None:
        """Try to open the device until it records again; None if the recording is closed meanwhile."""
        wait_s = _WAIT_S
        while not self._is_closing:
            stream = self._try_again()
            if stream is not None:
                if self._records(stream):
                    return stream
                stream.close()
            self._wake.clear()
            if not self._is_closing:
                self._wake.wait(wait_s)
            wait_s = min(2 * wait_s, _MAX_WAIT_S)
        return None

    def _try_again(self) -> InputStream | None:
        try:
            portaudio.refresh()
            device = find_again(self._device) if self._by_name else find_device(None)
            if device is None:
                return None
            self._device = device
            return self._open()
        except SurtitleError:
            return None

    def _records(self, stream: InputStream) -> bool:
        """Whether an opened device actually delivers samples."""
        opened = time.monotonic()
        while self._buffer.last is None:
            if self._is_closing or not stream.is_active or self._is_silent(opened):
                return False
            self._wake.wait(_WATCH_S / 5)
        return True
