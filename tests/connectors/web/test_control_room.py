"""The control room and the list of streams in a real browser."""

from typing import Any

from playwright.sync_api import Page, expect

from connectors.view import Status
from connectors.web.messages import Figures
from tests.connectors.web.serving import Served
from tests.web_pages import ENGLISH, GERMAN, Visit, speak


def _figures(ne_shown: float = 0.13, from_speech: float = 363, overtaken: int = 2) -> Figures:
    parts = {"recogniser": 200, "queue": 20, "model": 140, "display": 3}
    return Figures(
        updates=41, segments=7, ne_raw=0.52, ne_shown=ne_shown, overtaken=overtaken, lost_s=0.4,
        accepted_over_drafted=0.871, accepted_over_output=0.744,
        latency_ms=parts | {"from_speech": from_speech, "from_arrival": 163},
    )  # fmt: skip


def _plot(page: Page, title: str) -> Any:
    return page.get_by_role("figure").filter(has_text=title)


def test_figures_stand_in_words_and_as_curves(captions: Served, visit: Visit) -> None:
    page = visit(captions.page + "/control")
    expect(page.locator("#state-words")).to_have_text("listening")
    captions.publish(_figures())
    captions.publish(_figures(ne_shown=0.21, from_speech=1240))
    captions.hub.status(Status(state="speech", level_dbfs=-23.4))
    expect(page.locator("#counts")).to_have_text("7 segments · 41 updates")
    values = {
        "Latency from speech": "1.2 s", "A/D": "87 %", "A/O": "74 %", "Superseded": "2",
        "Sound lost": "0.4 s", "Level": "−23 dBFS",
    }  # fmt: skip
    for title, value in values.items():
        expect(_plot(page, title).locator(".value")).to_have_text(value)
    expect(_plot(page, "Latency from speech")).to_contain_text("recogniser 200 ms")
    erasure = _plot(page, "Erasure (NE)")
    expect(erasure.get_by_role("img")).to_have_attribute(
        "aria-label", "Erasure (NE): 0.21, shown 0.21, raw 0.52; 0.13 to 0.21"
    )
    assert erasure.locator("path").first.get_attribute("d").count("L") == 1
    expect(page.locator("#state-words")).to_have_text("speech")


def test_another_moment_is_looked_at_by_pointer_and_by_keys(captions: Served, visit: Visit) -> None:
    page = visit(captions.page + "/control")
    expect(page.locator("#state-words")).to_have_text("listening")
    for overtaken in (1, 2, 3):
        captions.publish(_figures(overtaken=overtaken))
    plot = _plot(page, "Superseded")
    expect(plot.locator(".value")).to_have_text("3")
    plot.get_by_role("img").focus()
    page.keyboard.press("ArrowLeft")
    expect(plot.locator(".value")).to_have_text("2")
    expect(plot.locator(".range")).to_contain_text("s ago")
    page.keyboard.press("Escape")
    expect(plot.locator(".value")).to_have_text("3")
    plot.get_by_role("img").hover(position={"x": 2, "y": 10})
    expect(plot.locator(".value")).to_have_text("1")


def test_sentences_and_notices_are_listed_the_newest_first(captions: Served, visit: Visit) -> None:
    speak(captions)
    page = visit(captions.page + "/control")
    entries = page.locator("#log li")
    expect(entries).to_have_count(4)
    expect(entries.first).to_contain_text(GERMAN[3])
    expect(entries.first).to_contain_text(ENGLISH[3])
    captions.hub.status(Status(state="no microphone"), "<b>Gone.</b>")
    expect(entries.first).to_contain_text("<b>Gone.</b>")
    captions.cut()
    expect(entries.first).to_contain_text("Connected again.")
    captions.hub.end()
    expect(entries.first).to_contain_text("The stream is over.")
    expect(entries).to_have_count(8)


def test_a_list_that_may_have_changed_is_not_shown(captions: Served, visit: Visit) -> None:
    page = visit(captions.address)
    expect(page.locator("#streams li")).to_have_count(1)
    page.route("**/streams.json", lambda route: route.abort())
    expect(page.get_by_text("server does not answer. Trying again…")).to_be_visible()
    expect(page.locator("#streams")).to_be_hidden()
    page.unroute("**/streams.json")
    expect(page.locator("#streams li")).to_be_visible()
