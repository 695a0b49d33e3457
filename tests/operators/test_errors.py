"""A file that cannot be read is named with the reason, and a missing one with the one that was meant."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.errors import missing, nearest, unreadable


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    assert (
        missing(tmp_path / "absent" / "talk.wav")
        == f"there is no folder {tmp_path / 'absent'}; check the path"
    )


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


@given(st.text(), st.lists(st.text()))
def test_the_nearest_name_is_one_of_those_that_exist(given_name: str, names: list[str]) -> None:
    assert nearest(given_name, names) in (None, *names)


@given(st.lists(st.text(min_size=1, max_size=64), min_size=1), st.data())
def test_a_name_that_exists_is_its_own_nearest_whatever_the_case(
    names: list[str], data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(names))
    found = nearest(name, names)
    assert found is not None
    assert found.casefold()[:64] == name.casefold()[:64]
