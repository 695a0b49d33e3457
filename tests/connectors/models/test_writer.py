"""A model is written whole, into a file: nothing else is put out of its place."""

import os
from pathlib import Path

import pytest

from connectors.gguf.file import GgufFile, encode
from connectors.models.writer import write_model
from operators.errors import OutputError

MODEL = GgufFile({"general.architecture": encode("none")}, {})


def test_what_a_link_leads_to_is_written_and_the_link_stays(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link, file = tmp_path / "model.gguf", tmp_path / "elsewhere" / "model.gguf"
    link.symlink_to(file)
    write_model(link, MODEL)
    assert link.is_symlink()
    assert file.read_bytes()[:4] == b"GGUF"
    assert [path.name for path in file.parent.iterdir()] == ["model.gguf"]


def test_a_pipe_or_device_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    link = tmp_path / "link"
    link.symlink_to("pipe")
    for path in (tmp_path / "pipe", link):
        with pytest.raises(OutputError, match="a model needs a regular file"):
            write_model(path, MODEL)
    assert (tmp_path / "pipe").is_fifo()
    assert len(list(tmp_path.iterdir())) == 2
