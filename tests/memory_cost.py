"""What an update costs on models whose memory cannot be cut: `python -m tests.memory_cost`.

Models of real shapes with random weights, quantised to Q4_K_M as people use them. Updates are scripted, so
that they ask the same of every model: the source grows by three tokens and revises its last one, 75 % of a
draft stand and the rest is decoded anew. Methods take turns, and figures are medians.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import NamedTuple

import llama_cpp
import msgspec

from operators.decoding.forward import Forward
from operators.models.llama import ContextSettings, LlamaContext
from operators.models.llama_model import LlamaModel
from operators.models.memory_plan import recurrent_memory
from operators.models.pool import HEAD, SessionPool
from operators.models.recurrent import RecurrentMemory
from tests.tiny_kinds import write_kind
from tests.tiny_layers import Size

#: About the shapes of LFM2 350M, Granite 4 H 350M, Mamba 130M and Qwen3.5 0.8B, and of a model of attention
#: alone for comparison.
SIZES = {
    "lfm2": Size(1024, 16, 4608, 64, every=3, vocabulary=65_536),
    "granitehybrid": Size(768, 32, 2048, 64, state=128, ssm_heads=48, every=8, vocabulary=100_352),
    "mamba": Size(768, 24, 64, 64, state=16, ssm_heads=48, vocabulary=50_280),
    "qwen35": Size(1024, 24, 3584, 64, delta=(16, 128), every=4, vocabulary=65_536),
    "llama": Size(1024, 16, 4608, 64, vocabulary=65_536),
}
_HEAD, _TAIL, _SOURCE = 120, 6, 24
_UPDATES, _SESSIONS = 6, 4


class Turn(NamedTuple):
    """One way of translating all updates once."""

    seconds: float
    evaluated: int


def speculative() -> Iterator[Forward]:
    """The passes of self-speculative decoding: a draft is verified, and its rejected end decoded anew."""
    for prompt, output in _updates():
        stood = len(output) * 3 // 4
        draft = [*output[:stood], *[9] * (len(output) - stood)]
        yield Forward([*prompt, *draft], len(prompt) - 1)
        for end in range(stood + 1, len(output)):
            yield Forward([*prompt, *output[:end]], len(prompt) + end - 1)


def from_scratch() -> Iterator[Forward]:
    """The passes of re-translation."""
    for prompt, output in _updates():
        for end in range(len(output)):
            yield Forward([*prompt, *output[:end]], len(prompt) + end - 1)


def _updates() -> Iterator[tuple[list[int], list[int]]]:
    head, tail = [7 * place % 250 for place in range(_HEAD)], [5] * _TAIL
    for number in range(_UPDATES):
        source = [3 * place % 250 for place in range(3 * number)] + [200 + number]
        yield [*head, *source, *tail], [11 * place % 250 for place in range(10 + 2 * number)]


def turn(pool: SessionPool, requests: Iterator[Forward]) -> Turn:
    """Answer all requests in a new session."""
    began, evaluated = perf_counter(), 0
    with pool.session("a") as session:
        for request in requests:
            session.forward(request)
            evaluated += len(request.tokens) - session.reused
    seconds = perf_counter() - began
    pool.release("a")
    return Turn(seconds, evaluated)


def report(model: LlamaModel, threads: int, turns: int) -> None:
    """Print a row for each way of remembering."""
    planned = recurrent_memory(model, _SESSIONS)
    for memory in _memories(planned):
        sequences = memory.sequences(_SESSIONS) if memory else _SESSIONS + 1
        rollback = memory.rollback if memory else 0
        settings = ContextSettings(cells=1024, sequences=sequences, threads=threads, rollback=rollback)
        context = LlamaContext(model, settings)
        pool = SessionPool(context, [7 * place % 250 for place in range(_HEAD)], _SESSIONS, memory)
        pairs = [(turn(pool, speculative()), turn(pool, from_scratch())) for _ in range(turns + 1)][1:]
        ratio = median(scratch.seconds / fast.seconds for fast, scratch in pairs)
        fast, scratch = (_update([pair[side] for pair in pairs]) for side in (0, 1))
        name = f"{memory.spares} checkpoints, rollback {memory.rollback}" if memory else "cut anywhere"
        print(f"  {name:28} SSBD {fast}; RT {scratch}; {ratio:.2f} times as fast", flush=True)
        if memory is planned and memory is not None:
            print(f"  {_state(context, memory)}")
        context.close()


def _update(turns: Sequence[Turn]) -> str:
    ms = 1000 * median(turn.seconds for turn in turns) / _UPDATES
    return f"{ms:6.0f} ms, {turns[0].evaluated / _UPDATES:4.1f} tokens"


def _memories(planned: RecurrentMemory | None) -> Sequence[RecurrentMemory | None]:
    if planned is None:
        return [None]
    ways = [planned]
    if planned.rollback:
        ways.append(msgspec.structs.replace(planned, rollback=0))
    return [*ways, msgspec.structs.replace(planned, rollback=0, spares=0)]


def _state(context: LlamaContext, memory: RecurrentMemory) -> str:
    """What a state takes, and what it costs to keep one as a copy of a sequence."""
    spare, times = memory.sequences(_SESSIONS) - 1, []
    for _ in range(9):
        context.cut_sequence(spare, 0)
        began = perf_counter()
        context.copy_sequence(HEAD, spare)
        times.append(perf_counter() - began)
    return f"a state has {memory.state_bytes / 1000:.0f} kB; to keep one takes {1e6 * median(times):.0f} µs"


def main() -> None:
    """Measure the kinds that the command line names, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", default=list(SIZES))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    for kind in options.kinds:
        with TemporaryDirectory() as folder:
            path = write_kind(Path(folder) / "wide.gguf", kind, SIZES[kind])
            small = quantised(path)
            model = LlamaModel(small)
            print(f"{kind}, {small.stat().st_size / 1e6:.0f} MB", flush=True)
            report(model, options.threads, options.turns)
            model.close()


def quantised(path: Path) -> Path:
    """The same model in Q4_K_M."""
    small = path.with_name("small.gguf")
    params = llama_cpp.llama_model_quantize_default_params()
    params.ftype = llama_cpp.LLAMA_FTYPE_MOSTLY_Q4_K_M
    status = llama_cpp.llama_model_quantize(str(path).encode(), str(small).encode(), params)
    assert status == 0, f"llama.cpp cannot quantise {path}"
    path.unlink()
    return small


if __name__ == "__main__":
    main()
