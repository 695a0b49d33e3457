"""Text as Whisper's tokens: byte-pair encoding (Sennrich et al. 2016) on bytes, as in GPT-2.

A token's number is also the rank of the merge that makes it, so no other table is needed.
"""

from collections.abc import Sequence
from itertools import pairwise

import regex

# A word is encoded separately, with the space before it.
_WORDS = regex.compile(
    r"'(?:s|t|re|ve|m|ll|d)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
)


class BytePairs:
    """Encodes bytes with the tokens of one vocabulary.

    Args:
        pieces: The bytes of each token, in the order of the tokens' numbers. Bytes that none of them has are
            left out.
    """

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self._numbers = {piece: number for number, piece in reversed(list(enumerate(pieces)))}

    def tokenize(self, text: bytes) -> list[int]:
        """The tokens of a text, which may begin or end within a character."""
        words = _WORDS.findall(text.decode("utf-8", "surrogateescape"))
        return [token for word in words for token in self._of_word(word.encode("utf-8", "surrogateescape"))]

    def _of_word(self, word: bytes) -> list[int]:
        parts = [word[at : at + 1] for at in range(len(word))]
        while len(parts) > 1:
            ranks = [self._numbers.get(a + b) for a, b in pairwise(parts)]
            known = [(rank, place) for place, rank in enumerate(ranks) if rank is not None]
            if not known:
                break
            _, place = min(known)
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
        return [self._numbers[part] for part in parts if part in self._numbers]
