"""Languages are known by the names and codes that people type."""

import pytest

from operators.errors import UsageError
from operators.languages import LANGUAGES, Direction, language
from operators.metrics.tokenizers import tokenizer

NAMES = {
    "german": "German", " DE ": "German", "deutsch": "German", "de-AT": "German", "zh_Hans_CN": "Chinese",
    "zh-TW": "Traditional Chinese", "yue-HK": "Cantonese", "中文": "Chinese", "Mandarin": "Chinese",
    "pt": "Portuguese", "português": "Portuguese", "por": "Portuguese", "pt-AO": "Portuguese",
    "pt-BR": "Brazilian Portuguese", "pt_br": "Brazilian Portuguese", "PT-PT": "European Portuguese",
    "Portuguese (Brazil)": "Brazilian Portuguese", "português europeu": "European Portuguese",
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
    thai, persian, japanese, korean, chinese, serbian = map(language, ("th", "fa", "ja", "ko", "zh", "sr"))
    assert (thai.script.is_spaced, thai.script.joint, thai.tokenizer) == (False, " ", "char")
    assert not thai.script.has_marks
    assert (persian.script.is_rtl, persian.script.is_spaced, persian.tokenizer) == (True, True, "13a")
    assert (japanese.script.joint, japanese.tokenizer) == ("", "ja-mecab")
    assert [one.script.columns for one in (serbian, korean, chinese, japanese)] == [42, 32, 30, 30]
    # A character of the last three takes two columns.
    assert [one.script.reading_speed for one in (serbian, korean, chinese, japanese)] == [17, 24, 18, 8]
    assert serbian.scripts == ("Cyrillic", "Latin")
    assert tokenizer(language("zh-Hant").tokenizer)("你好。") == ("你", "好", "。")


def test_the_language_of_a_region_is_its_own_and_known_to_models_by_the_general_one() -> None:
    brazilian, european, portuguese = map(language, ("pt-BR", "pt-PT", "pt"))
    assert (brazilian.code, brazilian.base, brazilian.three) == ("pt-BR", "pt", "por")
    assert brazilian.general == european.general == portuguese.general == portuguese
    # A script is another matter: no model for Chinese writes the traditional one.
    assert language("zh-Hant").general == language("zh-Hant")
    assert Direction.of("en", "pt-BR").general.code == "en-pt"
    assert Direction.of("zh", "zh-Hant").translates
    assert not Direction.of("pt-PT", "pt-BR").translates


def test_a_track_of_a_film_names_its_language_by_either_code_of_three_letters() -> None:
    codes = {"deu": "German", "ger": "German", "fre": "French", "zho": "Chinese", "chi": "Chinese"}
    assert {code: language(code).name for code in codes} == codes
    assert [language(name).three for name in ("German", "zh-Hant", "Cebuano")] == ["deu", "zho", "ceb"]
