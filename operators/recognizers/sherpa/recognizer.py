"""One stream's recogniser: partials as the text grows, a segment to each of the model's endpoints."""

from collections.abc import Sequence, Set
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from operators.errors import InputError
from operators.events import SAMPLE_RATE, AudioChunk
from operators.recognizers.part import MIN_GAP_S, USUAL
from operators.recognizers.protocol import Hypothesis, Recognizer
from operators.recognizers.sherpa.model import load

# The sound goes to the engine in pieces of this length, however it is cut into chunks.
_PIECE_S = 0.1
# A token's time is that at which it was written, early in its sound.
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
        # Not resolved: what a cache links to has another name.
        self._model = load(str(Path(model_path).absolute()), threads)
        self._update_interval_s = update_interval_s
        self._names = ""
        self._stream: Any = None
        self._pending = b""
        #: Time of the stream's first sample, and the end of the audio that it got.
        self._base_s = self._heard_s = 0.0
        self._segment = 0
        #: The open segment's last hypothesis, and what the model wrote for it.
        self._open: Hypothesis | None = None
        self._raw = ""

    def expect(self, words: Set[str]) -> None:
        """Lean towards these words; called before any sound."""
        self._names = "/".join(sorted(filter(None, map(self._model.spelt, words))))

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
        hypotheses += self._update(is_final=True)
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
            hypotheses += self._update(is_final=is_over)
            if is_over:
                engine.reset(self._stream)
        return hypotheses

    def _update(self, *, is_final: bool) -> list[Hypothesis]:
        """The open segment's hypothesis, if there is something to say."""
        result = self._result()
        last, raw = self._open, result.text.strip()
        if not is_final:
            is_early = last is not None and self._heard_s < last.end_s + self._update_interval_s - 1e-6
            if not raw or raw == self._raw or is_early:
                return []
        elif not raw and last is None:
            return []
        times = [self._base_s + result.start_time + time for time in result.timestamps]
        start_s = last.start_s if last else times[0] if times else self._heard_s
        # A segment's end is known with its final, and may be before what was heard for it.
        end_s = max(last.end_s if last else 0.0, times[-1] + _TOKEN_S if times else 0.0)
        end_s = min(end_s, self._heard_s) if is_final else self._heard_s
        hypothesis = Hypothesis(
            segment=self._segment,
            text=self._model.written(raw, is_final),
            is_final=is_final,
            start_s=min(start_s, end_s),
            end_s=end_s,
        )
        self._open, self._raw = (None, "") if is_final else (hypothesis, raw)
        self._segment += is_final
        return [hypothesis]

    def _result(self) -> Any:
        try:
            return self._model.engine.get_result_all(self._stream)
        except (IndexError, UnicodeDecodeError) as error:
            raise InputError(
                f"{self._model.folder}: the model writes a token that is not in tokens.txt; take the file "
                "that was published with it"
            ) from error
