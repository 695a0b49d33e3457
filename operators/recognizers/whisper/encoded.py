"""A Whisper model's encoder states of one window, and the decoder's KV cache over them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from operators.decoding.forward import Logits
from operators.recognizers.whisper.folder import WhisperFolder

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
