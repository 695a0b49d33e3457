"""Word alignment: what a small corpus with known answers must give, and what a lexicon keeps of it."""

import itertools
import platform
import sys
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

from operators.errors import UsageError
from operators.glossary import Translation
from operators.training.alignment import LinkedPair, align, lexicon_entries

aligner = pytest.mark.skipif(
    sys.platform == "linux" and platform.machine() != "x86_64",
    reason="Thot has wheels for other machines only",
)

SUBJECTS = {"I": "Ich", "Tom": "Tom", "The dog": "Der Hund", "My mother": "Meine Mutter"}
VERBS = {"saw": "gesehen", "bought": "gekauft", "found": "gefunden", "lost": "verloren"}
OBJECTS = {
    "a house": "ein Haus",
    "the car": "das Auto",
    "three books": "drei Bücher",
    "the key": "den Schlüssel",
}
TIMES = {"yesterday": "gestern", "today": "heute", "on Monday": "am Montag"}


def corpus() -> Iterator[tuple[list[str], list[str]]]:
    """Sentences whose German verb stands at the end."""
    for (s, subject), (v, verb), (o, thing), (t, time) in itertools.product(
        SUBJECTS.items(), VERBS.items(), OBJECTS.items(), TIMES.items()
    ):
        yield f"{s} {v} {o} {t}.".split(), f"{subject} hat {time} {thing} {verb}.".split()


@aligner
def test_words_are_aligned_across_reordering_case_and_punctuation() -> None:
    pairs = list(corpus())
    # Of words that always come together, as "the key" does, nothing tells which one is which.
    dictionary = {**VERBS, "I": "Ich", "Tom": "Tom", "yesterday": "gestern", "today": "heute"}
    for (source, target), links in zip(pairs, align(pairs), strict=True):
        assert links.dtype == np.int32
        linked = {(source[i].strip("."), target[j].strip(".")) for i, j in links}
        known = [word for word in (word.strip(".") for word in source) if word in dictionary]
        assert {link for link in linked if link[0] in known} == {(word, dictionary[word]) for word in known}


@aligner
def test_a_seed_gives_the_same_links_again_and_progress_rises_to_one() -> None:
    pairs = list(corpus())[:20]
    shares: list[float] = []
    once, again = align(pairs, seed=3, progress=shares.append), align(pairs, seed=3)
    assert all(np.array_equal(a, b) for a, b in zip(once, again, strict=True))
    assert shares == sorted(shares)
    assert shares[-1] == 1


@aligner
def test_pairs_without_words_get_no_links_and_disturb_nobody() -> None:
    strange = [
        ([], ["x"]),
        (["…"], ["Haus"]),
        (["a"] * 1500, ["b"]),
        ([""], [""]),
        (["Haus", "–"], ["–", "Haus"]),
    ]
    *nothing, dash = align([*strange, *list(corpus())[:20]])[: len(strange)]
    assert [links.shape for links in nothing] == [(0, 2)] * 4
    assert dash.tolist() in ([[0, 1]], [])


def test_without_the_extra_the_user_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "thot.alignment", None)
    with pytest.raises(UsageError, match=r"surtitle\[train\]"):
        align([(["a"], ["b"])])


def pair(source: str, target: str, *links: tuple[int, int]) -> LinkedPair:
    pieces = [" " * (place > 0) + word for place, word in enumerate(target.split())]
    return LinkedPair(source.split(), pieces, np.array(sorted(links), np.int32).reshape(-1, 2))


@cache
def filler() -> list[LinkedPair]:
    """So many other words that none of the few below is common."""
    return [pair(f"word{number}", f"Wort{number}") for number in range(40_000)]


def entries(*pairs: LinkedPair) -> dict[str, list[Translation]]:
    found = lexicon_entries([*filler(), *pairs])
    return {phrase: list(each) for phrase, each in found.items() if not phrase.startswith("word")}


def test_inflected_forms_are_kept_apart_with_their_probabilities() -> None:
    found = entries(
        *[pair("The cat's", "Die Katze.", (0, 0), (1, 1))] * 2,
        *[pair("cats!", "zwei Katzen", (0, 1))] * 3,
        *[pair("cats", "viele Kater", (0, 1))] * 2,
    )
    assert found["cat"] == [Translation("Katze", 1.0)]
    assert found["cats"] == [Translation("Katzen", 0.6), Translation("Kater", 0.4)]


def test_a_phrase_of_adjacent_words_is_one_translation_and_a_compound_of_two_words_is_none() -> None:
    found = entries(
        *[pair("sleeps", "er schläft ein", (0, 1), (0, 2))] * 2,
        *[pair("food prices", "die Lebensmittelpreise", (0, 1), (1, 1))] * 2,
    )
    assert found == {"sleeps": [Translation("schläft ein", 1.0)]}


def test_common_words_have_no_translations_and_chance_is_left_out() -> None:
    common = [pair("the", "die", (0, 0))] * 20
    chance = pair("vial", "die", (0, 0))
    assert entries(*common, chance) == {"the": []}
    rare = pair("the vial", "die Phiole", (0, 0), (1, 1))
    assert entries(*common, rare) == {"the": [], "vial": [Translation("Phiole", 1.0)]}
    assert "the list" not in entries(*common, pair("the-list", "Die-Liste", (0, 0)))
