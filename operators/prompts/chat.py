"""Prompts in turns: a request with a place for the source, between tokens that mark the roles.

A text with the mark ``{source}`` becomes a head and a tail of token ids. Recognised text never goes through a
template: it is tokenised separately, as plain text.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Protocol

from operators.errors import InputError
from operators.languages import language
from operators.prompts.prompt import EndOfTurn, Prompt, Vocabulary
from operators.prompts.template import SOURCE, ChatTemplate, TurnTemplate, with_languages


def turn_prompt(vocabulary: Vocabulary, template: TurnTemplate, source: str, target: str) -> Prompt:
    """The prompt of a template that spells its control tokens itself.

    Raises `UsageError` for an unknown language.
    """
    head, _, tail = with_languages(template.prompt, source, target).partition(SOURCE)
    return split_prompt(vocabulary, head, tail, target)


def split_prompt(vocabulary: Vocabulary, head: str, tail: str, target: str) -> Prompt:
    """A prompt from the text before and after the source, in which control tokens are spelled out."""
    # A space before the source belongs to its first word, as if all were tokenised together.
    before = head.rstrip(" ")
    tokens = tuple(vocabulary.tokenize(before, special=True))
    begin = tuple(vocabulary.begin)
    if tokens[: len(begin)] != begin:  # many templates contain the beginning themselves
        tokens = (*begin, *tokens)
    return Prompt(
        vocabulary=vocabulary,
        head=tokens,
        lead=head[len(before) :],
        tail=tuple(vocabulary.tokenize(tail, special=True)),
        stop=EndOfTurn(vocabulary),
        joint=language(target).joint,
    )


def knows_controls(vocabulary: Vocabulary, template: TurnTemplate) -> bool:
    """Whether each control token of the template is one token of the vocabulary."""
    return all(len(vocabulary.tokenize(control, special=True)) == 1 for control in template.controls)


TIMEOUT_S = 20.0

#: A word that no template contains, and that trimming, escaping and folding do not change.
_MARK = "surtitle0source0goes0here"
_THINK, _THOUGHT = "<think>", "</think>"


class ChatVocabulary(Vocabulary, Protocol):
    """What a chat template needs from a model."""

    @property
    def chat_template(self) -> str | None:
        """The Jinja template inside the GGUF."""
        ...

    @property
    def begin_text(self) -> str:
        """How the beginning of a prompt is spelled."""
        ...

    @property
    def end_text(self) -> str:
        """How the end of a text is spelled."""
        ...


def chat_prompt(model: ChatVocabulary, template: ChatTemplate, source: str, target: str) -> Prompt:
    """A request for a translation in the turns of the model's own template.

    Raises `InputError` for a template that cannot be used, `UsageError` for an unknown language.
    """
    message = with_languages(template.message, source, target).replace(SOURCE, _MARK)
    text = _render(model, message)
    if (count := text.count(_MARK)) != 1:
        how = "leaves the user's message out" if count == 0 else "repeats the user's message"
        raise InputError(_unusable(f"it {how}"))
    head, _, tail = text.partition(_MARK)
    answer = with_languages(template.answer, source, target)
    return split_prompt(model, head, _without_thoughts(tail) + answer, target)


def _without_thoughts(tail: str) -> str:
    """Close a thinking block that the template opens for the model: captions cannot wait for it."""
    if tail.rfind(_THINK) > tail.rfind(_THOUGHT):
        return f"{tail.rstrip()}\n\n{_THOUGHT}\n\n"
    return tail


def _render(model: ChatVocabulary, message: str) -> str:
    variables: dict[str, Any] = {
        "messages": [{"role": "user", "content": message}],
        "add_generation_prompt": True,
        "enable_thinking": False,
        "tools": None,
        "documents": None,
        "bos_token": model.begin_text,
        "eos_token": model.end_text,
    }
    request = json.dumps({"template": model.chat_template, "variables": variables})
    program = Path(__file__).with_name("render_template.py")
    try:
        done = subprocess.run(
            [sys.executable, "-I", str(program)],
            input=request,
            stdout=subprocess.PIPE,
            # A traceback would quote the template's own errors at any length.
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            timeout=TIMEOUT_S,
            check=False,
        )
        answer = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError):  # no answer: it ran into a limit
        answer = {"error": "it takes too much time or memory"}
    if "error" in answer:
        raise InputError(_unusable(" ".join(str(answer["error"]).split())[:200]))
    return str(answer["text"])


def _unusable(why: str) -> str:
    return (
        f"the chat template in the model file cannot be used, {why}: "
        "choose another prompt with --template, or another model"
    )
