"""A model in the form of Firefox Translations', of a few kilobytes with random weights."""

import struct
from pathlib import Path
from typing import NamedTuple

import numpy as np
import sentencepiece

SOURCE = ["the weather in the hills is fine today", "we met on Monday at noon", "good day to you all"]
TARGET = ["das Wetter in den Bergen ist heute schön", "wir trafen uns am Montag", "„guten Tag (Berge)“"]


class Measures(NamedTuple):
    """The shape of a model."""

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
        counts = [_train(folder / f"srcvocab.{pair}.spm", SOURCE), _train(folder / f"trgvocab.{pair}.spm", TARGET)]
    tensors = _tensors(measures, counts[0], counts[1])
    (folder / f"model.{pair}.intgemm.alphas.bin").write_bytes(_file(tensors))
    return folder


def _train(path: Path, lines: list[str]) -> int:
    with path.open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_writer=file, vocab_size=64, hard_vocab_limit=False,
            model_type="char", eos_id=0, unk_id=1, bos_id=-1, minloglevel=2, normalization_rule_name="identity",
        )  # fmt: skip
    return len(sentencepiece.SentencePieceProcessor(model_file=str(path)))


_Tensor = tuple[int, tuple[int, ...], bytes]


def _tensors(measures: Measures, source: int, target: int) -> dict[str, _Tensor]:
    width, inner = measures.width, measures.inner
    noise, made = np.random.default_rng(1), dict[str, _Tensor]()

    def floats(name: str, values: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> None:
        made[name] = (0x404, (1, values.size), values.astype("<f4").tobytes())

    def matrix(name: str, rows: int, columns: int, *, is_embedding: bool = False) -> None:
        values = np.clip(np.rint(noise.normal(size=(rows, columns)) * 40), -127, 127).astype(np.int8)
        stored = values if is_embedding else values.T
        made[name] = (0x4101, (rows, columns), stored.tobytes() + struct.pack("<f", 40 * np.sqrt(width)))
        if measures.has_ranges and not is_embedding:
            floats(f"{name}_QuantMultA", np.array([127 / 6]))

    def layer(name: str, parts: str, rows: int, columns: int) -> None:
        for part in parts:
            matrix(f"{name}W{part}", rows, columns)
            floats(f"{name}b{part}", noise.normal(size=columns) * 0.1)

    def norm(name: str) -> None:
        floats(f"{name}_ln_scale", 1 + noise.normal(size=width) * 0.1)
        floats(f"{name}_ln_bias", noise.normal(size=width) * 0.1)

    for side, tokens in (("encoder", source), ("decoder", target)):
        if side == "encoder" or not measures.is_shared:
            matrix("Wemb" if measures.is_shared else f"{side}_Wemb", tokens, width, is_embedding=True)
    floats("decoder_ff_logit_out_b", noise.normal(size=target) * 0.1)
    if measures.has_ranges:
        floats("none_QuantMultA", np.array([127 / 6]))
    for side, count, attention in (
        ("encoder", measures.encoder_layers, "self"), ("decoder", measures.decoder_layers, "context"),
    ):  # fmt: skip
        for number in range(1, count + 1):
            name = f"{side}_l{number}"
            layer(f"{name}_{attention}_", "qkvo", width, width)
            norm(f"{name}_{attention}_Wo")
            layer(f"{name}_ffn_", "1", width, inner)
            layer(f"{name}_ffn_", "2", inner, width)
            norm(f"{name}_ffn_ffn")
            if side == "decoder":
                matrix(f"{name}_rnn_W", width, width)
                layer(f"{name}_rnn_", "f", width, width)
                norm(f"{name}_rnn_ffn")
    said = {
        "type": "transformer", "dec-cell": "ssru", "transformer-postprocess": "dan", "transformer-heads": 8,
        "enc-depth": measures.encoder_layers, "dec-depth": measures.decoder_layers,
    }  # fmt: skip
    text = "".join(f"{name}: {value}\n" for name, value in said.items()).encode()
    made["special:model.yml"] = (0x101, (len(text),), text)
    return made


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
