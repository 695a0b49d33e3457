"""QR codes of addresses for readers."""

import io
from urllib.parse import quote

import pytest
import segno
from playwright.sync_api import expect
from typing_extensions import override

from connectors.web.qr import show_code
from tests.connectors.web.browser import caption
from tests.connectors.web.serving import Served
from tests.folder_proxy import folder_proxy
from tests.web_pages import Visit


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


def test_a_code_says_the_whole_address(standing: Served) -> None:
    address = "https://captions.example/streams/hall?view=0123456789abcdef&token=ä"
    answer, body = standing.get(f"/qr.svg?for={quote(address, safe='')}")
    assert answer.headers["content-type"] == "image/svg+xml"
    modules = segno.make(address, error="m", micro=False).symbol_size(scale=8)[0]
    assert f'width="{modules}"' in body


@pytest.mark.parametrize("address", ["", "javascript:alert(1)", "http://" + "a" * 2000])
def test_what_is_no_address_has_no_code(standing: Served, address: str) -> None:
    assert standing.status(f"/qr.svg?for={quote(address, safe='')}") == 404


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
