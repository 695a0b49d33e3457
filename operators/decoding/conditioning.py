"""How an unfinished text is given to the model: the part that is likely to stay, closed like a sentence.

A recogniser may close a sentence that is not over, and guesses its last word; the next update revises both.
But a language model that gets a text without an end invents one, and another one at each update. If the text
ends with a full stop, the model translates only what is there.
"""

import msgspec
import regex

from operators.languages import SENTENCE_MARKS

_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]")
_CLOSING = SENTENCE_MARKS + ",;:，、；：،"


class Conditioning(msgspec.Struct, frozen=True):
    """How the text of an unfinished segment is prepared."""

    #: Remove the punctuation that a recogniser puts at the end of unfinished text.
    strip_punctuation: bool = False
    #: Words at the end of unfinished text that wait for the next update.
    hold_back: int = 0
    #: Add a full stop to unfinished text that ends without punctuation, unless punctuation is stripped.
    close: bool = False

    def prepare(self, text: str, *, is_final: bool) -> str:
        """The text to translate; a final's is unchanged."""
        if is_final:
            return text
        words = text.split()
        # The first word never waits: a caption would vanish where a text is revised to few words, and text in
        # a script without spaces, one long word, would wait for the final.
        if self.hold_back and len(words) > 1:
            text = " ".join(words[: max(1, len(words) - self.hold_back)])
        if self.strip_punctuation:
            return text.rstrip().rstrip(_CLOSING).rstrip()
        return _closed(text.rstrip()) if self.close else text


def _closed(text: str) -> str:
    """The text with a full stop of its own script, if it ends in a letter or a digit."""
    if not text or not text[-1].isalnum():
        return text
    return text + ("。" if _UNSPACED.match(text[-1]) else ".")
