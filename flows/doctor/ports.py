"""The ports of the web page and of the metrics: whether another program has them."""

import socket

import msgspec

from connectors.http.access import LOCAL
from connectors.http.listener import listen
from flows.doctor.finding import Finding
from flows.settings.schema import WebSettings
from operators.errors import OutputError

#: Who uses a port, the option that names another one, and the port.
_PORTS = (("the web page", "--port", WebSettings().port), ("metrics", "--metrics", 9464))


class Port(msgspec.Struct, frozen=True):
    """One port of this machine."""

    #: What surtitle serves there, and the option that chooses another port.
    use: str
    option: str
    number: int
    is_free: bool


class PortFacts(msgspec.Struct, frozen=True):
    """All ports that surtitle uses by default or by its documentation."""

    ports: tuple[Port, ...]


def look() -> PortFacts:
    """Listen at each port for a moment."""
    return PortFacts(tuple(Port(use, option, number, _is_free(number)) for use, option, number in _PORTS))


def _is_free(number: int) -> bool:
    try:
        found: socket.socket = listen(LOCAL, number, what="", instead="", backlog=1)
    except OutputError:
        return False
    found.close()
    return True


def judge(facts: PortFacts) -> list[Finding]:
    """Whether the usual ports can be used."""
    taken = [
        Finding.warning(
            f"port {one.number} of {one.use} is taken by another program",
            f"choose another one with {one.option} {one.number + 1}, or end that program",
        )
        for one in facts.ports
        if not one.is_free
    ]
    free = [f"{one.number} ({one.use})" for one in facts.ports if one.is_free]
    return taken if taken else [Finding.ok(f"{' and '.join(free)} are free")]
