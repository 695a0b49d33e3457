"""A microphone is heard with true times, whatever happens to it; tried with a virtual one."""

import itertools
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

from connectors.audio.decoder import open_audio
from operators.events import SAMPLE_RATE
from tests.listening import Listening
from tests.virtual_microphone import NAME, VirtualMicrophone

ROOT = Path(__file__).parent.parent.parent.parent
BACK = f"the microphone {NAME} is back"
GONE = f"the microphone {NAME} was disconnected; waiting for it"


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seconds of read speech."""
    samples, rate = soundfile.read(
        Path(str(files("moonshine_voice"))) / "assets" / "two_cities.wav", dtype="int16"
    )
    path = tmp_path_factory.mktemp("talk") / "talk.wav"
    soundfile.write(path, samples[rate : 3 * rate], rate)
    return path


def samples_of(path: Path) -> NDArray[np.float64]:
    samples, rate = soundfile.read(path)
    factor = rate / SAMPLE_RATE
    positions = np.arange(int(len(samples) / factor)) * factor
    heard: NDArray[np.float64] = np.interp(positions, np.arange(len(samples)), samples)
    return heard


def likeness(played: Path, recorded: Path) -> tuple[float, float]:
    """Normalised cross-correlation where it is highest, and the second of the recording where that is."""
    ours, theirs = samples_of(recorded), samples_of(played)
    size = len(ours) + len(theirs)
    product = np.fft.irfft(np.fft.rfft(ours, size) * np.conj(np.fft.rfft(theirs, size)), size)
    at = int(product[: len(ours) - len(theirs) + 1].argmax())
    part = ours[at : at + len(theirs)]
    return float(product[at] / (np.linalg.norm(part) * np.linalg.norm(theirs))), at / SAMPLE_RATE


def test_what_the_computer_plays_is_recorded_by_the_name_of_its_monitor(
    virtual_microphone: VirtualMicrophone, talk: Path, tmp_path: Path
) -> None:
    with Listening(virtual_microphone.environment, tmp_path / "heard.wav", device="monitor of") as listening:
        listening.heard(0.2)
        virtual_microphone.play(talk)
        first = listening.loud()
        virtual_microphone.unplug()
        listening.wait_for(lambda event: "waiting for it" in str(event))
        virtual_microphone.plug()
        listening.wait_for(lambda event: "is back" in str(event))
        listening.stop()
    assert first["start_s"] > 0
    assert likeness(talk, tmp_path / "heard.wav")[0] > 0.9


def test_a_microphone_that_vanishes_is_awaited_and_its_times_go_on(
    virtual_microphone: VirtualMicrophone, talk: Path, tmp_path: Path
) -> None:
    with Listening(virtual_microphone.environment, tmp_path / "heard.wav", device=NAME) as listening:
        last = listening.heard(0.3)
        virtual_microphone.unplug()
        listening.told(GONE)
        time.sleep(0.5)  # the time without a microphone that the clock has to go over
        virtual_microphone.plug()
        listening.told(BACK)
        virtual_microphone.play(talk)
        first = listening.loud(last["end_s"])
        listening.heard(first["end_s"] + 2.1)
        chunks = listening.stop()

    assert [event["tell"] for event in listening.events if "tell" in event] == [GONE, BACK]
    assert chunks[0]["start_s"] == 0
    # Sound is there soon after it was said, and never before.
    lags = [chunk["now_s"] - chunk["end_s"] for chunk in chunks]
    assert 0 <= min(lags) <= float(np.median(lags)) < 1
    gaps = [after["start_s"] - before["end_s"] for before, after in itertools.pairwise(chunks)]
    lost = [event["lost"] for event in listening.events if "lost" in event][-1]
    assert max(gaps) > 0.4
    assert lost == {"lost_s": 0, "absent_s": pytest.approx(max(gaps), abs=0.01)}
    match, at_s = likeness(talk, tmp_path / "heard.wav")
    assert match > 0.9
    # The times are those of the wall clock: the file holds silence for the time without a microphone.
    assert at_s == pytest.approx(first["start_s"], abs=0.4)


def test_a_driver_that_hangs_keeps_nobody_from_leaving(
    virtual_microphone: VirtualMicrophone, tmp_path: Path
) -> None:
    with Listening(virtual_microphone.environment, tmp_path / "heard.wav") as listening:
        listening.heard(0.2)
        virtual_microphone.freeze()
        chunks = listening.stop()
    assert not chunks[-1]["is_last"], "a microphone that was stopped is not at its end"
    assert open_audio(tmp_path / "heard.wav").duration_s == pytest.approx(chunks[-1]["end_s"])


def test_devices_are_listed_for_a_person(virtual_microphone: VirtualMicrophone) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from flows.cli.app import devices; devices()"],
        env=virtual_microphone.environment, cwd=ROOT, capture_output=True, text=True, timeout=30, check=True,
    )  # fmt: skip

    head, *rows = [line.split() for line in done.stdout.splitlines()]
    assert head == ["index", "name", "channels", "rate", "system"]
    assert [row[2:] if row[0] == "*" else row[1:] for row in rows] == [
        [NAME, "32", "44100", "Hz", "ALSA"],
        ["default", "32", "44100", "Hz", "ALSA"],
        ["Monitor", "of", "Null", "Output", "1", "16000", "Hz", "PulseAudio"],
    ]
    assert [row[0] == "*" for row in rows] == [False, True, False]
