"""The wheel and the source distribution: everything that is needed is in them, and nothing else."""

import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parent.parent
PACKAGES = ("connectors", "flows", "operators")


def tracked(*folders: str) -> set[str]:
    """The files of the repository that git does not ignore."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *folders]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {name for name in listed.split("\0") if name and (ROOT / name).exists()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    (path,) = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    return Path(path)


def metadata(wheel: Path) -> str:
    with zipfile.ZipFile(wheel) as archive:
        (path,) = [one for one in archive.namelist() if one.endswith(".dist-info/METADATA")]
        return archive.read(path).decode()


def test_the_wheel_has_every_file_of_the_packages_and_nothing_beside_them(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    beside = {one for one in names if ".dist-info/" in one}
    assert names - beside == tracked(*PACKAGES)


def test_the_wheel_has_the_program_and_runs_on_every_system(wheel: Path) -> None:
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        (path,) = [one for one in archive.namelist() if one.endswith("/entry_points.txt")]
        assert archive.read(path).decode().split("\n")[:2] == [
            "[console_scripts]", "surtitle = flows.main:main"
        ]  # fmt: skip


def test_the_wheel_carries_the_licence_and_the_notice_and_says_so(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for name in ("LICENSE", "NOTICE"):
            (path,) = [one for one in archive.namelist() if one.endswith(f".dist-info/licenses/{name}")]
            assert archive.read(path) == (ROOT / name).read_bytes()
    assert "License-Expression: Apache-2.0\nLicense-File: LICENSE\nLicense-File: NOTICE" in metadata(wheel)


def test_the_source_distribution_has_every_file_of_the_repository(tmp_path: Path) -> None:
    (path,) = SdistBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with tarfile.open(path) as archive:
        names = {member.name.partition("/")[2] for member in archive if member.isfile()}
    assert names == {*tracked(), "PKG-INFO"}
