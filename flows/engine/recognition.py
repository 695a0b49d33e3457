"""Makes the recogniser that the settings name."""

from collections.abc import Set
from pathlib import Path

from msgspec.structs import replace

from connectors.models.speech import BASE, SpeechModel, named_speech, speech_models
from operators.errors import UsageError
from operators.extras import require_extra
from operators.languages import ENGLISH
from operators.notifications import Progress, silent
from operators.recognizers.part import (
    MAX_INTERVAL_S,
    RECOGNIZERS,
    USUAL,
    Observe,
    RecognizerSettings,
    Spoken,
)
from operators.recognizers.protocol import Recognizer, TakesWords
from operators.recognizers.windowed import WindowedRecognizer


def chosen(settings: RecognizerSettings, spoken: Spoken) -> RecognizerSettings:
    """The settings with a model and, if one language is spoken, an engine in place of ``auto``.

    Raises `UsageError` for a model that is neither a name nor a folder.

    Args:
        spoken: The languages that may be spoken; none for any.
    """
    engine, model = settings.engine, settings.model
    if model is not None and engine in (USUAL.engine, *(one.engine for one in speech_models().values())):
        named = named_speech(model)
        if engine == USUAL.engine:
            engine = _engine_of(Path(model)) if named is None else named.engine
    elif engine == USUAL.engine and len(spoken) == 1:
        engine = "moonshine" if spoken == (ENGLISH,) else "whisper"
    if engine == "whisper" and settings.engine == USUAL.engine and len(spoken) != 1:
        engine = USUAL.engine
    if model is None and engine in (USUAL.engine, "whisper"):
        model = BASE
    return replace(settings, engine=engine, model=model)


def _engine_of(model: Path) -> str:
    """The engine for the files of a folder, or for a single file."""
    files = {"model.bin": "whisper", "tokens.txt": "sherpa", "am": "vosk"}
    found = (engine for name, engine in files.items() if (model / name).exists())
    return next(found, "sherpa" if model.suffix == ".data" else "moonshine")


def check_recognizer(settings: RecognizerSettings, *, spoken: Spoken, is_live: bool) -> None:
    """Raise `SurtitleError` for an unusable engine, before a model is loaded.

    Args:
        spoken: The languages that may be spoken; none for any.
        is_live: Whether sound arrives in real time.
    """
    settings = chosen(settings, spoken)
    part = RECOGNIZERS[settings.engine]
    require_extra(part.extra, f"the recogniser {part.name}")
    if len(spoken) != 1 and not part.finds_language:
        others = " or ".join(one.name for one in RECOGNIZERS.values() if one.finds_language)
        raise UsageError(
            f"{part.name} recognises one language, and --from names "
            f"{'several' if spoken else 'none'}: name one, or choose --recognizer {others}"
        )
    named = named_model(settings)
    if named is None:
        part.check(settings, spoken, is_live)
    elif wrong := [one for one in spoken if not named.recognises(one)]:
        raise UsageError(
            f"--speech-model: {named.name} does not recognise {wrong[0].name}; "
            "`surtitle models --speech` lists others"
        )
    elif len(spoken) != 1 and len(named.codes) == 1:
        raise UsageError(
            f"--speech-model: {named.name} supports one language; choose one without .en, such as {BASE}"
        )


def named_model(settings: RecognizerSettings) -> SpeechModel | None:
    """The named model in settings from `chosen`; None for a folder."""
    named = None if settings.model is None else speech_models().get(settings.model)
    engine = "whisper" if settings.engine == USUAL.engine else settings.engine
    return named if named is not None and named.engine == engine else None


def finals_of(settings: RecognizerSettings) -> RecognizerSettings:
    """Settings for a run that needs only finals: as few windows as possible."""
    if not RECOGNIZERS[settings.engine].is_windowed:
        return settings
    return replace(settings, update_interval_s=MAX_INTERVAL_S)


def make_recognizer(
    settings: RecognizerSettings,
    *,
    spoken: Spoken,
    observe: Observe,
    words: Set[str] = frozenset(),
    is_live: bool = False,
    progress: Progress = silent,
) -> Recognizer:
    """A recogniser for one stream.

    Args:
        spoken: The languages that may be spoken; none for any.
        observe: Called with the recogniser's events, on any thread.
        words: Words that get a bias, if the recogniser supports that.
        is_live: Whether sound arrives in real time; then hypotheses must not lag.
        progress: Called while a model is downloaded.
    """
    settings = chosen(settings, spoken)
    if (named := named_model(settings)) is not None:
        settings = replace(settings, model=str(named.fetch(progress)))
    made = RECOGNIZERS[settings.engine].make(settings, spoken, observe)
    if words and isinstance(made, TakesWords):
        made.expect(words)
    if is_live and isinstance(made, WindowedRecognizer):
        made.transcriber.keep_up()
    return made
