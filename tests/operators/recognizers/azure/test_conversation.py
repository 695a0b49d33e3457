"""One connection's course, and the sentences about it, without a service."""

import pytest

from operators.errors import InputError
from operators.recognizers.azure.conversation import (
    Connected,
    Conversation,
    Disconnected,
    Failure,
    Over,
    Result,
)
from operators.recognizers.azure.notices import Notices
from operators.recognizers.azure.patience import Patience
from operators.recognizers.azure.settings import AzureSettings, service
from operators.recognizers.azure.utterances import Utterances
from operators.secret import Secret
from tests.operators.recognizers.azure.test_patience import Clock, sound

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
