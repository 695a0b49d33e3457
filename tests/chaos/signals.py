"""Signals to a run at any moment, with every kind of input: it ends well, and the next start goes on."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.chaos.trial import (
    LINES,
    PATIENCE_S,
    SUBTITLES,
    SURTITLE,
    TOYS,
    Ended,
    Trial,
    cues,
    finals,
    is_free,
    lines,
    outputs,
    port,
    see,
    see_same_finals,
)
from tests.killing import recording, speech, wait_for_growth
from tests.tiny_gguf import pieces, write_model
from tests.waiting import size

#: Signals that ask for an end, those that leave no time for one, and what the shell calls them.
_ASKING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SUDDEN = (signal.SIGKILL, signal.SIGQUIT)
#: What happens to a run that is no signal of ours: its reader goes, it is held up, it is asked twice.
_OTHERS = ("no reader", "pause", "twice")
_SEGMENTS = 25
_SECONDS = 30


class _Input(NamedTuple):
    """What a run hears or reads."""

    command: Callable[[Path], Sequence[object]]
    make: Callable[[Path], None]
    #: The file that standard input comes from.
    stdin: str | None = None
    #: Whether it has an end, and the same captions each time.
    has_end: bool = True
    is_exact: bool = True
    program: Sequence[str] = TOYS


def _speech(folder: Path) -> None:
    speech(folder / "speech.jsonl", _SEGMENTS)


def _speech_and_model(folder: Path) -> None:
    _speech(folder)
    write_model(folder / "model.gguf", pieces({}))


_INPUTS = {
    "partials": _Input(lambda folder: ("replay", folder / "speech.jsonl"), _speech),
    # With llama.cpp, on a model that babbles.
    "llama": _Input(
        lambda folder: (
            "replay", folder / "speech.jsonl", "--model", folder / "model.gguf",
            "--set", "translate.threads=1"),
        _speech_and_model, program=SURTITLE,
    ),
    "stdin": _Input(lambda _folder: ("replay", "/dev/stdin"), _speech, "speech.jsonl"),
    "audio": _Input(
        lambda folder: ("file", folder / "talk.wav", "--set", f"output.partials={folder / 'partials.jsonl'}"),
        lambda folder: recording(folder / "talk.wav", _SECONDS),
        is_exact=False,
    ),
    "microphone": _Input(
        lambda folder: (
            "live", "--set", f"output.partials={folder / 'partials.jsonl'}",
            "--set", f"output.audio={folder / 'heard.wav'}"),
        lambda _folder: None, has_end=False, is_exact=False,
    ),
}  # fmt: skip


def attempt(trial: Trial) -> None:
    """Disturb a run once, or again and again where it goes on, and let it come to its end."""
    random = trial.random
    name = random.choice(list(_INPUTS))
    given = _INPUTS[name]
    given.make(trial.folder)
    is_remembered = random.random() < 0.7
    is_watched = random.random() < 0.5
    is_joined = random.random() < 0.5
    arguments = _arguments(trial, given, is_remembered=is_remembered, is_watched=is_watched)
    arguments += [] if is_joined else ["--set", "sentences.method=off"]
    trial.note(name, "with recovery" if is_remembered else "without recovery")
    for _ in range(random.randint(1, 3) if is_remembered else 1):
        is_over = _disturbed(trial, given, arguments)
        _see_whole(trial.folder)
        trial.see_unlocked()
        if is_over:
            break
    if is_remembered:
        _finish(trial, given, arguments)
        _see_each_final_once(trial.folder, given, is_joined=is_joined)


def _arguments(trial: Trial, given: _Input, *, is_remembered: bool, is_watched: bool) -> list[object]:
    files = {option: trial.folder / name for option, name in {**LINES, **SUBTITLES}.items()}
    arguments = [*given.command(trial.folder), *outputs(files)]
    if is_remembered:
        settings = trial.folder / "often.toml"
        settings.write_text("[recovery]\ninterval_s = 0.1\n")
        arguments += ["--recovery", trial.folder / "run", "--settings", settings]
    if is_watched:
        arguments += ["--set", "metrics.listen=0"]
    # With an audience a replay stays when it is over: somebody has to end it.
    if is_watched and not given.has_end:
        arguments += ["--web", "--port", "0"]
    return arguments


def _start(trial: Trial, given: _Input, arguments: list[object]) -> "subprocess.Popen[str]":
    stdin = open(trial.folder / given.stdin) if given.stdin else contextlib.nullcontext()  # noqa: PTH123, SIM115
    with stdin as file:
        return trial.start(given.program, *arguments, stdin=file or subprocess.DEVNULL)


def _disturbed(trial: Trial, given: _Input, arguments: list[object]) -> bool:
    """Start a run and disturb it; whether it came to its own end."""
    before = size(trial.folder / "log.jsonl")
    process = _start(trial, given, arguments)
    has_begun = _wait(trial, process, before)
    kinds: list[signal.Signals | str] = [*_ASKING, *_ASKING, *_SUDDEN, *_OTHERS]
    what = trial.random.choice(kinds)
    to_group = trial.random.random() < 0.5
    trial.note(what if isinstance(what, str) else what.name, "to the group" if to_group else "")

    def send(number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            (os.killpg if to_group else os.kill)(process.pid, number)

    asked_at = time.monotonic()
    if what == "pause":
        send(signal.SIGSTOP)
        time.sleep(trial.random.uniform(0.1, 2.0))
        send(signal.SIGCONT)
        time.sleep(trial.random.uniform(0.0, 1.0))
        send(signal.SIGTERM)
    elif what == "no reader":
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        if not given.has_end:
            time.sleep(trial.random.uniform(0.0, 5.0))
            send(signal.SIGTERM)
    elif what == "twice":
        number = trial.random.choice(_ASKING)
        send(number)
        time.sleep(trial.random.uniform(0.0, 0.3))
        send(trial.random.choice(_ASKING))
    else:
        assert isinstance(what, signal.Signals)
        send(what)
    ended = trial.end(process)
    trial.note(
        f"ended with {ended.code} after {time.monotonic() - asked_at:.1f} s: {ended.stderr.strip()[-200:]}"
    )
    _see_code(what, ended, has_begun=has_begun)
    for where in ("captions", "metrics"):
        served = port(ended.stderr, where)
        see(served is None or is_free(served), f"the port of the {where} is still taken")
    return ended.code == 0 and what not in (*_ASKING, "pause", "twice")


def _wait(trial: Trial, process: "subprocess.Popen[str]", before: int) -> bool:
    """Until a random moment of the start, or of the run; whether it is known to have begun."""
    if trial.random.random() < 0.3:
        time.sleep(trial.random.uniform(0.0, 1.5))
    else:
        wait_for_growth(trial.folder / "log.jsonl", process, before)
        time.sleep(trial.random.uniform(0.0, 1.0))
    return size(trial.folder / "log.jsonl") > before


def _see_code(what: signal.Signals | str, ended: Ended, *, has_begun: bool) -> None:
    """See that the exit code is one that is promised."""
    asked = [-one for one in _ASKING] + [128 + one for one in _ASKING]
    match what:
        case signal.SIGKILL | signal.SIGQUIT:
            # Unless it was over before.
            allowed = [0, -what]
        case "no reader":
            allowed = [0, 4, -signal.SIGTERM]
        case "twice":
            allowed = [0, *asked]
        case _:
            allowed = [0] if has_begun else [0, *asked]
    see(ended.code in allowed, f"exit code {ended.code}, not {allowed}: {ended.stderr}")
    if ended.code == 0 or ended.code in asked:
        see("internal" not in ended.stderr and "Error" not in ended.stderr, ended.stderr)


def _see_whole(folder: Path) -> None:
    """See that all files are whole."""
    for name in (*LINES.values(), "partials.jsonl"):
        if (folder / name).exists():
            lines(folder / name)
    for name in SUBTITLES.values():
        path = folder / name
        if path.exists() and path.stat().st_size:
            cues(path)


def _finish(trial: Trial, given: _Input, arguments: list[object]) -> None:
    """Let a run come to its end."""
    before = size(trial.folder / "log.jsonl")
    process = _start(trial, given, arguments)
    if not given.has_end:
        wait_for_growth(trial.folder / "log.jsonl", process, before)
        process.send_signal(signal.SIGINT)
    ended = trial.end(process, 2 * PATIENCE_S)
    see(ended.code == 0, f"the last start ended with {ended.code}: {ended.stderr}")
    _see_whole(trial.folder)
    trial.see_unlocked()


def _see_each_final_once(folder: Path, given: _Input, *, is_joined: bool) -> None:
    """See that every segment or sentence ended once in each file, and that times go on."""
    heard = [] if given.is_exact else ["partials.jsonl"]
    events = see_same_finals(folder, [*LINES.values(), *heard], is_joined=is_joined)
    last_s = 0.0
    for event in events["captions.jsonl"]:
        if event["is_final"]:
            see(
                event["start_s"] >= last_s - 0.01,
                f"segment {event['segment']} begins before the one before ended",
            )
            last_s = event["end_s"]
    if given.is_exact:
        count = len(finals(events["captions.jsonl"]))
        see(is_joined or count == _SEGMENTS, f"there are {count} finals of {_SEGMENTS}")
        see(last_s == lines(folder / "speech.jsonl")[-1]["end_s"], f"the last final ends at {last_s} s")
        _see_unbroken(events)


def _see_unbroken(events: dict[str, list[dict[str, Any]]]) -> None:
    """See that no update is there twice, or missing."""
    for name, some in events.items():
        updates = [(event["segment"], event["revision"]) for event in some]
        see(updates == sorted(set(updates)), f"{name} has updates twice, or in another order")
