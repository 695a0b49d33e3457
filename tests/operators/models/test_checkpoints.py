"""Which states are kept: bounded in number, and those that save most."""

from hypothesis import given
from hypothesis import strategies as st

from operators.models.checkpoints import STEP, Checkpoints

HEAD = 100


def kept_after(slots: int, *wanted: int) -> Checkpoints:
    """What is kept after prompts that part from one another at these places."""
    checkpoints = Checkpoints(range(slots), HEAD)
    for place in wanted:
        assert checkpoints.place(place, place, place + 9) == place
        checkpoints.keep(place)
        checkpoints.judged(10_000)
    return checkpoints


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
        place = checkpoints.place(begin, wanted, end)
        if place is not None:
            assert place == wanted > HEAD
            checkpoints.keep(place)
            assert checkpoints.best(place) is not None
        checkpoints.judged(max(wanted, end - rows))
        assert len(checkpoints.positions) <= slots
        assert all(HEAD < position <= end for position in checkpoints.positions)
        held = end


def test_a_pass_is_split_only_where_that_saves_enough_tokens() -> None:
    checkpoints = Checkpoints([0], HEAD)
    assert checkpoints.place(HEAD, HEAD + STEP - 1, HEAD + 60) is None
    assert checkpoints.place(HEAD, HEAD + STEP, HEAD + 60) == HEAD + STEP


def test_at_the_beginning_of_a_pass_a_state_is_always_kept() -> None:
    assert Checkpoints([0], HEAD).place(HEAD + 1, HEAD + 1, HEAD + 60) == HEAD + 1


def test_before_the_models_own_last_token_none_is_kept() -> None:
    assert Checkpoints([0], HEAD).place(HEAD, HEAD + 50, HEAD + 51) is None


def test_the_state_that_the_fewest_tokens_lie_before_goes_first() -> None:
    checkpoints = kept_after(3, 120, 125, 150)
    checkpoints.keep(170)
    assert checkpoints.positions == [120, 150, 170]


def test_a_state_in_the_output_takes_the_place_of_the_last_one_there() -> None:
    checkpoints = kept_after(3, 120)
    checkpoints.judged(140)
    for place in (145, 150, 160):
        assert checkpoints.place(place, place, place + 9) == place
        checkpoints.keep(place)
    assert checkpoints.positions == [120, 160]


def test_the_only_slot_is_the_prompts() -> None:
    checkpoints = kept_after(1, 120)
    checkpoints.judged(140)
    assert checkpoints.place(150, 150, 160) is None
