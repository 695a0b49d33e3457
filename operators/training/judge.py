"""Validates a model in training by the benchmark's figures: chrF of finals, erasure of re-translation.

Every source is translated from scratch as it grows, in PyTorch, many prompts at a time. `surtitle bench`
measures the finished file, with all decoding methods.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from sacrebleu.metrics.chrf import CHRF

from operators.prompts.prompt import Prompt
from operators.text import common_prefix
from operators.training.generate import answers

_MAX_TOKENS = 200


class Judgement(NamedTuple):
    """A model's quality for captions."""

    #: chrF of the finals, 0 to 100.
    chrf: float
    #: Normalised erasure of re-translation over the model's tokens, pooled.
    erasure: float
    #: Share of all outputs that were cut because they did not end.
    endless: float
    #: The texts of each source's updates, the last one its final.
    outputs: list[list[str]]


def judge(
    model: Any, prompt: Prompt, stops: frozenset[int], sources: Sequence[str], references: Sequence[str],
    *, words: int = 3,
) -> Judgement:  # fmt: skip
    """Translate ``sources``, each as it grows by ``words`` words."""
    updates = [growing(source, words) for source in sources]
    prompts = [
        prompt.build(prompt.source(text), is_final=text is texts[-1]) for texts in updates for text in texts
    ]
    given = iter(answers(model, prompts, stops, most=_MAX_TOKENS))
    said = [[next(given) for _ in texts] for texts in updates]
    tokens = [[one.tokens for one in row] for row in said]
    outputs = [[_text(prompt, one) for one in row] for row in tokens]
    erased = sum(len(left) - common_prefix(left, right) for row in tokens for left, right in pairwise(row))
    return Judgement(
        CHRF().corpus_score([row[-1] for row in outputs], [list(references)]).score,
        erased / max(1, sum(len(row[-1]) for row in tokens)),
        sum(not one.ended for row in said for one in row) / len(prompts),
        outputs,
    )


def growing(source: str, words: int) -> list[str]:
    """The source as it is revealed, ``words`` words at a time; the last text is all of it."""
    whole = source.split()
    return [" ".join(whole[:end]) for end in range(words, len(whole), words)] + [" ".join(whole)]


def _text(prompt: Prompt, tokens: Sequence[int]) -> str:
    return b"".join(map(prompt.vocabulary.piece, tokens)).decode(errors="replace").strip()
