"""Which words of a text have translations to lean towards."""

from hypothesis import given
from hypothesis import strategies as st

from operators.glossary import (
    MAX_TRANSLATIONS,
    Dictionary,
    Glossary,
    Lexicon,
    Translation,
    Wanted,
    lexicon_of,
    words_of,
)

words = st.text(st.sampled_from("abcß词é -'"), min_size=1, max_size=4).map(str.strip).filter(bool)
translations = st.lists(
    st.builds(Translation, words, st.integers(0, 100).map(lambda percent: percent / 100)),
    max_size=MAX_TRANSLATIONS,
    unique_by=lambda one: one.text,
)


@given(st.dictionaries(words, translations), words)
def test_every_phrase_is_found_in_a_lexicon_and_no_other(
    entries: dict[str, list[Translation]], other: str
) -> None:
    lexicon = lexicon_of(entries)
    for phrase in (*entries, other):
        found = lexicon.find(phrase)
        assert found == (tuple(entries[phrase]) if phrase in entries else None)


def test_a_lexicon_without_lines_knows_nothing() -> None:
    assert Lexicon(b"").find("a") is None


def wanted(text: str, *, glossary: Glossary | None = None, names: bool = True) -> dict[str, int]:
    """The likeliest translation of each word of a text, and how often it occurs."""
    own = lexicon_of(
        {
            "feral cat": [Translation("Streuner")],
            "feral": [Translation("ungestüm")],
            "the bank": [Translation("am Ufer")],
            "bank": [Translation("Ufer")],
        }
    )
    shipped = lexicon_of(
        {
            "bank": [],
            "the": [],
            "feral": [Translation("wild", 0.6), Translation("verwildert", 0.4)],
            "berlin": [Translation("Berlin")],
        }
    )
    said = words_of(text) if glossary is None else glossary.others(words_of(text))
    found = Dictionary([shipped, own], copies_names=names).occurring(said)
    return {one.translations[0].text: one.times for one in found}


def test_the_longest_phrase_counts_and_common_words_and_phrases_of_them_do_not() -> None:
    assert wanted("the Feral dog and the feral cat at the bank") == {"wild": 1, "Streuner": 1}


def test_a_word_of_the_users_glossary_is_left_to_it() -> None:
    assert wanted("a feral dog", glossary=Glossary({("feral", "dog"): "Wolf"})) == {}
    assert wanted("a feral dog", glossary=Glossary({("dog",): "Wolf"})) == {"wild": 1}


def test_a_capital_inside_a_sentence_marks_a_name_that_is_copied_unless_it_is_known() -> None:
    assert wanted("Then he met Pohamba in Berlin. Perhaps he, Pohamba, is") == {"Pohamba": 2, "Berlin": 1}
    assert wanted("then we met Pohamba", names=False) == {}
    assert wanted("WE MET POHAMBA THERE") == wanted("We Met Pohamba There") == {}


def test_a_name_is_told_from_a_word_that_is_translated() -> None:
    lexicon = lexicon_of({"berlin": [Translation("Berlin")]})
    found = Dictionary([lexicon], copies_names=True).occurring(words_of("he went from Berlin to Windhoek"))
    assert found == (
        Wanted((Translation("Berlin"),), 1),
        Wanted((Translation("Windhoek"),), 1, is_name=True),
    )
