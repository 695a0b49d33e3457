"""Trains proposal heads on a frozen model (Stern et al. 2018, section 6: frozen base).

Head i learns which token comes i places after the one that the model chose from a state. The model does not
change, so its states are computed once, before the heads are trained. Logits are computed only for the tokens
among which the heads choose.
"""

import math
from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn.functional import silu

from operators.research.heads import Head, Matrix, OutputRows

#: The label of tokens that no head can predict.
IGNORED = -100
#: Places per step, and the highest learning rate.
_BATCH, _RATE = 512, 1e-3
#: Maximum number of logits computed at a time.
_AT_ONCE = 2**20
#: Share of the steps during which the learning rate rises.
_WARMUP = 0.05
_MAX_GRADIENT = 1.0


def fast_type() -> torch.dtype:
    """The number type in which this machine multiplies fastest.

    Without special instructions bfloat16 is slower than float32 by orders of magnitude. With AVX-512's alone
    it is five times as fast on some processors and slower on others.
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
    #: The following tokens, (places, heads), as indices into the predictable tokens, or `IGNORED`.
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


class _Loss(torch.autograd.Function):  # type: ignore[misc]  # torch is not there where types are checked
    """The mean loss of `loss_of`. Its gradient is computed with the logits, which are not kept."""

    @staticmethod
    def forward(ctx: Any, states: torch.Tensor, layer: "FixedLayer", following: torch.Tensor) -> torch.Tensor:
        total, gradients = torch.zeros(()), []
        # The logits of the places processed at a time fit into the processor's caches.
        for part, labels in zip(
            *(one.split(max(1, _AT_ONCE // len(layer.matrix))) for one in (states, following)), strict=True
        ):
            logits = (part.to(layer.matrix.dtype) @ layer.matrix.T + layer.bias).float()
            shares = torch.log_softmax(logits, dim=1)
            places = torch.arange(len(labels)), labels
            total -= shares[places].sum()
            shares.exp_()
            shares[places] -= 1
            gradients.append((shares.to(layer.matrix.dtype) @ layer.matrix).float())
        ctx.save_for_backward(torch.cat(gradients) / len(states))
        return total / len(states)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        return gradient * ctx.saved_tensors[0], None, None


class FixedLayer(NamedTuple):
    """Rows of an output layer that is not trained, in the number type of the multiplication."""

    #: (tokens, width), and a number for each token.
    matrix: torch.Tensor
    bias: torch.Tensor


def fixed(rows: OutputRows, dtype: torch.dtype) -> FixedLayer:
    return FixedLayer(*(torch.from_numpy(one).to(dtype) for one in (rows.matrix, rows.bias)))


def loss_of(states: torch.Tensor, layer: FixedLayer, following: torch.Tensor) -> torch.Tensor:
    """Cross-entropy in nats per token of ``states``, (places, width), whose tokens are ``following``."""
    is_known = following != IGNORED
    if not is_known.any():
        return 0.0 * states.sum()
    loss: torch.Tensor = _Loss.apply(states[is_known], layer, following[is_known])
    return loss


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
        """``rows`` belong to the tokens among which the heads choose.

        A head has ``hidden`` units and starts as the model itself: its residual is 0 at first. Passes
        multiply in ``dtype``.
        """
        self._learned = learned
        self._layer = fixed(rows, dtype)
        heads, width = learned.following.shape[1], rows.matrix.shape[1]
        self._draws = torch.Generator().manual_seed(seed)
        # Scaled by the size of the states, which makes the outputs of the first matrix about 1.
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
        states = self._learned.states[chosen]
        moved = [added(states, *pair) for pair in zip(self._inner, self._outer, strict=True)]
        loss = loss_of(torch.cat(moved), self._layer, self._learned.following[chosen].T.reshape(-1))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._weights, _MAX_GRADIENT)
        self._optimizer.step()
        self._schedule.step()
        self._optimizer.zero_grad(set_to_none=True)
        return float(loss.detach())

    def heads(self) -> list[Head]:
        return [
            Head(*(np.ascontiguousarray(matrix.detach().float().numpy()) for matrix in pair))
            for pair in zip(self._inner, self._outer, strict=True)
        ]


def head_weights(heads: Sequence[Head]) -> list[torch.Tensor]:
    """Both matrices of each head in one list, as trainable tensors."""
    return [torch.from_numpy(matrix.copy()).requires_grad_() for head in heads for matrix in head]


def added(states: torch.Tensor, inner: torch.Tensor, outer: torch.Tensor) -> torch.Tensor:
    """The output of a head for some states, (states, width)."""
    return states + silu(states @ inner.T) @ outer.T
