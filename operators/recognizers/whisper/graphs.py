"""Whisper's encoder and decoder as ONNX graphs (Radford et al. 2022, section 2.2), for one window at a time.

The encoder also computes the keys and values of its states for the decoder's cross-attention, once per
window. The decoder takes any number of tokens after those whose keys and values it gets, and returns the
requested rows of logits: half the cost of a verified token is the output head.
"""

import numpy as np

from operators.recognizers.whisper.onnx_graph import Graph, Quantized, Value
from operators.recognizers.whisper.size import Size
from operators.recognizers.whisper.weights import Floats, Weights

_EPSILON = 1e-5


def encoder_graph(weights: Weights, size: Size, quantized: Quantized) -> bytes:
    """Features (1, bands, frames) to ``states``; with others appended, (n, width), to keys and values."""
    graph = Graph("encoder", quantized)
    block = _Blocks(graph, weights, size.encoder_heads, size.width // size.encoder_heads)
    x = graph.input("features", 1, size.bands, "frames")
    for conv, stride in (("conv1", 1), ("conv2", 2)):
        kernel, bias = (
            graph.constant(weights.floats(f"encoder/{conv}/{part}")) for part in ("weight", "bias")
        )
        x = graph.op("Gelu", graph.op("Conv", x, kernel, bias, pads=[1, 1], strides=[stride]))
    x = graph.op("Transpose", graph.op("Squeeze", x, graph.indices(0)), perm=[1, 0])
    places = graph.constant(weights.floats("encoder/position_encodings/encodings"))
    count = graph.op("Shape", x, start=0, end=1)
    x = graph.op("Add", x, graph.op("Slice", places, graph.indices(0), count, graph.indices(0)))
    for layer in range(size.encoder_layers):
        name = f"encoder/layer_{layer}"
        q, k, v = block.queries_keys_values(x, f"{name}/self_attention")
        x = graph.op("Add", x, block.attend(q, k, v, f"{name}/self_attention/linear_1"))
        x = block.feed_forward(x, f"{name}/ffn")
    x = block.norm(x, "encoder/layer_norm")
    graph.output("states", x, "positions", size.width)
    x = graph.op("Concat", x, graph.input("appended", "others", size.width), axis=0)
    block = _Blocks(graph, weights, size.heads, size.head_width)
    for layer in range(size.decoder_layers):
        both = block.linear(x, f"decoder/layer_{layer}/attention/linear_1")
        k, v = graph.ops("Split", 2, both, axis=1, num_outputs=2)
        graph.output(f"key_{layer}", block.split(k, is_key=True), size.heads, size.head_width, "all")
        graph.output(f"value_{layer}", block.split(v), size.heads, "all", size.head_width)
    return graph.bytes()


def decoder_graph(weights: Weights, size: Size, quantized: Quantized) -> bytes:
    """Tokens after the held ones, to logits of some rows and the keys and values of all."""
    graph = Graph("decoder", quantized)
    block = _Blocks(graph, weights, size.heads, size.head_width)
    tokens, places = (graph.input(name, "new", is_index=True) for name in ("tokens", "places"))
    mask = graph.input("mask", "new", "all")
    rows = graph.input("rows", "asked", is_index=True)
    embeddings = weights.floats("decoder/embeddings/weight")
    positions = graph.constant(weights.floats("decoder/position_encodings/encodings"))
    x = graph.op("Gather", graph.constant(embeddings), tokens)
    x = graph.op("Add", x, graph.op("Gather", positions, places))
    for layer in range(size.decoder_layers):
        name = f"decoder/layer_{layer}"
        q, k, v = block.queries_keys_values(x, f"{name}/self_attention")
        held_k = graph.input(f"held_key_{layer}", size.heads, size.head_width, "held")
        held_v = graph.input(f"held_value_{layer}", size.heads, "held", size.head_width)
        k, v = graph.op("Concat", held_k, k, axis=2), graph.op("Concat", held_v, v, axis=1)
        graph.output(f"all_key_{layer}", k, size.heads, size.head_width, "all")
        graph.output(f"all_value_{layer}", v, size.heads, "all", size.head_width)
        x = graph.op("Add", x, block.attend(q, k, v, f"{name}/self_attention/linear_1", mask))
        q = block.queries(x, f"{name}/attention")
        k = graph.input(f"key_{layer}", size.heads, size.head_width, "heard")
        v = graph.input(f"value_{layer}", size.heads, "heard", size.head_width)
        x = graph.op("Add", x, block.attend(q, k, v, f"{name}/attention/linear_2"))
        x = block.feed_forward(x, f"{name}/ffn")
    x = block.norm(graph.op("Gather", x, rows), "decoder/layer_norm")
    # The embeddings are also the output head, unless the model has a separate one.
    head = "decoder/projection/weight"
    logits = graph.linear(x, weights.floats(head) if head in weights else embeddings)
    graph.output("logits", logits, "asked", size.tokens)
    return graph.bytes()


class _Blocks:
    """The parts of a transformer's layer; states have shape (n, width)."""

    def __init__(self, graph: Graph, weights: Weights, heads: int, head_width: int) -> None:
        self._graph = graph
        self._weights = weights
        self._heads = heads
        self._head_width = head_width
        # The weights already scale the queries.
        self._scale = np.float32(head_width**-0.5)

    def norm(self, x: Value, name: str) -> Value:
        gain, shift = (
            self._graph.constant(self._weights.floats(f"{name}/{part}")) for part in ("gamma", "beta")
        )
        return self._graph.op("LayerNormalization", x, gain, shift, axis=-1, epsilon=_EPSILON)

    def linear(self, x: Value, name: str) -> Value:
        return self._graph.linear(x, *self._parts(name))

    def feed_forward(self, x: Value, name: str) -> Value:
        inner = self.linear(self.norm(x, f"{name}/layer_norm"), f"{name}/linear_0")
        return self._graph.op("Add", x, self.linear(self._graph.op("Gelu", inner), f"{name}/linear_1"))

    def queries_keys_values(self, x: Value, name: str) -> tuple[Value, Value, Value]:
        """For self-attention, with one matrix for all three; split into heads."""
        weight, bias = self._parts(f"{name}/linear_0")
        scale = np.ones(len(weight), np.float32)
        scale[: self._heads * self._head_width] = self._scale
        y = self._graph.linear(self.norm(x, f"{name}/layer_norm"), weight * scale[:, None], bias * scale)
        q, k, v = self._graph.ops("Split", 3, y, axis=1, num_outputs=3)
        return self.split(q), self.split(k, is_key=True), self.split(v)

    def queries(self, x: Value, name: str) -> Value:
        """For cross-attention; split into heads."""
        weight, bias = self._parts(f"{name}/linear_0")
        y = self.norm(x, f"{name}/layer_norm")
        return self.split(self._graph.linear(y, weight * self._scale, bias * self._scale))

    def split(self, x: Value, *, is_key: bool = False) -> Value:
        """(n, width) to (heads, n, head width), keys to (heads, head width, n)."""
        x = self._graph.op("Reshape", x, self._graph.indices(-1, self._heads, self._head_width))
        return self._graph.op("Transpose", x, perm=[1, 2, 0] if is_key else [1, 0, 2])

    def attend(self, q: Value, k: Value, v: Value, name: str, mask: Value | None = None) -> Value:
        """The result of attention, as states."""
        graph = self._graph
        scores = graph.op("MatMul", q, k)
        if mask is not None:
            scores = graph.op("Add", scores, mask)
        found = graph.op("MatMul", graph.op("Softmax", scores, axis=-1), v)
        together = graph.op("Transpose", found, perm=[1, 0, 2])
        return self.linear(
            graph.op("Reshape", together, graph.indices(-1, self._heads * self._head_width)), name
        )

    def _parts(self, name: str) -> tuple[Floats, Floats]:
        weight = self._weights.floats(f"{name}/weight")
        return weight, self._weights.floats(f"{name}/bias").reshape(-1)
