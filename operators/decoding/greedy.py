"""Greedy decoding, one token a pass: re-translation (RT), and the end of every other method."""

from collections.abc import Sequence

from operators.decoding.forward import Decoded, Forward, Logits, Method, Task, best_tokens
from operators.decoding.repetition import repetition
from operators.trouble import Trouble


def retranslate(task: Task) -> Method:
    """Translate from scratch (re-translation, Niehues et al. 2018; Arivazhagan et al. 2020).

    The prompt's part of the KV cache is reused all the same, which makes it an honest baseline.
    """
    prompt = list(task.prompt)
    logits = yield Forward(prompt, len(prompt) - 1)
    return (yield from decode_on(task, [], logits[-1]))


def decode_on(task: Task, output: Sequence[int], row: Logits) -> Method:
    """Decode greedily after ``output``, given the logits ``row`` of its last position.

    An output that begins to repeat itself without end is cut where it does, ``output`` included.
    """
    begin = len(task.prompt)
    tokens = [*task.prompt, *output]
    checked, ends = 0, len(tokens)
    while True:
        kept = repetition(tokens[begin:], checked)
        if kept is not None:
            return Decoded(tuple(tokens[begin : begin + kept]), cut=Trouble.REPETITION)
        checked = len(tokens) - begin
        if checked == task.limit:
            return Decoded(tuple(tokens[begin:]), cut=Trouble.LONG_ANSWER)
        if len(tokens) > ends:
            logits = yield Forward(tokens, len(tokens) - 1)
            row, ends = logits[-1], len(tokens)
        (token,) = best_tokens(row[None])
        if token in task.stop:
            return Decoded(tuple(tokens[begin:]))
        tokens.append(token)
