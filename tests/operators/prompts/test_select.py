"""Which prompt a model gets; one that was trained to translate, that of its training for its directions."""

from pathlib import Path

import pytest

from operators.errors import InputError, UsageError
from operators.prompts.select import fitting_template, select_prompt
from operators.prompts.template import (
    TEMPLATES_KEY,
    Template,
    TrainedPrompts,
    find_examples,
    labels_of,
    spell_prompts,
    telling_unfinished,
)
from tests.toy import SpellingVocabulary

GEMMA = ("<start_of_turn>", "<end_of_turn>")
QWEN = ("<think>", "</think>", "<|im_start|>", "<|im_end|>")
HYBRID = "{{ messages[0].content }}{{ enable_thinking }}"


@pytest.mark.parametrize(
    ("controls", "header", "chat_template", "want"),
    [
        (GEMMA, {"general.basename": "tower-plus"}, None, "tower"),
        (QWEN, {"general.name": "Tower Plus 72B", "general.architecture": "qwen2"}, "x", "tower-plus"),
        (QWEN, {"general.architecture": "qwen3"}, HYBRID, "qwen3"),
        (QWEN, {"general.name": "Qwen3 4B Instruct 2507", "general.architecture": "qwen3"}, "x", "chat"),
        (GEMMA, {"general.name": "Gemma 3 4b It"}, "x", "chat"),
        ((), {"general.basename": "HY-MT1.5"}, "x", "hy-mt1.5"),
        (GEMMA, {"general.name": "Mine"}, "{{ content['source_lang_code'] }}", "translategemma"),
        (("<zh>",), {"general.name": "Seed X PPO 7B"}, None, "few-shot"),
        ((), {"general.basename": "salamandraTA"}, "x", "salamandrata"),
        (QWEN, {"general.name": "EuroLLM 9B Instruct 2512"}, "x", "chat"),
        (GEMMA, {"general.name": "Gemma 3 270m"}, None, "few-shot"),
        ((), {}, None, "few-shot"),
    ],
)
def test_a_model_gets_the_template_that_fits_what_its_file_says(
    controls: tuple[str, ...], header: dict[str, str], chat_template: str | None, want: str
) -> None:
    model = SpellingVocabulary(*controls, chat_template=chat_template, metadata=header)
    assert fitting_template(model, "en", "de") == want


def test_a_file_that_says_nothing_is_known_by_its_name() -> None:
    model = SpellingVocabulary(chat_template="x")
    model.path = Path("models/HY-MT1.5-7B-Q4_K_M.gguf")
    assert fitting_template(model, "en", "de") == "hy-mt1.5"


def test_a_template_can_be_chosen_by_name() -> None:
    model = SpellingVocabulary(*GEMMA, *QWEN, chat_template=HYBRID)
    names = "few-shot", "chat", "tower", "qwen3"
    heads = {name: select_prompt(model, name, "en", "de").head for name in names}
    assert len(set(heads.values())) == 4
    assert select_prompt(model, "auto", "en", "de").head == heads["chat"]


def test_a_template_for_other_models_is_refused() -> None:
    with pytest.raises(UsageError, match=r"qwen3 is not for this model.*<think>"):
        select_prompt(SpellingVocabulary(*GEMMA), "qwen3", "en", "de")
    with pytest.raises(UsageError, match="no chat template: use --set translate"):
        select_prompt(SpellingVocabulary(), "chat", "en", "de")


def test_a_chat_model_translates_between_languages_that_there_are_no_examples_for() -> None:
    model = SpellingVocabulary(chat_template="{{ messages[0].content }}")
    prompt = select_prompt(model, "auto", "Finnish", "Greek")
    assert "Translate the Finnish text below into Greek" in model.spell(prompt.head)
    with pytest.raises(UsageError, match="no examples for Finnish to Greek"):
        select_prompt(model, "few-shot", "Finnish", "Greek")


BOTH = TrainedPrompts((labels_of("en", "de"), labels_of("English", "French")))


def trained(said: str) -> SpellingVocabulary:
    return SpellingVocabulary("<bos>", begin="<bos>", metadata={TEMPLATES_KEY: said, "general.name": "x"})


def test_another_direction_is_refused_with_those_that_there_are() -> None:
    told = "not trained for German to English, but for English to German, English to F"
    with pytest.raises(UsageError, match=told):
        select_prompt(trained(spell_prompts(BOTH)), "auto", "German", "English")


@pytest.mark.parametrize("chosen", ["few-shot", "chat", "tower", find_examples("en", "de")])
def test_it_is_not_asked_in_another_way(chosen: str | Template) -> None:
    with pytest.raises(UsageError, match=r"leave out translate\.template, or choose --model base"):
        select_prompt(trained(spell_prompts(BOTH)), chosen, "en", "de")


@pytest.mark.parametrize("said", ["", "{", "[]", '[{"language": "German"}]', "[1]", '["\\ud800"]'])
def test_a_header_that_says_nonsense_is_refused(said: str) -> None:
    with pytest.raises(InputError, match=r"header .* surtitle\.templates"):
        select_prompt(trained(said), "auto", "en", "de")


@pytest.mark.parametrize(("is_told", "unfinished"), [(False, "\nDeutsch:"), (True, "\n…")])
def test_the_prompt_is_the_labels_and_what_is_unfinished_is_told_to_a_model_trained_to_be(
    is_told: bool, unfinished: str
) -> None:
    prompts = TrainedPrompts((telling_unfinished(labels_of("en", "de")),)) if is_told else BOTH
    model = trained(spell_prompts(prompts))
    prompt = select_prompt(model, "auto", "English", "German")
    source = prompt.source("We will")
    assert model.spell(prompt.build(source, is_final=False)) == f"<bos>Englisch: We will{unfinished}"
    assert model.spell(prompt.build(source, is_final=True)) == "<bos>Englisch: We will\nDeutsch:"
    assert ord("\n") in prompt.stop
