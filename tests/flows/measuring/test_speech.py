"""Speech benchmarks: rows measure what a viewer saw, and invalid transcripts are refused."""

import json
from pathlib import Path

import pytest
import soundfile

from flows.measuring.corpus import read_clips
from flows.measuring.speech import RecordingTrial, WindowUpdate, rows_of
from operators.decoding.speech import SpeechMethod
from operators.errors import InputError
from operators.recognizers.moonshine import bundled_model
from tests.program import surtitle


def update(text: str, shown: str, *, is_final: bool = False, tokens: tuple[int, ...] = ()) -> WindowUpdate:
    return WindowUpdate(text, (text if is_final else shown,), tokens, 4, 0.02)


SCRATCH = [
    update("The cat sad.", "The cat"),
    update("The cat sat on.", "The cat sat"),
    update("The cat sat on a mat.", "", is_final=True, tokens=(1, 2)),
]
DRAFT = [
    update("The cat sad.", "The cat")._replace(decoder_s=0.01),
    update("The cat sad on.", "The cat")._replace(decoder_s=0.01),
    update("The cat sat on the mat.", "", is_final=True, tokens=(1, 3))._replace(passes=1),
]


def test_erasure_errors_and_times_are_those_of_what_was_shown() -> None:
    trial = RecordingTrial(([SCRATCH], [DRAFT]), detector_s=0.003, encoder_s=0.09)
    found = rows_of(
        [trial], [SpeechMethod(use_draft=False), SpeechMethod(bias=0.2)], [0.7], ["the cat sat on the mat"]
    )
    scratch, scratch_shown, draft, draft_shown = (one["settings"] | one["metrics"] for one in found)

    # "sad." and "on." were taken back, of six words.
    assert scratch["ne"] == pytest.approx(2 / 6)
    assert scratch["revising_share"] == pytest.approx(2 / 3)
    assert scratch["ne_words"] == pytest.approx(1 / 6)
    assert (scratch_shown["ne"], scratch_shown["held_back"]) == (0.0, 1.0)
    assert (draft_shown["ne"], draft_shown["certainty"]) == (0.0, 0.7)
    assert scratch["wer"] == pytest.approx(100 / 6)
    assert draft["wer"] == 0
    assert (draft["finals"], draft["finals_equal"], scratch["finals_equal"]) == (1, 0, 1)
    assert draft["decoder_ratio"] == pytest.approx(40 / 60)
    assert draft["recognizer_ms"] == pytest.approx((93 + 40) / 3)
    assert draft["passes_per_update"] == pytest.approx(3)


def test_a_word_is_settled_with_the_first_update_after_which_it_never_changes() -> None:
    shown = ["the cat", "the cat sad", "the", "the cat sat"]
    updates = [
        update("", text, is_final=number == 3)._replace(end_s=1 + number / 2, shown=(text,))
        for number, text in enumerate(shown)
    ]
    trial = RecordingTrial(([updates],), detector_s=0.0, encoder_s=0.0)
    _, row = rows_of([trial], [SpeechMethod(use_draft=False)], [0.7], [None])
    # "the" at once, "cat" was taken back, "sat" came with the final.
    assert row["metrics"]["settled_s"] == pytest.approx((0 + 1.5 + 1.5) / 3)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"file": "a.wav", "text": "caf\xe9"}\n', "is not UTF-8"),
        (b'{"file": ' + b"[" * 100_000, "line 1: "),
    ],
)
def test_a_wrong_list_is_answered_in_a_sentence(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "manifest.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match="manifest") as refused:
        read_clips([tmp_path / "a.wav"], path)
    assert said in str(refused.value)


def test_transcripts_are_read_with_the_marks_of_another_system(tmp_path: Path) -> None:
    path = tmp_path / "manifest.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"file": "a.wav", "text": "words"}\r\n')
    assert [clip.text for clip in read_clips([tmp_path / "a.wav"], path)] == ["words"]


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    samples, rate = soundfile.read(bundled_model().parent / "two_cities.wav", dtype="int16")
    path = tmp_path_factory.mktemp("talk") / "talk.wav"
    soundfile.write(path, samples[: round(3.6 * rate)], rate)
    return path


def test_all_ways_are_measured_on_the_same_windows(talk: Path, tmp_path: Path) -> None:
    transcript = {"file": "talk.wav", "text": "It was the best of times, it was the worst of times,"}
    (tmp_path / "manifest.jsonl").write_text(json.dumps(transcript) + "\n")
    done = surtitle(
        "bench", "--task", "speech", talk, "--reference", tmp_path / "manifest.jsonl",
        "--json", tmp_path / "out.json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert all(words in done.stdout for words in ("draft β=0.2 certainty=0.7 ending early", "WER %"))
    keys = ("method", "bias", "certainty")
    rows = {
        tuple(row["settings"][key] for key in keys): row["metrics"]
        for row in json.loads((tmp_path / "out.json").read_text())["rows"]
    }
    ways = (("scratch", None), ("draft", 0.0), ("draft", 0.2))
    assert set(rows) == {(*way, certainty) for way in ways for certainty in (None, 0.0, 0.7)}
    assert len({row["updates"] for row in rows.values()}) == 1
    assert all(0 < row["finals_equal"] <= row["finals"] for row in rows.values())
    assert all(row["wer"] < 30 for row in rows.values())
    assert rows["draft", 0.2, None]["passes_per_update"] < rows["scratch", None, None]["passes_per_update"]
