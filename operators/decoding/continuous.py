"""Continuous decoding (CD): append only, never revise; the other end of the scale from re-translation.

The last output is kept as it is and decoding goes on after it. No draft token asks for logits.
"""

from operators.decoding.blockwise import decode_on
from operators.decoding.forward import Forward, Method, Task, best_tokens


def continuous(task: Task) -> Method:
    """Keep all of ``task.draft`` and decode on after it."""
    prompt, draft = list(task.prompt), list(task.draft[: task.limit])
    logits = yield Forward([*prompt, *draft], len(prompt) + len(draft) - 1)
    decoded = yield from decode_on(task, draft, best_tokens(logits[-1:])[0])
    return decoded._replace(drafted=len(draft), accepted=min(len(draft), len(decoded.tokens)))
