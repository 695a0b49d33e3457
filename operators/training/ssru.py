"""Tunes the decoder of a Firefox model with its proposal heads (Stern et al. 2018, sections 6 and 7.1).

The decoder is that of `operators.seq2seq.ssru` in PyTorch. The encoder is not trained, and neither are the
embeddings, which it shares. Activations are rounded to 8 bits as in inference; gradients pass the rounding
unchanged (Bengio et al. 2013).
"""

import math
from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import layer_norm, logsigmoid, relu, softmax

from operators.research.heads import Head, Matrix
from operators.seq2seq.intgemm import EPSILON, Size, Weights
from operators.training.heads import IGNORED, FixedLayer, added, fast_type, head_weights, loss_of

#: Target tokens per step, and the highest learning rates of the decoder and of the heads. On 2,000 sentences
#: a decoder at 2e-4 got longer blocks with three heads, and lost half of its BLEU with seven.
_BATCH, _RATE, _HEADS_RATE = 512, 3e-5, 5e-4
_WARMUP = 0.05
_MAX_GRADIENT = 1.0


class Sentence(NamedTuple):
    #: The encoder's states of the source, (source tokens, width).
    states: Matrix
    #: The answer, including its stop token.
    answer: Sequence[int]


class SsruDecoder(torch.nn.Module):  # type: ignore[misc]  # torch is not there where types are checked
    """The decoder of the model in a file, with its weights."""

    def __init__(self, weights: Weights, size: Size, places: Matrix) -> None:
        """``places`` are the sinusoids of positions, (positions, width)."""
        super().__init__()
        self._size, self._weights = size, weights
        names = [name for name in weights if name.startswith("decoder_l") and "QuantMult" not in name]
        self.trained = torch.nn.ParameterDict(
            {name: torch.from_numpy(weights.values(name)) for name in names}
        )
        embeddings = "decoder_Wemb" if "decoder_Wemb" in weights else "Wemb"
        self.embeddings = torch.from_numpy(weights.values(embeddings))
        self.bias = torch.from_numpy(weights.floats("decoder_ff_logit_out_b").copy())
        self._places = torch.from_numpy(places)

    def forward(self, source: Tensor, is_source: Tensor, answers: Tensor) -> Tensor:
        """The state from which each token of the answers is chosen, (answers, tokens, width).

        ``source`` are states of the encoder, (answers, source tokens, width), where ``is_source``.
        """
        inputs = self.embeddings[answers[:, :-1]] * math.sqrt(self._size.width)
        x = torch.nn.functional.pad(inputs, (0, 0, 1, 0)) + self._places[: answers.shape[1]]
        for layer in range(1, self._size.decoder_layers + 1):
            name = f"decoder_l{layer}"
            x = self._added(x, relu(self._recurrent(x, f"{name}_rnn")), f"{name}_rnn_ffn")
            x = self._added(x, self._attended(x, source, is_source, f"{name}_context"), f"{name}_context_Wo")
            inner = relu(self._linear(x, f"{name}_ffn_W1"))
            x = self._added(x, self._linear(inner, f"{name}_ffn_W2"), f"{name}_ffn_ffn")
        return self._rounded(x, "none")

    def _recurrent(self, x: Tensor, name: str) -> Tensor:
        """c of all places: c_t = f_t · c_{t−1} + (1 − f_t) · (x_t · W)."""
        gate = self._linear(x, f"{name}_Wf")
        new, kept = torch.sigmoid(-gate) * self._linear(x, f"{name}_W"), logsigmoid(gate).exp()
        cells, cell = [], torch.zeros_like(new[:, 0])
        for place in range(new.shape[1]):
            cell = kept[:, place] * cell + new[:, place]
            cells.append(cell)
        return torch.stack(cells, dim=1)

    def _attended(self, x: Tensor, source: Tensor, is_source: Tensor, name: str) -> Tensor:
        def split(states: Tensor) -> Tensor:
            return states.unflatten(2, (self._size.heads, -1)).transpose(1, 2)

        q, k, v = (
            split(self._linear(states, f"{name}_W{part}"))
            for part, states in (("q", x), ("k", source), ("v", source))
        )
        scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])
        seen = softmax(scores.masked_fill(~is_source[:, None, None], -math.inf), dim=-1) @ v
        return self._linear(seen.transpose(1, 2).flatten(2), f"{name}_Wo")

    def _added(self, x: Tensor, more: Tensor, name: str) -> Tensor:
        gain, shift = (self.trained[f"{name}_ln_{part}"] for part in ("scale", "bias"))
        return layer_norm(x + more, (self._size.width,), gain, shift, EPSILON)

    def _linear(self, x: Tensor, name: str) -> Tensor:
        product = self._rounded(x, name) @ self.trained[name]
        bias = "b".join(name.rsplit("W", 1))
        return product + self.trained[bias] if bias in self.trained else product

    def _rounded(self, x: Tensor, name: str) -> Tensor:
        if (reach := self._weights.range(name)) is None:
            return x
        rounded = (x * (127 / reach)).round().clamp(-127, 127) * (reach / 127)
        return x + (rounded - x).detach()

    def values(self) -> dict[str, Matrix]:
        """The trained tensors by name, as `operators.seq2seq.intgemm.Weights.replaced` takes them."""
        return {name: one.detach().float().numpy() for name, one in self.trained.items()}


class TunedFit:
    """A decoder and its heads in training on the same answers.

    Each step minimises the mean of the losses of the k tokens after a place: the next one, which is the
    decoder's own, and those of the heads. In the paper this exceeded the memory, so each step drew one of the
    k losses (section 6). `loss_of` needs little memory, and heads learn more from a pass of the decoder.
    """

    def __init__(
        self,
        decoder: SsruDecoder,
        heads: Sequence[Head],
        sentences: Sequence[Sentence],
        tokens: Sequence[int],
        *,
        epochs: int,
        seed: int,
    ) -> None:
        """``heads`` are trained further and predict ``tokens``; the decoder itself predicts all tokens."""
        self._decoder, self._sentences = decoder, sentences
        self._draws = Random(seed)
        self._weights = head_weights(heads)
        dtype = fast_type()
        self._every = FixedLayer(decoder.embeddings.to(dtype), decoder.bias.to(dtype))
        self._chosen = FixedLayer(*(one[list(tokens)] for one in self._every))
        self._numbers = torch.full((len(decoder.bias),), IGNORED)
        self._numbers[list(tokens)] = torch.arange(len(tokens))
        #: Total number of steps.
        self.steps = epochs * len(self._batches())
        groups = [
            {"params": list(decoder.parameters()), "lr": _RATE},
            {"params": self._weights, "lr": _HEADS_RATE},
        ]
        self._optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.98), weight_decay=0.0)
        self._schedule = torch.optim.lr_scheduler.OneCycleLR(
            self._optimizer, [_RATE, _HEADS_RATE], total_steps=self.steps + 1, pct_start=_WARMUP,
            cycle_momentum=False,
        )  # fmt: skip

    def epoch(self) -> Iterator[float]:
        """Learn from all sentences once; yields the loss of each step, in nats per token."""
        batches = self._batches()
        self._draws.shuffle(batches)
        for batch in batches:
            loss = self._loss([self._sentences[number] for number in batch])
            loss.backward()
            torch.nn.utils.clip_grad_norm_([*self._decoder.parameters(), *self._weights], _MAX_GRADIENT)
            self._optimizer.step()
            self._schedule.step()
            self._optimizer.zero_grad(set_to_none=True)
            yield float(loss.detach())

    def _batches(self) -> list[list[int]]:
        """Sentences of similar length."""
        batches, longest = [list[int]()], 0
        for number in sorted(range(len(self._sentences)), key=lambda one: len(self._sentences[one].answer)):
            longest = len(self._sentences[number].answer)
            if (len(batches[-1]) + 1) * longest > _BATCH:
                batches.append([])
            batches[-1].append(number)
        return [batch for batch in batches if batch]

    def _loss(self, sentences: Sequence[Sentence]) -> Tensor:
        source, is_source = _padded([torch.from_numpy(one.states) for one in sentences])
        answers, is_answer = _padded([torch.tensor(one.answer) for one in sentences])
        states = self._decoder(source, is_source, answers)
        losses = [loss_of(states[is_answer], self._every, answers[is_answer])]
        for ahead, pair in enumerate(zip(self._weights[::2], self._weights[1::2], strict=True), start=1):
            # All places except the last ``ahead`` ones have such a following token.
            is_known = is_answer[:, ahead:]
            following = self._numbers[answers[:, ahead:][is_known]]
            losses.append(loss_of(added(states[:, :-ahead][is_known], *pair), self._chosen, following))
        return torch.stack(losses).mean()

    def heads(self) -> list[Head]:
        arrays = [one.detach().numpy() for one in self._weights]
        return [Head(*pair) for pair in zip(arrays[::2], arrays[1::2], strict=True)]


def _padded(rows: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """The rows as one padded tensor, and a mask of the places that are not padding."""
    lengths = torch.tensor([len(row) for row in rows])
    is_real = torch.arange(int(lengths.max())) < lengths[:, None]
    return torch.nn.utils.rnn.pad_sequence(list(rows), batch_first=True), is_real
