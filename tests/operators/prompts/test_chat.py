"""Any chat template: the place of the source is found, or the template is refused in one sentence."""

import pytest

from operators.errors import InputError
from operators.models.llama_model import LlamaModel
from operators.prompts.prompt import Prompt
from operators.prompts.select import chat_prompt, turn_prompt
from operators.prompts.template import ChatTemplate, TurnTemplate, named_templates, with_languages
from tests.tiny_gguf import CONTROL, USER_DEFINED, byte_pairs, write_model
from tests.toy import SpellingVocabulary

NAMES = ["tower", "qwen3"]


def turn_template(name: str) -> TurnTemplate:
    template = named_templates()[name]
    assert isinstance(template, TurnTemplate)
    return template


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> LlamaModel:
    """A model whose vocabulary knows the marks of all templates."""
    controls = [control for name in NAMES for control in turn_template(name).controls]
    marks = {control: USER_DEFINED if "think" in control else CONTROL for control in controls}
    return LlamaModel(write_model(tmp_path_factory.mktemp("tiny") / "tiny.gguf", byte_pairs(marks)))


REQUEST = (
    "Translate the English source text to German. Return only the translation, "
    "without any additional explanations or commentary."
)


@pytest.mark.parametrize(
    ("name", "want"),
    [
        (
            "tower",
            f"<start_of_turn>user\n{REQUEST}\nEnglish: Good morning.\nGerman: <end_of_turn>\n"
            "<start_of_turn>model\n",
        ),
        (
            "qwen3",
            f"<|im_start|>system\n{REQUEST}<|im_end|>\n<|im_start|>user\nEnglish: Good morning.<|im_end|>\n"
            "<|im_start|>assistant\n<think>\n\n</think>\n\nGerman:",
        ),
    ],
)
def test_a_model_is_asked_as_the_paper_prints_it(name: str, want: str) -> None:
    template = turn_template(name)
    vocabulary = SpellingVocabulary(*template.controls, begin="<bos>")
    prompt = turn_prompt(vocabulary, template, "English", "German")
    built = prompt.build(prompt.source("Good morning."), is_final=True)
    assert vocabulary.spell(built) == f"<bos>{want}"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ["costs 4.2 million, the", "„Ja“, sagte sie", "東京は 雨です", "(a) b's"])
def test_parts_of_a_prompt_have_the_tokens_of_the_whole(name: str, tiny: LlamaModel, text: str) -> None:
    template = turn_template(name)
    prompt = turn_prompt(tiny, template, "English", "German")
    whole = with_languages(template.prompt, template, "English", "German").replace("{source}", text)
    tokens = tiny.tokenize(whole, special=True)
    assert list(prompt.build(prompt.source(text), is_final=True)) == tiny.begin + tokens


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
