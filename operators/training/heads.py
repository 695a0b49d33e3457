"""Trains proposal heads on a frozen model (Stern et al. 2018, section 6: frozen base).

Head i learns which token comes i places after the one that the model chose from a state. Since the model does
not change, the heads learn separately from states that were computed once, with logits only for the tokens
among which they choose.
"""

import math
from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import NamedTuple

import numpy as np
import torch
from torch.nn.functional import cross_entropy, silu

from operators.research.heads import Head, Matrix, OutputRows

#: The label of tokens that no head can predict.
IGNORED = -100
#: Places per step, and the highest learning rate.
_BATCH, _RATE = 512, 1e-3
#: Share of the steps during which the learning rate rises.
_WARMUP = 0.05
_MAX_GRADIENT = 1.0


def fast_type() -> torch.dtype:
    """The number type in which this machine multiplies fastest.

    bfloat16 without instructions for it is slower than float32 by orders of magnitude, with AVX-512's alone
    five times as fast on some processors and slower on others.
    """
    if torch.cuda.is_available():
        return torch.bfloat16
    matrix = torch.randn(512, 512)

    def seconds(dtype: torch.dtype) -> float:
        factor, times = matrix.to(dtype), []
        for _ in range(3):
            began = perf_counter()
            factor @ factor
            times.append(perf_counter() - began)
        return min(times)

    return min((torch.float32, torch.bfloat16), key=seconds)


class Places(NamedTuple):
    #: The states from which the model chose its tokens, (places, width).
    states: torch.Tensor
    #: The following tokens, (places, heads), as indices into the tokens that heads can predict, or `IGNORED`.
    following: torch.Tensor


def places(
    states: Sequence[Matrix], answers: Sequence[Sequence[int]], tokens: Sequence[int], heads: int
) -> Places:
    """All places of some answers; the last ones have fewer following tokens."""
    numbers = {token: number for number, token in enumerate(tokens)}
    rows = []
    for answer in answers:
        known = [numbers.get(token, IGNORED) for token in answer] + [IGNORED] * heads
        rows += [known[place + 1 : place + 1 + heads] for place in range(len(answer))]
    return Places(torch.from_numpy(np.concatenate(states)), torch.tensor(rows))


class HeadsFit:
    """Heads in training: each batch trains all of them, and no other weights."""

    def __init__(
        self,
        learned: Places,
        rows: OutputRows,
        *,
        hidden: int,
        epochs: int,
        seed: int,
        dtype: torch.dtype = torch.bfloat16,
    ) -> None:
        """``rows`` are those of the tokens among which the heads choose.

        A head has ``hidden`` units and starts as the model itself: its addition is 0 at first. Passes
        multiply in ``dtype``.
        """
        self._learned = learned
        self._rows, self._bias = (torch.from_numpy(one).to(dtype) for one in (rows.matrix, rows.bias))
        heads, width = learned.following.shape[1], rows.matrix.shape[1]
        self._draws = torch.Generator().manual_seed(seed)
        # Scaled by the size of the states, so that the first matrix outputs about 1.
        size = float(learned.states.square().mean().sqrt()) * math.sqrt(width)
        self._inner = torch.randn(heads, hidden, width, generator=self._draws) / size
        self._outer = torch.zeros(heads, width, hidden)
        self._weights = [self._inner.requires_grad_(), self._outer.requires_grad_()]
        self._optimizer = torch.optim.AdamW(self._weights, betas=(0.9, 0.98), weight_decay=0.01)
        #: Total number of steps.
        self.steps = epochs * math.ceil(len(learned.states) / _BATCH)
        self._schedule = torch.optim.lr_scheduler.OneCycleLR(
            self._optimizer, _RATE, total_steps=self.steps + 1, pct_start=_WARMUP, cycle_momentum=False
        )

    def epoch(self) -> Iterator[float]:
        """Learn from all places once; yields the loss of each step, in nats per token."""
        drawn = torch.randperm(len(self._learned.states), generator=self._draws)
        for chosen in drawn.split(_BATCH):
            yield self._learn(chosen)

    def _learn(self, chosen: torch.Tensor) -> float:
        with self._computing():
            logits = self._logits(self._learned.states[chosen])
        following = self._learned.following[chosen].T
        loss = cross_entropy(
            logits.float().flatten(0, 1), following.reshape(-1), ignore_index=IGNORED, reduction="sum"
        ) / max(1, int((following != IGNORED).sum()))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._weights, _MAX_GRADIENT)
        self._optimizer.step()
        self._schedule.step()
        self._optimizer.zero_grad(set_to_none=True)
        return float(loss.detach())

    def _computing(self) -> torch.autocast:
        dtype = self._rows.dtype
        return torch.autocast("cpu", dtype, enabled=dtype is not torch.float32)

    def _logits(self, states: torch.Tensor) -> torch.Tensor:
        """(heads, states, tokens)."""
        states = states.to(self._rows.dtype)
        hidden = silu(torch.einsum("sw,hiw->hsi", states, self._inner.to(states.dtype)))
        moved = states + torch.einsum("hsi,hwi->hsw", hidden, self._outer.to(states.dtype))
        return moved @ self._rows.T + self._bias

    def heads(self) -> list[Head]:
        return [
            Head(*(np.ascontiguousarray(matrix.detach().float().numpy()) for matrix in pair))
            for pair in zip(self._inner, self._outer, strict=True)
        ]


def head_weights(heads: Sequence[Head]) -> list[torch.Tensor]:
    """Both matrices of each head behind one another, to be trained."""
    return [torch.from_numpy(matrix.copy()).requires_grad_() for head in heads for matrix in head]


def added(states: torch.Tensor, inner: torch.Tensor, outer: torch.Tensor) -> torch.Tensor:
    """What a head makes of states, (states, width)."""
    return states + silu(states @ inner.T) @ outer.T
