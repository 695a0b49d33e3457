"""Rules of accessibility on every page, in both themes: names, roles, headings, contrast, targets, reflow."""

from itertools import pairwise

import pytest
from playwright.sync_api import Page, expect

from connectors.view import Status
from tests.connectors.web.serving import Served
from tests.web_pages import Visit, speak

PAGES = {"index": "", "page": "streams/talk?source=1", "control": "streams/talk/control"}

# What can be worked with the keyboard or the pointer, and its accessible name as the browser computes it.
_CONTROLS = "a[href]:visible, button:visible, input:visible, select:visible, [tabindex]:visible"

# For every element with visible words of its own: those words, their contrast (WCAG 2), and their size in px.
# Colours are painted on a canvas one over the other, opacity included, as on the screen.
_CONTRASTS = """async () => {
    const { contrast } = await import("/static/settings.js");
    const paint = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const over = (colours) => {
        paint.globalAlpha = 1;
        paint.clearRect(0, 0, 1, 1);
        for (const [colour, alpha] of colours) {
            paint.globalAlpha = alpha;
            paint.fillStyle = colour;
            paint.fillRect(0, 0, 1, 1);
        }
        return [...paint.getImageData(0, 0, 1, 1).data].slice(0, 3);
    };
    const found = [];
    for (const element of document.querySelectorAll("body *")) {
        const texts = [...element.childNodes].filter(({ nodeType }) => nodeType === 3);
        const words = texts.map(({ data }) => data).join("").trim();
        if (!words || !element.checkVisibility() || element.tagName === "NOSCRIPT") continue;
        const grounds = [];
        let opacity = 1;
        for (let one = element; one; one = one.parentElement) {
            grounds.unshift([getComputedStyle(one).backgroundColor, 1]);
            opacity *= Number(getComputedStyle(one).opacity);
        }
        const { color, fontSize } = getComputedStyle(element);
        const ground = over(grounds);
        found.push([words, contrast(over([...grounds, [color, opacity]]), ground), parseFloat(fontSize)]);
    }
    return found;
}"""


def _open(
    visit: Visit, captions: Served, name: str, theme: str = "dark", size: tuple[int, int] = (1000, 600)
) -> Page:
    speak(captions)
    page = visit(captions.address + PAGES[name], size=size, color_scheme=theme)
    marks = {"index": "#streams li", "page": "#captions .tentative", "control": "#log li"}
    expect(page.locator(marks[name]).last).to_be_visible()
    captions.hub.status(Status(state="speech", level_dbfs=-20), "The sound card fell behind.")
    if name != "index":
        expect(page.get_by_text("The sound card fell behind.")).to_be_visible()
    return page


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("name", PAGES)
def test_words_stand_out_from_what_is_behind_them(
    name: str, theme: str, captions: Served, visit: Visit
) -> None:
    page = _open(visit, captions, name, theme)
    expect(page.locator("html")).to_have_css("color-scheme", theme)
    if name == "page":
        page.get_by_role("button", name="Help").click()
    contrasts = page.evaluate(_CONTRASTS)
    assert len(contrasts) > 5
    # Captions are the point: they get the ratio of WCAG 2.2's 1.4.6, all else at least that of 1.4.3.
    poor = [found for found in contrasts if found[1] < (7 if name == "page" and found[2] > 24 else 4.5)]
    assert poor == []


@pytest.mark.parametrize("name", PAGES)
def test_the_structure_of_a_page_is_sound_and_every_control_has_a_name_and_is_large_enough(
    name: str, captions: Served, visit: Visit
) -> None:
    page = _open(visit, captions, name)
    assert page.title().strip()
    assert page.locator("html").get_attribute("lang") == "en"
    assert page.locator("main").count() == page.locator("h1").count() == 1
    levels = page.locator("h1, h2, h3").evaluate_all("hs => hs.map(h => Number(h.tagName[1]))")
    assert all(after - before <= 1 for before, after in pairwise(levels))
    ids = page.locator("[id]").evaluate_all("es => es.map(e => e.id)")
    assert len(ids) == len(set(ids))
    refers = "es => es.flatMap(e => [e.htmlFor, e.getAttribute('aria-labelledby')]).filter(Boolean)"
    assert set(page.locator("label, [aria-labelledby]").evaluate_all(refers)) <= set(ids)
    assert page.locator("[onclick], style, script:not([src])").count() == 0
    assert page.locator("svg:not([aria-hidden=true])").count() == 0
    if name == "page":
        page.keyboard.press(",")
    controls = page.locator(_CONTROLS)
    assert controls.count() > 2
    for control in controls.all():
        snapshot = control.aria_snapshot().splitlines()[0]
        assert '"' in snapshot, f"no name: {control.evaluate('e => e.outerHTML')}"
        box = control.bounding_box()
        assert box is not None
        is_in_text = control.evaluate("e => getComputedStyle(e).display === 'inline'")
        assert is_in_text or min(box["width"], box["height"]) >= 16, snapshot


@pytest.mark.parametrize("name", PAGES)
def test_a_narrow_phone_needs_no_scrolling_sideways(name: str, captions: Served, visit: Visit) -> None:
    captions.say(9, "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft" * 2)
    page = _open(visit, captions, name, size=(320, 568))
    widths = "es => es.filter(e => e.scrollWidth > 320).map(e => e.id || e.tagName)"
    assert page.locator("html, body, main, header, #scroller").evaluate_all(widths) == []
    if name == "page":
        page.keyboard.press(",")
        assert page.locator("#settings").evaluate("e => e.scrollWidth - e.clientWidth") <= 0


def test_colours_forced_by_the_system_leave_all_to_be_told_apart(captions: Served, visit: Visit) -> None:
    speak(captions)
    page = visit(captions.page, forced_colors="active")
    expect(page.locator("#captions .tentative").last).to_have_css("text-decoration-line", "underline")
    expect(page.locator("#captions .tentative").last).to_have_css("opacity", "1")
    lamp = page.locator(".lamp")
    assert lamp.evaluate("e => getComputedStyle(e).backgroundColor") != page.locator("body").evaluate(
        "e => getComputedStyle(e).backgroundColor"
    )
