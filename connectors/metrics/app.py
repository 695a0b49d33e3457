"""The pages of the metrics server."""

import contextlib
from collections.abc import AsyncIterator, Callable

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from connectors.http.access import Access
from connectors.http.guard import Guard
from operators.metrics.health import Verdict

_NOT_KEPT = {"cache-control": "no-store"}


def metrics_app(
    registry: CollectorRegistry,
    verdict: Callable[[], Verdict],
    access: Access | None,
    ready: Callable[[], None],
) -> Starlette:
    """The application that serves ``/metrics`` and ``/healthz``.

    Args:
        verdict: Returns the state of the run; called on the server's thread.
        access: Who may read them; None for everybody.
        ready: Called when the application serves.
    """
    pages = _Pages(registry, verdict)

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        ready()
        yield

    return Starlette(
        routes=[Route("/metrics", pages.metrics), Route("/healthz", pages.healthz), Route("/", pages.index)],
        middleware=[] if access is None else [Middleware(Guard, access=access, token=None)],
        lifespan=lifespan,
    )


class _Pages:
    def __init__(self, registry: CollectorRegistry, verdict: Callable[[], Verdict]) -> None:
        self._registry = registry
        self._verdict = verdict

    async def metrics(self, request: Request) -> Response:
        encode, media_type = choose_encoder(request.headers.get("accept", ""))
        return Response(encode(self._registry), headers={**_NOT_KEPT, "content-type": media_type})

    async def healthz(self, _request: Request) -> Response:
        verdict = self._verdict()
        body = {"status": verdict.state, "cause": verdict.cause, "reason": verdict.reason}
        return JSONResponse(body, 200 if verdict.is_well else 503, headers=_NOT_KEPT)

    async def index(self, _request: Request) -> Response:
        return PlainTextResponse(
            "surtitle: /metrics for Prometheus, /healthz for probes\n", headers=_NOT_KEPT
        )
