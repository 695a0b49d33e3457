"""A toy store whose memory cannot be cut, as llama.cpp's recurrent memory cannot.

It does what `llama_memory_recurrent::seq_rm` does, also where that goes wrong without saying so.
"""

from collections.abc import Sequence

from operators.decoding.forward import Logits
from operators.trouble import ModelTrouble, Trouble
from tests.toy import ToyStore

#: A token that nobody asked for: logits after it are not those of any request.
GARBAGE = -9


class RecurrentToyStore(ToyStore):
    """Takes back at most ``rollback`` tokens of a pass, once, and only in a state that is not shared."""

    def __init__(self, sequences: int, rollback: int = 0) -> None:
        super().__init__(sequences)
        self._rollback = rollback
        self._written = [0] * sequences
        self._taken_back: set[int] = set()
        self._shared: set[int] = set()
        #: Passes that were made.
        self.passes = 0

    def copy_sequence(self, source: int, target: int) -> None:
        super().copy_sequence(source, target)
        self._shared |= {source, target}
        if source in self._taken_back:
            # The copy would begin from the state before it was taken back.
            self.caches[target].tokens.append(GARBAGE)

    def cut_sequence(self, sequence: int, length: int) -> None:
        tokens = self.caches[sequence].tokens
        back = len(tokens) - length
        if length > 0 and back > 0:
            if sequence in self._taken_back or back > self._rollback:
                why = f"llama.cpp cannot cut a sequence at position {length}"
                raise ModelTrouble(Trouble.FAILED_PASS, why)
            self._taken_back.add(sequence)
            if back >= self._written[sequence] or sequence in self._shared:
                # It takes a state of another pass, or moves that of another sequence.
                tokens[0] = GARBAGE
        elif length == 0:
            self._taken_back.discard(sequence)
        super().cut_sequence(sequence, min(length, len(tokens)))

    def evaluate(self, sequence: int, tokens: Sequence[int], start: int, rows: int) -> Logits:
        self.passes += 1
        self._taken_back.discard(sequence)
        self._shared.discard(sequence)
        self._written[sequence] = len(tokens)
        return super().evaluate(sequence, tokens, start, max(1, rows))[0 if rows else 1 :]
