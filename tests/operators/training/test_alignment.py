"""Word alignment: what a small corpus with known answers must give."""

import itertools
import platform
import sys
from collections.abc import Iterator

import numpy as np
import pytest

from operators.errors import UsageError
from operators.training.alignment import align

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
