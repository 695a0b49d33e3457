"""Hours of partials through a model, with snapshots, a page and one viewer."""

import argparse
import http.client
import json
import signal
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from threading import Thread
from typing import Any

from tests.chaos.trial import LINES, ROOT, SUBTITLES, SURTITLE, Said, Trial, lines, outputs, see
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


def add_options(parser: argparse.ArgumentParser) -> None:
    """Of this scenario."""
    parser.add_argument("model", choices=("toy", "real"), help="toy: random weights of a small real model")
    parser.add_argument("--segments", type=int, default=10_000)
    recorded = next(path for path in _RECORDED if path.exists())
    parser.add_argument("--partials", type=Path, default=recorded, help="what the real model translates")


def run(trial: Trial, given: argparse.Namespace) -> list[str]:
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
    said = Said(process.stderr)
    viewer = _Viewer(said.wait("captions"), lines(spoken)[0]["stream"])
    with Watch(process.pid, trial.folder / "log.jsonl") as watch:
        viewer.start()
        try:
            viewer.join()
        except KeyboardInterrupt:
            print("ended early", flush=True)
    # With a page it stays until it is told.
    process.send_signal(signal.SIGINT)
    said.close()
    see(trial.end(process).code == 0, said.text)
    updates = lines(trial.folder / "log.jsonl")
    summary = json.loads((trial.folder / "summary.json").read_bytes())
    see(summary["updates"] == len(updates), f"{summary['updates']} updates of {len(updates)} are summed up")
    print(
        f"{len(updates)} updates, {lines(spoken)[-1]['end_s'] / 3600:.1f} hours of speech; the viewer read "
        f"{viewer.octets / 2**20:.1f} MiB, {viewer.finals} finals"
    )
    return faults("replay", series([watch.samples]))


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
