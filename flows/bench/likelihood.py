"""Quality without a reference: the likelihood of a method's output under the model itself.

Greedy decoding with a small model has many near ties, and one flipped tie changes everything after it; chrF
against re-translation then shows a difference of a third. The log-likelihood does not: it is the same for two
equally good wordings, and it penalises a word that the source no longer supports by how improbable it is.
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
        """Texts with more than ``max_source`` tokens are translated in parts, and are not judged."""
        self._prompt = prompt
        self._pool = pool
        self._max_source = max_source

    def nats(self, text: str, output: Sequence[int], *, is_final: bool) -> float | None:
        """-log P of the tokens ``output`` as a translation of ``text``; None if it cannot be computed."""
        source = self._prompt.source(text)
        if not output or not text.strip() or len(source) > self._max_source:
            return None
        prompt = self._prompt.build(source, is_final=is_final)
        with self._pool.session(_KEY) as session:
            rows = session.forward(Forward([*prompt, *output[:-1]], len(prompt) - 1))
            total = 0.0
            for row, token in zip(rows, output, strict=True):
                total += float(np.log(np.exp(row - row.max()).sum(dtype=np.float64)) + row.max() - row[token])
        return total

    def release(self) -> None:
        """Free the session used for judging."""
        self._pool.release(_KEY)
