"""The text of an answer, token by token, and the places where it can be cut between words and numbers."""

import codecs
from collections.abc import Callable, Sequence

import regex

#: Gives the bytes that a token stands for.
Piece = Callable[[int], bytes]


def textless(token: int) -> bytes:  # noqa: ARG001 - the protocol
    """The bytes of a token without a text."""
    return b""


def spelled(tokens: Sequence[int], piece: Piece) -> str:
    """The text of tokens, without the bytes of an unfinished character."""
    return b"".join(map(piece, tokens)).decode("utf-8", "ignore")


def decode_pieces(pieces: Sequence[bytes]) -> list[str]:
    """The text of each token; bytes that end inside a character are carried over to the next."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    last = len(pieces) - 1
    return [decoder.decode(piece, final=number == last) for number, piece in enumerate(pieces)]


def strip_pieces(pieces: list[str]) -> list[str]:
    """Remove white space around an answer: Gemma starts with a space and ends with a line break."""
    for number, piece in enumerate(pieces):
        pieces[number] = piece.lstrip()
        if pieces[number]:
            break
    for number in reversed(range(len(pieces))):
        pieces[number] = pieces[number].rstrip()
        if pieces[number]:
            break
    return pieces


# Two characters on each side decide. A character has at most four bytes, so at most four tokens.
_NEAR = 2 * 4
_NUMERAL = "[〇零一二三四五六七八九十百千万萬億亿兆]"
_WORD_END = regex.compile(
    rf"""
    # A space follows, but not one between the groups of a number.
      (?<! \d) (?=\s) | (?= \s (?!\d))
    # Where no spaces are written, words end at most characters, but not in a number, before an inflection in
    # hiragana, or in a row of hiragana or katakana.
    | (?<= [\p{{Han}}--{_NUMERAL}]) (?= \Z | [\p{{Han}}\p{{Katakana}}\p{{P}}\d])
    | (?<= \p{{Hiragana}}) (?= [\p{{Han}}\p{{Katakana}}\p{{P}}\d])
    | (?<= [\p{{Pe}}\p{{Pf}}\p{{Po}}--[·・]]) (?= [\p{{Han}}\p{{Hiragana}}\p{{Katakana}}])
    # The text after the last token is unknown: punctuation ends a word, except after a digit.
    | (?<= \D [\p{{P}}--[·・\-]]) \Z
    """,
    regex.VERBOSE | regex.V1,
)


def is_word_end(tokens: Sequence[int], end: int, piece: Piece) -> bool:
    """Whether the first ``end`` tokens end with a whole word."""
    before, after = _text(tokens[max(0, end - _NEAR) : end], piece), _text(tokens[end : end + _NEAR], piece)
    return _WORD_END.match(before + after, len(before)) is not None


def last_word_end(tokens: Sequence[int], piece: Piece) -> int:
    """The length of the longest prefix that ends with a whole word; the full length if there is none."""
    ends = (end for end in range(len(tokens), 0, -1) if is_word_end(tokens, end, piece))
    return next(ends, len(tokens))


def _text(tokens: Sequence[int], piece: Piece) -> str:
    return b"".join(map(piece, tokens)).decode("utf-8", "replace")
