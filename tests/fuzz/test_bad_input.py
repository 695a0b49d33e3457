"""Any bytes give captions or one clear sentence: never a defect, a hang or memory without end.

``make fuzz`` asks the same of many more inputs.
"""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.fuzz.correct import Subject
from tests.fuzz.mutation import mutated
from tests.fuzz.subjects import SUBJECTS

#: Examples of those that take long.
_FEW = {"replay": 10, "report": 15, "recording": 30}


@st.composite
def inputs(draw: st.DrawFn, subject: Subject) -> bytes:
    """A valid input, a few places of which were changed."""
    data = draw(st.sampled_from(subject.seeds))
    return mutated(data, subject, draw(st.randoms(use_true_random=True)))


@pytest.mark.parametrize("name", SUBJECTS)
def test_any_bytes_give_a_clear_answer(name: str, tmp_path: Path) -> None:
    subject = SUBJECTS[name]

    @settings(
        max_examples=_FEW.get(name, 100), deadline=None, derandomize=True, database=None,
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
