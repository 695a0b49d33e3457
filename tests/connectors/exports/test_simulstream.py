"""The simulstream log: what was added and taken away gives what was shown."""

import json
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.exports.simulstream import log_lines, write_simulstream
from operators.errors import InputError
from operators.metrics.tokenizers import tokenizer
from tests.flows.talk import SHOWN, captions
from tests.subtitled import caption

word = tokenizer("word")
texts = st.lists(st.sampled_from(["a", "b", "c d"]), max_size=5).map(" ".join)
# Updates of three segments in any order: a recogniser may go back to a segment that is not the last.
histories = st.lists(st.tuples(st.integers(0, 2), texts), max_size=12)


def written(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@given(histories)
def test_lines_in_order_give_the_text_and_delete_only_what_is_there(history: list[tuple[int, str]]) -> None:
    screen, shown = list[str](), dict[int, str]()
    made = [caption(text, segment=segment) for segment, text in history]
    for one, line in zip(made, list(log_lines(made, word))[1:], strict=True):
        deleted, generated = cast("Any", line["deleted_tokens"]), cast("Any", line["generated_tokens"])
        kept = len(screen) - len(deleted)
        assert kept >= 0
        assert tuple(screen[kept:]) == deleted
        if deleted and generated:
            assert deleted[0] != generated[0], "it is added again at once"
        screen = screen[:kept] + list(generated)
        shown[one.segment] = one.shown
        assert screen == " ".join(shown[number] for number in sorted(shown)).split()


def test_the_log_names_the_recording_first_and_then_tells_each_update(tmp_path: Path) -> None:
    made = captions(SHOWN[:1])
    write_simulstream(made, tmp_path / "log", word)
    first, *lines = written(tmp_path / "log")
    assert first == {"id": 0, "metadata": {"wav_name": "talk.wav"}}
    assert len(lines) == len(made)
    assert lines[1]["generated_tokens"] == ["Morgen,", "jeder"]
    assert lines[1]["deleted_tokens"] == ["Morgen"]
    for line, one in zip(lines, made, strict=True):
        assert 0 < line["total_audio_processed"] - one.end_s < 2e-6
        assert line["total_audio_processed"] + line["computation_time"] == pytest.approx(one.shown_s)


def test_streams_have_logs_of_their_own(tmp_path: Path) -> None:
    write_simulstream(captions(stream="a.b") + captions(stream="a.c"), tmp_path / "log", word)
    named = [(one["id"], one["metadata"]) for one in written(tmp_path / "log") if "metadata" in one]
    assert named == [(0, {"wav_name": "a.b.wav"}), (1, {"wav_name": "a.c.wav"})]


def test_streams_that_readers_would_take_for_one_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'x/a' and 'y/a' would both be the recording 'a'"):
        write_simulstream(captions(stream="x/a") + captions(stream="y/a"), tmp_path / "log", word)
