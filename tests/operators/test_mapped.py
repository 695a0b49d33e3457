"""Files that are cut short while they are mapped: whoever reads them lives, and is told."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from operators import mapped
from operators.errors import InputError
from operators.mapped import MappedFile, check_mapped

SIZE = 100_000
#: Maps a file of its own that nobody watches, cuts it short and reads it.
UNWATCHED = """
import mmap, sys
from pathlib import Path
from operators.mapped import MappedFile
path = Path(sys.argv[1])
watched = MappedFile(path)
other = path.with_name("other")
other.write_bytes(bytes(9999))
with other.open("r+b") as file:
    data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    file.truncate(0)
print("here", flush=True)
data[9000]
print("and there")
"""

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="elsewhere a file that is cut short is only told"
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "weights"
    path.write_bytes(b"\1" * SIZE)
    return path


@pytest.mark.parametrize("left", [0, 1, 5000, SIZE - 1])
def test_what_was_cut_off_reads_as_zeros_and_is_told(path: Path, left: int) -> None:
    file, data = MappedFile(path), np.memmap(path, np.uint8, "r")
    file.check()
    os.truncate(path, left)
    assert int(data.sum()) == left
    with pytest.raises(InputError, match=r"weights was truncated or overwritten while it was in use: put"):
        file.check()
    with pytest.raises(InputError):
        check_mapped()
    file.close()
    check_mapped()


def test_threads_that_hit_the_same_gap_at_once_all_go_on(path: Path) -> None:
    file, data = MappedFile(path), np.memmap(path, np.uint8, "r")
    os.truncate(path, 0)
    address = data.ctypes.data + 5000
    # The second thread's signal is handled after the first thread's has filled the gap.
    assert [mapped._is_replaced(address), mapped._is_replaced(address)] == [True, True]
    assert int(data.sum()) == 0
    assert file.is_cut


def test_what_is_whole_again_was_cut_short_all_the_same(path: Path) -> None:
    file, data = MappedFile(path), np.memmap(path, np.uint8, "r")
    os.truncate(path, 0)
    assert data[-1] == 0
    path.write_bytes(b"\2" * SIZE)
    with pytest.raises(InputError, match="could not be read while it was in use, although its length is"):
        file.check()


def test_a_thread_may_be_the_one_that_reads(path: Path) -> None:
    file, data = MappedFile(path), np.memmap(path, np.uint8, "r")
    os.truncate(path, 0)
    sums: list[int] = []
    threads = [threading.Thread(target=lambda: sums.append(int(data.sum()))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sums == [0] * 4
    assert file.is_cut


@pytest.mark.parametrize("how", ["removed", "replaced", "renamed"])
def test_a_file_that_goes_whole_stays_what_it_was(path: Path, how: str) -> None:
    file, data = MappedFile(path), np.memmap(path, np.uint8, "r")
    if how == "replaced":
        (path.parent / "new").write_bytes(b"\2")
        (path.parent / "new").replace(path)
    elif how == "renamed":
        path.rename(path.parent / "other")
    else:
        path.unlink()
    assert int(data.sum()) == SIZE
    file.check()


def test_a_file_that_is_renamed_and_cut_short_is_told(path: Path) -> None:
    file, data = MappedFile(path), np.memmap(path, np.uint8, "r")
    path.rename(path.parent / "other")
    os.truncate(path.parent / "other", 0)
    assert int(data.sum()) == 0
    with pytest.raises(InputError):
        file.check()


def test_of_any_other_file_the_process_dies_as_before(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", UNWATCHED, path],
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (-signal.SIGBUS, "here\n")
    assert "Bus error" in done.stderr
