"""The limits of a container are those of its tightest group; what was measured is remembered for a while."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from connectors.machine import resources
from connectors.machine import tuning as tuning_cache
from connectors.machine.resources import CgroupLimits, limits
from connectors.machine.tuning import recalled, remember, remembered, tuning_key
from operators.models.tuning import Tuning


def tree(folder: Path, own: str, files: dict[str, str]) -> CgroupLimits:
    """The limits with these files below the root of the groups."""
    (folder / "own").write_text(own)
    for name, text in files.items():
        path = folder / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return limits(folder / "root", folder / "own")


def test_version_2_gives_the_tightest_of_all_groups_above(tmp_path: Path) -> None:
    found = tree(
        tmp_path,
        "0::/a/b\n",
        {
            "a/b/cpu.max": "max 100000\n",
            "a/cpu.max": "150000 100000\n",
            "a/b/memory.max": "4000\n",
            "a/b/memory.current": "3000\n",
            "a/b/memory.stat": "active_file 7\ninactive_file 500\n",
            "a/memory.max": "max\n",
        },
    )
    assert found == CgroupLimits(cores=1.5, memory=1500)


def test_version_1_gives_quota_and_memory_of_its_controllers(tmp_path: Path) -> None:
    found = tree(
        tmp_path,
        "4:memory:/job\n1:cpu,cpuacct:/job\n0::/\n",
        {
            "cpu,cpuacct/job/cpu.cfs_quota_us": "200000\n",
            "cpu,cpuacct/job/cpu.cfs_period_us": "100000\n",
            "cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
            "cpu,cpuacct/cpu.cfs_period_us": "100000\n",
            "memory/job/memory.limit_in_bytes": "9000\n",
            "memory/job/memory.usage_in_bytes": "1000\n",
            "memory/memory.limit_in_bytes": "9223372036854771712\n",
        },
    )
    assert found == CgroupLimits(cores=2.0, memory=8000)


def test_the_path_of_the_host_that_is_absent_in_a_container_means_the_root(tmp_path: Path) -> None:
    assert tree(tmp_path, "0::/host/path\n", {"cpu.max": "50000 100000"}).cores == 0.5


@pytest.mark.parametrize(
    "files", [{}, {"cpu.max": "max 100000", "memory.max": "max"}, {"cpu.max": "x y", "memory.max": "?"}]
)
def test_without_limits_there_are_none(tmp_path: Path, files: dict[str, str]) -> None:
    assert tree(tmp_path, "0::/\nnonsense\n", files) == CgroupLimits(None, None)


def test_a_system_without_groups_has_no_limits(tmp_path: Path) -> None:
    assert limits(tmp_path / "root", tmp_path / "own") == CgroupLimits(None, None)


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
