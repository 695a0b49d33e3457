"""A llama.cpp that was compiled for another processor costs a sentence, not the process."""

import errno
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from connectors.machine import trial as library_trial
from connectors.machine.resources import cpu_features
from connectors.machine.trial import (
    Failed,
    is_known_good,
    library_folder,
    missing_features,
    remember_good,
    require_library,
    try_library,
)
from operators.errors import InputError
from operators.models.trial import KNOWN, TOKENS, LibraryTrial, judge

SURTITLE = Path(sys.executable).with_name("surtitle")


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library_trial, "user_cache_path", lambda name: tmp_path / "cache" / name)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the installed libraries, of which nothing is known yet."""
    installed = library_folder()
    assert installed is not None
    copy = tmp_path / "lib"
    shutil.copytree(installed, copy, ignore=shutil.ignore_patterns(library_trial.RECORD))
    monkeypatch.setenv("LLAMA_CPP_LIB_PATH", str(copy))
    return copy


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library with an instruction that no processor has, in what runs when it is loaded."""
    folder = tmp_path / "lib"
    folder.mkdir()
    source = tmp_path / "broken.c"
    source.write_text("__attribute__((constructor)) static void begin(void) { __builtin_trap(); }\n")
    compiler = os.environ.get("CC", "cc")
    subprocess.run(
        [compiler, "-shared", "-fPIC", source, "-o", folder / "libllama.so"], check=True, timeout=60
    )
    monkeypatch.setenv("LLAMA_CPP_LIB_PATH", str(folder))
    return folder


def can_do(monkeypatch: pytest.MonkeyPatch, *features: str) -> None:
    monkeypatch.setattr(library_trial, "cpu_features", lambda: frozenset(features))


def test_set_up_has_left_word_that_the_library_works_here() -> None:
    installed = library_folder()
    assert installed is not None
    assert is_known_good(installed)


def test_a_library_without_a_record_is_tried_once_and_remembered(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not is_known_good(folder)
    require_library()
    assert is_known_good(folder)
    monkeypatch.setattr(library_trial, "try_library", lambda: pytest.fail("tried again"))
    require_library()


def test_a_processor_that_can_do_as_much_needs_no_trial_and_one_that_cannot_does(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    can_do(monkeypatch, "avx2", "avx512f")
    remember_good(folder, beside=True)
    can_do(monkeypatch, "avx2", "avx512f", "amx_int8")
    assert is_known_good(folder)
    can_do(monkeypatch, "avx2", "hypervisor")
    assert not is_known_good(folder)
    assert missing_features(folder) == ["avx512f"]


def test_another_build_in_the_same_place_is_tried_again(folder: Path) -> None:
    remember_good(folder, beside=True)
    assert is_known_good(folder)
    os.utime(folder / "libllama.so", (1, 1))
    assert not is_known_good(folder)


@pytest.mark.parametrize("content", [b"", b"{", b'{"library": 3}', b"\xff\xfe", b"[" * 5000])
def test_a_damaged_record_is_no_record(folder: Path, content: bytes) -> None:
    (folder / library_trial.RECORD).write_bytes(content)
    assert not is_known_good(folder)


def test_the_program_says_one_sentence_about_a_library_for_another_processor(broken: Path) -> None:
    done = subprocess.run(
        [SURTITLE, "devices"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr.startswith(f"surtitle: {broken}: llama.cpp does not work on this processor")
    assert "make clean setup" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.usefixtures("broken")
def test_the_job_of_a_pipeline_says_it_too() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import flows.captions.graph"],
        capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 1
    assert "llama.cpp does not work on this processor" in done.stderr.splitlines()[-1]


def test_what_the_other_processor_had_is_named(broken: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = cpu_features() - {"amx_tile", "amx_int8"}
    can_do(monkeypatch, *here, "amx_tile", "amx_int8")
    remember_good(broken, beside=True)
    can_do(monkeypatch, *here)
    with pytest.raises(InputError, match="which lacks amx_int8 amx_tile"):
        require_library()


def test_a_trial_that_fails_for_another_reason_stops_nobody(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library_trial, "try_library", lambda: Failed("no room", is_verdict=False))
    require_library()
    assert not is_known_good(folder)


@pytest.mark.usefixtures("folder")
def test_wrong_numbers_stop_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        library_trial, "try_library", lambda: LibraryTrial("the logits are off by 12.0", False)
    )
    with pytest.raises(InputError, match=r"in a trial the logits are off by 12\.0"):
        require_library()


def test_logits_are_right_near_what_is_known_and_only_there() -> None:
    rows = np.full((len(TOKENS), 262_144), -20.0, np.float32)
    for row, (token, logit) in zip(rows, KNOWN, strict=True):
        row[token] = logit + 0.5
    assert judge(rows[:1], rows) is None
    for wrong in (np.zeros_like(rows), rows[::-1], rows * np.nan, np.roll(rows, 1, axis=1)):
        assert judge(rows[:1], wrong) is not None
        assert judge(wrong[:1], rows) is not None


@pytest.mark.real_model
def test_the_library_passes_with_its_use_of_amx_refused() -> None:
    assert isinstance(made := try_library(without_amx=sys.platform == "linux", timed=True), LibraryTrial)
    assert made.wrong is None
    assert 0 < made.single_ms < made.verify_ms


@pytest.mark.skipif(
    platform.machine() != "x86_64" or sys.platform != "linux", reason="AMX is a part of x86-64"
)
def test_the_kernel_refuses_amx_to_a_process_that_asked_for_it() -> None:
    code = """
import ctypes
from operators.models.trial import refuse_amx
refuse_amx()
libc = ctypes.CDLL(None, use_errno=True)
refused = libc.syscall(158, 0x1023, 18)
print(refused, ctypes.get_errno(), libc.syscall(158, 0x1022, ctypes.byref(ctypes.c_ulong())))
"""
    refused, because, other = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    assert (refused, because) == ("-1", str(errno.EPERM))
    assert other == "0"
