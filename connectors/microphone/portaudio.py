"""Input devices, and streams from them, through PortAudio.

PortAudio's list of devices is made when it is initialised: what is plugged in later is seen only after
`refresh`, which ends every stream of the process. Nothing here may be called from a stream's own callback.
"""

import atexit
import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import msgspec

from operators.errors import InputError
from operators.events import SAMPLE_RATE

# Sound cards and PulseAudio buffer this much for us: enough for a callback that waits for the interpreter.
_LATENCY_S = 0.1

_lock = threading.Lock()
_open_streams: set["InputStream"] = set()


class InputDevice(msgspec.Struct, frozen=True, kw_only=True):
    """A device that can be recorded from."""

    #: PortAudio's number, which changes when devices come and go.
    index: int
    name: str
    #: The system that drives it: ALSA, Core Audio, …
    host: str
    #: The most channels that it records.
    channels: int
    #: Its own samples per second.
    rate: int
    #: Whether it is recorded from when no device is named.
    is_default: bool


def list_devices() -> list[InputDevice]:
    """All devices that can be recorded from.

    Raises:
        InputError: when PortAudio is not installed or cannot list them.
    """
    sound = _sounddevice()
    with _lock, _portaudio_errors("the microphones cannot be listed"):
        hosts = sound.query_hostapis()
        found = sound.query_devices()
        default = _default_index(sound, hosts)
    return [
        InputDevice(
            index=index,
            name=str(device["name"]),
            host=str(hosts[device["hostapi"]]["name"]),
            channels=int(device["max_input_channels"]),
            rate=round(device["default_samplerate"]),
            is_default=index == default,
        )
        for index, device in enumerate(found)
        if device["max_input_channels"] > 0
    ]


def refresh() -> None:
    """Look for devices anew; does nothing while the process records from one.

    Raises:
        InputError: when PortAudio is not installed or cannot be initialised.
    """
    sound = _sounddevice()
    with _lock, _portaudio_errors("the microphones cannot be listed"):
        if _open_streams:
            return
        if sound._initialized:
            sound._terminate()
        sound._initialize()


def abandon() -> None:
    """Let the process end without PortAudio, whose own end would wait for a driver that hangs."""
    atexit.unregister(_sounddevice()._exit_handler)


class Take(Protocol):
    """Takes what was recorded, on PortAudio's own thread; it must return at once."""

    def __call__(self, data: bytes, frames: int, *, overflow: bool) -> None:
        """``data`` is interleaved int16; ``overflow`` says that samples were lost before it."""
        ...


class InputStream:
    """A device that is being recorded from, as 16-bit samples.

    It records 16 kHz mono where the device does that, and else what it can: its own rate, more channels.

    Args:
        device: As `list_devices` gave it since the last `refresh`.
        prepare: Called with rate and channels before the first samples come.
        take: Takes the samples.
        ended: Called when no more will come, from another thread.

    Raises:
        InputError: when the device cannot be recorded from.
    """

    def __init__(
        self,
        device: InputDevice,
        prepare: Callable[[int, int], None],
        take: Take,
        ended: Callable[[], None],
    ) -> None:
        sound = _sounddevice()

        def callback(data: Any, frames: int, _time: Any, status: Any) -> None:
            take(bytes(data), frames, overflow=bool(status.input_overflow))

        with _lock, _portaudio_errors(f"the microphone {device.name} cannot be recorded from"):
            rate, channels = _layout(sound, device)
            prepare(rate, channels)
            self._stream = sound.RawInputStream(
                samplerate=rate,
                channels=channels,
                dtype="int16",
                device=device.index,
                latency=_LATENCY_S,
                callback=callback,
                finished_callback=ended,
            )
            try:
                self._stream.start()
            except sound.PortAudioError:
                self._stream.close(ignore_errors=True)
                raise
            _open_streams.add(self)

    @property
    def is_active(self) -> bool:
        """False once PortAudio gave the stream up."""
        return bool(self._stream.active)

    def close(self) -> None:
        """Record no more; what the device still held is lost. More than once does no harm."""
        with _lock:
            if self in _open_streams:
                _open_streams.remove(self)
                self._stream.abort(ignore_errors=True)
                self._stream.close(ignore_errors=True)


def _layout(sound: Any, device: InputDevice) -> tuple[int, int]:
    """Rate and channels to record with: the first of our own wishes that the device grants."""
    channels = sorted({1, min(2, device.channels), device.channels})
    wishes = [(rate, count) for rate in (SAMPLE_RATE, device.rate) for count in channels]
    for rate, count in wishes:
        try:
            sound.check_input_settings(device=device.index, channels=count, dtype="int16", samplerate=rate)
        except sound.PortAudioError:
            continue
        return rate, count
    # Opening it tells why not.
    return wishes[0]


def _default_index(sound: Any, hosts: Any) -> int:
    """The device that is recorded from when none is named; -1 without one."""
    chosen = sound.default.device[0]
    if isinstance(chosen, int) and chosen >= 0:
        return chosen
    return next(
        (int(host["default_input_device"]) for host in hosts if host["default_input_device"] >= 0), -1
    )


@contextlib.contextmanager
def _portaudio_errors(what: str) -> Iterator[None]:
    try:
        yield
    except _sounddevice().PortAudioError as error:
        reason = str(error.args[0]).rstrip(".") if error.args else "no reason given"
        raise InputError(f"{what} ({reason}); `surtitle devices` lists what can be") from None


def _sounddevice() -> Any:
    """The package, imported when it is needed: it loads PortAudio, which only microphones need."""
    try:
        import sounddevice
    except OSError:
        raise InputError(
            "a microphone needs PortAudio, which is not installed; on Debian or Ubuntu: "
            "sudo apt-get install libportaudio2"
        ) from None
    return sounddevice
