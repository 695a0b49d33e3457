"""Azure's speech service as a recogniser: its settings and its key, which is never shown."""

import os
import re
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Annotated, NamedTuple

import msgspec

from operators.addresses import parts_of
from operators.errors import UsageError
from operators.extras import Extra
from operators.languages import Language, is_language, language
from operators.recognizers.part import Observe, RecognizerPart, RecognizerSettings, Spoken
from operators.recognizers.protocol import Recognizer
from operators.secret import Secret, sendable

KEY_VARIABLE = "AZURE_SPEECH_KEY"
REGION_VARIABLE = "AZURE_SPEECH_REGION"

# Longer names are keys.
_REGION = re.compile(r"[a-z][a-z0-9]{1,29}")
_SECRET = re.compile(r"(key|token|secret|authorization|sig|password)=", re.IGNORECASE)
_TAGS = """
af-ZA am-ET ar-EG as-IN az-AZ bg-BG bn-IN bs-BA ca-ES cs-CZ cy-GB da-DK de-DE el-GR en-US es-ES et-EE
eu-ES fa-IR fi-FI fil-PH fr-FR ga-IE gl-ES gu-IN he-IL hi-IN hr-HR hu-HU hy-AM id-ID is-IS it-IT ja-JP
jv-ID ka-GE kk-KZ km-KH kn-IN ko-KR lo-LA lt-LT lv-LV mk-MK ml-IN mn-MN mr-IN ms-MY mt-MT my-MM ne-NP
nl-NL or-IN pa-IN pl-PL ps-AF pt-BR ro-RO ru-RU si-LK sk-SK sl-SI so-SO sq-AL sr-RS sv-SE sw-KE ta-IN
te-IN th-TH tr-TR uk-UA ur-IN uz-UZ vi-VN yue-CN zh-CN zu-ZA
"""
#: The locales with which Azure recognises a language if none is set, by its code.
LOCALES = {tag.partition("-")[0]: tag for tag in _TAGS.split()} | {"no": "nb-NO", "zh-Hant": "zh-TW"}
_SCHEMES = {"ws": False, "wss": True, "http": False, "https": True}


class AzureSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of Azure's recogniser."""

    #: The spoken language with its region, as a BCP 47 tag (``de-AT``); absent for the usual tag of
    #: ``translate.from``.
    language: Annotated[str, msgspec.Meta(pattern="^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$")] | None = None
    #: Azure's name of the key's region; absent for the one in AZURE_SPEECH_REGION.
    region: str | None = None
    #: Full address of the service, instead of a region: ``wss://NAME.cognitiveservices.azure.com``.
    endpoint: str | None = None
    #: Scheme, name and port of a self-hosted service, such as a speech container: ``ws://localhost:5000``.
    host: str | None = None
    #: The key; absent for the one in AZURE_SPEECH_KEY. A self-hosted service may need none.
    key: Secret | None = None


class Service(NamedTuple):
    """The service to connect to: one of region, endpoint and host."""

    region: str | None
    endpoint: str | None
    host: str | None
    key: Secret | None

    @property
    def place(self) -> str:
        if self.region:
            return f"the region {self.region}"
        parts = parts_of(self.endpoint or self.host or "")
        assert parts is not None, "it was checked"
        return f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "")


def service(settings: AzureSettings, environment: Mapping[str, str] = os.environ) -> Service:
    """The service named by the settings and the environment; raises `UsageError` if there is none."""
    where, text = KEY_VARIABLE, environment.get(KEY_VARIABLE)
    if settings.key is not None and settings.key.reveal():
        where, text = "azure.key", settings.key.reveal()
    key = sendable(text, where) if text else None
    if settings.endpoint and settings.host:
        raise UsageError("azure.endpoint and azure.host are both given; give only one of them")
    if address := settings.endpoint or settings.host:
        _check_address(address, "endpoint" if settings.endpoint else "host", key)
        return Service(None, settings.endpoint, settings.host, key)
    region = settings.region or environment.get(REGION_VARIABLE)
    if key is None:
        raise UsageError(
            f"Azure's recogniser needs a key; set {KEY_VARIABLE} in the environment to that of your resource"
        )
    if not region or not _REGION.fullmatch(region):
        # The region is not shown, because it may be the key, entered in the wrong place.
        raise UsageError(
            f"Azure's recogniser needs a region; set {REGION_VARIABLE} or azure.region to that of your "
            "Speech resource, such as westeurope"
        )
    return Service(region, None, None, key)


def _check_address(address: str, name: str, key: Secret | None) -> None:
    parts = parts_of(address)
    # The key has its own setting, which is never printed.
    is_address = parts is not None and parts.scheme in _SCHEMES and parts.username is None
    if parts is None or not is_address or " " in address or _SECRET.search(parts.query):
        raise UsageError(
            f"azure.{name} is not an address, or contains a key; give one such as wss://speech.example.com"
        )
    if key is not None and not _SCHEMES[parts.scheme] and not _is_this_machine(parts.hostname or ""):
        raise UsageError(
            f"azure.{name} is not encrypted, so others could read the key; give a wss:// address, or "
            f"unset {KEY_VARIABLE} for a service that needs no key"
        )


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def locale(settings: AzureSettings, spoken: Language) -> str:
    """The tag of the language that Azure is to recognise; raises `UsageError` if it is not the spoken one."""
    tag = settings.language
    # The code of a language with a region, such as pt-BR, is a locale.
    usual = LOCALES.get(spoken.code) or (spoken.code if spoken.general != spoken else None)
    if tag is None and usual is None:
        raise UsageError(f"surtitle has no Azure tag for {spoken.name}; set azure.language to its tag")
    # Azure has more languages than surtitle, and the language of some tags, such as yue-CN, is written alike.
    if tag is not None and is_language(tag) and spoken not in (language(tag), language(tag).general):
        raise UsageError(
            f"azure.language is {tag}, but the spoken language is {spoken.name}; leave azure.language out, "
            "or name its language with --from"
        )
    return tag or str(usual)


def _check(settings: RecognizerSettings, spoken: Spoken, is_live: bool) -> None:
    service(settings.own)
    locale(settings.own, spoken[0])
    if not is_live:
        raise UsageError("Azure accepts audio only in real time: add --realtime")


def _make(settings: RecognizerSettings, spoken: Spoken, observe: Observe) -> Recognizer:
    from operators.recognizers.azure.recognizer import AzureRecognizer

    return AzureRecognizer(settings.own, observe, spoken[0])


part = RecognizerPart(
    "azure", _make, check=_check, is_multilingual=True,
    extra=Extra("azure", "recognition by Azure", ("azure.cognitiveservices.speech",)),
)  # fmt: skip
