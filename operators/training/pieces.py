"""Splits texts into pieces for alignment: words, or characters in scripts without spaces."""

import regex

# Scripts without spaces between words; other text stays together up to the next space.
_PIECE = regex.compile(
    r"\s*(?:[\p{Katakana}ー]+|[\p{Han}\p{Hiragana}]|\p{P}|[^\s\p{P}\p{Han}\p{Hiragana}\p{Katakana}ー]+)"
)
_WITHOUT_SPACES = frozenset({"ja", "zh"})


def pieces(text: str, language: str) -> list[str]:
    """The pieces of a text; joined, they are the text without white space at its ends.

    Pieces are words with the space before them; for "ja" and "zh" single characters, runs of katakana and
    Latin words.
    """
    text = " ".join(text.split())
    if language in _WITHOUT_SPACES:
        return _PIECE.findall(text)
    return regex.findall(r" ?[^ ]+", text)
