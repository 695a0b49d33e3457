"""A figure that repeats itself ends where the longest one of the source does, and the sentence goes on."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.acceptance import BiasedAcceptance
from operators.decoding.adjusted import ending_figures
from operators.decoding.drive import drive
from operators.decoding.forward import Logits, Task
from operators.decoding.greedy import retranslate
from operators.decoding.session import PrefixSession
from operators.decoding.ssbd import ssbd
from tests.toy import END, ToyCache


class LosesCount(ToyCache):
    """Says ``begin`` and then ``loop`` without end; what it would say next best is an x, which ends it."""

    def __init__(self, begin: str, loop: str) -> None:
        super().__init__(128)
        self.endless = begin + loop * 200

    def _row(self, prefix: Sequence[int]) -> Logits:
        row = np.zeros(self.vocabulary, np.float32)
        row[ord("x")] = 1
        row[END if prefix[-1] == ord("x") else ord(self.endless[len(prefix) - 1])] = 2
        return row


@pytest.mark.parametrize(
    ("source", "begin", "loop", "want"),
    [
        ("One third is 0.3333333333333, as you know.", "0,", "3", "0,3333333333333x"),
        ("They sold 1,000,000,000 phones.", "1", ".000", "1.000.000.000.x"),
        ("They sold 1,000,000,000 phones.", "1", "0", "1000000000x"),
        ("It is 255.255.255.255, I think.", "", "255.", "255.255.255.255.x"),
        ("It is " + "8" * 90, "", "8", "8" * 90 + "x"),
        ("It is two hundred trillion.", "200", ".000", "200.000.000.000.000.x"),
    ],
)
def test_a_figure_ends_where_that_of_the_source_does(source: str, begin: str, loop: str, want: str) -> None:
    task = Task(
        [1],
        (),
        frozenset([END]),
        400,
        source=tuple(map(ord, source)),
        piece=lambda token: chr(token).encode(),
    )
    session = PrefixSession(LosesCount(begin, loop))
    decoded, _ = drive(ending_figures(retranslate(task), task, source), session)
    assert ("".join(map(chr, decoded.tokens)), decoded.cut) == (want, None)


PIECES = (b"", b"1", b"10", b".", b" ", b"a", b"12")
tokens = st.lists(st.integers(1, 6), max_size=20)


@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=4), tokens, st.sampled_from(["1", "it is 111,111,111"])
)
def test_an_output_does_not_depend_on_its_draft(prompt: list[int], draft: list[int], source: str) -> None:
    task = Task(prompt, draft, frozenset([END]), 60, piece=PIECES.__getitem__)
    want, _ = drive(ending_figures(retranslate(task), task, source), PrefixSession(ToyCache()))
    verified = ssbd(task, BiasedAcceptance(0.0))
    got, _ = drive(ending_figures(verified, task, source), PrefixSession(ToyCache()))
    assert (got.tokens, got.cut) == (want.tokens, want.cut)
