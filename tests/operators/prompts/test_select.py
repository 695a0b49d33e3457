"""Which prompt a model gets."""

import pytest

from operators.errors import UsageError
from operators.prompts.select import TemplateName, fitting_template, select_prompt
from tests.toy import SpellingVocabulary

GEMMA = ("<start_of_turn>", "<end_of_turn>")
QWEN = ("<think>", "</think>", "<|im_start|>", "<|im_end|>")
HYBRID = "{{ messages[0].content }}{{ enable_thinking }}"


@pytest.mark.parametrize(
    ("controls", "header", "chat_template", "want"),
    [
        (GEMMA, {"general.name": "Tower Plus 2B", "general.architecture": "gemma2"}, "x", "tower"),
        (GEMMA, {"general.basename": "tower-plus"}, None, "tower"),
        (QWEN, {"general.name": "Tower Plus 72B", "general.architecture": "qwen2"}, "x", "chat"),
        (QWEN, {"general.architecture": "qwen3"}, HYBRID, "qwen3"),
        (QWEN, {"general.name": "Qwen3 4B Instruct 2507", "general.architecture": "qwen3"}, "x", "chat"),
        (GEMMA, {"general.name": "Gemma 3 4b It"}, "x", "chat"),
        (GEMMA, {"general.name": "Gemma 3 270m"}, None, "few-shot"),
        ((), {}, None, "few-shot"),
    ],
)
def test_a_model_gets_the_template_that_fits_what_its_file_says(
    controls: tuple[str, ...], header: dict[str, str], chat_template: str | None, want: TemplateName
) -> None:
    model = SpellingVocabulary(*controls, chat_template=chat_template, metadata=header)
    assert fitting_template(model) == want


def test_a_template_can_be_chosen_by_name() -> None:
    model = SpellingVocabulary(*GEMMA, *QWEN, chat_template=HYBRID)
    heads = {
        name: select_prompt(model, name, "en", "de").head for name in ("few-shot", "chat", "tower", "qwen3")
    }
    assert len(set(heads.values())) == 4
    assert select_prompt(model, "auto", "en", "de").head == heads["chat"]


def test_a_template_for_other_models_is_refused() -> None:
    with pytest.raises(UsageError, match=r"qwen3 is not for this model.*<think>"):
        select_prompt(SpellingVocabulary(*GEMMA), "qwen3", "en", "de")
    with pytest.raises(UsageError, match="no chat template: use --template few-shot"):
        select_prompt(SpellingVocabulary(), "chat", "en", "de")


def test_a_chat_model_translates_between_languages_that_there_are_no_examples_for() -> None:
    model = SpellingVocabulary(chat_template="{{ messages[0].content }}")
    prompt = select_prompt(model, "auto", "Finnish", "Greek")
    assert "Translate the Finnish text below into Greek" in model.spell(prompt.head)
    with pytest.raises(UsageError, match="no examples for Finnish to Greek"):
        select_prompt(model, "few-shot", "Finnish", "Greek")
