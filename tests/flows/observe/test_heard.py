"""A run with few captions or none says why, in one sentence."""

import re
from typing import Any

import numpy as np
import pytest

from flows.observe.heard import Heard
from flows.settings.loading import load_settings
from operators.events import AudioChunk
from operators.observed import SoundHeard

AUDIO, MICROPHONE, ROOMS = {"audio": "talks/talk.wav"}, {"microphone": "default"}, {"rooms": True}
LOUD, QUIET = 0.1, 0.003


def complaint(given: dict[str, Any], peak: float | None, updates: int) -> str | None:
    heard = Heard(load_settings(None, {"input": given, "translate": {"from": "fr"}}))
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
        (
            AUDIO,
            QUIET,
            0,
            "is so quiet, -50 dBFS at its loudest, that nothing was recognised; make it",
        ),
        (AUDIO, QUIET, 5, "words may be missing; .* with `ffmpeg -i talk.wav -af loudnorm talk-loud.wav`"),
        (AUDIO, 0.0, 0, "talks/talk.wav is silent, so there are no captions; record or export it again"),
        (AUDIO, None, 0, "there was nothing to caption"),
        (MICROPHONE, 0.0, 0, "the microphone is silent, so there are no captions; check that it is not"),
        (MICROPHONE, QUIET, 0, "the microphone is so quiet, .* `surtitle devices` lists another one"),
        (ROOMS, 0.0, 0, "the sound of the rooms is silent, so there are no captions; check that it is not"),
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
