"""A model of voices in an ONNX file, as sherpa-onnx publishes wespeaker, 3D-Speaker and NeMo (TitaNet).

sherpa-onnx is an extra, imported when the model is loaded.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

from operators.errors import InputError, is_visible_file, missing, unreadable
from operators.events import SAMPLE_RATE
from operators.extras import require_extra
from operators.recognizers.sherpa import part
from operators.trying import FailedTrialError, tried
from operators.voices.protocol import Embedding, Samples


class OnnxEncoder:
    """An `Encoder` on one thread. Thread-safe.

    Raises:
        UsageError: sherpa-onnx is not installed.
        InputError: the file cannot be read, or does not contain such a model.
    """

    def __init__(self, path: Path) -> None:
        check_onnx(path)
        try:
            #: Size of an embedding.
            self.size = tried("operators.voices.onnx_file:try_model", path)
        except FailedTrialError as error:
            raise InputError(
                f"{path}: the model of voices cannot be loaded ({error}); name an ONNX file of those that "
                "sherpa-onnx publishes for speaker recognition"
            ) from None
        self._extractor = _extractor(path)

    def embed(self, samples: Samples) -> Embedding:
        """The embedding, of length 1; zeros if the sound is too short or the model's output is zero."""
        made = _embedding(self._extractor, samples)
        return made if len(made) else np.zeros(self.size, dtype=np.float32)

    def threshold(self, seconds: float) -> float:
        """The usual threshold of such models, lower for short stretches; see `Encoder`."""
        return float(np.interp(seconds, (1.0, 4.0), (0.25, 0.42)))


def check_onnx(path: Path) -> None:
    """Raise the errors that can be detected without loading the model."""
    require_extra(part.extra, f"the model of voices {path.name}")
    if not is_visible_file(path):
        raise InputError(f"{path}: {missing(path)}")
    try:
        path.open("rb").close()
    except OSError as error:
        raise InputError(unreadable(path, error)) from None


def _extractor(path: Path) -> Any:
    import sherpa_onnx

    config = sherpa_onnx.SpeakerEmbeddingExtractorConfig(model=str(path), num_threads=1)
    return sherpa_onnx.SpeakerEmbeddingExtractor(config)


def _embedding(extractor: Any, samples: Samples) -> Embedding:
    stream = extractor.create_stream()
    stream.accept_waveform(SAMPLE_RATE, samples)
    stream.input_finished()
    if not extractor.is_ready(stream):
        return np.zeros(0, dtype=np.float32)
    made = np.asarray(extractor.compute(stream), dtype=np.float32)
    length = float(np.linalg.norm(made))
    return made / length if length else made


def try_model() -> None:
    """Load the model of the command line, make an embedding of noise, and print its size."""
    noise = np.random.default_rng(0).normal(0.0, 0.1, 2 * SAMPLE_RATE).astype(np.float32)
    made = _embedding(_extractor(Path(sys.argv[1])), noise)
    if not np.isfinite(made).all() or not made.any():
        sys.exit("its embeddings are not finite, or all zero")
    print(len(made))
