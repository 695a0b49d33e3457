"""Metrics and health over HTTP, on a thread of its own, so that it answers while the model is busy.

Separate from the audience's server: another port, another thread, and no captions.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import NamedTuple

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
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
            f"{text!r} is not [HOST:]PORT; give metrics.listen an address such as 9464 or 127.0.0.1:9464"
        )
    return Address(host or LOCAL, int(port))


@contextmanager
def served_metrics(
    address: Address, registry: CollectorRegistry, verdict: Callable[[], Verdict]
) -> Iterator[tuple[str, bool]]:
    """Serve ``/metrics`` and ``/healthz`` inside the block.

    Args:
        verdict: Returns the state of the run; called on the server's thread.

    Returns:
        The address of the metrics, and whether other machines may be able to reach it.

    Raises:
        OutputError: when the port is in use or may not be opened.
    """
    host = address.host
    listener = listen(
        host,
        address.port,
        what="metrics",
        instead="choose another metrics.listen",
        backlog=_BACKLOG,
    )
    port = listener.getsockname()[1]
    # A web page must not be able to read this by resolving its own name to this machine (DNS rebinding).
    # On other addresses, scrapers use names that are not known here.
    guard = [Middleware(Guard, access=Access(host, port, None), token=None)] if is_local(host) else []

    async def metrics(request: Request) -> Response:
        encode, media_type = choose_encoder(request.headers.get("accept", ""))
        return Response(encode(registry), headers={**_NOT_KEPT, "content-type": media_type})

    async def healthz(_request: Request) -> Response:
        now = verdict()
        body = {"status": now.state, "cause": now.cause, "reason": now.reason}
        return JSONResponse(body, 200 if now.is_well else 503, headers=_NOT_KEPT)

    def app(ready: Callable[[], None]) -> Starlette:
        @asynccontextmanager
        async def lifespan(_app: Starlette) -> AsyncIterator[None]:
            ready()
            yield

        routes = [Route("/metrics", metrics), Route("/healthz", healthz)]
        return Starlette(routes=routes, middleware=guard, lifespan=lifespan)

    server = BackgroundServer(
        listener,
        app,
        name="metrics",
        max_connections=max_sockets(_MAX_CONNECTIONS, _FILE_SHARE),
        backlog=_BACKLOG,
        stop_s=_STOP_S,
        failure="the metrics server did not start; try again, or leave out metrics.listen",
    )
    try:
        yield f"http://{shown(host)}:{port}/metrics", not is_local(host)
    finally:
        server.stop()
