"""Runs all methods on each segment in turn, so that all see the machine in the same state."""

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter

import msgspec
import numpy as np
from msgspec.structs import replace

from flows.measuring.corpus import BenchSegment, Corpus
from operators.decoding.forward import Forward
from operators.decoding.translator import SegmentState, Translator
from operators.errors import InputError
from operators.events import Effort
from operators.models.pool import SessionPool
from operators.prompts.prompt import Prompt
from operators.trouble import Trouble

# The session of the model that judges.
_JUDGED = "likelihood"


class MethodUpdate(msgspec.Struct, frozen=True, array_like=True):
    """The result of one method for one update."""

    tokens: int
    text: str
    #: The text that a display mask of k tokens leaves visible, for each requested k.
    shown: tuple[str, ...]
    effort: Effort
    #: -log P of the tokens, if requested and computable.
    nats: float | None = None
    #: What went wrong with the model.
    trouble: Trouble | None = None


class SegmentTrial(msgspec.Struct, frozen=True):
    """One repeat of one segment: the updates of all methods, and the seconds that they took."""

    repeat: int
    segment: int
    updates: tuple[tuple[MethodUpdate, ...], ...]


class Likelihood:
    """Judges outputs with the model that made them: quality without a reference.

    Greedy decoding with a small model has many near ties, and one flipped tie changes everything after it;
    chrF against re-translation then shows a difference of a third. The log-likelihood does not: it is the
    same for two equally good wordings, and it penalises a word that the source no longer supports by how
    improbable it is.
    """

    #: How it is counted.
    signature = "nats:-log P(token|source,output before),pooled over tokens,the end left out"

    def __init__(self, prompt: Prompt, pool: SessionPool, max_source: int) -> None:
        """Texts with more than ``max_source`` tokens are translated in parts, and are not judged."""
        self._prompt = prompt
        self._pool = pool
        self._max_source = max_source

    def nats(self, text: str, output: Sequence[int], *, is_final: bool) -> float | None:
        """-log P of the tokens ``output`` as a translation of ``text``; None if it cannot be computed."""
        source = self._prompt.source(text)
        if not output or not text.strip() or len(source) > self._max_source:
            return None
        prompt = self._prompt.build(source, is_final=is_final)
        with self._pool.session(_JUDGED) as session:
            rows = session.forward(Forward([*prompt, *output[:-1]], len(prompt) - 1))
            total = 0.0
            for row, token in zip(rows, output, strict=True):
                total += float(np.log(np.exp(row - row.max()).sum(dtype=np.float64)) + row.max() - row[token])
        return total

    def release(self) -> None:
        """Free the session used for judging."""
        self._pool.release(_JUDGED)


def run_trials(
    corpus: Corpus,
    translators: Sequence[Translator],
    repeats: int,
    masks: Sequence[Callable[[tuple[str, ...]], str]],
    done: set[tuple[int, int]],
    go_on: Callable[[], None] = lambda: None,
    likelihood: Likelihood | None = None,
) -> Iterator[SegmentTrial]:
    """Yield a trial for each repeat and segment that is not in ``done``.

    ``go_on`` is called before each update, outside the timed part; it may raise to end the run. With
    ``likelihood``, outputs are judged after their segment, also outside the timed part.
    The order of the methods rotates from trial to trial, so that none always comes first.
    """
    for repeat in range(repeats):
        judge = likelihood if repeat == 0 else None  # texts differ between repeats only by noise
        for number, segment in enumerate(corpus.segments):
            if (repeat, number) in done:
                continue
            results: list[tuple[MethodUpdate, ...]] = [()] * len(translators)
            for turn in range(len(translators)):
                which = (turn + number + repeat) % len(translators)
                # Methods that look up earlier outputs of a stream must not find those of the last repeat.
                own = segment._replace(key=f"{repeat}/{segment.key}")
                results[which] = _translate(own, translators[which], masks, go_on, judge)
            yield SegmentTrial(repeat, number, tuple(results))


def warm_up(corpus: Corpus, translators: Sequence[Translator]) -> None:
    """Run the first update with each method, unmeasured: the first passes read the weights from disk."""
    segment = corpus.segments[0]
    for translator in translators:
        first = segment._replace(key=f"warm-up/{segment.key}", updates=segment.updates[:1])
        _translate(first, translator, ())


def _translate(
    segment: BenchSegment,
    translator: Translator,
    masks: Sequence[Callable[[tuple[str, ...]], str]],
    go_on: Callable[[], None] = lambda: None,
    likelihood: Likelihood | None = None,
) -> tuple[MethodUpdate, ...]:
    state, updates, outputs = SegmentState(), [], []
    for number, text in enumerate(segment.updates):
        go_on()
        is_final = number == len(segment.updates) - 1
        began = perf_counter()
        state, output = translator.update(segment.key, state, text, is_final=is_final)
        total_s = perf_counter() - began
        if output.trouble is not None and output.trouble.is_failure:
            raise InputError(f"the model failed at {text[:40]!r}, {output.why}: use another model")
        full = "".join(output.pieces)
        shown = tuple(full if is_final else mask(output.pieces) for mask in masks)
        effort = output.effort.with_total(total_s)
        updates.append(MethodUpdate(len(output.tokens), full, shown, effort, trouble=output.trouble))
        outputs.append(output.tokens)
    translator.release(segment.key, state)
    if likelihood is not None:
        last = len(updates) - 1
        updates = [
            replace(update, nats=likelihood.nats(text, output, is_final=number == last))
            for number, (update, text, output) in enumerate(
                zip(updates, segment.updates, outputs, strict=True)
            )
        ]
        likelihood.release()
    return tuple(updates)
