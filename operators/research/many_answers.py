"""Answers to many prompts with their hidden states: decoded greedily in batches, or given.

A batch with tokens of different sequences reads the weights once for all of them. When an answer has ended,
the next prompt takes over its sequence.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from operators.decoding.forward import Logits, Task, best_tokens
from operators.models.kv import Part, SequenceStore
from operators.research.heads import Matrix, StateSolver

#: The sequence that holds the common start of all prompts.
_HEAD = 0


class Answer(NamedTuple):
    #: The last token ends the answer, unless it was cut at its limit.
    tokens: list[int]
    #: The hidden state from which each token was chosen, (tokens, width).
    states: Matrix


class _PartialAnswer:
    def __init__(self, number: int, sequence: int, task: Task) -> None:
        self.number, self.sequence, self.task = number, sequence, task
        self.tokens: list[int] = []
        self.states: list[Matrix] = []

    def add(self, token: int, state: Matrix) -> bool:
        """Append a token; returns whether the answer continues."""
        self.tokens.append(token)
        self.states.append(state)
        return token not in self.task.stop and len(self.tokens) < self.task.limit

    @property
    def part(self) -> Part:
        position = len(self.task.prompt) + len(self.tokens) - 1
        return Part((self.sequence,), self.tokens[-1:], position, 1)


def many_answers(
    store: SequenceStore, head: Sequence[int], tasks: Sequence[Task], solver: StateSolver, sequences: int
) -> Iterator[tuple[int, Answer]]:
    """Yield the answers to ``tasks`` as they end, each with its number; drafts are not used.

    Args:
        store: has ``sequences`` + 1 sequences, all empty.
        head: the common start of all prompts; each prompt is longer.
        sequences: maximum number of concurrent answers.
    """
    if head:
        store.evaluate(_HEAD, head, 0, 1)
    free, growing = list(range(sequences, 0, -1)), list[_PartialAnswer]()
    waiting = iter(enumerate(tasks))

    def said(rows: Logits, ones: Sequence[_PartialAnswer]) -> Iterator[tuple[int, Answer]]:
        states = solver.states(solver.seen(rows))
        for one, token, state in zip(ones, best_tokens(rows), states, strict=True):
            if one.add(token, state):
                continue
            growing.remove(one)
            store.cut_sequence(one.sequence, 0)
            free.append(one.sequence)
            yield one.number, Answer(one.tokens, np.stack(one.states))

    while True:
        while free and (following := next(waiting, None)) is not None:
            one = _PartialAnswer(following[0], free.pop(), following[1])
            growing.append(one)
            if head:
                store.copy_sequence(_HEAD, one.sequence)
            yield from said(store.evaluate(one.sequence, one.task.prompt[len(head) :], len(head), 1), [one])
        if not growing:
            return
        rows = np.concatenate(store.evaluate_parts([one.part for one in growing]))
        yield from said(rows, list(growing))


def given_answer(
    store: SequenceStore, head: Sequence[int], task: Task, tokens: Sequence[int], solver: StateSolver
) -> Answer:
    """A known answer, such as a human translation, with the states from which its tokens would be chosen.

    ``tokens`` include the stop token; ``store`` and ``head`` are those of `many_answers`, which may have been
    used before.
    """
    said = [*task.prompt[len(head) :], *tokens[:-1]]
    if head:
        store.copy_sequence(_HEAD, 1)
    rows = store.evaluate(1, said, len(head), len(tokens))
    states = solver.states(solver.seen(rows))
    store.cut_sequence(1, 0)
    return Answer(list(tokens), states)
