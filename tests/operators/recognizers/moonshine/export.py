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
    nodes = [
        _node("squared = Mul input_values input_values"),
        _node("channel = Unsqueeze squared one"),
        _node("pooled = AveragePool channel", kernel_shape=[_STRIDE], strides=[_STRIDE]),
        _node("column = Transpose pooled", perm=[0, 2, 1]),
        _node("last_hidden_state = Mul column spread"),
    ]
    spread = 100 * np.random.default_rng(1).normal(size=(1, 1, WIDTH)).astype(np.float32)
    inputs, outputs = _floats("input_values", 1, "samples"), _floats("last_hidden_state", 1, "states", WIDTH)
    return _model(nodes, [inputs], [outputs], {"one": np.array([1]), "spread": spread})


def _decoder() -> onnx.ModelProto:
    """Logits of a position: of all tokens up to it and all states, through the caches of all layers."""
    made = np.random.default_rng(2)
    constants: dict[str, NDArray[Any]] = {
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
        _node("embedded = Gather embeddings input_ids"),
        _node("new_split = Reshape embedded split"),
        _node("new = Transpose new_split", perm=[0, 2, 1, 3]),
        _node("heard_split = Reshape encoder_hidden_states split"),
        _node("heard = Transpose heard_split", perm=[0, 2, 1, 3]),
        _node("count = Shape input_ids", start=1, end=2),
        _node("first = Neg count"),
    ]
    inputs = [
        helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, "tokens"]),
        _floats("encoder_hidden_states", 1, "states", WIDTH),
    ]
    outputs = [_floats("logits", 1, "tokens", len(WORDS))]
    seen = ""
    for name in (f"{layer}.{{}}.{part}" for layer in range(LAYERS) for part in ("key", "value")):
        constants[f"weight.{name}"] = made.normal(size=(1, 1, 1, HEAD_WIDTH)).astype(np.float32)
        nodes += _cached(name)
        seen += f" rows.{name} mean.{name}"
        for side in ("decoder", "encoder"):
            past = name.format(side)
            inputs.append(_floats(f"past_key_values.{past}", 1, HEADS, f"past_{side}", HEAD_WIDTH))
            outputs.append(_floats(f"present.{past}", 1, HEADS, f"all_{side}", HEAD_WIDTH))
    inputs.append(helper.make_tensor_value_info("use_cache_branch", TensorProto.BOOL, [1]))
    nodes += [
        _node(f"sum = Sum{seen}"),
        _node("sum_by_token = Transpose sum", perm=[0, 2, 1, 3]),
        _node("states_by_token = Reshape sum_by_token joined"),
        _node("bent = Sin states_by_token"),
        _node("logits = MatMul bent head"),
    ]
    return _model(nodes, inputs, outputs, constants)


def _cached(name: str) -> list[onnx.NodeProto]:
    """A layer's cache of both sides, and what it says of the new tokens."""
    own, other = name.format("decoder"), name.format("encoder")
    branches = {
        "then_branch": _branch(name, "nothing", f"past_key_values.{other}"),
        "else_branch": _branch(name, "heard", "heard"),
    }
    return [
        _node(f"new.{name} = Mul new weight.{name}"),
        _node(f"present.{own} = Concat past_key_values.{own} new.{name}", axis=2),
        _node(f"sums.{name} = CumSum present.{own} axis"),
        _node(f"rows.{name} = Slice sums.{name} first most axes"),
        _node(f"present.{other} held.{name} = If use_cache_branch", **branches),
        _node(f"mean.{name} = ReduceMean held.{name} axes"),
    ]


def _branch(name: str, *given: str) -> onnx.GraphProto:
    made = [f"{name}.{place}.{given[0]}" for place in range(2)]
    nodes = [_node(f"{out} = Identity {one}") for one, out in zip(given, made, strict=True)]
    return helper.make_graph(nodes, name, [], [_floats(out, 1, HEADS, "any", HEAD_WIDTH) for out in made])


def _node(text: str, **attributes: Any) -> onnx.NodeProto:
    """A node: its outputs, ``=``, its operator and its inputs."""
    outputs, (operator, *inputs) = (side.split() for side in text.split("="))
    return helper.make_node(operator, inputs, outputs, **attributes)


def _floats(name: str, *shape: int | str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def _model(
    nodes: list[onnx.NodeProto],
    inputs: list[onnx.ValueInfoProto],
    outputs: list[onnx.ValueInfoProto],
    constants: dict[str, NDArray[Any]],
) -> onnx.ModelProto:
    weights = [numpy_helper.from_array(values, name) for name, values in constants.items()]
    graph = helper.make_graph(nodes, "export", inputs, outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    onnx.checker.check_model(model)
    return model
