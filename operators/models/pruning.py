"""A smaller vocabulary for a model: which tokens stay, so that texts are tokenised as before.

Both kinds of tokenizers merge greedily: of all adjacent pairs that can be merged, they take the one with the
highest score (SentencePiece, as in llama.cpp) or the lowest rank (byte pairs, Sennrich et al. 2016), the
leftmost first. The merges inside one token of the output do not depend on its surroundings: a merge across
its border would have had to win to matter, so the merges inside are those of the token's text alone, in the
same order. Removing merges that do not happen changes nothing. So texts keep their tokens if each of these
tokens and every merge of its own text stays.
"""

from collections.abc import Collection, Iterable
from functools import cached_property
from typing import NamedTuple

import numpy as np
import regex
from numpy.typing import NDArray

from operators.text import BYTE_OF_LETTER

#: Kinds of tokens, as llama.cpp numbers them.
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6

#: SentencePiece's mark for a space.
_PIECE_SPACE = "▁"


class Table(NamedTuple):
    """What a GGUF file says about its vocabulary; one entry of each per token."""

    #: ``llama`` (SentencePiece, merges by score) or ``gpt2`` (byte pairs, merges by rank).
    model: str
    texts: list[str]
    #: int32: what kind of token it is.
    kinds: NDArray[np.int32]
    #: float32: higher scores are merged first; empty for byte pairs.
    scores: NDArray[np.float32]
    #: For byte pairs: ``left right``, in order of precedence.
    merges: list[str]
    #: Tokens with a role in the header, such as the one that begins a text.
    special: frozenset[int] = frozenset()


class Tokenizer:
    """The table with its lookups."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.size = len(table.texts)

    @cached_property
    def ids(self) -> dict[str, int]:
        """The token of a text, as llama.cpp looks it up: the last one with this spelling."""
        return {text: token for token, text in enumerate(self.table.texts)}

    @cached_property
    def ranks(self) -> dict[str, int]:
        """The place of each merge of byte pairs."""
        return {merge: rank for rank, merge in enumerate(self.table.merges)}

    def plain(self, token: int) -> str:
        """The text of a token; incomplete characters are shown as U+FFFD."""
        text = self.table.texts[token]
        if self.table.model == "llama":
            return text.replace(_PIECE_SPACE, " ")
        if any(letter not in BYTE_OF_LETTER for letter in text):
            return text  # an added token is spelled as it is
        return bytes(BYTE_OF_LETTER[letter] for letter in text).decode("utf-8", "replace")

    @cached_property
    def is_byte(self) -> NDArray[np.bool_]:
        """Which tokens stand for one byte each; together they spell any text."""
        if self.table.model == "llama":
            return np.asarray(self.table.kinds == BYTE)
        return np.array([text in BYTE_OF_LETTER for text in self.table.texts])


class Merges:
    """Finds the parts from which a token is merged."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._is_pieces = tokenizer.table.model == "llama"
        self._kinds = tokenizer.table.kinds.tolist()

    def parts(self, token: int) -> tuple[list[int], bool]:
        """The intermediate tokens of the merges to ``token``, and whether the merges reach it.

        Single characters are left out: they stay anyway or are spelled in bytes.
        """
        text = self._tokenizer.table.texts[token]
        if self._kinds[token] != NORMAL:
            return [], True  # it is found before anything is merged, or stands for a byte
        symbols = list(text)
        passed = []
        find = self._best_piece if self._is_pieces else self._best_pair
        while (place := find(symbols)) is not None:
            merged = symbols[place] + symbols.pop(place + 1)
            symbols[place] = merged
            if merged in self._tokenizer.ids:
                passed.append(self._tokenizer.ids[merged])
        return [one for one in passed if one != token], len(symbols) == 1

    def is_reached(self, token: int) -> bool:
        """Whether any text is tokenised into ``token``."""
        # Some byte pair tokenizers take a whole word that is a token directly, whatever its merges.
        return not self._is_pieces or self.parts(token)[1]

    def _best_piece(self, symbols: list[str]) -> int | None:
        """Where the merge with the highest score is; None if nothing can be merged."""
        ids, scores = self._tokenizer.ids, self._tokenizer.table.scores
        best, place = float("-inf"), None
        for left in range(len(symbols) - 1):
            token = ids.get(symbols[left] + symbols[left + 1])
            if token is not None and (place is None or scores[token] > best):
                best, place = scores[token], left
        return place

    def _best_pair(self, symbols: list[str]) -> int | None:
        """Where the merge with the lowest rank is; None if nothing can be merged."""
        ranks = self._tokenizer.ranks
        best, place = len(ranks), None
        for left in range(len(symbols) - 1):
            rank = ranks.get(f"{symbols[left]} {symbols[left + 1]}", best)
            if rank < best:
                best, place = rank, left
        return place


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
