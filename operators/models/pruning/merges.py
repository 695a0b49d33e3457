"""Which merges lead to a token, so that a smaller vocabulary still produces it.

Both kinds of tokenizers merge greedily: of all adjacent pairs that can be merged, they take the one with the
highest score (SentencePiece, as in llama.cpp) or the lowest rank (byte pairs, Sennrich et al. 2016), the
leftmost first. The merges inside one token of the output do not depend on its surroundings: a merge across
its border would have had to win to matter, so the merges inside are those of the token's text alone, in the
same order. Removing merges that do not happen changes nothing. So texts keep their tokens if each of these
tokens and every merge of its own text stays.
"""

from operators.models.pruning.tokenizer import NORMAL, Tokenizer


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
