"""What is measured of heads by decoding is what can be counted on the model's own answers."""

import pytest

from flows.model.block_sizes import RULES, measured
from operators.decoding.forward import Task
from operators.research.heads import Heads, mean_block
from operators.research.many_answers import many_answers
from tests.operators.research.test_heads import noise_heads
from tests.toy import END, ToyCache, ToyStore

TASKS = [Task([1, 2, 1 + number % 6, 1 + number // 6], (), frozenset([END]), 40) for number in range(12)]


def proposed(heads: Heads, prompt: list[int], answer: list[int]) -> list[list[int]]:
    """What the heads say after each token of an answer."""
    rows = ToyCache().evaluate([*prompt, *answer[:-1]], 0, len(answer))
    return [list(heads.after(heads.solver.seen(row)).tokens) for row in rows]


@pytest.mark.parametrize("seed", [3, 4])
def test_blocks_under_exact_acceptance_are_those_of_the_answers(seed: int) -> None:
    heads = noise_heads(2, seed)
    answers = [answer.tokens for _, answer in many_answers(ToyStore(2), [1], TASKS, heads.solver, 1)]
    said = [proposed(heads, list(task.prompt), answer) for task, answer in zip(TASKS, answers, strict=True)]
    blocks = {(one.heads, one.accept): one for one in measured(ToyStore(2), [1], TASKS, heads)}
    assert list(blocks) == [(count, rule) for count in (1, 2) for rule in RULES]
    for count in (1, 2):
        want = mean_block(answers, said, count)
        assert blocks[count, "exact"].mean_block == pytest.approx(want, abs=2e-3)
        assert 1.0 < want <= blocks[count, "top-3"].mean_block
        # A token more in a pass costs little beside the pass.
        assert 0.9 * want < blocks[count, "exact"].speedup_simulated < want


def test_outputs_that_repeat_themselves_are_left_out() -> None:
    heads = noise_heads(1, 3)
    sharp = [Task([1, 2], (), frozenset(), 300)]
    assert not list(measured(_Same(2), [1], sharp, heads))


class _Same(ToyStore):
    """A model that says the same whatever came before."""

    def evaluate(self, sequence, tokens, start, rows):  # type: ignore[no-untyped-def]
        logits = super().evaluate(sequence, tokens, start, rows)
        logits[:, 3] = 100.0
        return logits
