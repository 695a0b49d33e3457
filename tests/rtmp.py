"""An RTMP server that plays one sound to one client (Adobe's RTMP specification 1.0, sections 5 to 7)."""

import socket
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

_COMMAND, _AUDIO = 20, 8


def _text(value: str) -> bytes:
    return b"\x02" + struct.pack(">H", len(value)) + value.encode()


def _number(value: float) -> bytes:
    return b"\x00" + struct.pack(">d", value)


def _message(kind: int, body: bytes, time_ms: int = 0) -> bytes:
    """A message in one chunk after the other: of the default size, 128 bytes."""
    header = time_ms.to_bytes(3, "big") + len(body).to_bytes(3, "big") + bytes([kind]) + struct.pack("<I", 1)
    parts = [body[at : at + 128] for at in range(0, len(body), 128)]
    return b"\x03" + header + b"\xc3".join(parts)


def _status(code: str) -> bytes:
    told = b"\x03" + b"".join(
        _text(value)[1:] + _text(text) for value, text in (("level", "status"), ("code", code))
    )
    return _message(_COMMAND, _text("onStatus") + _number(0) + b"\x05" + told + b"\x00\x00\x09")


def _await(client: socket.socket, name: bytes, received: bytes = b"") -> None:
    while name not in received:
        if not (more := client.recv(65536)):
            raise ConnectionError(f"no {name!r}")
        received += more


def _play(listener: socket.socket, tags: Sequence[tuple[int, bytes]]) -> None:
    client, _ = listener.accept()
    with client:
        greeting = b""
        while len(greeting) < 1537:
            greeting += client.recv(1537 - len(greeting))
        client.sendall(b"\x03" + bytes(1536) + greeting[1:])
        _await(client, b"connect")
        client.sendall(_message(_COMMAND, _text("_result") + _number(1) + b"\x05\x05"))
        _await(client, b"createStream")
        client.sendall(_message(_COMMAND, _text("_result") + _number(2) + b"\x05" + _number(1)))
        _await(client, b"play")
        client.sendall(_status("NetStream.Play.Start"))
        for time_ms, tag in tags:
            client.sendall(_message(_AUDIO, tag, time_ms))
        client.sendall(_status("NetStream.Play.Stop"))


@contextmanager
def playing(tags: Sequence[tuple[int, bytes]]) -> Iterator[str]:
    """The address of a server that plays the bodies of FLV's audio tags, each at its time in milliseconds."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with suppress(OSError):
                _play(listener, tags)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"rtmp://127.0.0.1:{listener.getsockname()[1]}/live/talk"
        thread.join(10)
