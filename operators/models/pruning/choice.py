"""Chooses the tokens of a smaller vocabulary."""

from collections.abc import Collection, Iterable

import numpy as np
import regex
from numpy.typing import NDArray

from operators.models.pruning.merges import Merges
from operators.models.pruning.tokenizer import CONTROL, NORMAL, UNUSED, Tokenizer

Ids = NDArray[np.int32]

#: Control tokens that nothing uses: Gemma's <unused7>, Llama 3's <|reserved_special_token_7|>.
_SPARE = regex.compile(r"<\|?(unused|reserved)\w*\|?>")


class Choice:
    """The remaining tokens, in the order of their old ids.

    It starts with the tokens that spell any text: bytes, control tokens, tokens added by the model's maker
    (Gemma's runs of line breaks and spaces), and single letters, digits and marks.

    Args:
        tokenizer: the whole vocabulary.
        scripts: Unicode scripts whose letters stay; other letters are spelled in bytes.
    """

    def __init__(self, tokenizer: Tokenizer, scripts: Collection[str]) -> None:
        self._tokenizer = tokenizer
        self._merges = Merges(tokenizer)
        self._kept = np.zeros(tokenizer.size, np.bool_)
        wanted = "".join(rf"\p{{Script={script}}}" for script in sorted(scripts))
        self._single = regex.compile(
            rf" ?[{wanted}\p{{Inherited}}\p{{N}}\p{{P}}\p{{Sc}}\p{{Sm}}\p{{Z}}\p{{Cc}}]"
        )
        self._word = regex.compile(
            rf" ?['’\-]?[{wanted}\p{{Inherited}}]+(?:['’\-][{wanted}\p{{Inherited}}]*)?"
        )
        self._inner_capital = regex.compile(r"\p{Ll}\p{Lu}")
        self._spelling()

    @property
    def ids(self) -> Ids:
        """The old ids of the remaining tokens, ascending: a token's new id is its place."""
        return np.flatnonzero(self._kept).astype(np.int32)

    def __len__(self) -> int:
        """How many tokens remain so far."""
        return int(self._kept.sum())

    def add(self, tokens: Iterable[int], most: int | None = None) -> None:
        """Keep tokens and all merges that lead to them, up to ``most`` tokens in all."""
        size = len(self)
        for token in tokens:
            if self._kept[token]:
                continue
            parts, _ = self._merges.parts(token)
            new = {one for one in (*parts, token) if not self._kept[one]}
            if most is None or size + len(new) <= most:
                self._kept[list(new)] = True
                size += len(new)

    def words(self, first: int) -> list[int]:
        """Those of the first ``first`` ids that are words or parts of words in the wanted scripts.

        Tokens that no merges produce, so that no text contains them, are left out.
        """
        ids = range(min(first, self._tokenizer.size))
        return [token for token in ids if self.is_word(token) and self._merges.is_reached(token)]

    def is_word(self, token: int) -> bool:
        """Whether a token is a word, or part of one, in the wanted scripts; getName is not."""
        text = self._tokenizer.plain(token)
        return (
            self._tokenizer.table.kinds[token] == NORMAL
            and self._word.fullmatch(text) is not None
            and not self._inner_capital.search(text)
        )

    def _spelling(self) -> None:
        table = self._tokenizer.table
        self._kept |= self._tokenizer.is_byte
        for token, kind in enumerate(table.kinds.tolist()):
            text = table.texts[token]
            if kind == NORMAL:
                plain = self._tokenizer.plain(token)
                if len(plain) <= 2 and self._single.fullmatch(plain):
                    self.add([token])
            elif kind != UNUSED and not (kind == CONTROL and _SPARE.fullmatch(text)):
                self._kept[token] = True
        self._kept[list(table.special)] = True
