"""Where a pair of several sentences is taken apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.training.sentences import matching


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


words = st.lists(st.sampled_from(["a", "b.", "c!", "…", "1."]), max_size=8)


@given(words, words)
def test_no_word_is_lost(source: list[str], target: list[str]) -> None:
    lengths = matching(source, target)
    assert (sum(n for n, _ in lengths), sum(m for _, m in lengths)) == (len(source), len(target))
