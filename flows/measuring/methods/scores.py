"""Trials, and the columns of the papers that are computed from them."""

from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import Any

import msgspec
import numpy as np
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest

from flows.measuring.corpus import BenchSegment
from operators.decoding.conditioning import Conditioning
from operators.events import Effort
from operators.glossary import Occurrence, times_said
from operators.metrics.erasure import erasure
from operators.metrics.lifespans import final_prefix, pooled, support
from operators.metrics.summary import Percentiles
from operators.metrics.tokenizers import Tokenizer, tokenizer
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


class Times(msgspec.Struct, frozen=True):
    """The parts of an update's time in milliseconds: means over the updates of all repeats."""

    #: The pass that evaluates the new part of the prompt and verifies the draft.
    verify: float
    #: The passes that decode.
    decode: float
    #: Everything besides the forward passes.
    beside: float


class MethodRow(msgspec.Struct, frozen=True, kw_only=True):
    """One method with one setting. The first row of a benchmark is its baseline, re-translation."""

    method: str
    bias: float | None
    final_bias: float | None
    rerank: float | None = None
    accept: str | None = None
    beam: int = 1
    min_block: int = 1
    proposal_bias: float | None = None
    block: int | None = None
    sure: float | None = None
    heads: str | None = None
    draft_model: str | None = None
    draft_length: int | None = None
    draft_threshold: float | None = None
    draft_tree: bool = False
    mask_k: int
    draft_mask: int
    commit: int
    commit_gap: float = 0.0
    keep: bool = False
    glossary: str | None = None
    dictionary: str = "auto"
    hold_back: int | None
    strip_punctuation: bool
    drop_revised: bool
    #: Speedup of the whole job over the baseline in paired wall time: median over the repeats, and range.
    speedup: float
    speedup_range: tuple[float, float]
    #: Output tokens per second from the first output token on, relative to the baseline.
    tps_ratio: float
    tokens_per_second: float
    chrf: float | None
    bleu: float | None
    comet: float | None
    #: Probability of a chrF difference this large if both were equally good (paired bootstrap).
    chrf_p: float | None
    #: chrF of the finals against the baseline's own finals.
    chrf_of_baseline: float
    #: The same for all updates before the finals: what a viewer reads while somebody speaks.
    chrf_of_baseline_partials: float | None
    #: chrF of these updates against the same number of words of the segment's own final: how far they are its
    #: beginning.
    chrf_of_final_prefix: float | None
    #: Share of their words that are neither in their own final nor in the baseline's: invented or reworded.
    unsupported: float | None
    #: Share of all updates whose answer was cut because it repeated itself or did not end.
    cut: float
    #: -log P per token of the finals, and of the updates before them, under the model itself.
    nats_of_finals: float | None = None
    nats_of_partials: float | None = None
    ne_raw: float
    ne_shown: float
    ne_raw_mean: float
    ne_shown_mean: float
    accepted_over_drafted: float | None
    accepted_over_output: float | None
    #: Share of the glossary's terms in the sources whose translations are in the finals; a term that is said
    #: twice counts twice.
    terms: float | None = None
    #: Tokens proposed after the divergence per output token, and the accepted ones.
    proposed_over_output: float
    taken_over_output: float
    #: Passes of the draft model per output token, and its share of the models' time.
    draft_passes_per_token: float = 0.0
    draft_time_share: float = 0.0
    #: For drafts of finals only: the accepted share, that is, where in its draft the last update diverges.
    final_accepted_over_drafted: float | None
    ms_per_update: Percentiles
    #: The parts of the time for finals, and for all updates before them.
    ms_of_final: Times
    ms_of_partial: Times
    #: Mean seconds that a word waits before the model gets it; None if updates have no times.
    delay_s: float | None
    passes: int
    passes_per_token: float
    #: Passes of the baseline divided by those of this method: the speedup if every pass costs the same.
    passes_saved: float
    #: The speedup if a pass over a hundred tokens costs twice as much as one over a single token.
    speedup_simulated: float
    updates: int
    #: Mean number of tokens evaluated per update.
    evaluated: float = 0.0


class Scorer:
    """Computes rows from the trials of one corpus."""

    def __init__(
        self,
        trials: Sequence[SegmentTrial],
        references: list[str] | None,
        tokenize: Tokenizer,
        bleu_tokenizer: str,
        bootstrap: int = 1000,
        terms: Sequence[Sequence[Occurrence]] | None = None,
    ) -> None:
        """``trials`` holds all trials of one corpus; ``terms`` those in the last source of each segment."""
        self._trials = sorted(trials, key=lambda trial: (trial.repeat, trial.segment))
        # Texts differ between repeats only by noise.
        self._first = [trial.updates for trial in self._trials if trial.repeat == 0]
        self._references = references
        self._terms = terms
        self._tokenize = tokenize
        # Erasure may be counted in subword units.
        self._words = tokenizer(bleu_tokenizer)
        self._chrf = CHRF()
        self._bleu = BLEU(tokenize=bleu_tokenizer)
        self._bootstrap = bootstrap
        self._baseline = self.finals(0)

    @property
    def signatures(self) -> dict[str, str]:
        """sacrebleu's signatures of the scores computed so far; that of a metric names its references."""
        if self._references is None:
            return {}
        return {"chrf": str(self._chrf.get_signature()), "bleu": str(self._bleu.get_signature())}

    def row(self, which: int, mask: int, settings: dict[str, Any]) -> MethodRow:
        """The figures of translator ``which`` under display mask number ``mask``.

        ``settings`` holds the columns that are not computed from these trials, including COMET and the delay.
        """
        first = [methods[which] for methods in self._first]
        updates = [update for segment in first for update in segment]
        effort = self._effort(which)
        at_finals = sum((segment[-1].effort for segment in first), start=Effort())
        tokens = max(1, sum(update.tokens for update in updates))
        base = self._effort(0)
        speedups = self._per_repeat(which, _wall_s)
        rates = self._per_repeat(which, self._seconds_per_token)
        finals = self.finals(which)
        raw, shown = self._erasure(first, None), self._erasure(first, mask)
        return MethodRow(
            **settings,
            speedup=median(speedups),
            speedup_range=(min(speedups), max(speedups)),
            tps_ratio=median(rates),
            tokens_per_second=1 / max(1e-9, self._seconds_per_token(self._trials, which)),
            chrf=self._score(self._chrf, finals),
            bleu=self._score(self._bleu, finals),
            chrf_p=self._p_value(which, finals),
            chrf_of_baseline=float(CHRF().corpus_score(finals, [self._baseline]).score),
            chrf_of_baseline_partials=self._partials_against_baseline(which),
            chrf_of_final_prefix=self._partials_against_finals(first),
            unsupported=self._unsupported(which),
            cut=sum(one.trouble is not None and one.trouble.is_cut for one in updates) / len(updates),
            nats_of_finals=_nats(segment[-1] for segment in first),
            nats_of_partials=_nats(update for segment in first for update in segment[:-1]),
            ne_raw=raw[0],
            ne_shown=shown[0],
            ne_raw_mean=raw[1],
            ne_shown_mean=shown[1],
            accepted_over_drafted=_ratio(effort.accepted, effort.drafted),
            accepted_over_output=_ratio(effort.accepted, effort.accepted + effort.decoded),
            terms=self._terms_said(finals),
            proposed_over_output=effort.proposed / tokens,
            taken_over_output=effort.taken / tokens,
            draft_passes_per_token=effort.draft_passes / tokens,
            draft_time_share=effort.draft_s / max(1e-9, effort.model_s),
            final_accepted_over_drafted=_ratio(at_finals.accepted, at_finals.drafted),
            ms_per_update=self._milliseconds(which),
            ms_of_final=self._times(which, slice(-1, None)),
            ms_of_partial=self._times(which, slice(None, -1)),
            passes=effort.passes,
            passes_per_token=effort.passes / tokens,
            passes_saved=base.passes / max(1, effort.passes),
            speedup_simulated=gpu_cost(base) / max(1.0, gpu_cost(effort)),
            updates=len(updates),
            evaluated=effort.evaluated / len(updates),
        )

    def _effort(self, which: int) -> Effort:
        """The effort of translator ``which`` for all updates of one repeat."""
        return sum((one.effort for methods in self._first for one in methods[which]), start=Effort())

    def finals(self, which: int) -> list[str]:
        """The last output of translator ``which`` for each segment."""
        return [methods[which][-1].text for methods in self._first]

    def _partials_against_baseline(self, which: int) -> float | None:
        base, own = (
            [one.text for methods in self._first for one in methods[number][:-1]] for number in (0, which)
        )
        return float(CHRF().corpus_score(own, [base]).score) if base else None

    def _partials_against_finals(self, segments: Sequence[Sequence[MethodUpdate]]) -> float | None:
        """Scores of nonempty partials. chrF ignores spaces, so tokens may be joined with them."""
        said, meant = [], []
        for *partials, final in segments:
            whole = self._words(final.text)
            for partial in partials:
                if words := self._words(partial.text):
                    said.append(" ".join(words))
                    meant.append(" ".join(final_prefix(words, whole)))
        return float(CHRF().corpus_score(said, [meant]).score) if said else None

    def _unsupported(self, which: int) -> float | None:
        parts = []
        for methods in self._first:
            finals = [self._words(methods[number][-1].text) for number in (0, which)]
            parts += [support(self._words(one.text), finals) for one in methods[which][:-1]]
        return pooled(parts)

    def _score(self, metric: Any, finals: list[str]) -> float | None:
        if self._references is None:
            return None
        return float(metric.corpus_score(finals, [self._references]).score)

    def _terms_said(self, finals: list[str]) -> float | None:
        if self._terms is None:
            return None
        counts = [
            (min(term.times, times_said(final, term.target)), term.times)
            for final, terms in zip(finals, self._terms, strict=True)
            for term in terms
        ]
        return _ratio(sum(said for said, _ in counts), sum(times for _, times in counts))

    def _p_value(self, which: int, finals: list[str]) -> float | None:
        if self._references is None or which == 0 or finals == self._baseline:
            return None
        test: Any = PairedTest(
            [("baseline", self._baseline), ("system", finals)],
            {"chrF": CHRF(references=[self._references])},
            None,
            "bs",
            self._bootstrap,
        )
        _, columns = test()
        del columns["System"]
        (scores,) = columns.values()  # keyed by a name that sacrebleu derives from the metric's settings
        return float(scores[1].p_value)

    def _erasure(self, segments: list[tuple[MethodUpdate, ...]], mask: int | None) -> tuple[float, float]:
        """NE pooled over the segments, and as the mean over the segments."""
        erased, lengths = [], []
        for updates in segments:
            texts = [self._tokenize(one.text if mask is None else one.shown[mask]) for one in updates]
            erased.append(sum(map(erasure, texts, texts[1:])))
            lengths.append(len(texts[-1]))
        each = [count / length for count, length in zip(erased, lengths, strict=True) if length]
        return sum(erased) / max(1, sum(lengths)), sum(each) / max(1, len(each))

    def _per_repeat(self, which: int, cost: Callable[[Sequence[SegmentTrial], int], float]) -> list[float]:
        """The baseline's cost divided by the method's, for each repeat."""
        ratios = []
        for repeat in sorted({trial.repeat for trial in self._trials}):
            trials = [trial for trial in self._trials if trial.repeat == repeat]
            ratios.append(cost(trials, 0) / max(1e-9, cost(trials, which)))
        return ratios

    def _seconds_per_token(self, trials: Sequence[SegmentTrial], which: int) -> float:
        """Seconds per output token, without the evaluation of the prompt.

        A method that verifies evaluates prompt and draft in one pass. The prompt's share of it is taken to be
        the time of the baseline's pass for the same update, which evaluates nothing else.
        """
        tokens, seconds = 0, 0.0
        for trial in trials:
            for base, update in zip(trial.updates[0], trial.updates[which], strict=True):
                if update.effort.passes:  # otherwise the source was unchanged, without new output
                    tokens += update.tokens
                    seconds += max(0.0, update.effort.model_s - base.effort.first_s)
        return seconds / max(1, tokens)

    def _milliseconds(self, which: int) -> Percentiles:
        times = [1000 * one.effort.total_s for trial in self._trials for one in trial.updates[which]]
        p50, p95 = np.percentile(times, [50, 95])
        return Percentiles(float(p50), float(p95))

    def _times(self, which: int, part: slice) -> Times:
        """The means over the updates in ``part`` of each segment."""
        efforts = [one.effort for trial in self._trials for one in trial.updates[which][part]]
        total, count = sum(efforts, start=Effort()), max(1, len(efforts))
        parts_s = (total.first_s, total.model_s - total.first_s, total.total_s - total.model_s)
        return Times(*(1000 * part_s / count for part_s in parts_s))


def gpu_cost(effort: Effort) -> float:
    """The cost of the passes on a GPU, where tokens cost little compared to reading the weights.

    The estimate is for a model with some billion weights: a pass over n tokens costs 1 + n / 100.
    """
    return effort.passes + effort.evaluated / 100


def _wall_s(trials: Sequence[SegmentTrial], which: int) -> float:
    return sum(update.effort.total_s for trial in trials for update in trial.updates[which])


def _nats(updates: Iterable[MethodUpdate]) -> float | None:
    """Nats per token of the judged updates."""
    judged = [(update.nats, update.tokens) for update in updates if update.nats is not None]
    return sum(nats for nats, _ in judged) / sum(tokens for _, tokens in judged) if judged else None


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def mean_delay_s(segments: Sequence[BenchSegment], conditioning: Conditioning) -> float | None:
    """The cost of source conditioning for a viewer: how much later a word reaches the model.

    Seconds from the first update that has a word at a position to the one that gives it to the model.

    The mean over all positions of the finals' words; None if the updates have no times.
    """
    waits: list[float] = []
    for segment in segments:
        if segment.arrivals_s is None:
            return None
        last = len(segment.updates) - 1
        given = [
            conditioning.prepare(text, is_final=number == last) for number, text in enumerate(segment.updates)
        ]
        heard_s, given_s = (_first_s(texts, segment.arrivals_s) for texts in (segment.updates, given))
        waits += [late - soon for late, soon in zip(given_s, heard_s, strict=True)]
    return sum(waits) / len(waits) if waits else None


def _first_s(texts: Sequence[str], arrivals_s: Sequence[float]) -> list[float]:
    """The time when each position of the last text first had a word."""
    reached: list[float] = []
    counts = [len(text.split()) for text in texts]
    for count, arrival_s in zip(counts, arrivals_s, strict=True):
        reached += [arrival_s] * (count - len(reached))
    return reached[: counts[-1]]
