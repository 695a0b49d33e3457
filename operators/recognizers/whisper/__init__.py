"""Whisper (Radford et al. 2022), from models in CTranslate2's format, with the last hypothesis as the draft.

CTranslate2 itself returns no logits for given tokens, and decodes a prefix one token at a time, so a draft
could not save anything. Only its file format is used here; ONNX Runtime runs the same weights.
"""

from operators.recognizers.part import Observe, RecognizerPart, RecognizerSettings, Spoken, named_model
from operators.recognizers.protocol import Recognizer


def _check(settings: RecognizerSettings, spoken: Spoken, _is_live: bool) -> None:
    from operators.recognizers.whisper.folder import read_folder

    files, _weights = read_folder(named_model(settings))
    files.vocabulary.prompt(spoken[0])


def _make(settings: RecognizerSettings, spoken: Spoken, observe: Observe) -> Recognizer:
    from operators.recognizers.whisper.recognizer import whisper_recognizer

    return whisper_recognizer(settings, spoken[0], observe)


part = RecognizerPart("whisper", _make, check=_check, is_windowed=True, is_multilingual=True)
