"""The pages of the web server and their event streams."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from urllib.parse import unquote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from connectors.http.access import Access
from connectors.http.guard import POLICY, Guard
from connectors.web.assets import Asset, load_assets
from connectors.web.event_stream import EventStream
from connectors.web.hub import Full, Hub

# OBS adds a source's custom CSS to the page as a <style> element. Styles still load nothing from other hosts.
_STYLED = f"{POLICY}; style-src-elem 'self' 'unsafe-inline'"
_NOT_KEPT = {"cache-control": "no-store"}


def web_app(
    hub: Hub,
    access: Access,
    token: str | None,
    ready: Callable[[], None],
    *,
    front: str = "index.html",
    more: Sequence[BaseRoute] = (),
) -> Starlette:
    """The application that shows the content of ``hub`` to clients that ``access`` admits.

    Args:
        hub: The streams.
        access: Admits clients.
        token: The token of admitted clients.
        ready: Called when the event loop can receive from the hub.
        front: The file of the page at ``/``.
        more: Further routes.
    """
    pages = _Pages(hub, load_assets(), front)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        tending = asyncio.create_task(hub.tend())
        # The task has registered its loop with the hub by the time it first waits.
        await asyncio.sleep(0)
        ready()
        try:
            yield
        finally:
            tending.cancel()

    return Starlette(
        routes=[
            *more,
            Route("/", pages.index),
            Route("/streams.json", pages.streams),
            Route("/robots.txt", pages.robots),
            Route("/static/{name}", pages.static),
            Route("/streams/{stream:path}", pages.stream),
        ],
        middleware=[Middleware(Guard, access=access, token=token)],
        exception_handlers={404: _no_such_page, Full: _full},
        lifespan=lifespan,
    )


class _Pages:
    def __init__(self, hub: Hub, assets: dict[str, Asset], front: str) -> None:
        self._hub = hub
        self._assets = assets
        self._front = front

    async def index(self, request: Request) -> Response:
        return self._file(self._front, request)

    async def streams(self, _request: Request) -> Response:
        return JSONResponse([one._asdict() for one in self._hub.listed()], headers=_NOT_KEPT)

    async def stream(self, request: Request) -> Response:
        # A stream's name may contain slashes: one before the name of a page is not escaped.
        address = request.scope["raw_path"].decode("ascii", "replace").removeprefix("/streams/")
        name, _, what = address.rpartition("/")
        if name and what == "events":
            return self._events(unquote(name), request)
        if name and what == "control":
            return self._file("control.html", request)
        # For any name: the page waits for a stream that does not exist yet.
        return self._file("page.html", request, _STYLED)

    def _events(self, name: str, request: Request) -> Response:
        if not self._hub.may_follow(name, request.query_params.get("view", "")):
            # The same answer whether there is such a stream or not.
            raise HTTPException(404)
        # Not a subclass of Response, but it behaves like one.
        return EventStream(self._hub, name, request.headers.get("last-event-id"))  # type: ignore[return-value]

    async def robots(self, request: Request) -> Response:
        return self._file("robots.txt", request)

    async def static(self, request: Request) -> Response:
        return self._file(request.path_params["name"], request)

    def _file(self, name: str, request: Request, policy: str = POLICY) -> Response:
        asset = self._assets.get(name)
        if asset is None:
            raise HTTPException(404)
        headers = {"etag": asset.etag, "cache-control": "no-cache", "content-security-policy": policy}
        if request.headers.get("if-none-match") == asset.etag:
            return Response(status_code=304, headers=headers)
        return Response(asset.content, media_type=asset.media_type, headers=headers)


async def _no_such_page(_request: Request, _error: Exception) -> Response:
    return PlainTextResponse("there is no such page; / lists the streams\n", 404, headers=_NOT_KEPT)


async def _full(_request: Request, _error: Exception) -> Response:
    sentence = "the maximum number of viewers is reached; try again later\n"
    return PlainTextResponse(sentence, 503, headers={**_NOT_KEPT, "retry-after": "10"})
