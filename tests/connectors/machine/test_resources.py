"""The limits of a container are those of its tightest group; what was measured is remembered for a while."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from connectors.machine import measured, resources
from connectors.machine.measured import measured_costs, recalled_costs
from connectors.machine.resources import core_quota, good_threads
from operators.decoding.pass_cost import PassCosts


@pytest.mark.parametrize(
    ("own", "outer", "inner", "quota"),
    [
        ("0::/a/b\n", "150000 100000\n", "max 100000\n", 1.5),
        ("0::/of/the/host\n", "50000 100000", "", 0.5),
        ("nonsense\n", "x y", "", None),
        ("", "", "", None),
    ],
)
def test_the_tightest_control_group_limits_the_cores(
    tmp_path: Path, own: str, outer: str, inner: str, quota: float | None
) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    for name, text in (("own", own), ("cpu.max", outer), ("a/b/cpu.max", inner)):
        (tmp_path / name).write_text(text)
    assert core_quota(tmp_path, tmp_path / "own") == quota


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(measured, "others_s", lambda: 0.0)
    path = tmp_path / "a.gguf"
    path.write_bytes(b"GGUF" + bytes(100))
    return path


def cached(tmp_path: Path) -> Path:
    (file,) = (tmp_path / "surtitle" / "costs").iterdir()
    return file


QUIET, BUSY = PassCosts((1, 2), (3.0, 4.0)), PassCosts((1,), (9.0,), is_steady=False)


def test_what_was_measured_is_found_again_and_on_a_busy_machine_measured_again_after_an_hour(
    model: Path, tmp_path: Path
) -> None:
    assert measured_costs(model, 2) is None
    assert recalled_costs(model, 2, lambda: BUSY) == measured_costs(model, 2) == BUSY
    os.utime(cached(tmp_path), (0, 0))
    assert recalled_costs(model, 2, lambda: QUIET) == QUIET
    os.utime(cached(tmp_path), (0, 0))
    assert recalled_costs(model, 2, lambda: BUSY) == QUIET


def test_what_was_measured_while_other_programs_had_the_cores_holds_for_now_only(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used_s = iter((10.0, 20.0))
    monkeypatch.setattr(measured, "others_s", lambda: next(used_s))
    assert recalled_costs(model, 2, lambda: QUIET) == replace(QUIET, is_steady=False)


def test_a_damaged_file_is_as_good_as_none_and_a_full_disk_stops_nobody(model: Path, tmp_path: Path) -> None:
    recalled_costs(model, 2, lambda: QUIET)
    cached(tmp_path).write_text('{"tokens": "many"}')
    assert measured_costs(model, 2) is None
    path = cached(tmp_path)
    path.unlink()
    path.mkdir()
    assert recalled_costs(model, 2, lambda: BUSY) == BUSY


def test_another_model_processor_library_or_number_of_threads_is_measured_anew(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recalled_costs(model, 2, lambda: QUIET)
    assert measured_costs(model, 1) is None
    for name, value in (("cpu_name", lambda: "another, 2 cores"), ("version", lambda _name: "9.9")):
        with monkeypatch.context() as patch:
            patch.setattr(measured, name, value)
            assert measured_costs(model, 2) is None
    model.write_bytes(b"GGUF" + bytes(101))
    assert measured_costs(model, 2) is None


def test_what_other_programs_take_grows_and_is_not_what_this_one_takes() -> None:
    before = resources.others_s()
    began = time.process_time()
    while time.process_time() - began < 0.3:
        pass
    other = "import time\nwhile time.process_time() < 0.5: pass"
    subprocess.run([sys.executable, "-c", other], check=True)
    assert resources.others_s() - before >= 0.4


def test_where_nobody_knows_the_load_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda *_arguments, **_options: "no numbers")
    assert resources.others_s() == 0.0
    assert "cores" in resources.cpu_name()


def test_threads_are_no_more_than_the_cores_that_may_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "core_quota", lambda: 0.5)
    assert good_threads() == 1
