"""Encoder-decoder models as a store of sequences, which sessions, pools and rooms use like llama.cpp.

A sequence holds the source, its end, the start token, and the output. The encoder reads a changed source
again. Then all tokens of the output have to be evaluated again, unless their states for the shorter source
are put back.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from operators.decoding.forward import Logits
from operators.models.kv import Part
from operators.seq2seq.vocabulary import PieceVocabulary

#: The decoder's states of the tokens of an output, by name; the third axis is the token.
DecoderState = Mapping[str, NDArray[Any]]


class EncodedSource(NamedTuple):
    """An encoded source: its length in tokens, and arrays in the model's own format."""

    tokens: int
    #: The encoder's states, and the keys and values of cross-attention.
    states: NDArray[Any]
    cross: dict[str, NDArray[Any]]


@runtime_checkable
class EncoderDecoder(Protocol):
    """The weights and the vocabularies of a model, without any sequence."""

    path: Path
    #: The files of the weights.
    files: tuple[Path, ...]
    #: The target vocabulary, with the source vocabulary as ``source``.
    vocabulary: PieceVocabulary
    vocabulary_size: int
    #: Codes of the source and target languages, or names of groups; None if its files do not name them.
    languages: tuple[str | None, str | None]
    #: Maximum number of tokens of a source and of an output.
    positions: int
    #: The token before every output, and those that end one.
    start: int
    ends: tuple[int, ...]
    #: Whether tokens may be written after held ones several at a time.
    is_causal: bool
    #: Whether states of an output for one source can be kept for a longer one.
    can_shift: bool

    def read(self, source: Sequence[int]) -> EncodedSource:
        """Read a source with its end token. Raises `ModelError` if that fails."""
        ...

    def write(
        self, read: EncodedSource, held: DecoderState, tokens: Sequence[int], rows: int
    ) -> tuple[Logits, DecoderState]:
        """Logits of the last ``rows`` of ``tokens`` after ``held``, and the new state.

        If ``held`` is empty, ``tokens`` begin with the start token. Raises `ModelError` if the pass fails.
        """
        ...


class _Sequence:
    """The tokens of a sequence, and the decoder's states of those from the start token on."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.tokens: list[int] = []
        #: Position of the first token; not 0 if the sequence holds only a part of an output to put back.
        self.first = 0
        #: Position of the first token with a state; None if there is none.
        self.begin: int | None = None
        self.held: DecoderState = {}
        #: The source that the model has read last, and its encoding.
        self.source: tuple[int, ...] = ()
        self.read: EncodedSource | None = None

    @property
    def written(self) -> int:
        return next((values.shape[2] for values in self.held.values()), 0)

    def cut(self, length: int) -> None:
        if length <= self.first:
            self.clear()
            return
        del self.tokens[length - self.first :]
        if self.begin is not None and length > self.begin:
            self.held = _part(self.held, 0, length - self.begin)
        else:
            self.begin, self.held = None, {}


def _part(held: DecoderState, start: int, end: int) -> DecoderState:
    return {name: values[:, :, start:end] for name, values in held.items()}


class PairStore:
    """A `SequenceStore` on one model. Sequences do not share passes."""

    largest_pass = 0

    def __init__(self, model: EncoderDecoder, sequences: int) -> None:
        self._model = model
        self._sequences = [_Sequence() for _ in range(sequences)]

    def close(self) -> None:
        self._sequences.clear()

    @property
    def can_shift(self) -> bool:
        """Whether tokens can be kept after a longer source."""
        return self._model.can_shift

    def copy_sequence(self, source: int, target: int) -> None:
        here, there = self._sequences[source], self._sequences[target]
        there.tokens, there.begin = list(here.tokens), here.begin
        there.held, there.source, there.read = here.held, here.source, here.read

    def cut_sequence(self, sequence: int, length: int) -> None:
        self._sequences[sequence].cut(length)

    def copy_part(self, source: int, target: int, start: int, end: int) -> None:
        here, there = self._sequences[source], self._sequences[target]
        assert here.begin is not None, "only tokens of an output are parked"
        part = _part(here.held, start - here.begin, end - here.begin)
        if there.begin is None:
            there.first = there.begin = start
            there.held = part
        else:
            there.held = {
                name: np.concatenate((held, part[name]), axis=2) for name, held in there.held.items()
            }
        there.tokens += here.tokens[start - here.first : end - here.first]

    def shift(self, sequence: int, start: int, end: int, by: int) -> None:  # noqa: ARG002 - the protocol
        """Move a sequence that holds only parked tokens."""
        self._sequences[sequence].first = self._sequences[sequence].begin = start + by

    def evaluate(self, sequence: int, tokens: Sequence[int], start: int, rows: int) -> Logits:
        """Append ``tokens`` to ``sequence`` at ``start``; return the logits of the last ``rows`` tokens.

        Only tokens of an output have logits. Raises `ModelError` if the model fails.
        """
        one = self._sequences[sequence]
        assert start == len(one.tokens), "a pass continues where the sequence ends"
        one.tokens += tokens
        if self._model.start not in one.tokens:
            return np.empty((0, self._model.vocabulary_size), np.float32)
        one.begin = one.tokens.index(self._model.start)
        source = tuple(one.tokens[: one.begin])
        if one.read is None or one.source != source:
            one.source, one.read = source, self._model.read(source)
        output = one.tokens[one.begin :]
        new = output[one.written :]
        # A pass over all of an output costs less than one for each token.
        goes_on = one.written and (len(new) == 1 or self._model.is_causal)
        held, tokens = (one.held, new) if goes_on else ({}, output)
        logits, one.held = self._model.write(one.read, held, tokens, rows)
        return logits

    def evaluate_parts(self, parts: Sequence[Part]) -> list[Logits]:
        return [self.evaluate(own, tokens, start, rows) for (own,), tokens, start, rows in parts]
