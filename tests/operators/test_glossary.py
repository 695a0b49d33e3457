"""Which terms of a glossary occur in a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.glossary import Glossary, Occurrence, spelling, times_inflected, times_said

letters = st.text("aB-s 深", max_size=12)


def made(translations: dict[str, str]) -> Glossary:
    return Glossary({spelling(source): target for source, target in translations.items()})


def found(translations: dict[str, str], text: str) -> dict[str, int]:
    return dict(made(translations).occurring(text))


CASES = {"IT": "EDV", "iPhone": "iPhone", "Apple": "Apple"}
PRONOUN = {"US": "USA", "us": "uns"}
SYMBOLS = {"C++": "C++", "C": "C", "AT&T": "AT&T"}
OVERLAPPING = {"test": "A", "test set": "B", "set theory": "C", "test sets of words": "D"}
TOKEN = {"token": "x"}
SHORT = {"it": "es", "ga": "ga", "pi": "Pi", "cat": "Katze", "GPU": "GPU"}
CHINESE = {"深層学習": "Deep", "学習": "Lernen", "モデル": "Modell", "GPU": "GPU"}


@pytest.mark.parametrize(
    ("terms", "text", "occurring"),
    [
        (TOKEN, "TOKEN! “token” token's, tokens x/token", {"x": 5}),
        (TOKEN, "tokenise betoken tokenss to ken Tök", {}),
        # The plural of a word of three letters or more is the same term.
        (SHORT, "its gas pies cats GPUs GPus", {"Katze": 1, "GPU": 1}),
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
        (OVERLAPPING, "a test set theory, tests, test sets of word", {"B": 2, "A": 1}),
        (CHINESE, "私は深層学習モデルをGPUで学習する", {"Deep": 1, "Modell": 1, "GPU": 1, "Lernen": 1}),
        ({"café": "Café", "AI": "KI"}, "cafe\u0301 ＡＩ", {"Café": 1, "KI": 1}),
    ],
)
def test_terms_occur_as_words_are_spelled(
    terms: dict[str, str], text: str, occurring: dict[str, int]
) -> None:
    assert found(terms, text) == occurring


def test_terms_come_in_the_order_of_the_text_and_are_counted_by_translation() -> None:
    terms = {"span": "Passage", "passage": "Passage", "token": "Token"}
    occurring = made(terms).occurring("token span passages token")
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
