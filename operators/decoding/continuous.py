"""Continuous decoding (CD): append only, never revise; the other end of the scale from re-translation.

The last output is kept as it is and decoding goes on after it. No draft token asks for logits.
"""

from operators.decoding.acceptance import EXACT
from operators.decoding.forward import Method, Task
from operators.decoding.ssbd import ssbd


def continuous(task: Task) -> Method:
    """Keep all of ``task.draft`` and decode on after it."""
    return ssbd(task._replace(committed=len(task.draft)), EXACT)
