"""The settings of who speaks."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

#: The most voices of a stream that can be asked for.
MAX_VOICES = 100


class SpeakersSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Who speaks: voices are told apart, or each stream has one speaker."""

    #: "any" number of voices are told apart, or at most so many; 1: each stream has one speaker, who is
    #: called like its room or recording. Absent: not told, unless ``names`` or ``model`` is set.
    voices: Literal["any"] | Annotated[int, Meta(ge=1, le=MAX_VOICES)] | None = None
    #: File of voices that are known, one a line: a name, a tab, and a recording of some ten seconds.
    names: str | None = None
    #: Model of voices: an ONNX file as sherpa-onnx publishes them (wespeaker, 3D-Speaker, TitaNet); absent
    #: for that of `surtitle models get voices`.
    model: str | None = None

    @property
    def tells_apart(self) -> bool:
        """Whether voices are told apart by their sound."""
        return self.voices != 1 and (self.voices, self.names, self.model) != (None, None, None)

    @property
    def most(self) -> int:
        """The most voices of a stream."""
        return self.voices if isinstance(self.voices, int) else MAX_VOICES
