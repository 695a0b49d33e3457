"""Packs examples of any length into rows of one length, so that no pass computes padding.

Each row holds several examples in sequence. They do not see each other: positions restart with each example,
and `documents` says to which one a token belongs (0 is padding).
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from operators.prompts.prompt import Prompt

_END = "\n"


class Asked(NamedTuple):
    """One example as token ids."""

    prompt: tuple[int, ...]
    answer: tuple[int, ...]
    #: The place of the source in the prompt.
    source: slice


def asked(prompt: Prompt, source: str, target: str, *, is_final: bool) -> Asked:
    """An example whose answer ends with the line; an empty ``target`` teaches to answer nothing yet."""
    answer = prompt.vocabulary.tokenize(prompt.lead + target) if target else []
    spoken, first = prompt.source(source), len(prompt.head)
    return Asked(
        prompt.build(spoken, is_final=is_final),
        (*answer, *prompt.vocabulary.tokenize(_END)),
        slice(first, first + len(spoken)),
    )


#: The label of tokens that are not learned.
IGNORED = -100


class Rows(NamedTuple):
    """A batch: five arrays of the shape (rows, tokens)."""

    tokens: NDArray[np.int32]
    positions: NDArray[np.int32]
    documents: NDArray[np.int32]
    #: The next token if it belongs to an answer, else `IGNORED`.
    labels: NDArray[np.int32]
    #: The same for the source.
    sources: NDArray[np.int32]


def pack(examples: Iterable[Asked], rows: int, length: int) -> Iterator[Rows]:
    """Batches of ``rows`` rows. Examples longer than ``length`` and an unfilled last batch are left out."""
    filled = _empty(rows, length)
    room = np.full(rows, length)
    counts = np.zeros(rows, int)
    for example in examples:
        size = len(example.prompt) + len(example.answer)
        if size > length:
            continue
        # The fullest row that still has room, so that little space is left over in each.
        fitting = np.where(room >= size, room, length + 1)
        row = int(fitting.argmin())
        if room[row] < size:
            yield filled
            filled, room, counts = _empty(rows, length), np.full(rows, length), np.zeros(rows, int)
            row = 0
        counts[row] += 1
        _place(filled, row, length - int(room[row]), int(counts[row]), example)
        room[row] -= size


def _empty(rows: int, length: int) -> Rows:
    def zeros() -> NDArray[np.int32]:
        return np.zeros((rows, length), np.int32)

    def ignored() -> NDArray[np.int32]:
        return np.full((rows, length), IGNORED, np.int32)

    return Rows(zeros(), zeros(), zeros(), ignored(), ignored())


def _place(batch: Rows, row: int, start: int, document: int, example: Asked) -> None:
    size, asked = len(example.prompt) + len(example.answer), len(example.prompt)
    place = slice(start, start + size)
    batch.tokens[row, place] = example.prompt + example.answer
    batch.positions[row, place] = np.arange(size)
    batch.documents[row, place] = document
    batch.labels[row, start + asked - 1 : start + size - 1] = example.answer
    # What precedes its first token is the same in all examples.
    spoken = slice(example.source.start + 1, example.source.stop)
    before = slice(start + spoken.start - 1, start + spoken.stop - 1)
    batch.sources[row, before] = example.prompt[spoken]
