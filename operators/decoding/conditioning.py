"""How an unfinished text is given to the model: what of it is likely to stay, closed like a sentence.

A recogniser may close a sentence that is not over, and guesses its last word; both are what the next update
revises. A language model that is given a text without an end, though, makes one up, and another one at each
update: closed with a full stop it translates what is there.
"""

import msgspec
import regex

_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]")
_CLOSING = ".!?,;:…。！？，、；：؟،"


class Conditioning(msgspec.Struct, frozen=True):
    """How the text of an unfinished segment is prepared."""

    #: Take away the punctuation that a recogniser puts at the end of unfinished text.
    strip_punctuation: bool = False
    #: Words at the end of unfinished text that wait for the next update.
    hold_back: int = 0
    #: Put a full stop after unfinished text that ends without punctuation, unless that is to be taken away.
    close: bool = False

    def prepare(self, text: str, *, is_final: bool) -> str:
        """The text to translate; that of a final is left as it is."""
        if is_final:
            return text
        words = text.split()
        # A script without spaces is one long word; all of it would wait for the final.
        if self.hold_back and len(words) > 1:
            text = " ".join(words[: -self.hold_back])
        if self.strip_punctuation:
            return text.rstrip().rstrip(_CLOSING).rstrip()
        return _closed(text.rstrip()) if self.close else text


def _closed(text: str) -> str:
    """The text with a full stop of its own script, where it ends in a letter or a digit."""
    if not text or not text[-1].isalnum():
        return text
    return text + ("。" if _UNSPACED.match(text[-1]) else ".")
