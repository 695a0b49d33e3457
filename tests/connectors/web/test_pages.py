"""The pages and the list of streams, as a browser gets them."""

import json
from urllib.parse import quote

import pytest

from connectors.web.app import Asset, load_assets
from tests.connectors.web.browser import caption, follow
from tests.connectors.web.serving import Served, serving

PAGES = ("index", "page", "control")
TYPES = {
    "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml",
    "js": "text/javascript; charset=utf-8", "txt": "text/plain; charset=utf-8",
}  # fmt: skip


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


def test_all_files_of_the_page_are_served_as_what_they_are(standing: Served) -> None:
    assets = load_assets()
    assert "robots.txt" in assets
    for name, asset in assets.items():
        answer, body = standing.get(f"/static/{name}")
        # A page names other files from where it is.
        content = asset.content.replace(b'="/', b'="../') if name.endswith(".html") else asset.content
        assert (answer.headers["content-type"], body.encode()) == (TYPES[name.rpartition(".")[2]], content)


def test_the_list_says_of_each_stream_how_it_is(served: Served) -> None:
    evil = '<script>alert("1")</script>'
    for number in range(3):
        served.hub.caption(caption("text", number, stream=evil))
    with follow(served.port, stream=quote(evil, safe="")) as follower:
        follower.until("text")
        answer, listed = served.get("/streams.json")
    assert answer.headers["content-type"] == "application/json"
    assert json.loads(listed) == [{"name": evil, "state": "listening", "segments": 3, "clients": 1}]
    served.hub.end()
    assert json.loads(served.get("/streams.json")[1])[0]["state"] == "ended"


def test_what_is_not_there_is_404(standing: Served) -> None:
    for path in ("/nothing", "/static/../server.py", "/static/..%2fserver.py", "/static/", "/static/%00"):
        assert standing.status(path) == 404, path
