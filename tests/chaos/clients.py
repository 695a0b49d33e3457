"""What clients of both ports do that is nothing, half of something, or too much."""

import contextlib
import select
import socket
import time
from collections.abc import Callable
from random import Random

Attack = Callable[[socket.socket, Random], None]

_SECONDS = 4.0

_PATHS = (
    "/",
    "/streams.json",
    "/streams/room/events",
    "/streams/room",
    "/static/base.css",
    "/metrics",
    "/healthz",
    "/%00/..",
)


def _ask(random: Random) -> bytes:
    return f"GET {random.choice(_PATHS)} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def _nothing(_client: socket.socket, random: Random) -> None:
    time.sleep(random.uniform(0.0, _SECONDS))


def _half(client: socket.socket, random: Random) -> None:
    request = _ask(random)
    client.sendall(request[: random.randrange(len(request))])
    time.sleep(random.uniform(0.0, _SECONDS))


def _drip(client: socket.socket, random: Random) -> None:
    for byte in _ask(random) * 3:
        client.sendall(bytes([byte]))
        time.sleep(0.02)


def _too_much(client: socket.socket, random: Random) -> None:
    client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 50_000 + b"\r\n")
    client.sendall(random.randbytes(300_000))


def _half_closed(client: socket.socket, random: Random) -> None:
    """Says all that it has to say, and reads nothing of the answer."""
    client.sendall(_ask(random))
    client.shutdown(socket.SHUT_WR)
    time.sleep(random.uniform(0.0, _SECONDS))


def _noise(client: socket.socket, random: Random) -> None:
    for _ in range(20):
        client.sendall(random.randbytes(random.randrange(1, 5000)))


def _body(client: socket.socket, _random: Random) -> None:
    client.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n")
    for _ in range(50):
        client.sendall(bytes(20_000))


def _pipelines(client: socket.socket, random: Random) -> None:
    for _ in range(2000):
        client.sendall(_ask(random))


def _slow(client: socket.socket, random: Random) -> None:
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    client.sendall(_ask(random))
    ends = time.monotonic() + _SECONDS
    while time.monotonic() < ends and client.recv(16):
        time.sleep(0.05)


def _reads(client: socket.socket, random: Random) -> None:
    client.sendall(_ask(random))
    ends = time.monotonic() + _SECONDS
    while time.monotonic() < ends and client.recv(65536):
        pass


def _frames(client: socket.socket, _random: Random) -> None:
    client.sendall(
        b"GET /streams/room/events HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
        b"Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        b"Sec-WebSocket-Version: 13\r\n\r\n"
    )
    for _ in range(5000):
        client.sendall(b"\x81\x85\x00\x00\x00\x00hello")


def _tls(client: socket.socket, random: Random) -> None:
    client.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + random.randbytes(500))
    time.sleep(random.uniform(0.0, 1.0))


ATTACKS: tuple[Attack, ...] = (
    _nothing, _half, _half_closed, _drip, _too_much, _noise, _body, _pipelines, _slow, _reads, _frames, _tls
)  # fmt: skip


def health(at: int) -> bytes:
    """What a probe gets, in its own time."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", at), 10) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        select.select([client], [], [], 30)
        return client.recv(65536)
    return b""
