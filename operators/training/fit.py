"""Low-rank adaptation of a model's linear layers (LoRA, Hu et al. 2022) on packed examples.

The forward pass computes with the weights as they will be stored: the adapter added, then rounded as ggml
rounds them (quantisation-aware training; Jacob et al. 2018, section 3). Gradients pass the rounding as if it
were not there (the straight-through estimator; Bengio et al. 2013, section 4).
"""

import io
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pickle import UnpicklingError
from typing import Any, NamedTuple

import numpy as np
import torch
from peft import LoraConfig, get_peft_model
from torch.nn.functional import cross_entropy, linear
from transformers import PreTrainedModel

from operators.errors import InputError, UsageError
from operators.models.adapter import Adapter, LowRank, Matrix
from operators.models.tensor_types import Types, group_of
from operators.training.decoder import LINEAR, gguf_name
from operators.training.packing import IGNORED, Rows

#: Elements that share a scale, in all of these types.
_BLOCK = 32
#: Half the number of levels, for types whose levels are -n to n - 1 times the scale.
_LEVELS: Mapping[str, int] = {"Q4_0": 8, "Q5_0": 16}
#: The types that weights can be rounded to here.
KINDS = (*_LEVELS, "Q8_0", "F16")


def rounded(weight: torch.Tensor, kind: str) -> torch.Tensor:
    """A matrix, out × in, as ggml reads it back when it was stored in ``kind``; float32.

    Raises `UsageError` for a type that is not one of `KINDS`, or whose blocks do not fill the rows.
    """
    if kind == "F16":
        return weight.half().float()
    if kind not in KINDS or weight.shape[1] % _BLOCK:
        raise UsageError(
            f"weights with rows of {weight.shape[1]} cannot be trained for {kind}; "
            f"choose one of {', '.join(KINDS)}"
        )
    blocks = weight.float().reshape(-1, _BLOCK)
    # In place where possible: done for all weights at each step, it takes as long as memory is touched.
    low, high = blocks.amin(1, keepdim=True), blocks.amax(1, keepdim=True)
    if (half := _LEVELS.get(kind)) is not None:
        scale = torch.where(high > -low, high, low) / -half
        steps = (blocks * _inverse(scale)).add_(half + 0.5).floor_().clamp_(max=2 * half - 1).sub_(half)
    else:
        scale = torch.maximum(high, -low) / 127
        steps = (blocks * _inverse(scale)).round_()
    return steps.mul_(scale.half().float()).reshape(weight.shape)


def _inverse(scale: torch.Tensor) -> torch.Tensor:
    return torch.where(scale == 0, 0.0, 1 / scale)


def compute_rounded(layer: Any, kind: str) -> None:
    """Have a linear layer of peft with an adapter (``lora_A``, ``lora_B``) compute with rounded weights."""
    adapter = layer.active_adapters[0]
    scale = layer.scaling[adapter]
    first, second = layer.lora_A[adapter].weight, layer.lora_B[adapter].weight
    kept: list[torch.Tensor] = []

    def stored() -> torch.Tensor:
        if layer.training:
            kept.clear()
        elif kept:
            return kept[0]
        with torch.no_grad(), torch.autocast(first.device.type, enabled=False):
            base = layer.base_layer.weight.float()
            weight = rounded(torch.addmm(base, second.float(), first.float(), alpha=scale), kind)
        if not layer.training:
            kept.append(weight)
        return weight

    def forward(values: torch.Tensor) -> torch.Tensor:
        bias = layer.base_layer.bias
        out = linear(values, stored().to(values.dtype), None if bias is None else bias.to(values.dtype))
        if layer.training:
            # Adds nothing but the adapter's gradients, which cost far less than those of the whole matrix.
            low = scale * linear(linear(values.detach(), first), second)
            out = out + (low - low.detach())
        return out

    layer.forward = forward


#: alpha / rank: with the same for all ranks, one learning rate suits them all.
_SCALE = 2
_MAX_GRADIENT = 1.0


class Schedule(NamedTuple):
    """The learning rate: a linear rise, a plateau of any length, and a linear decay to 0 in each branch.

    A branch leaves the plateau, ends with a model that can be used, and is thrown away: the run goes on from
    where the branch began, so it needs no length in advance (Hu et al. 2024, MiniCPM, section 4: WSD).
    """

    #: The rate of the plateau.
    rate: float
    #: Tokens during which it rises.
    warmup: int

    def at(self, seen: int, decay: range | None = None) -> float:
        """The rate after ``seen`` tokens; ``decay`` are the tokens of the branch, if they belong to one."""
        rate = self.rate * min(1.0, (seen + 1) / max(1, self.warmup))
        if decay is None:
            return rate
        return rate * max(0.0, (decay.stop - seen) / max(1, len(decay)))


class Step(NamedTuple):
    """The figures of a step."""

    #: Tokens seen in all.
    seen: int
    #: Cross entropy of the answers' tokens, in nats per token.
    loss: float
    seconds: float


class Fit:
    """A training run: one step a batch, its whole state in one piece."""

    def __init__(
        self,
        model: PreTrainedModel,
        rank: int,
        schedule: Schedule,
        *,
        seed: int,
        types: Types | None = None,
        compiles: bool = False,
        dtype: torch.dtype = torch.bfloat16,
        source_loss: float = 0.0,
    ) -> None:
        """``model`` gets adapters of ``rank`` on all linear layers of its blocks, and only they learn.

        With ``types`` it computes with the weights as they will be stored, by group of tensors. With
        ``compiles`` the passes are compiled at the first step; that takes minutes, and pays on a GPU
        and on processors with bfloat16 (12 % of a step on an EPYC with AVX-512).
        Passes multiply in ``dtype``: bfloat16 pays only where the processor has instructions for it. The
        source's tokens are learned, too, with the weight ``source_loss``.
        """
        torch.manual_seed(seed)
        layers = sorted({name.rpartition(".")[2] for name in LINEAR})
        config = LoraConfig(r=rank, lora_alpha=_SCALE * rank, target_modules=layers)
        self.model: Any = get_peft_model(model, config)
        for name, layer in self.model.named_modules():
            if hasattr(layer, "lora_A") and (kind := (types or {}).get(group_of(_tensor(name)) or "")):
                compute_rounded(layer, kind)
        self.schedule = schedule
        self.seen = 0
        self._rank = rank
        self._weights = {name: value for name, value in self.model.named_parameters() if value.requires_grad}
        self._optimizer = torch.optim.AdamW(
            self._weights.values(), lr=0.0, betas=(0.9, 0.98), weight_decay=0.01, fused=True
        )
        self._device = next(model.parameters()).device.type
        self._dtype = dtype
        self._source_loss = source_loss
        self._head = model.lm_head
        self._body: Callable[..., Any] = torch.compile(model.model) if compiles else model.model

    def run(
        self, batches: Iterator[Rows], until: int, tell: Callable[[Step], None], decay: range | None = None
    ) -> None:
        """Learn until ``until`` tokens were seen, in the branch of the tokens ``decay`` if it is one."""
        self.model.train()
        while self.seen < until:
            began = time.monotonic()
            rows = next(batches)
            loss = self._learn(rows, self.schedule.at(self.seen, decay))
            self.seen += int(np.count_nonzero(rows.documents))
            tell(Step(self.seen, loss, time.monotonic() - began))
        self.model.eval()

    def _learn(self, rows: Rows, rate: float) -> float:
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        with self.computing():
            learned, loss = losses(self._body, self._head, rows, self._device, self._source_loss)
        learned.backward()
        torch.nn.utils.clip_grad_norm_(self._weights.values(), _MAX_GRADIENT)
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        return float(loss.detach())

    def unlearned(self, batches: Iterable[Rows]) -> float:
        """Cross entropy of the answers in texts that are not learned, in nats per token."""
        nats, tokens = 0.0, 0
        with torch.inference_mode(), self.computing():
            for rows in batches:
                _, mean = losses(self._body, self._head, rows, self._device)
                count = int(np.count_nonzero(rows.labels != IGNORED))
                nats, tokens = nats + count * float(mean), tokens + count
        return nats / max(1, tokens)

    def computing(self) -> torch.autocast:
        """The context in which the model's passes multiply in the run's number type."""
        return torch.autocast(self._device, self._dtype, enabled=self._dtype is not torch.float32)

    def state(self) -> bytes:
        """The state from which a later run continues."""
        file = io.BytesIO()
        torch.save(
            {"seen": self.seen, "weights": self._weights, "optimizer": self._optimizer.state_dict()}, file
        )
        return file.getvalue()

    def resume(self, saved: bytes) -> None:
        """Continue from what `state` returned. Raises `InputError` if it is damaged."""
        try:
            state = torch.load(io.BytesIO(saved), map_location=self._device, weights_only=True)
        except (RuntimeError, ValueError, UnpicklingError, EOFError):
            raise InputError("it is damaged; remove it to train from the beginning") from None
        self.seen = state["seen"]
        self._optimizer.load_state_dict(state["optimizer"])
        with torch.no_grad():
            for name, value in self._weights.items():
                value.copy_(state["weights"][name])

    def begin_with(self, adapter: Adapter) -> None:
        """Continue from an adapter of this rank or a lower one. Raises `InputError` for another."""
        with torch.no_grad():
            for name, value in self._weights.items():
                tensor, half = _place(name)
                low = adapter.added.get(tensor)
                if low is None or low.rank > self._rank:
                    raise InputError(
                        f"the adapter to begin with lacks a {tensor} of rank {self._rank}; take another"
                    )
                # What is missing of the rank stays as it was drawn (A) and 0 (B), and so adds nothing yet.
                scale = adapter.alpha / low.rank / _SCALE
                if half == "A":
                    value[: low.rank] = torch.from_numpy(low.a)
                else:
                    value[:, : low.rank] = torch.from_numpy(low.b * scale)

    def adapter(self) -> Adapter:
        """The trained adapter, by GGUF's names."""
        halves: dict[str, dict[str, Matrix]] = {}
        for name, value in self._weights.items():
            tensor, half = _place(name)
            halves.setdefault(tensor, {})[half] = value.detach().float().cpu().numpy()
        return Adapter(
            _SCALE * self._rank, {name: LowRank(pair["A"], pair["B"]) for name, pair in halves.items()}
        )


def _place(name: str) -> tuple[str, str]:
    """GGUF's name of the matrix that peft's weight ``name`` belongs to, and which half it is."""
    layer, half = name.split(".lora_")
    return _tensor(layer), half[0]


def _tensor(layer: str) -> str:
    return gguf_name(layer.removeprefix("base_model.model."))


def losses(
    body: Callable[..., Any], head: torch.nn.Module, rows: Rows, device: str, source_loss: float = 0.0
) -> tuple[torch.Tensor, torch.Tensor]:
    """What to learn, and the mean cross entropy of the answers' tokens, in nats.

    The first adds that of the source's tokens, weighted by ``source_loss``: a translator that never sees it
    forgets the language that it hears, and judges badly where a sentence goes on. The output matrix is
    multiplied for these tokens alone.
    """
    arrays = (torch.from_numpy(part).to(device).long() for part in rows)
    tokens, positions, documents, labels, sources = arrays
    mask = visible(documents)
    hidden = body(
        input_ids=tokens,
        position_ids=positions,
        use_cache=False,
        # Rows are shorter than the sliding window: both kinds of layers see the same.
        attention_mask={"full_attention": mask, "sliding_attention": mask},
    ).last_hidden_state

    def entropy(wanted: torch.Tensor) -> torch.Tensor:
        learned = wanted != IGNORED
        return cross_entropy(head(hidden[learned]).float(), wanted[learned])

    answers = entropy(labels)
    return (answers + source_loss * entropy(sources) if source_loss else answers), answers


def visible(documents: torch.Tensor) -> torch.Tensor:
    """Who sees whom, (rows, 1, tokens, tokens): what came before in the same example."""
    length = documents.shape[1]
    causal = torch.ones(length, length, dtype=torch.bool, device=documents.device).tril()
    return (documents[:, :, None] == documents[:, None, :]).logical_and(causal)[:, None]
