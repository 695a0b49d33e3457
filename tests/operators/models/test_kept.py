"""Tokens that stay in the cache behind a prompt that has changed."""

import hashlib
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from operators.decoding.forward import Forward, Logits
from operators.model_errors import CacheFullError
from operators.models.context import ContextSettings
from operators.models.kv import Part
from operators.models.llama import LlamaContext
from operators.models.llama_model import LlamaModel
from operators.models.pool import SessionPool
from operators.serving.scheduler import PassRequest
from tests.near_ties import agree
from tests.train.tiny_decoder import write_gemma

HEAD = (1, 2)
Cell = tuple[int, str]


def computed(token: int, before: Sequence[Cell]) -> Cell:
    """What a model computes for a token: it depends on what was computed for all tokens before it."""
    seen = "".join(each for _, each in before)
    return token, hashlib.blake2b(f"{token}{seen}".encode(), digest_size=8).hexdigest()


def fresh(tokens: Sequence[int]) -> list[Cell]:
    cells: list[Cell] = []
    for token in tokens:
        cells.append(computed(token, cells))
    return cells


class AttendingStore:
    """A `SequenceStore` that tells when a cell was computed behind another prompt."""

    def __init__(self, sequences: int, cells: int = 10_000, largest_pass: int = 512) -> None:
        self.held: list[dict[int, Cell]] = [{} for _ in range(sequences)]
        self.cells = cells
        self.largest_pass = largest_pass

    def copy_sequence(self, source: int, target: int) -> None:
        assert not self.held[target]
        self.held[target] = dict(self.held[source])

    def copy_part(self, source: int, target: int, start: int, end: int) -> None:
        part = {place: cell for place, cell in self.held[source].items() if start <= place < end}
        assert len(part) == end - start
        assert not part.keys() & self.held[target].keys(), "llama.cpp would mix the two"
        self.held[target] |= part

    def shift(self, sequence: int, start: int, end: int, by: int) -> None:
        assert all(start <= place < end for place in self.held[sequence])
        self.held[sequence] = {place + by: cell for place, cell in self.held[sequence].items()}

    def cut_sequence(self, sequence: int, length: int) -> None:
        self.held[sequence] = {place: cell for place, cell in self.held[sequence].items() if place < length}

    def evaluate(self, sequence: int, tokens: Sequence[int], start: int, rows: int) -> Logits:
        held = self.held[sequence]
        assert sorted(held) == list(range(start)), "llama.cpp appends at the end, and leaves no gap"
        assert len(tokens) >= max(1, rows)
        for place, token in enumerate(tokens, start):
            if sum(map(len, self.held)) >= self.cells:
                raise CacheFullError("llama_decode returned 1")
            held[place] = computed(token, [held[one] for one in range(place)])
        last = [held[one] for one in range(len(held) - rows, len(held))]
        return np.array([[float(int(seen[:8], 16))] for _, seen in last], np.float32).reshape(rows, 1)

    def evaluate_parts(self, parts: Sequence[Part]) -> list[Logits]:
        assert sum(len(part.tokens) for part in parts) <= self.largest_pass
        return [self.evaluate(own, tokens, start, rows) for (own,), tokens, start, rows in parts]


def asking(source: list[int], output: list[int], kept: int, rows: int) -> Forward:
    """A request for an output behind a source."""
    tokens = [*HEAD, *source, 9, *output]
    return Forward(tokens, max(0, len(tokens) - rows), len(tokens) - len(output), kept)


few = st.lists(st.integers(1, 3), max_size=6)
asks = st.builds(asking, few, few, st.integers(0, 6), st.integers(1, 4))
keyed = st.lists(st.tuples(st.sampled_from("ab"), asks), max_size=10)


#: Of the tokens that were kept at first fewer may stay.
FEWER = [("a", asking(source, [3] * 5, kept, 1)) for source, kept in (([1], 0), ([1, 2], 4), ([1, 2], 1))]


@given(keyed, st.integers(1, 2), st.integers(36, 60))
@example(FEWER, 1, 60)
def test_only_what_a_request_allows_is_kept_and_all_else_is_evaluated(
    work: list[tuple[str, Forward]], size: int, cells: int
) -> None:
    """Whatever was asked before, and whatever was evicted."""
    store = AttendingStore(1 + 2 * size, cells)
    pool = SessionPool(store, HEAD, size, least_kept=1)
    for key, request in work:
        with pool.session(key) as session:
            rows = session.forward(request)
        sequences = [[cells[place] for place in sorted(cells)] for cells in store.held[1 : 1 + size]]
        held = next(cells for cells in sequences if [token for token, _ in cells] == request.tokens)
        first, kept = request.output_from, min(request.kept, request.logits_from - request.output_from)
        assert held[:first] == fresh(request.tokens)[:first]
        after = first + max(0, kept)
        for place in range(after, len(held)):
            assert held[place] == computed(request.tokens[place], held[:place])
        if kept <= 0:
            assert held == fresh(request.tokens)
        assert len(rows) == len(request.tokens) - request.logits_from
        assert not any(store.held[1 + size :]), "what waits is put back in the same request"


def test_a_longer_source_costs_itself_and_not_the_output() -> None:
    pool = SessionPool(AttendingStore(3), HEAD, 1, least_kept=1)
    output = [3] * 20
    with pool.session("a") as session:
        session.forward(asking([1, 2], output, 0, 1))
        longer = asking([1, 2, 3], output, 18, 2)
        assert session.size(longer) == 4
        session.forward(longer)
        # The new word, the label, and the last two tokens.
        assert len(longer.tokens) - session.reused == 4


@given(st.lists(st.dictionaries(st.sampled_from("abc"), asks, min_size=1), max_size=6))
def test_rooms_that_share_passes_keep_the_same_as_each_alone(turns: list[dict[str, Forward]]) -> None:
    store = AttendingStore(7)
    shared = SessionPool(store, HEAD, 3, least_kept=1)
    pool = SessionPool(AttendingStore(7), HEAD, 3, least_kept=1)
    for turn in turns:
        asked = [PassRequest(key, request) for key, request in turn.items()]
        sizes = [shared.size(one) for one in asked]
        for one, size, answered in zip(asked, sizes, shared.answer(asked), strict=True):
            assert isinstance(one.request, Forward)
            assert isinstance(answered.logits, np.ndarray)
            with pool.session(one.key) as session:
                assert answered.logits.tobytes() == session.forward(one.request).tobytes()
            assert (answered.reused, size) == (session.reused, len(one.request.tokens) - session.reused)


def test_rooms_that_share_a_pass_count_what_they_keep_together() -> None:
    store = AttendingStore(7)
    shared = SessionPool(store, HEAD, 3, least_kept=20)
    before, after = asking([1], [3] * 9, 0, 1), asking([1, 2], [3] * 9, 8, 1)
    for rooms, kept in (("a", 0), ("bc", 0), ("abc", 24)):
        list(shared.answer([PassRequest(key, before) for key in rooms]))
        assert sum(one.kept for one in shared.answer([PassRequest(key, after) for key in rooms])) == kept


def test_a_model_whose_layers_all_attend_to_a_window_moves_no_tokens(tmp_path: Path) -> None:
    # llama.cpp would end the program.
    windowed = LlamaModel(write_gemma(tmp_path / "windowed.gguf"))
    with closing(LlamaContext(windowed, ContextSettings(cells=64, sequences=1, threads=1))) as context:
        assert not context.can_shift


def test_llama_moves_tokens_without_changing_what_they_mean(model: LlamaModel) -> None:
    source = model.begin + model.tokenize("Englisch: The city council voted on Tuesday.")
    more = model.tokenize(" It will repair the old bridge.")
    label = model.tokenize("\nDeutsch:")
    output = model.tokenize(" Der Stadtrat hat am Dienstag abgestimmt.")

    def ask(*prompt: list[int], kept: int) -> Forward:
        tokens = [token for part in (*prompt, output) for token in part]
        return Forward(tokens, len(tokens) - 2, len(tokens) - len(output), kept)

    context = LlamaContext(model, ContextSettings(cells=512, sequences=3, threads=2))
    assert context.can_shift
    with SessionPool(context, source[:3], 1, least_kept=1).session("a") as session:
        want = session.forward(ask(source, label, kept=0)).copy()
        kept = len(output) - 2
        stale = session.forward(ask(source, more, label, kept=kept)).copy()
        assert session.reused == len(source) + kept
        # There and back: turned twice, the keys are the old ones but for rounding.
        assert agree(want, session.forward(ask(source, label, kept=kept)).copy())
        assert session.reused == len(source) + kept
        anew = session.forward(ask(source, more, label, kept=0)).copy()
        assert session.reused == len(source)
        assert not np.array_equal(stale, anew)
    context.close()
