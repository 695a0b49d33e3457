"""Hours of partials through a model, with snapshots, a page and one viewer: ``python -m tests.hours toy``.

Fails when an update is not summed up, when a process leaves something behind, or when anything grows by more
than `tests.hours.watch.MAY_GROW` says.
"""

import argparse
import http.client
import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from threading import Thread
from typing import Any

from tests.chaos.trial import (
    LINES,
    ROOT,
    SUBTITLES,
    SURTITLE,
    Broken,
    Trial,
    heed_signals,
    lines,
    outputs,
    port,
    see,
)
from tests.hours.watch import Watch, faults, series
from tests.killing import speech
from tests.tiny_gguf import pieces, write_model

#: Seconds of a pause that ends a sentence.
_PAUSE_S = 1.6
#: The recording that is repeated, beside the checkout; and what is in it, where there is none.
_RECORDED = (
    ROOT / "../shared/data/asr/lj001.moonshine.partials.jsonl",
    ROOT / "tests/samples/partials.jsonl",
)
_OUTPUTS = {
    **LINES,
    **SUBTITLES,
    "sentences": "sentences.jsonl",
    "summary": "summary.json",
}


def main() -> int:
    """Run the scenario; the exit code says whether all held."""
    heed_signals()
    # So that what was started ends with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    parser = argparse.ArgumentParser(prog="python -m tests.hours")
    parser.add_argument("model", choices=("toy", "real"), help="toy: random weights of a small real model")
    parser.add_argument("--segments", type=int, default=10_000)
    recorded = next(path for path in _RECORDED if path.exists())
    parser.add_argument("--partials", type=Path, default=recorded, help="what the real model translates")
    parser.add_argument("options", nargs="*", help="more options of surtitle, after --")
    with Trial(0) as trial:
        found = _replay(trial, parser.parse_args())
    print("\n".join(f"OUT OF BOUNDS: {one}" for one in found) or "all of it held")
    return bool(found)


def _replay(trial: Trial, given: argparse.Namespace) -> list[str]:
    """Replay all of it, or until Ctrl-C."""
    spoken = trial.folder / "partials.jsonl"
    model: Sequence[object] = ()
    if given.model == "toy":
        speech(spoken, given.segments, step_s=1.6, pause_s=_PAUSE_S)
        model = (
            "--model",
            write_model(trial.folder / "toy.gguf", pieces({})),
            "--set",
            "translate.threads=1",
        )
    else:
        _repeat(given.partials, spoken, given.segments)
    # There is no option for what a replay reads anyway.
    (trial.folder / "surtitle.toml").write_text('[output]\npartials = "heard.jsonl"\n')
    process = trial.start(
        SURTITLE, "replay", spoken, "--quiet", *model, "--web", "--port", 0,
        *outputs(_OUTPUTS), "--recovery", "run", "--settings", "surtitle.toml", *given.options,
    )  # fmt: skip
    viewer = _Viewer(_served_at(process), lines(spoken)[0]["stream"])
    with Watch(process.pid, trial.folder / "log.jsonl") as watch:
        viewer.start()
        try:
            viewer.join()
        except KeyboardInterrupt:
            print("ended early", flush=True)
    # With a page it stays until it is told.
    process.send_signal(signal.SIGINT)
    ended = trial.end(process)
    see(ended.code == 0, ended.stderr)
    updates = lines(trial.folder / "log.jsonl")
    summary = json.loads((trial.folder / "summary.json").read_bytes())
    see(summary["updates"] == len(updates), f"{summary['updates']} updates of {len(updates)} are summed up")
    print(
        f"{len(updates)} updates, {lines(spoken)[-1]['end_s'] / 3600:.1f} hours of speech; the viewer read "
        f"{viewer.octets / 2**20:.1f} MiB, {viewer.finals} finals"
    )
    return faults(series(watch.samples))


def _served_at(process: "subprocess.Popen[str]") -> int:
    assert process.stderr is not None
    for line in process.stderr:
        found = port(line, "captions")
        if found is not None:
            return found
    raise Broken("it ended before it served captions")


def _repeat(recorded: Path, path: Path, segments: int) -> None:
    """Write the segments of a recording again and again, each time with new numbers and a little later."""
    partials = [json.loads(line) for line in recorded.read_bytes().splitlines()]
    once = [list(group) for _, group in groupby(partials, lambda one: one["segment"])]
    length_s = max(one["arrival_s"] for one in partials) + 0.5
    with path.open("w") as file:
        for number in range(segments):
            turn, which = divmod(number, len(once))
            for one in once[which]:
                file.write(json.dumps(_later(one, turn * length_s) | {"segment": number}) + "\n")


def _later(partial: dict[str, Any], shift_s: float) -> dict[str, Any]:
    times = ("start_s", "end_s", "arrival_s")
    return partial | {name: round(partial[name] + shift_s, 3) for name in times}


class _Viewer(Thread):
    """Reads a stream to its end, as a browser does, and keeps nothing of it."""

    def __init__(self, port: int, stream: str) -> None:
        super().__init__(daemon=True)
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._stream = stream
        self.octets = 0
        self.finals = 0

    def run(self) -> None:
        self._connection.request("GET", f"/streams/{self._stream}/events")
        for line in self._connection.getresponse():
            self.octets += len(line)
            self.finals += b'"final":true' in line
            if b'"type":"end"' in line:
                return


if __name__ == "__main__":
    sys.exit(main())
