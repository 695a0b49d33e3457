"""A session over a KV cache: keeps the longest common prefix, cuts the rest, evaluates the new tokens."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from operators.decoding.forward import NO_ROWS, BeamForward, Forward, Logits, ModelRequest
from operators.text import common_prefix
from operators.trouble import NoRoom


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


class ShiftingCache(KvCache, Protocol):
    """A `KvCache` in which tokens can move: what stands before them may grow."""

    def set_aside(self, begin: int, end: int, length: int) -> None:
        """Take the positions from ``begin`` up to ``end`` out, and forget all from ``length`` on."""
        ...

    def put_back(self, start: int) -> None:
        """Append what was taken out at position ``start``; only its positions change."""
        ...


class BeamCache(Protocol):
    """Continuations of a `KvCache` next to each other."""

    #: Maximum number of them.
    most: int

    def unknown(self, paths: Sequence[tuple[int, ...]]) -> int:
        """Number of tokens of these continuations that it does not hold."""
        ...

    def evaluate(self, start: int, paths: Sequence[tuple[int, ...]]) -> Logits:
        """Hold these continuations of the first ``start`` tokens; the logits after each."""
        ...

    def settle(self, tokens: Sequence[int]) -> int:
        """Append to the cache what ``tokens`` have in common with the nearest continuation, and drop all.

        Returns how many tokens that are.
        """
        ...

    def forget(self) -> None:
        """Drop all continuations."""
        ...


class Keeping(NamedTuple):
    """How a session keeps tokens of an output behind a prompt that has changed."""

    cache: ShiftingCache
    #: Fewer tokens than this are evaluated: the source would need a pass of its own. Those who share that
    #: pass count theirs together.
    least: int = 1


class Evaluation(NamedTuple):
    """What to append to a cache in order to answer a request."""

    tokens: Sequence[int]
    #: Position of the first token.
    start: int
    #: How many tokens at the end need logits; none if there is more to append before the answer.
    rows: int


class _Kept(NamedTuple):
    """Tokens that move behind a prompt that has changed."""

    start: int
    moved: int
    #: What is to be evaluated after them.
    rest: Evaluation


class PrefixSession:
    """Answers requests from a `KvCache`, reusing the longest unchanged prefix of the tokens.

    If a request allows it and the cache can, tokens of the output are kept behind a prompt that has changed:
    the prompt is evaluated in one pass, then these move behind it, and the rest is evaluated in another.
    """

    def __init__(
        self,
        cache: KvCache,
        held: Sequence[int] = (),
        keeping: Keeping | None = None,
        beams: BeamCache | None = None,
    ) -> None:
        """Start with a cache that already holds ``held``; ``keeping`` and ``beams`` are of this cache."""
        self._cache = cache
        self._keeping = keeping
        self._beams = beams
        self._held = list(held)
        self._failed = False
        # Where the output begins among the held tokens, and the end of those computed behind another prompt.
        self._output_from = self._stale_end = 0
        self._kept: _Kept | None = None
        #: Tokens of the last request that were taken from the cache.
        self.reused = 0
        #: Of these, tokens of the output that were kept although the prompt has changed.
        self.kept = 0

    @property
    def held(self) -> int:
        """Tokens in the cache."""
        return len(self._held)

    def size(self, request: Forward | BeamForward, *, keeps: bool | None = None) -> int:
        """Number of tokens to evaluate in order to answer ``request``; ``keeps`` is as in `begin`."""
        tokens = list(request.tokens)
        if isinstance(request, BeamForward):
            unknown = 0 if self._beams is None else self._beams.unknown(request.paths)
            return len(tokens) - self._usable_prefix(tokens, request) + unknown
        self._settle(request)
        prefix = self._usable_prefix(tokens, request)
        return len(tokens) - prefix - self._moved(tokens, request, prefix, keeps)

    def movable(self, request: Forward | BeamForward) -> int:
        """Number of tokens that could be kept behind a prompt that has changed, however few."""
        if isinstance(request, BeamForward):
            return 0
        self._settle(request)
        tokens = list(request.tokens)
        return self._movable(tokens, request, self._usable_prefix(tokens, request))

    def forward(self, request: Forward) -> Logits:
        """Answer ``request``; positions whose logits are requested are evaluated anew."""
        logits = self._cache.evaluate(*self.begin(request))
        if (rest := self.proceed()) is not None:
            logits = self._cache.evaluate(*rest)
        self.end(request)
        return logits

    def forward_beams(self, request: BeamForward) -> Logits:
        """Answer ``request``, with no rows if the cache cannot hold so many continuations."""
        if self._beams is None or len(request.paths) > self._beams.most:
            return NO_ROWS
        lead = self.begin_beams(request)
        try:
            if lead.tokens:
                self._cache.evaluate(*lead)
            rows = self._beams.evaluate(len(request.tokens), request.paths)
        except NoRoom:
            self._beams.forget()
            return NO_ROWS
        self.end(request)
        return rows

    def begin_beams(self, request: BeamForward) -> Evaluation:
        """Cut the cache, and return what the caller must append before the continuations, perhaps nothing."""
        assert self._beams is not None, "only a session with beams is asked for them"
        tokens = list(request.tokens)
        if self._failed or tokens != self._held:
            self._beams.forget()
        prefix = self._usable_prefix(tokens, request)
        if prefix < len(self._held) or self._failed:
            prefix = self._cache.cut(prefix)
            self._forget(prefix)
        self._failed = True
        lead = Evaluation(tokens[prefix:], prefix, 0)
        self.reused, self.kept = prefix - self._beams.unknown(request.paths) + len(request.paths), 0
        return lead

    def _settle(self, request: Forward) -> None:
        """Hold one sequence again, with what ``request`` has in common with the continuations held so far."""
        if self._beams is None:
            return
        if self._failed:
            self._beams.forget()
        else:
            after = list(request.tokens[request.output_from + len(self._held) - self._output_from :])
            self._held += after[: self._beams.settle(after)]

    def begin(self, request: Forward, *, keeps: bool | None = None) -> Evaluation:
        """Cut the cache, and return what the caller must append to it first in order to answer ``request``.

        If that fails, the next request may still begin normally. ``keeps`` says whether tokens that can move
        behind a changed prompt do so; by default, if they are enough to pay for a pass of the prompt.
        """
        tokens, logits_from = list(request.tokens), request.logits_from
        if not 0 <= logits_from < len(tokens):
            raise ValueError(f"logits_from {logits_from} is not a position of {len(tokens)} tokens")
        self._settle(request)
        prefix = self._usable_prefix(tokens, request)
        moved = self._moved(tokens, request, prefix, keeps)
        if moved and self._keeping is not None:
            begin = self._output_from
            self._keeping.cache.set_aside(begin, begin + moved, prefix)
            self._forget(prefix)
        elif prefix < len(self._held) or self._failed:
            prefix = self._cache.cut(prefix)
            self._forget(prefix)
        self._failed = True  # a pass that breaks off may leave anything after what is held
        self.reused, self.kept = prefix + moved, moved
        rows = len(tokens) - logits_from
        if not moved:
            self._kept = None
            return Evaluation(tokens[prefix:], prefix, rows)
        start = request.output_from
        end = start + moved
        self._kept = _Kept(start, moved, Evaluation(tokens[end:], end, rows))
        return Evaluation(tokens[prefix:start], prefix, 0)

    def proceed(self) -> Evaluation | None:
        """What the caller must append next, after what `begin` named; None if that was all."""
        if self._kept is None or self._keeping is None:
            return None
        kept, self._kept = self._kept, None
        self._keeping.cache.put_back(kept.start)
        self._stale_end = kept.start + kept.moved
        return kept.rest

    def end(self, request: Forward | BeamForward) -> None:
        """Record that the tokens of ``request`` are now in the cache."""
        self._failed = False
        self._held = list(request.tokens)
        self._output_from = request.output_from

    def _forget(self, length: int) -> None:
        """Record that the cache was cut."""
        del self._held[length:]
        self._stale_end = min(self._stale_end, length)

    def _usable_prefix(self, tokens: Sequence[int], request: ModelRequest) -> int:
        """How many of the held tokens may begin the answer.

        Of those computed behind another prompt only as many as the request allows.
        """
        prefix = min(common_prefix(self._held, tokens), request.logits_from)
        allowed = request.output_from + request.kept
        if prefix > self._output_from and allowed < self._stale_end:
            prefix = min(prefix, max(allowed, self._output_from))
        return prefix

    def _moved(self, tokens: Sequence[int], request: Forward, prefix: int, keeps: bool | None) -> int:
        """How many tokens of the output move behind the changed prompt."""
        movable = 0 if keeps is False else self._movable(tokens, request, prefix)
        if keeps is None and self._keeping is not None and movable < self._keeping.least:
            return 0
        return movable

    def _movable(self, tokens: Sequence[int], request: Forward, prefix: int) -> int:
        """How many tokens of the output can move behind the changed prompt."""
        start, begin = request.output_from, self._output_from
        most = min(request.kept, request.logits_from - start)
        if self._keeping is None or self._failed or begin == 0 or prefix >= start or most <= 0:
            return 0
        return common_prefix(self._held[begin : begin + most], tokens[start : start + most])
