"""Moonshine: a small encoder-decoder speech model, decoded with its last hypothesis as the draft."""

from operators.errors import UsageError
from operators.languages import Language, language
from operators.recognizers.part import Observe, RecognizerPart, RecognizerSettings, check_published
from operators.recognizers.protocol import Recognizer

#: The languages of the models under the Moonshine Community License. The English ones are MIT, and so are
#: those that stream, which surtitle refuses.
COMMUNITY = ("ar", "zh", "ja", "ko", "es", "uk", "vi")


def _check(settings: RecognizerSettings, spoken: Language, is_live: bool) -> None:
    if settings.model is not None:
        check_published(settings, spoken, is_live)
    elif spoken != language("English"):
        raise UsageError(
            "the default recogniser knows English only; choose --recognizer whisper, azure or vosk for "
            f"{spoken.name}, or name a Moonshine model of that language with --speech-model"
        )


def _make(settings: RecognizerSettings, spoken: Language, observe: Observe) -> Recognizer:
    from operators.recognizers.moonshine.recognizer import moonshine_recognizer

    return moonshine_recognizer(settings, spoken, observe)


part = RecognizerPart("moonshine", _make, check=_check, is_windowed=True)
