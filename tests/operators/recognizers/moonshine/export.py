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
    return _with_tokenizer(folder)


def write_streaming_export(folder: Path) -> Path:
    """Write the files of a model that streams: of one layer, which sees eight features to both sides."""
    folder.mkdir()
    (folder / "streaming_config.json").write_bytes(msgspec.json.encode({
        "depth": 1, "nheads": HEADS, "head_dim": HEAD_WIDTH, "encoder_dim": WIDTH, "decoder_dim": WIDTH,
        "d_model_frontend": 4, "c1": 6, "total_lookahead": 16,
    }))  # fmt: skip
    for name, graph in (
        ("frontend", _frontend()), ("encoder", _sliding()), ("adapter", _adapter()), ("cross_kv", _cross()),
        ("decoder_kv", _decoder_kv()),
    ):  # fmt: skip
        onnx.save(graph, folder / f"{name}.onnx")
    return _with_tokenizer(folder)


def _with_tokenizer(folder: Path) -> Path:
    vocabulary = {word: number for number, word in enumerate(WORDS)}
    (folder / "tokenizer.json").write_bytes(msgspec.json.encode({"model": {"vocab": vocabulary}}))
    return folder


def _frontend() -> onnx.ModelProto:
    """A feature for each 20 ms: the loudness of 100 ms, of which the last part is kept."""
    nodes = [
        _node("squared = Mul audio_chunk audio_chunk"),
        _node("channel = Unsqueeze squared one"),
        _node("pooled = AveragePool channel", kernel_shape=[320], strides=[320]),
        _node("kept = Slice conv1_buffer zero one one"),
        _node("joined = Concat kept pooled", axis=2),
        _node("last = Slice joined minus_four most two"),
        _node("conv1_buffer_out = Expand last conv1_shape"),
        _node("smooth = AveragePool joined", kernel_shape=[5], strides=[1]),
        _node("column = Transpose smooth", perm=[0, 2, 1]),
        _node("features = Mul column spread"),
        _node("sample_buffer_out = Identity sample_buffer"),
        _node("conv2_buffer_out = Identity conv2_buffer"),
        _node("samples = Shape audio_chunk", start=1, end=2),
        _node("sample_len_out = Add sample_len samples"),
        _node("frames = Shape features", start=1, end=2),
        _node("frame_count_out = Add frame_count frames"),
    ]
    spread = 100 * np.random.default_rng(1).normal(size=(1, 1, WIDTH)).astype(np.float32)
    constants: dict[str, NDArray[Any]] = {
        "zero": np.array([0]), "one": np.array([1]), "two": np.array([2]), "minus_four": np.array([-4]),
        "most": np.array([np.iinfo(np.int64).max]), "conv1_shape": np.array([1, 4, 4]), "spread": spread,
    }  # fmt: skip
    states = {"sample_buffer": (1, 79), "conv1_buffer": (1, 4, 4), "conv2_buffer": (1, 6, 4)}
    floats = [_floats(name, *shape) for name, shape in states.items()]
    made = [_floats(f"{name}_out", *shape) for name, shape in states.items()]
    numbers = [
        helper.make_tensor_value_info(name, TensorProto.INT64, [1]) for name in ("sample_len", "frame_count")
    ]
    counted = [helper.make_tensor_value_info(f"{one.name}_out", TensorProto.INT64, [1]) for one in numbers]
    inputs = [_floats("audio_chunk", 1, "samples"), *floats, *numbers]
    return _model(nodes, inputs, [_floats("features", 1, "frames", WIDTH), *made, *counted], constants)


def _sliding() -> onnx.ModelProto:
    """The mean of eight features before and behind each."""
    nodes = [
        _node("row = Transpose features", perm=[0, 2, 1]),
        _node("seen = AveragePool row", kernel_shape=[17], strides=[1], pads=[8, 8]),
        _node("encoded = Transpose seen", perm=[0, 2, 1]),
    ]
    return _model(nodes, [_floats("features", 1, "T", WIDTH)], [_floats("encoded", 1, "T", WIDTH)], {})


def _adapter() -> onnx.ModelProto:
    nodes = [
        _node("count = Shape encoded", start=1, end=2),
        _node("after = Add pos_offset count"),
        _node("first = Squeeze pos_offset"),
        _node("end = Squeeze after"),
        _node("places = Range first end step"),
        _node("real = Cast places", to=TensorProto.FLOAT),
        _node("column = Reshape real shape"),
        _node("angles = Mul column rates"),
        _node("waves = Sin angles"),
        _node("memory = Add encoded waves"),
    ]
    rates = np.random.default_rng(3).normal(size=(1, 1, WIDTH)).astype(np.float32)
    inputs = [
        _floats("encoded", 1, "T", WIDTH),
        helper.make_tensor_value_info("pos_offset", TensorProto.INT64, [1]),
    ]
    constants = {"step": np.array(1), "shape": np.array([1, -1, 1]), "rates": rates}
    return _model(nodes, inputs, [_floats("memory", 1, "T", WIDTH)], constants)


def _cross() -> onnx.ModelProto:
    nodes = [
        _node("split = Reshape memory shape"),
        _node("heads = Transpose split", perm=[0, 2, 1, 3]),
        _node("k_cross = Unsqueeze heads zero"),
        _node("v_cross = Neg k_cross"),
    ]
    outputs = [_floats(name, 1, 1, HEADS, "M", HEAD_WIDTH) for name in ("k_cross", "v_cross")]
    constants = {"shape": np.array([1, -1, HEADS, HEAD_WIDTH]), "zero": np.array([0])}
    return _model(nodes, [_floats("memory", 1, "M", WIDTH)], outputs, constants)


def _decoder_kv() -> onnx.ModelProto:
    """Logits of a position: of all tokens up to it, and of all that was heard."""
    made = np.random.default_rng(2)
    constants: dict[str, NDArray[Any]] = {
        "embeddings": made.normal(size=(len(WORDS), WIDTH)).astype(np.float32),
        "head": made.normal(size=(WIDTH, len(WORDS))).astype(np.float32) / WIDTH,
        "split": np.array([1, -1, HEADS, HEAD_WIDTH]), "joined": np.array([1, -1, WIDTH]),
        "zero": np.array([0]), "axis": np.array(3), "axes": np.array([3]),
        "most": np.array([np.iinfo(np.int64).max]),
    }  # fmt: skip
    nodes = [
        _node("embedded = Gather embeddings token"),
        _node("new_split = Reshape embedded split"),
        _node("new_heads = Transpose new_split", perm=[0, 2, 1, 3]),
        _node("new = Unsqueeze new_heads zero"),
        _node("new_value = Neg new"),
        _node("out_k_self = Concat k_self new", axis=3),
        _node("out_v_self = Concat v_self new_value", axis=3),
        _node("both = Sub out_k_self out_v_self"),
        _node("sums = CumSum both axis"),
        _node("count = Shape token", start=1, end=2),
        _node("first = Neg count"),
        _node("rows = Slice sums first most axes"),
        _node("mean = ReduceMean out_k_cross axes"),
        _node("mean_value = ReduceMean out_v_cross axes"),
        _node("sum = Sum rows mean mean_value mean"),
        _node("flat = Squeeze sum zero"),
        _node("by_token = Transpose flat", perm=[0, 2, 1, 3]),
        _node("states = Reshape by_token joined"),
        _node("bent = Sin states"),
        _node("logits = MatMul bent head"),
    ]
    cache = [_floats(name, 1, 1, HEADS, "past", HEAD_WIDTH) for name in ("k_self", "v_self")]
    cross = [_floats(name, 1, 1, HEADS, "M", HEAD_WIDTH) for name in ("out_k_cross", "out_v_cross")]
    outputs = [_floats(name, 1, 1, HEADS, "all", HEAD_WIDTH) for name in ("out_k_self", "out_v_self")]
    token = helper.make_tensor_value_info("token", TensorProto.INT64, [1, "tokens"])
    return _model(
        nodes, [token, *cache, *cross], [_floats("logits", 1, "tokens", len(WORDS)), *outputs], constants
    )


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
