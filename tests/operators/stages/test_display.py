"""What display-only mask-k shows and withholds."""

import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import regex
from bytewax import operators as op
from bytewax.dataflow import Dataflow
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.testing import TestingSink, TestingSource, run_main
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from operators.events import Caption, Translation
from operators.masking import MaskRule, mask_tail, visible_length
from operators.stages import display as stage
from operators.stages.display import caption, display

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
    assert caption(translation(("Das", " ist")), 0).withheld == ""
    assert caption(translation(("Das", " ist"), is_final=True), 3).shown == "Das ist"


def test_a_stable_translation_shows_all_words_but_not_the_stop_that_only_a_final_confirms() -> None:
    shown = caption(translation(("Das", " ist", " ein", " Haus", "."), is_stable=True), 3)
    assert (shown.shown, shown.withheld) == ("Das ist ein Haus", ".")


def test_a_word_that_was_shown_and_still_stands_is_not_withheld_again() -> None:
    shorter = translation(("Das", " ist", " ein", " Hausboot"))
    assert caption(shorter, 3, before="Das ist ein Haus").shown == "Das ist ein"
    assert caption(shorter, 3, before="Dies ist ein Haus").shown == "Das"
    assert caption(translation(("Gut", "."), is_stable=True), 3, before="Gut. Das").shown == "Gut."


#: What was shown, of which nothing stands.
OTHER = "\0"


@given(pieces, pieces, st.integers(0, 9), st.booleans())
def test_of_two_updates_the_second_shows_the_masked_text_and_each_word_that_stands(
    first: tuple[str, ...], second: tuple[str, ...], mask_k: int, is_stable: bool
) -> None:
    # No text begins with what joins a letter before it.
    assume("".join(first)[:1] not in tuple("\u0301🏽\u200d्"))
    masked = caption(translation(second, is_stable=is_stable), mask_k, OTHER).shown
    before = caption(translation(first), mask_k).shown
    if not before and not masked:
        # Viewers wait for the first words.
        masked = caption(translation(second, is_stable=is_stable), min(mask_k, 1), OTHER).shown
    shown = caption(translation(second, is_stable=is_stable), mask_k, before).shown
    assert shown.startswith(masked)
    assert shown == masked or before.startswith(shown)
    longer = caption(translation((*first, " ", *second)), 99, before).shown
    assert not before or longer == before.rstrip()


def test_the_papers_mask_withholds_exactly_so_many_tokens_whatever_stood_before() -> None:
    pieces = ("Es", " war", " gu", "t")
    rules: list[MaskRule] = ["tokens", "words", "steady"]
    ends = [visible_length(pieces, 1, "Es war gut", rule) for rule in rules]
    assert ["".join(pieces)[:end] for end in ends] == ["Es war gu", "Es war", "Es war gut"]
    stable = caption(translation(pieces, is_stable=True), 1, "Es war gut", "tokens")
    assert (stable.shown, stable.withheld) == ("Es war gu", "t")


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


def displayed(*given: Any, **how: Any) -> list[str]:
    flow, captions = Dataflow("test"), list[Caption]()
    up = op.input("in", flow, TestingSource(given, batch_size=2))
    op.output("out", display("display", up, 3), TestingSink(captions))
    run_main(flow, **how)  # type: ignore[no-untyped-call]  # Bytewax leaves it unannotated
    return [one.shown for one in captions]


LONG, SHORT = translation(("Es", " ist", " gut", ",", " so", " wie")), translation(("Es", " ist", " gut"))


def test_each_segment_of_each_stream_and_language_has_its_own_shown_text() -> None:
    for other in ({"segment": 1}, {"stream": "t"}, {"language": "de"}):
        assert displayed(LONG, replace(SHORT, **other), SHORT) in (
            ["Es ist gut", "Es ist", "Es ist gut"],
            # Bytewax sorts the streams of a batch.
            ["Es ist", "Es ist gut", "Es ist gut"],
        )


def test_a_final_frees_the_state_of_its_segment() -> None:
    final = replace(LONG, is_final=True)
    assert displayed(LONG, final, SHORT) == ["Es ist gut", "Es ist gut, so wie", "Es ist"]


def test_of_too_many_open_segments_the_one_updated_longest_ago_is_forgotten(monkeypatch: Any) -> None:
    monkeypatch.setattr(stage, "MAX_OPEN", 2)
    first, second, third = (replace(LONG, segment=number) for number in range(3))
    again = [replace(SHORT, segment=number) for number in (0, 2, 1)]
    assert displayed(first, second, first, third, *again)[4:] == ["Es ist gut", "Es ist gut", "Es ist"]


def test_a_resumed_run_knows_what_was_shown(tmp_path: Path) -> None:
    init_db_dir(tmp_path, 1)  # type: ignore[no-untyped-call]  # the same
    store = RecoveryConfig(tmp_path)  # type: ignore[no-untyped-call]  # the same
    given = (LONG, TestingSource.EOF(), SHORT)
    runs = [displayed(*given, recovery_config=store, epoch_interval=timedelta(0)) for _ in range(2)]
    assert runs == [["Es ist gut"], ["Es ist gut"]]
