"""A scripted model: a test gives its tokens and their probabilities."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from operators.decoding.forward import Forward, Logits, TreeForward
from operators.decoding.tree import TokenTree

VOCABULARY = 40
END = 0


class Said(NamedTuple):
    """The two most probable tokens after some output."""

    best: int
    p: float = 0.9
    second: int = VOCABULARY - 1


class Says:
    """A session that answers by ``after``, which gets the output so far; records its requests."""

    reused = 0
    kept = 0

    def __init__(self, prompt: Sequence[int], after: Callable[[tuple[int, ...]], Said]) -> None:
        self.prompt = list(prompt)
        self.after = after
        #: The tokens after the prompt of each pass, and its tree.
        self.asked: list[tuple[list[int], TokenTree]] = []
        #: Those that each pass judged.
        self.blocks: list[list[int]] = []

    def forward(self, request: Forward) -> Logits:
        return self._answer(request.tokens, TokenTree(), request.logits_from)

    def forward_tree(self, request: TreeForward) -> Logits:
        return self._answer(request.tokens, request.tree, request.logits_from)

    def _answer(self, tokens: Sequence[int], tree: TokenTree, logits_from: int) -> Logits:
        begin = len(self.prompt)
        assert list(tokens[:begin]) == self.prompt
        self.asked.append((list(tokens[begin:]), tree))
        self.blocks.append(list(tokens[logits_from + 1 :]))
        outputs = [tuple(tokens[begin:end]) for end in range(begin, len(tokens) + 1)]
        known = outputs[-1]
        outputs += [(*known, *(tree.tokens[one] for one in tree.path(node))) for node in range(tree.size)]
        return np.stack([_row(self.after(output)) for output in outputs[logits_from - begin + 1 :]])


def _row(said: Said) -> Logits:
    p_second = min(0.9 * (1.0 - said.p), 0.8 * said.p)
    others = np.log((1.0 - said.p - p_second) / (VOCABULARY - 2))
    row = np.full(VOCABULARY, others, np.float32)
    row[said.best], row[said.second] = np.log(said.p), np.log(p_second)
    return row


def script(
    text: Sequence[int], unsure: dict[int, tuple[float, int]] | None = None
) -> Callable[[tuple[int, ...]], Said]:
    """Give the tokens of ``text`` by the length of the output, whatever the output is.

    ``unsure`` are places, each with the probability of its token and with the second one.
    """

    def after(output: tuple[int, ...]) -> Said:
        place = len(output)
        best = text[place] if place < len(text) else END
        return Said(best, *(unsure or {}).get(place, ()))

    return after
