"""Sessions over a memory that cannot be cut give what re-translation gives; which states they keep."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.decoding.acceptance import BiasedAcceptance
from operators.decoding.drive import drive
from operators.decoding.forward import Forward, Logits, Method, Task
from operators.decoding.greedy import retranslate
from operators.decoding.pass_cost import BlockLength
from operators.decoding.recycling import recycling
from operators.decoding.session import PrefixSession
from operators.decoding.ssbd import ssbd
from operators.models.pool import SessionPool
from operators.models.recurrent import DRAFT_STEP, FRONTIER_STEP, Checkpoints, Place, RecurrentMemory
from operators.research.jacobi import Jacobi
from operators.trouble import ModelTrouble, NoRoom
from tests.recurrent_toy import RecurrentToyStore
from tests.toy import END, ToyCache, ToyStore

HEAD = [1, 2, 3]
BIAS = BiasedAcceptance(0.2)
METHODS: dict[str, Callable[[Task], Method]] = {
    "ssbd": lambda task: ssbd(task, BIAS),
    "honest final": lambda task: ssbd(task, BIAS, block=3),
    "jacobi": lambda task: ssbd(task, BIAS, None, Jacobi(task, 4)),
    "recycling": lambda task: ssbd(task, BIAS, None, recycling(task, BlockLength())),
    "re-translation": retranslate,
}

Update = tuple[str, tuple[int, list[int]]]

# Of the last source so many tokens stay, and these come after them.
_change = st.tuples(st.integers(0, 30), st.lists(st.integers(1, 6), max_size=12))
updates = st.lists(st.tuples(st.sampled_from("abc"), _change), max_size=10)
memories = st.builds(RecurrentMemory, spares=st.integers(0, 3), rollback=st.sampled_from([0, 2, 9]))


def translate_all(
    method: Callable[[Task], Method], work: list[Update], pool: SessionPool
) -> list[tuple[int, ...]]:
    """The outputs of updates whose drafts are the outputs before them."""
    sources: dict[str, list[int]] = {}
    drafts: dict[str, tuple[int, ...]] = {}
    results = []
    for key, (kept, added) in work:
        sources[key] = [*sources.get(key, [])[:kept], *added]
        task = Task([*HEAD, *sources[key], 6], drafts.get(key, ()), frozenset([END]), 20, source=added)
        with pool.session(key) as session:
            decoded, _ = drive(method(task), session)
        drafts[key] = decoded.tokens
        results.append(decoded.tokens)
    return results


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
@given(work=updates, memory=memories, size=st.integers(1, 3))
def test_what_cannot_be_cut_gives_what_can_be_cut_gives(
    method: Callable[[Task], Method], work: list[Update], memory: RecurrentMemory, size: int
) -> None:
    store = RecurrentToyStore(memory.sequences(size), memory.rollback)
    got = translate_all(method, work, SessionPool(store, HEAD, size, memory))
    assert got == translate_all(method, work, SessionPool(ToyStore(9), HEAD, 8))


requests = st.lists(
    st.tuples(st.integers(0, 40), st.lists(st.integers(1, 6), min_size=1, max_size=20), st.integers(1, 9)),
    min_size=1,
    max_size=12,
)


@given(requests, memories)
def test_any_requests_are_answered_as_from_scratch(
    work: list[tuple[int, list[int], int]], memory: RecurrentMemory
) -> None:
    pool = SessionPool(RecurrentToyStore(memory.sequences(1), memory.rollback), HEAD, 1, memory)
    tokens: list[int] = []
    for kept, added, rows in work:
        tokens = [*tokens[:kept], *added]
        request = Forward(tokens, max(0, len(tokens) - rows))
        with pool.session("a") as session:
            got = session.forward(request).tobytes()
        assert got == PrefixSession(ToyCache()).forward(request).tobytes()


class Crowded(RecurrentToyStore):
    """A recurrent store that has a place for so many tokens of all sequences together."""

    def __init__(self, sequences: int, cells: int, rollback: int) -> None:
        super().__init__(sequences, rollback)
        self.cells = cells

    def evaluate(self, sequence: int, tokens: Sequence[int], start: int, rows: int) -> Logits:
        # Copies share their cells with the sequence that they were made of.
        held = {tuple(cache.tokens[:end]) for cache in self.caches for end in range(1, len(cache.tokens) + 1)}
        if len(held) + len(tokens) > self.cells:
            self.caches[sequence].tokens.append(1)  # llama.cpp may have got half-way
            raise NoRoom("llama_decode returned 1")
        return super().evaluate(sequence, tokens, start, rows)


@given(updates, memories)
def test_a_pass_without_room_takes_that_of_other_sessions(
    work: list[Update], memory: RecurrentMemory
) -> None:
    # Room for the head and one session with all that it may need, but seldom for another.
    store = Crowded(memory.sequences(3), len(HEAD) + 43 + 1 + 20, memory.rollback)
    work = [(key, (min(kept, 20), added)) for key, (kept, added) in work]
    got = translate_all(METHODS["ssbd"], work, SessionPool(store, HEAD, 3, memory))
    assert got == translate_all(METHODS["ssbd"], work, SessionPool(ToyStore(9), HEAD, 8))


def test_a_session_that_broke_off_is_made_anew() -> None:
    memory = RecurrentMemory(spares=2, rollback=4)
    store = Crowded(memory.sequences(1), 20, memory.rollback)
    pool = SessionPool(store, HEAD, 1, memory)
    with pytest.raises(ModelTrouble, match="returned 1"), pool.session("a") as session:
        session.forward(Forward([*HEAD, *[4] * 30], 3))
    with pool.session("a") as session:
        row = session.forward(Forward([*HEAD, 5], 3))
    assert row.tobytes() == PrefixSession(ToyCache()).forward(Forward([*HEAD, 5], 3)).tobytes()


def growing(memory: RecurrentMemory, updates: int) -> tuple[int, int]:
    """Tokens and passes per update of a source that grows by three tokens and whose last one is revised."""
    store = RecurrentToyStore(memory.sequences(1), memory.rollback)
    pool = SessionPool(store, HEAD, 1, memory)
    for number in range(updates):
        source = [1 + place % 6 for place in range(3 * number)]
        with pool.session("a") as session:
            session.forward(Forward([*HEAD, *source, 1 + number % 5, 6, 6], len(HEAD) + len(source) + 2))
    return sum(cache.evaluated for cache in store.caches) // updates, store.passes


def test_a_growing_source_is_not_evaluated_from_its_beginning_each_time() -> None:
    tokens, passes = growing(RecurrentMemory(spares=1), 40)
    from_the_head, single_passes = growing(RecurrentMemory(spares=0), 40)
    # Six new tokens an update, and a few before the checkpoint: without one half of the source on average.
    assert tokens <= 14
    assert from_the_head >= 60
    # A pass is split at every second update.
    assert passes <= 1.6 * single_passes


def test_going_back_over_the_end_of_a_pass_costs_nothing_where_llama_cpp_can_take_tokens_back() -> None:
    memory = RecurrentMemory(spares=1, rollback=8)
    pool = SessionPool(RecurrentToyStore(memory.sequences(1), 8), HEAD, 1, memory)
    with pool.session("a") as session:
        session.forward(Forward([*HEAD, *[4] * 20], 10))
        session.forward(Forward([*HEAD, *[4] * 14, 5], 17))
        assert session.reused == 17


BEGIN = 100


def kept_after(slots: int, *wanted: int) -> Checkpoints:
    """What is kept after prompts that part from one another at these places."""
    checkpoints = Checkpoints(range(slots), BEGIN)
    for place in wanted:
        assert places(checkpoints, place, place, place + 9) == [place]
        checkpoints.keep(Place(place, in_output=False))
    return checkpoints


def places(checkpoints: Checkpoints, begin: int, wanted: int, end: int, rows: int = 1) -> list[int]:
    return [place.position for place in checkpoints.places(begin, wanted, end - rows, end)]


@given(
    st.integers(0, 4),
    st.lists(st.tuples(st.integers(0, 99), st.integers(1, 60), st.integers(1, 60))),
)
def test_no_more_states_are_kept_than_there_are_slots_and_none_of_what_was_cut(
    slots: int, requests: list[tuple[int, int, int]]
) -> None:
    checkpoints = Checkpoints(range(slots), BEGIN)
    held = BEGIN
    for back, added, rows in requests:
        wanted = max(0, held - back)
        freed = checkpoints.drop_after(wanted)
        assert len(set(freed)) == len(freed)
        best = checkpoints.best(wanted)
        begin = best[1] if best else 0
        assert begin <= wanted
        end = wanted + added
        first = max(wanted, end - rows)
        for place in checkpoints.places(begin, wanted, first, end):
            assert place.position in (wanted, first)
            checkpoints.keep(place)
            assert checkpoints.best(place.position) is not None
        checkpoints.judged(first)
        assert len(checkpoints.positions) <= slots
        assert all(BEGIN < position <= end for position in checkpoints.positions)
        held = end


def test_a_pass_is_split_only_where_that_saves_enough_tokens() -> None:
    checkpoints = Checkpoints([0, 1], BEGIN)
    near, far = BEGIN + FRONTIER_STEP - 1, BEGIN + FRONTIER_STEP
    assert places(checkpoints, BEGIN, near, BEGIN + 60) == []
    assert places(checkpoints, BEGIN, far, BEGIN + 60) == [far]
    draft = far + DRAFT_STEP
    assert places(checkpoints, BEGIN, far, draft + 20, rows=20) == [far, draft]
    assert places(checkpoints, BEGIN, far, draft + 20, rows=21) == [far]


def test_at_the_beginning_of_a_pass_a_state_is_always_kept() -> None:
    assert places(Checkpoints([0], BEGIN), BEGIN + 1, BEGIN + 1, BEGIN + 60) == [BEGIN + 1]


def test_before_the_models_own_last_token_none_is_kept() -> None:
    assert places(Checkpoints([0], BEGIN), BEGIN, BEGIN + 50, BEGIN + 51) == []


def test_the_state_that_the_fewest_tokens_lie_before_goes_first() -> None:
    checkpoints = kept_after(3, 120, 125, 150)
    checkpoints.keep(Place(170, in_output=False))
    assert checkpoints.positions == [120, 150, 170]


def test_a_state_in_the_output_takes_the_place_of_the_last_one_there() -> None:
    checkpoints = kept_after(3, 120)
    checkpoints.judged(140)
    for position in (145, 150, 160):
        (place,) = checkpoints.places(position, position, position + 8, position + 9)
        assert place == Place(position, in_output=True)
        checkpoints.keep(place)
    assert checkpoints.positions == [120, 160]


def test_the_only_slot_is_the_prompts() -> None:
    checkpoints = kept_after(1, 120)
    checkpoints.judged(140)
    assert places(checkpoints, 150, 150, 160) == []
    assert places(checkpoints, 120, 120, 160, rows=20) == []
