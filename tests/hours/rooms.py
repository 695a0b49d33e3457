"""Real speech in all rooms of a server at once, with nothing else on the machine.

Every few minutes all rooms end and others begin under new names. Each final comes back to its speaker and is
in the file of its room.
"""

import argparse
import json
import signal
import subprocess
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from flows.measuring.load.rooms import Row, table
from flows.pages.table import console, print_table
from tests.chaos.trial import SURTITLE, Said, Trial, lines, see
from tests.hours.watch import Watch, faults, series


def add_options(parser: argparse.ArgumentParser) -> None:
    """Of this scenario."""
    parser.add_argument("--seconds", type=float, default=3600.0, help="of the whole load")
    # Two cores hold four: each needs a tenth of them for its recogniser, and less for the model.
    parser.add_argument("--rooms", type=int, default=4, help="that speak at the same time")
    parser.add_argument("--turns", type=int, default=12, help="how often other rooms begin")


def run(trial: Trial, given: argparse.Namespace) -> list[str]:
    """Put the load on a server."""
    talk = Path(str(files("moonshine_voice"))) / "assets" / "two_cities.wav"
    captions, log, results = (trial.folder / name for name in ("rooms", "log.jsonl", "load.json"))
    server = trial.start(
        SURTITLE, "serve", "--port", 0, "--set", f"translate.rooms={given.rooms}",
        "--set", f"rooms.folder={captions}", "--set", f"output.log={log}", *given.options,
    )  # fmt: skip
    said = Said(server.stderr)
    address = f"http://127.0.0.1:{said.wait('captions')}"
    with Watch(server.pid, log) as watch:
        load = trial.start(
            SURTITLE, "loadgen", talk, "--server", address,
            "--rooms", ",".join([str(given.rooms)] * given.turns), "--seconds", given.seconds / given.turns,
            "--json", results, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        ended = trial.end(load, 2 * given.seconds + 600)
    see(ended.code == 0, f"the load ended with {ended.code}: {ended.stderr}")
    server.send_signal(signal.SIGTERM)
    said.close()
    see(trial.end(server, 120).code == 0, f"the server ended with {server.returncode}: {said.text}")
    rows = json.loads(results.read_text())["rows"]
    print_table(console(), table(rows))
    # In the first turn, everything is used for the first time.
    delays = [row["p50_ms"] or 0.0 for row in rows[1:]]
    seen = {**series([watch.samples]), "p50 ms": delays}
    return missing(rows, log, sorted(captions.glob("*.jsonl"))) + faults("rooms", seen)


def missing(rows: Sequence[Row], log: Path, captions: Sequence[Path]) -> list[str]:
    """What did not come back to its speaker, or is not in the file of its room, in sentences."""
    found = []
    for name, words in (
        ("lost", "segments got no final"),
        ("refused", "rooms were refused"),
        ("cut", "rooms ended before their last caption"),
    ):
        count = sum(row[name] for row in rows)
        if count:
            found.append(f"{count} {words}")
    if any(not row["finals"] for row in rows):
        found.append("there were turns without any final")
    logged, written = _finals([log]), _finals(captions)
    if logged != written:
        found.append(f"{len(logged)} finals were logged, {len(written)} are in files")
    seen = sum(row["finals"] for row in rows)
    if seen != len(logged):
        found.append(f"{len(logged)} finals were logged, {seen} came back to the speakers")
    return found


def _finals(paths: Sequence[Path]) -> list[tuple[str, int]]:
    return sorted((one["stream"], one["segment"]) for path in paths for one in lines(path) if one["is_final"])
