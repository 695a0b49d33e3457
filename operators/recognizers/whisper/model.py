"""A Whisper model in ONNX Runtime, and its features: log-mel spectrograms (Radford et al. 2022, section 2.2).

Windows of 25 ms every 10 ms, mel bands on Slaney's scale, the logarithm to base 10 clipped to 8 below its
maximum, shifted and scaled to about -1 to 1. `Encoded` holds the states of one window.
"""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from operators.decoding.forward import Logits
from operators.errors import InputError
from operators.events import SAMPLE_RATE
from operators.model_errors import ModelError
from operators.models.onnx_graphs import Built, OnnxGraph, own_thread
from operators.recognizers.whisper.folder import POSITIONS, WhisperFolder, read_folder
from operators.recognizers.whisper.weights import Weights
from operators.recognizers.windowed import Samples

#: ONNX Runtime's tensors, by name.
Tensors = dict[str, Any]

_MASKED = np.float32(-1e9)


class Encoded:
    """A window's encoder states and the decoder's KV cache over them: a `KvCache`.

    Logits are those from which Whisper's own greedy decoding chooses: tokens that it never takes have minus
    infinity.

    Args:
        decode: Runs one pass of the decoder.
        files: The contents of the model's folder.
        crossed: Keys and values of the states for the decoder's cross-attention.
        prompt: The tokens before a transcript.
        speech_s: Seconds of encoded audio, without the silence after it.
    """

    def __init__(
        self,
        decode: Callable[[Tensors], Tensors],
        files: WhisperFolder,
        crossed: Tensors,
        prompt: Sequence[int],
        speech_s: float,
    ) -> None:
        self._decode = decode
        self._files = files
        self._crossed = crossed
        self.vocabulary = files.vocabulary
        self.prompt = list(prompt)
        self.speech_s = speech_s
        self._held = 0
        self._cache: Tensors = {}
        self.cut(0)
        #: The result of a pass over the prompt alone: the cache, and the row of logits.
        self._prompted: tuple[Tensors, Logits] | None = None
        #: Probability that nobody speaks, from the first pass on.
        self.no_speech = 0.0

    def again(self) -> "Encoded":
        """The same states with an empty cache."""
        return Encoded(self._decode, self._files, self._crossed, self.prompt, self.speech_s)

    def cut(self, length: int) -> int:
        """Drop every position from ``length`` on; returns how many are left."""
        size = self._files.size
        if length == 0:
            keys = tensor(np.zeros((size.heads, size.head_width, 0), np.float32))
            values = tensor(np.zeros((size.heads, 0, size.head_width), np.float32))
            for layer in range(size.decoder_layers):
                self._cache[f"held_key_{layer}"], self._cache[f"held_value_{layer}"] = keys, values
        elif length < self._held:
            for name, held in self._cache.items():
                array = held.numpy()
                self._cache[name] = tensor(array[..., :length] if "key" in name else array[:, :length])
        self._held = length
        return length

    def evaluate(self, tokens: Sequence[int], start: int, rows: int) -> Logits:
        """Append ``tokens`` at ``start``; the logits of the last ``rows`` of them."""
        assert start == self._held, "a pass continues where the cache ends"
        if start and self._prompted and start + 1 == len(self.prompt) and list(tokens) == self.prompt[-1:]:
            # Computed again in a pass of another size, it would differ slightly.
            cache, row = self._prompted
            self._cache, self._held = dict(cache), start + 1
            return row.copy()
        logits = self._pass(tokens, start, rows)
        if start == 0 and list(tokens) == self.prompt and rows == 1:
            self._prompted = dict(self._cache), logits.copy()
        return logits

    def _pass(self, tokens: Sequence[int], start: int, rows: int) -> Logits:
        count = len(tokens)
        asked = np.arange(count - rows, count)
        if start == 0:
            # The very first row says whether somebody speaks.
            asked = np.concatenate(([0], asked))
        made = self._decode(
            {
                "tokens": tensor(np.array(tokens, np.int64)),
                "places": tensor(np.arange(start, start + count)),
                "mask": tensor(np.triu(np.full((count, start + count), _MASKED), start + 1)),
                "rows": tensor(asked),
                **self._cache,
                **self._crossed,
            }
        )
        logits: Logits = made.pop("logits").numpy()
        self._cache = {name.replace("all_", "held_"): held for name, held in made.items()}
        self._held = start + count
        if start == 0 and self.vocabulary.no_speech is not None:
            self.no_speech = _softmax(logits[0], self.vocabulary.no_speech)
        logits = logits[len(asked) - rows :]
        logits[:, self._files.suppressed] = -np.inf
        first = len(self.prompt) - 1 - (start + count - rows)
        if 0 <= first < rows:
            logits[first, self._files.suppressed_first] = -np.inf
        return logits


def tensor(values: NDArray[Any]) -> Any:
    """An array in ONNX Runtime's format, so that it is not copied each time."""
    return onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(values))


def _softmax(row: NDArray[np.float32], token: int) -> float:
    top = row.max()
    return float(np.exp(row[token] - top) / np.exp(row - top).sum())


#: Samples between two frames.
HOP = 160
_WINDOW = 400
_FLOOR = 1e-10
# Slaney's scale: linear up to 1 kHz, 15 mels; then logarithmic, 27 mels for a factor of 6.4.
_BREAK_HZ, _BREAK_MEL = 1000.0, 15.0
_LOG_STEP = np.log(6.4) / 27.0

Features = NDArray[np.float32]


def log_mel(samples: Samples, bands: int) -> Features:
    """Features of shape (bands, frames), a frame for each full 160 of the samples.

    ``samples`` are at 16 kHz, float32 of shape (n,), n at least 400.
    """
    padded = np.pad(samples, _WINDOW // 2, mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(padded, _WINDOW)[::HOP][: len(samples) // HOP]
    spectrum = np.fft.rfft(frames * _hann(), axis=1)
    power = (spectrum.real**2 + spectrum.imag**2).astype(np.float32)
    logs = np.log10(np.maximum(_filters(bands) @ power.T, _FLOOR))
    result: Features = (np.maximum(logs, logs.max() - 8.0) + 4.0) / 4.0
    return result


@cache
def _hann() -> NDArray[np.float32]:
    # The periodic window: np.hanning of one more, without its last value.
    return np.hanning(_WINDOW + 1)[:-1].astype(np.float32)


@cache
def _filters(bands: int) -> NDArray[np.float32]:
    """Triangles of equal area, shape (bands, 201): the share of each frequency in each band."""
    hz = np.fft.rfftfreq(_WINDOW, 1 / SAMPLE_RATE)
    highest = _BREAK_MEL + np.log(SAMPLE_RATE / 2 / _BREAK_HZ) / _LOG_STEP
    mels = np.linspace(0.0, highest, bands + 2)
    corners = np.where(
        mels < _BREAK_MEL,
        mels * _BREAK_HZ / _BREAK_MEL,
        _BREAK_HZ * np.exp(_LOG_STEP * (mels - _BREAK_MEL)),
    )
    below, peak, above = corners[:-2, None], corners[1:-1, None], corners[2:, None]
    rising, falling = (hz - below) / (peak - below), (above - hz) / (above - peak)
    triangles = np.maximum(0.0, np.minimum(rising, falling)) * (2.0 / (above - below))
    filters: NDArray[np.float32] = triangles.astype(np.float32)
    return filters


#: Longest window, including the silence after the speech: the model's training length.
MAX_WINDOW_S = 30.0
# Samples of one encoder position.
_STRIDE = 2 * HOP
# Seconds of silence encoded after the speech, and positions of silence that are encoded only once.
_PAUSE_S = 2.0
_APPENDED = 250
# The value of silence in features whose loudest sound is speech.
_SILENCE = -0.6


class WhisperModel:
    """One model's two sessions, shared by all streams of the process.

    Args:
        folder: A Whisper model in CTranslate2's format.
        threads: Threads of a pass.
        is_exact: Compute in float32 instead of in 8 bits.

    Raises:
        InputError: if the folder contains no such model.
    """

    def __init__(self, folder: Path, threads: int, *, is_exact: bool = False) -> None:
        self.files, weights = read_folder(folder)
        encoder, decoder = _graphs(self.files, weights, is_exact=is_exact)
        executor = own_thread()
        self._encoder = OnnxGraph(folder, threads, executor, encoder, keeps_memory=False)
        self._decoder = OnnxGraph(folder, threads, executor, decoder, keeps_memory=False)
        self._crossed = [name for name in self._encoder.outputs if name != "states"]
        try:
            self._silence = self._encode_silence()
        except ModelError as error:
            raise InputError(f"{folder}: the Whisper model cannot be run: {error}; choose another") from error

    def encode(self, samples: Samples, prompt: Sequence[int]) -> Encoded:
        """The encoder's states of a window: float32 samples of shape (n,) at 16 kHz, at most 28 s.

        ``prompt`` is the decoder's prompt. Raises `ModelError` if ONNX Runtime fails.

        The model was trained on 30 s and expects them. Encoding all of the silence after the speech would
        take most of an update's time, so two seconds of it are encoded with the speech, and the states of
        some more, encoded once, are appended.
        """
        samples = samples[: round((MAX_WINDOW_S - _PAUSE_S) * SAMPLE_RATE)]
        length = len(samples) + round(_PAUSE_S * SAMPLE_RATE)
        padded = np.zeros(-(-length // _STRIDE) * _STRIDE, np.float32)
        padded[: len(samples)] = samples
        features = log_mel(padded, self.files.size.bands)
        position = features.shape[1] // 2
        appended = self._silence[position : position + _APPENDED]
        tensors = self._encoder.run(
            {"features": tensor(features[None]), "appended": tensor(appended)}, self._crossed
        )
        return Encoded(self._decoder.run, self.files, tensors, prompt, len(samples) / SAMPLE_RATE)

    def _encode_silence(self) -> NDArray[np.float32]:
        features = np.full((1, self.files.size.bands, 2 * POSITIONS), _SILENCE, np.float32)
        nothing = np.zeros((0, self.files.size.width), np.float32)
        made = self._encoder.run({"features": tensor(features), "appended": tensor(nothing)}, ["states"])
        states: NDArray[np.float32] = made["states"].numpy()
        return states


@cache
def load_model(folder: str, threads: int) -> WhisperModel:
    """The process's model of a folder. Raises `InputError` if the folder does not contain one."""
    return WhisperModel(Path(folder), threads)


def _graphs(files: WhisperFolder, weights: Weights, *, is_exact: bool) -> tuple[Built, Built]:
    from operators.recognizers.whisper.graphs import Quantized, decoder_graph, encoder_graph

    rows, blocks = (Quantized.NOT,) * 2 if is_exact else (Quantized.ROWS, Quantized.BLOCKS)
    try:
        return (
            encoder_graph(weights, files.size, rows),
            decoder_graph(weights, files.size, blocks),
        )
    except ValueError as error:
        raise InputError(
            f"{files.path}: its weights do not form a Whisper model that can be run ({error}); fetch it again"
        ) from error
