"""The files of a model that ONNX Runtime runs: its graphs, and what is said of it in JSON."""

from pathlib import Path
from typing import Any, TypeVar

import msgspec

from operators.errors import InputError, unreadable

T = TypeVar("T")


def read_json(path: Path, kind: type[T], what: str) -> T:
    """The content of a file that is ``what``. Raises `InputError` if it cannot be read, or is not that."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except OSError as error:
        raise InputError(unreadable(path, error)) from error
    except msgspec.MsgspecError as error:
        raise InputError(f"{path}: this is not {what}: {error}; fetch it again") from error


def onnx_session(source: Path, threads: int, graph: bytes | None = None, *, keeps_memory: bool = True) -> Any:
    """A session that leaves the cores to others while it waits. Raises `InputError` if it cannot be opened.

    Args:
        source: The file of the graph, or the folder that ``graph`` was made of.
        threads: How many compute.
        graph: The content of a file.
        keeps_memory: Whether memory is kept for the next pass. Where tensors have ever other sizes, it grows.
    """
    import onnxruntime  # takes a moment, and most models need none

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = options.enable_mem_pattern = keeps_memory
    # Threads that spin while they wait take cores from other models.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(graph or str(source), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the library's classes share no other base
        raise InputError(
            f"{source}: the model cannot be loaded: {error}; fetch it again, or choose another"
        ) from error
