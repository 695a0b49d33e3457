"""How likely the model itself finds what a method made of a text: quality without a reference.

A greedy output of a small model has many near ties, and one that flips changes all that follows; chrF against
re-translation calls that a difference of a third. The log-likelihood does not: of two wordings that the model
finds as good it is the same, and a word that the source no longer has costs what it is worth.
"""

from collections.abc import Sequence

import numpy as np

from operators.decoding.forward import Forward
from operators.models.pool import SessionPool
from operators.prompts.prompt import Prompt

#: How it is counted.
SIGNATURE = "nats:-log P(token|source,output before),pooled over tokens,the end left out"

_KEY = "likelihood"


class Likelihood:
    """Judges outputs with the model that made them."""

    def __init__(self, prompt: Prompt, pool: SessionPool, max_source: int) -> None:
        """Texts of more than ``max_source`` tokens, which are translated in parts, are not judged."""
        self._prompt = prompt
        self._pool = pool
        self._max_source = max_source

    def nats(self, text: str, output: Sequence[int]) -> float | None:
        """-log P of the tokens ``output`` as a translation of ``text``; None where it cannot be told."""
        source = self._prompt.source(text)
        if not output or not text.strip() or len(source) > self._max_source:
            return None
        prompt = self._prompt.build(source)
        with self._pool.session(_KEY) as session:
            rows = session.forward(Forward([*prompt, *output[:-1]], len(prompt) - 1))
            total = 0.0
            for row, token in zip(rows, output, strict=True):
                total += float(np.log(np.exp(row - row.max()).sum(dtype=np.float64)) + row.max() - row[token])
        return total

    def release(self) -> None:
        """Free the session that it judges in."""
        self._pool.release(_KEY)
