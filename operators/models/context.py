"""Settings of a model's memory for sequences."""

import msgspec

#: Default number of tokens per call.
BATCH = 512


class ContextSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    #: Tokens in the KV cache, for all sequences together.
    cells: int
    #: Number of sequences.
    sequences: int
    #: Tokens per call; a longer request is split.
    batch: int = BATCH
    threads: int
    #: Logits are computed for this many tokens of the vocabulary, from the first; absent for all.
    tokens: int | None = None
