"""Moonshine: a small encoder-decoder speech model, decoded with its last hypothesis as the draft."""

from pathlib import Path

from operators.errors import UsageError
from operators.languages import Language, language
from operators.recognizers.part import Observe, RecognizerSettings, check_published, recognizer
from operators.recognizers.protocol import Recognizer

# The languages of the models under the Moonshine Community License. The English ones are MIT, and so are
# those that stream, which surtitle refuses.
_COMMUNITY = ("ar", "zh", "ja", "ko", "es", "uk", "vi")


def _check(settings: RecognizerSettings, spoken: Language, is_live: bool) -> None:
    if settings.model is not None:
        check_published(settings, spoken, is_live)
    elif spoken != language("English"):
        raise UsageError(
            "the default recogniser knows English only; choose --recognizer whisper, azure or vosk for "
            f"{spoken.name}, or name a Moonshine model of that language with --speech-model"
        )


def _terms(spoken: Language) -> tuple[str, str] | None:
    if spoken.code not in _COMMUNITY:
        return None
    licence = "Moonshine Community License, www.moonshine.ai/license"
    return f"Moonshine's model for {spoken.name}", licence


def _recording() -> Path:
    from operators.recognizers.moonshine.recognizer import bundled_recording

    return bundled_recording()


@recognizer("moonshine", check=_check, is_windowed=True, terms=_terms, recording=_recording)
def part(settings: RecognizerSettings, spoken: Language, observe: Observe) -> Recognizer:
    """The part for the settings."""
    from operators.recognizers.moonshine.recognizer import moonshine_recognizer

    return moonshine_recognizer(settings, spoken, observe)
