"""One stream's recogniser: partials as the text grows; a segment ends at each of the model's endpoints."""

from collections.abc import Sequence, Set
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from operators.errors import InputError
from operators.events import SAMPLE_RATE, AudioChunk
from operators.recognizers.part import MIN_GAP_S, USUAL
from operators.recognizers.protocol import Change, Hypothesis, Recognizer
from operators.recognizers.segments import Segments, Word
from operators.recognizers.sherpa.model import HAN, load

# The sound goes to the engine in pieces of this length, whatever the length of the chunks.
_PIECE_S = 0.1
# Duration assumed for a token; its reported time is early in its sound.
_TOKEN_S = 0.2


class SherpaRecognizer(Recognizer):
    """Recognises one stream. Models are loaded once per process, and shared.

    Raises `InputError` if the folder holds no streaming model that sherpa-onnx can load.
    """

    def __init__(
        self,
        *,
        model_path: str | Path,
        update_interval_s: float = USUAL.update_interval_s,
        threads: int = 1,
    ) -> None:
        # Not resolved, because the targets of a cache's links have other names.
        self._model = load(str(Path(model_path).absolute()), threads)
        self._segments = Segments(update_interval_s, self._model.written)
        self._names = ""
        self._stream: Any = None
        self._pending = b""
        #: Time of the stream's first sample, and the end of the audio that it got.
        self._base_s = self._heard_s = 0.0

    def expect(self, words: Set[str]) -> None:
        """Add a bias towards these words; called before any sound."""
        self._names = "/".join(sorted(filter(None, map(self._model.spelt, words))))

    def part(self, change: Change) -> None:
        """See `PartsVoices`."""
        self._segments.change = change

    @override
    def accept(self, chunk: AudioChunk) -> Sequence[Hypothesis]:
        hypotheses: list[Hypothesis] = []
        expected_s = self._heard_s + len(self._pending) / (2 * SAMPLE_RATE)
        if self._stream is None or abs(chunk.start_s - expected_s) > MIN_GAP_S:
            hypotheses += self.finish()
            self._stream = self._model.stream(self._names)
            self._base_s = self._heard_s = chunk.start_s
        self._pending += chunk.pcm
        size = 2 * round(_PIECE_S * SAMPLE_RATE)
        while len(self._pending) >= size:
            piece, self._pending = self._pending[:size], self._pending[size:]
            hypotheses += self._hear(piece)
        return hypotheses

    @override
    def finish(self) -> Sequence[Hypothesis]:
        if self._stream is None:
            return []
        hypotheses = self._hear(self._pending)
        hypotheses += self._decoded(np.zeros(self._model.window, dtype=np.float32))
        hypotheses += self._segments.update(self._words(), self._heard_s, is_over=True)
        self.close()
        return hypotheses

    @override
    def close(self) -> None:
        self._stream = None
        self._pending = b""

    def _hear(self, piece: bytes) -> list[Hypothesis]:
        self._heard_s += len(piece) / (2 * SAMPLE_RATE)
        return self._decoded(np.frombuffer(piece, dtype="<i2").astype(np.float32) / np.float32(32768))

    def _decoded(self, samples: NDArray[np.float32]) -> list[Hypothesis]:
        engine, hypotheses = self._model.engine, []
        self._stream.accept_waveform(SAMPLE_RATE, samples)
        while engine.is_ready(self._stream):
            engine.decode_stream(self._stream)
            is_over = engine.is_endpoint(self._stream)
            hypotheses += self._segments.update(self._words(), self._heard_s, is_over=is_over)
            if is_over:
                engine.reset(self._stream)
        return hypotheses

    def _words(self) -> list[Word]:
        """The words of the engine's segment; a single word if its tokens are bytes instead of text."""
        result = self._result()
        tokens, times = result.tokens, [self._base_s + result.start_time + one for one in result.timestamps]
        if len(tokens) != len(times) or "".join(tokens).strip() != result.text.strip():
            begin_s, end_s = (times[0], times[-1] + _TOKEN_S) if times else (self._heard_s, self._heard_s)
            return [Word(result.text, begin_s, end_s)] if result.text.strip() else []
        begins = [at for at, token in enumerate(tokens) if not at or token[:1].isspace() or HAN.match(token)]
        return [
            Word("".join(tokens[at:end]), times[at], min([times[end - 1] + _TOKEN_S, *times[end : end + 1]]))
            for at, end in pairwise([*begins, len(tokens)])
        ]

    def _result(self) -> Any:
        try:
            return self._model.engine.get_result_all(self._stream)
        except (IndexError, UnicodeDecodeError) as error:
            raise InputError(
                f"{self._model.folder}: the model writes a token that is not in tokens.txt; use the file "
                "that was published with it"
            ) from error
