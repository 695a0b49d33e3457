"""What libsndfile cannot read is decoded by FFmpeg's libraries: videos, standard input, addresses."""

import io
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from av.stream import Disposition
from numpy.typing import NDArray

from connectors.audio.decoder import open_audio
from connectors.audio.ffmpeg import MEMORY_LIMIT
from connectors.audio.media import MediaDecoder, TrackChoice
from connectors.audio.source import AudioFileSource, AudioPosition
from connectors.messages import NOTICE
from operators.errors import InputError, UsageError
from operators.events import SAMPLE_RATE, AudioChunk
from tests.program import ROOT, surtitle
from tests.recordings import CODECS, served, write


def tone(seconds: float, rate: int = 48_000) -> NDArray[np.int16]:
    """Louder and louder, so that each moment differs from all others."""
    at = np.arange(round(seconds * rate)) / rate
    return (at / seconds * 16_000 * np.sin(2 * np.pi * 220 * at)).astype(np.int16)


def decoded(recording: Path | str, position: int = 0) -> NDArray[np.float64]:
    return np.frombuffer(b"".join(open_audio(recording, position).blocks()), "<i2").astype(float)


def run(source: AudioFileSource, position: AudioPosition | None = None) -> list[AudioChunk]:
    part = source.build_part("in", source.stream, position)
    chunks: list[AudioChunk] = []
    while not (chunks and chunks[-1].is_last):
        chunks += part.next_batch()
    part.close()
    return chunks


@pytest.mark.parametrize("suffix", CODECS)
def test_a_container_holds_the_samples_that_were_put_into_it(tmp_path: Path, suffix: str) -> None:
    samples = tone(3)
    heard = decoded(write(tmp_path / f"talk.{suffix}", samples))
    given = samples[::3].astype(float)
    # Encoders round to whole packets, and MPEG-TS keeps their lead-in.
    assert len(heard) == pytest.approx(len(given), abs=0.08 * SAMPLE_RATE)
    lags = range(0, 2000)
    fits = [np.corrcoef(heard[lag : lag + 44_000], given[:44_000])[0, 1] for lag in lags]
    assert max(fits) > 0.99
    assert int(np.argmax(fits)) / SAMPLE_RATE < 0.06


def test_a_resumed_run_gets_the_same_samples_also_in_the_second_recording(tmp_path: Path) -> None:
    paths = [write(tmp_path / "one.mp4", tone(1.3)), write(tmp_path / "two.mkv", tone(1.1))]
    whole = run(AudioFileSource(paths, stream="talk"))
    assert sum(len(one.pcm) for one in whole) == 2 * sum(len(decoded(path)) for path in paths)
    assert AudioFileSource(paths, stream="talk").duration_s == pytest.approx(2.4, abs=0.05)
    first = AudioFileSource(paths, stream="talk").build_part("in", "talk", None)
    begun = [chunk for _ in range(17) for chunk in first.next_batch()]
    position = first.snapshot()
    first.close()
    assert position.begun_at
    assert begun + run(AudioFileSource(paths, stream="talk"), position) == whole


@pytest.mark.parametrize(
    ("is_cut", "told"),
    [(True, "its header promises more than the"), (False, "damaged packets were left out of")],
)
def test_a_damaged_recording_is_heard_and_what_is_missing_is_told_once(
    tmp_path: Path, is_cut: bool, told: str
) -> None:
    random = np.random.default_rng(5)
    noise = random.integers(-9000, 9000, 48_000 * 20).astype("i2")
    path = write(tmp_path / "talk.mp4", noise, front=True)
    content = bytearray(path.read_bytes())
    if is_cut:
        del content[len(content) // 2 :]
    else:
        for at in range(len(content) // 3, len(content) // 3 + 3000, 300):
            content[at : at + 40] = random.bytes(40)
    path.write_bytes(content)
    events: list[Any] = []
    chunks = run(AudioFileSource(path, stream="talk", observe=events.append))

    heard_s = sum(len(chunk.pcm) for chunk in chunks) / 2 / SAMPLE_RATE
    # Silence takes the place of damaged packets, so that what follows keeps its time.
    assert heard_s == (pytest.approx(10, abs=2) if is_cut else pytest.approx(20, abs=0.15))
    assert [told in getattr(event, "sentence", "") for event in events].count(True) == 1


def _silent(path: Path) -> None:
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream("mpeg4", rate=10)
        stream.width = stream.height = 32
        stream.pix_fmt = "yuv420p"
        picture = av.VideoFrame.from_ndarray(np.zeros((32, 32, 3), np.uint8), format="rgb24")
        for packet in (*stream.encode(picture), *stream.encode(None)):
            container.mux(packet)


def _encrypted(path: Path) -> None:
    content = write(path, tone(2), front=True).read_bytes()
    body = content.index(b"mdat") + 4
    path.write_bytes(content[:body] + np.random.default_rng(2).bytes(len(content) - body))


def _without_index(path: Path) -> None:
    content = write(path, tone(2)).read_bytes()
    path.write_bytes(content[: len(content) // 2])


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (_silent, "it has no audio track; give a recording with sound"),
        (_encrypted, "it is encrypted, damaged or empty; export it again without copy protection"),
        (_without_index, "its beginning or its index is cut off; copy or export it again"),
        (lambda path: path.write_text("not a sound\n" * 99), "FFmpeg does not support its format"),
    ],
    ids=["silent", "encrypted", "without index", "text"],
)
def test_what_cannot_be_decoded_is_refused_with_the_reason(
    tmp_path: Path, make: Callable[[Path], object], reason: str
) -> None:
    path = tmp_path / "talk.mp4"
    make(path)
    with pytest.raises(InputError, match=reason) as refused:
        open_audio(path)
    assert str(refused.value).startswith(f"{path}: it cannot be decoded, because")


# In a process of its own: the maximum over children counts all that a process ever had.
_PEAK = """
import resource, sys
from connectors.audio.decoder import open_audio
from operators.errors import InputError
try:
    open_audio(sys.argv[1])
except InputError:
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


@pytest.mark.parametrize(("size", "count"), [(1, 2**32 - 16), (0x7000_0000, 2)])
def test_a_hostile_file_does_not_take_the_memory_that_it_claims(
    tmp_path: Path, size: int, count: int
) -> None:
    path = write(tmp_path / "talk.mp4", tone(2), front=True)
    content = bytearray(path.read_bytes())
    at = content.index(b"stsz") + 8
    content[at : at + 8] = size.to_bytes(4, "big") + count.to_bytes(4, "big")
    path.write_bytes(content)
    os.truncate(path, 2**33)
    peak_kib = subprocess.run(
        [sys.executable, "-c", _PEAK, path], cwd=ROOT, check=True, capture_output=True
    ).stdout
    assert int(peak_kib) < MEMORY_LIMIT / 1024


def test_standard_input_is_read_once(tmp_path: Path) -> None:
    path = write(tmp_path / "talk.mkv", tone(2))
    program = (
        "import hashlib\n"
        "from connectors.audio.decoder import open_audio\n"
        "print(hashlib.sha256(b''.join(open_audio('-').blocks())).hexdigest())"
    )

    def heard(stdin: Any) -> bytes:
        return subprocess.run(
            [sys.executable, "-c", program], stdin=stdin, capture_output=True, check=True, timeout=60,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        ).stdout  # fmt: skip

    with path.open("rb") as file:
        redirected = heard(file)
    with subprocess.Popen(["cat", str(path)], stdout=subprocess.PIPE) as pipe:
        assert heard(pipe.stdout) == redirected


def test_waiting_for_standard_input_ends_with_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    saved = os.dup(0)
    os.dup2(reading, 0)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    stop = threading.Event()
    threading.Timer(0.5, stop.set).start()
    try:
        assert list(MediaDecoder("-", stop=stop).blocks()) == []
    finally:
        os.dup2(saved, 0)
        for one in (saved, reading, writing):
            os.close(one)


@pytest.fixture
def offered() -> dict[str, bytes]:
    """What the server has, by its path."""
    return {}


@pytest.fixture
def server(offered: dict[str, bytes]) -> Iterator[str]:
    with served(offered, user="user:p@ss") as address:
        yield address


def test_an_address_is_read_like_a_file_and_its_secrets_are_not_told(
    tmp_path: Path, offered: dict[str, bytes], server: str
) -> None:
    path = write(tmp_path / "talk.mkv", tone(2))
    offered["/talk.mkv"] = path.read_bytes()
    assert np.array_equal(decoded(f"{server}/talk.mkv"), decoded(path))
    with pytest.raises(InputError, match="404") as refused:
        open_audio(f"{server}/other.mkv?key=secret")
    assert "secret" not in str(refused.value)
    with pytest.raises(UsageError, match=r"rtmp addresses are live; write: surtitle live rtmp://127"):
        open_audio("rtmp://127.0.0.1/talk")


def test_a_user_and_a_token_in_an_address_are_used_and_told_to_nobody(
    tmp_path: Path, offered: dict[str, bytes], server: str
) -> None:
    offered["/private.mkv?token=5ec2"] = write(tmp_path / "private.mkv", tone(2)).read_bytes()
    address = f"{server}/private.mkv?token=5ec2".replace("//", "//user:p%40ss@")
    decoder = MediaDecoder(address)
    arguments = Path(f"/proc/{decoder._ffmpeg.process.pid}/cmdline").read_bytes()
    assert len(list(decoder.blocks())) > 2
    summary, replayed = tmp_path / "summary.json", tmp_path / "recovery"
    done = surtitle(
        "file", address, "--captions-only", "--set", "messages.format=json",
        "--set", f"output.summary={summary}", "--recovery", replayed,
    )  # fmt: skip
    assert '"run_started"' in done.stderr, done.stderr
    assert f"{server}/private.mkv" in done.stderr
    written = [path.read_bytes() for path in (summary, *replayed.iterdir())]
    told = b"".join([arguments, done.stdout.encode(), done.stderr.encode(), *written])
    assert b"p%40ss" not in told
    assert b"5ec2" not in told


@pytest.mark.parametrize("address", ["https://[bad/x.mp3", "http://user:word@host:x/talk.mp3"])
def test_an_address_that_is_none_is_refused_in_a_sentence(address: str) -> None:
    done = surtitle("file", address, "--captions-only")
    assert done.returncode == 2
    assert "is not an address; give one such as https://" in done.stderr
    assert "word" not in done.stderr


def test_a_playlist_cannot_make_a_file_reach_into_the_network(
    tmp_path: Path, offered: dict[str, bytes], server: str
) -> None:
    offered["/talk.ts"] = write(tmp_path / "talk.ts", tone(2)).read_bytes()
    playlist = tmp_path / "talk.m3u8"
    playlist.write_text(f"#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n{server}/talk.ts\n#EXT-X-ENDLIST\n")
    with pytest.raises(InputError):
        open_audio(playlist)


def tracks(path: Path, *languages: str, default: int = 0) -> Path:
    """A video with a track in each of these languages, each an octave higher."""
    with av.open(str(path), "w") as container:
        streams: list[Any] = [container.add_stream("aac", rate=48_000, layout="mono") for _ in languages]
        for number, (stream, language) in enumerate(zip(streams, languages, strict=True)):
            stream.metadata["language"] = language
            stream.disposition = Disposition.default if number == default else Disposition(0)
        for number, stream in enumerate(streams):
            tone = np.sin(2 * np.pi * 440 * 2**number * np.arange(48_000) / 48_000)
            frame = av.AudioFrame.from_ndarray(tone[None].astype(np.float32), format="fltp", layout="mono")
            frame.sample_rate, frame.pts = 48_000, 0
            for one in (*stream.encode(frame), *stream.encode(None)):
                container.mux(one)
    return path


def track(recording: Path, *wanted: str) -> int:
    """Which of the tracks is heard."""
    pcm = b"".join(open_audio(recording, choice=TrackChoice(*wanted)).blocks())
    spectrum = np.abs(np.fft.rfft(np.frombuffer(pcm, "<i2").astype(float)))
    return 1 + round(float(np.log2(np.argmax(spectrum) * SAMPLE_RATE / (len(pcm) // 2) / 440)))


@pytest.mark.parametrize("suffix", ["mkv", "mp4"])
def test_the_track_in_the_spoken_language_is_heard_or_the_one_that_is_asked_for(
    suffix: str, tmp_path: Path
) -> None:
    film = tracks(tmp_path / f"film.{suffix}", "ger", "eng", "fre", default=2)
    assert (track(film, "", "en"), track(film, "", "de")) == (2, 1)
    # None is in it: the default one.
    assert (track(film, "", "ja"), track(film)) == (3, 3)
    assert (track(film, "3", "en"), track(film, "fr", "en")) == (3, 3)
    with pytest.raises(InputError, match=r"no audio track in Spanish \(1 German, 2 English, 3 French\)"):
        open_audio(film, choice=TrackChoice("es", "en"))
    with pytest.raises(InputError, match="no audio track 0"):
        open_audio(film, choice=TrackChoice("0"))


def test_which_of_several_tracks_is_heard_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(NOTICE)
    film = tracks(tmp_path / "film.mkv", "ger", "eng")
    run(AudioFileSource(film, stream="film", choice=TrackChoice("", "en")))
    (told,) = caplog.messages
    assert told.endswith("audio track 2 of 2 (1 German, 2 English) is used; input.track chooses another")
    run(AudioFileSource(tracks(tmp_path / "one.mkv", "ger"), stream="film", choice=TrackChoice("", "en")))
    assert caplog.messages == [told]
