"""Continuous decoding (CD): append only, never revise; the opposite extreme to re-translation.

The last output is kept and decoding continues after it. No draft token requests logits.
"""

from operators.decoding.acceptance import EXACT
from operators.decoding.forward import Method, Task
from operators.decoding.ssbd import ssbd


def continuous(task: Task) -> Method:
    """Keep all of ``task.draft`` and continue decoding after it."""
    return ssbd(task._replace(committed=len(task.draft)), EXACT)
