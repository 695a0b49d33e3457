"""What the harness of long runs finds wrong."""

import os
import time
from pathlib import Path

import pytest

from tests.hours.watch import Sample, Watch, faults, series


def samples(grown: float = 1.0, slowed: float = 1.0, opened: int = 0) -> list[Sample]:
    """A run that is cold at first, and grows in its last third."""
    made = [Sample(0.0, 0.0, 0, 50.0, 9, 3)]
    for number in range(1, 300):
        is_late = number > 200
        resident = 50.0 if number < 20 else 100.0 * (grown if is_late else 1.0)
        cpu_s = made[-1].cpu_s + 0.1 * (slowed if is_late else 1.0)
        descriptors = 20 + opened * is_late
        made.append(Sample(float(number), cpu_s, 10 * number, resident, descriptors, 3))
    return made


@pytest.mark.parametrize(
    ("run", "fault"),
    [
        (samples(), None),
        (samples(grown=1.02, slowed=1.05), None),
        (samples(grown=1.04), "resident MiB grew by 4.0%, more than 3%"),
        (samples(slowed=1.2), "CPU ms an update grew by 20.0%, more than 10%"),
        (samples(opened=1), "descriptors grew by 5.0%, more than 0%"),
    ],
)
def test_a_run_holds_if_nothing_grows_by_more_than_it_may_once_it_is_warm(
    run: list[Sample], fault: str | None
) -> None:
    assert faults(series(run)) == ([] if fault is None else [fault])


def test_what_is_too_short_to_tell_is_a_fault() -> None:
    assert len(faults(series(samples()[:2]))) == 4


def test_a_process_is_seen_with_what_it_writes(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text("{}\n{}\n")
    with Watch(os.getpid(), log) as watch:
        while not watch.samples:
            time.sleep(0.05)
    assert watch.samples[0].updates == 2
    assert watch.samples[0].resident_mib > 10
    assert watch.samples[0].descriptors > 2
