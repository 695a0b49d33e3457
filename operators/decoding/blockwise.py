"""Decoding with one draft per pass (blockwise parallel decoding, Stern et al. 2018), from any drafter.

Each pass verifies the draft after the model's own last token and, with its last rows, predicts the next
tokens: the paper's combined prediction and verification (section 4). Without drafts this is greedy decoding.
"""

from collections.abc import Sequence
from functools import cached_property

from operators.decoding.beam import search
from operators.decoding.drafts import Draft, Drafter, Verified
from operators.decoding.forward import DecodingResult, Method, Origin, Task
from operators.decoding.pieces import last_word_end
from operators.decoding.repetition import (
    FIGURE_TOKENS,
    TIMES,
    TWICE,
    TWICE_TOKENS,
    repeats,
    repetition,
    said_again,
)
from operators.model_errors import ErrorKind

#: The origins of drafted tokens, except those of the last output.
PROPOSED = (Origin.RECYCLED, Origin.LOOKED_UP, Origin.PARALLEL, Origin.MODEL)


def decode(task: Task, drafter: Drafter, known: Sequence[int] = (), beam: int = 1) -> Method:
    """Decode after the tokens ``known``, which are accepted without a check, with drafts of ``drafter``.

    With a ``beam`` of more than one, new tokens (after the first rejected one, or without a draft) come from
    a beam search of that width, if the session can hold as many continuations.

    If all drafts use exact acceptance, the result is that of greedy decoding, whatever is drafted. It takes
    no more passes, because each pass adds at least the model's own next token. Unless the task allows it, an
    output that starts to repeat itself endlessly is cut there, even inside ``known``. If a search finds only
    the last phrase of the accepted tokens again, decoding stops, and `DecodingResult.doubted` is its place.
    """
    growing = _GrowingOutput(task, known)
    while not growing.ended:
        draft = (yield from drafter.draft(growing.output)) or Draft()
        # A draft contains no stop token, because the row before it decides whether the output ends there.
        draft = draft.within(task.limit - len(growing.output), task.stop)
        rows = yield draft.request(task, growing.output)
        verified = draft.verified(len(growing.output), rows)
        drafter.learn(verified)
        growing.take(verified)
        if growing.ended or verified.own is None:
            continue
        if verified.own in task.stop:
            break
        if beam > 1:
            rest = yield from search(
                task, growing.output, verified.rows[verified.last], beam, growing.is_lost
            )
            if rest is not None:
                growing.add(rest, [Origin.OWN] * len(rest))
                break
            if growing.doubted is not None:
                return growing.decoded()._replace(doubted=growing.doubted)
            beam = 1
        growing.add([verified.own], [Origin.OWN])
    return growing.decoded()


class _GrowingOutput:
    """A growing output: it ends at its limit, or where it repeats itself."""

    def __init__(self, task: Task, known: Sequence[int]) -> None:
        self.output: list[int] = list(known)
        self.ended = False
        self._origins = [Origin.COMMITTED] * len(known)
        self._limit = task.limit
        self._piece = task.piece
        # Figures up to the length of the source may come from the source.
        self._figure_tokens = max(FIGURE_TOKENS, len(task.source))
        self._source = task.source
        self._may_repeat = task.may_repeat
        self._cut: ErrorKind | None = None
        self._proposed = 0
        # Number of tokens that have been searched for a repetition.
        self._checked = 0
        #: Start of the phrase of accepted tokens that the last lost hypothesis repeated.
        self.doubted: int | None = None

    def take(self, verified: Verified) -> None:
        draft = verified.draft
        if draft.origin is not Origin.DRAFT:
            self._proposed += len(draft.tokens)
        self.add(
            [draft.tokens[node] for node in verified.path], [draft.origin_of(node) for node in verified.path]
        )

    def add(self, tokens: Sequence[int], origins: Sequence[Origin]) -> None:
        """Append accepted tokens; cut a repetition, or an output that is too long at its last whole word."""
        self.output += tokens
        self._origins += origins
        kept = self._repetition(TIMES)
        if kept is not None and (spoken := self._source_repeats) >= TIMES:
            # A phrase may be repeated twice more than the speaker repeats one.
            kept = self._repetition(spoken + 2)
        self._checked = len(self.output)
        if kept is not None:
            self._cut = ErrorKind.REPETITION
        elif len(self.output) >= self._limit:
            self._cut, kept = ErrorKind.LONG_ANSWER, last_word_end(self.output, self._piece)
        if kept is not None:
            self.ended = True
            del self.output[kept:], self._origins[kept:]

    @cached_property
    def _source_repeats(self) -> int:
        return repeats(self._source)

    def is_lost(self, output: Sequence[int]) -> bool:
        """Whether an output begins to repeat itself with its last token.

        A search prefers loops: a phrase gets more probable with each repetition (Xu et al. 2022). So a search
        drops a hypothesis when a long phrase comes twice in a row: it has others, and can fall back on greedy
        decoding. If the phrase begins in accepted tokens, its place is kept in ``doubted``.
        """
        if self._may_repeat:
            return False
        begin, repeated = len(output) - 1, self._source_repeats
        if repeated < TWICE:
            if (again := said_again(output, self._piece)) is not None:
                self.doubted = again if again < self._accepted else None
                return True
            if repetition(output, begin, self._piece, self._figure_tokens, TWICE, TWICE_TOKENS) is not None:
                return True
        times = TIMES if repeated < TIMES else repeated + 2
        return repetition(output, begin, self._piece, self._figure_tokens, times) is not None

    @property
    def _accepted(self) -> int:
        return sum(origin in (Origin.COMMITTED, Origin.DRAFT) for origin in self._origins)

    def _repetition(self, times: int) -> int | None:
        if self._may_repeat:
            return None
        return repetition(self.output, self._checked, self._piece, self._figure_tokens, times)

    def decoded(self) -> DecodingResult:
        return DecodingResult(
            tuple(self.output),
            accepted=self._accepted,
            proposed=self._proposed,
            taken=sum(origin in PROPOSED for origin in self._origins),
            origins=tuple(self._origins),
            cut=self._cut,
        )
