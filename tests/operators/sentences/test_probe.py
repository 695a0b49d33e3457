"""A probe reads a boundary as one sentence and as two, and weighs the encoder's states around it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flows.engine.marian import open_boundary_scorer
from operators.sentences.probe import Encoder, Probe, pooled
from operators.sentences.seam import BoundaryScores


def test_it_sees_the_states_around_the_seam_and_the_means_of_both_sides() -> None:
    states = np.array([[1.0], [3.0], [10.0], [20.0], [60.0]])
    assert pooled(states, 2).tolist() == [3, 10, 20, 60, 2, 30]
    assert pooled(states[:3], 2).tolist() == [3, 10, 10, 10, 2, 10], "a single token, and no end of its own"


def test_both_sides_are_read_without_the_capital_and_as_a_sentence_each() -> None:
    read: list[str] = []

    def states(tokens: Sequence[int]) -> NDArray[Any]:
        read.append("".join(map(chr, tokens)))
        return np.zeros((len(tokens) + 1, 1))

    probe = Probe(
        Encoder(lambda text: [*map(ord, text)], states),
        (np.zeros((12, 2)), np.array([2.0, -1.0])),
        (np.ones((2, 3)), np.arange(3.0)),
    )
    assert probe("It was late", "Nobody saw NASA,") == BoundaryScores(2, 3, 4), "no unit is below 0"
    probe("It was late", "I'm here")
    assert read == [
        " It was late nobody saw NASA", " It was late. Nobody saw NASA",
        " It was late I'm here", " It was late. I'm here",
    ]  # fmt: skip


def test_sentences_end_where_the_next_one_begins_and_go_on_where_they_lack_a_verb() -> None:
    judge = open_boundary_scorer([])
    assert judge is not None
    assert judge("We visited my grandmother yesterday", "She was very happy").ends > 1
    assert judge("The train was late again", "I do not know why").ends > 1
    assert judge("The earliest book printed with movable types", "Has never been").ends < -1
    assert judge("The forms of printed letters", "Should be beautiful").ends < -1
    # Names keep their capital.
    assert judge("They moved from London to", "Berlin in spring").capital > 0
    assert judge("They moved to another city", "Because rents rose").capital < 0
