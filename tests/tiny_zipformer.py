"""A streaming zipformer for tests: files, inputs and states of a real one, with weights that are set by hand.

It hears tones. Each token has a frequency, and is written once when its tone begins; what speech makes of it
is nonsense. The metadata and the states are those that sherpa-onnx reads in
online-zipformer2-transducer-model.cc and online-zipformer2-ctc-model.cc.
"""

import atexit
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from sentencepiece import sentencepiece_model_pb2

from operators.events import SAMPLE_RATE

#: The tokens that it may write, and the frequency of each one's tone in Hz.
TONES = {"▁ONE": 400, "▁TWO": 700, "▁THREE": 1100, "▁FOUR": 1700, "TEEN": 2500, "▁FIVE": 3500, "S": 5000}
TOKENS = ("<blk>", "<sos/eos>", "<unk>", *TONES)

_BINS, _WINDOW, _STEP, _FRAME = 80, 45, 32, 4
_LAYERS, _DIM, _HEADS, _HEAD_DIM, _LEFT, _KERNEL = 1, 16, 2, 4, 8, 5
_METADATA = {
    "model_type": "zipformer2", "T": _WINDOW, "decode_chunk_len": _STEP, "encoder_dims": _DIM,
    "num_heads": _HEADS, "query_head_dims": _HEAD_DIM, "value_head_dims": _HEAD_DIM,
    "num_encoder_layers": _LAYERS, "cnn_module_kernels": _KERNEL, "left_context_len": _LEFT,
}  # fmt: skip
_STATES = [
    (_LEFT, 1, _HEADS * _HEAD_DIM), (1, 1, _LEFT, 3 * _DIM // 4), (_LEFT, 1, _HEADS * _HEAD_DIM),
    (_LEFT, 1, _HEADS * _HEAD_DIM), (1, _DIM, _KERNEL // 2), (1, _DIM, _KERNEL // 2), (1, 128, 3, 19),
]  # fmt: skip
# A band's log energy is about -16 in silence, and 3 for a tone of the amplitude that `tone` has.
_HEARD = -1.0


def tone(token: str, seconds: float, volume: int = 8000) -> bytes:
    """16-bit PCM in which the model hears a token."""
    times = np.arange(round(seconds * SAMPLE_RATE)) / SAMPLE_RATE
    return (volume * np.sin(2 * np.pi * TONES[token] * times)).astype("<i2").tobytes()


def write_transducer(folder: Path, tokens: Sequence[str] = TOKENS) -> Path:
    """Write a transducer's encoder, decoder, joiner and tokens."""
    folder.mkdir(exist_ok=True)
    _encoder(folder / "encoder.int8.onnx", _METADATA, _energies(0.0))
    size = len(tokens)
    # The last token is not written again while its tone lasts.
    again = -100 * np.eye(size, dtype=np.float32)
    again[:3] = 0
    save(
        folder / "decoder.onnx",
        [
            helper.make_node("Gather", ["y", "last"], ["id"], axis=1),
            helper.make_node("Gather", ["again", "id"], ["decoder_out"]),
        ],
        [value("y", TensorProto.INT64, ["N", 2])],
        [value("decoder_out", TensorProto.FLOAT, ["N", size])],
        {"again": again, "last": np.array(1, dtype=np.int64)},
        {"vocab_size": size, "context_size": 2},
    )
    save(
        folder / "joiner.int8.onnx",
        [helper.make_node("Add", ["encoder_out", "decoder_out"], ["logit"])],
        [value(name, TensorProto.FLOAT, ["N", size]) for name in ("encoder_out", "decoder_out")],
        [value("logit", TensorProto.FLOAT, ["N", size])],
        {},
        {"joiner_dim": size},
    )
    _write_tokens(folder, tokens)
    return folder


@cache
def written_once() -> Path:
    """The transducer's folder, for tests that change nothing in it."""
    folder = Path(mkdtemp(prefix="surtitle-zipformer-"))
    atexit.register(rmtree, folder)
    return write_transducer(folder)


def write_names(folder: Path) -> Path:
    """Write the SentencePiece model of its tokens, by which it can be told names."""
    model: Any = sentencepiece_model_pb2
    model = model.ModelProto()
    model.trainer_spec.model_type = model.trainer_spec.UNIGRAM
    for token in TOKENS:
        model.pieces.add(piece=token, score=-1.0, type=2 if token == "<unk>" else 1)
    (folder / "bpe.model").write_bytes(model.SerializeToString())
    return folder


def pack(folder: Path, file: Path, header: bytes = b'{"free": true, "type": "zipformer2"}') -> Path:
    """Write a transducer as one file, as Kroko publishes them."""
    names = ("encoder.int8.onnx", "decoder.onnx", "joiner.int8.onnx", "tokens.txt")
    blocks = [header, *((folder / name).read_bytes() for name in names)]
    file.write_bytes(b"".join(len(block).to_bytes(4, "little") + block for block in blocks))
    return file


def write_punctuation(folder: Path) -> Path:
    """Write a punctuation model beside it, for which each word has a capital and a comma."""
    place = folder / "tiny-punct-en"
    place.mkdir()
    (place / "bpe.vocab").write_text("".join(f"{piece}\t-1\n" for piece in ("<unk>", *"▁ONEFURT")), "utf-8")
    # In the order of nothing, upper case, capital, mixed, and of nothing, comma, full stop, question mark.
    shares = {"case": np.eye(4, dtype=np.float32)[2:3], "mark": np.eye(4, dtype=np.float32)[1:2]}
    save(
        place / "model.onnx",
        [
            # Two of a sentence's labels are of its ends.
            helper.make_node("Sub", ["label_lens", "two"], ["words"]),
            helper.make_node("Cast", ["words"], ["long"], to=TensorProto.INT64),
            helper.make_node("Concat", ["long", "one"], ["shape"], axis=0),
            *(helper.make_node("Tile", [name, "shape"], [f"{name}s"]) for name in shares),
        ],
        [
            value("token_ids", TensorProto.INT32, ["N", 200]),
            value("valid_ids", TensorProto.INT32, ["N", 200]),
            value("label_lens", TensorProto.INT32, ["N"]),
        ],
        [value(f"{name}s", TensorProto.FLOAT, ["words", 4]) for name in shares],
        {**shares, "two": np.array([2], dtype=np.int32), "one": np.array([1])},
        {"COMMA": 1, "PERIOD": 2, "QUESTION": 3, "UPPER": 1, "CAP": 2, "MIX_CASE": 3},
    )
    return folder


def write_ctc(folder: Path) -> Path:
    """Write a model of connectionist temporal classification, and its tokens."""
    folder.mkdir(exist_ok=True)
    _encoder(folder / "model.int8.onnx", _METADATA, _energies(0.0))
    _write_tokens(folder, TOKENS)
    return folder


def _write_tokens(folder: Path, tokens: Sequence[str]) -> None:
    lines = [f"{token} {number}\n" for number, token in enumerate(tokens)]
    (folder / "tokens.txt").write_text("".join(lines), encoding="utf-8")


def _energies(blank: float) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Weights from a frame's log mel energies to logits, ``(80, tokens)``, and their bias."""
    lowest, highest = _mel(20), _mel(SAMPLE_RATE / 2 - 400)
    weights = np.zeros((_BINS, len(TOKENS)), dtype=np.float32)
    bias = np.full(len(TOKENS), -100, dtype=np.float32)
    bias[0] = blank
    for token, hertz in TONES.items():
        place = TOKENS.index(token)
        # Bin n is a triangle around the (n + 1)th of 81 steps.
        weights[round((_mel(hertz) - lowest) / (highest - lowest) * (_BINS + 1)) - 1, place] = 1
        bias[place] = -_HEARD
    return weights, bias


def _mel(hertz: float) -> float:
    return float(1127 * np.log(1 + hertz / 700))


def _encoder(
    path: Path, metadata: dict[str, object], energies: tuple[NDArray[np.float32], NDArray[np.float32]]
) -> None:
    weights, bias = energies
    states = [value(f"state_{number}", TensorProto.FLOAT, shape) for number, shape in enumerate(_STATES)] + [
        value("processed_lens", TensorProto.INT64, [1])
    ]
    news = [
        helper.make_tensor_value_info(f"new_{state.name}", state.type.tensor_type.elem_type, None)
        for state in states
    ]
    save(
        path,
        [
            helper.make_node("Slice", ["x", "first", "end", "axis"], ["frames"]),
            helper.make_node("Reshape", ["frames", "shape"], ["fours"]),
            helper.make_node("ReduceMean", ["fours", "axis_2"], ["slow"], keepdims=0),
            helper.make_node("MatMul", ["slow", "weights"], ["scores"]),
            helper.make_node("Add", ["scores", "bias"], ["encoder_out"]),
            *(helper.make_node("Identity", [state.name], [f"new_{state.name}"]) for state in states),
        ],
        [value("x", TensorProto.FLOAT, [1, _WINDOW, _BINS]), *states],
        [value("encoder_out", TensorProto.FLOAT, [1, _STEP // _FRAME, len(bias)]), *news],
        {
            "weights": weights, "bias": bias, "first": np.array([0]), "end": np.array([_STEP]),
            "axis": np.array([1]), "axis_2": np.array([2]), "shape": np.array([1, -1, _FRAME, _BINS]),
        },
        metadata,
    )  # fmt: skip


def value(name: str, kind: int, shape: Sequence[int | str]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def save(
    path: Path,
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    constants: dict[str, NDArray[np.generic]],
    metadata: dict[str, object],
) -> None:
    made = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    model = helper.make_model(
        helper.make_graph(nodes, "tiny", inputs, outputs, made),
        opset_imports=[helper.make_opsetid("", 18)],
        ir_version=9,
    )
    helper.set_model_props(model, {name: str(value) for name, value in metadata.items()})
    path.write_bytes(model.SerializeToString())
