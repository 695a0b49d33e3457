"""Opens graphs in ONNX Runtime, in such a way that they leave the cores to others while they wait."""

from pathlib import Path
from typing import Any

import onnxruntime


def onnx_session(graph: Path | bytes, threads: int, *, keeps_memory: bool = True) -> Any:
    """A session on ``graph``; raises whatever ONNX Runtime raises, whose classes share no base.

    Args:
        graph: A file, or its content.
        threads: How many compute.
        keeps_memory: Whether memory is kept for the next pass. Where tensors have ever other sizes, it grows.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = options.enable_mem_pattern = keeps_memory
    # Threads that spin while they wait take cores from other models.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 4
    data = graph if isinstance(graph, bytes) else str(graph)
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
