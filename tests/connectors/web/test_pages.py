"""The pages and the list of streams, as a browser gets them."""

import json

import pytest
from playwright.sync_api import expect

from connectors.web.app import Asset, load_assets
from tests.browser import open_browser
from tests.connectors.web.browser import caption, follow
from tests.connectors.web.serving import Served, serving

PAGES = ("index", "page", "control")
TYPES = {
    "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml",
    "js": "text/javascript; charset=utf-8", "txt": "text/plain; charset=utf-8",
}  # fmt: skip


def test_scripts_in_texts_and_names_stay_text(served: Served) -> None:
    evil = '<script>alert("1")</script>'
    served.hub.caption(caption(evil, stream=evil, source=evil))
    with follow(served.port, stream="%3Cscript%3Ealert(%221%22)%3C%2Fscript%3E") as follower:
        page = follower.until(evil)
    assert page.segments[0]["source"] == evil
    answer, body = served.get("/streams.json")
    assert answer.headers["content-type"] == "application/json"
    assert json.loads(body)[0]["name"] == evil


def test_pages_are_served_from_memory_under_their_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = {f"{name}.html": Asset(name.encode(), "text/html; charset=utf-8", f'"{name}"') for name in PAGES}
    monkeypatch.setattr("connectors.web.app.load_assets", lambda: pages)
    with serving() as served:
        for path, name in (
            ("/", "index"), ("/static/page.html", "page"), ("/streams/talk", "page"),
            ("/streams/talk?overlay=1", "page"), ("/streams/talk/control", "control"),
            ("/streams/a%2Fb", "page"), ("/streams/a%2Fb/control", "control"),
            ("/streams/control", "page"), ("/streams/control/control", "control"),
            ("/streams/a%2Fcontrol", "page"), ("/streams/a%2Fcontrol/control", "control"),
            ("/streams/events", "page"), ("/streams/a%2Fevents", "page"), ("/streams/a/b", "page"),
        ):  # fmt: skip
            answer, body = served.get(path)
            assert (answer.status, body) == (200, name), path
            assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert served.status("/", {"If-None-Match": '"index"'}) == 304
        assert served.status("/", {"If-None-Match": '"older"'}) == 200


def test_streams_named_like_pages_have_their_pages(served: Served) -> None:
    names = ["control", "hall/control", "hall/events"]
    for name in names:
        served.hub.caption(caption(f"Hier ist {name}.", stream=name))
    with open_browser() as browser:
        page = browser.new_page()
        for name in names:
            page.goto(f"http://127.0.0.1:{served.port}/")
            control = page.get_by_role("link", name=f"Control room of {name}", exact=True)
            address = str(control.evaluate("link => link.href"))
            page.get_by_role("link", name=name, exact=True).click()
            expect(page.locator("body")).to_contain_text(f"Hier ist {name}.")
            page.goto(address)
            expect(page).to_have_title(f"{name} – control room")
            expect(page.locator("#state-words")).to_have_text("listening")
    assert [one["name"] for one in served.hub.listed()] == names


def test_all_files_of_the_page_are_served_as_what_they_are(standing: Served) -> None:
    assets = load_assets()
    assert "robots.txt" in assets
    for name, asset in assets.items():
        answer, body = standing.get(f"/static/{name}")
        # A page names other files from where it is.
        content = asset.content.replace(b'="/', b'="../') if name.endswith(".html") else asset.content
        assert (answer.headers["content-type"], body.encode()) == (asset.media_type, content)
        assert answer.headers["content-type"] == TYPES[name.rpartition(".")[2]]


def test_the_list_says_of_each_stream_how_it_is(served: Served) -> None:
    for number in range(3):
        served.hub.caption(caption("text", number))
    with follow(served.port) as follower:
        follower.until("text")
        listed = json.loads(served.get("/streams.json")[1])
        assert listed == [{"name": "talk", "state": "listening", "segments": 3, "clients": 1}]
    served.hub.end()
    assert json.loads(served.get("/streams.json")[1])[0]["state"] == "ended"


def test_what_is_not_there_is_404(standing: Served) -> None:
    for path in ("/nothing", "/static/../server.py", "/static/..%2fserver.py", "/static/", "/static/%00"):
        assert standing.status(path) == 404, path
