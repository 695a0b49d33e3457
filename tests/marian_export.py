"""Writes Marian models in the layout of Optimum's exports, without PyTorch.

The merged decoder has no two branches, but takes and gives the same tensors: keys and values of
cross-attention are those that it is given, and those of the encoder's states unless ``use_cache_branch``.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import sentencepiece
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Weights = Mapping[str, NDArray[np.float32]]
END, UNKNOWN = 0, 1
_EPSILON = 1e-5
_IR_VERSION, _OPSET = 10, 20


class Size(NamedTuple):
    """A model's measures; all layers of encoder and decoder have the same."""

    tokens: int
    width: int = 16
    heads: int = 2
    layers: int = 2
    inner: int = 32
    positions: int = 512

    @property
    def pad(self) -> int:
        """The last token, which is never said, and with which every output starts."""
        return self.tokens - 1


class _Graph:
    """A graph under construction; each method appends nodes and returns the name of their result."""

    def __init__(self, weights: Weights, size: Size) -> None:
        self.weights, self.size = weights, size
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []

    def input(self, name: str, *shape: int | str, kind: int = TensorProto.INT64) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name: str, value: str, *shape: int | str) -> None:
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))

    def constant(self, values: Any, kind: Any = np.float32) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(values, kind), name))
        return name

    def ids(self, *values: int) -> str:
        return self.constant(values, np.int64)

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"node_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def linear(self, x: str, name: str) -> str:
        product = self.op("MatMul", x, self.constant(self.weights[f"{name}.weight"].T))
        return self.op("Add", product, self.constant(self.weights[f"{name}.bias"]))

    def norm(self, x: str, name: str) -> str:
        gain, shift = (self.constant(self.weights[f"{name}.{part}"]) for part in ("weight", "bias"))
        return self.op("LayerNormalization", x, gain, shift, axis=-1, epsilon=_EPSILON)

    def embed(self, tokens: str, places: str) -> str:
        scaled = self.weights["model.shared.weight"] * np.float32(self.size.width**0.5)
        positions = self.constant(_positions(self.size))
        return self.op(
            "Add", self.op("Gather", self.constant(scaled), tokens), self.op("Gather", positions, places)
        )

    def heads(self, x: str, name: str) -> str:
        """(1, n, width) to (1, heads, n, head width)."""
        shape = self.ids(1, -1, self.size.heads, self.size.width // self.size.heads)
        return self.op("Transpose", self.op("Reshape", self.linear(x, name), shape), perm=[0, 2, 1, 3])

    def attend(self, x: str, keys: str, values: str, name: str, mask: str | None = None) -> str:
        """Attention with its residual connection, not yet normalised."""
        queries = self.op(
            "Mul",
            self.heads(x, f"{name}.q_proj"),
            self.constant((self.size.width // self.size.heads) ** -0.5),
        )
        scores = self.op("MatMul", queries, self.op("Transpose", keys, perm=[0, 1, 3, 2]))
        if mask is not None:
            scores = self.op("Where", mask, scores, self.constant(-1e9))
        found = self.op("MatMul", self.op("Softmax", scores, axis=-1), values)
        joined = self.op(
            "Reshape", self.op("Transpose", found, perm=[0, 2, 1, 3]), self.ids(1, -1, self.size.width)
        )
        return self.op("Add", x, self.linear(joined, f"{name}.out_proj"))

    def feed_forward(self, x: str, name: str) -> str:
        inner = self.linear(x, f"{name}.fc1")
        inner = self.op("Mul", inner, self.op("Sigmoid", inner))
        return self.norm(self.op("Add", x, self.linear(inner, f"{name}.fc2")), f"{name}.final_layer_norm")

    def length(self, x: str, axis: int) -> str:
        return self.op("Shape", x, start=axis, end=axis + 1)

    def range(self, start: str, count: str) -> str:
        """The numbers from ``start`` on, both of shape (1,)."""
        first, last = (self.op("Squeeze", one) for one in (start, self.op("Add", start, count)))
        return self.op("Range", first, last, self.constant(1, np.int64))

    def write(self, path: Path) -> None:
        graph = helper.make_graph(self.nodes, path.stem, self.inputs, self.outputs, self.constants)
        opsets = [helper.make_opsetid("", _OPSET)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION), path)


def write_export(
    folder: Path,
    weights: Weights,
    size: Size,
    pieces: Mapping[str, int],
    *,
    is_causal: bool = True,
    **config: Any,
) -> Path:
    """Write all but the SentencePiece models into ``folder``, which is returned.

    Args:
        folder: Is made if it is not there.
        weights: The state of transformers' ``MarianMTModel``.
        size: Its measures.
        pieces: The number of each piece.
        is_causal: Whether tokens that the decoder gets together behind others see only those before them; in
            exports by transformers 4.48 and before they see all.
        config: Other entries of ``config.json``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _encoder(weights, size).write(folder / "encoder_model.onnx")
    _decoder(weights, size, is_causal=is_causal).write(folder / "decoder_model_merged.onnx")
    said = {
        "model_type": "marian",
        "max_position_embeddings": size.positions,
        "eos_token_id": END,
        "decoder_start_token_id": size.pad,
        "pad_token_id": size.pad,
        "bad_words_ids": [[size.pad]],
    }
    (folder / "config.json").write_text(json.dumps({**said, **config}))
    (folder / "vocab.json").write_text(json.dumps(dict(pieces), ensure_ascii=False), "utf-8")
    return folder


def train_pieces(
    folder: Path, texts: Mapping[str, Iterable[str]], tokens: int, **options: Any
) -> dict[str, int]:
    """Train SentencePiece models of ``tokens`` pieces for ``source`` and ``target``; number all pieces."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers = {"</s>": END, "<unk>": UNKNOWN}
    for name, lines in texts.items():
        with (folder / f"{name}.spm").open("wb") as file:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(lines),
                model_writer=file,
                vocab_size=tokens,
                bos_id=-1,
                minloglevel=2,
                **options,
            )
        processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{name}.spm"))
        for number in range(processor.get_piece_size()):
            numbers.setdefault(processor.id_to_piece(number), len(numbers))
    return {**numbers, "<pad>": len(numbers)}


def random_weights(size: Size, seed: int = 1) -> dict[str, NDArray[np.float32]]:
    """Weights with which every token matters."""
    noise = np.random.default_rng(seed)
    width, inner = size.width, size.inner
    shapes: dict[str, tuple[int, ...]] = {"model.shared.weight": (size.tokens, width)}
    for part, attentions in (("encoder", ["self_attn"]), ("decoder", ["self_attn", "encoder_attn"])):
        for layer in range(size.layers):
            name = f"model.{part}.layers.{layer}"
            for each in attentions:
                for one in ("q_proj", "k_proj", "v_proj", "out_proj"):
                    shapes |= {
                        f"{name}.{each}.{one}.weight": (width, width),
                        f"{name}.{each}.{one}.bias": (width,),
                    }
            shapes |= {f"{name}.fc1.weight": (inner, width), f"{name}.fc1.bias": (inner,)}
            shapes |= {f"{name}.fc2.weight": (width, inner), f"{name}.fc2.bias": (width,)}
    weights = {name: noise.normal(0, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}
    norms = [
        name.removesuffix(".weight").rpartition(".")[0]
        for name in weights
        if name.endswith(".out_proj.weight")
    ]
    for name in [
        *(f"{one}_layer_norm" for one in norms),
        *(f"{one.rpartition('.')[0]}.final_layer_norm" for one in norms),
    ]:
        weights |= {f"{name}.weight": np.ones(width, np.float32), f"{name}.bias": np.zeros(width, np.float32)}
    return {**weights, "final_logits_bias": noise.normal(0, 0.5, (1, size.tokens)).astype(np.float32)}


def _positions(size: Size) -> NDArray[np.float32]:
    """Sines in the first half of each row, cosines in the second."""
    half = size.width // 2
    angles = np.arange(size.positions)[:, None] / np.power(10000, 2 * np.arange(half) / size.width)
    return np.concatenate((np.sin(angles), np.cos(angles)), axis=1).astype(np.float32)


def _encoder(weights: Weights, size: Size) -> _Graph:
    graph = _Graph(weights, size)
    tokens = graph.input("input_ids", "batch", "read")
    graph.input("attention_mask", "batch", "read")
    x = graph.embed(tokens, graph.range(graph.ids(0), graph.length(tokens, 1)))
    for layer in range(size.layers):
        name = f"model.encoder.layers.{layer}"
        keys, values = (graph.heads(x, f"{name}.self_attn.{one}_proj") for one in "kv")
        x = graph.norm(graph.attend(x, keys, values, f"{name}.self_attn"), f"{name}.self_attn_layer_norm")
        x = graph.feed_forward(x, name)
    graph.output("last_hidden_state", x, "batch", "read", size.width)
    return graph


def _decoder(weights: Weights, size: Size, *, is_causal: bool) -> _Graph:
    graph = _Graph(weights, size)
    shape = "batch", size.heads, "held", size.width // size.heads
    graph.input("encoder_attention_mask", "batch", "read")
    tokens = graph.input("input_ids", "batch", "new")
    states = graph.input("encoder_hidden_states", "batch", "read", size.width, kind=TensorProto.FLOAT)
    past = {
        name: graph.input(f"past_key_values.{name}", *shape, kind=TensorProto.FLOAT)
        for layer in range(size.layers)
        for part in ("decoder", "encoder")
        for name in (f"{layer}.{part}.key", f"{layer}.{part}.value")
    }
    uses_cache = graph.op(
        "Cast", graph.input("use_cache_branch", 1, kind=TensorProto.BOOL), to=TensorProto.INT64
    )
    unread = graph.op("Mul", graph.op("Sub", graph.ids(1), uses_cache), graph.length(states, 1))
    states = graph.op("Slice", states, graph.ids(0), unread, graph.ids(1))
    held, new = graph.length(past["0.decoder.key"], 2), graph.length(tokens, 1)
    places = graph.range(held, new)
    seen = places if is_causal else graph.op("Add", places, graph.op("Mul", held, graph.ids(10_000)))
    every = graph.range(graph.ids(0), graph.op("Add", held, new))
    mask = graph.op("LessOrEqual", every, graph.op("Unsqueeze", seen, graph.ids(1)))
    x = graph.embed(tokens, places)

    def joined(name: str, of: str, attention: str) -> str:
        made = graph.heads(of, f"model.decoder.layers.{attention}_proj")
        presents[name] = graph.op("Concat", past[name], made, axis=2)
        return presents[name]

    presents: dict[str, str] = {}
    for layer in range(size.layers):
        name, own, cross = f"model.decoder.layers.{layer}", f"{layer}.self_attn", f"{layer}.encoder_attn"
        keys, values = (joined(f"{layer}.decoder.{one}", x, f"{own}.{one[0]}") for one in ("key", "value"))
        x = graph.attend(x, keys, values, f"{name}.self_attn", mask)
        x = graph.norm(x, f"{name}.self_attn_layer_norm")
        keys, values = (
            joined(f"{layer}.encoder.{one}", states, f"{cross}.{one[0]}") for one in ("key", "value")
        )
        x = graph.attend(x, keys, values, f"{name}.encoder_attn")
        x = graph.feed_forward(graph.norm(x, f"{name}.encoder_attn_layer_norm"), name)
    logits = graph.op("MatMul", x, graph.constant(weights["model.shared.weight"].T))
    logits = graph.op("Add", logits, graph.constant(weights["final_logits_bias"]))
    graph.output("logits", logits, "batch", "new", size.tokens)
    for name, value in presents.items():
        graph.output(f"present.{name}", value, *shape)
    return graph
