"""A microphone without a sound card: what is played into a PulseAudio server of our own can be recorded.

The server lives in a folder of its own and touches nothing of the user's. PortAudio reads where to find it
from the environment when it is loaded, so recording takes place in a process with `environment`.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from platformdirs import user_cache_path

from tests.waiting import until

#: What `list_devices` calls the microphone, which is the default one as well.
NAME = "stage"
_PACKAGES = "apt-get install libportaudio2 pulseaudio pulseaudio-utils libasound2-plugins"
_LIST = (
    "from connectors.microphone.devices import list_devices; "
    "print([device.name for device in list_devices()])"
)


class VirtualMicrophone:
    """The microphone, plugged in; `close` ends the server.

    Args:
        folder: An empty folder with a short path: it holds a socket.
    """

    def __init__(self, folder: Path) -> None:
        folder.chmod(0o700)
        socket = folder / "native"
        asound = folder / "asound.conf"
        pulse = f'type pulse server "unix:{socket}"'
        asound.write_text(f'pcm.!default {{ {pulse} }}\npcm.{NAME} {{ {pulse} device "{NAME}.monitor" }}\n')
        #: For a process that plays or records.
        self.environment = {
            **os.environ,
            "ALSA_CONFIG_PATH": str(asound),
            "HOME": str(folder),
            "PULSE_COOKIE": str(folder / "cookie"),
            "PULSE_RUNTIME_PATH": str(folder),
            "PULSE_SERVER": f"unix:{socket}",
            "PULSE_STATE_PATH": str(folder),
            # Models that were assembled are not assembled again.
            "XDG_CACHE_HOME": str(user_cache_path()),
            "XDG_CONFIG_HOME": str(folder),
            "XDG_RUNTIME_DIR": str(folder),
        }
        self._log = folder / "server.log"
        with self._log.open("wb") as log:
            self._server = subprocess.Popen(
                [
                    "pulseaudio", "-n", "--daemonize=no", "--use-pid-file=no", "--exit-idle-time=-1",
                    "--disable-shm=yes",
                    "-L", f"module-native-protocol-unix auth-anonymous=1 socket={socket}",
                ],
                env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        self._module = ""
        self._players: list[subprocess.Popen[bytes]] = []
        self._wait_for_server()
        self.plug()

    def plug(self) -> None:
        """Let the microphone be there; does nothing when it is."""
        if not self._module:
            # Without rewinds the sink renders in steps of 50 ms at most, not of 2 s.
            sink = ["module-null-sink", f"sink_name={NAME}", "rate=48000", "norewinds=1"]
            self._module = self._control("load-module", *sink)
            self._control("set-default-source", f"{NAME}.monitor")

    def unplug(self) -> None:
        """Take the microphone away; does nothing when it is away."""
        if self._module:
            self._control("unload-module", self._module)
            self._module = ""

    def freeze(self) -> None:
        """Let the server hang, until `thaw`: every request waits."""
        self._server.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._server.send_signal(signal.SIGCONT)

    def play(self, path: Path, *, wait: bool = True) -> None:
        """Speak a recording into the microphone, to its end or in the background."""
        # Far enough ahead of the sound server that a busy machine does not tear the speech.
        command = ["paplay", f"--device={NAME}", "--latency-msec=500", str(path)]
        player = subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL)
        self._players.append(player)
        if wait and player.wait(timeout=60) != 0:
            raise RuntimeError(f"{path} could not be played: {self._log.read_text()}")

    def wait_for_listener(self, within_s: float = 120.0) -> None:
        """Until somebody records."""
        until(
            lambda: self._control("list", "short", "source-outputs"), within_s,
            tell=lambda: f"nobody listens: {self._log.read_text()}",
        )  # fmt: skip

    def stop_playing(self) -> None:
        while self._players:
            _end(self._players.pop())

    def close(self) -> None:
        self.stop_playing()
        _end(self._server)

    def _wait_for_server(self) -> None:
        deadline = time.monotonic() + 60
        while True:
            try:
                self._control("info")
            except RuntimeError:
                if self._server.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"pulseaudio did not start: {self._log.read_text()}") from None
                time.sleep(0.02)  # the server announces nothing
            else:
                return

    def _control(self, *arguments: str) -> str:
        done = subprocess.run(
            ["pactl", *arguments], env=self.environment, capture_output=True, text=True, timeout=60,
            stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"pactl {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout.strip()


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
    process.wait(timeout=60)


@pytest.fixture(scope="session")
def _server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VirtualMicrophone]:
    missing = [name for name in ("pulseaudio", "pactl", "paplay") if not shutil.which(name)]
    if missing:
        pytest.fail(f"the microphone's tests need {', '.join(missing)}; {_PACKAGES}")
    microphone = VirtualMicrophone(tmp_path_factory.mktemp("mic"))
    try:
        listed = subprocess.run(
            [sys.executable, "-c", _LIST], env=microphone.environment, capture_output=True, text=True,
            cwd=Path(__file__).parent.parent, timeout=30, check=False,
        )  # fmt: skip
        if NAME not in listed.stdout:
            seen = listed.stdout or listed.stderr
            pytest.fail(f"PortAudio does not see the virtual microphone: {seen}; {_PACKAGES}")
        yield microphone
    finally:
        microphone.close()


@pytest.fixture
def virtual_microphone(_server: VirtualMicrophone) -> Iterator[VirtualMicrophone]:
    """A microphone that is plugged in, and that nothing is played into."""
    _server.plug()
    yield _server
    _server.thaw()
    _server.stop_playing()
