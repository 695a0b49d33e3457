"""The claims about test files that run in parallel hold for the existing files."""

from pathlib import Path

from tests.conftest import HEARD, LONGEST_FIRST

OTHERS = [path for path in Path(__file__).parent.rglob("test_*.py") if path != Path(__file__)]


def test_files_that_begin_first_are_there() -> None:
    assert set(LONGEST_FIRST) <= {path.name for path in OTHERS}


def test_all_files_that_play_sound_into_a_microphone_take_turns() -> None:
    playing = [path for path in OTHERS if "virtual_microphone" in path.read_text()]
    assert playing == [path for path in OTHERS if str(path).endswith(HEARD)]
