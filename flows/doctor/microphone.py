"""The microphone: whether it is there, can be opened, and hears anything."""

import math
import threading
import time
from typing import Self

import msgspec

from connectors.microphone.portaudio import InputDevice, find_device, list_devices, record
from flows.doctor.child import in_child
from flows.doctor.finding import Finding, from_error
from operators.errors import SurtitleError
from operators.sound import level

_LISTEN_S = 2.0
# A sound server that wakes up, or a headset that connects, needs a moment.
_FIRST_S = 5.0
#: Peaks in dBFS: below the first nobody hears anything, below the second nobody spoke; the third is too loud.
_MUTED, _QUIET, _LOUD = -60.0, -40.0, -1.0


class MicrophoneFacts(msgspec.Struct, frozen=True):
    """What a microphone gave in two seconds."""

    #: Why there is none, or why it cannot be opened; None if it can.
    error: str | None = None
    #: All microphones, and the one that was listened to.
    devices: tuple[str, ...] = ()
    name: str = ""
    #: Seconds of sound that it gave.
    heard_s: float = 0.0
    #: The loudest sample; None if all are zero.
    peak_dbfs: float | None = None

    @classmethod
    def look(cls, wanted: str | None, limit_s: float) -> Self:
        """Listen to a microphone in a child process: a sound system may hang."""
        failed = "the sound system {}; restart it, or connect the microphone again"
        return in_child(cls, "microphone.listen", wanted or "", limit_s=limit_s, failed=failed)

    def judge(self, *, is_named: bool) -> list[Finding]:
        """Whether a microphone can be captioned; one that was not named may be missing, as for recordings."""
        if self.error is not None:
            found = from_error(self.error, is_problem=is_named)
            if is_named:
                return [found]
            return [
                found,
                Finding.ok("Recordings and speakers in browsers can be captioned without a microphone"),
            ]
        return [self._heard()]

    def _heard(self) -> Finding:
        others = len(self.devices) - 1
        more = f", one of {others + 1}" if others else ""
        name = f"{self.name}{more}"
        if self.heard_s <= 0:
            return Finding.warning(
                f"{name}: it was opened, but gave no sound",
                "allow this program to use the microphone in the system's settings, or connect it again",
            )
        choose = "unmute it, or choose another one of `surtitle devices` with --device"
        if self.peak_dbfs is None:
            return Finding.warning(f"{name}: it gives complete silence", choose)
        sentence = f"{name}: the loudest sound in {self.heard_s:.0f} s had {self.peak_dbfs:.0f} dBFS"
        if self.peak_dbfs < _MUTED:
            return Finding.warning(f"{sentence}, which is silence", choose)
        if self.peak_dbfs < _QUIET:
            return Finding.ok(f"{sentence}; nobody seems to have spoken")
        if self.peak_dbfs > _LOUD:
            return Finding.warning(
                f"{sentence}, which is too loud", "lower its level in the system's settings"
            )
        return Finding.ok(sentence)


def listen(wanted: str) -> MicrophoneFacts:
    """Listen to a microphone, or to the usual one, in this process."""
    try:
        device = find_device(wanted or None)
        names = tuple(one.name for one in list_devices())
        return msgspec.structs.replace(_Ear().heard(device), devices=names, name=device.name)
    except SurtitleError as error:
        return MicrophoneFacts(error=str(error))


class _Ear:
    """Receives samples on the device's thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._data = bytearray()
        self._bytes_per_second = 1

    def heard(self, device: InputDevice) -> MicrophoneFacts:
        stream = record(device, self._prepare, self._take, lambda: None)
        try:
            self._wait()
        finally:
            stream.close()
        with self._lock:
            peak = level(bytes(self._data)).peak_dbfs
            seconds = len(self._data) / self._bytes_per_second
        return MicrophoneFacts(heard_s=seconds, peak_dbfs=peak if math.isfinite(peak) else None)

    def _prepare(self, rate: int, channels: int) -> None:
        self._bytes_per_second = rate * channels * 2

    def _take(self, data: bytes, frames: int, *, overflow: bool) -> None:  # noqa: ARG002 - of the protocol
        with self._lock:
            self._data += data

    def _wait(self) -> None:
        deadline = time.monotonic() + _FIRST_S
        while time.monotonic() < deadline:
            time.sleep(0.05)
            with self._lock:
                if len(self._data) >= _LISTEN_S * self._bytes_per_second:
                    return
