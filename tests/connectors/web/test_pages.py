"""The pages, the list of streams and the codes of addresses, as a browser gets them."""

import io
import json
from urllib.parse import quote

import pytest
import segno
from playwright.sync_api import expect
from typing_extensions import override

from connectors.web.app import Asset, load_assets
from connectors.web.qr import show_code
from tests.connectors.web.browser import caption, follow
from tests.connectors.web.serving import Served, serving
from tests.folder_proxy import folder_proxy
from tests.web_pages import Visit

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


@pytest.mark.parametrize("name", ["hall 1", "control", "hall/events"])
def test_pages_in_the_folder_of_a_proxy_lead_to_each_other(served: Served, visit: Visit, name: str) -> None:
    served.hub.caption(caption("Guten Morgen", stream=name))
    with folder_proxy(served.port) as folder:
        readers = f"{folder}streams/{quote(name, safe='')}"
        page = visit(folder)
        for link, address in ((name, readers), (f"Overlay of {name}", f"{readers}?overlay=1")):
            page.get_by_role("link", name=link, exact=True).click()
            expect(page).to_have_url(address)
            expect(page.get_by_text("Guten Morgen").first).to_be_visible()
            page.goto(folder)
        page.get_by_role("link", name=f"Control room of {name}").click()
        expect(page.locator("#name")).to_have_text(name)
        expect(page.locator("#state-words")).to_have_text("listening")
        page.get_by_role("button", name="QR code").click()
        dialog = page.get_by_role("dialog", name="Address for readers")
        expect(dialog.get_by_role("link")).to_have_text(readers)
        expect(dialog).to_contain_text("Only this machine can open it.")
        expect(dialog.get_by_role("img")).not_to_have_js_property("naturalWidth", 0)
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        page.get_by_role("link", name="surtitle").click()
        expect(page).to_have_url(folder)


def test_a_code_says_the_whole_address_and_what_is_no_address_has_none(standing: Served) -> None:
    address = "https://captions.example/streams/hall?view=0123456789abcdef&token=ä"
    answer, body = standing.get(f"/qr.svg?for={quote(address, safe='')}")
    assert answer.headers["content-type"] == "image/svg+xml"
    modules = segno.make(address, error="m", micro=False).symbol_size(scale=8)[0]
    assert f'width="{modules}"' in body
    for other in ("", "javascript:alert(1)", "http://" + "a" * 2000):
        assert standing.status(f"/qr.svg?for={quote(other, safe='')}") == 404


class _Terminal(io.TextIOWrapper):
    @override
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_the_address_as_a_code_and_a_pipe_does_not() -> None:
    address = "http://192.0.2.7:8080/?token=0123456789abcdefghijkl"
    for make, encoding, is_drawn in (
        (_Terminal, "utf-8", True), (_Terminal, "latin-1", False), (io.TextIOWrapper, "utf-8", False),
    ):  # fmt: skip
        out = make(io.BytesIO(), encoding)
        show_code(address, out)
        out.flush()
        rows = out.buffer.getvalue().decode().splitlines()  # type: ignore[attr-defined]
        # Two rows of the code in a line, as a character is twice as high as wide.
        assert len(rows) == is_drawn * 17
