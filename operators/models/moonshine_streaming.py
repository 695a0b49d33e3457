"""Moonshine's streaming models (v2) in ONNX Runtime: their encoder processes each stretch of sound once.

Five graphs and ``streaming_config.json``, as in Moonshine's own library (moonshine-streaming-model.cpp). The
frontend computes features from sound and has a state; the encoder attends to a few features on both sides;
the adapter adds positions; ``cross_kv`` computes keys and values of the sound; ``decoder_kv`` is the decoder.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from operators.decoding.forward import Logits
from operators.errors import InputError
from operators.models.onnx_graphs import OnnxGraph, own_thread, read_json

_GRAPHS = ("frontend", "encoder", "adapter", "cross_kv", "decoder_kv")
#: Samples per call of the frontend, and samples per feature.
STEP, FEATURE = 1280, 320
# Number of preceding features that a layer of the encoder attends to.
_LAYER_SEES = 16

_Array = NDArray[np.float32]


class _Config(msgspec.Struct, frozen=True):
    depth: int
    nheads: int
    head_dim: int
    encoder_dim: int
    decoder_dim: int
    d_model_frontend: int
    c1: int
    total_lookahead: int


class StreamingModel:
    """One model's five sessions, shared by all streams of the process."""

    def __init__(self, folder: Path, threads: int, tokenizer: Any) -> None:
        """Load the files of ``folder``; raises `InputError` if some are missing or invalid."""
        self.tokenizer = tokenizer
        self._config = read_json(
            folder / "streaming_config.json", _Config, "the description of a streaming Moonshine model"
        )
        executor = own_thread()
        self._graphs = {
            name: OnnxGraph(_file(folder, name), threads, executor, keeps_memory=False) for name in _GRAPHS
        }

    def encode(self, samples: _Array, earlier: "Heard | None" = None) -> "StreamedWindow":
        """The encoder's states of a window: float32 samples of shape (n,) at 16 kHz, from -1 to 1.

        Args:
            samples: The window, from its beginning.
            earlier: The state of an earlier part of this window, to continue; that of another is ignored.

        Raises `ModelError` if ONNX Runtime fails.
        """
        heard = earlier if earlier and earlier.begins(samples) else self._nothing
        whole = len(samples) // STEP * STEP
        if whole > len(heard.samples):
            heard = self._hear(heard, samples[:whole])
        # The rest is processed again when more sound has followed.
        rest = np.pad(samples[whole:], (0, -len(samples) % STEP or (0 if whole else STEP)))
        ended = self._hear(heard, np.concatenate([heard.samples, rest])) if len(rest) else heard
        settled = max(0, heard.features.shape[1] - self._config.total_lookahead)
        memory = self._remember(heard.memory, ended.features)
        heard = heard._replace(memory=memory[:, : max(settled, heard.memory.shape[1])])
        made = self._graphs["cross_kv"].run({"memory": memory})
        return StreamedWindow(self, heard, {f"out_{name}": made[name] for name in ("k_cross", "v_cross")})

    @property
    def _nothing(self) -> "Heard":
        config = self._config
        state = {
            "sample_buffer": np.zeros((1, 79), np.float32),
            "sample_len": np.zeros(1, np.int64),
            "conv1_buffer": np.zeros((1, config.d_model_frontend, 4), np.float32),
            "conv2_buffer": np.zeros((1, config.c1, 4), np.float32),
            "frame_count": np.zeros(1, np.int64),
        }
        features, memory = (
            np.zeros((1, 0, one), np.float32) for one in (config.encoder_dim, config.decoder_dim)
        )
        return Heard(np.zeros(0, np.float32), state, features, memory)

    def _hear(self, heard: "Heard", samples: _Array) -> "Heard":
        """The state after ``samples``: computes the features of those that are new."""
        new = samples[len(heard.samples) :]
        made = self._graphs["frontend"].run({"audio_chunk": new[np.newaxis], **heard.state})
        state = {name: made[f"{name}_out"] for name in heard.state}
        features = np.concatenate([heard.features, made["features"]], axis=1)
        return Heard(samples, state, features, heard.memory)

    def _remember(self, memory: _Array, features: _Array) -> _Array:
        """The memory of all features; ``memory`` is the settled part, for the first ones."""
        settled = memory.shape[1]
        begin = max(0, settled - _LAYER_SEES * self._config.depth)
        encoded = self._graphs["encoder"].run({"features": features[:, begin:]})["encoded"]
        new = encoded[:, settled - begin :]
        placed = self._graphs["adapter"].run({"encoded": new, "pos_offset": np.array([settled])})
        return np.concatenate([memory, placed["memory"]], axis=1)

    def step(self, fed: dict[str, Any]) -> tuple[Logits, dict[str, Any]]:
        """A pass over tokens: logits, (tokens, vocabulary), and the keys and values up to them."""
        made = self._graphs["decoder_kv"].run(fed, ("logits", "out_k_self", "out_v_self"))
        return made["logits"][0], {name: made[f"out_{name}"] for name in ("k_self", "v_self")}

    @property
    def no_tokens(self) -> dict[str, Any]:
        """Keys and values of no tokens."""
        empty = np.zeros((self._config.depth, 1, self._config.nheads, 0, self._config.head_dim), np.float32)
        return {"k_self": empty, "v_self": empty}


class Heard(NamedTuple):
    """A window up to a multiple of `STEP`."""

    samples: _Array
    #: The state of the frontend.
    state: dict[str, Any]
    #: Shape (1, features, width).
    features: _Array
    #: The memory of the features that later sound does not change any more.
    memory: _Array

    def begins(self, samples: _Array) -> bool:
        return np.array_equal(self.samples, samples[: len(self.samples)])


class StreamedWindow:
    """The encoder's states of a window, and the decoder's KV cache over them: a `KvCache`."""

    def __init__(self, model: StreamingModel, heard: Heard, cross: dict[str, Any]) -> None:
        self.heard = heard
        self._model, self._cross = model, cross
        self._kept = model.no_tokens
        self._length = 0

    def again(self) -> "StreamedWindow":
        """The same window with nothing decoded yet."""
        return StreamedWindow(self._model, self.heard, self._cross)

    def cut(self, length: int) -> int:
        self._length = length
        return length

    def evaluate(self, tokens: Sequence[int], start: int, rows: int) -> Logits:
        assert start == self._length, "a pass continues where the cache ends"
        kept = {name: held[:, :, :, : self._length] for name, held in self._kept.items()}
        logits, self._kept = self._model.step({"token": np.array([list(tokens)]), **kept, **self._cross})
        self._length += len(tokens)
        return logits[-rows:]


def _file(folder: Path, name: str) -> Path:
    for suffix in (".ort", ".onnx"):
        if (path := folder / (name + suffix)).is_file():
            return path
    raise InputError(
        f"{folder}: it holds no {name}.ort and no {name}.onnx, which a streaming Moonshine model needs; copy "
        "it again"
    )
