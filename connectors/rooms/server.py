"""What speakers use of the web server: their page, the offered languages, and their WebSockets."""

from importlib import import_module
from typing import TYPE_CHECKING

from connectors.rooms.registry import RoomRegistry
from connectors.web.hub import Hub
from operators.extras import needs_extra
from operators.languages import Language

if TYPE_CHECKING:
    from starlette.routing import BaseRoute


class RoomServer:
    """The speakers of a web server (`connectors.web.server.Speakers`)."""

    front = "speak.html"

    def __init__(self, rooms: RoomRegistry, hub: Hub) -> None:
        """Raises `UsageError` without the packages of the extra ``web``."""
        with needs_extra("web", "surtitle serve"):
            import_module("connectors.http.socket")
        self._rooms = rooms
        self._hub = hub

    def routes(self) -> "list[BaseRoute]":
        """What is offered, and the WebSockets."""
        # Not imported with this module: few runs need it.
        from starlette.requests import Request
        from starlette.responses import JSONResponse, Response
        from starlette.routing import Route, WebSocketRoute

        from connectors.rooms.speaker import Speakers

        async def offer(_request: Request) -> Response:
            return JSONResponse(self._offer(), headers={"cache-control": "no-store"})

        return [
            Route("/rooms.json", offer),
            WebSocketRoute("/rooms", Speakers(self._rooms, self._hub).answer),
        ]

    def _offer(self) -> dict[str, object]:
        rooms = self._rooms
        return {
            "from": [_told(one) for one in rooms.spoken],
            "to": [_told(one) for one in rooms.written],
            "free": max(0, rooms.limits.rooms - len(rooms)),
        }


def _told(language: Language) -> dict[str, str]:
    return {"name": language.name, "code": language.code}
