"""What sessions need of a model: numbered sequences that can be copied, cut and extended."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from operators.decoding.forward import Logits
from operators.decoding.session import Evaluation


class SequenceStore(Protocol):
    """Numbered sequences of one model, in one memory."""

    def copy_sequence(self, source: int, target: int) -> None:
        """Let the empty sequence ``target`` hold what ``source`` holds."""
        ...

    def cut_sequence(self, sequence: int, length: int) -> None:
        """Forget what ``sequence`` holds from position ``length`` on.

        Raises `ModelTrouble` where the memory cannot be cut there; it always can be cut at 0.
        """
        ...

    def evaluate(self, sequence: int, tokens: Sequence[int], start: int, rows: int) -> Logits:
        """Append ``tokens`` to ``sequence`` at ``start``; logits of the last ``rows``."""
        ...


class Part(NamedTuple):
    """One sequence's part of a pass over several."""

    sequence: int
    evaluation: Evaluation


class SharedStore(SequenceStore, Protocol):
    """A store that can extend several sequences in one pass."""

    #: Tokens of one pass at most.
    largest_pass: int

    def evaluate_parts(self, parts: Sequence[Part]) -> list[Logits]:
        """Append each part's tokens to its sequence, no two to the same; the logits that each of them wants.

        There are no more tokens than `largest_pass`. All logits are valid until the next pass. Raises
        `ModelTrouble` for all of them where the model cannot; any part may be in the memory then.
        """
        ...
