"""Metrics and health over HTTP, in a thread of its own: it answers while the model is busy.

Apart from the audience's server: another port, another thread, and no caption.
"""

import contextlib
from collections.abc import Callable
from typing import NamedTuple

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from connectors.http.access import Access, is_local
from connectors.http.background import BackgroundServer
from connectors.http.guard import Guard
from connectors.http.listener import listen, shown
from connectors.http.open_files import most_sockets
from operators.errors import UsageError
from operators.health import Verdict

# A scraper or two, a probe, and somebody who looks.
_MAX_CONNECTIONS = 32
# The part of a process's files that they may be where those are few: an eighth.
_SHARE = 8
_BACKLOG = 128
# Seconds that connections have to end.
_STOP_S = 1.0
_NOT_KEPT = {"cache-control": "no-store"}


class Address(NamedTuple):
    """Where to listen."""

    host: str
    port: int


def parse_address(text: str) -> Address:
    """The address that ``[HOST:]PORT`` means: on this machine only, unless a host is given.

    Raises:
        UsageError: when it means none.
    """
    host, colon, port = text.strip().rpartition(":")
    host = host.removeprefix("[").removesuffix("]") if host.startswith("[") else host
    # No other form of a number, and a host wherever there is a colon.
    is_port = port.isascii() and port.isdigit() and len(port) <= 5 and int(port) <= 65535
    if not is_port or (colon and not host):
        raise UsageError(f"metrics are served at [HOST:]PORT, as in 9464 or 127.0.0.1:9464, not {text!r}")
    return Address(host or "127.0.0.1", int(port))


class MetricsServer:
    """Serves ``/metrics`` and ``/healthz``, from `start` to `stop`.

    Args:
        registry: What is counted.
        verdict: Says how the run is; called on the server's thread.
    """

    def __init__(self, address: Address, registry: CollectorRegistry, verdict: Callable[[], Verdict]) -> None:
        self._address = address
        self._registry = registry
        self._verdict = verdict
        self._server: BackgroundServer | None = None

    @property
    def is_open_to_others(self) -> bool:
        """Whether other machines may reach it."""
        return not is_local(self._address.host)

    def start(self) -> str:
        """Listen, and give the address of the metrics.

        Raises:
            OutputError: when the port is taken or may not be listened on.
        """
        host, port = self._address
        listener = listen(
            host, port, what="metrics", instead="choose another --metrics [HOST:]PORT", backlog=_BACKLOG
        )
        port = listener.getsockname()[1]
        self._server = BackgroundServer(
            listener,
            lambda ready: self._app(port, ready),
            name="metrics",
            most_connections=most_sockets(_MAX_CONNECTIONS, _SHARE),
            backlog=_BACKLOG,
            stop_s=_STOP_S,
            failure="the metrics' server does not start; try again, or leave --metrics out",
        )
        return f"http://{shown(host)}:{port}/metrics"

    def stop(self) -> None:
        """Let go of the port. It may be called again, and before `start`."""
        if self._server is not None:
            self._server.stop()
            self._server = None

    def _app(self, port: int, ready: Callable[[], None]) -> Starlette:
        routes = [
            Route("/metrics", self._metrics),
            Route("/healthz", self._healthz),
            Route("/", self._index),
        ]
        return Starlette(routes=routes, middleware=self._guard(port), lifespan=_tells(ready))

    def _guard(self, port: int) -> list[Middleware]:
        # No web page can make its own name lead to this machine only, and look (DNS rebinding). Elsewhere
        # scrapers come by names that nobody here knows.
        if self.is_open_to_others:
            return []
        return [Middleware(Guard, access=Access(self._address.host, port, None), token=None)]

    async def _metrics(self, request: Request) -> Response:
        encode, media_type = choose_encoder(request.headers.get("accept", ""))
        return Response(encode(self._registry), headers={**_NOT_KEPT, "content-type": media_type})

    async def _healthz(self, _request: Request) -> Response:
        verdict = self._verdict()
        body = {"status": verdict.state, "cause": verdict.cause, "reason": verdict.reason}
        return JSONResponse(body, 200 if verdict.is_well else 503, headers=_NOT_KEPT)

    async def _index(self, _request: Request) -> Response:
        return PlainTextResponse(
            "surtitle: /metrics for Prometheus, /healthz for probes\n", headers=_NOT_KEPT
        )


def _tells(ready: Callable[[], None]) -> Callable[[Starlette], contextlib.AbstractAsyncContextManager[None]]:
    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette):  # type: ignore[no-untyped-def]
        ready()
        yield

    return lifespan
