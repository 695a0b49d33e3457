"""Readers of a stream with captions in several languages choose one of them."""

import asyncio
import json
from typing import Any

import pytest
from playwright.sync_api import expect

from connectors.web.hub import Hub
from connectors.web.messages import languages_of
from operators.languages import Direction
from tests.connectors.web.serving import serving
from tests.subtitled import caption
from tests.web_pages import Visit, expect_shown

SAID = {"de": "Willkommen im Museum.", "fr": "Bienvenue au musée.", "he": "ברוכים הבאים למוזיאון."}
ENGLISH = "Welcome to the museum."


def languages(*codes: str) -> Any:
    return languages_of([Direction.of("en", code) for code in codes])


def say(hub: Hub, *codes: str, segment: int = 0) -> None:
    for code in codes:
        said = caption(SAID[code], source=ENGLISH, language=code, segment=segment)
        hub.caption(said)


def snapshot(hub: Hub, wanted: str) -> dict[str, Any]:
    with hub.join("talk", None, languages=wanted) as client:
        events = asyncio.run(client.next()).decode()
    told: dict[str, Any] = json.loads(events.partition("data: ")[2].partition("\n")[0])
    return told


@pytest.mark.parametrize(
    ("wanted", "code"),
    [("", "de"), ("fr", "fr"), ("fr-CA", "fr"), ("xx,he,fr", "he"), ("en", "en"), ("xx", "de")],
)
def test_a_reader_gets_the_first_language_that_there_is_of_those_asked_for(wanted: str, code: str) -> None:
    hub = Hub(languages("de", "fr", "he"))
    say(hub, "de", "fr", "he")
    told = snapshot(hub, wanted)
    assert [one["text"] for one in told["segments"]] == [(SAID | {"en": ENGLISH})[code]]
    assert told["language"]["target"] == code
    names = [(one["name"], one["dir"]) for one in told["language"]["choices"]]
    assert names == [("Deutsch", "ltr"), ("français", "ltr"), ("עברית", "rtl"), ("English", "ltr")]


def test_another_region_is_better_than_another_language() -> None:
    hub = Hub(languages("de", "pt-BR"))
    hub.caption(caption(SAID["de"], source=ENGLISH, language="de"))
    assert [snapshot(hub, wanted)["language"]["target"] for wanted in ("fr,pt", "pt-PT,de", "fr")] == [
        "pt-BR", "pt-BR", "de",
    ]  # fmt: skip


def test_a_stream_in_one_language_offers_no_choice_and_captions_in_the_spoken_one_are_no_original() -> None:
    hub = Hub(languages("de"))
    hub.caption(caption(SAID["de"], source=ENGLISH))
    told = snapshot(hub, "en")
    assert ("choices" in told["language"], told["segments"][0]["text"]) == (False, SAID["de"])
    hub = Hub(languages("de", "en"))
    hub.caption(caption("Welcome!", source=ENGLISH, language="en"))
    assert [one["text"] for one in snapshot(hub, "en")["segments"]] == ["Welcome!"]


def test_a_reader_chooses_a_language_in_the_middle_and_the_page_remembers_it(visit: Visit) -> None:
    with serving(streams=["talk"], languages=languages("de", "fr", "he")) as served:
        page = visit(f"{served.address}streams/talk")
        say(served.hub, "de", "fr", "he")
        expect_shown(page, SAID["de"])
        menu, captions = page.get_by_label("Language", exact=True), page.locator("#captions")
        expect(menu.locator("option")).to_have_text(["Deutsch", "français", "עברית", "English"])
        menu.select_option("he")
        expect_shown(page, SAID["he"])
        expect(captions).to_have_attribute("dir", "rtl")
        expect(captions).to_have_attribute("lang", "he")
        say(served.hub, "de", "fr", "he", segment=1)
        expect_shown(page, SAID["he"], SAID["he"])
        assert page.url.endswith("?lang=he")
        # Of the address, what was chosen before is forgotten; of the browser, it is not.
        expect_shown(visit(f"{served.address}streams/talk"), SAID["he"], SAID["he"])
        page = visit(f"{served.address}streams/talk?lang=fr")
        expect_shown(page, SAID["fr"], SAID["fr"])
        expect(page.get_by_label("Language", exact=True)).to_have_value("fr")
        page.locator("#set").click()
        expect(page.get_by_label("Overlay for OBS")).to_have_value(
            f"{served.address}streams/talk?overlay=1&lang=fr"
        )
        overlay = visit(f"{served.address}streams/talk?overlay=1&lang=fr")
        expect(overlay.locator(":root")).to_have_attribute("data-live", "on")
        say(served.hub, "de", "fr", "he", segment=2)
        expect_shown(overlay, SAID["fr"])
