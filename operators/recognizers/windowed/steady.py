"""Separates the heard part of an unfinished window's text from the recogniser's guesses at its end.

A recogniser closes each window with a full stop, as if the sentence were over, and makes a word from half a
word. The next window revises both: of 885 last words half survived; of those to which the model itself gave
less than 0.3 one in fourteen, of those above 0.99 seven in eight (docs/scripts/moonshine_passes.py).
"""

from collections.abc import Callable, Sequence

import regex

from operators.decoding.conditioning import Conditioning
from operators.decoding.pieces import decode_pieces

_UNCLOSED = Conditioning(strip_punctuation=True)
# Scripts that put no space between words: there each token is one.
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")
_WORD = regex.compile(r"\w")


def steady_text(
    pieces: Sequence[bytes], probability: Callable[[int], float], least: float, shown: str = ""
) -> str:
    """The text of a window's tokens without words at its end that are less probable than ``least``.

    Args:
        pieces: The bytes of each token.
        probability: The model's probability of the token at a place; called only for those at the end.
        least: From 0, which removes only the closing punctuation.
        shown: The shown text of the window before; parts that are still the same are not taken back.
    """
    texts = decode_pieces(list(pieces))
    end = len(texts)
    while end and least and _probability(texts, probability, begin := _word_begin(texts, end), end) < least:
        end = begin
    whole = "".join(texts).strip()
    steady = _UNCLOSED.prepare("".join(texts[:end]).strip(), is_final=False)
    return shown if len(shown) > len(steady) and _starts_with(whole, shown) else steady


def _word_begin(texts: Sequence[str], end: int) -> int:
    """Where the last word before ``end`` begins; punctuation belongs to the word before it."""
    begin = end - 1
    while begin > 0 and not (texts[begin].startswith(" ") or _UNSPACED.match(texts[begin])):
        begin -= 1
    return begin


def _probability(texts: Sequence[str], probability: Callable[[int], float], begin: int, end: int) -> float:
    """The probability of a word's least probable token, not counting its punctuation."""
    return min((probability(n) for n in range(begin, end) if _WORD.search(texts[n])), default=0.0)


def _starts_with(text: str, shown: str) -> bool:
    """Whether a text begins with the words of another one."""
    return text.startswith(shown) and not _WORD.match(text[len(shown) : len(shown) + 1])
