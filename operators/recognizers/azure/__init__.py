"""Azure's speech service as a recogniser that survives lost connections."""

from operators.errors import UsageError
from operators.extras import Extra, needs_extra
from operators.languages import Language
from operators.recognizers.azure.settings import AzureSettings, check_spoken, service
from operators.recognizers.part import Observe, RecognizerSettings, recognizer
from operators.recognizers.protocol import Recognizer

_EXTRA = Extra("azure", "recognition by Azure", ("azure",))


def _check(settings: RecognizerSettings, spoken: Language, is_live: bool) -> None:
    service(settings.own)
    check_spoken(settings.own, spoken)
    if not is_live:
        raise UsageError("Azure accepts audio only at the pace of speech: add --realtime")
    with needs_extra(_EXTRA, "the recogniser azure"):
        import operators.recognizers.azure.recognizer  # noqa: F401


@recognizer("azure", check=_check, settings=AzureSettings, extra=_EXTRA, is_multilingual=True)
def part(settings: RecognizerSettings, spoken: Language, observe: Observe) -> Recognizer:
    """The part for the settings."""
    from operators.recognizers.azure.recognizer import AzureRecognizer

    return AzureRecognizer(settings.own, observe, spoken)
