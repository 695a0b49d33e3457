"""A translator from its settings: any model file, any template, one way to translate."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from flows.engine.translation import open_engine, translator_settings
from flows.measuring.plan import row_settings
from flows.settings.translate import TranslateSettings
from operators.decoding.translator import SegmentState, SegmentTranslator
from operators.errors import UsageError
from operators.prompts.prompt import Prompt
from tests.flows.talk import read
from tests.program import surtitle
from tests.tiny_gguf import CONTROL, USER_DEFINED, Tokens, byte_pairs, pieces, write_model
from tests.toy import ToyVocabulary

MARKS = {"<think>": USER_DEFINED, "</think>": USER_DEFINED, "<|im_start|>": CONTROL, "<|im_end|>": CONTROL}
CHATML = """{% for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}<|im_start|>assistant
"""


def translator_of(settings: TranslateSettings) -> SegmentTranslator:
    return open_engine(settings).translator(settings)


@pytest.mark.parametrize("name", ["Qwen3 4B", "Anybody's chat model"])
@pytest.mark.parametrize("vocabulary", [byte_pairs, pieces])
def test_a_chat_model_translates_updates_and_its_draft_is_used(
    tmp_path: Path, name: str, vocabulary: Callable[[dict[str, int]], Tokens]
) -> None:
    template = CHATML + "{{ enable_thinking and '<think>' or '' }}"
    path = write_model(
        tmp_path / "chat.gguf", vocabulary(MARKS), general_name=name, tokenizer_chat_template=template
    )
    translator = translator_of(TranslateSettings(model=str(path), to="Dutch", threads=1, max_source=16))
    state, first = translator.update("s/000000", SegmentState(), "the weather in", is_final=False)
    state, output = translator.update("s/000000", state, "the weather in the hills", is_final=True)
    assert output.effort.drafted > 0
    assert output.effort.prompt_reused > 100  # the head of the prompt is evaluated once
    assert len(output.pieces) == len(output.tokens)
    assert first.tokens


def test_a_template_for_another_model_is_refused(tmp_path: Path) -> None:
    path = write_model(tmp_path / "tiny.gguf", byte_pairs({}))
    with pytest.raises(UsageError, match="template tower is not for this model"):
        translator_of(TranslateSettings(to="German", model=str(path), template="tower"))


def test_a_template_of_the_users_own_asks_the_model(tmp_path: Path) -> None:
    path = write_model(tmp_path / "chat.gguf", byte_pairs(MARKS), tokenizer_chat_template=CHATML)
    template = tmp_path / "mine.toml"
    asked = []
    for text in (
        'controls = ["<|im_end|>"]\nprompt = "{source_language}: {source}<|im_end|>{target_language}:"',
        'message = "Say in {target_language}: {source}"\nanswer = "So:"',
        'language = "German"\nsource_language = "English"\nsource_label = "E:"\ntarget_label = "D:"\n'
        'pairs = [{source = "Hello.", target = "Hallo."}]',
    ):
        template.write_text(text)
        engine = open_engine(
            TranslateSettings(to="German", model=str(path), template=str(template), threads=1)
        )
        tokens = engine.prompt.build(engine.prompt.source("Good day"), is_final=True)
        asked.append(b"".join(map(engine.prompt.vocabulary.piece, tokens)).decode())
    assert asked == [
        "English: Good dayGerman:",
        "user\nSay in German: Good day\nassistantSo:",
        "E: Hello.\nD: Hallo.\n\nE: Good day\nD:",
    ]


@pytest.mark.parametrize("watched", [[], ["--set", "output.summary=summary.json"]])
def test_preceding_sentences_are_in_the_prompt_whether_or_not_somebody_watches(
    speech: Path, tmp_path: Path, watched: Sequence[str]
) -> None:
    write_model(tmp_path / "chat.gguf", byte_pairs(MARKS), tokenizer_chat_template=CHATML)
    template = 'message = "{source}"\n[context]\nmessage = "{notes}\\n{source}"'
    (tmp_path / "mine.toml").write_text(template)
    command = ["file", speech, "--model", "chat.gguf", "--quiet", "--set", "translate.template=mine.toml"]
    lengths = []
    for context in (0, 1):
        done = surtitle(
            *command, *watched, "--set", f"translate.context={context}",
            "--set", f"output.translations={context}.jsonl", "--srt", f"{context}.srt", cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        finals = [one for one in read(tmp_path / f"{context}.jsonl") if one["is_final"]]
        lengths.append([one["effort"]["prompt_tokens"] for one in finals])
    without, told = lengths
    assert len(told) == len(without) > 2
    assert told[0] == without[0]
    assert all(more > less for more, less in zip(told[1:], without[1:], strict=True))


def test_a_template_of_the_users_own_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    path = write_model(tmp_path / "tiny.gguf", byte_pairs({}))
    template = tmp_path / "mine.toml"
    for text, sentence in (
        ('prompt = "<a>{source}"\ncontrols = ["<a>"]', "of your own is not for this model.*<a>"),
        ('message = "{source}"', "no chat template"),
        (
            'language = "French"\nsource_language = "English"\nsource_label = ""\ntarget_label = ""\n'
            'pairs = [{source = "Hello.", target = "Salut."}]',
            "English to French, and not English to German",
        ),
    ):
        template.write_text(text)
        with pytest.raises(UsageError, match=sentence):
            translator_of(TranslateSettings(to="German", model=str(path), template=str(template)))


def prompt(*, knows_unfinished: bool = False) -> Prompt:
    return Prompt(ToyVocabulary(), (1,), " ", (2,), frozenset(), knows_unfinished=knows_unfinished)


def test_without_bias_nothing_is_committed_so_that_the_result_is_that_of_retranslation() -> None:
    assert translator_settings(TranslateSettings(to="German", commit=1, bias=0.2), prompt()).commit.passes
    assert not translator_settings(TranslateSettings(to="German", commit=1, bias=0.0), prompt()).commit.passes
    assert not translator_settings(TranslateSettings(to="German", commit=0, bias=0.2), prompt()).commit.passes


@pytest.mark.parametrize(
    ("chosen", "knows", "closes"), [(None, False, True), (None, True, False), (True, True, True)]
)
def test_only_a_model_not_trained_on_unfinished_text_gets_a_full_stop_by_default(
    chosen: bool | None, knows: bool, closes: bool
) -> None:
    settings = TranslateSettings(to="German", close_unfinished=chosen)
    made = translator_settings(settings, prompt(knows_unfinished=knows))
    assert made.conditioning.prepare("we will talk", is_final=False).endswith(".") == closes


@pytest.mark.parametrize(
    ("chosen", "knows", "differ"),
    [(None, False, True), (None, True, False), (0.0, True, True), (0.2, False, False)],
)
def test_a_final_keeps_the_bias_by_default_only_with_a_model_trained_on_unfinished_text(
    chosen: float | None, knows: bool, differ: bool
) -> None:
    settings = TranslateSettings(to="German", bias=0.2, final_bias=chosen)
    assert translator_settings(settings, prompt(knows_unfinished=knows)).finals_differ == differ
    assert (row_settings(settings, knows_unfinished=knows)["final_bias"] != 0.2) == differ
