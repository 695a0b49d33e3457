"""Makes the recogniser that the settings name."""

from collections.abc import Callable
from importlib import import_module

from flows.settings.schema import RecognizeSettings
from operators.errors import UsageError
from operators.extras import needs_extra
from operators.languages import language
from operators.observed import RecognizerChanged
from operators.recognizers.azure.settings import service
from operators.recognizers.protocol import Recognizer
from operators.recognizers.windowed.method import SpeechMethod


def check_recognizer(settings: RecognizeSettings, *, spoken: str, is_live: bool) -> None:
    """Check an engine's settings before a model is loaded.

    Args:
        settings: The settings of the recogniser.
        spoken: Name or code of the spoken language.
        is_live: Whether sound comes at the pace of speech.

    Raises:
        UsageError: if the engine cannot be used so.
    """
    if settings.engine == "moonshine" and settings.model is None and language(spoken) != language("English"):
        raise UsageError(
            "the default recogniser knows English only; choose --recognizer whisper, azure or vosk for "
            f"{language(spoken).name}, or name a Moonshine model of that language with --speech-model"
        )
    if settings.engine == "azure":
        service(settings.azure)
        if not is_live:
            raise UsageError("Azure accepts audio only at the pace of speech: add --realtime")
        with needs_extra("azure", "the recogniser azure"):
            import_module("operators.recognizers.azure.recognizer")
    elif settings.engine in ("vosk", "whisper") and settings.model is None:
        raise UsageError(
            f"{settings.engine} comes without a model: name the folder of one with --speech-model"
        )


def make_recognizer(
    settings: RecognizeSettings, *, spoken: str = "English", observe: Callable[[RecognizerChanged], None]
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

            return AzureRecognizer(settings.azure, observe)
        case "vosk":
            assert settings.model is not None, "check_recognizer has looked"
            from operators.recognizers.vosk import VoskRecognizer

            return VoskRecognizer(model_path=settings.model, update_interval_s=settings.update_interval_s)
        case "moonshine":
            from operators.recognizers.moonshine.recognizer import moonshine_recognizer

            return moonshine_recognizer(
                model_path=settings.model,
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
