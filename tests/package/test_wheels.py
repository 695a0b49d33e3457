"""Everything that the core depends on has a wheel on each system; nothing is compiled (needs a network)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
UV = Path(sys.executable).with_name("uv")
#: The oldest systems: glibc as in Debian 12 and Ubuntu 22.04; macOS as the default recogniser's package asks.
SYSTEMS = {
    "Linux, x86-64": "x86_64-manylinux_2_34",
    "Linux, Arm": "aarch64-manylinux_2_34",
    "macOS, Arm": "aarch64-apple-darwin",
    "macOS, x86-64": "x86_64-apple-darwin",
    "Windows, x86-64": "x86_64-pc-windows-msvc",
}
MACOS = "15.0"


def resolved(system: str, python: str, *more: str) -> "subprocess.CompletedProcess[str]":
    options = ["--python-platform", SYSTEMS[system], "--python-version", python, "--only-binary", ":all:"]
    return subprocess.run(
        [UV, "--no-config", "pip", "compile", "--quiet", *options, *more, "pyproject.toml"],
        cwd=ROOT, env=os.environ | {"MACOSX_DEPLOYMENT_TARGET": MACOS}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


@pytest.mark.parametrize("python", ["3.11", "3.12"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_nothing_is_compiled(system: str, python: str) -> None:
    done = resolved(system, python)
    assert done.returncode == 0, done.stderr
    assert "\nonnxruntime==" in done.stdout


def test_a_package_without_wheels_is_noticed() -> None:
    done = resolved("Linux, x86-64", "3.11", "--extra", "llm")
    assert done.returncode
    assert "llama-cpp-python" in done.stderr
