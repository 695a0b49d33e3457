"""A run whose clock is set by an hour: captions and subtitles come when speech does all the same."""

import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from operators.events import Partial
from tests.chaos.talk import talk
from tests.program import SURTITLE
from tests.stepped_clock import SteppedClock
from tests.waiting import wait_for

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="needs a C compiler and LD_PRELOAD"
)


@pytest.fixture(scope="module")
def clock(tmp_path_factory: pytest.TempPathFactory) -> SteppedClock:
    return SteppedClock(tmp_path_factory.mktemp("clock"))


def partial(
    segment: int, arrival_s: float, *, revision: int = 0, is_final: bool = False, is_sentence: bool = False
) -> bytes:
    one = Partial(
        stream="talk", segment=segment, revision=revision, is_final=is_final, text="word " * (revision + 1),
        start_s=3.0 * segment, end_s=3.0 * segment + 0.5, arrival_s=arrival_s,
        is_sentence=is_sentence,
    )  # fmt: skip
    return msgspec.json.encode(one) + b"\n"


@pytest.mark.parametrize(
    "rooms",
    [pytest.param([], id="alone"), pytest.param(["--rooms", "2"], id="rooms", marks=pytest.mark.long)],
)
def test_live_captions_and_subtitles_go_on_when_the_clock_is_set(
    tmp_path: Path, small: list[str], clock: SteppedClock, rooms: list[str]
) -> None:
    given, captions, subtitles = (tmp_path / name for name in ("in.jsonl", "captions.jsonl", "talk.srt"))
    waits = [partial(1, 3.0 + 0.5 * number, revision=number) for number in range(200)]
    given.write_bytes(partial(0, 0.5, is_final=True) + b"".join(waits))
    clock.set(0)
    command = [SURTITLE, "replay", given, "--realtime", "--quiet", *small, *rooms]
    command += ["--captions", captions, "--srt", subtitles, "--recovery", tmp_path / "run"]
    with subprocess.Popen(
        list(map(str, command)), env=clock.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        try:
            wait_for(captions, '"segment":0')
            for hours in (-1, 1):
                clock.set(3600 * hours)
                said = captions.read_text().count('"segment":1')
                wait_for(captions, f'"segment":1,"revision":{said + 3}')
                wait_for(subtitles, "-->")
            process.send_signal(signal.SIGINT)
            assert process.stderr is not None
            assert process.wait(30) == 0
            back, again = process.stderr.read().decode().splitlines()
            assert re.match(
                rf"surtitle: the clock was set back: for 3\d\d\d s no snapshot is stored in {tmp_path}/run",
                back,
            )
            assert again == f"surtitle: snapshots are stored in {tmp_path}/run again"
        finally:
            process.kill()


def test_a_bytewax_job_says_that_there_are_no_snapshots(tmp_path: Path, clock: SteppedClock) -> None:
    given, captions = tmp_path / "talk.jsonl", tmp_path / "captions.jsonl"
    talk(given, seconds=60.0, segments=120)
    settings = tmp_path / "surtitle.toml"
    settings.write_text(
        f'[input]\ncaptions = "{given}"\nrealtime = true\n'
        f'[output]\nterminal = false\ncaptions = "{captions}"\n'
    )
    clock.set(0)
    command = [sys.executable, "-m", "bytewax.run", f"flows.captions:flow('{settings}')"]
    command += ["-r", str(tmp_path / "run"), "-s", "1", "-b", "0"]
    with subprocess.Popen(
        command, env=clock.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            wait_for(captions, '"segment":0')
            clock.set(-3600)
            assert process.stderr is not None
            sentence = process.stderr.readline()
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=30) == 0
        finally:
            process.kill()
    assert sentence.startswith("surtitle: the clock was set back: for 3")
    assert f"no snapshot is stored in {tmp_path}/run;" in sentence
