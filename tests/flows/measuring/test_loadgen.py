"""``surtitle loadgen`` from end to end: into the flow, and into a server of rooms."""

import json
from pathlib import Path
from typing import Any

from flows.measuring.load.rooms import Load, Meter, row_of, table
from tests.flows.test_serve import serve
from tests.program import SURTITLE, completed

PARTIALS = Path(__file__).parents[2] / "samples" / "partials.jsonl"


def load(*arguments: object) -> tuple[int, str, str]:
    done = completed([SURTITLE, "loadgen", *map(str, arguments)], timeout=120)
    return done.returncode, done.stdout, done.stderr


def rows(path: Path) -> list[dict[str, Any]]:
    written: list[dict[str, Any]] = json.loads(path.read_text())["rows"]
    return written


def test_partials_go_directly_into_the_flow_and_no_final_is_lost(small: list[str], tmp_path: Path) -> None:
    written = tmp_path / "load.json"
    code, stdout, stderr = load(
        PARTIALS, "--to", "de", "--rooms", "1,3", "--seconds", 3, "--json", written, *small
    )
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
    code, _, stderr = load(speech, "--server", address, "--to", "German")
    assert code == 3
    assert stderr.startswith("surtitle: ws://127.0.0.1:")
    assert stderr.endswith("; check --server\n")


def test_a_row_says_what_was_measured_and_a_dash_where_nothing_was() -> None:
    meter = Meter()
    for number in range(100):
        meter.caption((number + 1) / 1000, is_final=number % 10 == 9)
    meter.add(dropped=3, lost=1)
    row = row_of(Load(4, 10.0), meter, "flow", 187.25)
    assert [row[name] for name in ("updates", "finals", "dropped", "lost")] == [100, 10, 3, 1]
    assert (row["updates_per_second"], row["p50_ms"], row["p95_ms"]) == (10.0, 50.5, 95.0)
    nothing = row_of(Load(1, 5.0), Meter(), "server", None)
    assert table([nothing]).rows[0][2:4] == ("–", "–")
