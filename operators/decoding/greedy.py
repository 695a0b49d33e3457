"""The two extremes: re-translation (RT), the baseline of every other method, and continuous decoding (CD)."""

from operators.decoding.acceptance import EXACT
from operators.decoding.blockwise import decode
from operators.decoding.drafts import FirstOf
from operators.decoding.forward import Method, Task
from operators.decoding.ssbd import ssbd


def retranslate(task: Task) -> Method:
    """Translate from scratch (re-translation, Niehues et al. 2018; Arivazhagan et al. 2020).

    The prompt's part of the KV cache is still reused, which makes it a fair baseline.
    """
    return decode(task, FirstOf())


def continuous(task: Task) -> Method:
    """Keep all of ``task.draft`` and continue decoding after it."""
    return ssbd(task._replace(committed=len(task.draft)), EXACT)
