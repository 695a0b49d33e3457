"""Whisper's encoder and decoder as ONNX graphs (Radford et al. 2022, section 2.2), for one window at a time.

The encoder also computes the keys and values of its states for the decoder's cross-attention, once per
window. The decoder takes any number of tokens after those whose keys and values it gets, and returns the
requested rows of logits: half the cost of a verified token is the output head.
"""

from enum import Enum

import numpy as np
from numpy.typing import NDArray

from operators.models.onnx_builder import Graph, Value
from operators.models.onnx_graphs import Built
from operators.recognizers.whisper.folder import Size
from operators.recognizers.whisper.weights import Floats, Weights

# Columns that share a scale in `Quantized.BLOCKS`.
_BLOCK = 32
# Rows rounded at a time.
_ROWS = 256


class Quantized(Enum):
    """How a matrix is multiplied."""

    #: In float32.
    NOT = "not"
    #: Weights as 8-bit integers with a scale for each block of a row; rows of the input are quantised in
    #: blocks, too, each separately.
    BLOCKS = "blocks"
    #: The same with one scale per row of weights, and one for all of the input: faster for many rows.
    ROWS = "rows"


class _Graph(Graph):
    """A graph whose matrices are multiplied in one of these ways."""

    def __init__(self, name: str, quantized: Quantized) -> None:
        super().__init__(name)
        self._quantized = quantized

    def linear(self, x: Value, weight: NDArray[np.float32], bias: NDArray[np.float32] | None = None) -> Value:
        """``x`` of shape (n, k) times the transpose of ``weight``, (m, k), plus ``bias``, (m,)."""
        quantized = self._quantized
        if quantized is Quantized.BLOCKS and weight.shape[1] % _BLOCK:
            quantized = Quantized.NOT
        match quantized:
            case Quantized.NOT:
                product = self.op("MatMul", x, self.constant(weight.T))
            case Quantized.BLOCKS:
                product = self._times_blocks(x, weight)
            case Quantized.ROWS:
                product = self._times_rows(x, weight)
        return product if bias is None else self.op("Add", product, self.constant(bias))

    def _times_blocks(self, x: Value, weight: NDArray[np.float32]) -> Value:
        rows, columns = weight.shape
        # Without zero points, 128 is 0.
        whole, scale = _rounded(weight.reshape(rows, columns // _BLOCK, _BLOCK), np.uint8, zero=128)
        return self.op(
            "MatMulNBits", x, self.constant(whole), self.constant(scale),
            domain="com.microsoft", K=columns, N=rows, bits=8, block_size=_BLOCK,
            accuracy_level=4,  # the input in 8 bits, too
        )  # fmt: skip

    def _times_rows(self, x: Value, weight: NDArray[np.float32]) -> Value:
        whole, scale = _rounded(weight, np.int8)
        zero = self.constant(np.zeros(len(weight), np.int8))
        return self.op(
            "DynamicQuantizeMatMul", x, self.constant(whole.T), self.constant(scale), zero,
            domain="com.microsoft",
        )  # fmt: skip


def _rounded(
    values: NDArray[np.float32], kind: type[np.uint8 | np.int8], zero: int = 0
) -> tuple[NDArray[np.uint8 | np.int8], NDArray[np.float32]]:
    """Integers from -127 to 127 around ``zero``, and their scales along the last axis."""
    whole = np.empty(values.shape, kind)
    scale = np.empty(values.shape[:-1], np.float32)
    # A few rows at a time stay in the processor's cache.
    for begin in range(0, len(values), _ROWS):
        part = values[begin : begin + _ROWS]
        greatest = np.maximum(part.max(axis=-1), -part.min(axis=-1))
        scale[begin : begin + _ROWS] = np.where(greatest > 0, greatest / 127, 1)
        part = part / scale[begin : begin + _ROWS, ..., None]
        np.rint(part, out=part)
        part += zero
        whole[begin : begin + _ROWS] = part
    return whole, scale


_EPSILON = 1e-5


def encoder_graph(weights: Weights, size: Size, quantized: Quantized) -> Built:
    """Features (1, bands, frames) to ``states``; with others appended, (n, width), to keys and values."""
    graph = _Graph("encoder", quantized)
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
    return graph.built()


def decoder_graph(weights: Weights, size: Size, quantized: Quantized) -> Built:
    """Tokens after the held ones, to logits of some rows and the keys and values of all."""
    graph = _Graph("decoder", quantized)
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
    return graph.built()


class _Blocks:
    """The parts of a transformer's layer; states have shape (n, width)."""

    def __init__(self, graph: _Graph, weights: Weights, heads: int, head_width: int) -> None:
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
