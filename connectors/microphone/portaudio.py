"""Input devices and their streams, through PortAudio.

PortAudio makes its list of devices when it is initialised. Devices plugged in later appear only after
`refresh`, which ends every stream of the process. Nothing here may be called from a stream's callback.
"""

import atexit
import contextlib
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from connectors.microphone.monitors import MonitorStream, monitors
from operators.errors import InputError, UsageError
from operators.events import SAMPLE_RATE

# Sound cards and PulseAudio buffer this much: enough for a callback that waits for the interpreter.
_LATENCY_S = 0.1

#: Receives interleaved int16 samples, and how many there are of each channel, on PortAudio's own thread; must
#: return immediately.
Take = Callable[[bytes, int], None]

_lock = threading.Lock()
_open_streams: set["InputStream"] = set()


class InputDevice(msgspec.Struct, frozen=True, kw_only=True):
    """An input device."""

    #: PortAudio's number, which changes when devices are plugged in or removed.
    index: int
    name: str
    #: The system that provides it: ALSA, Core Audio, …
    host: str
    #: Maximum number of channels to record.
    channels: int
    #: Its native samples per second.
    rate: int
    #: Whether it is used when no device is named.
    is_default: bool
    #: The monitor that it is; empty for a microphone.
    monitor: str = ""


def list_devices() -> list[InputDevice]:
    """All input devices; the monitors, of what the computer plays, after the microphones.

    Raises:
        InputError: when PortAudio is not installed or cannot list them.
    """
    sound = _sounddevice()
    with _lock, _portaudio_errors("the microphones cannot be listed"):
        hosts = sound.query_hostapis()
        found = sound.query_devices()
        default = _default_index(sound, hosts)
    microphones = [
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
    return microphones + [
        InputDevice(
            index=index,
            name=one.description,
            host="PulseAudio",
            channels=1,
            rate=SAMPLE_RATE,
            is_default=False,
            monitor=one.source,
        )
        for index, one in enumerate(monitors(), len(found))
    ]


def refresh() -> None:
    """Update the list of devices; does nothing while the process is recording.

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
    """Let the process end without terminating PortAudio, which would wait for a hanging driver."""
    atexit.unregister(_sounddevice()._exit_handler)


class InputStream:
    """An open input device that delivers 16-bit samples.

    It records 16 kHz mono if the device supports that; otherwise the device's own rate or more channels.

    Args:
        device: An entry of `list_devices` since the last `refresh`.
        prepare: Called with rate and channels before the first samples.
        take: Receives the samples.
        ended: Called on another thread when no more samples will come.

    Raises:
        InputError: when the device cannot be recorded from.
    """

    def __init__(
        self, device: InputDevice, prepare: Callable[[int, int], None], take: Take, ended: Callable[[], None]
    ) -> None:
        sound = _sounddevice()

        def callback(data: Any, frames: int, _time: Any, _status: Any) -> None:
            take(bytes(data), frames)

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
        """False once PortAudio has ended the stream."""
        return bool(self._stream.active)

    def close(self) -> None:
        """Stop recording; samples still in the device are lost. May be called more than once."""
        with _lock:
            if self in _open_streams:
                _open_streams.remove(self)
                self._stream.abort(ignore_errors=True)
                self._stream.close(ignore_errors=True)


def record(
    device: InputDevice, prepare: Callable[[int, int], None], take: Take, ended: Callable[[], None]
) -> InputStream | MonitorStream:
    """Record from a microphone or a monitor: the arguments and errors are those of `InputStream`."""
    if device.monitor:
        return MonitorStream(device.monitor, prepare, take, ended)
    return InputStream(device, prepare, take, ended)


def _layout(sound: Any, device: InputDevice) -> tuple[int, int]:
    """Rate and channels to record with: the first of the preferred settings that the device accepts."""
    channels = sorted({1, min(2, device.channels), device.channels})
    wishes = [(rate, count) for rate in (SAMPLE_RATE, device.rate) for count in channels]
    for rate, count in wishes:
        try:
            sound.check_input_settings(device=device.index, channels=count, dtype="int16", samplerate=rate)
        except sound.PortAudioError:
            continue
        return rate, count
    # Opening the device will report the reason.
    return wishes[0]


def _default_index(sound: Any, hosts: Any) -> int:
    """The device used when none is named; -1 if there is none."""
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
    """The package, imported only when needed: it loads PortAudio, which only microphones use."""
    try:
        import sounddevice
    except OSError:
        raise InputError(
            "a microphone needs PortAudio, which is not installed; install it, on Debian or Ubuntu with: "
            "sudo apt-get install libportaudio2"
        ) from None
    return sounddevice


# ALSA numbers cards in order of appearance: a microphone that was plugged in again may have another number.
_CARD = re.compile(r"\s*\(hw:\d+,\d+\)$")


def find_device(wanted: str | int | None) -> InputDevice:
    """Find a device by index, by name or by part of its name; the default device for None.

    Raises:
        UsageError: when no device or several match, with the names to choose from.
        InputError: as `list_devices` does.
    """
    devices = list_devices()
    if not devices:
        raise UsageError("there is no microphone; connect one and see whether `surtitle devices` lists it")
    if wanted is None:
        return next((device for device in devices if device.is_default), devices[0])
    if isinstance(wanted, int) or re.fullmatch(r"\d{1,6}", wanted):
        matches = [device for device in devices if device.index == int(wanted)]
    else:
        text = wanted.casefold()
        matches = [device for device in devices if device.name.casefold() == text]
        matches = matches or [device for device in devices if text in device.name.casefold()]
    if not matches:
        raise UsageError(f"there is no microphone {wanted!s}; `surtitle devices` lists all")
    if len(matches) > 1:
        names = ", ".join(f"{device.index} ({device.name})" for device in matches)
        raise UsageError(f"{len(matches)} microphones match {wanted}: {names}; give an index")
    return matches[0]


def find_again(before: InputDevice) -> InputDevice | None:
    """The device with the same name, ignoring the card number; None while it is absent."""
    devices = [device for device in list_devices() if device.host == before.host]
    same = [device for device in devices if device.name == before.name]
    alike = [device for device in devices if _CARD.sub("", device.name) == _CARD.sub("", before.name)]
    return next(iter(same + alike), None)
