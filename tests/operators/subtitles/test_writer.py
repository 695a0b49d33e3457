"""From captions to cues: what is held, what is settled, and the rules whatever comes."""

import pickle
from collections.abc import Sequence
from itertools import pairwise

import regex
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from operators.events import Caption, Partial
from operators.languages import Direction
from operators.subtitles.timing import GAP_MS, MAX_CUE_MS, MIN_CUE_MS, Cue, Speech
from operators.subtitles.writer import Shown, SubtitleWriter, WriterState
from operators.text import cleaned, width
from tests.subtitled import any_captions, caption, partial

SHOWN: tuple[Shown, ...] = ("source", "target", "both")
LONG = "Die Führung beginnt um zehn Uhr in der großen Halle."  # read in 3 s


def writer(shown: Shown = "target", state: WriterState | None = None) -> SubtitleWriter:
    return SubtitleWriter(shown, Direction.of("en", "de"), state)


def written(captions: Sequence[Caption | Partial], shown: Shown = "target") -> list[Cue]:
    one = writer(shown)
    return one.take(captions) + one.release()


def test_a_final_is_held_until_it_is_known_how_long_it_may_stay() -> None:
    one = writer()
    assert one.take([caption(LONG, 0, 1)]) == []
    (cue,) = one.take([caption("Ja", 2, 2.5, is_final=False)])
    assert (cue.start_ms, cue.end_ms) == (0, 2000 - GAP_MS)
    assert one.release() == []


def test_cues_of_a_sentence_with_a_pause_follow_its_words() -> None:
    spoken = [
        caption("Die Führung", 0, 3, source="x" * 36, is_final=False),
        caption("Die Führung", 0, 5.5, source="x" * 38, is_final=False),
        caption(f"{LONG} {LONG}", 0, 9, source="x" * 80),
    ]
    (_, second) = written(spoken)
    assert 5400 <= second.start_ms <= 5800, "behind the pause, not at half of the time"
    (_, second) = written(spoken[2:])
    assert second.start_ms == 4500 + GAP_MS // 2, "in proportion to its length where nobody knows"


def test_what_is_said_so_slowly_that_no_cue_may_stay_is_cut() -> None:
    assert len(written([caption(LONG, 0, 7)])) == 1
    assert len(written([caption(LONG, 0, 7.001)])) == 2


def test_as_many_unfinished_sentences_as_may_be_open_are_remembered_the_newest_ones() -> None:
    one = writer()
    for segment in range(20):
        one.take([partial("Die", segment, segment + 1, segment=segment)])
    assert list(one.state.heard) == [f"talk/{segment}" for segment in range(4, 20)]


def test_unfinished_captions_and_empty_ones_are_no_subtitles() -> None:
    one = writer()
    assert one.take([caption(is_final=False), caption(" \u200b\u00a0"), caption("")]) == []
    assert one.release() == []


def test_silence_settles_what_is_held_and_not_while_speech_is_heard() -> None:
    one = writer()
    assert one.due_s is None
    one.take([caption(LONG, 0, 1)])
    assert one.due_s == 8
    one.take([partial("And", 1.5, 9, segment=1)])
    assert one.due_s == 9 + 5
    one.take([caption("Ja.", 1.5, 9.5, segment=1)])
    assert one.due_s == 9.5 + 5


def test_a_cue_ends_before_the_next_speech_however_late_that_is_translated() -> None:
    (first, second) = written([caption(LONG, 0, 1), caption("Ja.", 2.5, 9, ready_s=60)])
    assert (first.end_ms, second.start_ms) == (2500 - GAP_MS, 2500)


@given(st.lists(st.tuples(st.integers(1, 2), st.floats(2.5, 9.0)), min_size=1, max_size=40))
def test_cues_lie_on_their_speech_at_any_rate_of_speech(sentences: list[tuple[int, float]]) -> None:
    finals, at_s = list[Caption](), 0.0
    for number, (length, spoken_s) in enumerate(sentences):
        text, end_s = f"{number}. {LONG * length}", at_s + spoken_s
        finals.append(caption(text, at_s, end_s, segment=number, ready_s=at_s + 60))
        at_s = end_s
    begins = {cue.lines[0].split(".")[0]: cue.start_ms for cue in reversed(written(finals))}
    for number, final in enumerate(finals):
        assert abs(begins[str(number)] - 1000 * final.start_s) <= 1


def test_words_recognised_later_than_they_were_said_do_not_move_the_text_behind_them() -> None:
    # Ten seconds of speech, of which only the first words were recognised until the end.
    late = partial("x" * 10, 0, 9.9)
    whole = caption(f"{LONG} {LONG}", 0, 10, source="x" * 120)
    assert written([late, whole]) == written([whole])


def test_captions_of_several_languages_have_the_times_of_one() -> None:
    heard = [partial("x" * 36, 0, 3), partial("x" * 38, 0, 5.5)]
    alone = caption(f"{LONG} {LONG}", 0, 9, source="x" * 80)
    one_of_several = replace(alone, language="de")
    assert written([*heard, one_of_several]) == written([*heard, alone]) != written([alone])


def test_the_source_or_both_can_be_shown() -> None:
    cues = [written([caption("Hal", source="Hello.", withheld="lo.")], shown) for shown in SHOWN]
    assert [cue.lines for (cue,) in cues] == [("Hello.",), ("Hallo.",), ("Hello.", "Hallo.")]


def test_the_state_is_small_and_goes_on_where_it_was() -> None:
    one = writer()
    one.take([caption(LONG, segment, segment + 1) for segment in range(100)])
    frozen = pickle.dumps(one.state)
    assert len(frozen) < 500
    resumed = writer(state=pickle.loads(frozen))
    more = [caption("Ja.", 100, 101)]
    assert resumed.take(more) + resumed.release() == one.take(more) + one.release()


def test_another_speaker_begins_with_the_first_cue_of_a_sentence_and_only_if_both_are_known() -> None:
    said = [("", "Ja."), ("1", "Ja."), ("", "Ja."), ("Anna", f"{LONG} {LONG}"), ("Anna", "Ja."), ("1", "Ja.")]
    cues = written([caption(text, 9 * at, 9 * at + 9, speaker=who) for at, (who, text) in enumerate(said)])
    assert [(cue.speaker, cue.is_turn) for cue in cues] == [
        ("", False), ("Sprecher 1", False), ("", False), ("Anna", True), ("Anna", False), ("Anna", False),
        ("Sprecher 1", True),
    ]  # fmt: skip


def squeezed(text: str) -> str:
    return regex.sub(r"[\s\u202a-\u202c]", "", text)


@given(any_captions)
def test_whatever_comes_cues_follow_each_other_and_all_text_is_there(captions: list[Caption]) -> None:
    cues = written(captions)
    assert all(later.start_ms - earlier.end_ms >= GAP_MS for earlier, later in pairwise(cues))
    assert all(MIN_CUE_MS <= cue.end_ms - cue.start_ms <= MAX_CUE_MS for cue in cues)
    assert all(0 <= width(line.strip("\u202a\u202b\u202c")) <= 42 for cue in cues for line in cue.lines)
    assert all(1 <= len(cue.lines) <= 2 for cue in cues)
    # A dash comes before the first line.
    assert all(width(f"- {cue.lines[0]}".strip("\u202a\u202b\u202c")) <= 44 - 2 * cue.is_turn for cue in cues)
    said = "".join(squeezed(cleaned(one.text)) for one in captions if one.is_final)
    assert squeezed("".join(line for cue in cues for line in cue.lines)) == said


@given(any_captions, st.integers(0, 8), st.sampled_from(SHOWN))
def test_what_is_written_does_not_depend_on_how_captions_come_together(
    captions: list[Caption], place: int, shown: Shown
) -> None:
    one = writer(shown)
    cues = one.take(captions[:place])
    other = writer(shown, pickle.loads(pickle.dumps(one.state)))
    due_s, later = other.due_s, captions[place:]
    names = {"source": ["source"], "target": ["text"], "both": ["source", "text"]}[shown]
    spoken = [it for it in later if any(cleaned(getattr(it, name)).strip() for name in names)]
    if due_s is not None and (
        not spoken or Speech.at(spoken[0].start_s, spoken[0].end_s).start_ms > 1000 * due_s
    ):
        cues += other.release()
    cues += other.take(later) + other.release()
    assert cues == written(captions, shown)
