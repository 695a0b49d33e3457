"""Hours of partials through a model, with snapshots, a page and one viewer: ``python -m tests.hours toy``.

Fails when an update is not summed up, or when the process grows by more than `MAY_GROW` says (Linux).
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from time import sleep
from urllib.request import urlopen

from tests.killing import heed_signals, speech
from tests.program import ROOT, SURTITLE
from tests.tiny_gguf import pieces, write_model

#: By what share each quantity may grow from the first third of a run to its last.
MAY_GROW = {"resident MiB": 0.03, "descriptors": 0.0, "threads": 0.0, "CPU ms an update": 0.10}
#: Share of a run that may be needed to become warm, and seconds between two looks at it.
_WARM, _EVERY_S = 0.1, 1.0
_OUTPUTS = {
    **{name: f"{name}.jsonl" for name in ("captions", "log", "translations", "sentences")},
    **{"srt": "talk.srt", "vtt": "talk.vtt", "summary": "summary.json"},
}


def main() -> int:
    heed_signals()
    parser = argparse.ArgumentParser(prog="python -m tests.hours")
    parser.add_argument("model", choices=("toy", "real"), help="toy: random weights of a small real model")
    parser.add_argument("--segments", type=int, default=10_000)
    parser.add_argument("--partials", type=Path, default=ROOT / "tests/samples/partials.jsonl")
    given = parser.parse_args()
    with TemporaryDirectory(prefix="surtitle-hours-") as folder:
        found = _replay(Path(folder), given.model, given.segments, given.partials)
    print("\n".join(f"OUT OF BOUNDS: {one}" for one in found) or "all of it held")
    return bool(found)


def _replay(folder: Path, model: str, segments: int, recorded: Path) -> list[str]:
    options = [one for key, name in _OUTPUTS.items() for one in ("--set", f"output.{key}={name}")]
    if model == "toy":
        speech(folder / "spoken.jsonl", segments, step_s=1.6, pause_s=1.6)
        write_model(folder / "toy.gguf", pieces({}))
        options += ["--model", "toy.gguf", "--set", "translate.threads=1"]
    else:
        _repeat(recorded, folder / "spoken.jsonl", segments)
    command = [SURTITLE, "replay", "spoken.jsonl", "--to", "German", "--quiet", "--web"]
    command += ["--port", "0", "--recovery", "run"]
    with subprocess.Popen(
        [*command, *options], cwd=folder, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        said = (re.search(r"captions at (http://\S+)", line) for line in process.stderr)
        address = next(filter(None, said))
        stream = json.loads((folder / "spoken.jsonl").read_text().splitlines()[0])["stream"]
        viewer = Thread(target=_view, args=(f"{address[1]}streams/{stream}/events",), daemon=True)
        viewer.start()
        samples: list[_Sample] = []
        try:
            # The end of the stream is the end of the run, which stays until it is told.
            with suppress(KeyboardInterrupt):
                while viewer.is_alive():
                    samples.append(_sample(process.pid, folder / "log.jsonl"))
                    sleep(_EVERY_S)
            process.send_signal(signal.SIGINT)
            stderr = process.communicate(timeout=180)[1]
        finally:
            process.kill()
    assert process.returncode == 0, stderr
    updates = (folder / "log.jsonl").read_bytes().count(b"\n")
    summed = json.loads((folder / "summary.json").read_bytes())["updates"]
    assert summed == updates, f"{summed} updates of {updates} are summed up"
    return _faults(samples[int(_WARM * len(samples)) :])


def _repeat(recorded: Path, path: Path, segments: int) -> None:
    """Write the segments of a recording again and again, with new numbers and later each time."""
    partials = [json.loads(line) for line in recorded.read_bytes().splitlines()]
    once = {number: [one for one in partials if one["segment"] == number] for number in range(segments)}
    spoken = [some for some in once.values() if some]
    length_s = max(one["arrival_s"] for one in partials) + 0.5
    with path.open("w") as file:
        for number in range(segments):
            turn, which = divmod(number, len(spoken))
            for one in spoken[which]:
                times = {key: one[key] + turn * length_s for key in ("start_s", "end_s", "arrival_s")}
                file.write(json.dumps({**one, **times, "segment": number}) + "\n")


def _view(address: str) -> None:
    """Read a stream to its end, as a browser does, and keep nothing of it."""
    with urlopen(address, timeout=60) as answer:
        for line in answer:
            if b'"type":"end"' in line:
                return


#: Resident MiB, descriptors, threads, seconds of processors, and updates in the log.
_Sample = tuple[float, int, int, float, int]


def _sample(process: int, log: Path) -> _Sample:
    folder = Path("/proc") / str(process)
    status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
    # The name of the program, in brackets, may hold spaces.
    times = (folder / "stat").read_text().rpartition(")")[2].split()
    return (
        int(status["VmRSS"].split()[0]) / 1024,
        len(list((folder / "fd").iterdir())),
        int(status["Threads"]),
        (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK"),
        log.read_bytes().count(b"\n") if log.exists() else 0,
    )


def _faults(samples: Sequence[_Sample]) -> list[str]:
    """What grew by more than it may, in sentences; what did not is printed."""
    assert len(samples) > 9, "the run was too short to tell"
    resident, descriptors, threads, _, _ = zip(*samples, strict=True)
    costs = [
        1000 * (after[3] - before[3]) / (after[4] - before[4])
        for before, after in pairwise(samples)
        if after[4] > before[4]
    ]
    found = []
    for (name, most), values in zip(MAY_GROW.items(), (resident, descriptors, threads, costs), strict=True):
        third = len(values) // 3
        # By the lower quartiles: other programs can only make a moment dearer than it is.
        first, last = (sorted(part)[third // 4] for part in (values[:third], values[-third:]))
        print(f"{name}: {first:.1f}, then {last:.1f}")
        if last > first * (1 + most):
            found.append(f"{name} grew from {first:.1f} to {last:.1f}, by more than {most:.0%}")
    return found


if __name__ == "__main__":
    sys.exit(main())
