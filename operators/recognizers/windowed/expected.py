"""A lean of a recogniser towards names that are expected: those of a glossary.

Once a word has been begun as such a name begins, the logits of the tokens with which it may go on are raised
(contextual biasing; Pundak et al. 2018). The model has to begin it by itself, so nothing is heard that was
not said much like it.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import islice, takewhile

from operators.decoding.adjustment import outputs
from operators.decoding.forward import Forward, Logits, Session

#: Nats by which a logit is raised; docs/glossary.md has what it is worth.
_NATS = 4.0
#: Shorter words are guessed too easily.
_LEAST = 4
#: While more names than these begin like this, that says nothing.
_MOST = 20


class Expected:
    """Names in the vocabulary of a model.

    Args:
        names: The names; one that is a token by itself is known to the model, and needs no help.
        pieces: The bytes of each token.
    """

    def __init__(self, names: Iterable[str], pieces: Sequence[bytes]) -> None:
        self._pieces = pieces
        self._tokens = {piece: token for token, piece in enumerate(pieces) if piece}
        long = [f" {name}".encode() for name in names if len(name) >= _LEAST and name.isalpha()]
        self._names = sorted(name for name in long if self._tokens.keys().isdisjoint((name, name.lower())))

    def raise_in(self, row: Logits, output: tuple[int, ...]) -> None:
        """Raise them in the row after ``output``."""
        begun = b""
        for token in reversed(output):
            begun = self._pieces[token] + begun
            if b" " in begun:
                break
        begun = begun[begun.rfind(b" ") :]
        if len(begun) < 2:
            return
        place = bisect_left(self._names, begun)
        names = islice(self._names, place, place + _MOST + 1)
        rest = [name[len(begun) :] for name in takewhile(lambda name: name.startswith(begun), names)]
        if len(rest) <= _MOST:
            ends = {one[:end] for one in rest for end in range(1, len(one) + 1)}
            row[[self._tokens[one] for one in ends if one in self._tokens]] += _NATS


class Leaning:
    """A `Session` whose answers lean towards names; the output begins at place ``first``."""

    def __init__(self, session: Session, expected: Expected, first: int) -> None:
        self._session, self._expected, self._first = session, expected, first
        self.reused = self.kept = 0

    def forward(self, request: Forward) -> Logits:
        """Answer ``request``."""
        rows = self._session.forward(request)
        self.reused, self.kept = self._session.reused, self._session.kept
        for row, output in zip(rows, outputs(request, self._first), strict=True):
            if output is not None:
                self._expected.raise_in(row, output)
        return rows
