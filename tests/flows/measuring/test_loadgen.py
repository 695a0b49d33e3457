"""``surtitle loadgen`` from end to end: into the flow, and into a server of rooms."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from flows.measuring.load.playback import Load
from flows.measuring.load.rows import Meter, read_memory_mb, row_of, table
from operators.errors import InputError
from tests.flows.test_serve import serve
from tests.program import SURTITLE, completed

PARTIALS = Path(__file__).parents[2] / "samples" / "partials.jsonl"


def load(*arguments: object) -> tuple[int, str, str]:
    done = completed([SURTITLE, "loadgen", *map(str, arguments)], timeout=120)
    return done.returncode, done.stdout, done.stderr


def rows(path: Path) -> list[dict[str, Any]]:
    written: list[dict[str, Any]] = json.loads(path.read_text())["rows"]
    return written


def test_partials_go_straight_into_the_flow_and_no_final_is_lost(small: list[str], tmp_path: Path) -> None:
    written = tmp_path / "load.json"
    code, stdout, stderr = load(PARTIALS, "--rooms", "1,3", "--seconds", 3, "--json", written, *small)
    assert (code, stderr) == (0, "")
    one, three = rows(written)
    assert (one["rooms"], three["rooms"]) == (1, 3)
    for row in (one, three):
        assert row["finals"] > 0
        assert row["lost"] == row["refused"] == 0
        assert 0 < row["p50_ms"] <= row["p95_ms"]
        assert row["memory_mb"] > 0
    assert three["updates"] + three["dropped"] > one["updates"] + one["dropped"]
    assert "load on the flow" in stdout


def test_speech_goes_to_a_server_through_sockets_and_rooms_too_many_are_counted(
    speech: Path, small: list[str], tmp_path: Path
) -> None:
    written = tmp_path / "load.json"
    with serve("--set", "translate.rooms=2", "--to", "German,Spanish", *small) as server:
        address = f"http://127.0.0.1:{server.port}/"
        options = ("--rooms", 3, "--seconds", 3, "--to", "Spanish,German", "--json", written)
        code, _, stderr = load(speech, "--server", address, *options)
        assert (code, stderr) == (0, "")
        [row] = rows(written)
        assert (row["target"], row["refused"], row["lost"]) == ("server", 1, 0)
        assert row["finals"] > 0
        assert 0 < row["p50_ms"] <= row["p95_ms"]
        assert server.interrupt()[0] == 0
    code, _, stderr = load(speech, "--server", address)
    assert code == 3
    assert stderr.startswith("surtitle: ws://127.0.0.1:")
    assert stderr.endswith("; check --server\n")


def test_recorded_sound_goes_straight_into_the_flow_and_is_recognised_there(
    speech: Path, small: list[str], tmp_path: Path
) -> None:
    written = tmp_path / "load.json"
    code, _, stderr = load(speech, "--rooms", 2, "--seconds", 4, "--json", written, *small)
    assert (code, stderr) == (0, "")
    [row] = rows(written)
    assert (row["target"], row["refused"], row["lost"]) == ("flow", 0, 0)
    assert row["updates"] >= row["finals"] >= 2
    assert 0 < row["p50_ms"] <= row["p95_ms"]


def test_a_row_says_what_was_measured_and_a_dash_where_nothing_was() -> None:
    meter = Meter()
    for number in range(100):
        meter.caption(number / 10, (number + 1) / 1000, is_final=number % 10 == 9)
    meter.add(dropped=3, lost=1)
    memory = [(number / 4, 100.0 + number) for number in range(40)]
    row = row_of("flow", Load(4, 10.0), meter, memory)
    assert [row[name] for name in ("updates", "finals", "dropped", "lost")] == [100, 10, 3, 1]
    assert (row["updates_per_second"], row["memory_mb_per_room"]) == (10.0, 9.8)
    assert (row["p50_ms"], row["p95_ms"]) == (50.5, 95.0)
    delays = [ms for _, ms in row["over_time"]]
    assert len(delays) == 20
    assert delays == sorted(delays), "a delay that grows is seen"
    assert row["memory_growth_mb"] == 20.0, "from the second quarter to the last one"
    assert len(row["memory_over_time"]) == 40
    assert row_of("flow", Load(4, 10.0), meter, memory[:3])["memory_growth_mb"] is None
    nothing = row_of("server", Load(1, 5.0), Meter(), [])
    assert table([nothing]).rows[0][2:4] == ("–", "–")


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
        assert read_memory_mb(address) == 250.0
    for told in (b"surtitle_updates 3\n", b"process_resident_memory_bytes +Inf\n"):
        with listening(sends(HEAD, told)) as address:
            assert read_memory_mb(address) is None


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
        read_memory_mb(address)


@pytest.mark.parametrize(
    "address", ["file:///etc/passwd", "http://127.0.0.1:99999/", "http://[::1/", "x", ""]
)
def test_an_address_that_is_none_is_one_sentence(address: str) -> None:
    with pytest.raises(InputError, match="gives no metrics; check --server-metrics"):
        read_memory_mb(address)
