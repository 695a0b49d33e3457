"""The summary of a run, from the events that it receives."""

import re
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from flows.observe.run_observers import Observers
from flows.observe.summary import Profile, RunSummary, SoundLevels
from flows.settings.loading import load_settings
from operators.events import AudioChunk, Effort, ErasureRecord
from operators.metrics.erasure import ErasureMeter
from operators.notifications import Missing, SoundHeard, SoundLost, SpeechCut, UpdateMeasured
from tests.flows.talk import captions

AUDIO, MICROPHONE = {"audio": "talks/talk.wav"}, {"microphone": "default"}
LOUD, QUIET = 0.1, 0.003


def complaint(given: dict[str, Any], peak: float | None, updates: int) -> str | None:
    heard = SoundLevels(load_settings(None, {"input": given, "translate": {"to": "German", "from": "fr"}}))
    if peak is not None:
        samples = np.full(1600, round(peak * 32768), "<i2")
        for at, pcm in ((0.0, bytes(3200)), (0.1, samples.tobytes()), (0.2, bytes(3200))):
            heard.observe(SoundHeard(AudioChunk(stream="talk", start_s=at, pcm=pcm), at))
    return heard.complaint(updates)


@pytest.mark.parametrize(
    ("given", "peak", "updates", "sentence"),
    [
        (AUDIO, LOUD, 5, None),
        (AUDIO, LOUD, 0, "nothing was recognised in talks/talk.wav; check that somebody speaks there, in Fr"),
        (AUDIO, QUIET, 0, "is so quiet, -50 dBFS at its loudest, that nothing was recognised; make it"),
        (AUDIO, QUIET, 5, "words may be missing; .* with `ffmpeg -i talk.wav -af loudnorm talk-loud.wav`"),
        (AUDIO, 0.0, 0, "talks/talk.wav is silent, so there are no captions; record or export it again"),
        (MICROPHONE, 0.0, 0, "the microphone is silent, so there are no captions; check that it is not"),
        (MICROPHONE, QUIET, 0, "the microphone is so quiet, .* `surtitle devices` lists another one"),
        ({"partials": "talk.jsonl"}, None, 0, "there was nothing to caption"),
        ({"partials": "talk.jsonl"}, None, 9, None),
    ],
)
def test_why_there_is_little_to_read(
    given: dict[str, Any], peak: float | None, updates: int, sentence: str | None
) -> None:
    said = complaint(given, peak, updates)
    if sentence is None:
        assert said is None
    else:
        assert re.search(sentence, said or ""), said


def records() -> list[ErasureRecord]:
    meter = ErasureMeter("13a")
    return [meter.record(caption) for caption in captions()]


def test_updates_and_losses_are_in_the_summary() -> None:
    summary = RunSummary(load_settings(None, {"recognize": {"azure": {"key": "a-secret-that-stays-one"}}}))
    observers = Observers(summary)
    for record in records():
        observers.observe(UpdateMeasured(record, 0.0))
    observers.observe(SoundLost(1.0))
    observers.observe(SoundLost(2.0, 3.0))
    observers.observe(SpeechCut("a text was cut"))
    made = summary.summary()
    assert (made.segments, made.updates) == (4, 15)
    assert (made.lost_s, made.absent_s, made.cut) == (2.0, 3.0, 1)
    assert "a-secret" not in str(made.settings)


def test_languages_that_are_counted_in_different_tokens_are_not_pooled() -> None:
    summary, alone = RunSummary(load_settings(None)), RunSummary(load_settings(None))
    german, japanese = ErasureMeter("13a"), ErasureMeter("char")
    for caption in captions():
        alone.observe(UpdateMeasured(german.record(caption), 0.0))
    pooled = alone.summary()
    for record in (*records(), *map(japanese.record, captions())):
        summary.observe(UpdateMeasured(record, 0.0))
    made = summary.summary()
    assert (pooled.erasures, made.ne_raw, made.ne_shown_mean, made.segments) == ({}, None, None, 8)
    assert [one.partition("|")[0] for one in made.erasures] == ["tok:13a", "tok:char"]
    assert made.erasures[pooled.signature].ne_shown == pooled.ne_shown
    assert made.signature == " and ".join(made.erasures)


def test_a_run_that_another_version_resumed_has_one_summary() -> None:
    summary = RunSummary(load_settings(None))
    for number, record in enumerate(records()):
        earlier = record.signature.replace("surtitle:", f"surtitle:{number % 2}.")
        summary.observe(UpdateMeasured(msgspec.structs.replace(record, signature=earlier), 0.0))
    assert summary.summary().ne_raw is not None


def test_the_summary_is_that_of_the_log_if_the_log_is_complete(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(msgspec.json.Encoder().encode_lines(records()[:7]))
    summary = RunSummary(load_settings(None))
    Observers(summary).observe(UpdateMeasured(records()[0], 0.0))
    assert summary.summary(logs=[log]).updates == 7
    assert summary.summary(logs=[tmp_path / "elsewhere.jsonl"]).updates == 1
    missing = Missing(str(log), 1, "the disk is full")
    cut = summary.summary([missing], [log])
    assert (cut.updates, cut.missing) == (1, (missing,))


def test_a_profile_counts_what_the_model_does_not_account_for(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([10.0, 10.5, 11.5])
    monkeypatch.setattr("flows.observe.summary.perf_counter", lambda: next(times))
    profile = Profile()
    observers = Observers(profile)
    for model_s in (0.1, 0.2, 0.3):
        record = msgspec.structs.replace(records()[0], effort=Effort(model_s=model_s))
        observers.observe(UpdateMeasured(record, 0.0))
    assert profile.overheads.count == 2
    assert profile.overheads.total_s == pytest.approx(0.3 + 0.7)
