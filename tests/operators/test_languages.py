"""Languages are known by the names and codes that people type."""

import pytest

from operators.errors import UsageError
from operators.languages import LANGUAGES, language
from operators.metrics.tokenizers import tokenizer

NAMES = {
    "german": "German", " DE ": "German", "deutsch": "German", "de-AT": "German", "zh_Hans_CN": "Chinese",
    "zh-TW": "Traditional Chinese", "yue-HK": "Cantonese", "中文": "Chinese", "Mandarin": "Chinese",
    "РУССКИЙ": "Russian", "nb": "Norwegian", "tl": "Filipino", "Farsi": "Persian",
}  # fmt: skip


@pytest.mark.parametrize(("typed", "name"), NAMES.items())
def test_a_language_is_known_by_its_names_and_codes(typed: str, name: str) -> None:
    assert language(typed).name == name


@pytest.mark.parametrize("typed", ["Germna", "Ger man", "germany"])
def test_a_misspelt_language_is_told_with_the_one_that_was_meant(typed: str) -> None:
    with pytest.raises(UsageError, match=r"did you mean German\?$"):
        language(typed)


@pytest.mark.parametrize("typed", ["", "xx-DE", "Klingon"])
def test_an_unknown_language_is_told_with_what_to_type(typed: str) -> None:
    with pytest.raises(UsageError, match=r"English name of a language, or its code, such as German or de$"):
        language(typed)


def test_no_name_stands_for_two_languages() -> None:
    for one in LANGUAGES:
        for name in (one.name, one.code, one.own, *one.others):
            assert not name or language(name) == one


def test_what_differs_follows_from_the_script() -> None:
    thai, persian, japanese, serbian = map(language, ("th", "fa", "ja", "sr"))
    assert (thai.is_spaced, thai.joint, thai.tokenizer) == (False, " ", "char")
    assert (persian.is_rtl, persian.is_spaced, persian.tokenizer) == (True, True, "13a")
    assert (japanese.joint, japanese.columns, japanese.tokenizer) == ("", 30, "ja-mecab")
    assert serbian.scripts == ("Cyrillic", "Latin")
    assert tokenizer(language("zh-Hant").tokenizer)("你好。") == ("你", "好", "。")


def test_a_track_of_a_film_names_its_language_by_either_code_of_three_letters() -> None:
    codes = {"deu": "German", "ger": "German", "fre": "French", "zho": "Chinese", "chi": "Chinese"}
    assert {code: language(code).name for code in codes} == codes
    assert [language(name).three for name in ("German", "zh-Hant", "Cebuano")] == ["deu", "zho", "ceb"]
