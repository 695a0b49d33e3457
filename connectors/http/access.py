"""Access control: whether a request is meant for this server, and whether it has the token. Pure."""

import hmac
import re
import socket
from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import parse_qs

#: An address that can be reached only from this machine.
LOCAL = "127.0.0.1"
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\s:@/\[\]]+))(?::[0-9]*)?")


class Rejection(Exception):  # noqa: N818 - it is an answer, not an error
    """A refused request: its status, and a sentence for the client."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


class Access:
    def __init__(self, host: str, port: int, token: str | None = None, names: Iterable[str] = ()) -> None:
        """``host`` is the address that the server is bound to, ``names`` are its other names."""
        self.token = token
        #: All ports of a host share cookies; the name keeps those of two servers apart.
        self.cookie = f"surtitle-{port}"
        bound = _address(host)
        self._is_open = not host or (bound is not None and bound.is_unspecified)
        own = (socket.gethostname(),) if self._is_open else ()
        self._names = {name.lower() for name in ("localhost", host, *own, *names)}

    def check(self, headers: Mapping[str, str], query: str) -> bool:
        """Check a request; returns whether its address contained the token.

        Raises:
            Rejection: when the request is not allowed.
        """
        host = headers.get("host", "")
        # A foreign page whose name was made to resolve to this server must not read captions (DNS rebinding).
        if not self._is_own(host):
            raise Rejection(421, "surtitle does not answer to this name; add it to web.names in the settings")
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2].lower() != host.lower():
            raise Rejection(403, "surtitle sends its captions only to its own pages")
        if self.token is None:
            return False
        try:
            given = parse_qs(query, max_num_fields=20).get("token", [""])[-1]
        except ValueError:
            given = ""
        if is_same(given, self.token):
            return True
        # Not SimpleCookie: its time for unquoting is quadratic in the number of quotes.
        cookies = (one.strip().partition("=") for one in headers.get("cookie", "").split(";"))
        kept = next((value for key, _, value in cookies if key == self.cookie), "")
        if not is_same(kept, self.token):
            raise Rejection(403, "these captions need a token: open the whole address that surtitle printed")
        return False

    def _is_own(self, host: str) -> bool:
        match = _HOST.fullmatch(host)
        if match is None:
            return False
        name = (match[1] or match[2]).lower()
        # A numeric address is safe: nobody can make it resolve to another machine.
        return name in self._names or is_local(name) or (self._is_open and _address(name) is not None)


def is_local(host: str) -> bool:
    """Whether a server bound to ``host`` can be reached only from this machine."""
    address = _address(host)
    return host.lower() == "localhost" if address is None else address.is_loopback


def is_same(given: str, token: str) -> bool:
    """Whether a text from a client is the token, compared in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), token.encode("ascii"))


def _address(name: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(name)
    except ValueError:
        return None
