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


def values(pcm: bytes) -> list[int]:
    """The value of each second."""
    return [int.from_bytes(pcm[at : at + 2], "little") for at in range(0, len(pcm), 2 * SAMPLE_RATE)]


def test_what_is_too_much_is_dropped_and_counted_if_nobody_was_sent_it() -> None:
    buffer = AudioBuffer(2)
    for number in range(3):
        buffer.append(second(number))
    assert buffer.take_lost_s() == 1.0
    assert values(buffer.take_unsent()) == [1, 2]

    buffer.append(second(3))
    assert buffer.take_lost_s() == 0.0
    buffer.rewind(0)
    buffer.append(second(4))
    assert buffer.take_lost_s() == 1.0
    assert buffer.take_lost_s() == 0.0
    assert values(buffer.take_unsent()) == [3, 4]


def test_what_is_sent_next_is_known_after_more_was_dropped() -> None:
    buffer = AudioBuffer(2)
    for number in range(4):
        buffer.append(second(number))
        if not number:
            assert buffer.rewind(0) == 0
    assert buffer.sent == 2 * SAMPLE_RATE
    assert values(buffer.take_unsent()) == [2, 3]


def test_what_is_forgotten_does_not_come_back_and_is_not_lost() -> None:
    buffer = AudioBuffer(10)
    for number in range(3):
        buffer.append(second(number))
    buffer.take_unsent()
    buffer.forget(2 * SAMPLE_RATE)

    assert buffer.rewind(0) == 2 * SAMPLE_RATE
    assert values(buffer.take_unsent()) == [2]
    assert buffer.take_lost_s() == 0.0


def test_what_was_not_sent_is_not_forgotten() -> None:
    buffer = AudioBuffer(10)
    buffer.append(second(1))
    buffer.forget(10 * SAMPLE_RATE)

    assert values(buffer.take_unsent()) == [1]


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
def test_whatever_happens_it_sends_what_was_heard_and_stays_small(steps: list[tuple[str, int]]) -> None:
    buffer = AudioBuffer(1.0)
    heard = b""
    at = 0
    for step, number in steps:
        if step == "append":
            pcm = b"".join((len(heard) // 2 + i).to_bytes(2, "little") for i in range(number))
            buffer.append(chunk(pcm, len(heard) / 2 / SAMPLE_RATE))
            heard += pcm
        elif step == "send":
            sent = buffer.take_unsent()
            at = max(at, buffer.begin)
            assert sent == heard[2 * at :]
            at = len(heard) // 2
        elif step == "forget":
            buffer.forget(number)
        else:
            at = buffer.rewind(number)
            assert at == min(max(number, buffer.begin), buffer.heard)
        assert buffer.heard == len(heard) // 2
        assert buffer.heard - buffer.begin <= SAMPLE_RATE
        assert buffer.start_s(buffer.heard) == pytest.approx(buffer.heard / SAMPLE_RATE)
