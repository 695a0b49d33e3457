"""Files that are written at once: whole or as before; places that cannot be written are refused before."""

import os
from pathlib import Path

import pytest

from connectors.files.atomic import atomic_file, write_atomically
from connectors.files.output import WriteError, check_writable
from operators.errors import InputError, OutputError
from tests.flows.talk import captions, write
from tests.limits import limited
from tests.program import SURTITLE, completed


@pytest.mark.parametrize("name", ["n" * 255, "木" * 85])
def test_a_name_may_be_as_long_as_the_system_allows(tmp_path: Path, name: str) -> None:
    write_atomically(tmp_path / name, b"whole")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_pipe_that_nobody_reads_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(WriteError, match="nobody reads it; start a reader for it first"):
        write_atomically(pipe, b"something")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_atomically(pipe, b"something")
    assert os.read(reader, 99) == b"something"
    os.close(reader)


def test_a_file_that_finds_no_room_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    write_atomically(path, b"first")
    path.chmod(0o640)
    write_atomically(path, b"second")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"second", 0o640)
    with limited(3), pytest.raises(WriteError, match=r"summary\.json cannot be written: File too large"):
        write_atomically(path, b"third")
    assert path.read_bytes() == b"second"
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_in_the_block_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("before")

    def write_half() -> None:
        with atomic_file(path) as file:
            file.write(b"half")
            raise InputError("no more")

    with pytest.raises(InputError):
        write_half()
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link_and_a_device_is_written(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"
    with pytest.raises(WriteError, match="/dev/full cannot be written"):
        write_atomically(Path("/dev/full"), b"new")


@pytest.mark.parametrize("mode", ["w", "a"])
def test_what_a_command_writes_at_once_goes_into_standard_output_with_the_rest(
    tmp_path: Path, mode: str
) -> None:
    talk, path = write(tmp_path / "captions.jsonl", captions()), tmp_path / "out"
    path.write_text("old\n")
    with path.open(mode) as out:
        done = completed([SURTITLE, "report", talk, "--output", "/dev/stdout"], stdout=out)
    assert (done.returncode, done.stderr) == (0, "")
    page, end, printed = path.read_text().partition("</html>")
    assert page.removeprefix("old\n" if mode == "a" else "").startswith("<!doctype html>")
    assert "\0" not in page
    assert end
    assert "segments" in printed


def test_places_that_cannot_be_written_are_refused_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path, reason in [
        (tmp_path / "none" / "out.jsonl", "there is no folder"),
        (tmp_path / "file" / "out.jsonl", "there is no folder|Not a directory"),
        (tmp_path, "it is a folder"),
    ]:
        with pytest.raises(OutputError, match=reason):
            check_writable(path)
    check_writable(tmp_path / "new.jsonl")
    assert not (tmp_path / "new.jsonl").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_places_without_permission_are_refused(tmp_path: Path) -> None:
    locked = tmp_path / "locked.jsonl"
    locked.touch()
    locked.chmod(0o400)
    with pytest.raises(OutputError, match="no permission"):
        check_writable(locked)
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="no permission to create files"):
        check_writable(tmp_path / "new.jsonl")
    tmp_path.chmod(0o700)
