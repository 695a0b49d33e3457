"""Access control: whether a request is meant for this server, and whether it has the token. Pure."""

import hmac
import re
import secrets
import socket
from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from urllib.parse import parse_qs

from operators.errors import UsageError

#: What only programs of this machine reach.
LOCAL = "127.0.0.1"
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\s:@/\[\]]+))(?::[0-9]*)?")
_TOKEN = re.compile(r"[A-Za-z0-9._~-]{8,128}")


class Refused(Exception):  # noqa: N818 - it is an answer, and no error of ours
    """A refused request: its status, and a sentence for the client."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


def checked_token(token: str | None, *, needed: bool) -> str | None:
    """The token that viewers need: the given one, or a new one if one is ``needed``.

    Raises:
        UsageError: for a token that is easy to guess or cannot be part of an address.
    """
    if token and not _TOKEN.fullmatch(token):
        raise UsageError(
            "the web page's token must be 8 to 128 letters, digits or characters of -._~; "
            "leave it out and surtitle generates one"
        )
    return token or (secrets.token_urlsafe(16) if needed else None)


class Access:
    """Decides on requests."""

    def __init__(self, host: str, port: int, token: str | None, names: Iterable[str] = ()) -> None:
        """``host`` is the address that the server is bound to, ``names`` are its other names."""
        self._token = token
        #: All ports of a host share cookies; the name keeps those of two servers apart.
        self.cookie = f"surtitle-{port}"
        self._is_open = _is_unspecified(host)
        own = (socket.gethostname(),) if self._is_open else ()
        self._names = {name.lower() for name in ("localhost", host, *own, *names)}

    def check(self, headers: Mapping[str, str], query: str) -> bool:
        """Check a request; returns whether its address contained the token.

        Raises:
            Refused: when the request is not allowed.
        """
        host = headers.get("host", "")
        # A foreign page whose name was made to resolve to this server must not read captions (DNS rebinding).
        if not self._is_own(host):
            raise Refused(421, "surtitle does not answer to this name; add it to web.names in the settings")
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2].lower() != host.lower():
            raise Refused(403, "surtitle sends its captions only to its own pages")
        return self._knows_token(headers.get("cookie", ""), query)

    def _is_own(self, host: str) -> bool:
        match = _HOST.fullmatch(host)
        if match is None:
            return False
        name = (match[1] or match[2]).lower()
        # A numeric address is safe: nobody can make it resolve to another machine.
        return name in self._names or _is_loopback(name) or (self._is_open and _address(name) is not None)

    def _knows_token(self, cookies: str, query: str) -> bool:
        if self._token is None:
            return False
        try:
            given = parse_qs(query, max_num_fields=20).get("token", [""])[-1]
        except ValueError:
            given = ""
        if self._is_token(given):
            return True
        if not self._is_token(_cookie(cookies, self.cookie)):
            raise Refused(403, "these captions need a token: open the whole address that surtitle printed")
        return False

    def _is_token(self, given: str) -> bool:
        assert self._token is not None, "asked only where there is one"
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._token.encode("ascii"))


def is_local(host: str) -> bool:
    """Whether a server bound to ``host`` can be reached only from this machine."""
    return host.lower() == "localhost" or _is_loopback(host)


def _cookie(cookies: str, name: str) -> str:
    # Not SimpleCookie: its time for unquoting is quadratic in the number of quotes; our cookies have none.
    given = (one.strip().partition("=") for one in cookies.split(";"))
    return next((value for key, _, value in given if key == name), "")


def _address(name: str) -> object | None:
    try:
        return ip_address(name)
    except ValueError:
        return None


def _is_loopback(name: str) -> bool:
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def _is_unspecified(name: str) -> bool:
    try:
        return ip_address(name).is_unspecified
    except ValueError:
        return not name
