"""Runs all methods on each segment in turn, so that all see the machine in the same state."""

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter

import msgspec
from msgspec.structs import replace

from flows.bench.corpus import BenchSegment, Corpus
from flows.bench.likelihood import Likelihood
from operators.decoding.translator import SegmentState, Translator
from operators.errors import InputError
from operators.events import Effort
from operators.trouble import Trouble


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
