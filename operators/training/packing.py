"""An endless stream of examples from several corpora, packed into rows of one length without padding.

A segment of speech contains several short sentences, and an unfinished one may end within any of them.

Each row holds several examples in sequence. They do not see each other: positions restart with each example,
and `documents` says to which one a token belongs (0 is padding).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from operators.prompts.prompt import Prompt
from operators.training.noise import Noise, NoisySource, pieces_of
from operators.training.pairs import Pair, joined


@dataclass(frozen=True, slots=True)
class Example:
    """A source, and the answer to learn."""

    source: str
    target: str
    is_final: bool


def speech(
    pairs: Sequence[Pair],
    rng: Random,
    *,
    max_sentences: int = 6,
    max_words: int = 60,
    separator: str = " ",
    in_order: bool = False,
) -> Iterator[Pair]:
    """All pairs once, joined into segments of 1 to `max_sentences` sentences, in random order.

    All numbers of sentences are equally likely; a segment has at most `max_words` source words, unless a
    single sentence has more. Within a segment sentences come in random order, or ``in_order`` as they stand.
    """
    order = list(range(len(pairs)))
    if not in_order:
        rng.shuffle(order)
    segments: list[list[int]] = []
    words = wanted = 0
    for number in order:
        length = len(pairs[number].source)
        if not segments or len(segments[-1]) == wanted or words + length > max_words:
            segments.append([])
            words, wanted = 0, rng.randint(1, max_sentences)
        segments[-1].append(number)
        words += length
    if in_order:
        rng.shuffle(segments)
    for segment in segments:
        yield joined([pairs[number] for number in segment], separator)


def example(pair: Pair, rng: Random, *, prefixes: float = 0.5, noise: Noise | None = None) -> Example:
    """One example of a pair: with probability `prefixes` a prefix of uniformly random length, else all.

    If noise changes the last word of a prefix, the target is that of the words before it. With noise, some
    finals are only a piece of their sentence, as recognisers end segments at pauses.
    """
    is_final = rng.random() >= prefixes
    if is_final and noise is not None and rng.random() < noise.pieces:
        pair = rng.choice(pieces_of(pair) or [pair])
    length = len(pair.source) if is_final else rng.randint(1, len(pair.source))
    words = pair.source[:length]
    heard = NoisySource(" ".join(words), length) if noise is None else noise(words, is_final, rng)
    return Example(heard.text, pair.prefix(heard.sure), is_final)


class Corpus(NamedTuple):
    """Pairs, and their share of segments relative to the other corpora."""

    pairs: Sequence[Pair]
    share: float
    #: Whether they follow each other as in a text.
    in_order: bool = False


def mixture(
    corpora: Sequence[Corpus], rng: Random, *, prefixes: float, noise: Noise | None, separator: str = " "
) -> Iterator[Example]:
    """Endless examples. A corpus that is used up starts again in another order."""
    streams = [_endless(corpus, rng, separator) for corpus in corpora]
    shares = [corpus.share for corpus in corpora]
    while True:
        pair = next(rng.choices(streams, shares)[0])
        yield example(pair, rng, prefixes=prefixes, noise=noise)


def _endless(corpus: Corpus, rng: Random, separator: str) -> Iterator[Pair]:
    while True:
        yield from speech(corpus.pairs, rng, separator=separator, in_order=corpus.in_order)


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
    """Batches of ``rows`` rows, the last one as far as it is filled; longer examples are left out."""
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
    if counts.any():
        yield filled


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
