"""Batched answers of a model in PyTorch, for validation and distillation."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch

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
