"""A run may last for as long as it likes; `make soak` sees to it with runs of hours."""

import gc
import sys
import tracemalloc
from pathlib import Path

import pytest

from connectors.web.protocol import Bounds
from flows.captions.graph import build
from flows.captions.parts import make_parts
from flows.running.dataflow import run
from flows.settings.loading import load_settings
from operators.notifications import Observed, UpdateMeasured
from tests.killing import speech
from tests.recovering import ToyResources

SEGMENTS = 100
#: How often it is looked at what is held.
SAMPLES = 20
#: Less than an entry of anything takes.
MAX_PER_SEGMENT = 32


class MemoryObserver:
    """Knows how many bytes Python held at each of so many times."""

    def __init__(self) -> None:
        self.held: list[int] = []
        self._ended = 0

    def observe(self, event: Observed) -> None:
        if not isinstance(event, UpdateMeasured):
            return
        self._ended += event.record.is_final
        if event.record.is_final and self._ended % (SEGMENTS // SAMPLES) == 0:
            gc.collect()
            sys._clear_type_cache()  # the names of attributes that were looked up last, some thousands
            self.held.append(tracemalloc.get_traced_memory()[0])


@pytest.mark.long
def test_what_a_run_holds_does_not_grow_with_its_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What is bounded is soon full.
    monkeypatch.setattr("connectors.jsonl.files._MAX_REMEMBERED", 16)
    monkeypatch.setattr("connectors.web.protocol.Bounds", lambda: Bounds(segments=8, messages=16))
    monkeypatch.setattr("operators.metrics.tokenizers._MAX_REMEMBERED", 16)
    monkeypatch.setattr("operators.metrics.summary.MAX_KEPT", 16)
    monkeypatch.setattr(ToyResources, "step_s", 0.0)
    speech(tmp_path / "partials.jsonl", SEGMENTS, step_s=1.6, pause_s=1.6)
    settings = tmp_path / "surtitle.toml"
    settings.write_text(
        f'[input]\npartials = "{tmp_path}/partials.jsonl"\n[translate]\nto = "German"\n'
        "[web]\nenabled = true\nport = 0\n"
        f'[output]\nterminal = false\nlog = "{tmp_path}/log.jsonl"\ncaptions = "{tmp_path}/captions.jsonl"\n'
        f'srt = "{tmp_path}/talk.srt"\nvtt = "{tmp_path}/talk.vtt"\n'
    )
    parts = make_parts(load_settings(settings), ToyResources, observers=[watched := MemoryObserver()])
    tracemalloc.start()
    try:
        run(build(parts), parts.resources.stop)
    finally:
        tracemalloc.stop()
    assert len(watched.held) == SAMPLES
    # What was just then under way comes on top of what is kept: the least of several is what was kept.
    half = SAMPLES // 2
    early, late = min(watched.held[half // 5 : half]), min(watched.held[half + half // 5 :])
    assert (late - early) / (SEGMENTS / 2) < MAX_PER_SEGMENT, watched.held
