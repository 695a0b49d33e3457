"""Any bytes give captions or one clear sentence: never a defect, a hang or memory without end.

``make fuzz`` asks the same of many more inputs.
"""

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.fuzz.correct import Subject
from tests.fuzz.subjects import SUBJECTS

#: Examples of those that take long.
_FEW = {"replay": 20, "report": 25, "recording": 60}


# A number, a word or a text; else a single byte.
_PART = re.compile(rb'"[^"\n]*"|[\w.+-]+|.', re.DOTALL)


@st.composite
def inputs(draw: st.DrawFn, subject: Subject) -> bytes:
    """A valid input, a few places of which were changed."""
    token = st.sampled_from(subject.tokens)
    one = token | token | token | st.binary(max_size=8)
    data = bytearray(draw(st.sampled_from(subject.seeds)))
    for _ in range(draw(st.sampled_from((1, 1, 1, 1, 2, 3, 5)))):
        if draw(st.sampled_from((True, True, False))) and (parts := list(_PART.finditer(data))):
            at, end = draw(st.sampled_from(parts)).span()
        else:
            at = draw(st.integers(0, len(data)))
            end = min(len(data), at + draw(st.sampled_from((0, 0, 1, 2, 4, 8, 40, 10**6))))
        data[at:end] = draw(one)
    return bytes(data)


@pytest.mark.parametrize("name", SUBJECTS)
def test_any_bytes_give_a_clear_answer(name: str, tmp_path: Path) -> None:
    subject = SUBJECTS[name]

    @settings(
        max_examples=_FEW.get(name, 300), deadline=None, derandomize=True, database=None,
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(inputs(subject))
    def ask(data: bytes) -> None:
        subject.ask(data, tmp_path)

    ask()


FOUND = [(name, what) for name, subject in SUBJECTS.items() for what in subject.found]


@pytest.mark.parametrize(("name", "what"), FOUND)
def test_what_was_found_stays_mended(name: str, what: str, tmp_path: Path) -> None:
    SUBJECTS[name].ask(SUBJECTS[name].found[what], tmp_path)
