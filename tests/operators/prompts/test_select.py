"""Which prompt a model gets."""

from pathlib import Path

import pytest

from operators.errors import UsageError
from operators.prompts.select import fitting_template, select_prompt
from tests.toy import SpellingVocabulary

GEMMA = ("<start_of_turn>", "<end_of_turn>")
QWEN = ("<think>", "</think>", "<|im_start|>", "<|im_end|>")
HYBRID = "{{ messages[0].content }}{{ enable_thinking }}"


@pytest.mark.parametrize(
    ("controls", "header", "chat_template", "want"),
    [
        (GEMMA, {"general.name": "Tower Plus 2B", "general.architecture": "gemma2"}, "x", "tower-plus"),
        (GEMMA, {"general.basename": "tower-plus"}, None, "tower"),
        (QWEN, {"general.name": "Tower Plus 72B", "general.architecture": "qwen2"}, "x", "tower-plus"),
        (QWEN, {"general.architecture": "qwen3"}, HYBRID, "qwen3"),
        (QWEN, {"general.name": "Qwen3 4B Instruct 2507", "general.architecture": "qwen3"}, "x", "chat"),
        (GEMMA, {"general.name": "Gemma 3 4b It"}, "x", "chat"),
        ((), {"general.name": "Hy MT2 1.8B", "general.architecture": "hunyuan-dense"}, "x", "hy-mt2"),
        ((), {"general.basename": "HY-MT1.5"}, "x", "hy-mt1.5"),
        (GEMMA, {"general.name": "Translategemma 4b It"}, "x", "translategemma"),
        (GEMMA, {"general.name": "Mine"}, "{{ content['source_lang_code'] }}", "translategemma"),
        ((), {"general.name": "MiLMMT 46 1B v1.0"}, "x", "milmmt"),
        ((), {"general.name": "GemmaX2 28 2B v0.1"}, None, "gemmax2"),
        (("<de>",), {"general.name": "Seed X PPO 7B"}, None, "seed-x"),
        (("<zh>",), {"general.name": "Seed X PPO 7B"}, None, "few-shot"),
        ((), {"general.basename": "salamandraTA"}, "x", "salamandrata"),
        (QWEN, {"general.name": "EuroLLM 1.7B Instruct"}, "x", "eurollm"),
        (QWEN, {"general.name": "EuroLLM 9B Instruct 2512"}, "x", "chat"),
        ((), {"general.name": "LFM2 350M ENJP MT"}, "x", "lfm2-enjp"),
        (("<|plamo:op|>",), {"general.name": "Plamo 2 Translate"}, None, "plamo-translate"),
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
