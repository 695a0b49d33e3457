"""Recognisers as parts: their settings, checks and properties."""

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

from operators.decoding.acceptance import BIAS
from operators.errors import InputError, UsageError, is_folder
from operators.extras import Extra
from operators.languages import Language, is_language, language
from operators.notifications import RecognizerChanged, SpeechCut
from operators.parts import Parts
from operators.recognizers.protocol import Recognizer

#: Maximum seconds between two hypotheses of an utterance.
MAX_INTERVAL_S = 10.0
#: A larger jump in the audio is a gap, not rounding.
MIN_GAP_S = 0.05
#: The languages that may be spoken, the usual one first; empty if the recogniser is to find any.
Spoken = tuple[Language, ...]
#: Called with a recogniser's events, on any thread.
Observe = Callable[[RecognizerChanged | SpeechCut], None]


class RecognizerSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The speech recogniser."""

    #: The speech engine: moonshine, whisper, sherpa, vosk, azure, or MODULE:NAME for one of your own; auto:
    #: moonshine for English, whisper for other languages and to detect which one is spoken.
    engine: str = "auto"
    #: The speech model: a name of `surtitle models --speech`, or a folder; absent for moonshine's English
    #: model or Whisper base.
    model: str | None = None
    #: Seconds of speech between two hypotheses.
    update_interval_s: Annotated[float, Meta(ge=0.1, le=MAX_INTERVAL_S)] = 0.5
    #: Beta of moonshine's and whisper's partials: how strongly they are biased towards the previous
    #: hypothesis. Finals are not biased.
    bias: Annotated[float, Meta(ge=0.0, le=1.0)] = BIAS
    #: Minimum probability of the last word that moonshine and whisper show of an unfinished segment.
    certainty: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.7
    #: Threads of moonshine and whisper; absent for the number of cores, at most two.
    threads: Annotated[int, Meta(ge=1, le=1024)] | None = None
    #: Settings for a recogniser of another package, which checks them.
    plugin: dict[str, Any] = {}

    @property
    def own(self) -> Any:
        """The table of the engine: ``[recognize.ENGINE]``, or ``[recognize.plugin]`` of another package's."""
        return getattr(self, self.engine, self.plugin)

    @property
    def usual_threads(self) -> int:
        return self.threads or min(2, os.cpu_count() or 1)


USUAL = RecognizerSettings()


def unobserved(_event: RecognizerChanged | SpeechCut) -> None:
    """Ignore the event."""


class RecognizerPart(NamedTuple):
    """A recogniser that ``--recognizer NAME`` names."""

    name: str
    #: Makes it for one stream, and imports its dependencies. A process loads a model once.
    make: Callable[[RecognizerSettings, Spoken, Observe], Recognizer]
    #: Checks the settings before a model is loaded; the last argument is whether sound comes in real time.
    check: Callable[[RecognizerSettings, Spoken, bool], None] = lambda *_arguments: None
    extra: Extra | None = None
    #: Whether it decodes growing windows, so that ``bench`` can measure it.
    is_windowed: bool = False
    #: Whether rooms may be in different languages.
    is_multilingual: bool = False
    #: Whether it detects which of several languages is spoken; other recognisers get exactly one.
    finds_language: bool = False


RECOGNIZERS = Parts(
    RecognizerPart, what="a recogniser", package="operators.recognizers", group="surtitle.recognizers",
    usual=USUAL.engine,
)  # fmt: skip


# Moonshine's ``tiny-ko``, ``moonshine-tiny-ko``; Vosk's ``vosk-model-small-de-0.15``; zipformers' ``sherpa-
# onnx-streaming-zipformer-fr-2023-04-14``, ``…-de-kroko-2025-08-06``. Bilingual ``…-zh-en-…`` must not match.
_NAME = re.compile(
    r"(?:^|[-_])(?:(?:tiny|base|kroko|vosk-model(?:-small|-big)?)-([a-z]{2})(?:[-_]|$)"
    r"|zipformer(?:-small)?-([a-z]{2})(?:-kroko)?(?:-\d|$))",
    re.IGNORECASE,
)
# Vosk uses the code of the country for these languages.
_COUNTRIES = {"cn": "zh", "vn": "vi"}


def named_model(settings: RecognizerSettings) -> Path:
    """The folder of the model. Raises `UsageError` if the settings name none."""
    if settings.model is None:
        raise UsageError(
            f"{settings.engine} comes without a model: name the folder of one with --speech-model"
        )
    return Path(settings.model)


def check_folder(folder: Path, files: Iterable[str], what: str) -> None:
    """Raise `InputError` if there is no such folder, or if files of ``what`` cannot be read in it."""
    if not is_folder(folder):
        raise InputError(f"{folder}: there is no such folder; name the folder of {what}")
    missing = [name for name in files if not os.access(folder / name, os.R_OK)]
    if missing:
        raise InputError(f"{folder}: it holds no {', '.join(missing)}; name the folder of {what}")


def check_published(settings: RecognizerSettings, spoken: Spoken, _is_live: bool) -> None:
    """Raise `UsageError` if no model is named, or if its folder's name has the code of another language."""
    folder = named_model(settings)
    name = _NAME.search(folder.name)
    code = "" if name is None else (name[1] or name[2]).lower()
    code = _COUNTRIES.get(code, code)
    if is_language(code) and (named := language(code)) != spoken[0].general:
        raise UsageError(
            f"{folder}: by its name, this model recognises {named.name}, but the spoken language is "
            f"{spoken[0].name}; name another one with --speech-model, or the language with --from"
        )
