"""Tower's and Qwen's prompts: the right tokens, and speech that cannot leave its place among them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.errors import UsageError
from operators.models.llama_model import LlamaModel
from operators.prompts.prompt import Prompt
from operators.prompts.template import turn_template, with_languages
from operators.prompts.turns import turn_prompt
from tests.tiny_gguf import CONTROL, USER_DEFINED, byte_pairs, write_model
from tests.toy import SpellingVocabulary

NAMES = ["tower", "qwen3"]
CONTROLS = [control for name in NAMES for control in turn_template(name).controls]
MARKS = {control: USER_DEFINED if "think" in control else CONTROL for control in CONTROLS}

speech = st.lists(
    st.one_of(st.sampled_from([*CONTROLS, "<bos>", "</s>", "{source}", "\n"]), st.text(max_size=8))
).map("".join)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> LlamaModel:
    """A model whose vocabulary knows the marks of all templates."""
    return LlamaModel(write_model(tmp_path_factory.mktemp("tiny") / "tiny.gguf", byte_pairs(MARKS)))


def spelled(name: str, text: str, target: str = "German") -> str:
    template = turn_template(name)
    vocabulary = SpellingVocabulary(*template.controls, begin="<bos>")
    prompt = turn_prompt(vocabulary, template, "English", target)
    return vocabulary.spell(prompt.build(prompt.source(text), is_final=True))


def test_tower_is_asked_as_the_paper_prints_it() -> None:
    assert spelled("tower", "Good morning.") == (
        "<bos><start_of_turn>user\n"
        "Translate the English source text to German. Return only the translation, "
        "without any additional explanations or commentary.\n"
        "English: Good morning.\n"
        "German: <end_of_turn>\n"
        "<start_of_turn>model\n"
    )


def test_qwen_is_asked_as_the_paper_prints_it_in_the_turns_of_its_own_format() -> None:
    assert spelled("qwen3", "Good morning.", "ja") == (
        "<bos><|im_start|>system\n"
        "Translate the English source text to Japanese. Return only the translation, "
        "without any additional explanations or commentary.<|im_end|>\n"
        "<|im_start|>user\n"
        "English: Good morning.<|im_end|>\n"
        "<|im_start|>assistant\n"
        "<think>\n\n</think>\n\n"
        "Japanese:"
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_language_that_is_not_known_is_a_usage_error(name: str) -> None:
    with pytest.raises(UsageError, match="'Klingon' is not a language"):
        turn_prompt(SpellingVocabulary(), turn_template(name), "English", "Klingon")


@pytest.mark.parametrize("name", NAMES)
@given(text=speech)
def test_no_speech_adds_a_control_token_to_a_prompt_for_gemma(
    name: str, model: LlamaModel, text: str
) -> None:
    prompt = turn_prompt(model, turn_template(name), "English", "German")
    assert all(model.piece(token) for token in prompt.source(text))


def controls(model: LlamaModel) -> set[int]:
    return {token for control in CONTROLS for token in model.tokenize(control, special=True)}


def test_the_tiny_model_reads_every_mark_in_the_template_itself(tiny: LlamaModel) -> None:
    assert len(controls(tiny)) == len(CONTROLS)
    for name in NAMES:
        prompt = turn_prompt(tiny, turn_template(name), "English", "German")
        want = {token for one in turn_template(name).controls for token in tiny.tokenize(one, special=True)}
        assert controls(tiny) & {*prompt.head, *prompt.tail} == want


TEXTS = [
    "Good morning, everyone.",
    "it costs 4.2 million, the",
    "„Ja“, sagte sie",
    "東京は 雨です",
    "x",
    "(a) b-c d's",
]


def whole(name: str, text: str) -> str:
    return with_languages(turn_template(name).prompt, "English", "German").replace("{source}", text)


@pytest.mark.parametrize("text", TEXTS)
def test_parts_of_towers_prompt_have_the_tokens_of_the_whole(model: LlamaModel, text: str) -> None:
    prompt = turn_prompt(model, turn_template("tower"), "English", "German")
    tokens = model.tokenize(whole("tower", text), special=True)
    assert list(prompt.build(prompt.source(text), is_final=True)) == model.begin + tokens


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", TEXTS)
def test_parts_of_a_prompt_have_the_tokens_of_the_whole(name: str, tiny: LlamaModel, text: str) -> None:
    prompt = turn_prompt(tiny, turn_template(name), "English", "German")
    tokens = tiny.tokenize(whole(name, text), special=True)
    assert list(prompt.build(prompt.source(text), is_final=True)) == tiny.begin + tokens


def test_the_label_before_the_end_of_towers_turn_keeps_its_space(model: LlamaModel) -> None:
    prompt = turn_prompt(model, turn_template("tower"), "English", "German")
    pieces = [model.piece(token).decode() for token in prompt.tail]
    (end,) = model.tokenize("<end_of_turn>", special=True)
    assert "".join(pieces[: prompt.tail.index(end)]) == "\nGerman: "


def test_gemma_ends_its_turn_with_the_templates_token(model: LlamaModel) -> None:
    prompt: Prompt = turn_prompt(model, turn_template("tower"), "English", "German")
    (end,) = model.tokenize("<end_of_turn>", special=True)
    (line,) = model.tokenize("\n")
    assert end in prompt.stop
    assert line not in prompt.stop
