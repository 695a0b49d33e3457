"""The list of reference transcripts is read with care: it is written by hand or by other programs."""

from pathlib import Path

import pytest

from flows.bench_speech.corpus import read_clips
from operators.errors import InputError


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"file": "a.wav", "text": "caf\xe9"}\n', "is not UTF-8"),
        (b'{"file": ' + b"[" * 100_000, "line 1: "),
        (b'{"file": "a.wav"}\n', "line 1: Object missing required field `text`"),
        (b'{"file": "b.wav", "text": "words"}\n', "it names none of the recordings"),
    ],
)
def test_a_wrong_list_is_answered_in_a_sentence(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "manifest.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match="manifest") as refused:
        read_clips([tmp_path / "a.wav"], path)
    assert said in str(refused.value)


def test_a_list_with_the_marks_of_another_system_is_read(tmp_path: Path) -> None:
    path = tmp_path / "manifest.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"file": "a.wav", "text": "words"}\r\n')
    assert [clip.text for clip in read_clips([tmp_path / "a.wav"], path)] == ["words"]
