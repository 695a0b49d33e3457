"""What display-only mask-k shows and withholds."""

import time

import regex
from hypothesis import given
from hypothesis import strategies as st

from operators.events import Translation
from operators.stages.display import caption, mask_tail

pieces = st.lists(st.text("ab \u0301👍🏽\u200dक्", max_size=3), max_size=8).map(tuple)


def translation(pieces: tuple[str, ...], *, is_final: bool = False, is_stable: bool = False) -> Translation:
    return Translation(
        stream="s",
        segment=0,
        revision=0,
        is_final=is_final,
        source="",
        text="".join(pieces),
        tokens=tuple(range(len(pieces))),
        pieces=pieces,
        start_s=0,
        end_s=0,
        arrival_s=0,
        ready_s=0,
        is_stable=is_stable,
    )


def test_the_last_tokens_of_an_unfinished_translation_are_withheld() -> None:
    shown = caption(translation(("Das", " ist", " ein", " Haus")), 3)
    assert (shown.shown, shown.withheld) == ("Das", " ist ein Haus")


def test_a_final_shows_everything() -> None:
    assert caption(translation(("Das", " ist"), is_final=True), 3).shown == "Das ist"


def test_a_stable_translation_shows_all_words_but_not_the_stop_that_only_a_final_confirms() -> None:
    shown = caption(translation(("Das", " ist", " ein", " Haus", "."), is_stable=True), 3)
    assert (shown.shown, shown.withheld) == ("Das ist ein Haus", ".")


def test_with_mask_zero_everything_is_shown() -> None:
    assert caption(translation(("Das", " ist")), 0).withheld == ""


def test_a_word_is_never_cut_in_half() -> None:
    assert mask_tail(("Das", " Haus", "boot", " ist", " da"), 3) == len("Das")
    assert mask_tail(("Das", " Haus", "boot", " ist", " da"), 2) == len("Das Hausboot")


def test_a_script_without_spaces_is_cut_between_characters() -> None:
    assert mask_tail(("今日は", "良い", "天気", "です"), 2) == len("今日は良い")


def test_a_character_is_never_cut_in_half() -> None:
    assert mask_tail(("今日か", "\u3099"), 1) == len("今日")


@given(pieces, st.integers(0, 9), st.booleans())
def test_nothing_is_lost_and_no_cluster_is_split(
    pieces: tuple[str, ...], mask_k: int, is_final: bool
) -> None:
    shown = caption(translation(pieces, is_final=is_final), mask_k)
    text = "".join(pieces)
    assert shown.shown + shown.withheld == text
    boundaries = {0, *(match.end() for match in regex.finditer(r"\X", text))}
    assert len(shown.shown) in boundaries or shown.shown == text[: len(shown.shown)].rstrip()


@given(pieces, st.integers(0, 9))
def test_at_least_k_tokens_are_withheld(pieces: tuple[str, ...], mask_k: int) -> None:
    assert mask_tail(pieces, mask_k) <= len("".join(pieces[: max(0, len(pieces) - mask_k)]))


def test_flags_without_end_are_withheld_by_whole_flags_in_no_time() -> None:
    began = time.thread_time()
    assert mask_tail(("🇩🇪",) * 40_000, 3) == 2 * 39_997
    assert mask_tail(("🇩", "🇪", "🇫", "🇷"), 1) == 2
    assert time.thread_time() - began < 2
