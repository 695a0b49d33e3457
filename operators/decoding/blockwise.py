"""Decoding after what is known, a block of proposals a pass (blockwise parallel decoding, Stern et al. 2018).

Each pass verifies what was proposed after the model's own last token and, with its last rows, predicts what
comes next: their merged predict-and-verify (section 4). Without proposals this is greedy decoding.
"""

from collections.abc import Sequence

from operators.decoding.acceptance import EXACT, Acceptance
from operators.decoding.forward import Decoded, Forward, Method, Origin, Task
from operators.decoding.proposals import NoProposals, Proposer
from operators.decoding.repetition import repetition
from operators.decoding.verify import verify
from operators.trouble import Trouble


def decode_on(
    task: Task,
    output: Sequence[int],
    token: int,
    proposer: Proposer | None = None,
    acceptance: Acceptance = EXACT,
) -> Method:
    """Decode after ``output``, given the model's choice of the ``token`` that comes next.

    Under `ExactAcceptance` the result is greedy decoding's, whatever is proposed, in no more passes: each
    takes the model's own next token at least. An output that begins to repeat itself without end is cut
    where it does, ``output`` included.
    """
    proposer = proposer or NoProposals()
    growing = _Growing(task, output)
    while not growing.ended and token not in task.stop:
        growing.add([token], Origin.OWN)
        if growing.ended:
            break
        proposal = proposer.propose(growing.output)
        block = _before_stop(proposal.tokens[: growing.room], task)
        begin = len(growing.output)
        rows = yield Forward([*task.prompt, *growing.output, *block], len(task.prompt) + begin - 1)
        # What was said elsewhere is no draft of this: it bends no output, and to forget it changes nothing.
        rule = EXACT if proposal.origin is Origin.LOOKED_UP else acceptance
        verified = verify(begin, block, rows, rule)
        proposer.learn(verified)
        growing.proposed += len(block)
        growing.add(block[: verified.stood], proposal.origin)
        token = verified.choices[verified.stood]
    return growing.decoded()


#: The origins of tokens that were proposed after the divergence.
PROPOSED = (Origin.RECYCLED, Origin.LOOKED_UP, Origin.PARALLEL)


def _before_stop(tokens: Sequence[int], task: Task) -> Sequence[int]:
    """A block has no stop token: the row before it says whether the output ends there."""
    return tokens[: next((place for place, token in enumerate(tokens) if token in task.stop), len(tokens))]


class _Growing:
    """An output as it grows: ended at its limit, or where it repeats itself."""

    def __init__(self, task: Task, output: Sequence[int]) -> None:
        self.output: list[int] = []
        self.proposed = 0
        self.ended = False
        self._origins: list[Origin] = []
        self._limit = task.limit
        self._cut: Trouble | None = None
        self.add(output, Origin.DRAFT)

    @property
    def room(self) -> int:
        """Tokens that may still come."""
        return self._limit - len(self.output)

    def add(self, tokens: Sequence[int], origin: Origin) -> None:
        """Append tokens that stand; cut a repetition."""
        checked = len(self.output)
        self.output += tokens
        self._origins += [origin] * len(tokens)
        kept = repetition(self.output, checked)
        if kept is not None:
            del self.output[kept:], self._origins[kept:]
            self.ended, self._cut = True, Trouble.REPETITION
        elif len(self.output) >= self._limit:
            self.ended, self._cut = True, Trouble.LONG_ANSWER

    def decoded(self) -> Decoded:
        """The result so far."""
        return Decoded(
            tuple(self.output),
            proposed=self.proposed,
            taken=sum(origin in PROPOSED for origin in self._origins),
            origins=tuple(self._origins),
            cut=self._cut,
        )
