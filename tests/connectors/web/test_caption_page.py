"""The caption page in a real browser."""

import re

import pytest
from playwright.sync_api import expect

from connectors.view import Status
from tests.connectors.web.serving import Served
from tests.web_pages import GERMAN, Visit, expect_shown, shown, speak

# Writes down everything that changes in the captions from now on.
_WATCH = """() => {
    window.changes = [];
    new MutationObserver((records) => window.changes.push(
        ...records.map(({ type, oldValue, target }) => ({ type, old: oldValue, new: target.data ?? null }))
    )).observe(document.querySelector("#captions"), {
        subtree: true, childList: true, attributes: true, characterData: true, characterDataOldValue: true,
    });
}"""


def test_what_is_new_is_marked_by_more_than_colour_and_settles_without_moving(
    captions: Served, visit: Visit
) -> None:
    page = visit(captions.page)
    captions.say(0, "Die")
    captions.say(0, "Die Führung beginnt")
    expect(page.locator("#captions .settled")).to_have_text("Die ")
    tentative = page.locator("#captions .tentative")
    expect(tentative).to_have_text("Führung beginnt")
    expect(tentative).to_have_css("text-decoration-line", "underline")
    for metric in ("font-weight", "font-style", "font-size", "letter-spacing"):
        settled = page.locator("#captions .settled").evaluate(f"e => getComputedStyle(e)['{metric}']")
        expect(tentative).to_have_css(metric, settled)
    captions.say(0, "Die Führung beginnt", final=True)
    expect(tentative).to_have_text("")


def test_a_lost_connection_is_told_covers_no_caption_and_loses_and_doubles_nothing(
    captions: Served, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = visit(captions.page, size=(320, 568))
    captions.say(0, "Guten Morgen.", final=True)
    captions.say(1, "Die Führung beginnt 🎭 um")
    expect_shown(page, "Guten Morgen.", "Die Führung beginnt 🎭 um")
    monkeypatch.setattr(captions.hub, "_max_clients", 0)
    captions.cut()
    state = page.locator("#state")
    expect(state).to_have_text("reconnecting…")
    box, captions_box = state.bounding_box(), page.locator("#scroller").bounding_box()
    assert box is not None
    assert captions_box is not None
    assert box["y"] + box["height"] <= captions_box["y"]
    captions.say(1, "Die Führung beginnt 🎭 um zehn")
    captions.say(1, "Die Führung beginnt 🎭 um zehn Uhr.", final=True)
    captions.say(2, "Bitte")
    monkeypatch.undo()
    expect_shown(page, "Guten Morgen.", "Die Führung beginnt 🎭 um zehn Uhr.", "Bitte")
    expect(state).to_have_text("listening")


def test_a_server_that_goes_away_when_all_is_said_is_no_trouble(
    captions: Served, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = visit(captions.page)
    captions.say(0, "Danke.", final=True)
    expect_shown(page, "Danke.")  # before that it may not be listening
    captions.hub.end()
    state = page.locator("#state-words")
    expect(state).to_have_text("ended")
    monkeypatch.setattr(captions.hub, "_max_clients", 0)
    with page.expect_response("**/events"):
        captions.cut()
    expect(state).to_have_text("ended")
    monkeypatch.undo()
    captions.restart()
    captions.say(0, "Guten Abend")
    expect_shown(page, "Guten Abend")
    expect(state).to_have_text("listening")


def test_markup_in_a_text_is_text(captions: Served, visit: Visit) -> None:
    page = visit(captions.page + "?source=1")
    expect(page.locator("#state-words")).to_have_text("listening")
    evil = "<script>window.ran = 1</script><img src=x onerror='window.ran = 2'><b>"
    captions.say(0, evil, source=evil)
    captions.say(1, evil, source=evil, final=True)
    captions.hub.status(Status(state=evil), evil)
    expect_shown(page, evil, evil)
    for place in ("#state-words", "#captions .source", "#announcer p", "#notice"):
        expect(page.locator(place).last).to_have_text(evil)
    assert page.locator("main script, main img, main b, #announcer *:not(p), #notice *").count() == 0
    assert page.evaluate("window.ran") is None


def test_a_script_from_right_to_left_runs_so(served: Served, visit: Visit) -> None:
    page = visit(served.page + "?source=1")
    served.say(0, "صباح الخير (Museum)", source="Good morning", final=True)
    expect_shown(page, "صباح الخير (Museum)")
    text, source = page.locator("#captions .text"), page.locator("#captions .source")
    expect(text).to_have_css("direction", "rtl")
    expect(text).to_have_css("unicode-bidi", "isolate")
    expect(source).to_have_css("direction", "ltr")
    expect(source).to_have_attribute("lang", "en")
    expect(page.locator("#captions")).to_have_attribute("lang", "he")


def test_text_that_stays_is_never_touched(captions: Served, visit: Visit) -> None:
    page = visit(captions.page)
    speak(captions)
    expect(shown(page)).to_have_count(5)
    page.evaluate(_WATCH)
    captions.say(4, "Im ersten Stock sehen Sie die Bilder", source="On the first floor you see")
    expect(shown(page).last).to_have_text(re.compile("Bilder$"))
    changes = [change for change in page.evaluate("window.changes") if change["type"] != "attributes"]
    assert [(one["type"], one["old"], one["new"]) for one in changes] == [
        ("characterData", "Im ersten Stock sehen Sie ", "Im ersten Stock sehen Sie die "),
        ("characterData", "die Gemälde", "Bilder"),
    ]


def test_finals_are_announced_once_and_partials_never(captions: Served, visit: Visit) -> None:
    captions.say(0, "Schon vorbei.", final=True)
    page = visit(captions.page)
    expect_shown(page, "Schon vorbei.")
    captions.say(1, "Die Führung")
    captions.say(1, "Die Führung beginnt.", final=True)
    captions.say(2, "Bitte")
    expect_shown(page, "Schon vorbei.", "Die Führung beginnt.", "Bitte")
    captions.cut()
    captions.say(2, "Bitte hier.", final=True)
    expect(page.locator("#announcer p")).to_have_count(2)
    captions.hub._streams["talk"].log._run = "another"
    captions.cut()
    captions.say(3, "Danke.", final=True)
    expect(page.locator("#announcer p")).to_have_text(["Die Führung beginnt.", "Bitte hier.", "Danke."])
    expect(page.locator("#announcer")).to_have_attribute("aria-live", "polite")
    assert page.locator("#scroller[aria-live], #scroller [aria-live], #scroller[role=log]").count() == 0


def test_a_reader_who_scrolled_up_stays_there_until_going_back_to_live(
    captions: Served, visit: Visit
) -> None:
    page = visit(captions.page, size=(600, 400))
    for segment in range(30):
        captions.say(segment, f"{segment}. {GERMAN[segment % 4]}", final=True)
    expect(shown(page).last).to_be_in_viewport()
    live = page.get_by_role("button", name="Back to live")
    expect(live).to_be_hidden()
    page.locator("#scroller").hover()
    page.mouse.wheel(0, -900)
    expect(live).to_be_visible()
    where = page.locator("#scroller").evaluate("e => e.scrollTop")
    captions.say(30, "Und noch etwas.", final=True)
    expect(shown(page)).to_have_count(31)
    assert page.locator("#scroller").evaluate("e => e.scrollTop") == where
    expect(shown(page).last).not_to_be_in_viewport()
    live.click()
    expect(shown(page).last).to_be_in_viewport()
    expect(live).to_be_hidden()
    captions.say(31, GERMAN[0])
    expect(shown(page).last).to_be_in_viewport()
    page.set_viewport_size({"width": 400, "height": 300})
    expect(shown(page).last).to_be_in_viewport()


def test_what_was_said_is_found_and_copied_by_the_browser_without_what_is_around_it(
    captions: Served, visit: Visit
) -> None:
    page = visit(captions.page, size=(600, 300))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    speak(captions)
    expect(shown(page).last).to_be_in_viewport()
    assert page.evaluate("find('ladies and gentlemen')") is False, "the speech is not shown"
    assert page.evaluate("find('MEINE DAMEN')") is True
    # As the browser's own search does with what it has found.
    page.evaluate("getSelection().anchorNode.parentElement.scrollIntoView()")
    expect(page.get_by_role("button", name="Back to live")).to_be_visible()
    expect(shown(page).first).to_be_in_viewport()
    page.keyboard.press("ControlOrMeta+a")
    captions.say(4, "Im ersten Stock sehen Sie die Gemälde.", final=True)
    expect_shown(page, *GERMAN, "Im ersten Stock sehen Sie die Gemälde.")
    expect(shown(page).first).to_be_in_viewport()
    page.keyboard.press("ControlOrMeta+c")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.split("\n\n") == [*GERMAN, "Im ersten Stock sehen Sie die Gemälde."]
