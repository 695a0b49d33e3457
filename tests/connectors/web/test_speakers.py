"""Who speaks, on the pages of a real browser, and names that are typed in the control room."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Page, expect

from connectors.web.hub import Hub
from connectors.web.messages import Languages
from connectors.web.server import WebServer
from operators.errors import UsageError
from operators.speakers import Namings
from tests.connectors.web.browser import caption
from tests.connectors.web.serving import Served, serving
from tests.web_pages import Visit, expect_shown, shown


def _talk(captions: Served) -> None:
    captions.say(0, "Guten Morgen, Herr Wolf.", final=True, speaker="Anna")
    captions.say(1, "Schön, dass Sie da sind.", final=True, speaker="Anna")
    captions.say(2, "Guten Morgen.", final=True, speaker="1")
    captions.say(3, "Die Führung", speaker="Anna")


def _colours(page: Page) -> list[str]:
    colours = "all => all.map(one => getComputedStyle(one).color)"
    return list(page.locator(".speaker").evaluate_all(colours))


_TALK = (
    "Anna: Guten Morgen, Herr Wolf.", "Schön, dass Sie da sind.", "Sprecher 1: Guten Morgen.",
    "Anna: Die Führung",
)  # fmt: skip


def test_the_name_is_in_the_row_where_the_speaker_changes(captions: Served, visit: Visit) -> None:
    _talk(captions)
    page, overlay = visit(captions.page), visit(captions.page + "?overlay=1&lines=4")
    expect(overlay.locator("html[data-live]")).to_be_attached()
    expect_shown(page, *_TALK)
    anna, other, again = _colours(page)
    assert anna == again != other
    captions.say(4, "Ja.", final=True, speaker="1")
    # A display that begins shows what goes on, and what comes.
    expect_shown(overlay, "Anna: Die Führung", "Sprecher 1: Ja.")
    assert _colours(overlay) == [again, other]
    heights = page.locator(".segment .text").evaluate_all("all => all.map(one => one.offsetHeight)")
    assert len(set(heights)) == 1


def test_a_late_name_moves_words_aside_in_one_row_only(captions: Served, visit: Visit) -> None:
    page, overlay = (visit(captions.page + query, size=(700, 500)) for query in ("?size=30", "?overlay=1"))
    expect(overlay.locator("html[data-live]")).to_be_attached()
    captions.say(0, "Guten Morgen.", final=True, speaker="1")
    captions.say(1, "Wo ist")
    for one in (page, overlay):
        expect_shown(one, "Sprecher 1: Guten Morgen.", "Wo ist")
    captions.say(1, "Wo ist die", speaker="2")
    for one in (page, overlay):
        expect_shown(one, "Sprecher 1: Guten Morgen.", "Sprecher 2: Wo ist die")
    # What is shown stays, and a longer sentence waits for its end.
    captions.say(1, "Wo ist die Garderobe?", final=True, speaker="1")
    expect(shown(page).nth(1)).to_have_text("Sprecher 2: Wo ist die Garderobe?")
    long = "Die Garderobe finden Sie gleich hier im Erdgeschoss hinter der Treppe auf der linken Seite"
    captions.say(2, long)
    expect(shown(page).nth(2)).to_have_text(long)
    captions.say(2, long + ", bitte", speaker="1")
    expect(shown(page).nth(2)).to_have_text(long + ", bitte")
    captions.say(2, long + ", bitte.", final=True, speaker="1")
    expect(shown(page).nth(2)).to_have_text(f"Sprecher 1: {long}, bitte.")


def test_an_overlay_that_is_narrow_has_a_dash_instead(captions: Served, visit: Visit) -> None:
    overlay = visit(captions.page + "?overlay=1&size=60&lines=4", size=(600, 500))
    captions.say(0, "Wo?", speaker="1")
    captions.say(1, "Da!", speaker="2")
    expect_shown(overlay, "– Wo?", "– Da!")


def test_a_reader_hears_the_name_once_at_the_change(captions: Served, visit: Visit) -> None:
    page = visit(captions.page)
    expect(page.locator("#state-words")).to_have_text("listening")
    _talk(captions)
    expect(page.locator("#announcer p")).to_have_text(_TALK[:3])


def test_a_name_is_beside_the_text_where_that_goes_from_right_to_left(served: Served, visit: Visit) -> None:
    served.say(0, "שלום", final=True, speaker="Anna")
    page = visit(served.page)
    expect_shown(page, "Anna: שלום")
    name, text = (page.locator(one).bounding_box() for one in (".speaker bdi", ".text .settled"))
    assert name is not None
    assert text is not None
    assert text["x"] + text["width"] <= name["x"]


def test_a_name_that_is_typed_in_the_control_room_is_that_of_all_a_voice_says(
    captions: Served, visit: Visit
) -> None:
    captions.hub.namings = namings = Namings()
    _talk(captions)
    page, overlay, control = (visit(captions.page + one) for one in ("", "?overlay=1", "/control"))
    expect_shown(overlay, "Anna: Die Führung")
    voices = control.locator("#voices li")
    expect(voices).to_have_count(2)
    expect(voices.nth(1)).to_contain_text("Sprecher 1")
    expect(voices.nth(1)).to_contain_text("1 sentence")
    field = control.get_by_label("Name of Sprecher 1")
    for typed, why in (("2", "a number alone is no name"), ("  ", "this name is empty")):
        field.fill(typed)
        field.press("Enter")
        expect(voices.nth(1).get_by_role("alert")).to_contain_text(why)
    field.fill(" Ben ")
    # What is said meanwhile leaves what is typed.
    captions.say(3, "Die Führung beginnt.", final=True, speaker="Anna")
    expect(voices.nth(0)).to_contain_text("3 sentences")
    field.press("Enter")
    expect(shown(page).nth(2)).to_have_text("Ben: Guten Morgen.")
    expect(control.get_by_label("Name of Ben")).to_have_value("Ben")
    assert namings.take("talk") == {"1": "Ben"}
    # On their way when the name was typed, and after it.
    captions.say(4, "Gern.", final=True, speaker="1")
    captions.say(5, "Bitte.", final=True, speaker="Ben")
    expect(shown(page).nth(4)).to_have_text("Ben: Gern.")
    expect(shown(page).nth(5)).to_have_text("Bitte.")
    expect(shown(overlay).first).to_have_text("Anna: Die Führung beginnt.")
    control.get_by_label("Name of Ben").fill("Anna")
    voices.nth(1).get_by_role("button").click()
    expect(voices).to_have_count(1)
    expect(visit(captions.page).locator(".speaker")).to_have_text(["Anna: "])


# What dichromats see of linear RGB (Machado, Oliveira and Fernandes 2009), and CIE XYZ of it.
_SEEN = {
    "all": np.eye(3),
    "protanopia": np.array([[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]),
    "deuteranopia": np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]),
    "tritanopia": np.array([[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]]),
}
_XYZ = np.array([[0.4339, 0.3762, 0.1898], [0.2127, 0.7152, 0.0722], [0.0178, 0.1095, 0.8727]])


def _linear(colour: str) -> NDArray[Any]:
    channels = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def _lab(linear: NDArray[Any]) -> NDArray[Any]:
    x, y, z = np.cbrt(_XYZ @ np.clip(linear, 0, 1))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_the_colours_of_names_are_read_well_and_told_apart_by_colour_blind_people(
    theme: str, captions: Served, visit: Visit
) -> None:
    names = [*(f"--voice-{number}" for number in range(6)), "--ground", "--raised"]
    page = visit(captions.page, color_scheme=theme)
    expect(page.locator("html")).to_have_css("color-scheme", theme)
    value = "names => names.map((name) => getComputedStyle(document.documentElement).getPropertyValue(name))"
    *voices, ground, raised = map(_linear, page.evaluate(value, names))
    for voice in voices:
        for behind in (ground, raised):
            dark, light = sorted((colour @ _XYZ[1]) + 0.05 for colour in (voice, behind))
            assert light / dark >= 4.5
    for seen in _SEEN.values():
        labs = [_lab(seen @ voice) for voice in voices]
        assert min(np.linalg.norm(one - other) for one, other in combinations(labs, 2)) > 15


_NAMING = "/streams/talk/speakers?speaker=1&name=Ben"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://localhost"}, 204),
        # No page of this server sends these.
        ({}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://evil.example", "Host": "evil.example"}, 421),
        ({"Origin": "http://localhost", "Content-Length": "5"}, 413),
    ],
)
def test_only_its_own_pages_give_names(served: Served, headers: dict[str, str], status: int) -> None:
    served.say(0, "Guten Morgen.", speaker="1")
    assert served.status(_NAMING, {"Host": "localhost", **headers}, "POST") == status


@pytest.mark.parametrize(
    ("options", "is_needed"),
    [
        ({}, False),
        ({"host": "localhost"}, False),
        ({"host": "0.0.0.0"}, True),
        # Others come over a proxy on this machine.
        ({"token": "opensesame"}, True),
        ({"names": ("captions.example",)}, True),
        ({"key": "only-me-here"}, True),
    ],
)
def test_a_key_is_needed_where_others_may_reach_the_server(options: dict[str, Any], is_needed: bool) -> None:
    for is_private in (False, True):
        hub = Hub([Languages(source="en", target="de")], is_private=is_private)
        server = WebServer(hub, port=0, **options)
        # Rooms are named by who opened them.
        assert server.needs_key == (is_needed and not is_private)
        assert (server.new_key is not None) == (server.needs_key and "key" not in options)


@pytest.mark.parametrize(
    ("secrets", "why"),
    [
        ({"key": "short"}, "key must be 8 to 128"),
        ({"token": "opensesame", "key": "opensesame"}, "all viewers have"),
    ],
)
def test_a_key_that_keeps_nobody_out_is_refused(secrets: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        WebServer(Hub([Languages(source="en", target="de")]), port=0, **secrets)


def test_who_reads_along_cannot_name_voices_and_the_operator_can(visit: Visit) -> None:
    german = [Languages(source="en", target="de")]
    with serving(names=("captions.example",), streams=["talk"], languages=german) as served:
        served.say(0, "Guten Morgen.", final=True, speaker="1")
        control = visit(served.page + "/control")
        expect(control.locator("#voices li")).to_contain_text("Sprecher 1")
        expect(control.get_by_text("Only the operator can name voices")).to_be_visible()
        expect(control.get_by_role("textbox")).to_have_count(0)
        own = {"Host": "localhost", "Origin": "http://localhost", "X-Forwarded-For": "127.0.0.1"}
        for key in ("", "wrong", "opensesamé"):
            answer, said = served.get(_NAMING, {**own, "surtitle-key": key}, "POST")
            assert (answer.status, said[:17]) == (403, "only the operator")
        # To the same page as before, then over the list of streams.
        control.goto(f"{served.page}/control#key={served.server.new_key}")
        field = control.get_by_label("Name of Sprecher 1")
        expect(field).to_be_visible()
        listed = visit(f"{served.address}#key={served.server.new_key}")
        listed.get_by_role("link", name="Control room of talk").click()
        listed.get_by_label("Name of Sprecher 1").fill("Ben")
        listed.keyboard.press("Enter")
        expect(control.get_by_label("Name of Ben")).to_be_visible()
        expect(control.get_by_text("Only the operator can name voices")).to_be_hidden()
        links = control.locator("a").evaluate_all("all => all.map(one => one.href)")
        assert not [link for link in links if "key" in link]


def test_a_name_needs_the_token_and_a_voice_that_has_spoken() -> None:
    own = {"Host": "localhost", "Origin": "http://localhost", "surtitle-key": "only-me-here"}
    with serving(host="0.0.0.0", token="opensesame", key="only-me-here", streams=["talk"]) as served:
        served.say(0, "Guten Morgen.", speaker="1")
        assert served.status(_NAMING, own, "POST") == 403
        token = "&token=opensesame"
        assert served.status(_NAMING + token, own, "POST") == 204
        for path in ("/streams/talk/speakers?speaker=2&name=Ben", "/streams/x/speakers?speaker=1&name=Ben"):
            answer, said = served.get(path + token, own, "POST")
            assert (answer.status, said[:6]) == (400, "nobody")
        assert served.get("/streams/talk/speakers?" + token, own)[1] == "true"
        assert served.status("/streams/talk/control?speaker=1" + token, own, "POST") == 405


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("", "empty"),
        (" \t", "empty"),
        ("x" * 51, "51 characters"),
        ("a\nb", "control"),
        ("42", "number"),
        ("٤", "number"),
    ],
)
def test_what_is_no_name_is_refused_in_a_sentence(typed: str, why: str) -> None:
    hub = Hub([Languages(source="en", target="de"), Languages(source="en", target="fr")])
    hub.caption(caption("Ja.", speaker="1", language="de"))
    with pytest.raises(UsageError, match=why):
        hub.name("talk", "1", typed)
    # Captions in the other language come a little later.
    hub.name("talk", "1", "  Zoë \u202e")
    hub.caption(caption("Oui.", speaker="1", language="fr"))
    with hub.join("talk", None, "fr") as client:
        assert '"name":"Zoë"' in client._first.decode()
