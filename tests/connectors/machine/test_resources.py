"""The limits of a container are those of its tightest group; what was measured is remembered for a while."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from connectors.machine import resources
from connectors.machine import tuning as tuning_cache
from connectors.machine.resources import core_quota
from connectors.machine.tuning import recalled, remember, remembered, tuning_key
from operators.models.tuning import Tuning


@pytest.mark.parametrize(
    ("own", "files", "quota"),
    [
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000\n", "a/cpu.max": "150000 100000\n"}, 1.5),
        ("0::/of/the/host\n", {"cpu.max": "50000 100000"}, 0.5),
        ("nonsense\n", {"cpu.max": "x y"}, None),
        ("", {}, None),
    ],
)
def test_the_tightest_control_group_limits_the_cores(
    tmp_path: Path, own: str, files: dict[str, str], quota: float | None
) -> None:
    (tmp_path / "own").write_text(own)
    for name, text in files.items():
        path = tmp_path / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert core_quota(tmp_path / "root", tmp_path / "own") == quota


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "surtitle" / "tuning"


def test_what_was_remembered_is_found_again() -> None:
    assert remembered("key", Tuning) is None
    remember("key", Tuning(3, 64))
    assert remembered("key", Tuning) == Tuning(3, 64)


def test_a_busy_machine_is_asked_again_after_an_hour(cache: Path) -> None:
    for key, is_steady in (("busy", False), ("quiet", True)):
        remember(key, Tuning(2, is_steady=is_steady))
        assert remembered(key, Tuning) is not None
        os.utime(cache / f"{key}.json", (0, 0))
    assert remembered("busy", Tuning) is None
    assert remembered("quiet", Tuning) == Tuning(2)


def test_what_was_measured_while_other_programs_had_the_cores_holds_for_now_only(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used_s = iter((10.0, 10.0, 20.0, 30.0))
    monkeypatch.setattr(tuning_cache, "others_s", lambda: next(used_s))
    assert recalled("quiet", Tuning, lambda: Tuning(1)).is_steady
    assert recalled("busy", Tuning, lambda: Tuning(1)) == Tuning(1, is_steady=False)
    assert recalled("busy", Tuning, lambda: Tuning(2)) == Tuning(1, is_steady=False)
    os.utime(cache / "busy.json", (0, 0))
    monkeypatch.setattr(tuning_cache, "others_s", lambda: 0.0)
    assert recalled("busy", Tuning, lambda: Tuning(2)) == Tuning(2)


def test_a_damaged_file_is_as_good_as_none_and_a_full_disk_stops_nobody(cache: Path) -> None:
    cache.mkdir(parents=True)
    (cache / "key.json").write_text('{"threads": "many"}')
    assert remembered("key", Tuning) is None
    cache.joinpath("other.json").mkdir()
    remember("other", Tuning(2))


def test_another_model_processor_or_library_is_measured_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tmp_path / "a.gguf"
    model.write_bytes(b"GGUF" + bytes(100))
    keys = {tuning_key(model)}
    model.write_bytes(b"GGUF" + bytes(101))
    keys.add(tuning_key(model))
    monkeypatch.setattr(tuning_cache, "cpu_name", lambda: "another, 2 cores")
    keys.add(tuning_key(model))
    monkeypatch.setattr(tuning_cache, "version", lambda _name: "9.9")
    keys.add(tuning_key(model))
    assert len(keys) == 4


def test_what_other_programs_take_grows_and_is_not_what_this_one_takes() -> None:
    before = resources.others_s()
    began = time.process_time()
    while time.process_time() - began < 0.3:
        pass
    with subprocess.Popen([sys.executable, "-c", "import time\nwhile time.process_time() < 0.5: pass"]):
        pass
    assert resources.others_s() - before >= 0.4


def test_where_nobody_knows_the_load_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda *_arguments, **_options: "no numbers")
    assert resources.others_s() == 0.0
    assert "cores" in resources.cpu_name()
