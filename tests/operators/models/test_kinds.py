"""Every way in which models remember, on llama.cpp itself: sessions answer as a pass from scratch does."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from operators.decoding.forward import Forward
from operators.models.context import ContextSettings
from operators.models.llama import LlamaContext
from operators.models.llama_model import LlamaModel
from operators.models.pool import SessionPool
from tests.tiny_kinds import KINDS, write_kind

#: Keys and values are held in 16 bits, and passes of another size round otherwise, which random weights
#: amplify: logits may differ by so much of their standard deviation. A wrong state makes that several.
NOISE = 0.2
HEAD = [7 * place % 250 for place in range(20)]


@contextmanager
def opened(model: LlamaModel, sequences: int) -> Iterator[LlamaContext]:
    with closing(LlamaContext(model, ContextSettings(cells=2048, sequences=sequences, threads=1))) as context:
        yield context


def revised(rng: np.random.Generator, tokens: list[int], most: int) -> list[int]:
    """Another end for a text."""
    kept = max(len(HEAD), len(tokens) - int(rng.integers(0, 25)))
    return [*tokens[:kept], *rng.integers(0, 250, rng.integers(1, 40)).tolist()][:most]


@pytest.mark.parametrize("kind", KINDS)
def test_sessions_of_any_kind_of_memory_answer_as_a_pass_from_scratch(tmp_path: Path, kind: str) -> None:
    """Two sessions for three texts."""
    model = LlamaModel(write_kind(tmp_path / f"{kind}.gguf", kind))
    rng = np.random.default_rng(1)
    texts: dict[str, list[int]] = {}
    worst, reused = 0.0, 0
    with opened(model, 3) as context, opened(model, 1) as other:
        pool = SessionPool(context, HEAD, 2)
        for _ in range(60):
            key = "abc"[rng.integers(3)]
            tokens = texts[key] = revised(rng, texts.get(key, HEAD), 300)
            rows = int(rng.integers(1, min(len(tokens), 30)))
            with pool.session(key) as session:
                got = session.forward(Forward(tokens, len(tokens) - rows)).copy()
                reused += session.reused
            other.cut_sequence(0, 0)
            want = other.evaluate(0, tokens, 0, rows)
            worst = max(worst, float(np.abs(got - want).max() / want.std()))
    assert worst < NOISE
    assert reused > 0
    model.close()
