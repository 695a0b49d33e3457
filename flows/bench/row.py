"""A row of the benchmark: the columns of the papers for one method with one setting."""

import msgspec

from operators.metrics.summary import Percentiles


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
    keep: bool = False
    glossary: str | None = None
    dictionary: str = "auto"
    hold_back: int
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
