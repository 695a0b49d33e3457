"""Blocks are counted on answers as decoding makes them."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.blockwise import decode
from operators.decoding.drafts import Draft, Drafting, Verified, at_once
from operators.decoding.drive import drive
from operators.decoding.forward import Origin, Task
from operators.research.heads import mean_block, passes
from tests.says import END, Says, script

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


def test_the_first_pass_gives_a_token_and_each_right_head_adds_one_to_the_others() -> None:
    answer = [1, 2, 3, 4, 5, END]
    right = [answer[place + 1 : place + 3] for place in range(len(answer))]
    assert mean_block([answer], [[[]] * 6], 2) == 1.0
    assert mean_block([answer], [right], 0) == 1.0
    assert mean_block([answer], [right], 1) == 6 / 4
    assert mean_block([answer], [right], 2) == 6 / 3
