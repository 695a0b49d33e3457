"""A run that is killed and started again ends with what an unbroken run ends with."""

import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from subprocess import Popen

import pytest
import srt
import webvtt

from tests.killing import events, finish, kill, recording, settings, speech, start, subtitles, wait_for_growth

#: More with `make test-long`.
KILLS = int(os.environ.get("SURTITLE_KILLS", "5"))
#: For runs of several workers and of audio, each.
FEWER = min(40, max(2, KILLS // 3))
#: Enough that a run is not over before it was killed so often.
SEGMENTS = 16 * KILLS

#: More settings, with which a recogniser's segments are not joined.
EACH_PAUSE_ENDS = '\n\n[sentences]\nmethod = "off"'

Start = Callable[[Path, Random], "Popen[str]"]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recovery")


def new(folder: Path, given: str, *, recovery: bool = True, to: str | None = None) -> Path:
    folder.mkdir()
    return settings(folder, given, recovery=recovery, to=to or "German")


@pytest.fixture(scope="module")
def unbroken(base: Path) -> Path:
    speech(base / "speech.jsonl", SEGMENTS)
    finish(start(new(base / "unbroken", one_stream(base), recovery=False)))
    return base / "unbroken"


def one_stream(base: Path) -> str:
    return f'partials = "{base}/speech.jsonl"'


def killed(folder: Path, start_it: Start, kills: int, log: str = "log.jsonl") -> Path:
    """The folder of a run that was killed so often, and then came to its end."""
    random, path = Random(kills), folder / "surtitle.toml"
    for _ in range(kills):
        assert kill(start_it(path, random), folder / log, random), "it was over too early"
    finish(start_it(path, random))
    return folder


def with_one_worker(path: Path, _random: Random) -> "Popen[str]":
    return start(path)


def test_a_run_that_is_killed_again_and_again_ends_as_if_it_had_never_been(
    base: Path, unbroken: Path
) -> None:
    path = new(base / "killed", one_stream(base))
    killed(path.parent, with_one_worker, KILLS)
    assert events(path.parent) == events(unbroken)
    assert subtitles(path.parent) == subtitles(unbroken)


def with_any_workers(path: Path, random: Random) -> "Popen[str]":
    return start(settings(path.parent, _given(path), recovery=True, workers=random.randint(1, 3)))


def with_rooms(path: Path, random: Random) -> "Popen[str]":
    """With rooms, whose updates are in flight when the run is killed, or sometimes without."""
    rooms = random.choice([2, 4, 4, None])
    return start(settings(path.parent, _given(path), recovery=True, rooms=rooms))


def as_a_job_of_bytewax(path: Path, random: Random) -> "Popen[str]":
    flow = f"tests/recovering.py:flow('{path}')"
    workers = str(random.randint(2, 3))
    return start("bytewax.run", flow, "-w", workers, "-r", path.parent / "recovery", "-s", "0", "-b", "0")


def _given(path: Path) -> str:
    return path.read_text().splitlines()[1]


@pytest.mark.parametrize(
    ("start_it", "to"),
    [
        pytest.param(with_any_workers, None, marks=pytest.mark.long),
        (with_rooms, None),
        (as_a_job_of_bytewax, None),
        (with_one_worker, "German,French"),
    ],
)
def test_several_workers_are_killed_and_each_stream_ends_as_if_they_had_never_been(
    tmp_path: Path, start_it: Start, to: str | None
) -> None:
    speech(tmp_path / "speech.jsonl", 12 * FEWER, streams=4)
    given = f'partials = "{tmp_path}/speech.jsonl"'
    unbroken = new(tmp_path / "unbroken", given, recovery=False, to=to).parent
    finish(start(unbroken / "surtitle.toml"))
    path = new(tmp_path / "killed", given, to=to)
    killed(path.parent, start_it, FEWER, "log.fr.jsonl" if to else "log.jsonl")
    assert events(path.parent) == events(unbroken)
    # Whose subtitle comes first is a matter of speed.
    assert cues(path.parent) == cues(unbroken)


def cues(folder: Path) -> list[list[str]]:
    """What the subtitles say, in the order of the alphabet."""
    subrip = (cue.content for path in folder.glob("talk*.srt") for cue in srt.parse(path.read_text()))
    vtt = (cue.text for path in folder.glob("talk*.vtt") for cue in webvtt.read(str(path)).captions)
    return [sorted(subrip), sorted(vtt)]


def test_a_recording_is_resumed_after_a_kill_and_saved_completely(base: Path) -> None:
    seconds = 30 * FEWER
    recording(base / "talk.wav", seconds)
    path = new(base / "heard", f'audio = "{base}/talk.wav"{EACH_PAUSE_ENDS}')
    killed(path.parent, with_one_worker, FEWER)
    source, kept = (base / "talk.wav").read_bytes(), (path.parent / "heard.wav").read_bytes()
    assert kept[-32_000 * seconds :] == source[-32_000 * seconds :]
    assert len(kept) < len(source) + 100
    written = events(path.parent)
    for name, kind in written.items():
        # A segment that was open when the run was killed ends with the text it had, and another one begins.
        finals = [event["segment"] for event in kind if event["is_final"]]
        assert finals == list(range(len(finals))), name
        assert seconds / 2 <= len(finals) <= seconds / 2 + FEWER
    shown = " ".join(one["shown"] for one in written["captions of talk"] if one["is_final"])
    for texts in cues(path.parent):
        assert Counter(" ".join(texts).split()) == Counter(shown.split())


def test_a_finished_run_changes_nothing_when_started_again(base: Path, unbroken: Path) -> None:
    path = new(base / "again", one_stream(base))
    for _ in range(2):
        finish(start(path))
        assert events(path.parent) == events(unbroken)
        assert subtitles(path.parent) == subtitles(unbroken)


def terminate(process: "Popen[str]", log: Path) -> None:
    """Send SIGTERM as soon as the log grows; the run must end without an error."""
    wait_for_growth(log, process)
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=300)
    # The toy has no answer to some texts, which is told and is no fault of the run.
    told = [line for line in stderr.splitlines() if "the model gave an empty answer" not in line]
    assert (process.returncode, told) == (0, [])


@pytest.mark.parametrize("start_it", [with_one_worker, with_rooms, as_a_job_of_bytewax])
def test_sigterm_ends_a_run_like_ctrl_c_and_the_run_can_be_resumed(
    base: Path, unbroken: Path, start_it: Start
) -> None:
    path = new(base / start_it.__name__, one_stream(base))
    folder, log, random = path.parent, path.parent / "log.jsonl", Random(0)
    terminate(start_it(path, random), log)
    some = len(events(folder)["log of talk0"])
    assert 0 < some < len(events(unbroken)["log of talk0"])
    finish(start_it(path, random))
    assert events(folder) == events(unbroken)
    # The last one before the end stays as long as if nothing followed.
    assert cues(folder) == cues(unbroken)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ("", "add -r {} -s 1 -b 0"),
        ("-r elsewhere -s 1 -b 0", "add -r {} -s 1 -b 0"),
        ("-r {} -s 1 -b 0 -i 0 -a localhost:1;localhost:2", "{} can be the folder of one process only"),
    ],
)
def test_a_job_of_bytewax_that_could_not_be_resumed_is_refused_with_a_remedy(
    tmp_path: Path, options: str, complaint: str
) -> None:
    speech(tmp_path / "speech.jsonl", 2)
    path = new(tmp_path / "job", f'partials = "{tmp_path}/speech.jsonl"')
    folder = str(path.parent / "recovery")
    job = f"tests/recovering.py:flow('{path}')"
    process = start("bytewax.run", job, *options.format(folder).split())
    _, stderr = process.communicate(timeout=300)
    assert process.returncode != 0
    assert complaint.format(folder) in stderr
    assert not Path(folder).exists()
