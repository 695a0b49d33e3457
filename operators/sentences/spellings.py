"""Which words a stream writes with a capital inside of sentences, learnt from what was heard."""

from collections import OrderedDict

from operators.sentences.words import STOPS, STRONG_STOPS, parted

#: Words that are remembered for a stream.
_MOST = 2000


class Spellings:
    """How each word was last written where no sentence began; small enough for the snapshot of a stream."""

    def __init__(self) -> None:
        self._is_large: OrderedDict[str, bool] = OrderedDict()

    def learn(self, text: str) -> None:
        """Take in a final text of the recogniser, whose first word says nothing."""
        begins = True
        for word in text.split():
            bare, mark, _ = parted(word.lstrip("\"'“‘«(["))
            if not begins and bare[:1].isalpha():
                self._is_large[bare.casefold()] = bare[:1].isupper()
                self._is_large.move_to_end(bare.casefold())
            begins = any(one in STOPS + STRONG_STOPS for one in mark)
        while len(self._is_large) > _MOST:
            self._is_large.popitem(last=False)

    def is_large(self, word: str) -> bool | None:
        """Whether the word has a capital within sentences; None where nobody knows."""
        return self._is_large.get(parted(word)[0].casefold())
