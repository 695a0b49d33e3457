"""What a reader sets on the caption page, by keyboard and by address, in a real browser."""

import re

from playwright.sync_api import Page, expect

from tests.connectors.web.serving import Served
from tests.web_pages import Visit, shown, speak


def _pixels(page: Page) -> float:
    return float(page.locator("#captions").evaluate("e => parseFloat(getComputedStyle(e).fontSize)"))


def test_all_is_done_by_keyboard(captions: Served, visit: Visit) -> None:
    page = visit(captions.page)
    speak(captions)
    expect(shown(page)).to_have_count(5)
    before = _pixels(page)
    page.keyboard.press("+")
    page.keyboard.press("+")
    assert _pixels(page) > before * 1.15
    page.keyboard.press("0")
    assert _pixels(page) == before
    page.keyboard.press("-")
    assert _pixels(page) < before
    page.keyboard.press("t")
    expect(page.locator("html")).to_have_css("color-scheme", "light")
    expect(page.locator("#captions .source").last).to_be_hidden()
    page.keyboard.press("s")
    expect(page.locator("#captions .source").last).to_have_text("On the first floor you see")
    page.keyboard.press("?")
    help_dialog = page.get_by_role("dialog", name="Captions and keys")
    expect(help_dialog).to_be_visible()
    page.keyboard.press("t")
    expect(page.locator("html")).to_have_css("color-scheme", "light")
    page.keyboard.press("Escape")
    expect(help_dialog).to_be_hidden()
    page.keyboard.press(",")
    expect(page.get_by_label("Text size")).to_be_focused()
    page.keyboard.press("End")
    assert _pixels(page) == 160
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()


def test_every_control_is_reached_with_tab_and_shows_that_it_is(captions: Served, visit: Visit) -> None:
    page = visit(captions.page)
    speak(captions)
    expect(shown(page)).to_have_count(5)
    names = []
    for _ in range(9):
        page.keyboard.press("Tab")
        focused = page.locator(":focus")
        names.append(focused.get_attribute("id"))
        expect(focused).to_have_css("outline-style", "solid")
    assert names == ["home", "smaller", "larger", "both", "theme", "whole", "set", "ask", "scroller"]
    top = page.locator("#scroller").evaluate("e => e.scrollTop")
    page.keyboard.press("PageUp")
    expect(page.get_by_role("button", name="Back to live")).to_be_visible()
    page.keyboard.press("End")
    expect(page.get_by_role("button", name="Back to live")).to_be_hidden()
    page.wait_for_function("top => document.querySelector('#scroller').scrollTop === top", arg=top)


def test_settings_persist_and_the_address_wins_until_something_is_chosen(
    captions: Served, visit: Visit
) -> None:
    page = visit(captions.page)
    page.keyboard.press(",")
    page.get_by_label("Both languages").last.check()
    page.get_by_label("Font").select_option("serif")
    page.get_by_label("Lines").fill("4")
    page.get_by_label("Text colour").fill("#ffff00")
    page.get_by_role("button", name="Done").click()
    again = visit(captions.page)
    expect(again.locator("html[data-source][data-lines]")).to_be_attached()
    expect(again.locator("#captions")).to_have_css("color", "rgb(255, 255, 0)")
    assert "serif" in again.locator("#captions").evaluate("e => getComputedStyle(e).fontFamily")
    linked = visit(captions.page + "?source=0&size=50&text=00ffff")
    expect(linked.locator("html[data-source]")).not_to_be_attached()
    expect(linked.locator("#captions")).to_have_css("color", "rgb(0, 255, 255)")
    assert _pixels(linked) == 50
    linked.keyboard.press("s")
    linked.reload()
    expect(linked.locator("html[data-source]")).to_be_attached()
    assert linked.url.endswith("?size=50&text=00ffff")


def test_the_theme_is_the_systems_until_another_is_chosen(captions: Served, visit: Visit) -> None:
    page = visit(captions.page, color_scheme="light")
    html, button = page.locator("html"), page.get_by_role("button", name="Light theme")
    for system in ("dark", "light"):
        page.emulate_media(color_scheme=system)
        expect(html).to_have_css("color-scheme", system)
        expect(button).to_have_attribute("aria-pressed", str(system == "light").lower())
    page.keyboard.press("t")
    expect(html).to_have_css("color-scheme", "dark")
    page.reload()
    expect(html).to_have_css("color-scheme", "dark")
    page.keyboard.press(",")
    page.get_by_label("Theme", exact=True).select_option("system")
    expect(html).to_have_css("color-scheme", "light")
    # A colour that was chosen for one theme is not shown on the other.
    page.get_by_label("Text colour").fill("#003366")
    page.emulate_media(color_scheme="dark")
    expect(html).to_have_css("color-scheme", "light")
    page.get_by_role("button", name="Reset all").click()
    linked = visit(captions.page + "?text=00ffff", color_scheme="light")
    expect(linked.locator("html")).to_have_css("color-scheme", "dark")


def test_the_settings_give_the_address_of_an_overlay_that_looks_so(captions: Served, visit: Visit) -> None:
    page = visit(captions.page + "?size=60&source=1")
    page.keyboard.press(",")
    page.get_by_label("Alignment").select_option("center")
    page.get_by_label("Finished sentences only").check()
    expect(page.get_by_label("Overlay for OBS")).to_have_value(
        f"{captions.page}?overlay=1&size=60&align=center&source=1&finals=1"
    )
    page = visit(captions.page + "?token=secret")
    page.keyboard.press(",")
    # OBS was never here, so nobody gave it the token's cookie.
    expect(page.get_by_label("Overlay for OBS")).to_have_value(re.compile(r"[?&]token=secret$"))


def test_who_wants_less_motion_and_more_contrast_gets_it(captions: Served, visit: Visit) -> None:
    for wish, property_ in (("reduce", "none"), ("no-preference", "opacity")):
        overlay = visit(captions.page + "?overlay=1", reduced_motion=wish)
        expect(overlay.locator("#captions")).to_have_css("transition-property", property_)
    page = visit(captions.page, contrast="more")
    captions.say(0, "Guten Morgen")
    expect(page.locator("#captions .tentative")).to_have_css("opacity", "1")
    expect(page.locator("html")).to_have_css("background-color", "rgb(0, 0, 0)")


def test_single_keys_can_be_turned_off_and_colours_that_are_hard_to_read_are_told(
    captions: Served, visit: Visit
) -> None:
    page = visit(captions.page + "?keys=0")
    page.keyboard.press("t")
    page.keyboard.press("?")
    expect(page.locator("html")).to_have_css("color-scheme", "dark")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.locator("#set").click()
    said = page.locator("#contrast-said")
    expect(said).to_have_text("")
    page.get_by_label("Text colour").fill("#555555")
    expect(said).to_have_text("contrast 2.5 : 1, hard to read")
    page.get_by_role("button", name="Reset all").click()
    expect(said).to_have_text("")
