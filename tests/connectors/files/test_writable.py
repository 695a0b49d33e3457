"""Places that cannot be written are refused before a run."""

import os
import socket
from pathlib import Path

import pytest

from connectors.files.output import check_writable
from operators.errors import OutputError
from tests.connectors.jsonl.partials import write


def test_places_that_cannot_be_written_are_refused_before_the_run(tmp_path: Path) -> None:
    write(tmp_path / "file", b"")
    for path, reason in [
        (tmp_path / "none" / "out.jsonl", "there is no folder"),
        (tmp_path / "file" / "out.jsonl", "not a folder|Not a directory"),
        (tmp_path, "it is a folder"),
    ]:
        with pytest.raises(OutputError, match=reason):
            check_writable(path)
    with socket.socket(socket.AF_UNIX) as named:
        named.bind(str(tmp_path / "socket"))
    with pytest.raises(OutputError, match="it is a socket; choose another file"):
        check_writable(tmp_path / "socket")
    check_writable(tmp_path / "new.jsonl")
    assert not (tmp_path / "new.jsonl").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_places_without_permission_are_refused(tmp_path: Path) -> None:
    locked = write(tmp_path / "locked.jsonl", b"")
    locked.chmod(0o400)
    with pytest.raises(OutputError, match="no permission"):
        check_writable(locked)
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="no permission to create files"):
        check_writable(tmp_path / "new.jsonl")
    tmp_path.chmod(0o700)
