"""A run of hours, watched: ``python -m tests.soak toy --segments 10000 --web``.

The program is run as its users run it, with every file that it can write, and looked at from outside at
every hundredth of its work. It fails when the run does not hold its bounds (`tests.soak.verdict`); Ctrl-C
ends it with what was seen until then. The toy is a model of random weights that llama.cpp loads like any
other, so that only its size is not real.
"""

import argparse
import http.client
import json
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from threading import Thread
from time import sleep

from tests.soak import speech
from tests.soak.verdict import HEAD, are_enough, drift, faults, row, trend
from tests.soak.vitals import Progress, Sample, sample
from tests.tiny_gguf import pieces, write_model

ROOT = Path(__file__).parent.parent.parent
SURTITLE = Path(sys.executable).with_name("surtitle")
# Seconds between two looks at the log.
_LOOK_S = 0.05


def main() -> int:
    """Run, watch, print; the exit code says whether all bounds were held."""
    # A shell lets what runs in the background ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    given = _arguments()
    with tempfile.TemporaryDirectory(prefix="surtitle-soak-", dir=given.folder) as name:
        folder = Path(name)
        segments = speech.synthetic() if given.model == "toy" else speech.repeated(given.partials)
        lasts_s = speech.write(folder / "partials.jsonl", segments, given.segments)
        print(
            f"{given.segments} segments, {lasts_s / 3600:.1f} hours of speech, {given.model} model",
            flush=True,
        )
        samples = _watched(folder, given)
        print(f"files: {', '.join(f'{size / 2**20:.1f} MiB {path}' for path, size in _sizes(folder))}")
    found = faults(samples)
    if are_enough(samples):
        print(f"when warm: resident memory within {drift(samples):.2%}, an update {trend(samples):+.1%}")
    print("\n".join(f"OUT OF BOUNDS: {fault}" for fault in found) or "all bounds were held")
    return 1 if found else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.soak")
    parser.add_argument("model", choices=("toy", "real"))
    parser.add_argument("--segments", type=int, default=10_000)
    parser.add_argument("--recovery", action="store_true", help="with snapshots, one a second")
    parser.add_argument("--web", action="store_true", help="with a web server and one viewer")
    parser.add_argument("--folder", type=Path, help="where the files are, while it runs")
    there = (path for path in (ROOT / speech.RECORDED, ROOT / speech.SAMPLE) if path.exists())
    parser.add_argument("--partials", type=Path, default=next(there), help="what the real model translates")
    return parser.parse_args()


def _watched(folder: Path, given: argparse.Namespace) -> list[Sample]:
    progress = Progress(folder / "log.jsonl")
    says = subprocess.PIPE if given.web else None
    command = _command(folder, given)
    # In a session of its own, so that Ctrl-C is ours to hand on.
    with subprocess.Popen(command, cwd=ROOT, text=True, stderr=says, start_new_session=True) as process:
        try:
            with _viewed(process) if given.web else nullcontext():
                samples = _samples(process, progress, given.segments)
            code = process.wait(60)
        finally:
            process.kill()
    progress.look()
    print(f"the run ended with {code} after {progress.segments} of {given.segments} segments")
    if code:
        sys.exit(code)
    summary = json.loads((folder / "summary.json").read_bytes())
    assert summary["updates"] == progress.updates, "the summary must say what was done"
    return samples


def _command(folder: Path, given: argparse.Namespace) -> list[str]:
    output = {name: f"{name}.jsonl" for name in ("captions", "log", "translations", "sentences")}
    output["partials"] = "heard.jsonl"
    output |= {"srt": "talk.srt", "vtt": "talk.vtt", "summary": "summary.json"}
    lines = [
        "[output]",
        "terminal = false",
        *(f'{name} = "{folder / file}"' for name, file in output.items()),
    ]
    lines += ["[translate]", 'model = "default"' if given.model == "real" else _toy(folder)]
    if given.recovery:
        lines += ["[recovery]", f'folder = "{folder / "recovery"}"']
    if given.web:
        lines += ["[web]", "enabled = true", "port = 0"]
    settings = folder / "surtitle.toml"
    settings.write_text("\n".join(lines), encoding="utf-8")
    return [str(SURTITLE), "replay", str(folder / "partials.jsonl"), "--settings", str(settings), "--quiet"]


def _toy(folder: Path) -> str:
    return f'model = "{write_model(folder / "toy.gguf", pieces({}))}"\nthreads = 1'


def _samples(process: "subprocess.Popen[str]", progress: Progress, segments: int) -> list[Sample]:
    """A sample when the first segment is over and at every hundredth of the work; none when it is done."""
    made: list[Sample] = []
    print(HEAD, flush=True)
    try:
        while process.poll() is None and progress.segments < segments:
            if progress.segments >= max(1, len(made) * segments / 100):
                made.append(sample(process.pid, progress))
                if len(made) % 5 == 1:
                    print(row(made[0], made[max(0, len(made) - 6)], made[-1]), flush=True)
            sleep(_LOOK_S)
            progress.look()
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)
    return made


@contextmanager
def _viewed(process: "subprocess.Popen[str]") -> Iterator[None]:
    """Somebody watches in a browser, and the run is let go when all is said."""
    assert process.stderr is not None
    said = process.stderr.readline()
    address = re.search(r"http://[^/]+:(\d+)/", said)
    if address is None:
        sys.exit(said + process.stderr.read())
    viewer = _Viewer(int(address[1]))
    viewer.start()
    yield
    viewer.join(60)
    print(f"the viewer read {viewer.octets / 2**20:.1f} MiB, {viewer.finals} finals")
    if process.stderr.readline():  # it stays until Ctrl-C, unless it has had one
        process.send_signal(signal.SIGINT)


class _Viewer(Thread):
    """Reads a stream to its end and keeps nothing of it."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.octets = 0
        self.finals = 0

    def run(self) -> None:
        self._connection.request("GET", f"/streams/{speech.STREAM}/events")
        for line in self._connection.getresponse():
            self.octets += len(line)
            self.finals += b'"final":true' in line
            if b'"type":"end"' in line:
                return


def _sizes(folder: Path) -> list[tuple[str, int]]:
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return [(str(path.relative_to(folder)), path.stat().st_size) for path in paths]


if __name__ == "__main__":
    sys.exit(main())
