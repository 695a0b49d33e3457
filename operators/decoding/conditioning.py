"""Preparation of a source for the model: cut into windows; if unfinished, only its likely part, closed.

A recogniser may close an unfinished sentence, and guesses its last word; the next update revises both. But a
model that gets a text without an end invents one, and a different one at each update. If the text ends with a
full stop, the model translates only the given words. The full stop of the answer is not shown.

A source longer than the context is cut into windows of whole words. They are filled from the left, so a
growing source keeps its existing windows.
"""

from collections.abc import Callable, Iterator

import msgspec
import regex

from operators.languages import SENTENCE_MARKS

_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]")
_CLOSING = SENTENCE_MARKS + ",;:，、；：،"
# Punctuation and spaces at the end of unfinished text that a full stop replaces.
_OPEN = " .…,;:。，、；：،"


class Conditioning(msgspec.Struct, frozen=True):
    #: Remove the punctuation that a recogniser puts at the end of unfinished text.
    strip_punctuation: bool = False
    #: Number of words at the end of unfinished text that wait for the next update.
    hold_back: int = 0
    #: End unfinished text with a full stop in place of other marks, unless punctuation is stripped. Question
    #: and exclamation marks stay, because some languages also write them at the beginning.
    close: bool = False

    def prepare(self, text: str, *, is_final: bool, is_stable: bool = False) -> str:
        """The text to translate. The text of a final is unchanged; no words of stable text are held back."""
        if is_final:
            return text
        text = self._likely(text, 0 if is_stable else self.hold_back)
        if self.strip_punctuation or not self.close:
            return text
        open_text = text.rstrip(_OPEN)
        return open_text + _full_stop(open_text) if open_text else text

    def _likely(self, text: str, hold_back: int) -> str:
        words = text.split()
        # The first word never waits. Otherwise a caption would vanish when a text is revised to few words,
        # and a text without spaces, which is one long word, would wait for the final.
        if hold_back and len(words) > 1:
            text = " ".join(words[: max(1, len(words) - hold_back)])
        if self.strip_punctuation:
            text = text.rstrip().rstrip(_CLOSING)
        return text.rstrip()


def is_closing(text: str) -> bool:
    """Whether the text consists of marks that close a sentence or a clause."""
    return bool(text) and all(sign in _CLOSING for sign in text)


def _full_stop(text: str) -> str:
    if not text or not text[-1].isalnum():
        return ""
    return "。" if _UNSPACED.match(text[-1]) else "."


#: Punctuation that ends a sentence, in various scripts.
SENTENCE_ENDS = tuple(SENTENCE_MARKS.replace("…", ""))


# Hardly any token has more characters. Longer texts are not tokenised as a whole, because not every tokenizer
# is fast with a hundred thousand characters.
_MAX_TOKEN_CHARACTERS = 16


def split_source(text: str, budget: int, count: Callable[[str], int]) -> Iterator[str]:
    """Split a text into windows of at most about ``budget`` tokens, in order and complete.

    ``count`` gives the number of tokens of a text. A window ends after the last sentence that fits, if that
    fills at least half of it. A text without spaces is cut between characters. Windows are computed lazily.
    """
    # Each token has at least one byte, so most texts need not be counted.
    if len(text) <= _MAX_TOKEN_CHARACTERS * budget and (
        len(text.encode("utf-8", "replace")) <= budget or count(text) <= budget
    ):
        yield text
        return
    words: list[str] = []
    sizes: list[int] = []
    for word in _words(text, budget):
        size = count(word)
        while words and sum(sizes) + size > budget:
            cut = _cut(words, sizes, budget)
            yield "".join(words[:cut]).strip()
            words, sizes = words[cut:], sizes[cut:]
        words.append(word)
        sizes.append(size)
    yield "".join(words).strip()


def _words(text: str, budget: int) -> Iterator[str]:
    # A character takes at most four tokens, one per byte.
    longest = max(1, budget // 4)
    for word in text.split():
        for begin in range(0, len(word), longest):
            yield (" " if begin == 0 else "") + word[begin : begin + longest]


def _cut(words: list[str], sizes: list[int], budget: int) -> int:
    for end in range(len(words), 0, -1):
        if words[end - 1].endswith(SENTENCE_ENDS) and 2 * sum(sizes[:end]) >= budget:
            return end
    return len(words)
