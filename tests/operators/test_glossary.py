"""Which terms of a glossary occur in a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.glossary import Glossary, Occurrence, spelling, times_said

letters = st.text("aB-s 深", max_size=12)


def glossary(**translations: str) -> Glossary:
    return made(translations)


def made(translations: dict[str, str]) -> Glossary:
    return Glossary({spelling(source): target for source, target in translations.items()})


def found(translations: dict[str, str], text: str) -> dict[str, int]:
    return dict(made(translations).occurring(text))


@pytest.mark.parametrize(
    "text", ["a token", "Token.", "TOKEN!", "“token”", "token's", "tokens, too", "x/token"]
)
def test_a_term_is_found_as_a_whole_word_in_any_case(text: str) -> None:
    assert found({"token": "Zeichen"}, text) == {"Zeichen": 1}


@pytest.mark.parametrize("text", ["", "tokenise", "betoken", "tokenss", "to ken", "Tök"])
def test_a_part_of_a_word_is_no_term(text: str) -> None:
    assert found({"token": "Zeichen"}, text) == {}


def test_hyphens_and_spaces_are_the_same() -> None:
    for text in ("code-switching", "Code switching", "code‐switching"):
        assert found({"code-switching": "Code-Switching"}, text) == {"Code-Switching": 1}


@pytest.mark.parametrize("text", ["semantic. Parsing", "semantic (parsing", "semantic, parsing"])
def test_words_with_punctuation_between_them_are_no_term(text: str) -> None:
    assert found({"semantic parsing": "semantisches Parsing"}, text) == {}


def test_a_capital_inside_a_word_makes_its_spelling_matter() -> None:
    terms = {"IT": "EDV", "iPhone": "iPhone", "Apple": "Apple"}
    assert found(terms, "it is an iphone, apple") == {"Apple": 1}
    assert found(terms, "IT, an iPhone, APPLE") == {"EDV": 1, "iPhone": 1, "Apple": 1}


def test_terms_with_the_same_letters_in_other_cases_are_different() -> None:
    terms = {"US": "USA", "us": "uns"}
    assert found(terms, "the US") == {"USA": 1}
    assert found(terms, "all of us") == {"uns": 1}


def test_symbols_are_part_of_a_term() -> None:
    terms = {"C++": "C++", "C": "C", "AT&T": "AT&T"}
    assert found(terms, "C++, C and AT&T.") == {"C++": 1, "C": 1, "AT&T": 1}


@pytest.mark.parametrize(
    ("text", "times"), [("its", 0), ("gas", 0), ("pies", 0), ("cats", 1), ("GPUs", 1), ("GPus", 0)]
)
def test_the_plural_of_a_word_of_three_letters_or_more_is_the_same_term(text: str, times: int) -> None:
    terms = {"it": "es", "ga": "ga", "pi": "Pi", "cat": "Katze", "GPU": "GPU"}
    assert sum(found(terms, text).values()) == times


def test_the_longest_term_counts_and_terms_do_not_overlap() -> None:
    terms = {
        "test": "Test",
        "test set": "Testsatz",
        "set theory": "Mengenlehre",
        "test sets of words": "Wörter",
    }
    assert found(terms, "a test set theory, tests, test sets of word") == {"Testsatz": 2, "Test": 1}


def test_characters_of_scripts_without_spaces_are_words() -> None:
    terms = {"深層学習": "Deep Learning", "学習": "Lernen", "モデル": "Modell", "GPU": "GPU"}
    assert found(terms, "私は深層学習モデルをGPUで学習する") == {
        "Deep Learning": 1, "Modell": 1, "GPU": 1, "Lernen": 1
    }  # fmt: skip


def test_composed_decomposed_and_wide_letters_are_the_same() -> None:
    assert found({"café": "Café", "AI": "KI"}, "cafe\u0301 ＡＩ") == {"Café": 1, "KI": 1}


def test_terms_come_in_the_order_of_the_text_and_are_counted_by_translation() -> None:
    occurring = glossary(span="Passage", passage="Passage", token="Token").occurring(
        "token span passages token"
    )
    assert occurring == (Occurrence("Token", 2), Occurrence("Passage", 2))


@given(st.dictionaries(letters.filter(spelling), st.sampled_from("xyz"), max_size=5), letters)
def test_no_term_occurs_without_its_words(terms: dict[str, str], text: str) -> None:
    said = set(spelling(text.casefold()))
    said |= {word.removesuffix("s") for word in said}
    possible = {
        target for source, target in terms.items() if {word.casefold() for word in spelling(source)} <= said
    }
    assert set(found(terms, text)) <= possible


@given(letters.filter(spelling))
def test_a_term_occurs_in_itself(source: str) -> None:
    assert found({source: "x"}, source) == {"x": 1}


@pytest.mark.parametrize(
    ("text", "target", "times"),
    [
        ("Die Graphen und der Programmgraph, graph", "Graph", 2),
        ("mit IT", "IT", 1),
        ("ein C++-Programm", "C++", 1),
        ("使用Transformer模型", "Transformer", 1),
        ("深层学习和学习", "学习", 2),
    ],
)
def test_a_translation_may_have_an_ending_but_begins_a_word(text: str, target: str, times: int) -> None:
    assert times_said(text, target) == times
