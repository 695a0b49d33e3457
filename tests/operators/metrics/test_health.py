"""When a run is well, by a clock that the test turns."""

import pytest

from operators.metrics.health import Health, Rule, Verdict

LOUD, QUIET = -12.0, -60.0
STALLED = Verdict("failing", "captions_stalled", "no caption for 10 s despite speech")


class Run(Health):
    """A run that is ready, and its clock."""

    def __init__(self, unheard_s: float = 30.0) -> None:
        self.clock_s = 1000.0
        super().__init__(Rule(10.0, unheard_s, -40.0), lambda: self.clock_s)
        self.ready()

    def wait(self, seconds: float) -> Verdict:
        """The verdict after some time."""
        self.clock_s += seconds
        return self.verdict()

    def hear(self, seconds: int, peak_dbfs: float, *, is_live: bool = True) -> Verdict:
        """The verdict after some time with sound."""
        for _ in range(seconds):
            self.clock_s += 1.0
            self.audio(1.0, peak_dbfs, is_live=is_live)
        return self.verdict()

    def update(self, key: str, revision: int = 0, *, wait_s: float = 0.0, is_answer: bool = True) -> Verdict:
        """The verdict after a partial and, some time later, its caption."""
        self.partial(key, revision)
        self.clock_s += wait_s
        self.caption(key, revision, is_answer=is_answer)
        return self.verdict()


@pytest.fixture
def run() -> Run:
    return Run()


def test_a_run_is_starting_until_it_is_ready_and_over_when_it_ended() -> None:
    now = [0.0]
    health = Health(Rule(), lambda: now[0])
    health.partial("talk/0", 0)
    now[0] += 100
    assert health.verdict() == Verdict("starting")
    assert not health.verdict().is_well
    health.ready()
    assert health.verdict() == Verdict("ok")
    now[0] += 10.1
    assert health.verdict() == STALLED
    health.is_over = True
    assert health.verdict() == Verdict("over")
    assert health.verdict().is_well


def test_an_hour_of_silence_is_well(run: Run) -> None:
    assert run.hear(3600, QUIET).is_well


def test_a_caption_in_time_is_well_and_one_that_does_not_come_is_not(run: Run) -> None:
    run.partial("talk/0", 0)
    assert run.wait(10.0).is_well
    assert run.wait(0.1) == STALLED
    assert not STALLED.is_well
    run.caption("talk/0", 0)
    assert run.wait(1000).is_well


def test_a_newer_partial_that_was_never_answered_counts_though_an_older_one_was(run: Run) -> None:
    for revision in range(2):
        run.partial("talk/0", revision)
    run.caption("talk/0", 0)
    assert run.wait(10.1) == STALLED
    run.caption("talk/0", 1)
    assert (run.wait(1000).cause, run.waiting) == (None, {})


def test_a_flow_that_lags_but_shows_captions_has_not_stalled(run: Run) -> None:
    run.partial("talk/0", 0)
    assert all(run.update(f"talk/{number}", wait_s=8).is_well for number in range(1, 10))
    assert run.wait(10.1) == STALLED


def test_a_model_that_has_to_be_loaded_first_has_its_time(run: Run) -> None:
    run.audio(0.1, LOUD, is_live=True)
    run.partial("talk/0", 0)
    run.loads(1)
    assert run.wait(60).state == "starting"
    run.loads(-1)
    assert run.verdict().is_well
    assert run.wait(10.1) == STALLED


def test_live_sound_in_which_nothing_is_recognised_is_not_well(run: Run) -> None:
    assert run.hear(30, LOUD).is_well
    run.hear(5, QUIET)
    assert run.hear(1, LOUD).cause == "nothing_recognized", "a speaker pauses, too"
    assert run.update("talk/0").is_well


@pytest.mark.parametrize(("unheard_s", "is_live"), [(30.0, False), (0.0, True)])
def test_sound_alone_is_no_sign_if_it_is_read_faster_than_spoken_or_may_be_music(
    unheard_s: float, is_live: bool
) -> None:
    assert Run(unheard_s).hear(300, LOUD, is_live=is_live).is_well


def test_noises_far_apart_do_not_add_up(run: Run) -> None:
    for _ in range(100):
        run.hear(1, LOUD)
        assert run.hear(31, QUIET).is_well


def test_after_the_recogniser_had_trouble_less_sound_without_words_is_enough(run: Run) -> None:
    run.trouble = "connection lost"
    assert run.hear(60, QUIET).is_well
    assert run.hear(11, LOUD).reason == (
        "nothing was recognised in 11 s of sound; the recogniser's last message was: connection lost"
    )
    run.update("talk/0")
    assert run.hear(30, LOUD).is_well


def test_a_source_that_hands_over_nothing_any_more_is_not_well_unless_it_ended(run: Run) -> None:
    run.hear(1, QUIET)
    assert run.wait(10.1).cause == "source_stalled"
    run.audio(0.1, QUIET, is_live=True)
    assert run.verdict().is_well
    run.audio(0.0, QUIET, is_live=True, is_last=True)
    assert run.wait(1000).is_well


def test_a_microphone_that_is_gone_is_said_in_its_own_words_until_it_is_heard(run: Run) -> None:
    run.lost = "the default microphone was disconnected; waiting for it"
    assert run.verdict() == Verdict("failing", "source_lost", run.lost)
    assert run.hear(1, QUIET).is_well


def test_captions_that_stand_still_because_the_model_gives_no_answers_are_not_well(run: Run) -> None:
    for number in range(2):
        run.update("talk/0", number, wait_s=1, is_answer=False)
        assert run.wait(1000).is_well, "now and then is not worth a restart, however long silence lasts"
    for number in range(2, 14):
        run.update("talk/0", number, wait_s=1, is_answer=False)
    assert run.verdict() == Verdict("failing", "no_answers", "the model gave no answer for 11 s")
    assert run.update("talk/0", 14).is_well
