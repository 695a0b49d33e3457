"""Metrics and health over HTTP, on a thread of its own, so that it answers while the model is busy.

Separate from the audience's server: another port, another thread, and no captions.
"""

import contextlib
from collections.abc import AsyncIterator, Callable
from typing import NamedTuple

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from connectors.http.access import LOCAL, Access, is_local
from connectors.http.background import BackgroundServer
from connectors.http.guard import Guard
from connectors.http.listener import listen, max_sockets, shown
from operators.errors import UsageError
from operators.metrics.health import Verdict

# A scraper or two, a probe, and a person.
_MAX_CONNECTIONS = 32
# The part of the process's file limit that connections may use if the limit is low: an eighth.
_FILE_SHARE = 8
_BACKLOG = 128
# Seconds that connections get to end.
_STOP_S = 1.0
_NOT_KEPT = {"cache-control": "no-store"}


class Address(NamedTuple):
    """The address to listen on."""

    host: str
    port: int


def parse_address(text: str) -> Address:
    """Parse ``[HOST:]PORT``; without a host it is an address on this machine only.

    Raises:
        UsageError: when the text is not an address.
    """
    host, colon, port = text.strip().rpartition(":")
    host = host.removeprefix("[").removesuffix("]") if host.startswith("[") else host
    # Only plain decimal ports, and a host wherever there is a colon.
    is_port = port.isascii() and port.isdigit() and len(port) <= 5 and int(port) <= 65535
    if not is_port or (colon and not host):
        raise UsageError(
            f"{text!r} is not [HOST:]PORT; give --metrics an address such as 9464 or 127.0.0.1:9464"
        )
    return Address(host or LOCAL, int(port))


class MetricsServer:
    """Serves ``/metrics`` and ``/healthz``, from `start` to `stop`.

    Args:
        verdict: Returns the state of the run; called on the server's thread.
    """

    def __init__(self, address: Address, registry: CollectorRegistry, verdict: Callable[[], Verdict]) -> None:
        self._address = address
        self._registry = registry
        self._verdict = verdict
        self._server: BackgroundServer | None = None

    @property
    def is_open_to_others(self) -> bool:
        """Whether other machines may be able to reach it."""
        return not is_local(self._address.host)

    def start(self) -> str:
        """Listen, and return the address of the metrics.

        Raises:
            OutputError: when the port is in use or may not be opened.
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
            max_connections=max_sockets(_MAX_CONNECTIONS, _FILE_SHARE),
            backlog=_BACKLOG,
            stop_s=_STOP_S,
            failure="the metrics server did not start; try again, or leave out --metrics",
        )
        return f"http://{shown(host)}:{port}/metrics"

    def stop(self) -> None:
        """Release the port. It may be called more than once, and before `start`."""
        if self._server is not None:
            self._server.stop()
            self._server = None

    def _app(self, port: int, ready: Callable[[], None]) -> Starlette:
        @contextlib.asynccontextmanager
        async def lifespan(_app: Starlette) -> AsyncIterator[None]:
            ready()
            yield

        # A web page must not be able to read this by resolving its own name to this machine (DNS rebinding).
        # On other addresses, scrapers use names that are not known here.
        access = Access(self._address.host, port, None)
        return Starlette(
            routes=[Route("/metrics", self._metrics), Route("/healthz", self._healthz), Route("/", _index)],
            middleware=[] if self.is_open_to_others else [Middleware(Guard, access=access, token=None)],
            lifespan=lifespan,
        )

    async def _metrics(self, request: Request) -> Response:
        encode, media_type = choose_encoder(request.headers.get("accept", ""))
        return Response(encode(self._registry), headers={**_NOT_KEPT, "content-type": media_type})

    async def _healthz(self, _request: Request) -> Response:
        verdict = self._verdict()
        body = {"status": verdict.state, "cause": verdict.cause, "reason": verdict.reason}
        return JSONResponse(body, 200 if verdict.is_well else 503, headers=_NOT_KEPT)


async def _index(_request: Request) -> Response:
    return PlainTextResponse("surtitle: /metrics for Prometheus, /healthz for probes\n", headers=_NOT_KEPT)
