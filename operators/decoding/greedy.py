"""Greedy decoding, one token per pass: re-translation (RT), the baseline of every other method."""

from operators.decoding.blockwise import decode
from operators.decoding.drafts import FirstOf
from operators.decoding.forward import Method, Task


def retranslate(task: Task) -> Method:
    """Translate from scratch (re-translation, Niehues et al. 2018; Arivazhagan et al. 2020).

    The prompt's part of the KV cache is still reused, which makes it a fair baseline.
    """
    return decode(task, FirstOf())
