"""Greedy decoding, one token a pass: re-translation (RT), the baseline of every other method."""

from operators.decoding.blockwise import decode_on
from operators.decoding.forward import Forward, Method, Task, best_tokens


def retranslate(task: Task) -> Method:
    """Translate from scratch (re-translation, Niehues et al. 2018; Arivazhagan et al. 2020).

    The prompt's part of the KV cache is reused all the same, which makes it an honest baseline.
    """
    prompt = list(task.prompt)
    logits = yield Forward(prompt, len(prompt) - 1)
    return (yield from decode_on(task, [], best_tokens(logits[-1:])[0]))
