"""Clients of both ports that do nothing, half of something, or too much: captions do not care."""

import contextlib
import resource
import select
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable
from random import Random

from tests.chaos.talk import talk
from tests.chaos.trial import LINES, SUBTITLES, SURTITLE, Said, Trial, lines, records, see
from tests.killing import TIMES

Attack = Callable[[socket.socket, Random], None]

_PATHS = (
    "/",
    "/streams.json",
    "/streams/talk/events",
    "/streams/talk",
    "/static/base.css",
    "/metrics",
    "/healthz",
    "/%00/..",
)
_SECONDS = 4.0


def _ask(random: Random, path: str | None = None) -> bytes:
    return f"GET {path or random.choice(_PATHS)} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


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
    client.sendall(_ask(random, "/streams/talk/events"))
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
        b"GET /streams/talk/events HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
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


def attempt(trial: Trial) -> None:
    """Replay a talk in front of a crowd, and compare what was written with what it should be."""
    random = trial.random
    segments = talk(trial.folder / "talk.jsonl", seconds=_SECONDS)
    files = {option: trial.folder / f"new-{name}" for option, name in {**LINES, **SUBTITLES}.items()}
    most_files = random.choice([64, 128, 1024])
    process = trial.start(
        SURTITLE, "replay", trial.folder / "talk.jsonl", "--realtime", "--web", "--port", "0",
        "--metrics", "0", *(one for pair in files.items() for one in pair),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files)),
    )  # fmt: skip
    said = Said(process.stderr)
    web, metrics = said.wait("captions"), said.wait("metrics")
    chosen = random.sample(ATTACKS, random.randint(1, 4))
    count = random.choice([10, 40, 150])
    trial.note(f"{count} clients, {most_files} files:", *(one.__name__.strip("_") for one in chosen))
    crowd = [
        threading.Thread(
            target=_attack,
            args=(random.choice(chosen), random.choice([web, metrics]), random.randrange(2**32)),
        )
        for _ in range(count)
    ]
    for one in crowd:
        one.start()
    said.wait_until("the input has ended")
    healthy = health(metrics)
    for one in crowd:
        one.join(60)
        see(not one.is_alive(), "a client is still held")
    see(process.poll() is None, "the run did not stay:", said.text)
    see(
        health(metrics).startswith(b"HTTP/1.1 200"),
        "nobody answers /healthz when the crowd is gone:",
        healthy,
    )
    process.send_signal(signal.SIGINT)
    said.close()
    ended = trial.end(process)
    see(ended.code == 0, f"exit code {ended.code}: {said.text}")
    see("Traceback" not in said.text, said.text)
    for option, path in files.items():
        if option in ("--captions", "--log"):
            there = [event["segment"] for event in lines(path)]
            see(there == list(range(segments)), f"{path.name} has the segments {there}")
        elif option in SUBTITLES:
            see(len(records(path)) >= segments, f"{path.name} lacks cues")
    given = [_timeless(event) for event in lines(trial.folder / "talk.jsonl")]
    see(given == [_timeless(event) for event in lines(files["--captions"])], "captions are other ones")


def _timeless(event: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in event.items() if key not in TIMES}


def _attack(attack: Attack, at: int, seed: int) -> None:
    random = Random(seed)
    for _ in range(random.randint(1, 3)):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", at), 5) as client:
            client.settimeout(5)
            attack(client, random)
            if random.random() < 0.5:
                # A reset instead of a good-bye.
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def health(at: int) -> bytes:
    """What a probe gets, in its own time."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", at), 10) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        select.select([client], [], [], 30)
        return client.recv(65536)
    return b""
