"""sherpa-onnx: streaming zipformers, which process each stretch of sound only once.

It is an extra (``surtitle[sherpa]``), imported when the first recogniser is made.
"""

from operators.extras import Extra
from operators.recognizers.part import (
    Observe,
    RecognizerPart,
    RecognizerSettings,
    Spoken,
    check_published,
    named_model,
)
from operators.recognizers.protocol import Recognizer


def _make(settings: RecognizerSettings, _spoken: Spoken, _observe: Observe) -> Recognizer:
    from operators.recognizers.sherpa.recognizer import SherpaRecognizer

    return SherpaRecognizer(
        model_path=named_model(settings),
        update_interval_s=settings.update_interval_s,
        threads=settings.usual_threads,
    )


part = RecognizerPart(
    "sherpa", _make, check=check_published,
    extra=Extra("sherpa", "streaming recognition by sherpa-onnx", ("sherpa_onnx",)),
)  # fmt: skip
