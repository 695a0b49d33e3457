"""The fastest number of threads and micro-batch size here, measured because no rule predicts them.

Timed are the parts of an update: a pass that verifies a draft, with the logits of all its tokens, and passes
of one token. Times are minima of several turns, because other work can only add to them. Candidates take
turns, so that all of them see the same machine.
"""

from collections.abc import Callable, Sequence
from statistics import median
from time import perf_counter
from typing import Annotated, NamedTuple

import msgspec

from operators.models.llama import ContextSettings, LlamaContext
from operators.models.llama_model import LlamaModel

#: Micro-batches to try; the first one is the fallback.
UBATCHES = (512, 128, 64)
#: A candidate with more threads, or a less usual micro-batch, must be better by this share.
MIN_GAIN = 0.05
#: Candidates slower than the best by this factor in their first turn get no second one.
_MAX_RATIO = 1.6
#: If half of the turns take longer than the best turn by this factor, the times are unusable.
MAX_SPREAD = 1.35
#: They also are if other programs take more than this share of the cores, however evenly: while both of two
#: cores are needed elsewhere, one thread is faster than two.
MAX_OTHERS = 0.1
TURNS = 5
_BUDGET_S = 2.2

_PROMPT, _DRAFT, _SINGLE = 48, 24, 4
# The sequence that holds only the prompt.
_PROMPT_SEQUENCE = 1


class Tuning(msgspec.Struct, frozen=True):
    """What suits one model on one machine."""

    threads: Annotated[int, msgspec.Meta(ge=1, le=1024)]
    #: Tokens that llama.cpp computes at a time.
    ubatch: Annotated[int, msgspec.Meta(ge=1, le=4096)] = UBATCHES[0]
    #: Whether the machine was quiet enough to measure; if not, these are safe defaults.
    is_steady: bool = True


class TuningVerdict(NamedTuple):
    """Which candidate was chosen, and whether the times were steady enough to choose."""

    choice: int
    is_steady: bool


def tune(
    seconds: Callable[[int, int], float],
    cores: int,
    others_s: Callable[[], float] = lambda: 0.0,
    clock: Callable[[], float] = perf_counter,
) -> Tuning:
    """Choose threads, then the micro-batch with them; all cores if the times are unusable.

    ``seconds`` times a turn with threads and a micro-batch; ``others_s`` returns the CPU seconds that other
    programs have used so far.
    """
    began, others_began = clock(), others_s()
    threads = choose(thread_counts(cores), lambda count: seconds(count, UBATCHES[0]), clock=clock)
    others = (others_s() - others_began) / max(1e-9, (clock() - began) * cores)
    if not threads.is_steady or others > MAX_OTHERS:
        return Tuning(cores, is_steady=False)
    ubatch = choose(UBATCHES, lambda size: seconds(threads.choice, size), budget_s=_BUDGET_S / 3)
    return Tuning(threads.choice, ubatch.choice if ubatch.is_steady else UBATCHES[0])


def thread_counts(cores: int) -> list[int]:
    """Powers of two below ``cores``, and ``cores``."""
    return [*(2**n for n in range(cores.bit_length()) if 2**n < cores), cores]


def choose(
    candidates: Sequence[int],
    seconds: Callable[[int], float],
    *,
    budget_s: float = _BUDGET_S,
    clock: Callable[[], float] = perf_counter,
) -> TuningVerdict:
    """Time all candidates in turns; take the first one that no later one clearly beats.

    Takes little longer than ``budget_s``, except for two turns of the good ones, which always run.
    """
    if len(candidates) == 1:
        return TuningVerdict(candidates[0], is_steady=True)
    began = clock()
    times: dict[int, list[float]] = {}
    for candidate in reversed(candidates):
        seconds(candidate)  # the first turn reads weights and sets up threads
        times[candidate] = [seconds(candidate)]
        if times[candidate][0] > _MAX_RATIO * min(own[0] for own in times.values()):
            del times[candidate]
    for turn in range(1, TURNS):
        if turn > 1 and clock() - began > budget_s:
            break
        for candidate, own in times.items():
            own.append(seconds(candidate))
    best, *others = (candidate for candidate in candidates if candidate in times)
    for other in others:
        if min(times[other]) < (1 - MIN_GAIN) * min(times[best]):
            best = other
    return TuningVerdict(best, is_steady=all(median(own) < MAX_SPREAD * min(own) for own in times.values()))


class LlamaProbe:
    """Times passes of a loaded model in contexts of its own."""

    def __init__(self, model: LlamaModel, cells: int = 256) -> None:
        """Time passes of fewer than ``cells`` tokens, some of a prompt before them."""
        self._model = model
        self._cells = cells
        self._contexts: dict[int, LlamaContext] = {}
        # Any tokens will do: what they are changes no time.
        self._tokens = [2 + n % 200 for n in range(cells)]

    def __enter__(self) -> "LlamaProbe":
        return self

    def __exit__(self, *_exception: object) -> None:
        for context in self._contexts.values():
            context.close()

    def seconds(self, threads: int, ubatch: int) -> float:
        """Seconds of a verification and some single tokens after it."""
        context = self._begun(threads, ubatch)
        began = perf_counter()
        context.evaluate(0, self._tokens[_PROMPT : _PROMPT + _DRAFT], _PROMPT, _DRAFT)
        for number in range(_SINGLE):
            context.evaluate(0, self._tokens[:1], _PROMPT + _DRAFT + number, 1)
        return perf_counter() - began

    def pass_s(self, threads: int, ubatch: int, tokens: int, rows: int | None = None) -> float:
        """Seconds of one pass over so many tokens, with the logits of the last ``rows`` or of all."""
        context = self._begun(threads, ubatch)
        began = perf_counter()
        context.evaluate(0, self._tokens[:tokens], _PROMPT, tokens if rows is None else rows)
        return perf_counter() - began

    def turned_s(self, threads: int, ubatch: int) -> float:
        """Seconds of a pass over one token, without logits, that has to turn the keys of all cells first."""
        context = self._begun(threads, ubatch)
        context.evaluate(0, self._tokens[:1], _PROMPT, 0)
        context.shift(0, _PROMPT, _PROMPT + 1, 1)
        began = perf_counter()
        context.evaluate(0, self._tokens[:1], _PROMPT + 2, 0)
        return perf_counter() - began

    def _begun(self, threads: int, ubatch: int) -> LlamaContext:
        """A context that holds the prompt, which is copied, because not every memory can be cut."""
        context = self._contexts.get(ubatch)
        if context is None:
            settings = ContextSettings(cells=self._cells, sequences=2, ubatch=ubatch, threads=threads)
            context = self._contexts[ubatch] = LlamaContext(self._model, settings)
            context.evaluate(_PROMPT_SEQUENCE, self._tokens[:_PROMPT], 0, 1)
        context.use_threads(threads)
        context.cut_sequence(0, 0)
        context.copy_sequence(_PROMPT_SEQUENCE, 0)
        return context
