"""What a computer plays, as input devices: the monitors of PulseAudio and PipeWire.

``pactl`` lists them, and ``parec`` records them; both speak to either server (Debian: ``pulseaudio-utils``).
"""

import os
import shutil
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from operators.errors import InputError
from operators.events import SAMPLE_RATE

_LIST_S = 5.0
# Bytes of a tenth of a second.
_READ = SAMPLE_RATE // 5


class Monitor(NamedTuple):
    """What one output plays."""

    #: The name that the server has for it.
    source: str
    #: The name that people know.
    description: str


def monitors() -> list[Monitor]:
    """All that there are; none where no such server runs, which is not started either."""
    if not _has_server() or shutil.which("pactl") is None or shutil.which("parec") is None:
        return []
    try:
        listed = subprocess.run(
            ["pactl", "list", "sources"], env={**os.environ, "LC_ALL": "C.UTF-8"}, stdin=subprocess.DEVNULL,
            capture_output=True, timeout=_LIST_S, check=True, text=True, errors="replace",
        ).stdout  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return []
    return list(parsed(listed))


def parsed(listed: str) -> list[Monitor]:
    r"""The monitors in what ``pactl list sources`` prints.

    >>> parsed("Source #1\n\tName: a.monitor\n\tDescription: Monitor of A\n\tMonitor of Sink: a\n")
    [Monitor(source='a.monitor', description='Monitor of A')]
    """
    found = []
    for block in listed.split("Source #")[1:]:
        lines = (line.strip().partition(": ") for line in block.splitlines())
        told = {key: value for key, _, value in reversed(list(lines))}
        if told.get("Monitor of Sink", "n/a") != "n/a" and "Name" in told:
            found.append(Monitor(told["Name"], told.get("Description") or told["Name"]))
    return found


def _has_server() -> bool:
    folder = os.environ.get("XDG_RUNTIME_DIR")
    named = os.environ.get("PULSE_SERVER")
    return bool(named) or (folder is not None and (Path(folder) / "pulse" / "native").exists())


class MonitorStream:
    """A monitor that is recorded, 16 kHz mono; as `connectors.microphone.portaudio.InputStream`.

    Raises:
        InputError: when that is impossible.
    """

    def __init__(
        self,
        source: str,
        prepare: Callable[[int, int], None],
        take: Callable[[bytes, int], None],
        ended: Callable[[], None],
    ) -> None:
        command = [
            "parec", f"--device={source}", "--raw", "--format=s16le", f"--rate={SAMPLE_RATE}", "--channels=1",
            "--latency-msec=100", "--client-name=surtitle",
        ]  # fmt: skip
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for this process
            )  # fmt: skip
        except OSError as error:
            raise InputError(
                f"parec, which records {source}, cannot be started ({error.strerror}); "
                "install pulseaudio-utils again"
            ) from None
        self._take, self._ended = take, ended
        self.is_active = True
        prepare(SAMPLE_RATE, 1)
        threading.Thread(target=self._read, name="monitor", daemon=True).start()

    def close(self) -> None:
        """Stop recording; may be called more than once."""
        self._process.kill()

    def _read(self) -> None:
        pipe = self._process.stdout
        assert pipe is not None
        with pipe:
            while data := pipe.read(_READ):
                self._take(data, len(data) // 2)
        self._process.wait()
        self.is_active = False
        self._ended()
