"""Models of voices for tests: inputs, outputs and metadata of real ones, with nothing learnt.

The embedding is the mean loudness of each band, so "voices" are tones. The metadata are those that
sherpa-onnx reads in speaker-embedding-extractor-model.cc and speaker-embedding-extractor-nemo-model.cc.
"""

from pathlib import Path

import numpy as np
from onnx import TensorProto, helper

from operators.events import SAMPLE_RATE
from operators.voices.assigning import unit
from operators.voices.protocol import Embedding, Samples
from tests.tiny_zipformer import save, value

SIZE = 80
_ALL = {"language": "English", "output_dim": SIZE, "sample_rate": SAMPLE_RATE}


def voice(hertz: float, seconds: float) -> Samples:
    """The sound of a "voice": a tone and a little noise."""
    noise = np.random.default_rng(round(hertz * seconds)).normal(0.0, 0.001, round(seconds * SAMPLE_RATE))
    return (0.3 * np.sin(2 * np.pi * hertz * np.arange(len(noise)) / SAMPLE_RATE) + noise).astype(np.float32)


def write_wespeaker(file: Path, **metadata: object) -> Path:
    """Write a model as those of wespeaker and 3D-Speaker are; metadata may be others, or None for none."""
    asked = {**_ALL, "framework": "wespeaker", "normalize_samples": 1, **metadata}
    save(
        file,
        [
            helper.make_node("ReduceMean", ["feats", "axis"], ["mean"], keepdims=0),
            helper.make_node("Sub", ["mean", "quiet"], ["louder"]),
            helper.make_node("Relu", ["louder"], ["embs"]),
        ],
        [value("feats", TensorProto.FLOAT, [1, "T", SIZE])],
        [value("embs", TensorProto.FLOAT, [1, SIZE])],
        {"axis": np.array([1]), "quiet": np.array(-8, dtype=np.float32)},
        {key: one for key, one in asked.items() if one is not None},
    )
    return file


def write_nemo(file: Path) -> Path:
    """Write a model as TitaNet is: frames last, their number beside them, logits before the embedding."""
    save(
        file,
        [
            helper.make_node("ReduceMean", ["audio_signal", "axis"], ["mean"], keepdims=0),
            helper.make_node("Relu", ["mean"], ["embs"]),
            helper.make_node("Identity", ["length"], ["logits"]),
        ],
        [
            value("audio_signal", TensorProto.FLOAT, [1, SIZE, "T"]),
            value("length", TensorProto.INT64, [1]),
        ],
        [value("logits", TensorProto.INT64, [1]), value("embs", TensorProto.FLOAT, [1, SIZE])],
        {"axis": np.array([2])},
        {
            **_ALL, "framework": "nemo", "feat_dim": SIZE, "window_size_ms": 25, "window_stride_ms": 10,
            "window_type": "hann", "feature_normalize_type": "per_feature",
        },
    )  # fmt: skip
    return file


class Tones:
    """An encoder for which "voices" are tones: the loudness of 64 bands. Notes what it is given."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []

    def embed(self, samples: Samples) -> Embedding:
        self.heard.append(samples.tobytes())
        made = np.zeros(64, np.float32)
        for begin in range(0, len(samples) - 400 + 1, 400):
            spectrum = np.abs(np.fft.rfft(samples[begin : begin + 400]))[:192]
            made += spectrum.reshape(64, 3).sum(axis=1).astype(np.float32)
        return unit(made)

    def threshold(self, seconds: float) -> float:  # noqa: ARG002 - an Encoder
        return 0.7
