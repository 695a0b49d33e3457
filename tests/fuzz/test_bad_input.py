"""Any bytes give captions or one clear sentence: never a defect, a hang or memory without end."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.fuzz import reading, requests, sound
from tests.fuzz.correct import Subject

#: Everything that reads what others wrote.
SUBJECTS = {
    "access": requests.ACCESS,
    "connection": requests.CONNECTION,
    "glossary": reading.GLOSSARY,
    "lines": reading.LINES,
    "model": sound.MODEL,
    "recording": sound.RECORDING,
    "replay": reading.REPLAY,
    "run": reading.RUN,
    "settings": reading.SETTINGS,
}
#: Of all that is asked, the part that those get that take long.
_FEW = {"replay": 0.1, "recording": 0.3}
_EXAMPLES = 4 * int(os.environ.get("SURTITLE_EXAMPLES", "25"))


#: A number, a word or a text; else a single byte.
_PART = re.compile(rb'"[^"\n]*"|[\w.+-]+|.', re.DOTALL)


@st.composite
def inputs(draw: st.DrawFn, subject: Subject) -> bytes:
    """A valid input of which a few parts were replaced, doubled, moved or taken away; one in most cases."""
    data = draw(st.sampled_from(subject.seeds))
    for _ in range(draw(st.sampled_from((1, 1, 1, 2, 3, 5)))):
        parts = [part.span() for part in _PART.finditer(data)] or [(0, 0)]
        start, end = draw(st.sampled_from(parts))
        end = draw(st.sampled_from((end, end, end, start, start + 8, start + 40, len(data))))
        first, last = draw(st.sampled_from(parts))
        pieces = st.sampled_from((*subject.tokens, b"", 2 * data[start:end], data[first:last]))
        data = data[:start] + draw(pieces | st.binary(max_size=8)) + data[end:]
    return data


@pytest.mark.parametrize("name", SUBJECTS)
def test_any_bytes_give_a_clear_answer(name: str, tmp_path: Path) -> None:
    subject = SUBJECTS[name]

    @settings(
        max_examples=round(_FEW.get(name, 1.0) * _EXAMPLES), deadline=None, derandomize=True, database=None,
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
