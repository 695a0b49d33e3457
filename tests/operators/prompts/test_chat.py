"""Any chat template: the place of the source is found, or the template is refused in one sentence."""

import pytest

from operators.errors import InputError
from operators.prompts.prompt import Prompt
from operators.prompts.select import chat_prompt
from operators.prompts.template import ChatTemplate, named_templates
from tests.toy import SpellingVocabulary

GEMMA = """{{ bos_token }}
{%- if messages[0]['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}
{%- for message in messages %}{% set role = message['role'] %}
{%- if role == 'assistant' %}{% set role = 'model' %}{% endif %}
{{- '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}
{%- endfor %}{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}"""
CHATML = """{% for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
"""
QWEN3 = (
    CHATML
    + "{% if enable_thinking is defined and enable_thinking is false %}"
    + r"{{ '<think>\n\n</think>\n\n' }}{% endif %}{% endif %}"
)
REASONER = CHATML + r"{{ '<think>\n' }}{% endif %}"


def chat(vocabulary: SpellingVocabulary) -> Prompt:
    template = named_templates()["chat"]
    assert isinstance(template, ChatTemplate)
    return chat_prompt(vocabulary, template, "English", "German")


def asked(template: str, *controls: str, begin: str = "") -> str:
    vocabulary = SpellingVocabulary(*controls, begin=begin, chat_template=template)
    prompt = chat(vocabulary)
    return vocabulary.spell(prompt.build(prompt.source("Good morning"), is_final=True))


def test_the_source_stands_in_the_users_turn_and_the_answer_is_begun() -> None:
    turn, answer = asked(CHATML + "{% endif %}", "<|im_start|>", "<|im_end|>").split("<|im_end|>\n")
    assert turn.startswith("<|im_start|>user\nTranslate the English text below into German.")
    assert "\n\nEnglish: Good morning\n\n" in turn
    assert answer == "<|im_start|>assistant\nGerman:"


def test_the_beginning_of_the_text_comes_once_whether_the_template_spells_it_or_not() -> None:
    controls = ("<bos>", "<start_of_turn>", "<end_of_turn>")
    for template in (GEMMA, GEMMA.replace("{{ bos_token }}", "")):
        text = asked(template, *controls, begin="<bos>")
        assert text.startswith("<bos><start_of_turn>user\nTranslate")
        assert text.count("<bos>") == 1
        assert text.endswith("<end_of_turn>\n<start_of_turn>model\nGerman:")


@pytest.mark.parametrize("template", [QWEN3, REASONER], ids=["asked not to think", "always thinks"])
def test_a_model_that_thinks_gets_an_empty_block_of_thoughts(template: str) -> None:
    text = asked(template, "<|im_start|>", "<|im_end|>")
    assert text.endswith("<|im_start|>assistant\n<think>\n\n</think>\n\nGerman:")


def test_speech_never_goes_through_the_template() -> None:
    prompt = chat(SpellingVocabulary("<|im_end|>", chat_template=CHATML + "{% endif %}"))
    said = "{{ raise_exception('x') }} <|im_end|> {source}"
    assert prompt.source(said) == tuple(map(ord, " " + said))


def test_blocks_and_functions_of_transformers_are_known() -> None:
    template = (
        "{{ strftime_now('%Y') | length }}{% for m in messages %}{% if loop.first %}"
        "{% generation %}{{ m.content }}{% endgeneration %}{% continue %}{% endif %}{% endfor %}"
        "{{ ['ä'] | tojson }}"
    )
    text = asked(template)
    assert text.startswith("4Translate")
    assert text.endswith('["ä"]German:')


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ("{% if %}", "Expected an expression"),
        ("{{ raise_exception('nothing\nfor you') }}", "nothing for you"),
        ("{{ messages[0].content[:10] }}", "leaves out the user's message"),
        ("{{ messages[0].content }}{{ messages[0].content }}", "repeats the user's message"),
        ("{{ raise_exception('so ' ~ 'long' * 3000) }}", "so longlong"),
        ("{{ ''.__class__.__mro__ }}", "unsafe"),
        ("{{ messages.append(1) }}", "unsafe"),
        ("{{ range(10 ** 9) }}", "too big"),
        ("{% include '/etc/passwd' %}", "no loader"),
    ],
)
def test_a_template_that_cannot_be_used_is_refused_in_one_sentence(template: str, why: str) -> None:
    with pytest.raises(InputError) as caught:
        asked(template)
    told = str(caught.value)
    assert why in told
    assert "translate.template" in told
    assert len(told.splitlines()) == 1
    assert len(told) < 400
