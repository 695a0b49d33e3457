"""Finds where an output starts to repeat itself endlessly, as small models do when they are lost.

A greedy decoder that has repeated a phrase several times repeats it until its limit: a hundred useless
tokens, each as costly as any other.
"""

from collections.abc import Sequence

import regex

from operators.decoding.pieces import Piece, is_word_end, spelled, textless

#: Longest repeated phrase, in tokens: two short sentences.
MAX_PERIOD = 32
#: Minimum number of repetitions, and of tokens in all of them. Three short words in a row are normal speech
#: ("very, very, very"); a dozen tokens are not.
TIMES, TOKENS = 3, 12
#: The minima for an immediate repetition of a phrase of a dozen tokens or more, which is right only if the
#: speaker repeats it.
TWICE, TWICE_TOKENS = 2, 24
#: Minimum number of words of an immediately repeated phrase; punctuation and case are ignored.
_TWICE_WORDS = 3
#: Minimum number of tokens for a repetition of digits. Most vocabularies spell figures digit by digit, and
#: 1,000,000,000 is a valid number, as are those of cards, accounts and addresses.
FIGURE_TOKENS = 48

#: Words whose end is known because another character follows.
_WORDS = regex.compile(r"(?<![^\W\d_])[^\W\d_]++(?=\W)")


def repeats(tokens: Sequence[int]) -> int:
    """The maximum number of times in a row that a phrase occurs: a speaker may say "no, no, no, no"."""
    most = 1
    for period in range(1, min(MAX_PERIOD, len(tokens) // 2) + 1):
        run = 0
        for at in range(period, len(tokens)):
            run = run + 1 if tokens[at] == tokens[at - period] else 0
            most = max(most, run // period + 1)
    return most


def repetition(
    tokens: Sequence[int],
    begin: int = 0,
    piece: Piece = textless,
    figure_tokens: int = FIGURE_TOKENS,
    times: int = TIMES,
    least: int = TOKENS,
) -> int | None:
    """The length to which ``tokens`` should be cut, or None if no prefix ends in a repetition.

    Checks the prefixes longer than ``begin``, the shortest first. The cut keeps the repeated phrase once, and
    the rest of a word that would be cut in two.

    Args:
        piece: Spells a token; without it, no token is part of a figure, and any place is the end of a word.
        figure_tokens: The minimum number of tokens if the phrase has only digits and their separators.
        times: The minimum number of repetitions.
        least: The minimum number of tokens in all of them.
    """
    for end in range(begin + 1, len(tokens) + 1):
        kept = _ends_in_repetition(tokens[:end], piece, figure_tokens, times, least)
        if kept is not None:
            return kept
    return None


def said_again(tokens: Sequence[int], piece: Piece) -> int | None:
    """The start of a phrase that is repeated at once, with the mark before it: "It was bad. It was bad."

    None if there is none of three words or more. In scripts without spaces a clause counts as one word.
    """
    if not tokens or piece(tokens[-1]).isalpha():
        # It ends no word. This saves time at most steps of a search, because most tokens end no word.
        return None
    near = max(0, len(tokens) - 2 * MAX_PERIOD)
    words = _words(tokens[near:], piece)
    for length in range(_TWICE_WORDS, len(words) // 2 + 1):
        if words[-length:] == words[-2 * length : -length]:
            begins = range(near, len(tokens))
            return next(begin for begin in begins if len(_words(tokens[begin:], piece)) <= 2 * length)
    return None


def _words(tokens: Sequence[int], piece: Piece) -> list[str]:
    return _WORDS.findall(spelled(tokens, piece).casefold())


def _ends_in_repetition(
    tokens: Sequence[int], piece: Piece, figure_tokens: int, times: int, least: int
) -> int | None:
    for period in range(1, min(MAX_PERIOD, len(tokens) // times) + 1):
        span = _span(tokens, period, least, times)
        if span and _is_figure(tokens[-period:], piece):
            span = _span(tokens, period, figure_tokens, times)
        if span:
            once = len(tokens) - span + period
            return next((end for end in range(once, once + period) if is_word_end(tokens, end, piece)), once)
    return None


def _span(tokens: Sequence[int], period: int, least: int, times: int) -> int:
    """How many tokens at the end repeat with this period, counted in whole phrases; 0 if too few."""
    span = max(times, -(-least // period)) * period
    # A span repeats with a period if it equals itself shifted by that period.
    is_repeated = (
        span <= len(tokens)
        and tokens[-1] == tokens[-1 - period]
        and tokens[-span:-period] == tokens[len(tokens) - span + period :]
    )
    return span if is_repeated else 0


def _is_figure(phrase: Sequence[int], piece: Piece) -> bool:
    # Spelled twice, because a phrase of single bytes may begin inside a character.
    text = spelled((*phrase, *phrase), piece)
    return any(map(str.isnumeric, text)) and all(char.isnumeric() or not char.isalpha() for char in text)
