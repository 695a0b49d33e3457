"""Segments outlive connections: each word is said once, each segment ends once, numbers ascend."""

from hypothesis import given
from hypothesis import strategies as st

from operators.recognizers.azure.utterances import ServiceUtterance, Utterances
from operators.recognizers.protocol import Hypothesis


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


def service(talk: list[tuple[int, bool]], begin: int) -> list[ServiceUtterance]:
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
        for said in service(talk, of.confirmed)[:loss]:
            heard += of.take(said)
    heard += of.resume(0)
    for said in service(talk, of.confirmed):
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
