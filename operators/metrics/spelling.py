"""Tokens put back into the text that they were taken from, so that a text can be marked token by token."""

from collections.abc import Sequence


def spelled(text: str, tokens: Sequence[str]) -> list[str]:
    """Each token as it stands in the text, with the white space before it.

    Together they are the text without the white space at its end. Where a tokenizer has rewritten what it
    split (sacrebleu's 13a turns ``&amp;`` into ``&``), the tokens themselves are given, a space before each.
    """
    made, place = [], 0
    for token in tokens:
        found = text.find(token, place)
        if found < 0 or text[place:found].strip():
            return [token if number == 0 else f" {token}" for number, token in enumerate(tokens)]
        made.append(text[place : found + len(token)])
        place = found + len(token)
    return made
