"""What `sounddevice` does, on devices that a test makes up."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

HOSTS = [{"name": "ALSA", "default_input_device": 1}, {"name": "OSS", "default_input_device": -1}]


class FakePortAudioError(Exception):
    """What PortAudio reports."""


def device(name: str, channels: int = 2, rate: float = 48_000.0, host: int = 0) -> dict[str, Any]:
    """A device as `query_devices` describes it."""
    return {
        "name": name, "hostapi": host, "max_input_channels": channels, "default_samplerate": rate
    }  # fmt: skip


class FakeSound:
    PortAudioError = FakePortAudioError

    def __init__(self, *devices: dict[str, Any]) -> None:
        self.devices = list(devices)
        self.hosts = [dict(host) for host in HOSTS]
        self.default = SimpleNamespace(device=[-1, -1])
        self._initialized = 1
        self.calls: list[str] = []
        self.allows: Callable[[int, int], bool] = lambda _rate, _channels: True
        self.fails: str | None = None
        self.opened: dict[str, Any] = {}

    def query_devices(self) -> list[dict[str, Any]]:
        return self.devices

    def query_hostapis(self) -> list[dict[str, Any]]:
        return self.hosts

    def check_input_settings(self, *, device: int, channels: int, dtype: str, samplerate: int) -> None:
        assert (self.devices[device]["max_input_channels"] >= channels, dtype) == (True, "int16")
        if not self.allows(samplerate, channels):
            raise self.PortAudioError("Invalid sample rate", -9997)

    def RawInputStream(self, **options: Any) -> SimpleNamespace:  # noqa: N802 - sounddevice's name
        self.opened = options

        def start() -> None:
            if self.fails:
                raise self.PortAudioError(self.fails, -9999)

        def note(call: str) -> Callable[..., None]:
            return lambda **_options: self.calls.append(call)

        return SimpleNamespace(start=start, abort=note("abort"), close=note("close"), active=True)

    def _terminate(self) -> None:
        self.calls.append("terminate")

    def _initialize(self) -> None:
        self.calls.append("initialize")
