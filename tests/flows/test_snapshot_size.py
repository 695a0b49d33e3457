"""The size of snapshots: small for open segments, and nothing for finished ones."""

import re
import sqlite3
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from bytewax import operators as op
from bytewax.dataflow import Dataflow
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.testing import TestingSink, TestingSource, run_main

from operators.clock import VirtualClock
from operators.decoding.translator import Output, SegmentState, Window
from operators.events import Effort, Partial
from operators.metrics.erasure import ErasureMeter
from operators.recognizers.protocol import NumberingState
from operators.serving.service import DirectService
from operators.stages.display import display
from operators.stages.measure import measure
from operators.stages.snapshots import pack
from operators.stages.translate import translate
from tests.killing import settings, speech
from tests.program import ROOT
from tests.recovering import ToyResources, main

WORDS = re.findall(r"[A-Za-z]+[,.]?", (ROOT / "docs" / "method.md").read_text())
#: Of the base model.
VOCABULARY = 262_144


def snapshots(folder: Path) -> dict[tuple[str, str], int]:
    """Bytes of the newest snapshot of each step and key."""
    store = sqlite3.connect(folder / "part-0.sqlite3")
    rows = store.execute(
        "SELECT step_id, state_key, length(ser_change), MAX(snap_epoch) FROM snaps GROUP BY 1, 2"
    )
    found = {(step, key): size or 0 for step, key, size, _ in rows}
    store.close()
    return found


class _Verbose:
    """A translator whose tokens have nothing in common; it says six for five that it reads."""

    def update(self, _key: str, _state: SegmentState, text: str, **_how: bool) -> Any:
        random, windows = Random(0), list[Window]()
        tokens = 7 * len(text.split()) // 6
        for begin in range(0, tokens, 192):
            source = min(192, tokens - begin)
            output = 6 * source // 5
            stood = tuple(max(0, 12 - at // 20) for at in range(output))
            said = " ".join(text.split()[6 * begin // 7 : 6 * (begin + source) // 7])
            windows.append(Window(_tokens(random, source), _tokens(random, output), stood, said))
        pieces = tuple(f" {word}" for word in text.split())
        return SegmentState(tuple(windows)), Output(windows[-1].output, pieces, Effort())


def _tokens(random: Random, count: int) -> tuple[int, ...]:
    return tuple(random.randrange(VOCABULARY) for _ in range(count))


def partials(words: int) -> Sequence[Partial]:
    """A segment that grows by five words at a time, two seconds each, and has no end."""
    return [
        Partial(
            stream="talk", segment=7, revision=count // 5, text=" ".join(WORDS[:count]), is_final=False,
            start_s=0.0, end_s=count / 2.5, arrival_s=count / 2.5 + 0.1,
        )
        for count in range(5, words + 1, 5)
    ]  # fmt: skip


def test_a_segment_of_a_hundred_seconds_without_a_pause_takes_less_than_6_kib_in_all_stages_together(
    tmp_path: Path,
) -> None:
    spoken = partials(250)
    flow = Dataflow("test")
    stream = op.input("in", flow, TestingSource[Any]([*spoken, TestingSource.ABORT()]))
    service = DirectService(lambda _update: _Verbose())  # type: ignore[arg-type,return-value]  # as far as it is used
    translated = translate("translate", stream, lambda: service, VirtualClock())
    records = measure(
        "measure", display("display", translated, 3), lambda _stream, state: ErasureMeter("13a", state)
    )
    op.output("out", records, TestingSink([]))
    init_db_dir(tmp_path, 1)  # type: ignore[no-untyped-call]  # Bytewax leaves it unannotated
    recovery = RecoveryConfig(tmp_path)  # type: ignore[no-untyped-call]  # the same
    run_main(flow, epoch_interval=timedelta(0), recovery_config=recovery)  # type: ignore[no-untyped-call]  # the same
    stored = snapshots(tmp_path)
    heard = len(pack(NumberingState("talk", 8, (spoken[-1],))))
    assert stored["test.translate.segment", "talk"] > 1000
    assert stored["test.measure.meter", "talk"] > 500
    assert sum(stored.values()) + heard < 6 * 1024


def test_segments_that_are_over_leave_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ToyResources, "step_s", 0.0)
    few, many = (_after(tmp_path / str(segments), segments) for segments in (10, 100))
    assert many[0].keys() == {(step, key.replace("/10/", "/100/")) for step, key in few[0]}
    assert (
        few[0]["captions.translate.segment", "talk0"] == many[0]["captions.translate.segment", "talk0"] == 0
    )
    # Numbers get longer.
    assert sum(many[0].values()) < sum(few[0].values()) + 50
    # SQLite keeps a page or two for rows that come and go.
    assert max(few[1], many[1]) <= 48 * 1024


def _after(folder: Path, segments: int) -> tuple[dict[tuple[str, str], int], int]:
    """The snapshots of a run of so many segments, and the bytes of their store."""
    folder.mkdir()
    speech(folder / "speech.jsonl", segments)
    main(settings(folder, f'partials = "{folder}/speech.jsonl"', recovery=True))
    return snapshots(folder / "recovery"), (folder / "recovery" / "part-0.sqlite3").stat().st_size
