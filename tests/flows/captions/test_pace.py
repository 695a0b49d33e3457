"""Workers that share the streams of a replay."""

from flows.captions.pace import Pace


def test_a_replay_reads_no_more_than_keeps_its_workers_busy() -> None:
    pace = Pace()
    assert not pace.is_ahead(0)
    assert not pace.is_ahead(99)
    assert pace.is_ahead(100)
    pace.measured()
    assert not pace.is_ahead(100)
    assert pace.is_ahead(101)
