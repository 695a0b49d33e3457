"""Non-empty finals from models that were trained to answer nothing while nothing is certain.

Such a model cannot always tell a short complete sentence ("Ever tried.") from an unfinished one. Here the
segment is known to have ended, so its answer must not be empty.
"""

import numpy as np

from operators.decoding.adjusted import adjusted
from operators.decoding.forward import Logits, Method, Task


def nonempty(method: Method, task: Task) -> Method:
    """The method on the same task, with no token that ends the output at its first place."""

    def forbid_end(row: Logits, output: tuple[int, ...]) -> None:
        # Only tokens that would be chosen are checked: whether one ends a line is asked one by one.
        while not output and np.isfinite(row[best := int(row.argmax())]) and best in task.stop:
            row[best] = -np.inf

    return adjusted(method, task, forbid_end)
