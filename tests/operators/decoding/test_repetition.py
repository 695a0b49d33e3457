"""Where an output that repeats itself without end, or is too long, is cut."""

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from operators.decoding.acceptance import BiasedAcceptance
from operators.decoding.forward import Logits
from operators.decoding.pieces import last_word_end, textless
from operators.decoding.repetition import (
    FIGURE_TOKENS,
    MAX_PERIOD,
    TIMES,
    TOKENS,
    repeats,
    repetition,
    said_again,
)
from operators.decoding.ssbd import retranslate, ssbd
from operators.model_errors import ErrorKind
from tests.toy import ScriptedCache, prompts, row_of, run, tokens, toy_task


@given(
    st.lists(st.integers(1, 3), max_size=8),
    st.lists(st.integers(4, 40), min_size=1, max_size=MAX_PERIOD, unique=True),
)
def test_what_is_said_over_and_over_is_kept_once(lead: list[int], loop: list[int]) -> None:
    times = max(TIMES, -(-TOKENS // len(loop)))
    tokens = lead + loop * times
    if repetition(lead) is None:
        assert repetition(tokens) == len(lead) + len(loop)
        assert repetition(tokens[:-1]) is None


@given(
    st.lists(st.integers(1, 3), max_size=4), st.lists(st.integers(4, 9), min_size=1, max_size=4, unique=True),
    st.integers(3, 8),
)  # fmt: skip
def test_a_phrase_may_be_repeated_as_often_as_a_speaker_repeats_one(
    lead: list[int], phrase: list[int], times: int
) -> None:
    spoken = lead + phrase * times
    assert repeats(spoken) >= times
    assert repetition(spoken, times=repeats(spoken) + 2) is None
    assert repetition(lead + phrase * 40, times=repeats(spoken) + 2) is not None


@given(st.lists(st.integers(1, 2), max_size=40), st.integers(0, 40))
def test_looking_in_two_goes_finds_what_one_go_finds(tokens: list[int], middle: int) -> None:
    first = repetition(tokens[:middle])
    assert repetition(tokens) == (
        first if first is not None else repetition(tokens, min(middle, len(tokens)))
    )


def cut(text: str, *, size: int = 1, least: int = FIGURE_TOKENS) -> str | None:
    """What is left of a text whose tokens are ``size`` bytes each; None if it has no repetition."""
    pieces = [text.encode()[at : at + size] for at in range(0, len(text.encode()), size)]
    ids = sorted(set(pieces))
    kept = repetition([ids.index(one) for one in pieces], 0, lambda token: ids[token], least)
    return None if kept is None else b"".join(pieces[:kept]).decode("utf-8", "replace")


@pytest.mark.parametrize(
    "text",
    [
        "255.255.255.255, which is wrong",
        "0.3333333333333, as you know",
        "2001:0db8:0000:0000:0000:0000:0000:0001",
        "+49 111 111 111 111",
        "10, 10, 10, 10, 10, 10",
        "１，０００，０００",
        "٣٫٣٣٣٣٣٣٣٣٣٣٣٣٣",
        "一九一九一九一九一九",
    ],
)
def test_a_figure_is_no_repetition(text: str) -> None:
    assert cut(text) is None


@given(st.integers(0, 10**15), st.sampled_from(["", ",", ".", " ", "\u202f", "'"]))
@example(10**15, ",")
def test_a_number_in_any_spelling_is_whole(number: int, separator: str) -> None:
    assert cut(f"{number:,}".replace(",", separator) + " things") is None


@given(st.text("0123456789.,: -", min_size=1, max_size=6), st.integers(FIGURE_TOKENS, 100))
def test_figures_without_end_are_cut_in_the_end(loop: str, least: int) -> None:
    assert cut("It is " + loop * (least + TIMES), least=least) is not None


@pytest.mark.parametrize("text", ["ha" * 20, "-" * 20, "and 5 and 5 and 5 and 5", "三十年，三十年，三十年，"])
def test_what_is_not_only_digits_is_still_a_repetition(text: str) -> None:
    assert cut(text) is not None


def test_what_is_kept_of_a_repetition_ends_with_a_whole_word() -> None:
    # The repetition begins within a word, because what precedes it ends in the same way.
    assert cut("bad leather good weather good weather good weather") == "bad leather good weather"
    assert cut("悪天気が良い天気が良い天気が良い天気が良い", size=3) == "悪天気が良い"
    assert cut("いいえ、いいえ、いいえ、いいえ、", size=3) == "いいえ、"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("nur für gute Verteil", "nur für gute"),
        ("nur für gute Verteilung.", "nur für gute Verteilung."),
        ("es kostet 1 000 0", "es kostet"),
        ("es sind 1.", "es sind"),
        ("公司售出十", "公司售出"),
        ("田纳西州立大学主教练罗德·", "田纳西州立大学主教练罗德"),
        ("私はスーパ", "私は"),
        ("日曜日に食べ", "日曜日に"),
    ],
)
def test_an_answer_is_cut_between_words(text: str, kept: str) -> None:
    # One byte a token, so that no character may be cut either.
    tokens = list(text.encode())
    assert bytes(tokens[: last_word_end(tokens, lambda token: bytes([token]))]).decode() == kept


PIECES = (b"", b" a", b"b", b"1", b".", b" ", "三".encode())


@given(prompts, tokens, st.integers(1, 30))
def test_an_answer_that_is_too_long_is_cut_between_words_whatever_its_draft_was(
    prompt: list[int], draft: list[int], limit: int
) -> None:
    task = toy_task(prompt, draft, limit)._replace(piece=PIECES.__getitem__)
    want, _ = run(retranslate(task))
    got, _ = run(ssbd(task, BiasedAcceptance(0.0)))
    assert (got.tokens, got.cut, len(got.origins)) == (want.tokens, want.cut, len(want.tokens))
    if want.cut is ErrorKind.LONG_ANSWER:
        whole, _ = run(retranslate(task._replace(piece=textless)))
        assert len(whole.tokens) == limit
        assert want.tokens == whole.tokens[: last_word_end(whole.tokens, task.piece)]


def test_a_decoder_that_is_stuck_stops_early() -> None:
    def says_two_words(prefix: Sequence[int]) -> Logits:
        return row_of(7, {1 + len(prefix) % 2: 9.0})

    decoded, cost = run(retranslate(toy_task([1], limit=200)), ScriptedCache(says_two_words))
    assert (decoded.tokens, cost.passes) == ((2, 1), TOKENS)


@pytest.mark.parametrize(
    ("text", "begin"),
    [
        ("Good. It was bad. It was bad. ", "It was bad. It"),
        ("Good, it was bad, IT WAS BAD; ", "it was bad, IT"),
        # What the last word is, only what stands behind it tells.
        ("Good. It was bad. It was bad", None),
        ("It was. It was. ", None),
        ("It was the age. It was the day. ", None),
        ("It was bad. And it was bad. ", None),
        ("Call 12 34 56 12 34 56 ", None),
        ("The U.S. Army, the U.S. Army. ", "The U.S."),
    ],
)  # fmt: skip
@given(st.integers(1, 4))
def test_a_phrase_of_words_is_said_again_whatever_its_marks(text: str, begin: str | None, size: int) -> None:
    pieces = [text.encode()[at : at + size] for at in range(0, len(text), size)]
    found = said_again(range(len(pieces)), pieces.__getitem__)
    assert (found is None) == (begin is None)
    if found is not None and begin is not None:
        assert found * size < text.index(begin) + size
        assert not any(map(str.isalnum, text[found * size : text.index(begin)]))
