"""The voice encoder computes what its weights say, and a file that does not hold them does no harm."""

import pickle
import tracemalloc
from collections.abc import Callable, Sequence
from math import prod
from pathlib import Path
from struct import pack
from typing import TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from connectors.models.voices import voices_file
from operators.errors import InputError
from operators.events import SAMPLE_RATE
from operators.voices.features import Floats, mel_frames, without_noise
from operators.voices.ge2e import Ge2eEncoder, _shapes, read_tensors
from operators.voices.protocol import Embedding, Samples
from tests.operators.recognizers.speaking import samples

Steps: TypeAlias = NDArray[np.float64]


def tensor(storage: str, offset: int, shape: Sequence[int]) -> bytes:
    """A tensor as PyTorch pickles it, in the oldest protocol, which is text."""
    numbers = "".join(f"I{one}\n" for one in shape)
    return (
        f"ctorch._utils\n_rebuild_tensor_v2\n((Vstorage\nctorch\nFloatStorage\nV{storage}\nVcpu\nI9\ntQ"
        f"I{offset}\n({numbers}t({numbers}tI00\nNtR"
    ).encode()


def state(**tensors: bytes) -> bytes:
    named = b"".join(f"V{name}\n".encode() + one for name, one in tensors.items())
    return b"(Vmodel_state\n(" + named + b"dVstep\nI7\nd."


def stored(pickled: bytes, storages: dict[str, list[float]], length: int | None = None) -> bytes:
    """A file of PyTorch's older format; ``length`` is said of the last storage instead of its own."""
    head = [pickle.dumps(one, 2) for one in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})]
    lengths = [len(one) for one in storages.values()]
    if length is not None:
        lengths[-1] = length
    bodies = [
        pack(f"<q{len(one)}f", said, *one) for said, one in zip(lengths, storages.values(), strict=True)
    ]
    return b"".join((*head, pickled, pickle.dumps(list(storages), 2), *bodies))


SHAPES = {"a": (2, 3), "b": (2,)}
STATE = state(b=tensor("7", 1, (2,)), a=tensor("5", 2, (2, 3)), other=tensor("5", 0, (1,)))
STORAGES = {"7": [0.5, 1.5, 2.5], "5": [float(one) for one in range(8)]}
WHOLE = stored(STATE, STORAGES)


def test_tensors_are_parts_of_storages(tmp_path: Path) -> None:
    file = tmp_path / "weights.pt"
    file.write_bytes(WHOLE)
    found = {name: one.tolist() for name, one in read_tensors(file, SHAPES).items()}
    assert found == {"a": [[2.0, 3.0, 4.0], [5.0, 6.0, 7.0]], "b": [1.5, 2.5]}


def test_a_file_that_was_cut_off_anywhere_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "weights.pt"
    for length in range(len(WHOLE)):
        file.write_bytes(WHOLE[:length])
        with pytest.raises(InputError):
            read_tensors(file, SHAPES)


def with_a(one: bytes, length: int | None = None) -> bytes:
    return stored(state(a=one, b=tensor("7", 0, (2,))), STORAGES, length)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (stored(b"cos\nsystem\n(Vtouch run\ntR.", STORAGES), "os.system is not allowed"),
        (stored(b"\x80\x04\x8c\x07builtin\x8c\x09ev\nal\x1b[2J\x93.", STORAGES), "is not allowed"),
        (stored(STATE, STORAGES, 2**62), "a tensor of 4611686018427387904 numbers"),
        (stored(STATE, STORAGES, 2**30), "a tensor of 1073741824 numbers"),
        (stored(STATE, STORAGES, -1), "a tensor of -1 numbers"),
        # An index of the pickle's memory, for which the unpickler in C takes 256 MB.
        (b"\x80\x02K\x01r\xff\xff\xff\x00.", ""),
        (with_a(tensor("5", 3, (2, 3))), "reshape"),
        (with_a(tensor("5", 2**62, (2, 3))), "reshape"),
        (with_a(tensor("6", 0, (2, 3))), "'6'"),
        (with_a(tensor("5", 0, (3, 2))), "a has the shape (3, 2) instead of (2, 3)"),
        (with_a(tensor("5", 0, (-1, 3))), "a has the shape (-1, 3) instead of (2, 3)"),
        (with_a(b"Vtext\n"), ""),
        (stored(state(a=tensor("5", 0, (2, 3))), STORAGES), "'b'"),
        (stored(b"(Vweights\nI7\nd.", STORAGES), "'model_state'"),
        (b"<html>no weights</html>\n", ""),
        (b"", ""),
    ],
)  # fmt: skip
def test_other_files_are_refused_in_one_sentence_without_running_or_holding_what_they_say(
    content: bytes, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "weights.pt"
    file.write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(InputError) as error:
            read_tensors(file, SHAPES)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()
    sentence = str(error.value)
    assert sentence.startswith(f"{file}: these are not the weights of the voice encoder (")
    assert sentence.endswith("); remove the file, and fetch it again with `surtitle models get voices`")
    assert said in sentence
    assert sentence.isprintable()
    assert [one.name for one in tmp_path.iterdir()] == [file.name]


@pytest.mark.parametrize("make", [lambda _file: None, lambda file: file.mkdir()], ids=["none", "a folder"])
def test_what_cannot_be_read_is_refused(make: Callable[[Path], object], tmp_path: Path) -> None:
    make(tmp_path / "weights.pt")
    with pytest.raises(InputError, match=r"weights\.pt"):
        Ge2eEncoder(tmp_path / "weights.pt")


@pytest.mark.parametrize("changed", ["lstm.weight_ih_l2", "lstm.bias_hh_l0", "linear.weight"])
def test_an_encoder_needs_all_its_tensors_in_their_shapes(changed: str, tmp_path: Path) -> None:
    file, shapes = tmp_path / "weights.pt", _shapes()
    largest = [0.0] * max(prod(shape) for shape in shapes.values())
    for other in ({}, {changed: tensor("5", 0, (1024, 41))}):
        whole = {name: tensor("5", 0, shape) for name, shape in shapes.items() if name != changed}
        file.write_bytes(stored(state(**whole, **other), {"5": largest}))
        with pytest.raises(InputError, match=changed):
            Ge2eEncoder(file)


@pytest.fixture(scope="module")
def weights() -> Path:
    file = voices_file()
    assert file is not None, "the set-up of the tests installs the model of voices"
    return file


@pytest.fixture(scope="module")
def encoder(weights: Path) -> Ge2eEncoder:
    return Ge2eEncoder(weights)


def read_aloud(name: str, begin_s: float, end_s: float) -> Samples:
    return samples(name)[round(begin_s * SAMPLE_RATE) : round(end_s * SAMPLE_RATE)]


def sigmoid(value: Steps) -> Steps:
    return np.asarray(1 / (1 + np.exp(-value)), np.float64)


def computed(tensors: dict[str, Floats], bands: Floats) -> Embedding:
    """The embedding, one step after the other (Hochreiter and Schmidhuber 1997, with PyTorch's gates)."""
    frames = bands.astype(np.float64)
    for layer in range(3):
        state, cell, rows = np.zeros(256), np.zeros(256), []
        inner, outer, bias, more = (
            tensors[f"lstm.{name}_l{layer}"].astype(np.float64)
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        for frame in frames:
            taken, kept, new, shown = np.split(inner @ frame + outer @ state + bias + more, 4)
            cell = sigmoid(kept) * cell + sigmoid(taken) * np.tanh(new)
            state = sigmoid(shown) * np.tanh(cell)
            rows.append(state)
        frames = np.array(rows)
    made = np.maximum(0, tensors["linear.weight"] @ state + tensors["linear.bias"])
    return np.asarray(made / np.linalg.norm(made), np.float32)


@pytest.mark.parametrize("seconds", [0.025, 1.6])
def test_an_embedding_is_what_the_weights_make_step_by_step(
    weights: Path, encoder: Ge2eEncoder, seconds: float
) -> None:
    sound = read_aloud("beckett.wav", 1.0, 1.0 + seconds)
    made = encoder.embed(sound)
    assert (made.shape, made.dtype.name) == ((256,), "float32")
    wanted = computed(read_tensors(weights, _shapes()), without_noise(mel_frames(sound)))
    np.testing.assert_allclose(made, wanted, atol=1e-4)


def test_stretches_of_one_reader_are_nearer_to_each_other_than_to_another(encoder: Ge2eEncoder) -> None:
    one, again = (encoder.embed(read_aloud("beckett.wav", at, at + 2.5)) for at in (0.5, 4.5))
    other = encoder.embed(read_aloud("two_cities.wav", 1.0, 3.5))
    assert one @ again > encoder.threshold(2.5) > max(one @ other, again @ other)


def test_too_little_sound_is_nobodys_and_silence_makes_numbers(encoder: Ge2eEncoder) -> None:
    assert [encoder.embed(np.ones(count, np.float32)).any() for count in (0, 399)] == [False, False]
    assert np.isfinite(encoder.embed(np.zeros(SAMPLE_RATE, np.float32))).all()
