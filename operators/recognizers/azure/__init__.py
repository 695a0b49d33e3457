"""Azure's speech service as a recogniser that survives lost connections."""

from operators.errors import UsageError
from operators.extras import Extra
from operators.languages import Language
from operators.recognizers.azure.settings import (
    KEY_VARIABLE,
    REGION_VARIABLE,
    check_spoken,
    locale,
    service,
)
from operators.recognizers.part import Observe, RecognizerSettings, recognizer
from operators.recognizers.protocol import Recognizer


def _check(settings: RecognizerSettings, spoken: Language, is_live: bool) -> None:
    service(settings.own)
    check_spoken(settings.own, spoken)
    if not is_live:
        raise UsageError("Azure accepts audio only at the pace of speech: add --realtime")


def _examine(settings: RecognizerSettings, spoken: Language) -> str:
    # A connection would cost money.
    place, tag = service(settings.own).place, locale(settings.own, spoken)
    return f"Azure has a key for {place}, which was not tried; it is asked for {tag}"


@recognizer(
    "azure", check=_check, examine=_examine, is_multilingual=True,
    extra=Extra("azure", "recognition by Azure", ("azure.cognitiveservices.speech",)),
    variables={f"{KEY_VARIABLE}, {REGION_VARIABLE}": "Key and region for --recognizer azure."},
)  # fmt: skip
def part(settings: RecognizerSettings, spoken: Language, observe: Observe) -> Recognizer:
    """The part for the settings."""
    from operators.recognizers.azure.recognizer import AzureRecognizer

    return AzureRecognizer(settings.own, observe, spoken)
