"""What a lexicon keeps of aligned pairs."""

from functools import cache

import numpy as np

from operators.glossary import Translation
from operators.training.alignment import LinkedPair, lexicon_entries


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
