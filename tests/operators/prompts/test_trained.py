"""A model that was trained to translate is asked in the words of its training, for its directions only."""

import pytest

from operators.errors import InputError, UsageError
from operators.prompts.select import select_prompt
from operators.prompts.template import Template, find_examples
from operators.prompts.trained import (
    TEMPLATES_KEY,
    TrainedPrompts,
    labels_of,
    parse_prompts,
    spell_prompts,
    telling_unfinished,
)
from tests.toy import SpellingVocabulary

BOTH = TrainedPrompts((labels_of("en", "de"), labels_of("English", "French")))


def trained(said: str) -> SpellingVocabulary:
    return SpellingVocabulary("<bos>", begin="<bos>", metadata={TEMPLATES_KEY: said, "general.name": "x"})


def test_the_prompt_is_the_labels_and_nothing_else() -> None:
    model = trained(spell_prompts(BOTH))
    prompt = select_prompt(model, "auto", "English", "German")
    assert (
        model.spell(prompt.build(prompt.source("We will"), is_final=True))
        == "<bos>Englisch: We will\nDeutsch:"
    )
    assert ord("\n") in prompt.stop


def test_another_direction_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(
        UsageError, match="not trained for German to English, but for English to German, English to F"
    ):
        select_prompt(trained(spell_prompts(BOTH)), "auto", "German", "English")


@pytest.mark.parametrize("chosen", ["few-shot", "chat", "tower", find_examples("en", "de")])
def test_it_is_not_asked_in_another_way(chosen: str | Template) -> None:
    with pytest.raises(UsageError, match="leave out --template, or choose --model base"):
        select_prompt(trained(spell_prompts(BOTH)), chosen, "en", "de")


@pytest.mark.parametrize("said", ["", "{", "[]", '[{"language": "German"}]', "[1]", '["\\ud800"]'])
def test_a_header_that_says_nonsense_is_refused(said: str) -> None:
    with pytest.raises(InputError, match=r"header .* surtitle\.templates"):
        select_prompt(trained(said), "auto", "en", "de")


def test_prompts_come_back() -> None:
    told = TrainedPrompts(tuple(map(telling_unfinished, BOTH.prompts)))
    for prompts in (BOTH, told):
        assert parse_prompts(spell_prompts(prompts)) == prompts


def test_a_model_that_was_trained_to_be_told_is_told_what_is_unfinished() -> None:
    model = trained(spell_prompts(TrainedPrompts((telling_unfinished(labels_of("en", "de")),))))
    prompt = select_prompt(model, "auto", "English", "German")
    source = prompt.source("We will")
    assert model.spell(prompt.build(source, is_final=False)) == "<bos>Englisch: We will\n…"
    assert model.spell(prompt.build(source, is_final=True)) == "<bos>Englisch: We will\nDeutsch:"
