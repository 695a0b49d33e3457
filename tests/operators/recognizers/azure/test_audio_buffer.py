"""The audio buffer gives back what was heard, says what it dropped, and knows when a sample sounded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.events import SAMPLE_RATE, AudioChunk
from operators.recognizers.azure.audio_buffer import AudioBuffer


def chunk(samples: bytes, start_s: float) -> AudioChunk:
    return AudioChunk(stream="talk", start_s=start_s, pcm=samples)


def second(number: int, at_s: float | None = None) -> AudioChunk:
    """A second of samples that all have this value."""
    return chunk(number.to_bytes(2, "little") * SAMPLE_RATE, number if at_s is None else at_s)


def test_times_follow_the_chunks_over_gaps() -> None:
    buffer = AudioBuffer(10)
    buffer.append(second(0, at_s=5.0))
    buffer.append(second(1, at_s=6.0004))
    buffer.append(second(2, at_s=60.0))

    assert buffer.start_s(0) == 5.0
    assert buffer.start_s(SAMPLE_RATE) == 6.0
    assert buffer.start_s(2 * SAMPLE_RATE) == 60.0
    # What ends at the gap ends before it.
    assert buffer.end_s(2 * SAMPLE_RATE) == pytest.approx(7.0)
    assert buffer.end_s(3 * SAMPLE_RATE) == pytest.approx(61.0)


def test_small_shifts_add_up_and_are_followed() -> None:
    buffer = AudioBuffer(10_000)
    for number in range(100):
        buffer.append(second(number % 9, at_s=number * 1.0005))

    assert buffer.start_s(99 * SAMPLE_RATE) == pytest.approx(99 * 1.0005, abs=0.001)


def test_half_a_sample_is_left_out_and_nothing_at_all_is_no_audio() -> None:
    buffer = AudioBuffer(10)
    assert buffer.start_s(0) == buffer.end_s(0) == 0.0
    buffer.append(chunk(b"", 3.0))
    buffer.append(chunk(b"abc", 3.0))

    assert buffer.take_unsent() == b"ab"
    assert buffer.heard == 1


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("append"), st.integers(0, 4000)),
            st.tuples(st.just("send"), st.just(0)),
            st.tuples(st.just("forget"), st.integers(0, 60_000)),
            st.tuples(st.just("rewind"), st.integers(0, 60_000)),
        ),
        max_size=60,
    )
)
def test_whatever_happens_it_sends_what_was_heard_stays_small_and_counts_what_nobody_was_sent(
    steps: list[tuple[str, int]],
) -> None:
    buffer = AudioBuffer(1.0)
    heard = b""
    at = lost = 0
    for step, number in steps:
        if step == "append":
            pcm = b"".join((len(heard) // 2 + i).to_bytes(2, "little") for i in range(number))
            buffer.append(chunk(pcm, len(heard) / 2 / SAMPLE_RATE))
            heard += pcm
            lost += max(0, buffer.begin - at)
            at = max(at, buffer.begin)
        elif step == "send":
            sent = buffer.take_unsent()
            assert sent == heard[2 * at :]
            at = len(heard) // 2
        elif step == "forget":
            buffer.forget(number)
            assert buffer.begin <= at, "what was not sent is not forgotten"
        else:
            at = buffer.rewind(number)
            assert at == min(max(number, buffer.begin), buffer.heard)
        assert (buffer.heard, buffer.sent) == (len(heard) // 2, at)
        assert buffer.heard - buffer.begin <= SAMPLE_RATE
        assert buffer.start_s(buffer.heard) == pytest.approx(buffer.heard / SAMPLE_RATE)
    assert (buffer.take_lost_s(), buffer.take_lost_s()) == (lost / SAMPLE_RATE, 0.0)
