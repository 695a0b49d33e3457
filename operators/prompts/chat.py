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
from operators.prompts.prompt import EndOfTurn, Noted, Prompt, Vocabulary
from operators.prompts.template import (
    NOTES,
    SOURCE,
    ChatTemplate,
    NotesTemplate,
    TurnTemplate,
    with_languages,
)


def turn_prompt(vocabulary: Vocabulary, template: TurnTemplate, source: str, target: str) -> Prompt:
    """The prompt of a template that spells its control tokens itself.

    Raises `UsageError` for an unknown language.
    """
    head, _, tail = with_languages(template.prompt, template, source, target).partition(SOURCE)
    prompt = split_prompt(vocabulary, head, tail, target, begins=template.begins)
    ends = [token for one in template.ends for token in vocabulary.tokenize(one, special=True)]
    return prompt._replace(stop=EndOfTurn(vocabulary, ends))


def split_prompt(vocabulary: Vocabulary, head: str, tail: str, target: str, *, begins: bool = True) -> Prompt:
    """A prompt from the text before and after the source, in which control tokens are spelled out."""
    # A space before the source belongs to its first word, as if all were tokenised together.
    before = head.rstrip(" ")
    return Prompt(
        vocabulary=vocabulary,
        head=_begun(vocabulary, before) if begins else _spelled(vocabulary, before),
        lead=head[len(before) :],
        tail=_spelled(vocabulary, tail),
        stop=EndOfTurn(vocabulary),
        joint=language(target).joint,
    )


def _spelled(vocabulary: Vocabulary, text: str) -> tuple[int, ...]:
    return tuple(vocabulary.tokenize(text, special=True))


def _begun(vocabulary: Vocabulary, text: str) -> tuple[int, ...]:
    """The tokens of a text that begins a prompt."""
    tokens, begin = _spelled(vocabulary, text), tuple(vocabulary.begin)
    # Many templates contain the beginning themselves.
    return tokens if tokens[: len(begin)] == begin else (*begin, *tokens)


def missing_controls(
    vocabulary: Vocabulary, template: TurnTemplate, source: str, target: str
) -> tuple[str, ...]:
    """The control tokens of the template that are not one token of the vocabulary each."""
    controls = (with_languages(one, template, source, target) for one in template.controls)
    return tuple(one for one in controls if len(vocabulary.tokenize(one, special=True)) != 1)


TIMEOUT_S = 20.0

#: A word that no template contains, and that trimming, escaping and folding do not change.
_MARK, _NOTES_MARK = "surtitle0source0goes0here", "surtitle0notes0go0here"
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
    is_chinese = any(language(one).code.startswith("zh") for one in (source, target))
    message = template.chinese if is_chinese and template.chinese else template.message
    answer = with_languages(template.answer, template, source, target)

    def rendered(text: str, *marks: str) -> list[str]:
        """The parts of the request around its marks."""
        system = with_languages(template.system, template, source, target)
        text = with_languages(text, template, source, target)
        text = _render(model, system, text.replace(SOURCE, _MARK).replace(NOTES, _NOTES_MARK))
        parts = []
        for mark in marks:
            if (count := text.count(mark)) != 1:
                how = "leaves the user's message out" if count == 0 else "repeats the user's message"
                raise InputError(_unusable(f"it {how}"))
            part, _, text = text.partition(mark)
            parts.append(part)
        return [*parts, _without_thoughts(text) + answer]

    def noted(notes: NotesTemplate | None) -> Noted | None:
        if notes is None:
            return None
        before, between, tail = rendered(notes.message, _NOTES_MARK, _MARK)
        return Noted(_begun(model, before), _spelled(model, between), _spelled(model, tail), notes.each)

    head, tail = rendered(message, _MARK)
    prompt = split_prompt(model, head, tail, target)
    return prompt._replace(terms=noted(template.terms), context=noted(template.context))


def _without_thoughts(tail: str) -> str:
    """Close a thinking block that the template opens for the model: captions cannot wait for it."""
    if tail.rfind(_THINK) > tail.rfind(_THOUGHT):
        return f"{tail.rstrip()}\n\n{_THOUGHT}\n\n"
    return tail


def _render(model: ChatVocabulary, system: str, message: str) -> str:
    said = [{"role": "system", "content": system}] if system else []
    variables: dict[str, Any] = {
        "messages": [*said, {"role": "user", "content": message}],
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
        "choose another prompt with translate.template, or another model"
    )
