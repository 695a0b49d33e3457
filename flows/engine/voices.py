"""The model of voices and the known voices that the settings name."""

from collections.abc import Callable
from os.path import expanduser
from pathlib import Path

from connectors.models.voices import fetch_voices
from connectors.speakers import read_speakers
from operators.errors import UsageError
from operators.notifications import Progress, silent
from operators.voices.onnx_file import OnnxEncoder, check_onnx
from operators.voices.protocol import Encoder, Samples
from operators.voices.settings import SpeakersSettings


def check_speakers(settings: SpeakersSettings) -> None:
    """Raise `SurtitleError` for settings that cannot be used, before a model is loaded."""
    if settings.voices == 1 and (settings.names or settings.model):
        raise UsageError(
            "--speakers 1 calls the only speaker like the room or the recording; leave out speakers.names "
            "(--speaker-names) and speakers.model, or the 1"
        )
    if settings.model is not None:
        check_onnx(_path(settings.model))


def make_encoder(
    settings: SpeakersSettings, default: Callable[[Path], Encoder], progress: Progress = silent
) -> Encoder:
    """The encoder of the model that is named, or the ``default`` one of the weights in a file.

    These are downloaded if they are not here; raises the errors of `fetch_voices` and `OnnxEncoder`.
    """
    return own_encoder(settings) or default(fetch_voices(progress))


def own_encoder(settings: SpeakersSettings) -> OnnxEncoder | None:
    """The encoder of the model that is named, if one is."""
    return None if settings.model is None else OnnxEncoder(_path(settings.model))


def known_voices(settings: SpeakersSettings) -> list[tuple[str, Samples]]:
    """The names of voices that are known before the run, and the sound of each. Raises `InputError`."""
    return [] if settings.names is None else read_speakers(_path(settings.names))


def _path(name: str) -> Path:
    return Path(expanduser(name))  # noqa: PTH111 - that of `Path` raises for a user that there is not
