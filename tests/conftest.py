"""The real model and real speech that several tests share."""

import gc
import os
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
import soundfile
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from connectors.http.download import OFFLINE_VARIABLE
from connectors.models.resolve import resolve_model
from operators.models.llama_model import LlamaModel
from tests.tiny_gguf import pieces, write_model
from tests.virtual_microphone import _server, virtual_microphone

__all__ = ["_server", "virtual_microphone"]

# How long an example takes says how busy the machine is. The same examples each time, so that a change is
# judged by what it changed; more of them, and others each time, with `make test-long`.
settings.register_profile(
    "patient", deadline=None, suppress_health_check=[HealthCheck.too_slow],
    max_examples=int(os.environ.get("SURTITLE_EXAMPLES", "25")),
    derandomize="SURTITLE_EXAMPLES" not in os.environ,
)  # fmt: skip
settings.load_profile("patient")

# No run asks the registry of Firefox's models, in no process.
os.environ[OFFLINE_VARIABLE] = "1"
# Where a command does not say the language of captions, they are in that of the system.
os.environ.pop("LC_ALL", None)
os.environ["LC_MESSAGES"] = "de_DE.UTF-8"

#: Files that begin first where tests run side by side, so that no long one is left over at the end.
LONGEST_FIRST = (
    "test_page_commands.py", "test_live.py", "test_recording.py", "test_checks.py", "test_job.py",
    "test_serve.py", "test_recovery.py", "test_page.py", "test_loadgen.py", "test_media.py",
    "test_doctor.py", "test_speech.py", "test_llama.py", "test_own_parts.py",
    "test_page_settings.py", "test_captions_only.py", "test_draft_model.py", "test_overlay.py",
    "test_protocol.py", "test_interrupts.py", "test_control_room.py", "test_failures.py", "test_rows.py",
    "test_cluster.py", "test_outputs.py",
)  # fmt: skip
#: Files that play sound into a microphone take turns: each wants both processors in real time.
HEARD = (
    "doctor/test_checks.py",
    "flows/test_live.py",
    "/test_page_commands.py",
    "cli/test_language.py",
    "microphone/test_recording.py",
)


#: More than tests write side by side.
ROOM_BYTES = 2_000_000_000


def in_memory(place: str = "/dev/shm") -> str | None:
    """A folder where no write waits for a disk; None without one that has room and may hold programs."""
    try:
        disk = os.statvfs(place)
    except OSError:
        return None
    is_room = disk.f_bavail * disk.f_frsize > ROOM_BYTES and not disk.f_flag & os.ST_NOEXEC
    return place if is_room and os.access(place, os.W_OK) else None


if (memory := in_memory()) is not None:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", memory)  # the folder that holds all folders tmp_path


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest; the tests of a file stay together."""
    rank = {name: number for number, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: rank.get(item.path.name, len(rank)))


def pytest_collection_finish() -> None:
    """Exclude everything imported so far from garbage collection."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """The tests of a file run in one process, as they share what it took long to make."""
    return _Together(config, log)


class _Together(LoadScopeScheduling):  # type: ignore[misc]  # pytest-xdist is not annotated
    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        return "heard" if path.endswith(HEARD) else path


@pytest.fixture(scope="session")
def model_path() -> Path:
    return resolve_model("base")


@pytest.fixture(scope="session")
def model(model_path: Path) -> Iterator[LlamaModel]:
    loaded = LlamaModel(model_path)
    yield loaded
    loaded.close()


@pytest.fixture(scope="session")
def speech(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six seconds of read speech at 16 kHz, four short sentences."""
    samples, rate = soundfile.read(files("moonshine_voice") / "assets" / "beckett.wav", dtype="int16")
    path = tmp_path_factory.mktemp("speech") / "talk.wav"
    soundfile.write(path, samples[: 6 * rate], rate)
    return path


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Options of a model of some kilobytes with meaningless output, for tests that do not read it."""
    path = write_model(tmp_path_factory.mktemp("model") / "small.gguf", pieces({}))
    return ["--model", str(path), "--set", "translate.threads=1"]
