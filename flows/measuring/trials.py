"""Trials: all methods on each segment in turn, timed, and the likelihood of their outputs."""

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter

import numpy as np
from msgspec.structs import replace

from flows.measuring.corpus import BenchSegment, Corpus
from flows.measuring.scores import MethodUpdate, SegmentTrial
from operators.decoding.forward import Forward
from operators.decoding.translator import SegmentState, SegmentTranslator
from operators.errors import InputError
from operators.models.pool import SessionPool
from operators.prompts.prompt import Prompt

#: The visible text of an unfinished output, given its pieces and the previously visible text.
Mask = Callable[[tuple[str, ...], str], str]
# The session of the scoring model.
_SCORING = "likelihood"


class Likelihood:
    """Scores outputs with the model that made them: quality without a reference.

    Greedy decoding with a small model has many near ties, and one flipped tie changes everything after it;
    chrF against re-translation then shows a difference of a third. The log-likelihood does not: it is the
    same for two equally good wordings, and it penalises a word that the source no longer supports by how
    improbable it is.
    """

    #: How it is counted.
    signature = "nats:-log P(token|source,output before),pooled over tokens,the end left out"

    def __init__(self, prompt: Prompt, pool: SessionPool, max_source: int) -> None:
        """Texts with more than ``max_source`` tokens are not scored, because they are translated in parts."""
        self._prompt = prompt
        self._pool = pool
        self._max_source = max_source

    def nats(self, text: str, output: Sequence[int], *, is_final: bool) -> float | None:
        """-log P of the tokens ``output`` as a translation of ``text``; None if it cannot be computed."""
        source = self._prompt.source(text)
        if not output or not text.strip() or len(source) > self._max_source:
            return None
        prompt = self._prompt.build(source, is_final=is_final)
        with self._pool.session(_SCORING) as session:
            rows = session.forward(Forward([*prompt, *output[:-1]], len(prompt) - 1))
            total = 0.0
            for row, token in zip(rows, output, strict=True):
                total += float(np.log(np.exp(row - row.max()).sum(dtype=np.float64)) + row.max() - row[token])
        return total

    def judged(
        self, segment: BenchSegment, updates: Sequence[MethodUpdate], outputs: Sequence[Sequence[int]]
    ) -> list[MethodUpdate]:
        """The updates of a segment with their nats; ``outputs`` are their tokens."""
        last = len(updates) - 1
        made = [
            replace(update, nats=self.nats(text, output, is_final=number == last))
            for number, (update, text, output) in enumerate(
                zip(updates, segment.updates, outputs, strict=True)
            )
        ]
        self._pool.release(_SCORING)
        return made


def run_trials(
    corpus: Corpus,
    translators: Sequence[SegmentTranslator],
    repeats: int,
    masks: Sequence[Mask],
    done: set[tuple[int, int]],
    go_on: Callable[[], None] = lambda: None,
    likelihood: Likelihood | None = None,
) -> Iterator[SegmentTrial]:
    """Yield a trial for each repeat and segment that is not in ``done``.

    ``go_on`` is called before each update, outside the timed part; it may raise to end the run. With
    ``likelihood``, outputs are scored after their segment, also outside the timed part.
    The order of the methods rotates from trial to trial, so that none always comes first.
    """
    for repeat in range(repeats):
        scorer = likelihood if repeat == 0 else None  # texts differ between repeats only by noise
        for number, segment in enumerate(corpus.segments):
            if (repeat, number) in done:
                continue
            results: list[tuple[MethodUpdate, ...]] = [()] * len(translators)
            for turn in range(len(translators)):
                which = (turn + number + repeat) % len(translators)
                # Methods that look up earlier outputs of a stream must not find those of the last repeat.
                own = segment._replace(key=f"{repeat}/{segment.key}")
                results[which] = _translate(own, translators[which], masks, go_on, scorer)
            yield SegmentTrial(repeat, number, tuple(results))


def warm_up(corpus: Corpus, translators: Sequence[SegmentTranslator]) -> None:
    """Run the first update with each method, unmeasured: the first passes read the weights from disk."""
    segment = corpus.segments[0]
    for translator in translators:
        first = segment._replace(key=f"warm-up/{segment.key}", updates=segment.updates[:1])
        _translate(first, translator, ())


def _translate(
    segment: BenchSegment,
    translator: SegmentTranslator,
    masks: Sequence[Mask],
    go_on: Callable[[], None] = lambda: None,
    likelihood: Likelihood | None = None,
) -> tuple[MethodUpdate, ...]:
    state, updates, outputs = SegmentState(), [], []
    shown = ("",) * len(masks)
    for number, text in enumerate(segment.updates):
        go_on()
        is_final = number == len(segment.updates) - 1
        began = perf_counter()
        state, output = translator.update(segment.key, state, text, is_final=is_final)
        total_s = perf_counter() - began
        if output.trouble is not None and output.trouble.is_failure:
            raise InputError(f"the model failed at {text[:40]!r}, {output.why}: use another model")
        full = "".join(output.pieces)
        shown = tuple(
            full if is_final else mask(output.pieces, before)
            for mask, before in zip(masks, shown, strict=True)
        )
        effort = output.effort.with_total(total_s)
        updates.append(MethodUpdate(len(output.tokens), full, shown, effort, trouble=output.trouble))
        outputs.append(output.tokens)
    translator.release(segment.key, state)
    return tuple(updates if likelihood is None else likelihood.judged(segment, updates, outputs))
