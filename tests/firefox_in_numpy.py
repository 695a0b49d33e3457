"""Firefox's models again, token by token in NumPy, from Marian's formulas: what ours are held against."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from operators.seq2seq.intgemm import Weights

Array = NDArray[Any]


class Reference:
    """A model whose activations are rounded as in training."""

    def __init__(self, weights: Weights, heads: int = 8) -> None:
        self._weights = weights
        self._heads = heads
        names = ("encoder_Wemb", "decoder_Wemb") if "encoder_Wemb" in weights else ("Wemb", "Wemb")
        self._source, self._target = (self._matrix(name, is_embedding=True) for name in names)
        self._width = self._source.shape[1]

    def logits(self, source: Sequence[int], output: Sequence[int]) -> Array:
        """The logits after the start and after each token of ``output``."""
        memory = self._encode(source)
        layers = range(1, 1 + sum(f"decoder_l{one}_rnn_W" in self._weights for one in range(1, 9)))
        cells = {layer: np.zeros(self._width) for layer in layers}
        rows = []
        for place, token in enumerate([None, *output]):
            x = np.zeros(self._width) if token is None else self._embed(self._target, token)
            x = x + self._place(place)
            for layer in layers:
                name = f"decoder_l{layer}"
                forget = 1 / (1 + np.exp(-self._linear(x, f"{name}_rnn_Wf")))
                cells[layer] = forget * cells[layer] + (1 - forget) * self._linear(x, f"{name}_rnn_W")
                x = self._norm(x + np.maximum(cells[layer], 0), f"{name}_rnn_ffn")
                x = self._attend(x[None], memory, f"{name}_context")[0]
                x = self._feed_forward(x, name)
            rounded = self._rounded(x, "none")
            rows.append(rounded @ self._target.T + self._weights.floats("decoder_ff_logit_out_b"))
        return np.array(rows)

    def _encode(self, source: Sequence[int]) -> Array:
        x = np.array(
            [self._embed(self._source, token) + self._place(place) for place, token in enumerate(source)]
        )
        layer = 1
        while f"encoder_l{layer}_self_Wq" in self._weights:
            x = self._attend(x, x, f"encoder_l{layer}_self")
            x = self._feed_forward(x, f"encoder_l{layer}")
            layer += 1
        return x

    def _attend(self, x: Array, memory: Array, name: str) -> Array:
        q, k, v = (
            self._linear(states, f"{name}_W{part}")
            for part, states in (("q", x), ("k", memory), ("v", memory))
        )
        found = []
        for head in np.split(np.arange(self._width), self._heads):
            scores = q[:, head] @ k[:, head].T / np.sqrt(len(head))
            chances = np.exp(scores - scores.max(axis=1, keepdims=True))
            found.append(chances / chances.sum(axis=1, keepdims=True) @ v[:, head])
        return self._norm(x + self._linear(np.concatenate(found, axis=1), f"{name}_Wo"), f"{name}_Wo")

    def _feed_forward(self, x: Array, name: str) -> Array:
        inner = np.maximum(self._linear(x, f"{name}_ffn_W1"), 0)
        return self._norm(x + self._linear(inner, f"{name}_ffn_W2"), f"{name}_ffn_ffn")

    def _norm(self, x: Array, name: str) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-9)
        shifted = scaled * self._weights.floats(f"{name}_ln_scale") + self._weights.floats(f"{name}_ln_bias")
        return np.asarray(shifted)

    def _linear(self, x: Array, name: str) -> Array:
        product = self._rounded(x, name) @ self._matrix(name)
        bias = "b".join(name.rsplit("W", 1))
        if bias in self._weights:
            product = product + self._weights.floats(bias)
        return np.asarray(product)

    def _rounded(self, x: Array, name: str) -> Array:
        reach = self._weights.range(name)
        assert reach is not None
        return np.clip(np.rint(x * 127 / reach), -128, 127) * reach / 127

    def _matrix(self, name: str, *, is_embedding: bool = False) -> Array:
        values, scale = self._weights.matrix(name, is_embedding=is_embedding)
        return values.astype(float) * scale

    def _embed(self, embeddings: Array, token: int) -> Array:
        return np.asarray(embeddings[token] * np.sqrt(self._width))

    def _place(self, place: int) -> Array:
        frequencies = 10_000.0 ** (-np.arange(self._width // 2) / (self._width // 2 - 1))
        return np.concatenate((np.sin(place * frequencies), np.cos(place * frequencies)))
