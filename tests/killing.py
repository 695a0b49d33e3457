"""Runs of `tests.recovering`: what they hear, how they are started and killed, and what they wrote."""

import json
import signal
import socket
import subprocess
import sys
import wave
from pathlib import Path
from random import Random
from typing import Any

from tests.program import ROOT, Program
from tests.waiting import size, until

#: What depends on the time that things took.
TIMES = {
    "started_s", "ready_s", "shown_s", "effort", "latency", "latency_from_speech_s", "latency_from_arrival_s",
}  # fmt: skip

Events = dict[str, list[dict[str, Any]]]


def speech(path: Path, segments: int, streams: int = 1, *, step_s: float = 0.5, pause_s: float = 0.0) -> None:
    """Partials that grow and are revised, in words that the toy model knows; the streams speak in turns.

    Between partials are ``step_s``, and between segments ``pause_s`` more.
    """
    random, times = Random(0), (step_s, pause_s)
    spoken = [_stream(f"talk{number}", segments // streams, random, *times) for number in range(streams)]
    with path.open("w") as file:
        while any(spoken):
            talk = random.choice([talk for talk in spoken if talk])
            file.write(json.dumps(talk.pop(0)) + "\n")


def _stream(name: str, segments: int, random: Random, step_s: float, pause_s: float) -> list[dict[str, Any]]:
    partials, at_s = [], 0.0
    for segment in range(segments):
        words: list[str] = []
        updates = random.randint(1, 6)
        for revision in range(updates):
            words = [*words[: max(0, len(words) - random.randint(0, 1))], *random.choices("abcdef", k=2)]
            at_s += step_s
            partial = {
                "stream": name, "segment": segment, "revision": revision, "text": " ".join(words),
                "is_final": revision == updates - 1, "start_s": at_s - step_s, "end_s": at_s,
                "arrival_s": at_s,
            }  # fmt: skip
            partials.append(partial)
        at_s += pause_s
    return partials


def recording(path: Path, seconds: int) -> None:
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, 16_000, 0, "NONE", ""))
        file.writeframes(Random(2).randbytes(32_000 * seconds))


def settings(
    folder: Path,
    given: str,
    *,
    recovery: bool,
    workers: int = 1,
    rooms: int | None = None,
    to: str = "German",
) -> Path:
    """Settings of a run that writes everything it can into ``folder``; ``given`` is its input, as TOML."""
    names = ("log", "captions", "translations", "sentences", "partials")
    outputs = "".join(f'{name} = "{folder}/{name}.jsonl"\n' for name in names)
    outputs += f'srt = "{folder}/talk.srt"\nvtt = "{folder}/talk.vtt"\n'
    if given.startswith("audio"):
        outputs += f'audio = "{folder}/heard.wav"\n'
    path = folder / "surtitle.toml"
    path.write_text(
        f"[input]\n{given}\n[output]\nterminal = false\n{outputs}[run]\nworkers = {workers}\n"
        + f'[translate]\nto = "{to}"\n'
        + (f"rooms = {rooms}\n" if rooms else "")
        + (f'[recovery]\nfolder = "{folder}/recovery"\ninterval_s = 0.05\n' if recovery else "")
    )
    return path


def start(*command: str | Path) -> "subprocess.Popen[str]":
    """A run under surtitle's own runner, or under another module if there are several arguments."""
    module = ["tests.recovering"] if len(command) == 1 else []
    return Program(
        [sys.executable, "-m", *module, *map(str, command)], cwd=ROOT, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def start_process(path: Path, where: list[str], number: int) -> "subprocess.Popen[str]":
    """A process of a cluster, with settings of its own beside those of all."""
    mine = path.with_name(f"process{number}.toml")
    cluster = f"[run]\naddresses = {json.dumps(where)}\nprocess = {number}\n"
    mine.write_text(path.read_text().replace("[run]\n", cluster))
    return start(mine)


def free_addresses(count: int) -> list[str]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    found = [f"127.0.0.1:{one.getsockname()[1]}" for one in held]
    for one in held:
        one.close()
    return found


def finish(process: "subprocess.Popen[str]") -> None:
    _, stderr = process.communicate(timeout=300)
    assert process.returncode == 0, stderr


def kill(process: "subprocess.Popen[str]", growing: Path, random: Random) -> bool:
    """Kill a run at a random moment: when it begins, or in the middle; False when it was over before."""
    try:
        if random.random() < 2 / 3:
            wait_for_growth(growing, process)
            process.wait(random.uniform(0.0, 0.12))
        else:
            process.wait(random.uniform(0.0, 0.6))
    except subprocess.TimeoutExpired:
        process.kill()
    _, stderr = process.communicate()
    assert process.returncode in (0, -signal.SIGKILL), stderr
    return process.returncode != 0


def heed_signals() -> None:
    """Heed the signals that a shell lets background programs ignore, and so programs that are started."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def wait_for_growth(path: Path, process: "subprocess.Popen[str]", before: int | None = None) -> None:
    """Wait until the size of a file changes, or the process ends."""
    before = size(path) if before is None else before
    until(lambda: size(path) != before or process.poll() is not None, 180)


def events(folder: Path) -> Events:
    """The events of all files by file and stream, without what depends on the time that it took."""
    found: Events = {}
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            event = json.loads(line)
            kept = {name: value for name, value in event.items() if name not in TIMES}
            found.setdefault(f"{path.stem} of {event['stream']}", []).append(kept)
    return found


def subtitles(folder: Path) -> dict[str, str]:
    return {path.suffix: path.read_text() for path in sorted(folder.glob("talk.*"))}
