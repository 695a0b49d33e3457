"""Trials, and the metrics of the papers that are computed from them."""

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean, median
from typing import Any, cast

import msgspec
import numpy as np
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest

from operators.events import Effort
from operators.glossary import Occurrence, times_said
from operators.metrics.erasure import erasure, support
from operators.metrics.tokenizers import Tokenizer, tokenizer
from operators.metrics.wer import word_error_rate
from operators.model_errors import ErrorKind


class MethodUpdate(msgspec.Struct, frozen=True, array_like=True):
    tokens: int
    text: str
    #: The text that a display mask of k tokens leaves visible, for each requested k.
    shown: tuple[str, ...]
    effort: Effort
    #: -log P of the tokens, if requested and computable.
    nats: float | None = None
    #: What went wrong with the model.
    trouble: ErrorKind | None = None


class SegmentTrial(msgspec.Struct, frozen=True):
    """One repeat of one segment: the updates of all methods, and the seconds that they took."""

    repeat: int
    segment: int
    updates: tuple[tuple[MethodUpdate, ...], ...]


#: The updates of one translator, by segment.
Updates = Sequence[Sequence[MethodUpdate]]


class Scorer:
    """Computes the metrics of each translator; docs/measuring.md explains them."""

    def __init__(
        self,
        trials: Sequence[SegmentTrial],
        references: list[str] | None,
        tokenize: Tokenizer,
        bleu_tokenizer: str,
        bootstrap: int = 1000,
        terms: Sequence[Sequence[Occurrence]] | None = None,
        transcripts: Sequence[str] | None = None,
    ) -> None:
        """``trials`` holds all trials of one corpus; ``terms`` the terms in the last source of each segment.

        ``transcripts`` are these last sources, if they are in the language of the references.
        """
        self._trials = sorted(trials, key=lambda trial: (trial.repeat, trial.segment))
        self._repeats = sorted({trial.repeat for trial in trials})
        self._references = references
        self._terms = terms
        self._transcripts = transcripts
        self._tokenize = tokenize
        # Erasure may be counted in subword units.
        self._words = tokenizer(bleu_tokenizer)
        self._chrf = CHRF()
        self._bleu = BLEU(tokenize=bleu_tokenizer)
        self._bootstrap = bootstrap

    @property
    def signatures(self) -> dict[str, str]:
        """sacrebleu's signatures of the scores computed so far, by metric."""
        if self._references is None:
            return {}
        return {"chrf": str(self._chrf.get_signature()), "bleu": str(self._bleu.get_signature())}

    def _first(self, which: int) -> Updates:
        """The updates in the first repeat: texts differ between repeats only by noise."""
        return [trial.updates[which] for trial in self._trials if trial.repeat == 0]

    def finals(self, which: int) -> list[str]:
        return [updates[-1].text for updates in self._first(which)]

    def shown(self, which: int, mask: int) -> dict[str, float]:
        """The erasure that a viewer of translator ``which`` sees under display mask number ``mask``."""
        return self._erasure("ne_shown", [[one.shown[mask] for one in each] for each in self._first(which)])

    def metrics(self, which: int) -> dict[str, Any]:
        own, base = self._first(which), self._first(0)
        finals, baseline = self.finals(which), self.finals(0)
        partials, base_partials = ([one.text for each in of for one in each[:-1]] for of in (own, base))
        is_compared = self._references is not None and finals != baseline
        return {
            **self._speed(which),
            **_passes(own, base),
            "chrf": self._score(self._chrf, finals),
            "chrf_p": self._p_value(finals, baseline) if is_compared else None,
            "bleu": self._score(self._bleu, finals),
            "wer": self._word_error_rate(finals),
            "wer_of_source": self._word_error_rate(self._transcripts or ()),
            "chrf_of_baseline": float(CHRF().corpus_score(finals, [baseline]).score),
            "chrf_of_baseline_partials": _chrf(partials, base_partials),
            "chrf_of_final_prefix": self._of_final_prefix(own),
            "unsupported": self._unsupported(own, base),
            "cut": fmean(one.trouble is not None and one.trouble.is_cut for each in own for one in each),
            "nats_of_finals": _nats(each[-1] for each in own),
            "nats_of_partials": _nats(one for each in own for one in each[:-1]),
            "terms": self._terms_said(finals),
            **self._erasure("ne_raw", [[one.text for one in each] for each in own]),
        }

    def _speed(self, which: int) -> dict[str, Any]:
        speedups = self._against_baseline(which, _wall_s)
        ratios = self._against_baseline(which, _seconds_per_token)
        times_ms = [1000 * one.effort.total_s for trial in self._trials for one in trial.updates[which]]
        p50, p95 = np.percentile(times_ms, [50, 95])
        return {
            "speedup": median(speedups),
            "speedup_range": (min(speedups), max(speedups)),
            "tps_ratio": median(ratios),
            "tps_ratio_range": (min(ratios), max(ratios)),
            "tokens_per_second": 1 / max(1e-9, _seconds_per_token(self._trials, which)),
            "ms_per_update": {"p50": float(p50), "p95": float(p95)},
            "ms_of_final": self._times_ms(which, slice(-1, None)),
            "ms_of_partial": self._times_ms(which, slice(None, -1)),
        }

    def _against_baseline(
        self, which: int, cost: Callable[[Sequence[SegmentTrial], int], float]
    ) -> list[float]:
        """The baseline's cost divided by the method's, for each repeat."""
        repeats = [[trial for trial in self._trials if trial.repeat == repeat] for repeat in self._repeats]
        return [cost(trials, 0) / max(1e-9, cost(trials, which)) for trials in repeats]

    def _times_ms(self, which: int, part: slice) -> dict[str, float]:
        """The parts of the time of the updates in ``part`` of each segment: means over all repeats.

        ``verify`` is the pass that evaluates the new part of the prompt and verifies the draft, ``decode``
        are the passes after it, and ``beside`` is all else.
        """
        efforts = [one.effort for trial in self._trials for one in trial.updates[which][part]]
        total, count = sum(efforts, start=Effort()), max(1, len(efforts))
        parts_s = {
            "verify": total.first_s,
            "decode": total.model_s - total.first_s,
            "beside": total.total_s - total.model_s,
        }
        return {name: 1000 * part_s / count for name, part_s in parts_s.items()}

    def _of_final_prefix(self, own: Updates) -> float | None:
        """The score of nonempty partials. chrF ignores spaces, so tokens may be joined with them."""
        partials, prefixes = list[str](), list[str]()
        for *updates, final in own:
            whole = self._words(final.text)
            for one in updates:
                if words := self._words(one.text):
                    partials.append(" ".join(words))
                    prefixes.append(" ".join(whole[: len(words)]))
        return _chrf(partials, prefixes)

    def _unsupported(self, own: Updates, base: Updates) -> float | None:
        words = unsupported = 0
        for updates, others in zip(own, base, strict=True):
            finals = [self._words(each[-1].text) for each in (others, updates)]
            for one in updates[:-1]:
                found = support(self._words(one.text), finals)
                words, unsupported = words + found.words, unsupported + found.unsupported
        return _ratio(unsupported, words)

    def _score(self, metric: Any, finals: list[str]) -> float | None:
        if self._references is None:
            return None
        return float(metric.corpus_score(finals, [self._references]).score)

    def _word_error_rate(self, heard: Sequence[str]) -> float | None:
        if self._references is None or self._transcripts is None:
            return None
        return word_error_rate(zip(self._references, heard, strict=True))

    def _terms_said(self, finals: list[str]) -> float | None:
        if self._terms is None:
            return None
        counts = [
            (min(term.times, times_said(final, term.target)), term.times)
            for final, terms in zip(finals, self._terms, strict=True)
            for term in terms
        ]
        return _ratio(sum(said for said, _ in counts), sum(times for _, times in counts))

    def _p_value(self, finals: list[str], baseline: list[str]) -> float:
        """The probability of a difference this large if both were equally good (paired bootstrap)."""
        systems: Any = [("baseline", baseline), ("system", finals)]
        metrics: Any = {"chrF": CHRF(references=cast("Any", [self._references]))}
        test: Any = PairedTest(systems, metrics, None, "bs", self._bootstrap)
        _, columns = test()
        del columns["System"]
        (scores,) = columns.values()  # keyed by a name that sacrebleu derives from the metric's settings
        return float(scores[1].p_value)

    def _erasure(self, name: str, segments: Sequence[Sequence[str]]) -> dict[str, float]:
        """NE pooled over the segments, and as the mean over the segments."""
        erased, lengths = [], []
        for updates in segments:
            texts = [self._tokenize(text) for text in updates]
            erased.append(sum(map(erasure, texts, texts[1:])))
            lengths.append(len(texts[-1]))
        each = [count / length for count, length in zip(erased, lengths, strict=True) if length]
        return {name: sum(erased) / max(1, sum(lengths)), f"{name}_mean": sum(each) / max(1, len(each))}


def _passes(own: Updates, base: Updates) -> dict[str, Any]:
    updates = [one for each in own for one in each]
    effort = sum((one.effort for one in updates), start=Effort())
    base_effort = sum((one.effort for each in base for one in each), start=Effort())
    at_finals = sum((each[-1].effort for each in own), start=Effort())
    tokens = max(1, sum(one.tokens for one in updates))
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
        "passes_saved": base_effort.passes / max(1, effort.passes),
        "speedup_simulated": gpu_cost(base_effort) / max(1.0, gpu_cost(effort)),
        "updates": len(updates),
        "evaluated": effort.evaluated / len(updates),
    }


def gpu_cost(effort: Effort) -> float:
    """The cost of the passes on a GPU, where tokens cost little compared to reading the weights.

    The estimate is for a model with some billion weights: a pass over n tokens costs 1 + n / 100.
    """
    return effort.passes + effort.evaluated / 100


def _wall_s(trials: Sequence[SegmentTrial], which: int) -> float:
    return sum(update.effort.total_s for trial in trials for update in trial.updates[which])


def _seconds_per_token(trials: Sequence[SegmentTrial], which: int) -> float:
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


def _chrf(texts: list[str], references: list[str]) -> float | None:
    return float(CHRF().corpus_score(texts, [references]).score) if texts else None


def _nats(updates: Iterable[MethodUpdate]) -> float | None:
    """Nats per token of the scored updates."""
    scored = [(update.nats, update.tokens) for update in updates if update.nats is not None]
    return sum(nats for nats, _ in scored) / sum(tokens for _, tokens in scored) if scored else None


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
