"""A server of rooms under load for an hour: ``python -m tests.load.hour``, with nothing else on the machine.

Real speech goes into all rooms at once, through WebSockets. Every few minutes all rooms end and others begin
under new names. At the end no final is missing, each that was shown is in the file of its room, captions come
as fast as at first, and the server needs no more memory.
"""

import argparse
import json
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from flows.measuring.load.run import LoadRow, table
from flows.pages.table import console, print_table

SURTITLE = str(Path(sys.executable).with_name("surtitle"))
#: Rooms that two cores hold: each needs a tenth of them for its recogniser, and less for the model.
ROOMS = 4
#: How much later captions may come, and how much more memory there may be, at the end than at first.
LATER, MORE = 0.25, 0.05


def main(arguments: Sequence[str] | None = None) -> int:
    """Put the load on a server; the exit code says whether it held."""
    given = _arguments(arguments)
    with tempfile.TemporaryDirectory(prefix="surtitle-load-") as made:
        folder = given.keep or Path(made)
        folder.mkdir(exist_ok=True)
        rows, found = _load(given, folder)
    print_table(console(), table(rows))
    found += faults(rows)
    for fault in found:
        print(f"FAULT: {fault}")
    print("it did not hold" if found else f"{given.rooms} rooms held for {given.seconds:.0f} s")
    return bool(found)


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.load.hour", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600.0, help="of the whole load")
    parser.add_argument("--rooms", type=int, default=ROOMS, help="that speak at the same time")
    parser.add_argument("--turns", type=int, default=12, help="how often other rooms begin")
    parser.add_argument("--keep", type=Path, help="folder to keep results and the files of rooms in")
    parser.add_argument("options", nargs="*", help="of surtitle serve, after --")
    return parser.parse_args(arguments)


def _load(given: argparse.Namespace, folder: Path) -> tuple[list[LoadRow], list[str]]:
    """The rows of all turns, and what was wrong with the server or its files."""
    talk = Path(str(files("moonshine_voice"))) / "assets" / "two_cities.wav"
    captions, results = folder / "rooms", folder / "load.json"
    command = [SURTITLE, "serve", "--port", "0", "--metrics", "0", "--rooms", given.rooms]
    command += ["--captions-folder", captions, "--log", folder / "log.jsonl", *given.options]
    with subprocess.Popen(
        [*map(str, command)],
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as server:
        try:
            address, metrics = _addresses(server)
            turns = ",".join([str(given.rooms)] * given.turns)
            load = [
                SURTITLE,
                "loadgen",
                talk,
                "--server",
                address,
                "--server-metrics",
                metrics,
                "--rooms",
                turns,
            ]
            load += [
                "--seconds",
                given.seconds / given.turns,
                "--json",
                results,
                "--plot",
                folder / "load.svg",
            ]
            subprocess.run([*map(str, load)], check=True, stdout=subprocess.DEVNULL)
            server.send_signal(signal.SIGTERM)
            _, stderr = server.communicate(timeout=120)
        finally:
            server.kill()
    found = [f"the server ended with {server.returncode}: {stderr}"] if server.returncode else []
    rows = [LoadRow(**row) for row in json.loads(results.read_text())["rows"]]
    return rows, found + _missing(rows, captions, folder / "log.jsonl")


def _addresses(server: "subprocess.Popen[str]") -> tuple[str, str]:
    """Where captions and metrics are, as the server tells in its first lines."""
    assert server.stderr is not None
    said = ""
    while not all(found := [re.search(rf"{what} at (http://\S+)", said) for what in ("captions", "metrics")]):
        line = server.stderr.readline()
        if not line:
            raise SystemExit(f"the server did not start: {said}")
        said += line
    captions, metrics = (one[1] for one in found if one is not None)
    return captions, metrics


def _missing(rows: Sequence[LoadRow], captions: Path, log: Path) -> list[str]:
    """Finals that are in the log but not in the file of their room, or in it twice."""

    def finals(paths: Sequence[Path]) -> list[tuple[str, int]]:
        events: list[dict[str, Any]] = [
            json.loads(line) for path in paths for line in path.read_text().splitlines()
        ]
        return sorted((one["stream"], one["segment"]) for one in events if one["is_final"])

    logged, written = finals([log]), finals(sorted(captions.glob("*.jsonl")))
    found = [] if logged == written else [f"{len(logged)} finals were logged, {len(written)} are in files"]
    seen = sum(row.finals for row in rows)
    if seen != len(logged):
        found.append(f"{len(logged)} finals were logged, {seen} came back to the speakers")
    return found


def faults(rows: Sequence[LoadRow]) -> list[str]:
    """What was out of bounds, in sentences."""
    found = (
        [f"{sum(row.lost for row in rows)} segments got no final"] if any(row.lost for row in rows) else []
    )
    if any(row.refused for row in rows):
        found.append(f"{sum(row.refused for row in rows)} rooms were refused")
    if any(row.cut for row in rows):
        found.append(f"{sum(row.cut for row in rows)} rooms ended before their last caption")
    if any(not row.finals for row in rows):
        found.append("there were turns without any final")
        return found
    # In the first turn, everything is used for the first time.
    first, last = rows[min(1, len(rows) - 1)], rows[-1]
    if (last.p50_ms or 0.0) > (1 + LATER) * (first.p50_ms or 0.0):
        found.append(f"captions came {last.p50_ms} ms after speech at the end, {first.p50_ms} ms at first")
    if (last.memory_mb or 0.0) > (1 + MORE) * (first.memory_mb or 0.0):
        found.append(f"the server took {last.memory_mb} MB at the end, {first.memory_mb} MB at first")
    return found


if __name__ == "__main__":
    sys.exit(main())
