"""Each source and sink is held to the guarantee that its docstring states."""

import importlib
import inspect
import os
import pkgutil
import sys
import wave
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bytewax import operators as op
from bytewax.dataflow import Dataflow
from bytewax.inputs import Source
from bytewax.outputs import Sink
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.testing import TestingSource, run_main

import connectors
from connectors.audio.source import AudioFileSource
from connectors.callback import CallbackSink
from connectors.files.sink import FileSink
from connectors.jsonl.source import JsonlSource
from connectors.kafka import KafkaEventSink, KafkaEventSource
from connectors.microphone.source import MicrophoneSource
from connectors.rooms.registry import RoomsSource
from connectors.sinks.jsonl import JsonlSink
from connectors.sinks.posting import PostSink
from connectors.sinks.subtitles import SubtitleSink
from connectors.sinks.text import TextSink
from connectors.sinks.wav import WavSink
from operators.clock import VirtualClock
from operators.events import AudioChunk, Caption, Partial
from operators.stages.show import show
from operators.subtitles.timing import Cue
from tests.connectors.jsonl.partials import drained, events, write_events
from tests.fake_sound import FakeSound, device
from tests.flows.talk import captions

GUARANTEES: dict[type, str] = {
    JsonlSource: "exactly once with recovery",
    AudioFileSource: "exactly once with recovery",
    MicrophoneSource: "at most once",
    RoomsSource: "at most once",
    FileSink: "exactly once with recovery into a regular file",
    JsonlSink: "exactly once with recovery into a regular file",
    SubtitleSink: "exactly once with recovery into a regular file",
    TextSink: "exactly once with recovery into a regular file",
    WavSink: "exactly once with recovery into a regular file",
    CallbackSink: "at least once",
    KafkaEventSource: "exactly once with recovery, for what is in the topic once",
    KafkaEventSink: "at least once",
    PostSink: "at least once with recovery, in order",
}


def test_every_source_and_sink_states_its_guarantee() -> None:
    found = set()
    for module in pkgutil.walk_packages(connectors.__path__, "connectors."):
        for _, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            is_ours = issubclass(kind, Source | Sink) and kind.__module__.startswith("connectors")
            if is_ours and not inspect.isabstract(kind):
                found.add(kind)
                assert f"Delivery: {GUARANTEES.get(kind)}" in " ".join(str(kind.__doc__).split()), kind
    assert found == GUARANTEES.keys()


def partials(path: Path) -> JsonlSource[Partial]:
    return JsonlSource(write_events(path, events(20)), Partial, batch_size=3)


def recording(path: Path) -> AudioFileSource:
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, 16_000, 0, "NONE", ""))
        file.writeframes(os.urandom(32_000))
    return AudioFileSource(path, stream="talk")


@pytest.mark.parametrize("make", [partials, recording])
def test_a_source_hands_each_event_over_exactly_once(make: Callable[[Path], Any], tmp_path: Path) -> None:
    source = make(tmp_path / "talk.wav")
    unbroken = source.build_part("in", "part", None)
    killed = source.build_part("in", "part", None)
    kept = [*killed.next_batch(), *killed.next_batch()]
    position = killed.snapshot()
    lost = killed.next_batch()
    resumed = source.build_part("in", "part", position)
    assert lost
    assert kept + list(drained(resumed)) == list(drained(unbroken))
    for part in (unbroken, killed, resumed):
        part.close()


def test_a_microphone_hands_over_what_it_hears_at_most_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = FakeSound(device("Laptop Mic", rate=16_000.0))
    sound.hosts[0]["default_input_device"] = 0
    monkeypatch.setitem(sys.modules, "sounddevice", sound)
    source = MicrophoneSource(stream="talk")
    killed = source.build_part("in", "talk", None)
    kept = hear(killed, sound, b"\1\1")
    position = killed.snapshot()
    assert samples(hear(killed, sound, b"\2\2")) == {b"\2\2"}
    killed.close()
    sound.opened.clear()
    resumed = source.build_part("in", "talk", position)
    heard = kept + hear(resumed, sound, b"\3\3")
    assert samples(heard) == {b"\1\1", b"\3\3"}
    assert [chunk.start_s for chunk in heard] == pytest.approx([0.0, 0.1])
    resumed.close()


def hear(part: Any, sound: FakeSound, sample: bytes) -> list[AudioChunk]:
    """What comes of a tenth of a second of one sample."""
    chunks: list[AudioChunk] = part.next_batch()
    while "callback" not in sound.opened:
        chunks += part.next_batch()
    sound.opened["callback"](sample * 1600, 1600, None, SimpleNamespace(input_overflow=False))
    while not chunks:
        chunks += part.next_batch()
    return chunks


def samples(chunks: list[AudioChunk]) -> set[bytes]:
    return {chunk.pcm[at : at + 2] for chunk in chunks for at in range(0, len(chunk.pcm), 2)}


@pytest.mark.parametrize(
    ("sink", "records"),
    [
        (JsonlSink, events(2)),
        (partial(SubtitleSink, kind="srt"), [Cue(0, 1000, ("one",)), Cue(2000, 3000, ("two",))]),
    ],
    ids=["jsonl", "srt"],
)
def test_a_pipe_gets_what_came_after_the_snapshot_again(sink: Any, records: Any, tmp_path: Path) -> None:
    first, second = records
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    killed = sink(tmp_path / "pipe").build_part("out", "part", None)
    killed.write_batch([first])
    position = killed.snapshot()
    killed.write_batch([second])
    once = os.read(reader, 65536)
    resumed = sink(tmp_path / "pipe").build_part("out", "part", position)
    resumed.write_batch([second])
    again = os.read(reader, 65536)
    assert again
    assert once.endswith(again)
    resumed.close()
    killed.close()
    os.close(reader)


def test_functions_and_the_screen_get_each_caption_at_least_once(tmp_path: Path) -> None:
    spoken = captions()
    given: list[Caption | TestingSource.ABORT] = [*spoken[:5], TestingSource.ABORT(), *spoken[5:]]
    called, drawn = list[Any](), list[Any]()
    init_db_dir(tmp_path, 1)  # type: ignore[no-untyped-call]  # Bytewax leaves it unannotated
    for _ in range(2):
        flow = Dataflow("test")
        stream = op.input("in", flow, TestingSource(given))
        shown = show("show", stream, drawn.extend, VirtualClock())
        op.output("out", shown, CallbackSink(called.append))
        run_main(flow, recovery_config=RecoveryConfig(tmp_path))  # type: ignore[no-untyped-call]  # as above
    for got in (called, drawn):
        assert [(one.segment, one.revision) for one in got] == [
            (one.segment, one.revision) for one in [*spoken[:5], *spoken]
        ]
