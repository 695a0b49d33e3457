"""Languages are known by the names and codes that people type."""

import pytest

from operators.errors import UsageError
from operators.languages import _KNOWN, language


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("German", "German"),
        ("german", "German"),
        (" DE ", "German"),
        ("Deutsch", "German"),
        ("deutsch", "German"),
        ("de-AT", "German"),
        ("zh_Hans_CN", "Chinese"),
        ("中文", "Chinese"),
        ("Mandarin", "Chinese"),
        ("español", "Spanish"),
        ("pt-BR", "Portuguese"),
        ("РУССКИЙ", "Russian"),
        ("nb", "Norwegian"),
    ],
)
def test_a_language_is_known_by_its_names_and_codes(typed: str, name: str) -> None:
    assert language(typed).name == name


@pytest.mark.parametrize("typed", ["Germna", "Ger man", "Duetsch", "germany"])
def test_a_misspelt_language_is_told_with_the_one_that_was_meant(typed: str) -> None:
    with pytest.raises(UsageError, match=r"did you mean German\?$"):
        language(typed)


@pytest.mark.parametrize("typed", ["", "xx", "xx-DE", "Klingon"])
def test_an_unknown_language_is_told_with_all_that_are_known(typed: str) -> None:
    with pytest.raises(UsageError, match="choose one of Arabic, Chinese"):
        language(typed)


def test_no_name_stands_for_two_languages() -> None:
    assert [language(known.name) for known in _KNOWN] == _KNOWN
    assert [language(known.code) for known in _KNOWN] == _KNOWN
