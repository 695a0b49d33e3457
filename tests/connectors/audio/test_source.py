"""Recordings of any rate and layout become contiguous 16 kHz chunks; what is missing is said."""

import io
import struct
import threading
import tracemalloc
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from connectors.audio.decoder import open_audio
from connectors.audio.source import AudioFileSource
from operators.errors import InputError
from operators.events import SAMPLE_RATE, AudioChunk
from operators.notifications import RecordingAt, RecordingTruncated


def tone(seconds: float, rate: int = SAMPLE_RATE, channels: int = 1) -> NDArray[np.int16]:
    mono = 8000 * np.sin(2 * np.pi * 220 * np.arange(round(seconds * rate)) / rate)
    return np.repeat(mono[:, None], channels, axis=1).astype(np.int16)


def noise(samples: int) -> NDArray[np.int16]:
    return np.random.default_rng(7).integers(-9000, 9000, samples).astype(np.int16)


def wav_bytes(samples: NDArray[np.int16], rate: int = SAMPLE_RATE) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, samples, rate, format="WAV", subtype="PCM_16")
    return file.getvalue()


def run(path: Path, **kwargs: Any) -> list[AudioChunk]:
    """The chunks of a file."""
    part = AudioFileSource(path, stream="talk", **kwargs).build_part("in", "talk", None)
    chunks: list[AudioChunk] = []
    with suppress(StopIteration):
        while True:
            chunks += part.next_batch()
    part.close()
    return chunks


def samples_of(chunks: list[AudioChunk]) -> NDArray[np.int16]:
    return np.frombuffer(b"".join(chunk.pcm for chunk in chunks), "<i2")


def heard(path: Path) -> tuple[NDArray[np.int16], list[str]]:
    """The samples of a recording, and what is said of its end."""
    events: list[RecordingAt | RecordingTruncated] = []
    samples = samples_of(run(path, observe=events.append))
    return samples, [one.sentence for one in events if isinstance(one, RecordingTruncated)]


@given(
    rate=st.sampled_from([8_000, 16_000, 44_100, 44_101, 96_000]),
    channels=st.integers(1, 3),
    seconds=st.floats(0.01, 2.5),
    chunk_s=st.sampled_from([0.01, 0.1, 0.7]),
    extension=st.sampled_from(["wav", "flac"]),
)
def test_any_recording_becomes_contiguous_chunks_of_its_duration(
    rate: int, channels: int, seconds: float, chunk_s: float, extension: str
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"talk.{extension}"
        soundfile.write(path, tone(seconds, rate, channels), rate)
        chunks = run(path, chunk_s=chunk_s)

    position = 0
    for chunk in chunks:
        assert chunk.start_s == pytest.approx(position / SAMPLE_RATE)
        position += len(chunk.pcm) // 2
    assert position / SAMPLE_RATE == pytest.approx(seconds, abs=0.002)
    assert {len(chunk.pcm) // 2 for chunk in chunks[:-1]} <= {round(chunk_s * SAMPLE_RATE)}
    assert [chunk.is_last for chunk in chunks] == [False] * (len(chunks) - 1) + [True]


def test_inverted_channels_are_heard(tmp_path: Path) -> None:
    one = tone(2, 48_000)
    soundfile.write(tmp_path / "talk.wav", np.concatenate((one, -one), axis=1), 48_000)
    sound = np.frombuffer(b"".join(open_audio(tmp_path / "talk.wav").blocks()), "<i2")
    assert np.abs(sound).max() == pytest.approx(8000, rel=0.01)


@pytest.mark.parametrize("extension", ["wav", "flac"])
@pytest.mark.parametrize("rate", [16_000, 44_100])
def test_a_resumed_run_goes_on_where_the_snapshot_was(tmp_path: Path, rate: int, extension: str) -> None:
    path = tmp_path / f"talk.{extension}"
    soundfile.write(path, noise(4 * rate), rate)
    source = AudioFileSource(path, stream="talk", chunk_s=0.3)
    first = source.build_part("in", "talk", None)
    before = [chunk for _ in range(8) for chunk in first.next_batch()]
    second = source.build_part("in", "talk", first.snapshot())
    expected, resumed = first.next_batch()[0], second.next_batch()[0]
    assert resumed.start_s == expected.start_s == pytest.approx(before[-1].start_s + 0.3)
    difference = samples_of([resumed]).astype(int) - samples_of([expected])
    assert np.abs(difference).max() <= (rate != SAMPLE_RATE)


def test_in_real_time_chunks_that_waited_come_together(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "talk.wav", tone(1), SAMPLE_RATE)
    present = [100.0]
    source = AudioFileSource(tmp_path / "talk.wav", stream="talk", realtime=True, clock=lambda: present[0])
    partition = source.build_part("in", "talk", None)
    assert partition.next_batch() == []
    present[0] += 0.35
    assert [chunk.start_s for chunk in partition.next_batch()] == pytest.approx([0.0, 0.1, 0.2])


def test_a_recording_that_was_stopped_is_not_over(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "talk.wav", tone(5), SAMPLE_RATE)
    stop = threading.Event()

    def observe(event: RecordingAt | RecordingTruncated) -> None:
        assert isinstance(event, RecordingAt)
        assert event.duration_s == 5.0
        if event.position_s > 1.0:
            stop.set()

    chunks = run(tmp_path / "talk.wav", stop=stop, observe=observe)

    assert not any(chunk.is_last for chunk in chunks)
    assert 1.0 <= chunks[-1].start_s < 1.3


WHOLE = wav_bytes(tone(1)[:, 0])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it cannot be decoded, because it is empty; record or export it again"),
        (b"this is no sound" * 99, "cannot be decoded"),
        (WHOLE[:44], "cannot be decoded"),
        (WHOLE[:24] + struct.pack("<I", 1) + WHOLE[28:], "1 samples a second"),
    ],
    ids=["empty", "text", "no frames", "slow"],
)
def test_a_file_that_is_no_recording_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "talk.wav"
    path.write_bytes(content[:4] + struct.pack("<I", len(content) - 8) + content[8:] if content else b"")
    with pytest.raises(InputError, match=reason) as refused:
        open_audio(path)
    assert str(path) in str(refused.value)


def test_a_thousand_channels_at_any_rate_take_little_memory(tmp_path: Path) -> None:
    rate, channels = 768_000, 1024
    head = struct.pack("<IHHIIHH", 16, 1, channels, rate, rate * channels % 2**32, 2 * channels, 16)
    body = b"WAVEfmt " + head + b"data" + struct.pack("<I", 200 * channels) + bytes(200 * channels)
    (tmp_path / "talk.wav").write_bytes(b"RIFF" + struct.pack("<I", len(body)) + body)
    decoder = open_audio(tmp_path / "talk.wav")
    tracemalloc.start()
    try:
        assert all(isinstance(block, bytes) for block in decoder.blocks())
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()


def test_a_file_that_is_missing_a_folder_or_too_short_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        open_audio(tmp_path / "talk.wav")
    with pytest.raises(InputError, match="not a file"):
        open_audio(tmp_path)
    with pytest.raises(InputError, match="File name too long"):
        open_audio(tmp_path / ("x" * 5000))
    soundfile.write(tmp_path / "talk.wav", tone(1), SAMPLE_RATE)
    with pytest.raises(InputError, match="has become shorter since the run being resumed"):
        open_audio(tmp_path / "talk.wav", 5 * SAMPLE_RATE)


def test_what_a_truncated_wav_holds_is_heard_and_then_reported(tmp_path: Path) -> None:
    samples = noise(10 * SAMPLE_RATE)
    path = tmp_path / "talk.wav"
    path.write_bytes(wav_bytes(samples)[: 44 + 2 * 51_200])
    sound, [report] = heard(path)
    assert np.array_equal(sound, samples[:51_200])
    assert report == f"{path} is truncated: its header promises more than the 3.2 s that were translated"


@pytest.mark.parametrize("damage", ["cut", "overwritten"])
def test_what_comes_before_the_damage_in_a_flac_is_heard_and_then_reported(
    tmp_path: Path, damage: str
) -> None:
    samples = noise(10 * SAMPLE_RATE)
    path = tmp_path / "talk.flac"
    soundfile.write(path, samples, SAMPLE_RATE)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2] + (bytes(9000) if damage == "overwritten" else b""))
    sound, [report] = heard(path)
    # A FLAC frame is 4096 samples; only the damaged one is lost.
    assert len(sound) > 5 * SAMPLE_RATE - 2 * 4096
    assert np.array_equal(sound, samples[: len(sound)])
    assert "is truncated: its header promises more than the 4.9 s" in report


@pytest.mark.parametrize(
    ("riff", "data"),
    [(0, 0), (36, 0), (0xFFFF_FFFF, 0xFFFF_FFFF), (0x7FFF_F024, 0x7FFF_F000)],
    ids=["zeros", "an empty file's", "ffmpeg's", "SoX's"],
)
def test_a_wav_from_a_pipe_is_whole_whatever_its_header_says(tmp_path: Path, riff: int, data: int) -> None:
    samples = noise(SAMPLE_RATE)
    content = bytearray(wav_bytes(samples))
    content[4:8], content[40:44] = struct.pack("<I", riff), struct.pack("<I", data)
    path = tmp_path / "talk.wav"
    path.write_bytes(content)
    sound, reports = heard(path)
    assert np.array_equal(sound, samples)
    assert reports == []


def test_a_flac_from_a_pipe_has_no_duration_and_is_whole(tmp_path: Path) -> None:
    path, samples = tmp_path / "talk.flac", noise(3 * SAMPLE_RATE)
    soundfile.write(path, samples, SAMPLE_RATE)
    content = bytearray(path.read_bytes())
    # The last 36 bits of these eight bytes of STREAMINFO are the number of samples.
    content[18:26] = (int.from_bytes(content[18:26], "big") >> 36 << 36).to_bytes(8, "big")
    path.write_bytes(content)
    sound, reports = heard(path)
    assert (open_audio(path).duration_s, reports) == (None, [])
    assert np.array_equal(sound, samples)
