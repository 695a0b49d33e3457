"""Voices are told apart as they come, in a space where it is known whose each stretch is."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.stages.snapshots import pack, unpack
from operators.voices.assigning import Voice, Voices, VoicesState, unit
from operators.voices.protocol import Embedding

SIZE = 64
THRESHOLD = 0.6
#: Of people, whose products are 0.
PEOPLE = np.eye(SIZE, dtype=np.float32)


def near(vector: Embedding, seed: int) -> Embedding:
    """A stretch of somebody: its product with others of them is around 0.9, with those of others 0."""
    noise = np.random.default_rng(seed).normal(0.0, 1.0, SIZE).astype(np.float32)
    made: Embedding = vector + unit(noise) * np.float32(0.3)
    return unit(made)


def between(product: float) -> Embedding:
    """What has this product with the first of the people, and none with the third."""
    made: Embedding = (PEOPLE[0] * product + PEOPLE[1] * np.sqrt(1 - product**2)).astype(np.float32)
    return made


def voices(state: VoicesState, most: int = 100, threshold: float = THRESHOLD) -> Voices:
    return Voices(state, lambda _seconds: threshold, most)


def known(*those: tuple[str, Embedding, float]) -> VoicesState:
    """Voices of which there were so many seconds."""
    heard = [
        Voice((vector * seconds).astype("<f4").tobytes(), seconds, label) for label, vector, seconds in those
    ]
    return VoicesState(heard, numbered=sum(label.isdecimal() for label, _, _ in those))


def said(state: VoicesState) -> list[tuple[str, float]]:
    return [(voice.label, voice.seconds) for voice in state.voices]


#: Who speaks, for how long, how often that is guessed before it is over, and whether a run ends then.
STRETCHES = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from([0.6, 2.0, 3.0]), st.integers(0, 3), st.booleans()),
    max_size=25,
)


@given(STRETCHES, st.integers(2, 7))
def test_each_has_a_number_in_the_order_of_what_is_long_enough_however_often_one_looks_and_resumes(
    stretches: Sequence[tuple[int, float, int, bool]], most: int
) -> None:
    here, plain = voices(VoicesState(), most), voices(VoicesState(), most)
    labels: dict[int, str] = {}
    stranger, strange_s = -1, 0.0
    is_crowded = False
    for seed, (who, seconds, looks, is_resumed) in enumerate(stretches):
        embedding, guessed = near(PEOPLE[who], seed), None
        for look in range(looks):
            early = near(PEOPLE[who], 1000 * look + seed)
            guessed = here.guess(early, seconds, guessed)
        voice = here.assign(embedding, seconds, guessed)
        plain.assign(embedding, seconds)
        stranger, strange_s = (who, strange_s + seconds) if who == stranger else (who, seconds)
        if who not in labels and strange_s >= 2.4 and len(labels) < most:
            labels[who] = str(len(labels) + 1)
        if who in labels:
            stranger = -1
        is_crowded |= who not in labels and len(labels) == most
        if is_crowded:
            assert voice in here.state.voices, "somebody more is one of those, who are less certain then"
        else:
            assert (voice.label if voice else None) == labels.get(who)
        if voice is not None:
            assert here.state.last == voice.label
        if is_resumed:
            here = voices(unpack(pack(here.state), VoicesState), most)
    assert [voice.label for voice in here.state.voices] == list(labels.values())
    assert here.state == plain.state


def test_a_guess_that_was_wrong_leaves_no_voice_and_a_new_one_keeps_the_number_that_was_shown() -> None:
    both = voices(known(("1", PEOPLE[0], 9.0)))
    new = both.guess(PEOPLE[1], 3.0)
    assert new is not None
    assert (new.label, len(both.state.voices)) == ("2", 2)
    later = both.guess(PEOPLE[2], 4.0, new)
    assert (later is new, len(both.state.voices)) == (True, 2), "there is one stretch, and one voice of it"
    assert new.centroid.tolist() == PEOPLE[2].tolist()
    assert both.guess(between(THRESHOLD + 0.02), 5.0, new) is new, "nothing else is certain"
    assert both.assign(PEOPLE[3], 6.0, new) is new
    assert new.centroid.tolist() == PEOPLE[3].tolist()
    both.guess(PEOPLE[0], 4.0, both.guess(PEOPLE[4], 3.0))
    both.withdraw(both.guess(PEOPLE[5], 3.0))
    both.withdraw(both.guess(PEOPLE[0], 3.0))
    both.assign(PEOPLE[0], 1.0, both.guess(PEOPLE[6], 3.0))
    assert said(both.state) == [("1", 10.0), ("2", 6.0)], "a voice that was heard before stays"


def test_a_voice_is_the_mean_of_its_stretches_by_their_seconds() -> None:
    one, stretches = voices(VoicesState()), (PEOPLE[0], between(0.8), between(0.7))
    for embedding, seconds in zip(stretches, (4.0, 1.0, 3.0), strict=True):
        voice = one.assign(embedding, seconds)
    assert voice is not None
    mean = 4 * stretches[0] + stretches[1] + 3 * stretches[2]
    assert voice.centroid.tolist() == pytest.approx((mean / np.linalg.norm(mean)).tolist(), abs=1e-6)


@pytest.mark.parametrize(
    ("product", "seconds", "label"),
    [(0.55, 1.1, "1"), (0.55, 1.3, None), (0.45, 1.1, None), (0.65, 0.6, "1"), (0.45, 2.5, "2")],
)
def test_a_stretch_that_is_nobodys_is_of_the_last_voice_if_it_is_brief_and_nearly_fits(
    product: float, seconds: float, label: str | None
) -> None:
    one = voices(VoicesState())
    one.assign(PEOPLE[0], 4.0)
    voice = one.assign(between(product), seconds)
    assert (voice.label if voice else None) == label


@pytest.mark.parametrize(
    ("shares", "heard_s", "label"),
    [
        ((0.72, 0.65), 4.0, "1"),
        ((0.65, 0.72), 4.0, "2"),
        ((0.72, 0.65), 3.0, "3"),
        ((0.55, 0.53), 4.0, "3"),
    ],
)
def test_two_known_voices_at_once_are_the_louder_one_which_learns_nothing(
    shares: tuple[float, float], heard_s: float, label: str
) -> None:
    both = voices(known(("1", PEOPLE[0], 4.0), ("2", PEOPLE[1], heard_s)), threshold=0.8)
    guessed = both.guess(PEOPLE[3], 3.0)
    rest = np.sqrt(1 - np.square(shares).sum())
    embedding = np.asarray(PEOPLE[:3].T @ (*shares, rest), np.float32)
    found = both.guess(embedding, 3.0, guessed)
    assert found is not None
    assert found.label == label
    assert both.assign(embedding, 3.0, found) is found
    assert said(both.state) == [("1", 4.0), ("2", heard_s)] + [("3", 3.0)] * (label == "3")


@pytest.mark.parametrize(("product", "heard"), [(0.55, [("1", 4.0)]), (0.45, [("1", 4.0), ("2", 2.6)])])
def test_brief_stretches_in_a_row_are_a_voice_together_that_may_be_known(
    product: float, heard: list[tuple[str, float]]
) -> None:
    one = voices(VoicesState())
    one.assign(PEOPLE[0], 4.0)
    first, second = (one.assign(between(product), 1.3) for _ in range(2))
    assert first is None
    assert second is not None
    assert (second.label, said(one.state)) == (heard[-1][0], heard)


@pytest.mark.parametrize(
    ("first", "second", "product", "kept"),
    [
        (("1", 9.0), ("2", 9.0), 0.95, ("1", 22.0)),
        (("2", 9.0), ("1", 9.0), 0.95, ("1", 22.0)),
        (("10", 9.0), ("9", 9.0), 0.95, ("9", 22.0)),
        (("1", 9.0), ("Anna", 9.0), 0.95, ("Anna", 22.0)),
        (("Anna", 9.0), ("1", 9.0), 0.95, ("Anna", 22.0)),
        (("Anna", 9.0), ("Bea", 9.0), 0.95, None),
        (("1", 9.0), ("2", 9.0), 0.8, None),
        (("1", 9.0), ("2", 3.0), 0.95, None),
    ],
)
def test_two_voices_that_turn_out_to_be_one_keep_the_name_or_the_lower_number(
    first: tuple[str, float], second: tuple[str, float], product: float, kept: tuple[str, float] | None
) -> None:
    both = voices(known((first[0], PEOPLE[0], first[1]), (second[0], between(product), second[1])))
    voice = both.assign(PEOPLE[0], 4.0)
    assert voice is not None
    assert (voice.label, both.state.last) == (kept[0] if kept else first[0],) * 2
    assert said(both.state) == [kept] if kept else len(both.state.voices) == 2


def test_names_are_given_to_voices_and_two_of_one_name_are_one() -> None:
    three = voices(known(("1", PEOPLE[0], 4.0), ("2", PEOPLE[1], 4.0), ("3", PEOPLE[2], 4.0)))
    three.assign(PEOPLE[1], 2.0)
    three.rename("1", "Anna")
    three.rename("9", "Nobody")
    assert said(three.state) == [("Anna", 4.0), ("2", 6.0), ("3", 4.0)]
    three.rename("2", "Anna")
    three.rename("Anna", "Anna")
    assert (said(three.state), three.state.last) == ([("Anna", 10.0), ("3", 4.0)], "Anna")
    for person in PEOPLE[:2]:
        voice = three.assign(person, 0.6)
        assert voice is not None
        assert voice.label == "Anna"


def test_who_is_known_before_keeps_the_name_and_others_get_numbers_up_to_the_most() -> None:
    state = VoicesState()
    few = voices(state, most=3)
    for name, person in (("Anna", PEOPLE[0]), ("Bea", PEOPLE[1]), ("Anna", PEOPLE[2])):
        few.enrol(name, person)
    assert said(state) == [("Anna", 2.0), ("Bea", 2.0)], "a resumed run has learnt her voice already"
    spoken = [few.assign(PEOPLE[who], 3.0) for who in (1, 2, 0, 3)]
    assert [voice and voice.label for voice in spoken[:3]] == ["Bea", "1", "Anna"]
    assert spoken[3] in state.voices
    assert [label for label, _ in said(state)] == ["Anna", "Bea", "1"]
