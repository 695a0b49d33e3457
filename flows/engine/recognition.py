"""Makes the recogniser that the settings name."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from flows.engine.terms import tell_moonshine_terms
from flows.settings.schema import RecognizeSettings
from operators.errors import UsageError
from operators.extras import needs_extra
from operators.languages import Language, language
from operators.observed import RecognizerChanged, SpeechCut
from operators.recognizers.azure.settings import check_spoken, service
from operators.recognizers.protocol import Recognizer
from operators.recognizers.published import published_language
from operators.recognizers.windowed.method import SpeechMethod


def check_recognizer(settings: RecognizeSettings, *, spoken: str, is_live: bool) -> None:
    """Check an engine's settings before a model is loaded.

    Args:
        settings: The settings of the recogniser.
        spoken: Name or code of the spoken language.
        is_live: Whether sound comes at the pace of speech.

    Raises:
        UsageError: if the engine cannot be used so, or does not know the language.
        InputError: if the folder of a Whisper model holds none.
    """
    tongue = language(spoken)
    if settings.engine == "azure":
        _check_azure(settings, tongue, is_live=is_live)
    elif settings.model is not None:
        _check_model(settings.engine, Path(settings.model), tongue)
    elif settings.engine != "moonshine":
        raise UsageError(
            f"{settings.engine} comes without a model: name the folder of one with --speech-model"
        )
    elif tongue != language("English"):
        raise UsageError(
            "the default recogniser knows English only; choose --recognizer whisper, azure or vosk for "
            f"{tongue.name}, or name a Moonshine model of that language with --speech-model"
        )


def _check_azure(settings: RecognizeSettings, spoken: Language, *, is_live: bool) -> None:
    service(settings.azure)
    check_spoken(settings.azure, spoken)
    if not is_live:
        raise UsageError("Azure accepts audio only at the pace of speech: add --realtime")
    with needs_extra("azure", "the recogniser azure"):
        import_module("operators.recognizers.azure.recognizer")


def _check_model(engine: str, folder: Path, spoken: Language) -> None:
    if engine == "whisper":
        from operators.recognizers.whisper.folder import read_folder

        files, _weights = read_folder(folder)
        files.vocabulary.prompt(spoken)
        return
    named = published_language(folder)
    if named is not None and named != spoken:
        raise UsageError(
            f"{folder}: by its name, this model recognises {named.name}, and {spoken.name} is to be spoken; "
            "name another one with --speech-model, or the language with --from"
        )


def make_recognizer(
    settings: RecognizeSettings,
    *,
    spoken: str = "English",
    observe: Callable[[RecognizerChanged | SpeechCut], None],
) -> Recognizer:
    """A recogniser for one stream; engines are imported here, because no run needs all of them.

    Args:
        spoken: Name or code of the spoken language.
        observe: Called with the recogniser's events, on any thread.

    Raises:
        SurtitleError: if the engine, its model or a setting that it needs is missing.
    """
    match settings.engine:
        case "azure":
            from operators.recognizers.azure.recognizer import AzureRecognizer

            return AzureRecognizer(settings.azure, observe, language(spoken))
        case "vosk":
            assert settings.model is not None, "check_recognizer has looked"
            from operators.recognizers.vosk import VoskRecognizer

            return VoskRecognizer(model_path=settings.model, update_interval_s=settings.update_interval_s)
        case "moonshine":
            from operators.recognizers.moonshine.recognizer import moonshine_recognizer

            tell_moonshine_terms(language(spoken))
            return moonshine_recognizer(
                model_path=settings.model,
                spoken=language(spoken),
                update_interval_s=settings.update_interval_s,
                method=SpeechMethod(bias=settings.bias, stop_below=settings.certainty),
                certainty=settings.certainty,
                threads=settings.threads,
                observe=observe,
            )
        case "whisper":
            assert settings.model is not None, "check_recognizer has looked"
            from operators.recognizers.whisper.recognizer import whisper_recognizer

            return whisper_recognizer(
                model_path=settings.model,
                spoken=language(spoken),
                update_interval_s=settings.update_interval_s,
                method=SpeechMethod(bias=settings.bias, stop_below=settings.certainty),
                certainty=settings.certainty,
                threads=settings.threads,
                observe=observe,
            )
