"""Captions for the tests of subtitles: likely ones, and any that a hostile file could hold."""

from typing import Any

from hypothesis import strategies as st

from operators.events import Caption, Partial

HOSTILE = (
    "aé., !?-<>&{}\\\n\r\t\u2028\u00a0\u3000\u200b\u200d\u200f\u202e\x00\x1b[1m\ud800"
    "漢字かなカ、。\u05d0 ב \u0639👩\u200d👩\u200d👧한ก1"
)
any_text = st.text(st.sampled_from(HOSTILE), max_size=300) | st.text(st.characters(), max_size=60)
words = st.lists(st.text("abcdefgh", min_size=1, max_size=12), max_size=60).map(" ".join)
sentences = st.lists(st.sampled_from(["So it goes.", "Well,", "he said:", "it was the best of times", "No!"]))
any_time = st.floats(0, 60) | st.floats(0, allow_nan=False, allow_infinity=False) | st.just(0.0)


def caption(text: str = "Hallo.", start_s: float = 0.0, end_s: float = 1.0, **fields: Any) -> Caption:
    """A final, unless ``fields`` say otherwise."""
    given: dict[str, Any] = {
        "stream": "talk", "segment": 0, "revision": 0, "is_final": True, "source": "Hello.", "shown": text,
        "withheld": "", "arrival_s": end_s, "ready_s": end_s,
    }  # fmt: skip
    return Caption(start_s=start_s, end_s=end_s, **{**given, **fields})


def partial(text: str, start_s: float, end_s: float, segment: int = 0) -> Partial:
    """An unfinished partial of the same stream."""
    return Partial(
        stream="talk", segment=segment, revision=0, is_final=False, text=text, start_s=start_s, end_s=end_s,
        arrival_s=end_s,
    )  # fmt: skip


any_captions = st.lists(
    st.builds(
        caption,
        any_text | words | sentences.map(" ".join),
        any_time,
        any_time,
        source=any_text | words,
        is_final=st.booleans() | st.just(True),
        stream=st.sampled_from("ab"),
        ready_s=any_time,
        speaker=st.sampled_from(["", "1", "2", "Ben <i> & -->\n\n\x1b[2J{\\an8}", "אנה"]),
    ),
    max_size=8,
)
