"""Set-up finds a Python that fits, or has one fetched, and asks for nothing that only some runs need."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
#: Fails where set-up asks whether its version fits.
TOO_NEW = "exit 1"
FITS = """case $* in
    *version_info*) ;;
    --version) echo Python 3.12.99 ;;
    *) echo "asked for $*" >&2; exit 7 ;;
esac"""
#: Puts a Python where it is told to.
UV = """echo "uv $* $UV_PYTHON_INSTALL_BIN" >&2
mkdir -p "$UV_PYTHON_INSTALL_DIR/cpython-3.12.99/bin"
cp "$(dirname "$0")/python-that-fits" "$UV_PYTHON_INSTALL_DIR/cpython-3.12.99/bin/python3.12"
"""


class Machine:
    """A checkout on a machine that has what a test puts there, and a compiler."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.tools = folder, folder / "bin"
        (folder / ".ci").mkdir()
        shutil.copy(ROOT / ".ci" / "setup", folder / ".ci")
        self.tools.mkdir()
        for name in ("bash", "cat", "cp", "dirname", "grep", "mkdir", "paste", "rm", "uname"):
            (self.tools / name).symlink_to(shutil.which(name) or "")
        for name, does in (
            ("c++", "cat >/dev/null"),
            ("cc", "exit 0"),
            ("id", "echo 1000"),
            ("ldconfig", "exit 0"),
        ):
            self.has(name, does)

    def has(self, name: str, does: str) -> None:
        path = self.tools / name
        path.write_text(f"#!{shutil.which('bash')}\n{does}\n")
        path.chmod(0o755)

    def set_up(self, **environment: str) -> "subprocess.CompletedProcess[str]":
        environment = {"PATH": str(self.tools), "HOME": str(self.folder / "home"), **environment}
        return subprocess.run(
            [self.tools / "bash", self.folder / ".ci" / "setup"], env=environment, capture_output=True,
            text=True, timeout=60, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path)
    made.has("python3", TOO_NEW)
    return made


def test_where_every_python_is_too_new_one_is_fetched_once(machine: Machine) -> None:
    machine.has("python-that-fits", FITS)
    machine.has("uv", UV)
    first, second = machine.set_up().stderr, machine.set_up().stderr
    assert "uv --no-config python install 3.12 0\n" in first
    assert "uv fetches 3.12" in first
    # PortAudio is absent here, too, and nothing that this needs.
    goes_on = "setup: making .venv with Python 3.12.99\nasked for -m venv .venv\n"
    assert first.endswith(goes_on)
    assert second == goes_on


def test_a_python_that_cannot_be_fetched_is_named_in_a_sentence(machine: Machine) -> None:
    machine.has("uv", "echo error: no network >&2; exit 2")
    done = machine.set_up()
    assert done.returncode == 1
    told = done.stderr.splitlines()
    assert told[1:3] == [
        "error: no network", "setup: Python 3.12 could not be fetched (the lines above say why)"
    ]  # fmt: skip
    assert told[3].startswith(
        "setup: missing: Python 3.11 or 3.12 with venv; on Debian or Ubuntu: sudo apt-get "
    )
    assert len(told) == 4
    assert "PortAudio" not in done.stderr


def test_a_python_that_was_named_is_not_replaced(machine: Machine) -> None:
    machine.has("uv", UV)
    done = machine.set_up(PYTHON="python3")
    assert done.returncode == 1
    assert done.stderr.startswith("setup: missing: Python 3.11 or 3.12 with venv (not python3); on Debian")
    assert done.stderr.count("\n") == 1
