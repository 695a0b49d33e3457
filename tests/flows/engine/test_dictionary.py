"""Which dictionaries settings mean."""

from pathlib import Path

from flows.engine.dictionary import open_dictionary, open_lexicon
from flows.settings.schema import TranslateSettings
from operators.lexicon import Wanted


def found(word: str, **settings: str) -> list[str]:
    """The translations of a word between common ones; "no dictionary" if there is none."""
    opened = open_dictionary(TranslateSettings(**settings), open_lexicon)  # type: ignore[arg-type]
    if opened is None:
        return ["no dictionary"]
    wanted: tuple[Wanted, ...] = opened.occurring(["and", word, "and"])
    return [translation.text for one in wanted for translation in one.translations]


def test_the_german_captions_model_has_a_lexicon_and_other_models_and_directions_have_none() -> None:
    assert found("prices")[0] == "Preise"
    assert found("the") == []
    assert found("Pohamba") == ["Pohamba"]
    for settings in ({"model": "base"}, {"target": "French"}, {"source": "German", "target": "English"}):
        assert found("prices", **settings) == ["no dictionary"]
    assert found("prices", dictionary="none") == ["no dictionary"]


def test_a_file_adds_words_and_without_a_list_of_common_words_no_name_is_copied(tmp_path: Path) -> None:
    path = tmp_path / "words.tsv"
    path.write_text("feral\twild\nprices\tRuhm\n")
    own = str(path)
    assert found("feral", dictionary=own) == ["wild"]
    assert found("prices", dictionary=own)[0] == "Preise"
    assert found("feral", dictionary=own, model="base", target="French") == ["wild"]
    assert found("Pohamba", dictionary=own, target="French") == []
