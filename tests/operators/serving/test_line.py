"""Who is next in a line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.serving.line import PATIENCE, Line

moves = st.lists(st.tuples(st.integers(0, 5), st.booleans()) | st.none(), max_size=60)


@given(moves)
def test_everybody_leaves_once_for_each_time_that_they_joined(steps: list[tuple[int, bool] | None]) -> None:
    line, waiting = Line[int](), set[int]()
    for step in steps:
        if step is not None:
            line.join(step[0], is_final=step[1])
            waiting.add(step[0])
        elif waiting:
            waiting.remove(line.next())
        assert len(line) == len(waiting)
        assert all(item in line for item in waiting)
    assert {line.next() for _ in range(len(line))} == waiting
    with pytest.raises(IndexError):
        line.next()


def test_finals_come_first_and_then_who_has_waited_longest() -> None:
    line = Line[str]()
    for item, is_final in (("a", False), ("b", True), ("c", False), ("d", True)):
        line.join(item, is_final=is_final)
    assert [line.next() for _ in range(4)] == ["b", "d", "a", "c"]


def test_whoever_waits_moves_up_with_a_final_and_never_back() -> None:
    line = Line[str]()
    for item, is_final in (("a", False), ("b", False), ("b", True), ("b", False), ("a", False)):
        line.join(item, is_final=is_final)
    assert [line.next() for _ in range(2)] == ["b", "a"]


@given(st.integers(1, 5))
def test_finals_without_end_let_others_by(others: int) -> None:
    line = Line[int]()
    for number in range(others):
        line.join(number, is_final=False)
    left = []
    for number in range(100, 100 + (PATIENCE + 1) * others):
        line.join(number, is_final=True)
        left.append(line.next())
    assert [item for item in left if item < 100] == list(range(others))
