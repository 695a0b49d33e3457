"""The source's side of a microphone: batches, snapshots, and the end; on a made-up PortAudio."""

import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from connectors.microphone.source import MicrophonePosition, MicrophoneSource
from operators.errors import InputError
from operators.events import AudioChunk
from operators.notifications import SoundLost, SourceChanged
from tests.fake_sound import FakeSound, device
from tests.waiting import until


@pytest.fixture
def sound(monkeypatch: pytest.MonkeyPatch) -> FakeSound:
    fake = FakeSound(device("Laptop Mic"))
    fake.hosts[0]["default_input_device"] = 0
    monkeypatch.setitem(sys.modules, "sounddevice", fake)
    return fake


class Microphone:
    """A source with its partition, begun."""

    def __init__(self, sound: FakeSound, resume: MicrophonePosition | None = None, **options: Any) -> None:
        self.stop = threading.Event()
        self.sound = sound
        self.source = MicrophoneSource(stream="talk", stop=self.stop, **options)
        self.partition = self.source.build_part("in", "talk", resume)
        assert self.partition.next_batch() == []
        until(lambda: "callback" in sound.opened)

    def speak(self, seconds: float) -> None:
        """Let the device call back, in blocks of 10 ms, all at once."""
        for _ in range(round(100 * seconds)):
            self.sound.opened["callback"](b"\1\2" * 160, 160, None, SimpleNamespace(input_overflow=False))

    def end(self) -> list[AudioChunk]:
        """Stop, and give what still comes."""
        self.stop.set()
        return self.partition.next_batch()


def test_what_waits_is_handed_over_at_once_in_chunks_of_100_ms(sound: FakeSound) -> None:
    microphone = Microphone(sound)
    microphone.speak(2.05)
    chunks = microphone.partition.next_batch()
    assert [len(chunk.pcm) // 2 for chunk in chunks] == [1600] * 20 + [800]
    assert [chunk.start_s for chunk in chunks] == pytest.approx([number / 10 for number in range(21)])
    assert microphone.partition.next_batch() == []
    microphone.end()


def test_stopping_hands_over_the_rest_lets_the_device_go_and_ends(sound: FakeSound) -> None:
    microphone = Microphone(sound)
    microphone.speak(0.25)
    chunks = microphone.end()
    assert sound.calls == ["abort", "close"]
    assert [len(chunk.pcm) // 2 for chunk in chunks] == [1600, 1600, 800]
    assert not any(chunk.is_last for chunk in chunks)
    with pytest.raises(StopIteration):
        microphone.partition.next_batch()
    microphone.source.close()
    assert sound.calls == ["abort", "close"]


def test_a_run_after_one_that_was_stopped_goes_on_where_that_ended(sound: FakeSound) -> None:
    first = Microphone(sound)
    first.speak(0.25)
    first.end()
    with pytest.raises(StopIteration):
        first.partition.next_batch()
    sound.opened = {}
    second = Microphone(sound, first.partition.snapshot())
    second.speak(0.1)
    assert [(chunk.start_s, len(chunk.pcm)) for chunk in second.end()] == [(0.25, 3200)]


def test_a_wall_clock_that_is_set_back_holds_nothing_up_and_silence_is_no_busy_loop(sound: FakeSound) -> None:
    microphone = Microphone(sound)
    began, asked = time.monotonic(), 0
    while time.monotonic() - began < 0.2:
        assert microphone.partition.next_batch() == []
        awake = microphone.partition.next_awake()
        assert awake is not None
        assert awake < datetime.now(UTC) - timedelta(days=1)
        asked += 1
    assert asked <= 45
    microphone.end()
    assert microphone.partition.next_awake() is None


def test_a_device_that_cannot_be_opened_ends_the_flow_with_the_reason(sound: FakeSound) -> None:
    sound.fails = "Device unavailable"
    partition = MicrophoneSource(stream="talk", device="laptop").build_part("in", "talk", None)
    with pytest.raises(InputError, match="the microphone Laptop Mic cannot be recorded from"):
        until(lambda: partition.next_batch() != [])
    partition.close()


def test_losses_are_told_when_there_are_more_of_them(sound: FakeSound) -> None:
    told: list[SoundLost | SourceChanged] = []
    microphone = Microphone(sound, buffer_s=1.0, observe=told.append)
    microphone.speak(1.5)
    microphone.partition.next_batch()
    microphone.partition.next_batch()
    (lost,) = told
    assert isinstance(lost, SoundLost)
    assert (lost.lost_s, lost.absent_s) == pytest.approx((0.5, 0))
    microphone.end()
