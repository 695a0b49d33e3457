"""A part of a run, its recogniser or a sink: what it says of itself, found out in a child process."""

from pathlib import Path
from typing import Any, NamedTuple, Self

import msgspec

from flows.doctor.child import in_child
from flows.doctor.finding import Finding, from_error
from flows.settings.loading import load_settings
from flows.settings.schema import Settings
from operators.errors import SurtitleError
from operators.languages import language
from operators.recognizers.part import RECOGNIZERS, unobserved

_RECOGNIZER = "recogniser"


class PartFacts(msgspec.Struct, frozen=True):
    """What a part says of itself."""

    #: Why it cannot be used as the settings say; None if it can.
    error: str | None = None
    sentence: str = ""

    @classmethod
    def look(cls, subject: str, given: "Given", limit_s: float) -> Self:
        """Ask a part in a child process."""
        file, overrides = str(given.file or ""), msgspec.json.encode(given.overrides).decode()
        failed = f"the process that loaded the {subject} {{}}; install surtitle again"
        return in_child(cls, "part.examine", subject, file, overrides, limit_s=limit_s, failed=failed)

    def judge(self) -> list[Finding]:
        """Whether captions can be made with it."""
        if self.error is not None:
            return [from_error(self.error, is_problem=True)]
        return [Finding.ok(self.sentence)]


class Given(NamedTuple):
    """The settings of a run as they were given, for a child process to load."""

    file: Path | None
    #: Options, by stage and key.
    overrides: dict[str, dict[str, Any]]

    def load(self) -> Settings:
        """The settings; raises the errors of `load_settings`."""
        return load_settings(self.file, self.overrides, takes_several=True)


def subjects(settings: Settings) -> list[str]:
    """The parts of a run that are examined: its recogniser, and the sinks that have something to say."""
    return [_RECOGNIZER, *(one.name for one, _file in settings.output.files() if one.examine)]


def examine(subject: str, file: str, overrides: str) -> PartFacts:
    """Ask a part, in the child process."""
    given = Given(Path(file) if file else None, msgspec.json.decode(overrides))
    try:
        return PartFacts(sentence=sentence(subject, given.load()))
    except SurtitleError as error:
        return PartFacts(error=str(error))


def sentence(subject: str, settings: Settings) -> str:
    """What a part says of itself, in the child process. Raises `SurtitleError` if it cannot be used."""
    # Imported here: importing the engine may end the process.
    from flows.engine.recognition import check_recognizer, make_recognizer

    if subject != _RECOGNIZER:
        asked = [(one.examine, path) for one, path in settings.output.files() if one.name == subject]
        return "; ".join(said(path) for said, path in asked if said)
    wanted, spoken = settings.recognize, language(settings.translate.source)
    check_recognizer(wanted, spoken=spoken.name, is_live=True)
    part = RECOGNIZERS[wanted.engine]
    if part.examine:
        return part.examine(wanted, spoken)
    make_recognizer(wanted, spoken=spoken.name, observe=unobserved).close()
    return f"{part.name.capitalize()} can be loaded; it recognises {spoken.name}"
