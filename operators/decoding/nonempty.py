"""Non-empty finals from models that were trained to answer nothing while nothing is certain.

Such a model cannot always tell a short complete sentence ("Ever tried.") from an unfinished one. Here the
segment is known to have ended, so its answer must not be empty.
"""

import numpy as np

from operators.decoding.forward import AskDraftModel, Method, Task


def nonempty(method: Method, task: Task) -> Method:
    """The method on the same task, with no token that ends the output at its first place."""
    first = len(task.prompt) - 1
    try:
        request = next(method)
        while True:
            logits = yield request
            if not isinstance(request, AskDraftModel):
                row = first - request.logits_from
                if 0 <= row < len(logits):
                    _forbid_end(logits[row], task)
            request = method.send(logits)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


def _forbid_end(row: np.ndarray, task: Task) -> None:
    # Only tokens that would be chosen are checked, because whether a token ends a line is asked one by one.
    while np.isfinite(row[best := int(row.argmax())]) and best in task.stop:
        row[best] = -np.inf
