"""A Whisper model in ONNX Runtime, and the decoder's KV cache over one window."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from operators.decoding.forward import Logits
from operators.errors import InputError, UsageError
from operators.events import SAMPLE_RATE
from operators.recognizers.voice import Samples
from operators.recognizers.whisper.folder import WhisperFolder, read_folder
from operators.recognizers.whisper.log_mel import HOP, log_mel
from operators.recognizers.whisper.size import POSITIONS
from operators.trouble import ModelTrouble, Trouble

#: Longest window, silence after the speech included: what the model was trained on.
LONGEST_S = 30.0
# Samples of one encoder position.
_STRIDE = 2 * HOP
# Silence that is encoded after the speech, and positions of silence that are encoded once and for all.
_PAUSE_S = 1.0
_APPENDED = 250
# What silence is in features whose loudest sound is that of speech.
_SILENCE = -0.6
_MASKED = np.float32(-1e9)

_Tensors = dict[str, Any]


class WhisperModel:
    """One model's two sessions, shared by all streams of the process.

    :arg folder: A Whisper model in CTranslate2's format.
    :arg threads: Threads of a pass.
    :arg is_exact: Compute in float32 instead of in 8 bits.
    :raises InputError: when the folder holds no such model.
    :raises UsageError: when the package that puts its graphs together is not installed.
    """

    def __init__(self, folder: Path, threads: int, *, is_exact: bool = False) -> None:
        self.files = read_folder(folder)
        encoder, decoder = _graphs(self.files, is_exact=is_exact)
        self._encoder = _session(encoder, folder, threads)
        self._decoder = _session(decoder, folder, threads)
        self._crossed = [one.name for one in self._encoder.get_outputs() if one.name != "states"]
        self._made = [one.name for one in self._decoder.get_outputs()]
        # One pass at a time: two at once would fight for the cores.
        self._lock = Lock()
        try:
            self._silence = self._encode_silence()
        except ModelTrouble as trouble:
            raise InputError(f"{folder}: the Whisper model cannot be run: {trouble}") from trouble

    def encode(self, samples: Samples, prompt: Sequence[int]) -> "Encoded":
        """The encoder's states of a window: float32 samples of shape (n,) at 16 kHz, 29 s at most.

        ``prompt`` is what the decoder is asked with. Raises `ModelTrouble` where ONNX Runtime fails.

        The model was trained on 30 s, and expects them. Encoding silence after the speech each time would
        take most of the time that an update has; so a second of it is encoded together with the speech, and
        the states of some more, encoded once, are appended.
        """
        samples = samples[: round((LONGEST_S - _PAUSE_S) * SAMPLE_RATE)]
        length = len(samples) + round(_PAUSE_S * SAMPLE_RATE)
        padded = np.zeros(-(-length // _STRIDE) * _STRIDE, np.float32)
        padded[: len(samples)] = samples
        features = log_mel(padded, self.files.size.bands)
        position = features.shape[1] // 2
        appended = self._silence[position : position + _APPENDED]
        tensors = self._run(
            self._encoder, self._crossed, {"features": _tensor(features[None]), "appended": _tensor(appended)}
        )
        return Encoded(self, tensors, prompt, len(samples) / SAMPLE_RATE)

    def decode(self, fed: _Tensors) -> _Tensors:
        """One pass of the decoder."""
        return self._run(self._decoder, self._made, fed)

    def _encode_silence(self) -> NDArray[np.float32]:
        features = np.full((1, self.files.size.bands, 2 * POSITIONS), _SILENCE, np.float32)
        nothing = np.zeros((0, self.files.size.width), np.float32)
        made = self._run(
            self._encoder, ["states"], {"features": _tensor(features), "appended": _tensor(nothing)}
        )
        states: NDArray[np.float32] = made["states"].numpy()
        return states

    def _run(self, session: Any, names: list[str], fed: _Tensors) -> _Tensors:
        try:
            with self._lock:
                return dict(zip(names, session.run_with_ort_values(names, fed), strict=True))
        except Exception as error:  # the library's classes share no other base
            raise ModelTrouble(Trouble.FAILED_PASS, f"the speech model failed: {error}") from error


class Encoded:
    """A window's encoder states, and the decoder's KV cache over them: a `KvCache`.

    Logits are those that Whisper's own greedy decoding chooses from: what it never takes is at minus
    infinity.
    """

    def __init__(
        self, model: WhisperModel, crossed: _Tensors, prompt: Sequence[int], speech_s: float
    ) -> None:
        self.prompt = prompt
        self.vocabulary = model.files.vocabulary
        #: Seconds of audio that were encoded, without the silence after them.
        self.speech_s = speech_s
        self._model = model
        self._files = model.files
        self._crossed = crossed
        self._held = 0
        self._cache: _Tensors = {}
        self.cut(0)
        #: Probability that nobody speaks, from the first pass on.
        self.no_speech = 0.0

    def again(self) -> "Encoded":
        """The same states, with nothing in the cache."""
        return Encoded(self._model, self._crossed, self.prompt, self.speech_s)

    def cut(self, length: int) -> None:
        """Forget every position from ``length`` on."""
        size = self._files.size
        if length == 0:
            for layer in range(size.decoder_layers):
                self._cache[f"held_key_{layer}"] = _tensor(
                    np.zeros((size.heads, size.head_width, 0), np.float32)
                )
                self._cache[f"held_value_{layer}"] = _tensor(
                    np.zeros((size.heads, 0, size.head_width), np.float32)
                )
        elif length < self._held:
            for name, tensor in self._cache.items():
                values = tensor.numpy()
                self._cache[name] = _tensor(values[..., :length] if "key" in name else values[:, :length])
        self._held = length

    def evaluate(self, tokens: Sequence[int], start: int, rows: int) -> Logits:
        """Append ``tokens`` at ``start``; the logits of the last ``rows`` of them."""
        assert start == self._held, "a pass goes on where the cache ends"
        count = len(tokens)
        # The first row of all says whether somebody speaks.
        asked = count if start == 0 else rows
        made = self._model.decode(
            {
                "tokens": _tensor(np.array(tokens, np.int64)),
                "places": _tensor(np.arange(start, start + count)),
                "mask": _tensor(np.triu(np.full((count, start + count), _MASKED), start + 1)),
                "first_row": _tensor(np.array([count - asked])),
                **self._cache,
                **self._crossed,
            }
        )
        logits: Logits = made.pop("logits").numpy()
        self._cache = {name.replace("all_", "held_"): tensor for name, tensor in made.items()}
        self._held = start + count
        if start == 0 and self.vocabulary.no_speech is not None:
            self.no_speech = _softmax(logits[0], self.vocabulary.no_speech)
        logits = logits[asked - rows :]
        logits[:, self._files.suppressed] = -np.inf
        first = len(self.prompt) - 1 - (start + count - rows)
        if 0 <= first < rows:
            logits[first, self._files.suppressed_first] = -np.inf
        return logits


@cache
def load_model(folder: str, threads: int) -> WhisperModel:
    """The process's model of a folder. Raises `InputError` when the folder does not hold one."""
    return WhisperModel(Path(folder), threads)


def _softmax(row: NDArray[np.float32], token: int) -> float:
    top = row.max()
    return float(np.exp(row[token] - top) / np.exp(row - top).sum())


def _tensor(values: NDArray[Any]) -> Any:
    return onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(values))


def _graphs(files: WhisperFolder, *, is_exact: bool) -> tuple[bytes, bytes]:
    try:
        from operators.recognizers.whisper.graphs import decoder_graph, encoder_graph
        from operators.recognizers.whisper.onnx_graph import Quantized
    except ImportError as error:
        raise UsageError(
            "the recogniser 'whisper' is not installed; install it with: pip install 'surtitle[whisper]'"
        ) from error
    rows, blocks = (Quantized.NOT,) * 2 if is_exact else (Quantized.ROWS, Quantized.BLOCKS)
    try:
        return (
            encoder_graph(files.weights, files.size, rows),
            decoder_graph(files.weights, files.size, blocks),
        )
    except ValueError as error:
        raise InputError(
            f"{files.path}: its weights fit together to no Whisper model that can be run ({error})"
        ) from error


def _session(graph: bytes, folder: Path, threads: int) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Threads that spin while they wait take the cores from the translation model.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise InputError(f"{folder}: the Whisper model cannot be loaded: {error}") from error
