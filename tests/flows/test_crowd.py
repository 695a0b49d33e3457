"""Crowds at the doors of a run that may open hardly any file: captions go on, and a probe is answered."""

import http.client
import re
import resource
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

from connectors.jsonl.files import validate
from operators.events import Caption
from tests.flows.talk import write_paced_talk
from tests.program import SURTITLE
from tests.waiting import until

SEGMENTS = 3
# More than a run of so few files can hold at each port, and what this process may open itself.
CROWD = 150


def asking(path: str) -> str:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"


@contextmanager
def running(most_files: int, *arguments: object) -> Iterator["subprocess.Popen[str]"]:
    """surtitle with few files, as where it starts in a container or under a tight `ulimit -n`."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))

    process = subprocess.Popen(
        [SURTITLE, *map(str, arguments)], preexec_fn=limit, text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    with process:
        try:
            yield process
        finally:
            process.kill()


def port_of(process: "subprocess.Popen[str]", what: str) -> int:
    assert process.stderr is not None
    said = process.stderr.readline()
    address = re.search(rf"{what} at http://[^/ ]+:(\d+)/", said)
    assert address, said + process.stderr.read()
    return int(address[1])


def crowd(stack: ExitStack, port: int, *said: str) -> None:
    """Peers that come, say one of these in turn, and stay."""
    for number in range(CROWD):
        peer = stack.enter_context(socket.socket())
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with suppress(OSError):
            peer.connect(("127.0.0.1", port))
            peer.sendall(said[number % len(said)].encode())


def is_well(port: int) -> bool:
    with suppress(OSError), closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    return False


def test_captions_continue_to_the_end_whatever_clients_connect(tmp_path: Path) -> None:
    # Some are silent, some look, and some ask without reading.
    said = ("GET / HTTP/1.1\r\nHost: local", asking("/streams/talk/events"), 100 * asking("/page.css"))
    captions = tmp_path / "captions.jsonl"
    # A second apart, so that the crowd comes between them.
    write_paced_talk(captions, seconds=float(SEGMENTS), segments=SEGMENTS)
    captioned, titled, logged = (tmp_path / name for name in ("out.jsonl", "out.srt", "log.jsonl"))
    command = [
        "replay", captions, "--realtime", "--quiet", "--web", "--port", 0, "--set", "metrics.listen=0",
        "--recovery", tmp_path / "recovery", "--captions", captioned, "--srt", titled,
        "--set", f"output.log={logged}",
    ]  # fmt: skip
    with running(64, *command) as process, ExitStack() as stack:
        metrics = port_of(process, "metrics")
        web = port_of(process, "captions")
        crowd(stack, metrics, *said)
        crowd(stack, web, *said)
        # One probe may come while all are being answered, or all files are in use.
        until(lambda: is_well(metrics))
        assert process.stderr is not None
        end = process.stderr.readline()
        assert (
            end
            == f"surtitle: the input has ended; the captions stay until Ctrl-C at http://127.0.0.1:{web}/\n"
        )
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=30)
    assert (process.returncode, stderr) == (0, "")
    assert validate(captioned, Caption) == SEGMENTS
    assert titled.read_text().count("-->") == SEGMENTS
    assert logged.stat().st_size > 0


def test_more_rooms_than_there_are_files_for_are_refused_before_anybody_speaks(tmp_path: Path) -> None:
    with running(
        64,
        "serve",
        "--to",
        "German",
        "--port",
        0,
        "--set",
        "translate.rooms=40",
        "--set",
        f"rooms.folder={tmp_path / 'rooms'}",
    ) as process:
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 2
    assert stderr == (
        "surtitle: the rooms write 80 files at the same time, and this process may open only 64; raise "
        "that limit (ulimit -n 150), lower translate.rooms, or leave out rooms.folder\n"
    )
    assert not (tmp_path / "rooms").exists()
