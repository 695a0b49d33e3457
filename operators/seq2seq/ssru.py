"""Graphs of Marian's small translators: a transformer's encoder, and a decoder with SSRU (Kim et al. 2019).

A Simpler Simple Recurrent Unit replaces the decoder's self-attention (section 3.1):
f = σ(x·Wf + b), c_t = f_t·c_{t−1} + (1 − f_t)·(x·W), and the output of the layer is relu(c_t). The recurrence
is elementwise, so tokens are multiplied with the matrices together, and only c is a running sum:
c_i = exp(L_i)·c_0 + Σ_{k≤i} exp(L_i − L_k)·(1 − f_k)·(x_k·W), where L sums log f. The state after a token is
c of each layer.

Activations are rounded to 8 bits by the ranges of the training, whatever other tokens are in the pass. Only
the order of float sums still differs, in the recurrence and in attention. If this changes a rounding, a logit
of a token alone differs by some tenths from that of the same token in a larger pass.
"""

import numpy as np

from operators.models.onnx_builder import Graph, Value
from operators.models.onnx_graphs import Built
from operators.seq2seq.intgemm import EPSILON, Floats, Matrix, Size, Weights


class _Layers(Graph):
    """A graph of the layers of one model; states have shape (tokens, width)."""

    def __init__(self, name: str, weights: Weights, size: Size) -> None:
        super().__init__(name)
        self.weights = weights
        self.size = size

    def linear(self, x: Value, *names: str, scales: tuple[float, ...] = ()) -> Value:
        """``x`` times matrices of the same input side by side, each times its scale, plus their biases."""
        matrices = [self.weights.matrix(name) for name in names]
        biases = [self._bias(name) for name in names]
        for place, scale in enumerate(scales):
            matrices[place] = matrices[place]._replace(scale=matrices[place].scale * scale)
            biases[place] = biases[place] * np.float32(scale)
        ranges = [one for one in map(self.weights.range, names) if one is not None]
        return self.times(x, matrices, max(ranges) if ranges else None, np.concatenate(biases))

    def times(self, x: Value, matrices: list[Matrix], reach: float | None, bias: Floats) -> Value:
        """``x``, rounded to 8 bits from -reach to reach, times matrices side by side, plus ``bias``."""
        whole = np.concatenate([one.values for one in matrices], axis=1)
        scales = np.concatenate([np.full(one.values.shape[1], one.scale, np.float32) for one in matrices])
        zeros = np.zeros(len(scales), np.int8)
        if reach is None:
            rounded, scale, zero = self.ops("DynamicQuantizeLinear", 3, x)
        else:
            # From 1 to 255 around 128: Marian's rounding is symmetric.
            scale = self.constant(np.array(reach / 127, np.float32))
            zero = self.constant(np.array(128, np.uint8))
            rounded = self.op("QuantizeLinear", x, scale, zero)
        return self.op(
            "MatMulIntegerToFloat", rounded, self.constant(whole), scale, self.constant(scales), zero,
            self.constant(zeros), self.constant(bias), domain="com.microsoft",
        )  # fmt: skip

    def added(self, x: Value, more: Value, name: str) -> Value:
        """The layer norm of the sum of ``x`` and ``more``."""
        gain, shift = (self.constant(self.weights.floats(f"{name}_ln_{part}")) for part in ("scale", "bias"))
        return self.op(
            "SkipLayerNormalization", x, more, gain, shift, domain="com.microsoft", epsilon=EPSILON
        )

    def feed_forward(self, x: Value, layer: str) -> Value:
        inner = self.op("Relu", self.linear(x, f"{layer}_ffn_W1"))
        return self.added(x, self.linear(inner, f"{layer}_ffn_W2"), f"{layer}_ffn_ffn")

    def attend(self, x: Value, parts: tuple[Value, Value, Value], name: str) -> Value:
        """Attention of scaled queries to keys and values."""
        queries, keys, values = (self._split(part) for part in parts)
        scores = self.op("MatMul", queries, self.op("Transpose", keys, perm=[0, 2, 1]))
        found = self.op("MatMul", self.op("Softmax", scores, axis=-1), values)
        joined = self.op("Reshape", self.op("Transpose", found, perm=[1, 0, 2]), self.indices(0, -1))
        return self.added(x, self.linear(joined, f"{name}_Wo"), f"{name}_Wo")

    def _split(self, x: Value) -> Value:
        """(tokens, width) to (heads, tokens, width of a head)."""
        heads = self.op("Reshape", x, self.indices(0, self.size.heads, -1))
        return self.op("Transpose", heads, perm=[1, 0, 2])

    @property
    def scale(self) -> float:
        return float((self.size.width // self.size.heads) ** -0.5)

    def _bias(self, matrix: str) -> Floats:
        # encoder_l1_ffn_W1 has encoder_l1_ffn_b1; an SSRU's W has none.
        stem, _, letter = matrix.rpartition("W")
        name = f"{stem}b{letter}"
        columns = self.weights.matrix(matrix).values.shape[1]
        return self.weights.floats(name) if name in self.weights else np.zeros(columns, np.float32)


def encoder_graph(weights: Weights, size: Size) -> Built:
    """The encoder.

    From ``x`` (source, width) to ``states`` like ``x``, and to ``memory``: the keys and values of all layers
    of the decoder, concatenated.
    """
    graph = _Layers("encoder", weights, size)
    x = graph.input("x", "source", size.width)
    for layer in range(1, size.encoder_layers + 1):
        name = f"encoder_l{layer}_self"
        all_three = graph.linear(x, f"{name}_Wq", f"{name}_Wk", f"{name}_Wv", scales=(graph.scale,))
        q, k, v = graph.ops("Split", 3, all_three, axis=1, num_outputs=3)
        x = graph.attend(x, (q, k, v), name)
        x = graph.feed_forward(x, f"encoder_l{layer}")
    graph.output("states", x, "source", size.width)
    names = [
        f"decoder_l{layer}_context_W{part}" for layer in range(1, size.decoder_layers + 1) for part in "kv"
    ]
    memory = graph.linear(x, *names)
    graph.output("memory", memory, "source", 2 * size.decoder_layers * size.width)
    return graph.built()


def decoder_graph(weights: Weights, size: Size) -> Built:
    """The decoder.

    From ``x`` (new, width), ``cells`` (1, layers · width), ``causal`` (new, new, 1), ``memory`` of the
    encoder and ``rows`` (asked,), the requested rows, to ``logits`` (asked, tokens) and ``all_cells``
    (new, layers · width), the state after each token.
    """
    graph = _Layers("decoder", weights, size)
    layers, width = size.decoder_layers, size.width
    x = graph.input("x", "new", width)
    before = graph.ops("Split", layers, graph.input("cells", 1, layers * width), axis=1, num_outputs=layers)
    causal = graph.input("causal", "new", "new", 1)
    memory = graph.input("memory", "source", 2 * layers * width)
    rows = graph.input("rows", "asked", is_index=True)
    parts = graph.ops("Split", 2 * layers, memory, axis=1, num_outputs=2 * layers)
    cells = []
    for layer in range(1, layers + 1):
        name = f"decoder_l{layer}"
        cell = _recurrent(graph, x, before[layer - 1], causal, f"{name}_rnn")
        cells.append(cell)
        x = graph.added(x, graph.op("Relu", cell), f"{name}_rnn_ffn")
        q = graph.linear(x, f"{name}_context_Wq", scales=(graph.scale,))
        x = graph.attend(x, (q, parts[2 * layer - 2], parts[2 * layer - 1]), f"{name}_context")
        x = graph.feed_forward(x, name)
    graph.output("all_cells", graph.op("Concat", *cells, axis=1), "new", layers * width)
    graph.output("logits", _head(graph, graph.op("Gather", x, rows, axis=0)), "asked", size.target_tokens)
    return graph.built()


def _recurrent(graph: _Layers, x: Value, before: Value, causal: Value, name: str) -> Value:
    """The states c of an SSRU, (new, width), after ``before``, (1, width)."""
    taken, gate = graph.ops("Split", 2, graph.linear(x, f"{name}_W", f"{name}_Wf"), axis=1, num_outputs=2)
    # log σ(z) = −softplus(−z), and 1 − σ(z) = σ(−z).
    closed = graph.op("Neg", gate)
    log_kept = graph.op("CumSum", graph.op("Neg", graph.op("Softplus", closed)), graph.indices(0))
    new = graph.op("Mul", graph.op("Sigmoid", closed), taken)
    since = graph.op("Sub", graph.op("Unsqueeze", log_kept, graph.indices(1)), log_kept)
    kept = graph.op("Exp", graph.op("Add", since, causal))
    sums = graph.op("ReduceSum", graph.op("Mul", kept, new), graph.indices(1), keepdims=0)
    return graph.op("Add", graph.op("Mul", graph.op("Exp", log_kept), before), sums)


def _head(graph: _Layers, x: Value) -> Value:
    """The logits: the target's embeddings are also the output matrix."""
    weights = graph.weights
    name = "decoder_Wemb" if "decoder_Wemb" in weights else "Wemb"
    values, scale = weights.matrix(name, is_embedding=True)
    bias = weights.floats("decoder_ff_logit_out_b")
    # Marian has no name for the output of the last layer.
    return graph.times(x, [Matrix(values.T, scale)], weights.range("none"), bias)
