"""The speaker's page in a real browser, with a flow of a few lines behind the rooms."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import soundfile
from playwright.sync_api import Browser, Page, expect

from connectors.rooms.keys import RoomKeys
from tests.browser import complaints, open_browser
from tests.connectors.rooms.speaking import Serving, serving
from tests.connectors.web.browser import caption
from tests.waiting import until

#: Counts the bytes of speech; keeps the page from its server, and lets it make up for 150 seconds meanwhile.
_AWAY = """async () => {
    const { Room } = await import("/static/room.js");
    const { WebSocket } = window, { send } = Room.prototype;
    window.spoken = 0;
    Room.prototype.send = function (piece) {
        window.spoken += piece.byteLength;
        send.call(this, piece);
    };
    window.leave = () => {
        window.WebSocket = class { constructor() { setTimeout(() => this.onclose({ code: 1006 })); } };
    };
    window.speakOn = () => new Promise((spoken) => {
        const one = Room.prototype.send;
        Room.prototype.send = function (piece) {
            Room.prototype.send = one;
            for (let pieces = 0; pieces < 1500; pieces += 1) this.send(piece);
            spoken();
        };
    });
    window.comeBack = () => { window.WebSocket = WebSocket; };
}"""


@pytest.fixture(name="browser", scope="module")
def _browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    microphone = tmp_path_factory.mktemp("sound") / "tone.wav"
    tone = 8000 * np.sin(2 * np.pi * 440 * np.arange(48_000) / 48_000)
    soundfile.write(microphone, tone.astype(np.int16), 48_000)
    with open_browser(microphone) as browser:
        yield browser


@pytest.fixture(name="served")
def _served() -> Iterator[Serving]:
    with serving(rooms=1) as served:
        yield served


@pytest.fixture(name="page")
def _page(browser: Browser, served: Serving) -> Iterator[Page]:
    with _open(browser, served) as page:
        yield page


@contextmanager
def _open(browser: Browser, served: Serving) -> Iterator[Page]:
    context = browser.new_context(permissions=["microphone", "clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(served.address)
    yield page
    context.close()


def _speak(page: Page) -> None:
    page.locator("#speak").click()
    expect(page.locator("#captions .text").first).to_be_visible()


def _hear_on(served: Serving) -> None:
    """Wait for half a second more of speech."""
    heard = served.flow.heard
    until(lambda: served.flow.heard > heard + 16_000)


def _readers(page: Page) -> str:
    """The link for readers."""
    page.get_by_role("button", name="Copy link for readers").click()
    expect(page.locator("#notice")).to_contain_text("The link is copied")
    return str(page.evaluate("navigator.clipboard.readText()"))


def finals(served: Serving) -> list[int]:
    """The bytes of sound in each finished segment."""
    ((_, followed),) = served.hub._streams.items()
    return [int(one.text) for one in followed.log._segments.values() if one.final]


def test_a_connection_that_breaks_again_and_again_loses_no_sound(served: Serving, page: Page) -> None:
    page.evaluate(_AWAY)
    _speak(page)
    for _ in range(2):
        served.cut()
        _hear_on(served)
    page.locator("#speak").click()
    expect(page.locator("#state-words")).to_have_text("not speaking")
    assert sum(finals(served)) == page.evaluate("spoken")
    assert len(finals(served)) == 3, "each lost connection finished a segment"


def test_a_speaker_speaks_until_stop_and_may_begin_again(served: Serving, page: Page) -> None:
    said = complaints(page)
    expect(page.get_by_label("Captions in")).to_have_text("GermanHebrewAll of these")
    page.get_by_label("Captions in").select_option("Hebrew")
    for turn in range(2):
        page.locator("#speak").click()
        expect(page.locator("#captions .text")).to_have_count(1)
        expect(page.locator("#captions")).to_have_attribute("dir", "rtl")
        expect(page.locator("#speak")).to_have_attribute("aria-pressed", "true")
        page.locator("#speak").click()
        expect(page.locator("#state-words")).to_have_text("not speaking")
        expect(page.locator("#speak")).to_be_enabled()
        assert len(served.hub._published()) == turn + 1
    assert [one for one in said if not one.startswith(served.address)] == []


def test_a_meeting_in_several_languages_starts_with_all_of_them(browser: Browser) -> None:
    both = ("English", "German")
    with serving(rooms=1, spoken=both, written=both) as served, _open(browser, served) as page:
        expect(page.get_by_label("You speak")).to_have_value("en,de")
        expect(page.get_by_label("Captions in")).to_have_value("en,de")


@pytest.mark.parametrize("size", [(320, 480), (640, 320)])
def test_the_form_of_a_small_screen_scrolls_above_the_button(page: Page, size: tuple[int, int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    expect(page.locator("#speak")).to_be_enabled()
    form, footer = page.locator("#opening").bounding_box(), page.locator("footer").bounding_box()
    assert form is not None
    assert footer is not None
    assert form["y"] + form["height"] <= footer["y"]
    page.get_by_label("Name of the room").click()
    assert page.locator("html").evaluate("e => e.scrollWidth") <= size[0]


def test_a_microphone_that_may_not_be_used_is_said_on_the_page(page: Page) -> None:
    refused = "throw new DOMException('no', 'NotAllowedError')"
    page.evaluate(f"() => {{ navigator.mediaDevices.getUserMedia = async () => {{ {refused}; }}; }}")
    page.locator("#speak").click()
    expect(page.locator("#notice")).to_contain_text("allow it for this page in your browser and try again")
    expect(page.locator("#speak")).to_be_enabled()


def test_a_server_that_is_gone_is_no_fault_of_the_browser(served: Serving, page: Page) -> None:
    expect(page.locator("#speak")).to_be_enabled()
    served.server.stop()
    page.evaluate("""() => {
        const { mediaDevices } = navigator, get = mediaDevices.getUserMedia.bind(mediaDevices);
        mediaDevices.getUserMedia = async (wanted) => (window.microphone = await get(wanted));
    }""")
    page.locator("#speak").click()
    expect(page.locator("#notice")).to_contain_text("server does not answer")
    expect(page.locator("#speak")).to_be_focused()
    assert page.evaluate("microphone.getTracks().map(({ readyState }) => readyState)") == ["ended"]


def test_speech_beyond_what_is_kept_is_told_as_lost_and_the_rest_comes_once(browser: Browser) -> None:
    with serving(rooms=1, bytes_per_second=10**8) as served, _open(browser, served) as page:
        page.evaluate(_AWAY)
        _speak(page)
        page.evaluate("leave()")
        served.cut()
        expect(page.locator("#state-words")).to_have_text("reconnecting…")
        page.evaluate("speakOn()")
        expect(page.locator("#told")).to_have_text(re.compile(r"^The server is 15\d seconds behind"))
        page.evaluate("comeBack()")
        notice = page.locator("#notice")
        expect(notice).to_have_text(re.compile(r"Lost: 3\d seconds of your speech\.$"))
        expect(page.locator("#told")).to_have_text("")
        told = int(re.findall(r"\d+", notice.inner_text())[0])
        served.cut()
        expect(page.locator("#state-words")).to_have_text("reconnecting…")
        expect(page.locator("#state-words")).to_have_text("listening")
        assert int(re.findall(r"\d+", notice.inner_text())[0]) == told, "it is told once"
        page.locator("#speak").click()
        expect(page.locator("#state-words")).to_have_text("not speaking")
        lost = page.evaluate("spoken") - sum(finals(served))
        assert abs(lost / 32_000 - told) <= 0.5


def test_a_page_that_is_loaded_again_goes_on_in_its_room(served: Serving, page: Page) -> None:
    page.get_by_label("Name of the room").fill("Main hall")
    page.get_by_label("Captions in").select_option("Hebrew")
    page.keyboard.press("Enter")
    expect(page.locator("#captions .text").first).to_be_visible()
    link = _readers(page)
    page.reload()
    expect(page.get_by_label("Name of the room")).to_have_value("Main hall")
    expect(page.get_by_label("Captions in")).to_have_value("he")
    expect(page.locator("#notice")).to_contain_text("its readers can keep their link")
    assert _readers(page) == link
    page.get_by_label("Name of the room").fill("Other hall")
    expect(page.locator("#speak")).to_have_text("Start speaking")
    page.get_by_label("Name of the room").fill("Main hall")
    expect(page.locator("#speak")).to_have_text("Continue speaking")
    page.locator("#speak").click()
    expect(page.locator("#captions .text")).to_have_count(2)
    _hear_on(served)
    assert _readers(page) == link
    page.locator("#speak").click()
    expect(page.locator("#state-words")).to_have_text("not speaking")
    assert sum(finals(served)) == served.flow.heard


def test_the_address_of_a_kept_room_opens_it_with_the_same_link(browser: Browser, tmp_path: Path) -> None:
    with serving(rooms=1, keys=RoomKeys(tmp_path / "keys")) as served, _open(browser, served) as page:
        page.get_by_label("Name of the room").fill("Main hall")
        page.get_by_label("Captions in").select_option("Hebrew")
        _speak(page)
        link = _readers(page)
        # As after a restart: the server knows no room, and counts from 0.
        served.rooms._rooms.clear()
        served.cut()
        _hear_on(served)
        expect(page.locator("#notice")).not_to_contain_text("Lost")
        page.locator("#speak").click()
        expect(page.locator("#state-words")).to_have_text("not speaking")
        expect(page.locator("#speak")).to_have_text("Continue speaking")
        address = page.url
        reader = page.context.new_page()
        reader.goto(link)
        expect(reader.locator("h1")).to_have_text("surtitle Main hall")
        expect(reader.locator("#captions .text").first).to_be_visible()
    with serving(rooms=1, keys=RoomKeys(tmp_path / "keys")) as served, _open(browser, served) as page:
        page.goto(f"{served.address}#{address.partition('#')[2]}")
        page.reload()
        expect(page.get_by_label("Name of the room")).to_have_value("Main hall")
        expect(page.get_by_label("Captions in")).to_have_value("he")
        expect(page.locator("#notice")).to_contain_text("Its readers can keep their link")
        _speak(page)
        assert _readers(page).partition("/streams/")[2] == link.partition("/streams/")[2]


def test_readers_are_told_of_an_incomplete_link_and_of_a_room_that_is_gone(
    served: Serving, page: Page
) -> None:
    _speak(page)
    link = _readers(page)
    address = link.partition("?")[0]
    for incomplete in (address, link[:-3], f"{address}/control"):
        page.goto(incomplete)
        expect(page.get_by_text("the link is incomplete, or the room is over")).to_be_visible()
        expect(page.locator("#state-words")).to_have_text("not connected")
    page.goto(f"{address}?overlay=1")
    expect(page.locator("body")).to_have_text(re.compile("the link is incomplete"))
    page.goto(link)
    expect(page.locator("#state-words")).to_have_text("listening")
    served.cut()
    # As after a new start of the server, which knows nothing of the room.
    served.hub._streams.clear()
    expect(page.locator("#notice")).to_contain_text("the room is over")


def test_who_speaks_in_the_room_is_named_beside_the_microphone(served: Serving, page: Page) -> None:
    _speak(page)
    (stream,) = served.hub._streams
    served.hub.caption(caption("Ja.", 8, stream=stream, final=True, speaker="1"))
    page.get_by_role("button", name="Voices").click()
    field = page.get_by_label("Name of Sprecher 1")
    field.fill("7")
    field.press("Enter")
    expect(page.locator("#refusal")).to_contain_text("a number alone is no name")
    field.fill("Anna")
    field.press("Enter")
    expect(page.locator("#captions .speaker")).to_have_text("Anna: ")
    expect(page.locator("#refusal")).to_be_empty()
