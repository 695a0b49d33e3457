"""From captions to cues: what is held, what is settled, and the rules whatever comes."""

import pickle
from itertools import pairwise
from typing import Any

import regex
from hypothesis import given
from hypothesis import strategies as st

from operators.events import Caption
from operators.subtitles.timing import GAP_MS, MAX_CUE_MS, MIN_CUE_MS, Cue
from operators.subtitles.writer import Columns, Shown, SubtitleWriter
from operators.text import cleaned, width
from tests.subtitled import any_captions, caption

LONG = "Die Führung beginnt um zehn Uhr in der großen Halle."  # read in 3 s


def writer(shown: Shown = "target", state: Any = None) -> SubtitleWriter:
    return SubtitleWriter(shown, Columns(), state)


def written(captions: list[Caption], shown: Shown = "target") -> list[Cue]:
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


def test_the_last_final_is_written_at_the_end() -> None:
    (cue,) = written([caption(LONG, 0, 1)])
    assert cue.end_ms == 3000


def test_unfinished_captions_and_empty_ones_are_no_subtitles() -> None:
    one = writer()
    assert one.take([caption(is_final=False), caption(" \u200b\u00a0"), caption("")]) == []
    assert one.release() == []


def test_an_empty_caption_cuts_nothing_short() -> None:
    assert written([caption(LONG, 0, 1), caption("", 1, 2)]) == written([caption(LONG, 0, 1)])


def test_silence_settles_what_is_held() -> None:
    one = writer()
    assert one.due_s is None
    one.take([caption(LONG, 0, 1)])
    assert one.due_s == 8
    one.take([caption("Ja.", 2, 7.5)])
    assert one.due_s == 7.5 + 5


def test_that_silence_has_passed_says_when_a_cue_is_written_and_not_what_is_in_it() -> None:
    first, late = caption(LONG, 0, 1), caption("Ja.", 2.5, 9, ready_s=9)
    one = writer()
    one.take([first])
    released = one.release()  # as the clock would have it at 8 s
    assert released + one.take([late]) + one.release() == written([first, late])
    (cue, _) = written([first, late])
    assert cue.end_ms == 3000


def test_the_source_or_both_can_be_shown() -> None:
    one = caption("Hallo.", source="Hello.")
    assert [cue.lines for cue in written([one], "source")] == [("Hello.",)]
    assert [cue.lines for cue in written([one], "target")] == [("Hallo.",)]
    assert [cue.lines for cue in written([one], "both")] == [("Hello.", "Hallo.")]


def test_a_withheld_tail_is_part_of_the_subtitle() -> None:
    assert [cue.lines for cue in written([caption("Hal", withheld="lo.")])] == [("Hallo.",)]


def test_streams_share_the_file_in_the_order_in_which_their_finals_come() -> None:
    cues = written([caption("Eins.", 0, 4), caption("Zwei.", 1, 3, stream="b"), caption("Drei.", 4, 5)])
    assert [cue.lines[0] for cue in cues] == ["Eins.", "Zwei.", "Drei."]
    assert [cue.start_ms for cue in cues] == [0, 1080, 4000]


def test_the_state_is_small_and_goes_on_where_it_was() -> None:
    one = writer()
    one.take([caption(LONG, segment, segment + 1) for segment in range(100)])
    frozen = pickle.dumps(one.state)
    assert len(frozen) < 500
    resumed = writer(state=pickle.loads(frozen))
    more = [caption("Ja.", 100, 101)]
    assert resumed.take(more) + resumed.release() == one.take(more) + one.release()


def squeezed(text: str) -> str:
    return regex.sub(r"[\s\u202a-\u202c]", "", text)


@given(any_captions)
def test_whatever_comes_cues_follow_each_other_and_all_text_is_there(captions: list[Caption]) -> None:
    cues = written(captions)
    assert all(later.start_ms - earlier.end_ms >= GAP_MS for earlier, later in pairwise(cues))
    assert all(MIN_CUE_MS <= cue.end_ms - cue.start_ms <= MAX_CUE_MS for cue in cues)
    assert all(0 <= width(line.strip("\u202a\u202b\u202c")) <= 42 for cue in cues for line in cue.lines)
    assert all(1 <= len(cue.lines) <= 2 for cue in cues)
    said = "".join(squeezed(cleaned(one.text)) for one in captions if one.is_final)
    assert squeezed("".join(line for cue in cues for line in cue.lines)) == said


@given(any_captions, st.integers(0, 8), st.sampled_from(["source", "target", "both"]))
def test_what_is_written_does_not_depend_on_how_captions_come_together(
    captions: list[Caption], place: int, shown: Shown
) -> None:
    one = writer(shown)
    cues = one.take(captions[:place])
    other = writer(shown, pickle.loads(pickle.dumps(one.state)))
    due_s, later = other.due_s, captions[place:]
    names = {"source": ["source"], "target": ["text"], "both": ["source", "text"]}[shown]
    spoken = [it for it in later if any(cleaned(getattr(it, name)).strip() for name in names)]
    if due_s is not None and (not spoken or spoken[0].ready_s > due_s):
        cues += other.release()
    cues += other.take(later) + other.release()
    assert cues == written(captions, shown)
