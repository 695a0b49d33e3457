"""A model in the form of Firefox Translations', of a few kilobytes with random weights."""

import struct
from pathlib import Path
from typing import NamedTuple

import numpy as np
import sentencepiece
from numpy.typing import NDArray

SOURCE = ["the weather in the hills is fine today", "we met on Monday at noon", "good day to you all"]
TARGET = ["das Wetter in den Bergen ist heute schön", "wir trafen uns am Montag", "„guten Tag (Berge)“"]


class Measures(NamedTuple):
    width: int = 16
    inner: int = 32
    encoder_layers: int = 2
    decoder_layers: int = 2
    is_shared: bool = True
    #: Whether the ranges of activations are stored.
    has_ranges: bool = True


def write_tiny_firefox(folder: Path, measures: Measures = Measures(), pair: str = "ende") -> Path:  # noqa: B008
    """Write the files of a model whose tokens are letters."""
    folder.mkdir(parents=True, exist_ok=True)
    if measures.is_shared:
        counts = [_train(folder / f"vocab.{pair}.spm", [*SOURCE, *TARGET])] * 2
    else:
        counts = [
            _train(folder / f"srcvocab.{pair}.spm", SOURCE),
            _train(folder / f"trgvocab.{pair}.spm", TARGET),
        ]
    tensors = _tensors(measures, counts[0], counts[1])
    (folder / f"model.{pair}.intgemm.alphas.bin").write_bytes(_file(tensors))
    return folder


def _train(path: Path, lines: list[str]) -> int:
    with path.open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_writer=file, vocab_size=64, hard_vocab_limit=False,
            model_type="char", normalization_rule_name="identity",
            eos_id=0, unk_id=1, bos_id=-1, minloglevel=2,
        )  # fmt: skip
    return len(sentencepiece.SentencePieceProcessor(model_file=str(path)))


_Tensor = tuple[int, tuple[int, ...], bytes]


class _Writer:
    def __init__(self, measures: Measures) -> None:
        self.width = measures.width
        self.has_ranges = measures.has_ranges
        self.noise = np.random.default_rng(1)
        self.made: dict[str, _Tensor] = {}

    def floats(self, name: str, values: NDArray[np.float64]) -> None:
        self.made[name] = (0x404, (1, values.size), values.astype("<f4").tobytes())

    def ranges(self, name: str) -> None:
        if self.has_ranges:
            self.floats(f"{name}_QuantMultA", np.array([127 / 6]))

    def embeddings(self, name: str, tokens: int) -> None:
        self._matrix(name, self._values(tokens, self.width))

    def layer(self, name: str, parts: str, rows: int, columns: int, *, has_bias: bool = True) -> None:
        for part in parts:
            values = self._values(rows, columns)
            self._matrix(f"{name}W{part.strip()}", values, values.T)
            self.ranges(f"{name}W{part.strip()}")
            if has_bias:
                self.floats(f"{name}b{part}", self.noise.normal(size=columns) * 0.1)

    def norm(self, name: str) -> None:
        self.floats(f"{name}_ln_scale", 1 + self.noise.normal(size=self.width) * 0.1)
        self.floats(f"{name}_ln_bias", self.noise.normal(size=self.width) * 0.1)

    def _values(self, rows: int, columns: int) -> NDArray[np.int8]:
        return np.clip(np.rint(self.noise.normal(size=(rows, columns)) * 40), -127, 127).astype(np.int8)

    def _matrix(self, name: str, values: NDArray[np.int8], stored: NDArray[np.int8] | None = None) -> None:
        data = (values if stored is None else stored).tobytes()
        self.made[name] = (0x4101, values.shape, data + struct.pack("<f", 40 * self.width**0.5))


def _tensors(measures: Measures, source: int, target: int) -> dict[str, _Tensor]:
    one, width, inner = _Writer(measures), measures.width, measures.inner
    if measures.is_shared:
        one.embeddings("Wemb", source)
    else:
        one.embeddings("encoder_Wemb", source)
        one.embeddings("decoder_Wemb", target)
    one.floats("decoder_ff_logit_out_b", one.noise.normal(size=target) * 0.1)
    one.ranges("none")
    layers = [(f"encoder_l{number + 1}", "self") for number in range(measures.encoder_layers)]
    layers += [(f"decoder_l{number + 1}", "context") for number in range(measures.decoder_layers)]
    for name, attention in layers:
        one.layer(f"{name}_{attention}_", "qkvo", width, width)
        one.norm(f"{name}_{attention}_Wo")
        one.layer(f"{name}_ffn_", "1", width, inner)
        one.layer(f"{name}_ffn_", "2", inner, width)
        one.norm(f"{name}_ffn_ffn")
        if attention == "context":
            one.layer(f"{name}_rnn_", " ", width, width, has_bias=False)
            one.layer(f"{name}_rnn_", "f", width, width)
            one.norm(f"{name}_rnn_ffn")
    said = {
        "type": "transformer", "dec-cell": "ssru", "transformer-postprocess": "dan", "transformer-heads": 8,
        "enc-depth": measures.encoder_layers, "dec-depth": measures.decoder_layers,
    }  # fmt: skip
    text = "".join(f"{name}: {value}\n" for name, value in said.items()).encode()
    return {**one.made, "special:model.yml": (0x101, (len(text),), text)}


def _file(tensors: dict[str, _Tensor]) -> bytes:
    parts = [struct.pack("<QQ", 1, len(tensors))]
    data = [content + bytes(-len(content) % 256) for _, _, content in tensors.values()]
    for (name, (kind, shape, _)), content in zip(tensors.items(), data, strict=True):
        parts.append(struct.pack("<QQQQ", len(name) + 1, kind, len(shape), len(content)))
    parts += [name.encode() + b"\0" for name in tensors]
    parts += [struct.pack(f"<{len(shape)}i", *shape) for _, shape, _ in tensors.values()]
    begun = sum(map(len, parts)) + 8
    parts.append(struct.pack("<Q", -begun % 256) + bytes(-begun % 256))
    return b"".join(parts + data)
