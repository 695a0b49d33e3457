"""Times the passes of one model in several quantisations: what a decoded token and a verified draft cost.

python docs/scripts/quantisations.py MODEL.gguf [--types Q4_0,IQ4_NL] [--threads 2] [--turns 7]

Times the file itself, and copies that llama.cpp quantises from it into a temporary folder. Weights that were
quantised twice are good for times only.
"""

import argparse
import ctypes
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import llama_cpp as llama

from operators.models.llama_model import LlamaModel, be_quiet
from operators.models.tuning import LlamaProbe

#: Passes as tokens and rows of logits: a decoded token, new words without logits, a draft to verify.
PASSES = {"a token": (1, 1), "8 tokens, no logits": (8, 0), "24 tokens": (24, 1), "24, all logits": (24, 24)}


def main() -> None:
    """Print a table, a row for each quantisation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--types", default="Q4_0,IQ4_NL")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=7)
    options = parser.parse_args()
    be_quiet()
    with TemporaryDirectory() as folder, ExitStack() as stack:
        files = {"as it is": options.model}
        for kind in options.types.split(","):
            files[kind] = requantised(options.model, Path(folder) / f"{kind}.gguf", kind)
        probes = {kind: stack.enter_context(LlamaProbe(LlamaModel(file))) for kind, file in files.items()}
        ms = measure(probes, options.threads, options.turns)
        sizes = {kind: file.stat().st_size / 1e6 for kind, file in files.items()}
    print("| type | MB |", " | ".join(PASSES), "| 24 tokens cost, in decoded ones |")
    for kind, times in ms.items():
        each = " | ".join(f"{one:.0f}" for one in times)
        print(f"| {kind} | {sizes[kind]:.0f} | {each} | {times[-1] / times[0]:.1f} |")


def requantised(model: Path, to: Path, kind: str) -> Path:
    """Write a copy of the model in another quantisation."""
    params = llama.llama_model_quantize_default_params()
    params.ftype = getattr(llama, f"LLAMA_FTYPE_MOSTLY_{kind}")
    params.allow_requantize = True
    if llama.llama_model_quantize(str(model).encode(), str(to).encode(), ctypes.byref(params)):
        raise SystemExit(f"llama.cpp cannot write {model} as {kind}")
    return to


def measure(probes: dict[str, LlamaProbe], threads: int, turns: int) -> dict[str, Sequence[float]]:
    """Medians in milliseconds of each pass; the models take turns."""
    times: dict[str, list[list[float]]] = {kind: [[] for _ in PASSES] for kind in probes}
    for turn in range(turns + 1):
        for kind, probe in probes.items():
            for own, (tokens, rows) in zip(times[kind], PASSES.values(), strict=True):
                ms = 1000 * probe.pass_s(threads, 512, tokens, rows)
                if turn:  # the first turn includes set-up
                    own.append(ms)
    return {kind: [median(own) for own in each] for kind, each in times.items()}


if __name__ == "__main__":
    main()
