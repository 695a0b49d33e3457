"""Examples of the length of speech, whole and as prefixes."""

from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from operators.training.noise import Lexicon, Noise
from operators.training.packing import example, speech
from operators.training.pairs import Pair
from tests.operators.training.test_pairs import PAIRS


@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 6), st.booleans())
def test_speech_holds_every_sentence_once_in_segments_of_bounded_length(
    seed: int, count: int, most: int, in_order: bool
) -> None:
    pairs = [
        Pair.of(f"This is{' very' * (n % 5)} {n}.", f"Das ist {n}.", [0] * (2 + n % 5) + [3], "de")
        for n in range(count)
    ]
    segments = list(speech(pairs, Random(seed), max_sentences=most, max_words=12, in_order=in_order))
    said = [[int(word[:-1]) for word in segment.source if word[0].isdigit()] for segment in segments]
    assert Counter(number for numbers in said for number in numbers) == Counter(range(count))
    for segment, numbers in zip(segments, said, strict=True):
        assert 1 <= len(numbers) <= most
        assert len(numbers) == 1 or len(segment.source) <= 12
        assert not in_order or numbers == list(range(numbers[0], numbers[-1] + 1))


def test_all_lengths_of_speech_and_of_prefixes_occur_evenly() -> None:
    rng = Random(7)
    segments = list(speech(PAIRS[2:] * 6000, rng, max_sentences=3))
    lengths = Counter(len(segment.source) for segment in segments)
    assert all(abs(lengths[n] / len(segments) - 1 / 3) < 0.03 for n in (1, 2, 3))
    drawn = Counter(len(example(PAIRS[0], rng, prefixes=1.0).source.split()) for _ in range(5000))
    assert all(abs(drawn[n] / 5000 - 1 / 5) < 0.03 for n in range(1, 6))


def test_finals_are_whole_and_as_many_as_asked_for() -> None:
    rng = Random(7)
    made = [example(PAIRS[0], rng, prefixes=0.3) for _ in range(3000)]
    finals = [one for one in made if one.is_final]
    assert {(one.source, one.target) for one in finals} == {
        ("I have read the book.", "Ich habe das Buch gelesen.")
    }
    assert abs(len(finals) / 3000 - 0.7) < 0.03


@given(st.integers(0, 10**6))
def test_a_misheard_last_word_is_not_translated(seed: int) -> None:
    lexicon = Lexicon({"ha": ["happy"], "re": ["rest"], "th": ["than"], "bo": ["boat"]}, frozenset())
    noise = Noise(1.0, lexicon, plain=0, cut=0, misheard=1.0, closed=0, dropped=0, doubled=0)
    made = example(PAIRS[0], Random(seed), prefixes=1.0, noise=noise)
    expected = {"I": "Ich", "I happy": "Ich", "I have rest": "Ich habe", "I have read than": "Ich habe"}
    assert made.target == expected.get(made.source, "Ich habe")
