"""A draft, the pass that verifies it, and the verdict: what drafters offer and what they learn from."""

from collections.abc import Container, Sequence
from typing import NamedTuple

import msgspec

from operators.decoding.acceptance import EXACT, Acceptance
from operators.decoding.forward import Forward, Logits, Origin, Request, Task, best_tokens


class Draft(msgspec.Struct, frozen=True):
    """Tokens to verify in the next pass."""

    tokens: tuple[int, ...] = ()
    #: The source of the tokens.
    origin: Origin = Origin.OWN
    #: The rule that decides which tokens stand.
    acceptance: Acceptance = EXACT
    #: Tokens at the end omitted from the pass because its last row already judges them: 0 or 1.
    left_out: int = 0

    def origin_of(self, node: int) -> Origin:  # noqa: ARG002 - drafts of several sources look at it
        """The source of the token with this number."""
        return self.origin

    def within(self, room: int, stop: Container[int]) -> "Draft":
        """The draft up to its first ``stop`` token, and at most ``room`` tokens of it."""
        tokens = self.tokens[:room]
        count = next((place for place, token in enumerate(tokens) if token in stop), len(tokens))
        if count == len(self.tokens):
            return self
        return msgspec.structs.replace(self, tokens=tokens[:count], left_out=0)

    def request(self, task: Task, output: Sequence[int]) -> Request:
        """The pass that verifies it after ``output``."""
        tokens = [*task.prompt, *output, *self.tokens[: len(self.tokens) - self.left_out]]
        begin = len(task.prompt)
        return Forward(tokens, begin + len(output) - 1, begin, task.kept)

    def verified(self, begin: int, rows: Logits) -> "Verified":
        """Compare it with the model's rows; the first one judges the token after ``begin`` output tokens."""
        # All argmaxes in one call: a row costs little compared with its pass.
        choices = best_tokens(rows)
        path = range(self.acceptance.accepted_length(rows, choices, self.tokens))
        return Verified(begin, self, path, choices, rows)


class Verified(NamedTuple):
    """The verdict of one pass on a draft of n tokens."""

    #: Number of output tokens before the draft.
    begin: int
    draft: Draft
    #: The numbers of the tokens that stand: the first ones, or a path through a tree from its root on.
    path: Sequence[int]
    #: The model's choice after the known tokens, then after each token in the pass. Those after a rejected
    #: token are only guesses.
    choices: list[int]
    #: Shape (n + 1, vocabulary), or (n, vocabulary) if the pass omitted the last token; valid until the next
    #: pass. Row i + 1 belongs to token i.
    rows: Logits

    @property
    def accepted_length(self) -> int:
        """Number of accepted tokens."""
        return len(self.path)

    @property
    def last(self) -> int:
        """The row after all tokens that stand."""
        return self.path[-1] + 1 if self.path else 0

    @property
    def own(self) -> int | None:
        """The model's own next token.

        None if the last row has only confirmed a token that the pass omitted.
        """
        return self.choices[self.last] if self.last < len(self.choices) else None
