"""Input devices: microphones through PortAudio, and monitors (the computer's own output) through ``parec``.

PortAudio makes its list of devices when it is initialised. Devices plugged in later appear only after
`refresh`, which ends every stream of the process. Nothing here may be called from a stream's callback.
"""

import atexit
import contextlib
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from operators.errors import InputError, UsageError
from operators.events import SAMPLE_RATE

#: Receives rate and channels before the first samples.
Prepare = Callable[[int, int], None]
#: Receives interleaved int16 samples, and how many there are of each channel, on a thread of the device; must
#: return immediately.
Take = Callable[[bytes, int], None]

# Sound cards and PulseAudio buffer this much: enough for a callback that waits for the interpreter.
_LATENCY_S = 0.1
_LIST_S = 5.0
# ALSA numbers cards in order of appearance: a microphone that was plugged in again may have another number.
_CARD = re.compile(r"(?<!\s)\s*\(hw:\d+,\d+\)$")
# Windows lists each microphone in four host APIs. The first one cuts names after 31 letters; the others are
# based on this one.
_OF_WINDOWS = "Windows WASAPI"

_lock = threading.Lock()
_open_streams: set["InputStream"] = set()


class InputDevice(msgspec.Struct, frozen=True, kw_only=True):
    #: PortAudio's number, which changes when devices are plugged in or removed; monitors have later ones.
    index: int
    name: str
    #: The system that provides it: ALSA, Core Audio, PulseAudio, …
    host: str
    #: Maximum number of channels to record, and native samples per second.
    channels: int
    rate: int
    #: Whether it is used when no device is named.
    is_default: bool = False
    #: The name that PulseAudio has for a monitor; empty for a microphone.
    monitor: str = ""


def list_devices() -> list[InputDevice]:
    """All input devices; the monitors, of PulseAudio and PipeWire, after the microphones.

    Raises:
        InputError: when PortAudio is not installed or cannot list them.
    """
    sound = _sounddevice()
    with _lock, _portaudio_errors("the microphones cannot be listed"):
        hosts = sound.query_hostapis()
        found = sound.query_devices()
        # -1 if there is none.
        named = sound.default.device[0]
        defaults = [named, *(int(host["default_input_device"]) for host in hosts)]
    names = [str(hosts[device["hostapi"]]["name"]) for device in found]
    recorded = [index for index, device in enumerate(found) if device["max_input_channels"] > 0]
    recorded = [index for index in recorded if names[index] == _OF_WINDOWS] or recorded
    default = next((index for index in defaults if index in recorded), -1)
    microphones = [
        InputDevice(
            index=index,
            name=str(found[index]["name"]),
            host=names[index],
            channels=int(found[index]["max_input_channels"]),
            rate=round(found[index]["default_samplerate"]),
            is_default=index == default,
        )
        for index in recorded
    ]
    return microphones + [
        InputDevice(index=index, name=name, host="PulseAudio", channels=1, rate=SAMPLE_RATE, monitor=source)
        for index, (source, name) in enumerate(monitors(), len(found))
    ]


def monitors() -> list[tuple[str, str]]:
    """The names of monitors, PulseAudio's and readable ones; empty if no such server runs."""
    if not has_pulse() or shutil.which("parec") is None:
        return []
    try:
        sources = pulse_sources(_LIST_S)
    except (OSError, subprocess.SubprocessError):
        return []
    return [(name, shown) for name, shown, is_monitor in sources if is_monitor]


def has_pulse() -> bool:
    """Whether a server of PulseAudio or PipeWire runs, and ``pactl`` is installed."""
    folder = os.environ.get("XDG_RUNTIME_DIR")
    is_running = folder is not None and (Path(folder) / "pulse" / "native").exists()
    # pactl would start a server.
    return (is_running or bool(os.environ.get("PULSE_SERVER"))) and shutil.which("pactl") is not None


def pulse_sources(timeout_s: float) -> list[tuple[str, str, bool]]:
    """The names of PulseAudio's sources, its own and readable ones, and whether each is a monitor.

    Raises `OSError` or `subprocess.SubprocessError`.
    """
    found = []
    for block in pactl("list", "sources", timeout_s=timeout_s).split("Source #")[1:]:
        lines = (line.strip().partition(": ") for line in block.splitlines())
        fields = {key: value for key, _, value in reversed(list(lines))}
        if "Name" in fields:
            is_monitor = fields.get("Monitor of Sink", "n/a") != "n/a"
            found.append((fields["Name"], fields.get("Description") or fields["Name"], is_monitor))
    return found


def pactl(*words: str, timeout_s: float) -> str:
    """The output of ``pactl``. Raises `OSError` or `subprocess.SubprocessError`."""
    return subprocess.run(
        ["pactl", *words], env={**os.environ, "LC_ALL": "C.UTF-8"}, stdin=subprocess.DEVNULL,
        capture_output=True, timeout=timeout_s, check=True, text=True, errors="replace",
    ).stdout  # fmt: skip


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
    """An open microphone, in 16 kHz mono if it supports that, or else at its own rate; see `record`."""

    def __init__(self, device: InputDevice, prepare: Prepare, take: Take) -> None:
        sound = _sounddevice()
        with _lock, _portaudio_errors(f"the microphone {device.name} cannot be recorded from"):
            rate, channels = _layout(sound, device)
            prepare(rate, channels)
            self._stream = sound.RawInputStream(
                samplerate=rate,
                channels=channels,
                dtype="int16",
                device=device.index,
                latency=_LATENCY_S,
                callback=lambda data, frames, _time, _status: take(bytes(data), frames),
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


class MonitorStream:
    """A monitor that is recorded in 16 kHz mono; see `record`."""

    def __init__(self, source: str, take: Take) -> None:
        command = [
            "parec", f"--device={source}", "--raw", "--format=s16le", f"--rate={SAMPLE_RATE}", "--channels=1",
            "--latency-msec=100", "--client-name=surtitle",
        ]  # fmt: skip
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C must not reach it
        )  # fmt: skip
        self._take = take
        self.is_active = True
        threading.Thread(target=self._read, name="monitor", daemon=True).start()

    def close(self) -> None:
        self._process.kill()

    def _read(self) -> None:
        pipe = self._process.stdout
        assert pipe is not None
        with pipe:
            while data := pipe.read(SAMPLE_RATE // 5):
                self._take(data, len(data) // 2)
        self._process.wait()
        self.is_active = False


def record(device: InputDevice, prepare: Prepare, take: Take) -> InputStream | MonitorStream:
    """Record from a microphone or a monitor: an entry of `list_devices` since the last `refresh`.

    Raises:
        InputError: when the device cannot be recorded from.
    """
    if not device.monitor:
        return InputStream(device, prepare, take)
    prepare(SAMPLE_RATE, 1)
    return MonitorStream(device.monitor, take)


def _layout(sound: Any, device: InputDevice) -> tuple[int, int]:
    """Rate and channels to record with: the first of the preferred settings that the device accepts."""
    channels = sorted({1, min(2, device.channels), device.channels})
    wishes = [(rate, count) for rate in (SAMPLE_RATE, device.rate) for count in channels]
    for rate, count in wishes:
        with contextlib.suppress(sound.PortAudioError):
            sound.check_input_settings(device=device.index, channels=count, dtype="int16", samplerate=rate)
            return rate, count
    # Opening the device will report the reason.
    return wishes[0]


@contextlib.contextmanager
def _portaudio_errors(what: str) -> Iterator[None]:
    try:
        yield
    except _sounddevice().PortAudioError as error:
        reason = str(error.args[0]).rstrip(".") if error.args else "no reason given"
        raise InputError(f"{what} ({reason}); `surtitle devices` lists the usable ones") from None


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
