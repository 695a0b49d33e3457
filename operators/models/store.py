"""What sessions need of a model: numbered sequences that can be copied, cut and extended."""

from collections.abc import Sequence
from typing import Protocol

from operators.decoding.forward import Logits


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
