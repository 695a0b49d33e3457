"""Pairs with the table of what their prefixes support."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.training.alignment import Alignment, pieces
from operators.training.pairs import (
    Pair,
    by_alignment,
    by_proportion,
    joined,
    joined_supports,
    matching,
    proportional,
    supports,
    unclosed,
    waits,
)
from tests.operators.training.test_alignment import aligner, corpus


def waiting(text: str, language: str = "de") -> set[tuple[str, str]]:
    words = text.split()
    return {
        (word, words[at]) for word, at in zip(words, waits(words, language), strict=True) if words[at] != word
    }


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("Ich sehe das Haus.", {("das", "Haus.")}),
        ("Das ist ein großes, altes Haus.", {("ein", "Haus.")}),
        ("Das weiß ich nicht.", set()),
        ("Die Frau, die ich sah, lacht.", {("Die", "Frau,")}),
        ("keine zwei guten Freunde", {("keine", "Freunde")}),
        ("Er geht in den Wald", {("in", "Wald"), ("den", "Wald")}),
        ("Er geht im Wald", {("im", "Wald")}),
        ("Er wohnt in Berlin", set()),
        ("am 5. Mai", {("am", "Mai"), ("5.", "Mai")}),
        ("Kennst du das? Tom fragt.", set()),
    ],
)
def test_a_german_article_waits_for_its_noun(text: str, pairs: set[tuple[str, str]]) -> None:
    assert waiting(text) == pairs


@pytest.mark.parametrize(
    ("language", "text", "pairs"),
    [
        ("fr", "Je vois la belle maison", {("la", "belle")}),
        ("fr", "toutes les autres", {("les", "autres")}),
        ("es", "Vio a los otros niños", {("los", "niños"), ("otros", "niños")}),
        ("ja", "家 を 見る", set()),
    ],
)
def test_other_languages_have_rules_of_their_own_or_none(
    language: str, text: str, pairs: set[tuple[str, str]]
) -> None:
    assert waiting(text, language) == pairs


@given(
    st.lists(st.sampled_from(["der", "in", "alte", "Haus", "5.", "…", "ein,", "die", "und"]), max_size=8),
    st.sampled_from(["de", "fr", "es", "zh"]),
)
def test_no_word_waits_for_one_before_it_or_for_none(words: list[str], language: str) -> None:
    for index, at in enumerate(waits(words, language)):
        assert index <= at < len(words)


@pytest.mark.parametrize(
    ("target", "heard", "left"),
    [
        ("Wie geht es dir?", ["you"], "Wie geht es dir"),
        ("Wie geht es dir?", ["you?"], "Wie geht es dir?"),
        ("Ich glaube,", ["believe"], "Ich glaube"),
        ("Hallo,", ["Hello,"], "Hallo,"),
        ("Hallo.", ["Hello,"], "Hallo"),
        ("Hallo,", ["Hello,", "my"], "Hallo,"),
        ("Er sagte: „", ["said"], "Er sagte"),
        ("5 %", ["percent"], "5 %"),
        ("今日は。", ["today"], "今日は"),
        ("…", ["well"], ""),
        ("", ["well"], ""),
    ],
)
def test_only_punctuation_that_was_heard_is_written(target: str, heard: list[str], left: str) -> None:
    assert unclosed(target, heard) == left


#: Source words, target words, links, and the word that each target word waits for.
Case = tuple[int, int, set[tuple[int, int]], list[int]]


@st.composite
def aligned(draw: st.DrawFn) -> Case:
    n, m = draw(st.integers(1, 12)), draw(st.integers(0, 12))
    link = st.tuples(st.integers(0, n - 1), st.integers(0, max(m - 1, 0)))
    links = draw(st.sets(link)) if m else set()
    decides = [draw(st.integers(j, m - 1)) for j in range(m)]
    return n, m, links, decides


def links_of(*links: tuple[int, int]) -> Alignment:
    return np.array(sorted(links), np.int32).reshape(-1, 2)


@given(aligned())
def test_more_of_a_source_never_supports_less_and_all_of_it_supports_everything(case: Case) -> None:
    n, m, links, decides = case
    table = supports(links_of(*links), n, m, decides)
    assert len(table) == n
    assert table == sorted(table)
    assert table[-1] == m


@given(aligned())
def test_no_word_is_supported_before_all_that_it_is_aligned_to_has_been_heard(case: Case) -> None:
    n, m, links, decides = case
    for heard, length in enumerate(supports(links_of(*links), n, m, decides), start=1):
        assert all(i < heard for i, j in links if j < length)
        if heard < n:
            assert all(decides[j] < length for j in range(length))


@given(aligned())
def test_the_supported_prefix_is_the_longest_one(case: Case) -> None:
    n, m, links, _ = case
    for heard, length in enumerate(supports(links_of(*links), n, m), start=1):
        if length < m:
            # The next word, or the one that it belongs to, is aligned to something that is yet to come.
            owner = next((j for j in range(length, m) if any(link[1] == j for link in links)), None)
            assert owner is None or any(i >= heard for i, j in links if length <= j <= owner)


@given(st.integers(1, 50), st.integers(0, 50))
def test_a_proportional_prefix_grows_evenly_up_to_everything(n: int, m: int) -> None:
    lengths = [proportional(n, m, i) for i in range(n + 1)]
    assert lengths == sorted(lengths)
    assert (lengths[0], lengths[-1]) == (0, m)
    assert all(abs(length - m * i / n) < 1 for i, length in enumerate(lengths))


@pytest.mark.parametrize("length", [-1, 4])
def test_a_prefix_longer_than_its_source_is_an_error(length: int) -> None:
    with pytest.raises(ValueError, match="a source of 3"):
        proportional(3, 3, length)


def test_without_any_link_nothing_is_said_before_the_end() -> None:
    assert supports(links_of(), 3, 4) == [0, 0, 4]


#: An article that is aligned, or not, is supported the same.
HOUSE = (0, 0), (1, 1), (3, 3), (4, 4), (5, 5)
#: How many words of the target each word of the source lets be said.
HOUSE_LENGTHS = 1, 2, 2, 2, 5, 6


@pytest.mark.parametrize(
    ("source", "target", "links", "lengths"),
    [
        ("I have read the book.", "Ich habe das Buch gelesen.",
         ((0, 0), (1, 1), (2, 4), (3, 2), (4, 3)), (1, 2, 2, 2, 5)),
        ("Nobody will notice, I suppose.", "Ich vermute, das merkt keiner.",
         ((3, 0), (4, 1), (2, 3), (0, 4)), (0, 0, 0, 1, 5)),
        ("I call you up tomorrow", "Ich rufe dich morgen an",
         ((0, 0), (1, 1), (2, 2), (3, 4), (4, 3)), (1, 2, 3, 3, 5)),
        ("I see the old house here", "Ich sehe das alte Haus hier", HOUSE, HOUSE_LENGTHS),
        ("I see the old house here", "Ich sehe das alte Haus hier", (*HOUSE, (2, 2)), HOUSE_LENGTHS),
        ("I read it yesterday", "Ich habe es gestern gelesen",
         ((0, 0), (2, 2), (3, 3), (1, 4)), (1, 1, 3, 5)),
    ],
    ids=[
        "a verb at the end waits and all before it does not",
        "what the source says last and the target first holds everything back",
        "a separated prefix of a verb comes with the end",
        "an article waits for its noun", "an aligned one too",
        "an unaligned auxiliary comes with what follows it",
    ],
)  # fmt: skip
def test_german_waits_for_what_a_word_depends_on(
    source: str, target: str, links: tuple[tuple[int, int], ...], lengths: tuple[int, ...]
) -> None:
    words = target.split()
    assert supports(links_of(*links), len(source.split()), len(words), waits(words, "de")) == list(lengths)


@given(st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=5).map(sorted), min_size=1, max_size=4))
def test_joined_tables_are_one_behind_the_other(tables: list[list[int]]) -> None:
    whole = joined_supports(tables)
    assert whole == sorted(whole)
    assert whole[-1] == sum(table[-1] for table in tables)
    assert whole[: len(tables[0])] == tables[0]


@pytest.mark.parametrize(
    ("source", "target", "lengths"),
    [
        ("Thanks. I know her.", "Danke. Ich kenne sie.", [(1, 1), (3, 3)]),
        ('"Really?" He laughed!', "„Wirklich?“ Er lachte!", [(1, 1), (2, 2)]),
        ("Yes. No", "Ja. Nein", [(1, 1), (1, 1)]),
        ("I know. You do not.", "Ich weiß, du nicht.", [(5, 4)]),
        ("J. Smith came on the 5. floor.", "J. Smith kam.", [(7, 3)]),
        ("Yes. " + "no " * 20 + "no.", "ja " * 20 + "ja. Nein.", [(22, 22)]),
    ],
)
def test_sentences_match_where_both_sides_have_as_many_of_like_length(
    source: str, target: str, lengths: list[tuple[int, int]]
) -> None:
    assert matching(source.split(), target.split()) == lengths


drawn_words = st.lists(st.sampled_from(["a", "b.", "c!", "…", "1."]), max_size=8)


@given(drawn_words, drawn_words)
def test_no_word_is_lost(source: list[str], target: list[str]) -> None:
    lengths = matching(source, target)
    assert (sum(n for n, _ in lengths), sum(m for _, m in lengths)) == (len(source), len(target))


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
