"""A merged export of another Moonshine model than the one that comes along, with weights of no meaning.

Names and shapes are those of the real export of tiny-en, read from its graphs, in the size of base: 8 layers,
8 heads of 52. As the exports of Hugging Face, it takes no attention mask, and its branch with a cache gives
back no keys and values of the encoder.
"""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

LAYERS, HEADS, HEAD_WIDTH = 8, 8, 52
WIDTH = HEADS * HEAD_WIDTH
WORDS = ["<unk>", "<s>", "</s>", *(f"▁word{number}" for number in range(45))]
_STRIDE = 1024
Constant = NDArray[Any]


def write_export(folder: Path) -> Path:
    """Write the files of such a model."""
    folder.mkdir()
    onnx.save(_encoder(), folder / "encoder_model.onnx")
    onnx.save(_decoder(), folder / "decoder_model_merged.onnx")
    vocabulary = {word: number for number, word in enumerate(WORDS)}
    (folder / "tokenizer.json").write_bytes(msgspec.json.encode({"model": {"vocab": vocabulary}}))
    return folder


def _encoder() -> onnx.ModelProto:
    """A state for each 64 ms: their loudness, spread over the width."""
    made = np.random.default_rng(1)
    nodes = [
        helper.make_node("Mul", ["input_values", "input_values"], ["squared"]),
        helper.make_node("Unsqueeze", ["squared", "one"], ["channel"]),
        helper.make_node("AveragePool", ["channel"], ["pooled"], kernel_shape=[_STRIDE], strides=[_STRIDE]),
        helper.make_node("Transpose", ["pooled"], ["column"], perm=[0, 2, 1]),
        helper.make_node("Mul", ["column", "spread"], ["last_hidden_state"]),
    ]
    spread = 100 * made.normal(size=(1, 1, WIDTH)).astype(np.float32)
    return _model(
        nodes,
        [_floats("input_values", 1, "samples")],
        [_floats("last_hidden_state", 1, "states", WIDTH)],
        {"one": np.array([1]), "spread": spread},
    )


def _decoder() -> onnx.ModelProto:
    """Logits of a position: of all tokens up to it and all states, through the caches of all layers."""
    made = np.random.default_rng(2)
    constants: dict[str, Constant] = {
        "embeddings": made.normal(size=(len(WORDS), WIDTH)).astype(np.float32),
        "head": made.normal(size=(WIDTH, len(WORDS))).astype(np.float32) / WIDTH,
        "split": np.array([1, -1, HEADS, HEAD_WIDTH]),
        "joined": np.array([1, -1, WIDTH]),
        "axis": np.array(2),
        "axes": np.array([2]),
        "most": np.array([np.iinfo(np.int64).max]),
        "nothing": np.zeros((1, HEADS, 0, HEAD_WIDTH), np.float32),
    }
    nodes = [
        helper.make_node("Gather", ["embeddings", "input_ids"], ["embedded"]),
        *_heads("embedded", "new"),
        *_heads("encoder_hidden_states", "heard"),
        helper.make_node("Shape", ["input_ids"], ["count"], start=1, end=2),
        helper.make_node("Neg", ["count"], ["first"]),
    ]
    inputs = [
        helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, "tokens"]),
        _floats("encoder_hidden_states", 1, "states", WIDTH),
    ]
    outputs = [_floats("logits", 1, "tokens", len(WORDS))]
    seen: list[str] = []
    for layer in range(LAYERS):
        for part in ("key", "value"):
            name = f"{layer}.{{}}.{part}"
            constants[f"weight.{name}"] = made.normal(size=(1, 1, 1, HEAD_WIDTH)).astype(np.float32)
            nodes += _cached(name, f"weight.{name}")
            seen += [f"rows.{name}", f"mean.{name}"]
            for side in ("decoder", "encoder"):
                past = name.format(side)
                inputs.append(_floats(f"past_key_values.{past}", 1, HEADS, f"past_{side}", HEAD_WIDTH))
                outputs.append(_floats(f"present.{past}", 1, HEADS, f"all_{side}", HEAD_WIDTH))
    inputs.append(helper.make_tensor_value_info("use_cache_branch", TensorProto.BOOL, [1]))
    nodes += [
        helper.make_node("Sum", seen, ["sum"]),
        helper.make_node("Transpose", ["sum"], ["sum_by_token"], perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["sum_by_token", "joined"], ["states_by_token"]),
        helper.make_node("Sin", ["states_by_token"], ["bent"]),
        helper.make_node("MatMul", ["bent", "head"], ["logits"]),
    ]
    return _model(nodes, inputs, outputs, constants)


def _heads(name: str, made: str) -> list[onnx.NodeProto]:
    return [
        helper.make_node("Reshape", [name, "split"], [f"{made}_split"]),
        helper.make_node("Transpose", [f"{made}_split"], [made], perm=[0, 2, 1, 3]),
    ]


def _cached(name: str, weight: str) -> list[onnx.NodeProto]:
    """A layer's cache of both sides, and what it says of the new tokens."""
    own, other = name.format("decoder"), name.format("encoder")
    return [
        helper.make_node("Mul", ["new", weight], [f"new.{name}"]),
        helper.make_node("Concat", [f"past_key_values.{own}", f"new.{name}"], [f"present.{own}"], axis=2),
        helper.make_node("CumSum", [f"present.{own}", "axis"], [f"sums.{name}"]),
        helper.make_node("Slice", [f"sums.{name}", "first", "most", "axes"], [f"rows.{name}"]),
        helper.make_node(
            "If",
            ["use_cache_branch"],
            [f"present.{other}", f"held.{name}"],
            then_branch=_branch(name, ["nothing", f"past_key_values.{other}"]),
            else_branch=_branch(name, ["heard", "heard"]),
        ),
        helper.make_node("ReduceMean", [f"held.{name}", "axes"], [f"mean.{name}"]),
    ]


def _branch(name: str, given: list[str]) -> onnx.GraphProto:
    made = [f"{name}.{place}.{given[0]}" for place in range(2)]
    nodes = [helper.make_node("Identity", [one], [out]) for one, out in zip(given, made, strict=True)]
    return helper.make_graph(nodes, name, [], [_floats(out, 1, HEADS, "any", HEAD_WIDTH) for out in made])


def _floats(name: str, *shape: int | str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def _model(
    nodes: list[onnx.NodeProto],
    inputs: list[onnx.ValueInfoProto],
    outputs: list[onnx.ValueInfoProto],
    constants: dict[str, Constant],
) -> onnx.ModelProto:
    weights = [numpy_helper.from_array(values, name) for name, values in constants.items()]
    graph = helper.make_graph(nodes, "export", inputs, outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    onnx.checker.check_model(model)
    return model
