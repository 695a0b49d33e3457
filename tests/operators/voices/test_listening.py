"""Who speaks in a segment depends on its sound, however the sound comes and however often one asks."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.events import SAMPLE_RATE, AudioChunk
from operators.recognizers.protocol import Hypothesis
from operators.voices.assigning import VoicesState
from operators.voices.listening import WINDOW, OnlySpeaker, VoiceListener, embedded
from operators.voices.protocol import Embedding, Samples
from tests.tiny_voices import Tones, voice

#: The tones of two "voices".
LOW, HIGH = 300.0, 1500.0


def chunk(sound: Samples, start_s: float = 0.0, odd: bytes = b"") -> AudioChunk:
    pcm = np.round(sound * 32767).astype("<i2").tobytes()
    return AudioChunk(stream="talk", start_s=start_s, pcm=pcm + odd)


def says(
    start_s: float, end_s: float, segment: int = 0, *, is_final: bool = False, is_doubtful: bool = False,
    text: str = "so",
) -> Hypothesis:  # fmt: skip
    return Hypothesis(
        segment=segment, text=text, is_final=is_final, is_doubtful=is_doubtful, start_s=start_s, end_s=end_s
    )


def listener(encoder: Tones | None = None, known: Sequence[tuple[str, Embedding]] = ()) -> VoiceListener:
    return VoiceListener(encoder or Tones(), VoicesState(), 100, known)


#: (tone, seconds): who speaks, one after the other.
TALK = [(LOW, 3.3), (HIGH, 5.0), (LOW, 1.3), (HIGH, 2.1), (LOW, 0.4), (LOW, 12.0), (HIGH, 1.61)]
SOUND = np.concatenate([voice(*one) for one in TALK])


def told(sizes: Sequence[int], every: int, encoder: Tones) -> list[str]:
    """The speakers of the talk's finals, in chunks of these samples, one after the other and again."""
    one, labels, ends = listener(encoder), list[str](), np.cumsum([seconds for _, seconds in TALK]).tolist()
    begin = number = 0
    while begin < len(SOUND):
        size = sizes[number % len(sizes)]
        one.hear(chunk(SOUND[begin : begin + size], begin / SAMPLE_RATE))
        begin, number = begin + size, number + 1
        now_s = min(begin, len(SOUND)) / SAMPLE_RATE + 1e-6
        while len(labels) < len(TALK) and (end_s := ends[len(labels)]) <= now_s:
            segment = len(labels)
            labels.append(one.speaker(says(end_s - TALK[segment][1], end_s, segment, is_final=True)))
        if number % every == 0 and len(labels) < len(TALK):
            start_s = ends[len(labels)] - TALK[len(labels)][1]
            if now_s > start_s:
                one.speaker(says(start_s, now_s, len(labels)))
    return labels


@given(st.lists(st.integers(500, 40_000), min_size=1, max_size=4), st.integers(1, 50))
def test_labels_do_not_depend_on_chunks_and_each_window_is_embedded_once(
    sizes: list[int], every: int
) -> None:
    encoder = Tones()
    assert told(sizes, every, encoder) == ["1", "2", "1", "2", "", "1", "2"]
    windows = [sound for sound in encoder.heard if len(sound) == 4 * WINDOW]
    assert len(windows) == len(set(windows)) <= 25


def test_a_voice_is_told_from_1_2_s_on_and_somebody_new_from_2_4() -> None:
    one = listener()
    one.hear(chunk(SOUND[: 5 * SAMPLE_RATE]))
    assert [one.speaker(says(0.0, end_s)) for end_s in (0.4, 2.3, 2.4, 3.2)] == ["", "", "1", "1"]
    assert one.speaker(says(0.0, 3.3, is_final=True)) == "1"
    one.hear(chunk(voice(LOW, 2.0), 5.0))
    assert [one.speaker(says(5.0, end_s, 1)) for end_s in (6.1, 6.2)] == ["", "1"]


@pytest.mark.parametrize(("gap_s", "label"), [(0.3, "1"), (5.0, "1"), (60.0, ""), (-0.9, "")])
def test_a_segment_that_ends_at_a_gap_has_its_speaker_or_none(gap_s: float, label: str) -> None:
    one = listener()
    one.hear(chunk(voice(LOW, 4.0), 100.0))
    one.speaker(says(100.0, 101.0))
    after_s = 104.0 + gap_s
    one.hear(chunk(voice(HIGH, 3.0), after_s))
    assert one.speaker(says(100.0, 100.1 if gap_s < 0 else 104.0, is_final=True)) == label
    assert one.speaker(says(after_s, after_s + 3.0, 1, is_final=True)) == ("2" if label else "1")
    assert one.state.voices[-1].seconds == pytest.approx(3.0), "all of it was heard"


def test_after_the_clock_went_back_other_sound_is_heard_there() -> None:
    one = listener()
    one.hear(chunk(voice(LOW, 4.0), 100.0))
    assert one.speaker(says(100.0, 104.0, is_final=True)) == "1"
    one.hear(chunk(voice(HIGH, 4.0), 100.0))
    assert one.speaker(says(100.0, 104.0, 1, is_final=True)) == "2"


@pytest.mark.parametrize(("end_s", "windows"), [(0.4, 0), (0.5, 1), (2.0, 1), (2.1, 2), (2.4, 2)])
def test_the_rest_of_a_segment_is_looked_at_if_it_is_long(end_s: float, windows: int) -> None:
    encoder = Tones()
    one = listener(encoder)
    one.hear(chunk(voice(LOW, 4.0)))
    one.speaker(says(0.0, end_s, is_final=True))
    assert len(encoder.heard) == windows


def test_where_another_voice_begins_is_found_without_a_pause_and_each_part_has_its_own() -> None:
    encoder = Tones()
    one = listener(encoder)
    one.hear(chunk(SOUND[: 8 * SAMPLE_RATE]))
    moments = [3.2, 4.0, 4.8, 8.0]
    spans = [one.change(0.0, moment_s) for moment_s in moments]
    assert [span is not None for span in spans] == [False, False, True, True]
    assert spans[2] == spans[3]
    assert spans[3] is not None
    assert spans[3].begin_s < 3.3 < spans[3].end_s
    count = len(encoder.heard)
    assert one.speaker(says(0.0, 3.2, is_final=True)) == "1"
    assert len(encoder.heard) == count, "its windows were looked at for the change"
    assert one.speaker(says(3.3, 8.0, 1, is_final=True)) == "2"
    assert one.change(3.3, 30.0) is None
    one.hear(chunk(voice(LOW, 40.0), 8.0))
    assert one.change(8.0, 48.0) is None, "the beginning is no longer kept"


def test_rounding_of_the_clock_is_no_gap() -> None:
    one = listener()
    for number in range(100):
        one.hear(chunk(voice(LOW, 0.1), number * 0.1004))
    assert one.speaker(says(0.0, 9.9, is_final=True)) == "1"
    assert one.state.voices[0].seconds == pytest.approx(9.9, abs=0.1)


def test_of_a_segment_longer_than_20_s_the_newest_sound_tells_who_speaks() -> None:
    one = listener()
    one.hear(chunk(np.concatenate((voice(LOW, 40.0), voice(HIGH, 30.0)))))
    one.hear(chunk(voice(HIGH, 0.5), 70.0))
    assert one.speaker(says(0.0, 70.5, is_final=True)) == "1"
    assert one.state.voices[0].seconds == 10.0
    one.hear(chunk(np.concatenate((voice(HIGH, 3.0), voice(LOW, 3.0))), 70.5))
    assert one.speaker(says(70.5, 73.5, 1, is_final=True)) == "1"
    assert one.speaker(says(73.5, 76.5, 2, is_final=True)) == "2"


def test_what_was_not_heard_counts_for_nothing() -> None:
    one = listener()
    assert one.speaker(says(0.0, 9.0, is_final=True)) == ""
    one.hear(chunk(voice(LOW, 3.0), 100.0, odd=b"\0"))
    one.hear(AudioChunk(stream="talk", start_s=103.0, pcm=b""))
    assert one.speaker(says(103.0, 103.0, 1, is_final=True)) == ""
    assert one.state.voices == []
    assert one.speaker(says(90.0, 109.0, 2, is_final=True)) == "1"
    assert one.state.voices[0].seconds == pytest.approx(3.0)


def test_sound_without_words_has_no_voice() -> None:
    one = listener()
    one.hear(chunk(np.concatenate((voice(LOW, 4.0), voice(HIGH, 4.0)))))
    assert [one.speaker(says(0.0, 4.0, text=" ", is_final=ends)) for ends in (False, True)] == ["", ""]
    assert one.speaker(says(0.0, 4.0, 1)) == "1"
    assert one.speaker(says(0.0, 4.0, 1, text="", is_final=True, is_doubtful=True)) == ""
    assert one.state.voices == []
    assert one.speaker(says(4.0, 7.0, 2)) == "2", "1 was shown for another one"
    assert one.speaker(says(4.0, 8.0, 2, text="", is_final=True)) == "2", "of what was shown before"


def test_a_recogniser_that_begins_anew_counts_its_segments_anew() -> None:
    one = listener()
    one.hear(chunk(np.concatenate((voice(LOW, 4.0), voice(HIGH, 4.0)))))
    assert one.speaker(says(0.0, 3.9)) == "1"
    one.pause()
    assert one.speaker(says(4.0, 5.5)) == ""
    assert one.speaker(says(4.0, 8.0, is_final=True)) == "2"


class Broken(Tones):
    """Makes nothing of some sound, as a model of the user's may."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self._value = value

    def embed(self, samples: Samples) -> Embedding:
        return super().embed(samples) * np.float32(self._value)


@pytest.mark.parametrize("value", [0.0, np.nan])
def test_what_no_model_can_tell_is_nobodys(value: float) -> None:
    one = listener(Broken(value))
    one.hear(chunk(voice(LOW, 4.0)))
    assert [one.speaker(says(0.0, 4.0, is_final=ends)) for ends in (False, True)] == ["", ""]
    assert one.state.voices == []


def test_known_voices_have_their_names_and_others_can_be_given_some() -> None:
    encoder = Tones()
    embedding = embedded(encoder, voice(HIGH, 10.0))
    assert [len(sound) // 4 for sound in encoder.heard] == [WINDOW] * 11
    one = listener(encoder, [("Anna", embedding)])
    one.hear(chunk(SOUND[: 9 * SAMPLE_RATE]))
    assert one.speaker(says(0.0, 3.3, is_final=True)) == "1"
    assert one.speaker(says(3.3, 4.6, 1)) == "Anna"
    assert one.speaker(says(0.0, 3.3, 2)) == "1"
    one.rename("1", "Bea")
    assert one.speaker(says(0.0, 3.3, 2)) == "Bea"
    one.rename("Anna", "Zoe")
    again = VoiceListener(encoder, one.state, 100, [("Anna", embedding)])
    assert [each.label for each in again.state.voices] == ["Zoe", "Bea"], "a resumed run knows her already"


def test_the_only_speaker_of_a_stream_can_be_renamed() -> None:
    one = OnlySpeaker("Room 1")
    one.rename("1", "Nobody")
    assert one.speaker(says(0.0, 0.1)) == "Room 1"
    one.rename("Room 1", "Anna")
    assert (one.speaker(says(0.0, 0.1)), one.state.last) == ("Anna", "Anna")
