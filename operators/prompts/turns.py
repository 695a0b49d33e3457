"""Prompts in turns: a request with a place for the source, between tokens that mark the roles.

A text with the mark ``{source}`` becomes a head and a tail of token ids. Recognised text never goes through a
template: it is tokenised separately, as plain text.
"""

from operators.languages import language
from operators.prompts.prompt import EndOfTurn, Prompt, Vocabulary
from operators.prompts.template import SOURCE, TurnTemplate, with_languages


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
