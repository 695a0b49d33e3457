"""Batched answers of a model in PyTorch, for validation and distillation.

A model in training is validated by the benchmark's figures: every source is translated from scratch as it
grows, many prompts at a time. `surtitle bench` measures the finished file, with all decoding methods.

The model may learn from its own translations (self-distillation): its targets are then texts that it produces
itself, and a prefix of one leads to its own final.
"""

from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

import msgspec
import torch
from sacrebleu.metrics.chrf import CHRF

from operators.decoding.repetition import repetition
from operators.prompts.prompt import Prompt
from operators.text import common_prefix

#: Answers are hardly ever longer than this many times their prompt.
_MAX_LENGTH_RATIO = 3


class Answer(NamedTuple):
    """A model's answer."""

    #: Without the token that ends it.
    tokens: tuple[int, ...]
    #: Whether it ended by itself.
    ended: bool


def answers(
    model: Any, prompts: Sequence[tuple[int, ...]], stops: frozenset[int], *, most: int, batch: int = 32
) -> list[Answer]:
    """The greedy answer to each prompt, at most ``most`` tokens long, computed in batches of ``batch``."""
    found = [Answer((), ended=False)] * len(prompts)
    for chosen in batches(prompts, batch):
        rows = together(model, [prompts[index] for index in chosen], stops, most=most)
        for index, row in zip(chosen, rows, strict=True):
            found[index] = row
    return found


def batches(prompts: Sequence[tuple[int, ...]], batch: int) -> Iterator[list[int]]:
    """The indices of all prompts in batches of ``batch``, grouped by similar length."""
    order = sorted(range(len(prompts)), key=lambda index: len(prompts[index]))
    for start in range(0, len(order), batch):
        yield order[start : start + batch]


def together(
    model: Any, prompts: Sequence[tuple[int, ...]], stops: frozenset[int], *, most: int
) -> Iterator[Answer]:
    """The greedy answer to each prompt of one batch, at most ``most`` tokens long."""
    width = max(map(len, prompts))
    tokens = torch.tensor([[0] * (width - len(one)) + list(one) for one in prompts])
    seen = torch.tensor([[0] * (width - len(one)) + [1] * len(one) for one in prompts])
    device = next(model.parameters()).device
    with torch.inference_mode():
        out = model.generate(
            input_ids=tokens.to(device),
            attention_mask=seen.to(device),
            max_new_tokens=min(most, _MAX_LENGTH_RATIO * width),
            do_sample=False,
            eos_token_id=list(stops),
            pad_token_id=0,
        )
    for row in out[:, width:].tolist():
        end = next((index for index, token in enumerate(row) if token in stops), None)
        yield Answer(tuple(row[:end]), ended=end is not None)


#: Maximum tokens of a source, and of an answer. Training rows hold 256 of both.
_MAX_SOURCE_TOKENS, _MAX_TOKENS = 200, 200


class Fate(Enum):
    """What became of a source."""

    USED = "were used"
    LONG = "are too long"
    ENDLESS = "did not end"
    REPEATED = "repeat themselves"
    EMPTY = "say nothing"


class Translated(msgspec.Struct, frozen=True):
    """What the model made of a source."""

    fate: Fate
    #: Empty unless it is used.
    text: str = ""


class Translator:
    """Translates whole texts greedily with a model in PyTorch."""

    def __init__(self, model: Any, prompt: Prompt, stops: frozenset[int]) -> None:
        self._model, self._prompt, self._stops = model, prompt, stops

    def translate(
        self, sources: Sequence[str], batch: int, seed: int
    ) -> Iterator[tuple[list[int], list[Translated]]]:
        """Yield indices of ``sources`` and their results, ``batch`` at a time, in no particular order."""
        tokens = [self._prompt.source(source) for source in sources]
        long = [place for place, source in enumerate(tokens) if len(source) > _MAX_SOURCE_TOKENS]
        if long:
            yield long, [Translated(Fate.LONG)] * len(long)
        fitting = [place for place, source in enumerate(tokens) if len(source) <= _MAX_SOURCE_TOKENS]
        prompts = [self._prompt.build(source, is_final=True) for source in tokens]
        groups = list(batches([prompts[place] for place in fitting], batch))
        # Short and long ones in turn, so that the total time can be estimated early.
        Random(seed).shuffle(groups)
        for group in groups:
            places = [fitting[number] for number in group]
            given = together(self._model, [prompts[place] for place in places], self._stops, most=_MAX_TOKENS)
            yield places, [self._judged(answer) for answer in given]

    def _judged(self, answer: Answer) -> Translated:
        if not answer.ended:
            return Translated(Fate.ENDLESS)
        if repetition(answer.tokens, piece=self._prompt.vocabulary.piece) is not None:
            return Translated(Fate.REPEATED)
        said = b"".join(map(self._prompt.vocabulary.piece, answer.tokens)).decode(errors="replace")
        text = " ".join(said.split())
        return Translated(Fate.USED, text) if text else Translated(Fate.EMPTY)


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
