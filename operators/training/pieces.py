"""Texts in pieces to align: words between spaces, or characters in scripts that have no spaces."""

import regex

# Scripts without spaces between words; everything else stays together up to the next space.
_PIECE = regex.compile(
    r"\s*(?:[\p{Katakana}ー]+|[\p{Han}\p{Hiragana}]|\p{P}|[^\s\p{P}\p{Han}\p{Hiragana}\p{Katakana}ー]+)"
)
_WITHOUT_SPACES = frozenset({"ja", "zh"})


def pieces(text: str, language: str) -> list[str]:
    """What a text is put together from: `"".join` of it is the text, without white space at its ends.

    Words with the space before them; for "ja" and "zh" single characters, runs of katakana and Latin words.
    """
    text = " ".join(text.split())
    if language in _WITHOUT_SPACES:
        return _PIECE.findall(text)
    return regex.findall(r" ?[^ ]+", text)
