"""The methods are the algorithms as they are printed, without the passes that only confirm a block."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from operators.decoding.acceptance import BiasedAcceptance
from operators.decoding.blockwise import decode
from operators.decoding.drive import drive
from operators.decoding.forward import Task
from operators.decoding.ssbd import retranslate
from operators.research.jacobi import Jacobi
from tests.says import END, Said, Says
from tests.toy import ToyCache, prompts, run, tokens, toy_task

lengths = st.none() | st.integers(1, 9)


class Printed(NamedTuple):
    tokens: tuple[int, ...]
    #: All iterations, and those up to the first one of each block that had all but its last token right.
    iterations: int
    needed: int


def printed(task: Task, init: Sequence[int], b: int | None, h: int | None) -> Printed:
    """Algorithms 1 to 3 (Santilli et al. 2023): no cache, each iteration computes a whole block.

    With a stop token in a solved block, or m tokens, all is decoded; beyond h each block has one token.
    """
    model, m = ToyCache(), task.limit
    y, i = [*init, *[task.pad] * m][:m], 0
    iterations = needed = 0
    while i < m:
        end = i + 1 if i >= (h or m) else min(i + (b or m), h or m)
        guesses = []
        for _ in range(end - i):
            guesses.append(y[i:end])
            y[i:end] = [best(model, task.prompt, y[:j]) for j in range(i, end)]
            if y[i:end] == guesses[-1]:
                break
        iterations += len(guesses)
        last = y.index(END, i, end) if END in y[i:end] else end - 1
        needed += 1 + next(k for k, old in enumerate(guesses) if old[: last - i] == y[i:last])
        if y[last] == END:
            return Printed(tuple(y[:last]), iterations, needed)
        i = end
    return Printed(tuple(y), iterations, needed)


def best(model: ToyCache, prompt: Sequence[int], output: Sequence[int]) -> int:
    model.cut(0)
    return int(model.evaluate([*prompt, *output], 0, 1)[0].argmax())


@given(prompts, tokens, st.integers(1, 14), st.integers(0, 6), lengths, lengths, st.booleans())
def test_proposition_1_any_first_guess_gives_greedy_decodings_output_in_no_more_passes(
    prompt: list[int], draft: list[int], limit: int, pad: int, block: int | None, horizon: int | None,
    starts_with_draft: bool,
) -> None:  # fmt: skip
    task = toy_task(prompt, draft, limit)._replace(source=prompt, pad=pad)
    want, greedy = run(retranslate(task))
    jacobi = Jacobi(task, block=block, horizon=horizon, starts_with_draft=starts_with_draft)
    got, cost = run(decode(task, jacobi))
    assert (got.tokens, got.cut) == (want.tokens, want.cut)
    assert cost.passes <= greedy.passes
    assume(want.cut is None)
    init = [*draft, *prompt[len(draft) :]] if starts_with_draft else []
    algorithm = printed(task, init, block, horizon)
    assert got.tokens == algorithm.tokens
    assert cost.passes <= algorithm.iterations
    if not starts_with_draft:
        assert cost.passes == algorithm.needed


@pytest.mark.parametrize(
    ("lengths", "blocks"),
    [
        ({}, [[END] * 29, [2, 3, 4, 5, END, *[9] * 23]]),
        ({"block": 3}, [[END, END], [2], [END, END], [5]]),
        ({"block": 3, "horizon": 5}, [[END, END], [2], [END], [], []]),
        ({"block": 2, "horizon": 3}, [[END], [], [], [], [], []]),
    ],
    ids=["PJ", "PGJ", "HGJ", "HGJ, whose last block is shorter"],
)
def test_blocks_start_from_padding_even_if_that_ends_an_output_and_go_on_from_the_choices(
    lengths: dict[str, Any], blocks: list[list[int]]
) -> None:
    # Its choice depends on nothing but the place: each block is solved by its first pass.
    script = [1, 2, 3, 4, 5, END, *[9] * 24]
    session = Says([28], lambda output: Said(script[len(output)]))
    task = Task([28], (), frozenset([END]), 30, pad=END)
    decoded, _ = drive(decode(task, Jacobi(task, **lengths)), session)
    assert decoded.tokens == (1, 2, 3, 4, 5)
    assert session.blocks == blocks


@given(prompts, st.integers(1, 14), st.integers(0, 6), st.floats(0.0, 1.0))
def test_no_bias_accepts_padding(prompt: list[int], limit: int, pad: int, bias: float) -> None:
    task = toy_task(prompt, [], limit)._replace(pad=pad)
    # In a block of two the only guess is padding.
    got, _ = run(decode(task, Jacobi(task, BiasedAcceptance(bias), block=2)))
    assert got.tokens == run(retranslate(task))[0].tokens


@pytest.mark.parametrize("length", [{"block": 0}, {"horizon": 0}])
def test_no_length_is_no_block(length: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="is not possible"):
        Jacobi(toy_task([1]), **length)
