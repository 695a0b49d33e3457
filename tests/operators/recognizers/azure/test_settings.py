"""Azure's settings name a service or say in a sentence what is missing, and never show the key."""

from typing import Any

import pytest

from operators.errors import UsageError
from operators.recognizers.azure import AzureSettings, service
from operators.secret import Secret

KEY = "4f0f2a6b5d314b6c8f6be2b8b0b7c9de"
BOTH = {"AZURE_SPEECH_KEY": KEY, "AZURE_SPEECH_REGION": "westeurope"}


def key_of(settings: AzureSettings) -> str | None:
    key = service(settings, BOTH).key
    return key.reveal() if key else None


def test_the_settings_go_before_the_environment() -> None:
    settings = AzureSettings(region="eastus", key=Secret("another"), language="de-DE")
    for given, region, key in ((AzureSettings(), "westeurope", KEY), (settings, "eastus", "another")):
        assert (service(given, BOTH).region, key_of(given)) == (region, key)


@pytest.mark.parametrize(
    ("given", "environment", "sentence"),
    [
        ({}, {}, "needs a key; set AZURE_SPEECH_KEY in the environment"),
        ({"key": Secret("")}, {}, "needs a key"),
        ({}, {"AZURE_SPEECH_KEY": KEY}, "needs a region; set AZURE_SPEECH_REGION or azure.region"),
        ({"region": "evil.example/#"}, BOTH, "needs a region"),
        ({}, {**BOTH, "AZURE_SPEECH_REGION": KEY}, "needs a region"),
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
    assert key_of(AzureSettings(host=host)) == KEY


def test_a_sentence_names_the_place_and_no_more() -> None:
    assert service(AzureSettings(), BOTH).place == "the region westeurope"
    settings = AzureSettings(endpoint="wss://speech.example.com:8443/path?cid=secret")
    assert service(settings, {}).place == "wss://speech.example.com:8443"
