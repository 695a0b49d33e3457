"""Pairs with the table of what their prefixes support."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.training.pairs import Pair, by_alignment, by_proportion, joined
from operators.training.pieces import pieces
from tests.operators.training.test_alignment import aligner, corpus

PAIRS = [
    Pair.of("I have read the book.", "Ich habe das Buch gelesen.", [1, 2, 2, 2, 5], "de"),
    Pair.of("Well, come in!", "Na, komm herein!", [1, 2, 3], "de"),
    Pair.of("Thanks.", "Danke.", [1], "de"),
]

texts = st.text("aZ .ー漢かカ、ñ5", max_size=30)


@given(texts, st.sampled_from(["de", "ja", "zh"]))
def test_pieces_put_together_are_the_text(text: str, language: str) -> None:
    assert "".join(pieces(text, language)) == " ".join(text.split())


def test_words_are_the_pieces_where_there_are_spaces_and_characters_where_there_are_none() -> None:
    assert pieces(" Das  ist gut. ", "de") == ["Das", " ist", " gut."]
    assert pieces("Tom Smithは コーヒーだ。", "ja") == ["Tom", " Smith", "は", " コーヒー", "だ", "。"]


@pytest.mark.parametrize("table", [[1, 2], [1, 3, 2], [1, 2, 4], []])
def test_a_table_that_does_not_fit_its_texts_is_an_error(table: list[int]) -> None:
    with pytest.raises(ValueError, match="does not fit"):
        Pair.of("Well, come in!", "Na, komm herein!", table, "de")


def test_a_prefix_may_end_in_the_second_sentence() -> None:
    pair = joined([PAIRS[2], PAIRS[0], PAIRS[1]])
    assert [pair.prefix(words) for words in range(10)] == [
        "",
        "Danke.",
        "Danke. Ich",
        "Danke. Ich habe",
        "Danke. Ich habe",
        "Danke. Ich habe",
        "Danke. Ich habe das Buch gelesen.",
        "Danke. Ich habe das Buch gelesen. Na,",
        "Danke. Ich habe das Buch gelesen. Na, komm",
        "Danke. Ich habe das Buch gelesen. Na, komm herein!",
    ]


def test_what_is_not_closed_yet_is_not_closed_and_nothing_ends_with_a_space() -> None:
    pair = Pair.of("Nobody knows, I think so", "Niemand weiß es, denke ich.", [1, 3, 3, 3, 5], "de")
    # The comma stays once it was heard, although the source goes on without more of the target.
    assert [pair.prefix(words) for words in range(1, 6)] == [
        "Niemand",
        "Niemand weiß es,",
        "Niemand weiß es,",
        "Niemand weiß es,",
        "Niemand weiß es, denke ich.",
    ]


def test_scripts_without_spaces_are_joined_without_any() -> None:
    pair = Pair.of("Thanks.", "谢谢。", [3], "zh")
    assert joined([pair, pair], separator="").prefix(2) == "谢谢。谢谢。"


def test_proportional_pairs_grow_evenly_and_empty_ones_are_left_out() -> None:
    (pair,) = by_proportion([("One two three four", "Eins zwei"), ("", "x"), ("x", " ")], "de")
    assert [pair.prefix(words) for words in range(1, 5)] == ["", "Eins", "Eins", "Eins zwei"]


@aligner
def test_aligned_pairs_hold_the_verb_back_and_take_sentences_one_by_one() -> None:
    texts = [(" ".join(source), " ".join(target)) for source, target in corpus()]
    *_, last = by_alignment([*texts, ("", ""), (f"Yes. {texts[0][0]}", f"Ja. {texts[0][1]}")], "de")
    assert texts[0] == ("I saw a house yesterday.", "Ich hat gestern ein Haus gesehen.")
    prefixes = [last.prefix(words) for words in range(1, 7)]
    assert prefixes[:3] == ["Ja.", "Ja. Ich", "Ja. Ich"]
    assert prefixes[-1] == "Ja. Ich hat gestern ein Haus gesehen."


words = st.lists(st.sampled_from(["a", "b,", "c.", "d?", "–", "„e“", "3"]), min_size=1, max_size=8)


@given(words, words, st.data())
def test_a_longer_prefix_only_ever_adds_to_what_stands(
    source: list[str], target: list[str], data: st.DataObject
) -> None:
    length = st.integers(0, len(target))
    table = sorted(data.draw(st.lists(length, min_size=len(source) - 1, max_size=len(source) - 1)))
    pair = Pair.of(" ".join(source), " ".join(target), [*table, len(target)], "de")
    prefixes = [pair.prefix(count) for count in range(len(source) + 1)]
    assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(prefixes))
    assert prefixes[-1] == " ".join(target)
    assert not any(prefix.endswith(" ") for prefix in prefixes)
