"""A session over a KV cache: keeps the longest common prefix, cuts the rest, evaluates what is new."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from operators.decoding.forward import Forward, Logits
from operators.prefix import common_prefix


class KvCache(Protocol):
    """One sequence of a model's KV cache. The session decides, the cache obeys."""

    def cut(self, length: int) -> int:
        """Forget every position from ``length`` on; tell how many are left.

        Fewer than ``length`` are where the memory is recurrent and cannot be cut there.
        """
        ...

    def evaluate(self, tokens: Sequence[int], start: int, rows: int) -> Logits:
        """Append ``tokens`` at position ``start``; give the logits of the last ``rows`` of them."""
        ...


class Evaluation(NamedTuple):
    """What a cache has to append to answer a request."""

    tokens: Sequence[int]
    #: Position of the first of them.
    start: int
    #: How many at the end want logits.
    rows: int


class PrefixSession:
    """Answers requests from a `KvCache`, evaluating each token once as long as it stays the same."""

    def __init__(self, cache: KvCache, held: Sequence[int] = ()) -> None:
        """Begin with a cache that already holds the tokens ``held``."""
        self._cache = cache
        self._held = list(held)
        self._failed = False
        #: Tokens of the last request that did not have to be evaluated again.
        self.reused = 0

    @property
    def held(self) -> int:
        """Tokens in the cache."""
        return len(self._held)

    def size(self, request: Forward) -> int:
        """Tokens that have to be evaluated to answer ``request``."""
        tokens = list(request.tokens)
        return len(tokens) - min(common_prefix(self._held, tokens), request.logits_from)

    def forward(self, request: Forward) -> Logits:
        """Answer ``request`` in one pass; a position whose logits are wanted is evaluated anew."""
        logits = self._cache.evaluate(*self.begin(request))
        self.end(request)
        return logits

    def begin(self, request: Forward) -> Evaluation:
        """Cut the cache; what has to be appended to it then, by whoever answers ``request``.

        If that breaks off, the next request may begin as if nothing had happened.
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
        """Take note that what `begin` said is in the cache."""
        self._failed = False
        self._held = list(request.tokens)
