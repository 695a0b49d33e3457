"""The readable name of the microphone that is used by default."""

import subprocess
import sys

from connectors.microphone.devices import has_pulse, pactl, pulse_sources

# Ten times as long as an answer takes. Some sound systems wait for a server for seconds.
_ANSWER_S = 0.35
# Runs in a process of its own, because it cannot be interrupted and prints messages.
_PORTAUDIO = "import sounddevice; print(sounddevice.query_devices(kind='input')['name'])"


def default_microphone() -> str | None:
    """Its name; empty if there is none, and None if the sound system does not answer in time."""
    try:
        # With PulseAudio, PortAudio's name for the device is only "default".
        return _of_pulse() if has_pulse() else _of_portaudio()
    except (OSError, subprocess.SubprocessError):
        return None


def _of_pulse() -> str:
    own = pactl("get-default-source", timeout_s=_ANSWER_S).strip()
    # "auto_null" stands for the sound card that is missing.
    known = {name: shown for name, shown, _ in pulse_sources(_ANSWER_S) if not name.startswith("auto_null")}
    return known.get(own, "")


def _of_portaudio() -> str:
    done = subprocess.run(
        [sys.executable, "-c", _PORTAUDIO], stdin=subprocess.DEVNULL, capture_output=True, timeout=_ANSWER_S,
        check=False,
    )  # fmt: skip
    return done.stdout.decode(errors="replace").strip()
