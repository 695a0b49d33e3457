"""A training example, token by token: the prompt as in use, and the answer."""

from typing import NamedTuple

from operators.prompts.prompt import Prompt

_END = "\n"


class Asked(NamedTuple):
    """One example as token ids."""

    prompt: tuple[int, ...]
    answer: tuple[int, ...]


def asked(prompt: Prompt, source: str, target: str, *, is_final: bool) -> Asked:
    """An example whose answer ends with the line; an empty ``target`` teaches to answer nothing yet."""
    answer = prompt.vocabulary.tokenize(prompt.lead + target) if target else []
    return Asked(
        prompt.build(prompt.source(source), is_final=is_final), (*answer, *prompt.vocabulary.tokenize(_END))
    )
