"""Whatever heads say, the output is the model's own; heads that are right save passes, which are counted."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.blockwise import decode
from operators.decoding.drafts import Draft, Drafting, Verified, at_once
from operators.decoding.drive import Cost, drive
from operators.decoding.forward import DecodingResult, Forward, Logits, Origin, Task
from operators.decoding.pass_cost import FLAT, BlockLength, PassCosts
from operators.research.heads import Head, HeadProposals, Heads, OutputRows, StateSolver, passes, without_bias
from tests.says import Says, script
from tests.toy import END

WIDTH = 4


def noise_heads(count: int, seed: int, vocabulary: int = 7) -> Heads:
    noise = np.random.default_rng(seed)

    def matrix(*shape: int) -> Logits:
        return noise.normal(size=shape).astype(np.float32)

    heads = [Head(matrix(5, WIDTH), matrix(WIDTH, 5)) for _ in range(count)]
    tokens = noise.permutation(vocabulary)[: noise.integers(1, vocabulary + 1)].astype(np.int32)
    return Heads(heads, OutputRows(tokens, matrix(len(tokens), WIDTH), matrix(len(tokens))))


SIZE = 12
#: The output matrix of a model that counts: it says the number after the last token.
OUTPUT = np.linalg.qr(np.random.default_rng(0).normal(size=(SIZE, SIZE)))[0].astype(np.float32)


class Counting:
    """The state behind each of its rows is that of what it says."""

    reused = 0
    kept = 0

    def forward(self, request: Forward) -> Logits:
        said = [(token + 1) % SIZE for token in request.tokens[request.logits_from :]]
        rows: Logits = OUTPUT[said] @ OUTPUT.T
        return rows


def counting_heads(*steps: int) -> Heads:
    """Heads that say the number which is so many after the model's own."""
    numbers = np.arange(SIZE)
    moves = [OUTPUT[(numbers + step) % SIZE] - OUTPUT for step in steps]
    heads = [Head(20 * OUTPUT, np.asarray(move.T / 20, np.float32)) for move in moves]
    usual_first = np.random.default_rng(1).permutation(SIZE).astype(np.int32)
    return Heads(heads, without_bias(usual_first, OUTPUT[usual_first]))


def counted(heads: Heads, length: BlockLength) -> tuple[DecodingResult, Cost]:
    task = Task([0], (), frozenset([SIZE - 1]), 30)
    return drive(decode(task, HeadProposals(heads, length)), Counting())


@pytest.mark.parametrize(("steps", "passes"), [((1,), 6), ((1, 2), 5), ((1, 2, 3, 4), 3), ((2,), 11)])
def test_heads_that_are_right_save_passes(steps: tuple[int, ...], passes: int) -> None:
    decoded, cost = counted(counting_heads(*steps), BlockLength(FLAT, 0.0, len(steps)))
    assert decoded.tokens == tuple(range(1, SIZE - 1))
    # The first pass gives one token; ten are left, the end among them.
    assert cost.passes == passes
    assert (Origin.PARALLEL in decoded.origins) == (passes < 11)


@pytest.mark.parametrize(
    "length",
    [
        BlockLength(PassCosts((1, 2), (1.0, 9.0)), 0.0),  # a pass over two tokens costs more than two passes
        BlockLength(FLAT, 1.0),  # nothing is as sure as that
    ],
)
def test_what_is_not_worth_its_pass_is_not_proposed(length: BlockLength) -> None:
    decoded, cost = counted(counting_heads(1, 2), length)
    assert (decoded.proposed, cost.passes) == (0, 11)


@given(st.integers(1, 6), st.integers(6, 40), st.integers(0, 99))
def test_states_are_solved_from_the_logits_that_they_gave(width: int, tokens: int, seed: int) -> None:
    noise = np.random.default_rng(seed)
    rows = noise.normal(size=(tokens, width)).astype(np.float32)
    states = noise.normal(size=(3, width)).astype(np.float32)
    bias = noise.normal(size=tokens).astype(np.float32)
    ids = noise.permutation(tokens)[: max(width, tokens // 2)].astype(np.int32)
    solver = StateSolver(OutputRows(ids, rows[ids], bias[ids]))
    # What comes back gives the same logits, also where the chosen rows hardly span it.
    again = solver.states(solver.seen(states @ rows.T + bias))
    assert np.allclose(again @ rows[ids].T, states @ rows[ids].T, atol=1e-2)


def test_logits_that_are_no_numbers_propose_nothing() -> None:
    heads = counting_heads(1)
    assert not heads.after(np.full(SIZE, np.nan, np.float32)).tokens


said = st.lists(st.integers(1, 3), min_size=1, max_size=11)
proposals = st.lists(st.integers(1, 3), max_size=4)


class Fixed:
    """Proposes what it was given for each place of the output."""

    def __init__(self, proposed: list[list[int]]) -> None:
        self.proposed = proposed

    def learn(self, verified: Verified) -> None:
        pass

    def draft(self, output: Sequence[int]) -> Drafting:
        tokens = self.proposed[len(output) - 1] if output else []
        return at_once(Draft(tuple(tokens), Origin.PARALLEL) if tokens else None)


@given(said, st.data())
def test_passes_are_those_that_decoding_takes(text: list[int], data: st.DataObject) -> None:
    proposed = data.draw(st.lists(proposals, min_size=len(text) + 1, max_size=len(text) + 1))
    task = Task([30], (), frozenset([END]), 30)
    decoded, cost = drive(decode(task, Fixed(proposed)), Says([30], script(text)))
    assert decoded.tokens == tuple(text)
    assert passes([*text, END], proposed) == cost.passes
