"""How a source is given to the model: cut into windows; unfinished, only its likely part, closed.

A recogniser may close a sentence that is not over, and guesses its last word; the next update revises both.
But a model that gets a text without an end invents one, and another one at each update. If the text ends with
a full stop, the model translates only what is there. That of the answer is not shown.

A source longer than the context is cut into windows of whole words, filled from the left, so a growing source
keeps its existing windows.
"""

from collections.abc import Callable, Iterator

import msgspec
import regex

from operators.languages import SENTENCE_MARKS

_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]")
_CLOSING = SENTENCE_MARKS + ",;:，、；：،"
# Marks, and the spaces between them, in whose place unfinished text gets a full stop.
_OPEN = " .…,;:。，、；：،"


class Conditioning(msgspec.Struct, frozen=True):
    #: Remove the punctuation that a recogniser puts at the end of unfinished text.
    strip_punctuation: bool = False
    #: Words at the end of unfinished text that wait for the next update.
    hold_back: int = 0
    #: End unfinished text with a full stop in place of other marks, unless punctuation is stripped. Marks of
    #: questions and exclamations stay, as some languages say them also at the beginning.
    close: bool = False

    def prepare(self, text: str, *, is_final: bool, is_stable: bool = False) -> str:
        """The text to translate; a final's is unchanged, and of stable text no word waits."""
        if is_final:
            return text
        text = self._likely(text, 0 if is_stable else self.hold_back)
        if self.strip_punctuation or not self.close:
            return text
        open_text = text.rstrip(_OPEN)
        return open_text + _full_stop(open_text) if open_text else text

    def _likely(self, text: str, hold_back: int) -> str:
        words = text.split()
        # The first word never waits: a caption would vanish where a text is revised to few words, and text in
        # a script without spaces, one long word, would wait for the final.
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
    """Windows of at most about ``budget`` tokens, the text in order and complete.

    ``count`` gives the number of tokens of a text. A window ends after the last sentence that fits, if that
    fills at least half of it. A text without spaces is cut between characters. Windows are computed lazily.
    """
    # No token is shorter than a byte, so most texts need not be counted at all.
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
