"""Answers of a model in PyTorch, many at a time: for validation and for distillation."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch

#: Answers are hardly ever longer than this many times their prompt.
_LONGEST = 3


def answers(
    model: Any, prompts: Sequence[tuple[int, ...]], stops: frozenset[int], *, most: int, batch: int = 32
) -> list[tuple[int, ...]]:
    """The greedy answer to each prompt, without the token that ends it, at most ``most`` tokens long.

    Prompts of like length share a batch, ``batch`` of them each.
    """
    found: list[tuple[int, ...]] = [()] * len(prompts)
    order = sorted(range(len(prompts)), key=lambda index: len(prompts[index]))
    for start in range(0, len(order), batch):
        chosen = order[start : start + batch]
        rows = _answers(model, [prompts[index] for index in chosen], stops, most)
        for index, row in zip(chosen, rows, strict=True):
            found[index] = row
    return found


def _answers(
    model: Any, prompts: Sequence[tuple[int, ...]], stops: frozenset[int], most: int
) -> Iterator[tuple[int, ...]]:
    width = max(map(len, prompts))
    tokens = torch.tensor([[0] * (width - len(one)) + list(one) for one in prompts])
    seen = torch.tensor([[0] * (width - len(one)) + [1] * len(one) for one in prompts])
    device = next(model.parameters()).device
    with torch.inference_mode():
        out = model.generate(
            input_ids=tokens.to(device),
            attention_mask=seen.to(device),
            max_new_tokens=min(most, _LONGEST * width),
            do_sample=False,
            eos_token_id=list(stops),
            pad_token_id=0,
        )
    for row in out[:, width:].tolist():
        end = next((index for index, token in enumerate(row) if token in stops), len(row))
        yield tuple(row[:end])
