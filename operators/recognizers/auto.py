"""Whisper detects the language of each utterance; English is transcribed by Moonshine, which is faster.

If only one language is spoken, the run uses Moonshine or Whisper directly.
"""

from operators.extras import EXTRAS
from operators.languages import ENGLISH
from operators.recognizers.moonshine import moonshine_transcriber
from operators.recognizers.part import Observe, RecognizerPart, RecognizerSettings, Spoken
from operators.recognizers.protocol import Recognizer
from operators.recognizers.whisper import check_whisper, finding_recognizer, whisper_recognizer


def _make(settings: RecognizerSettings, spoken: Spoken, observe: Observe) -> Recognizer:
    if len(spoken) == 1 or (spoken and ENGLISH not in spoken):
        return whisper_recognizer(settings, spoken, observe)
    english = moonshine_transcriber(settings, observe)
    return finding_recognizer(settings, spoken, observe, {ENGLISH.code: english})


part = RecognizerPart(
    "auto", _make, check=check_whisper, extra=EXTRAS["whisper"], is_windowed=True, is_multilingual=True,
    finds_language=True,
)  # fmt: skip
