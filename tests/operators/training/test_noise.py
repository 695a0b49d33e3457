"""What recognisers do to text, fault by fault."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.training.noise import (
    Lexicon,
    Noise,
    closed,
    cut,
    doubled,
    dropped,
    interrupt,
    misheard,
    pieces_of,
    without_punctuation,
)
from operators.training.pairs import Pair

WORDS = ["The", "book", "was", "printed,", "which", "nobody", "knew,", "in", "the", "city", "of", "Mainz."]


def test_a_pair_is_cut_where_both_sides_mark_a_clause() -> None:
    pair = Pair.of("When it rains, we stay at home.", "Wenn es regnet, bleiben wir zu Hause.",
                   [1, 2, 3, 3, 5, 5, 7], "de")  # fmt: skip
    assert [(" ".join(one.source), "".join(one.target)) for one in pieces_of(pair)] == [
        ("When it rains.", "Wenn es regnet."), ("We stay at home.", "Bleiben wir zu Hause."),
    ]  # fmt: skip


def test_a_pair_whose_sides_mark_no_common_clause_is_not_cut() -> None:
    assert not pieces_of(Pair.of("We stay, of course.", "Wir bleiben natürlich.", [1, 2, 2, 3], "de"))


@given(st.integers(0, 10**6), st.integers(1, len(WORDS)))
def test_an_interruption_is_a_full_stop_and_a_capital_and_changes_no_word(seed: int, length: int) -> None:
    words = WORDS[:length]
    heard = interrupt(words, Random(seed))
    assert [word.strip(".,").lower() for word in heard] == [word.strip(".,").lower() for word in words]
    changed = [at for at, (left, right) in enumerate(zip(words, heard, strict=True)) if left != right]
    if changed:
        stopped = changed[0]
        assert heard[stopped].endswith(".")
        assert heard[stopped + 1][0].isupper()
    else:
        assert length < 4


CORPUS = [
    line.split()
    for line in (
        "The only Indian printing press was in the old house.",
        "He only printed what the press of the house printed.",
        "On the house, and not in it, the press is old!",
        "Our Indian press is not in the only old house.",
    )
]
LEXICON = Lexicon.of(CORPUS)

sentences = st.lists(
    st.sampled_from(sorted({word for line in CORPUS for word in line})), min_size=1, max_size=12
)
seeds = st.integers(0, 10**6).map(Random)


def test_a_recogniser_without_capitals_and_punctuation_keeps_what_is_within_words() -> None:
    words = ['"Well-known,"', "he", "said,", '"isn’t', "1,000.5", "–", "it's", '5%…"']
    assert without_punctuation(words) == "Well known he said isn’t 1000.5 it's 5%"


@given(sentences, seeds)
def test_a_cut_word_is_a_true_beginning_of_it(words: list[str], rng: Random) -> None:
    *before, last = cut(words, rng)
    assert before == words[:-1]
    assert words[-1].startswith(last)
    assert 1 <= len(last) < len(words[-1])


@given(sentences, seeds)
def test_a_misheard_word_is_another_one_of_the_corpus_that_begins_alike(
    words: list[str], rng: Random
) -> None:
    *before, last = misheard(words, rng, LEXICON)
    assert before == words[:-1]
    assert last == words[-1] or (
        last[:2].lower() == words[-1][:2].lower() and last[0].isupper() == words[-1][0].isupper()
    )


def test_a_word_that_nothing_sounds_like_stays() -> None:
    assert misheard(["xylophone"], Random(1), LEXICON) == ["xylophone"]
    assert misheard(["The", "only"], Random(1), Lexicon({"on": ["once", "only"]}, frozenset())) == [
        "The",
        "once",
    ]


@given(sentences, seeds)
def test_an_end_is_invented_once(words: list[str], rng: Random) -> None:
    ended = closed(words, rng)
    assert ended[:-1] == words[:-1]
    assert ended[-1].rstrip(".,!") == words[-1].rstrip(".,!")
    assert closed(["It", "ends."], rng) == ["It", "ends."]


@given(sentences, seeds)
def test_only_light_words_are_lost_and_one_at_most(words: list[str], rng: Random) -> None:
    left = dropped(words, rng, LEXICON)
    assert left[-1] == words[-1]
    if left == words:
        assert not any(word.lower() in LEXICON.light for word in words[:-1])
    else:
        lost = next(at for at in range(len(words)) if at == len(left) or left[at] != words[at])
        assert [*words[:lost], *words[lost + 1 :]] == left
        assert words[lost].lower() in LEXICON.light


@given(sentences, seeds)
def test_a_doubled_word_stands_twice(words: list[str], rng: Random) -> None:
    twice = doubled(words, rng)
    assert len(twice) == len(words) + 1
    at = next(at for at in range(len(words)) if [*twice[:at], *twice[at + 1 :]] == words)
    assert twice[at] == twice[at + 1].rstrip(".,!")


@given(sentences, st.booleans(), seeds)
def test_what_is_sure_is_all_but_a_spoilt_last_word_of_what_is_unfinished(
    words: list[str], is_final: bool, rng: Random
) -> None:
    heard = Noise(1.0, LEXICON)(words, is_final, rng)
    assert heard.text
    assert heard.text == heard.text.strip()
    assert heard.sure in ((len(words),) if is_final else (len(words), len(words) - 1))


@given(sentences, st.booleans(), seeds)
def test_no_share_is_no_noise(words: list[str], is_final: bool, rng: Random) -> None:
    heard = Noise(0.0, LEXICON)(words, is_final, rng)
    assert (heard.text, heard.sure) == (" ".join(words), len(words))


def test_each_fault_befalls_its_share_and_a_seed_repeats_it() -> None:
    noise = Noise(0.5, LEXICON, plain=0.4, cut=1.0, misheard=0.0, closed=0.0, dropped=0.0, doubled=0.0)
    words = ["On", "the", "Indian", "house"]
    heard = [noise(words, False, Random(seed)) for seed in range(2000)]
    assert heard == [noise(words, False, Random(seed)) for seed in range(2000)]
    assert sum(one.sure == 3 for one in heard) / 2000 == pytest.approx(0.5, abs=0.05)
    assert sum(one.text.islower() for one in heard) / 2000 == pytest.approx(0.5 * 0.4 * 0.75, abs=0.03)
