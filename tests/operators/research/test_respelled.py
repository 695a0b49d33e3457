"""A draft model with another vocabulary drafts text: whatever it drafts, the output is the one without it."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from operators.decoding.blockwise import decode
from operators.decoding.drafts import Draft, Drafter, Drafting, Verified, at_once
from operators.decoding.drive import drive
from operators.decoding.forward import Logits, Origin, Task
from operators.decoding.greedy import retranslate
from operators.decoding.session import PrefixSession
from operators.recognizers.whisper.folder import BytePairs, load_vocabulary
from operators.research.draft_model import ModelDrafts, TwoBeams
from operators.research.prediction import Prediction
from operators.research.respelled import Respelled
from operators.research.trajectory import Round, record
from tests.operators.recognizers.whisper.model_folder import TINY_EN
from tests.operators.research.test_draft_model import errors, limits, predictions, prompts, sessions
from tests.toy import END, ToyCache

SIZE = 7
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


vocabularies = st.lists(st.text("ab ", min_size=1, max_size=3), min_size=SIZE - 1, max_size=SIZE - 1).map(
    lambda texts: Spelled([b"", *(text.encode() for text in texts)])
)
drafters: st.SearchStrategy[Callable[[Task], Drafter]] = st.one_of(
    predictions.map(lambda prediction: lambda task: ModelDrafts(task, prediction)),
    st.integers(1, 9).map(lambda length: lambda task: TwoBeams(task, length)),
)


def task_of(prompt: Sequence[int], limit: int = 30) -> Task:
    return Task(prompt, (), frozenset([END]), limit)


@given(prompts, prompts, limits, drafters, vocabularies, vocabularies, errors)
def test_a_draft_in_other_tokens_changes_no_output_and_saves_passes(
    prompt: list[int], others: list[int], limit: int, drafter: Callable[[Task], Drafter], own: Spelled,
    model: Spelled, error: float,
) -> None:  # fmt: skip
    task = task_of(prompt, limit)
    with ExitStack() as stack:
        session, draft = sessions(stack, 4, error)
        want, most = drive(retranslate(task), session)
        respelled = Respelled(drafter(task_of(others, limit)), own, model)
        got, cost = drive(decode(task, respelled), session, draft)
    assert (got.tokens, got.cut) == (want.tokens, want.cut)
    assert cost.passes <= most.passes


class Renumbered(PrefixSession):
    """A session of the toy whose tokens have other numbers, all but the end."""

    def __init__(self, error: float, numbers: Sequence[int]) -> None:
        super().__init__(_RenumberedCache(error, numbers))


class _RenumberedCache(ToyCache):
    def __init__(self, error: float, numbers: Sequence[int]) -> None:
        super().__init__(SIZE, error=error)
        self._numbers = list(numbers)

    def evaluate(self, tokens: Sequence[int], start: int, rows: int) -> Logits:
        made = super().evaluate([self._numbers.index(token) for token in tokens], start, rows)
        renumbered = np.empty_like(made)
        renumbered[:, self._numbers] = made
        return renumbered


@given(prompts, limits, predictions, errors, st.permutations(range(1, SIZE)))
def test_where_each_token_has_a_counterpart_nothing_is_lost(
    prompt: list[int], limit: int, prediction: Prediction, error: float, shuffled: list[int]
) -> None:
    # A probability of 1 is reached or missed by the order of a sum, which the numbers of the tokens decide.
    prediction = replace(prediction, threshold=min(prediction.threshold, 0.99))
    numbers = [END, *shuffled]
    model, own = Spelled(LETTERS), Spelled([LETTERS[numbers.index(token)] for token in range(SIZE)])
    task, other = task_of(prompt, limit), task_of([numbers[token] for token in prompt], limit)

    def rounds(drafter: Drafter, draft: PrefixSession, draft_prompt: Sequence[int]) -> tuple[Round, ...]:
        method = decode(task, drafter)
        return record(method, task, PrefixSession(ToyCache(SIZE)), draft, draft_prompt)[1]

    respelled = Respelled(ModelDrafts(other, prediction), own, model)
    want = rounds(ModelDrafts(task, prediction), PrefixSession(ToyCache(SIZE, error=error)), prompt)
    assert rounds(respelled, Renumbered(error, numbers), other.prompt) == want


class Saying:
    """A drafter that says what it was given."""

    def __init__(self, tokens: Sequence[int]) -> None:
        self._draft = Draft(tuple(tokens), Origin.MODEL)

    def learn(self, verified: Verified) -> None:
        """Nothing."""

    def draft(self, output: Sequence[int]) -> Drafting:  # noqa: ARG002 - the protocol
        return at_once(self._draft)


@pytest.mark.parametrize(
    ("output", "drafted", "behind"),
    [
        ([" the"], " weather", [" weather"]),
        # A word goes on where the model cut it, if the whole word is cut there too,
        ([" G", "ug"], "genberg Bible", ["gen", "berg", " Bible"]),
        # and is spelled by itself if it is not.
        ([" we"], "ather is", ["ather", " is"]),
    ],
)
def test_a_word_that_the_model_began_is_gone_on_with(
    output: list[str], drafted: str, behind: list[str]
) -> None:
    model = load_vocabulary(TINY_EN)
    own = Spelled([b"", *(letter.encode() for letter in drafted)])
    known = model.tokenize("".join(output).encode())
    assert [model.piece(token).decode() for token in known] == output
    drafting = Respelled(Saying(range(1, len(drafted) + 1)), own, model).draft(known)
    with pytest.raises(StopIteration) as ended:
        next(drafting)
    assert [model.piece(token).decode() for token in ended.value.value.tokens] == behind
