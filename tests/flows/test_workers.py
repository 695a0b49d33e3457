"""Workers that share the streams of a replay."""

from pathlib import Path

from connectors.jsonl.source import JsonlSource
from flows.captions.runtime import Runtime
from flows.settings.schema import InputSettings, Settings
from operators.events import Caption
from tests.flows.talk import captions


def test_a_replay_reads_no_more_than_keeps_its_workers_busy(tmp_path: Path) -> None:
    runtime = Runtime(Settings(input=InputSettings(captions="talk.jsonl")))
    assert not runtime.is_behind()
    runtime.source = source = JsonlSource(tmp_path / "talk.jsonl", Caption)
    source.handed = 99
    assert not runtime.is_behind()
    source.handed = 100
    assert runtime.is_behind()
    runtime.take(runtime.meter(None).record(captions()[0]))
    assert not runtime.is_behind()
