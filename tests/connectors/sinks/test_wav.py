"""A recorded session is a valid WAV file at every moment, and replays with the same times."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

from connectors.audio.source import AudioFileSource
from connectors.sinks.wav import WavSink
from operators.errors import OutputError
from operators.events import SAMPLE_RATE, AudioChunk


def noise(samples: int, seed: int = 7) -> NDArray[np.int16]:
    return np.random.default_rng(seed).integers(-9000, 9000, samples).astype("<i2")


def chunk(start_s: float, samples: NDArray[np.int16], stream: str = "talk") -> AudioChunk:
    return AudioChunk(stream=stream, start_s=start_s, pcm=samples.tobytes())


def partition(path: Path) -> Any:
    return WavSink(path).build_part("out", str(path), None)


def read(path: Path) -> NDArray[np.int16]:
    """The samples of a file that lacks nothing."""
    samples, rate = soundfile.read(path, dtype="int16")
    header = path.read_bytes()[:8]
    assert (rate, int.from_bytes(header[4:], "little")) == (SAMPLE_RATE, path.stat().st_size - 8)
    return np.asarray(samples)


def test_after_every_chunk_the_file_is_whole_though_nobody_closed_it(tmp_path: Path) -> None:
    path, samples = tmp_path / "talk.wav", noise(1600)
    sink = partition(path)
    for number in range(5):
        sink.write_batch([chunk(number / 10, samples)])

        assert np.array_equal(read(path), np.tile(samples, number + 1))


def test_what_was_not_heard_is_silence_so_that_times_stay(tmp_path: Path) -> None:
    path, samples = tmp_path / "talk.wav", noise(1600)
    sink = partition(path)
    sink.write_batch([chunk(0.5, samples), chunk(2.0, samples), chunk(2.25, noise(0))])

    heard = read(path)
    assert len(heard) == 2.25 * SAMPLE_RATE
    assert np.array_equal(heard[8000:9600], samples)
    assert np.array_equal(heard[32_000:33_600], samples)
    assert np.abs(np.delete(heard, np.r_[8000:9600, 32_000:33_600])).max() == 0
    replayed = AudioFileSource(path, stream="talk").build_part("in", "talk", None)
    chunks = [one for _ in range(23) for one in replayed.next_batch()]
    assert next(one.start_s for one in chunks if any(one.pcm)) == 0.5


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (chunk(0.1, noise(800), stream="other"), "give each stream its own file"),
        (chunk(0.0, noise(800)), r"up to 0\.10 s, and audio from 0\.00 s on arrived a second time"),
        (chunk(140_000.0, noise(800)), "holds 37 hours at most"),
    ],
    ids=["another stream", "from before", "beyond 4 GiB"],
)
def test_a_chunk_that_has_no_place_in_the_file_is_refused_and_the_rest_stays(
    tmp_path: Path, second: AudioChunk, reason: str
) -> None:
    path = tmp_path / "talk.wav"
    with pytest.raises(OutputError, match=reason):
        partition(path).write_batch([chunk(0.0, noise(1600)), second])

    assert np.array_equal(read(path), noise(1600))


def test_chunks_that_overlap_by_a_rounding_follow_each_other(tmp_path: Path) -> None:
    partition(tmp_path / "talk.wav").write_batch([chunk(0.0, noise(1600)), chunk(0.0999, noise(1600))])
    assert len(read(tmp_path / "talk.wav")) == 3200


def test_a_device_is_refused_at_once() -> None:
    with pytest.raises(OutputError, match="regular file"):
        WavSink(Path("/dev/null"))
