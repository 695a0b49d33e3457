"""Non-empty finals from models that were trained to answer nothing while nothing is certain.

Such a model cannot always tell a short complete sentence ("Ever tried.") from an unfinished one. Here the
segment is known to have ended, so its answer must not be empty.
"""

import numpy as np

from operators.decoding.adjusted import adjusted
from operators.decoding.forward import Logits, Method, Task


def nonempty(method: Method, task: Task) -> Method:
    """The method on the same task, with no token that ends the output while it is blank.

    In some vocabularies the space before the first word is a token of its own. Where the model would rather
    end the output, or has said a space, it would only put off the end.
    """

    def is_space(token: int) -> bool:
        return task.piece(token).decode("utf-8", "replace").isspace()

    def forbid_nothing(row: Logits, output: tuple[int, ...]) -> None:
        if not all(map(is_space, output)):
            return
        hesitates = bool(output)
        # Only tokens that would be chosen are checked: whether one ends a line is asked one by one.
        while np.isfinite(row[best := int(row.argmax())]):
            if best not in task.stop and not (hesitates and is_space(best)):
                return
            row[best], hesitates = -np.inf, True

    return adjusted(method, task, forbid_nothing)
