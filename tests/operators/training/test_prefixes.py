"""Which prefix of a target belongs to a prefix of its source."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.training.agreement import waits
from operators.training.alignment import Alignment
from operators.training.prefixes import joined_supports, proportional, supports

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
