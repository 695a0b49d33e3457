"""Metrics and health over HTTP, on a thread of its own, so that it answers while the model is busy.

Separate from the audience's server: another port, another thread, and no captions.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

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

_BACKLOG = 128
_NOT_KEPT = {"cache-control": "no-store"}


def parse_address(text: str) -> tuple[str, int]:
    """Parse ``[HOST:]PORT``; without a host it is an address on this machine only.

    Raises:
        UsageError: when the text is not an address.
    """
    match = re.fullmatch(r"(?:(\[[^\]]+\]|[^\[\]].*):)?([0-9]{1,5})", text.strip())
    if match is None or int(match[2]) > 65535:
        raise UsageError(
            f"{text!r} is not [HOST:]PORT; give metrics.listen an address such as 9464 or 127.0.0.1:9464"
        )
    return (match[1] or LOCAL).strip("[]"), int(match[2])


@contextmanager
def served_metrics(
    address: tuple[str, int], registry: CollectorRegistry, verdict: Callable[[], Verdict]
) -> Iterator[tuple[str, bool]]:
    """Serve ``/metrics`` and ``/healthz`` inside the block.

    Args:
        verdict: Returns the state of the run; called on the server's thread.

    Returns:
        The address of the metrics, and whether other machines may be able to reach it.

    Raises:
        OutputError: when the port is in use or may not be opened.
    """
    host, port = address
    listener = listen(host, port, what="metrics", instead="choose another metrics.listen", backlog=_BACKLOG)
    port = listener.getsockname()[1]
    # A web page must not be able to read this by resolving its own name to this machine (DNS rebinding).
    # On other addresses, scrapers use names that are not known here.
    guard = [Middleware(Guard, access=Access(host, port))] if is_local(host) else []

    async def metrics(request: Request) -> Response:
        encode, media_type = choose_encoder(request.headers.get("accept", ""))
        return Response(encode(registry), headers={**_NOT_KEPT, "content-type": media_type})

    async def healthz(_request: Request) -> Response:
        now = verdict()
        body = {"status": now.state, "cause": now.cause, "reason": now.reason}
        return JSONResponse(body, 200 if now.is_well else 503, headers=_NOT_KEPT)

    routes = [Route("/metrics", metrics), Route("/healthz", healthz)]
    server = BackgroundServer(
        listener,
        Starlette(routes=routes, middleware=guard),
        name="metrics",
        # A scraper or two, a probe, and a person; an eighth of the process's file limit if that is low.
        max_connections=max_sockets(32, 8),
        backlog=_BACKLOG,
        stop_s=1.0,
    )
    try:
        yield f"http://{shown(host)}:{port}/metrics", not is_local(host)
    finally:
        server.stop()
