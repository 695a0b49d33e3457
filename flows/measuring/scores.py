"""Trials, and the metrics of the papers that are computed from them."""

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean, median
from typing import Any

import msgspec
import numpy as np
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest

from operators.events import Effort
from operators.glossary import Occurrence, times_said
from operators.metrics.erasure import erasure
from operators.metrics.lifespans import support
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


class Scorer:
    """Computes the metrics of each translator; docs/measuring.md says what each of them means."""

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

    def finals(self, which: int) -> list[str]:
        """The last output of translator ``which`` for each segment."""
        return [methods[which][-1].text for methods in self._first]

    def shown(self, which: int, mask: int) -> dict[str, float]:
        """The erasure that a viewer of translator ``which`` sees under display mask number ``mask``."""
        return self._erasure("ne_shown", [methods[which] for methods in self._first], mask)

    def metrics(self, which: int) -> dict[str, Any]:
        """All other metrics of translator ``which``."""
        first = [methods[which] for methods in self._first]
        finals = self.finals(which)
        return {
            **self._speed(which),
            **self._passes(which),
            "chrf": self._score(self._chrf, finals),
            # The probability of a difference this large if both were equally good (paired bootstrap).
            "chrf_p": self._p_value(which, finals),
            "bleu": self._score(self._bleu, finals),
            "chrf_of_baseline": float(CHRF().corpus_score(finals, [self._baseline]).score),
            "chrf_of_baseline_partials": self._partials_against_baseline(which),
            "chrf_of_final_prefix": self._partials_against_finals(first),
            "unsupported": self._unsupported(which),
            "cut": fmean(one.trouble is not None and one.trouble.is_cut for each in first for one in each),
            "nats_of_finals": _nats(segment[-1] for segment in first),
            "nats_of_partials": _nats(update for segment in first for update in segment[:-1]),
            "terms": self._terms_said(finals),
            **self._erasure("ne_raw", first, None),
        }

    def _speed(self, which: int) -> dict[str, Any]:
        speedups = self._per_repeat(which, _wall_s)
        times_ms = [1000 * one.effort.total_s for trial in self._trials for one in trial.updates[which]]
        p50, p95 = np.percentile(times_ms, [50, 95])
        return {
            "speedup": median(speedups),
            "speedup_range": (min(speedups), max(speedups)),
            "tps_ratio": median(self._per_repeat(which, self._seconds_per_token)),
            "tokens_per_second": 1 / max(1e-9, self._seconds_per_token(self._trials, which)),
            "ms_per_update": {"p50": float(p50), "p95": float(p95)},
            "ms_of_final": self._times_ms(which, slice(-1, None)),
            "ms_of_partial": self._times_ms(which, slice(None, -1)),
        }

    def _passes(self, which: int) -> dict[str, Any]:
        updates = [update for methods in self._first for update in methods[which]]
        effort, base = self._effort(which), self._effort(0)
        at_finals = sum((methods[which][-1].effort for methods in self._first), start=Effort())
        tokens = max(1, sum(update.tokens for update in updates))
        return {
            "accepted_over_drafted": _ratio(effort.accepted, effort.drafted),
            "accepted_over_output": _ratio(effort.accepted, effort.accepted + effort.decoded),
            "final_accepted_over_drafted": _ratio(at_finals.accepted, at_finals.drafted),
            "proposed_over_output": effort.proposed / tokens,
            "taken_over_output": effort.taken / tokens,
            "draft_passes_per_token": effort.draft_passes / tokens,
            "draft_time_share": effort.draft_s / max(1e-9, effort.model_s),
            "passes": effort.passes,
            "passes_per_token": effort.passes / tokens,
            "passes_saved": base.passes / max(1, effort.passes),
            "speedup_simulated": gpu_cost(base) / max(1.0, gpu_cost(effort)),
            "updates": len(updates),
            "evaluated": effort.evaluated / len(updates),
        }

    def _effort(self, which: int) -> Effort:
        """The effort of translator ``which`` for all updates of one repeat."""
        return sum((one.effort for methods in self._first for one in methods[which]), start=Effort())

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
                    meant.append(" ".join(whole[: len(words)]))
        return float(CHRF().corpus_score(said, [meant]).score) if said else None

    def _unsupported(self, which: int) -> float | None:
        words = unsupported = 0
        for methods in self._first:
            finals = [self._words(methods[number][-1].text) for number in (0, which)]
            for one in methods[which][:-1]:
                found = support(self._words(one.text), finals)
                words, unsupported = words + found.words, unsupported + found.unsupported
        return _ratio(unsupported, words)

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

    def _erasure(
        self, name: str, segments: list[tuple[MethodUpdate, ...]], mask: int | None
    ) -> dict[str, float]:
        """NE pooled over the segments, and as the mean over the segments."""
        erased, lengths = [], []
        for updates in segments:
            texts = [self._tokenize(one.text if mask is None else one.shown[mask]) for one in updates]
            erased.append(sum(map(erasure, texts, texts[1:])))
            lengths.append(len(texts[-1]))
        each = [count / length for count, length in zip(erased, lengths, strict=True) if length]
        return {name: sum(erased) / max(1, sum(lengths)), f"{name}_mean": sum(each) / max(1, len(each))}

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

    def _times_ms(self, which: int, part: slice) -> dict[str, float]:
        """The parts of the time of the updates in ``part`` of each segment: means over all repeats.

        ``verify`` is the pass that evaluates the new part of the prompt and verifies the draft, ``decode``
        are the passes after it, and ``beside`` is all else.
        """
        efforts = [one.effort for trial in self._trials for one in trial.updates[which][part]]
        total, count = sum(efforts, start=Effort()), max(1, len(efforts))
        parts_s = (total.first_s, total.model_s - total.first_s, total.total_s - total.model_s)
        names = ("verify", "decode", "beside")
        return {name: 1000 * part_s / count for name, part_s in zip(names, parts_s, strict=True)}


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
