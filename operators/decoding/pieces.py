"""The text of an answer, token by token."""

import codecs
from collections.abc import Callable, Sequence

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
