"""A session over a KV cache: keeps the longest common prefix, cuts the rest, evaluates the new tokens."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from operators.decoding.forward import Forward, Logits
from operators.prefix import common_prefix


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


class Evaluation(NamedTuple):
    """What to append to a cache in order to answer a request."""

    tokens: Sequence[int]
    #: Position of the first token.
    start: int
    #: How many tokens at the end need logits.
    rows: int


class PrefixSession:
    """Answers requests from a `KvCache`, reusing the longest unchanged prefix of the tokens."""

    def __init__(self, cache: KvCache, held: Sequence[int] = ()) -> None:
        """Start with a cache that already holds the tokens ``held``."""
        self._cache = cache
        self._held = list(held)
        self._failed = False
        #: Tokens of the last request that were taken from the cache.
        self.reused = 0

    @property
    def held(self) -> int:
        """Tokens in the cache."""
        return len(self._held)

    def size(self, request: Forward) -> int:
        """Number of tokens to evaluate in order to answer ``request``."""
        tokens = list(request.tokens)
        return len(tokens) - min(common_prefix(self._held, tokens), request.logits_from)

    def forward(self, request: Forward) -> Logits:
        """Answer ``request`` in one pass; positions whose logits are requested are evaluated anew."""
        logits = self._cache.evaluate(*self.begin(request))
        self.end(request)
        return logits

    def begin(self, request: Forward) -> Evaluation:
        """Cut the cache, and return what the caller must append to it to answer ``request``.

        If that fails, the next request may still begin normally.
        """
        tokens, logits_from = list(request.tokens), request.logits_from
        if not 0 <= logits_from < len(tokens):
            raise ValueError(f"logits_from {logits_from} is not a position of {len(tokens)} tokens")
        keep = min(common_prefix(self._held, tokens), logits_from)
        if keep < len(self._held) or self._failed:
            keep = self._cache.cut(keep)
            del self._held[keep:]
        self._failed = True  # a pass that breaks off may leave anything after what is held
        self.reused = keep
        return Evaluation(tokens[keep:], keep, len(tokens) - logits_from)

    def end(self, request: Forward) -> None:
        """Record that the tokens named by `begin` are now in the cache."""
        self._failed = False
        self._held = list(request.tokens)
