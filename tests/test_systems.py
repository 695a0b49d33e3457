"""On Windows and macOS, surtitle asks for nothing that they lack; `tests.elsewhere` imitates them.

Not shown: consoles, paths with drives, sound devices, locks that forbid, files that cannot be renamed while
they are open, and the libraries of those systems. Types are checked for both by ``make lint``.
"""

import ctypes
import errno
import io
import os
import subprocess
import sys
import wave
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from connectors.exports.room_files import file_name
from connectors.files import atomic
from connectors.files.locks import lock
from connectors.files.streams import prepare_streams
from connectors.microphone import devices
from connectors.microphone.devices import find_device, list_devices
from connectors.terminal import Screen, Terminal, open_screen
from operators import extras
from operators.errors import OutputError
from tests.fake_sound import FakeSound, device
from tests.tmux import Tty

ROOT = Path(__file__).parent.parent
SAID = ROOT / "tests" / "samples" / "partials.jsonl"
SYSTEMS = ["win32", "darwin"]


@pytest.fixture
def on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")


def elsewhere(system: str, folder: Path, *arguments: str, stdin: Path = Path(os.devnull)) -> list[str]:
    with stdin.open("rb") as file:
        done = subprocess.run(
            [sys.executable, "-m", "tests.elsewhere", system, *arguments],
            cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdin=file, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_module_is_imported_and_captions_are_made(system: str, tmp_path: Path) -> None:
    options = ["--to", "Portuguese", "--srt", "talk.srt", "--recovery", "progress"]
    _, modules, *said, locks = elsewhere(system, tmp_path, "replay", str(SAID), *options)
    assert int(modules.split()[1]) > 250
    assert modules.endswith("lost:"), "those that cannot be imported there"
    assert len([line for line in said if "museu" in line]) == 1
    assert (tmp_path / "talk.srt").read_bytes().count(b" --> ") == 2
    # Of the subtitles and the folder, beyond what is written: Windows lets nobody write a locked byte.
    assert locks == ("locks: (2147483646, 1) (2147483646, 1)" if system == "win32" else "locks:")


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_recording_is_decoded_by_another_process_and_recorded(
    system: str, tmp_path: Path, speech: Path
) -> None:
    options = ["--captions-only", "--set", "output.audio=copy.wav"]
    said = elsewhere(system, tmp_path, "file", "-", *options, stdin=speech)
    assert len(said) > 4
    with wave.open(str(speech)) as before, wave.open(str(tmp_path / "copy.wav")) as after:
        frames = before.readframes(2**20)
        assert frames == after.readframes(2**20)


@pytest.mark.usefixtures("on_windows")
def test_a_locked_byte_means_another_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def locking(_file: int, _mode: int, _size: int) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(LK_NBLCK=2, locking=locking))
    with (tmp_path / "file").open("w+b") as file:
        file.write(b"four")
        with pytest.raises(BlockingIOError):
            lock(file.fileno())
        assert file.tell() == 4


@pytest.mark.usefixtures("on_windows")
def test_a_file_that_another_program_reads_gets_its_new_contents_when_that_is_done(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    waits, real = list[float](), Path.replace

    def replace(made: Path, target: Path) -> Path:
        if len(waits) < 2:
            raise PermissionError(errno.EACCES, "Access is denied")
        return real(made, target)

    monkeypatch.setattr(Path, "replace", replace)
    monkeypatch.setattr(atomic, "time", SimpleNamespace(sleep=waits.append))
    path = tmp_path / "captions.txt"
    path.write_bytes(b"old")
    atomic.write_atomically(path, b"new")
    assert (path.read_bytes(), waits) == (b"new", [0.05, 0.25])
    monkeypatch.setattr(sys, "platform", "linux")
    waits.clear()
    with pytest.raises(OutputError, match="Access is denied"):
        atomic.write_atomically(path, b"newer")
    assert (path.read_bytes(), waits) == (b"new", [])


@pytest.mark.parametrize("is_able", [True, False])
@pytest.mark.usefixtures("on_windows")
def test_a_console_is_told_to_obey_escape_sequences_or_gets_plain_lines(
    monkeypatch: pytest.MonkeyPatch, *, is_able: bool
) -> None:
    modes = []

    def set_mode(_console: Any, mode: int) -> int:
        modes.append(mode)
        return int(is_able)

    system = SimpleNamespace(GetConsoleMode=lambda _console, _mode: 1, SetConsoleMode=set_mode)
    monkeypatch.setattr(ctypes, "windll", SimpleNamespace(kernel32=system), raising=False)
    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(get_osfhandle=lambda file: file))
    monkeypatch.delenv("TERM", raising=False)
    console = Tty()
    monkeypatch.setattr(console, "fileno", lambda: 1)
    assert type(open_screen(out=console)) is (Terminal if is_able else Screen)
    assert modes == [4]


@pytest.mark.usefixtures("on_windows")
def test_a_file_that_output_goes_to_has_the_letters_of_all_languages(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("PYTHONIOENCODING", raising=False)
    path = tmp_path / "captions.txt"
    with path.open("w", encoding="cp1252") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        monkeypatch.setattr(sys, "stderr", io.StringIO())
        prepare_streams()
        print("日本", end="")
    assert path.read_text(encoding="utf-8") == "日本"


def test_each_microphone_of_windows_is_listed_once_with_its_whole_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ["Mikrofonarray (Realtek(R) Audio)", "Headset (USB)"]
    sound = FakeSound(
        *(device(name[: 31 if not host else 99], host=host) for host in range(4) for name in names)
    )
    hosts = ["MME", "Windows DirectSound", "Windows WASAPI", "Windows WDM-KS"]
    sound.hosts = [{"name": name, "default_input_device": 2 * at + 1} for at, name in enumerate(hosts)]
    sound.default.device = [1, -1]
    monkeypatch.setitem(sys.modules, "sounddevice", sound)
    monkeypatch.setattr(devices, "monitors", list)
    assert [(one.index, one.name) for one in list_devices()] == [(4, names[0]), (5, names[1])]
    assert (find_device("realtek").index, find_device(None).index) == (4, 5)


@pytest.mark.parametrize("name", ["CON", "nul.txt", "Lpt1 ", "COM7.a"])
def test_no_room_is_named_as_a_device_of_windows(name: str) -> None:
    assert file_name(f"{name}.abcdef") == f"room {name.rstrip()}.abcdef"
    assert file_name(f"{name[:2]}.abcdef") == f"{name[:2]}.abcdef"


@pytest.mark.usefixtures("on_windows")
def test_the_command_for_an_extra_is_quoted_as_shells_of_windows_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", r"C:\Program Files\surtitle\python.exe")
    assert extras.installing("web", "kafka").startswith(r'"C:\Program Files\surtitle\python.exe" -m pip')
    assert extras.installing("web").endswith(' install "surtitle[web]"')
