"""``surtitle devices``: lists the microphones."""

import sys

from connectors.microphone.portaudio import InputDevice, list_devices
from operators.errors import InputError


def devices() -> None:
    """List the microphones that `--device` can name, by index or by a part of the name."""
    found = list_devices()
    if not found:
        raise InputError("there is no microphone; connect one, or start the sound server that has it")
    print_devices(found)


def print_devices(found: list[InputDevice]) -> None:
    """Print a table for a person; a star marks the default."""
    rows = [("", "index", "name", "channels", "rate", "system")]
    rows += [_row(one) for one in found]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print(" ".join(cells).rstrip())
    sys.stdout.flush()


def _row(one: InputDevice) -> tuple[str, str, str, str, str, str]:
    mark = "*" if one.is_default else ""
    return mark, str(one.index), one.name, str(one.channels), f"{one.rate} Hz", one.host
