"""A trial of llama.cpp on this processor: two real passes whose logits are known, in a process of its own.

A library that was compiled for another processor dies by a signal at the first instruction that this one does
not have, and a wrongly compiled one may compute nonsense. A process that must survive cannot test this, so
`connectors.machine.trial` runs the trial in a child process.
"""

import ctypes
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter

import msgspec
import numpy as np

from operators.decoding.forward import Logits

#: The base model's tokens for a sentence in English and the beginning of its German translation.
TOKENS = (
    2, 818, 20596, 1676, 506, 6064, 10911, 236764, 42252, 625, 236764, 532, 1176, 600, 506, 7507,
    1093, 5264, 573, 72449, 528, 506, 5597, 236764, 9002, 506, 7606, 236761, 107, 17361, 201206, 7526,
)  # fmt: skip
#: The likeliest token after each of them and its logit, computed by a build without any vector instruction.
KNOWN = (
    (184, 14.67), (236743, 20.41), (529, 21.88), (506, 25.49), (6064, 20.67), (531, 23.84),
    (236761, 22.48), (532, 22.9), (625, 25.7), (236764, 24.27), (532, 23.19), (1299, 19.62),
    (236764, 23.17), (668, 21.48), (6064, 20.52), (691, 21.77), (577, 24.02), (506, 20.17),
    (506, 22.24), (580, 19.7), (506, 20.44), (5597, 20.47), (236761, 21.94), (532, 23.0),
    (506, 24.57), (20596, 21.49), (236761, 26.8), (108, 23.78), (818, 16.64), (38861, 18.72),
    (7526, 31.98), (4058, 16.75),
)  # fmt: skip
#: Builds round differently: with AVX2 these logits differ by up to 0.5, with AMX by 1.2; garbage by 10.
TOLERANCE = 3.0
TURNS = 5
#: Tokens of the pass that is timed besides a single one: as many as a typical verification.
TIMED = 24


class LibraryTrial(msgspec.Struct, frozen=True):
    """The result of a trial."""

    #: What is wrong with the logits; None if nothing.
    wrong: str | None
    #: Whether the library has code for AMX.
    has_amx: bool
    #: Milliseconds of a pass over one token, and over 24 with all their logits; medians, 0 if not timed.
    single_ms: float = 0.0
    verify_ms: float = 0.0


def difference(rows: Logits, known: Sequence[tuple[int, float]] = KNOWN) -> float:
    """The largest difference between a row's logit and its known value, or the row's own maximum."""
    if not np.isfinite(rows).all():
        return float("inf")
    tokens = [token for token, _logit in known]
    logits = np.array([logit for _token, logit in known])
    got = rows[np.arange(len(known)), tokens]
    return float(max(np.abs(got - logits).max(), (rows.max(axis=1) - got).max()))


def judge(single: Logits, whole: Logits) -> str | None:
    """What is wrong with the logits of a pass over the first token and over all of them; None if nothing."""
    for rows, what in ((single, "1 token"), (whole, f"{len(KNOWN)} tokens")):
        off = difference(rows, KNOWN[: len(rows)])
        if not off <= TOLERANCE:
            return f"the logits of a pass over {what} are off by {off:.1f}"
    return None


def run_trial(path: Path, threads: int, *, timed: bool = False) -> LibraryTrial:
    """Load the base model from ``path`` and run the passes; time some more with ``timed``."""
    from operators.models.llama import ContextSettings, LlamaContext
    from operators.models.llama_model import LlamaModel

    context = LlamaContext(LlamaModel(path), ContextSettings(cells=256, sequences=1, threads=threads))

    def evaluate(tokens: int) -> Logits:
        context.cut_sequence(0, 0)
        return context.evaluate(0, TOKENS[:tokens], 0, tokens)

    single = evaluate(1).copy()
    wrong = judge(single, evaluate(len(TOKENS)))
    import llama_cpp  # importing it loads the library under trial

    has_amx = b"AMX_INT8 = 1" in llama_cpp.llama_print_system_info()
    if wrong or not timed:
        return LibraryTrial(wrong, has_amx)
    return LibraryTrial(wrong, has_amx, _median_ms(lambda: evaluate(1)), _median_ms(lambda: evaluate(TIMED)))


def _median_ms(action: Callable[[], object]) -> float:
    times = []
    for _turn in range(TURNS):
        began = perf_counter()
        action()
        times.append(1000 * (perf_counter() - began))
    return median(times)


def refuse_amx() -> None:
    """Make the kernel deny AMX to this process; llama.cpp, which requests it, then works without.

    A seccomp filter answers EPERM to ``arch_prctl(ARCH_REQ_XCOMP_PERM, …)``. Only on Linux on x86-64; raises
    `OSError` if filters are not allowed.
    """
    arch_prctl, request_permission = 158, 0x1023
    load, equal, answer = 0x20, 0x15, 0x06  # BPF: LD|W|ABS, JMP|JEQ|K, RET|K
    allow, error = 0x7FFF0000, 0x00050000
    steps = (
        (load, 0, 0, 0),  # the number of the system call
        (equal, 0, 3, arch_prctl),
        (load, 0, 0, 16),  # the lower half of its first argument
        (equal, 0, 1, request_permission),
        (answer, 0, 0, error | 1),
        (answer, 0, 0, allow),
    )
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, seccomp, filter_mode = 38, 22, 2
    for call in ((no_new_privileges, 1, 0, 0, 0), (seccomp, filter_mode, ctypes.addressof(program), 0, 0)):
        if libc.prctl(call[0], *map(ctypes.c_ulong, call[1:])) != 0:
            raise OSError(ctypes.get_errno(), "the kernel does not support seccomp filters")
