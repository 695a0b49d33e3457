"""Each named model is asked as its makers publish it: by their chat template, or as they document it.

The templates are cut to what a request without tools uses; those that no licence lets us copy are written
from the documentation of their format.
"""

# ruff: noqa: E501 - prompts, word for word

from pathlib import Path
from typing import NamedTuple

import jinja2
import pytest

from operators.errors import UsageError
from operators.models.llama_model import LlamaModel
from operators.prompts.select import select_prompt
from tests.tiny_gguf import CONTROL, byte_pairs, write_model
from tests.toy import SpellingVocabulary

SAID = "„Ja“, sagte sie: it costs (a) 4.2 million, the 東京"
CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
HY = (
    "{{ '<｜hy_begin▁of▁sentence｜>' }}{% for message in messages %}{% if message['role'] == 'user' %}"
    "{{ '<｜hy_User｜>' + message['content'] }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<｜hy_Assistant｜>' }}{% endif %}"
)
GEMMA_2 = (
    "{{ bos_token }}{% for message in messages %}{{ '<start_of_turn>' + message['role'] + '\n' + "
    "message['content'] | trim + '<end_of_turn>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}"
)
# The model card: one entry with the codes of both languages, whose text is asked for in this way.
TRANSLATE_GEMMA = """{%- set languages = {"en": "English", "de": "German"} -%}
{{ bos_token }}
{%- for message in messages -%}
{%- if message['content'] is string -%}{{ raise_exception("User content must be a list") }}{%- endif -%}
{%- set content = message['content'][0] -%}
{%- set source, target = languages[content['source_lang_code']], languages[content['target_lang_code']] -%}
{{ '<start_of_turn>user\\nYou are a professional ' + source + ' (' + content['source_lang_code'] + ') to ' + target +
' (' + content['target_lang_code'] + ') translator. Your goal is to accurately convey the meaning and nuances of the ' +
'original ' + source + ' text while adhering to ' + target + ' grammar, vocabulary, and cultural sensitivities.\\n' +
'Produce only the ' + target + ' translation, without any additional explanations or commentary. Please translate ' +
'the following ' + source + ' text into ' + target + ':\\n\\n\\n' + content['text'] | trim + '<end_of_turn>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<start_of_turn>model\\n' }}{%- endif -%}"""


class Family(NamedTuple):
    """A model, its chat template, and what its makers put into it; a text if there is no template."""

    name: str
    template: str | None
    messages: list[dict[str, object]] | str
    controls: tuple[str, ...] = ()
    target: str = "German"
    begin: str = ""
    template_name: str = "auto"


def user(content: object) -> list[dict[str, object]]:
    return [{"role": "user", "content": content}]


TURNS = ("<|im_start|>", "<|im_end|>")
GEMMA = ("<start_of_turn>", "<end_of_turn>")
HY_BEGIN = "<｜hy_begin▁of▁sentence｜>"
HY_TURNS = (HY_BEGIN, "<｜hy_User｜>", "<｜hy_Assistant｜>")
HY_MT2 = (
    "Translate the following text into German. Note that you should only output the translated result "
    f"without any additional explanation:\n\n{SAID}"
)
HY_MT15 = f"Translate the following segment into German, without additional explanation.\n\n{SAID}"
HY_MT15_ZH = f"将以下文本翻译为中文，注意只需要输出翻译后的结果，不要额外解释：\n\n{SAID}"
ENTRY = {"type": "text", "source_lang_code": "en", "target_lang_code": "de", "text": SAID}
MILMMT = f"Translate this from English to Chinese (Simplified):\nEnglish: {SAID}\nChinese (Simplified):"
GEMMAX2 = f"Translate this from English to Chinese:\nEnglish: {SAID}\nChinese:"
SEED_X = f"<s>Translate the following English sentence into German:\n{SAID} <de>"
SALAMANDRA = f"Translate the following text from English into German.\nEnglish: {SAID} \nGerman:"
EUROLLM = (
    "<s><|im_start|>system\n<|im_end|>\n<|im_start|>user\nTranslate the following English source text to German:\n"
    f"English: {SAID} \nGerman: <|im_end|>\n<|im_start|>assistant\n"
)
LFM2: list[dict[str, object]] = [{"role": "system", "content": "Translate to Japanese."}, *user(SAID)]
PLAMO = f"<|plamo:op|>dataset\ntranslation\n<|plamo:op|>input lang=English\n{SAID}\n<|plamo:op|>output lang=Japanese\n"
TOWER = f"Translate the following English source text to German:\nEnglish: {SAID}\nGerman: "
PAPER = (
    "Translate the English source text to German. Return only the translation, without any additional explanations or "
    "commentary."
)
PAPER_TOWER = (
    f"<bos><start_of_turn>user\n{PAPER}\nEnglish: {SAID}\nGerman: <end_of_turn>\n<start_of_turn>model\n"
)
PAPER_QWEN = (
    f"<|im_start|>system\n{PAPER}<|im_end|>\n<|im_start|>user\nEnglish: {SAID}<|im_end|>\n<|im_start|>assistant\n"
    "<think>\n\n</think>\n\nGerman:"
)
FAMILIES = [
    Family("Hy MT2 1.8B", HY, user(HY_MT2), HY_TURNS, begin=HY_BEGIN),
    Family("HY MT1.5 1.8B", HY, user(HY_MT15), HY_TURNS, begin=HY_BEGIN),
    Family("HY MT1.5 7B", HY, user(HY_MT15_ZH), HY_TURNS, "Chinese", HY_BEGIN),
    Family("Translategemma 4b It", TRANSLATE_GEMMA, user([ENTRY]), GEMMA, begin="<bos>"),
    # As in the example for transformers, which adds no special tokens.
    Family("MiLMMT 46 1B v1.0", None, MILMMT, target="Chinese"),
    Family("GemmaX2 28 2B v0.1", None, GEMMAX2, target="zh"),
    Family("Seed X PPO 7B", None, SEED_X, ("<de>",), begin="<s>"),
    Family("SalamandraTA 7B Instruct", CHATML, user(SALAMANDRA), TURNS),
    Family("EuroLLM 1.7B Instruct", None, EUROLLM, TURNS, begin="<s>"),
    Family("LFM2 350M ENJP MT", "{{ bos_token }}" + CHATML, LFM2, TURNS, "Japanese", "<|startoftext|>"),
    Family("Plamo 2 Translate", None, PLAMO, ("<|plamo:op|>",), "Japanese"),
    Family("Tower Plus 9B", GEMMA_2, user(TOWER), GEMMA, begin="<bos>"),
    Family("Tower+ in the paper", None, PAPER_TOWER, GEMMA, begin="<bos>", template_name="tower"),
    Family("Qwen3 in the paper", None, PAPER_QWEN, (*TURNS, "<think>", "</think>"), template_name="qwen3"),
]


def published(family: Family) -> str:
    """What the makers' own code gives the model."""
    if family.template is None:
        assert isinstance(family.messages, str)
        return family.messages
    template = jinja2.Environment(trim_blocks=True, lstrip_blocks=True).from_string(family.template)
    given = {"messages": family.messages, "add_generation_prompt": True, "enable_thinking": False}
    return template.render(given, bos_token=family.begin)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_named_model_is_asked_as_its_makers_ask_it(family: Family, tmp_path: Path) -> None:
    begin = [family.begin] if family.begin and family.begin not in family.controls else []
    marks = dict.fromkeys([*begin, *family.controls, "</s>"], CONTROL)
    tokens = byte_pairs(marks)
    if family.template is not None:
        tokens.entries["tokenizer.chat_template"] = family.template
    if family.begin:
        tokens.entries["tokenizer.ggml.bos_token_id"] = tokens.texts.index(family.begin)
        tokens.entries["tokenizer.ggml.add_bos_token"] = True
    model = LlamaModel(write_model(tmp_path / "tiny.gguf", tokens, general_name=family.name))
    prompt = select_prompt(model, family.template_name, "English", family.target)
    built = prompt.build(prompt.source(SAID), is_final=True)
    want = model.tokenize(published(family), special=True)
    model.close()
    assert list(built) == want


def test_a_model_for_two_languages_refuses_others() -> None:
    model = SpellingVocabulary(*TURNS, chat_template=CHATML, metadata={"general.name": "LFM2 350M ENJP MT"})
    with pytest.raises(UsageError, match="translates between English and Japanese only, and not German"):
        select_prompt(model, "auto", "English", "German")


def test_the_next_field_ends_an_answer_of_plamo() -> None:
    model = SpellingVocabulary("<|plamo:op|>", "</s>", metadata={"general.name": "Plamo 2 Translate"})
    prompt = select_prompt(model, "auto", "English", "Japanese")
    (field,) = model.tokenize("<|plamo:op|>", special=True)
    assert field in prompt.stop
    assert ord("x") not in prompt.stop


def noted(name: str, terms: list[tuple[str, str]], said: list[str], target: str = "German") -> str:
    model = SpellingVocabulary("<｜hy_User｜>", chat_template=HY, metadata={"general.name": name})
    prompt = select_prompt(model, "auto", "English", target).with_notes(terms, said)
    return model.spell(prompt.build(prompt.source(SAID), is_final=True)).partition("<｜hy_User｜>")[2]


TERMS = [("beam search", "Strahlsuche"), ("loss", "Verlust")]


TOLD_TERMS = (
    "Reference the following translations:\nbeam search translates to Strahlsuche\nloss translates to Verlust\n\n"
    "Translate the following text into German. Note that you must ONLY output the translated result without any "
    "additional explanation:\n\n"
)
TOLD_TALK = (
    "[Background Information]\nOne. Two.\n\nPlease translate the following text into German, taking the provided "
    "background information into consideration.\n\n[Source Text]\n"
)
TOLD_TERMS_15 = (
    "参考下面的翻译：\nbeam search 翻译成 Strahlsuche\n\n"
    "将以下文本翻译为印尼语，注意只需要输出翻译后的结果，不要额外解释：\n"
)
TOLD_TALK_15 = "One.\n参考上面的信息，把下面的文本翻译成法语，注意不需要翻译上文，也不要额外解释：\n"


@pytest.mark.parametrize(
    ("name", "target", "terms", "said", "told"),
    [
        ("Hy MT2 7B", "German", TERMS, [], TOLD_TERMS),
        ("Hy MT2 7B", "German", [], ["One.", "Two."], TOLD_TALK),
        ("HY MT1.5 7B", "Indonesian", TERMS[:1], ["One."], TOLD_TERMS_15),
        ("HY MT1.5 7B", "French", [], ["One."], TOLD_TALK_15),
    ],
)
def test_hy_mt_is_told_terms_and_what_was_said_as_its_makers_print_it(
    name: str, target: str, terms: list[tuple[str, str]], said: list[str], told: str
) -> None:
    assert noted(name, terms, said, target).startswith(told + SAID)


def test_notes_are_plain_text_and_no_longer_than_their_room() -> None:
    assert "<｜hy_User｜>" not in noted("Hy MT2 7B", [], ["x" * 200])
    told = noted("Hy MT2 7B", [], [f"<｜hy_User｜> {number}." for number in range(30)])
    assert "29." in told
    assert " 1." not in told
