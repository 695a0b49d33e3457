"""GGUF files are read and written byte for byte, and what must not be handed to llama.cpp is refused."""

import os
import struct
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.files.output import check_place
from connectors.models import gguf
from connectors.models.gguf import Tensor, decode, encode, read_gguf, write_gguf
from operators.errors import InputError, OutputError
from tests import tiny_gguf


def text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def tensor(name: bytes, dimensions: tuple[int, ...], kind: int, offset: int) -> bytes:
    shape = struct.pack(f"<I{len(dimensions)}Q", len(dimensions), *dimensions)
    return text(name) + shape + struct.pack("<IQ", kind, offset)


ENTRIES = [
    text(b"general.architecture") + struct.pack("<I", 8) + text(b"gemma3"),
    text(b"general.alignment") + struct.pack("<II", 4, 64),
    text(b"tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 2) + text(b"<bos>") + text("▁ä".encode()),
    text(b"tokenizer.ggml.scores") + struct.pack("<IIQff", 9, 6, 2, 0.5, 1.5),
    text(b"gemma3.context_length") + struct.pack("<IQ", 10, 32768),
    text(b"tokenizer.ggml.add_bos_token") + struct.pack("<I?", 7, True),
]
#: 64 32-bit floats at 0, and a block of 256 Q4_K weights (144 bytes) at 256: the data takes 400 bytes.
TENSORS = [tensor(b"norm", (64,), 0, 0), tensor(b"blk", (128, 2), 12, 256)]


def header(entries: list[bytes] = ENTRIES, tensors: list[bytes] = TENSORS, version: int = 3) -> bytes:
    counts = struct.pack("<IQQ", version, len(tensors), len(entries))
    whole = b"GGUF" + counts + b"".join(entries + tensors)
    return whole + bytes(-len(whole) % 64)


MODEL = header() + bytes(400)


def complaint(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_gguf(path)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    return message


def test_the_data_begins_at_a_multiple_of_the_alignment_that_the_header_names(tmp_path: Path) -> None:
    content = header([text(b"general.alignment") + struct.pack("<II", 4, 1024)])
    assert len(content) < 1024
    model = tmp_path / "model.gguf"
    model.write_bytes(content.ljust(1024, b"\0") + bytes(400))
    read_gguf(model)
    assert f"has {len(content) + 400} of at least 1424 bytes" in complaint(model, content + bytes(400))


@given(st.integers(0, len(MODEL) - 1))
def test_wherever_a_download_broke_off_it_is_noticed(length: int) -> None:
    with TemporaryDirectory() as folder:
        complaint(Path(folder) / "model.gguf", MODEL[:length])


@pytest.mark.parametrize(
    "hostile",
    [
        b"GGUF" + struct.pack("<IQQ", 3, 2**64 - 1, 0),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 2**63),
        header([struct.pack("<Q", 2**64 - 1)]),
        header([text(b"a") + struct.pack("<IIQ", 9, 8, 2**64 - 1)]),
        header([text(b"a") + struct.pack("<IIQ", 9, 12, 2**62)]),
        header([text(b"a") + struct.pack("<IIQ", 9, 9, 1)]),
        header([text(b"a") + struct.pack("<I", 99)]),
        header([text(b"general.alignment") + struct.pack("<II", 4, 0)]),
        header(tensors=[text(b"t") + struct.pack("<I", 2**32 - 1)]),
        header(tensors=[tensor(b"t", (2**64 - 1,) * 4, 0, 2**64 - 1)]),
    ],
)
def test_counts_that_no_file_can_hold_are_refused(tmp_path: Path, hostile: bytes) -> None:
    complaint(tmp_path / "model.gguf", hostile + bytes(4096))


def test_zeros_without_end_are_read_up_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gguf, "_MAX_HEADER_BYTES", 2**16)
    model = tmp_path / "model.gguf"
    with model.open("wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text(b"a") + struct.pack("<IIQ", 9, 8, 2**60))
        file.truncate(2**30)
    with pytest.raises(InputError, match="does not end within the first 65536 bytes"):
        read_gguf(model)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        *((header(version=one), f"llama.cpp does not read here ({one})") for one in (1, 4, 0x03000000)),
        *((one, "not a GGUF model") for one in (b"", b"GGU", b"version https://git-lfs")),
    ],
)
def test_what_llama_cpp_does_not_read_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    assert said in complaint(tmp_path / "model.gguf", content)


def test_a_missing_file_a_folder_and_a_pipe_are_no_models(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    for path in (tmp_path, tmp_path / "absent.gguf", tmp_path / "pipe.gguf"):
        with pytest.raises(InputError, match="there is no model file"):
            read_gguf(path)


def test_what_was_read_is_written_as_it_was(tmp_path: Path) -> None:
    path = tiny_gguf.write_model(tmp_path / "tiny.gguf", tiny_gguf.byte_pairs({}))
    file = read_gguf(path)
    write_gguf(tmp_path / "copy.gguf", file.entries, file.tensors)
    assert (tmp_path / "copy.gguf").read_bytes() == path.read_bytes()
    # Also a tensor of a type that is not known.
    odd = Tensor(99, (4,), np.arange(32, dtype=np.uint8))
    write_gguf(tmp_path / "odd.gguf", file.entries, {"odd": odd, **file.tensors})
    again = read_gguf(tmp_path / "odd.gguf").tensors["odd"]
    assert (again.kind, again.shape, again.data.tolist()) == (99, (4,), odd.data.tolist())


@pytest.mark.parametrize("value", ["ä", 7, True, 0.5, ["a", "b"], np.arange(3, dtype=np.int32)])
def test_values_come_back(value: object) -> None:
    back = decode(encode(value))  # type: ignore[arg-type]
    assert np.array_equal(back, value) if isinstance(value, np.ndarray) else back == value


def test_a_pipe_or_device_is_no_place_for_a_model(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name in ("pipe", "link"):
        with pytest.raises(OutputError, match="a model needs a regular file"):
            check_place(tmp_path / name)
