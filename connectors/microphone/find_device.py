"""Finds the microphone that a user names, and finds it again after it was unplugged."""

import difflib
import re

from connectors.microphone.portaudio import InputDevice, list_devices
from operators.errors import UsageError

# ALSA numbers cards in order of appearance: a microphone that was plugged in again may have another number.
_CARD = re.compile(r"\s*\(hw:\d+,\d+\)$")
_MAX_LISTED = 5


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
        matches = _named(devices, wanted)
    if not matches:
        nearest = _names(_nearest(devices, str(wanted)))
        raise UsageError(
            f"there is no microphone {wanted!s}; the nearest: {nearest}; `surtitle devices` lists all"
        )
    if len(matches) > 1:
        raise UsageError(f"{len(matches)} microphones match {wanted}: {_names(matches)}; give an index")
    return matches[0]


def find_again(before: InputDevice) -> InputDevice | None:
    """The device with the same name, ignoring the card number; None while it is absent."""
    devices = [device for device in list_devices() if device.host == before.host]
    same = [device for device in devices if device.name == before.name]
    alike = [device for device in devices if _CARD.sub("", device.name) == _CARD.sub("", before.name)]
    return next(iter(same + alike), None)


def _named(devices: list[InputDevice], wanted: str) -> list[InputDevice]:
    text = wanted.casefold()
    exact = [device for device in devices if device.name.casefold() == text]
    return exact or [device for device in devices if text in device.name.casefold()]


def _nearest(devices: list[InputDevice], wanted: str) -> list[InputDevice]:
    def likeness(device: InputDevice) -> float:
        return difflib.SequenceMatcher(None, wanted.casefold(), device.name.casefold()).ratio()

    return sorted(devices, key=likeness, reverse=True)[:_MAX_LISTED]


def _names(devices: list[InputDevice]) -> str:
    return ", ".join(f"{device.index} ({device.name})" for device in devices)
