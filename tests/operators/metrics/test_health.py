"""When a run is well, by a clock that the test turns."""

import pytest

from operators.metrics.health import Health, Rule

LOUD, QUIET = -12.0, -60.0


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def health(clock: Clock) -> Health:
    health = Health(Rule(stall_s=10.0, unheard_s=30.0, silence_dbfs=-40.0), clock)
    health.ready()
    return health


def hear(health: Health, clock: Clock, seconds: int, peak_dbfs: float, *, is_live: bool = True) -> None:
    for _ in range(seconds):
        clock.now += 1.0
        health.audio(1.0, peak_dbfs, is_live=is_live)


def cause(health: Health) -> str | None:
    return health.verdict().cause


def test_a_run_is_starting_until_it_is_ready_and_over_when_it_ended(clock: Clock) -> None:
    health = Health(Rule(), clock)
    health.partial("talk/0", 0)
    clock.now += 100
    assert (health.verdict().state, health.verdict().is_well) == ("starting", False)
    health.ready()
    assert (health.verdict().state, health.verdict().is_well) == ("ok", True)
    clock.now += 10.1
    assert health.verdict().state == "failing"
    health.is_over = True
    assert (health.verdict().state, health.verdict().is_well) == ("over", True)


def test_an_hour_of_silence_is_well(health: Health, clock: Clock) -> None:
    hear(health, clock, 3600, QUIET)
    assert health.verdict().state == "ok"


def test_a_caption_in_time_is_well_and_one_that_does_not_come_is_not(health: Health, clock: Clock) -> None:
    health.partial("talk/0", 0)
    clock.now += 10.0
    assert health.verdict().is_well
    clock.now += 0.1
    verdict = health.verdict()
    assert (verdict.state, verdict.cause, verdict.is_well) == ("failing", "captions_stalled", False)
    assert verdict.reason == "no caption for 10 s despite speech"
    health.caption("talk/0", 0)
    assert health.verdict().is_well
    clock.now += 1000
    assert health.verdict().is_well


def test_a_newer_partial_that_was_never_answered_counts_though_an_older_one_was(
    health: Health, clock: Clock
) -> None:
    for revision in range(2):
        health.partial("talk/0", revision)
    health.caption("talk/0", 0)
    assert len(health.waiting) == 1
    clock.now += 10.1
    assert cause(health) == "captions_stalled"
    health.caption("talk/0", 1)
    assert (cause(health), health.waiting) == (None, {})


def test_a_flow_that_lags_but_shows_captions_has_not_stalled(health: Health, clock: Clock) -> None:
    health.partial("talk/0", 0)
    for number in range(1, 10):
        health.partial(f"talk/{number}", 0)
        clock.now += 8
        health.caption(f"talk/{number}", 0)
        assert health.verdict().is_well
    clock.now += 10.1
    assert cause(health) == "captions_stalled"


def test_a_model_that_has_to_be_loaded_first_has_its_time(health: Health, clock: Clock) -> None:
    health.audio(0.1, LOUD, is_live=True)
    health.partial("talk/0", 0)
    health.loads(1)
    clock.now += 60
    assert health.verdict().state == "starting"
    health.loads(-1)
    assert health.verdict().is_well
    clock.now += 10.1
    assert cause(health) == "captions_stalled"


def test_live_sound_in_which_nothing_is_recognised_is_not_well(health: Health, clock: Clock) -> None:
    hear(health, clock, 30, LOUD)
    assert health.verdict().is_well
    hear(health, clock, 5, QUIET)
    hear(health, clock, 1, LOUD)
    assert cause(health) == "nothing_recognized", "a speaker pauses, too"
    health.partial("talk/0", 0)
    health.caption("talk/0", 0)
    assert health.verdict().is_well


def test_sound_alone_is_no_sign_if_it_is_read_faster_than_spoken_or_may_be_music(clock: Clock) -> None:
    for unheard_s, is_live in ((30.0, False), (0.0, True)):
        health = Health(Rule(unheard_s=unheard_s), clock)
        health.ready()
        hear(health, clock, 300, LOUD, is_live=is_live)
        assert health.verdict().is_well


def test_noises_far_apart_do_not_add_up(health: Health, clock: Clock) -> None:
    for _ in range(100):
        hear(health, clock, 1, LOUD)
        hear(health, clock, 31, QUIET)
    assert health.verdict().is_well


def test_after_the_recogniser_had_trouble_less_sound_without_words_is_enough(
    health: Health, clock: Clock
) -> None:
    health.trouble = "connection lost, trying again in 2 s"
    hear(health, clock, 60, QUIET)
    assert health.verdict().is_well
    hear(health, clock, 11, LOUD)
    assert health.verdict().reason == (
        "nothing was recognised in 11 s of sound; "
        "the recogniser's last message was: connection lost, trying again in 2 s"
    )
    health.partial("talk/0", 0)
    health.caption("talk/0", 0)
    hear(health, clock, 30, LOUD)
    assert health.verdict().is_well


def test_a_source_that_hands_over_nothing_any_more_is_not_well_unless_it_ended(
    health: Health, clock: Clock
) -> None:
    hear(health, clock, 1, QUIET)
    clock.now += 10.1
    assert cause(health) == "source_stalled"
    health.audio(0.1, QUIET, is_live=True)
    assert health.verdict().is_well
    health.audio(0.0, QUIET, is_live=True, is_last=True)
    clock.now += 1000
    assert health.verdict().is_well


def test_a_microphone_that_is_gone_is_said_in_its_own_words_until_it_is_heard(
    health: Health, clock: Clock
) -> None:
    health.lost = "the default microphone was disconnected; waiting for it"
    assert health.verdict()[1:] == ("source_lost", "the default microphone was disconnected; waiting for it")
    health.lost = "the default microphone is back"
    assert cause(health) == "source_lost"
    hear(health, clock, 1, QUIET)
    assert health.verdict().is_well


def test_captions_that_stand_still_because_the_model_gives_no_answers_are_not_well(
    health: Health, clock: Clock
) -> None:
    def update(number: int, *, is_answer: bool) -> None:
        health.partial("talk/0", number)
        clock.now += 1
        health.caption("talk/0", number, is_answer=is_answer)

    update(0, is_answer=False)
    clock.now += 1000
    update(1, is_answer=False)
    clock.now += 1000
    assert health.verdict().is_well, "now and then is not worth a restart, however long silence lasts"
    for number in range(2, 14):
        update(number, is_answer=False)
    assert health.verdict()[1:] == ("no_answers", "the model gave no answer for 11 s")
    update(14, is_answer=True)
    assert health.verdict().is_well
