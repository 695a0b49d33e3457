"""Which words a stream writes with a capital inside of sentences, learnt from what was heard."""

import msgspec

from operators.sentences.words import STOPS, STRONG_STOPS, parted

#: Words that are remembered for a stream.
_MOST = 500


class Spellings(msgspec.Struct, array_like=True):
    """How each word was last written where no sentence began; small enough for the snapshot of a stream."""

    #: Whether it had a capital; the words that were heard last are the last ones.
    is_capital: dict[str, bool] = {}

    def learn(self, text: str) -> None:
        """Take in a final text of the recogniser, whose first word says nothing."""
        begins = True
        for word in text.split():
            bare, mark, _ = parted(word.lstrip("\"'“‘«(["))
            if not begins and bare[:1].isalpha():
                self.is_capital.pop(bare.casefold(), None)
                self.is_capital[bare.casefold()] = bare[:1].isupper()
            begins = any(one in STOPS + STRONG_STOPS for one in mark)
        while len(self.is_capital) > _MOST:
            del self.is_capital[next(iter(self.is_capital))]

    def is_large(self, word: str) -> bool | None:
        """Whether the word has a capital within sentences; None where nobody knows."""
        return self.is_capital.get(parted(word)[0].casefold())
