"""What says where English sentences end when the rules do not know: the encoder of a translation model."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from connectors.models.firefox import packaged_firefox
from operators.languages import Direction
from operators.sentences.probe import ENGLISH_ENCODER, Encoder, english_probe
from operators.sentences.seam import Judge
from operators.seq2seq.firefox import FirefoxModel, read_firefox


def open_judge(models: Iterable[object]) -> Judge | None:
    """The judge of English sentences, on the encoder that a probe was trained for.

    Args:
        models: Those that translate. If one of them has that encoder, it is not loaded once more.

    Returns:
        None where it is not installed: rules alone then say where sentences end.

    Raises:
        InputError: the installed one is damaged.
    """
    model = next((one for one in models if isinstance(one, FirefoxModel) and _is_known(one.files[0])), None)
    if model is None:
        packaged = packaged_firefox(Direction.of("English", "Portuguese"))
        if packaged is None or not _is_known((folder := read_firefox(packaged)).weights):
            return None
        model = FirefoxModel(folder, 1)
    return english_probe(encoder(model))


def encoder(model: FirefoxModel) -> Encoder:
    """The encoder of a model, as a probe needs it."""
    end = model.ends[0]
    return Encoder(model.vocabulary.source.tokenize, lambda tokens: model.read([*tokens, end]).states)


def _is_known(weights: Path) -> bool:
    return hashlib.sha256(weights.read_bytes()).hexdigest() == ENGLISH_ENCODER
