"""Every way in which models remember, on llama.cpp itself: sessions answer as a pass from scratch does."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from operators.decoding.forward import Forward, Logits
from operators.errors import InputError
from operators.models.llama import ContextSettings, LlamaContext
from operators.models.llama_model import LlamaModel
from operators.models.memory_plan import CHECKPOINT_BYTES, ROLLBACK_BYTES, plan, recurrent_memory
from operators.models.pool import SessionPool
from operators.models.recurrent import RecurrentMemory
from operators.models.tuning import LlamaProbe
from operators.trouble import NoRoom
from tests.memory_cost import report
from tests.tiny_kinds import ATTENTION, HYBRID, OTHERS, RECURRENT, write_kind

#: Keys and values are held in 16 bits, and passes of another size round otherwise, which random weights
#: amplify: logits may differ by so much of their standard deviation. A wrong state makes that several.
NOISE = 0.2
HEAD = [7 * place % 250 for place in range(20)]


@contextmanager
def opened(
    model: LlamaModel, sequences: int, *, cells: int = 2048, rollback: int = 0
) -> Iterator[LlamaContext]:
    settings = ContextSettings(cells=cells, sequences=sequences, threads=1, rollback=rollback)
    context = LlamaContext(model, settings)
    yield context
    context.close()


def revised(rng: np.random.Generator, tokens: list[int], most: int) -> list[int]:
    """Another end for a text."""
    kept = max(len(HEAD), len(tokens) - int(rng.integers(0, 25)))
    return [*tokens[:kept], *rng.integers(0, 250, rng.integers(1, 40)).tolist()][:most]


def worst_difference(
    model: LlamaModel, memory: RecurrentMemory | None, *, steps: int, cells: int = 2048, most: int = 300
) -> float:
    """How far logits of two sessions for three texts are from those of a pass from scratch."""
    rng = np.random.default_rng(1)
    sequences, rollback = (memory.sequences(2), memory.rollback) if memory else (3, 0)
    texts: dict[str, list[int]] = {}
    worst = 0.0
    with opened(model, sequences, cells=cells, rollback=rollback) as context, opened(model, 1) as other:
        pool = SessionPool(context, HEAD, 2, memory)
        for _ in range(steps):
            key = "abc"[rng.integers(3)]
            tokens = texts[key] = revised(rng, texts.get(key, HEAD), most)
            rows = int(rng.integers(1, min(len(tokens), 30)))
            with pool.session(key) as session:
                got = session.forward(Forward(tokens, len(tokens) - rows)).copy()
            want = from_scratch(other, tokens, rows)
            worst = max(worst, float(np.abs(got - want).max() / want.std()))
    return worst


def from_scratch(context: LlamaContext, tokens: list[int], rows: int) -> Logits:
    context.cut_sequence(0, 0)
    return context.evaluate(0, tokens, 0, rows)


@pytest.mark.parametrize("kind", [*RECURRENT, *HYBRID, *ATTENTION])
def test_sessions_of_any_kind_of_memory_answer_as_a_pass_from_scratch(tmp_path: Path, kind: str) -> None:
    model = LlamaModel(write_kind(tmp_path / f"{kind}.gguf", kind))
    memory = recurrent_memory(model, 2)
    assert (memory is None) == (kind in ATTENTION)
    assert worst_difference(model, memory, steps=60) < NOISE
    if memory is not None and memory.rollback:
        memory = msgspec.structs.replace(memory, rollback=0, spares=1)
        assert worst_difference(model, memory, steps=60) < NOISE
    model.close()


@pytest.mark.parametrize("kind", ["lfm2", "falcon-h1"])
def test_a_hybrid_pass_without_room_takes_that_of_the_other_session(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = LlamaModel(write_kind(tmp_path / f"{kind}.gguf", kind))
    memory = recurrent_memory(model, 2)
    evaluate, full = LlamaContext.evaluate, []

    def watched(context: LlamaContext, *arguments: Any) -> Logits:
        try:
            return evaluate(context, *arguments)
        except NoRoom as no_room:
            full.append(no_room)
            raise

    monkeypatch.setattr(LlamaContext, "evaluate", watched)
    # Room for one text of 200 tokens, not for two.
    assert worst_difference(model, memory, steps=60, cells=256, most=200) < NOISE
    assert full
    model.close()


def test_some_memories_can_take_back_the_end_of_a_pass(tmp_path: Path) -> None:
    memories = {
        kind: recurrent_memory(LlamaModel(write_kind(tmp_path / f"{kind}.gguf", kind)), 4)
        for kind in ("mamba", "lfm2", "qwen35")
    }
    assert {kind: memory and memory.rollback > 0 for kind, memory in memories.items()} == {
        "mamba": False,
        "lfm2": True,
        "qwen35": True,
    }


def test_a_session_shares_the_head_and_goes_back_to_where_a_source_was_revised(tmp_path: Path) -> None:
    model = LlamaModel(write_kind(tmp_path / "mamba.gguf", "mamba"))
    memory = recurrent_memory(model, 1)
    assert memory is not None
    with opened(model, memory.sequences(1)) as context:
        pool = SessionPool(context, HEAD, 1, memory)
        source = list(range(40))
        reused = []
        for tokens in (source, [*source[:30], 1, 2, 3], [*source[:30], 4, 5, 6], [*source[:32], 7, 8]):
            with pool.session("a") as session:
                session.forward(Forward([*HEAD, *tokens], len(HEAD) + len(tokens) - 1))
                reused.append(session.reused - len(HEAD))
    # The second finds nothing but the head, and keeps its state where it parts from the first.
    assert reused == [0, 0, 30, 30]


@pytest.mark.parametrize("kind", ["mamba", "lfm2"])
def test_passes_are_timed_on_memories_that_cannot_be_cut(tmp_path: Path, kind: str) -> None:
    with LlamaProbe(LlamaModel(write_kind(tmp_path / f"{kind}.gguf", kind))) as probe:
        assert probe.seconds(1, 64) > 0
        assert all(probe.pass_s(1, 64, tokens) > 0 for tokens in (1, 32))


def test_what_an_update_costs_can_be_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report(LlamaModel(write_kind(tmp_path / "lfm2.gguf", "lfm2")), threads=1, turns=1)
    ways = [line.split("SSBD")[0].strip() for line in capsys.readouterr().out.splitlines() if "SSBD" in line]
    assert ways == [
        "3 checkpoints, rollback 16",
        "3 checkpoints, rollback 0",
        "0 checkpoints, rollback 0",
    ]


@pytest.mark.parametrize("kind", OTHERS)
def test_a_model_that_does_not_go_on_with_a_text_is_refused_by_name(tmp_path: Path, kind: str) -> None:
    path = write_kind(tmp_path / "other.gguf", kind)
    with pytest.raises(InputError, match=rf"other\.gguf: {kind} is an? .*; use a decoder-only"):
        LlamaContext(LlamaModel(path), ContextSettings(cells=256, sequences=1, threads=1))


@pytest.mark.parametrize("size", [500, 80_000, 20_000_000, 60_000_000, 3_000_000_000])
@pytest.mark.parametrize("sessions", [1, 4, 60, 255])
def test_checkpoints_take_a_bounded_amount_of_memory_and_of_sequences(size: int, sessions: int) -> None:
    memory = plan(size, sessions, can_take_back=True)
    states = memory.sequences(sessions)
    assert states <= 256
    assert sessions * memory.spares * size <= CHECKPOINT_BYTES
    assert memory.rollback * states * size <= ROLLBACK_BYTES
    assert memory.spares >= 0
    if sessions == 4 and size <= 60_000_000:
        assert memory.spares >= 2
