"""Devices are named as their users name them, and recorded from as they allow; on a made-up PortAudio."""

import builtins
import sys
from typing import Any

import pytest

from connectors.microphone import devices
from connectors.microphone.devices import (
    InputDevice,
    InputStream,
    find_again,
    find_device,
    list_devices,
    refresh,
)
from operators.errors import InputError, UsageError
from tests.fake_sound import FakeSound, device


@pytest.fixture
def sound(monkeypatch: pytest.MonkeyPatch) -> FakeSound:
    fake = FakeSound(
        device("HDMI 0", channels=0), device("Laptop Mic"), device("USB Mic: Audio (hw:1,0)", channels=1)
    )
    monkeypatch.setitem(sys.modules, "sounddevice", fake)
    monkeypatch.setattr(devices, "monitors", list)
    return fake


def opened(sound: FakeSound, wanted: str) -> tuple[int, int]:
    """The rate and channels that a device is recorded with."""
    layouts: list[tuple[int, int]] = []
    stream = InputStream(find_device(wanted), lambda rate, channels: layouts.append((rate, channels)), take)
    stream.close()
    assert layouts == [(sound.opened["samplerate"], sound.opened["channels"])]
    return layouts[0]


def take(data: bytes, frames: int) -> None:
    raise AssertionError((data, frames))


@pytest.mark.usefixtures("sound")
def test_only_what_can_be_recorded_from_is_listed() -> None:
    assert list_devices() == [
        InputDevice(index=1, name="Laptop Mic", host="ALSA", channels=2, rate=48_000, is_default=True),
        InputDevice(
            index=2, name="USB Mic: Audio (hw:1,0)", host="ALSA", channels=1, rate=48_000, is_default=False
        ),
    ]


def test_a_device_goes_by_its_index_or_a_part_of_its_name(sound: FakeSound) -> None:
    assert [find_device(one).index for one in (None, 2, "2", "usb", "LAPTOP")] == [1, 2, 2, 2, 1]
    sound.devices.append(device("Laptop Mic Array"))
    assert find_device("laptop mic").index == 1, "a whole name, even if it is a part of another"


@pytest.mark.parametrize(
    ("devices", "wanted", "reason"),
    [
        (3, "mic", r"2 microphones match mic: 1 \(Laptop Mic\), 2 \(USB Mic: Audio"),
        (3, "0", "no microphone 0; `surtitle devices` lists all"),
        (3, "Labtop", "no microphone Labtop"),
        (1, None, "there is no microphone; connect one"),
    ],
)
def test_a_device_that_is_not_there_or_not_the_only_one_is_refused(
    sound: FakeSound, devices: int, wanted: str | None, reason: str
) -> None:
    sound.devices = sound.devices[:devices]
    with pytest.raises(UsageError, match=reason):
        find_device(wanted)


@pytest.mark.parametrize(
    ("allowed", "layout"),
    [
        ({(16_000, 1), (48_000, 2)}, (16_000, 1)),
        ({(16_000, 2), (48_000, 1)}, (16_000, 2)),
        ({(48_000, 2)}, (48_000, 2)),
    ],
)
def test_a_device_that_refuses_16_khz_mono_is_recorded_as_it_likes(
    sound: FakeSound, allowed: set[tuple[int, int]], layout: tuple[int, int]
) -> None:
    sound.allows = lambda rate, channels: (rate, channels) in allowed
    assert opened(sound, "laptop") == layout


def test_a_device_that_cannot_be_opened_says_why_and_is_let_go(sound: FakeSound) -> None:
    sound.fails = "Device unavailable."
    with pytest.raises(InputError, match=r"Laptop Mic cannot be recorded from \(Device unavailable\)"):
        opened(sound, "laptop")
    assert sound.calls == ["close"]


def test_devices_are_looked_for_anew_only_while_nothing_is_recorded(sound: FakeSound) -> None:
    stream = InputStream(find_device(1), lambda _rate, _channels: None, take)
    refresh()
    assert sound.calls == []
    stream.close()
    stream.close()
    refresh()
    assert sound.calls == ["abort", "close", "terminate", "initialize"]


def test_a_device_is_found_again_by_its_name_though_its_numbers_changed(sound: FakeSound) -> None:
    usb = find_device("usb")
    sound.devices = [device("Laptop Mic")]
    assert find_again(usb) is None
    sound.devices = [device("USB Mic: Audio (hw:3,0)", channels=1), device("Laptop Mic")]
    again = find_again(usb)
    assert again is not None
    assert (again.index, again.name) == (0, "USB Mic: Audio (hw:3,0)")


def test_without_portaudio_the_package_to_install_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def imported(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "sounddevice":
            raise OSError("PortAudio library not found")
        return real(name, *args, **kwargs)

    monkeypatch.delitem(sys.modules, "sounddevice", raising=False)
    monkeypatch.setattr(builtins, "__import__", imported)

    with pytest.raises(InputError, match="sudo apt-get install libportaudio2"):
        devices.list_devices()
