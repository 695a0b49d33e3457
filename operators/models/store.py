"""What sessions require of a model: numbered sequences that can be copied, cut and extended."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from operators.decoding.forward import Logits
from operators.decoding.session import Evaluation


class SequenceStore(Protocol):
    """Numbered sequences of one model in one memory."""

    def copy_sequence(self, source: int, target: int) -> None:
        """Copy the content of ``source`` into the empty sequence ``target``."""
        ...

    def cut_sequence(self, sequence: int, length: int) -> None:
        """Forget what ``sequence`` holds from position ``length`` on.

        Cutting at 0 always works. Raises `ModelTrouble` if the memory cannot be cut at ``length``.
        """
        ...

    def evaluate(self, sequence: int, tokens: Sequence[int], start: int, rows: int) -> Logits:
        """Append ``tokens`` to ``sequence`` at ``start``; return the logits of the last ``rows`` tokens."""
        ...


class ShiftingStore(SequenceStore, Protocol):
    """A store in which tokens can move to other positions."""

    def copy_part(self, source: int, target: int, start: int, end: int) -> None:
        """Let ``target`` hold what ``source`` holds from position ``start`` up to ``end``."""
        ...

    def shift(self, sequence: int, start: int, end: int, by: int) -> None:
        """Add ``by`` to the positions from ``start`` up to ``end``, which belong to ``sequence`` alone."""
        ...


class Part(NamedTuple):
    """One sequence's part of a pass over several sequences."""

    sequence: int
    evaluation: Evaluation


class SharedStore(SequenceStore, Protocol):
    """A store that can extend several sequences in one pass."""

    #: Maximum number of tokens in one pass.
    largest_pass: int

    def evaluate_parts(self, parts: Sequence[Part]) -> list[Logits]:
        """Append each part's tokens to its sequence and return the logits that each part requests.

        No two parts may have the same sequence, and together they have at most `largest_pass` tokens. All
        logits are valid until the next pass. If the model fails, raises `ModelTrouble` for all parts; any of
        them may be in the memory then.
        """
        ...
