"""Chooses the language of the captions if neither the command line nor a settings file names one."""

import logging
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from connectors.machine.language import system_language
from connectors.messages import NOTICE, log_event
from flows.settings.overrides import UNNAMED
from operators.errors import InputError, UsageError
from operators.languages import ENGLISH, Direction, Language, language

if TYPE_CHECKING:
    from flows.settings.schema import Settings

#: The model if none is named.
DEFAULT = "default"


def suggested_language(spoken: Language = ENGLISH, model: str = DEFAULT) -> Language:
    """The system's language if the model translates into it; else one whose model comes with surtitle."""
    own = system_language()
    if own is not None and own != spoken and _can_translate(model, Direction(spoken, own)):
        return own
    return _usual(spoken)


def suggestion_for(settings: "Settings") -> str:
    return suggested_language(language(settings.translate.sources[0]), settings.translate.model).name


def choose_language(settings: "Settings") -> str:
    """The language of replayed events, or the system's if speech can be translated into it; else prompt.

    Raises `UsageError` if there is no terminal for the prompt.
    """
    if (replayed := _replayed(settings)) is not None:
        return replayed.name
    suggestion, own, model = suggestion_for(settings), system_language(), settings.translate.model
    if own is not None and own.name == suggestion:
        log_event(
            "language_chosen",
            f"captions in {suggestion}, your system's language; --to chooses another",
            level=NOTICE if sys.stderr.isatty() else logging.INFO,
        )
        return suggestion
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(UNNAMED)
    from msgspec.structs import replace

    while True:
        typed = _typed(f"Captions in which language? (Enter: {suggestion}) ") or suggestion
        try:
            directions = replace(settings.translate, to=typed).directions
        except UsageError as error:
            print(error, file=sys.stderr)
            continue
        unknown = [one for one in directions if one.translates and not _can_translate(model, one)]
        if not unknown:
            return typed
        print(f"the model does not translate {unknown[0]}; choose another language", file=sys.stderr)


def _usual(spoken: Language) -> Language:
    """A language whose model comes with surtitle."""
    return language("Portuguese") if spoken == ENGLISH else ENGLISH


def _can_translate(model: str, direction: Direction) -> bool:
    """Whether the model of this name translates a direction; true if it is not in the catalogue."""
    if model in (DEFAULT, "firefox"):
        from connectors.models.firefox import has_firefox

        halves = Direction(direction.source, ENGLISH), Direction(ENGLISH, direction.target)
        return all(has_firefox(half) for half in halves if half.translates)
    from connectors.models.catalog import catalog

    return model not in catalog() or catalog()[model].translates(direction)


def _replayed(settings: "Settings") -> Language | None:
    """The language of replayed translations or captions; None if there is something to translate.

    For files that do not name a language, it is the same default on every machine.
    """
    from flows.pages.reading import language_of
    from operators.events import Caption, Translation

    for path, kind in ((settings.input.translations, Translation), (settings.input.captions, Caption)):
        if path is not None:
            # An invalid first line is reported when the whole file is read.
            with suppress(InputError):
                return language_of(Path(path), kind) or _usual(language(settings.translate.sources[0]))
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
