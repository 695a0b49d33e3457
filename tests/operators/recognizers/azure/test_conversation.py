"""One connection's course, and the sentences about it, without a service."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.errors import InputError
from operators.events import SAMPLE_RATE
from operators.recognizers.azure.conversation import (
    Connected,
    Conversation,
    Disconnected,
    Failure,
    Over,
    Patience,
    Result,
    ServiceUtterance,
    Utterances,
    Waits,
)
from operators.recognizers.azure.recognizer import Notices
from operators.recognizers.azure.settings import AzureSettings, service
from operators.recognizers.protocol import Hypothesis
from operators.secret import Secret


def middle(least: float, most: float) -> float:
    return (least + most) / 2


def sound(seconds: float, loudness: int) -> bytes:
    return np.full(round(seconds * SAMPLE_RATE), loudness, "<i2").tobytes()


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def listen(patience: Patience, clock: Clock, *heard: tuple[float, int]) -> bool:
    """Hear sounds (seconds, loudness) as they are made: whether patience is over after them."""
    for seconds, loudness in heard:
        for _ in range(round(seconds * 10)):
            patience.add_audio(sound(0.1, loudness))
            clock.now_s += 0.1
    return patience.is_over


def patience_of(answer_s: float) -> tuple[Patience, Clock]:
    clock = Clock()
    patience = Patience(answer_s, clock)
    listen(patience, clock, (0.2, 5))
    return patience, clock


def test_waits_double_up_to_the_longest_and_begin_again_after_success() -> None:
    waits = Waits(30, middle)

    assert [waits.next_s() for _ in range(8)] == [0.5, 1, 2, 4, 8, 16, 30, 30]
    assert waits.is_longest
    waits.reset()
    assert not waits.is_longest
    assert waits.next_s() == 0.5


@given(st.floats(0.01, 100))
def test_waits_are_spread_and_never_longer_than_the_longest(longest_s: float) -> None:
    for random in (min, max):
        spread: Callable[[float, float], float] = random
        waits = Waits(longest_s, spread)
        assert all(0 < waits.next_s() <= longest_s for _ in range(12))
    assert Waits(30, min).next_s() < Waits(30, max).next_s()


def test_speech_without_an_answer_ends_patience() -> None:
    patience, clock = patience_of(10)

    assert not listen(patience, clock, (9.5, 3000))
    assert listen(patience, clock, (0.6, 3000))


def test_an_answer_renews_it() -> None:
    patience, clock = patience_of(10)
    listen(patience, clock, (9, 3000))
    patience.answered()

    assert not listen(patience, clock, (9, 3000))


def test_silence_and_steady_noise_need_no_answer() -> None:
    patience, clock = patience_of(1)
    assert not listen(patience, clock, (60, 100))

    clock = Clock()
    patience = Patience(1, clock)
    assert not listen(patience, clock, (60, 2000))


def test_time_counts_from_the_first_sound() -> None:
    patience, clock = patience_of(10)

    assert not listen(patience, clock, (60, 0), (6, 3000))
    assert not listen(patience, clock, (3, 0))
    assert listen(patience, clock, (1.5, 0))


def test_a_cough_needs_no_answer() -> None:
    patience, clock = patience_of(10)

    assert not listen(patience, clock, (1, 3000), (60, 10))


def test_audio_that_is_sent_again_at_once_leaves_time_to_answer() -> None:
    patience, clock = patience_of(10)
    patience.begin()
    patience.add_audio(sound(60, 3000))

    assert not patience.is_over
    clock.now_s += 10
    assert patience.is_over


def test_where_nothing_ever_answers_patience_doubles_up_to_eight_times() -> None:
    patience, clock = patience_of(1)
    limits = []
    for _ in range(5):
        patience.begin()
        seconds = 0.0
        while not listen(patience, clock, (0.5, 3000), (0.1, 0)):
            seconds += 0.6
        limits.append(seconds)
        patience.gave_up()
    assert limits == pytest.approx([1, 2, 4, 8, 8], abs=0.7)
    patience.answered()
    assert listen(patience, clock, (1.1, 3000))


def utterances() -> Utterances:
    """With a clock of a thousand samples to the second."""
    return Utterances(lambda position: position / 1000, lambda position: position / 1000)


def partial(text: str, begin: int, end: int) -> ServiceUtterance:
    return ServiceUtterance(text, begin, end, is_final=False)


def final(text: str, begin: int, end: int) -> ServiceUtterance:
    return ServiceUtterance(text, begin, end, is_final=True)


def brief(hypotheses: list[Hypothesis]) -> list[tuple[int, str, bool]]:
    return [(one.segment, one.text, one.is_final) for one in hypotheses]


def take(of: Utterances, *said: ServiceUtterance) -> list[tuple[int, str, bool]]:
    return brief([hypothesis for one in said for hypothesis in of.take(one)])


def test_an_utterance_is_a_segment_until_its_final() -> None:
    of = utterances()

    assert take(of, partial("a", 10, 20), partial("a b", 10, 30), final("A b.", 10, 30)) == [
        (0, "a", False),
        (0, "a b", False),
        (0, "A b.", True),
    ]
    assert take(of, final("C.", 40, 50)) == [(1, "C.", True)]
    assert of.confirmed == 50


def test_a_segment_keeps_its_beginning() -> None:
    of = utterances()
    of.take(partial("a", 1010, 1020))
    [hypothesis] = of.take(partial("a b", 1005, 1030))

    assert (hypothesis.start_s, hypothesis.end_s) == (1.010, 1.030)


def test_an_utterance_whose_final_never_comes_ends_with_the_next_one() -> None:
    of = utterances()

    assert take(of, partial("a", 10, 20), partial("b", 20, 30)) == [
        (0, "a", False),
        (0, "a", True),
        (1, "b", False),
    ]


def test_a_final_without_text_ends_the_segment_and_is_none_where_there_is_none() -> None:
    of = utterances()

    assert take(of, final("", 0, 5), partial(" ", 5, 10)) == []
    assert take(of, partial("a", 10, 20), final(" ", 10, 20), partial("b", 30, 40)) == [
        (0, "a", False),
        (0, "", True),
        (1, "b", False),
    ]


def test_silence_that_azure_reports_is_not_heard_again() -> None:
    of = utterances()
    of.take(final("", 0, 500))
    assert of.confirmed == 500
    of.take(final("", 0, 100))
    assert of.confirmed == 500


def test_after_a_lost_connection_a_segment_goes_on_once_it_is_as_long_as_it_was() -> None:
    of = utterances()
    take(of, partial("a", 10, 20), partial("a b c", 10, 40))
    assert of.resume(0) == []

    assert take(of, partial("a", 11, 20), partial("a b", 11, 30)) == []
    assert take(of, partial("a b c", 11, 40), partial("a b c d", 11, 50), final("A b c d.", 11, 50)) == [
        (0, "a b c", False),
        (0, "a b c d", False),
        (0, "A b c d.", True),
    ]


def test_a_segment_that_goes_on_may_be_revised_as_ever() -> None:
    of = utterances()
    take(of, partial("a b", 10, 30))
    of.resume(0)
    take(of, partial("a b c", 10, 40))

    assert take(of, partial("a bee", 10, 35)) == [(0, "a bee", False)]


def test_a_new_connection_may_end_a_segment_earlier_than_the_old_one_would_have() -> None:
    of = utterances()
    take(of, partial("a b c", 10, 40))
    of.resume(0)

    assert take(of, final("A b.", 10, 30), partial("c", 31, 40)) == [(0, "A b.", True), (1, "c", False)]


def test_silence_before_an_open_segment_does_not_end_it() -> None:
    of = utterances()
    take(of, partial("a b", 100, 140))
    of.resume(0)

    assert take(of, final("", 0, 90)) == []
    assert take(of, final("A b.", 100, 140)) == [(0, "A b.", True)]


def test_a_segment_that_a_new_connection_does_not_hear_ends_with_what_was_heard() -> None:
    of = utterances()
    take(of, partial("a b", 10, 40))
    of.resume(0)

    assert take(of, partial("c", 60, 70)) == [(0, "a b", True), (1, "c", False)]


def test_a_segment_whose_beginning_is_not_kept_ends_and_is_not_heard_again() -> None:
    of = utterances()
    take(of, partial("a b", 10, 40))

    assert brief(of.resume(11)) == [(0, "a b", True)]
    assert of.confirmed == 40


#: Words of a talk, each so long, and the pauses after which an utterance is over.
words = st.lists(st.tuples(st.integers(1, 5), st.booleans()), min_size=1, max_size=15)


def utterances_of_service(talk: list[tuple[int, bool]], begin: int) -> list[ServiceUtterance]:
    """What a service says that hears the talk from a position on, whole words only."""
    said: list[ServiceUtterance] = []
    heard: list[str] = []
    at = first = 0
    for number, (length, is_pause_after) in enumerate(talk):
        if at >= begin:
            first = first if heard else at
            heard.append(f"w{number}")
            said.append(partial(" ".join(heard), first, at + length))
        at += length
        if heard and (is_pause_after or number == len(talk) - 1):
            said.append(final(" ".join(heard), first, at))
            heard = []
        at += 3 * is_pause_after
    return said


@given(words, st.lists(st.integers(0, 40), max_size=5))
def test_wherever_connections_are_lost_every_word_is_said_once(
    talk: list[tuple[int, bool]], losses: list[int]
) -> None:
    of = utterances()
    heard: list[Hypothesis] = []
    for loss in losses:
        heard += of.resume(0)
        for said in utterances_of_service(talk, of.confirmed)[:loss]:
            heard += of.take(said)
    heard += of.resume(0)
    for said in utterances_of_service(talk, of.confirmed):
        heard += of.take(said)
    heard += of.finish()

    finals = [one for one in heard if one.is_final]
    assert " ".join(one.text for one in finals).split() == [f"w{number}" for number in range(len(talk))]
    assert [one.segment for one in finals] == list(range(len(finals)))
    # What was on display only ever grew.
    for final_one in finals:
        lengths = [len(one.text) for one in heard if one.segment == final_one.segment]
        assert lengths == sorted(lengths)


anything = st.builds(
    lambda text, begin, length, is_final: ServiceUtterance(text, begin, begin + length, is_final),
    st.sampled_from(["", "a", "b c"]),
    st.integers(0, 50),
    st.integers(0, 9),
    st.booleans(),
)


@given(st.lists(anything))
def test_whatever_is_said_each_segment_has_one_final_and_it_is_the_last(said: list[ServiceUtterance]) -> None:
    of = utterances()
    heard: list[Hypothesis] = []
    for number, one in enumerate(said):
        heard += of.take(one)
        if number % 5 == 4:
            heard += of.resume(number)
    heard += of.finish()

    numbers = [one.segment for one in heard]
    assert numbers == sorted(numbers)
    for number in set(numbers):
        finality = [one.is_final for one in heard if one.segment == number]
        assert finality == [False] * (len(finality) - 1) + [True]
    assert all(one.start_s <= one.end_s for one in heard)


SERVICE = service(AzureSettings(region="westeurope", key=Secret("0123456789abcdef")), {})


class Course:
    def __init__(self, base: int = 0) -> None:
        self.clock = Clock()
        self.patience = Patience(10, self.clock)
        self.utterances = Utterances(lambda at: at / 1000, lambda at: at / 1000)
        self.conversation = Conversation(self.utterances, self.patience, base, self.clock)

    def after(self, seconds: float) -> Failure | None:
        """How it is after some time."""
        self.clock.now_s += seconds
        self.conversation.look_at_clock()
        assert self.conversation.is_over == (self.conversation.failure is not None)
        return self.conversation.failure


def test_results_lie_behind_the_audio_that_was_sent_before_and_within_what_was_heard() -> None:
    course = Course(base=5000)
    course.conversation.take(Connected(), 9000)
    [one] = course.conversation.take(Result("a", 100, 300, is_final=False), 9000)
    [other] = course.conversation.take(Result("a b", -1, 2**60, is_final=True), 9000)

    assert (one.start_s, one.end_s) == (5.1, 5.3)
    assert (other.start_s, other.end_s) == (5.1, 9.0)


def test_times_count_from_the_first_audio_that_was_sent_not_from_what_was_dropped_while_connecting() -> None:
    course = Course(base=0)
    course.conversation.take(Connected(), 9000)
    course.conversation.begin(4000)
    [one] = course.conversation.take(Result("a", 100, 300, is_final=True), 9000)

    assert (one.start_s, one.end_s) == (4.1, 4.3)
    assert course.utterances.confirmed == 4300


def test_a_connection_that_does_not_come_about_is_lost() -> None:
    course = Course()

    assert course.after(9) is None
    assert course.after(2) is Failure.LOST


def test_a_connection_that_stands_is_not_lost() -> None:
    course = Course()
    course.conversation.take(Connected(), 0)

    assert course.after(3600) is None


def test_a_connection_has_proved_itself_by_an_answer_or_by_standing_for_a_minute() -> None:
    answered, stood = Course(), Course()
    for course in (answered, stood):
        course.after(9)
        course.conversation.take(Connected(), 0)
        course.after(59)
        assert not course.conversation.is_proven
    answered.conversation.take(Result("", 0, 0, is_final=False), 0)
    stood.after(2)

    assert answered.conversation.is_proven
    assert stood.conversation.is_proven


def test_an_answer_renews_patience_and_so_does_a_new_connection() -> None:
    course = Course()
    speech = sound(0.1, 0) + sound(20, 3000)
    course.patience.add_audio(speech)
    course.clock.now_s += 9
    course.conversation.take(Connected(), 0)
    assert course.after(2) is None

    course.patience.add_audio(speech)
    course.clock.now_s += 11
    course.conversation.take(Result("a", 0, 1, is_final=False), 9)
    assert course.after(0) is None


def test_the_reason_may_come_after_the_disconnection() -> None:
    course = Course()
    course.conversation.take(Connected(), 0)
    course.conversation.take(Disconnected(), 0)
    assert course.after(0.1) is None
    course.conversation.take(Over(Failure.KEY), 0)

    assert course.conversation.failure is Failure.KEY


def test_or_never() -> None:
    course = Course()
    course.conversation.take(Connected(), 0)
    course.conversation.take(Disconnected(), 0)

    assert course.after(0.4) is Failure.LOST


def test_all_is_said_only_after_the_audio_is_over() -> None:
    course = Course()
    course.conversation.take(Over(None), 0)

    assert course.conversation.failure is Failure.STOPPED


def test_the_first_reason_counts_and_nothing_is_heard_after_it() -> None:
    course = Course()
    course.conversation.is_audio_over = True
    course.conversation.take(Over(None), 0)
    course.conversation.take(Over(Failure.STOPPED), 0)
    course.clock.now_s += 60
    course.conversation.look_at_clock()

    assert course.conversation.is_over
    assert course.conversation.failure is None
    assert course.conversation.take(Result("a", 0, 1, is_final=True), 9) == []


def test_each_change_is_one_sentence_and_an_outage_is_no_flood() -> None:
    told: list[str] = []
    reports = Notices(SERVICE, lambda event: told.append(event.sentence))
    for _ in range(5):
        reports.connected(0.0)
    reports.failed(Failure.LOST, 0.5123, is_longest=False)
    for _ in range(5):
        reports.failed(Failure.LOST, 1.0, is_longest=False)
    for _ in range(5):
        reports.failed(Failure.LOST, 30.0, is_longest=True)
    reports.connected(12.34)
    reports.failed(Failure.STOPPED, 0.5, is_longest=False)
    reports.connected(0.0)

    assert told == [
        "connected to Azure, the region westeurope",
        "connection to Azure lost, trying again in 0.51 s",
        "still no connection to Azure, trying again every 30 s",
        "connected again; 12.3 s of audio are lost, more than azure.replay_s keeps",
        "Azure stopped recognising, trying again in 0.5 s",
        "connected again",
    ]


def test_a_service_that_was_never_reached_is_named() -> None:
    told: list[str] = []
    Notices(SERVICE, lambda event: told.append(event.sentence)).failed(Failure.LOST, 0.5, is_longest=False)

    assert told == ["no connection to Azure, the region westeurope, yet, trying again in 0.5 s"]


def test_a_request_that_was_good_before_is_tried_again() -> None:
    told: list[str] = []
    reports = Notices(SERVICE, lambda event: told.append(event.sentence))
    with pytest.raises(InputError, match=r"azure\.language"):
        reports.failed(Failure.REQUEST, 0.5, is_longest=False)
    reports.connected(0.0)
    reports.failed(Failure.REQUEST, 0.5, is_longest=False)

    assert told[-1] == "Azure refused to continue, trying again in 0.5 s"
    with pytest.raises(InputError, match="refused the key for the region westeurope"):
        reports.failed(Failure.KEY, 0.5, is_longest=False)
