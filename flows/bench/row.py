"""A row of the benchmark: the columns of the papers for one method with one setting."""

import msgspec

from operators.metrics.summary import Percentiles


class Times(msgspec.Struct, frozen=True):
    """Where the time of an update goes, in milliseconds: means over the updates of all repeats."""

    #: The pass that evaluates what is new of the prompt and verifies the draft.
    verify: float
    #: The passes that decode.
    decode: float
    #: Everything beside the forward passes.
    beside: float


class MethodRow(msgspec.Struct, frozen=True, kw_only=True):
    """One method with one setting. The first row of a benchmark is its baseline, re-translation."""

    method: str
    bias: float | None
    final_bias: float | None
    accept: str | None = None
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
    hold_back: int
    strip_punctuation: bool
    drop_revised: bool
    #: Paired wall time of the whole job against the baseline's: median over the repeats, and their range.
    speedup: float
    speedup_range: tuple[float, float]
    #: Output tokens per second from the first output token on, against the baseline's.
    tps_ratio: float
    tokens_per_second: float
    chrf: float | None
    bleu: float | None
    comet: float | None
    #: Chance of a chrF this far from the baseline's if both were equally good (paired bootstrap).
    chrf_p: float | None
    #: chrF of the finals against the baseline's own finals.
    chrf_of_baseline: float
    #: The same of all updates before the finals: what a viewer reads while somebody speaks.
    chrf_of_baseline_partials: float | None
    #: chrF of these updates against as many words of the segment's own final: whether they are its begin.
    chrf_of_final_prefix: float | None
    #: Share of their words that neither the own final nor the baseline's has: invented, or said otherwise.
    unsupported: float | None
    #: Share of all updates whose answer was cut, as it repeated itself or did not end.
    cut: float
    #: -log P of a token of the finals, and of the updates before them, by the model itself.
    nats_of_finals: float | None = None
    nats_of_partials: float | None = None
    ne_raw: float
    ne_shown: float
    ne_raw_mean: float
    ne_shown_mean: float
    accepted_over_drafted: float | None
    accepted_over_output: float | None
    #: Tokens that were proposed after the divergence, for each token of the output, and those that stood.
    proposed_over_output: float
    taken_over_output: float
    #: Passes of the second model for each token of the output, and its share of the models' time.
    draft_passes_per_token: float = 0.0
    draft_time_share: float = 0.0
    #: Of the drafts of finals alone: where in its draft the last update comes to disagree.
    final_accepted_over_drafted: float | None
    ms_per_update: Percentiles
    #: Where it goes at a final, and at all updates before it.
    ms_of_final: Times
    ms_of_partial: Times
    #: Seconds that a word waits before the model gets it, at the mean; None without the times of updates.
    delay_s: float | None
    passes: int
    passes_per_token: float
    #: Passes of the baseline over this method's: the speedup where every pass costs the same.
    passes_saved: float
    #: The speedup where a pass over a hundred tokens costs twice as much as one over a single token.
    speedup_simulated: float
    updates: int
