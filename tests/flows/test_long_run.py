"""A run may last for as long as it likes; `make soak` sees to it with runs of hours."""

import gc
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from connectors.jsonl import source as jsonl
from connectors.web.protocol import Bounds
from flows.captions.graph import build
from flows.captions.parts import make_parts
from flows.running.dataflow import run
from flows.settings.loading import load_settings
from operators.metrics.quantiles import Quantiles
from operators.observed import Observed, UpdateMeasured
from tests.recovering import ToyShared
from tests.soak import speech
from tests.soak.verdict import faults
from tests.soak.vitals import Sample

SEGMENTS = 300
#: How often it is looked at what is held.
SAMPLES = 20
#: Less than an entry of anything takes.
MAX_PER_SEGMENT = 32


class Held:
    """Knows how many bytes Python held at each of so many times."""

    takes = frozenset({UpdateMeasured})

    def __init__(self) -> None:
        self.held: list[int] = []
        self._ended = 0

    def observe(self, event: Observed) -> None:
        assert isinstance(event, UpdateMeasured)
        self._ended += event.record.is_final
        if event.record.is_final and self._ended % (SEGMENTS // SAMPLES) == 0:
            gc.collect()
            sys._clear_type_cache()  # the names of attributes that were looked up last, some thousands
            self.held.append(tracemalloc.get_traced_memory()[0])


def test_what_a_run_holds_does_not_grow_with_its_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What is bounded is soon full.
    monkeypatch.setattr(f"{vars(jsonl)['SegmentOrder'].__module__}._MAX_REMEMBERED", 16)
    monkeypatch.setattr("connectors.files.backlog.MAX_WAITING_BYTES", 4096)
    monkeypatch.setattr("connectors.web.protocol.Bounds", lambda: Bounds(segments=8, messages=16))
    monkeypatch.setattr("operators.metrics.tokenizers._MAX_REMEMBERED", 16)
    monkeypatch.setattr(Quantiles, "exact", 64)
    monkeypatch.setattr(ToyShared, "step_s", 0.0)
    speech.write(tmp_path / "partials.jsonl", speech.synthetic(), SEGMENTS)
    settings = tmp_path / "surtitle.toml"
    settings.write_text(
        f'[input]\npartials = "{tmp_path}/partials.jsonl"\n[web]\nenabled = true\nport = 0\n'
        f'[output]\nterminal = false\nlog = "{tmp_path}/log.jsonl"\ncaptions = "{tmp_path}/captions.jsonl"\n'
        f'srt = "{tmp_path}/talk.srt"\nvtt = "{tmp_path}/talk.vtt"\n'
    )
    parts = make_parts(load_settings(settings), ToyShared, observers=[watched := Held()])
    tracemalloc.start()
    try:
        run(build(parts), parts.shared.stop)
    finally:
        tracemalloc.stop()
    assert len(watched.held) == SAMPLES
    # What was just then under way comes on top of what is kept: the least of several is what was kept.
    half = SAMPLES // 2
    early, late = min(watched.held[half // 5 : half]), min(watched.held[half + half // 5 :])
    assert (late - early) / (SEGMENTS / 2) < MAX_PER_SEGMENT, watched.held


def samples(**last: Any) -> list[Sample]:
    """A run that holds all bounds, but for what its ``last`` sample says."""
    steady = [
        Sample(
            segments=number, updates=10 * number, wall_s=float(number), cpu_s=0.9 * number, resident=100_000,
            private=60_000, descriptors=20, threads=3,
        )
        for number in range(1, 101)
    ]  # fmt: skip
    return [*steady[:-1], steady[-1]._replace(**last)]


def test_a_steady_run_is_found_to_be_so_and_what_it_needed_to_become_warm_is_not_held_against_it() -> None:
    steady = samples()
    assert faults(steady) == []
    cold = [one._replace(resident=50_000, threads=1) if one.segments < 5 else one for one in steady]
    assert faults(cold) == []


@pytest.mark.parametrize(
    ("last", "fault"),
    [
        ({"resident": 103_100}, "resident memory went 3.1% from where it was, more than 3%"),
        ({"resident": 96_000}, "resident memory went 4.0% from where it was, more than 3%"),
        ({"descriptors": 21}, "descriptors were not constant: 20 to 21"),
        ({"threads": 4}, "threads were not constant: 3 to 4"),
    ],
)
def test_what_is_out_of_bounds_is_said(last: dict[str, float], fault: str) -> None:
    assert faults(samples(**last)) == [fault]


def test_updates_that_take_longer_and_longer_are_told() -> None:
    slower = [one._replace(cpu_s=one.cpu_s * (1 + one.segments / 500)) for one in samples()]
    assert [fault.partition(" took ")[0] for fault in faults(slower)] == ["an update"]
