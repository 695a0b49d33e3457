"""A draft model with another vocabulary drafts text: whatever it drafts, the output is the one without it."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from operators.recognizers.whisper.folder import BytePairs

from operators.decoding.blockwise import decode
from operators.decoding.drafts import Drafter
from operators.decoding.drive import drive
from operators.decoding.forward import Logits
from operators.decoding.session import PrefixSession
from operators.decoding.ssbd import retranslate
from operators.research.draft_model import ModelDrafts, Prediction
from operators.research.respelled import Respelled
from operators.research.trajectory import Memory, RememberedSession, Round, record
from tests.operators.research.test_draft_model import errors, limits, predictions
from tests.toy import END, ToyCache, prompts, toy_task

LETTERS = [b"", b"a", b"b", b"c", b" ", b"d", b"e"]


class Spelled:
    """A vocabulary that is no more than its pieces; what none of them spells is left out."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self.pieces = pieces
        self._byte_pairs = BytePairs(pieces)

    def piece(self, token: int) -> bytes:
        return self.pieces[token]

    def tokenize(self, text: bytes) -> list[int]:
        return self._byte_pairs.tokenize(text)


size = len(LETTERS) - 1
vocabularies = st.lists(st.text("ab ", min_size=1, max_size=3), min_size=size, max_size=size).map(
    lambda texts: Spelled([b"", *(text.encode() for text in texts)])
)


@given(prompts, prompts, limits, predictions, vocabularies, vocabularies, errors)
def test_a_draft_in_other_tokens_changes_no_output_and_costs_no_pass(
    prompt: list[int], others: list[int], limit: int, prediction: Prediction, own: Spelled, model: Spelled,
    error: float,
) -> None:  # fmt: skip
    task = toy_task(prompt, limit=limit)
    want, most = drive(retranslate(task), PrefixSession(ToyCache()))
    draft = RememberedSession(Memory(PrefixSession(ToyCache(error=error)), others))
    respelled = Respelled(ModelDrafts(toy_task(others, limit=limit), prediction), own, model)
    got, cost = drive(
        decode(task, respelled), RememberedSession(Memory(PrefixSession(ToyCache()), prompt)), draft
    )
    assert (got.tokens, got.cut) == (want.tokens, want.cut)
    assert cost.passes <= most.passes


class RenumberedCache(ToyCache):
    """The toy, whose tokens have other numbers, all but the end."""

    def __init__(self, error: float, numbers: Sequence[int]) -> None:
        super().__init__(error=error)
        self._numbers = list(numbers)

    def evaluate(self, tokens: Sequence[int], start: int, rows: int) -> Logits:
        made = super().evaluate([self._numbers.index(token) for token in tokens], start, rows)
        renumbered = np.empty_like(made)
        renumbered[:, self._numbers] = made
        return renumbered


@given(prompts, limits, predictions, errors, st.permutations(range(1, len(LETTERS))))
def test_where_each_token_has_a_counterpart_nothing_is_lost(
    prompt: list[int], limit: int, prediction: Prediction, error: float, shuffled: list[int]
) -> None:
    # A probability of 1 is reached or missed by the order of a sum, which the numbers of the tokens decide.
    prediction = replace(prediction, threshold=min(prediction.threshold, 0.99))
    numbers = [END, *shuffled]
    model, own = Spelled(LETTERS), Spelled([LETTERS[numbers.index(token)] for token in range(len(LETTERS))])
    task, other = toy_task(prompt, limit=limit), toy_task([numbers[token] for token in prompt], limit=limit)

    def rounds(drafter: Drafter, draft: ToyCache, draft_prompt: Sequence[int]) -> tuple[Round, ...]:
        first = RememberedSession(Memory(PrefixSession(ToyCache()), prompt))
        second = RememberedSession(Memory(PrefixSession(draft), draft_prompt))
        return record(decode(task, drafter), task, first, second, draft_prompt)[1]

    respelled = Respelled(ModelDrafts(other, prediction), own, model)
    want = rounds(ModelDrafts(task, prediction), ToyCache(error=error), prompt)
    assert rounds(respelled, RenumberedCache(error, numbers), other.prompt) == want
