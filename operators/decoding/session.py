"""A session over a KV cache: keeps the longest common prefix, cuts the rest, evaluates the new tokens."""

from collections.abc import Sequence
from typing import Protocol

from operators.decoding.forward import Forward, Logits, ModelRequest
from operators.text import common_prefix


class KvCache(Protocol):
    """One sequence of a model's KV cache. The session decides what to cut and evaluate; the cache does it."""

    def cut(self, length: int) -> int:
        """Forget every position from ``length`` on; return how many are left.

        Fewer than ``length`` are left if the memory is recurrent and cannot be cut there.
        """
        ...

    def evaluate(self, tokens: Sequence[int], start: int, rows: int) -> Logits:
        """Append ``tokens`` at position ``start``; return the logits of the last ``rows`` tokens."""
        ...


class PrefixSession:
    """Answers requests from a `KvCache`, reusing the longest unchanged prefix of the tokens."""

    def __init__(self, cache: KvCache, held: Sequence[int] = ()) -> None:
        self._cache = cache
        self._held = list(held)
        # A pass that fails may leave anything in the cache after the held tokens.
        self._failed = False
        #: Tokens of the last request that were taken from the cache.
        self.reused = 0
        #: Of these, tokens of the output that were kept although the prompt has changed.
        self.kept = 0

    @property
    def held(self) -> int:
        return len(self._held)

    def forward(self, request: Forward) -> Logits:
        tokens = list(request.tokens)
        check_position(request.logits_from, len(tokens))
        prefix = self.reused = self._cut(self._usable_prefix(tokens, request))
        self._failed = True
        logits = self._cache.evaluate(tokens[prefix:], prefix, len(tokens) - request.logits_from)
        self._failed = False
        self._held = tokens
        return logits

    def _usable_prefix(self, tokens: Sequence[int], request: ModelRequest) -> int:
        return min(common_prefix(self._held, tokens), request.logits_from)

    def _cut(self, length: int) -> int:
        if length < len(self._held) or self._failed:
            length = self._cache.cut(length)
            self._forget(length)
        return length

    def _forget(self, length: int) -> None:
        del self._held[length:]


def check_position(logits_from: int, length: int) -> None:
    """Raise `ValueError` unless the first requested position is one of ``length`` tokens."""
    if not 0 <= logits_from < length:
        raise ValueError(f"logits_from {logits_from} is not a position of {length} tokens")
