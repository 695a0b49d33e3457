"""The model of voices and the known voices that the settings name."""

from collections.abc import Callable
from os.path import expanduser
from pathlib import Path

from connectors.models.voices import fetch_voices
from connectors.speakers import read_speakers
from operators.errors import UsageError
from operators.notifications import Progress, silent
from operators.voices.listening import MakeListener, OnlySpeaker, VoiceListener, embedded
from operators.voices.onnx_file import OnnxEncoder, check_onnx
from operators.voices.protocol import Encoder, Samples
from operators.voices.settings import SpeakersSettings


def check_speakers(settings: SpeakersSettings) -> None:
    """Raise `SurtitleError` for settings that cannot be used, before a model is loaded."""
    if settings.voices == 1 and (settings.names or settings.model):
        raise UsageError(
            "--speakers 1 names the only speaker after the room or the recording; leave out speakers.names "
            "(--speaker-names) and speakers.model, or the 1"
        )
    if settings.model is not None:
        check_onnx(_path(settings.model))


def make_listeners(
    settings: SpeakersSettings, only: Callable[[str], str], progress: Progress = silent
) -> MakeListener | None:
    """Makes the speaker identification of each stream; None if it is off.

    The model is loaded, and downloaded if necessary. Raises the errors of `fetch_voices`, `OnnxEncoder` and
    `known_voices`.

    Args:
        only: Returns the name of a stream's only speaker.
    """
    if settings.voices == 1:
        return lambda stream, state: OnlySpeaker(state.last or only(stream))
    if not settings.tells_apart:
        return None
    encoder = own_encoder(settings) or _usual(progress)
    known = [(name, embedded(encoder, sound)) for name, sound in known_voices(settings)]
    return lambda _stream, state: VoiceListener(encoder, state, settings.most, known)


def _usual(progress: Progress) -> Encoder:
    from operators.voices.ge2e import Ge2eEncoder  # slow: it imports what builds its graph

    return Ge2eEncoder(fetch_voices(progress))


def own_encoder(settings: SpeakersSettings) -> OnnxEncoder | None:
    """The encoder of the named model; None if none is named."""
    return None if settings.model is None else OnnxEncoder(_path(settings.model))


def known_voices(settings: SpeakersSettings) -> list[tuple[str, Samples]]:
    """The names of voices that are known before the run, and the sound of each. Raises `InputError`."""
    return [] if settings.names is None else read_speakers(_path(settings.names))


def _path(name: str) -> Path:
    return Path(expanduser(name))  # noqa: PTH111 - `Path.expanduser` raises for an unknown user
