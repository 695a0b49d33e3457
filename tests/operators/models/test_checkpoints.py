"""Which states are kept: bounded in number, and those that save most."""

from hypothesis import given
from hypothesis import strategies as st

from operators.models.recurrent import DRAFT_STEP, FRONTIER_STEP, Checkpoints, Place

HEAD = 100


def kept_after(slots: int, *wanted: int) -> Checkpoints:
    """What is kept after prompts that part from one another at these places."""
    checkpoints = Checkpoints(range(slots), HEAD)
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
    checkpoints = Checkpoints(range(slots), HEAD)
    held = HEAD
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
        assert all(HEAD < position <= end for position in checkpoints.positions)
        held = end


def test_a_pass_is_split_only_where_that_saves_enough_tokens() -> None:
    checkpoints = Checkpoints([0, 1], HEAD)
    near, far = HEAD + FRONTIER_STEP - 1, HEAD + FRONTIER_STEP
    assert places(checkpoints, HEAD, near, HEAD + 60) == []
    assert places(checkpoints, HEAD, far, HEAD + 60) == [far]
    draft = far + DRAFT_STEP
    assert places(checkpoints, HEAD, far, draft + 20, rows=20) == [far, draft]
    assert places(checkpoints, HEAD, far, draft + 20, rows=21) == [far]


def test_at_the_beginning_of_a_pass_a_state_is_always_kept() -> None:
    assert places(Checkpoints([0], HEAD), HEAD + 1, HEAD + 1, HEAD + 60) == [HEAD + 1]


def test_before_the_models_own_last_token_none_is_kept() -> None:
    assert places(Checkpoints([0], HEAD), HEAD, HEAD + 50, HEAD + 51) == []


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
