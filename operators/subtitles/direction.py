"""Keeps right-to-left text in order, whatever direction a player assumes.

Players take the direction of a line from its first letter, or assume left to right. Either puts the full stop
of an Arabic line, or a Latin name at its beginning, on the wrong side.
"""

import unicodedata
from typing import NamedTuple

# Right-to-left and left-to-right embedding, and their end mark (UAX 9). Players are older than isolates.
_RLE, _LRE, _PDF = "\u202b", "\u202a", "\u202c"


class Marks(NamedTuple):
    """The marks before and after each line of a text."""

    before: str = ""
    after: str = ""

    @classmethod
    def of(cls, text: str) -> "Marks":
        """The marks for a text: empty unless it contains a right-to-left letter."""
        if text.isascii():
            return cls()
        classes = [unicodedata.bidirectional(char) for char in text]
        right_to_left = classes.count("R") + classes.count("AL")
        if right_to_left == 0:
            return cls()
        return cls(_RLE if right_to_left >= classes.count("L") else _LRE, _PDF)

    def around(self, line: str) -> str:
        """The line between its marks."""
        return self.before + line + self.after
