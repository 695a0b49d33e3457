"""Cuts a source that is longer than the model's context into windows of whole words.

Windows are filled from the left, so a growing source keeps its existing windows.
"""

from collections.abc import Callable, Iterator

from operators.languages import SENTENCE_MARKS

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
    """The text in pieces of at most a word; a piece that starts a word starts with a space."""
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
