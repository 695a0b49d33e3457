"""An output may end with its first new doubtful token, and is the beginning of what it would have been."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.acceptance import BiasedAcceptance
from operators.decoding.certainty import Certainty
from operators.decoding.closing import Closing
from operators.decoding.doubtful import Doubt, until_doubtful
from operators.decoding.drive import Cost, drive
from operators.decoding.forward import Decoded, Task
from operators.decoding.session import PrefixSession
from operators.decoding.ssbd import ssbd
from tests.toy import END, ToyCache

tokens = st.lists(st.integers(1, 6), max_size=10)
prompts = st.lists(st.integers(1, 6), min_size=1, max_size=6)
shares = st.floats(0.0, 1.0)


def run(task: Task, doubt: Doubt | None) -> tuple[Decoded, Cost, Certainty]:
    session = Certainty(PrefixSession(ToyCache()))
    method = ssbd(task, BiasedAcceptance(0.2), None, Closing(task))
    decoded, cost = drive(
        method if doubt is None else until_doubtful(method, task, doubt, session.of), session
    )
    return decoded, cost, session


def even(token: int) -> bool:
    return token % 2 == 0


@given(prompts, tokens, shares, st.integers(0, 12))
def test_it_ends_with_a_doubtful_token_or_as_it_would_have(
    prompt: list[int], draft: Sequence[int], least: float, begin: int
) -> None:
    task = Task(prompt, draft, frozenset([END]), 24)
    whole, most, _ = run(task, None)
    got, cost, session = run(task, Doubt(least, begin, even))
    assert got.tokens == whole.tokens[: len(got.tokens)]
    assert cost.passes <= most.passes
    if got.is_whole:
        assert got == whole
    else:
        place = len(got.tokens) - 1
        assert place >= begin
        assert even(got.tokens[-1])
        assert session.of(len(prompt) + place, got.tokens[-1]) < least
        assert cost.passes < most.passes


@given(prompts, tokens)
def test_without_a_doubt_each_output_is_whole(prompt: list[int], draft: Sequence[int]) -> None:
    task = Task(prompt, draft, frozenset([END]), 24)
    assert run(task, Doubt(0.0, 0, lambda _token: True))[0] == run(task, None)[0]
    assert run(task, Doubt(1.1, 0, lambda _token: False))[0] == run(task, None)[0]
