"""The language of an utterance is decided once, from what its windows say and what was spoken before."""

import pytest

from operators.languages import language
from operators.recognizers.finding import LATEST_S, LanguageFinder

PORTUGUESE, UNCLEAR = {"en": 0.01, "pt": 0.95}, {"en": 0.4, "pt": 0.35}


def finder(*expected: str) -> LanguageFinder:
    return LanguageFinder([language(one) for one in expected])


def test_a_clear_language_is_known_after_a_second_and_an_unclear_one_after_two() -> None:
    assert finder("English", "Portuguese").hear(PORTUGUESE, 1.0, is_last=False) == "pt"
    known = finder("English", "Portuguese")
    assert known.hear(UNCLEAR, 1.0, is_last=False) is None
    assert known.hear(UNCLEAR, 1.5, is_last=False) is None
    assert known.hear({"en": 0.6, "pt": 0.3}, LATEST_S, is_last=False) == "en"


def test_the_last_window_decides_whatever_its_length() -> None:
    assert finder("English", "Portuguese").hear(UNCLEAR, 0.4, is_last=True) == "en"


def test_the_language_of_the_utterance_before_is_ahead_by_a_margin() -> None:
    known = finder("English", "Portuguese")
    assert known.hear(PORTUGUESE, 1.0, is_last=False) == "pt"
    assert known.hear(UNCLEAR, 0.4, is_last=True) == "pt", "0.35 and 0.4 are as good as the same"
    assert known.hear({"en": 0.8, "pt": 0.1}, 0.4, is_last=True) == "en"


def test_what_windows_say_is_added_up() -> None:
    known = finder("English", "Portuguese")
    assert known.hear({"en": 0.5, "pt": 0.2}, 1.0, is_last=False) is None
    assert known.hear({"en": 0.5, "pt": 0.1}, 1.3, is_last=False) == "en"


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ({"de": 0.9, "en": 0.05, "pt": 0.01}, "de"),  # it is never heard as English
        ({"de": 0.6, "en": 0.05, "pt": 0.01}, "en"),  # not clear enough
        ({"de": 0.75, "en": 0.2, "pt": 0.01}, "en"),  # nor is English unlikely
        ({"la": 0.95, "en": 0.02, "pt": 0.01}, "en"),  # a language that nobody speaks
    ],
)
def test_a_language_that_was_not_expected_is_found_where_it_is_clearly_meant(
    said: dict[str, float], found: str
) -> None:
    known = finder("English", "Portuguese")
    assert known.hear(said, 1.2, is_last=False) is None or found == "en"
    assert known.hear(said, LATEST_S, is_last=False) == found


def test_without_expectations_any_language_is_found() -> None:
    assert finder().hear({"de": 0.9, "nl": 0.05, "la": 0.01}, 1.0, is_last=False) == "de"


def test_the_code_is_that_of_the_expected_language() -> None:
    assert finder("zh-Hant", "en").hear({"zh": 0.6, "yue": 0.3, "en": 0.1}, 2.0, is_last=True) == "zh-Hant"
    assert finder("no", "en").hear({"nn": 0.6, "no": 0.1, "en": 0.3}, 2.0, is_last=True) == "no"


def test_a_brief_utterance_is_in_an_expected_language_or_rather_in_that_of_the_one_before() -> None:
    dutch = {"nl": 0.9, "en": 0.05, "pt": 0.01}
    assert finder("English", "Portuguese").hear(dutch, 1.2, is_last=True) == "en"
    known = finder()
    assert known.hear({"en": 0.9, "nl": 0.05}, 2.0, is_last=True) == "en"
    assert known.hear({"en": 0.1, "nl": 0.8}, 1.2, is_last=True) == "en"
    assert known.hear({"en": 0.1, "nl": 0.8}, 2.0, is_last=True) == "nl"
