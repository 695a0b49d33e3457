"""A reverse proxy that has a server's pages in a folder, and takes the folder off each address."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread


@contextmanager
def folder_proxy(port: int, folder: str = "/talks/captions") -> Iterator[str]:
    """The address of the folder on the proxy of the server at a port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        Thread(target=_accept, args=(listener, port, folder.encode()), daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}{folder}/"
        listener.shutdown(socket.SHUT_RDWR)


def _accept(listener: socket.socket, port: int, folder: bytes) -> None:
    with suppress(OSError):
        while True:
            Thread(target=_serve, args=(listener.accept()[0], port, folder), daemon=True).start()


def _serve(client: socket.socket, port: int, folder: bytes) -> None:
    """Pass on one request, and what else its connection brings."""
    with client, suppress(OSError):
        head = b""
        while b"\r\n\r\n" not in head:
            if not (more := client.recv(65536)):
                return
            head += more
        line, _, rest = head.partition(b"\r\n")
        method, address, version = line.split(b" ")
        if not address.startswith(folder + b"/"):
            client.sendall(b"HTTP/1.1 404 not here\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return
        if b"upgrade: websocket" not in rest.lower():
            # Each request has a connection, so none that follows has to be read.
            rest = b"Connection: close\r\n" + rest.replace(b"Connection: keep-alive\r\n", b"")
        with socket.create_connection(("127.0.0.1", port)) as server:
            server.sendall(b" ".join((method, address.removeprefix(folder), version)) + b"\r\n" + rest)
            Thread(target=_pass_on, args=(client, server), daemon=True).start()
            _pass_on(server, client)


def _pass_on(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while data := one.recv(65536):
            other.sendall(data)
        other.shutdown(socket.SHUT_WR)
