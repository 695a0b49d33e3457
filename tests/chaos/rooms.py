"""A server of rooms in bad company: each speaker gets all captions, once, and so does its file."""

import contextlib
import json
import logging
import os
import resource
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.sync.client import ClientConnection, connect

from tests.chaos.clients import ATTACKS, health
from tests.chaos.trial import TOYS, Ended, Said, Trial, cues, finals, follow, is_free, lines, see

# Of the clients, whose connections are cut on purpose.
logging.getLogger("websockets").setLevel(logging.CRITICAL)
_PIECE = 3200
#: Bytes of sound of a segment of the toy recogniser.
_SEGMENT = 64_000
_SECONDS = (3, 7)
_GONE = (OSError, ConnectionClosed, InvalidHandshake, EOFError, TimeoutError)
#: What happens while the rooms speak; "company" more often, because it is of many kinds.
_KINDS = ("company", "company", "company", "few files", "folder", "limit", "signal", "signal")
_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL, signal.SIGSTOP)

#: Comes to a port, and knows a room and the secret of its page.
Stranger = Callable[[int, Random, str], None]


def attempt(trial: Trial) -> None:
    """Let some rooms speak, do something to them or their server meanwhile, and compare what came of it."""
    random = trial.random
    what = random.choice(_KINDS)
    speakers = random.randint(1, 4)
    folder = trial.folder / "rooms"
    most_files = 64 if what == "few files" else 1024
    more = ["--captions", trial.folder / "all.jsonl"] if random.random() < 0.5 else []
    is_joined = random.random() < 0.5
    more += [] if is_joined else ["--set", "sentences.method=off"]
    process = trial.start(
        TOYS, "serve", "--port", "0", "--set", "metrics.listen=0", "--set", f"rooms.folder={folder}",
        "--to", "German,Spanish",
        "--set", f"translate.rooms={speakers + 3}", *more,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files)),
    )  # fmt: skip
    said = Said(process.stderr)
    metrics, port = said.wait("metrics"), said.wait("captions")
    rooms = [
        Room(port, number, random.randrange(2**32), random.randint(*_SECONDS)) for number in range(speakers)
    ]
    for room in rooms:
        room.start()
    for room in rooms:
        see(room.is_open.wait(60), "a room was not opened:", said.text)
    trial.note(f"{what}, {speakers} rooms")
    is_over = _disturb(trial, what, process, (port, metrics), rooms)
    for room in rooms:
        room.join(90)
        see(not room.is_alive(), "a speaker is still held")
    if not is_over:
        see(process.poll() is None, "the server did not stay:", said.text)
        see(health(metrics).startswith(b"HTTP/1.1 "), "nobody answers /healthz")
        process.send_signal(signal.SIGINT)
    said.close()
    ended = trial.end(process)
    _judge(what, ended, said.text, is_over=is_over)
    for room in rooms:
        is_kept = what not in ("folder", "limit")
        _see_room(room, folder, is_whole=not is_over, is_kept=is_kept, is_joined=is_joined)
    see(is_free(port), "the port is still taken")


class Room(threading.Thread):
    """A well-behaved speaker, who comes back when the connection is lost."""

    def __init__(self, port: int, number: int, seed: int, seconds: int) -> None:
        super().__init__(daemon=True)
        self._port = port
        self._random = Random(seed)
        self._opening: dict[str, Any] = {"room": f"room {number}", "to": ("German", "Spanish")[number % 2]}
        self.sound = self._random.randbytes(seconds * 32_000)
        self.is_open = threading.Event()
        self.stream = ""
        self.view = ""
        self.key = ""
        self.received = 0
        #: Segments whose final it has seen, in order, and how its connection was closed.
        self.finals: list[int] = []
        self.code: int | None = None

    def run(self) -> None:
        for _attempt in range(20):
            with contextlib.suppress(*_GONE):
                self._speak()
            if self.code == 1000:
                return
            time.sleep(0.1)

    def _speak(self) -> None:
        with _connected(self._port) as own:
            _open(own, **({"key": self.key} if self.key else self._opening))
            reading = threading.Thread(target=self._read, args=(own,), daemon=True)
            reading.start()
            try:
                while not self.is_open.wait(0.05) and reading.is_alive():
                    pass
                at = self.received
                while at < len(self.sound) and reading.is_alive():
                    size = 2 * self._random.randint(1, _PIECE)
                    own.send(self.sound[at : at + size])
                    at += size
                    time.sleep(0.02)
                own.send('{"type": "end"}')
            finally:
                reading.join(60)

    def _read(self, own: ClientConnection) -> None:
        with contextlib.suppress(*_GONE):
            for text in own:
                self._hear(json.loads(text))
        self.code = own.close_code

    def _hear(self, message: dict[str, Any]) -> None:
        match message["type"]:
            case "opened":
                self.stream, self.view, self.key = message["stream"], message["view"], message["key"]
                self.received = message["received"]
                self.is_open.set()
            case "received":
                self.received = message["received"]
            case "update" if message["final"] and message["segment"] not in self.finals:
                self.finals.append(message["segment"])


def _connected(port: int) -> ClientConnection:
    return connect(
        f"ws://127.0.0.1:{port}/rooms", max_size=None, compression=None, close_timeout=1, open_timeout=20
    )


def _cut(connection: socket.socket) -> None:
    """A reset instead of a good-bye."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def _open(own: ClientConnection, **opening: Any) -> None:
    own.send(json.dumps({"type": "open", **opening}))


# Strangers


def _tiny(port: int, random: Random, _view: str) -> None:
    with _connected(port) as own:
        _open(own, room="tiny")
        for _ in range(random.randint(100, 20_000)):
            own.send(random.choice([b"", b"\1\0", b"\1\0" * 3]))


def _odd(port: int, random: Random, _view: str) -> None:
    with _connected(port) as own:
        _open(own, room="odd")
        own.send(bytes(random.choice([1, 3, 3201, 65_537, 65_538, 1_048_577, 5_000_000])))
        own.recv(5)


def _text(port: int, random: Random, _view: str) -> None:
    said = [
        "",
        "x",
        "{}",
        "[" * 50_000,
        '{"type": "end"}' * 2,
        '{"type": "open"}',
        '{"type": "end"}',
        "\0",
        "0",
    ]
    with _connected(port) as own:
        if random.random() < 0.5:
            _open(own, room="text")
        for _ in range(random.randint(1, 500)):
            own.send(random.choice(said))


def _names(port: int, random: Random, _view: str) -> None:
    names = (
        "", "..", "../..", "a/b", "\0", "x" * 80, "x" * 10_000, "Room 0", "room 0", "ro\u0308om", "r\u00f6om",
        "CON", "\u202e", "\ud800", "%2e%2e", "-", "~", "$(id)", "room.jsonl", "字" * 80, "\x1b[2J", " ",
    )  # fmt: skip
    for _ in range(random.randint(1, 20)):
        with contextlib.suppress(*_GONE), _connected(port) as own:
            _open(own, room=random.choice(names), to=random.choice([None, "German", "Klingon", "\0"]))
            own.send(random.randbytes(_SEGMENT))
            own.send('{"type": "end"}')
            for _message in own:
                pass


def _comes_and_goes(port: int, random: Random, _view: str) -> None:
    key = None
    for _ in range(random.randint(1, 100)):
        with contextlib.suppress(*_GONE), _connected(port) as own:
            _open(own, room="comes and goes", key=key)
            opened = json.loads(own.recv(5))
            if random.random() < 0.9:
                key = opened.get("key")
            own.send(random.randbytes(2 * random.randint(0, 5000)))
            if random.random() < 0.5:
                _cut(own.socket)


def _two_in_one(port: int, random: Random, _view: str) -> None:
    with _connected(port) as one:
        _open(one, room="two in one")
        key = json.loads(one.recv(5))["key"]
        for _ in range(random.randint(1, 10)):
            with _connected(port) as other:
                _open(other, key=key)
                for own in (other, one):
                    with contextlib.suppress(*_GONE):
                        own.send(random.randbytes(_PIECE))


def _fast(port: int, random: Random, _view: str) -> None:
    with _connected(port) as own:
        _open(own, room="fast")
        ends = time.monotonic() + 4
        while time.monotonic() < ends:
            own.send(random.randbytes(65_536))


def _reads_nothing(port: int, random: Random, view: str) -> None:
    stream, _, secret = view.rpartition("\n")
    with socket.create_connection(("127.0.0.1", port), 5) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        path = f"/streams/{stream.replace(' ', '%20')}/events?view={secret}"
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        time.sleep(random.uniform(0, 4))


def _guesses(port: int, random: Random, view: str) -> None:
    stream = view.rpartition("\n")[0].replace(" ", "%20")
    for _ in range(random.randint(1, 50)):
        with socket.create_connection(("127.0.0.1", port), 5) as client:
            path = f"/streams/{stream}/events?view={random.randbytes(12).hex()}"
            client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            see(client.recv(65536).startswith(b"HTTP/1.1 404 "), "a guessed address may be read")


def _attacks(port: int, random: Random, _view: str) -> None:
    attack = random.choice(ATTACKS)
    for _ in range(random.randint(1, 3)):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 5) as client:
            client.settimeout(5)
            attack(client, random)
            if random.random() < 0.5:
                _cut(client)


#: Attacks more often, because they are of many kinds.
_STRANGERS: tuple[Stranger, ...] = (
    _tiny, _odd, _text, _names, _comes_and_goes, _two_in_one, _fast, _reads_nothing, _guesses,
    _attacks, _attacks, _attacks,
)  # fmt: skip


# What happens


def _disturb(
    trial: Trial, what: str, process: "subprocess.Popen[str]", ports: tuple[int, int], rooms: list[Room]
) -> bool:
    """Do something to a server; whether it is asked to end, or dead, afterwards."""
    random = trial.random
    time.sleep(random.uniform(0.0, 1.5))
    match what:
        case "company" | "few files":
            _company(trial, ports, rooms)
        case "folder":
            for _ in range(random.randint(1, 3)):
                with contextlib.suppress(OSError):
                    _change(trial, trial.folder / "rooms")
                time.sleep(random.uniform(0.0, 1.0))
        case "limit":
            _limit(process, random.randrange(2000))
            time.sleep(random.uniform(0.2, 2.0))
            if random.random() < 0.5:
                trial.note("there is room again")
                _limit(process, resource.RLIM_INFINITY)
        case _:
            return _signal(trial, process)
    return False


def _company(trial: Trial, ports: tuple[int, int], rooms: list[Room]) -> None:
    random = trial.random
    chosen = random.sample(_STRANGERS, random.randint(1, 3))
    count = random.choice([3, 10, 30, 150])
    trial.note(f"{count} strangers:", *(one.__name__.strip("_") for one in chosen))
    crowd = []
    for _ in range(count):
        room = random.choice(rooms)
        stranger = random.choice(chosen)
        at = random.choice(ports) if stranger is _attacks else ports[0]
        given = (stranger, at, Random(random.randrange(2**32)), f"{room.stream}\n{room.view}")
        crowd.append(threading.Thread(target=_alone, args=given, daemon=True))
    for one in crowd:
        one.start()
    for one in crowd:
        one.join(90)
        see(not one.is_alive(), "a stranger is still held")


def _alone(stranger: Stranger, port: int, random: Random, view: str) -> None:
    with contextlib.suppress(*_GONE, ValueError, KeyError):
        stranger(port, random, view)


def _change(trial: Trial, folder: Path) -> None:
    random = trial.random
    path = random.choice(sorted(folder.iterdir()) or [folder])
    how = random.choice(["cut", "remove", "pipe", "folder", "link", "rename", "all", "away"])
    trial.note(how, path.name)
    match how:
        case "cut":
            os.truncate(path, random.randint(0, path.stat().st_size))
        case "rename":
            path.rename(path.with_name(f"renamed-{path.name}"))
        case "all":
            shutil.rmtree(folder)
            time.sleep(random.uniform(0.0, 1.0))
            folder.mkdir()
        case "away":
            folder.rename(folder.with_name("other"))
        case _:
            path.unlink()
            put = {"pipe": os.mkfifo, "folder": os.mkdir, "link": lambda one: one.symlink_to("/dev/full")}
            if how in put:
                put[how](path)


def _limit(process: "subprocess.Popen[str]", size: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def _signal(trial: Trial, process: "subprocess.Popen[str]") -> bool:
    random = trial.random
    number = random.choice(_ENDS)
    trial.note(number.name)
    process.send_signal(number)
    if number != signal.SIGSTOP:
        if random.random() < 0.3:
            trial.note("twice")
            time.sleep(random.uniform(0.0, 0.3))
            process.send_signal(number)
        return True
    time.sleep(random.uniform(0.1, 3.0))
    process.send_signal(signal.SIGCONT)
    return False


# What holds


def _judge(what: str, ended: Ended, said: str, *, is_over: bool) -> None:
    see("Traceback" not in said and "defect" not in said, said)
    if is_over:
        allowed = [0, *(sign for one in _ENDS for sign in (-one, 128 + one))]
    else:
        allowed = [0, 4] if what in ("folder", "limit") else [0]
    see(ended.code in allowed, f"exit code {ended.code}: {said}")


def _see_room(room: Room, folder: Path, *, is_whole: bool, is_kept: bool, is_joined: bool) -> None:
    """See that a room has its captions, in its file as on its page."""
    if is_whole:
        count = -(-len(room.sound) // _SEGMENT)
        see(room.code == 1000, f"{room.stream} was closed with {room.code}")
        see(
            follow(room.finals, is_joined=is_joined) and (is_joined or len(room.finals) == count),
            f"{room.stream} saw the finals {room.finals} of {count}",
        )
    if is_kept:
        path = folder / f"{room.stream}.jsonl"
        kept = finals(lines(path)) if path.exists() else []
        see(follow(kept, is_joined=is_joined), f"{path.name} has the finals {kept}")
        see(kept[: len(room.finals)] == room.finals, f"{path.name} has {kept}, and {room.finals} were seen")
        if is_whole:
            see(len(cues(path.with_suffix(".vtt"))) >= len(kept), f"{path.name} has more than its subtitles")
