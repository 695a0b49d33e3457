"""What may come next: the contract of everything that proposes tokens after a divergence."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from operators.decoding.forward import Origin
from operators.decoding.verify import Verified


class Proposal(NamedTuple):
    """Tokens to verify in the next pass, and where they come from."""

    tokens: Sequence[int] = ()
    origin: Origin = Origin.OWN


class Proposer(Protocol):
    """Makes proposals for one task, and learns from every pass."""

    def learn(self, verified: Verified) -> None:
        """See what a pass said, before the rows are gone."""
        ...

    def propose(self, output: Sequence[int]) -> Proposal:
        """What may follow ``output``, whose last token is the model's own choice and not evaluated yet."""
        ...


class NoProposals:
    """One token a pass."""

    def learn(self, verified: Verified) -> None:
        """Nothing is remembered."""

    def propose(self, output: Sequence[int]) -> Proposal:  # noqa: ARG002 - the protocol
        """Nothing is proposed."""
        return Proposal()


class FirstOf:
    """Several proposers in the order of their precedence: the first that has something proposes."""

    def __init__(self, *proposers: Proposer) -> None:
        self._proposers = proposers

    def learn(self, verified: Verified) -> None:
        """All of them see it."""
        for proposer in self._proposers:
            proposer.learn(verified)

    def propose(self, output: Sequence[int]) -> Proposal:
        """The first proposal that is not empty; all are asked, as they keep their place by it."""
        proposals = [proposer.propose(output) for proposer in self._proposers]
        return next((proposal for proposal in proposals if proposal.tokens), Proposal())
