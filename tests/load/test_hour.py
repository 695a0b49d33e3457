"""What the hour under load finds wrong."""

from typing import Any

import pytest

from flows.measuring.load.run import LoadRow, Memory, Meter, row_of
from flows.measuring.playback import Load
from tests.load.hour import faults


def turn(lag_s: float = 1.0, memory_mb: float = 500.0, **counts: int) -> LoadRow:
    meter = Meter(300.0)
    for number in range(100):
        meter.caption(3.0 * number, lag_s, is_final=number % 10 == 9)
    meter.add(**counts)
    return row_of("server", Load(4, 300.0), meter, Memory(memory_mb, memory_mb))


@pytest.mark.parametrize(
    ("last", "fault"),
    [
        ({}, None),
        ({"lag_s": 1.2, "memory_mb": 520.0}, None),
        ({"lost": 1}, "1 segments got no final"),
        ({"refused": 2}, "2 rooms were refused"),
        ({"lag_s": 1.3}, "captions came 1300.0 ms after speech at the end, 1000.0 ms at first"),
        ({"memory_mb": 530.0}, "the server took 530.0 MB at the end, 500.0 MB at first"),
    ],
)
def test_a_load_holds_if_nothing_is_lost_and_nothing_grows(last: dict[str, Any], fault: str | None) -> None:
    # The first turn is slow and small, as everything is used for the first time.
    assert faults([turn(2.0, 400.0), turn(), turn(), turn(**last)]) == ([] if fault is None else [fault])


def test_a_turn_without_captions_is_a_fault() -> None:
    silent = row_of("server", Load(4, 300.0), Meter(300.0), Memory())
    assert faults([turn(), silent]) == ["there were turns without any final"]
