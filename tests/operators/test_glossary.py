"""Which terms of a glossary occur in a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.glossary import Glossary, Occurrence, spelling, times_inflected, times_said

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


CASES = {"IT": "EDV", "iPhone": "iPhone", "Apple": "Apple"}
PRONOUN = {"US": "USA", "us": "uns"}
SYMBOLS = {"C++": "C++", "C": "C", "AT&T": "AT&T"}
OVERLAPPING = {
    "test": "Test",
    "test set": "Testsatz",
    "set theory": "Mengenlehre",
    "test sets of words": "Wörter",
}
CHINESE = {"深層学習": "Deep Learning", "学習": "Lernen", "モデル": "Modell", "GPU": "GPU"}


@pytest.mark.parametrize(
    ("terms", "text", "occurring"),
    [
        ({"code-switching": "x"}, "code-switching", {"x": 1}),
        ({"code-switching": "x"}, "Code switching", {"x": 1}),
        ({"code-switching": "x"}, "code‐switching", {"x": 1}),
        ({"semantic parsing": "x"}, "semantic. Parsing", {}),
        ({"semantic parsing": "x"}, "semantic (parsing", {}),
        ({"semantic parsing": "x"}, "semantic, parsing", {}),
        (CASES, "it is an iphone, apple", {"Apple": 1}),
        (CASES, "IT, an iPhone, APPLE", {"EDV": 1, "iPhone": 1, "Apple": 1}),
        (PRONOUN, "the US", {"USA": 1}),
        (PRONOUN, "all of us", {"uns": 1}),
        (SYMBOLS, "C++, C and AT&T.", {"C++": 1, "C": 1, "AT&T": 1}),
        (OVERLAPPING, "a test set theory, tests, test sets of word", {"Testsatz": 2, "Test": 1}),
        (CHINESE, "私は深層学習モデルをGPUで学習する",
         {"Deep Learning": 1, "Modell": 1, "GPU": 1, "Lernen": 1}),
        ({"café": "Café", "AI": "KI"}, "cafe\u0301 ＡＩ", {"Café": 1, "KI": 1}),
    ],
    ids=[
        "a hyphen", "a space is a hyphen", "any hyphen", "a full stop parts words", "a bracket parts words",
        "a comma parts words", "a capital inside a word makes its spelling matter",
        "and the word so spelled is found", "the term in capitals", "the same term in small letters",
        "symbols are part of a term", "the longest term counts and terms do not overlap",
        "characters of scripts without spaces are words",
        "composed, decomposed and wide letters are the same",
    ],
)  # fmt: skip
def test_terms_occur_as_words_are_spelled(
    terms: dict[str, str], text: str, occurring: dict[str, int]
) -> None:
    assert found(terms, text) == occurring


@pytest.mark.parametrize(
    ("text", "times"), [("its", 0), ("gas", 0), ("pies", 0), ("cats", 1), ("GPUs", 1), ("GPus", 0)]
)
def test_the_plural_of_a_word_of_three_letters_or_more_is_the_same_term(text: str, times: int) -> None:
    terms = {"it": "es", "ga": "ga", "pi": "Pi", "cat": "Katze", "GPU": "GPU"}
    assert sum(found(terms, text).values()) == times


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


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("A seal, seals; SEAL’s", "A vedação, vedação; Vedação's"),
        ("Word-alignments of the seals.", "Alinhamento lexical of the vedação."),
        ("a sealed word", "a sealed word"),
        ("", ""),
    ],
)
def test_translations_stand_in_the_places_of_their_terms(text: str, want: str) -> None:
    terms = {"seal": "vedação", "word alignment": "alinhamento lexical", "word": "palavra"}
    assert made(terms).mixed(text, {"vedação", "alinhamento lexical"}) == want


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


@pytest.mark.parametrize(
    ("text", "target", "times"),
    [
        ("As margens do rio", "margem", 1),
        ("dos conjuntos de testes, o conjunto de testes", "conjunto de testes", 2),
        ("as vedações", "vedação", 1),
        ("O de testículos", "teste", 0),
        ("uma palestra", "palestrante", 0),
        ("testes de conjunto", "conjunto de testes", 0),
        ("a moda", "mola", 0),
        ("", "mola", 0),
    ],
)
def test_a_translation_counts_with_other_endings(text: str, target: str, times: int) -> None:
    assert times_inflected(text, target) == times


def test_a_prompt_is_told_each_term_once_as_the_text_spells_it() -> None:
    terms = made({"beam search": "Strahlsuche", "模型": "Modell"})
    text = "Beam-search finds 模型, beam search too"
    assert terms.pairs(text) == [("Beam search", "Strahlsuche"), ("模型", "Modell")]
