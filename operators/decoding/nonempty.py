"""Finals that say something, of models that were trained to say nothing where nothing is certain yet.

Such a model cannot always tell a short sentence that is complete ("Ever tried.") from one that goes on. That
a segment has ended is known, so its answer may not begin with its end.
"""

import numpy as np

from operators.decoding.forward import AskDraftModel, Method, Task


def nonempty(method: Method, task: Task) -> Method:
    """The method on the same task, with no token that ends the output in its first place."""
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
    # Only those that would be chosen are looked for: which tokens end a line is asked of one at a time.
    while np.isfinite(row[best := int(row.argmax())]) and best in task.stop:
        row[best] = -np.inf
