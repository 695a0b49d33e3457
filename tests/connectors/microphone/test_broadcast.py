"""A broadcast is heard as it is sent: nothing twice, and what is offered again after a break is not lost."""

import io
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from connectors.audio import media
from connectors.microphone import broadcast
from connectors.microphone.broadcast import Broadcast
from connectors.microphone.source import MicrophoneSource
from operators.errors import InputError, UsageError
from operators.events import AudioChunk
from operators.notifications import SoundLost, SourceChanged, SourceOpened
from tests.recordings import served, write
from tests.rtmp import playing


def put(container: Any, levels: list[int]) -> None:
    """Write a tone of 200 Hz as AAC, a second of each level."""
    tone = np.sin(np.arange(48_000) * 2 * np.pi * 200 / 48_000)
    sound = np.concatenate([level * tone for level in levels]).astype("<i2")
    stream = container.add_stream("aac", rate=48_000, layout="mono")
    stream.bit_rate = 128_000
    for at in range(0, len(sound), 1024):
        frame = av.AudioFrame.from_ndarray(sound[None, at : at + 1024], format="s16", layout="mono")
        frame.sample_rate, frame.pts = 48_000, at
        container.mux(stream.encode(frame))
    container.mux(stream.encode(None))


class Programme:
    """What an HLS server has: the last segments of a programme whose every second is louder than the last.

    A list has two seconds more each time that it is asked for, however long the listener takes.
    """

    def __init__(self, folder: Path, seconds: int, window: int) -> None:
        self._window = window
        with av.open(
            str(folder / "whole.m3u8"), "w", format="hls",
            options={"hls_time": "1", "hls_list_size": "0", "hls_segment_filename": str(folder / "%d.ts")},
        ) as made:  # fmt: skip
            put(made, [1000 * (1 + at) for at in range(seconds)])
        lines = (folder / "whole.m3u8").read_text().splitlines()
        self._durations = [line for line in lines if line.startswith("#EXTINF")]
        self._segments = [(folder / f"{number}.ts").read_bytes() for number in range(len(self._durations))]
        self._ready = 3
        self.is_broken = False

    def come_back(self, later_s: int) -> None:
        """Answer again, when the programme has gone on by so many seconds."""
        self._ready = min(len(self._segments), self._ready + later_s)
        self.is_broken = False

    def get(self, path: str) -> bytes | None:
        """What is at a path now; None where there is nothing."""
        if self.is_broken:
            return None
        ready = self._ready
        first = max(0, ready - self._window)
        if "m3u8" in path:
            self._ready = min(len(self._segments), ready + 2)
            lines = f"#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:{first}\n"
            lines += "".join(f"{self._durations[one]}\n{one}.ts\n" for one in range(first, ready))
            return (lines + "#EXT-X-ENDLIST\n" * (ready == len(self._segments))).encode()
        number = int(Path(path).stem)
        return self._segments[number] if number < ready else None


def heard(
    address: str, each: Callable[[list[AudioChunk], list[Any]], None], limit_s: float
) -> tuple[list[AudioChunk], list[Any]]:
    """What a source hears until the broadcast is over."""
    events: list[SourceOpened | SourceChanged | SoundLost] = []
    source = MicrophoneSource(stream="talk", device=Broadcast(address), observe=events.append)
    part = source.build_part("in", "talk", None)
    chunks: list[AudioChunk] = []
    deadline = time.monotonic() + limit_s
    try:
        while time.monotonic() < deadline:
            chunks += part.next_batch()
            each(chunks, events)
    except StopIteration:
        return chunks, events
    finally:
        part.close()
    raise TimeoutError(f"{len(chunks)} chunks and {events}")


def interrupted(programme: Programme, address: str, away_s: int) -> tuple[list[AudioChunk], list[Any]]:
    """What is heard of a broadcast that breaks off, and comes back when the listener has told so."""

    def interrupt(chunks: list[AudioChunk], events: list[Any]) -> None:
        if programme.is_broken and events:
            programme.come_back(away_s)
        elif chunks and chunks[-1].start_s > 1.5 and not events:
            programme.is_broken = True

    return heard(address, interrupt, 120.0)


@pytest.fixture
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there is heard in a third of its time."""
    monkeypatch.setattr(broadcast, "_SPEED", 3.0)


def levels(chunks: list[AudioChunk]) -> list[int]:
    """The level of each tenth of a second, in thousands."""
    sound = np.frombuffer(b"".join(one.pcm for one in chunks), "<i2").astype(float)
    return [round(np.abs(sound[at : at + 1600]).max() / 1000) for at in range(0, len(sound) - 1600, 1600)]


@pytest.mark.usefixtures("_hasty")
def test_a_broadcast_that_breaks_off_and_comes_back_is_heard_once_and_whole(tmp_path: Path) -> None:
    programme = Programme(tmp_path, 12, window=9)
    with served(programme) as where:
        chunks, events = interrupted(programme, f"{where}/live.m3u8?key=secret", 2)

    told = [one.sentence for one in events if isinstance(one, SourceChanged)]
    name = f"the broadcast {where}/live.m3u8"
    lost = f"{name} was disconnected; waiting for it"
    # The last segments of a list that is complete come from the same connection.
    assert told == [lost, f"{name} is back", lost, f"{name} has ended"]
    assert not [one for one in events if isinstance(one, SoundLost)]
    at = levels(chunks)
    assert at == sorted(at)
    assert [at.count(level) for level in range(1, 13)] == pytest.approx([10] * 12, abs=1)


@pytest.mark.usefixtures("_hasty")
def test_what_a_broadcast_no_longer_offers_is_a_gap_of_that_length(tmp_path: Path) -> None:
    programme = Programme(tmp_path, 14, window=3)
    with served(programme) as where:
        chunks, events = interrupted(programme, f"{where}/live.m3u8", 6)

    (loss,) = [one for one in events if isinstance(one, SoundLost)]
    at = levels(chunks)
    assert at == sorted(at)
    missing = set(range(1, 15)) - set(at)
    assert missing
    assert loss.absent_s == pytest.approx(len(missing), abs=0.3)
    end_s = chunks[-1].start_s + chunks[-1].duration_s
    assert end_s == pytest.approx(14, abs=0.3)


def _tags(seconds: int) -> list[tuple[int, bytes]]:
    """A tone as FLV has it (version 10.1, E.4.1): each tag's time in milliseconds, and its body."""
    file = io.BytesIO()
    with av.open(file, "w", format="flv") as made:
        put(made, [8000] * seconds)
    data, at, tags = file.getvalue(), 13, []
    while at < len(data):
        size, time_ms = (int.from_bytes(data[at + begin : at + begin + 3], "big") for begin in (1, 4))
        if data[at] == 8:
            tags.append((time_ms, data[at + 11 : at + 11 + size]))
        at += size + 15
    return tags


def test_a_broadcast_by_rtmp_is_heard() -> None:
    def end(chunks: list[AudioChunk], _events: list[Any]) -> None:
        if chunks and chunks[-1].start_s > 1.5:
            raise StopIteration

    with playing(_tags(3)) as address:
        chunks, events = heard(address, end, 60.0)
    sound = np.frombuffer(b"".join(one.pcm for one in chunks), "<i2")[8000:24_000].astype(float)
    assert np.abs(np.fft.rfft(sound)).argmax() == 200
    assert events == []


@pytest.mark.usefixtures("_hasty")
def test_a_broadcast_that_falls_silent_is_lost_and_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(media, "_LIVE_TIMEOUT_S", 3.0)
    sound = write(tmp_path / "talk.ts", np.full(8 * 48_000, 5000, "i2")).read_bytes()

    def serve() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: video/mp2t\r\n\r\n" + sound)
                kept.append(client)

    def end(_chunks: list[AudioChunk], events: list[Any]) -> None:
        if len([one for one in events if isinstance(one, SourceChanged)]) >= 2:
            raise StopIteration

    kept: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        _, events = heard(f"http://127.0.0.1:{listener.getsockname()[1]}/live.ts", end, 60.0)
        listener.shutdown(socket.SHUT_RDWR)
    for client in kept:
        client.close()
    lost, back = (one.sentence for one in events if isinstance(one, SourceChanged))
    assert "was disconnected; waiting for it" in lost
    assert "is back" in back


def test_only_what_is_live_is_heard_live_and_nothing_else_is_reached(tmp_path: Path) -> None:
    write(tmp_path / "own.ts", np.zeros(96_000, "i2"))
    playlist = f"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:2,\nfile://{tmp_path}/own.ts\n"
    ended = playlist.replace(f"file://{tmp_path}/", "") + "#EXT-X-ENDLIST\n"
    offered = {
        "/bad.m3u8": playlist.encode(), "/ended.m3u8": ended.encode(), "/page.html": b"<html>" * 99,
        "/own.ts": (tmp_path / "own.ts").read_bytes(),
    }  # fmt: skip

    def refused(address: str) -> str:
        with pytest.raises((InputError, UsageError)) as error:
            heard(address, lambda *_: None, 60.0)
        return str(error.value)

    with served(offered) as where:
        assert "it is a recording of 2 s, not live; write: surtitle file" in refused(f"{where}/ended.m3u8")
        assert "it cannot be decoded, because" in refused(f"{where}/bad.m3u8")
        assert "FFmpeg does not support its format" in refused(f"{where}/page.html")
        assert "404" in refused(f"{where}/none.m3u8")
    assert "Connection refused" in refused("rtmp://127.0.0.1:9/live")
    assert "srt addresses are not read; give one of" in refused("srt://127.0.0.1:9")
