"""The memory that a server tells, asked of whatever may be at an address."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from flows.measuring.load import target
from flows.measuring.load.target import told_memory_mb
from operators.errors import InputError

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"


@contextmanager
def listening(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """An address at which one connection is answered."""

    def serve() -> None:
        with suppress(OSError):
            peer, _ = listener.accept()
            with peer:
                peer.recv(65536)
                answer(peer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/metrics"
        thread.join()


def sends(*parts: bytes) -> Callable[[socket.socket], None]:
    return lambda peer: peer.sendall(b"".join(parts))


def test_megabytes_are_read_from_metrics_and_others_tell_none() -> None:
    with listening(sends(HEAD, b"process_resident_memory_bytes 2.5e+08\n")) as address:
        assert told_memory_mb(address) == 250.0
    for told in (b"surtitle_updates 3\n", b"process_resident_memory_bytes +Inf\n"):
        with listening(sends(HEAD, told)) as address:
            assert told_memory_mb(address) is None


@pytest.mark.parametrize(
    "parts",
    [
        (b"SSH-2.0-OpenSSH_9.2\r\n",),
        (b"",),
        (HEAD, b"\xff\xfe"),
        (HEAD, b"process_resident_memory_bytes many\n"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1000,),
    ],
)
def test_what_gives_no_metrics_is_one_sentence(parts: tuple[bytes, ...]) -> None:
    with listening(sends(*parts)) as address, pytest.raises(InputError, match="gives no metrics; check"):
        told_memory_mb(address)


@pytest.mark.parametrize(
    "address", ["file:///etc/passwd", "http://127.0.0.1:99999/", "http://[::1/", "x", ""]
)
def test_an_address_that_is_none_is_one_sentence(address: str) -> None:
    with pytest.raises(InputError, match="gives no metrics; check --server-metrics"):
        told_memory_mb(address)


def test_an_answer_that_never_ends_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "_MAX_BYTES", 100_000)

    def floods(peer: socket.socket) -> None:
        peer.sendall(HEAD)
        while True:
            peer.sendall(b"x 1\n" * 10_000)

    def drips(peer: socket.socket) -> None:
        peer.sendall(HEAD[:-2])
        while True:
            peer.sendall(b"X")
            time.sleep(0.05)

    class Slow(threading.Timer):
        """Goes on after it has cut the answer off later than its reader."""

        def run(self) -> None:
            if not self.finished.wait(self.interval):
                self.function(*self.args)
                ended.wait(10)

    ended = threading.Event()
    with listening(floods) as address:
        assert told_memory_mb(address) is None
    monkeypatch.setattr(target, "_TIMEOUT_S", 0.3)
    monkeypatch.setattr(target, "Timer", Slow)
    with listening(drips) as address, pytest.raises(InputError, match="gives no metrics"):
        told_memory_mb(address)
    ended.set()
