"""Workers that share the streams of a replay."""

import json
from pathlib import Path

from flows.captions.pace import Pace
from tests.killing import events, finish, settings, start


def test_a_replay_reads_no_more_than_keeps_its_workers_busy() -> None:
    pace = Pace()
    assert not pace.is_ahead(0)
    assert not pace.is_ahead(99)
    assert pace.is_ahead(100)
    pace.measured()
    assert not pace.is_ahead(100)
    assert pace.is_ahead(101)


def test_a_replay_does_not_wait_for_updates_that_change_no_sentence(tmp_path: Path) -> None:
    partials = [
        {
            "stream": "talk", "segment": segment, "revision": revision, "text": "a b the",
            "is_final": revision == 2, "start_s": segment, "end_s": segment + 0.8, "arrival_s": segment + 0.8,
        }
        for segment in range(60) for revision in range(3)
    ]  # fmt: skip
    (tmp_path / "speech.jsonl").write_text("\n".join(map(json.dumps, partials)))
    finish(start(settings(tmp_path, f'partials = "{tmp_path}/speech.jsonl"', recovery=False)))
    assert len(events(tmp_path)["captions of talk"]) < len(partials) - 100, "each changed a sentence"
