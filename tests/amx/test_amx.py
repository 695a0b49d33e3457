"""AMX as the compiler at hand compiles it, with our header: on an emulator where the processor has none."""

import os
import platform
import signal
import subprocess
from pathlib import Path

import pytest

from connectors.machine.resources import cpu_features

HERE = Path(__file__).parent
HEADER = HERE.parent.parent / ".ci" / "amx.h"
AMX = ("-mamx-tile", "-mamx-int8")

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="AMX is a part of x86-64")


def compile_source(source: Path, target: Path, *options: str) -> Path:
    compiler = os.environ.get("CXX", "c++") if source.suffix == ".cpp" else os.environ.get("CC", "cc")
    command = [compiler, "-O3", *options, str(source), "-o", str(target)]
    subprocess.run(command, check=True, timeout=120)
    return target


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("amx") / "emulator.so"
    return compile_source(HERE / "emulator.c", target, "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror")


def run(program: Path, emulator: Path) -> int:
    # On a real one the emulator would be told of some instructions and not of others.
    is_real = "amx_int8" in cpu_features()
    environment = os.environ if is_real else {**os.environ, "LD_PRELOAD": str(emulator)}
    return subprocess.run([program], env=environment, check=False, timeout=60).returncode


def test_with_the_header_products_are_right_also_after_another_library_set_the_tiles_up(
    tmp_path: Path, emulator: Path
) -> None:
    program = compile_source(HERE / "product.cpp", tmp_path / "with", *AMX, "-include", str(HEADER))
    assert run(program, emulator) == 0


def test_tiles_that_were_not_set_up_end_the_process_as_on_a_real_processor(
    tmp_path: Path, emulator: Path
) -> None:
    program = compile_source(HERE / "product.cpp", tmp_path / "never", *AMX, "-DNO_CONFIGURATION")
    assert run(program, emulator) == -signal.SIGILL


def test_without_amx_the_header_is_empty(tmp_path: Path) -> None:
    source = tmp_path / "empty.c"
    source.write_text("int number;\n")
    command = [os.environ.get("CC", "cc"), "-E", "-P", "-include", str(HEADER), str(source)]
    assert subprocess.check_output(command, text=True).split() == ["int", "number;"]
