"""A file that cannot be read is named with the reason, and a missing one with the one that was meant."""

from pathlib import Path

import pytest

from operators.errors import missing, unreadable

NONE = "there is no such file; "


@pytest.mark.parametrize(
    ("there", "wanted", "told"),
    [
        (["talk.wav", "talk.jsonl"], "tlak.wav", NONE + "did you mean {folder}/talk.wav?"),
        (
            ["the-whole-lecture.flac"],
            "the-whole-lecture.wav",
            NONE + "did you mean {folder}/the-whole-lecture.flac?",
        ),
        (["notes.txt"], "note.wav", NONE + "check its name"),
        ([], "absent/talk.wav", "there is no folder {folder}/absent; check the path"),
    ],
)
def test_a_missing_file_is_told_with_a_similar_one_of_its_kind_or_of_nearly_the_same_name(
    there: list[str], wanted: str, told: str, tmp_path: Path
) -> None:
    for name in there:
        (tmp_path / name).touch()
    assert missing(tmp_path / wanted) == told.format(folder=tmp_path)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (FileNotFoundError(2, "No such file or directory"), "there is no such file"),
        (PermissionError(13, "Permission denied"), "Permission denied; ask its owner for access"),
        (OSError(5, "Input/output error"), "Input/output error; check its name and its disk"),
        (OSError("no number"), "no number; check"),
    ],
)
def test_the_sentence_says_what_to_do(error: OSError, sentence: str, tmp_path: Path) -> None:
    assert f"{tmp_path / 'talk.wav'} cannot be read: {sentence}" in unreadable(tmp_path / "talk.wav", error)
