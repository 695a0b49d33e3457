"""Azure's settings name a service or say in a sentence what is missing, and never show the key."""

from typing import Any

import msgspec
import pytest

from operators.errors import UsageError
from operators.recognizers.azure import AzureSettings, service
from operators.secret import Secret, decode_secret, to_plain

KEY = "4f0f2a6b5d314b6c8f6be2b8b0b7c9de"
BOTH = {"AZURE_SPEECH_KEY": KEY, "AZURE_SPEECH_REGION": "westeurope"}


def key_of(settings: AzureSettings, environment: dict[str, str] | None = None) -> str | None:
    key = service(settings, environment or {}).key
    return key.reveal() if key else None


def test_the_environment_gives_key_and_region() -> None:
    assert service(AzureSettings(), BOTH).region == "westeurope"
    assert key_of(AzureSettings(), BOTH) == KEY


def test_the_settings_go_before_the_environment() -> None:
    settings = AzureSettings(region="eastus", key=Secret("another"), language="de-DE")

    assert service(settings, BOTH).region == "eastus"
    assert key_of(settings, BOTH) == "another"


@pytest.mark.parametrize(
    ("given", "environment", "sentence"),
    [
        ({}, {}, "needs a key; set AZURE_SPEECH_KEY in the environment"),
        ({"key": Secret("")}, {}, "needs a key; set AZURE_SPEECH_KEY in the environment"),
        ({}, {"AZURE_SPEECH_KEY": KEY}, "needs a region; set AZURE_SPEECH_REGION or azure.region"),
        ({"region": "evil.example/#"}, BOTH, "needs a region; set AZURE_SPEECH_REGION or azure.region"),
        ({}, {**BOTH, "AZURE_SPEECH_REGION": KEY}, "needs a region; set AZURE_SPEECH_REGION or azure.region"),
        ({"endpoint": "wss://a", "host": "wss://b"}, BOTH, "both given"),
        ({"endpoint": "ftp://a"}, BOTH, "azure.endpoint is not an address"),
        ({"endpoint": "wss://a:99999"}, BOTH, "azure.endpoint is not an address"),
        ({"host": "wss://a b"}, BOTH, "azure.host is not an address"),
        ({"host": f"wss://me:{KEY}@a"}, {}, "azure.host is not an address"),
        ({"endpoint": f"wss://a/?Ocp-Apim-Subscription-Key={KEY}"}, {}, "or contains a key"),
        ({"host": "ws://speech.example.com"}, BOTH, "azure.host is not encrypted"),
        ({"host": "http://192.168.0.5:5000"}, BOTH, "azure.host is not encrypted"),
        ({"key": Secret(f"{KEY}\r\nX-Evil: 1")}, {}, "azure.key does not hold a key"),
        ({}, {**BOTH, "AZURE_SPEECH_KEY": f"{KEY}\n"}, "AZURE_SPEECH_KEY does not hold a key"),
    ],
)
def test_what_cannot_be_is_said_in_one_sentence_without_the_key(
    given: dict[str, Any], environment: dict[str, str], sentence: str
) -> None:
    with pytest.raises(UsageError) as caught:
        service(AzureSettings(**given), environment)

    assert sentence in str(caught.value)
    assert KEY not in str(caught.value)
    assert ". " not in str(caught.value)


@pytest.mark.parametrize(
    "host", ["ws://localhost:5000", "ws://127.0.0.1:5000", "ws://[::1]:5000", "wss://a.example"]
)
def test_the_key_goes_where_nobody_else_can_read_it(host: str) -> None:
    assert key_of(AzureSettings(host=host), BOTH) == KEY


def test_a_sentence_names_the_place_and_no_more() -> None:
    assert service(AzureSettings(), BOTH).place == "the region westeurope"
    settings = AzureSettings(endpoint="wss://speech.example.com:8443/path?cid=secret")
    assert service(settings, {}).place == "wss://speech.example.com:8443"


def test_settings_that_are_read_from_a_file_show_no_key() -> None:
    settings = msgspec.convert({"key": KEY}, AzureSettings, dec_hook=decode_secret)

    shown = (settings, to_plain(settings), msgspec.structs.asdict(settings))
    assert KEY not in f"{shown} {shown!r}"
