"""The language of the captions, where neither the command nor a settings file names one."""

import sys
from contextlib import suppress
from pathlib import Path

from connectors.machine.language import system_language
from connectors.messages import log_event
from connectors.models.resolve import can_translate
from flows.pages.reading import language_of
from flows.settings.schema import Settings
from flows.settings.translate import UNNAMED
from operators.errors import InputError, UsageError
from operators.events import Caption, Translation
from operators.languages import ENGLISH, Direction, Language, language


def suggested_language(settings: Settings) -> str:
    """The system's language if the model can translate into it; else one whose model comes with surtitle."""
    spoken, own = language(settings.translate.source), system_language()
    if own not in (None, spoken) and can_translate(settings.translate.model, Direction(spoken, own)):
        return own.name
    return "Portuguese" if spoken == ENGLISH else "English"


def choose_language(settings: Settings) -> str:
    """The language that is replayed, or the system's; where that is spoken, what is typed at the terminal.

    Raises `UsageError` where nobody can be asked.
    """
    if (replayed := _replayed(settings)) is not None:
        return replayed.name
    suggestion, own = suggested_language(settings), system_language()
    if own is not None and own.name == suggestion:
        log_event(
            "language_chosen", f"captions in {suggestion}, your system's language; --to chooses another"
        )
        return suggestion
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(UNNAMED)
    while True:
        typed = _typed(f"Captions in which language? (Enter: {suggestion}) ") or suggestion
        try:
            directions = [Direction.of(settings.translate.source, one) for one in typed.split(",")]
        except UsageError as error:
            print(error, file=sys.stderr)
            continue
        unknown = [
            one for one in directions if one.translates and not can_translate(settings.translate.model, one)
        ]
        if not unknown:
            return typed
        print(f"the model does not translate {unknown[0]}; choose another language", file=sys.stderr)


def _replayed(settings: Settings) -> Language | None:
    """The language of translations or captions that are replayed, if they tell."""
    for path, kind in ((settings.input.translations, Translation), (settings.input.captions, Caption)):
        if path is not None:
            # What is wrong with the first line is said when all are read.
            with suppress(InputError):
                return language_of(Path(path), kind)
    return None


def _typed(question: str) -> str:
    """What is typed after a question. Raises `UsageError` at the end of input."""
    try:
        print(question, end="", file=sys.stderr, flush=True)
        line = sys.stdin.buffer.readline()
    except KeyboardInterrupt:
        print(file=sys.stderr)
        raise
    if not line:
        print(file=sys.stderr)
        raise UsageError(UNNAMED)
    return line.decode(errors="replace").strip()
