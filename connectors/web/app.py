"""The pages of the web server and their event streams.

The page's files are loaded into memory; no other file can be requested. Starlette's ``StaticFiles`` would
take a file's type from the system's table, and its ETag from the time and size of the file, which may not
change when the package is updated.
"""

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.resources import files
from random import randrange
from typing import NamedTuple
from urllib.parse import unquote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from connectors.http.access import Access, is_same
from connectors.http.guard import POLICY, Guard
from connectors.web.hub import Client, Hub
from connectors.web.qr import svg_of
from operators.errors import UsageError

_NOT_KEPT = {"cache-control": "no-store"}
_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    # Keeps proxies such as nginx from buffering captions until they have a few kilobytes.
    (b"x-accel-buffering", b"no"),
]


class _EventStream(Response):
    """Sends a client the events of a stream until the client disconnects or the hub releases it."""

    def __init__(self, hub: Hub, name: str, request: Request) -> None:
        self._hub, self._name = hub, name
        self._last_id = request.headers.get("last-event-id")
        self._languages = request.query_params.get("lang", "")

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._hub.join(self._name, self._last_id, self._languages) as client:
            await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            watch = asyncio.create_task(_cut_when_gone(client, receive))
            # A random delay, so that clients do not all return at once when a server restarts.
            events = b"retry: %d\n\n" % randrange(1000, 3000)
            try:
                while events:
                    await send({"type": "http.response.body", "body": events, "more_body": True})
                    events = b"" if scope["method"] == "HEAD" else await client.next()
                await send({"type": "http.response.body", "body": b""})
            finally:
                watch.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await watch


async def _cut_when_gone(client: Client, receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    client.cut()


# Fixed here because some systems map .js to plain text, and a browser would not run it.
_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}


class Asset(NamedTuple):
    content: bytes
    media_type: str
    etag: str


def load_assets() -> dict[str, Asset]:
    assets = {}
    for entry in files("connectors.web").joinpath("static").iterdir():
        media_type = _TYPES.get(entry.name.rpartition(".")[2])
        if media_type and entry.is_file():
            content = entry.read_bytes()
            assets[entry.name] = Asset(content, media_type, f'"{hashlib.sha256(content).hexdigest()[:16]}"')
    return assets


# OBS adds a source's custom CSS to the page as a <style> element. Styles still load nothing from other hosts.
_STYLED = f"{POLICY}; style-src-elem 'self' 'unsafe-inline'"


class _Pages:
    def __init__(self, hub: Hub, key: str | None, front: str) -> None:
        self._hub, self._key, self._front = hub, key, front
        self._assets = load_assets()

    def _file(self, name: str, request: Request, policy: str = POLICY) -> Response:
        asset = self._assets.get(name)
        if asset is None:
            raise HTTPException(404)
        headers = {"etag": asset.etag, "cache-control": "no-cache", "content-security-policy": policy}
        if request.headers.get("if-none-match") == asset.etag:
            return Response(status_code=304, headers=headers)
        content = asset.content
        if name.endswith(".html"):
            # A proxy may serve the pages from a folder that is unknown here.
            up = b"../" * (request.scope["raw_path"].count(b"/") - 1) or b"./"
            content = content.replace(b'="/', b'="' + up)
        return Response(content, media_type=asset.media_type, headers=headers)

    async def index(self, request: Request) -> Response:
        return self._file(self._front, request)

    async def named(self, request: Request) -> Response:
        return self._file(request.path_params.get("name", "robots.txt"), request)

    async def streams(self, _request: Request) -> Response:
        return JSONResponse(self._hub.listed(), headers=_NOT_KEPT)

    async def stream(self, request: Request) -> Response:
        # A stream's name may contain slashes: one before the name of a page is not escaped.
        address = request.scope["raw_path"].decode("ascii", "replace").removeprefix("/streams/")
        name, _, what = address.rpartition("/")
        if name and what == "events":
            followed = self._hub.followed(unquote(name), request.query_params.get("view", ""))
            if followed is None:
                # The same answer whether there is such a stream or not.
                raise HTTPException(404)
            if self._hub.is_full:
                sentence = "the maximum number of viewers is reached; try again later\n"
                return PlainTextResponse(sentence, 503, headers={**_NOT_KEPT, "retry-after": "10"})
            return _EventStream(self._hub, followed, request)
        if name and what == "speakers":
            return self._name(unquote(name), request)
        if name and what == "control":
            return self._file("control.html", request)
        # For any name: the page waits for a stream that does not exist yet.
        return self._file("page.html", request, _STYLED)

    def _name(self, stream: str, request: Request) -> Response:
        """Give a voice the name that the operator typed in the control room; GET: whether the client may."""
        # The voices of a room are named over the connection of its speaker.
        if self._hub.is_private:
            raise HTTPException(404)
        # In a header, because proxies store addresses.
        may = self._key is None or is_same(request.headers.get("surtitle-key", ""), self._key)
        if request.method != "POST":
            return JSONResponse(may, headers=_NOT_KEPT)
        if not may:
            sentence = "only the operator names voices: open the control room's address that surtitle printed"
            return PlainTextResponse(f"{sentence}\n", 403, headers=_NOT_KEPT)
        asked = request.query_params
        try:
            self._hub.name(stream, asked.get("speaker", ""), asked.get("name", ""))
        except UsageError as error:
            return PlainTextResponse(f"{error}\n", 400, headers=_NOT_KEPT)
        return Response(status_code=204, headers=_NOT_KEPT)

    async def code(self, request: Request) -> Response:
        picture = svg_of(request.query_params.get("for", ""))
        if picture is None:
            raise HTTPException(404)
        return Response(picture, media_type=_TYPES["svg"], headers=_NOT_KEPT)


def web_app(
    hub: Hub,
    access: Access,
    key: str | None = None,
    *,
    front: str = "index.html",
    more: Sequence[BaseRoute] = (),
) -> Starlette:
    """The application that shows the content of ``hub``; ``front`` is the file of the page at ``/``.

    With a ``key``, only clients that send it may give names to voices.
    """
    pages = _Pages(hub, key, front)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        tending = asyncio.create_task(hub.tend())
        # The task has registered its loop with the hub by the time it first waits.
        await asyncio.sleep(0)
        try:
            yield
        finally:
            tending.cancel()

    return Starlette(
        routes=[
            *more,
            Route("/", pages.index),
            Route("/streams.json", pages.streams),
            Route("/robots.txt", pages.named),
            Route("/qr.svg", pages.code),
            Route("/static/{name}", pages.named),
            Route("/streams/{stream:path}", pages.stream, methods=["GET", "POST"]),
        ],
        middleware=[Middleware(Guard, access=access, writable=("/speakers",))],
        exception_handlers={404: _no_such_page},
        lifespan=lifespan,
    )


async def _no_such_page(_request: Request, _error: Exception) -> Response:
    return PlainTextResponse("there is no such page; / lists the streams\n", 404, headers=_NOT_KEPT)
