"""Checks every request, and adds headers to every answer."""

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from connectors.http.access import Access, Rejection

#: Maximum bytes of a request's address and headers.
MAX_HEADER_BYTES = 16 * 1024
#: Maximum bytes of a WebSocket's message that is read at all; an application may allow less.
MAX_MESSAGE_BYTES = 1024 * 1024

#: Nothing from other origins, and only scripts and styles from our files: text stays text.
POLICY = "default-src 'self'; base-uri 'none'; object-src 'none'; form-action 'self'; frame-ancestors 'self'"

_SECURITY = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}


class Guard:
    """Rejects requests that `Access` refuses or that would write, and adds missing headers to answers.

    Pages of this server may post to paths that end with one of ``writable``. Other sites' pages may not: a
    browser names the origin of a post, and one without an origin is refused.
    """

    def __init__(self, app: ASGIApp, access: Access, writable: tuple[str, ...] = ()) -> None:
        self._app = app
        self._access = access
        self._writable = writable

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        added = dict(_SECURITY)
        app = self._app
        try:
            _check_form(scope, self._writable)
            if self._access.check(Headers(scope=scope), scope["query_string"].decode("latin-1")):
                # A page cannot put the token into the address of its event source or style sheet.
                kept = f"{self._access.cookie}={self._access.token}"
                added["set-cookie"] = f"{kept}; Path=/; HttpOnly; SameSite=Strict"
        except Rejection as refused:
            if refused.status == 405:
                added["allow"] = "GET, HEAD"
            # Also sent to a WebSocket's handshake, with ASGI's extension for that.
            app = PlainTextResponse(
                f"{refused.sentence}\n", refused.status, {"connection": "close", "cache-control": "no-store"}
            )

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=list(message.get("headers", [])))
                for name, value in added.items():
                    headers.setdefault(name, value)
                message = {**message, "headers": headers.raw}
            await send(message)

        await app(scope, receive, sent)


def _check_form(scope: Scope, writable: tuple[str, ...]) -> None:
    """Refuse a request that is too long, has a body or would write. Raises `Rejection`."""
    if scope["type"] == "http" and scope["method"] not in ("GET", "HEAD"):
        if scope["method"] != "POST" or not scope["path"].endswith(writable):
            raise Rejection(405, "surtitle's pages are read-only")
        if "origin" not in Headers(scope=scope):
            raise Rejection(403, "only surtitle's own pages may change something")
    # uvicorn counts only what arrives in pieces.
    headers = sum(len(name) + len(value) for name, value in scope["headers"])
    if len(scope["raw_path"]) + len(scope["query_string"]) + headers > MAX_HEADER_BYTES:
        raise Rejection(431, "this request is too long")
    # The body is never read, but it is parsed as it arrives, and one of tiny chunks would take all the time.
    if any(
        name == b"transfer-encoding" or (name == b"content-length" and value != b"0")
        for name, value in scope["headers"]
    ):
        raise Rejection(413, "a request to surtitle must not have a body")
