"""The speaker's page in a real browser, with a flow of a few lines behind the rooms."""

from collections.abc import Iterator

import numpy as np
import pytest
import soundfile
from playwright.sync_api import Browser, Page, expect

from tests.browser import complaints, open_browser
from tests.connectors.rooms.speaking import Serving, serving
from tests.connectors.web.serving import soon

#: Sends 150 pieces of 100 ms, 20 ms apart, and ends the room; resolves with why it was over.
SPEAK = """async () => {
    const { Room } = await import("/static/room.js");
    return new Promise((over) => {
        window.connections = [];
        const connected = (is) => { window.connections.push(is); };
        const nothing = () => {};
        const told = { opened: nothing, changed: nothing, notice: nothing, connected, over };
        const room = new Room({ room: "hall" }, told);
        let sent = 0;
        const timer = setInterval(() => {
            window.sent = ++sent;
            room.send(new ArrayBuffer(3200));
            if (sent === 150) { clearInterval(timer); room.end(); }
        }, 20);
    });
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
    context = browser.new_context(permissions=["microphone"])
    page = context.new_page()
    page.goto(served.address)
    yield page
    context.close()


def finals(served: Serving) -> list[int]:
    """The bytes of sound in each finished segment."""
    ((_, followed),) = served.hub._streams._by_name.items()
    return [int(one.text) for one in followed.log._segments.values() if one.final]


def test_a_connection_that_breaks_again_and_again_loses_no_sound(served: Serving, page: Page) -> None:
    # Not the promise itself, which would be waited for.
    page.evaluate(f"() => {{ window.over = ({SPEAK})(); }}")
    soon(lambda: page.evaluate("window.connections !== undefined"))
    soon(lambda: page.evaluate("window.connections.length") == 1 and served.flow.heard > 2 * 3200)
    served.drop_all()
    soon(lambda: page.evaluate("window.connections.length") == 3 and served.flow.heard > 10 * 3200)
    served.drop_all()
    assert page.evaluate("window.over") == ""
    assert sum(finals(served)) == 150 * 3200
    assert len(finals(served)) == 3, "each lost connection finished a segment"
    assert page.evaluate("window.connections") == [True, False, True, False, True]


def test_a_speaker_speaks_until_stop_and_may_begin_again(served: Serving, page: Page) -> None:
    said = complaints(page)
    expect(page.get_by_label("Captions in")).to_have_text("GermanHebrew")
    page.get_by_label("Captions in").select_option("Hebrew")
    for turn in range(2):
        page.locator("#speak").click()
        expect(page.locator("#captions .text")).to_have_count(1)
        expect(page.locator("#captions")).to_have_attribute("dir", "rtl")
        expect(page.locator("#speak")).to_have_attribute("aria-pressed", "true")
        page.locator("#speak").click()
        expect(page.locator("#state-words")).to_have_text("not speaking")
        expect(page.locator("#speak")).to_be_enabled()
        assert len(served.hub._streams.published()) == turn + 1
    assert [one for one in said if not one.startswith(served.address)] == []


def test_a_place_that_is_taken_is_said_on_the_page(served: Serving, page: Page) -> None:
    with served.speaker({}) as other:
        other.open()
        page.locator("#speak").click()
        expect(page.locator("#notice")).to_have_text(
            "the only room of this server is taken; try again when one has ended"
        )
        expect(page.locator("#speak")).to_have_text("Start speaking")
        expect(page.locator("#speak")).to_be_enabled()


def test_a_microphone_that_may_not_be_used_is_said_on_the_page(browser: Browser, served: Serving) -> None:
    context = browser.new_context()
    page = context.new_page()
    refused = "throw new DOMException('no', 'NotAllowedError')"
    page.add_init_script(f"navigator.mediaDevices.getUserMedia = async () => {{ {refused}; }}")
    page.goto(served.address)
    page.locator("#speak").click()
    expect(page.locator("#notice")).to_contain_text("allow it for this page in your browser and try again")
    expect(page.locator("#speak")).to_be_enabled()
    context.close()
