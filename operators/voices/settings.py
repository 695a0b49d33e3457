"""The settings of speaker diarization."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

#: Upper limit of the setting ``voices``.
MAX_VOICES = 100


class SpeakersSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Who speaks: voices are distinguished by their sound, or each stream has one speaker."""

    #: Number of voices to distinguish per stream: a maximum, or "any". 1: each stream has one speaker, with
    #: the name of its room or recording. Absent: no speakers, unless ``names`` or ``model`` is set.
    voices: Literal["any"] | Annotated[int, Meta(ge=1, le=MAX_VOICES)] | None = None
    #: File of known voices, one per line: a name, a tab, and the path of a recording of some ten seconds.
    names: str | None = None
    #: Model of voices: an ONNX file as sherpa-onnx publishes them (wespeaker, 3D-Speaker, TitaNet); absent
    #: for the model of `surtitle models get voices`.
    model: str | None = None

    @property
    def tells_apart(self) -> bool:
        """Whether voices are distinguished by their sound."""
        return self.voices != 1 and (self.voices, self.names, self.model) != (None, None, None)

    @property
    def most(self) -> int:
        """Maximum number of voices of a stream."""
        return self.voices if isinstance(self.voices, int) else MAX_VOICES
