"""Those who look on at a run are told what they take, and cannot end it."""

import logging
import sys
from pathlib import Path
from typing import get_args

import pytest

from flows.observe.observer import Observers
from operators.losses import Losses
from operators.observed import Observed, RecognizerChanged, RunBegan, RunEnded, SoundHeard, SoundLost
from tests.program import completed

CAPTIONS = str(Path(__file__).parents[2] / "samples" / "captions.jsonl")
# A defect of ours in what looks on.
BROKEN = """
import sys
from flows.cli import app as cli
from flows.observe.summary import Profile
def observe(*_arguments):
    raise KeyError("a defect")
Profile.observe = observe
sys.argv = ["surtitle", "replay", sys.argv[1], "--profile"]
cli.main()
"""


class Remembering:
    """Remembers what it was told."""

    def __init__(self, *takes: type) -> None:
        self.takes = frozenset(takes)
        self.told: list[Observed] = []

    def observe(self, event: Observed) -> None:
        self.told.append(event)


class Failing(Remembering):
    """Fails at each event."""

    def observe(self, event: Observed) -> None:
        super().observe(event)
        raise KeyError("a defect")


def test_each_is_told_the_events_that_it_takes_in_their_order() -> None:
    both, one, none = Remembering(RunBegan, SoundLost), Remembering(RunBegan), Remembering()
    observers = Observers(both, one, none)
    lost = SoundLost(Losses(dropped_s=1.0))
    for event in (RunBegan(), lost, RunEnded()):
        observers.observe(event)
    assert both.told == [RunBegan(), lost]
    assert one.told == [RunBegan()]
    assert none.told == []


def test_what_nobody_takes_is_wanted_by_nobody() -> None:
    observers = Observers(Remembering(SoundHeard), Remembering(SoundLost))
    assert [kind for kind in get_args(Observed) if observers.wants(kind)] == [SoundHeard, SoundLost]


def test_one_that_fails_is_told_of_once_and_left_out_and_the_others_are_told_all(
    caplog: pytest.LogCaptureFixture,
) -> None:
    before, failing, after = (
        Remembering(RecognizerChanged),
        Failing(RecognizerChanged),
        Remembering(RecognizerChanged),
    )
    observers = Observers(before, failing, after)
    assert not observers.have_failed
    events: list[Observed] = [RecognizerChanged("lost"), RecognizerChanged("connected again")]
    for event in events:
        observers.observe(event)
    assert observers.have_failed
    assert before.told == after.told == events
    assert failing.told == events[:1]
    (message,) = caplog.records
    assert message.levelno == logging.ERROR
    assert message.getMessage() == "Failing failed and is not used any more; captions continue"
    assert message.exc_info is not None
    assert isinstance(message.exc_info[1], KeyError)


def test_a_defect_in_what_looks_on_costs_no_caption_and_is_reported_when_the_run_is_over() -> None:
    done = completed([sys.executable, "-c", BROKEN, CAPTIONS], timeout=120)
    assert done.returncode == 70
    assert "segments  4 of 11 updates" in done.stdout
    assert done.stderr.count("Traceback") == 1
    assert "surtitle: Profile failed and is not used any more; captions continue" in done.stderr
    assert done.stderr.endswith("please report the lines above\n")
